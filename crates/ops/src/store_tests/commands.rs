//! Runs commands on a folder and on its copy in a store, and compares all files afterwards.

use super::{assert_same, copy, files, golden, options, pack, pack_plan, text};
use crate::job::metadataset::{self, IndexAction};
use crate::operations::{erase, operation, MixNew};
use gristmill_core::mix::{MixKind, MixMember, MixPlan};
use gristmill_core::options::Answer;
use gristmill_core::pack::{MegatronTarget, NanosetsTarget};
use gristmill_core::{ExitClass, PackPlan};
use gristmill_storage::fs::RealFs;
use gristmill_storage::memory_store::put;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Copies an input to the subfolder `data` of a folder and of the store, calls `run` for both, and compares all files.
fn compare_trees(what: &str, input: &Path, run: impl Fn(&Path)) -> BTreeMap<String, Vec<u8>> {
    let (dir, store) = (tempfile::tempdir().unwrap(), PathBuf::from(format!("mem://trees/{what}")));
    copy_local(input, &dir.path().join("data"));
    copy(input, &store.join("data"));
    run(dir.path());
    run(&store);
    let [local, stored] = [dir.path(), &store].map(files);
    assert_same(&stored, &local, what);
    let is_lock = |name: &&String| name.ends_with("/lock") || name.ends_with("/publishing");
    let entries = gristmill_storage::walk::Walk::new(&store).into_iter();
    let names: Vec<String> = entries.map(|entry| text(entry.unwrap().path())).collect();
    assert_eq!(names.iter().find(is_lock), None, "{what}");
    stored
}

fn copy_local(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Runs a command with these inputs and flags (`NAME` or `NAME=VALUE`); `@` is replaced by the root.
fn run(root: &Path, name: &str, inputs: &str, flags: &str) {
    let at = |text: &str| text.replace('@', root.to_str().unwrap());
    let mut plan = operation(name).unwrap().plan_for(inputs.split_whitespace().map(at).collect());
    for flag in flags.split_whitespace() {
        let (name, answer) = match flag.split_once('=') {
            Some((name, value)) => (name, Answer::Text(at(value))),
            None => (flag, Answer::On),
        };
        plan.set(name, &answer).unwrap();
    }
    assert!(plan.check(true).is_empty(), "{name}: {:?}", plan.check(true));
    plan.start(true, options()).unwrap().wait().unwrap();
    plan.start(false, options()).unwrap().wait().unwrap();
}

#[test]
fn raw_indexes_are_the_same_in_a_store() {
    let made = compare_trees("index", &golden("modalities/idx_basic/input"), |root| {
        run(root, "index", "@/data/data.jsonl", "format=modalities");
        run(root, "index", "@/data/data.jsonl", "format=modalities index-path=@/other/place.idx");
        run(root, "index", "@/data", "format=forager");
    });
    let expected = std::fs::read(golden("modalities/idx_basic/expected/data.idx")).unwrap();
    assert!(made["data/data.idx"] == expected && made["other/place.idx"] == expected);
    assert!(made.contains_key("data/index/sample_locations.bin") || made.len() > 4, "{:?}", made.keys());
}

#[test]
fn raw_indexes_of_a_folder_are_the_same_in_a_store() {
    let input = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let text =
            if number == 7 { "no JSON\n".to_owned() } else { "{\"text\": \"a document\"}\n".repeat(1 + number % 3) };
        std::fs::write(input.path().join(format!("{number:02}.jsonl")), text).unwrap();
    }
    let made = compare_trees("indexes", input.path(), |root| run(root, "index", "@/data", "format=modalities"));
    let indexes = made.keys().filter(|name| name.ends_with(".idx")).count();
    assert_eq!(
        (indexes, made.contains_key("data/07.idx")),
        (39, false),
        "a file that is refused does not prevent the others"
    );
}

