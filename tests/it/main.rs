//! All integration tests in one binary, so that the crate is linked once.

mod check;
mod cli_small;
mod cli_support;
mod cli_usage;
mod job_faults;
mod support;
