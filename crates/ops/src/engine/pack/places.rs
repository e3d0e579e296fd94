//! Names of output files.

use crate::source::text::{Packing, TextFile};
use std::collections::{HashMap, HashSet};

/// Returns the `.pbin` of each input, relative to the output folder: its relative name with the last suffix replaced, after a suffix of its
/// compression is removed. Inputs whose names collide keep their whole name.
pub fn pbin_names(files: &[TextFile]) -> Vec<String> {
    let short: Vec<String> = files.iter().map(|file| format!("{}.pbin", stem(unpacked_name(file)))).collect();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for file in files {
        *named.entry(&file.name).or_default() += 1;
    }
    // Files with equal names are mostly in folders of different names.
    let long = |file: &TextFile| match named.get(file.name.as_str()) {
        Some(1) | None => format!("{}.pbin", file.name),
        Some(_) => format!("{}{}.pbin", folder_in_front(file), stem(unpacked_name(file))),
    };
    unmixed(&short, |at| files.get(at).map(long).unwrap_or_default())
}

/// Returns the folder of a file that was given by itself, as a name prefix; its own name has none then.
fn folder_in_front(file: &TextFile) -> String {
    let parent = (!file.name.contains('/')).then(|| file.path.parent()).flatten();
    let folder = parent.and_then(|parent| parent.file_name());
    folder.map(|name| format!("{}-", name.to_string_lossy())).unwrap_or_default()
}

/// Returns the sample file of each input: its bare name without its last suffix, then `-SUFFIX.bin`. Inputs with one stem are prefixed with
/// as much of their folder as distinguishes them; `None` if that is not wanted and names collide.
pub fn forager_names(files: &[TextFile], suffix: &str, may_rename: bool) -> Option<Vec<String>> {
    let bare = |file: &TextFile| {
        let name = unpacked_name(file);
        stem(name.rsplit('/').next().unwrap_or(name)).to_owned()
    };
    let short: Vec<String> = files.iter().map(|file| format!("{}-{suffix}.bin", bare(file))).collect();
    let is_unique = short.iter().collect::<HashSet<_>>().len() == short.len();
    if !is_unique && !may_rename {
        return None;
    }
    let long = |at: usize| {
        let name = files.get(at).map(|file| stem(unpacked_name(file)).replace('/', "-")).unwrap_or_default();
        format!("{}{name}-{suffix}.bin", files.get(at).map(folder_in_front).unwrap_or_default())
    };
    Some(unmixed(&short, long))
}

/// Returns the names: duplicates are replaced by longer ones, and remaining duplicates are numbered.
fn unmixed(short: &[String], long: impl Fn(usize) -> String) -> Vec<String> {
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in short {
        *count.entry(name).or_default() += 1;
    }
    let mut taken: HashSet<String> =
        short.iter().filter(|name| count.get(name.as_str()) == Some(&1)).cloned().collect();
    let mut names = Vec::with_capacity(short.len());
    for (at, name) in short.iter().enumerate() {
        if count.get(name.as_str()) == Some(&1) {
            names.push(name.clone());
            continue;
        }
        let wanted = long(at);
        let (mut name, mut number) = (wanted.clone(), 2);
        while !taken.insert(name.clone()) {
            name = match wanted.rsplit_once('.') {
                Some((stem, end)) => format!("{stem}-{number}.{end}"),
                None => format!("{wanted}-{number}"),
            };
            number += 1;
        }
        names.push(name);
    }
    names
}

/// Returns the name without a suffix of its compression.
fn unpacked_name(file: &TextFile) -> &str {
    let name = file.name.as_str();
    match name.rsplit_once('.') {
        Some((rest, _)) if file.packing != Packing::Plain && Packing::of_name(name) != Packing::Plain => rest,
        _ => name,
    }
}

/// Returns a name without its last suffix, like Python's `Path.stem`.
fn stem(name: &str) -> &str {
    let bare = name.rfind('/').map_or(0, |at| at + 1);
    match name.get(bare..).unwrap_or_default().rfind('.') {
        Some(dot) if dot > 0 && bare + dot + 1 < name.len() => name.get(..bare + dot).unwrap_or(name),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::FileStamp;
    use std::path::Path;

    fn files(names: &[&str]) -> Vec<TextFile> {
        let file = |name: &&str| TextFile {
            path: Path::new("/in/put").join(name),
            name: (*name).to_owned(),
            bytes: 0,
            stamp: FileStamp::default(),
            packing: Packing::of_name(name),
        };
        names.iter().map(file).collect()
    }

    #[test]
    fn packed_files_are_named_after_their_inputs() {
        let names = pbin_names(&files(&["a.v2.jsonl", "b.jsonl.gz", "sub/c.jsonl", "d", ".e"]));
        assert_eq!(names, ["a.v2.pbin", "b.pbin", "sub/c.pbin", "d.pbin", ".e.pbin"]);
        let names = pbin_names(&files(&["a.jsonl", "a.jsonl.gz", "b.jsonl"]));
        assert_eq!(names, ["a.jsonl.pbin", "a.jsonl.gz.pbin", "b.pbin"]);
        // Each file was given by itself.
        let alone = |path: &str| {
            let file = files(&[path]).remove(0);
            TextFile { name: path.rsplit('/').next().unwrap_or(path).to_owned(), ..file }
        };
        let names = pbin_names(&[alone("x/a.jsonl"), alone("y/a.jsonl"), alone("z/y/a.jsonl"), alone("x/b.jsonl")]);
        assert_eq!(names, ["x-a.pbin", "y-a.pbin", "y-a-2.pbin", "b.pbin"]);
    }

    #[test]
    fn samples_of_one_stem_get_their_folders_in_front() {
        let named = |names: &[&str]| forager_names(&files(names), "tokenized-samples", true).unwrap();
        assert_eq!(named(&["a.v2.jsonl"]), ["a.v2-tokenized-samples.bin"]);
        assert_eq!(
            named(&["n1/a.jsonl", "n2/a.jsonl", "b.jsonl"]),
            ["n1-a-tokenized-samples.bin", "n2-a-tokenized-samples.bin", "b-tokenized-samples.bin"]
        );
        // Names that still collide are numbered, and never take the unchanged name of another file.
        assert_eq!(
            named(&["n/a.jsonl", "n/a.json", "n-a.jsonl"]),
            ["n-a-2-tokenized-samples.bin", "n-a-3-tokenized-samples.bin", "n-a-tokenized-samples.bin"]
                .map(|name| name
                    .replace("-2-tokenized-samples", "-tokenized-samples-2")
                    .replace("-3-tokenized-samples", "-tokenized-samples-3"))
        );
        assert_eq!(forager_names(&files(&["n1/a.jsonl", "n2/a.jsonl"]), "x", false), None);
    }
}
