//! Bit-exact readers and writers of the files of training frameworks. Handles bytes and text; must not know threads or a terminal.
//!
//! [`energon`] holds the files of a prepared Energon data set; [`modalities`] packed tokens and raw indexes; [`nanosets`] token folders;
//! [`forager`] indexes of samples; [`bsade`] the index of exact substring dedup; [`sqlite`] writes databases from sorted rows. Code that
//! reproduces Python is in `gristmill_pycompat`.

pub mod bsade;
pub mod energon;
pub mod forager;
pub mod modalities;
pub mod nanosets;
pub mod sqlite;
