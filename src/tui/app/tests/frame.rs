//! Behaviour of the frame that is independent of the screen.

use super::*;
use crate::tui::keymap::Context;
use crate::tui::recent::remember_now;
use crate::tui::screen::Ui;
use crate::tui::screens::browse::{self, BrowseStart};
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::{DedupPlan, PackPlan};
use gristmill_ops::engine::browse::TokenView;
use gristmill_ops::engine::plan::file::{dedup_to_yaml, pack_to_yaml};
use gristmill_ops::operations::{erase, Dedup};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use ratatui::layout::Rect;
use ratatui::Frame;

fn open_test() -> AppTest {
    AppTest::new(ColourMode::Sixteen, false)
}

#[test]
fn q_quits_without_confirmation_if_no_job_runs() {
    let mut test = open_test();
    test.keys("q");
    assert_eq!(test.app.exit_code(), Some(0));
}

#[test]
fn failed_start_screen_decides_exit_code_until_it_is_closed() {
    let open = || {
        let mut test = open_test();
        let view = TokenView { sequence_length: Some(8), ..TokenView::default() };
        let path = test.folder.path().join("data/corpus.jsonl");
        let env = test.app.env.clone();
        test.app.push_command_screen(browse::open_tokens(path, BrowseStart::First, view, env));
        test.settle();
        test.assert_shows("these are not packed");
        test
    };
    let mut test = open();
    test.keys("q");
    assert_eq!(test.app.exit_code(), Some(2));
    let mut test = open();
    test.keys("esc").assert_hides("these are not packed");
    test.keys("q");
    assert_eq!(test.app.exit_code(), Some(0), "the failure was left");
}

#[test]
fn q_with_running_job_needs_confirmation_and_proposes_to_stay() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.keys("q").assert_shows("1 job still running.");
    assert_eq!(test.app.exit_code(), None);
    test.keys("enter").assert_hides("still running");
    assert_eq!(test.app.exit_code(), None);
    test.keys("q").type_text("q");
    assert_eq!(test.app.exit_code(), Some(0));
}

#[test]
fn ctrl_c_quits_only_if_pressed_twice_in_a_row() {
    let mut test = open_test();
    test.keys("ctrl-c").assert_shows("Ctrl-C again leaves");
    test.keys("j ctrl-c");
    assert_eq!(test.app.exit_code(), None);
    test.keys("ctrl-c");
    assert_eq!(test.app.exit_code(), Some(130));
}

#[test]
fn ctrl_c_stops_the_selected_job_first() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.keys("J ctrl-c").assert_shows("cancelled");
    assert_eq!(test.app.exit_code(), None);
    assert_eq!(test.app.jobs().running(), 0);
}

#[test]
fn ctrl_c_twice_quits_from_text_field() {
    let mut test = open_test();
    test.keys("/ ctrl-c ctrl-c");
    assert_eq!(test.app.exit_code(), Some(130));
}

#[test]
fn signals_end_the_program_with_their_codes() {
    for (signal, code) in [(SIGTERM, 143), (SIGHUP, 129)] {
        let mut test = open_test();
        test.app.handle(Event::Signal(signal));
        assert_eq!(test.app.exit_code(), Some(code));
    }
}

#[test]
fn sigint_twice_quits_like_ctrl_c() {
    let mut test = open_test();
    test.app.handle(Event::Signal(SIGINT));
    assert_eq!(test.app.exit_code(), None);
    test.app.handle(Event::Signal(SIGINT));
    assert_eq!(test.app.exit_code(), Some(130));
}

#[test]
fn ctrl_z_and_sigtstp_request_suspend() {
    let mut test = open_test();
    test.keys("ctrl-z");
    assert_eq!(test.app.take_requests(), [Request::Suspend]);
    test.app.handle(Event::Signal(SIGTSTP));
    assert_eq!(test.app.take_requests(), [Request::Suspend]);
    test.app.handle(Event::Signal(SIGCONT));
    assert_eq!(test.app.take_requests(), [Request::Retake]);
}

