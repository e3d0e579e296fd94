//! Data as files hold them: formats, sources of samples and documents, and how a part is drawn.
//!
//! The layers, from the top down; each imports only from layers below it: `preview` → `source` → `formats`.

// Tests make and damage files by hand.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod formats;
pub mod preview;
pub mod source;
