//! Shards: parts in several places, files of macOS, keys of several samples.

use super::*;
use serde_json::json;

/// First bytes of a file that macOS adds.
const APPLE_DOUBLE: &[u8] = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        ";

/// Writes a tar of entries whose content is their name; entries that begin with `._` are AppleDouble files.
fn tar(sandbox: &Sandbox, path: &str, names: &[&str]) {
    let content = |name: &str| match name.rsplit('/').next().is_some_and(|last| last.starts_with("._")) {
        true => APPLE_DOUBLE.to_vec(),
        false => name.as_bytes().to_vec(),
    };
    let entries: Vec<_> = names.iter().map(|name| ((*name).to_owned(), content(name))).collect();
    sandbox.tar_of(path, &entries);
}

/// Returns the names and contents of the entries of a tar.
fn contents(sandbox: &Sandbox, path: &str) -> Vec<(String, Vec<u8>)> {
    let bytes = sandbox.read(path);
    let mut archive = tar::Archive::new(bytes.as_slice());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        (String::from_utf8_lossy(&entry.path_bytes()).into_owned(), content)
    });
    entries.collect()
}

/// Checks that nothing is published, and returns the error with its hint.
#[track_caller]
fn is_refused(sandbox: &Sandbox, folder: &str, ran: &RunOutput) -> String {
    let error = refused(sandbox, folder, ran);
    assert!(!error.contains("keep-first"), "{error}");
    error
}

/// The same, where keeping the first of several samples may be the hint.
#[track_caller]
fn refused(sandbox: &Sandbox, folder: &str, ran: &RunOutput) -> String {
    let report = ran.json("refused");
    assert_eq!(ran.code, 1, "{report:#}");
    assert!(!sandbox.has(&format!("{folder}/.nv-meta/.info.json")), "{report:#}");
    format!("{} {}", report["error"], report["errors"])
}

/// Returns the problems of `lint`, one per line.
fn lint(sandbox: &Sandbox, folder: &str) -> String {
    let ran = sandbox.say(&format!("lint {folder} --json"));
    let report = ran.json(if ran.code == 0 { "ok" } else { "problems" });
    entries(&report, "problem")
}

fn excludes(sandbox: &Sandbox, folder: &str) -> String {
    let text = sandbox.read(&format!("{folder}/.nv-meta/split.yaml"));
    String::from_utf8(text).unwrap().split("exclude:").nth(1).unwrap().trim().to_owned()
}

fn without_tables(sandbox: &Sandbox, folder: &str) {
    std::fs::remove_file(sandbox.path(&format!("{folder}/.nv-meta/index.sqlite"))).unwrap();
}

#[test]
fn scattered_samples_of_a_shard_are_refused_with_the_sort_hint() {
    let sandbox = case("T02");
    for flags in ["", "--duplicates keep-first", "--skip-sample-tables", "--dry-run"] {
        let error = is_refused(&sandbox, "unsorted", &prepare_with(&sandbox, "unsorted", flags));
        names(&error, &["pack.tar", "0000", "6 samples", "not next to each other", "tar --sort=name"]);
    }
    let report = is_clean(&prepare(&sandbox, "sorted"));
    assert_eq!(report["samples"], 6);
}

#[test]
fn lint_finds_parts_in_several_places_with_and_without_tables() {
    let sandbox = case("T02");
    let problems = lint(&sandbox, "prepared");
    names(&problems, &["scattered-sample", "pack.tar", "6 samples", "tar --sort=name"]);
    without_tables(&sandbox, "prepared");
    let problems = lint(&sandbox, "prepared");
    names(&problems, &["scattered-sample", "pack.tar", "6 samples"]);
    is_clean(&prepare_with(&sandbox, "sorted", "--skip-sample-tables"));
    assert_eq!(lint(&sandbox, "sorted"), "");
}

#[test]
fn sample_divided_between_two_shards_is_refused_with_both() {
    let sandbox = Sandbox::new();
    tar(&sandbox, "data/a.tar", &["0.jpg", "0.txt", "1.jpg"]);
    tar(&sandbox, "data/b.tar", &["1.txt", "2.jpg", "2.txt"]);
    for flags in ["", "--duplicates keep-first", "--skip-sample-tables"] {
        let error = is_refused(&sandbox, "data", &prepare_with(&sandbox, "data", flags));
        names(&error, &["'1'", "a.tar", "b.tar", "1 sample "]);
    }
    is_clean(&prepare_with(&sandbox, "data", "--exclude b.tar"));
}