#[test]
fn help_lists_available_actions_and_runs_selected_one() {
    let mut test = open_test();
    test.keys("?").assert_shows("Help: what works here");
    test.assert_shows("Opens what is selected");
    test.type_text("hidden").keys("enter");
    test.assert_hides("Help:");
    test.assert_shows(".hidden");
}

#[test]
fn help_can_be_searched_by_the_words_of_its_sentences() {
    let mut test = open_test();
    test.keys("?").type_text("suspends the program").assert_shows("Ctrl-z");
}

#[test]
fn help_shows_disabled_action_with_reason() {
    let mut test = open_test();
    test.keys("?").type_text("resume").assert_shows("no run was interrupted here");
    test.keys("enter").assert_shows("resume: no run was interrupted here");
}

#[test]
fn key_of_disabled_action_shows_reason() {
    let mut test = open_test();
    test.keys("j j j j p").assert_shows("only folders of tar shards, JSONL files and metadatasets");
}

#[test]
fn the_palette_finds_every_action_by_name() {
    let mut test = open_test();
    for &action in Action::ALL {
        if matches!(action, Action::Help | Action::Palette) {
            continue;
        }
        test.app.handle(Event::Key(KeyEvent::new(KeyCode::Char(':'), KeyModifiers::NONE)));
        for c in action.id().chars() {
            test.app.handle(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE)));
        }
        let screen = test.screen(120, 40);
        let in_palette = screen.lines().skip_while(|l| !l.contains("│ : "));
        let first = in_palette.skip(1).find(|l| l.contains("│ ▸ ")).unwrap_or_default().to_owned();
        assert!(first.contains(&action.id().replace('-', " ")), "{action:?}\n{screen}");
        assert!(!first.is_empty(), "{action:?}\n{screen}");
        test.app.handle(Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    }
}

#[test]
fn palette_names_contexts_of_unavailable_action() {
    let mut test = open_test();
    test.keys(":").type_text("cancel-job").assert_shows("on: jobs, dedup, run");
}

#[test]
fn wake_without_change_is_not_drawn() {
    let mut test = open_test();
    test.app.take_changed();
    test.app.handle(Event::Woken);
    assert!(!test.app.is_changed());
    assert!(!test.app.is_busy());
    test.app.handle(Event::Resized);
    assert!(test.app.is_changed());
}

#[test]
fn a_running_job_keeps_the_frame_ticking() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.app.take_changed();
    assert!(test.app.is_busy());
    test.app.tick();
    assert!(test.app.is_changed());
}

#[test]
fn job_end_between_two_ticks_is_drawn() {
    let mut test = open_test();
    let running = job(JobState::Running);
    let ended = Arc::clone(&running.ended);
    test.add_job("prepare x", "x", running);
    test.keys("J").assert_shows("reading");
    test.app.tick();
    // The job ends between two ticks: exactly one more tick is due.
    ended.store(true, Ordering::Relaxed);
    test.app.take_changed();
    assert!(test.app.needs_tick() && !test.app.is_busy());
    test.app.tick();
    assert!(test.app.is_changed());
    test.assert_shows("cancelled");
    assert!(!test.app.needs_tick());
}

#[test]
fn job_that_ends_immediately_needs_one_tick() {
    let mut test = open_test();
    assert!(!test.app.needs_tick());
    test.app.jobs().add("prepare x".into(), "x".into(), job(JobState::Done));
    assert!(test.app.needs_tick() && !test.app.is_busy());
    test.app.tick();
    assert!(!test.app.needs_tick());
}

#[test]
fn worker_panic_is_shown_as_toast() {
    let mut test = open_test();
    test.app.handle(Event::WorkerPanicked("thread 'x' panicked at y\nindex out of range".into()));
    test.assert_shows("index out of range");
    assert_eq!(test.app.exit_code(), None);
    test.keys("j").assert_hides("index out of range");
}

#[test]
fn lost_terminal_ends_program_with_exit_code_129() {
    let mut test = open_test();
    test.app.handle(Event::InputLost("end of file".into()));
    assert_eq!(test.app.exit_code(), Some(129));
}

#[test]
fn bottom_bar_shows_help_at_every_width() {
    let mut test = open_test();
    for columns in [40, 50, 60, 80, 100] {
        let screen = test.screen(columns, 12);
        let bar = screen.lines().last().unwrap_or_default().to_owned();
        assert!(bar.contains("? help"), "{columns}: {bar}");
    }
}

