//! Is there room for what a run writes? Asked before the work, so that a disk does not fill up after hours of it.

use super::inputs::Inputs;
use super::layout::Layout;
use super::outputs::bytes_in;
use super::{preview, Tuning};
use crate::job::task::TaskContext;
use gristmill_core::pack::SampleSize;
use gristmill_core::{text, Failure, Outcome, PackPlan, Subject};
use gristmill_storage::space::free_bytes;

/// How many times larger than its file packed text is, generously.
const UNPACKED: u64 = 24;
/// An estimate from a sample may be this much too high, as a share.
const ESTIMATE_MARGIN: f64 = 0.1;

/// Fails when what a plan writes does not fit on the disk of the output.
///
/// Documents are only sampled where the disk could be too small for the worst: every byte of the text a token.
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
    // What a stopped run has written is used, or makes room.
    let free = free.saturating_add(bytes_in(&layout.spools()) + bytes_in(&layout.finished()));
    let worst = worst(plan, inputs);
    if worst <= free {
        return Ok(());
    }
    context.log(format!(
        "up to {} may be needed, {} are free: some documents are packed to measure the need",
        text::bytes(worst),
        text::bytes(free)
    ));
    let needed = preview(plan, &context.options, &context.cancel)?.needed_bytes;
    let why = format!("about {} are needed, and {} are free", text::bytes(needed), text::bytes(free));
    if needed as f64 * (1.0 - ESTIMATE_MARGIN) <= free as f64 {
        context.log(format!("the disk has room: {why}"));
        return Ok(());
    }
    context.log(format!("the disk is too full: {why}"));
    Err(Failure::environment("packing", why)
        .on(Subject::path(&layout.output))
        .with_hint("free some space, or name an --output on another disk"))
}

/// More than a plan can need: a token and an entry of an index for each byte of text, all of it twice.
fn worst(plan: &PackPlan, inputs: &Inputs) -> u64 {
    let masks = plan.forager.as_ref().map_or(0, |target| u64::from(target.masks.is_some()));
    let forager = plan.forager.as_ref().map_or(0, |target| match target.sample_size {
        SampleSize::Fixed(_) => target.token_type().bytes() as u64 + masks,
        SampleSize::Variable => target.token_type().bytes() as u64 + 32,
    });
    let nanosets = plan.nanosets.as_ref().map_or(0, |target| 4 + 8 + u64::from(target.loss_masks));
    let modalities = plan.modalities.as_ref().map_or(0, |_| 4 + 20);
    inputs.text_bytes().saturating_mul(2 * (forager + nanosets + modalities))
}

impl Inputs {
    /// Bytes of the text of all passes, as it may be when it is unpacked.
    fn text_bytes(&self) -> u64 {
        let files = self.passes.iter().flat_map(|pass| &pass.files);
        files.map(|file| if file.packing.is_plain() { file.bytes } else { file.bytes.saturating_mul(UNPACKED) }).sum()
    }
}
