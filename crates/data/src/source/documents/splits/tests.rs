use super::*;

fn find(names: &[&str], readme: Option<&str>, subset: Option<&str>) -> Outcome<Splits> {
    let files: Vec<(String, u64)> = names.iter().map(|name| ((*name).to_owned(), 1)).collect();
    find_splits(&FolderListing { files: &files, readme, settings: None }, subset)
}

/// Formats splits as `split: file file, split: …`.
fn shape(found: &Splits) -> String {
    let files = |split: &Split| split.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>().join(" ");
    found.splits.iter().map(|split| format!("{}: {}", split.name, files(split))).collect::<Vec<_>>().join(", ")
}

#[test]
fn first_rule_that_matches_a_file_decides_the_splits_of_the_folder() {
    for (names, wanted, outside) in [
        (
            &["data/train-00000-of-00001.parquet", "data/extra.x-00000-of-00001-abc.parquet", "train/a.parquet"][..],
            "train: data/train-00000-of-00001.parquet, extra.x: data/extra.x-00000-of-00001-abc.parquet",
            1,
        ),
        (
            &["test/b.parquet", "test/a.parquet", "train/a.parquet", "stray.parquet"],
            "train: train/a.parquet, test: test/a.parquet test/b.parquet",
            1,
        ),
        (
            &["train-b.parquet", "train-a.parquet", "dev-a.parquet", "pretrain_1.parquet", "trainer.parquet"],
            "train: train-a.parquet train-b.parquet, validation: dev-a.parquet",
            2,
        ),
        (&["devil.parquet", "x/a.parquet"], "train: devil.parquet x/a.parquet", 0),
        (
            &["training_2.jsonl", "train.jsonl", "my val 1.jsonl"],
            "train: train.jsonl training_2.jsonl, validation: my val 1.jsonl",
            0,
        ),
        (&["x/a-train/b.csv", "Train/c.csv"], "train: x/a-train/b.csv", 1),
        (&["a.parquet", ".h/b.parquet", "__x/c.parquet", "config.json", ".d.parquet"], "train: a.parquet", 0),
    ] {
        let found = find(names, None, None).unwrap();
        assert_eq!((shape(&found).as_str(), found.outside.len()), (wanted, outside));
    }
    assert!(find(&["data/a-b-00000-of-00001.parquet"], None, None).unwrap_err().why.contains("a-b"));
    assert!(find(&["LICENSE"], None, None).is_err());
    assert!(find(&[], None, None).is_err());
}

#[test]
fn repeated_leaked_dropped_and_missing_files_of_splits_are_found() {
    let found = find(&["test-eval.parquet", "train.parquet"], None, None).unwrap();
    let test = &found.splits[1];
    assert_eq!(
        (test.read_order.as_slice(), test.repeated().collect::<Vec<_>>()),
        (&[0, 0][..], vec!["test-eval.parquet"])
    );
    let found = find(&["train.val.parquet", "train.parquet"], None, None).unwrap();
    let leaks: Vec<_> = found.leaks(&found.splits[0]).collect();
    assert_eq!(leaks, [("train.val.parquet", vec!["validation"])]);
    let found = find(&["a.jsonl", "b.jsonl.gz", "c.parquet", "x.md"], None, None).unwrap();
    assert_eq!(
        (shape(&found).as_str(), &found.splits[0].dropped),
        ("train: a.jsonl b.jsonl.gz", &vec!["c.parquet".to_owned()])
    );
    assert_eq!(shape(&find(&["a.jsonl", "c.parquet"], None, None).unwrap()), "train: c.parquet");
    let error = find(&["train.jsonl", "test.parquet"], None, None).unwrap_err();
    assert!(error.why.contains("JSON") && error.why.contains("Parquet"), "{error}");
    assert!(find(&["a.png", "b.png", "c.jsonl"], None, None).unwrap_err().why.contains("pictures"));
    let names = [
        "data/train-00001-of-00004.parquet",
        "data/train-00003-of-00004-ab.parquet",
        "data/test-00000-of-00001.parquet",
    ];
    let found = find(&names, None, None).unwrap();
    let missing = found.splits[0].missing_shards();
    assert_eq!((missing[0].count, missing[0].all), (2, 4));
    assert_eq!(missing[0].first, ["data/train-00000-of-00004.parquet", "data/train-00002-of-00004.parquet"]);
    assert!(found.splits[1].missing_shards().is_empty());
}

