//! What the form of an operation shows and proposes beyond its table of options: one folder per operation.

pub mod dedup;
pub mod media;
pub mod mix;
pub mod mixture;
pub mod pack;
pub mod prepare;
pub mod shard;
mod text_files;
