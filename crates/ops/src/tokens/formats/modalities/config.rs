//! Reads the configuration file of Modalities for `pack --config`.

use crate::tokens::formats;
use crate::tokens::formats::modalities::engine::config;
use gristmill_core::pack::{ModalitiesTarget, SpecialToken, DEFAULT_BATCH_LINES};
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_storage::files;
use std::path::Path;

/// Completes a plan with the settings of a Modalities configuration. Flags have precedence.
pub(super) fn read_config(plan: &mut PackPlan, path: &Path) -> Outcome<()> {
    let refuse = |flag: &str, why: &str, hint: &str| {
        Err(Failure::usage("reading the command line", why).on(Subject::field(flag)).with_hint(hint))
    };
    if !plan.inputs.is_empty() {
        let why = "the configuration names the text, and so does the command line";
        return refuse("--config", why, "leave the paths out, or give flags in place of the configuration");
    }
    for (is_given, flag) in [(plan.glob.is_some(), "--glob"), (plan.paths_file.is_some(), "--paths-file")] {
        if is_given {
            return refuse(flag, "it chooses files of a folder, and the configuration names one file", "leave it out");
        }
    }
    let formats = formats::chosen(plan);
    if formats.is_empty() {
        plan.modalities = Some(ModalitiesTarget::default());
    }
    if formats.len() > 1 && plan.output.is_empty() {
        let why = "the configuration names a file, and several formats go into a folder";
        return refuse("--output", why, "name a folder");
    }
    let mut config = config::read(path)?;
    if !plan.tokenizer.is_empty() {
        config.use_tokenizer(&plan.tokenizer);
    }
    let by_config = config.plan(plan.compat)?;
    let (Some(target), Some(mut by_file)) = (&mut plan.modalities, by_config.modalities) else { return Ok(()) };
    plan.inputs = by_config.inputs;
    plan.tokenizer = by_config.tokenizer;
    plan.text = by_config.text;
    if plan.output.is_empty() {
        plan.output = by_config.output;
    }
    if plan.special_tokens.is_empty() {
        plan.special_tokens = by_config.special_tokens;
    }
    // An end token given for all formats has precedence over the one in the configuration.
    if target.eod_token.is_none() && plan.end.is_none() {
        target.eod_token = by_file.eod_token.take();
        // The other formats have no default end token.
        if formats.len() > 1 {
            plan.end = target.eod_token.take().map(SpecialToken::Text);
        }
    }
    // An index that is neither named nor present is not created; the lines are read instead.
    if target.index.is_none() && (config.is_index_named || files::is_file(config.index)) {
        target.index = by_file.index.take();
    }
    target.truncate_to = target.truncate_to.or(by_file.truncate_to);
    target.pad_to = target.pad_to.or(by_file.pad_to);
    if target.pad_to.is_some() && target.pad_token.is_none() {
        target.pad_token = by_file.pad_token.take();
    }
    if target.batch_lines == DEFAULT_BATCH_LINES {
        target.batch_lines = by_file.batch_lines;
    }
    Ok(())
}
