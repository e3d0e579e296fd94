use super::write::{is_in_samples, write_rows, OldRows};
use super::*;
use gristmill_core::{Cancel, Handles, ImageFacts, MediaFacts, MediaFilter, MediaPlan, ProblemLog, Progress};
use gristmill_media::ByteSource;
use gristmill_storage::fs::RealFs;
use std::path::Path;

fn facts(width: u32) -> MediaFacts {
    MediaFacts::Image(ImageFacts { width, height: 1, format: "PNG", mode: "L" })
}

fn spooled(dir: &Path, unit: usize, rows: &[(&str, u32)]) -> MediaRows {
    let mut writer = spool::RowsWriter::new(&RealFs, dir, unit);
    for (key, width) in rows {
        writer.count_entry();
        writer.row(key, &facts(*width)).unwrap();
    }
    writer.finish().unwrap()
}

fn written(dir: &Path, units: &[MediaRows], filter: &MediaFilter, prune: bool) -> RowStats {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let mut still_there = |_: &rusqlite::Connection, key: &str| Ok(key.starts_with('k'));
    let old = OldRows { still_there: &mut still_there, prune };
    write_rows(&RealFs, &dir.join("db"), units, filter, &|_, key| key != "not this", old, &handles).unwrap()
}

fn widths(dir: &Path) -> Vec<(String, String)> {
    let connection = rusqlite::Connection::open(dir.join("db")).unwrap();
    let mut statement = connection.prepare("SELECT entry_key, metadata_json FROM media_metadata ORDER BY 1").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn media_spool_rows_are_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let rows = spooled(dir.path(), 0, &[("aaa.png", 1), ("aab\n.png", 2), ("ä", 3)]);
    assert_eq!((rows.entries, rows.images, rows.av, rows.rows()), (3, 3, 0, 3));
    let mut reader = rows.open().unwrap().unwrap();
    let keys: Vec<String> = std::iter::from_fn(|| reader.next().unwrap()).map(|row| row.key.into()).collect();
    assert_eq!(keys, ["aaa.png", "aab\n.png", "ä"]);
    rows.remove(&RealFs).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(spooled(dir.path(), 1, &[]).open().unwrap().is_none());
}

#[test]
fn later_media_row_replaces_earlier_row_and_unreplaced_old_rows_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let first = [
        spooled(dir.path(), 0, &[("k2", 1), ("x", 1), ("k1", 1)]),
        spooled(dir.path(), 1, &[("k1", 2), ("not this", 9)]),
    ];
    let result = written(dir.path(), &first, &MediaFilter::Extension, false);
    assert_eq!((result.rows_written, result.rows_in_all, result.stale), (3, 3, 0), "nothing is old in a new database");
    assert!(widths(dir.path())[0].1.contains("\"width\":2"), "of k1 the later one");
    // `x` is replaced, so its existence is not checked. The newest old row is replaced, too.
    let again = [spooled(dir.path(), 2, &[("x", 3), ("k1", 3)])];
    let result = written(dir.path(), &again, &MediaFilter::Extension, true);
    assert_eq!((result.rows_written, result.rows_in_all, result.stale, result.pruned), (2, 3, 0, 0));
    let none = [spooled(dir.path(), 3, &[("k9", 1)])];
    let report = written(dir.path(), &none, &MediaFilter::Header, false);
    assert_eq!((report.stale, report.stale_keys.as_slice()), (1, &["x".to_owned()][..]));
    let pruned = written(dir.path(), &[], &MediaFilter::Header, true);
    assert_eq!((pruned.pruned, pruned.rows_in_all), (1, 3));
    assert!(has_filter(&dir.path().join("db"), &MediaFilter::Header));
    assert!(!has_filter(&dir.path().join("db"), &MediaFilter::Glob(vec!["*".into()])));
}

