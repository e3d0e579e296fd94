//! Paths of all files of a run.

use super::inputs::Inputs;
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Subject};
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

/// Sample folder of Forager.
const SAMPLES: &str = "tokenized-samples";

/// Paths of the files of a plan.
#[derive(Debug)]
pub(super) struct Layout {
    /// The output, absolute.
    pub(super) output: PathBuf,
    pub(super) own: RunFolder,
    is_single_file: bool,
    formats: Vec<PackFormat>,
}

impl Layout {
    /// Returns the layout of a plan before its inputs are searched for.
    pub(super) fn of(plan: &PackPlan) -> Outcome<Self> {
        let refuse = |why: &str| Failure::usage("packing", why).on(Subject::field("--output"));
        if plan.output.is_empty() {
            return Err(refuse("where the tokens go is not said"));
        }
        let given = std::path::absolute(&plan.output).map_err(|error| Failure::io("packing", &plan.output, &error))?;
        // `x/..` and `.` have no name for a run folder next to them.
        let output = match given.file_name() {
            Some(_) => given.components().collect(),
            None => std::fs::canonicalize(&given).map_err(|error| Failure::io("packing", &given, &error))?,
        };
        let Some(name) = output.file_name() else {
            return Err(refuse("the root of the file system is no place for it"));
        };
        let own = match plan.nanosets.as_ref().and_then(|target| target.rank) {
            // Tasks of one folder run at the same time.
            Some(rank) => {
                RunFolder::for_output(&output.with_file_name(format!("{}.rank-{rank:05}", name.to_string_lossy())))
            }
            None => RunFolder::for_output(&output),
        };
        Ok(Self { output, own, is_single_file: false, formats: plan.formats() })
    }

    /// Decides whether the output is a file or a folder.
    pub(super) fn settle(&mut self, plan: &PackPlan, inputs: &Inputs) -> Outcome<()> {
        let is_file_name = !self.output.is_dir() && !plan.output.ends_with('/');
        let only_modalities = self.formats == [PackFormat::Modalities];
        self.is_single_file = only_modalities && inputs.pbins.len() == 1 && is_file_name && is_one_file(plan);
        if only_modalities && !self.is_single_file && is_file_name && plan.output.ends_with(".pbin") {
            let why = "it is the name of a packed file, and of a folder or of several inputs each file becomes one";
            return Err(Failure::usage("packing", why)
                .on(Subject::path(&self.output))
                .with_hint("name a folder, or give one file; gristmill modalities merge puts packed files together"));
        }
        if only_modalities && !self.is_single_file && inputs.pbins.len() > 1 && self.output.is_file() {
            return Err(Failure::usage("packing", "there are several inputs, and the output is a file")
                .on(Subject::path(&self.output))
                .with_hint("name a folder"));
        }
        Ok(())
    }

    /// Returns the folder that contains everything that becomes visible.
    pub(super) fn root(&self) -> &Path {
        self.output.parent().unwrap_or(&self.output)
    }

    /// Returns the path that readers of a format open.
    pub(super) fn place(&self, format: PackFormat) -> PathBuf {
        if self.formats.len() > 1 {
            self.output.join(format.word())
        } else {
            self.output.clone()
        }
    }

    pub(super) fn pbin(&self, name: &str) -> PathBuf {
        if self.is_single_file {
            self.output.clone()
        } else {
            self.place(PackFormat::Modalities).join(name)
        }
    }

    pub(super) fn task(&self, name: &str) -> PathBuf {
        self.place(PackFormat::Nanosets).join(name)
    }

    pub(super) fn samples(&self, name: &str) -> PathBuf {
        self.place(PackFormat::Forager).join(SAMPLES).join(name)
    }

    /// Returns the name of a sample file in the index.
    pub(super) fn samples_in_index(name: &str) -> String {
        format!("{SAMPLES}/{name}")
    }

    pub(super) fn index(&self, plan: &PackPlan, name: &str) -> PathBuf {
        let folder = plan.forager.as_ref().map_or("index", |target| target.index_folder.as_str());
        self.place(PackFormat::Forager).join(folder).join(name)
    }

    /// Returns the places that only this program writes to, which are never input. A `.pbin`, and the folders of Forager, may be next to
    /// the text.
    pub(super) fn own_places(&self, plan: &PackPlan) -> Vec<PathBuf> {
        let logs = plan.nanosets.as_ref().and_then(|target| target.logging_dir.as_deref());
        let mut own: Vec<PathBuf> = logs.and_then(|logs| std::path::absolute(logs).ok()).into_iter().collect();
        own.push(self.own.path().to_owned());
        for format in &self.formats {
            match format {
                PackFormat::Modalities if self.formats.len() == 1 => {}
                PackFormat::Modalities | PackFormat::Nanosets => own.push(self.place(*format)),
                PackFormat::Forager => {
                    let index = self.index(plan, "");
                    own.extend([self.place(PackFormat::Forager).join(SAMPLES), index.components().collect()]);
                }
            }
        }
        own
    }

    pub(super) fn spools(&self) -> PathBuf {
        self.own.work().join("spools")
    }

    pub(super) fn finished(&self) -> PathBuf {
        self.own.work().join("finished")
    }
}

/// Whether the plan names a single input that is a file.
fn is_one_file(plan: &PackPlan) -> bool {
    plan.paths_file.is_none() && plan.inputs.len() == 1 && plan.inputs.iter().all(|input| !Path::new(input).is_dir())
}
