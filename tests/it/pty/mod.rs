//! Stories in a real terminal: the built program in a PTY, whose screen a terminal emulator reads.
//!
//! A story never sleeps: it waits for text with a deadline. `GRISTMILL_TEST_PATIENCE` multiplies the deadlines on slow machines (2 means
//! twice as long).

mod browse;
mod dedup;
mod exits;
pub mod harness;
mod home;
mod hostile;
mod hostile_tour;
mod jobs;
mod lines;
mod looks;
mod media;
mod mix;
mod mounts;
mod pictures;
mod prepare;
mod problems;
mod reader;
mod settings;
mod shards;
mod splits;
mod stream;
mod tokens;
mod wild;
