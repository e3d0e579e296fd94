//! Checks the README and the pages of `docs/`: their pictures exist, their commands accept the flags that they show, and the commands of
//! the README and the guide run.

use super::cli_support::Sandbox;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose commands are executed.
const RUN: &[&str] = &["README.md", "docs/guide.md"];
/// Commands that report problems in the data of these tests, and therefore exit with 1.
const FINDS: &[&str] = &["splits check coco --content --excludes-to copies.txt"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn file(name: &str) -> String {
    std::fs::read_to_string(top().join(name)).unwrap()
}

/// Returns the README and every page directly in `docs/`.
fn pages() -> Vec<String> {
    let names = std::fs::read_dir(top().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut pages: Vec<String> = names
        .filter_map(|name| name.to_str().filter(|name| name.ends_with(".md")).map(|n| format!("docs/{n}")))
        .collect();
    pages.push("README.md".to_owned());
    pages.sort();
    pages
}

#[test]
fn readme_shows_every_picture_and_no_missing_one() {
    let readme = file("README.md");
    let mut names: Vec<String> = std::fs::read_dir(top().join("docs/pictures"))
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let shown = |name: &String| readme.contains(&format!("](docs/pictures/{name})"));
    assert!(names.len() >= 3 && names.iter().all(shown), "{names:?}");
    assert_eq!(readme.matches("](docs/pictures/").count(), names.len());
}

#[test]
fn readme_has_at_most_1800_words() {
    let words = file("README.md").split_whitespace().count();
    assert!(words <= 1_800, "{words} words; docs/guide.md is the place for more");
}

/// Returns the commands of the console blocks of a page as words; continued lines are joined and comments removed.
fn commands(page: &str) -> Vec<Vec<String>> {
    let joined = file(page).replace("\\\n", " ");
    joined.lines().filter_map(|line| line.strip_prefix("$ gristmill")).map(words).collect()
}

/// Splits a line into words like a shell does if only single quotes are used.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for letter in line.chars() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take()),
            '#' if !is_quoted && word.is_none() => break,
            _ => word.get_or_insert_default().push(letter),
        }
    }
    assert!(!is_quoted, "{line}");
    words.extend(word);
    words
}

#[test]
fn words_are_split_as_a_shell_does() {
    assert_eq!(words(" a 'b c'd  --e='' # f"), ["a", "b cd", "--e="]);
    assert_eq!(words(" x '#' y#z"), ["x", "#", "y#z"]);
}

#[test]
fn every_flag_in_a_command_is_a_flag_of_that_command() {
    let commands: Vec<(String, Vec<String>)> =
        pages().iter().flat_map(|page| commands(page).into_iter().map(|words| (page.clone(), words))).collect();
    assert!(commands.len() > 60, "{commands:?}");
    for (page, words) in commands {
        let Some(name) = words.first().filter(|word| !word.starts_with('-')) else { continue };
        // For some commands the second word is a subcommand.
        let has_second = ["energon", "mix", "modalities", "nanosets", "nanotron", "splits"].contains(&name.as_str());
        let name_and_more = words.iter().take(if has_second { 2 } else { 1 }).map(String::as_str).chain(["--help"]);
        let help = Command::new(env!("CARGO_BIN_EXE_gristmill")).args(name_and_more).output().unwrap();
        assert!(help.status.success(), "{page}: gristmill {name} --help");
        let help = String::from_utf8(help.stdout).unwrap();
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{page}: gristmill {name} does not know {flag}");
        }
    }
}

#[test]
fn every_command_of_the_readme_and_the_guide_runs() {
    for page in RUN {
        let sandbox = data_of_the_recipes();
        let mut ran = 0;
        for words in commands(page).into_iter().filter(|words| !words.is_empty()) {
            let line = words.join(" ");
            let ended = sandbox.run(&words);
            let expected = i32::from(FINDS.contains(&line.as_str()));
            assert_eq!(ended.code, expected, "{page}: gristmill {line}\n{}\n{}", ended.out, ended.err);
            ran += 1;
        }
        assert!(ran > 15, "{page}: only {ran} commands");
    }
}

