//! The offset view, the loader's view, and problems of the last run.

use super::*;
use crate::engine::browse::loader::{FieldValue, LoaderKind};
use crate::engine::browse::places::{place_of, SubjectLocation};
use crate::engine::browse::{loader, offsets, problems};
use gristmill_core::{ProblemKind, Subject};
use gristmill_data::source::decode::Value;

fn view(catalog: &dyn Catalog, at: usize) -> offsets::OffsetView {
    offsets::view(catalog, &all(catalog)[at], &Cancel::default()).unwrap()
}

#[test]
fn views_of_an_undamaged_sample_agree() {
    let dir = small_set();
    prepare(dir.path());
    let catalog = scanned(dir.path());
    for at in 0..6 {
        let view = view(&*catalog, at);
        assert_eq!(view.disagreements, Vec::<String>::new(), "{view:#?}");
        assert!(view.entries.iter().all(|entry| entry.row.is_some() && entry.headers.len() == 1));
        let spans: Vec<_> = view.claims.iter().map(|claim| claim.span).collect();
        assert!(spans.iter().all(Option::is_some) && spans[0] == spans[1], "{spans:?}");
    }
    let third = view(&*catalog, 2);
    let size = third.entries[0].headers[0].fields.iter().find(|field| field.name == "size").unwrap();
    assert_eq!((size.value.as_str(), third.entries[0].headers[0].bytes.len()), ("700", 512));
}

#[test]
fn wrong_index_rows_of_a_sample_are_reported_as_disagreements() {
    let dir = small_set();
    prepare(dir.path());
    let sqlite = rusqlite::Connection::open(dir.path().join(".nv-meta/index.sqlite")).unwrap();
    sqlite
        .execute_batch(
            "UPDATE sample_parts SET part_name = 'png' WHERE tar_file_id = 0 AND sample_index = 0 AND part_name = 'jpg';
             UPDATE sample_parts SET content_byte_size = 9 WHERE tar_file_id = 0 AND sample_index = 0 AND part_name = 'txt';
             UPDATE sample_parts SET content_byte_offset = 99999 WHERE tar_file_id = 0 AND sample_index = 1;
             UPDATE samples SET byte_size = 99999999 WHERE sample_key = '002';",
        )
        .unwrap();
    drop(sqlite);
    let catalog = scanned(dir.path());
    let said = |at: usize| view(&*catalog, at).disagreements.join("\n");
    assert!(said(0).contains("calls the part 'png', its header says '000.jpg'"), "{}", said(0));
    assert!(said(0).contains("says 9 bytes for 'txt', its header 5"), "{}", said(0));
    assert!(
        said(1).contains("at byte 99999, where no entry") && said(1).contains("no row for the part 'jpg'"),
        "{}",
        said(1)
    );
    assert!(said(2).contains("of a file of") && said(2).contains("says it ends at"), "{}", said(2));
}

#[test]
fn wrong_offset_file_is_reported_as_disagreement() {
    let dir = small_set();
    prepare(dir.path());
    put(&dir.path().join("a.tar.idx"), &gristmill_data::formats::energon::tar_idx::encode(&[0, 512, 1 << 40], 1 << 41));
    let catalog = scanned(dir.path());
    let said = view(&*catalog, 2).disagreements.join("\n");
    assert!(said.contains("a.tar.idx says byte") && said.contains("the offset file"), "{said}");
    put(&dir.path().join("a.tar.idx"), b"1234567");
    assert!(view(&*catalog, 2).claims[1].note.as_deref().unwrap().contains("multiple of 8"));
}

#[test]
fn entry_with_a_long_name_shows_both_headers() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("{}.txt", "n".repeat(150));
    put_tar(&dir.path().join("a.tar"), &[(&name, b"x")]);
    let catalog = scanned(dir.path());
    let view = view(&*catalog, 0);
    let headers: Vec<u64> = view.entries[0].headers.iter().map(|header| header.offset).collect();
    assert_eq!((view.entries[0].name.as_str(), headers), (name.as_str(), vec![0, 1_024]));
    assert_eq!(view.disagreements, Vec::<String>::new());
}

fn loaded(catalog: &dyn Catalog, at: usize) -> loader::LoaderView {
    loader::view(catalog, &all(catalog)[at], None, &Cancel::default()).unwrap()
}

