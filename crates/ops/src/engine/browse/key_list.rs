//! Lists of samples by their names, as `--keep-keys` of `shard` takes them: `SHARD/KEY` a line, or the key alone for loose files.

use super::{Catalog, SampleAt, VisitFields};
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::fs::{Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::{files, publish, xdg};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Folder of the lists in the state folder.
const FOLDER: &str = "key-lists";
const WHAT: &str = "writing the list of keys";
/// Age from which on a list is removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Bytes collected before a write.
const WRITE_BYTES: usize = 256 << 10;

/// Writes the names of samples into a new list in the state folder, and returns its path. `is_listed` decides about each sample of a group,
/// and `groups` are the groups that have any, in order.
///
/// # Errors
/// A group cannot be read, the list cannot be written, or the work is cancelled; then nothing is left.
pub fn write_key_list(
    catalog: &dyn Catalog,
    groups: &mut dyn Iterator<Item = u32>,
    is_listed: &dyn Fn(SampleAt) -> bool,
    cancel: &Cancel,
) -> Outcome<PathBuf> {
    let folder = xdg::state_dir().join(FOLDER);
    files::missing_folders(&folder).into_iter().try_for_each(|folder| RealFs.create_dir(folder, PRIVATE_FOLDER))?;
    remove_old(&folder)?;
    let name = catalog.root().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let path = folder.join(format!("{name}-{}.txt", publish::unique()));
    write_into(&path, catalog, groups, is_listed, cancel).inspect_err(|_| _ = RealFs.remove_file(&path))?;
    Ok(path)
}

fn write_into(
    path: &Path,
    catalog: &dyn Catalog,
    groups: &mut dyn Iterator<Item = u32>,
    is_listed: &dyn Fn(SampleAt) -> bool,
    cancel: &Cancel,
) -> Outcome<()> {
    let mut file = RealFs.create_file(path)?;
    let mut lines = Vec::new();
    let has_files = catalog.kind().holds_loose_files();
    for group in groups {
        let groups = catalog.groups();
        let Some(shard) = groups.group(group).map(|group| &group.name) else { break };
        let mut failed = None;
        catalog.visit(group, VisitFields { keys: true, ..VisitFields::default() }, cancel, &mut |sample| {
            if is_listed(SampleAt { group, index: sample.index }) {
                if sample.key.contains(['\n', '\r']) {
                    let failure = Failure::data(WHAT, "a key has a line break, so it cannot be in a list");
                    failed = Some(failure.on(Subject::shard(shard.to_string()).key(sample.key)));
                    return false;
                }
                let key = if has_files { first_stem(sample.key) } else { sample.key };
                if !shard.is_empty() {
                    lines.extend_from_slice(shard.as_bytes());
                    lines.push(b'/');
                }
                lines.extend_from_slice(key.as_bytes());
                lines.push(b'\n');
            }
            if lines.len() >= WRITE_BYTES {
                failed = file.write_all(&lines).err();
                lines.clear();
            }
            failed.is_none()
        })?;
        failed.map_or(Ok(()), Err)?;
    }
    file.write_all(&lines)?;
    file.close()?;
    Ok(())
}

/// Removes lists that no command is likely to name any more.
fn remove_old(folder: &Path) -> Outcome<()> {
    for entry in files::read_dir(folder).map_err(|error| Failure::io(WHAT, folder, &error))?.flatten() {
        let age = entry.metadata().ok().and_then(|info| SystemTime::now().duration_since(info.modified()).ok());
        if age.is_some_and(|age| age > MAX_AGE) {
            RealFs.remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the name of a file up to the dot that ends the key of its sample.
fn first_stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
