//! Outputs that are inputs.

use super::flags as p;
use crate::model::{PackPlan, Problem, ProblemKind, Subject};
use std::path::{Path, PathBuf};

/// One refusal for each file that would be read and written. Token folders below an input are no harm: a run passes over its own.
pub fn overlaps(plan: &PackPlan) -> Vec<Problem> {
    if plan.output.is_empty() {
        return Vec::new();
    }
    let index = plan.modalities.as_ref().and_then(|target| target.index.as_deref());
    let written = [(p::OUTPUT, Some(plan.output.as_str())), (p::INDEX, index)];
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
    found
}

/// The path without links, as far as it is there; `..` behind that is taken literally.
pub(in crate::engine::plan) fn settled(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for there in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(there), whole.strip_prefix(there)) {
            return real.join(rest).components().collect();
        }
    }
    whole
}
