//! Drop-in names: the commands and flags of other programs, for existing scripts.

pub mod energon;
mod media_filter;
pub mod megatron;
mod megatron_tokenizer;
pub mod modalities;
mod mount;
pub mod nanotron;
mod preview;
