//! Checks that the disk has enough space for a run before the run starts.

use super::super::formats;
use super::inputs::Inputs;
use super::layout::Layout;
use super::outputs::bytes_in;
use super::preview::preview_of;
use super::Tuning;
use crate::job::task::TaskContext;
use gristmill_core::{text, Failure, Outcome, PackPlan, Subject};
use gristmill_storage::space::{folder_of_drafts, free_bytes, hint_for_space};

/// Assumed maximum ratio of text to compressed size.
const MAX_COMPRESSION_RATIO: u64 = 24;
/// Safety margin of an estimate from a sample, as a fraction.
const ESTIMATE_MARGIN: f64 = 0.1;

/// Fails if the output of a plan does not fit on its disk.
///
/// Samples documents only if the disk may be too small for the worst case, in which every byte of the text becomes a token.
pub(super) fn check(
    context: &TaskContext,
    plan: &PackPlan,
    layout: &Layout,
    inputs: &Inputs,
    tuning: Tuning,
) -> Outcome<()> {
    let free = match tuning.free_bytes {
        Some(free) => free,
        None => free_bytes(&layout.output)?,
    };
    // Files of a stopped run are either reused or deleted.
    let free = free.saturating_add(bytes_in(&layout.spools()) + bytes_in(&layout.finished()));
    let worst = max_output_bytes(plan, inputs);
    if worst <= free {
        return Ok(());
    }
    context.log(format!("{} are free: some documents are packed to measure what is needed", text::bytes(free)));
    let needed = preview_of(plan, inputs.snapshots.clone(), &context.options, &context.cancel)?.needed_bytes;
    let why = format!("about {} are needed, and {} are free", text::bytes(needed), text::bytes(free));
    if needed as f64 * (1.0 - ESTIMATE_MARGIN) <= free as f64 {
        context.log(format!("the disk has room: {why}"));
        return Ok(());
    }
    context.log(format!("the disk is too full: {why}"));
    Err(Failure::environment("packing", why)
        .on(Subject::path(folder_of_drafts(&layout.output)))
        .with_hint(hint_for_space(&layout.output)))
}

/// Returns an upper bound of the disk space of a plan: twice the size of a token and an index entry for each byte of text.
fn max_output_bytes(plan: &PackPlan, inputs: &Inputs) -> u64 {
    let most: u64 = formats::chosen(plan).into_iter().map(|format| format.max_bytes_per_text_byte(plan)).sum();
    inputs.text_bytes().saturating_mul(2 * most)
}

impl Inputs {
    /// Returns the estimated bytes of the uncompressed text of all passes.
    fn text_bytes(&self) -> u64 {
        let files = self.passes.iter().flat_map(|pass| &pass.files);
        files
            .map(
                |file| {
                    if file.packing.is_plain() {
                        file.bytes
                    } else {
                        file.bytes.saturating_mul(MAX_COMPRESSION_RATIO)
                    }
                },
            )
            .sum()
    }
}
