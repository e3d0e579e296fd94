//! The flags of `prepare` that have no effect on JSONL files and metadatasets.

use super::super::context::Context;
use super::super::plan_result::save_plan;
use crate::tui::recent;
use gristmill_core::text::agree;
use gristmill_core::{Failure, Outcome, PreparePlan, Rerun, Subject};
use gristmill_ops::operations::prepare::command_line;
use gristmill_ops::operations::{erase, Prepare};
use gristmill_storage::xdg;
use std::path::Path;

/// Returns the flags of a plan that have no effect on its data.
fn meaningless_flags(plan: &PreparePlan) -> Vec<String> {
    let has_lines = plan.path.ends_with(".jsonl");
    let has_effect = |flag: &str| match flag {
        // An existing index is always replaced, so these flags are accepted.
        "--yes" | "--compat" | "--force-overwrite" => true,
        _ => flag == "--skip-bad-lines" && has_lines,
    };
    let words = command_line(plan).arguments.into_iter().filter(|word| word.starts_with("--"));
    let flags = words.map(|word| word.split('=').next().unwrap_or_default().to_owned());
    let mut flags: Vec<String> = flags.filter(|flag| !has_effect(flag)).collect();
    flags.dedup();
    flags
}

/// Refuses flags without effect on `what`; for drop-in commands they are only noted, except those about media. Returns the plan without
/// these flags, and saves it if requested.
pub fn without_meaningless_flags(plan: &PreparePlan, what: &str, context: &Context) -> Outcome<PreparePlan> {
    let flags = meaningless_flags(plan);
    let has_lines = plan.path.ends_with(".jsonl");
    let rest = PreparePlan {
        skip_bad_lines: plan.skip_bad_lines && has_lines,
        rerun: if plan.rerun == Rerun::Overwrite && has_lines { Rerun::Overwrite } else { Rerun::Refuse },
        compat: plan.compat,
        ..PreparePlan::new(plan.path.clone())
    };
    let refuse = |flag: &str, why: &str| {
        let failure = match context.globals.drop_in {
            true => Failure::data("preparing", why),
            false => Failure::usage("preparing", why),
        };
        failure.on(Subject::field(flag)).with_hint(format!("leave it out: {}", command_line(&rest).text()))
    };
    if let Some(flag) = flags.iter().find(|flag| flag.contains("media")) {
        return Err(refuse(flag, &format!("{what} has no media metadata")));
    }
    match flags.first() {
        Some(flag) if !context.globals.drop_in => return Err(refuse(flag, &format!("it has no effect for {what}"))),
        Some(_) => {
            let verb = agree(flags.len() as u64, "changes", "change");
            context.printer.warning(&format!("{} {verb} nothing for {what}", flags.join(", ")), None);
        }
        None => {}
    }
    save_plan(&*erase::<Prepare>(rest.clone()), context)?;
    if !context.globals.dry_run {
        recent::remember_now(&xdg::state_dir(), Path::new(&plan.path));
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{MediaFilter, MediaPlan, SampleMapping, SplitPlan, Tgz};

    #[test]
    fn flags_without_effect_on_jsonl_are_named() {
        let mut plan = PreparePlan::new("a.jsonl");
        assert!(meaningless_flags(&plan).is_empty());
        plan.rerun = Rerun::Overwrite;
        plan.compat = true;
        assert!(meaningless_flags(&plan).is_empty());
        plan.splits = SplitPlan::Ratio("8,1,1".into());
        plan.loading = SampleMapping::Crude { cooker: false };
        plan.excludes = vec!["a/b".into(), "a/c".into()];
        plan.tgz = Tgz::Rewrite;
        plan.media = Some(MediaPlan { filter: MediaFilter::Header, decode: false });
        let flags = meaningless_flags(&plan);
        let expected = ["--split-ratio", "--exclude-sample", "--sample-type", "--tgz", "--media-metadata-by-header"];
        assert_eq!(flags, expected);
    }
}