#[test]
fn jobs_panel_cancels_and_clears_jobs() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.keys("J x").assert_shows("Stop prepare coco? x again stops it");
    // Another key between the two keeps the job.
    test.keys("down x").assert_shows("x again stops it");
    test.assert_shows("reading");
    test.keys("x").assert_shows("cancelled");
    test.keys("c").assert_shows("no running or interrupted jobs");
    test.keys("esc").assert_shows("coco/");
}

#[test]
fn only_problems_of_ended_job_can_be_opened_and_excluded() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.keys("J enter").assert_shows("the header at 1,024 is damaged");
    test.keys("X").assert_shows("x cancel job");
    test.keys("k enter").assert_shows("Esc back");
    test.assert_hides("x cancel job");
    let asked = |test: &mut AppTest, keys: &str, why: &str| {
        testing::wait(why, || {
            test.settle();
            test.keys(keys);
            test.screen(100, 30).contains(why)
        });
    };
    asked(&mut test, "enter", "open: the problem is about no place in the data");
    asked(&mut test, "x", "exclude: ");
    test.keys("l").assert_shows("shard_0011.tar: 10,004 samples");
    test.keys("enter esc j").assert_shows("x cancel job");
    test.keys("x x").assert_shows("cancelled");
}

#[test]
fn failed_job_is_restarted_from_jobs_panel() {
    let mut test = open_test();
    let texts = test.folder.path().join("texts");
    std::fs::create_dir(&texts).unwrap();
    let mut plan = DedupPlan::new(texts.to_string_lossy(), texts.with_file_name("clean").to_string_lossy());
    plan.min_length = Some(50);
    let id = test.app.jobs().start_plan(erase::<Dedup>(plan).into(), RunOptions::default()).unwrap();
    testing::wait("the first run ends", || test.app.jobs().running() == 0);
    assert!(test.app.jobs().result(id).is_some_and(|result| result.report().is_err()), "there is no text");
    put(&texts.join("a.jsonl"), b"{\"text\": \"some words\"}\n");
    test.keys("J").assert_shows("failed");
    test.keys("r").assert_shows("Started again");
    testing::wait("the second run ends", || test.app.jobs().running() == 0);
    test.keys("k").assert_shows("done");
    assert!(texts.with_file_name("clean").join("a.jsonl").is_file());
    // The first job is selected; starting it again finds that its output exists.
    test.keys("j r").assert_shows("it is done");
}

#[test]
fn lists_other_runs_and_resumes_stopped_ones() {
    let mut test = open_test();
    let data = test.folder.path().join("data");
    let state = test.folder.path().join("state");
    let mut plan = PackPlan::new(vec![data.join("corpus.jsonl").to_string_lossy().into_owned()], "tokens.json", "");
    plan.nanosets = Some(NanosetsTarget::default());
    for name in ["tok", "busy"] {
        plan.output = data.join(name).to_string_lossy().into_owned();
        put(&data.join(format!("{name}.gristmill/journal")), b"");
        put(&data.join(format!("{name}.gristmill/work/plan.yaml")), pack_to_yaml(&plan).unwrap().as_bytes());
        remember_now(&state, &data.join(name));
    }
    remember_now(&state, &data.join("half"));
    let lock = DatasetLock::acquire(&RealFs, &RunFolder::for_output(&data.join("busy")), false).unwrap();
    test.keys("J").assert_shows("prepare half");
    test.assert_shows("pack busy");
    let screen = test.screen(100, 30);
    let line = |words: &str| screen.lines().find(|line| line.contains(words)).unwrap_or_default().to_owned();
    assert!(line("prepare half").contains("interrupted") && line("pack tok").contains("interrupted"), "{screen}");
    assert!(line("pack busy").contains("runs elsewhere") && screen.contains("~/data/busy"), "{screen}");
    assert!(test.app.is_busy(), "the sign of what runs turns");
    test.keys("g g").assert_shows("Its finished work is kept.");
    test.keys("j").assert_shows(&format!("Process {} on", std::process::id()));
    test.assert_shows(&format!("kill {} stops it", std::process::id()));
    test.keys("r").assert_shows("another process works on it");
    test.keys("x").assert_shows("it belongs to another process");
    test.keys("G r").assert_shows("▸ pack ▸ corpus.jsonl");
    test.assert_shows("--format nanosets");
    drop(lock);
    test.keys("esc esc esc esc esc esc").assert_shows("coco/");
    test.keys("J").assert_hides("runs elsewhere");
}

