//! Bad input of each kind: unusable records and files are copied, counted and reported, and never affect their neighbours.

use super::*;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::Duration;

/// Longer than the minimum length in these tests.
const PASSAGE: &str = "a passage that comes twice, or more often than that";

fn dedup(sandbox: &Sandbox, more: &str) -> RunOutput {
    sandbox.say(&format!("dedup data --output out --minlen 20 {more}"))
}

#[test]
fn invalid_line_is_copied_and_reported_by_dedup() {
    let cases: [(&str, &[u8]); 12] = [
        ("no text", b"{\"other\": 1}"),
        ("null", b"{\"text\": null, \"id\":1}"),
        ("a number", b"{\"text\": 7}"),
        ("a list", b"{\"text\": [\"a passage that comes twice, or more often than that\"]}"),
        ("no JSON", b"{\"text\": \"a passage that comes twice"),
        ("two values", b"{\"text\": \"a\"} {}"),
        ("no object", b"[1]"),
        ("no UTF-8", b"{\"text\": \"\xff\xfe a passage that comes twice, or more often than that\"}"),
        ("a byte-order mark", b"\xef\xbb\xbf{\"text\": \"a\"}"),
        ("a lone surrogate", b"{\"text\": \"\\ud800 a passage that comes twice, or more often than that\"}"),
        ("the other half", b"{\"text\": \"\\udc00\"}"),
        ("a raw NUL", b"{\"text\": \"\0\"}"),
    ];
    for (name, line) in cases {
        let sandbox = Sandbox::new();
        let mut data = jsonl([PASSAGE]);
        data.extend_from_slice(line);
        data.push(b'\n');
        data.extend(jsonl([PASSAGE]));
        sandbox.write("data/a.jsonl", data);
        let result = dedup(&sandbox, "--json").ends(1).json("problems");
        assert_eq!(result["totals"]["copied_lines"], 1, "{name}");
        assert_eq!(result["totals"]["documents"], 2, "{name}");
        assert_eq!(result["problems"][0]["subject"]["line"], 2, "{name}: {}", result["problems"]);
        let out = sandbox.read("out/a.jsonl");
        let lines: Vec<&[u8]> = out.split(|byte| *byte == b'\n').collect();
        assert_eq!(lines.len(), 4, "{name}");
        assert_eq!(lines[1], line, "{name}");
        assert!(lines[2].starts_with(b"{\"text\": \"\", "), "{name}: the copy after it is found");
        dedup(&sandbox, "--force-overwrite --problems-ok").ends(0);
        dedup(&sandbox, "--force-overwrite --strict").ends(1).complains("a.jsonl");
    }
}

#[test]
fn blank_lines_are_left_out_and_noted() {
    let sandbox = Sandbox::new();
    let mut data = b"\n \t\r\n".to_vec();
    data.extend(jsonl([PASSAGE, PASSAGE]));
    data.extend(b"\n\n");
    sandbox.write("data/a.jsonl", data);
    sandbox.write("data/empty.jsonl", "");
    sandbox.write("data/blank.jsonl", "\n\n");
    let result = dedup(&sandbox, "--json").ends(0).json("ok");
    assert_eq!(result["problems"].as_array().unwrap().len(), 2, "{}", result["problems"]);
    assert_eq!(texts_of(&sandbox.read("out/a.jsonl")), [PASSAGE, ""]);
    assert!(!sandbox.has("out/empty.jsonl") && !sandbox.has("out/blank.jsonl"), "no documents, no output");
    assert_eq!(result["per_file"][1]["output_bytes"], Value::Null);
    dedup(&sandbox, "").ends(0).says("Nothing to do");
}

#[test]
fn lines_longer_than_the_buffer_are_deduplicated() {
    // Longer than the part of a line that is in memory: blanks, and the same line again.
    let long = " ".repeat(9 << 20);
    for packed in [false, true] {
        let sandbox = Sandbox::new();
        let data = jsonl([long.as_str(), "short", &long]);
        match packed {
            true => sandbox.write("data/a.jsonl.gz", gzip(&data)),
            false => sandbox.write("data/a.jsonl", data),
        }
        dedup(&sandbox, "--memory 16M").ends(0);
        let out = unpacked(&sandbox.path("out"));
        let texts = texts_of(out.values().next().unwrap());
        assert_eq!(texts, [" ", "short", ""], "of a run one period stays");
        let mut left: Vec<_> =
            std::fs::read_dir(sandbox.path("out.gristmill")).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["plan.yaml", "ranges", "report.json"]);
    }
}

