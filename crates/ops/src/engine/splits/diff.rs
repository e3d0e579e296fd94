//! The changes of a text, line by line.

use super::editor::SplitEditor;
use serde::Serialize;
use similar::{capture_diff_slices_deadline, group_diff_ops, Algorithm, DiffTag};
use std::time::{Duration, Instant};

/// Number of unchanged lines around a change.
const CONTEXT: usize = 3;
/// Limit of lines in a diff; further lines are only counted.
const MAX_LINES: usize = 5_000;
/// Time limit for finding the smallest set of changes, after which a larger set is accepted.
const MINIMAL_DIFF_TIME: Duration = Duration::from_millis(500);

/// The kind of a line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffKind {
    /// A line of both texts, shown as context.
    Context,
    /// A line of the old text only.
    Removed,
    /// A line of the new text only.
    Added,
    /// Placeholder for omitted lines that both texts contain.
    Gap,
    /// Number of further lines of the diff that are not shown.
    More(u64),
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// The kind of line.
    pub kind: DiffKind,
    /// Line number in the old text, counted from 1; `None` if the line is not in that text.
    pub old: Option<u32>,
    /// Line number in the new text, counted from 1; `None` if the line is not in that text.
    pub new: Option<u32>,
    /// The line without its line ending; raw.
    pub text: String,
}

impl DiffLine {
    /// Returns the marker of the line: `-`, `+`, a space, or `…`.
    pub fn sign(&self) -> char {
        match self.kind {
            DiffKind::Context => ' ',
            DiffKind::Removed => '-',
            DiffKind::Added => '+',
            DiffKind::Gap | DiffKind::More(_) => '…',
        }
    }
}

impl SplitEditor {
    /// Compares the text to be written with the text that was opened. The result is a unified diff with three lines around each change and
    /// at most a few thousand lines; the last one contains the number of further lines.
    pub fn diff(&self) -> Vec<DiffLine> {
        let old = String::from_utf8_lossy(self.base_bytes());
        if self.pending() == 0 {
            return Vec::new();
        }
        diff_of(&old, &self.doc.text())
    }
}

/// Returns the lines in which `new` differs from `old`, in the format of [`SplitEditor::diff`]. Different line endings are differences.
pub fn diff_of(old: &str, new: &str) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let front = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
    // Common lines next to a change are kept as context.
    let from = front.saturating_sub(CONTEXT);
    let keep = back.saturating_sub(CONTEXT);
    let (a, b) =
        (old.get(from..old.len() - keep).unwrap_or_default(), new.get(from..new.len() - keep).unwrap_or_default());
    let ops = capture_diff_slices_deadline(Algorithm::Myers, a, b, Some(Instant::now() + MINIMAL_DIFF_TIME));
    let mut lines = Vec::new();
    let mut more = 0u64;
    let number = |index: usize| u32::try_from(from + index + 1).ok();
    for (group, ops) in group_diff_ops(ops, CONTEXT).into_iter().enumerate() {
        if group > 0 {
            push(&mut lines, &mut more, DiffLine { kind: DiffKind::Gap, old: None, new: None, text: String::new() });
        }
        for op in ops {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                for (i, j) in old_range.zip(new_range) {
                    let text = shown(a.get(i));
                    let line = DiffLine { kind: DiffKind::Context, old: number(i), new: number(j), text };
                    push(&mut lines, &mut more, line);
                }
                continue;
            }
            for i in old_range {
                let line = DiffLine { kind: DiffKind::Removed, old: number(i), new: None, text: shown(a.get(i)) };
                push(&mut lines, &mut more, line);
            }
            for j in new_range {
                let line = DiffLine { kind: DiffKind::Added, old: None, new: number(j), text: shown(b.get(j)) };
                push(&mut lines, &mut more, line);
            }
        }
    }
    if more > 0 {
        let text = gristmill_core::text::count(more, "more line");
        lines.push(DiffLine { kind: DiffKind::More(more), old: None, new: None, text });
    }
    lines
}

fn push(lines: &mut Vec<DiffLine>, more: &mut u64, line: DiffLine) {
    if lines.len() < MAX_LINES {
        lines.push(line);
    } else {
        *more += 1;
    }
}

fn shown(line: Option<&&str>) -> String {
    let line = line.copied().unwrap_or_default();
    line.trim_end_matches('\n').trim_end_matches('\r').to_owned()
}
