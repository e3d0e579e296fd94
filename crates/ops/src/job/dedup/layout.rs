//! Paths of all files of a run.

use gristmill_core::{DedupPlan, Failure, Outcome, RunOptions, Subject};
use gristmill_storage::files;
use gristmill_storage::remote::is_hub_url;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::stores::is_bucket;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Paths of the files of a plan.
#[derive(Debug)]
pub(super) struct Layout {
    /// Absolute path of the output.
    pub(super) output: PathBuf,
    pub(super) run_folder: RunFolder,
    /// Folder of the temporary data that is read by position: in the run folder, or in the folder that the user chose.
    pub(super) scratch: PathBuf,
    /// Whether `scratch` is outside of the run folder.
    pub(super) is_on_other_disk: bool,
    pub(super) index: Option<PathBuf>,
    pub(super) ranges: Option<PathBuf>,
}

/// Returns the absolute form of a path.
fn absolute(path: &str) -> Outcome<PathBuf> {
    files::absolute(path).map_err(|error| Failure::io("deduplicating", path, &error))
}

/// Returns the plan with absolute paths, so that plans can be compared. The address of a data set in the hub is not changed.
pub(super) fn with_absolute_paths(plan: &DedupPlan) -> Outcome<DedupPlan> {
    let mut plan = plan.clone();
    let named = [&mut plan.against, &mut plan.export_index, &mut plan.export_ranges, &mut plan.from_index];
    let named = named.into_iter().filter_map(Option::as_mut).chain([&mut plan.input]);
    for path in named.filter(|path| !path.is_empty() && !is_hub_url(path)) {
        // A path whose absolute form is not valid UTF-8 is not changed.
        if let Some(whole) = files::without_slash(&absolute(path)?).to_str() {
            whole.clone_into(path);
        }
    }
    Ok(plan)
}

/// Returns the plan with an absolute output, so that it can be run again from any folder.
pub(super) fn with_output(plan: &DedupPlan) -> Outcome<DedupPlan> {
    let output = absolute(&plan.output)?;
    let output = output.to_str().unwrap_or(&plan.output).to_owned();
    Ok(DedupPlan { output, ..plan.clone() })
}

impl Layout {
    /// Returns the layout of a plan.
    pub(super) fn of(plan: &DedupPlan, options: &RunOptions) -> Outcome<Self> {
        let wanted = plan.visible_output();
        let refuse = |why: &str| Failure::usage("deduplicating", why).on(Subject::field("--output"));
        if wanted.is_empty() {
            return Err(refuse("no output is given"));
        }
        let given = absolute(&wanted)?;
        // `x/..` and `.` have no file name, from which the name of the run folder is derived.
        let output: PathBuf = match given.file_name() {
            Some(_) => files::without_slash(&given),
            None => files::canonicalize(&given).map_err(|error| Failure::io("deduplicating", &given, &error))?,
        };
        if is_bucket(&output) {
            return Err(refuse("it is a bucket: name a folder in it"));
        }
        if output.file_name().is_none() {
            return Err(refuse("the output cannot be the root of the file system"));
        }
        let own = RunFolder::for_output(&output);
        let scratch = match &options.scratch {
            Some(folder) => {
                let folder = files::absolute(folder).map_err(|error| Failure::io("deduplicating", folder, &error))?;
                folder.join(folder_name(&output))
            }
            None => own.work_folder().join("scratch"),
        };
        Ok(Self {
            run_folder: own,
            scratch,
            is_on_other_disk: options.scratch.is_some(),
            index: plan.export_index.as_deref().map(absolute).transpose()?,
            ranges: plan.export_ranges.as_deref().map(absolute).transpose()?,
            output,
        })
    }

    /// Returns the folder that contains all files that the run publishes.
    pub(super) fn root(&self) -> &Path {
        self.output.parent().unwrap_or(&self.output)
    }

    /// Returns the folders in which the run publishes files.
    pub(super) fn places(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.output), self.index.as_ref(), self.ranges.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Path of the ranges of a unit, which are needed until the end of the run.
    pub(super) fn ranges_of(&self, unit: usize) -> PathBuf {
        self.work_path("ranges").join(unit.to_string())
    }

    /// Path of an output of a file before publication. For a shard of an index there are several, numbered by `part`.
    pub(super) fn staged(&self, file: usize, part: usize) -> PathBuf {
        self.work_path("out").join(if part == 0 { file.to_string() } else { format!("{file}.{part}") })
    }

    /// Path of the ranges of a file before publication.
    pub(super) fn ranges_section(&self, file: usize) -> PathBuf {
        self.work_path("out").join(format!("{file}.ranges"))
    }

    /// Path of the ranges of all files before publication.
    pub(super) fn all_ranges(&self) -> PathBuf {
        self.work_path("out").join("ranges")
    }

    /// Path of the folder of an exported shard before publication.
    pub(super) fn shard(&self, shard: u32) -> PathBuf {
        self.work_path("shards").join(shard.to_string())
    }

    fn work_path(&self, name: &str) -> PathBuf {
        self.run_folder.work_folder().join(name)
    }

    /// Returns the folders with unpublished files of a run, without scratch.
    pub(super) fn folders(&self) -> [PathBuf; 3] {
        ["ranges", "out", "shards"].map(|name| self.work_path(name))
    }

    /// Path at which the output of a file is published.
    pub(super) fn target(&self, name: &str) -> PathBuf {
        self.output.join(name)
    }
}

/// Returns the name of the scratch folder of an output, distinct for runs that share one parent folder.
pub(super) fn folder_name(output: &Path) -> String {
    format!("dedup-{:016x}.gristmill", xxh3_64(output.as_os_str().as_bytes()))
}
