//! Token folders on the command line.

use super::cli_support::Sandbox;
use std::path::{Path, PathBuf};

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/nanosets").join(case)
}

/// Returns a sandbox with the files of a case's folder under `name`.
fn with_folder(case: &str, name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    copy(&sandbox, case, name);
    sandbox
}

fn copy(sandbox: &Sandbox, case: &str, name: &str) {
    for entry in std::fs::read_dir(golden(case)).unwrap() {
        let entry = entry.unwrap();
        let bytes = std::fs::read(entry.path()).unwrap();
        sandbox.write(&format!("{name}/{}", entry.file_name().to_str().unwrap()), bytes);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes[128..].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn a_merge_of_the_reference_is_written_byte_for_byte() {
    let sandbox = with_folder("06_merge/expected", "in");
    let merge = "nanosets merge in --output merged --name all --seed 7 --max-tokens-per-file 400";
    sandbox.say(&format!("{merge} --dry-run")).ends(0).says("Would merge 30 documents with 1,124 tokens of 3 files");
    assert!(!sandbox.has("merged"));
    sandbox.say(merge).ends(0).says("Merged 30 documents").says("Next: gristmill info ");
    let expected = golden("06_merge/merged");
    assert_eq!(names(&sandbox.path("merged")), names(&expected));
    for name in names(&expected) {
        assert_eq!(sandbox.read(&format!("merged/{name}")), std::fs::read(expected.join(&name)).unwrap(), "{name}");
    }
    sandbox.say(merge).ends(0).says("Nothing to do");
    sandbox.say(&format!("{merge} --shuffle none")).ends(1).complains("--force-overwrite");
    let ran = sandbox.say(&format!("{merge} --force-overwrite --shuffle none --json"));
    let value = ran.json("ok");
    assert_eq!((value["tokens"].as_u64(), value["units"].as_u64()), (Some(1124), Some(30)));
    assert_eq!(names(&sandbox.path("")), ["in", "merged"]);
    sandbox.say("nanosets merge nowhere --output x --name all").ends(3);
    sandbox.say("nanosets merge merged --output merged --name y").ends(2).complains("the folder that is read");
    sandbox.write("empty/readme", "");
    sandbox.say("nanosets merge empty --output x --name all").ends(2).complains("no .ds file");
    sandbox.say("nanosets merge in --output x --name a/b").ends(2).complains("--name");
    sandbox.say("nanosets merge in --output x --name all --chunk-size 0").ends(2);
    assert!(!sandbox.has("x"));
}

#[test]
fn windows_are_shuffled_into_files_of_the_same_names() {
    let sandbox = with_folder("02_modern_noshuffle/expected", "in");
    let ran = sandbox.say("nanosets shuffle in --output out --window 33 --seed 1 --json").ends(0);
    let value = ran.json("ok");
    assert_eq!((value["units"].as_u64(), value["tokens"].as_u64()), (Some(35), Some(35 * 33)));
    assert_eq!(names(&sandbox.path("out")).len(), 3);
    sandbox.say("nanosets shuffle in --output out --window 33 --seed 1").ends(0).says("Nothing to do");
    sandbox.say("nanosets shuffle in --output out --window 33").ends(1);
    sandbox.say("nanosets shuffle in --output other --window 0").ends(2);
    let name = names(&sandbox.path("in")).into_iter().find(|name| name.ends_with(".ds")).unwrap();
    let short = sandbox.read(&format!("in/{name}"))[..40].to_vec();
    sandbox.write(&format!("in/{name}"), short);
    sandbox.say("nanosets shuffle in --output short --window 5").ends(1).complains("tokens, and the file has 20");
    sandbox.say("nanosets shuffle in --output other").ends(2).complains("--window");
}

#[test]
fn index_of_the_documented_mixture_is_reproduced() {
    let sandbox = Sandbox::new();
    let line = "mix index --lengths 8,2,5,5 --weights 0.1,0.5,0.3,0.1 --samples 70 --seed 1234 --output mix";
    let ran = sandbox.say(&format!("{line} --dry-run --json"));
    let value = ran.json("ok");
    assert_eq!(value["members"][1]["samples"], 34);
    assert_eq!(value["is_exact"], true);
    assert!(!sandbox.has("mix"));
    let ran = sandbox.say(line).ends(0).says("70 samples from 4 data sets").says("Written");
    ran.says("Next: gristmill info ");
    assert_eq!(numbers(&sandbox.read("mix/dataset_index.npy"))[..10], [1, 1, 0, 2, 3, 1, 3, 1, 2, 2]);
    assert_eq!(numbers(&sandbox.read("mix/dataset_sample_index.npy"))[..10], [1, 0, 0, 4, 1, 0, 0, 0, 2, 0]);
    assert_eq!(names(&sandbox.path("")), ["mix"]);
    sandbox.say(line).ends(0).says("Nothing to do");
    sandbox.say(&line.replace("--seed 1234", "--seed 7")).ends(1).complains("--force-overwrite");
    sandbox.say(&format!("{line} --force-overwrite")).ends(0);
    // Unexpected properties of the index are reported as notes.
    let value = sandbox.say("mix index --lengths 5,3 --samples 16 --output even --json").json("ok");
    let notes = value["problems"].to_string();
    assert!(notes.contains("lays out 3 epochs") && notes.contains("does not shuffle between epochs"), "{notes}");
}

#[test]
fn mix_index_reads_folders_or_a_training_configuration() {
    let sandbox = with_folder("02_modern_noshuffle/expected", "web");
    copy(&sandbox, "03_modern_doc_shuffle_split/expected", "code");
    let flags = "--weights 0.8,0.2 --samples 100 --sequence-length 32";
    sandbox.say(&format!("mix index web code {flags} --output a")).ends(0).says("web").says("76");
    let yaml = "data_stages:\n- name: first\n  data:\n    seed: 1234\n    dataset:\n      dataset_folder: [web, code]\n      \
                dataset_weights: [0.8, 0.2]\n- name: second\n  data:\n    dataset:\n      dataset_folder: {web: 1, code: 3}\n\
                tokens: {train_steps: 25, micro_batch_size: 2, batch_accumulation_per_replica: 1, sequence_length: 32}\n\
                parallelism: {dp: 2}\n";
    sandbox.write("train.yaml", yaml);
    sandbox.say("mix index --config train.yaml --output b").ends(2).complains("--stage");
    sandbox.say("mix index --config train.yaml --stage first --output b").ends(0);
    for name in ["dataset_index.npy", "dataset_sample_index.npy"] {
        assert_eq!(sandbox.read(&format!("a/{name}")), sandbox.read(&format!("b/{name}")), "{name}");
    }
    let value = sandbox.say("mix index --config train.yaml --stage second --output c --dry-run --json").json("ok");
    assert_eq!(value["members"][1]["weight"], 0.75);
    sandbox.write("text.yaml", "data_stages: 3");
    sandbox.say("mix index --config text.yaml --output c").ends(1);
}

/// Returns a sandbox with a folder `web` whose metadata names a tokenizer of 844 tokens as `tok.json`, and a training configuration with
/// these lines.
fn trained_with(lines: &str) -> Sandbox {
    let sandbox = with_folder("02_modern_noshuffle/expected", "web");
    sandbox.write("tok.json", std::fs::read(golden("tokenizers/bpe1k.json")).unwrap());
    for name in names(&sandbox.path("web")).iter().filter(|name| name.ends_with(".metadata")) {
        let text = sandbox.text(&format!("web/{name}"));
        sandbox.write(&format!("web/{name}"), text.replace("../tokenizers/bpe1k.json", "tok.json"));
    }
    let yaml = "data_stages:\n- name: first\n  data: {dataset: {dataset_folder: web}}\n\
                tokens: {train_steps: 25, micro_batch_size: 2, sequence_length: 32}\n";
    sandbox.write("train.yaml", format!("{yaml}{lines}"));
    sandbox
}

const TRAINED: &str = "mix index --config train.yaml --output index";

#[test]
fn a_vocab_size_that_nanotron_refuses_is_a_problem_and_the_index_is_written() {
    let sandbox = trained_with("model: {model_config: {vocab_size: 1000}}\n");
    let ran = sandbox.say(TRAINED).ends(1);
    ran.complains("vocab_size of the training configuration is 1000")
        .complains("has 844 tokens")
        .complains("vocab_size: 844");
    assert!(sandbox.has("index/dataset_index.npy"));
    sandbox.say(&format!("{TRAINED} --vocab-size 844")).ends(0);
    sandbox.say(&format!("{TRAINED}2 --strict")).ends(1).complains("vocab_size");
    assert!(!sandbox.has("index2"));
    // The saved plan and the printed command make the same comparison.
    let value = sandbox.say(&format!("{TRAINED} --dry-run --save-plan plan.yaml --json")).ends(1).json("problems");
    let command = value["equivalent_command"].as_str().unwrap();
    assert!(command.contains("--vocab-size 1000"), "{command}");
    sandbox.say(command.strip_prefix("gristmill ").unwrap()).ends(1).complains("vocab_size");
    sandbox.say("run plan.yaml").ends(1).complains("vocab_size");
}

#[test]
fn equal_or_unset_vocab_size_and_tokenizer_are_no_problem() {
    for lines in [
        "model: {model_config: {vocab_size: 844}}\ntokenizer: {tokenizer_name_or_path: tok.json}\n",
        "model: {model_config: {vocab_size: -1}}\n",
        "model: {model_config: {vocab_size: null}}\ntokenizer: {tokenizer_name_or_path: null}\n",
        "model: {model_config: {hidden_size: 8}}\ntokenizer: null\n",
    ] {
        let value = trained_with(lines).say(&format!("{TRAINED} --json")).ends(0).json("ok");
        assert!(!value["problems"].to_string().contains("tokenizer"), "{lines}: {}", value["problems"]);
    }
}

#[test]
fn tokenizer_different_from_the_training_configuration_is_a_problem() {
    // The same file under another name: nanotron compares the names.
    let sandbox = trained_with("tokenizer: {tokenizer_name_or_path: ./tok.json}\n");
    let ran = sandbox.say(TRAINED).ends(1);
    ran.complains("tokenizer_name_or_path of the training configuration is \"./tok.json\"").complains("\"tok.json\"");
    sandbox.say(&format!("{TRAINED} --tokenizer tok.json")).ends(0);
    sandbox.say("mix index --lengths 3 --samples 3 --tokenizer x --output y").ends(2);
}

#[test]
fn vocab_size_of_a_missing_tokenizer_is_not_compared() {
    let sandbox = trained_with("model: {model_config: {vocab_size: 1000}}\n");
    std::fs::remove_file(sandbox.path("tok.json")).unwrap();
    let value = sandbox.say(&format!("{TRAINED} --json")).ends(0).json("ok");
    let notes = value["problems"].as_array().unwrap();
    let note = notes.iter().find(|note| note["kind"] == "tokenizer-mismatch").unwrap();
    assert_eq!(note["severity"], "note");
    assert!(note["message"].as_str().unwrap().contains("was not compared with vocab_size"), "{note}");
    // The tokenizer is also found in the folder.
    std::fs::copy(golden("tokenizers/bpe1k.json"), sandbox.path("web/tok.json")).unwrap();
    sandbox.say(&format!("{TRAINED} --force-overwrite")).ends(1).complains("has 844 tokens");
}

#[test]
fn nanosets_pack_reports_the_required_vocab_size() {
    let sandbox = trained_with("");
    sandbox.write("text.jsonl", "{\"text\": \"some words\"}\n");
    let pack = "pack text.jsonl --format nanosets --tokenizer tok.json --output tokens";
    sandbox.say(pack).ends(0).says("the training configuration needs vocab_size: 844");
    let value = sandbox.say(&format!("{pack} --json")).ends(0).json("ok");
    assert_eq!(value["targets"][0]["vocab_size"], 844);
}

#[test]
fn forager_samples_are_verified_by_token_ids() {
    let sandbox = Sandbox::new();
    let text: String = (0..40).map(|line| format!("{{\"text\": \"some words of line {line}\"}}\n")).collect();
    sandbox.write("text/a.jsonl", text);
    let tokenizer = golden("tokenizers/bpe1k.json");
    let tokenizer = tokenizer.to_str().unwrap();
    let pack = format!("pack text --format forager --sample-size 8 --eos-id 0 --tokenizer {tokenizer} --output base");
    sandbox.say(&pack).ends(0);
    sandbox.say(&format!("verify base --tokenizer {tokenizer}")).ends(0).says("No problem found");
    let name = "base/tokenized-samples/a-tokenized-samples.bin";
    let mut bytes = sandbox.read(name);
    bytes[2..4].copy_from_slice(&60_000_u16.to_le_bytes());
    sandbox.write(name, bytes);
    sandbox.say("verify base").ends(0);
    sandbox.say(&format!("verify base --tokenizer {tokenizer}")).ends(1).complains("the id 60000 is beyond");
    sandbox.say("lint base").ends(0);
    // Flags that do not apply to the input are refused, not ignored.
    for line in ["verify base --source text/a.jsonl", "lint base --decode", "verify text/a.jsonl --tokenizer x.json"] {
        sandbox.say(line).ends(2).complains("remove it");
    }
}

#[test]
fn saved_nanosets_plans_run_from_any_folder() {
    let sandbox = with_folder("02_modern_noshuffle/expected", "web");
    copy(&sandbox, "03_modern_doc_shuffle_split/expected", "code");
    for (command, output, files) in [
        ("nanosets merge web --name all --seed 7 --max-tokens-per-file 400 --chunk-size 50", "merged", "000_all.ds"),
        ("nanosets shuffle web --window 33 --seed 3", "windows", "00001_unshuffled.ds"),
        ("mix index web code --weights 0.8,0.2 --samples 100 --sequence-length 32", "mix", "dataset_index.npy"),
    ] {
        let line = format!("{command} --output {output}");
        sandbox.say(&format!("{line} --dry-run --save-plan plans/{output}.yaml")).ends(3);
        sandbox.say(&format!("{line} --dry-run --save-plan {output}.yaml")).ends(0).says("Plan written");
        assert!(!sandbox.has(output));
        sandbox.say(&line).ends(0);
        let made = sandbox.read(&format!("{output}/{files}"));
        std::fs::remove_dir_all(sandbox.path(output)).unwrap();
        let mut elsewhere = sandbox.command(["run", sandbox.path(&format!("{output}.yaml")).to_str().unwrap()]);
        let ran = elsewhere.current_dir(sandbox.path("web")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        assert_eq!(sandbox.read(&format!("{output}/{files}")), made, "{command}");
        // An existing output is kept; a different one is replaced only with `--force-overwrite`.
        sandbox.say(&format!("run {output}.yaml")).ends(0).says("Nothing to do");
        let mut other = made.clone();
        *other.last_mut().unwrap() ^= 1;
        sandbox.write(&format!("{output}/{files}"), other);
        sandbox.say(&format!("run {output}.yaml")).ends(1).complains("--force-overwrite");
        sandbox.say(&format!("run {output}.yaml --force-overwrite")).ends(0);
        assert_eq!(sandbox.read(&format!("{output}/{files}")), made, "{command}");
        let mut plan = String::from_utf8(sandbox.read(&format!("{output}.yaml"))).unwrap();
        plan = plan.replace("overwrite: false", "overwrite: true");
        sandbox.write(&format!("{output}.yaml"), &plan);
        sandbox.say(&format!("run {output}.yaml")).ends(0);
        sandbox.write("wrong.yaml", plan.replace("overwrite", "owerwrite"));
        sandbox.say("run wrong.yaml").ends(2).complains("owerwrite");
    }
}

#[test]
fn invalid_mixtures_are_refused_with_the_flag() {
    let sandbox = with_folder("02_modern_noshuffle/expected", "web");
    copy(&sandbox, "07_wordlevel_u32/expected", "words");
    sandbox.say("mix index --output x").ends(2).complains("--lengths");
    sandbox.say("mix index --lengths 1,2 --output x").ends(2).complains("--samples");
    sandbox.say("mix index --lengths 1,2 --samples 5").ends(2).complains("--output");
    sandbox.say("mix index --lengths 1,2 --samples 0 --output x").ends(2).complains("--samples");
    sandbox
        .say("mix index --lengths 1,2 --samples 5 --weights 1 --output x")
        .ends(2)
        .complains("1 weight for 2 data sets");
    sandbox.say("mix index --lengths 1,2 --samples 5 --weights 1,NaN --output x").ends(2);
    sandbox.say("mix index --lengths 1,2 --samples 5 --seed 4294967296 --output x").ends(2).complains("--seed");
    sandbox.say("mix index --lengths 0,2 --samples 5 --weights 1,1 --output x").ends(1).complains("divides by zero");
    sandbox.say("mix index web --samples 5 --output x").ends(2).complains("--sequence-length");
    sandbox.say("mix index web words --samples 5 --sequence-length 8 --output x").ends(1).complains("4 bytes");
    sandbox.say("mix index web --lengths 1 --samples 5 --output x").ends(2);
    assert!(!sandbox.has("x"));
}

#[test]
fn info_counts_windows_and_reports_inconsistent_files() {
    let sandbox = with_folder("03_modern_doc_shuffle_split/expected", "set");
    let value = sandbox.say("info set --sequence-length 31 --json").ends(0).json("ok");
    let windows: Vec<u64> = value["files"].as_array().unwrap().iter().map(|f| f["windows"].as_u64().unwrap()).collect();
    assert_eq!(windows, [23, 18, 22, 14]);
    assert_eq!((value["windows"].as_u64(), value["tokens"].as_u64()), (Some(77), Some(2541)));
    assert_eq!(value["tokenizer"], "../tokenizers/bpe1k.json");
    assert_eq!(value["documents"], 60);
    sandbox.say("info set").ends(0).says("documents: 60");
    sandbox.say("info set --sequence-length 0").ends(2);
    sandbox.say("lint set").ends(0).says("No problem found in 4 files");
    sandbox.say("verify set").ends(0).says("No problem found in 4 files");
    let tokenizer = golden("tokenizers/bpe1k.json");
    let verify = |file: &Path| sandbox.run(["verify", "set", "--tokenizer", file.to_str().unwrap()]);
    verify(&tokenizer).ends(0);
    let mut bytes = sandbox.read("set/00000_00001_doc_shuffled.ds");
    bytes[..2].copy_from_slice(&60_000_u16.to_le_bytes());
    bytes.extend_from_slice(&[1, 0]);
    sandbox.write("set/00000_00001_doc_shuffled.ds", bytes);
    verify(&tokenizer).ends(1).complains("token 0 is 60000");
    sandbox.say("lint set").ends(1).complains("the file has 597");
    sandbox.say("info set --json").ends(1).json("problems");
}

#[test]
fn forager_index_is_compared_with_its_sample_files() {
    let sandbox = Sandbox::new();
    let rows = |rows: &[[u64; 3]]| -> Vec<u8> { rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect() };
    sandbox.write("base/tokenized-samples/a.bin", [7; 16]);
    sandbox.write("base/index/file_location.txt", "tokenized-samples/a.bin\n");
    sandbox.write("base/index/sample_locations.bin", rows(&[[0, 0, 8], [0, 8, 8]]));
    let value = sandbox.say("info base --json").ends(0).json("ok");
    assert_eq!((value["samples"].as_u64(), value["bytes"].as_u64()), (Some(2), Some(16)));
    sandbox.say("lint base").ends(0).says("2 samples");
    sandbox.say("verify base").ends(0);
    sandbox.write("base/tokenized-samples/b\u{1b}[31m.bin", [7; 4]);
    let ran = sandbox.say("lint base").ends(1).complains("does not list");
    assert!(!ran.err.contains("\u{1b}[31m"), "names are made safe");
    sandbox.write("base/index/sample_locations.bin", rows(&[[0, 0, 8], [3, u64::MAX, u64::MAX]]));
    sandbox.say("lint base").ends(1).complains("the list has 1 file");
    sandbox.say("info base").ends(1).says("samples: 1");
    sandbox.say("info base --sequence-length 4").ends(2).complains("it is no folder of .ds files");
}

#[test]
fn nanosets_result_shows_equivalent_command() {
    let sandbox = with_folder("06_merge/expected", "in");
    for command in [
        "nanosets merge in --output m --name all --max-tokens-per-file 400 --max-tokens 900 --seed 7",
        "nanosets merge in --output m --name all --shuffle none --force-overwrite",
        "nanosets merge in --output c --name all --chunk-size 16",
        "nanosets shuffle in --output s --window 33 --seed 1",
        "mix index in m --weights 0.25,1.5 --sequence-length 16 --samples 40 --output i",
        "mix index --lengths 8,2,5,5 --samples 70 --seed 3 --output i --force-overwrite",
    ] {
        let value = sandbox.say(&format!("{command} --json")).ends(0).json("ok");
        assert_eq!(value["equivalent_command"], format!("gristmill {command}"));
        // The dry run prints the same command.
        let again = format!("{} --force-overwrite", command.trim_end_matches(" --force-overwrite"));
        let value = sandbox.say(&format!("{again} --dry-run --json")).json("ok");
        assert_eq!(value["equivalent_command"], format!("gristmill {again}"));
    }
}
