//! The editor's screens as a person sees them, and its session against files.

use super::*;
use crate::engine::splits::{Edit, ExcludeItem, SplitEditor};
use crate::tui::keymap::Keymap;
use crate::tui::screen::{Screen, Ui};
use crate::tui::theme::{ColourMode, Glyphs, Theme};
use crate::tui::widgets::Places;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};
use std::path::Path;
use std::sync::Arc;

mod dialogs;
mod editor;
mod live;

/// The splits of twenty shards as a person keeps them.
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
    let theme = Theme::new(if ascii { ColourMode::None } else { ColourMode::Sixteen });
    let (glyphs, keymap) = (Glyphs::new(ascii), Keymap::default());
    let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), &ui)).unwrap();
    let text = terminal.backend().to_string();
    text.lines().map(|line| line.trim_matches('"').trim_end()).collect::<Vec<_>>().join("\n")
}

/// Compares with the kept pictures: columns, rows, and whether it is ASCII without colours.
pub(super) fn compare(name: &str, sizes: &[(u16, u16, bool)], draw: &mut dyn FnMut(&mut Frame, Rect, &Ui)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for &(columns, rows, ascii) in sizes {
            let kind = if ascii { "_ascii" } else { "" };
            let picture = shown(columns, rows, ascii, draw);
            insta::assert_snapshot!(format!("splits_{name}_{columns}x{rows}{kind}"), picture);
        }
    });
}

pub(super) const ALL_SIZES: &[(u16, u16, bool)] = &[(80, 22, false), (100, 28, false), (40, 10, false), (80, 22, true)];

/// Draws a popup that needs no session.
pub(super) fn compare_screen(name: &str, screen: &mut dyn Screen) {
    compare_over(name, &mut |frame, area, ui| screen.draw(frame, area, ui));
}

/// Draws a dialog over the editor, as a person sees it.
pub(super) fn compare_over(name: &str, dialog: &mut dyn FnMut(&mut Frame, Rect, &Ui)) {
    let (editor, mut state) = (editor(), state::State::default());
    state.follow(&editor);
    let problems = editor.problems();
    compare(name, ALL_SIZES, &mut |frame, area, ui| {
        view::draw(&mut state, &editor, &problems, &mut Places::default(), frame, area, ui);
        dialog(frame, area, ui);
    });
}
