//! Names that a terminal, a shell, a YAML reader or a UTF-8 decoder could misinterpret.

use super::sandbox::{indexed_parts, is_dangerous, keys, shard_counts, split_yaml, splits, Sandbox};
use super::tars::{archive, content, entry, pax_entry, sample, samples};
use crate::support::put;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn non_utf8_entry_names_are_in_the_tar_index_only() {
    let sandbox = Sandbox::new();
    let pieces =
        [sample("k0"), entry(b"k\xff1.txt", b"one"), entry(b"k2.\xfe", b"part"), entry(b"k2.txt", b"t"), sample("k3")];
    put(&sandbox.at("a.tar"), &archive(&pieces));
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    let problem = &ran.problems("entry-name-not-utf8")[0];
    assert_eq!(problem["subject"]["shard"], "a.tar");
    let shown: String = ran.problems("entry-name-not-utf8").iter().map(ToString::to_string).collect();
    assert!(shown.contains("xff"), "the bytes are shown: {shown}");
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 4)]);
    assert_eq!(keys(&sandbox.data(), "a.tar"), ["k0", "k2", "k3"]);
    let parts = indexed_parts(&sandbox.data());
    let place = |key: &str| ("a.tar".to_owned(), key.to_owned(), "txt".to_owned());
    assert_eq!((parts[&place("k2")].as_slice(), &parts[&place("k3")]), (b"t".as_slice(), &content("k3", "txt")));
}

#[test]
fn shard_with_non_utf8_name_is_skipped_and_reported() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("a", 2)));
    put(&sandbox.at(OsStr::from_bytes(b"b\xff\x1b[31m.tar")), &archive(&samples("b", 2)));
    put(&sandbox.at(OsStr::from_bytes(b"f\xfe/c.tar")), &archive(&samples("c", 2)));
    let ran = sandbox.prepare(&[]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(ran.problems("shard-name-not-utf8").len(), 2, "{ran}");
    assert!(ran.problems("shard-name-not-utf8").iter().all(|p| p["hint"].as_str().unwrap().contains("rename")));
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 2)]);
    assert_eq!(sandbox.prepare_in_words(&["--force-overwrite"]).code, 1);
}

#[test]
fn folder_with_non_utf8_name_is_a_usage_error_with_a_hint() {
    let sandbox = Sandbox::new();
    let folder = sandbox.at(OsStr::from_bytes(b"d\xff"));
    put(&folder.join("a.tar"), &archive(&samples("a", 2)));
    let rest = ["--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"];
    let args: Vec<&OsStr> =
        [OsStr::new("prepare"), folder.as_os_str()].into_iter().chain(rest.iter().map(OsStr::new)).collect();
    let ran = sandbox.run(&args);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.err.contains("UTF-8") && ran.err.contains("hint:") && !folder.join(".nv-meta").exists(), "{ran}");
    let mut inside = sandbox.command(Sandbox::prepare_args(&[]));
    let ran = super::sandbox::ended(inside.current_dir(&folder).spawn().unwrap());
    assert_eq!(ran.code, 0, "the hint works: {ran}");
}

/// Unusual names of regular shards; the index and the splits must contain them in a form that can be read back.
const ODD_SHARDS: [&str; 12] = [
    "with space.tar",
    " leading and trailing .tar",
    "-leading-dash.tar",
    "--yes.tar",
    "br{a,b}ce.tar",
    "range{0..3}.tar",
    "open{brace.tar",
    "back\\slash.tar",
    "new\nline.tar",
    "quote'\"quote.tar",
    "# comment: [x] & *y.tar",
    "umlaut äöü 日本語 🦀.tar",
];

#[test]
fn unusual_shard_names_are_indexed_or_reported() {
    let sandbox = Sandbox::new();
    for (number, name) in ODD_SHARDS.iter().enumerate() {
        put(&sandbox.at(name), &archive(&samples(&format!("s{number}_"), 2)));
    }
    let ran = sandbox.prepare(&["--split-ratio", "1,0,0"]);
    assert!(ran.code <= 1, "{ran}");
    let left_out: Vec<String> = ran
        .problems("shard-name-braces")
        .iter()
        .filter(|problem| problem["severity"] == "problem")
        .map(|problem| problem["subject"]["shard"].as_str().unwrap().to_owned())
        .collect();
    let indexed: Vec<String> = shard_counts(&sandbox.data()).into_iter().map(|(name, _)| name).collect();
    let train = splits(&sandbox.data())[0].1.clone();
    for name in ODD_SHARDS {
        assert!(indexed.contains(&name.to_owned()), "{name:?} is not indexed: {indexed:?}");
        let reachable = train.contains(&name.to_owned());
        assert!(reachable || left_out.contains(&name.to_owned()), "{name:?} got lost: {}", split_yaml(&sandbox.data()));
    }
    assert_eq!(ran.code, i32::from(!left_out.is_empty()), "{ran}");
    assert_eq!(indexed_parts(&sandbox.data()).len(), ODD_SHARDS.len() * 4);
    // Every command reads the written files.
    for command in ["info", "lint", "verify"] {
        let ran = sandbox.run([command, "."]);
        assert!(ran.code <= i32::from(!left_out.is_empty()), "{command}: {ran}");
    }
    assert_eq!(sandbox.prepare(&["--split-ratio", "1,0,0"]).json()["nothing_to_do"], true);
}

