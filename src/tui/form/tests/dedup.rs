//! Tests of the form of dedup from its first step to the run: keys and clicks, drafts, and stopped runs.

use crate::tui::form;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::testing;
use gristmill_core::{DedupPlan, RunOptions};
use gristmill_ops::engine::plan::file::dedup_to_yaml;
use gristmill_ops::operations::{erase, Dedup};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use gristmill_storage::run_folder::RunFolder;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::path::PathBuf;

/// A folder with text files, and a state folder.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(folder.input()).unwrap();
        write_file(&RealFs, &folder.input().join("a.jsonl"), b"{\"text\": \"one document\"}\n", 0o644).unwrap();
        folder
    }
    fn input(&self) -> PathBuf {
        self.0.path().join("web")
    }
    fn env(&self) -> UiEnv {
        let mut env = UiEnv::new(RunOptions::default(), self.0.path().join("state"));
        env.save_dir = self.0.path().to_owned();
        env
    }
    /// Returns the form after its files were found.
    fn open(&self) -> Box<dyn Screen> {
        let mut screen = form::open(erase::<Dedup>(DedupPlan::new(self.input().to_str().unwrap(), "")), self.env());
        testing::settle(screen.as_mut());
        screen
    }
    fn drafts(&self) -> usize {
        std::fs::read_dir(self.0.path().join("state/drafts")).map_or(0, Iterator::count)
    }
}

fn act(screen: &mut dyn Screen, actions: &[Action]) -> Vec<Effect> {
    actions.iter().flat_map(|action| screen.handle(Input::Action(*action))).collect()
}

fn shown(screen: &mut dyn Screen) -> String {
    testing::shown((80, 22, false), |frame, area, ui| screen.draw(frame, area, ui))
}

/// Sends a mouse event at the first position of these words.
fn mouse(screen: &mut dyn Screen, kind: MouseEventKind, words: &str) {
    let picture = shown(screen);
    let found = picture.lines().enumerate().find_map(|(row, line)| {
        let column = line.find(words).map(|at| line[..at].chars().count())?;
        Some((u16::try_from(column).unwrap(), u16::try_from(row).unwrap()))
    });
    let (column, row) = found.unwrap_or_else(|| panic!("{words} is not in\n{picture}"));
    screen.handle(Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

fn click(screen: &mut dyn Screen, words: &str) {
    mouse(screen, MouseEventKind::Down(MouseButton::Left), words);
}

fn says(effects: &[Effect], words: &str) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Toast(toast) if toast.text.contains(words)))
}

#[test]
fn focus_moves_between_step_list_and_fields() {
    let folder = Folder::new();
    let mut screen = folder.open();
    assert_eq!(screen.context(), Context::GuidedText);
    act(screen.as_mut(), &[Action::PreviousField]);
    assert_eq!(screen.context(), Context::DedupRail);
    act(screen.as_mut(), &[Action::Down, Action::Down, Action::Accept]);
    assert!(shown(screen.as_mut()).contains("mode"), "the cursor goes to a step");
    act(screen.as_mut(), &[Action::PreviousField, Action::Up, Action::Close]);
    assert_eq!(screen.context(), Context::Dedup, "back in the step");
    assert!(screen.disabled_reason(Action::StartAfresh).is_some());
}

#[test]
fn mouse_selects_steps_and_answers() {
    let folder = Folder::new();
    let mut screen = folder.open();
    click(screen.as_mut(), "Min. length");
    click(screen.as_mut(), "( ) 100");
    assert!(screen.bar_right().unwrap().contains("--minlen 100"));
    click(screen.as_mut(), "Mode");
    click(screen.as_mut(), "mode");
    assert!(screen.bar_right().unwrap().contains("--mode annotate"));
    click(screen.as_mut(), "annotate key");
    assert!(screen.wants_text());
    screen.handle(Input::Key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE)));
    screen.handle(Input::Paste("y".into()));
    assert!(screen.bar_right().unwrap().contains("--annotate-key xy"));
    act(screen.as_mut(), &[Action::DropRow]);
    assert!(!screen.bar_right().unwrap().contains("--annotate-key"));
    mouse(screen.as_mut(), MouseEventKind::ScrollDown, "Mode");
}

