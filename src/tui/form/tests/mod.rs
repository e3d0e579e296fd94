//! Tests of forms of operations without a guide of their own: fields of the table, drafts, saved plans, and the start of runs.

mod dedup;

use super::testing::FormTest;
use super::*;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::testing;
use gristmill_core::options::Answer;
use gristmill_core::RunOptions;
use gristmill_ops::operations::{operation, read_plan, OPERATIONS};
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use std::path::PathBuf;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        write_file(&RealFs, &folder.text(), b"{\"text\": \"one document\"}\n", 0o644).unwrap();
        folder
    }

    fn text(&self) -> PathBuf {
        self.0.path().join("a.jsonl")
    }

    fn env(&self) -> UiEnv {
        let mut env = UiEnv::new(RunOptions::default(), self.0.path().join("state"));
        env.save_dir = self.0.path().to_owned();
        env
    }

    fn open(&self) -> FormScreen {
        let mut plan = operation("count").unwrap().blank();
        plan.set("input", &Answer::List(vec![self.text().to_str().unwrap().to_owned()])).unwrap();
        FormScreen::new(plan, self.env())
    }

    fn drafts(&self) -> usize {
        std::fs::read_dir(self.0.path().join("state/drafts")).map_or(0, Iterator::count)
    }
}

fn act(screen: &mut FormScreen, actions: &[Action]) -> Vec<Effect> {
    actions.iter().flat_map(|action| screen.handle(Input::Action(*action))).collect()
}

fn type_text(screen: &mut FormScreen, text: &str) {
    screen.handle(Input::Paste(text.to_owned()));
}

fn shown(screen: &mut FormScreen) -> String {
    testing::shown((100, 22, false), |frame, area, ui| screen.draw(frame, area, ui))
}

fn blank(name: &str) -> Form {
    let mut form = Form::new(operation(name).unwrap().blank());
    form.set_fields(form.option_fields());
    form
}

#[test]
fn required_choice_is_empty_before_first_answer() {
    let mut form = blank("index");
    let format = Field::Option("format");
    assert_eq!(form.choice(format), ("", "one of modalities, forager".to_owned()));
    form.focus_on(format);
    form.handle_action(Action::Left);
    assert_eq!(form.choice(format).0, "forager");
    form.handle_action(Action::Right);
    assert_eq!(form.choice(format).0, "modalities");
    form.set_fields(form.option_fields());
    let names: Vec<String> = form.fields().iter().map(|field| form.table.label(*field)).collect();
    assert_eq!(names, ["path", "format", "index path", "file existence policy", "skip bad lines"]);
}

#[test]
fn form_fields_follow_option_table() {
    let form = blank("nanosets merge");
    let names: Vec<String> = form.fields().iter().map(|field| form.table.label(*field)).collect();
    assert_eq!(names[..4], ["dir", "output", "name", "max tokens per file"]);
    assert_eq!(names.last().unwrap(), "force overwrite");
    assert_eq!(form.blocking_reason(0).unwrap(), "dir is needed");
    let known = Folder::new();
    let screen = known.open();
    assert!(!screen.form().fields().contains(&Field::Option("input")), "a known input is not asked for");
}

#[test]
fn complete_help_of_the_focused_field_is_shown() {
    let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
    let joined = |words: &str| words.split_whitespace().collect::<Vec<_>>().join(" ");
    for operation in OPERATIONS.iter() {
        let mut test = FormTest::new(operation.blank(), PreviewGuide::new(draw_printed, &env));
        test.form.advanced = true;
        for step in operation.steps() {
            test.go_to(step.id);
            for field in test.form.fields().to_vec() {
                test.form.focus_on(field);
                let shown = test.shown((80, 22, false));
                let pane = shown.lines().filter_map(|line| Some(line.rsplit_once("││")?.1.trim_end_matches('│')));
                let pane = joined(&pane.collect::<Vec<_>>().join(" "));
                let help = joined(&test.form.table.help(field));
                assert!(!help.is_empty() && pane.contains(&help), "{} {field:?}: {help}\n{shown}", operation.name());
            }
        }
    }
}