#[test]
fn periodic_text_keeps_its_first_period() {
    for period in [1, 2, 499, 501, 1_000] {
        let one: String = some_texts(40).concat().chars().take(period).collect();
        let text = one.repeat(400_000 / period);
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl", jsonl([&text]));
        sandbox.say("dedup data --output out --minlen 500 --memory 16M").ends(0);
        let out = texts_of(&sandbox.read("out/a.jsonl"));
        assert_eq!(out, [one], "period {period}");
    }
}

#[test]
fn frequent_boilerplate_and_document_copies_are_deduplicated() {
    let sandbox = Sandbox::new();
    let boilerplate = some_texts(30).concat().chars().take(600).collect::<String>();
    let texts: Vec<String> =
        (0..5_000).map(|number| format!("{number:x} {boilerplate} {:x}", number * 7_919)).collect();
    sandbox.write("data/a.jsonl", jsonl(&texts));
    sandbox.write("data/b.jsonl", jsonl(vec![texts[0].as_str(); 5_000]));
    let result = sandbox.say("dedup data --output out --minlen 500 --json --memory 16M").ends(0).json("ok");
    let kept = texts_of(&sandbox.read("out/a.jsonl"));
    assert_eq!(kept[0], texts[0]);
    let all: Vec<String> = texts.iter().cloned().chain(vec![texts[0].clone(); 5_000]).collect();
    let wanted = slowly(&all[..200], 500);
    assert_eq!(kept[..200], wanted[..]);
    assert!(texts_of(&sandbox.read("out/b.jsonl")).iter().all(String::is_empty));
    assert!(result["passages"][0]["count"].as_u64().unwrap() >= 5_000, "{}", result["passages"][0]);
    assert_eq!(result["totals"]["emptied_documents"], 5_000);
}

#[test]
fn minimum_lengths_from_one_byte_to_over_text_length_are_correct() {
    let texts = ["héllo wörld", "wörld 世界", "", "世世世世", "xé", "éx", "ab", "ba"].map(str::to_owned);
    for length in [1, 2, 3, 4, 5, 8, 12, 100] {
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl", jsonl(&texts));
        sandbox.say(&format!("dedup data --output out --minlen {length}")).ends(0);
        assert_eq!(texts_of(&sandbox.read("out/a.jsonl")), slowly(&texts, length), "{length}");
    }
}

#[test]
fn characters_of_several_bytes_are_never_cut_wherever_a_repeat_begins_or_ends() {
    let passage = "aé世👍🏽b".repeat(5);
    let mut texts = vec![passage.clone()];
    for at in (0..passage.len()).filter(|at| passage.is_char_boundary(*at)) {
        for (before, after) in [("é", "世"), ("世", "é"), ("👍", "🏽"), ("x", "y")] {
            texts.push(format!("{before}{}{after}", &passage[at..]));
            texts.push(format!("{before}{}{after}", &passage[..at]));
        }
    }
    for length in [5, 13, 20, 33] {
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl", jsonl(&texts));
        sandbox.say(&format!("dedup data --output out --minlen {length}")).ends(0);
        assert_eq!(texts_of(&sandbox.read("out/a.jsonl")), slowly(&texts, length), "{length}");
    }
}

#[test]
fn truncated_gzip_is_deduplicated_up_to_the_cut_with_a_problem() {
    let sandbox = Sandbox::new();
    let texts = some_texts(400);
    let packed = gzip(&jsonl(&texts));
    sandbox.write("data/a.jsonl.gz", &packed[..packed.len() / 2]);
    sandbox.write("data/b.jsonl", jsonl([PASSAGE, PASSAGE]));
    let result = dedup(&sandbox, "--json").ends(1).json("problems");
    assert_eq!(result["problems"][0]["kind"], "cut-short", "{}", result["problems"]);
    let out = texts_of(&unpacked(&sandbox.path("out"))[Path::new("a.jsonl.gz")]);
    assert!(out.len() > 50 && out.len() < 400, "{}", out.len());
    assert_eq!(out, slowly(&texts[..out.len()], 20));
    assert_eq!(texts_of(&sandbox.read("out/b.jsonl")), [PASSAGE, ""]);
}

#[test]
fn unsupported_file_names_are_skipped_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl([PASSAGE]));
    sandbox.write("data/b.json.bz2", "x");
    sandbox.write("data/c.jsonl.gz", jsonl([PASSAGE]));
    sandbox.write("data/.hidden.jsonl", jsonl([PASSAGE]));
    sandbox.write("data/.git/d.jsonl", jsonl([PASSAGE]));
    sandbox.write("data/notes.txt", "x");
    let result = dedup(&sandbox, "--json").ends(1).json("problems");
    let of = |severity: &str| {
        let all = result["problems"].as_array().unwrap().iter();
        all.filter(|problem| problem["severity"] == severity).count()
    };
    // One note is about the hidden files, and one about the file that cannot be written back.
    assert_eq!((of("problem"), of("note")), (2, 2), "{}", result["problems"]);
    assert_eq!(result["files"], 1);
    assert_eq!(unpacked(&sandbox.path("out")).len(), 1);
}

