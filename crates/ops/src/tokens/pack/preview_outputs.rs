//! The files that a plan would write, and their sizes.

use super::inputs::Inputs;
use super::layout::Layout;
use crate::formats::nanosets::names;
use crate::job::report::OutputFile;
use crate::source::text::TextFile;
use gristmill_core::{PackFormat, PackPlan};
use std::path::Path;

/// Limit of rows in a list.
pub(super) const MAX_LISTED: usize = 1_000;

/// Returns the files that are written, each with its share of all bytes: the share of its input in all expected tokens. The files of one
/// entry of `names` have the same input and equal shares.
pub(super) fn outputs(names: Vec<Vec<String>>, tokens: &[u64], bytes: u64) -> Vec<OutputFile> {
    let all: u64 = tokens.iter().sum();
    let files = names.into_iter().zip(tokens).flat_map(|(names, tokens)| {
        let each = share(bytes, *tokens, all) / names.len().max(1) as u64;
        names.into_iter().map(move |name| (name, each))
    });
    let file = |(name, bytes): (String, u64)| OutputFile { replaces: Path::new(&name).exists(), name, bytes };
    files.take(MAX_LISTED).map(file).collect()
}

/// Returns the tokens of each output of a spec, in the order of the outputs, from the expected tokens of each of its input files.
pub(super) fn expected(number: usize, format: PackFormat, inputs: &Inputs, of: &dyn Fn(&TextFile) -> u64) -> Vec<u64> {
    let count = match format {
        PackFormat::Modalities => inputs.pbins.len(),
        PackFormat::Nanosets => inputs.ranks.len(),
        PackFormat::Forager => inputs.samples.len(),
    };
    let mut tokens = vec![0; count];
    for pass in inputs.passes.iter().filter(|pass| pass.specs.contains(&number)) {
        for (file, role) in pass.files.iter().zip(&pass.roles) {
            let place = match format {
                PackFormat::Modalities => Some(role.pbin),
                PackFormat::Nanosets => inputs.ranks.iter().position(|rank| *rank == role.rank),
                PackFormat::Forager => Some(role.samples),
            };
            if let Some(tokens) = place.and_then(|place| tokens.get_mut(place)) {
                *tokens += of(file);
            }
        }
    }
    tokens
}

/// Returns the names of the `.ds` files of each task, as many as the tokens fill.
pub(super) fn task_names(plan: &PackPlan, layout: &Layout, inputs: &Inputs, tokens: u64) -> Vec<Vec<String>> {
    let Some(target) = &plan.nanosets else { return Vec::new() };
    let each = tokens / (inputs.ranks.len().max(1) as u64);
    let subs = match target.max_tokens_per_file {
        Some(most) if target.is_shuffled() => each.div_ceil(most.max(1)).clamp(1, MAX_LISTED as u64),
        _ => 1,
    };
    let step = if target.chunk_size.is_some() { names::Step::Chunks } else { names::Step::Documents };
    let prefix = target.prefix.as_deref();
    let of_rank = |rank: &u32| match target.is_shuffled() {
        false => vec![shown(&layout.task(&names::unshuffled(prefix, *rank)))],
        true => {
            let name = |sub| shown(&layout.task(&names::shuffled(target.names, prefix, *rank, sub, step)));
            (0..subs).map(name).collect()
        }
    };
    inputs.ranks.iter().map(of_rank).collect()
}

/// Returns `number` multiplied by `part / whole`.
pub(super) fn share(number: u64, part: u64, whole: u64) -> u64 {
    (u128::from(number) * u128::from(part) / u128::from(whole.max(1))) as u64
}

pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