#[test]
fn duplicates_with_common_parts_can_be_excluded_by_keep_first() {
    let sandbox = Sandbox::new();
    tar(&sandbox, "data/a.tar", &["0.jpg", "0.txt", "1.jpg", "1.txt"]);
    tar(&sandbox, "data/b.tar", &["1.jpg", "1.json", "2.txt", "1.txt"]);
    let ran = prepare(&sandbox, "data");
    let report = ran.json("refused");
    names(&report.to_string(), &["'1'", "--duplicates keep-first"]);
    let report = prepare_with(&sandbox, "data", "--duplicates keep-first").json("problems");
    assert!(!report.to_string().contains("scattered-sample"), "{report:#}");
    assert_eq!(lint(&sandbox, "data"), "");
}

#[test]
fn scattered_sample_among_many_duplicates_is_found() {
    let sandbox = Sandbox::new();
    let copies: Vec<String> = (0..1500).map(|n| format!("k{n:04}.txt")).collect();
    let mut first: Vec<&str> = copies.iter().map(String::as_str).collect();
    let mut second = first.clone();
    first.push("z.jpg");
    second.push("z.txt");
    tar(&sandbox, "data/a.tar", &first);
    tar(&sandbox, "data/b.tar", &second);
    let error = is_refused(&sandbox, "data", &prepare_with(&sandbox, "data", "--duplicates keep-first"));
    names(&error, &["'z'", "1 sample "]);
}

#[test]
fn apple_double_files_between_parts_are_named() {
    let sandbox = case("T05");
    for flags in ["", "--duplicates keep-first", "--skip-sample-tables", "--dry-run"] {
        let error = is_refused(&sandbox, "folder", &prepare_with(&sandbox, "folder", flags));
        names(&error, &["mac.tar", "AppleDouble", "._", "COPYFILE_DISABLE=1"]);
    }
    let report = is_clean(&prepare(&sandbox, "top"));
    assert_eq!(report["samples"], 3);
    assert_eq!(lint(&sandbox, "top"), "");
}

#[test]
fn lint_finds_apple_double_files_with_and_without_tables() {
    let sandbox = case("T05");
    for _ in 0..2 {
        let problems = lint(&sandbox, "prepared");
        names(&problems, &["apple-double", "mac.tar", "COPYFILE_DISABLE=1"]);
        assert_eq!(problems.lines().count(), 1, "{problems}");
        if sandbox.has("prepared/.nv-meta/index.sqlite") {
            without_tables(&sandbox, "prepared");
        }
    }
}

#[test]
fn apple_double_files_between_whole_samples_are_excluded_with_a_note() {
    let sandbox = Sandbox::new();
    tar(&sandbox, "data/a.tar", &["d/._0.jpg", "d/0.jpg", "d/._1.jpg", "d/1.jpg"]);
    tar(&sandbox, "data/b.tar", &["d/2.jpg", "d/3.jpg", "d/._2.jpg", "d/._3.jpg"]);
    let report = is_clean(&prepare(&sandbox, "data"));
    names(&entries(&report, "note"), &["apple-double", "a.tar", "b.tar", "d/._0.jpg", "2 AppleDouble files"]);
    assert_eq!(excludes(&sandbox, "data"), "- a.tar/d/\n- b.tar/d/");
    assert_eq!(sandbox.read("data/a.tar.idx").len(), 8 * 5);
    for command in ["lint", "verify"] {
        let report = sandbox.say(&format!("{command} data --json")).json("ok");
        assert_eq!(entries(&report, "problem"), "", "{command}");
    }

    // Without the exclude they are samples, which `lint` reports.
    let yaml = "data/.nv-meta/split.yaml";
    let text = String::from_utf8(sandbox.read(yaml)).unwrap();
    sandbox.write(yaml, text.replace("- b.tar/d/\n", "").replace("- b.tar/d/", ""));
    names(&lint(&sandbox, "data"), &["apple-double", "b.tar/d/", "--exclude-sample"]);

    // After the shards are packed again without these files, the exclude is removed.
    tar(&sandbox, "data/a.tar", &["d/0.jpg", "d/1.jpg"]);
    tar(&sandbox, "data/b.tar", &["d/2.jpg", "d/3.jpg"]);
    is_clean(&sandbox.say("prepare data --yes --json --update"));
    assert!(!excludes(&sandbox, "data").contains("a.tar"), "{}", excludes(&sandbox, "data"));
}

#[test]
fn names_like_those_of_macos_with_other_content_are_parts() {
    let sandbox = Sandbox::new();
    sandbox.tar_of("data/a.tar", &[("d/._0.jpg".into(), b"text".to_vec()), ("d/0.jpg".into(), b"text".to_vec())]);
    let report = is_clean(&prepare(&sandbox, "data"));
    assert_eq!(entries(&report, "note"), "", "{report:#}");
    assert_eq!(excludes(&sandbox, "data"), "[]");
}