const README: &str = "---\nlicense: mit\nconfigs:\n- config_name: first\n  data_files:\n  - split: train\n    path: first/*.parquet\n\
    - config_name: second\n  default: true\n  data_files:\n  - split: train\n    path:\n    - second/b.parquet\n    - second/a.parquet\n  \
    - split: extra.part\n    path: \"second/x*\"\n- config_name: third\n  data_dir: second/\n---\n# Words\n";

#[test]
fn dataset_card_defines_subsets_and_file_patterns() {
    let names = ["first/a.parquet", "second/x1.parquet", "second/b.parquet", "second/a.parquet", "second/x2.parquet"];
    let found = |subset| find(&names, Some(README), subset).map(|found| shape(&found));
    assert_eq!(
        found(None).unwrap(),
        "train: second/b.parquet second/a.parquet, extra.part: second/x1.parquet second/x2.parquet"
    );
    assert_eq!(found(Some("first")).unwrap(), "train: first/a.parquet");
    assert_eq!(
        found(Some("third")).unwrap(),
        "train: second/a.parquet second/b.parquet second/x1.parquet second/x2.parquet"
    );
    let error = found(Some("frist")).unwrap_err();
    assert!(error.hint.unwrap().starts_with("did you mean first? each subset: first, second, third"));
    assert!(find(&names[..2], Some(README), None).unwrap_err().why.contains("second/b.parquet"));
    let files = [("a.csv".to_owned(), 1), ("b.csv".to_owned(), 1)];
    let settings = "configs:\n- data_files: b.csv\n";
    let listing = FolderListing { files: &files, readme: Some(README), settings: Some(settings) };
    assert_eq!(shape(&find_splits(&listing, None).unwrap()), "train: b.csv");
    let several =
        "---\nconfigs:\n- config_name: a\n  data_files: [x.csv]\n- config_name: b\n  data_files: '*.csv'\n---\n";
    assert!(find(&["x.csv"], Some(several), None).unwrap_err().hint.unwrap().contains("a, b"));
}

#[test]
fn invalid_dataset_card_is_refused_with_the_reason() {
    for (yaml, why) in [
        ("configs: [", "README.md"),
        ("configs:\n- data_files: ../x.csv", "leads out"),
        ("configs:\n- data_dir: /etc", "leads out"),
        ("configs:\n- data_files: 'a**b.csv'", "alone between slashes"),
        ("configs:\n- config_name: a\n- config_name: a", "two subsets"),
        ("configs:\n- data_files:\n  - {split: a, path: x}\n  - {split: a, path: y}", "twice"),
        ("a: &x [1, 2]\nb: *x", "README.md, line 2: anchors and aliases are not read"),
        ("configs: 7", "README.md, line 2: a list is expected"),
        ("configs:\n- config_name: [a", "README.md, line 3: "),
    ] {
        let error = find(&["x.csv"], Some(&format!("---\n{yaml}\n---\n")), None).unwrap_err();
        assert!(error.to_string().contains(why), "{yaml}: {error}");
        assert!(!error.why.contains("at line"), "{yaml}: {error}");
    }
    let deep = format!("---\na: {}\n---\n", "[".repeat(100_000));
    assert!(find(&["x.csv"], Some(&deep), None).is_err());
    assert!(find(&["x.csv"], Some("no card --- here"), None).is_ok());
    assert!(find(&["x.csv"], Some("---\nnever: ended\n"), None).is_ok());
}

#[test]
fn slices_are_rows_and_percent_rounded_half_to_even() {
    let rows = |text: &str, all| parse_split(text).unwrap()[0].rows(all);
    for (text, all, wanted) in [
        ("train", 10, 0..10),
        ("train[2:6]", 10, 2..6),
        ("train[:40%]", 10, 0..4),
        ("train[-10%:]", 10, 9..10),
        ("train[-3:-1]", 10, 7..9),
        ("train[:50%]", 5, 0..2),
        ("train[50%:]", 7, 4..7),
        ("train[:50%]", 1, 0..0),
        ("train[5:99]", 10, 5..10),
        ("train[-99:2]", 10, 0..2),
        ("train[6:2]", 10, 6..6),
        ("train[:1_000]", 2_000, 0..1_000),
        ("train[:100%]", u64::MAX, 0..u64::MAX),
    ] {
        assert_eq!(rows(text, all), wanted, "{text} of {all}");
    }
    let parts = parse_split("train[:2] + test").unwrap();
    assert_eq!((parts[0].name.as_str(), parts[1].clone()), ("train", SplitPart::whole("test")));
    for text in
        ["", "train+", "[1:2]", "train[1]", "train[1:2", "train[a:]", "train[:101%]", "train[1:5%]", "train[::2]"]
    {
        assert!(parse_split(text).is_err(), "{text}");
    }
}
