//! Parts of a sample as separate files: exported to a folder, or copied for viewing.
//!
//! Names come from the data, so they are checked before any file is written. A name that could lead out of the folder, hide a file, or
//! contain control characters is refused, never changed. Existing files are not overwritten, and a file is either complete or does not
//! exist.

use crate::engine::browse::{BrowseSample, Catalog};
use gristmill_core::text::is_printable;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::scratch::Scratch;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Bytes read and written at a time.
const COPY_BYTES: usize = 1 << 20;
/// Maximum length of a file name, in bytes.
const MAX_NAME_BYTES: usize = 255;
/// Limit of nested folders in a key.
const MAX_FOLDERS: usize = 32;
/// Maximum size of a part that is copied for viewing, in bytes.
const MAX_COPY_BYTES: u64 = 256 << 20;
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
const COPY_MODE: u32 = 0o400;

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFiles {
    /// Exported files, in the order of the parts.
    pub files: Vec<PathBuf>,
    /// Total bytes of the files.
    pub bytes: u64,
}

/// A copy of a part in its own folder, which is removed on drop.
#[derive(Debug)]
pub struct PartCopy {
    /// Path of the copy, which only its owner can read, and which is not writable.
    pub file: PathBuf,
    _folder: Scratch,
}

/// Writes parts of a sample to `folder`, which is created if necessary: each as `KEY.PART`, in the folders of the key.
///
/// An unsafe name, or an existing file, is refused before the first byte is written. If a part cannot be read, the parts written before are
/// kept.
pub fn export(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    parts: &[usize],
    folder: &Path,
    cancel: &Cancel,
) -> Outcome<ExportedFiles> {
    export_all(catalog, &[(sample.clone(), parts.to_vec())], folder, cancel)
}

/// Like [`export`], for several samples, each with the positions of its parts. All names are checked before the first byte is written.
pub fn export_all(
    catalog: &dyn Catalog,
    samples: &[(BrowseSample, Vec<usize>)],
    folder: &Path,
    cancel: &Cancel,
) -> Outcome<ExportedFiles> {
    let mut targets = Vec::new();
    let mut known = HashSet::new();
    for (sample, parts) in samples {
        for &part in parts {
            let name = sample.parts.get(part).map(|part| &*part.name);
            let Some(name) = name else { return Err(Failure::usage("exporting", "the sample has no such part")) };
            let target = safe_path(&sample.key, name)?;
            if !known.insert(target.clone()) {
                let why = "two of the samples have a part of this name";
                return Err(Failure::data("exporting", why)
                    .on(Subject::path(&target))
                    .with_hint("export them one by one, into different folders"));
            }
            targets.push((sample, part, target));
        }
    }
    if folder.as_os_str().is_empty() {
        return Err(Failure::usage("exporting", "no folder is named"));
    }
    for (_, _, target) in &targets {
        let path = folder.join(target);
        if files::try_is_taken(&path)? {
            return Err(Failure::data("exporting", "the file exists already")
                .on(Subject::path(&path))
                .with_hint("choose another folder, or move the file away"));
        }
    }
    make_folders(folder)?;
    let mut exported = ExportedFiles { files: Vec::new(), bytes: 0 };
    for (sample, part, target) in targets {
        let path = folder.join(&target);
        make_inner_folders(folder, &target)?;
        exported.bytes += write_part(catalog, sample, part, &path, FILE_MODE, cancel)?;
        exported.files.push(path);
    }
    Ok(exported)
}

/// Copies one part for viewing it in another program. The name of the copy ends with the extension of the part.
pub fn copy_of(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    part: usize,
    scratch: Option<&Path>,
    cancel: &Cancel,
) -> Outcome<PartCopy> {
    let Some(known) = sample.parts.get(part) else {
        return Err(Failure::usage("copying the part", "the sample has no such part"));
    };
    if known.byte_size > MAX_COPY_BYTES {
        let why = format!("it has {}", gristmill_core::text::bytes(known.byte_size));
        return Err(Failure::usage("copying the part", why).with_hint("export it into a folder of your choice"));
    }
    let folder = Scratch::create(scratch)?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name: String = format!("sample-{}.{}", sample.key, known.name).chars().map(plain).collect();
    // Keeps the end of the name, which contains the extension.
    let start = name.len().saturating_sub(100);
    let file = folder.path().join(name.get(start..).unwrap_or("sample").trim_start_matches(['-', '.']));
    write_part(catalog, sample, part, &file, COPY_MODE, cancel)?;
    Ok(PartCopy { file, _folder: folder })
}

