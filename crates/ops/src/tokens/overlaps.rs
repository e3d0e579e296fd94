//! Detects outputs that are also inputs.

use super::formats;
use crate::engine::plan::resolve_links;
use gristmill_core::{PackPlan, Problem, ProblemKind, Subject};
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Returns one refusal for each file that would be both read and written. Token folders below an input are permitted, because a run ignores
/// its own folders.
pub(crate) fn overlaps(plan: &PackPlan) -> Vec<Problem> {
    if plan.output.is_empty() {
        return Vec::new();
    }
    let others: Vec<_> = formats::chosen(plan).into_iter().flat_map(|format| format.other_files(plan)).collect();
    let output = resolve_links(Path::new(&plan.output));
    let written = others.iter().filter_map(|other| Some((other.flag?, resolve_links(&other.path))));
    let written: Vec<(&str, PathBuf)> = std::iter::once(("--output", output.clone())).chain(written).collect();
    let mut found = Vec::new();
    for input in &plan.inputs {
        let path = resolve_links(Path::new(input));
        for (flag, place) in &written {
            if *place == path && files::is_file(&path) {
                let subject = Subject::field(*flag);
                found.push(Problem::refusal(ProblemKind::BadName, subject, format!("{input} is an input")));
            }
        }
    }
    // Other files that are read; the tables next to a text are made where they are missing.
    let tokenizer = (Path::new(&plan.tokenizer), "the tokenizer");
    for (path, what) in std::iter::once(tokenizer).chain(others.iter().map(|other| (other.path.as_path(), other.what)))
    {
        if files::is_file(path) && resolve_links(path) == output {
            let subject = Subject::field("--output");
            found.push(Problem::refusal(ProblemKind::BadName, subject, format!("{} is {what}", plan.output)));
        }
    }
    found
}