#[test]
fn modalities_commands_are_the_same_in_a_store() {
    let made = compare_trees("modalities", &golden("modalities/merge/input"), |root| {
        run(
            root,
            "modalities merge",
            "@/data/p0.pbin @/data/p1.pbin @/data/p2.pbin",
            "compat output=@/new/merged.pbin",
        );
        run(root, "modalities merge", "@/data", "output=@/folder.pbin");
        run(root, "modalities shuffle", "@/data/p0.pbin", "seed=7 output=@/shuffled.pbin");
        run(root, "modalities shuffle", "@/data/p0.jsonl", "seed=7 output=@/shuffled.jsonl");
        run(root, "modalities chunk", "@/data/p0.pbin @/data/p1.pbin", "part=0/2 output=@/chunk.pbin");
        run(root, "modalities filter", "@/data/p0.pbin", "documents=0-1 output=@/filtered.pbin");
        run(root, "modalities filter", "@/data/p0.pbin", "documents=0 force-overwrite output=@/filtered.pbin");
    });
    assert!(made["new/merged.pbin"] == std::fs::read(golden("modalities/merge/expected/merged.pbin")).unwrap());
    assert_eq!(made["new/merged.pbin"].len(), made["folder.pbin"].len());
}

#[test]
fn modalities_repair_is_the_same_in_a_store() {
    let made = compare_trees("repair", &golden("modalities/merge/input"), |root| {
        run(root, "modalities merge", "@/data", "compat output=@/m.pbin");
        let repair = || crate::datasets::Dataset::find(&root.join("m.pbin"))?.repair(false, options())?.wait();
        let report = repair().unwrap();
        assert!(report.repaired > 0 && report.backup.unwrap().ends_with("m.pbin.before-repair"));
        assert_eq!(repair().unwrap().repaired, 0);
    });
    assert!(made["m.pbin"] != made["m.pbin.before-repair"]);
}

#[test]
fn token_folders_in_a_store_equal_local_ones() {
    let input = golden("nanosets/02_modern_noshuffle/input");
    compare_trees("nanosets", &input, |root| {
        let target = NanosetsTarget { tasks: Some(3), ..NanosetsTarget::default() };
        pack(&PackPlan { nanosets: Some(target), ..pack_plan(&root.join("data"), &root.join("tokens")) });
        run(root, "nanosets merge", "@/tokens", "name=all output=@/merged");
        run(root, "nanosets merge", "@/tokens", "name=all output=@/merged");
        run(root, "nanosets merge", "@/tokens", "name=all output=@/merged seed=7 force-overwrite");
        run(root, "nanosets shuffle", "@/tokens", "window=16 output=@/windows");
        run(root, "mix index", "@/tokens @/merged", "sequence-length=8 samples=20 output=@/mixture");
    });
}

#[test]
fn dedup_against_an_earlier_set_is_the_same_in_a_store() {
    let input = golden("dedup/v04_shards/input");
    let made = compare_trees("against", &input, |root| {
        run(root, "dedup", "@/data", "minlen=30 output=@/earlier");
        run(root, "dedup", "@/data", "minlen=30 against=@/earlier output=@/nothing");
    });
    let bytes =
        |folder: &str| made.iter().filter(|(name, _)| name.starts_with(folder)).map(|(_, b)| b.len()).sum::<usize>();
    assert!(bytes("nothing/") < bytes("earlier/"));
}

#[test]
fn megatron_commands_are_the_same_in_a_store() {
    let made = compare_trees("megatron", &golden("megatron/m08_merge/input"), |root| {
        run(root, "megatron merge", "@/data", "output=@/new/all");
        run(root, "megatron merge", "@/data", "output=@/new/all");
    });
    for name in ["all.bin", "all.idx"] {
        assert!(
            made[&format!("new/{name}")] == std::fs::read(golden("megatron/m08_merge/expected").join(name)).unwrap()
        );
    }
    compare_trees("preprocess", &golden("megatron/m01_basic/input"), |root| {
        let megatron = Some(MegatronTarget::default());
        pack(&PackPlan { megatron, ..pack_plan(&root.join("data"), &root.join("pair")) });
    });
}