/// Returns the files that the recipes use.
fn data_of_the_recipes() -> Sandbox {
    let sandbox = Sandbox::new();
    for shard in 0..10_u32 {
        let name = format!("shard_{shard:04}.tar");
        sandbox.tar_of(&format!("coco/{name}"), &captioned(shard, 40));
        sandbox.tar_of(&format!("crawl/{name}"), &captioned(shard, 2));
    }
    for (part, name) in [("txt", "captions"), ("jpg", "pictures")] {
        let of_part = |entries: Vec<(String, Vec<u8>)>| entries.into_iter().filter(|(name, _)| name.ends_with(part));
        let entries: Vec<(String, Vec<u8>)> = of_part(captioned(0, 8)).collect();
        sandbox.tar_of(&format!("{name}/a.tar"), &entries);
        let line = format!("prepare {name} --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset");
        sandbox.say(&line).ends(0);
    }
    for folder in ["train", "val"] {
        sandbox.tar(&format!("data/{folder}/a.tar"), [format!("{folder}1"), format!("{folder}2")]);
    }
    for size in 1..4 {
        sandbox.write(&format!("photos/{size}.jpg"), Sandbox::jpeg(size, 7));
        sandbox.write(&format!("photos/{size}.txt"), "a mill");
    }
    sandbox.write("more-photos/4.jpg", Sandbox::jpeg(4, 7));
    sandbox.write("rows.jsonl", "{\"image\": \"photos/1.jpg\", \"caption\": \"a mill\"}\n");
    let golden = top().join("tests/golden");
    let copy = |from: &str, to: &str| sandbox.write(to, std::fs::read(golden.join(from)).unwrap());
    copy("media/iso/mp3_22.mp4", "recordings/a.mp4");
    copy("modalities/tokenizers/bpe1k/tokenizer.json", "tokenizer.json");
    sandbox.write("corpus.jsonl", text(1, 60, "text"));
    sandbox.write("lines/a.jsonl", text(1, 5, "text"));
    sandbox.write("more.jsonl", text(2, 20, "text"));
    sandbox.write("chats.jsonl", text(3, 300, "body").replace("{\"body\"", "{\"title\": \"A chat\", \"body\""));
    for (number, name) in ["a", "b", "deep/c"].into_iter().enumerate() {
        sandbox.write(&format!("web/{name}.jsonl.gz"), gzip(&text(number as u64 + 4, 60, "text")));
    }
    sandbox.write("new/d.jsonl", text(4, 20, "text"));
    let line =
        "pack more.jsonl --format modalities --tokenizer tokenizer.json --eod-token <|endoftext|> --output more.pbin";
    sandbox.say(line).ends(0);
    sandbox
}

/// Returns samples of one shard, each with a picture, a text, and captions. The last picture of all large shards is the same, so splits
/// share it.
fn captioned(shard: u32, samples: u32) -> Vec<(String, Vec<u8>)> {
    let mut entries = Vec::new();
    for sample in 0..samples {
        let number = shard * 100 + sample;
        let size = if sample == 39 { 1_000 } else { number + 1 };
        let caption = format!("a picture that is {size} wide");
        entries.push((format!("{number:06}.jpg"), Sandbox::jpeg(size, 1)));
        entries.push((format!("{number:06}.json"), format!("{{\"caption\": [\"{caption}\"]}}").into_bytes()));
        entries.push((format!("{number:06}.txt"), caption.into_bytes()));
    }
    entries
}

/// Returns lines of JSON with texts of a few hundred words. The same seed gives the same text; every text ends with the same notice.
fn text(seed: u64, lines: usize, key: &str) -> String {
    const WORDS: [&str; 8] = ["mill", "stone", "water", "grain", "wheel", "flour", "river", "bread"];
    let notice = "this notice is in every document ".repeat(20);
    let (mut state, mut text) = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), String::new());
    for _ in 0..lines {
        let mut words = String::new();
        for _ in 0..200 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words.push_str(WORDS[(state >> 61) as usize]);
            words.push(' ');
        }
        text.push_str(&format!("{{\"{key}\": \"{words}{notice}\"}}\n"));
    }
    text
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_exit_code_of_the_program_is_in_the_table() {
    use gristmill_core::ExitClass;
    let guide = file("docs/guide.md");
    for class in [ExitClass::Data, ExitClass::Usage, ExitClass::Environment, ExitClass::Interrupted] {
        let code = class.code();
        assert!(guide.contains(&format!("| {code} |")) || guide.contains(&format!(", {code}, ")), "exit code {code}");
    }
}
