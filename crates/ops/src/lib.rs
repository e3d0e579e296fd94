//! What Gristmill does, below its front ends.
//!
//! The layers, from the top down; each imports only from layers below it: `operations` → `browse` → `tokens` → `job` → `engine` → `preview` → `source` → `formats`.

pub mod browse;
pub mod engine;
pub mod formats;
pub mod job;
pub mod operations;
pub mod preview;
pub mod source;
pub mod tokens;
