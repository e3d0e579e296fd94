//! Gristmill turns raw training data into what training frameworks read.
//!
//! The layers, from the top down; each imports only from layers below it (see `docs/ARCHITECTURE.md`):
//! `cli`, `tui`, `prompt` → `job` → `engine` → `preview` → `source` → `media`, `tokenize` → `formats` → `storage` → `model`.

pub mod cli;
pub mod engine;
pub mod formats;
pub mod job;
pub mod media;
pub mod model;
pub mod preview;
pub mod prompt;
pub mod source;
pub mod storage;
pub mod tokenize;
pub mod tui;