#[test]
fn fix_duplicates_puts_the_names_of_shards_before_keys() {
    let sandbox = case("T03");
    let line =
        "energon prepare . --json --non-interactive --fix-duplicates --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    let error = refused(&sandbox, ".", &sandbox.say(&line.replace(" --fix-duplicates", "")));
    names(&error, &["image", "img_0.tar", "img_1.tar", "--duplicates prefix", "--fix-duplicates"]);
    let before = contents(&sandbox, "img_1.tar");
    let report = is_clean(&sandbox.say(line));
    assert_eq!(report["samples"], json!(4));
    let expected: Vec<_> = before.into_iter().map(|(name, bytes)| (format!("img_1.tar/{name}"), bytes)).collect();
    assert_eq!(contents(&sandbox, "img_1.tar"), expected);
    for command in ["lint", "verify"] {
        assert_eq!(entries(&sandbox.say(&format!("{command} . --json")).json("ok"), "problem"), "", "{command}");
    }
    // No key is repeated now, so no shard is written again.
    let shard = sandbox.read("img_1.tar");
    is_clean(&sandbox.say(&format!("{line} --force-overwrite")));
    assert!(sandbox.read("img_1.tar") == shard);
    assert!(!sandbox.has(".nv-meta/gristmill/work"));
}

#[test]
fn fix_duplicates_keeps_excludes_and_refuses_unresolvable_duplicates() {
    let sandbox = Sandbox::new();
    let fix = "energon prepare data --non-interactive --fix-duplicates --force-overwrite --split-ratio 1,0,0";
    tar(&sandbox, "data/a.tar", &["k.txt", "l.txt"]);
    tar(&sandbox, "data/x/b.tar", &["m.txt", "n.txt"]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --skip-dataset-yaml --exclude-sample x/b.tar/n").ends(0);
    tar(&sandbox, "data/x/b.tar", &["k.txt", "n.txt"]);
    sandbox.say(&format!("{fix} --dry-run")).ends(0).says("all are replaced by copies with other names");
    sandbox.say(fix).ends(0).complains("1 key was in several shards");
    assert_eq!(excludes(&sandbox, "data"), "- x/b.tar/x/b.tar/n");

    // A key that occurs twice in one shard.
    tar(&sandbox, "data/a.tar", &["k.txt", "l.txt", "k.txt"]);
    tar(&sandbox, "data/x/b.tar", &["k.txt"]);
    let before = sandbox.read("data/x/b.tar");
    sandbox.say(fix).ends(1).complains("--duplicates merge");
    assert!(sandbox.read("data/x/b.tar") == before);

    // A truncated shard.
    tar(&sandbox, "data/a.tar", &["k.txt", "l.txt"]);
    tar(&sandbox, "data/x/b.tar", &["k.txt", "n.txt"]);
    let whole = sandbox.read("data/x/b.tar");
    sandbox.write("data/x/b.tar", &whole[..1_636]);
    sandbox.say(fix).ends(1).complains("x/b.tar").complains("--duplicates prefix");
    assert_eq!(sandbox.read("data/x/b.tar").len(), 1_636);
}

#[test]
fn fix_duplicates_replaces_media_rows_and_no_links() {
    let sandbox = Sandbox::new();
    for shard in ["a.tar", "b.tar"] {
        sandbox.tar_of(&format!("files/{shard}"), &[("k.png".to_owned(), Sandbox::png(4, 2))]);
    }
    std::fs::create_dir(sandbox.path("data")).unwrap();
    std::fs::copy(sandbox.path("files/a.tar"), sandbox.path("data/a.tar")).unwrap();
    std::os::unix::fs::symlink("../files/b.tar", sandbox.path("data/b.tar")).unwrap();
    let fix = "--non-interactive --fix-duplicates --force-overwrite --split-ratio 1,0,0";
    let refusal = sandbox.say(&format!("energon prepare data {fix}")).ends(1);
    refusal.complains("this one is a link").complains("--duplicates prefix");
    assert!(sandbox.read("data/a.tar") == sandbox.read("files/a.tar") && !sandbox.has("data/.nv-meta/.info.json"));

    let media = "--skip-dataset-yaml --split-ratio 1,0,0 --media-metadata-by-extension";
    sandbox.say(&format!("prepare files --yes --duplicates keep-first {media}")).ends(1);
    let rows = || sandbox.media_rows("files").into_iter().map(|(entry, _)| entry).collect::<Vec<_>>();
    assert_eq!(rows(), ["k.png"]);
    sandbox.say(&format!("energon prepare files {fix} --media-metadata-by-extension")).ends(0);
    assert_eq!(rows(), ["a.tar/k.png", "b.tar/k.png"]);
}