#[test]
fn an_interrupted_preparation_is_resumed_from_the_jobs_panel() {
    let mut test = open_test();
    remember_now(&test.folder.path().join("state"), &test.folder.path().join("data/half"));
    test.keys("J").assert_shows("prepare half");
    test.keys("c").assert_shows("no job has finished");
    test.keys("r").assert_shows("▸ prepare ▸ half");
}

#[test]
fn a_resumed_run_is_shown_until_its_answers_change() {
    let mut test = open_test();
    let texts = test.folder.path().join("texts");
    put(&texts.join("a.jsonl"), b"{\"text\": \"some words\"}\n");
    let clean = texts.with_file_name("clean");
    let mut plan = DedupPlan::new(texts.to_string_lossy(), clean.to_string_lossy());
    plan.min_length = Some(50);
    let own = RunFolder::for_output(&clean);
    put(&own.journal(), b"");
    put(&own.running_plan(), dedup_to_yaml(&plan).unwrap().as_bytes());
    remember_now(&test.folder.path().join("state"), &clean);
    test.keys("J").assert_shows("dedup clean");
    test.keys("r").assert_shows("a run of these answers was stopped; Enter resumes it");
    test.keys("esc esc").assert_shows("Minimum length of a repeat");
    test.keys("j space").keys("enter").keys("enter").assert_shows("a stopped run of another plan");
}

#[test]
fn a_second_jobs_panel_is_not_opened() {
    let mut test = open_test();
    test.keys("J J").assert_shows("they are shown already");
    test.keys("esc").assert_shows("coco/");
}

#[test]
fn failed_job_shows_less_than_100_percent() {
    let mut test = open_test();
    let mut failed = job(JobState::Failed);
    failed.status.share = Some(0.999);
    test.app.jobs().add("prepare coco".into(), test.folder.path().join("data/coco"), failed);
    test.keys("J").assert_shows("failed");
    test.assert_hides("100 %");
    test.assert_shows("99 %");
}

#[test]
fn a_long_log_shows_its_end_and_can_be_scrolled() {
    let mut test = open_test();
    let mut long = job(JobState::Running);
    long.status.log = (0..200).map(|n| format!("line {n} of the log")).collect();
    test.add_job("prepare coco", "data/coco", long);
    test.keys("J").assert_shows("line 199 of");
    test.keys("pageup").assert_hides("line 199 of");
    test.keys("pagedown").assert_shows("line 199 of");
}

#[test]
fn toast_replaces_only_the_bottom_bar() {
    let mut test = open_test();
    let before = test.screen(80, 24);
    let after = test.keys("ctrl-c").screen(80, 24);
    let rows = |screen: &str| screen.lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (rows(&before), rows(&after));
    assert_eq!(before[..23], after[..23]);
    assert!(after[23].contains("Ctrl-C again leaves"), "{}", after[23]);
}

/// A text field with Tab completion.
struct ExpressionField;

impl Screen for ExpressionField {
    fn context(&self) -> Context {
        Context::PrepareExpression
    }
    fn title(&self) -> Vec<String> {
        Vec::new()
    }
    fn draw(&mut self, _: &mut Frame, _: Rect, _: &Ui) {}
    fn handle(&mut self, _: Input) -> Vec<Effect> {
        Vec::new()
    }
    fn wants_text(&self) -> bool {
        true
    }
}

#[test]
fn bottom_bar_lists_key_once_with_action_of_inner_context() {
    let mut test = open_test();
    test.app.push(Box::new(ExpressionField));
    let screen = test.screen(100, 30);
    let bar = screen.lines().last().unwrap_or_default();
    assert!(bar.contains("Tab complete") && bar.contains("Enter next"), "{bar}");
    assert_eq!(bar.matches("Tab").count(), 1, "{bar}");
}

