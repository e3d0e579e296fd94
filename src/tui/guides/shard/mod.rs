//! The guide of `shard`: samples as they will be written, next to every step, from the preview that `--dry-run` prints.

mod columns;
mod guide;
mod inputs;
mod parts;
mod samples;

#[cfg(test)]
mod tests;

pub use guide::ShardGuide;
