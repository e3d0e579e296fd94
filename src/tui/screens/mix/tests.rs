use super::state::{MixState, Stop, Worked};
use super::view;
use crate::tui::keymap::Action;
use crate::tui::testing;
use gristmill_core::mix::MixKind;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_ops::engine::mix::author::FoundMember;
use gristmill_ops::engine::mix::{MixFacts, MixNode, MixNodeKind, MixSplit};
use std::sync::Arc;

fn shown(state: &mut MixState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| view::draw(state, frame, area, ui))
}

fn compare(name: &str, state: &mut MixState) {
    testing::compare(&format!("mix_{name}"), &testing::WINDOWS, |size| shown(state, size.0, size.1, size.2));
}

fn found() -> Vec<FoundMember> {
    let member = |name: &str, kind, samples, is_crude| FoundMember {
        path: format!("/data/{name}").into(),
        kind,
        samples: Some(samples),
        splits: match kind {
            MixNodeKind::Jsonl => Vec::new(),
            _ => vec![("train".into(), samples * 8 / 10), ("val".into(), samples / 10)],
        },
        is_crude,
    };
    vec![
        member("coco", MixNodeKind::WebDataset, 201_330, false),
        member("corpus.jsonl", MixNodeKind::Jsonl, 1_300_000, true),
        member("flickr30k/crude", MixNodeKind::WebDataset, 31_014, true),
    ]
}

fn form() -> MixState {
    let mut state = MixState::new("/data".into(), None, "/work".into());
    state.take_found(Ok(found()));
    state
}

fn node(label: &str, share: f64, samples: u64, oversampling: f64) -> MixNode {
    MixNode {
        label: label.into(),
        kind: MixNodeKind::WebDataset,
        line: 1,
        share,
        weight: Some(share),
        repetitions: None,
        samples: Some(samples),
        samples_per_epoch: Some(samples),
        oversampling: Some(oversampling),
        split_part: None,
        aux: Vec::new(),
        children: Vec::new(),
    }
}

/// What the engine would work out for the answers.
fn work_out(state: &mut MixState, problems: Vec<Problem>) {
    let mut root = node("blend", 1.0, 185_874, 1.0);
    root.kind = MixNodeKind::Blend;
    root.children = vec![node("coco", 0.75, 161_063, 0.87), node("flickr30k/crude", 0.25, 24_811, 1.87)];
    let split = |name: &str| MixSplit { name: name.into(), root: root.clone() };
    let facts = MixFacts {
        path: "/data/mix.yaml".into(),
        version: 2,
        splits: vec![split("train"), split("val")],
        joins: Vec::new(),
        aux: Vec::new(),
        problems,
    };
    let text =
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - path: coco\n";
    let worked: Outcome<Worked> = Ok(Worked { text: text.into(), facts });
    state.worked = state.plan().map(|plan| (plan, Arc::new(worked)));
}

fn act(state: &mut MixState, actions: &[Action]) {
    actions.iter().for_each(|action| state.act(*action));
}

fn two_chosen() -> MixState {
    let mut state = form();
    state.type_amount('3');
    act(&mut state, &[Action::Down, Action::Down, Action::Toggle]);
    state
}

#[test]
fn while_data_sets_are_searched() {
    compare("searching", &mut MixState::new("/data".into(), None, "/work".into()));
}

#[test]
fn nothing_prepared_below_the_folder() {
    let mut state = MixState::new("/data".into(), None, "/work".into());
    state.take_found(Ok(Vec::new()));
    compare("empty", &mut state);
}

#[test]
fn nothing_chosen_yet() {
    compare("none", &mut form());
}

#[test]
fn a_mixture_is_drawn_as_bars() {
    let mut state = two_chosen();
    work_out(&mut state, Vec::new());
    assert_eq!(state.refusal(), None);
    compare("blend", &mut state);
}

