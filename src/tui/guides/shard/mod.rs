//! The guide of `shard`: samples as they will be written, next to every step, from the preview that `--dry-run` prints.

mod columns;
mod costs;
mod guide;
mod inputs;
mod parts;
mod samples;
mod size;

#[cfg(test)]
mod tests;

pub use guide::ShardGuide;
