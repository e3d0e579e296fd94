//! Outputs that would be inputs.

use super::flags as p;
use crate::model::{PackFormat, PackPlan, Problem, ProblemKind, Subject};
use std::path::{Path, PathBuf};

/// One refusal for each place that is read and written: a file that is both, and a token folder in a folder of which every file is
/// taken as text (Nanosets format page, §3), so that the next run would read the tokens.
pub fn overlaps(plan: &PackPlan) -> Vec<Problem> {
    if plan.output.is_empty() {
        return Vec::new();
    }
    let refuse = |flag: &str, why: String| Problem::refusal(ProblemKind::BadName, Subject::field(flag), why);
    let output = settled(Path::new(&plan.output));
    let index =
        plan.modalities.as_ref().and_then(|target| target.index.as_deref()).map(|index| settled(Path::new(index)));
    let tokens = match plan.formats().as_slice() {
        [_] => output.clone(),
        _ => output.join(PackFormat::Nanosets.word()),
    };
    let takes_every_file = plan.nanosets.is_some() && plan.glob.is_none() && plan.paths_file.is_none();
    let mut found = Vec::new();
    for input in &plan.inputs {
        let path = settled(Path::new(input));
        if path.is_file() {
            if path == output {
                found.push(refuse(p::OUTPUT, format!("{input} is an input")));
            }
            if index.as_ref() == Some(&path) {
                found.push(refuse(p::INDEX, format!("{input} is an input")));
            }
        } else if takes_every_file && tokens.starts_with(&path) {
            let why = format!("every file in {input} is read as text, and the tokens would lie among them");
            let hint = format!("another {}, or {} '**/*.jsonl' to read only such files", p::OUTPUT, p::GLOB);
            found.push(refuse(p::OUTPUT, why).with_hint(hint));
        }
    }
    found
}

/// The path without links, as far as it is there; `..` behind that is taken literally.
fn settled(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    for there in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (std::fs::canonicalize(there), whole.strip_prefix(there)) {
            return real.join(rest).components().collect();
        }
    }
    whole
}
