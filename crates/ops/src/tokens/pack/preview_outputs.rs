//! Estimates the files that a plan would write, and their sizes.

use super::inputs::Inputs;
use crate::job::report::OutputFile;
use crate::tokens::format::FileEstimate;
use gristmill_data::source::documents::TextFile;
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Maximum number of rows in a list.
pub(super) const MAX_LISTED: usize = 1_000;

/// Returns the files that a plan would write. The size of each token file is its share of all bytes outside of tables: its output's share
/// of all expected tokens, divided equally among the files of the output.
pub(super) fn outputs(estimate: FileEstimate, tokens: &[u64], bytes: u64) -> Vec<OutputFile> {
    let all: u64 = tokens.iter().sum();
    let tables: u64 = estimate.tables.iter().map(|(_, bytes)| bytes).sum();
    let bytes = bytes.saturating_sub(tables);
    let files = estimate.files.into_iter().zip(tokens).flat_map(|(names, tokens)| {
        let each = share(bytes, *tokens, all) / names.len().max(1) as u64;
        names.into_iter().map(move |name| (name, each))
    });
    let file = |(path, bytes): (PathBuf, u64)| OutputFile { replaces: files::exists(&path), name: shown(&path), bytes };
    files.chain(estimate.tables).take(MAX_LISTED).map(file).collect()
}

/// Returns the expected tokens of each output of a spec. `of` returns the expected tokens of an input file.
pub(super) fn expected(number: usize, inputs: &Inputs, of: &dyn Fn(&TextFile) -> u64) -> Vec<u64> {
    let mut tokens = vec![0; inputs.outputs.get(number).map_or(0, |output| output.slots())];
    for pass in &inputs.passes {
        for (file, slot) in pass.files.iter().zip(pass.slots.get(&number).into_iter().flatten()) {
            if let Some(tokens) = tokens.get_mut(*slot) {
                *tokens += of(file);
            }
        }
        if pass.assignments.contains_key(&number) {
            let all: u64 = tokens.iter().sum();
            let outputs = (tokens.len() as u64).max(1);
            tokens.fill(all / outputs);
        }
    }
    tokens
}

/// Returns `number` multiplied by `part / whole`.
pub(super) fn share(number: u64, part: u64, whole: u64) -> u64 {
    (u128::from(number) * u128::from(part) / u128::from(whole.max(1))) as u64
}

pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preview_sizes_of_index_files_are_independent_of_tokens() {
        let estimate = FileEstimate {
            files: vec![vec!["a.bin".into()], vec!["b.bin".into()]],
            tables: vec![("a.idx".into(), 10)],
            ..FileEstimate::default()
        };
        let files = outputs(estimate, &[3, 1], 410);
        let files: Vec<_> = files.iter().map(|file| (file.name.as_str(), file.bytes)).collect();
        assert_eq!(files, [("a.bin", 300), ("b.bin", 100), ("a.idx", 10)]);
    }
}
