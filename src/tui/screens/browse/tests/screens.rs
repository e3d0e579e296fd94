use super::fake::{group, BrowserTest, Fake};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen};
use crate::tui::screens::browse::contact_sheet::{ContactSheet, SheetSource};
use crate::tui::screens::browse::detail::{Detail, DetailBody, DetailRequest};
use crate::tui::screens::browse::listing::Listing;
use crate::tui::screens::browse::pages::{loader_lines, offset_lines};
use crate::tui::screens::browse::screen::ActiveFilter;
use crate::tui::screens::browse::state::Mode;
use crate::tui::screens::page::PageLine;
use crate::tui::testing;
use gristmill_core::DatasetKind;
use gristmill_data::source::decode::Value;
use gristmill_data::source::tar::HeaderField;
use gristmill_ops::engine::browse::loader::{FieldValue, LoaderField, LoaderKind, LoaderView};
use gristmill_ops::engine::browse::offsets::{EntryView, HeaderView, OffsetView, SpanClaim};
use gristmill_ops::engine::browse::{BrowsePart, Groups, Marks, SampleFilter};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

fn compare(name: &str, test: &mut BrowserTest) {
    test.compare(&format!("browse_{name}"), &testing::WINDOWS);
}

#[test]
fn browser_shows_shards_samples_and_parts_side_by_side() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::GoToNumber).type_text("32").act(Action::Accept);
    test.act(Action::NextPart);
    test.settle();
    compare("samples", &mut test);
}

#[test]
fn a_marked_range_is_detected_and_counted() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::GoToNumber).type_text("32").act(Action::Accept);
    test.acts(&[Action::Mark, Action::Down, Action::Down, Action::Down]);
    test.settle();
    compare("marked", &mut test);
    test.act(Action::Close);
    assert!(!test.settle().contains("marked"), "one step back ends the mark");
}

#[test]
fn raw_sets_and_loose_media_can_be_marked_and_jsonl_cannot() {
    for (kind, is_marked) in
        [(DatasetKind::RawWebDataset, true), (DatasetKind::LooseMedia, true), (DatasetKind::Jsonl, false)]
    {
        let mut fake = Fake::of(vec![group("a", 10)]);
        fake.kind = kind;
        let mut test = BrowserTest::new(fake);
        test.settle();
        assert_eq!(test.screen.disabled_reason(Action::Mark).is_none(), is_marked, "{kind:?}");
        assert!(test.screen.disabled_reason(Action::MoveTo).is_some());
    }
}

#[test]
fn filter_on_loose_media_cannot_be_written_as_sample_set() {
    let mut fake = Fake::of(vec![group("a", 10)]);
    fake.kind = DatasetKind::LooseMedia;
    let mut test = BrowserTest::new(fake);
    test.settle();
    let filter = SampleFilter { lacks: vec!["txt".to_owned()], ..SampleFilter::default() };
    test.screen.active_filter = Some(ActiveFilter { filter, is_over: true, failure: None });
    test.act(Action::WriteSet);
    let toasts = test.toasts().join("");
    assert!(toasts.contains("lacks txt") && toasts.contains("mark the files"), "{toasts}");
    assert!(test.effects.is_empty());
}

#[test]
fn new_set_is_refused_with_reason_without_samples_or_result() {
    let mut test = BrowserTest::new(Fake::default());
    test.settle();
    let filter = || SampleFilter { lacks: vec!["txt".to_owned()], ..SampleFilter::default() };
    test.screen.active_filter = Some(ActiveFilter { filter: filter(), is_over: false, failure: None });
    test.act(Action::WriteSet);
    assert_eq!(test.toasts(), ["the filter is still running: wait until it has examined all samples"]);
    test.screen.active_filter = Some(ActiveFilter { filter: filter(), is_over: true, failure: None });
    test.screen.state.list.len = 0;
    test.act(Action::WriteSet);
    assert_eq!(test.toasts(), ["the filter leaves no sample that could be written"]);
    let mut fake = Fake::of(vec![group("a", 10)]);
    fake.kind = DatasetKind::Tokens(gristmill_data::formats::TOKEN_KINDS[0]);
    let mut test = BrowserTest::new(fake);
    test.settle();
    test.act(Action::WriteSet);
    assert_eq!(test.toasts(), ["packed tokens are not samples with parts"]);
}

