//! Helpers for the integration tests: small data sets, and pictures of folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes a tar of `(name, content)` entries with the `tar` crate.
pub fn write_tar(path: &Path, entries: &[(String, Vec<u8>)]) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, name, content.as_slice()).unwrap();
    }
    put(path, &builder.into_inner().unwrap());
}

/// Writes a file directly, without the program.
#[expect(clippy::disallowed_methods, reason = "test data is not published")]
pub fn put(path: &Path, bytes: &[u8]) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(path, bytes).unwrap();
}

/// Writes a shard of `count` samples with a txt and a json part each, with keys numbered from `first`.
pub fn text_shard(path: &Path, first: usize, count: usize) {
    let mut entries = Vec::new();
    for number in first..first + count {
        entries.push((format!("s{number:06}.txt"), format!("text {number}").into_bytes()));
        entries.push((
            format!("s{number:06}.json"),
            format!("{{\"n\": {number}, \"c\": [\"caption {number}\"]}}").into_bytes(),
        ));
    }
    write_tar(path, &entries);
}

/// Returns every file below a folder with its bytes, except the program's own folder.
pub fn picture(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.unwrap();
        let relative = entry.path().strip_prefix(root).unwrap().to_path_buf();
        if entry.file_type().is_file() && !relative.starts_with(".nv-meta/gristmill") {
            files.insert(relative, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

/// Returns [`picture`] without files that are random or contain the time: the uuid and backups.
pub fn settled_picture(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = picture(root);
    files.retain(|path, _| {
        let name = path.to_string_lossy();
        !name.ends_with("index.uuid") && !name.contains(".bak-")
    });
    files
}

/// Copies a folder of plain files.
pub fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in picture(from) {
        put(&to.join(name), &bytes);
    }
}

/// Compares two pictures, and names the files that differ without their bytes.
#[track_caller]
pub fn assert_same(ours: &BTreeMap<PathBuf, Vec<u8>>, wanted: &BTreeMap<PathBuf, Vec<u8>>, when: &str) {
    let names: std::collections::BTreeSet<&PathBuf> = ours.keys().chain(wanted.keys()).collect();
    let different: Vec<String> = names
        .into_iter()
        .filter(|name| ours.get(*name) != wanted.get(*name))
        .map(|name| {
            format!(
                "{} ({:?} bytes, wanted {:?})",
                name.display(),
                ours.get(name).map(Vec::len),
                wanted.get(name).map(Vec::len)
            )
        })
        .collect();
    assert!(different.is_empty(), "{when}: {different:?}");
}
