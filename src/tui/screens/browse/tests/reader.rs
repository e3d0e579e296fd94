use super::fake::{group, Fake, Stage};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Screen;
use crate::tui::screens::browse::state::Pane;
use crate::tui::testing;
use gristmill_core::DatasetKind;

/// Lines of a JSONL file; the text of one of them is many pages long.
fn lines(content: fn(u64) -> String) -> Fake {
    let mut fake = Fake::of(vec![group("corpus.jsonl", 2_000)]);
    fake.kind = DatasetKind::Jsonl;
    fake.word = "file";
    fake.key = |number| number.to_string();
    fake.parts = |_| vec!["json"];
    fake.content = match content(0).contains("messages") {
        true => |at, _| chat(at.index).into_bytes(),
        false => |at, _| record(at.index).into_bytes(),
    };
    fake
}

fn record(index: u64) -> String {
    let mut text =
        format!("Text {index} begins.\n\nIt has a second paragraph that is longer than one row of any pane, ");
    text.push_str("so it is wrapped at its words, and its \u{1b}[31mcontrols are visible; 日本語も。");
    if index == 3 {
        text = (0..30_000).map(|line| format!("line {line}\n")).collect();
    }
    serde_json::json!({"id": index, "text": text, "url": format!("http://example/{index}")}).to_string()
}

fn chat(index: u64) -> String {
    let ask = format!("Question {index}: what is the weather like in the town where the surfers live?");
    serde_json::json!({"messages": [{"role": "system", "content": "You are brief."}, {"role": "user", "content": ask},
        {"role": "assistant", "content": "Sunny.\n\n* warm\n* dry"}], "source": "made up"})
    .to_string()
}

#[test]
fn texts_are_listed_by_their_beginning_and_fill_the_pane() {
    let mut stage = Stage::new(lines(record));
    stage.act(Action::Down);
    let shown = stage.settle();
    assert!(shown.contains("2   Text 2 begins. It has") && shown.contains("It has a second paragraph"), "{shown}");
    stage.compare("browse_texts", &testing::WINDOWS);
    stage.size = (100, 30);
    // There is one file, so it has no pane of its own.
    stage.acts(&[Action::PreviousPane]);
    assert_eq!(stage.screen.state.pane, Pane::Detail);
    stage.acts(&[Action::PreviousPane, Action::Left]);
    assert_eq!(stage.screen.state.pane, Pane::Samples);
}

#[test]
fn chats_are_shown_role_by_role() {
    let mut stage = Stage::new(lines(chat));
    stage.settle();
    stage.compare("browse_chat", &testing::WINDOWS);
    stage.act(Action::Read);
    stage.settle();
    stage.compare("browse_reader_chat", &testing::WINDOWS);
}

#[test]
fn the_reader_goes_from_sample_to_sample_and_back_to_what_it_covered() {
    let mut stage = Stage::new(lines(record));
    stage.act(Action::Down);
    stage.settle();
    assert_eq!(stage.screen.label(Action::Read), "read");
    stage.act(Action::Read);
    let shown = stage.settle();
    assert!(!shown.contains("Samples") && !shown.contains("id: 1"), "{shown}");
    assert_eq!(stage.screen.context(), Context::BrowseReader);
    stage.compare("browse_reader", &testing::WINDOWS);
    stage.size = (100, 30);
    stage.act(Action::NextSample);
    assert!(stage.settle().contains("Text 2 begins."));
    stage.acts(&[Action::PreviousSample, Action::PreviousSample]);
    assert!(stage.settle().contains("Text 0 begins."));
    stage.act(Action::GoToNumber).type_text("900").act(Action::Accept);
    assert!(stage.settle().contains("Text 900 begins."));
    assert_eq!(stage.screen.context(), Context::BrowseReader, "it stays open");
    stage.act(Action::Close);
    let shown = stage.settle();
    assert!(shown.contains("Samples  #900") && shown.contains("url: http://example/900"), "{shown}");
    assert_eq!(stage.screen.state.pane, Pane::Samples);
}

#[test]
fn words_are_found_in_all_pages_of_a_long_text() {
    let mut stage = Stage::new(lines(record));
    stage.act(Action::GoToNumber).type_text("3").act(Action::Accept);
    stage.settle();
    stage.act(Action::Read);
    stage.settle();
    stage.act(Action::FindText).type_text("LINE 29876").act(Action::Accept);
    stage.wait("it is found", |_, shown| shown.contains("line 29876") && shown.contains("line 29880"));
    assert_eq!(stage.toasts(), ["1 place on this page"]);
    // Scrolling up continues on the previous page.
    for _ in 0..400 {
        stage.act(Action::PageUp);
        if stage.settle().contains("line 20001") {
            break;
        }
    }
    assert!(stage.draw().contains("line 20001"), "{}", stage.draw());
    stage.act(Action::FindText).type_text("nowhere").act(Action::Accept);
    stage.wait("it is looked for", |stage, _| !stage.screen.is_finding_words);
    assert_eq!(stage.toasts(), ["0 places"]);
}

#[test]
fn a_text_in_the_tree_opens_the_reader_and_what_was_there_comes_back() {
    let mut stage = Stage::new(lines(record));
    stage.settle();
    stage.acts(&[Action::NextPane, Action::Down, Action::Down]);
    assert_eq!(stage.screen.preview.selected_path().as_deref(), Some("json[text]"));
    stage.act(Action::Read);
    assert!(stage.settle().contains("Text 0 begins."));
    assert_eq!(stage.screen.context(), Context::BrowseReader);
    stage.act(Action::Read);
    assert_eq!(stage.screen.preview.selected_path().as_deref(), Some("json[text]"), "the cursor is where it was");
    assert_eq!(stage.screen.context(), Context::BrowseDetail);
}

#[test]
fn what_has_no_text_gets_the_whole_screen_instead() {
    let mut stage = Stage::new(Fake {
        parts: |_| vec!["bin", "txt"],
        content: |_, part| if part == "bin" { vec![0, 1, 2, 3] } else { b"a text".to_vec() },
        ..Fake::default()
    });
    stage.settle();
    assert_eq!(stage.screen.label(Action::Read), "large");
    stage.act(Action::Read);
    assert!(stage.screen.state.is_large && !stage.screen.state.is_reading);
    stage.acts(&[Action::Zoom, Action::NextPart]);
    stage.settle();
    stage.act(Action::Read);
    assert!(stage.settle().contains("a text") && stage.screen.state.is_reading);
}

#[test]
fn keys_of_a_narrow_list_stay_different() {
    let mut fake = Fake::huge();
    fake.key = |number| format!("{number:020}");
    fake.parts = |_| vec!["jpg", "txt"];
    let mut stage = Stage::new(fake);
    stage.size = (80, 24);
    let mut seen = Vec::new();
    for number in ["1000", "2000", "3000"] {
        stage.act(Action::GoToNumber).type_text(number).act(Action::Accept);
        let shown = stage.settle();
        let row = shown.lines().find(|line| line.contains('▸') && line.contains("000")).unwrap().to_owned();
        assert!(row.contains(&format!("{number:0>8}")), "{row}");
        seen.push(row);
    }
    stage.compare("browse_long_keys", &testing::WINDOWS);
}
