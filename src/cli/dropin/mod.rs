//! Drop-in commands: the names and arguments of other programs, for existing scripts.

pub mod energon;
mod groups;
mod media_filter;
mod megatron;
mod megatron_tokenizer;
mod modalities;
mod mount;
pub mod nanotron;
mod preview;

pub use groups::FrameworkCommand;
