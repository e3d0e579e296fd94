//! `facts`: the figures of data sets.

use super::cli_support::Sandbox;

#[test]
fn facts_of_raw_and_prepared_shards_are_equal() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let raw = sandbox.say("facts data --json").ends(0).json("ok");
    assert_eq!((&raw["scan"]["shards"], &raw["scan"]["samples"]), (&10.into(), &30.into()));
    let part = |name: &str| raw["scan"]["parts"].as_array().unwrap().iter().find(|part| part["name"] == name).cloned();
    assert_eq!(part("txt").unwrap()["samples"], 30);
    assert!(raw["samples"].is_null(), "there is no index yet");
    sandbox.say("prepare data --split-ratio 8,1,1 --sample-type TextSample --field-map text=txt --yes").ends(0);
    let prepared = sandbox.say("facts data --json").ends(0).json("ok");
    assert_eq!(prepared["samples"]["samples"], 30);
    let bytes = |name: &str| {
        let parts = prepared["samples"]["parts"].as_array().unwrap();
        parts.iter().find(|part| part["name"] == name).unwrap()["bytes"]["total"].clone()
    };
    assert_eq!(
        (bytes("txt"), bytes("json")),
        (part("txt").unwrap()["bytes"].clone(), part("json").unwrap()["bytes"].clone())
    );
    assert_eq!(prepared["texts"], raw["texts"], "the same texts");
    sandbox.say("facts data").ends(0).says("samples: 30").says("part 'txt': 30 samples").says("characters, ");
}

#[test]
fn unreadable_shard_is_a_problem_of_facts() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.write("data/broken.tar", "no tar".repeat(200));
    let facts = sandbox.say("facts data --json").ends(1).json("problems");
    assert_eq!(
        (&facts["scan"]["samples"], &facts["problems"][0]["subject"]["shard"]),
        (&30.into(), &"broken.tar".into())
    );
    sandbox.say("facts data").ends(1).says("samples: 30").complains("broken.tar");
}

#[test]
fn facts_of_jsonl_have_keys_and_lengths_and_other_files_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"id\": 1, \"text\": \"four\"}\n{\"id\": 2, \"text\": \"sixsix\"}\nno json\n");
    let facts = sandbox.say("facts a.jsonl --json").ends(1).json("problems");
    assert_eq!((&facts["jsonl"]["text_key"], &facts["jsonl"]["bad_lines"]), (&"text".into(), &1.into()));
    assert_eq!(facts["jsonl"]["records"], serde_json::json!([]), "no content of the data");
    sandbox
        .say("facts a.jsonl")
        .ends(1)
        .says("text 'text': 4 to 6 characters, 5 on average")
        .says("key 'id': 2 records");
    sandbox.write("wide.csv", ",".repeat(65_536) + "\n");
    sandbox.say("facts wide.csv").ends(1).complains("more than 65,536 cells").complains("split the table");
    sandbox.write("notes.txt", "x");
    sandbox.say("facts notes.txt").ends(2);
    sandbox.say("facts nowhere").ends(3);
}
