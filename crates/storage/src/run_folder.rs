//! The program's own folder next to its output: plan, report, journal, lock and work in progress.
//!
//! Next to an output in a store are only the plan, the report and the lock; the other files are in the state folder of this machine.

use super::files::{exists, missing_folders};
use super::fs::{Fs, PRIVATE_FOLDER};
use super::location::{is_remote, RemoteUrl};
use super::stores::store_of;
use super::xdg;
use gristmill_core::{Failure, Outcome};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The folder of a WebDataset with the metadata for readers.
const META_FOLDER: &str = ".nv-meta";
const NAME: &str = "gristmill";
/// Name of the folder in the state folder that contains the own folders of outputs in stores.
const REMOTE_FOLDER: &str = "remote";

/// Suffix of the folder next to an output.
const SUFFIX: &str = ".gristmill";

/// Whether a folder is Gristmill's own folder next to an output, judged by its name and its content. Readers of data skip such folders.
pub fn is_next_to_output(folder: &Path) -> bool {
    let name = folder.file_name().map_or(&b""[..], |name| name.as_encoded_bytes());
    let marks = ["plan.yaml", "report.json", "journal", "lock", "work", "renames"];
    name.len() > SUFFIX.len() && name.ends_with(SUFFIX.as_bytes()) && marks.iter().any(|mark| exists(folder.join(mark)))
}

/// Whether a path is a file or folder of an own folder that only an unfinished run uses. Copies omit it.
pub fn is_unfinished_run_file(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name_of = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
    let (name, folder_name) = (name_of(path), name_of(folder));
    let is_in_set = folder_name == NAME.as_bytes() && folder.parent().is_some_and(|meta| meta.ends_with(META_FOLDER));
    let is_own = is_in_set || folder_name.len() > SUFFIX.len() && folder_name.ends_with(SUFFIX.as_bytes());
    is_own && ["lock", "renames", "publishing", "journal", "work"].iter().any(|running| name == running.as_bytes())
}

/// Paths of the files of one own folder; nothing is created before [`create`](Self::create).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
    /// The folder next to the output: `path`, or an address.
    shown: PathBuf,
    /// The folder whose permissions are copied to the own folder.
    model: PathBuf,
    /// Parent folders to create, outermost first.
    parents: Vec<PathBuf>,
}

