//! Lists of sample names for `--keep-keys` of `shard`: `SHARD/KEY` per line, or the key alone for loose files.

use super::folder::TOP_FOLDER;
use super::{Catalog, SampleAt, VisitFields};
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::fs::{Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::identity::unique;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_read, read_whole};
use gristmill_storage::{files, publish, xdg};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Name of the folder of key lists in the state folder.
const FOLDER: &str = "key-lists";
const ACTIVITY: &str = "writing the list of keys";
/// Age after which a list is removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Suffix of the file next to a list that contains the run folders of the runs that use it, one per line.
const RUNS: &str = ".runs";
/// Limit of the size of such a file, in bytes.
const MAX_RUNS_BYTES: u64 = 1 << 20;
/// Bytes collected before a write.
const WRITE_BYTES: usize = 256 << 10;

/// Writes the names of samples into a new list in the state folder, and returns its path. `is_listed` decides about each sample of a group;
/// `groups` are the groups with listed samples, in order.
///
/// # Errors
/// A group cannot be read, the list cannot be written, or the work is cancelled; no file remains then.
pub fn write_key_list(
    catalog: &dyn Catalog,
    groups: &mut dyn Iterator<Item = u32>,
    is_listed: &dyn Fn(SampleAt) -> bool,
    cancel: &Cancel,
) -> Outcome<PathBuf> {
    let folder = xdg::state_dir().join(FOLDER);
    RealFs.create_folders(&folder, PRIVATE_FOLDER)?;
    remove_old(&folder)?;
    let name = catalog.root().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let path = folder.join(format!("{name}-{}.txt", unique()));
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
    let has_files = catalog.kind().has_loose_files();
    for group in groups {
        let groups = catalog.groups();
        let Some(shard) = groups.group(group).map(|group| &group.name) else { break };
        let mut failed = None;
        catalog.visit(group, VisitFields { keys: true, ..VisitFields::default() }, cancel, &mut |sample| {
            if is_listed(SampleAt { group, index: sample.index }) {
                if sample.key.contains(['\n', '\r']) {
                    let failure = Failure::data(ACTIVITY, "a key has a line break, so it cannot be in a list");
                    failed = Some(failure.on(Subject::shard(shard.to_string()).key(sample.key)));
                    return false;
                }
                let key = if has_files { first_stem(sample.key) } else { sample.key };
                let is_top = shard.is_empty() || has_files && &**shard == TOP_FOLDER;
                if !is_top {
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

/// Keeps a list of the state folder as long as a run folder exists, and copies it into the run folder, so that the command of that run can
/// be repeated. Does nothing for other lists, which belong to the user.
pub(crate) fn keep_for_run(fs: &dyn Fs, list: &Path, run_folder: &Path) -> Outcome<()> {
    let Some(name) = name_of_own(list) else { return Ok(()) };
    copy_list(fs, &find_list(list, run_folder)?, &run_folder.join(name))?;
    match files::exists(list) {
        true => add_run(fs, list, run_folder),
        false => Ok(()),
    }
}

/// Returns the path of a list. If a list of the state folder no longer exists, returns the copy in a run folder.
///
/// # Errors
/// The list no longer exists, and no run that used it has a copy.
pub(crate) fn find_list(list: &Path, run_folder: &Path) -> Outcome<PathBuf> {
    let Some(name) = name_of_own(list).filter(|_| !files::exists(list)) else { return Ok(list.to_owned()) };
    let runs = std::iter::once(run_folder.to_owned()).chain(runs_that_took(list)).filter(|run| !is_remote(run));
    let copy = runs.map(|run| run.join(name)).find(|copy| files::is_file(copy));
    copy.ok_or_else(|| {
        let failure = Failure::usage("reading the list of keys", "the browser wrote it, and it no longer exists");
        let hint = "W in the browser writes it again of the same filter or marks; --keep-keys names another list";
        failure.on(Subject::path(list)).with_hint(hint)
    })
}

/// Returns the file name of a list in the state folder; `None` for other lists.
fn name_of_own(list: &Path) -> Option<&OsStr> {
    list.file_name().filter(|_| list.parent() == Some(&xdg::state_dir().join(FOLDER)))
}

/// Copies a list. The copy is renamed to its final name when it is complete.
fn copy_list(fs: &dyn Fs, list: &Path, copy: &Path) -> Outcome<()> {
    // A run folder in a store is not read by other runs, so it needs no copy.
    if is_remote(copy) || files::exists(copy) {
        return Ok(());
    }
    let draft = copy.with_extension("new");
    fs.remove_file(&draft)?;
    let mut reader = open_read(list)?.into_reader();
    let mut out = fs.create_file(&draft)?;
    let mut bytes = vec![0; WRITE_BYTES];
    loop {
        match reader.read(&mut bytes).map_err(|error| Failure::io(ACTIVITY, list, &error))? {
            0 => break,
            count => out.write_all(bytes.get(..count).unwrap_or_default())?,
        }
    }
    out.close()?;
    fs.rename(&draft, copy)
}

fn add_run(fs: &dyn Fs, list: &Path, run_folder: &Path) -> Outcome<()> {
    let path = runs_of(list);
    let mut runs = read_whole(&path, MAX_RUNS_BYTES)?.unwrap_or_default();
    let run = run_folder.as_os_str().as_encoded_bytes();
    if runs.split(|byte| *byte == b'\n').any(|known| known == run) {
        return Ok(());
    }
    runs.extend_from_slice(run);
    runs.push(b'\n');
    publish::write_file(fs, &path, &runs, 0o600)
}

fn runs_of(list: &Path) -> PathBuf {
    let mut name = list.as_os_str().to_owned();
    name.push(RUNS);
    name.into()
}

/// Returns the run folders of the runs that use a list.
fn runs_that_took(list: &Path) -> Vec<PathBuf> {
    let runs = read_whole(&runs_of(list), MAX_RUNS_BYTES).ok().flatten().unwrap_or_default();
    let runs = runs.split(|byte| *byte == b'\n').filter(|run| !run.is_empty());
    runs.map(|run| PathBuf::from(OsStr::from_bytes(run))).collect()
}

/// Whether a run folder exists for which the list must be kept.
fn is_kept(list: &Path) -> bool {
    // Sends no request to a store: a run folder there counts as existing.
    runs_that_took(list).iter().any(|folder| is_remote(folder) || files::exists(folder))
}

/// Removes old lists that no existing run uses.
fn remove_old(folder: &Path) -> Outcome<()> {
    for entry in files::read_dir(folder).map_err(|error| Failure::io(ACTIVITY, folder, &error))?.flatten() {
        let age = entry.metadata().ok().and_then(|info| SystemTime::now().duration_since(info.modified()).ok());
        let is_list = !entry.file_name().as_bytes().ends_with(RUNS.as_bytes());
        if is_list && age.is_some_and(|age| age > MAX_AGE) && !is_kept(entry.path()) {
            RealFs.remove_file(&runs_of(entry.path()))?;
            RealFs.remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the name of a file up to the dot that ends the key of its sample.
fn first_stem(name: &str) -> &str {
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::super::folder;
    use super::*;
    use gristmill_core::DatasetKind;
    use std::fs;

    #[test]
    fn key_list_names_top_level_files_by_their_sample_key() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("in/b")).unwrap();
        for name in ["a.png", "a.seg.png", "b/c.png"] {
            fs::write(folder.path().join("in").join(name), "").unwrap();
        }
        let opening = folder::open(&folder.path().join("in"), DatasetKind::PlainFolder).unwrap();
        opening.background.into_iter().for_each(|work| work(&opening.stop));
        let list = folder.path().join("list");
        write_into(&list, &*opening.catalog, &mut (0..2), &|_| true, &Cancel::default()).unwrap();
        assert_eq!(fs::read_to_string(list).unwrap(), "a\na\nb/c\n");
    }

    #[test]
    fn key_list_is_kept_as_long_as_the_run_that_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join("lists").join(name);
        let (run, other) = (folder.path().join("out.gristmill"), folder.path().join("other.gristmill"));
        fs::create_dir_all(folder.path().join("lists")).unwrap();
        fs::create_dir(&run).unwrap();
        let long_ago = SystemTime::now() - 2 * MAX_AGE;
        for (name, time) in [("new.txt", SystemTime::now()), ("old.txt", long_ago), ("taken.txt", long_ago)] {
            fs::write(path(name), "key\n").unwrap();
            fs::File::options().write(true).open(path(name)).unwrap().set_modified(time).unwrap();
        }
        for run in [&run, &other, &run] {
            add_run(&RealFs, &path("taken.txt"), run).unwrap();
        }
        assert_eq!(fs::read_to_string(path("taken.txt.runs")).unwrap().lines().count(), 2);
        let names = || {
            let entries = fs::read_dir(folder.path().join("lists")).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        remove_old(&folder.path().join("lists")).unwrap();
        assert_eq!(names(), ["new.txt", "taken.txt", "taken.txt.runs"]);
        fs::remove_dir(&run).unwrap();
        remove_old(&folder.path().join("lists")).unwrap();
        assert_eq!(names(), ["new.txt"]);
    }
}
