//! Tests of the listing by the rules of each program.

use super::{is_file_input, list, table_kind, HubSnapshot, InputRules, Packing, Selection};
use gristmill_core::{Cancel, ExitClass, ProblemKind};
use gristmill_storage::fs::RealFs;
use gristmill_storage::memory_store;
use gristmill_storage::publish::write_file;
use std::path::{Path, PathBuf};

fn put(root: &Path, name: &str) -> PathBuf {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write_file(&RealFs, &path, b"{}\n", 0o644).unwrap();
    path
}

fn names(root: &Path, glob: Option<&str>, rules: &'static InputRules) -> Vec<String> {
    let selection = Selection { glob, follows_reference: true, ..Selection::default() };
    let listing = list(&[root.to_owned()], selection, rules, &Cancel::default()).unwrap();
    listing.files.into_iter().map(|file| file.name).collect()
}

#[test]
fn each_reference_program_reads_its_own_set_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in [
        "b.jsonl",
        "a.txt",
        ".h.jsonl",
        ".d/x.jsonl",
        "s/c.jsonl",
        "s/B.JSONL",
        "s/y.Jsonl",
        "z10.jsonl",
        "z9.jsonl",
        "q.jsonl.gz",
    ] {
        put(root, name);
    }
    let every = ["q.jsonl.gz", "s/B.JSONL", "s/c.jsonl", "s/y.Jsonl", "z10.jsonl", "z9.jsonl"];
    let mut all = vec![".d/x.jsonl", ".h.jsonl", "a.txt", "b.jsonl"];
    all.extend(every);
    assert_eq!(names(root, None, &InputRules::EVERY_FILE), all);
    assert_eq!(names(root, Some(".jsonl"), &InputRules::EVERY_FILE), [".h.jsonl", "b.jsonl", "z10.jsonl", "z9.jsonl"]);
    assert_eq!(
        names(root, None, &InputRules::PLAIN_JSON_LINES),
        ["b.jsonl", "s/B.JSONL", "s/c.jsonl", "z9.jsonl", "z10.jsonl"]
    );
    assert_eq!(
        names(root, None, &InputRules::JSON_LINES),
        ["b.jsonl", "q.jsonl.gz", "s/B.JSONL", "s/c.jsonl", "s/y.Jsonl", "z10.jsonl", "z9.jsonl"]
    );
    assert_eq!(names(root, Some("**/*.txt"), &InputRules::JSON_LINES), ["a.txt"]);
}

#[test]
fn explicitly_given_files_keep_their_order_and_need_no_suffix() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = [put(folder.path(), "x10.txt"), put(folder.path(), "x9")];
    let listing = list(&inputs, Selection::default(), &InputRules::PLAIN_JSON_LINES, &Cancel::default()).unwrap();
    assert_eq!(listing.files.iter().map(|file| &*file.name).collect::<Vec<_>>(), ["x10.txt", "x9"]);
    assert_eq!(listing.files[0].packing, Packing::Plain);
}

#[test]
fn output_files_of_packing_are_not_read_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let ours =
        ["index/file_location.txt", "index/sample_locations.bin", "a.jsonl.idx", "t/000_x.ds", "t/000_x.ds.index"];
    for name in ours.into_iter().chain(["tokenized-samples/a-tokenized-samples.bin", "a.jsonl", "index/notes.txt"]) {
        put(root, name);
    }
    assert_eq!(names(root, None, &InputRules::EVERY_FILE), ["a.jsonl", "index/notes.txt"]);
    let listing =
        list(&[root.to_path_buf()], Selection::default(), &InputRules::EVERY_FILE, &Cancel::default()).unwrap();
    assert_eq!(listing.problems.len(), 6);
    assert!(listing.problems.iter().all(|note| note.severity == gristmill_core::Severity::Note));
    assert!(listing.problems.is_sorted_by_key(|note| note.subject.path.clone()), "{:#?}", listing.problems);
    // A pattern of the user selects even files that are left out by default.
    assert_eq!(names(root, Some("*.idx"), &InputRules::EVERY_FILE), ["a.jsonl.idx"]);
    let named =
        list(&[root.join("a.jsonl.idx")], Selection::default(), &InputRules::EVERY_FILE, &Cancel::default()).unwrap();
    assert_eq!(named.files.len(), 1);
}

