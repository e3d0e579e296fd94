//! `shard`: writes samples to new shards.

mod apart;
mod append;
mod choices;
mod golden;
mod inputs;
mod kills;
mod mistakes;
mod refusals;
mod sparse;

use super::cli_support::Sandbox;
use std::path::Path;

/// Returns the names of all files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}

/// Writes an archive of entries whose names are any bytes, and whose content is their name.
fn raw_tar(sandbox: &Sandbox, path: &str, names: &[&[u8]]) {
    use std::os::unix::ffi::OsStrExt as _;
    let mut tar = tar::Builder::new(Vec::new());
    for name in names {
        let mut header = tar::Header::new_ustar();
        header.set_size(name.len() as u64);
        header.set_path(std::ffi::OsStr::from_bytes(name)).unwrap();
        header.set_cksum();
        tar.append(&header, *name).unwrap();
    }
    sandbox.write(path, tar.into_inner().unwrap());
}

/// Returns the names of the entries of an archive.
fn entries(sandbox: &Sandbox, name: &str) -> Vec<String> {
    let bytes = sandbox.read(name);
    let mut archive = tar::Archive::new(bytes.as_slice());
    let name = |entry: tar::Entry<'_, &[u8]>| String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    archive.entries().unwrap().map(|entry| name(entry.unwrap())).collect()
}
