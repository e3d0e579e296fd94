//! Refuses files of lines that are compressed or have another suffix.

use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::source::jsonl::Packed;
use gristmill_storage::read::open_read;
use std::path::Path;

/// Refuses compressed JSONL files and JSONL files with another suffix, with a hint how to convert each.
pub fn refuse_packed(path: &str) -> Outcome<()> {
    let is_file = Path::new(path).is_file();
    let lower = path.to_ascii_lowercase();
    let quoted = shell_quote(path);
    if let Some(packed) = Packed::of_name(lower.as_bytes()).filter(|_| is_file) {
        let name = lower.strip_suffix(packed.suffix).unwrap_or(&lower);
        if name.ends_with(".jsonl") || name.ends_with(".json") || name.ends_with(".ndjson") {
            // Fails for a Git LFS pointer, which is not compressed in spite of its name.
            open_read(Path::new(path))?;
            let why = format!(
                "it is compressed with {}, and a loader cannot jump to a line of a compressed file",
                packed.name
            );
            return Err(Failure::data("reading the lines", why)
                .on(Subject::path(path))
                .with_hint(format!("unpack it first: {} {quoted}", packed.command)));
        }
    }
    let is_misnamed = lower.ends_with(".jsonl") || lower.ends_with(".ndjson") || lower.ends_with(".json");
    if is_file && is_misnamed && !path.ends_with(".jsonl") {
        let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
        let hint = format!("if it holds one object a line: mv {quoted} {}", shell_quote(&format!("{stem}.jsonl")));
        return Err(Failure::usage("opening the data set", "loaders know JSONL files by a name that ends in .jsonl")
            .on(Subject::path(path))
            .with_hint(hint));
    }
    Ok(())
}
