//! Prompts and views of samples: names, types, copies of a prepared set, a home that is not writable.

use super::super::cli_prompts::Dialogue;
use super::*;

/// One entry of an archive: pax records before it, its name, type and content.
struct Entry<'a> {
    records: &'a [(&'a str, &'a str)],
    name: &'a str,
    entry_type: tar::EntryType,
    link: &'a str,
    content: &'a [u8],
}

impl<'a> Entry<'a> {
    fn file(name: &'a str, content: &'a [u8]) -> Self {
        Self { records: &[], name, entry_type: tar::EntryType::Regular, link: "", content }
    }
}

/// Returns an archive of these entries.
fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        builder.append_pax_extensions(entry.records.iter().map(|(key, value)| (*key, value.as_bytes()))).unwrap();
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(entry.entry_type);
        header.set_size(entry.content.len() as u64);
        header.set_mode(0o644);
        if entry.link.is_empty() {
            builder.append_data(&mut header, entry.name, entry.content).unwrap();
        } else {
            builder.append_link(&mut header, entry.name, entry.link).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

/// Checks that `prepare`, `lint` and `verify` of `folder` report a problem of this kind with these words, and that the set is published.
#[track_caller]
fn is_reported_by_all(sandbox: &Sandbox, folder: &str, kind: &str, words: &[&str]) {
    let command = |name: &str| sandbox.say(&format!("{name} {folder} --json"));
    for ran in [prepare(sandbox, folder), command("lint"), command("verify")] {
        let report = ran.json("problems");
        assert_eq!(ran.code, 1, "{report:#}");
        let found = entries(&report, "problem");
        assert_eq!(found.matches(&format!("\"kind\":\"{kind}\"")).count(), 1, "{found}");
        names(&found, words);
    }
    assert!(sandbox.has(&format!("{folder}/.nv-meta/.info.json")));
}

#[test]
fn sparse_entries_are_reported_by_prepare_lint_and_verify() {
    let sandbox = case("T06");
    for folder in ["gnu", "pax"] {
        is_reported_by_all(&sandbox, folder, "sparse-entry", &["s.tar", "3 parts", "without -S"]);
    }
    is_clean(&prepare(&sandbox, "plain"));
    is_clean(&sandbox.say("lint plain --json"));
}

#[test]
fn older_pax_formats_of_sparse_entries_are_reported() {
    let sandbox = Sandbox::new();
    let content = [b'x'; 512];
    let size = [("GNU.sparse.size", "4096"), ("GNU.sparse.numblocks", "1")];
    let of_0_0 = [&size[..], &[("GNU.sparse.offset", "512"), ("GNU.sparse.numbytes", "512")]].concat();
    let of_0_1 = [&size[..], &[("GNU.sparse.name", "0001.npy"), ("GNU.sparse.map", "512,512")]].concat();
    for (folder, records) in [("old", &of_0_0), ("newer", &of_0_1)] {
        let sparse = Entry { records, ..Entry::file("0001.npy", &content) };
        let shard = archive(&[Entry::file("0000.npy", &content), sparse, Entry::file("0002.npy", &content)]);
        sandbox.write(&format!("{folder}/s.tar"), shard);
        is_reported_by_all(&sandbox, folder, "sparse-entry", &["s.tar", "1 part is", "'0001.npy'"]);
    }
}

#[test]
fn linked_parts_are_reported_and_harmless_links_are_not() {
    let sandbox = case("T07");
    let words = ["2 parts are links", "'0002.jpg'", "'0003.jpg'", "--hard-dereference"];
    is_reported_by_all(&sandbox, "links", "linked-part", &words);
    assert!(sandbox.text("links/.nv-meta/.info.json").contains(": 4"));
    let report = is_clean(&prepare(&sandbox, "harmless"));
    assert!(!report.to_string().contains("linked-part"), "{report:#}");
    is_clean(&sandbox.say("lint harmless --json"));
}

#[test]
fn links_before_the_first_sample_and_many_links_are_reported() {
    let sandbox = Sandbox::new();
    let link = |name| Entry { entry_type: tar::EntryType::Symlink, link: "x.jpg", ..Entry::file(name, b"") };
    let mut all: Vec<Entry<'_>> = ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"].map(link).into();
    all.push(Entry::file("z.txt", b"z"));
    sandbox.write("data/s.tar", archive(&all));
    is_reported_by_all(&sandbox, "data", "linked-part", &["5 parts are links", "'a.jpg'", "and 2 more"]);
}

#[test]
fn files_that_look_like_shards_and_are_not_read_are_reported() {
    let sandbox = case("N01");
    let words = ["b.tar.gz", "C.TAR", "e.tar.zst", "b.tgz", "--tgz rewrite", "C.tar"];
    let ran = prepare(&sandbox, ".");
    let report = ran.json("problems");
    let found = entries(&report, "problem");
    assert_eq!((ran.code, found.matches("unread-shard").count()), (1, 3), "{found}");
    names(&found, &words);
    assert!(sandbox.text(".nv-meta/.info.json").contains("a.tar"));
    names(&entries(&sandbox.say("lint . --json").json("problems"), "problem"), &words);
    assert_eq!(prepare_with(&sandbox, ".", "--problems-ok").code, 0, "the same run again");
    let left_out = r"--force-overwrite --exclude \.tar\.gz$|TAR$|zst$";
    is_clean(&prepare_with(&sandbox, ".", left_out));
    is_clean(&sandbox.say("lint . --json"));
}

#[test]
fn unread_compressions_and_capital_suffixes_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1"]);
    let unread = ["b.tar.bz2", "c.tar.xz", "D.TAR.GZ", "E.TGZ", "sub/f.Tar", "g.TAR.XZ", "h.tbz2", "i.tar.lz4"];
    let companions =
        ["a.tar.md5", "a.tar.json", "a.tar.gz.md5", "a.tar.idx2", "tar", "gz", "tar.txt", ".x.tar.gz", ".h/y.TAR"];
    for name in unread.iter().chain(&companions) {
        sandbox.write(&format!("data/{name}"), b"x");
    }
    std::fs::create_dir(sandbox.path("data/folder.tar.gz")).unwrap();
    let found = entries(&prepare(&sandbox, "data").json("problems"), "problem");
    assert_eq!(found.matches("unread-shard").count(), unread.len(), "{found}");
    names(&found, &unread);
    for name in companions {
        assert!(!found.contains(&format!("\"{name}\"")), "{name}: {found}");
    }
}

