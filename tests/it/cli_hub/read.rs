//! Commands that read any data set, on data sets of the hub, which they read by ranges.

use super::super::support::write_tar;
use super::*;

const READERS: [&str; 5] = ["info", "lint", "verify", "facts", "browse"];

/// Creates `o/t`, a data set of tables with two splits, `o/one`, a single file of lines, and `o/w`, a WebDataset of large shards.
pub(super) fn hub_test() -> HubTest {
    let test = HubTest::new();
    let parquet = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet/p01_parquet_files/input");
    for (number, name) in ["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"].iter().enumerate() {
        let table = std::fs::read(parquet.join(format!("part-{number}.parquet"))).unwrap();
        test.put(&format!("o/t/data/{name}.parquet"), &table);
    }
    for shard in 0..2 {
        let sample = |number: usize| {
            let picture = (0..50_000 + number).map(|at| (at * (number + 7) % 251) as u8).collect();
            [(format!("{shard}_{number:02}.bin"), picture), (format!("{shard}_{number:02}.json"), b"{}".to_vec())]
        };
        let entries: Vec<_> = (0..30).flat_map(sample).collect();
        write_tar(&test.root().join(format!("o/w/shard_{shard}.tar")), &entries);
    }
    test.put("o/t/README.md", b"# Tables\n");
    test.put("o/t/weights.bin", b"large");
    test.put("o/one/data/all.jsonl", b"{\"text\": \"first\"}\n{\"text\": \"second\"}\n");
    test.put("o/one/README.md", b"# Lines\n");
    test.put("o/bad/bad.jsonl", b"{\"text\": \"good\"}\n{\"text\": \n");
    test
}

fn read(test: &HubTest, server: &Server, words: &[&str]) -> RunOutput {
    let ran = test.run(&server.address, words);
    assert!(!ran.out.contains("/hf/hub") && !ran.err.contains("/hf/hub"), "{}{}", ran.out, ran.err);
    ran
}

/// Downloads `o/t` into the cache.
fn download(test: &HubTest, server: &Server) {
    let words = pack_words("hf://datasets/o/t", "packed");
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--split", "all"]).collect();
    test.run(&server.address, &words).ends(0);
}

/// Returns the JSON result of a run without the values that differ between runs, and with PLACE instead of the given place.
pub(super) fn result(ran: &RunOutput, place: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(&ran.out.replace(place, "PLACE")).unwrap();
    value.as_object_mut().unwrap().retain(|name, _| !["path", "name", "elapsed_seconds"].contains(&name.as_str()));
    value
}

