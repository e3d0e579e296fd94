//! Tests of the session on files: opening, drafts, writing, and concurrent changes by other processes.

use super::*;
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, UiEnv};
use gristmill_core::RunOptions;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct SplitsTest {
    folder: tempfile::TempDir,
}

impl SplitsTest {
    fn new() -> Self {
        let test = Self { folder: tempfile::tempdir().unwrap() };
        let counts: Vec<String> = counts(20).iter().map(|(name, n)| format!("\"{name}\": {n}")).collect();
        let info = format!("{{\"energon_version\": \"7.4.1\", \"shard_counts\": {{{}}}}}", counts.join(", "));
        std::fs::create_dir_all(test.root().join(".nv-meta")).unwrap();
        write_file(&RealFs, &test.root().join(".nv-meta/.info.json"), info.as_bytes(), 0o644).unwrap();
        test.put(TEXT);
        test
    }
    fn root(&self) -> PathBuf {
        self.folder.path().join("coco")
    }
    fn file(&self) -> PathBuf {
        self.root().join(".nv-meta/split.yaml")
    }
    fn put(&self, text: &str) {
        write_file(&RealFs, &self.file(), text.as_bytes(), 0o640).unwrap();
    }
    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }
    fn env(&self) -> UiEnv {
        UiEnv::new(RunOptions::default(), self.folder.path().join("state"))
    }
    fn open(&self) -> (SplitSession, Vec<Effect>) {
        let session = SplitSession::open(&self.root(), &self.env());
        let mut effects = Vec::new();
        wait(&session, &mut effects, |s| s.editor().is_some() || s.failure().is_some());
        (session, effects)
    }
    fn drafts(&self) -> usize {
        let Ok(folder) = std::fs::read_dir(self.folder.path().join("state/drafts")) else { return 0 };
        // The temporary file of a draft that is being written is not counted.
        folder.flatten().filter(|entry| entry.file_name().to_string_lossy().ends_with(".splits.json")).count()
    }
}

/// Ticks the session until the condition holds.
fn wait(session: &SplitSession, effects: &mut Vec<Effect>, is_so: impl Fn(&SplitSession) -> bool) {
    testing::wait("what the session does", || {
        session.tick(effects);
        is_so(session)
    });
}

fn popup(effects: Vec<Effect>) -> Box<dyn Screen> {
    let found = effects.into_iter().find_map(|effect| match effect {
        Effect::Push(screen) => Some(screen),
        _ => None,
    });
    found.expect("a popup")
}

fn digit(c: char) -> Input {
    Input::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
}

#[test]
fn written_splits_keep_comments_and_delete_the_draft() {
    let test = SplitsTest::new();
    let (session, mut effects) = test.open();
    assert!(effects.is_empty(), "nothing was left");
    session.apply(moved(&["shard_0016.tar"], "test"));
    session.apply(excluded("shard_0001.tar", Some("dark")));
    assert_eq!(session.pending(), 2);
    session.write_now(false);
    wait(&session, &mut effects, |s| s.written().is_some());
    assert_eq!(session.pending(), 0);
    let text = test.text();
    assert!(text.contains("# made by Ana on 3 Nov") && text.contains("# never touch"), "{text}");
    assert!(text.contains("shard_0001.tar") && text.contains("# dark"), "{text}");
    let end = Instant::now() + Duration::from_secs(60);
    while test.drafts() > 0 {
        assert!(Instant::now() < end, "the draft is gone after a write");
        session.tick(&mut effects);
    }
}

#[test]
fn draft_of_crashed_session_is_offered() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    session.apply(moved(&["shard_0016.tar"], "test"));
    session.keep_now();
    // Simulates a crash: the session is not dropped.
    std::mem::forget(session);
    let (again, effects) = test.open();
    let mut offer = popup(effects);
    compare_screen("draft", offer.as_mut());
    offer.handle(digit('1'));
    let mut effects = Vec::new();
    wait(&again, &mut effects, |s| s.pending() == 1);
    assert!(again.unwritten().is_some());
    again.discard();
    assert_eq!((again.pending(), again.unwritten()), (0, None));
}