#[test]
fn path_lists_and_task_logs_are_read_and_written_in_a_store() {
    let (dir, store) = (tempfile::tempdir().unwrap(), PathBuf::from("mem://trees/logs"));
    let input = golden("nanosets/02_modern_noshuffle/input");
    copy_local(&input, &dir.path().join("data"));
    copy(&input, &store.join("data"));
    let first = files(&input).into_keys().next().unwrap();
    std::fs::write(dir.path().join("list"), &first).unwrap();
    put(&store.join("list"), first.as_bytes());
    let names = |root: &Path| {
        let logging_dir = Some(text(&root.join("logs")));
        let target = NanosetsTarget { tasks: Some(1), logging_dir, ..NanosetsTarget::default() };
        let paths_file = Some(text(&root.join("list")));
        pack(&PackPlan { nanosets: Some(target), paths_file, ..pack_plan(&root.join("data"), &root.join("tokens")) });
        files(root).into_keys().collect::<Vec<_>>()
    };
    let local = names(dir.path());
    assert_eq!(names(&store), local);
    assert!(local.contains(&"logs/executor.json".to_owned()), "{local:?}");
}

#[test]
fn conversations() {
    for (case, files) in [("", 9), ("_references", 9), ("_special_tokens", 9)] {
        prepare_conversations(&format!("instruction_tuning{case}"), files);
    }
}

fn prepare_conversations(case: &str, count: usize) {
    let input = golden("modalities").join(case).join("input");
    let results = [true, false].map(|is_local| {
        let dir = tempfile::tempdir().unwrap();
        let root = if is_local { dir.path().to_owned() } else { PathBuf::from("mem://trees").join(case) };
        for (name, bytes) in files(&input) {
            let content = String::from_utf8(bytes).unwrap();
            let content = content.replace("path: input/", &format!("path: {}/", root.display()));
            let content = content.replace("path: expected/", &format!("path: {}/out/", root.display()));
            let content = content.replace("../tokenizers", &text(&golden("modalities/tokenizers")));
            match is_local {
                true => std::fs::write(root.join(name), content).unwrap(),
                false => put(&root.join(name), content.as_bytes()),
            }
        }
        run(&root, "modalities instruction", "@/it.yaml", "");
        // Names contain a hash of the configuration, which contains the paths.
        let made = files(&root.join("out")).into_iter().filter(|(name, _)| !name.ends_with(".yaml"));
        made.map(|(name, bytes)| {
            let (stem, ending) = name.rsplit_once('/').unwrap().1.split_once('.').unwrap();
            (format!("{stem}.{}", ending.split_once('.').unwrap().1), bytes)
        })
        .collect::<BTreeMap<_, _>>()
    });
    let [local, stored] = results;
    assert_same(&stored, &local, case);
    assert_eq!(local.len(), count, "{case}");
}

#[test]
fn mixtures_and_their_join_indexes_are_the_same_in_a_store() {
    let made = compare_trees("mix", &golden("energon/join_index/input"), |root| {
        for name in ["all", "none", "skip", "two_ways"] {
            let (path, action) = (root.join(format!("data/{name}.yaml")), IndexAction::Publish);
            let prepare = || metadataset::start(&path, false, action, options(), Arc::new(RealFs)).unwrap().wait();
            prepare().unwrap();
            assert!(prepare().unwrap().nothing_to_do);
        }
        let mut plan = MixPlan::new(text(&root.join("mix.yaml")), MixKind::Blend);
        let member = |name| MixMember::new(text(&root.join("data").join(name)), 1.0);
        plan.members = ["one", "two"].map(|name| MixMember { is_relative: true, ..member(name) }).into();
        plan.splits = vec!["train".into()];
        let plan = erase::<MixNew>(plan);
        plan.start(false, options()).unwrap().wait().unwrap();
    });
    // For `skip`, the reference program does not define the order within a shard.
    let expected = files(&golden("energon/join_index/expected")).into_iter();
    for (name, bytes) in expected.filter(|(name, _)| !name.starts_with("skip")) {
        assert!(made[&format!("data/{name}")] == bytes, "{name}");
    }
    let mix = String::from_utf8(made["mix.yaml"].clone()).unwrap();
    assert!(mix.contains("path: data/one"), "{mix}");
}