#[test]
fn dedup_follows_links_without_loops() {
    let sandbox = Sandbox::new();
    sandbox.write("elsewhere/x.jsonl", jsonl([PASSAGE]));
    sandbox.write("elsewhere/deep/y.jsonl", jsonl([PASSAGE]));
    sandbox.write("data/a.jsonl", jsonl([PASSAGE]));
    symlink(sandbox.path("elsewhere/x.jsonl"), sandbox.path("data/b.jsonl")).unwrap();
    symlink(sandbox.path("elsewhere/deep"), sandbox.path("data/c")).unwrap();
    symlink(sandbox.path("data"), sandbox.path("data/loop")).unwrap();
    symlink(sandbox.path("nowhere.jsonl"), sandbox.path("data/dangling.jsonl")).unwrap();
    let ran = dedup(&sandbox, "");
    assert!([0, 1].contains(&ran.code), "{}", ran.err);
    let out = unpacked(&sandbox.path("out"));
    assert_eq!(texts_of(&out[Path::new("a.jsonl")]), [PASSAGE]);
    assert_eq!(texts_of(&out[Path::new("b.jsonl")]), [""]);
    assert_eq!(texts_of(&out[Path::new("c/y.jsonl")]), [""]);
    assert_eq!(out.len(), 3, "{:?}", out.keys());
    assert!(!sandbox.path("out/b.jsonl").is_symlink(), "the output is a file of its own");
    assert_eq!(texts_of(&sandbox.read("elsewhere/x.jsonl")), [PASSAGE]);
}

#[test]
fn input_that_changes_during_dedup_ends_the_run_without_output() {
    for how in ["grow", "vanish", "replace"] {
        let sandbox = Sandbox::new();
        for number in 0..40 {
            sandbox.write(&format!("data/{number:02}.jsonl"), jsonl(some_texts(20)));
        }
        let mut command = sandbox.command("dedup data --output out --minlen 20 --threads 1".split(' '));
        command.env("GRISTMILL_SLOW_READS_MS", "20").stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // Once this file exists, the run has its list of files.
        while !sandbox.has("out.gristmill/work/plan.yaml") {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        let path = sandbox.path("data/00.jsonl");
        match how {
            "grow" => std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(&jsonl(["new"])).unwrap(),
            "vanish" => std::fs::remove_file(&path).unwrap(),
            _ => {
                put(&sandbox.path("other"), &jsonl(some_texts(20)));
                std::fs::rename(sandbox.path("other"), &path).unwrap();
            }
        }
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(1 | 3)), "{how}: {:?} {err}", output.status);
        assert!(err.contains("00.jsonl"), "{how}: {err}");
        assert!(!sandbox.has("out"), "{how}");
        assert!(!sandbox.has("out.gristmill/work"), "{how}");
    }
}

#[test]
fn text_key_that_no_record_has_is_refused_with_existing_keys() {
    let sandbox = Sandbox::new();
    sandbox.write("in/empty.jsonl", b"\n");
    sandbox.write("in/a.jsonl", b"{\"body\": \"some words\", \"id\": 1}\n\n{\"body\": \"others\"}\nno record\n");
    let args = ["dedup", "in", "--output", "out", "--minlen", "5", "--text-key", "nokey"];
    for extra in [None, Some("--dry-run")] {
        let ran = sandbox.run(args.iter().copied().chain(extra).collect::<Vec<_>>());
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        let output = format!("{}{}", ran.out, ran.err);
        for words in ["no record has text in the field \"nokey\"", "wrong field? The lines have the keys: body, id"] {
            assert!(output.contains(words), "{words}: {output}");
        }
        assert!(!sandbox.path("out").exists());
    }
    // If a record has the field, its value may have another type than string.
    sandbox.write("in/b.jsonl", b"{\"nokey\": null}\n");
    let ran = sandbox.run(args);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(sandbox.path("out/a.jsonl").exists());
}

/// Returns a zstd frame whose header requests a window of `1 << log` bytes.
fn zstd_with_window(text: &[u8], log: u8) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(20).unwrap();
    encoder.write_all(text).unwrap();
    let mut frame = encoder.finish().unwrap();
    assert_eq!(frame[5], (20 - 10) << 3, "where RFC 8878 puts it");
    frame[5] = (log - 10) << 3;
    frame
}

