//! Finds answers that are wrong for any data.

use super::pattern::NamePattern;
use super::source::EXTENSION;
use gristmill_core::shard_plan::InputKind;
use gristmill_core::{Problem, ProblemKind, SampleMapping, ShardPlan, SplitPlan, Subject};

/// Returns the answers of a plan that are wrong for any data.
pub fn refusals(plan: &ShardPlan) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |field: &str, why: String, hint: &str| {
        let problem = Problem::refusal(ProblemKind::BadName, Subject::field(field), why);
        problems.push(if hint.is_empty() { problem } else { problem.with_hint(hint) });
    };
    if let Err(why) = NamePattern::parse(&plan.division.pattern) {
        refuse("--pattern", why, "for example shard_%06d.tar");
    }
    let choice = &plan.choice;
    if choice.one_split && plan.division.splits_by_folder {
        refuse("--splits-by-folder", "--one-split writes everything into one split".into(), "give one of the two");
    }
    for (position, (old, new)) in choice.rename_parts.iter().enumerate() {
        if choice.rename_parts.iter().take(position).any(|(known, _)| known == old) {
            refuse("--rename-part", format!("the part '{old}' gets two names"), "give one new name");
        }
        if new.contains('/') || new.contains(char::is_control) {
            refuse("--rename-part", format!("'{new}' cannot be the name of a part"), "a name has no slash");
        }
    }
    for name in &choice.keep_parts {
        if choice.drop_parts.contains(name) {
            refuse("--drop-parts", format!("the part '{name}' is also in --keep-parts"), "give it to one of the two");
        }
    }
    for name in &choice.require {
        let is_kept = choice.keep_parts.is_empty() || choice.keep_parts.contains(name);
        if !is_kept || choice.drop_parts.contains(name) {
            refuse("--require", format!("the part '{name}' is left out, so that no sample has it"), "");
        }
    }
    if plan.rows.media_root.is_some() && plan.rows.media.is_empty() && plan.read_as != InputKind::Auto {
        refuse("--media-root", "no column has media".into(), "name the column with --media");
    }
    if let Some((flag, part)) = unknown_braces(plan) {
        refuse(flag, format!("'{part}' has braces that name nothing"), "only {ext} has a meaning, with --media");
    }
    let apart = &plan.apart;
    let is_named = |path: &Option<std::path::PathBuf>, ends: &[&str]| {
        path.as_ref()
            .is_none_or(|path| ends.iter().any(|end| path.as_os_str().as_encoded_bytes().ends_with(end.as_bytes())))
    };
    if !is_named(&apart.text_to, &[".jsonl"]) {
        refuse("--text-to", "the name of a file of lines ends in .jsonl".into(), "");
    }
    if !is_named(&apart.metadataset, &[".yaml", ".yml"]) {
        refuse("--metadataset", "the name of a metadataset ends in .yaml".into(), "");
    }
    if apart.media_to.is_none() && (apart.text_to.is_some() || apart.metadataset.is_some()) {
        refuse(
            "--media-to",
            "where the media go is not given".into(),
            "--text-to and --metadataset need --media-to DIR",
        );
    }
    if apart.metadataset.is_some() && plan.preparation.no_prepare {
        refuse("--metadataset", "its members must be prepared".into(), "leave out --no-prepare");
    }
    let preparation = &plan.preparation;
    if plan.append && (apart.media_to.is_some() || preparation.no_prepare) {
        refuse("--append", "shards are added to one prepared set".into(), "leave out --media-to and --no-prepare");
    }
    if plan.append && (preparation.splits != SplitPlan::Unset || preparation.loading != SampleMapping::Unset) {
        refuse(
            "--append",
            "the set keeps its splits and its dataset yaml".into(),
            "--new-to names the split of new shards",
        );
    }
    let has_answers = preparation.splits != SplitPlan::Unset || preparation.loading != SampleMapping::Unset;
    if preparation.no_prepare && (has_answers || preparation.media.is_some()) {
        refuse(
            "--no-prepare",
            "answers about the preparation have no effect".into(),
            "leave them out, or --no-prepare",
        );
    }
    problems
}

/// Returns the first name of a part with braces that are no placeholder, and its flag.
fn unknown_braces(plan: &ShardPlan) -> Option<(&'static str, &str)> {
    let has_braces = |text: &str| text.contains(['{', '}']);
    let mut media = plan.rows.media.iter().filter_map(|column| column.part.as_deref());
    let mut text = plan.rows.text.iter().filter_map(|column| column.part.as_deref());
    let media = media.find(|part| has_braces(&part.replace(EXTENSION, "")));
    let text = text.find(|part| has_braces(part));
    media.map(|part| ("--media", part)).or(text.map(|part| ("--text", part)))
}
