//! Paths of all files of a run.

use super::super::format::{OutputTarget, TokenFormat};
use super::super::formats;
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_storage::files;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::stores::is_bucket;
use std::path::{Path, PathBuf};

/// Paths of the files of a plan.
#[derive(Debug)]
pub(super) struct Layout {
    /// The output, absolute.
    pub(super) output: PathBuf,
    pub(super) run_folder: RunFolder,
}

impl Layout {
    /// Returns the layout of a plan.
    pub(super) fn of(plan: &PackPlan) -> Outcome<Self> {
        let refuse = |why: &str| Failure::usage("packing", why).on(Subject::field("--output"));
        if plan.output.is_empty() {
            return Err(refuse("no output is given"));
        }
        let given = files::absolute(&plan.output).map_err(|error| Failure::io("packing", &plan.output, &error))?;
        // `x/..` and `.` have no file name from which to derive the name of the run folder.
        let output = match given.file_name() {
            Some(_) => files::without_slash(&given),
            None => files::canonicalize(&given).map_err(|error| Failure::io("packing", &given, &error))?,
        };
        if is_bucket(&output) {
            return Err(refuse("it is a bucket: name a folder in it"));
        }
        let Some(name) = output.file_name() else {
            return Err(refuse("the output cannot be the root of the file system"));
        };
        let suffix = formats::chosen(plan).into_iter().find_map(|format| format.run_suffix(plan));
        let own = match suffix {
            Some(suffix) => {
                RunFolder::for_output(&output.with_file_name(format!("{}.{suffix}", name.to_string_lossy())))
            }
            None => RunFolder::for_output(&output),
        };
        Ok(Self { output, run_folder: own })
    }

    /// Returns the folder that contains all published files.
    pub(super) fn root(&self) -> &Path {
        self.output.parent().unwrap_or(&self.output)
    }

    /// Returns the path of a format's files.
    pub(super) fn place(&self, plan: &PackPlan, format: &dyn TokenFormat) -> OutputTarget {
        let is_alone = formats::only_format(plan).is_some();
        let path = if is_alone { self.output.clone() } else { self.output.join(format.name()) };
        OutputTarget { path, is_only_target: is_alone }
    }

    /// Returns the folders that only this program writes. They are never read as input.
    pub(super) fn own_places(&self, plan: &PackPlan) -> Vec<PathBuf> {
        let of_formats = formats::chosen(plan);
        let of_formats = of_formats.iter().flat_map(|format| format.own_places(plan, &self.place(plan, *format)));
        std::iter::once(self.run_folder.path().to_owned()).chain(of_formats).collect()
    }

    /// Fails if there is a file at the path of a folder that the run would write.
    pub(super) fn check_folders(&self, plan: &PackPlan) -> Outcome<()> {
        let folders = self.own_places(plan).into_iter().chain(self.place_of_several(plan));
        match folders.into_iter().find(|folder| files::is_file(folder)) {
            Some(file) => Err(Failure::usage("packing", "the output is a folder, and there is a file of this name")
                .on(Subject::path(file))
                .with_hint("name another output")),
            None => Ok(()),
        }
    }

    /// Returns the folder with the files of several formats.
    fn place_of_several(&self, plan: &PackPlan) -> Option<PathBuf> {
        formats::only_format(plan).is_none().then(|| self.output.clone())
    }

    pub(super) fn spools(&self) -> PathBuf {
        self.run_folder.work_folder().join("spools")
    }

    pub(super) fn finished(&self) -> PathBuf {
        self.run_folder.work_folder().join("finished")
    }

    /// Returns a path relative to the folder of the output.
    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root()).unwrap_or(path).to_string_lossy().into_owned()
    }
}