#[test]
fn file_in_two_inputs_is_refused_and_file_found_twice_in_one_input_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let (a, b) = (put(root, "s/a.jsonl"), put(root, "b.jsonl"));
    let find = |inputs: &[PathBuf]| list(inputs, Selection::default(), &InputRules::JSON_LINES, &Cancel::default());
    for inputs in
        [vec![a.clone(), a.clone()], vec![root.to_path_buf(), b.clone()], vec![root.join("s"), root.join("s/../s")]]
    {
        let failure = find(&inputs).unwrap_err();
        assert!(failure.to_string().contains("read twice"), "{inputs:?}: {failure}");
    }
    assert_eq!(find(&[root.join("s"), b]).unwrap().files.len(), 2);
    std::os::unix::fs::symlink(&a, root.join("s/linked.jsonl")).unwrap();
    assert_eq!(find(&[root.join("s")]).unwrap().files.len(), 2, "a file that is linked next to itself is read twice");
}

#[test]
fn files_of_equal_content_in_a_repository_of_the_hub_are_not_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let blob = put(folder.path(), "datasets--o--n/blobs/5f3a");
    let link = |commit: &str, name: &str| {
        let path = folder.path().join("datasets--o--n/snapshots").join(commit).join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&blob, &path).unwrap();
        path
    };
    let (a, b, later) = (link("c0ffee", "a.jsonl"), link("c0ffee", "s/b.jsonl"), link("decaf", "a.jsonl"));
    let find = |inputs: &[PathBuf]| list(inputs, Selection::default(), &InputRules::JSON_LINES, &Cancel::default());
    assert_eq!(find(&[a.clone(), b.clone()]).unwrap().files.len(), 2);
    for again in [a.clone(), later, a.parent().unwrap().to_owned()] {
        assert!(find(&[b.clone(), a.clone(), again]).unwrap_err().why.contains("read twice"));
    }
}

#[test]
fn kinds_are_recognized_by_names_in_capitals() {
    for (name, lower) in
        [("A.CSV", "a.csv"), ("A.TSV.GZ", "a.tsv.gz"), ("A.PARQUET", "a.parquet"), ("A.Arrow", "a.arrow")]
    {
        assert!(table_kind(name).is_some() && table_kind(name) == table_kind(lower), "{name}");
    }
    assert_eq!(table_kind("acsv"), None);
    for name in ["A.JSONL", "a.Jsonl.ZST", "A.NDJSON"] {
        assert!((InputRules::JSON_ROWS.is_read)(name), "{name}");
    }
}

#[test]
fn paths_file_sets_the_order_and_its_mistakes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a", "sub/b", "c"] {
        put(root, name);
    }
    let paths = put(root, "paths");
    write_file(&RealFs, &paths, b"sub/b\n  a \n\nc", 0o644).unwrap();
    let list = || {
        let selection = Selection { paths_file: Some(&paths), ..Selection::default() };
        list(&[root.to_owned()], selection, &InputRules::EVERY_FILE, &Cancel::default())
    };
    assert_eq!(list().unwrap().files.iter().map(|file| &*file.name).collect::<Vec<_>>(), ["sub/b", "a", "c"]);
    write_file(&RealFs, &paths, b"a\nmissing\n", 0o644).unwrap();
    let failure = list().unwrap_err();
    assert_eq!((failure.class, failure.subject.line), (ExitClass::Usage, Some(2)));
}

