//! `pack --config FILE.yaml`: the settings by which Modalities packs. Flags take precedence; a flag that conflicts with them is refused.

use super::args::PackArgs;
use crate::cli::args::Globals;
use crate::cli::paths;
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Subject};
use gristmill_ops::engine::modalities::config;
use gristmill_ops::engine::plan::pack::flags as p;
use std::path::Path;

/// Maximum number of threads a configuration can request.
const MAX_THREADS: usize = 1024;

/// Applies the number of threads of the configuration, unless a flag sets it. Errors in the file are reported when the plan is read.
pub fn adjust(args: &PackArgs, globals: &mut Globals) {
    if let (Some(path), None) = (&args.modalities.config, globals.threads) {
        globals.threads = threads_of(path);
    }
}

/// Returns the number of processes of a configuration, as a number of threads.
pub fn threads_of(path: &Path) -> Option<usize> {
    config::read(path).ok().and_then(|config| config.cpus).map(|cpus| cpus.min(MAX_THREADS))
}

/// Completes the plan with the values of the configuration that no flag sets.
pub(super) fn fill_in(plan: &mut PackPlan, args: &PackArgs, path: &Path) -> Outcome<()> {
    let refuse = |flag: &str, why: &str, hint: &str| {
        Err(Failure::usage("reading the command line", why).on(Subject::field(flag)).with_hint(hint))
    };
    if !args.inputs.is_empty() {
        let why = "the configuration names the text, and so does the command line";
        return refuse(p::CONFIG, why, "leave the paths out, or give flags in place of the configuration");
    }
    for (is_given, flag) in [(args.glob.is_some(), p::GLOB), (args.nanosets.paths_file.is_some(), p::PATHS_FILE)] {
        if is_given {
            return refuse(flag, "it chooses files of a folder, and the configuration names one file", "leave it out");
        }
    }
    if plan.formats() != [PackFormat::Modalities] && plan.output.is_empty() {
        let why = "the configuration names a file, and several formats go into a folder";
        return refuse(p::OUTPUT, why, "name a folder");
    }
    let mut config = config::read(path)?;
    if let Some(tokenizer) = &args.tokenizer {
        config.use_tokenizer(tokenizer);
    }
    let told = config.plan(plan.compat)?;
    let (Some(target), Some(mut by_file)) = (&mut plan.modalities, told.modalities) else { return Ok(()) };
    plan.inputs = vec![paths::local(&config.source)?];
    plan.tokenizer = told.tokenizer;
    if plan.output.is_empty() {
        plan.output = paths::local(&config.output)?;
    }
    if args.text_key.is_none() && args.jq.is_none() {
        plan.text = told.text;
    }
    let flags = &args.modalities;
    if plan.special_tokens.is_empty() {
        plan.special_tokens = told.special_tokens;
    }
    // The end token for all formats, if given, applies to this format, too.
    if flags.eod_token.is_none() && plan.end.is_none() {
        target.eod_token = by_file.eod_token.take();
        // The other formats have no default end token.
        if plan.nanosets.is_some() || plan.forager.is_some() {
            plan.end = target.eod_token.take().map(gristmill_core::pack::EndToken::Text);
        }
    }
    // An index that is neither named nor present is not created: the lines themselves are read.
    if flags.index.is_none() && (config.is_index_named || config.index.is_file()) {
        target.index = by_file.index.take();
    }
    target.truncate_to = target.truncate_to.or(by_file.truncate_to);
    if target.pad_to.is_none() {
        target.pad_to = by_file.pad_to;
    }
    if target.pad_to.is_some() && target.pad_token.is_none() {
        target.pad_token = by_file.pad_token.take();
    }
    if flags.batch_lines.is_none() {
        target.batch_lines = by_file.batch_lines;
    }
    Ok(())
}