#[test]
fn click_on_bottom_bar_item_runs_its_action() {
    let mut test = open_test();
    let (column, row) = test.find("r recent");
    test.click(column + 3, row).assert_shows("nothing was opened yet");
    let (column, row) = test.find("? help");
    test.click(column, row).assert_shows("Help: what works here");
    let (column, row) = test.find("Esc back");
    test.click(column, row).assert_hides("Help: what works here");
    let (column, row) = test.find("q quit");
    test.click(column, row);
    assert_eq!(test.app.exit_code(), Some(0));
}

#[test]
fn click_between_bottom_bar_items_is_ignored() {
    let mut test = open_test();
    let (column, row) = test.find("r recent");
    test.click(column - 2, row).assert_hides("nothing was opened yet");
}

#[test]
fn the_mouse_works_in_popups() {
    let mut test = open_test();
    test.keys("?");
    test.type_text("hid");
    let (column, row) = test.find("hidden files");
    test.click(column, row).assert_shows("Shows or hides entries");
    test.double_click(column, row).assert_shows(".hidden");
    test.assert_hides("Help:");
    with_jobs(&mut test);
    test.keys("q");
    let (column, row) = test.find("Stay");
    test.click(column, row).assert_hides("still running");
}

#[test]
fn ignores_mouse_events_with_shift() {
    let mut test = open_test();
    let (column, row) = test.find("? help");
    let kind = MouseEventKind::Down(MouseButton::Left);
    test.app.handle(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::SHIFT }));
    test.assert_hides("Help: what works here");
}

#[test]
fn a_click_selects_a_job_and_a_double_click_switches_log_and_problems() {
    let mut test = open_test();
    with_jobs(&mut test);
    test.keys("J").assert_shows("shard_0011.tar: 10,004 samples");
    let (column, row) = test.find("prepare done");
    test.double_click(column, row).assert_shows("Problems");
}

#[test]
fn the_screen_is_saved_as_a_picture_and_never_over_another_one() {
    let mut test = open_test();
    for number in 1..=2 {
        test.keys("f2");
        let name = format!("gristmill-screen-{number}.svg");
        test.assert_shows(&name);
        let svg = std::fs::read_to_string(test.folder.path().join(&name)).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("corpus.jsonl"), "{svg}");
        assert!(!svg.contains("gristmill-screen"), "the notice of the last one is gone");
    }
}

#[test]
fn save_screen_from_palette_saves_the_screen_below() {
    let mut test = open_test();
    test.keys(":").type_text("save-screen").keys("enter").assert_shows("gristmill-screen-1.svg");
    let svg = std::fs::read_to_string(test.folder.path().join("gristmill-screen-1.svg")).unwrap();
    assert!(!svg.contains("Commands") && svg.contains("corpus.jsonl"), "{svg}");
}

/// A screen that closes itself when its work has ended.
struct ClosingScreen(Arc<AtomicBool>);

impl Screen for ClosingScreen {
    fn context(&self) -> Context {
        Context::Page
    }
    fn title(&self) -> Vec<String> {
        vec!["at work".into()]
    }
    fn draw(&mut self, _: &mut Frame, _: Rect, _: &Ui) {}
    fn handle(&mut self, _: Input) -> Vec<Effect> {
        Vec::new()
    }
    fn tick_on_top(&mut self, effects: &mut Vec<Effect>) -> bool {
        let has_ended = self.0.load(Ordering::Relaxed);
        effects.extend(has_ended.then_some(Effect::Pop));
        has_ended
    }
}

#[test]
fn screen_that_finishes_below_help_closes_only_itself() {
    let mut test = open_test();
    let has_ended = Arc::new(AtomicBool::new(false));
    test.app.push(Box::new(ClosingScreen(Arc::clone(&has_ended))));
    test.assert_shows("at work");
    test.keys("?").assert_shows("Help: what works here");
    has_ended.store(true, Ordering::Relaxed);
    test.settle();
    test.assert_shows("Help: what works here");
    test.keys("esc").assert_hides("at work");
}
