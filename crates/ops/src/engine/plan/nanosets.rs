//! Converts the plan of a mixture index to the equivalent command.

use super::flags::FORCE_OVERWRITE;
use super::CommandLine;
use crate::engine::nanosets::mixture::{IndexPlan, Member, DEFAULT_SEED as MIXTURE_SEED};

impl CommandLine {
    /// Returns the command equivalent to this plan of a mixture; `None` where it mixes folders and bare numbers of windows, which only a
    /// plan file can express.
    pub fn of_index(plan: &IndexPlan) -> Option<Self> {
        let mut line = Self::of_words(&["gristmill", "mix", "index"]);
        let mut lengths = Vec::new();
        for member in &plan.members {
            match member {
                Member::Folder(folder) => line.path(folder),
                Member::Windows(windows) => lengths.push(windows.to_string()),
            }
        }
        if !lengths.is_empty() {
            if lengths.len() < plan.members.len() {
                return None;
            }
            line.value("--lengths", &lengths.join(","));
        }
        if let Some(weights) = &plan.weights {
            let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
            line.value("--weights", &weights.join(","));
        }
        if let Some(length) = plan.sequence_length {
            line.value("--sequence-length", &length.to_string());
        }
        line.value("--samples", &plan.samples.to_string());
        line.unusual("--seed", plan.seed.into(), MIXTURE_SEED.into());
        if let Some(tokenizer) = &plan.training.tokenizer {
            line.value("--tokenizer", tokenizer);
        }
        if let Some(size) = plan.training.vocab_size {
            line.value("--vocab-size", &size.to_string());
        }
        line.value("--output", &plan.output.to_string_lossy());
        line.flag_if(plan.overwrite, FORCE_OVERWRITE);
        Some(line)
    }
}
