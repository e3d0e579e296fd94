//! Tests of the editor's screens as drawn, and of its session on files.

use super::*;
use crate::tui::screen::{Screen, Ui};
use crate::tui::testing::{self, Size};
use crate::tui::widgets::MouseAreas;
use gristmill_ops::engine::splits::{Edit, ExcludeItem, SplitEditor};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::Path;
use std::sync::Arc;

mod dialogs;
mod editor;
mod live;

/// The split file of twenty shards, edited by hand.
pub(super) const TEXT: &str = "\
# made by Ana on 3 Nov
split_parts:
  train:
    - shard_{0000..0015}.tar
  val:   # never touch
    - 'shard_0016.tar'
    - shard_0017.tar
  test:
    - shard_{0018..0019}.tar
exclude:
  - shard_0005.tar
  - shard_0003.tar/000032   # broken picture (note of 3 Nov)
  - shard_0003.tar/{000100..000104}
  - shard_0077.tar/000001
";

pub(super) fn counts(shards: u64) -> Vec<(String, u64)> {
    (0..shards).map(|n| (format!("shard_{n:04}.tar"), 9_900 + n * 13 % 200)).collect()
}

pub(super) fn editor_of(text: &str, shards: u64) -> SplitEditor {
    let root = Path::new("/data/coco");
    SplitEditor::from_bytes(root, &root.join(".nv-meta/split.yaml"), text.as_bytes().to_vec(), counts(shards)).unwrap()
}

pub(super) fn editor() -> SplitEditor {
    editor_of(TEXT, 20)
}

pub(super) fn with(mut editor: SplitEditor, edits: Vec<Edit>) -> SplitEditor {
    for edit in edits {
        editor.apply(edit).unwrap();
    }
    editor
}

pub(super) fn moved(shards: &[&str], to: &str) -> Edit {
    Edit::MoveShards { shards: shards.iter().map(|s| Arc::from(*s)).collect(), to: Some(to.into()) }
}

pub(super) fn excluded(item: &str, note: Option<&str>) -> Edit {
    Edit::Exclude { items: vec![ExcludeItem::written(item).with_note(note.map(str::to_owned))] }
}

/// Draws once, and returns the text.
pub(super) fn shown(columns: u16, rows: u16, ascii: bool, draw: &mut dyn FnMut(&mut Frame, Rect, &Ui)) -> String {
    testing::shown((columns, rows, ascii), draw)
}

/// Compares a drawing with its snapshots.
pub(super) fn compare(name: &str, sizes: &[Size], draw: &mut dyn FnMut(&mut Frame, Rect, &Ui)) {
    testing::compare(&format!("splits_{name}"), sizes, |size| testing::shown(size, &mut *draw));
}

pub(super) const ALL_SIZES: &[Size] = &[(80, 22, false), (100, 28, false), (40, 10, false), (80, 22, true)];

/// Compares a popup without a session with its snapshots.
pub(super) fn compare_screen(name: &str, screen: &mut dyn Screen) {
    compare_over(name, &mut |frame, area, ui| screen.draw(frame, area, ui));
}

/// Compares a dialog over the editor with its snapshots.
pub(super) fn compare_over(name: &str, dialog: &mut dyn FnMut(&mut Frame, Rect, &Ui)) {
    let (editor, mut state) = (editor(), state::SplitsState::default());
    state.update(&editor);
    let problems = editor.problems();
    compare(name, ALL_SIZES, &mut |frame, area, ui| {
        view::draw(&mut state, &editor, &problems, &mut MouseAreas::default(), frame, area, ui);
        dialog(frame, area, ui);
    });
}
