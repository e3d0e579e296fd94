//! The work of jobs and checks. Engines process units with given handles; they must not start threads or use the terminal.

#[macro_use]
mod accessors;
pub mod browse;
pub mod check;
pub mod dataset;
pub mod dedup;
pub mod index;
pub mod jsonl;
pub mod leaks;
pub mod media;
pub mod mix;
pub mod outputs;
pub mod plan;
pub mod recorded;
pub mod select;
pub mod splits;
pub mod spread;
pub mod texts;
