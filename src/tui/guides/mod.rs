//! The guides of the forms: what each form shows and suggests in addition to the options of its operation. One folder per operation.

pub mod dedup;
pub mod media;
pub mod mix;
pub mod mixture;
pub mod pack;
pub mod prepare;
pub mod shard;
mod text_files;
mod weights;