#[test]
fn filter_rows_are_selected_by_clicks() {
    use ratatui::crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::FilterSamples);
    let screen = test.settle();
    let click = |test: &mut BrowserTest, words: &str| {
        let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains(words)).unwrap();
        let column = line.chars().count() as u16 / 2;
        let kind = MouseEventKind::Down(MouseButton::Left);
        let event = MouseEvent { kind, column, row: row as u16, modifiers: KeyModifiers::NONE };
        test.screen.handle(Input::Mouse(event));
        test.settle()
    };
    assert!(click(&mut test, " key ").contains("▸ key"));
    assert!(click(&mut test, "problems").contains("▸ problems"));
    assert!(click(&mut test, "problems").contains("only samples with a known problem"));
}

#[test]
fn unread_rows_are_drawn_as_numbers() {
    let fake = Fake::huge();
    let gate = fake.gate.clone();
    gate.close();
    let mut test = BrowserTest::new(fake);
    test.act(Action::GoToNumber).type_text("5000000").act(Action::Accept);
    compare("waiting", &mut test);
    gate.open();
}

#[test]
fn unreadable_shard_shows_reason() {
    let mut groups: Vec<_> = (0..3).map(|at| group(&format!("shard_{at:04}.tar"), 5)).collect();
    groups[1].failure = Some("the header at byte 10,240 is damaged".into());
    groups[1].samples = 0;
    let mut test = BrowserTest::new(Fake::of(groups));
    test.acts(&[Action::PreviousPane, Action::Down]);
    test.settle();
    compare("broken_shard", &mut test);
}

#[test]
fn empty_data_set_is_drawn_in_browser() {
    compare("empty", &mut BrowserTest::new(Fake::of(Vec::new())));
}

#[test]
fn unfinished_scan_shows_samples_found_so_far() {
    let mut groups: Vec<_> =
        (0..6).map(|at| group(&format!("shard_{at:04}.tar"), if at < 2 { 20 } else { 0 })).collect();
    groups[2..].iter_mut().for_each(|g| g.is_counted = false);
    let mut fake = Fake::of(Vec::new());
    fake.groups = Mutex::new(Arc::new(Groups::new(1, groups, false)));
    let mut test = BrowserTest::new(fake);
    test.act(Action::NextPart);
    test.wait("the sample is there", |_, shown| shown.contains("riding wave"));
    compare("growing", &mut test);
}

#[test]
fn key_search_shows_progress_and_matches() {
    let mut test = BrowserTest::new(Fake::default());
    // The list scrolls from its current position, and the parts are those of the matching sample.
    test.settle();
    test.act(Action::FindKey).type_text("^00003").act(Action::Accept);
    test.wait("it is over", |_, shown| shown.contains("10 found") && shown.contains("#30 ·"));
    test.settle();
    test.act(Action::NextPart);
    test.settle();
    compare("found", &mut test);
    test.act(Action::FindKey).type_text("(/");
    compare("find_prompt", &mut test);
}

#[test]
fn key_search_within_filter_shows_both_counts() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("json").act(Action::Run);
    test.wait("the filter is over", |test, _| !test.screen.is_filtering());
    test.act(Action::FindKey).type_text("^00003").act(Action::Accept);
    test.act(Action::NextPart);
    test.wait("it is over", |_, shown| {
        shown.contains("10 found") && shown.contains("8,004 listed") && shown.contains("riding wave 33")
    });
    compare("found_in_filter", &mut test);
    test.size = (80, 8);
    assert!(!test.draw().contains("8,004 listed"), "there is room for one line only");
    test.size = (80, 24);
    test.act(Action::Close);
    assert!(test.draw().contains("8,004 listed") && test.draw().contains("Esc all samples"), "the find ends first");
}

