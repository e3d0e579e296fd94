//! Names of `.pbin` files.

use crate::tokens::names::{folder_prefix, name_without_compression, stem, unique_names};
use gristmill_data::source::documents::TextFile;
use std::collections::HashMap;

/// Returns the name of the `.pbin` file of each input, relative to the output folder: the relative name of the input, without a compression
/// suffix and with the last suffix replaced. Inputs whose names collide keep their full name.
pub(super) fn pbin_names(files: &[TextFile]) -> Vec<String> {
    let short: Vec<String> =
        files.iter().map(|file| format!("{}.pbin", stem(name_without_compression(file)))).collect();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for file in files {
        *named.entry(&file.name).or_default() += 1;
    }
    // Files with equal names are usually in folders with different names.
    let long = |file: &TextFile| match named.get(file.name.as_str()) {
        Some(1) | None => format!("{}.pbin", file.name),
        Some(_) => format!("{}{}.pbin", folder_prefix(file), stem(name_without_compression(file))),
    };
    unique_names(&short, |at| files.get(at).map(long).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::names::files_named;

    #[test]
    fn packed_files_are_named_after_their_inputs() {
        let names = pbin_names(&files_named(&["a.v2.jsonl", "b.jsonl.gz", "sub/c.jsonl", "d", ".e"]));
        assert_eq!(names, ["a.v2.pbin", "b.pbin", "sub/c.pbin", "d.pbin", ".e.pbin"]);
        let names = pbin_names(&files_named(&["a.jsonl", "a.jsonl.gz", "b.jsonl"]));
        assert_eq!(names, ["a.jsonl.pbin", "a.jsonl.gz.pbin", "b.pbin"]);
        // Each path is an input of its own.
        let alone = |path: &str| {
            let file = files_named(&[path]).remove(0);
            TextFile { name: path.rsplit('/').next().unwrap_or(path).to_owned(), ..file }
        };
        let names = pbin_names(&[alone("x/a.jsonl"), alone("y/a.jsonl"), alone("z/y/a.jsonl"), alone("x/b.jsonl")]);
        assert_eq!(names, ["x-a.pbin", "y-a.pbin", "y-a-2.pbin", "b.pbin"]);
    }
}