#[test]
fn zstd_window_larger_than_memory_is_refused_with_required_size() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl.zst", zstd_with_window(&jsonl(some_texts(40)), 27));
    for more in ["", " --dry-run"] {
        let ran = sandbox.say(&format!("dedup data --output out --minlen 20 --memory 64M{more}")).ends(2);
        assert!(ran.err.contains("a.jsonl.zst") && ran.err.contains("decompressing it needs 129.5 MiB"), "{}", ran.err);
        assert!(ran.err.contains("give --memory 16"), "{}", ran.err);
    }
    sandbox.say("dedup data --output out --minlen 20 --memory 300M").ends(0);
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl.zst", zstd_with_window(&jsonl(some_texts(40)), 28));
    let ran = sandbox.say("dedup data --output out --minlen 20 --memory 1G").ends(1);
    assert!(ran.err.contains("its window is larger than 128 MiB"), "{}", ran.err);
}

#[test]
fn file_list_larger_than_memory_is_refused_with_required_size() {
    let sandbox = Sandbox::new();
    for number in 0..1_100 {
        sandbox.write(&format!("data/{}/{number}.jsonl", number % 7), jsonl([PASSAGE]));
    }
    for more in ["", " --dry-run"] {
        let ran = sandbox.say(&format!("dedup data --output out --minlen 20 --memory 16M{more}")).ends(2);
        assert!(ran.err.contains("the names, sizes and counts of 1,100 files do not fit into 16.0 MiB"), "{}", ran.err);
        assert!(ran.err.contains("give --memory 36M or more"), "{}", ran.err);
    }
    assert!(!sandbox.path("out").exists());
    let report = sandbox.say("dedup data --output out --minlen 20 --memory 36M --json").ends(0).json("ok");
    assert_eq!(report["per_file"].as_array().unwrap().len(), 1_100);
    assert_eq!(report["totals"]["emptied_documents"], 1_099);
}

#[test]
fn output_reached_by_input_links_is_refused() {
    let sandbox = Sandbox::new();
    let bytes = jsonl([PASSAGE, PASSAGE]);
    sandbox.write("data/a.jsonl", &bytes);
    sandbox.write("out/kept.jsonl", &bytes);
    symlink("../out/kept.jsonl", sandbox.path("data/kept.jsonl")).unwrap();
    let ran = sandbox.say("dedup data --output out --minlen 20 --force-overwrite").ends(2);
    assert!(ran.err.contains("it contains a file that is read") && ran.err.contains("kept.jsonl"), "{}", ran.err);
    assert_eq!(sandbox.read("out/kept.jsonl"), bytes);
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", &bytes);
    sandbox.write("real/b.jsonl", &bytes);
    symlink("../real", sandbox.path("data/linked")).unwrap();
    for more in ["", " --dry-run"] {
        let ran = sandbox.say(&format!("dedup data --output real/out --minlen 20{more}")).ends(2);
        assert!(ran.err.contains("is in a folder that is read by a link"), "{}", ran.err);
    }
    sandbox.say("dedup data --output copy --minlen 20").ends(0);
    assert_eq!(texts_of(&sandbox.read("copy/linked/b.jsonl")), ["", ""]);
}

#[test]
fn a_second_run_shows_the_problems_of_the_first() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", [jsonl([PASSAGE]), b"no record\n".to_vec()].concat());
    for _ in 0..2 {
        let ran = sandbox.say("dedup data --output out --minlen 20").ends(1);
        assert!(ran.err.contains("a.jsonl"), "{}", ran.err);
    }
    sandbox.say("dedup data --output out --minlen 20 --problems-ok").ends(0).says("Nothing to do");
}

#[test]
fn deleted_unreadable_file_is_not_reported_by_a_repeated_run() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl([PASSAGE]));
    sandbox.write("data/b.jsonl.gz", b"no gzip");
    for _ in 0..2 {
        sandbox.say("dedup data --output out --minlen 20").ends(1).complains("b.jsonl.gz");
    }
    std::fs::remove_file(sandbox.path("data/b.jsonl.gz")).unwrap();
    sandbox.say("dedup data --output out --minlen 20").ends(0).says("Nothing to do");
}

#[test]
fn file_size_limit_of_the_system_is_a_write_error() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", jsonl(some_texts(3_000)));
    let command = sandbox.command("dedup data --output out --minlen 20".split(' '));
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 20; exec \"$@\"", "sh"]).args(words).current_dir(sandbox.path("."));
    limited.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("ulimit -f"), "{err}");
}

#[test]
fn line_index_is_not_read_as_text() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jsonl", "{\"text\": \"a line that is long enough\"}\n");
    sandbox.say("prepare in/a.jsonl").ends(0);
    assert!(sandbox.has("in/a.jsonl.idx"));
    sandbox.say("dedup in --minlen 10 --output out").ends(0);
    assert!(sandbox.has("out/a.jsonl") && !sandbox.has("out/a.jsonl.idx"));
}
