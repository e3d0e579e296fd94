//! The changes of a text, line by line.

use super::editor::SplitEditor;
use serde::Serialize;
use similar::{capture_diff_slices_deadline, group_diff_ops, Algorithm, DiffTag};
use std::time::{Duration, Instant};

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// More lines than this are only counted.
const MAX_LINES: usize = 5_000;
/// How long the smallest set of changes is searched for; after that a larger one is taken.
const MINIMAL_DIFF_TIME: Duration = Duration::from_millis(500);

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiffKind {
    /// In both, shown to find the place.
    Context,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
    /// Lines in between are left out: they are in both.
    Gap,
    /// So many more lines of the diff are not shown.
    More(u64),
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// What it is.
    pub kind: DiffKind,
    /// Its number in the old text, counted from 1.
    pub old: Option<u32>,
    /// Its number in the new text, counted from 1.
    pub new: Option<u32>,
    /// The line without its line end; raw.
    pub text: String,
}

impl DiffLine {
    /// `-`, `+`, a space, or `…`.
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
    /// What would be written, against what was opened: unified, with three lines around each change; at most some thousand lines,
    /// the rest counted in the last one.
    pub fn diff(&self) -> Vec<DiffLine> {
        let old = String::from_utf8_lossy(self.base_bytes());
        if self.pending() == 0 {
            return Vec::new();
        }
        diff_of(&old, &self.doc.text())
    }
}

/// The lines that tell `new` from `old`, as [`SplitEditor::diff`] gives them. Line ends count.
pub fn diff_of(old: &str, new: &str) -> Vec<DiffLine> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let front = old.iter().zip(&new).take_while(same).count();
    let most = old.len().min(new.len()) - front;
    let back = old.iter().rev().zip(new.iter().rev()).take(most).take_while(same).count();
    // What surrounds the changes is given back as context.
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