#[test]
fn closed_form_restores_answers_until_they_are_discarded() {
    let folder = Folder::new();
    let mut screen = folder.open();
    let left = act(screen.as_mut(), &[Action::Close]);
    assert!(matches!(left.as_slice(), [Effect::Pop]) && folder.drafts() == 0, "nothing was answered");
    act(screen.as_mut(), &[Action::Next, Action::Down]);
    assert!(screen.bar_right().unwrap().contains("--minlen 1000"));
    screen.closing();
    assert_eq!(folder.drafts(), 1);
    let mut screen = folder.open();
    assert!(shown(screen.as_mut()).contains("restored from a draft (just now)"));
    assert!(screen.bar_right().unwrap().contains("--minlen 1000"));
    assert_eq!((screen.disabled_reason(Action::StartAfresh), screen.context()), (None, Context::Dedup));
    act(screen.as_mut(), &[Action::StartAfresh]);
    assert!(screen.bar_right().is_none() && folder.drafts() == 0, "the flags of the first step");
    act(screen.as_mut(), &[Action::Next]);
    assert!(screen.bar_right().unwrap().contains("--minlen 500") && folder.drafts() == 0);
    assert!(!shown(screen.as_mut()).contains("restored from"));
}

#[test]
fn given_output_replaces_output_of_draft() {
    let folder = Folder::new();
    let mut screen = folder.open();
    act(screen.as_mut(), &[Action::Next, Action::Down]);
    screen.closing();
    let plan = DedupPlan::new(folder.input().to_str().unwrap(), "/elsewhere/out");
    let mut screen = form::open(erase::<Dedup>(plan), folder.env());
    let Some(Effect::Copy(command)) = act(screen.as_mut(), &[Action::Copy]).into_iter().next() else { panic!() };
    assert!(command.contains("--minlen 1000") && command.contains("--output /elsewhere/out"), "{command}");
}

#[test]
fn run_needs_valid_answers_and_deletes_the_draft_on_success() {
    let folder = Folder::new();
    let mut screen = folder.open();
    act(screen.as_mut(), &[Action::Next, Action::Down]);
    screen.closing();
    act(screen.as_mut(), &[Action::GoStep3]);
    click(screen.as_mut(), "output");
    act(screen.as_mut(), &[Action::DropRow]);
    let refused = act(screen.as_mut(), &[Action::Next]);
    assert!(says(&refused, "output is needed") && screen.context() == Context::GuidedText);
    let refused = act(screen.as_mut(), &[Action::GoStep4, Action::Run]);
    assert!(says(&refused, "output is needed"));
    assert!(shown(screen.as_mut()).contains("mode"), "it goes to the field with the mistake");
    click(screen.as_mut(), "output");
    screen.handle(Input::Paste(folder.0.path().join("out").to_str().unwrap().to_owned()));
    let mut pushed = act(screen.as_mut(), &[Action::GoStep4, Action::Run]);
    let Some(Effect::Push(run)) = pushed.pop() else { panic!("nothing runs") };
    assert_eq!(folder.drafts(), 1, "a run that fails leaves the answers");
    screen.closing();
    let mut run = run;
    testing::settle(run.as_mut());
    assert_eq!(folder.drafts(), 0, "what has succeeded is not kept");
}

#[test]
fn answers_of_failed_run_are_restored() {
    let folder = Folder::new();
    write_file(&RealFs, &folder.input().join("a.jsonl"), b"no record\n", 0o644).unwrap();
    let mut screen = folder.open();
    act(screen.as_mut(), &[Action::Next, Action::Down, Action::GoStep3]);
    click(screen.as_mut(), "output");
    act(screen.as_mut(), &[Action::DropRow]);
    screen.handle(Input::Paste("/proc/nowhere/out".to_owned()));
    let mut pushed = act(screen.as_mut(), &[Action::GoStep4, Action::Run]);
    let Some(Effect::Push(mut run)) = pushed.pop() else { panic!("nothing runs") };
    testing::settle(run.as_mut());
    assert_eq!(folder.drafts(), 1);
    let again = folder.open();
    assert!(again.bar_right().unwrap().contains("--minlen 1000"));
}

