//! `pack --config FILE.yaml`: the settings that Modalities packs by. A flag beside it wins; one that it leaves no room for is refused.

use super::args::PackArgs;
use crate::cli::args::Globals;
use crate::cli::paths;
use gristmill_core::{Failure, Outcome, PackFormat, PackPlan, Subject};
use gristmill_ops::engine::modalities::config;
use gristmill_ops::engine::plan::pack::flags as p;
use std::path::Path;

/// The most threads that a configuration can ask for.
const MAX_THREADS: usize = 1024;

/// Threads that the configuration asks for, unless a flag does. What is wrong with it is said when it is read for the plan.
pub fn adjust(args: &PackArgs, globals: &mut Globals) {
    if let (Some(path), None) = (&args.modalities.config, globals.threads) {
        globals.threads = threads_of(path);
    }
}

/// The number of processes that a configuration asks for, as threads.
pub fn threads_of(path: &Path) -> Option<usize> {
    config::read(path).ok().and_then(|config| config.cpus).map(|cpus| cpus.min(MAX_THREADS))
}

/// Fills in what the configuration says and no flag does.
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
    // The end token of all formats, where one is given, is that of this one too.
    if flags.eod_token.is_none() && plan.end.is_none() {
        target.eod_token = by_file.eod_token.take();
        // The others have no token of their own to fall back on.
        if plan.nanosets.is_some() || plan.forager.is_some() {
            plan.end = target.eod_token.take().map(gristmill_core::pack::EndToken::Text);
        }
    }
    // One that is neither named nor there need not be made: the lines themselves are read.
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
