//! Whole recipes of the manual, from the first look at the data to the second week.

use super::cli_support::Sandbox;

#[test]
fn data_set_is_prepared_checked_and_updated_later() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let plan = "--split-ratio 8,1,1 --sample-type TextSample --field-map text=json[text],txt";
    sandbox.say(&format!("prepare data --dry-run {plan}")).ends(0).says("Would prepare");
    sandbox.say(&format!("prepare data --yes {plan} --save-plan plan.yaml")).ends(0).says("30 samples");
    sandbox.say("info data").ends(0).says("field map: text = json[text],txt");
    sandbox.say("lint data").ends(0);
    // A week later: two more shards, and one broken sample.
    sandbox.tar("data/s_10.tar", ["100", "101"]);
    sandbox.tar("data/s_11.tar", ["110"]);
    sandbox.say("lint data").ends(1).complains("s_10.tar");
    sandbox.say("prepare data --yes --update --new-to train --exclude-sample s_00.tar/001").ends(0).says("33 samples");
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    assert!(splits.contains("s_{10..11}.tar") && splits.contains("- s_00.tar/001"), "{splits}");
    sandbox.say("lint data").ends(0);
    sandbox.say("verify data").ends(0).says("33 samples");
}

#[test]
fn train_and_val_folders_are_divided_by_pattern() {
    let sandbox = Sandbox::new();
    for (folder, shards) in [("train", 3), ("val", 1)] {
        for shard in 0..shards {
            let keys = (0..4).map(|n| format!("{folder}{shard}{n}"));
            sandbox.tar(&format!("data/{folder}/s_{shard:03}.tar"), keys);
        }
    }
    let line = "prepare data --yes --split-parts train:train/.* --split-parts val:val/.* --sample-type CrudeWebdataset";
    let value = sandbox.say(&format!("{line} --json")).ends(0).json("ok");
    assert_eq!(value["splits"][0]["samples"], 12);
    assert_eq!(value["splits"][1]["samples"], 4);
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("- train/s_{000..002}.tar"));
}

#[test]
fn additional_dataset_yaml_has_the_given_name() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --sample-type TextSample --field-map text=txt").ends(0);
    let line =
        "prepare data --yes --force-overwrite --split-ratio 8,1,1 --sample-type my.samples:Page --field-map page=json \
                --dataset-yaml-name pages.yaml";
    sandbox.say(line).ends(0);
    let yaml = sandbox.text("data/.nv-meta/pages.yaml");
    assert!(yaml.contains("__module__: my.samples\n  __class__: Page"), "{yaml}");
    sandbox.say("energon info data --dataset-config pages.yaml").ends(0).says("my.samples:Page");
}

#[test]
fn a_compressed_shard_is_rewritten_on_request() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2"]);
    sandbox.tar("plain.tar", ["3", "4"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, &sandbox.read("plain.tar")).unwrap();
    sandbox.write("data/b.tgz", gzip.finish().unwrap());
    let plan = "--yes --split-ratio 1,0,0 --skip-dataset-yaml";
    sandbox.say(&format!("prepare data {plan}")).ends(1).complains("b.tgz").complains("--tgz rewrite");
    sandbox.say(&format!("prepare data {plan} --force-overwrite --tgz rewrite --problems-ok")).ends(0);
    assert!(sandbox.has("data/b.tar") && sandbox.has("data/b.tar.idx"));
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("b.tar"));
}

#[test]
fn prepared_bytes_are_independent_of_threads_and_colours() {
    let mut files: Vec<Vec<u8>> = Vec::new();
    for flags in ["--threads 1", "--threads 7 --color always", "--num-workers 2 --memory 64MiB -v"] {
        let sandbox = Sandbox::new();
        sandbox.ten_shards();
        sandbox
            .say(&format!("prepare data --yes --split-ratio 8,1,1 --shuffle-tars --skip-dataset-yaml {flags}"))
            .ends(0);
        files.push(
            [
                sandbox.read("data/.nv-meta/split.yaml"),
                sandbox.read("data/.nv-meta/.info.json"),
                sandbox.read("data/s_07.tar.idx"),
            ]
            .concat(),
        );
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn scratch_folder_is_used_and_emptied() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    std::fs::create_dir(sandbox.path("fast")).unwrap();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --skip-dataset-yaml --scratch fast").ends(0);
    assert_eq!(std::fs::read_dir(sandbox.path("fast")).unwrap().count(), 0);
    sandbox
        .say("prepare data --yes --split-ratio 8,1,1 --skip-dataset-yaml --scratch nowhere/at/all --force-overwrite")
        .ends(3);
}