#[test]
fn filter_form_reports_unknown_part() {
    let mut test = BrowserTest::new(Fake::default());
    test.act(Action::NextPart);
    test.settle();
    test.act(Action::FilterSamples).acts(&[Action::Down, Action::Down]).type_text("jsn").act(Action::Run);
    compare("filter", &mut test);
}

#[test]
fn hostile_names_are_drawn_as_visible_signs() {
    let fake = Fake {
        key: |number| format!("k\u{1b}[31m\u{202e}\n{number}/../日本語🦀"),
        parts: |_| vec!["a\u{7}b", "txt"],
        content: |_, _| b"\x1b]0;owned\x07 text \xff".to_vec(),
        groups: Mutex::new(Arc::new(Groups::new(1, vec![group("s\u{9b}2J.tar", 30)], true))),
        ..Fake::default()
    };
    let mut test = BrowserTest::new(fake);
    test.act(Action::NextPart);
    test.settle();
    compare("hostile", &mut test);
    for (columns, rows) in [(1, 1), (2, 3), (5, 5), (20, 4), (40, 10), (59, 9), (61, 3), (95, 40), (97, 2), (300, 90)] {
        test.size = (columns, rows);
        for pane in 0..3 {
            test.act(Action::NextPane);
            let shown = test.draw();
            assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{7}']), "{pane} {shown}");
        }
    }
}

#[test]
fn jsonl_browser_labels_lines_and_file() {
    let mut fake = Fake::of(vec![group("corpus.jsonl", 1_000)]);
    (fake.kind, fake.word) = (DatasetKind::Jsonl, "file");
    fake.key = |number| number.to_string();
    fake.parts = |_| vec!["json"];
    let mut test = BrowserTest::new(fake);
    test.settle();
    compare("jsonl", &mut test);
}

#[test]
fn failure_of_single_file_is_shown_below_its_lines() {
    let mut fake = Fake::of(vec![group("a.jsonl.gz", 90)]);
    (fake.kind, fake.word) = (DatasetKind::Jsonl, "file");
    fake.parts = |_| vec!["json"];
    let mut test = BrowserTest::new(fake);
    test.settle();
    let mut groups = (*test.screen.state.groups).clone();
    groups.groups[0].failure = Some("it cannot be unpacked further: unexpected end of file".into());
    test.screen.state.groups = Arc::new(groups);
    let shown = test.draw();
    assert!(shown.contains("! it cannot be") && shown.contains("unexpected end"), "{shown}");
}

#[test]
fn browser_marks_splits_and_excludes() {
    let mut test = BrowserTest::new(Fake::default());
    let groups = Arc::clone(&test.screen.state.groups);
    let shard = |at: usize| format!("shard_{at:04}.tar");
    let splits = [("train".into(), vec![shard(0), shard(1)]), ("val".into(), vec![shard(2)])];
    let excludes = ["shard_0000.tar/000032".to_owned(), shard(3)];
    test.screen.marks = Arc::new(Marks::new(&groups, &splits, &excludes));
    test.act(Action::GoToNumber).type_text("32").act(Action::Accept).act(Action::NextPart);
    test.settle();
    compare("marks", &mut test);
}

fn page(test: &mut BrowserTest, mode: Mode, lines: Vec<PageLine>) {
    test.settle();
    test.screen.state.mode = mode;
    let at = test.screen.state.at.unwrap();
    test.settle();
    test.screen.detail =
        Some(Detail { request: DetailRequest { at, mode, part: 0, is_reading: false }, body: DetailBody::Page(lines) });
}