#[test]
fn stopped_run_of_another_plan_blocks_review_until_decided() {
    let folder = Folder::new();
    let out = folder.0.path().join("out");
    let own = RunFolder::for_output(&out);
    own.create(&RealFs).unwrap();
    let mut stopped = DedupPlan::new(folder.input().to_str().unwrap(), out.to_str().unwrap());
    stopped.min_length = Some(77);
    write_file(&RealFs, &own.running_plan(), dedup_to_yaml(&stopped).unwrap().as_bytes(), 0o600).unwrap();
    write_file(&RealFs, &own.journal(), b"", 0o600).unwrap();
    let given = DedupPlan { min_length: Some(500), ..stopped };
    let mut screen = form::open(erase::<Dedup>(given), folder.env());
    act(screen.as_mut(), &[Action::GoStep4]);
    testing::settle(screen.as_mut());
    let review = shown(screen.as_mut());
    assert!(review.contains("resumed here: min-length: 77") && review.contains("resume that run or"), "{review}");
    assert!(!review.contains("--restart"), "{review}");
    assert_eq!(screen.disabled_reason(Action::BeginAnew), None);
    let Some(Effect::Push(mut question)) = act(screen.as_mut(), &[Action::Run]).pop() else { panic!("no question") };
    let mut chosen = question.handle(Input::Action(Action::Accept));
    let Some(Effect::Replace(mut other)) = chosen.pop() else { panic!("nothing to go on with") };
    testing::settle(other.as_mut());
    assert!(other.context() == Context::DedupReview && other.bar_right().unwrap().contains("--minlen 77"));
    screen.resumed();
    assert_eq!(screen.disabled_reason(Action::BeginAnew), None, "the question has gone, and its answer counts");
    let Some(Effect::Push(mut run)) = act(screen.as_mut(), &[Action::BeginAnew]).pop() else { panic!("nothing runs") };
    testing::settle(run.as_mut());
    assert!(out.join("a.jsonl").exists() && !own.journal().exists());
}

#[test]
fn arrows_change_choice_and_space_does_not() {
    let folder = Folder::new();
    let mut screen = folder.open();
    act(screen.as_mut(), &[Action::GoStep3]);
    let before = shown(screen.as_mut());
    assert!(before.contains("< remove >"), "{before}");
    assert!(screen.disabled_reason(Action::Toggle).is_some_and(|why| why.contains("left and right")));
    act(screen.as_mut(), &[Action::Toggle, Action::Toggle, Action::Toggle]);
    assert_eq!(shown(screen.as_mut()), before);
    act(screen.as_mut(), &[Action::Right]);
    assert!(!shown(screen.as_mut()).contains("< remove >"));
}

#[test]
fn tab_accepts_path_completion_before_moving_to_next_field() {
    let folder = Folder::new();
    std::fs::create_dir(folder.0.path().join("web-marked")).unwrap();
    let mut screen = folder.open();
    act(screen.as_mut(), &[Action::Next, Action::Next]);
    act(screen.as_mut(), &[Action::NextField; 3]);
    let path = folder.0.path().join("web-ma");
    act(screen.as_mut(), &[Action::DropRow]);
    screen.handle(Input::Paste(path.to_str().unwrap().to_owned()));
    let picture = shown(screen.as_mut());
    assert!(picture.lines().any(|line| line.contains("output") && line.contains("web-ma")), "{picture}");
    testing::wait("the completion", || {
        screen.tick(&mut Vec::new());
        shown(screen.as_mut()).contains("web-marked/")
    });
    act(screen.as_mut(), &[Action::NextField]);
    assert!(shown(screen.as_mut()).contains("web-marked/"), "{}", shown(screen.as_mut()));
    // The completion was accepted, so Tab now moves to the next field.
    act(screen.as_mut(), &[Action::NextField]);
    assert!(!screen.wants_text(), "{}", shown(screen.as_mut()));
}
