//! Reading and writing data files: formats, sources of samples and documents, and previews of parts.
//!
//! The layers, from top to bottom; each imports only from layers below it: `preview` → `source` → `formats`.

// Tests create and damage files directly.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod formats;
pub mod preview;
pub mod source;
