//! Plans about token folders as the commands that say them.

use super::flags::FORCE_OVERWRITE;
use super::CommandLine;
use crate::engine::nanosets::merge::MAX_TOKENS_PER_FILE;
use crate::engine::nanosets::mixture::{IndexPlan, Member, DEFAULT_SEED as MIXTURE_SEED};
use crate::engine::nanosets::{MergePlan, WindowsPlan};
use gristmill_core::pack::DEFAULT_SEED;

impl CommandLine {
    /// The command that says exactly this plan of merging.
    pub fn of_merge(plan: &MergePlan) -> Self {
        let mut line = Self::of_words(&["gristmill", "nanosets", "merge"]);
        line.path(&plan.input);
        line.value("--output", &plan.output.to_string_lossy());
        line.value("--name", &plan.name);
        line.unusual("--max-tokens-per-file", plan.max_tokens_per_file, MAX_TOKENS_PER_FILE);
        line.unusual("--max-tokens", plan.max_tokens, 0);
        if let Some(chunk) = plan.chunk {
            line.value("--chunk-size", &chunk.to_string());
        }
        match plan.seed {
            Some(seed) => line.unusual("--seed", seed, DEFAULT_SEED),
            None => line.value("--shuffle", "none"),
        }
        line.flag_if(plan.overwrite, FORCE_OVERWRITE);
        line
    }

    /// The command that says exactly this plan of shuffling windows.
    pub fn of_windows(plan: &WindowsPlan) -> Self {
        let mut line = Self::of_words(&["gristmill", "nanosets", "shuffle"]);
        line.path(&plan.input);
        line.value("--output", &plan.output.to_string_lossy());
        line.value("--window", &plan.window.to_string());
        line.unusual("--seed", plan.seed, DEFAULT_SEED);
        line.flag_if(plan.overwrite, FORCE_OVERWRITE);
        line
    }

    /// The command that says exactly this plan of a mixture; `None` where it has folders beside bare numbers of windows, which only a
    /// plan file can say.
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