#[test]
fn a_mixture_with_problems_says_them() {
    let mut state = two_chosen();
    act(&mut state, &[Action::NextField, Action::NextField]);
    let problem = Problem::refusal(ProblemKind::BadMember, Subject::default(), "corpus.jsonl has no split 'val'")
        .with_hint("leave val out, or name a split of it");
    work_out(&mut state, vec![problem]);
    assert!(state.refusal().unwrap().contains("no split"));
    compare("problem", &mut state);
}

#[test]
fn the_file_is_shown_before_it_is_written() {
    let mut state = two_chosen();
    work_out(&mut state, Vec::new());
    state.is_reviewing = true;
    compare("review", &mut state);
    state.written = Some("/data/mix.yaml".into());
    assert!(shown(&mut state, 80, 24, false).contains("gristmill mix check /data/mix.yaml"));
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error() {
    let mut state = MixState::new("/data".into(), None, "/work".into());
    state.take_found(Err(Failure::environment("looking into", "permission denied")));
    compare("error", &mut state);
}

#[test]
fn digits_and_arrows_change_the_weight_and_choose_the_row() {
    let mut state = form();
    assert_eq!(state.stop(), Stop::Members);
    for c in "2.5x".chars() {
        state.type_amount(c);
    }
    assert!(state.rows[0].chosen);
    assert_eq!(state.rows[0].number(), Some(2.5));
    act(&mut state, &[Action::Right, Action::Left, Action::Left, Action::Left]);
    assert_eq!(state.rows[0].amount, "0.5");
    state.erase_amount();
    assert_eq!(state.rows[0].amount, "0.");
    state.erase_amount();
    state.erase_amount();
    assert!(state.blocker().unwrap().contains("weight of coco"));
    act(&mut state, &[Action::Toggle]);
    assert!(state.blocker().unwrap().contains("choose the data sets"));
}

#[test]
fn answers_make_a_plan_and_a_command() {
    let mut state = two_chosen();
    act(&mut state, &[Action::PreviousField, Action::Down]);
    assert_eq!(state.kind, MixKind::Epochized);
    let plan = state.plan().unwrap();
    assert_eq!(plan.members.iter().map(|m| m.amount).collect::<Vec<_>>(), [3.0, 1.0]);
    assert_eq!(plan.output, "/data/mix.yaml");
    assert!(state.command().contains("--epochized /data/coco=3"), "{}", state.command());
    state.splits.set("train, ,val");
    assert_eq!(state.plan().unwrap().splits, ["train", "val"]);
    state.output.set("/data/mix.yml");
    assert!(state.plan().is_none() && state.blocker().unwrap().contains(".yaml"));
}

#[test]
fn sources_of_media_are_for_members_whose_samples_name_them() {
    let mut state = form();
    act(&mut state, &[Action::Toggle]);
    assert!(state.why_no_aux().is_some(), "coco has a sample type");
    act(&mut state, &[Action::Down, Action::Toggle, Action::AddAux]);
    assert_eq!(state.why_no_aux(), None);
    assert!(state.is_typing());
    state.field().unwrap().set("images");
    assert!(state.take_aux().is_some(), "a path is needed");
    state.field().unwrap().set("images=filesystem:///data/images");
    assert_eq!(state.take_aux(), None);
    let plan = state.plan().unwrap();
    assert!(plan.members[0].aux.is_empty());
    assert_eq!(plan.members[1].aux[0].path, "filesystem:///data/images");
    assert!(state.command().contains("--aux images=filesystem:///data/images"), "{}", state.command());
    act(&mut state, &[Action::DropRow]);
    assert!(state.plan().unwrap().members[1].aux.is_empty());
}

#[test]
fn another_file_is_proposed_where_one_is_there() {
    let mut members = found();
    members.push(FoundMember {
        path: "/data/mix.yaml".into(),
        kind: MixNodeKind::Metadataset,
        samples: None,
        splits: vec![("train".into(), 0)],
        is_crude: false,
    });
    let mut state = MixState::new("/data".into(), Some("/data/coco".into()), "/data".into());
    state.take_found(Ok(members));
    assert!(state.rows[0].chosen);
    assert_eq!(state.output.value(), "mix-2.yaml", "told from the folder that the program runs in");
    assert_eq!(state.plan().unwrap().members[0].path, "coco");
}

#[test]
fn no_size_breaks_it_and_names_are_made_safe() {
    let mut members = found();
    members[0].path = "/data/a\u{1b}[31m\u{202e}b".into();
    let mut state = MixState::new("/data".into(), None, "/work".into());
    state.take_found(Ok(members));
    state.type_amount('2');
    work_out(&mut state, Vec::new());
    for (columns, rows) in [(1, 1), (2, 4), (10, 5), (39, 10), (72, 9), (200, 60)] {
        for reviewing in [false, true] {
            state.is_reviewing = reviewing;
            assert!(!shown(&mut state, columns, rows, false).contains(['\u{1b}', '\u{202e}']));
        }
    }
}

#[test]
fn a_click_answers_what_it_points_at_and_the_wheel_scrolls_only_the_list() {
    use super::state::Place;
    use crate::tui::widgets::Gesture;
    let mut state = MixState::new("/data".into(), None, "/data".into());
    state.take_found(Ok(found()));
    shown(&mut state, 100, 30, false);
    let click = |on, line, column| Gesture::Click { on, line, column };
    state.point(click(Place::Kind(MixKind::Epochized), 0, 4));
    assert_eq!((state.kind, state.stop()), (MixKind::Epochized, Stop::Kind));
    state.point(click(Place::Members, 1, 20));
    assert_eq!((state.list.get(), state.rows[1].chosen, state.stop()), (Some(1), false, Stop::Members));
    state.point(click(Place::Members, 1, 4));
    assert!(state.rows[1].chosen, "the sign chooses");
    state.point(click(Place::Field(Stop::Output), 0, 12));
    assert_eq!(state.stop(), Stop::Output);
    state.point(Gesture::Wheel { on: Place::Kind(MixKind::Blend), rows: 3 });
    assert_eq!((state.kind, state.stop()), (MixKind::Epochized, Stop::Output), "the wheel answers nothing");
}

#[test]
fn the_popup_of_a_source_has_buttons_for_the_mouse() {
    use super::screen::open;
    use crate::tui::screen::{Effect, Input, UiEnv};
    use gristmill_core::RunOptions;
    use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut state = form();
    act(&mut state, &[Action::Down, Action::Toggle, Action::AddAux]);
    compare("source", &mut state);
    let folder = tempfile::tempdir().unwrap();
    let env = UiEnv::new(RunOptions::default(), folder.path().into());
    let mut screen = open(folder.path().into(), None, env);
    screen.state = state;
    let press = |screen: &mut super::screen::MixScreen, words: &str| {
        let picture = shown(&mut screen.state, 80, 24, false);
        let (row, line) = picture.lines().enumerate().find(|(_, line)| line.contains(words)).unwrap();
        let column = line[..line.find(words).unwrap()].chars().count();
        let kind = MouseEventKind::Down(MouseButton::Left);
        let (column, row) = (u16::try_from(column).unwrap(), u16::try_from(row).unwrap());
        screen.handle(Input::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
    };
    use crate::tui::screen::Screen as _;
    screen.handle(Input::Paste("images".into()));
    assert!(matches!(press(&mut screen, "add  ").as_slice(), [Effect::Toast(_)]), "it says what is missing");
    screen.handle(Input::Paste("=/data/images".into()));
    assert!(press(&mut screen, "NAME=PATH").is_empty() && screen.state.aux.is_some(), "beside the buttons");
    press(&mut screen, "add  ");
    assert_eq!((screen.state.aux.is_none(), screen.state.sources.len()), (true, 1));
    screen.state.act(Action::AddAux);
    press(&mut screen, "back ");
    assert!(screen.state.aux.is_none());
}
