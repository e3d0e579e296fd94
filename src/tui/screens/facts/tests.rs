use super::gather::{counted, FactsSheet};
use super::*;
use crate::tui::testing;
use crate::tui::widgets::Unit;
use gristmill_core::{DatasetKind, PartFacts, ShardFacts, ShardState};
use gristmill_ops::datasets::FigureGroup;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;

fn shown(screen: &mut FactsScreen, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| screen.draw(frame, area, ui))
}

fn compare(name: &str, screen: &mut FactsScreen) {
    testing::compare(&format!("facts_{name}"), &testing::WINDOWS, |size| shown(screen, size.0, size.1, size.2));
}

fn pairs(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

fn screen(sheet: FactsSheet) -> FactsScreen {
    let mut screen = FactsScreen::empty(Path::new("/data/coco"));
    screen.add(sheet);
    screen
}

fn full() -> FactsSheet {
    let mut lengths = gristmill_ops::engine::jsonl::Lengths::default();
    (0..4000_u64).for_each(|n| lengths.add(n * n % 50_000));
    let charts = [
        Chart::of_lengths("bytes a sample", &lengths, Unit::Bytes),
        Chart::of_shares("samples that lack a part", &pairs(&[("txt", 300)]), 201_330),
        Chart::of("longer side of pictures, in pixels", &pairs(&[("257–512 px", 40_000), ("513–1024 px", 161_330)])),
        Chart::of(
            "width x height of pictures, the most frequent",
            &pairs(&[("640×427", 160_000), ("427×640", 41_330)]),
        ),
        Chart::of("formats", &pairs(&[("JPEG", 201_000), ("PNG", 330)])),
        Chart::of("durations", &pairs(&[("1–5 s", 5), ("1 h and more", 1)])),
    ];
    FactsSheet {
        figures: vec!["201,330 samples".into(), "201,330 rows of media".into()],
        charts: charts.into_iter().flatten().collect(),
        failures: Vec::new(),
    }
}

#[test]
fn distributions_are_in_columns_and_scroll() {
    let mut screen = screen(full());
    compare("full", &mut screen);
    shown(&mut screen, 40, 12, false);
    screen.handle(Input::Action(Action::Last));
    assert!(screen.scroll.top > 0);
    assert!(shown(&mut screen, 40, 12, false).contains("1 h and more"));
    screen.handle(Input::Action(Action::First));
    assert_eq!(screen.scroll.top, 0);
}

#[test]
fn facts_show_that_counting_is_running() {
    let mut screen = FactsScreen::empty(Path::new("/data/coco"));
    screen.waiting = 2;
    compare("counting", &mut screen);
    assert!(screen.is_busy());
}

#[test]
fn unreadable_database_is_named_next_to_facts() {
    let mut sheet = full();
    sheet.charts.truncate(1);
    sheet.failures.push("reading .nv-meta/index.sqlite: the database is damaged".into());
    compare("problem", &mut screen(sheet));
}

#[test]
fn facts_without_charts_are_drawn() {
    compare("empty", &mut screen(FactsSheet::default()));
}

#[test]
fn unfinished_scan_has_facts_of_scanned_shards() {
    let mut facts = DatasetFacts::new("/data/coco".into(), DatasetKind::RawWebDataset);
    facts.samples_seen = 100;
    for (name, samples) in [("jpg", 100), ("txt", 90)] {
        facts.parts.insert(name.into(), PartFacts { samples, bytes: samples * 1_000 });
    }
    let stamp = gristmill_core::FileStamp { bytes: 1 << 20, modified_ns: 0, inode: 1 };
    facts.shards = vec![
        ShardFacts { name: "a.tar".into(), stamp, state: ShardState::Scanned, samples: 100, ..ShardFacts::default() },
        ShardFacts { name: "b.tar".into(), stamp, ..ShardFacts::default() },
    ];
    let sheet = gather::of_scan(&facts);
    assert_eq!(sheet.figures, ["100 samples", "1 of 2 shards read"]);
    let titles: Vec<&str> = sheet.charts.iter().map(|c| c.title.as_str()).collect();
    assert!(titles.contains(&"samples that lack a part"), "{titles:?}");
    assert_eq!(sheet.charts[1].bars, [crate::tui::widgets::Bar { label: "txt".into(), count: 10 }]);
}

#[test]
fn a_jsonl_file_shows_its_text_lengths_and_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.jsonl");
    write_file(&RealFs, &path, b"{\"text\":\"hello\"}\n{\"text\":\"hi\",\"n\":1}\n", 0o644).unwrap();
    let sheet = counted(&path, FigureGroup::Samples, &Cancel::default());
    assert_eq!(sheet.figures[0], "2 samples");
    assert_eq!(sheet.charts[0].title, "length of 'text', in characters");
    assert!(sheet.charts.iter().any(|c| c.title == "records with key" && c.bars.len() == 2));
    let gone = counted(&dir.path().join("gone"), FigureGroup::Samples, &Cancel::default());
    assert!(gone.failures[0].contains("no such file"), "{gone:?}");
}

#[test]
fn facts_draw_at_any_size_and_escape_names() {
    let mut sheet = full();
    sheet.charts.extend(Chart::of("x\u{1b}[31m", &pairs(&[("a\u{202e}b\u{9b}", 3)])));
    sheet.figures.push("\u{1b}]0;x".into());
    sheet.failures.push("\u{202e}".into());
    let mut screen = screen(sheet);
    for (columns, rows) in [(1, 1), (2, 4), (10, 5), (39, 10), (91, 20), (200, 60)] {
        let text = shown(&mut screen, columns, rows, false);
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{text}");
    }
}
