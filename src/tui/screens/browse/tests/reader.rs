use super::fake::{group, BrowserTest, Fake};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Screen;
use crate::tui::screens::browse::state::Pane;
use crate::tui::testing;
use gristmill_core::DatasetKind;

/// Returns a catalog with the lines of a JSONL file; the text of one of them has many pages.
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
fn text_samples_are_listed_by_first_words_and_fill_the_pane() {
    let mut test = BrowserTest::new(lines(record));
    test.act(Action::Down);
    let shown = test.settle();
    assert!(shown.contains("2   Text 2 begins. It has") && shown.contains("It has a second paragraph"), "{shown}");
    test.compare("browse_texts", &testing::WINDOWS);
    test.size = (100, 30);
    // A single file has no pane of files.
    test.acts(&[Action::PreviousPane]);
    assert_eq!(test.screen.state.pane, Pane::Detail);
    test.acts(&[Action::PreviousPane, Action::Left]);
    assert_eq!(test.screen.state.pane, Pane::Samples);
}

#[test]
fn chats_are_shown_role_by_role() {
    let mut test = BrowserTest::new(lines(chat));
    test.settle();
    test.compare("browse_chat", &testing::WINDOWS);
    test.act(Action::Read);
    test.settle();
    test.compare("browse_reader_chat", &testing::WINDOWS);
}

#[test]
fn reader_moves_between_samples_and_closes_to_sample_list() {
    let mut test = BrowserTest::new(lines(record));
    test.act(Action::Down);
    test.settle();
    assert_eq!(test.screen.label(Action::Read), "read");
    test.act(Action::Read);
    let shown = test.settle();
    assert!(!shown.contains("Samples") && !shown.contains("id: 1"), "{shown}");
    assert_eq!(test.screen.context(), Context::BrowseReader);
    test.compare("browse_reader", &testing::WINDOWS);
    test.size = (100, 30);
    test.act(Action::NextSample);
    assert!(test.settle().contains("Text 2 begins."));
    test.acts(&[Action::PreviousSample, Action::PreviousSample]);
    assert!(test.settle().contains("Text 0 begins."));
    test.act(Action::GoToNumber).type_text("900").act(Action::Accept);
    assert!(test.settle().contains("Text 900 begins."));
    assert_eq!(test.screen.context(), Context::BrowseReader, "it stays open");
    test.act(Action::Close);
    let shown = test.settle();
    assert!(shown.contains("Samples  #900") && shown.contains("url: http://example/900"), "{shown}");
    assert_eq!(test.screen.state.pane, Pane::Samples);
}

#[test]
fn words_are_found_in_all_pages_of_a_long_text() {
    let mut test = BrowserTest::new(lines(record));
    test.act(Action::GoToNumber).type_text("3").act(Action::Accept);
    test.settle();
    test.act(Action::Read);
    test.settle();
    test.act(Action::FindText).type_text("LINE 29876").act(Action::Accept);
    test.wait("it is found", |_, shown| shown.contains("line 29876") && shown.contains("line 29880"));
    assert_eq!(test.toasts(), ["1 place on this page"]);
    // Scrolling up at the start of a page shows the end of the previous page.
    for _ in 0..400 {
        test.act(Action::PageUp);
        if test.settle().contains("line 20001") {
            break;
        }
    }
    assert!(test.draw().contains("line 20001"), "{}", test.draw());
    test.act(Action::FindText).type_text("nowhere").act(Action::Accept);
    test.wait("it is looked for", |test, _| !test.screen.is_finding_words);
    assert_eq!(test.toasts(), ["0 places"]);
}

#[test]
fn text_selected_in_tree_opens_reader_and_selection_returns() {
    let mut test = BrowserTest::new(lines(record));
    test.settle();
    test.acts(&[Action::NextPane, Action::Down, Action::Down]);
    assert_eq!(test.screen.preview.selected_path().as_deref(), Some("json[text]"));
    test.act(Action::Read);
    assert!(test.settle().contains("Text 0 begins."));
    assert_eq!(test.screen.context(), Context::BrowseReader);
    test.act(Action::Read);
    assert_eq!(test.screen.preview.selected_path().as_deref(), Some("json[text]"), "the cursor is where it was");
    assert_eq!(test.screen.context(), Context::BrowseDetail);
}

#[test]
fn part_without_text_is_enlarged_instead_of_read() {
    let mut test = BrowserTest::new(Fake {
        parts: |_| vec!["bin", "txt"],
        content: |_, part| if part == "bin" { vec![0, 1, 2, 3] } else { b"a text".to_vec() },
        ..Fake::default()
    });
    test.settle();
    assert_eq!(test.screen.label(Action::Read), "large");
    test.act(Action::Read);
    assert!(test.screen.state.is_large && !test.screen.state.is_reading);
    test.acts(&[Action::Zoom, Action::NextPart]);
    test.settle();
    test.act(Action::Read);
    assert!(test.settle().contains("a text") && test.screen.state.is_reading);
}

#[test]
fn cut_keys_of_a_narrow_list_are_distinguishable() {
    let mut fake = Fake::huge();
    fake.key = |number| format!("{number:020}");
    fake.parts = |_| vec!["jpg", "txt"];
    let mut test = BrowserTest::new(fake);
    test.size = (80, 24);
    let mut seen = Vec::new();
    for number in ["1000", "2000", "3000"] {
        test.act(Action::GoToNumber).type_text(number).act(Action::Accept);
        let shown = test.settle();
        let row = shown.lines().find(|line| line.contains('▸') && line.contains("000")).unwrap().to_owned();
        assert!(row.contains(&format!("{number:0>8}")), "{row}");
        seen.push(row);
    }
    test.compare("browse_long_keys", &testing::WINDOWS);
}