#[test]
fn media_database_does_not_depend_on_the_division_into_units() {
    let rows: Vec<(String, u32)> = (0..500).map(|n| (format!("k{:03}", (n * 37) % 500), n)).collect();
    let rows: Vec<(&str, u32)> = rows.iter().map(|(key, n)| (key.as_str(), *n)).collect();
    let picture = |pieces: usize| {
        let dir = tempfile::tempdir().unwrap();
        let units: Vec<MediaRows> =
            rows.chunks(pieces).enumerate().map(|(unit, rows)| spooled(dir.path(), unit, rows)).collect();
        written(dir.path(), &units, &MediaFilter::Extension, false);
        let connection = rusqlite::Connection::open(dir.path().join("db")).unwrap();
        let mut statement =
            connection.prepare("SELECT rowid || entry_key || metadata_json FROM media_metadata").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    };
    assert_eq!(picture(500), picture(7));
}

#[test]
fn media_entry_is_looked_up_by_its_key_and_part() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE TABLE samples (tar_file_id, sample_key, sample_index); \
             CREATE TABLE sample_parts (tar_file_id, sample_index, part_name); \
             INSERT INTO samples VALUES (0, 'a.b/c', 0), (0, 'x', 1); \
             INSERT INTO sample_parts VALUES (0, 0, 'd.jpg'), (0, 1, 'png'), (1, 0, 'gif');",
        )
        .unwrap();
    for (entry, there) in
        [("a.b/c.d.jpg", true), ("x.png", true), ("x.gif", false), ("a.b/c", false), ("", false), ("nodot", false)]
    {
        assert_eq!(is_in_samples(&connection, Path::new("db"), entry).unwrap(), there, "{entry}");
    }
}

#[test]
fn media_filter_selects_files_by_name() {
    let glob = |text: &str| MediaFilter::Glob(text.split(',').map(str::to_owned).collect());
    assert!(picks(&MediaFilter::Extension, "a/b.JPG") && !picks(&MediaFilter::Extension, "a.txt"));
    assert!(picks(&MediaFilter::Header, "a.txt"));
    assert!(picks(&glob("*.txt,*.png"), "a/b.png") && !picks(&glob("b*"), "a/b.png"));
    assert!(picks_file(&glob("b*"), "a/b.png"), "in a folder the name alone counts too");
}

/// A source that makes a reader panic.
struct PanickingSource;

impl ByteSource for PanickingSource {
    fn len(&self) -> u64 {
        1000
    }
    fn read_at(&self, _: &mut [u8], _: u64) -> std::io::Result<usize> {
        panic!("a defect of a reader")
    }
}

#[test]
fn panic_of_a_media_reader_affects_only_its_entry() {
    let (plan, cancel) = (MediaPlan { filter: MediaFilter::Extension, decode: false }, Cancel::default());
    let mut prober = Prober::new(&plan, false, &cancel);
    assert!(
        matches!(prober.probe("a.png", &PanickingSource).unwrap(), ProbeVerdict::Broken(why) if why.contains("bug in gristmill"))
    );
    assert!(matches!(prober.probe("a.png", &&b"words"[..]).unwrap(), ProbeVerdict::NotMedia(_)));
    cancel.cancel();
    assert!(prober.probe("a.png", &&b"words"[..]).unwrap_err().is_cancelled());
}

#[test]
fn media_type_is_decided_by_header_first_and_then_by_name() {
    let cancel = Cancel::default();
    let header = MediaPlan { filter: MediaFilter::Header, decode: false };
    let mut prober = Prober::new(&header, false, &cancel);
    assert!(matches!(prober.probe("a.txt", &&b"words"[..]).unwrap(), ProbeVerdict::Other));
    assert!(matches!(prober.probe("a.png", &&b"words"[..]).unwrap(), ProbeVerdict::NotMedia(_)));
    let glob = MediaPlan { filter: MediaFilter::Glob(vec!["*".into()]), decode: false };
    let mut prober = Prober::new(&glob, false, &cancel);
    assert!(matches!(
        prober.probe("a.txt", &&b"\xff\xd8\xff\xe0"[..]).unwrap(),
        ProbeVerdict::Broken(_) | ProbeVerdict::NotMedia(_)
    ));
}
