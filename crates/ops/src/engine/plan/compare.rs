//! Compares two plans.

use gristmill_core::{Duplicates, MediaFilter, MediaPlan, PreparePlan, SampleMapping, Scope, SplitPlan, Tgz};
use serde::Serialize;
use serde_json::{Map, Value};

/// Returns the answers that differ, one line each: `splits: by ratio 8,1,1 → by ratio 9,1,0`. Empty if both plans produce the same files.
///
/// The path, the rerun mode and answers that only concern a rerun are ignored.
pub fn differences(old: &PreparePlan, new: &PreparePlan) -> Vec<String> {
    let mut out = Vec::new();
    let mut line = |what: &str, a: String, b: String| {
        if a != b {
            out.push(format!("{what}: {a} → {b}"));
        }
    };
    let is_listed = |plan: &PreparePlan| matches!(plan.splits, SplitPlan::Listed(_));
    match is_listed(old) == is_listed(new) {
        true => line("splits", splits(&old.splits), splits(&new.splits)),
        // The lists are long, and the methods differ.
        false => line("splits", method(&old.splits), method(&new.splits)),
    }
    line("shuffled", yes_or_no(old.shuffle_tars), yes_or_no(new.shuffle_tars));
    line("shard excludes", list(&old.exclude_shards), list(&new.exclude_shards));
    line("excludes", list(&old.excludes), list(&new.excludes));
    line("loading", loading(&old.loading), loading(&new.loading));
    line("dataset yaml", old.dataset_yaml_name.clone(), new.dataset_yaml_name.clone());
    line("files made", scope(old.scope).into(), scope(new.scope).into());
    line("media metadata", media(old.media.as_ref()), media(new.media.as_ref()));
    line("duplicates", duplicates(old).into(), duplicates(new).into());
    line("compressed shards", compressed(old).into(), compressed(new).into());
    line("empty splits accepted", yes_or_no(old.allow_empty_splits), yes_or_no(new.allow_empty_splits));
    line("--compat", yes_or_no(old.compat), yes_or_no(new.compat));
    out
}

/// Returns the answers in which two plans of the same operation differ, one line each: `tokenizer: "a" → "b"`. Top-level answers named in
/// `but` are ignored.
pub fn differing_answers(old: &impl Serialize, new: &impl Serialize, but: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut old, mut new) = (answers(old), answers(new));
    for name in but {
        old.remove(*name);
        new.remove(*name);
    }
    compare_answers("", &old, &new, &mut lines);
    lines
}

fn answers(plan: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(plan) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}

fn compare_answers(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, lines: &mut Vec<String>) {
    for key in new.keys().chain(old.keys().filter(|key| !new.contains_key(*key))) {
        let name = if path.is_empty() { key.clone() } else { format!("{path} {key}") };
        match (old.get(key), new.get(key)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare_answers(&name, old, new, lines),
            (old, new) if old != new => lines.push(format!("{name}: {} → {}", shown(old), shown(new))),
            _ => {}
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "not given".into(),
        Some(Value::Object(_)) => "given".into(),
        Some(value) => value.to_string(),
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Full => "all",
        Scope::TarIndexOnly => "the index only",
        Scope::WithoutSampleTables => "all but index.sqlite",
    }
}

fn media(plan: Option<&MediaPlan>) -> String {
    let Some(plan) = plan else { return "none".into() };
    let how = match &plan.filter {
        MediaFilter::Extension => "by extension".to_owned(),
        MediaFilter::Header => "by header".to_owned(),
        MediaFilter::Glob(patterns) => format!("by patterns {}", patterns.join(",")),
    };
    format!("{how}{}", if plan.decode { ", decoded" } else { "" })
}

fn duplicates(plan: &PreparePlan) -> &'static str {
    match plan.duplicates {
        Duplicates::Fail | Duplicates::Prefix => "refused",
        Duplicates::KeepFirst => "the first is kept",
    }
}

fn compressed(plan: &PreparePlan) -> &'static str {
    match plan.tgz {
        Tgz::Skip => "left out of the splits",
        Tgz::Rewrite => "rewritten as .tar",
    }
}

fn yes_or_no(value: bool) -> String {
    if value { "yes" } else { "no" }.to_owned()
}

/// Describes how shards are divided, without lists of them.
fn method(plan: &SplitPlan) -> String {
    match plan {
        SplitPlan::Listed(_) => "by hand".into(),
        other => splits(other),
    }
}

/// Describes the division of shards. Equal descriptions mean equal divisions.
fn splits(plan: &SplitPlan) -> String {
    match plan {
        SplitPlan::Unset => "not answered".into(),
        SplitPlan::Ratio(text) => format!("by ratio {text}"),
        SplitPlan::Patterns(patterns) => {
            let all: Vec<String> = patterns.iter().map(|p| format!("{}:{}", p.name, p.pattern)).collect();
            format!("by pattern {}", all.join(" "))
        }
        SplitPlan::Listed(lists) => {
            let all: Vec<String> = lists.iter().map(|l| format!("{} ({})", l.name, list(&l.shards))).collect();
            format!("by hand {}", all.join(" "))
        }
    }
}

fn loading(loading: &SampleMapping) -> String {
    match loading {
        SampleMapping::Unset => "not answered".into(),
        SampleMapping::NoDatasetYaml => "no dataset yaml".into(),
        SampleMapping::Crude { cooker } => format!("crude{}", if *cooker { " with a cooker" } else { "" }),
        SampleMapping::FieldMap { sample_type, fields } => {
            let all: Vec<String> = fields.iter().map(|f| format!("{}={}", f.field, f.expr)).collect();
            format!("{sample_type} {}", all.join(" "))
        }
        SampleMapping::SampleLoader { sample_type } => format!("{sample_type} with a sample loader"),
    }
}

/// Formats a list: a short list in full, a long one as its number of items and a fingerprint, so that different lists always look
/// different.
fn list(items: &[String]) -> String {
    match items {
        [] => "none".into(),
        short if short.len() <= 4 => short.join(", "),
        long => {
            let hash = xxhash_rust::xxh3::xxh3_64(long.join("\n").as_bytes());
            format!("{}, … {} in all ({:08x})", long[0], long.len(), hash as u32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::plan::SplitList;

    #[test]
    fn plan_differences_name_only_answers_that_change_the_files() {
        let mut old = PreparePlan::new("a");
        old.splits = SplitPlan::Ratio("8,1,1".into());
        let mut new = PreparePlan { path: "b".into(), rerun: gristmill_core::Rerun::Overwrite, ..old.clone() };
        assert!(differences(&old, &new).is_empty());
        new.splits = SplitPlan::Ratio("9,1,0".into());
        new.excludes = vec!["s.tar/1".into()];
        assert_eq!(differences(&old, &new), ["splits: by ratio 8,1,1 → by ratio 9,1,0", "excludes: none → s.tar/1"]);
    }

    #[test]
    fn lists_of_shards_are_shown_only_if_both_divisions_are_lists() {
        let listed = |shard: &str| PreparePlan {
            splits: SplitPlan::Listed(vec![SplitList { name: "train".into(), shards: vec![shard.into()] }]),
            ..PreparePlan::new("a")
        };
        let by_ratio = PreparePlan { splits: SplitPlan::Ratio("8,1,1".into()), ..PreparePlan::new("a") };
        assert_eq!(differences(&listed("s.tar"), &by_ratio), ["splits: by hand → by ratio 8,1,1"]);
        assert!(differences(&listed("s.tar"), &listed("s.tar")).is_empty());
        assert_eq!(differences(&listed("s.tar"), &listed("t.tar")).len(), 1);
    }
}
