//! Token folders: what comes after tokenising (shuffles, merges) and before training (mixture indexes).
//!
//! See the Nanosets format page.

pub mod mixture;
