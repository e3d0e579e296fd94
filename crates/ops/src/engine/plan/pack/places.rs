//! Detects outputs that are inputs.

use crate::formats::modalities::raw_index::default_path;
use gristmill_core::{PackPlan, Problem, ProblemKind, Subject};
use std::path::{Path, PathBuf};

/// Returns one refusal for each file that would be read and written. Token folders below an input are harmless: a run skips its own.
pub fn overlaps(plan: &PackPlan) -> Vec<Problem> {
    if plan.output.is_empty() {
        return Vec::new();
    }
    let index = plan.modalities.as_ref().and_then(|target| target.index.as_deref());
    let written = [("--output", Some(plan.output.as_str())), ("--index", index)];
    let mut found = Vec::new();
    for input in &plan.inputs {
        let path = settled(Path::new(input));
        for (flag, place) in written {
            if path.is_file() && place.is_some_and(|place| settled(Path::new(place)) == path) {
                let subject = Subject::field(flag);
                found.push(Problem::refusal(ProblemKind::BadName, subject, format!("{input} is an input")));
            }
        }
    }
    // Other files that are read; the tables next to a text are made where they are missing.
    let output = settled(Path::new(&plan.output));
    let one = plan.inputs.first().filter(|_| plan.inputs.len() == 1);
    let tables = plan.modalities.as_ref().and_then(|target| match &target.index {
        Some(index) => Some(PathBuf::from(index)),
        None => one.map(|input| default_path(Path::new(input))),
    });
    let others = [(Some(PathBuf::from(&plan.tokenizer)), "the tokenizer"), (tables, "the raw index of the text")];
    for (path, what) in others {
        if path.is_some_and(|path| path.is_file() && settled(&path) == output) {
            let subject = Subject::field("--output");
            found.push(Problem::refusal(ProblemKind::BadName, subject, format!("{} is {what}", plan.output)));
        }
    }
    found
}

/// Resolves the links of a path as far as it exists; a `..` after that is taken literally.
pub(in crate::engine::plan) fn settled(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for there in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(there), whole.strip_prefix(there)) {
            return real.join(rest).components().collect();
        }
    }
    whole
}