#[test]
fn sample_is_shown_with_the_fields_of_its_field_map() {
    let dir = small_set();
    prepare(dir.path());
    let catalog = scanned(dir.path());
    assert_eq!(loaded(&*catalog, 0).kind, LoaderKind::Crude);
    let yaml = "sample_type:\n  __module__: megatron.energon\n  __class__: ImageClassificationSample\nfield_map:\n  image: jpg\n  label_name: json[c],txt\n";
    put(&dir.path().join(".nv-meta/dataset.yaml"), yaml.as_bytes());
    let view = loaded(&*catalog, 0);
    let field = |name: &str| view.fields.iter().find(|field| field.name == name).unwrap();
    assert_eq!(view.kind, LoaderKind::FieldMap);
    assert_eq!(field("label_name").value, Ok(FieldValue::Found(Value::Text("words".into()))));
    assert_eq!(field("label").value, Ok(FieldValue::Default("None")));
    assert!(field("image").value.as_ref().unwrap_err().contains("'jpg' cannot be decoded"));
    let second = loaded(&*catalog, 1);
    let label = second.fields.iter().find(|field| field.name == "label_name").unwrap();
    assert_eq!(label.value.as_ref().unwrap_err(), "no part 'txt' in this sample");
    put(&dir.path().join(".nv-meta/dataset.yaml"), yaml.replace("  image: jpg\n", "  picture: jpg\n").as_bytes());
    let view = loaded(&*catalog, 0);
    let errors: Vec<&String> = view.fields.iter().filter_map(|field| field.value.as_ref().err()).collect();
    assert!(errors[0].contains("missing 1 required positional argument: 'image'"), "{errors:?}");
    assert!(errors[1].contains("has no field 'picture'"), "{errors:?}");
}

#[test]
fn a_loader_function_is_shown_and_a_broken_or_missing_file_is_reported() {
    let dir = small_set();
    prepare(dir.path());
    let yaml = "sample_type:\n  __module__: megatron.energon\n  __class__: TextSample\nsample_loader: sample_loader.py:sample_loader\npart_filter: sample_loader.py:part_filter\n";
    put(&dir.path().join(".nv-meta/dataset.yaml"), yaml.as_bytes());
    put(&dir.path().join(".nv-meta/sample_loader.py"), b"def sample_loader(raw): ...\n");
    let catalog = scanned(dir.path());
    let view = loaded(&*catalog, 0);
    let LoaderKind::Function { function, code } = view.kind else { panic!("not a function") };
    assert_eq!(
        (function.as_str(), code.as_deref()),
        ("sample_loader.py:sample_loader", Some("def sample_loader(raw): ...\n"))
    );
    assert!(view.note.unwrap().contains("not run"));
    put(&dir.path().join(".nv-meta/dataset.yaml"), b"nonsense: 1\n");
    assert!(loaded(&*catalog, 0).error.is_some());
    std::fs::remove_file(dir.path().join(".nv-meta/dataset.yaml")).unwrap();
    let view = loaded(&*catalog, 0);
    assert_eq!(view.kind, LoaderKind::Missing);
    assert!(view.error.unwrap().contains("no .nv-meta/dataset.yaml"));
}

