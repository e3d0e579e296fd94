//! Names of sample files.

use crate::tokens::names::{folder_prefix, name_without_compression, stem, unique_names};
use gristmill_data::source::documents::TextFile;
use std::collections::HashSet;

/// Returns the name of the sample file of each input: its bare name without the last suffix, then `-SUFFIX.bin`. If names collide, they are
/// prefixed with as much of their folder as distinguishes them; without `may_rename` the result is `None`.
pub(super) fn forager_names(files: &[TextFile], suffix: &str, may_rename: bool) -> Option<Vec<String>> {
    let bare = |file: &TextFile| {
        let name = name_without_compression(file);
        stem(name.rsplit('/').next().unwrap_or(name)).to_owned()
    };
    let short: Vec<String> = files.iter().map(|file| format!("{}-{suffix}.bin", bare(file))).collect();
    let is_unique = short.iter().collect::<HashSet<_>>().len() == short.len();
    if !is_unique && !may_rename {
        return None;
    }
    let long = |at: usize| {
        let name = files.get(at).map(|file| stem(name_without_compression(file)).replace('/', "-")).unwrap_or_default();
        format!("{}{name}-{suffix}.bin", files.get(at).map(folder_prefix).unwrap_or_default())
    };
    Some(unique_names(&short, long))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::names::files_named;

    #[test]
    fn forager_files_of_one_stem_get_their_folder_as_prefix() {
        let named = |names: &[&str]| forager_names(&files_named(names), "tokenized-samples", true).unwrap();
        assert_eq!(named(&["a.v2.jsonl"]), ["a.v2-tokenized-samples.bin"]);
        assert_eq!(
            named(&["n1/a.jsonl", "n2/a.jsonl", "b.jsonl"]),
            ["n1-a-tokenized-samples.bin", "n2-a-tokenized-samples.bin", "b-tokenized-samples.bin"]
        );
        // Names that still collide are numbered, and do not take the unchanged name of another file.
        assert_eq!(
            named(&["n/a.jsonl", "n/a.json", "n-a.jsonl"]),
            ["n-a-2-tokenized-samples.bin", "n-a-3-tokenized-samples.bin", "n-a-tokenized-samples.bin"]
                .map(|name| name
                    .replace("-2-tokenized-samples", "-tokenized-samples-2")
                    .replace("-3-tokenized-samples", "-tokenized-samples-3"))
        );
        assert_eq!(forager_names(&files_named(&["n1/a.jsonl", "n2/a.jsonl"]), "x", false), None);
    }
}