#[test]
fn typed_answers_reach_plan_and_invalid_ones_do_not() {
    let mut form = blank("nanosets merge");
    form.type_into("max-tokens", "1,000");
    assert_eq!(form.plan().get("max-tokens"), Answer::Text("1000".into()));
    assert_eq!(form.value(Field::Option("max-tokens")), "1,000", "the text stays as it was typed");
    form.type_into("max-tokens", "many");
    assert_eq!(form.plan().get("max-tokens"), Answer::Text("1000".into()));
    assert_eq!(form.blocking_reason(0).unwrap(), "max tokens: 'many' is not a number");
    form.type_into("max-tokens", "");
    assert_eq!((form.plan().get("max-tokens"), form.mistakes.len()), (Answer::Unset, 0));
}

#[test]
fn an_answer_of_the_user_is_not_replaced_by_a_proposal() {
    let mut form = blank("nanosets merge");
    form.propose("output", Answer::Text("proposed".into()));
    assert_eq!(form.value(Field::Option("output")), "proposed");
    form.type_into("output", "own");
    form.propose("output", Answer::Text("proposed".into()));
    assert_eq!(form.plan().get("output"), Answer::Text("own".into()));
}

#[test]
fn switches_and_choices_change_the_plan_by_key_and_click() {
    let folder = Folder::new();
    let mut plan = operation("nanosets merge").unwrap().blank();
    plan.set("dir", &Answer::Text("/data".into())).unwrap();
    let mut screen = FormScreen::new(plan, folder.env());
    let picture = shown(&mut screen);
    let row = picture.lines().position(|line| line.contains("force overwrite")).unwrap();
    let column = picture.lines().nth(row).unwrap().find("force").unwrap();
    let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
    let kind = MouseEventKind::Down(MouseButton::Left);
    screen.handle(Input::Mouse(MouseEvent { kind, column: column - 4, row, modifiers: KeyModifiers::NONE }));
    assert_eq!(screen.form().plan().get("force-overwrite"), Answer::On);
    assert_eq!(screen.context(), Context::Guided);
    act(&mut screen, &[Action::Toggle, Action::Up, Action::Right]);
    assert_eq!(screen.form().plan().get("force-overwrite"), Answer::Unset);
    assert_eq!(screen.form().plan().get("shuffle"), Answer::Text("none".into()));
    assert!(screen.disabled_reason(Action::Toggle).is_some() && screen.disabled_reason(Action::Left).is_none());
}

#[test]
fn review_shows_preview_and_starts_run() {
    let folder = Folder::new();
    let mut screen = folder.open();
    let refused = act(&mut screen, &[Action::Next]);
    assert!(matches!(&refused[..], [Effect::Toast(toast)] if toast.text == "tokenizer is needed"));
    type_text(&mut screen, "no-such-file.json");
    act(&mut screen, &[Action::Next]);
    assert_eq!(screen.context(), Context::GuidedReview);
    testing::settle(&mut screen);
    assert!(shown(&mut screen).contains("no-such-file.json: no such file"), "{}", shown(&mut screen));
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/field/K14/tokenizer.json");
    act(&mut screen, &[Action::Close, Action::DropRow]);
    type_text(&mut screen, tokenizer);
    testing::settle(&mut screen);
    assert!(shown(&mut screen).contains("Would count the tokens of 1 file"), "it is shown below the fields");
    act(&mut screen, &[Action::Next]);
    testing::settle(&mut screen);
    assert!(shown(&mut screen).contains("Would count the tokens of 1 file"), "{}", shown(&mut screen));
    assert!(matches!(&act(&mut screen, &[Action::Run])[..], [Effect::Push(_)]));
    assert_eq!(folder.drafts(), 1, "the answers are kept until the run has succeeded");
}

#[test]
fn unfinished_answers_are_restored_until_they_are_discarded() {
    let folder = Folder::new();
    let mut screen = folder.open();
    act(&mut screen, &[Action::Close]);
    assert_eq!(folder.drafts(), 0, "nothing was answered");
    type_text(&mut screen, "t.json");
    act(&mut screen, &[Action::Next]);
    screen.closing();
    assert_eq!(folder.drafts(), 1);
    let mut screen = folder.open();
    assert!(shown(&mut screen).contains("--tokenizer") && screen.context() == Context::GuidedReview);
    act(&mut screen, &[Action::Close]);
    assert!(shown(&mut screen).contains("restored from a draft (just now)"), "{}", shown(&mut screen));
    act(&mut screen, &[Action::StartAfresh]);
    assert_eq!((screen.form().plan().get("tokenizer"), folder.drafts()), (Answer::Unset, 0));
    assert!(screen.form().plan().get("input") != Answer::Unset, "the input stays");
}