#[test]
fn folder_of_only_unread_shards_is_refused_with_their_names() {
    let sandbox = Sandbox::new();
    sandbox.write("data/b.tar.gz", b"x");
    sandbox.write("data/C.TAR", b"x");
    let ran = prepare(&sandbox, "data");
    assert!(matches!(ran.code, 1 | 2), "{}", ran.out);
    names(&ran.out, &["b.tar.gz", "C.TAR", "look like shards"]);
    assert!(!sandbox.has("data/.nv-meta/.info.json"));
}

#[test]
fn names_that_are_cut_at_a_dot_are_reported() {
    let sandbox = case("T01");
    let report = is_clean(&prepare(&sandbox, "."));
    let found = entries(&report, "note");
    assert_eq!(found.matches("cut-name").count(), 1, "{found}");
    names(&found, &["'0 (Clean Version).mp3'", "first dot"]);
    let printed = case("T01").say("prepare . --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    printed.complains("first dot");
}

#[test]
fn names_with_dots_that_mean_parts_are_not_reported() {
    let cut = |files: &[&str]| {
        let sandbox = Sandbox::new();
        let files: Vec<_> = files.iter().map(|name| ((*name).to_owned(), b"{}".to_vec())).collect();
        sandbox.tar_of("data/s.tar", &files);
        let report = prepare(&sandbox, "data").json("ok");
        entries(&report, "note").contains("cut-name")
    };
    assert!(!cut(&["1.img.left.png", "1.img.right.png", "1.a.json", "2.img.left.png", "2.img.right.png", "2.a.json"]));
    assert!(!cut(&["1.0.jpg", "1.1.jpg", "1.2.jpg", "2.0.jpg", "2.1.jpg", "2.2.jpg", "3.0.jpg"]));
    assert!(!cut(&["1.info.json", "1.txt", "2.txt", "3.mask.png", "3.txt"]), "a part missing now and then");
    assert!(!cut(&["1.json.gz", "1.txt.gz", "2.csv.gz", "2.npy.zst"]), "packed parts");
    assert!(cut(&["v1.0 a.txt", "v1.0 b.txt"]), "blanks");
    assert!(cut(&["x/1.01.txt", "x/2.02.txt", "x/3.03.txt", "x/4.04.txt"]), "dots of numbers");
}

#[test]
fn shares_of_several_parts_count_samples_that_have_all_of_them() {
    let sandbox = case("T21");
    let mut dialogue = Dialogue::start(&sandbox, "prepare . --plain --split-ratio 1,0,0", "xterm");
    dialogue.expect("Leave out shards").answer("");
    dialogue.expect("Exclude one sample").answer("");
    dialogue.expect("Which class does the trainer use for a sample?").expect("Number");
    let text = dialogue.text();
    let first = text.lines().find(|line| line.trim_start().starts_with("1  ")).unwrap_or_default();
    assert!(first.contains("ImageSample") && first.contains("jpg in 50.0 % of samples"), "{text}");
    assert!(!text.contains("jpg + txt in"), "{text}");
    assert!(text.contains("CaptioningSample"), "it can still be chosen: {text}");
}

/// Runs the program as a user without a home folder, and without the variables that name other folders.
fn say_without_home(sandbox: &Sandbox, line: &str) -> RunOutput {
    let mut command = sandbox.command(line.split_whitespace());
    for name in ["TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    let output = command.env("HOME", "/proc/none").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    RunOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn read_only_home_folder_does_not_prevent_commands() {
    let sandbox = case("X02");
    let answers = "--yes --json --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    is_clean(&say_without_home(&sandbox, &format!("prepare . {answers} --dry-run")));
    assert!(!sandbox.has(".nv-meta"));
    is_clean(&say_without_home(&sandbox, &format!("prepare . {answers}")));
    assert!(sandbox.has(".nv-meta/.info.json"));
    sandbox.write("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n");
    sandbox.write("m.yaml", "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    path: .\n");
    for line in [
        "lint . --json",
        "verify . --json",
        "info . --json",
        "browse . --json",
        "browse a.jsonl --json",
        "prepare a.jsonl --yes --json",
        "splits check . --json",
        "mix check m.yaml --json",
        "dedup . --minlen 50 --output OUT --json --yes",
        "jobs --json",
        "doctor --json",
    ] {
        let ran = say_without_home(&sandbox, line);
        assert!(ran.code != 3, "{line}: {}\n{}", ran.out, ran.err);
    }
    let ran = say_without_home(&sandbox, &format!("prepare . {answers} --force-overwrite --scratch /proc/none"));
    ran.ends(3);
}

#[test]
fn drop_in_commands_keep_the_exit_code_of_the_reference_program() {
    let answers = "--non-interactive --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    for (id, folder, word) in [("N01", ".", "b.tar.gz"), ("T06", "gnu", "sparse"), ("T07", "links", "0002.jpg")] {
        let ran = case(id).say(&format!("energon prepare {folder} {answers}")).ends(0);
        names(&ran.err, &[word]);
    }
    let sandbox = Sandbox::new();
    sandbox.write("data/b.tar.gz", b"x");
    sandbox.say(&format!("energon prepare data {answers}")).ends(0).complains("b.tar.gz");
    assert!(!sandbox.has("data/.nv-meta"));
}