#[test]
fn folder_name_with_leading_dash_is_escaped_in_the_printed_command() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("-rf/a.tar"), &archive(&samples("a", 2)));
    for path in ["./-rf", "-rf"] {
        let rest = ["--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset", "--", path];
        let ran = sandbox.run(["prepare"].into_iter().chain(rest));
        assert_eq!(ran.code, if path == "./-rf" { 0 } else { ran.code }, "{ran}");
        let command = ran.out.lines().find(|line| line.contains("gristmill prepare")).unwrap_or_default().to_owned();
        assert!(!command.contains("prepare -rf"), "the printed command would read it as flags: {command}");
    }
}

/// Returns a name with all kinds of characters that a terminal interprets or cannot show.
fn evil(tail: &str) -> String {
    format!("e\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{200b}\u{feff}\u{2066}\u{e0041}\r\u{8}\u{7f}{tail}")
}

#[test]
fn terminal_escapes_in_names_are_never_printed() {
    let sandbox = Sandbox::new();
    let shard = evil("x.tar");
    // Damaged and duplicate samples, so that the names are printed in problems and excludes.
    let key = evil("k");
    let name = format!("{key}.{}", evil("part"));
    let pieces = [
        pax_entry(&[("path", name.as_bytes())], b"p", b"one"),
        pax_entry(&[("path", format!("{key}.txt").as_bytes())], b"p", b"two"),
        pax_entry(&[("path", evil("unnamed").as_bytes())], b"p", b"two"),
        sample("good"),
    ];
    let mut bytes = archive(&pieces);
    let at = bytes.len() - 1024 - 2048;
    bytes[at + 2] ^= 1;
    put(&sandbox.at(&shard), &bytes);
    put(&sandbox.at(evil("cut.tar")), &archive(&samples("c", 2))[..3000]);
    std::fs::create_dir(sandbox.at(evil("folder.tar"))).unwrap();
    // Each of these runs checks its output for raw control and invisible characters.
    let first = sandbox.prepare_in_words(&["-v"]);
    assert_eq!(first.code, 1, "{first}");
    assert!(first.err.contains('␛') && first.err.contains("<U+202E>"), "{first}");
    let overwritten = sandbox.prepare(&["--force-overwrite", "-v"]);
    assert_eq!(overwritten.code, 1, "{overwritten}");
    let named: Vec<serde_json::Value> = overwritten.problems("not-a-file");
    assert_eq!(named[0]["subject"]["shard"], evil("folder.tar"), "a JSON reader gets the true name");
    for args in [
        vec!["info", "."],
        vec!["info", ".", "--json"],
        vec!["lint", "."],
        vec!["lint", ".", "--json"],
        vec!["verify", "."],
        vec!["doctor", "."],
        vec!["jobs", "."],
        vec!["energon", "info", "."],
    ] {
        let ran = sandbox.run(&args);
        assert!((0..=3).contains(&ran.code), "{args:?}: {ran}");
    }
    assert!(split_yaml(&sandbox.data()).chars().all(|c| c == '\n' || !is_dangerous(c)), "nothing raw in split.yaml");
}

#[test]
fn names_with_terminal_escapes_in_arguments_are_shown_safely() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("a", 2)));
    let evil = evil("x");
    for args in [
        vec!["prepare", evil.as_str(), "--yes"],
        vec!["prepare", ".", "--yes", "--split-ratio", evil.as_str()],
        vec!["prepare", ".", "--yes", evil.as_str(), evil.as_str()],
        vec!["prepare", ".", "--yes", "--split-parts", evil.as_str()],
        vec!["prepare", ".", "--yes", "--split-ratio", "1,1,1", "--exclude", evil.as_str(), "--skip-dataset-yaml"],
        vec!["prepare", ".", "--yes", "--split-ratio", "1,1,1", "--sample-type", evil.as_str()],
        vec!["prepare", ".", "--yes", "--splits-from", evil.as_str(), "--skip-dataset-yaml"],
        vec![evil.as_str()],
        vec!["run", evil.as_str()],
        vec!["info", evil.as_str(), "--json"],
        vec!["man", evil.as_str()],
        vec!["completions", evil.as_str()],
        vec!["--threads", evil.as_str(), "keys"],
        vec!["--memory", evil.as_str(), "keys", "--json"],
    ] {
        let ran = sandbox.run(&args);
        assert!((1..=3).contains(&ran.code), "{args:?}: {ran}");
        assert!(ran.err.contains("error"), "{ran}");
    }
}

#[test]
fn keys_with_yaml_or_brace_characters_are_excluded_exactly() {
    let sandbox = Sandbox::new();
    let awkward = ["{a,b}", "no", "1:30", "a b", "'q'", "x{0,3}y", "null", "\\", "é"];
    let mut pieces: Vec<Vec<u8>> = awkward.iter().map(|key| sample(key)).collect();
    pieces.push(sample("good"));
    put(&sandbox.at("s.tar"), &archive(&pieces));
    let items: Vec<String> =
        awkward.iter().map(|key| gristmill_ops::engine::outputs::exclude_item("s.tar", Some(key))).collect();
    let mut flags = Vec::new();
    for item in &items {
        flags.extend(["--exclude-sample", item.as_str()]);
    }
    let ran = sandbox.prepare(&flags);
    assert_eq!(ran.code, 0, "{ran}");
    let written = super::sandbox::excludes(&sandbox.data());
    let wanted: Vec<String> = awkward.iter().map(|key| format!("s.tar/{key}")).collect();
    assert_eq!(written, wanted, "{}", split_yaml(&sandbox.data()));
}
