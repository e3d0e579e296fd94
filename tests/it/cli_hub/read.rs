//! Commands that read any data set, on data sets of the hub.

use super::*;

const READERS: [&str; 5] = ["info", "lint", "verify", "facts", "browse"];

/// A world with `o/t`, a data set of tables with two splits, and `o/one`, one of a single file of lines.
pub(super) fn world() -> World {
    let world = World::new();
    let parquet = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet/p01_parquet_files/input");
    for (number, name) in ["train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"].iter().enumerate() {
        let table = std::fs::read(parquet.join(format!("part-{number}.parquet"))).unwrap();
        world.put(&format!("o/t/data/{name}.parquet"), &table);
    }
    world.put("o/t/README.md", b"# Tables\n");
    world.put("o/t/weights.bin", b"large");
    world.put("o/one/data/all.jsonl", b"{\"text\": \"first\"}\n{\"text\": \"second\"}\n");
    world.put("o/one/README.md", b"# Lines\n");
    world.put("o/bad/bad.jsonl", b"{\"text\": \"good\"}\n{\"text\": \n");
    world
}

fn read(world: &World, server: &Server, words: &[&str]) -> Ran {
    let ran = world.run(&server.address, words);
    assert!(!ran.out.contains("/hf/hub") && !ran.err.contains("/hf/hub"), "{}{}", ran.out, ran.err);
    ran
}

/// Returns a result about a place without what differs between runs and places.
pub(super) fn result(ran: &Ran, place: &str) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_str(&ran.out.replace(place, "PLACE")).unwrap();
    value.as_object_mut().unwrap().retain(|name, _| !["path", "name", "elapsed_seconds"].contains(&name.as_str()));
    value
}

#[test]
fn a_data_set_is_read_like_its_local_copy_and_called_by_its_address() {
    let world = world();
    let server = world.serve(&["--leak-check"]);
    for (address, local) in [
        ("hf://datasets/o/t", "o/t"),
        ("hf://datasets/o/t/data", "o/t/data"),
        ("hf://o/t@main/data/test-00000-of-00001.parquet", "o/t/data/test-00000-of-00001.parquet"),
        ("hf://datasets/o/one/data/all.jsonl", "o/one/data/all.jsonl"),
    ] {
        let local = world.root().join(local).to_string_lossy().into_owned();
        for command in READERS {
            let ran = read(&world, &server, &[command, address, "--json"]);
            let wanted = world.run(&server.address, &[command, &local, "--json"]);
            let place = address.replace("hf://o/", "hf://datasets/o/");
            let (made, wanted) = ((ran.code, result(&ran, &place)), (wanted.code, result(&wanted, &local)));
            assert_eq!(made, wanted, "{command} {address}: {}", ran.err);
        }
    }
    assert!(!server.requests().iter().any(|request| request["path"].as_str().unwrap().contains("weights")));
    let before = server.data_requests();
    read(&world, &server, &["info", "hf://datasets/o/t"]).ends(0).says("# o/t").says("path: hf://datasets/o/t");
    read(&world, &server, &["info", "hf://o/one"]).says("path: hf://datasets/o/one/data/all.jsonl");
    read(&world, &server, &["browse", "hf://o/t@main/data"]).ends(0).says("# hf://datasets/o/t@main/data");
    assert_eq!(server.data_requests(), before, "the cache has the files");
}

#[test]
fn problems_and_failures_name_the_address() {
    let world = world();
    let server = world.serve(&[]);
    for command in ["lint", "info"] {
        let ran = read(&world, &server, &[command, "hf://datasets/o/bad"]);
        assert!(command == "info" || ran.code == 1 && ran.err.contains("hf://datasets/o/bad/bad.jsonl"), "{}", ran.err);
        let several = read(&world, &server, &[command, "hf://datasets/o/n/data"]);
        assert!(several.code != 0 && several.err.contains("hf://datasets/o/n/data"), "{}", several.err);
    }
    let ran = read(&world, &server, &["lint", "hf://datasets/o/bad", "--json"]).ends(1);
    assert!(ran.out.contains("hf://datasets/o/bad/bad.jsonl"), "{}", ran.out);
    for command in READERS {
        let fails = |address: &str, code: i32, text: &str| {
            let ran = read(&world, &server, &[command, address]).ends(code).complains(text);
            assert!(ran.out.is_empty(), "{}", ran.out);
        };
        fails("hf://datasets/o/missing", 3, "there is no such data set, or it is private");
        fails("hf://datasets/o/t@v9", 2, "no revision v9");
        fails("hf://datasets/o/t/dta", 2, "no file or folder dta");
        fails("hf://models/o/n", 2, "only data sets are read");
    }
    read(&world, &server, &["repair", "hf://datasets/o/t"]).ends(2).complains("not supported yet");
    read(&world, &server, &["info", "hf://datasets/o/t", "--save-plan", "x"]).ends(2).complains("no plan");
}

#[test]
fn without_a_network_the_cache_is_read() {
    let world = world().set("HF_HUB_OFFLINE", "1");
    let offline = |world: &World, command: &str| world.run("http://127.0.0.1:9", &[command, "hf://datasets/o/t"]);
    READERS.iter().for_each(|command| {
        offline(&world, command).ends(3).complains("offline, and the cache has no");
    });
    let world = self::world();
    let server = world.serve(&[]);
    read(&world, &server, &["info", "hf://datasets/o/t"]).ends(0);
    let world = world.set("HF_HUB_OFFLINE", "1");
    READERS.iter().for_each(|command| drop(offline(&world, command).ends(0)));
    // A cache of older tools has no list of the files.
    std::fs::remove_dir_all(world.sandbox.path("hf/hub/datasets--o--t/trees")).unwrap();
    let ran = offline(&world, "info").ends(1).says("# o/t").complains("the data set may have more");
    assert!(ran.err.contains("hf://datasets/o/t"), "{}", ran.err);
    let ran = world.run("http://127.0.0.1:9", &["info", "hf://datasets/o/t", "--json"]).ends(1);
    assert_eq!(ran.json("problems")["problems"][0]["subject"]["path"], "hf://datasets/o/t");
    let strict = world.run("http://127.0.0.1:9", &["info", "hf://datasets/o/t", "--strict"]);
    assert!(strict.code != 0 && strict.out.is_empty(), "{}", strict.out);
}

#[test]
fn faults_of_the_server_are_survived_or_reported() {
    for flags in [&["--cut", "2"][..], &["--rate-limit", "3", "--retry-after", "0"], &["--wrong-bytes", "1"]] {
        let world = world();
        let server = world.serve(flags);
        read(&world, &server, &["verify", "hf://datasets/o/t"]).ends(0).says("No problem found");
    }
    let world = world();
    let server = world.serve(&["--server-error", "0"]);
    read(&world, &server, &["info", "hf://datasets/o/t"]).ends(3).complains("the server answers 503");
    let server = world.serve(&["--gated", "hf_token"]);
    read(&world, &server, &["facts", "hf://datasets/o/t"]).ends(3).complains("restricted");
}

#[test]
fn flags_of_other_data_are_refused_before_anything_is_downloaded() {
    let world = world();
    let server = world.serve(&[]);
    for words in [
        &["info", "--sequence-length", "8"][..],
        &["lint", "--decode"],
        &["verify", "--tokenizer", "missing.json"],
        &["verify", "--source", "a.jsonl"],
        &["browse", "--sequence-length", "8"],
    ] {
        let ran = read(&world, &server, &[words, &["hf://datasets/o/t"]].concat());
        ran.ends(2).complains(&format!("{} is not for data sets of the hub", words[1]));
    }
    assert!(server.requests().is_empty());
}