#[test]
fn failed_draft_is_reported_as_lost_changes() {
    let test = SplitsTest::new();
    // A folder cannot be created at the path of a file.
    write_file(&RealFs, &test.folder.path().join("state"), b"", 0o600).unwrap();
    let (session, mut effects) = test.open();
    let mut screen = screen::SplitsScreen::new(session.clone(), true);
    assert!(matches!(screen.handle(Input::Action(Action::Exclude)).as_slice(), [Effect::Toast(_)]));
    wait(&session, &mut effects, |s| s.draft_failure().is_some());
    let notice = session.unwritten().unwrap();
    assert!(notice.contains("They are lost then") && !notice.contains("offers them"), "{notice}");
    let mut leave = popup(screen.handle(Input::Action(Action::Close)));
    let picture = shown(100, 22, false, &mut |frame, area, ui| leave.draw(frame, area, ui));
    assert!(picture.contains("they are lost"), "{picture}");
}

#[test]
fn discarded_draft_is_deleted() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    session.apply(moved(&["shard_0016.tar"], "test"));
    session.keep_now();
    std::mem::forget(session);
    assert_eq!(test.drafts(), 1);
    let (again, effects) = test.open();
    popup(effects).handle(digit('2'));
    let end = Instant::now() + Duration::from_secs(60);
    while test.drafts() > 0 {
        assert!(Instant::now() < end);
        again.tick(&mut Vec::new());
    }
    assert_eq!(again.pending(), 0);
}

#[test]
fn conflicting_write_of_another_process_needs_a_choice() {
    for choice in ['1', '2', '3'] {
        let test = SplitsTest::new();
        let (session, mut effects) = test.open();
        session.apply(moved(&["shard_0016.tar"], "test"));
        let theirs = TEXT.replace("never touch", "touched by Ben");
        test.put(&theirs);
        session.write_now(false);
        wait(&session, &mut effects, |s| s.doing() != Some("writing"));
        assert_eq!(test.text(), theirs, "nothing is written before it is asked");
        let version = session.version();
        let mut ask = popup(effects);
        compare_screen("conflict", ask.as_mut());
        let requests = ask.handle(digit(choice));
        let mut effects = Vec::new();
        wait(&session, &mut effects, |s| s.doing() != Some("writing"));
        assert!(!requests.is_empty());
        match choice {
            '1' => {
                assert_eq!((session.pending(), test.text()), (1, theirs), "shown first");
                assert_ne!(session.version(), version, "screens must notice");
                session.write_now(false);
                wait(&session, &mut effects, |s| s.written().is_some());
                assert!(test.text().contains("touched by Ben"));
                assert_eq!(session.editor().unwrap().splits()[2].shards.len(), 3);
            }
            '2' => assert!(test.text().contains("never touch"), "mine"),
            _ => assert_eq!((session.pending(), test.text()), (1, theirs)),
        }
    }
}

#[test]
fn unreadable_split_file_disables_edits_until_reload() {
    let test = SplitsTest::new();
    test.put("split_parts: [\n");
    let (session, _) = test.open();
    assert!(session.failure().is_some());
    assert!(matches!(session.apply(moved(&["a"], "b")).as_slice(), [Effect::Toast(_)]));
    assert!(matches!(session.undo().as_slice(), [Effect::Toast(_)]));
    let screen = open_shared(session.clone());
    assert!(screen.disabled_reason(Action::MoveTo).is_some() && screen.disabled_reason(Action::Close).is_none());
    test.put(TEXT);
    session.reload();
    wait(&session, &mut Vec::new(), |s| s.editor().is_some());
    assert_eq!(session.failure(), None);
}

#[test]
fn reload_reapplies_pending_changes_to_the_new_file() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    session.apply(moved(&["shard_0016.tar"], "test"));
    test.put(&TEXT.replace("never touch", "touched by Ben"));
    session.reload();
    let mut effects = Vec::new();
    wait(&session, &mut effects, |s| {
        s.pending() == 1
            && !s.is_busy()
            && s.editor().is_some_and(|e| e.base_bytes().windows(6).any(|w| w == b"by Ben"))
    });
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Push(_))), "no question is asked");
}

#[test]
fn closing_with_pending_changes_needs_confirmation() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    let mut screen = screen::SplitsScreen::new(session.clone(), true);
    let mut press = |action| screen.handle(Input::Action(action));
    assert!(matches!(press(Action::Close).as_slice(), [Effect::Pop]));
    assert!(matches!(press(Action::Exclude).as_slice(), [Effect::Toast(_)]));
    assert_eq!(session.pending(), 1);
    let mut leave = popup(press(Action::Close));
    compare_screen("leave", leave.as_mut());
    press(Action::Undo);
    assert_eq!(session.pending(), 0);
    press(Action::Redo);
    assert_eq!(session.pending(), 1);
    let mut choose = popup(press(Action::MoveTo));
    choose.handle(digit('2'));
    assert_eq!(session.pending(), 2);
    for action in
        [Action::ByPattern, Action::Balance, Action::AddExclude, Action::AddSplit, Action::Details, Action::Write]
    {
        assert!(matches!(press(action).as_slice(), [Effect::Push(_)]), "{action:?}");
    }
    for (action, name) in [(Action::RenameSplit, "rename"), (Action::Note, "note"), (Action::LeakCheck, "leak_ask")] {
        compare_screen(name, popup(press(action)).as_mut());
    }
    press(Action::DropSplit);
    assert_eq!(session.pending(), 3);
    press(Action::NextPane);
    press(Action::Exclude);
    assert_eq!(session.pending(), 4, "an exclude was taken back");
    popup(press(Action::Note));
}

