//! Detects a run in which no record has text, most likely because of a wrong field. A result that copies every line would look like a clean
//! corpus, so the run is refused.

use super::inputs::Inputs;
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, DedupPlan, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{keys_of, Blocks, Position, TextFile};

/// Limits of the examined files, of the bytes of each, and of the lines.
const MAX_FILES: usize = 8;
const MAX_BYTES: usize = 64 << 10;
const MAX_LINES: usize = 50;
/// Limit of keys reported.
const MAX_KEYS: usize = 20;

/// Returns the problem to report if no line contains a document; `None` if a record has the field, or no line is a JSON object.
pub(super) fn wrong_field(plan: &DedupPlan, inputs: &Inputs, cancel: &Cancel) -> Outcome<Option<Problem>> {
    if inputs.shards().is_some() {
        return Ok(None);
    }
    let mut keys: Vec<String> = Vec::new();
    for file in inputs.written_files().iter().filter(|file| file.bytes > 0 && !file.source.is_table()).take(MAX_FILES) {
        cancel.check()?;
        keys_in(file, &mut keys, cancel)?;
    }
    if keys.is_empty() || keys.contains(&plan.text_key) {
        return Ok(None);
    }
    let keys: Vec<String> = keys.iter().take(MAX_KEYS).map(|key| display_safe(key).into_owned()).collect();
    let message = format!("no record has text in the field {:?}", plan.text_key);
    let problem = Problem::refusal(ProblemKind::NoText, Subject::path(&plan.input), message);
    Ok(Some(problem.with_hint(format!("wrong field? The lines have the keys: {}", keys.join(", ")))))
}

fn keys_in(file: &TextFile, keys: &mut Vec<String>, cancel: &Cancel) -> Outcome<()> {
    let mut blocks = Blocks::open(file, MAX_BYTES, Position::default(), cancel)?;
    let Some(block) = blocks.next(Vec::new())? else { return Ok(()) };
    for line in block.lines().filter(|line| !line.is_overlong()).take(MAX_LINES) {
        for key in keys_of(line.bytes) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    Ok(())
}
