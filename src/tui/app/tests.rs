//! Tests of the frame and its screens, driven by keys, without a terminal.

use super::*;
use crate::tui::jobs::{JobResult, RunningJob};
use crate::tui::keymap::Chord;
use crate::tui::screens::{Home, Page};
use crate::tui::testing;
use crate::tui::theme::ColourMode;
use gristmill_core::handles::ProgressReading;
use gristmill_core::problem::Subject;
use gristmill_core::{Outcome, Problem, ProblemKind, RunOptions, Severity};
use gristmill_ops::job::{JobState, JobStatus, Phase};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use ratatui::style::{Color, Modifier};
use ratatui::Terminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A UI on a temporary folder.
struct AppTest {
    app: App,
    folder: tempfile::TempDir,
    /// Whether there are jobs that never end, whose phase has the same text as waiting for a worker.
    has_endless_jobs: bool,
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, path, bytes, 0o644).unwrap();
}

/// Returns a tar of one sample with these parts, each 100 bytes long.
fn shard(parts: &[&str]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for part in parts {
        let mut header = tar::Header::new_ustar();
        header.set_size(100);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("000001.{part}"), &[b'x'; 100][..]).unwrap();
    }
    builder.into_inner().unwrap()
}

fn furnish(root: &Path) {
    for number in 0..20 {
        put(&root.join(format!("data/coco/shard_{number:04}.tar")), &shard(&["jpg", "txt", "json"]));
    }
    put(&root.join("data/corpus.jsonl"), &[b'x'; 5000]);
    put(&root.join("data/done/train/a.tar"), &shard(&["txt"]));
    put(
        &root.join("data/done/.nv-meta/.info.json"),
        br#"{"energon_version": "7.0.0", "shard_counts": {"train/a.tar": 1}}"#,
    );
    put(&root.join("data/done/.nv-meta/split.yaml"), b"split_parts:\n  train: [train/a.tar]\nexclude: []\n");
    put(&root.join("data/half/a.tar"), &shard(&["txt"]));
    put(&root.join("data/half/.nv-meta/gristmill/journal"), b"");
    put(&root.join("data/notes/readme.txt"), b"x");
    put(&root.join("data/odd \u{202e}name\u{1b}[31m.txt"), b"x");
    put(&root.join("data/.hidden"), b"x");
}

impl AppTest {
    fn new(colour: ColourMode, ascii: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        furnish(folder.path());
        let mut env = UiEnv::new(RunOptions::default(), folder.path().join("state"));
        env.colour = colour;
        env.ascii = ascii;
        env.animate = false;
        env.home = Some(folder.path().to_owned());
        env.save_dir = folder.path().to_owned();
        let home = Home::new(Some(folder.path().join("data")), env.clone());
        let open = |path: PathBuf, _: UiEnv| -> Box<dyn Screen> {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Box::new(Page::new(vec!["prepare".into(), name], Vec::new()))
        };
        let mut test = Self { app: App::new(env, Box::new(home), Box::new(open)), folder, has_endless_jobs: false };
        test.settle();
        test
    }

    /// Adds a job on a path below the folder.
    fn add_job(&mut self, name: &str, path: &str, job: Box<FakeRunningJob>) {
        self.has_endless_jobs = true;
        self.app.jobs().add(name.into(), self.folder.path().join(path), job);
    }

    /// Waits for the workers until the screen no longer changes. The clock and the label of a running job always change, so the wait is
    /// short: tests wait for expected text by `assert_shows`.
    fn settle(&mut self) {
        let start = Instant::now();
        let mut before = String::new();
        let mut still = 0;
        loop {
            self.app.handle(Event::Woken);
            let now = self.screen(100, 30);
            let looking = !self.has_endless_jobs && (now.contains(" reading  ") || now.contains(" looking  "));
            still = if now == before && !looking { still + 1 } else { 0 };
            let longest = Duration::from_secs(if looking { 3 } else { 1 });
            if still == 4 || start.elapsed() > longest {
                return;
            }
            before = now;
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Presses keys, written as in the key table and separated by spaces.
    fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            for event in key.parse::<Chord>().unwrap().events() {
                self.app.handle(Event::Key(event));
            }
        }
        self.settle();
        self
    }

    fn type_text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.app.handle(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        self.settle();
        self
    }

    /// Returns the position of a text on the screen: column and row.
    fn find(&mut self, needle: &str) -> (u16, u16) {
        let screen = self.screen_when(|screen| screen.contains(needle));
        let found = screen.lines().enumerate().find_map(|(row, line)| Some((line.split_once(needle)?.0, row)));
        let Some((before, row)) = found else { panic!("no '{needle}' in\n{screen}") };
        let column = crate::tui::widgets::text::width(before);
        (u16::try_from(column).unwrap(), u16::try_from(row).unwrap())
    }

    fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Self {
        // Mouse positions refer to what was drawn last.
        self.screen(100, 30);
        self.app.handle(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        self
    }

    fn click(&mut self, column: u16, row: u16) -> &mut Self {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row);
        self.settle();
        self
    }

    /// Sends two clicks with nothing in between, so that a slow machine cannot separate them.
    fn double_click(&mut self, column: u16, row: u16) -> &mut Self {
        self.screen(100, 30);
        for _ in 0..2 {
            let kind = MouseEventKind::Down(MouseButton::Left);
            self.app.handle(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
        }
        self.settle();
        self
    }

    fn terminal(&mut self, columns: u16, rows: u16) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| self.app.draw(frame)).unwrap();
        terminal
    }

    /// Draws the screen as text.
    fn screen(&mut self, columns: u16, rows: u16) -> String {
        testing::text_of(&self.terminal(columns, rows))
    }

    /// Waits until the screen shows the text: a worker may still be busy.
    fn assert_shows(&mut self, needle: &str) {
        let screen = self.screen_when(|screen| screen.contains(needle));
        assert!(screen.contains(needle), "no '{needle}' in\n{screen}");
    }

    fn assert_hides(&mut self, needle: &str) {
        let screen = self.screen_when(|screen| !screen.contains(needle));
        assert!(!screen.contains(needle), "'{needle}' in\n{screen}");
    }

    /// Returns the screen once it is as expected, or as it is after a timeout.
    fn screen_when(&mut self, expected: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let screen = self.screen(100, 30);
            if expected(&screen) || Instant::now() >= end {
                return screen;
            }
            self.app.handle(Event::Woken);
            std::thread::yield_now();
        }
    }
}

impl Chord {
    fn events(&self) -> Vec<KeyEvent> {
        self.pairs().iter().map(|&(code, mods)| KeyEvent::new(code, mods)).collect()
    }
}

/// A job whose progress the test sets.
struct FakeRunningJob {
    status: JobStatus,
    ended: Arc<AtomicBool>,
}

impl RunningJob for FakeRunningJob {
    fn status(&self) -> JobStatus {
        let mut status = self.status.clone();
        if self.ended.load(Ordering::Relaxed) && status.state == JobState::Running {
            status.state = JobState::Cancelled;
        }
        status
    }
    fn cancel(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }
    fn is_finished(&self) -> bool {
        self.status.state != JobState::Running || self.ended.load(Ordering::Relaxed)
    }
    fn finish(self: Box<Self>) -> JobResult {
        let end: Outcome<gristmill_ops::job::prepare::PrepareReport> = Err(gristmill_core::Failure::cancelled());
        end.into()
    }
}

fn job(state: JobState) -> Box<FakeRunningJob> {
    let problem = Problem::problem(ProblemKind::DamagedHeader, Subject::default(), "the header at 1,024 is damaged")
        .with_hint("copy the shard again");
    let status = JobStatus {
        item: "shard",
        state,
        phase: Phase::Scan,
        progress: ProgressReading {
            items_done: 12,
            items_total: 20,
            bytes_done: 3 << 30,
            bytes_total: 5 << 30,
            ..ProgressReading::default()
        },
        elapsed: Duration::from_secs(64),
        share: Some(if state == JobState::Done { 1.0 } else { 0.6 }),
        remaining: Some(Duration::from_secs(4)),
        bytes_per_second: 1.9 * 1024.0 * 1024.0 * 1024.0,
        tokens_per_second: 0.0,
        problems: vec![problem],
        counts: vec![(Severity::Problem, ProblemKind::DamagedHeader, 1)],
        unlisted: Default::default(),
        log: vec!["found 20 shards".into(), "shard_0011.tar: 10,004 samples".into()],
        outputs: Default::default(),
    };
    Box::new(FakeRunningJob { status, ended: Arc::default() })
}

fn with_jobs(test: &mut AppTest) {
    test.add_job("prepare done", "data/done", job(JobState::Done));
    test.add_job("prepare coco", "data/coco", job(JobState::Running));
    test.settle();
}

/// Checks the screen against its snapshot.
fn snapshot(test: &mut AppTest, name: &str, columns: u16, rows: u16) {
    let screen = test.screen(columns, rows);
    testing::compare_one(&format!("{name}_{columns}x{rows}"), &screen);
}

mod ends;
mod frame;
mod home;
mod looks;
