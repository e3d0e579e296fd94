//! Messages with numbers: nouns and verbs agree with the number 1, and with larger numbers.

use super::super::cli_support::{RunOutput, Sandbox};
use super::case;
use std::fmt::Write as _;

/// Nouns that messages count.
const NOUNS: &str = "lines|documents|shards|files|samples|rows|tokens|entries|parts|keys|names|bytes|excludes|errors|\
                     warnings|notes|problems|members|pictures|values|splits|records|ranges|words|characters|times";

/// Returns the parts of a text where the number 1 has a plural noun or verb.
fn mistakes(text: &str) -> Vec<String> {
    let noun = format!(r"(^|[^\w.,:/-])1 ([a-z-]+ )?({NOUNS})\b");
    let verb = r"(^|[^\w.,:/-])1 (of \S+ )?([a-z-]+ ){1,2}(are|have|were|do|need|match|belong|lack|wait)\b".to_owned();
    let both = r"\w\(s\)|\w\(ies\)".to_owned();
    let found = [noun, verb, both].map(|pattern| {
        let pattern = regex::Regex::new(&pattern).unwrap();
        pattern.find_iter(text).map(|found| found.as_str().to_owned()).collect::<Vec<_>>()
    });
    found.concat()
}

/// Checks that the messages of a run contain these words and no mistake of number.
#[track_caller]
fn agrees(ran: &RunOutput, words: &str) {
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains(words), "'{words}' is not in:\n{all}");
    assert_eq!(mistakes(&all), Vec::<String>::new(), "in:\n{all}");
}

/// Returns lines of JSON: `bad` ones first, then three good ones.
fn lines(bad: &str, number: usize) -> String {
    (0..number).map(|_| bad.to_owned()).chain((0..3).map(|n| format!("{{\"text\": \"text {n}\"}}"))).fold(
        String::new(),
        |mut all, line| {
            writeln!(all, "{line}").unwrap();
            all
        },
    )
}

