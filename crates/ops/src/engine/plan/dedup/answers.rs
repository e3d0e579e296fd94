//! Checks of the plan alone: missing answers, and answers that are invalid for any data.

use super::super::{missing_answer, resolve_links, wrong_answer};
use gristmill_core::dedup::{Mode, Variant, ANNOTATE_KEY, LEAST_COUNT, TEXT_KEY};
use gristmill_core::{DedupPlan, Problem};
use gristmill_storage::remote::is_hub_url;
use std::path::{Path, PathBuf};

/// Limit of shards, each of which is a folder; a larger number is probably a typing error.
const MAX_SHARDS: u32 = 1 << 20;

/// Returns one refusal per missing answer, with a hint that names the flag.
pub fn open_questions(plan: &DedupPlan) -> Vec<Problem> {
    let mut open = Vec::new();
    if plan.source().is_empty() {
        let hint = "name a folder of .jsonl files, or --from-index DIR";
        open.push(missing_answer("no input is given", hint));
    }
    if plan.output.is_empty() {
        open.push(missing_answer("no output is given", "--output DIR"));
    }
    if plan.min_length.is_none() {
        let hint = "--minlen N, in bytes: 500 is usual for web text";
        open.push(missing_answer("no minimum length is given", hint));
    }
    open
}

/// Returns one refusal for each invalid answer. Checks the kind of the named paths, not their content.
pub fn refusals(plan: &DedupPlan) -> Vec<Problem> {
    let mut found = Vec::new();
    if plan.min_length == Some(0) {
        found.push(wrong_answer("--minlen", "at least 1 is needed"));
    }
    if plan.min_count < LEAST_COUNT {
        let hint = format!("{LEAST_COUNT} is the least: a passage that occurs once is no repeat");
        found.push(wrong_answer("--min-count", format!("{} is too small", plan.min_count)).with_hint(hint));
    }
    if plan.text_key.is_empty() {
        found.push(wrong_answer("--text-key", "it is empty"));
    }
    found.extend(of_annotations(plan));
    found.extend(of_exports(plan));
    found.extend(of_index(plan));
    found.extend(overlaps(plan));
    found
}

fn of_annotations(plan: &DedupPlan) -> Vec<Problem> {
    let mut found = Vec::new();
    if plan.annotate_key != ANNOTATE_KEY {
        if plan.mode != Mode::Annotate {
            let hint = "add --mode annotate, or leave it out";
            found.push(wrong_answer("--annotate-key", "it counts only where ranges are annotated").with_hint(hint));
        } else if plan.variant == Variant::B {
            let why = "it belongs to --variant a; variant b has a field of its own";
            found.push(wrong_answer("--annotate-key", why));
        }
    }
    let first = plan.annotate_key.split('.').next().unwrap_or_default();
    if plan.annotate_key.split('.').any(str::is_empty) {
        let why = "between its dots, and around them, there has to be a name";
        found.push(wrong_answer("--annotate-key", why).with_hint(format!("the default is {ANNOTATE_KEY}")));
    } else if plan.mode == Mode::Annotate && plan.variant == Variant::A && first == plan.text_key {
        found.push(wrong_answer("--annotate-key", "it would take the place of the text"));
    }
    found
}

fn of_exports(plan: &DedupPlan) -> Vec<Problem> {
    let mut found = Vec::new();
    if plan.shards == 0 || plan.shards > MAX_SHARDS {
        found.push(wrong_answer("--shards", format!("a number from 1 to {MAX_SHARDS} is needed")));
    }
    if plan.shards != 1 && plan.export_index.is_none() && plan.export_ranges.is_none() {
        let why = "shards are of what --export-index or --export-ranges writes";
        found.push(wrong_answer("--shards", why));
    }
    if plan.table && plan.export_index.is_none() {
        found.push(wrong_answer("--table", "the suffix table is part of what --export-index DIR writes"));
    }
    found
}

fn of_index(plan: &DedupPlan) -> Vec<Problem> {
    let mut found = Vec::new();
    if plan.from_index.is_none() {
        return found;
    }
    if !plan.input.is_empty() {
        let why = "an index holds the text and the records: no other folder can be read with it";
        found.push(wrong_answer("--from-index", why).with_hint("leave out the folder, or the flag"));
    }
    if plan.export_index.is_some() {
        found.push(wrong_answer("--export-index", "what --from-index names is an index already"));
    }
    if plan.shards != 1 {
        found.push(wrong_answer("--shards", "the shards are those of --from-index"));
    }
    if plan.text_key != TEXT_KEY {
        found.push(wrong_answer("--text-key", "an index does not say how the field of the text was called"));
    }
    found
}

/// A folder named in a plan: its purpose, and whether it is written.
struct PlanFolder<'a> {
    flag: &'static str,
    name: &'static str,
    plan_folder: &'a str,
    is_written: bool,
}

/// Returns one refusal for each pair of folders of which one contains the other, because output would then be read as input, or one output
/// would be inside another.
fn overlaps(plan: &DedupPlan) -> Vec<Problem> {
    let output = plan.visible_output();
    let place = |flag, name, given, is_written| PlanFolder { flag, name, plan_folder: given, is_written };
    let given = |value: &'_ Option<String>| value.clone().unwrap_or_default();
    let (against, from) = (given(&plan.against), given(&plan.from_index));
    let (index, ranges) = (given(&plan.export_index), given(&plan.export_ranges));
    let places = [
        place("the input", "the input", &plan.input, false),
        place("--from-index", "the index that is read", &from, false),
        place("--against", "the earlier set", &against, false),
        place("--output", "the output", &output, true),
        place("--export-index", "the index that is written", &index, true),
        place("--export-ranges", "the ranges that are written", &ranges, true),
    ];
    let named: Vec<(&PlanFolder<'_>, PathBuf)> = places
        .iter()
        .filter(|place| !place.plan_folder.is_empty() && !is_hub_url(place.plan_folder))
        .map(|place| (place, resolve_links(Path::new(place.plan_folder))))
        .collect();
    let mut found = Vec::new();
    for (at, (late, path)) in named.iter().enumerate() {
        for (early, other) in named.iter().take(at) {
            let how = match () {
                () if path == other => "is",
                () if path.starts_with(other) => "is in",
                () if other.starts_with(path) => "holds",
                () => continue,
            };
            let why = format!("{} {how} {}", late.name, early.name);
            let hint = if late.is_written { "name another folder, apart from it" } else { "name two folders apart" };
            found.push(wrong_answer(late.flag, why).with_hint(hint));
            break;
        }
    }
    found
}