#[test]
fn tokenizer_is_loaded_from_a_store() {
    let (input, store) = (golden("nanosets/02_modern_noshuffle/input"), Path::new("mem://tokenizers"));
    copy(&golden("modalities/tokenizers/bpe1k"), &store.join("bpe1k"));
    let dir = tempfile::tempdir().unwrap();
    let plan = |output: &str| PackPlan {
        nanosets: Some(NanosetsTarget::default()),
        ..pack_plan(&input, &dir.path().join(output))
    };
    pack(&plan("local"));
    for (output, tokenizer) in [("folder", "bpe1k"), ("file", "bpe1k/tokenizer.json")] {
        pack(&PackPlan { tokenizer: text(&store.join(tokenizer)), ..plan(output) });
        let tokens = |name: &str| {
            let made = files(&dir.path().join(name)).into_iter();
            made.filter(|(name, _)| !name.ends_with(".metadata")).collect::<BTreeMap<_, _>>()
        };
        assert_same(&tokens(output), &tokens("local"), tokenizer);
    }
    let missing = PackPlan { tokenizer: text(&store.join("none.json")), ..plan("none") };
    let failure = crate::tokens::pack::start(missing, options()).unwrap().wait().unwrap_err();
    assert!(failure.class.code() == 3 && failure.why.contains("no such file or folder"), "{failure}");
}

#[test]
fn bucket_as_output_is_refused() {
    let (input, bucket) = (golden("modalities/merge/input"), Path::new("mem://bucket-output"));
    copy(&input, &bucket.join("data"));
    let mut plan = operation("modalities merge").unwrap().plan_for(vec![text(&bucket.join("data"))]);
    plan.set("output", &Answer::Text(text(bucket))).unwrap();
    plan.set("force-overwrite", &Answer::On).unwrap();
    let failure = plan.start(false, options()).unwrap().wait().err().unwrap();
    assert!(failure.class == ExitClass::Usage && failure.why.contains("it is a bucket"), "{failure}");
    assert_same(&files(&bucket.join("data")), &files(&input), "data");
    assert_eq!(files(bucket).len(), files(&input).len());
    assert!(!Path::new("mem:").exists(), "a folder of this machine is made");
}

#[test]
fn members_that_the_loader_cannot_open_are_refused() {
    let refused = |output: &str, member: &str| {
        let mut plan = MixPlan::new(output, MixKind::Blend);
        plan.members = vec![MixMember::new(member, 1.0)];
        plan.splits = vec!["train".into()];
        crate::engine::mix::author::render(&plan)
    };
    for output in ["local.yaml", "mem://other/mix.yaml"] {
        let failure = refused(output, "mem://bucket/a/set").unwrap_err();
        assert_eq!(failure.class, ExitClass::Usage);
        assert!(failure.why.contains("does not know 'mem://'"), "{failure}");
        let hint = failure.hint.unwrap();
        assert!(hint.contains("msc://PROFILE/a/set") && hint.contains("base_path: bucket"), "{hint}");
    }
    assert!(refused("mem://bucket/mixes/mix.yaml", "mem://bucket/a/set").unwrap().contains("path: ../a/set"));
    assert!(refused("mem://bucket/mixes/mix.yaml", "msc://profile/a").unwrap().contains("path: msc://profile/a"));
    assert!(refused("mem://bucket/mixes/mix.yaml", "/data/set").unwrap().contains("path: /data/set"));
    assert!(refused("mem://bucket/mix.yaml", "mem:///set").unwrap_err().why.contains("no bucket"));
    assert!(refused("mem://bucket/mix.yaml", "mem://bucket/../set").unwrap_err().why.contains("above the root"));
}
