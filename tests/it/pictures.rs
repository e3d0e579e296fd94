//! Checks that the pictures of the README are real screens. After a change of a screen this test fails until they are updated:
//!
//! ```console
//! $ GRISTMILL_UPDATE_PICTURES=1 cargo test --test it pictures
//! ```

use gristmill::tui::app::App;
use gristmill::tui::event::Event;
use gristmill::tui::form;
use gristmill::tui::screen::{Screen, UiEnv};
use gristmill::tui::screens::{self, Home};
use gristmill::tui::svg::{self, Palette};
use gristmill::tui::theme::Theme;
use gristmill_core::{PackPlan, RunOptions};
use gristmill_ops::operations::{erase, Pack};
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Columns and rows of a picture.
const SIZE: (u16, u16) = (100, 30);

/// The demo, prepared or unprepared.
struct Demo {
    dir: tempfile::TempDir,
}

impl Demo {
    fn prepared() -> Self {
        let demo = Self { dir: tempfile::tempdir().unwrap() };
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gristmill"));
        command.args(["demo", "gristmill-demo", "--yes", "--quiet"]).current_dir(demo.dir.path()).env_clear();
        let ran = command.env("HOME", demo.dir.path().join("home")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        demo
    }

    fn raw() -> Self {
        let demo = Self::prepared();
        std::fs::remove_dir_all(demo.path().join(".nv-meta")).unwrap();
        for entry in walkdir::WalkDir::new(demo.path()).into_iter().flatten() {
            if entry.path().extension().is_some_and(|e| e == "idx") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
        demo
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("gristmill-demo")
    }
}

struct PictureStage {
    app: App,
}

impl PictureStage {
    fn new(demo: &Demo, open: impl FnOnce(PathBuf, UiEnv) -> Box<dyn Screen>) -> Self {
        let mut env = UiEnv::new(RunOptions::default(), demo.dir.path().join("state"));
        env.animate = false;
        env.home = Some(demo.dir.path().to_owned());
        env.theme = Theme::built_in("dark").map(Arc::new);
        for (name, value) in [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("GRISTMILL_PICTURES", "cells")] {
            env.variables.push((name.to_owned(), value.to_owned()));
        }
        let home = Home::new(Some(demo.dir.path().to_owned()), env.clone());
        let mut app = App::new(env.clone(), Box::new(home), Box::new(form::open_prepare));
        app.push(open(demo.path(), env));
        Self { app }
    }

    fn draw(&mut self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// Returns the screen once it satisfies `is_so` and no longer changes.
    fn when(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> Buffer {
        let end = Instant::now() + super::pty::harness::deadline();
        let (mut before, mut still) = (None, 0);
        loop {
            self.app.handle(Event::Woken);
            let buffer = self.draw();
            let text = text_of(&buffer);
            still = if before.as_ref() == Some(&buffer) && is_so(&text) { still + 1 } else { 0 };
            if still == 10 {
                return buffer;
            }
            assert!(Instant::now() < end, "{what}: not in\n{text}");
            before = Some(buffer);
            // Waits for the workers; no signal shows that they have finished.
            std::thread::park_timeout(std::time::Duration::from_millis(4));
        }
    }

    fn key(&mut self, code: KeyCode) {
        self.app.handle(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

fn text_of(buffer: &Buffer) -> String {
    let row = |y: u16| -> String { (0..SIZE.0).map(|x| buffer[(x, y)].symbol()).collect() };
    (0..SIZE.1).map(|y| row(y).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Compares a screen with its picture, or updates the picture.
#[track_caller]
fn compare(name: &str, title: &str, buffer: &Buffer) {
    let theme = Theme::built_in("dark").unwrap();
    let drawn = svg::draw(buffer, title, &Palette::of(&theme));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures").join(format!("{name}.svg"));
    if std::env::var_os("GRISTMILL_UPDATE_PICTURES").is_some() {
        #[expect(clippy::disallowed_methods, reason = "a picture of the repository need not be published")]
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    if kept != drawn {
        let line = kept.lines().zip(drawn.lines()).position(|(a, b)| a != b).unwrap_or(0);
        panic!(
            "docs/pictures/{name}.svg is out of date from line {} on; the screen is now\n{}\nMake it anew: \
             GRISTMILL_UPDATE_PICTURES=1 cargo test --test it pictures\n",
            line + 1,
            text_of(buffer)
        );
    }
}

fn blocks(text: &str) -> usize {
    text.chars().filter(|c| matches!(c, '▀' | '▄' | '█')).count()
}

#[test]
fn the_picture_of_the_guided_prepare_is_up_to_date() {
    let demo = Demo::raw();
    let mut stage = PictureStage::new(&demo, form::open_prepare);
    let is_scanned = |text: &str| !text.contains("scanning") && text.contains("samples");
    stage.when("the scan ends", |text| is_scanned(text) && text.contains("▸ Source"));
    for step in ["▸ Splits", "▸ Sample type", "▸ Field map"] {
        stage.key(KeyCode::Enter);
        stage.when(step, |text| text.contains(step));
    }
    let buffer = stage.when("three samples are drawn", |text| is_scanned(text) && blocks(text) > 300);
    compare("prepare", "Guided prepare: three real samples through the field map", &buffer);
}

#[test]
fn the_picture_of_the_split_editor_is_up_to_date() {
    let demo = Demo::prepared();
    let mut stage = PictureStage::new(&demo, screens::splits::open);
    stage.when("the splits are read", |text| text.contains("train") && text.contains("val"));
    let buffer = stage.when("the columns are drawn", |text| text.contains("Excluded"));
    compare("splits", "Splits and excludes of a prepared data set", &buffer);
}

#[test]
fn the_picture_of_the_browser_is_up_to_date() {
    let demo = Demo::prepared();
    let mut stage = PictureStage::new(&demo, screens::browse::open);
    let buffer = stage.when("a sample is drawn", |text| text.contains("samples") && blocks(text) > 200);
    compare("browse", "Browser: shards, samples, and the parts of one sample", &buffer);
}

#[test]
fn the_picture_of_the_guided_pack_is_up_to_date() {
    let demo = Demo::prepared();
    // Paths in the repository, so that the picture contains no paths of this machine.
    let inputs = vec!["tests/golden/modalities/pack_bpe/input/data.jsonl".to_owned()];
    let plan = PackPlan::new(inputs, "", "");
    let mut stage = PictureStage::new(&demo, |_, env| form::open(erase::<Pack>(plan), env));
    stage.when("the files are found", |text| text.contains("1 file"));
    stage.key(KeyCode::Enter);
    stage.when("documents are read", |text| text.contains("documents have text there"));
    stage.key(KeyCode::Enter);
    stage.when("the tokenizer is asked for", |text| text.contains("eos token"));
    for letter in "tests/golden/modalities/tokenizers/bpe1k".chars() {
        stage.key(KeyCode::Char(letter));
    }
    let buffer = stage.when("a document is encoded", |text| text.contains("Its ids") && text.contains("<|endoftext|>"));
    compare("pack", "Guided pack: a real document, token by token", &buffer);
}
