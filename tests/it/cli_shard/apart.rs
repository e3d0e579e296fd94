//! Media in a separate data set.

use super::entries;
use crate::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let entry = |name: &str, content: &str| (name.to_owned(), content.as_bytes().to_vec());
    sandbox.tar_of(
        "in/0.tar",
        &[
            entry("a.jpg", "picture"),
            entry("a.json", "{ \"b c\": [1, 2.50],\n \"d\": \"e f\" }\n"),
            entry("a.txt", "sch\u{f6}n \"x\"\n"),
            entry("b.left.png", "picture"),
            entry("c.txt", "alone"),
        ],
    );
    sandbox
}

#[test]
fn text_lines_name_their_media_entries() {
    let sandbox = sandbox();
    let line = "shard in --media-to media --text-to text.jsonl --metadataset all.yaml";
    sandbox.say(line).ends(0);
    let expected =
        "{\"__key__\": \"a\", \"json\": {\"b c\":[1,2.50],\"d\":\"e f\"}, \"txt\": \"sch\u{f6}n \\\"x\\\"\\n\", \
                    \"media\": {\"jpg\": \"a.jpg\"}}\n\
                    {\"__key__\": \"b\", \"media\": {\"left.png\": \"b.left.png\"}}\n\
                    {\"__key__\": \"c\", \"txt\": \"alone\"}\n";
    assert_eq!(sandbox.text("text.jsonl"), expected);
    assert_eq!(entries(&sandbox, "media/shard_000000.tar"), ["a.jpg", "b.left.png"]);
    assert!(sandbox.has("text.jsonl.idx") && sandbox.has("media/.nv-meta/.info.json") && !sandbox.has("out"));
    let yaml = sandbox.text("all.yaml");
    assert!(yaml.contains("path: text.jsonl") && yaml.contains("media: media"), "{yaml}");
    sandbox.say("mix check all.yaml").ends(0);
    sandbox.say(line).ends(0).says("Nothing to do");
    // Without the last file, the same command writes it.
    std::fs::remove_file(sandbox.path("all.yaml")).unwrap();
    sandbox.say(line).ends(0);
    assert_eq!(sandbox.text("all.yaml"), yaml);
    // The reverse: rows with media in the prepared set.
    sandbox.say("shard text.jsonl --output back --media media.jpg --media-root media --no-json --key __key__ --missing keep").ends(0);
    assert_eq!(entries(&sandbox, "back/shard_000000.tar"), ["a.jpg"]);
}

#[test]
fn both_output_sets_and_the_metadataset_have_the_same_splits() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), name.as_bytes().to_vec());
    sandbox.tar_of("in/train/0.tar", &[entry("a.jpg"), entry("a.txt"), entry("b.jpg"), entry("b.txt")]);
    sandbox.tar_of("in/val/0.tar", &[entry("c.jpg"), entry("c.txt")]);
    sandbox.say("shard in --output sets/rest --media-to sets/media --metadataset sets/mix.yaml --shuffle").ends(0);
    for set in ["rest", "media"] {
        let splits = sandbox.text(&format!("sets/{set}/.nv-meta/split.yaml"));
        assert!(splits.contains("val/shard_000000.tar"), "{splits}");
    }
    let order = |set: &str| entries(&sandbox, &format!("sets/{set}/train/shard_000000.tar"));
    let keys = |names: Vec<String>| names.iter().map(|name| name[..1].to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(order("rest")), keys(order("media")));
    let yaml = sandbox.text("sets/mix.yaml");
    assert!(yaml.contains("train:") && yaml.contains("val:") && yaml.contains("path: rest"), "{yaml}");
    sandbox.say("mix check sets/mix.yaml").ends(0);
}

#[test]
fn inconsistent_output_flags_are_refused() {
    let sandbox = sandbox();
    for (line, reason) in [
        ("shard in --output out --media-to out/media", "overlap"),
        ("shard in --media-to media --text-to text.json", "ends in .jsonl"),
        ("shard in --output out --media-to media --metadataset all.txt", "ends in .yaml"),
        ("shard in --output out --metadataset all.yaml", "--media-to"),
        ("shard in --media-to media", "--output"),
    ] {
        sandbox.say(line).ends(2).complains(reason);
    }
    sandbox.write("taken/x", "x");
    sandbox.say("shard in --output out --media-to taken").ends(1).complains("the output exists already");
    assert!(!sandbox.has("out") && !sandbox.has("media"));
}

#[test]
fn report_has_one_line_per_output_set() {
    let sandbox = sandbox();
    let ran = sandbox.say("shard in --output rest --media-to media").ends(0);
    let ran = ran.says("Wrote 2 samples (3 parts) to 1 shard").says("Wrote 2 samples (2 parts) to 1 shard");
    assert_eq!(ran.out.matches("Wrote").count(), 2, "{}", ran.out);
    let report = sandbox.say("shard in --media-to pictures --text-to all.jsonl --json").ends(0).json("ok");
    assert_eq!(report["lines"], 3);
    assert_eq!(report["sets"][0]["samples"], 2);
}

#[test]
fn metadataset_with_an_empty_set_is_refused() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), name.as_bytes().to_vec());
    sandbox.tar_of("media/0.tar", &[entry("a.jpg")]);
    sandbox.tar_of("texts/0.tar", &[entry("a.txt")]);
    for (input, why) in [("media", "all parts are media"), ("texts", "no part is media")] {
        let line = format!("shard {input} --output out --media-to apart --metadataset all.yaml");
        sandbox.say(&line).ends(1).complains(why).complains("leave out --metadataset");
    }
    assert!(!sandbox.has("all.yaml") && !sandbox.has("out") && !sandbox.has("apart"));
}
