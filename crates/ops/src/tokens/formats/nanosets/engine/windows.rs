//! The context shuffler: writes windows of equal length of each file in a new order (docs/formats/nanosets.md §5.2).

use super::copy::Copier;
use super::folder::metadata_problems;
use super::listing::files;
use super::output::{CompanionFiles, FinishedTokenFile, OutputOptions, Writer};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::nanosets::{Shard, TokenSize};
use gristmill_pycompat::numpy_random::Generator;
use gristmill_storage::fs::Fs;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The inputs and options of a window shuffle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WindowsPlan {
    /// Version of the plan format, [`PLAN_VERSION`].
    pub version: u32,
    /// Folder with the token files.
    pub input: PathBuf,
    /// Folder of the result; files keep their names.
    pub output: PathBuf,
    /// Size of a window in tokens.
    pub window: u64,
    /// Seed; one generator serves all files, in the order of their names.
    pub seed: u64,
    /// Whether existing files are replaced.
    #[serde(default)]
    pub overwrite: bool,
}

impl WindowsPlan {
    /// Creates a plan for windows of this size.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>, window: u64, seed: u64) -> Self {
        Self { version: PLAN_VERSION, input: input.into(), output: output.into(), window, seed, overwrite: false }
    }
}

/// Writes each file of a folder with its windows in a new order into `folder`, under the same name, without index and metadata, as in the
/// reference program. Tokens at the end that do not fill a window are dropped. Loss masks are dropped, too, with a problem. Returns the
/// files and the number of dropped tokens.
pub fn shuffle_windows(
    plan: &WindowsPlan,
    (fs, folder): (&dyn Fs, &Path),
    handles: &Handles<'_>,
) -> Outcome<(Vec<FinishedTokenFile>, u64)> {
    if plan.window == 0 {
        let failure = Failure::usage("shuffling windows", "a window has at least one token");
        return Err(failure.on(Subject::field("--window")));
    }
    let files = files(&plan.input, handles.problems)?;
    handles
        .progress
        .restart(files.iter().map(|file| file.tokens / plan.window).sum(), files.iter().map(|f| f.bytes).sum());
    let mut generator = Generator::seeded(plan.seed);
    let (mut made, mut dropped) = (Vec::with_capacity(files.len()), 0);
    for file in files {
        let token_size = file.metadata.as_ref().map_or(TokenSize::Two, |metadata| metadata.token_size);
        for problem in metadata_problems(&file, token_size, None) {
            handles.problems.report(problem)?;
        }
        if file.has_loss {
            let message = "its loss masks do not fit the tokens in their new order, and are left out";
            handles.problems.report(Problem::problem(ProblemKind::Other, Subject::path(&file.path), message))?;
        }
        let shard = Shard::open(&file.path, token_size)?;
        let companions = CompanionFiles { description: false, loss: false };
        let mut writer =
            Writer::create(OutputOptions { folder, fs, companions, token_size, tokenizer: "" }, file.name)?;
        let mut copier = Copier::new(shard.file(), None, token_size);
        let windows = shard.tokens() / plan.window;
        for window in generator.permutation(windows).iter() {
            copier.copy(window * plan.window, (window + 1) * plan.window, &mut writer, handles)?;
            handles.progress.add(1, 0);
        }
        dropped += shard.tokens() % plan.window;
        made.push(writer.finish()?);
    }
    Ok((made, dropped))
}