#[test]
fn unmatched_pattern_is_a_usage_error_and_missing_path_an_environment_error() {
    let folder = tempfile::tempdir().unwrap();
    let list = |path: &Path, glob: Option<&str>| {
        list(
            &[path.to_owned()],
            Selection { glob, ..Selection::default() },
            &InputRules::PLAIN_JSON_LINES,
            &Cancel::default(),
        )
    };
    put(folder.path(), "a.txt");
    for failure in [
        list(&folder.path().join("no*"), None).unwrap_err(),
        list(folder.path(), None).unwrap_err(),
        list(folder.path(), Some("*.x")).unwrap_err(),
        list(folder.path(), Some("a**")).unwrap_err(),
    ] {
        assert_eq!(failure.class, ExitClass::Usage, "{failure}");
    }
    let missing = list(&folder.path().join("no"), None).unwrap_err();
    assert_eq!(missing.class, ExitClass::Environment, "{missing}");
}

#[test]
fn linked_folders_are_walked_and_link_loops_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let (root, other) = (folder.path().join("root"), folder.path().join("other"));
    put(&root, "a.jsonl");
    put(&other, "b.jsonl");
    std::os::unix::fs::symlink(&other, root.join("link")).unwrap();
    std::os::unix::fs::symlink(&root, root.join("again")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling.jsonl")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("fifo.jsonl"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let listing = list(&[root], Selection::default(), &InputRules::PLAIN_JSON_LINES, &Cancel::default()).unwrap();
    assert_eq!(listing.files.iter().map(|file| &*file.name).collect::<Vec<_>>(), ["a.jsonl", "link/b.jsonl"]);
    let mut kinds: Vec<ProblemKind> = listing.problems.iter().map(|problem| problem.kind).collect();
    kinds.sort();
    assert_eq!(kinds, [ProblemKind::NotAFile, ProblemKind::NotAFile, ProblemKind::Other]);
}

#[test]
fn data_files_of_a_hub_repository_are_chosen_without_other_files() {
    let names = [".gitattributes", "README.md", "data/a.parquet", "data/b.jsonl.gz", "data/.c.jsonl", "x.py", "p.png"];
    let files = names.map(|name| (name.to_owned(), 1)).to_vec();
    let snapshot = HubSnapshot { files, ..HubSnapshot::default() };
    let selection = |glob| Selection { glob, reads_tables: true, ..Selection::default() };
    let chosen = |glob, rules| snapshot.chosen(selection(glob), rules).unwrap();
    assert_eq!(chosen(None, &InputRules::EVERY_FILE), ["data/a.parquet", "data/b.jsonl.gz"]);
    assert_eq!(chosen(None, &InputRules::JSON_LINES), ["data/a.parquet", "data/b.jsonl.gz"]);
    assert_eq!(chosen(None, &InputRules::PLAIN_JSON_LINES), ["data/a.parquet"]);
    assert_eq!(chosen(Some("*.md"), &InputRules::JSON_LINES), ["README.md"]);
    assert!(is_file_input("hf://o/n/a.parquet") && !is_file_input("hf://o/n") && !is_file_input("/"));
}

#[test]
fn objects_are_opened_once_and_only_the_version_that_was_listed_is_read() {
    let root = Path::new("mem://listed-texts/set");
    let names: Vec<PathBuf> = (0..40).map(|number| root.join(format!("{number:02}.jsonl"))).collect();
    names.iter().for_each(|path| memory_store::put(path, b"{}\n"));
    let listing = list(&[root.to_owned()], Selection::default(), &InputRules::JSON_LINES, &Cancel::default()).unwrap();
    assert_eq!(listing.files.len(), 40);
    assert_eq!(memory_store::opens_below(root), 40);
    memory_store::put(&names[1], b"{ }\n");
    memory_store::remove(&names[2]);
    assert_eq!(listing.files[0].open().unwrap().len(), 3);
    assert!(listing.files[1].open().unwrap_err().why.contains("written to"));
    assert!(listing.files[2].open().unwrap_err().is_missing());
}