#[test]
fn rejected_split_text_shows_position_and_two_choices() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    let text = TEXT.replace("exclude:", "exclude: x: y");
    let failure = with(editor(), Vec::new()).apply(Edit::ReplaceText { text }).unwrap_err();
    let rejected = text_edit::RejectedText { failure, file: test.file() };
    compare_screen("refused", session.rejected_question(rejected).as_mut());
}

/// Presses the mouse on the first position of these words.
fn press_on(screen: &mut dyn Screen, words: &str) -> Vec<Effect> {
    let picture = shown(80, 22, false, &mut |frame, area, ui| screen.draw(frame, area, ui));
    let found = picture.lines().enumerate().find_map(|(row, line)| {
        let column = line.find(words).map(|at| line[..at].chars().count())?;
        Some((u16::try_from(column).unwrap(), u16::try_from(row).unwrap()))
    });
    let (column, row) = found.unwrap_or_else(|| panic!("{words} is not in\n{picture}"));
    let kind = MouseEventKind::Down(MouseButton::Left);
    screen.handle(Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
}

/// Ticks the screen until these words are shown.
fn wait_for(screen: &mut dyn Screen, words: &str) {
    testing::wait(words, || {
        screen.tick(&mut Vec::new());
        shown(80, 22, false, &mut |frame, area, ui| screen.draw(frame, area, ui)).contains(words)
    });
}

#[test]
fn click_selects_a_dialog_row_and_double_click_accepts() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    let mut pattern = pattern::dialog(session.clone());
    pattern.handle(Input::Paste("shard_001".into()));
    wait_for(&mut pattern, "10 shards");
    assert!(press_on(&mut pattern, "shard_0012").is_empty());
    wait_for(&mut pattern, "▸ shard_0012");
    let effects = press_on(&mut pattern, "shard_0012");
    assert!(matches!(effects.as_slice(), [Effect::Pop, Effect::Push(_)]), "where to is asked");
    assert!(press_on(&mut pattern, "10 shards").is_empty(), "next to the rows nothing happens");

    let mut balance = balance::dialog(session.clone());
    wait_for(&mut balance, "8,1,1");
    balance.handle(Input::Key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE)));
    balance.handle(Input::Paste("4".into()));
    wait_for(&mut balance, "shards to move");
    let moves = "train → test";
    assert!(press_on(&mut balance, moves).is_empty());
    assert!(matches!(press_on(&mut balance, moves).as_slice(), [Effect::Pop, ..]));
    assert_eq!(session.pending(), 1, "they were moved");
}

#[test]
fn splits_cannot_be_written_before_review_is_shown() {
    let test = SplitsTest::new();
    let (session, _) = test.open();
    session.apply(moved(&["shard_0016.tar"], "test"));
    let mut review = session.review();
    let why = review.disabled_reason(Action::Accept);
    assert_eq!(why.as_deref(), Some("the changes are being compared"));
    assert_eq!(review.status_right().as_deref(), Some("comparing"));
    assert!(matches!(review.handle(Input::Action(Action::Accept)).as_slice(), [Effect::Toast(_)]));
    assert_ne!(session.doing(), Some("writing"));
    wait_for(review.as_mut(), "shard_0016.tar");
    assert_eq!(review.disabled_reason(Action::Accept), None);
    // A change by another screen must also be shown before it can be written.
    session.apply(moved(&["shard_0017.tar"], "test"));
    assert!(review.disabled_reason(Action::Accept).is_some());
    wait_for(review.as_mut(), "2 changes");
    assert_eq!(review.disabled_reason(Action::Accept), None);
    review.handle(Input::Action(Action::Accept));
    wait_for(review.as_mut(), "Written");
    assert_eq!((review.disabled_reason(Action::Accept), review.label(Action::Accept)), (None, "done"));
}
