//! `prepare` for JSONL files.

mod prepare;

pub use prepare::prepare;

use gristmill_core::DatasetKind;
use gristmill_data::source::kind::kind_of;
use std::path::Path;

/// Whether a path is an existing JSONL file.
pub fn is_jsonl(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::Jsonl)
}
