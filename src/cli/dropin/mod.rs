//! Drop-in commands: the names and arguments of other programs, for existing scripts.

pub mod energon;
mod media_filter;
pub mod megatron;
mod megatron_tokenizer;
pub mod modalities;
mod mount;
pub mod nanotron;
mod preview;
