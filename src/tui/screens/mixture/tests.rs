use super::state::{Member, MixtureState, Place, Stop};
use super::view;
use crate::tui::keymap::Action;
use crate::tui::testing;
use gristmill_ops::engine::nanosets::mixture::{FolderTokenizer, MixtureIndexPlan, TokenizerSettings};
use gristmill_ops::operations::Plan as _;
use std::path::Path;
use std::sync::Arc;

fn shown(state: &mut MixtureState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| view::draw(state, frame, area, ui))
}

fn compare(name: &str, state: &mut MixtureState) {
    testing::compare(&format!("mixture_{name}"), &testing::SCREENS, |size| shown(state, size.0, size.1, size.2));
}

fn member(name: &str, tokens: &[u64]) -> Member {
    Member {
        path: format!("/data/{name}").into(),
        name: name.into(),
        tokens: tokens.to_vec(),
        made_with: Some(("tokenizer.json".into(), 2)),
        trouble: None,
    }
}

/// The example of docs/formats/nanosets.md §7.1: 8, 2, 5 and 5 windows.
fn example() -> MixtureState {
    let mut state = MixtureState::new(&MixtureIndexPlan::blank(), Vec::new(), Path::new("/data/mixture-index"));
    let windows = |count: u64| count * 10 + 3;
    let mut broken = member("torn", &[]);
    broken.trouble = Some("there is no .ds file directly in it".into());
    state.inputs[2].set("9");
    state.take_found(Ok(vec![
        member("books", &[windows(5), windows(3)]),
        member("code", &[windows(2)]),
        member("news", &[windows(5)]),
        broken,
        member("web", &[windows(5)]),
    ]));
    state
}

fn work_out(state: &mut MixtureState) {
    let question = state.question().unwrap();
    let worked = super::screen::work_out(&question, &mut None);
    state.worked = Some((question, Arc::new(worked)));
}

#[test]
fn each_counts_by_its_windows_until_a_weight_is_changed() {
    let mut state = example();
    assert_eq!(state.request().unwrap().lengths, [8, 2, 5, 5], "windows are counted file by file");
    assert_eq!((state.request().unwrap().weights, state.input(Stop::Samples)), (None, "20"));
    work_out(&mut state);
    compare("by_windows", &mut state);
    state.act(Action::Down);
    state.act(Action::Right);
    assert_eq!(state.request().unwrap().weights.unwrap(), [0.4, 0.15, 0.25, 0.25]);
    state.act(Action::Left);
    assert_eq!(state.request().unwrap().weights.unwrap()[1], 0.1);
    state.act(Action::DropRow);
    assert!(state.is_by_windows());
}

#[test]
fn shares_repeats_and_unread_parts_follow_the_weights() {
    let mut state = example();
    for (row, weight) in [(0, "0.1"), (1, "0.5"), (2, "0.3"), (4, "0.1")] {
        state.list.select(row);
        state.act(Action::Right);
        state.rows.as_mut().unwrap().as_mut().unwrap()[row].weight = String::new();
        weight.chars().for_each(|letter| state.type_weight(letter));
    }
    for (row, weight) in [(0, "0.1"), (1, "0.5"), (2, "0.3"), (4, "0.1")] {
        state.rows.as_mut().unwrap().as_mut().unwrap()[row].weight = weight.into();
    }
    state.inputs[3].set("70");
    work_out(&mut state);
    let worked = state.worked_now().unwrap().as_ref().unwrap().clone();
    let samples: Vec<u64> = worked.outlook.members.iter().map(|share| share.samples).collect();
    assert_eq!(samples, [7, 34, 21, 8], "the figures of the format page");
    compare("weighted", &mut state);
    assert!(state.command().contains("--weights 0.1,0.5,0.3,0.1 --sequence-length 9 --samples 70 --output"));
}

