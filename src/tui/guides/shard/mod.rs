//! The guide of `shard`: next to every step, it shows samples as they will be written, from the preview that `--dry-run` prints.

mod columns;
mod costs;
mod guide;
mod inputs;
mod parts;
mod samples;
mod size;
mod types;

#[cfg(test)]
mod tests;

pub use guide::ShardGuide;