#[test]
fn answer_on_first_step_is_saved_as_draft_on_close() {
    let folder = Folder::new();
    let mut screen = folder.open();
    type_text(&mut screen, "t.json");
    screen.closing();
    assert_eq!(folder.drafts(), 1);
    let screen = folder.open();
    assert_eq!(screen.form().plan().get("tokenizer"), Answer::Text("t.json".to_owned()));
}

#[test]
fn saved_plan_gets_an_unused_file_name() {
    let folder = Folder::new();
    let mut screen = folder.open();
    type_text(&mut screen, "t.json");
    for name in ["a-count-plan.yaml", "a-count-plan-2.yaml"] {
        let Some(Effect::Push(mut popup)) = act(&mut screen, &[Action::SavePlan]).pop() else { panic!() };
        let shown = testing::shown((100, 22, false), |frame, area, ui| popup.draw(frame, area, ui));
        assert!(shown.contains(name), "{shown}");
        assert!(matches!(popup.handle(Input::Action(Action::Next)).first(), Some(Effect::Pop)));
    }
    let saved = |name: &str| {
        let text = std::fs::read_to_string(folder.0.path().join(name)).unwrap();
        read_plan(&text).unwrap()
    };
    assert!(saved("a-count-plan.yaml").is_same(&*saved("a-count-plan-2.yaml")));
    assert_eq!(saved("a-count-plan.yaml").get("tokenizer"), Answer::Text("t.json".into()));
    let Some(Effect::Push(mut popup)) = act(&mut screen, &[Action::SavePlan]).pop() else { panic!() };
    popup.handle(Input::Action(Action::DropRow));
    let refused = popup.handle(Input::Action(Action::Next));
    assert!(matches!(refused.as_slice(), [Effect::Toast(_)]), "a name is needed");
    popup.handle(Input::Paste("a-count-plan.yaml".into()));
    let refused = popup.handle(Input::Action(Action::Next));
    assert!(matches!(refused.as_slice(), [Effect::Toast(_)]), "the file exists");
    assert!(matches!(popup.handle(Input::Action(Action::Next)).first(), Some(Effect::Pop)), "it is a plan");
    assert_eq!((popup.label(Action::Next), popup.disabled_reason(Action::Next)), ("save", None));
    assert!(popup.disabled_reason(Action::NextField).is_some(), "the keys of the form do nothing in the box");
    let other = folder.0.path().join("notes.yaml");
    write_file(&RealFs, &other, b"mine", 0o644).unwrap();
    let Some(Effect::Push(mut popup)) = act(&mut screen, &[Action::SavePlan]).pop() else { panic!() };
    popup.handle(Input::Action(Action::DropRow));
    popup.handle(Input::Paste("notes.yaml".into()));
    for _ in 0..3 {
        let effects = popup.handle(Input::Action(Action::Next));
        let [Effect::Toast(toast)] = effects.as_slice() else { panic!() };
        assert!(toast.text.contains("it is not a plan"), "{}", toast.text);
    }
    assert_eq!(std::fs::read(&other).unwrap(), b"mine", "only a plan is replaced");
}

#[test]
fn steps_are_selected_by_keys_and_step_list() {
    let folder = Folder::new();
    let mut screen = folder.open();
    act(&mut screen, &[Action::PreviousField]);
    assert_eq!(screen.context(), Context::GuidedRail);
    act(&mut screen, &[Action::Down, Action::Accept]);
    assert_eq!(screen.context(), Context::GuidedReview);
    act(&mut screen, &[Action::GoStep1]);
    assert_eq!((screen.context(), screen.label(Action::GoStep1)), (Context::GuidedText, "Settings"));
    assert!(screen.disabled_reason(Action::GoStep3).is_some());
    screen.handle(Input::Key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE)));
    assert!(screen.bar_right().unwrap().ends_with("--tokenizer x"));
}

#[test]
fn the_form_at_both_sizes() {
    let folder = Folder::new();
    let env = folder.env();
    let mut plan = operation("nanosets merge").unwrap().blank();
    plan.set("dir", &Answer::Text("/data/tokens".into())).unwrap();
    let mut screen = FormScreen::new(plan, env);
    testing::compare("form_settings", &testing::SCREENS, |size| {
        testing::shown(size, |frame, area, ui| screen.draw(frame, area, ui))
    });
}