#[test]
fn hub_data_set_is_read_like_a_local_copy_and_named_by_address() {
    let test = hub_test();
    let server = test.serve(&["--leak-check"]);
    let prepare = regex::Regex::new(r#""gristmill prepare PLACE[^"]*""#).unwrap();
    let copy = r#""gristmill cp PLACE FOLDER makes a copy, which can be prepared""#;
    for (address, local) in [
        ("hf://datasets/o/t", "o/t"),
        ("hf://datasets/o/t/data", "o/t/data"),
        ("hf://o/t@main/data/test-00000-of-00001.parquet", "o/t/data/test-00000-of-00001.parquet"),
        ("hf://datasets/o/one/data/all.jsonl", "o/one/data/all.jsonl"),
        ("hf://datasets/o/w", "o/w"),
        ("hf://datasets/o/w/shard_1.tar", "o/w/shard_1.tar"),
    ] {
        let local = test.root().join(local).to_string_lossy().into_owned();
        for command in READERS {
            let ran = read(&test, &server, &[command, address, "--json"]);
            let wanted = test.run(&server.address, &[command, &local, "--json"]);
            let place = address.replace("hf://o/", "hf://datasets/o/");
            let (mut made, mut wanted) = ((ran.code, result(&ran, &place)), (wanted.code, result(&wanted, &local)));
            // A copy can be prepared, and the data set of the hub cannot.
            wanted.1 = serde_json::from_str(&prepare.replace_all(&wanted.1.to_string(), copy)).unwrap();
            if command == "browse" {
                // The list is printed before all files are read.
                let of = |value: &serde_json::Value| value["listed"].clone();
                (made.1, wanted.1) = (of(&made.1), of(&wanted.1));
                assert_ne!(made.1, serde_json::Value::Null);
            }
            assert_eq!(made, wanted, "{command} {address}: {}", ran.err);
        }
    }
    assert!(!server.requests().iter().any(|request| request["path"].as_str().unwrap().contains("weights")));
    assert!(!test.sandbox.has("hf/hub/datasets--o--w/snapshots"), "nothing is downloaded");
    read(&test, &server, &["info", "hf://datasets/o/t"]).ends(0).says("# t").says("path: hf://datasets/o/t");
    read(&test, &server, &["browse", "hf://o/t@main/data"]).ends(0).says("# hf://datasets/o/t@main/data");
}

#[test]
fn cached_data_set_is_read_without_requests() {
    let test = hub_test();
    let server = test.serve(&[]);
    download(&test, &server);
    let before = server.data_requests();
    assert!(before > 0);
    READERS.iter().for_each(|command| drop(read(&test, &server, &[command, "hf://datasets/o/t"]).ends(0)));
    assert_eq!(server.data_requests(), before);
}

#[test]
fn cp_copies_hub_data_sets_files_and_ranges() {
    let test = hub_test();
    let server = test.serve(&["--leak-check", "--page", "2"]);
    let copy = |words: &[&str]| read(&test, &server, &[&["cp"], words].concat());
    copy(&["hf://datasets/o/w", "hf://datasets/o/t/data", "all/"]).ends(0).says("Copied 5 files");
    let served = |name: &str| picture(&test.root().join(name));
    assert!(served("o/w").into_iter().chain(served("o/t/data")).eq(picture(&test.sandbox.path("all"))));
    copy(&["hf://o/w/shard_{0..1}.tar", "shards/"]).ends(0).says("Copied 2 files");
    assert_eq!(picture(&test.sandbox.path("shards")), served("o/w"));
    copy(&["hf://o/w", "shards", "--if-changed"]).ends(0);
    copy(&["hf://o/t/**/train-*.parquet", "tables/"]).ends(0).says("Copied 2 files");
    copy(&["hf://o/t/*.tar", "none/"]).ends(2);
    copy(&["hf://datasets/o/w/none", "none"]).ends(2).complains("no file or folder none");
}

#[test]
fn reading_commands_report_problems_with_hub_addresses() {
    let test = hub_test();
    let server = test.serve(&[]);
    for command in ["lint", "info"] {
        let several = read(&test, &server, &[command, "hf://datasets/o/n/data"]);
        assert!(several.code != 0 && several.err.contains("hf://datasets/o/n/data"), "{}", several.err);
    }
    assert_eq!(server.data_requests(), 0);
    let ran = read(&test, &server, &["lint", "hf://datasets/o/bad/bad.jsonl", "--json"]).ends(1);
    assert!(ran.out.contains("hf://datasets/o/bad/bad.jsonl"), "{}", ran.out);
    for command in READERS {
        let fails = |address: &str, code: i32, text: &str| {
            let ran = read(&test, &server, &[command, address]).ends(code).complains(text);
            assert!(ran.out.is_empty(), "{}", ran.out);
        };
        fails("hf://datasets/o/missing", 3, "there is no such data set, or it is private");
        fails("hf://datasets/o/t@v9", 2, "no revision v9");
        fails("hf://datasets/o/t/dta", 2, "no file or folder dta");
        fails("hf://models/o/n", 2, "only data sets are read");
    }
    read(&test, &server, &["info", "hf://datasets/o/t", "--save-plan", "x"]).ends(2).complains("no plan");
}

#[test]
fn without_a_network_the_cache_is_read() {
    let test = hub_test().set("HF_HUB_OFFLINE", "1");
    let offline = |test: &HubTest, command: &str| test.run("http://127.0.0.1:9", &[command, "hf://datasets/o/t"]);
    READERS.iter().for_each(|command| {
        offline(&test, command).ends(3).complains("offline, and the cache has no");
    });
    let test = self::hub_test();
    let server = test.serve(&[]);
    download(&test, &server);
    let test = test.set("HF_HUB_OFFLINE", "1");
    READERS.iter().for_each(|command| drop(offline(&test, command).ends(0)));
    // A cache of older tools has no list of the files.
    std::fs::remove_dir_all(test.sandbox.path("hf/hub/datasets--o--t/trees")).unwrap();
    let ran = offline(&test, "info").ends(1).says("# t").complains("the data set may have more");
    assert!(ran.err.contains("hf://datasets/o/t"), "{}", ran.err);
    let ran = test.run("http://127.0.0.1:9", &["info", "hf://datasets/o/t", "--json"]).ends(1);
    assert_eq!(ran.json("problems")["problems"][0]["subject"]["path"], "hf://datasets/o/t");
    let strict = test.run("http://127.0.0.1:9", &["info", "hf://datasets/o/t", "--strict"]);
    assert!(strict.code != 0 && strict.out.is_empty(), "{}", strict.out);
}

#[test]
fn transient_server_faults_do_not_fail_reads() {
    for flags in [
        &["--cut", "2"][..],
        &["--cut-each", "--cut-at", "60000", "--expire-after", "1"],
        &["--rate-limit", "3", "--retry-after", "0"],
        &["--server-error", "3"],
        &["--short", "2"],
        &["--no-length", "--cut", "1"],
        &["--expire-after", "1"],
        &["--moved", "old/w=o/w"],
    ] {
        let test = hub_test();
        let server = test.serve(flags);
        read(&test, &server, &["verify", "hf://datasets/o/t"]).ends(0).says("No problem found");
        let name = if flags.contains(&"--moved") { "hf://datasets/old/w" } else { "hf://datasets/o/w" };
        read(&test, &server, &["cp", name, "copy"]).ends(0);
        assert_eq!(picture(&test.sandbox.path("copy")), picture(&test.root().join("o/w")), "{flags:?}");
    }
}

#[test]
fn permanent_server_faults_are_reported() {
    let test = hub_test();
    for (flags, command, text) in [
        (&["--server-error", "0"][..], "facts", "the server answers 503"),
        (&["--gated", "hf_token"], "facts", "restricted"),
        (&["--etag-changes"], "cp", "it changed while it was read"),
        (&["--wrong-bytes", "0"], "cp", "does not have the checksum that the hub lists"),
    ] {
        let server = test.serve(flags);
        let words = [command, "hf://datasets/o/w/shard_0.tar", "copy"];
        // A single file that cannot be copied is a problem, because the copy of several files would continue.
        let (words, code) = if command == "cp" { (&words[..], 1) } else { (&words[..2], 3) };
        let ran = read(&test, &server, words).ends(code);
        assert!(ran.err.contains(text) && !test.sandbox.has("copy"), "{flags:?}: {}", ran.err);
    }
}

#[test]
fn files_of_a_server_without_range_support_are_downloaded_first() {
    let test = hub_test();
    let server = test.serve(&["--ignore-range"]);
    read(&test, &server, &["verify", "hf://datasets/o/t"]).ends(0).says("No problem found");
    let ran = read(&test, &server, &["cp", "hf://datasets/o/w/shard_0.tar", "copy"]).ends(0);
    ran.complains("the server does not answer ranges");
    assert_eq!(test.sandbox.read("copy"), std::fs::read(test.root().join("o/w/shard_0.tar")).unwrap());
}

#[test]
fn flags_of_another_data_kind_are_refused_before_any_download() {
    let test = hub_test();
    let server = test.serve(&[]);
    for words in [
        &["info", "--sequence-length", "8"][..],
        &["lint", "--decode"],
        &["verify", "--source", "a.jsonl"],
        &["browse", "--sequence-length", "8"],
    ] {
        let wanted = test.run(&server.address, &[words, &["served/o/t"]].concat());
        let ran = read(&test, &server, &[words, &["hf://datasets/o/t"]].concat());
        assert_eq!((ran.code, ran.err.replace("hf://datasets/", "served/")), (wanted.code, wanted.err), "{words:?}");
    }
    assert_eq!(server.data_requests(), 0);
}

#[test]
fn run_reads_one_commit_of_a_branch_that_moves() {
    for moves_after in ["1", "2", "3"] {
        let test = HubTest::new();
        let large = std::fs::read(test.root().join("o/n/data/large.jsonl.gz")).unwrap();
        test.put("o/n@next/data/large.jsonl.gz", &[large.clone(), large].concat());
        test.put("o/n@next/data/small.jsonl", b"{\"text\": \"next\"}\n");
        let server = test.serve(&["--moves-after", moves_after]);
        let mut pack = pack_words("hf://datasets/o/n/data/large.jsonl.gz", "out");
        pack.insert(2, "hf://datasets/o/n/data/small.jsonl".to_owned());
        let pack: Vec<&str> = pack.iter().map(String::as_str).collect();
        for words in [&["cp", "hf://datasets/o/n/data", "copy"][..], pack.as_slice()] {
            let before = server.requests().len();
            test.run(&server.address, words).ends(0);
            let requests = server.requests().split_off(before);
            let paths = requests.iter().filter_map(|request| request["path"].as_str());
            let commits: Vec<&str> =
                paths.filter_map(|path| path.split("/resolve/").nth(1)?.split('/').next()).collect();
            assert!(commits.len() >= 2 && commits.iter().all(|commit| commit == &commits[0]), "{words:?}: {commits:?}");
        }
    }
}