fn field(name: &str, field_type: &'static str, expr: &str, value: Result<Value, &str>) -> LoaderField {
    LoaderField {
        name: name.into(),
        field_type,
        expr: Some(expr.into()),
        value: value.map(FieldValue::Found).map_err(str::to_owned),
        warning: None,
    }
}

#[test]
fn the_loader_view_has_fields_with_types_shapes_values_and_errors() {
    let view = LoaderView {
        kind: LoaderKind::FieldMap,
        class: "megatron.energon.CaptioningSample".into(),
        fields: vec![
            field("image", "torch.Tensor", "jpg", Ok(Value::Image { format: "jpeg".into(), width: 640, height: 427 })),
            field("caption", "str", "json[caption]", Err("KeyError: 'caption' (the part json has no such key)")),
            field("words", "str", "txt", Ok(Value::Text("A man riding a wave on top of a surfboard. ".repeat(20)))),
        ],
        error: None,
        note: Some("what is shown is what the reference loader gives".into()),
    };
    let mut test = BrowserTest::new(Fake::default());
    page(&mut test, Mode::Loader, loader_lines(&view));
    compare("loader", &mut test);
}

#[test]
fn offset_view_shows_the_tar_header_and_the_index_row() {
    let mut bytes = vec![0_u8; 512];
    bytes[..10].copy_from_slice(b"000032.txt");
    bytes[257..262].copy_from_slice(b"ustar");
    let value = |name, from, to, value: &str| HeaderField { name, from, to, value: value.into(), defect: None };
    let fields =
        vec![value("name", 0, 100, "000032.txt"), value("size", 124, 136, "43"), value("magic", 257, 265, "ustar")];
    let row = BrowsePart { name: "txt".into(), byte_offset: 131_584, byte_size: 44 };
    let view = OffsetView {
        name: "shard_0000.tar".into(),
        file_bytes: 41_046_016,
        claims: vec![
            SpanClaim { source: "index.sqlite".into(), span: Some((131_072, 135_168)), note: None },
            SpanClaim { source: "shard_0000.tar.idx".into(), span: None, note: Some("there is none".into()) },
        ],
        entries: vec![EntryView {
            name: "000032.txt".into(),
            offset: 131_072,
            content_offset: 131_584,
            size: 43,
            part: Some("txt".into()),
            headers: vec![HeaderView { offset: 131_072, bytes, fields }],
            row: Some(row),
        }],
        disagreements: vec!["the row of txt says 44 bytes, the header 43".into()],
        ..OffsetView::default()
    };
    let mut test = BrowserTest::new(Fake::default());
    page(&mut test, Mode::Offsets, offset_lines(&view));
    compare("offsets", &mut test);
}

#[test]
fn a_contact_sheet_is_a_grid_with_its_seed() {
    let source = || SheetSource {
        catalog: Arc::new(Fake::default()),
        listing: Listing::All,
        part: Some("txt".into()),
        seed: 7,
        crumbs: vec!["browse".into(), "coco".into(), "contact sheet".into()],
        depth: gristmill_data::preview::cells::Depth::Shades,
        chosen: Rc::default(),
    };
    let mut sheet = ContactSheet::new(source(), &super::fake::env());
    testing::settle(&mut sheet);
    assert_eq!(sheet.status_right().unwrap(), "seed 7  60 of 40,023");
    sheet.handle(Input::Action(Action::Right));
    testing::compare("browse_sheet", &testing::WINDOWS, |(columns, rows, ascii)| {
        super::fake::drawn(&mut sheet, columns, rows, ascii)
    });
    let chosen = source();
    let place = Rc::clone(&chosen.chosen);
    let mut sheet = ContactSheet::new(chosen, &super::fake::env());
    let moved = sheet.handle(Input::Action(Action::Accept));
    assert!(matches!(moved.as_slice(), [Effect::Pop]) && place.take().is_some());
    for (columns, rows) in [(1, 1), (3, 2), (25, 8), (26, 9), (300, 90)] {
        super::fake::drawn(&mut sheet, columns, rows, false);
    }
}