impl RunFolder {
    /// Returns `<root>/.nv-meta/gristmill`.
    pub fn for_webdataset(root: &Path) -> Self {
        let meta = root.join(META_FOLDER);
        let shown = meta.join(NAME);
        match is_remote(root) {
            true => Self::of_store(shown, &xdg::state_dir_of(root)),
            false => Self { path: shown.clone(), shown, model: root.to_owned(), parents: vec![meta] },
        }
    }
    /// Returns `<output>.gristmill`, next to an output file or folder.
    pub fn for_output(output: &Path) -> Self {
        let mut name = output.file_name().map_or_else(|| OsString::from("output"), OsString::from);
        name.push(".");
        name.push(NAME);
        if is_remote(output) {
            return Self::of_store(output.with_file_name(name), &xdg::state_dir_of(output));
        }
        let parent = match output.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let path = parent.join(name);
        Self { shown: path.clone(), path, model: parent, parents: Vec::new() }
    }
    /// Returns the own folder in the state folder for an address.
    fn of_store(shown: PathBuf, state: &Path) -> Self {
        // For a store that cannot be opened, no files are written or found.
        let service = RemoteUrl::parse(&shown).and_then(|url| store_of(&url).ok()?.service(&url));
        let parent = state.join(REMOTE_FOLDER);
        let path = parent.join(name_in_state(&shown, service.as_deref()));
        Self { path, shown, model: state.to_owned(), parents: vec![parent] }
    }
    /// Returns the folder of a data set in a store, with another state folder.
    #[cfg(test)]
    pub(crate) fn in_state_folder(root: &Path, state: &Path) -> Self {
        Self::of_store(root.join(META_FOLDER).join(NAME), state)
    }
    /// Returns the path of the folder itself, which is on this machine.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Returns the folder of plan and report, which is next to the output.
    pub fn shown(&self) -> &Path {
        &self.shown
    }
    /// Returns the output that such a folder belongs to, derived from its name; `None` if the name does not match.
    pub fn output_of(folder: &Path) -> Option<PathBuf> {
        let name = folder.file_name()?.to_str()?.strip_suffix(SUFFIX)?;
        (!name.is_empty()).then(|| folder.with_file_name(name))
    }
    /// Returns the path of the plan of the last run.
    pub fn plan(&self) -> PathBuf {
        self.shown.join("plan.yaml")
    }
    /// Returns the path of the report of the last run.
    pub fn report(&self) -> PathBuf {
        self.shown.join("report.json")
    }
    /// Returns the path of the problems of the last run beyond those listed in its report, one JSON object per line.
    pub fn unlisted_problems(&self) -> PathBuf {
        self.shown.join("unlisted-problems.jsonl")
    }
    /// Returns the path of the ranges found by the last run of dedup, for inspection.
    pub fn ranges(&self) -> PathBuf {
        self.shown.join("ranges")
    }
    /// Returns the path of the plan of the last media-only run.
    pub fn media_plan(&self) -> PathBuf {
        self.shown.join("media-plan.yaml")
    }
    /// Returns the path of the report of the last media-only run.
    pub fn media_report(&self) -> PathBuf {
        self.shown.join("media-report.json")
    }
    /// Returns the path of the journal: the finished units of a run that is not finished.
    pub fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }
    /// Returns the path of the lock file, which identifies the holder of the lock.
    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }
    /// Returns the path of the plan of a run that is not finished, as requested.
    pub fn running_plan(&self) -> PathBuf {
        self.work_folder().join("plan.yaml")
    }
    /// Returns the folder for work in progress, on the file system of the output; removed at commit.
    pub fn work_folder(&self) -> PathBuf {
        self.path.join("work")
    }
    /// Returns the path of the rename list of a publish that has started.
    pub fn renames(&self) -> PathBuf {
        self.path.join("renames")
    }
    /// Whether the folder exists.
    pub fn exists(&self) -> bool {
        self.path.is_dir()
    }
    /// Creates the folder, and `work` in it. New folders get the permissions of the folder that they belong to, plus access for the owner;
    /// `work` is private.
    pub fn create(&self, fs: &dyn Fs) -> Outcome<()> {
        self.create_outer(fs)?;
        if !self.work_folder().is_dir() {
            fs.create_dir(&self.work_folder(), PRIVATE_FOLDER)?;
            fs.sync_dir(&self.path)?;
        }
        Ok(())
    }
    /// Like [`create`](Self::create), but without `work`, which only the holder of the lock uses.
    pub(super) fn create_outer(&self, fs: &dyn Fs) -> Outcome<()> {
        if !self.path.is_dir() {
            let mode = match is_remote(&self.shown) {
                true => PRIVATE_FOLDER,
                false => {
                    let model = std::fs::metadata(&self.model);
                    own_mode(model.map_err(|error| Failure::io("opening", &self.model, &error))?.mode())
                }
            };
            // Of the parent folders, only the state folder may be missing.
            let parents = self.parents.iter().map(PathBuf::as_path);
            for folder in missing_folders(&self.model).into_iter().chain(parents).chain([&*self.path]) {
                fs.create_dir(folder, mode)?;
                if let Some(parent) = folder.parent() {
                    fs.sync_dir(parent)?;
                }
            }
        }
        Ok(())
    }
    /// Returns the folder for work in progress of a media-only run; other files in `work` belong to other commands.
    pub fn media_work(&self) -> PathBuf {
        self.work_folder().join("media")
    }
    /// Removes the own folders that are empty, innermost first. Stops at a folder that is in use or cannot be removed.
    pub fn remove_if_empty(&self, fs: &dyn Fs) {
        for folder in [&self.work_folder(), &self.path].into_iter().chain(self.parents.iter().rev()) {
            if fs.raw_rmdir(folder).is_err() {
                return;
            }
        }
    }
    /// Removes the work in progress and the journal.
    pub fn remove_work(&self, fs: &dyn Fs) -> Outcome<()> {
        fs.remove_file(&self.journal())?;
        fs.remove_dir_all(&self.work_folder())
    }
}