#[test]
fn problems_of_the_last_run_are_located_at_their_samples() {
    let dir = small_set();
    prepare(dir.path());
    let report = dir.path().join(".nv-meta/gristmill/report.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert!(json["result"]["problems"].is_array(), "the report has its problems where they are looked for");
    json["result"]["problems"] = serde_json::json!([
        {"severity": "problem", "kind": "broken-media", "message": "broken", "subject": {"shard": "a.tar", "key": "001"}},
        {"severity": "problem", "kind": "not-media", "message": "entry", "subject": {"key": "x/101.txt"}},
        {"severity": "problem", "kind": "damaged-header", "message": "place", "subject": {"shard": "a.tar", "byte_offset": 3500}},
        {"severity": "note", "kind": "unnamed-entry", "message": "note", "subject": {"shard": "a.tar", "key": "000"}},
        {"severity": "problem", "kind": "unreadable", "message": "gone", "subject": {"shard": "gone.tar", "key": "1"}},
    ]);
    put(&report, json.to_string().as_bytes());
    let list = problems::reported(&*scanned(dir.path()), &Cancel::default()).unwrap();
    let places: Vec<(u32, u64, &str)> = list.iter().map(|(at, known)| (at.group, at.index, &*known.why)).collect();
    assert_eq!(places, [(0, 1, "broken"), (0, 2, "place"), (1, 1, "entry")]);
    let kinds: Vec<(ProblemKind, &str)> =
        list.iter().map(|(_, known)| (known.kind, known.key.as_deref().unwrap_or_default())).collect();
    let expected = [(ProblemKind::BrokenMedia, "001"), (ProblemKind::DamagedHeader, "002")];
    assert_eq!(kinds, [expected[0], expected[1], (ProblemKind::NotMedia, "x/101")]);
    let others: Vec<&str> = list.others().iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(others, ["gone"], "a problem of no sample is kept, too");
    put(&report, b"not json");
    assert!(problems::reported(&*scanned(dir.path()), &Cancel::default()).unwrap().is_empty());
}

#[test]
fn duplicate_key_is_located_in_the_shard_of_the_problem() {
    let dir = tempfile::tempdir().unwrap();
    put_tar(&dir.path().join("a.tar"), &[("000.txt", b"1"), ("key.txt", b"2")]);
    put_tar(&dir.path().join("b.tar"), &[("001.txt", b"3"), ("002.txt", b"4"), ("key.txt", b"5")]);
    prepare_with(dir.path(), Duplicates::KeepFirst);
    let set = scanned(dir.path());
    let place = |shard: &str| place_of(&*set, &Subject::shard(shard).key("key"), &Cancel::default()).unwrap();
    let sample = |group, index| SubjectLocation::Sample { at: SampleAt { group, index }, key: "key".into() };
    assert_eq!([place("a.tar"), place("b.tar")], [sample(0, 1), sample(1, 2)]);
}

#[test]
fn the_subject_of_a_problem_is_found_by_key_byte_line_or_file() {
    let cancel = Cancel::default();
    let sample = |group, index, key: &str| SubjectLocation::Sample { at: SampleAt { group, index }, key: key.into() };
    let dir = small_set();
    prepare(dir.path());
    let set = scanned(dir.path());
    let place = |subject: Subject| place_of(&*set, &subject, &cancel).unwrap();
    assert_eq!(place(Subject::shard("a.tar").key("001")), sample(0, 1, "001"));
    assert_eq!(place(Subject::shard("c/b.tar").key("x/101.txt")), sample(1, 1, "x/101"), "an entry of a sample");
    assert_eq!(place(Subject::shard("a.tar").key("gone").at(3_500)), sample(0, 2, "002"));
    assert_eq!(place(Subject::shard("a.tar").at(u64::MAX)), SubjectLocation::Near(SampleAt { group: 0, index: 2 }));
    assert_eq!(place(Subject::shard("c/b.tar")), SubjectLocation::Group(1));
    assert_eq!(place(Subject::shard("gone.tar").key("1")), SubjectLocation::Unknown);
    assert_eq!(place(Subject::field("train")), SubjectLocation::Unknown);

    let file = dir.path().join("lines.jsonl");
    put(&file, b"\n{\"a\":1}\n\n \n{\"b\":2}\nno json\n");
    let lines = scanned(&file);
    let place = |subject: Subject| place_of(&*lines, &subject, &cancel).unwrap();
    let at = |line| place(Subject::path(&file).line(line));
    assert_eq!([at(2), at(5), at(6)], [sample(0, 0, "0"), sample(0, 1, "1"), sample(0, 2, "2")]);
    assert_eq!(at(4), sample(0, 0, "0"), "a blank line belongs to the line before it");
    assert_eq!(at(u64::MAX), SubjectLocation::Unknown);
    assert_eq!(place(Subject::path(&file).at(14)), sample(0, 1, "1"));
    assert_eq!(place(Subject::path("elsewhere.jsonl").line(2)), SubjectLocation::Unknown);

    let media = tempfile::tempdir().unwrap();
    put(&media.path().join("b/c.tar.jpg"), b"p");
    put(&media.path().join("b/c.txt"), b"t");
    put(&media.path().join("b/noend"), b"t");
    let folder = scanned(media.path());
    let place = |name: &str| place_of(&*folder, &Subject::path(media.path().join(name)), &cancel).unwrap();
    assert_eq!(place("b/c.txt"), sample(0, 1, "c"));
    assert_eq!(place("b/c.tar.jpg"), sample(0, 0, "c.tar"));
    assert_eq!(place("b/noend"), sample(0, 2, "noend"));
    assert_eq!([place("b/gone.txt"), place("d/c.txt")], [SubjectLocation::Group(0), SubjectLocation::Unknown]);
}