#[test]
fn mistakes_of_number_are_recognized() {
    for text in ["1 lines", "the 1 bad lines", "1 of 3 lines are", "(1 more sample have)", "2 file(s)", "1 part are"] {
        assert!(!mistakes(text).is_empty(), "{text}");
    }
    for text in ["1 line is", "11 lines are", "byte 1,001 lines", "2 lines are", "1 of 3 lines is", "0.1 lines are"] {
        assert_eq!(mistakes(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn messages_about_json_lines_agree_with_their_number() {
    for (number, bad, blank) in [
        (1, "1 of 4 lines is not a JSON object", "1 blank line is no sample; its bytes"),
        (2, "2 of 5 lines are not JSON objects", "2 blank lines are no samples; their bytes"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("bad.jsonl", lines("oops", number));
        agrees(&sandbox.say("prepare bad.jsonl").ends(1), bad);
        agrees(&sandbox.say("prepare bad.jsonl --skip-bad-lines"), &format!("{number} bad line"));
        agrees(&sandbox.say("lint bad.jsonl"), "bad.jsonl");
        let good = lines("", 0);
        sandbox.write("blank.jsonl", format!("{good}{}{good}", "\n".repeat(number)));
        agrees(&sandbox.say("prepare blank.jsonl --json"), blank);
        agrees(&sandbox.say("prepare blank.jsonl"), "blank");
        agrees(&sandbox.say("info blank.jsonl"), "blank");
        agrees(&sandbox.say("verify blank.jsonl"), "No problem found");
        sandbox.write("raw.jsonl", lines("oops", number));
        agrees(&sandbox.say("index raw.jsonl --format modalities").ends(1), "no JSON");
        let left_out = if number == 1 { "1 line that is not JSON" } else { "2 lines that are not JSON" };
        agrees(&sandbox.say("index raw.jsonl --format modalities --skip-bad-lines"), left_out);
    }
}

#[test]
fn messages_of_pack_agree_with_their_number() {
    let pack = "pack in --format nanosets --tokenizer tokenizer.json --eos-token <|endoftext|> --output OUT";
    for (number, special) in [(1, "1 document has a special token"), (2, "2 documents have a special token")] {
        let sandbox = case("K04");
        sandbox.write("in/a.jsonl", lines(r#"{"text": "a <|endoftext|> b"}"#, number));
        agrees(&sandbox.say(&format!("{pack} --dry-run")), "document");
        agrees(&sandbox.say(pack), special);
        agrees(&sandbox.say("info OUT"), "document");
        let sandbox = case("K04");
        sandbox.write("in/a.jsonl", lines("oops", number));
        agrees(&sandbox.say(pack).ends(1), "line");
        let sandbox = case("K04");
        sandbox.write("in/a.jsonl", lines(r#"{"id": 1}"#, number));
        agrees(&sandbox.say(pack), "document");
    }
    for (number, cut) in [(1, "1 document is truncated"), (2, "2 documents are truncated")] {
        let sandbox = case("K05");
        let long = format!(r#"{{"text": "{}"}}"#, "long ".repeat(20));
        sandbox.write("in/a.jsonl", lines(&long, number));
        agrees(&sandbox.say(&pack.replace("tokenizer.json", "cuts.json")).ends(1), cut);
    }
}

#[test]
fn messages_of_dedup_agree_with_their_number() {
    for (number, blank, copied) in [
        (1, "1 blank line left out", "1 line without usable text is copied as it is"),
        (2, "2 blank lines left out", "2 lines without usable text are copied as they are"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("blank/a.jsonl", lines("", number));
        agrees(&sandbox.say("dedup blank --minlen 50 --output out --json"), blank);
        sandbox.write("bad/a.jsonl", lines(r#"{"id": 1}"#, number));
        agrees(&sandbox.say("dedup bad --minlen 50 --output out2").ends(1), copied);
        let repeated = format!("{{\"text\": \"{}\"}}\n", "the same words again ".repeat(8));
        sandbox.write("whole/a.jsonl", repeated.repeat(number + 1));
        let nothing = if number == 1 { "1 document has nothing left" } else { "2 documents have nothing left" };
        agrees(&sandbox.say("dedup whole --minlen 50 --output out3"), nothing);
    }
}

#[test]
fn messages_about_shards_agree_with_their_number() {
    for (number, unnamed, pattern) in [
        (1, "1 entry without a part name skipped", "matches 0 of 1 shard"),
        (2, "2 entries without a part name skipped", "matches 0 of 2 shards"),
    ] {
        let sandbox = Sandbox::new();
        for shard in 0..number {
            sandbox.tar(&format!("data/s{shard}.tar"), ["a", "b"].map(|key| format!("{shard}{key}")));
            sandbox.write(&format!("data/t{shard}.tar.bz2"), "BZh9");
        }
        let prepare = "prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset";
        agrees(&sandbox.say(&format!("{prepare} --exclude zzz")).ends(2), pattern);
        agrees(&sandbox.say(prepare).ends(1), "looks like a shard");
        agrees(&sandbox.say("info data"), "shard");
        sandbox.tar("data/new.tar", ["x"]);
        agrees(&sandbox.say("lint data").ends(1), "new.tar");
        agrees(&sandbox.say("prepare data --yes").ends(1), "1 new shard");

        let sandbox = Sandbox::new();
        let mut entries: Vec<(String, Vec<u8>)> = (0..number).map(|n| (format!("README{n}"), vec![1])).collect();
        entries.extend((0..3).map(|n| (format!("{n}.txt"), vec![b'a'])));
        sandbox.tar_of("data/s.tar", &entries);
        agrees(&sandbox.say(&format!("{prepare} -v")), unnamed);
        let names =
            if number == 1 { "1 of its 10 names is in the data set" } else { "2 of its 10 names are in the data set" };
        let range = format!("s.tar/{{{}..{}}}", 3 - number, 12 - number);
        agrees(&sandbox.run(["splits", "exclude", "data", &range]), names);
        agrees(&sandbox.say("splits show data"), "exclude");
    }
}

#[test]
fn messages_about_indexes_agree_with_their_number() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/s.tar", ["a", "b", "c"]);
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    let database = rusqlite::Connection::open(sandbox.path("data/.nv-meta/index.sqlite")).unwrap();
    database.execute("DELETE FROM sample_parts WHERE sample_index = 1 AND part_name = 'txt'", []).unwrap();
    drop(database);
    agrees(&sandbox.say("verify data").ends(1), "1 part of sample 1 has no row");

    let sandbox = Sandbox::new();
    for shard in 0..30 {
        sandbox.tar(&format!("data/s_{shard:02}.tar"), [format!("{shard}")]);
    }
    sandbox.say("prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    for (number, words) in [(21, "1 more shard is on disk but not in the index"), (22, "2 more shards are on disk")] {
        sandbox.tar(&format!("data/new_{number}.tar"), ["x"]);
        for shard in 0..20 {
            sandbox.tar(&format!("data/new_{shard:02}.tar"), ["x"]);
        }
        agrees(&sandbox.say("lint data -v").ends(1), words);
    }
}

#[test]
fn messages_about_media_and_mixtures_agree_with_their_number() {
    for (number, words) in [(1, "1 entry looked at"), (2, "2 entries looked at")] {
        let sandbox = Sandbox::new();
        for picture in 0..number {
            sandbox.write(&format!("photos/{picture}.png"), "no picture");
        }
        let line = "prepare-media photos --media-metadata-by-extension";
        agrees(&sandbox.say(&format!("{line} --dry-run")), "would be looked at");
        agrees(&sandbox.say(line).ends(1), words);
    }
    let sandbox = Sandbox::new();
    sandbox.tar("one/s.tar", ["a"]);
    sandbox.say("prepare one --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset").ends(0);
    sandbox.write(
        "mix.yaml",
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    path: one\n    subset:\n      range: [0, 7]\n",
    );
    agrees(&sandbox.say("mix check mix.yaml").ends(1), "the split has only 1");
    agrees(&sandbox.say("mix show mix.yaml"), "");
}

#[test]
fn messages_of_repair_agree_with_their_number() {
    let sandbox = Sandbox::new();
    let input = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/merge/input");
    super::copy_tree(&input, &sandbox.path("input"));
    sandbox.say("modalities merge input/p0.pbin input/p1.pbin -o wrong.pbin --compat").ends(0);
    agrees(&sandbox.say("verify wrong.pbin").ends(1), "placed some bytes too early");
    agrees(&sandbox.say("repair wrong.pbin --dry-run").ends(0), "Would repair the positions");
    agrees(&sandbox.say("repair wrong.pbin").ends(0), "Repaired wrong.pbin");
    agrees(&sandbox.say("demo demo").ends(0), "demo");
}