/// Returns the name of the folder in the state folder for an address. The name depends on the service, too.
fn name_in_state(address: &Path, service: Option<&str>) -> String {
    let mut key = address.as_os_str().as_encoded_bytes().to_vec();
    if let Some(service) = service {
        // Addresses contain no line feed before their key.
        key.splice(0..0, format!("{service}\n").into_bytes());
    }
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&key))
}

/// Returns the permissions of an own folder, derived from those of the folder that it belongs to. If everyone may write to that folder, as
/// to a folder for temporary files, only the owner may write to the own folder, because a resumed run trusts its content.
fn own_mode(model: u32) -> u32 {
    let shared = if model & 0o002 == 0 { 0o2777 } else { 0o2755 };
    (model & shared) | PRIVATE_FOLDER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::fault::{Fault, FaultFs};
    use crate::fs::RealFs;
    use gristmill_core::ExitClass;
    use rustix::io::Errno;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn run_folder_of_a_data_set_is_below_nv_meta() {
        let own = RunFolder::for_webdataset(Path::new("/d/set"));
        assert_eq!(own.path(), Path::new("/d/set/.nv-meta/gristmill"));
        assert_eq!(own.journal(), Path::new("/d/set/.nv-meta/gristmill/journal"));
        assert_eq!(own.work_folder(), Path::new("/d/set/.nv-meta/gristmill/work"));
        assert_eq!(RunFolder::for_output(Path::new("/d/x.pbin")).path(), Path::new("/d/x.pbin.gristmill"));
        assert_eq!(RunFolder::for_output(Path::new("x.pbin")).path(), Path::new("./x.pbin.gristmill"));
    }

    #[test]
    fn state_folder_name_depends_on_address_and_service() {
        let name = |service| name_in_state(Path::new("s3://b/set/.nv-meta/gristmill"), service);
        assert_eq!(name(None), "c9e0b782ff8b0fbf003960ee0681315f", "the place of what runs have left");
        let all = [name(None), name(Some("http://a:1")), name(Some("http://a:2"))];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
    }

    #[test]
    fn only_files_of_a_running_job_are_skipped() {
        for (path, expected) in [
            ("s/.nv-meta/gristmill/lock", true),
            ("s/x.pbin.gristmill/work", true),
            ("s3://b/x.gristmill/publishing", true),
            ("s/x.pbin.gristmill/plan.yaml", false),
            ("s/gristmill/lock", false),
            ("s/.gristmill/lock", false),
            ("lock", false),
        ] {
            assert_eq!(is_unfinished_run_file(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn run_folders_inherit_the_mode_of_the_data_set_with_owner_access() {
        for (given, expected) in
            [(0o755, 0o755), (0o2775, 0o2775), (0o555, 0o755), (0o700, 0o700), (0o1777, 0o755), (0o777, 0o755)]
        {
            let dir = tempfile::tempdir().unwrap();
            RealFs.set_mode(dir.path(), given).unwrap();
            let own = RunFolder::for_webdataset(dir.path());
            if RunFolder::create(&own, &RealFs).is_err() {
                continue; // 0o555 for any user but root
            }
            assert_eq!(mode(&dir.path().join(".nv-meta")), expected);
            assert_eq!(mode(own.path()), expected);
            assert_eq!(mode(&own.work_folder()), 0o700);
            RealFs.set_mode(dir.path(), 0o700).unwrap();
        }
    }

    #[test]
    fn an_existing_meta_folder_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        RealFs.create_dir(&dir.path().join(".nv-meta"), 0o750).unwrap();
        let own = RunFolder::for_webdataset(dir.path());
        own.create(&RealFs).unwrap();
        own.create(&RealFs).unwrap();
        assert_eq!(mode(&dir.path().join(".nv-meta")), 0o750);
    }

    #[test]
    fn read_only_data_set_is_an_environment_failure_with_a_hint() {
        for errno in [Errno::ROFS, Errno::ACCESS] {
            let dir = tempfile::tempdir().unwrap();
            let fs = FaultFs::new(Fault::From { at: 0, errno });
            let failure = RunFolder::for_webdataset(dir.path()).create(&fs).unwrap_err();
            assert_eq!(failure.class, ExitClass::Environment);
            assert!(failure.subject.path.as_deref().unwrap().ends_with(".nv-meta"));
            assert!(failure.hint.unwrap().contains("write access"));
        }
    }
}