#[test]
fn the_tokenizer_is_compared_with_the_training_configuration() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/nanosets/tokenizers/bpe1k.json");
    let shown_with = |vocab_size, name: &str| {
        let training = TokenizerSettings { tokenizer: Some("other/name".into()), vocab_size: Some(vocab_size) };
        let given = MixtureIndexPlan { sequence_length: Some(9), training, ..MixtureIndexPlan::blank() };
        let mut state = MixtureState::new(&given, Vec::new(), Path::new("/data/mixture-index"));
        let mut web = member("web", &[103]);
        web.made_with = Some((name.to_owned(), 2));
        state.take_found(Ok(vec![web]));
        assert!(state.command().contains(&format!("--tokenizer other/name --vocab-size {vocab_size}")));
        work_out(&mut state);
        state
    };
    let notes = |state: &MixtureState| match state.worked_now() {
        Some(Ok(worked)) => worked.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let here = golden.to_str().unwrap();
    let differs = notes(&shown_with(7, here));
    assert!(differs[0].contains("tokenizer_name_or_path") && differs[1].contains("vocab_size"), "{differs:?}");
    let size = FolderTokenizer { folder: "/data/web".into(), name: here.into() }.vocabulary_size().unwrap();
    assert!(!notes(&shown_with(size, here)).iter().any(|note| note.contains("vocab_size")));
    compare("tokenizer", &mut shown_with(7, "tokenizer.json"));
    // Other answers with the same lengths are worked out again.
    let mut state = shown_with(7, "tokenizer.json");
    state.rows.as_mut().unwrap().as_mut().unwrap()[0].member.made_with = Some((here.into(), 2));
    assert!(state.worked_now().is_none());
}

#[test]
fn what_was_given_on_the_command_line_is_answered() {
    let given = MixtureIndexPlan {
        weights: Some(vec![0.25, 3.0]),
        sequence_length: Some(9),
        samples: 40,
        seed: 7,
        overwrite: true,
        ..MixtureIndexPlan::blank()
    };
    let wanted = ["/data/web", "/data/books"].map(Into::into).to_vec();
    let mut state = MixtureState::new(&given, wanted, Path::new("/data/index"));
    state.take_found(Ok(vec![member("web", &[103]), member("books", &[203]), member("code", &[303])]));
    let chosen: Vec<_> = state.chosen().map(|row| (row.member.name.as_str(), row.weight.as_str())).collect();
    assert_eq!(chosen, [("web", "0.25"), ("books", "3")]);
    let request = state.request().unwrap();
    assert_eq!((request.lengths, request.samples, request.seed), (vec![10, 20], 40, 7));
    let command =
        "gristmill mix index /data/web /data/books --weights 0.25,3 --sequence-length 9 --samples 40 --seed 7 \
                   --output /data/index --force-overwrite";
    assert_eq!(state.command(), command);
}

#[test]
fn what_cannot_be_mixed_is_said_and_nothing_is_asked_for() {
    let mut state = example();
    state.list.select(3);
    state.act(Action::Toggle);
    assert_eq!(state.chosen().count(), 4, "a folder that cannot be read is not chosen");
    state.inputs[2].set("none");
    assert!(state.blocker().unwrap().contains("sequence length"));
    compare("wrong", &mut state);
    state.inputs[2].set("9");
    state.rows.as_mut().unwrap().as_mut().unwrap()[1].member.made_with = Some(("other.json".into(), 4));
    assert!(state.blocker().unwrap().contains("different tokenizers"));
    for row in [0, 1, 2, 4] {
        state.list.select(row);
        state.act(Action::Toggle);
    }
    assert!(state.blocker().unwrap().contains("choose"));
    let mut empty = MixtureState::new(&MixtureIndexPlan::blank(), Vec::new(), Path::new("/data/index"));
    empty.take_found(Ok(Vec::new()));
    compare("empty", &mut empty);
    assert!(empty.places.at(ratatui::layout::Position::new(0, 0)).is_none_or(|(_, place)| place != Place::Rows));
}

#[test]
fn the_samples_are_one_epoch_of_all_chosen_folders_until_a_number_is_typed() {
    let wanted = vec!["/data/books".into()];
    let mut state = MixtureState::new(&MixtureIndexPlan::blank(), wanted, Path::new("/data/index"));
    state.inputs[2].set("9");
    state.take_found(Ok(vec![member("books", &[53, 33]), member("code", &[23])]));
    assert_eq!(state.input(Stop::Samples), "8");
    state.list.select(1);
    state.act(Action::Toggle);
    state.follow_epoch();
    assert_eq!(state.input(Stop::Samples), "10");
    state.add(member("../elsewhere/news", &[53]));
    assert_eq!((state.chosen().count(), state.input(Stop::Samples)), (3, "15"));
    state.add(member("code", &[23]));
    assert_eq!(state.rows().len(), 3, "a folder is in the list once");
    state.inputs[3].set("40");
    state.act(Action::Toggle);
    state.follow_epoch();
    assert_eq!((state.chosen().count(), state.input(Stop::Samples)), (2, "40"));
    state.inputs[3].set("");
    state.stop = Stop::Samples;
    state.follow_epoch();
    assert_eq!(state.input(Stop::Samples), "", "an empty field stays empty while it is typed into");
    state.stop = Stop::Seed;
    state.follow_epoch();
    assert_eq!(state.input(Stop::Samples), "13");
}