/// Returns `KEY.PART` relative to the folder of an export. Refuses a name that is not suitable as a file name.
fn safe_path(key: &str, part: &str) -> Outcome<PathBuf> {
    let whole = format!("{key}.{part}");
    let refused = |why: &str| {
        Failure::data("exporting", format!("its name is not safe for a file: {why}"))
            .on(Subject::default().key(&whole))
            .with_hint("nothing was written; the copy for your editor has a plain name")
    };
    if part.contains('/') {
        return Err(refused("a slash in the name of a part"));
    }
    let pieces: Vec<&str> = whole.split('/').collect();
    if pieces.len() > MAX_FOLDERS {
        return Err(refused("too many folders"));
    }
    let mut path = PathBuf::new();
    for piece in pieces {
        match piece {
            "" => return Err(refused("it begins at the root, or has two slashes in a row")),
            "." | ".." => return Err(refused("it leads out of the folder")),
            _ if piece.starts_with('.') => return Err(refused("it would be hidden")),
            _ if piece.starts_with('-') => return Err(refused("it looks like an option of a command")),
            _ if piece.len() > MAX_NAME_BYTES => return Err(refused("it is too long")),
            _ if !piece.chars().all(is_printable) => return Err(refused("it holds control or invisible characters")),
            _ if piece.contains('\\') => return Err(refused("it holds a backslash")),
            _ => path.push(piece),
        }
    }
    Ok(path)
}

fn make_folders(folder: &Path) -> Outcome<()> {
    if files::is_dir(folder) {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folders(parent)?;
    }
    RealFs.create_dir(folder, FOLDER_MODE)
}

/// Creates the folders of a key. An existing folder must not be a link that leads out of the export.
fn make_inner_folders(folder: &Path, target: &Path) -> Outcome<()> {
    let mut path = folder.to_owned();
    for piece in target.parent().into_iter().flat_map(Path::components) {
        path.push(piece);
        if files::is_symlink(&path) {
            return Err(Failure::data(
                "exporting",
                "a symbolic link is in the path, which may point outside of the folder",
            )
            .on(Subject::path(&path)));
        }
        if !files::is_dir(&path) {
            RealFs.create_dir(&path, FOLDER_MODE)?;
        }
    }
    Ok(())
}

/// Writes a part to a temporary file next to its target, then renames it. Returns its size in bytes.
fn write_part(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    part: usize,
    path: &Path,
    mode: u32,
    cancel: &Cancel,
) -> Outcome<u64> {
    let temporary = path.with_file_name(format!(".gristmill-{}-{part}.new", std::process::id()));
    let written = write_temporary(catalog, sample, part, &temporary, mode, cancel).and_then(|bytes| {
        RealFs.rename(&temporary, path)?;
        Ok(bytes)
    });
    if written.is_err() {
        // The original failure is reported, so errors here are ignored.
        let _ = RealFs.remove_file(&temporary);
    }
    written
}

fn write_temporary(
    catalog: &dyn Catalog,
    sample: &BrowseSample,
    part: usize,
    temporary: &Path,
    mode: u32,
    cancel: &Cancel,
) -> Outcome<u64> {
    let size = sample.parts.get(part).map_or(0, |part| part.byte_size);
    RealFs.remove_file(temporary)?;
    let mut file = RealFs.create_file(temporary)?;
    let mut done = 0;
    while done < size {
        cancel.check()?;
        let limit = usize::try_from(size - done).unwrap_or(COPY_BYTES).min(COPY_BYTES);
        let bytes = catalog.read(sample, part, done, limit)?;
        if bytes.is_empty() {
            let why = format!("it ends after {done} of {size} bytes");
            return Err(Failure::data("reading the part", why).on(Subject::default().key(&*sample.key)));
        }
        file.write_all(&bytes)?;
        done += bytes.len() as u64;
    }
    file.set_mode(mode)?;
    file.finish()
}

#[cfg(test)]
mod tests;
