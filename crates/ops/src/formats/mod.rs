//! Bit-exact readers and writers of what training frameworks keep on disk. Knows bytes and text, no threads and no terminal.
//!
//! [`energon`] holds the files of a prepared Energon data set; [`modalities`] packed tokens and raw indexes; [`nanosets`] token folders;
//! [`forager`] indexes of samples; [`bsade`] the index of exact substring dedup; [`sqlite`] writes databases from sorted rows. What
//! these borrow from Python is in `gristmill_pycompat`.

pub mod bsade;
pub mod energon;
pub mod forager;
pub mod modalities;
pub mod nanosets;
pub mod sqlite;
