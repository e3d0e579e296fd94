//! Flags → [`DedupPlan`].

use super::args::{DedupArgs, KeepArg, ModeArg, VariantArg};
use crate::cli::paths;
use gristmill_core::dedup::{Keep, Mode, Variant};
use gristmill_core::{DedupPlan, Outcome};
use std::path::Path;

/// Returns the plan of the flags; missing values are empty.
pub fn from_args(args: &DedupArgs, compat: bool) -> Outcome<DedupPlan> {
    let named = |path: &Option<std::path::PathBuf>| path.as_deref().map(paths::local).transpose();
    let mut plan = DedupPlan::new(named(&args.input)?.unwrap_or_default(), named(&args.output)?.unwrap_or_default());
    plan.min_length = args.minlen;
    plan.mode = match args.mode.unwrap_or_default() {
        ModeArg::Remove => Mode::Remove,
        ModeArg::Annotate => Mode::Annotate,
    };
    plan.variant = match args.variant.unwrap_or_default() {
        VariantArg::A => Variant::A,
        VariantArg::B => Variant::B,
    };
    plan.keep = match args.keep.unwrap_or_default() {
        KeepArg::First => Keep::First,
        KeepArg::None => Keep::None,
    };
    if let Some(key) = &args.annotate_key {
        plan.annotate_key.clone_from(key);
    }
    if let Some(key) = &args.text_key {
        plan.text_key.clone_from(key);
    }
    if let Some(count) = args.min_count {
        plan.min_count = count;
    }
    if let Some(shards) = args.shards {
        plan.shards = shards;
    }
    plan.against = named(&args.against)?;
    plan.export_index = named(&args.export_index)?;
    plan.export_ranges = named(&args.export_ranges)?;
    plan.from_index = named(&args.from_index)?;
    plan.table = args.table;
    plan.overwrite = args.force_overwrite;
    plan.compat = compat;
    Ok(plan)
}

/// Returns the plan with absolute paths, since it may be run from another folder.
pub fn with_absolute_paths(plan: &DedupPlan, absolute: impl Fn(&str) -> Outcome<String>) -> Outcome<DedupPlan> {
    let mut plan = plan.clone();
    let named =
        [plan.against.as_mut(), plan.export_index.as_mut(), plan.export_ranges.as_mut(), plan.from_index.as_mut()];
    let folders = [Some(&mut plan.input), Some(&mut plan.output)];
    for path in named.into_iter().chain(folders).flatten().filter(|path| !Path::new(path).as_os_str().is_empty()) {
        *path = absolute(path)?;
    }
    Ok(plan)
}
