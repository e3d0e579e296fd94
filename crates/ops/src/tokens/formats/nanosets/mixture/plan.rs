//! Converts folders and numbers of windows to a request.

use super::super::engine::folder::{folder_facts, FolderFacts};
use super::{Request, TokenizerSettings, ACTIVITY, DEFAULT_SEED};
use gristmill_core::{Failure, Handles, Outcome, Subject};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A data set of a mixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Member {
    /// A folder of token files.
    Folder(PathBuf),
    /// A number of windows, without a folder.
    Windows(u64),
}

/// Settings that determine an index, and its output folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixtureIndexPlan {
    /// Version of the plan format, [`PLAN_VERSION`](gristmill_core::plan::PLAN_VERSION).
    pub version: u32,
    /// The data sets, in the order of their numbers.
    pub members: Vec<Member>,
    /// One weight per data set; `None` weighs each data set by its number of windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
    /// Tokens of a sample, without the last one, which is only predicted; required with folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence_length: Option<u64>,
    /// Training steps times the global batch size.
    pub samples: u64,
    /// Seed of the shuffle.
    #[serde(default = "default_seed")]
    pub seed: u32,
    /// Settings of the training configuration that are compared with the tokenizer of the folders.
    #[serde(default, skip_serializing_if = "TokenizerSettings::is_empty")]
    pub training: TokenizerSettings,
    /// Folder of the index.
    pub output: PathBuf,
    /// Replace an existing index.
    #[serde(default)]
    pub overwrite: bool,
}

fn default_seed() -> u32 {
    DEFAULT_SEED
}

/// A plan whose folders were inspected.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedMixture {
    /// The request, which has been checked.
    pub request: Request,
    /// Names of the data sets: their paths, or numbers.
    pub names: Vec<String>,
    /// Facts of the folders.
    pub folders: Vec<FolderFacts>,
}

/// Inspects the folders and checks the plan. Refuses folders that were made with different tokenizers, as nanotron does.
pub fn resolve(plan: &MixtureIndexPlan, handles: &Handles<'_>) -> Outcome<ResolvedMixture> {
    let (mut lengths, mut names) = (Vec::new(), Vec::new());
    let mut folders: Vec<FolderFacts> = Vec::new();
    for (number, member) in plan.members.iter().enumerate() {
        match member {
            Member::Windows(windows) => {
                lengths.push(*windows);
                names.push(format!("data set {}", number + 1));
            }
            Member::Folder(path) => {
                let length = plan.sequence_length.ok_or_else(|| {
                    Failure::usage(ACTIVITY, "the sequence length is missing, and decides the windows of a folder")
                        .on(Subject::field("--sequence-length"))
                })?;
                if length == 0 {
                    let failure = Failure::usage(ACTIVITY, "a sequence of no token cannot be used");
                    return Err(failure.on(Subject::field("--sequence-length")));
                }
                let facts = folder_facts(path, Some(length), None, handles)?;
                if let Some(first) = folders.first() {
                    agree(first, &facts)?;
                }
                lengths.push(facts.windows.unwrap_or(0));
                names.push(facts.path.clone());
                folders.push(facts);
            }
        }
    }
    let request = Request { lengths, weights: plan.weights.clone(), samples: plan.samples, seed: plan.seed };
    request.check(&names)?;
    Ok(ResolvedMixture { request, names, folders })
}

fn agree(first: &FolderFacts, other: &FolderFacts) -> Outcome<()> {
    let why = match (&first.tokenizer, &other.tokenizer) {
        _ if first.token_size != other.token_size => format!(
            "its tokens have {} bytes, and those of {} have {}",
            other.token_size.bytes(),
            first.path,
            first.token_size.bytes()
        ),
        (Some(a), Some(b)) if a != b => format!("its tokenizer is {b:?}, and that of {} is {a:?}", first.path),
        _ => return Ok(()),
    };
    Err(Failure::data(ACTIVITY, why).on(Subject::path(&other.path)))
}
