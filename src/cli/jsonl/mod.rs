//! JSONL files on the command line: `prepare`, `info`, `lint` and `verify` of one.

mod check;
mod info;
mod prepare;
mod suffix;

pub use check::{lint, verify};
pub use info::info;
pub use prepare::prepare;
pub use suffix::refuse_packed;

use gristmill_core::DatasetKind;
use gristmill_data::source::kind::kind_of;
use std::path::Path;

/// Whether a path is an existing JSONL file.
pub fn is_jsonl(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::Jsonl)
}
