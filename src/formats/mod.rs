//! Bit-exact readers and writers of what training frameworks keep on disk. Knows bytes and text, no threads and no terminal.
//!
//! [`python`] holds what those formats borrow from Python itself (YAML and JSON as it writes them, brace expressions, its random
//! numbers, its patterns, its pickled lists); [`energon`] the files of a prepared Energon data set; [`modalities`] packed tokens and
//! raw indexes; [`nanosets`] token folders; [`forager`] indexes of samples; [`bsade`] the index of exact substring dedup; [`sqlite`]
//! writes databases from sorted rows.

pub mod bsade;
pub mod energon;
pub mod forager;
pub mod modalities;
pub mod nanosets;
pub mod python;
pub mod sqlite;
