//! Helpers for tests of screens: draw a screen as text, compare it with snapshots, and wait for workers.

use super::keymap::Keymap;
use super::screen::{Screen, Ui};
use super::theme::{ColourMode, Glyphs, Theme};
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};
use std::time::{Duration, Instant};

/// Columns, rows, and whether the screen is ASCII without colours.
pub type Size = (u16, u16, bool);

/// Sizes of whole windows: the usual one, a larger one, one in ASCII without colours, the smallest.
pub const WINDOWS: [Size; 4] = [(80, 24, false), (100, 30, false), (80, 24, true), (40, 12, false)];
/// The same sizes without the two rows of the frame.
pub const SCREENS: [Size; 4] = [(80, 22, false), (100, 28, false), (80, 22, true), (40, 12, false)];

/// Draws once on a test terminal, and returns the terminal.
pub fn terminal(
    (columns, rows, ascii): Size,
    colour: ColourMode,
    draw: impl FnOnce(&mut Frame, Rect, &Ui),
) -> Terminal<TestBackend> {
    let (theme, glyphs, keymap) = (Theme::new(colour), Glyphs::new(ascii), Keymap::default());
    let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, frame.area(), &ui)).unwrap();
    terminal
}

/// Returns the content of a terminal, one line of text per row.
pub fn text_of(terminal: &Terminal<TestBackend>) -> String {
    let text = terminal.backend().to_string();
    // The backend appends to each line a list of cells that wide characters cover.
    let line = |line: &str| line.split("\" Hidden by").next().unwrap_or(line).trim_matches('"').trim_end().to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Draws once, and returns the screen as text.
pub fn shown(size: Size, draw: impl FnOnce(&mut Frame, Rect, &Ui)) -> String {
    let colour = if size.2 { ColourMode::None } else { ColourMode::Sixteen };
    text_of(&terminal(size, colour, draw))
}

/// Compares a text with the snapshot `name`.
pub fn compare_one(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

/// Compares the text at each size with its snapshot.
pub fn compare(name: &str, sizes: &[Size], mut shown: impl FnMut(Size) -> String) {
    for &size in sizes {
        let (columns, rows, ascii) = size;
        let kind = if ascii { "_ascii" } else { "" };
        compare_one(&format!("{name}_{columns}x{rows}{kind}"), &shown(size));
    }
}

/// Waits until a condition holds; panics with `what` if it does not.
pub fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ticks a screen until its workers have no open requests.
pub fn settle(screen: &mut dyn Screen) {
    wait("every answer", || {
        screen.tick(&mut Vec::new());
        !screen.is_busy()
    });
    screen.tick(&mut Vec::new());
}
