use super::fake::{group, Fake, Stage};
use crate::engine::browse::Groups;
use crate::model::DatasetKind;
use crate::tui::keymap::Action;
use crate::tui::theme::ColourMode;
use std::sync::{Arc, Mutex};

fn compare(name: &str, stage: &mut Stage) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (columns, rows, ascii) in [(80, 24, false), (100, 30, false), (80, 24, true), (40, 12, false)] {
            let kind = if ascii { "_ascii" } else { "" };
            stage.size = (columns, rows);
            stage.ascii = ascii;
            stage.colour = if ascii { ColourMode::None } else { ColourMode::Sixteen };
            insta::assert_snapshot!(format!("browse_{name}_{columns}x{rows}{kind}"), stage.draw());
        }
    });
}

#[test]
fn shards_samples_and_a_sample_stand_beside_each_other() {
    let mut stage = Stage::new(Fake::default());
    stage.act(Action::GoToNumber).type_text("32").act(Action::Accept);
    stage.act(Action::NextPart);
    stage.settle();
    compare("samples", &mut stage);
}

#[test]
fn rows_that_are_not_there_yet_are_numbers() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    gate.close();
    let mut stage = Stage::new(fake);
    stage.act(Action::GoToNumber).type_text("5000000").act(Action::Accept);
    compare("waiting", &mut stage);
    gate.open();
}

#[test]
fn a_shard_that_cannot_be_read_says_why() {
    let mut groups: Vec<_> = (0..3).map(|at| group(&format!("shard_{at:04}.tar"), 5)).collect();
    groups[1].failure = Some("the header at byte 10,240 is damaged".into());
    groups[1].samples = 0;
    let mut stage = Stage::new(Fake::of(groups));
    stage.acts(&[Action::PreviousPane, Action::Down]);
    stage.settle();
    compare("broken_shard", &mut stage);
}

#[test]
fn an_empty_data_set_says_so() {
    compare("empty", &mut Stage::new(Fake::of(Vec::new())));
}

#[test]
fn a_scan_that_goes_on_shows_what_it_found() {
    let mut groups: Vec<_> =
        (0..6).map(|at| group(&format!("shard_{at:04}.tar"), if at < 2 { 20 } else { 0 })).collect();
    groups[2..].iter_mut().for_each(|g| g.is_counted = false);
    let mut fake = Fake::of(Vec::new());
    fake.groups = Mutex::new(Arc::new(Groups::new(1, groups, false)));
    let mut stage = Stage::new(fake);
    stage.act(Action::NextPart);
    stage.wait("the sample is there", |_, shown| shown.contains("riding wave"));
    compare("growing", &mut stage);
}

#[test]
fn a_search_tells_how_far_it_is() {
    let mut stage = Stage::new(Fake::default());
    stage.act(Action::FindKey).type_text("^00003").act(Action::Accept);
    stage.act(Action::NextPart);
    stage.wait("it is over", |_, shown| shown.contains("10 found") && shown.contains("riding wave 30"));
    compare("found", &mut stage);
    stage.act(Action::FindKey).type_text("(/");
    compare("find_prompt", &mut stage);
}

#[test]
fn the_filter_asks_a_few_questions() {
    let mut stage = Stage::new(Fake::default());
    stage.act(Action::NextPart);
    stage.settle();
    stage.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("jsn").act(Action::Run);
    compare("filter", &mut stage);
}

#[test]
fn hostile_names_are_drawn_as_visible_signs() {
    let mut fake = Fake::default();
    fake.key = |number| format!("k\u{1b}[31m\u{202e}\n{number}/../日本語🦀");
    fake.parts = |_| vec!["a\u{7}b", "txt"];
    fake.content = |_, _| b"\x1b]0;owned\x07 text \xff".to_vec();
    fake.groups = Mutex::new(Arc::new(Groups::new(1, vec![group("s\u{9b}2J.tar", 30)], true)));
    let mut stage = Stage::new(fake);
    stage.act(Action::NextPart);
    stage.settle();
    compare("hostile", &mut stage);
    for (columns, rows) in [(1, 1), (2, 3), (5, 5), (20, 4), (40, 10), (59, 9), (61, 3), (95, 40), (97, 2), (300, 90)] {
        stage.size = (columns, rows);
        for pane in 0..3 {
            stage.act(Action::NextPane);
            let shown = stage.draw();
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}']), "{pane} {shown}");
        }
    }
}

#[test]
fn lines_of_a_jsonl_file_and_files_of_a_folder_have_their_own_words() {
    let mut fake = Fake::of(vec![group("corpus.jsonl", 1_000)]);
    (fake.kind, fake.word) = (DatasetKind::Jsonl, "file");
    fake.key = |number| number.to_string();
    fake.parts = |_| vec!["json"];
    let mut stage = Stage::new(fake);
    stage.settle();
    compare("jsonl", &mut stage);
}
