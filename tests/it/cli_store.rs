//! Data in a store, accessed by flags, variables and addresses, from a small server on the loopback address.

use super::cli_support::{copy_tree, golden_dir, RunOutput, Sandbox};
use server::{Fault, ReceivedRequest, Server};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

#[path = "../../crates/storage/src/remote/tests/server.rs"]
#[allow(dead_code, reason = "only a part of the server is used here")]
mod server;

const SECRET: &str = "a-secret-of-forty-characters-0123456789/";

/// A sandbox, and a server with the bucket `b`, which contains the inputs of the sandbox.
pub struct Stores {
    sandbox: Sandbox,
    server: Server,
}

impl Stores {
    /// Creates a set of shards and a folder with text, in the sandbox and in the bucket.
    fn new() -> Self {
        let sandbox = Sandbox::new();
        copy_tree(&golden_dir("captioning_fieldmap").join("input"), &sandbox.path("set"));
        copy_tree(&golden_dir("../dedup/v01_basic").join("input"), &sandbox.path("text"));
        let stores = Self { server: Server::start(&[]), sandbox };
        stores.replace(&stores.sandbox.path(""));
        stores
    }

    /// Creates an empty sandbox and an empty bucket.
    pub fn empty() -> Self {
        Self { sandbox: Sandbox::new(), server: Server::start(&[]) }
    }

    /// Makes the files of a folder the objects of the bucket.
    pub fn replace(&self, folder: &Path) {
        self.server.state.lock().unwrap().objects = below(folder);
    }

    fn run(&self, line: &str) -> RunOutput {
        self.run_as(&mut self.sandbox.command(line.split_whitespace()))
    }

    /// Runs a command that can reach the bucket.
    pub fn run_as(&self, command: &mut Command) -> RunOutput {
        command.env("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").env("AWS_SECRET_ACCESS_KEY", SECRET);
        let output = command.env("AWS_ENDPOINT_URL", &self.server.address).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ran =
            RunOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "the secret is printed");
        ran
    }

    fn forget_requests(&self) {
        self.server.state.lock().unwrap().requests.clear();
    }

    /// Returns what was requested: methods, targets and ranges.
    fn requests(&self) -> Vec<String> {
        let range = |request: &ReceivedRequest| request.headers.get("range").cloned().unwrap_or_default();
        let text = |request: &ReceivedRequest| format!("{} {} {}", request.method, request.target, range(request));
        self.server.requests().iter().map(text).collect()
    }

    /// Returns the number of bytes that were fetched of the objects below a key.
    fn fetched(&self, name: &str) -> usize {
        let state = self.server.state.lock().unwrap();
        let gets = state.requests.iter().filter(|request| request.method == "GET");
        let bytes = |request: &ReceivedRequest| {
            let size = state.objects.get(request.target.strip_prefix("/b/")?)?.len();
            let (start, end) = request.headers.get("range")?.strip_prefix("bytes=")?.split_once('-')?;
            Some(size.min(end.parse::<usize>().ok()? + 1) - start.parse::<usize>().ok()?)
        };
        let is_below = |request: &&ReceivedRequest| request.target.starts_with(&format!("/b/{name}/"));
        gets.filter(is_below).filter_map(bytes).sum()
    }

    /// Returns the objects below a key, except files of runs.
    pub fn stored(&self, name: &str) -> BTreeMap<String, Vec<u8>> {
        let state = self.server.state.lock().unwrap();
        let below = |key: &String| Some(key.strip_prefix(name)?.strip_prefix('/')?.to_owned());
        let all = state.objects.iter().filter_map(|(key, bytes)| Some((below(key)?, bytes.clone())));
        all.filter(|(key, _)| !is_of_runs(key)).collect()
    }

    #[track_caller]
    fn compare(&self, name: &str) {
        let local: BTreeMap<_, _> =
            below(&self.sandbox.path(name)).into_iter().filter(|(key, _)| !is_of_runs(key)).collect();
        let stored = self.stored(name);
        assert_eq!(stored.keys().collect::<Vec<_>>(), local.keys().collect::<Vec<_>>(), "{name}");
        assert!(!local.is_empty(), "{name}");
        local.iter().for_each(|(key, bytes)| assert!(stored[key] == *bytes, "{name}: {key} differs"));
        let state = self.server.state.lock().unwrap();
        assert!(!state.objects.keys().any(|key| key.ends_with("/lock")), "a lock is left");
        assert!(state.parts.is_empty(), "an upload is left");
    }
}

/// Whether a file differs between runs: plans and reports contain the place.
fn is_of_runs(key: &str) -> bool {
    key.contains("gristmill/") || key.ends_with("index.uuid")
}

fn below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap) {
        if entry.file_type().is_file() {
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The commands that write, with the names of their outputs; ROOT stands for the folder of inputs and outputs.
fn commands(root: &str) -> [(&'static str, String); 3] {
    let tokenizer = golden_dir("../modalities/tokenizers/bpe1k");
    let pack = format!(
        "pack ROOT/text --format nanosets --tokenizer {} --eos-token <|endoftext|> --output ROOT/tokens --yes",
        tokenizer.display()
    );
    [
        ("set", "prepare ROOT/set --split-ratio 8,1,1 --skip-dataset-yaml --yes".to_owned()),
        ("tokens", pack),
        ("unique", "dedup ROOT/text --minlen 50 --output ROOT/unique --yes".to_owned()),
    ]
    .map(|(name, line)| (name, line.replace("ROOT/", root)))
}

#[test]
fn runs_in_a_store_write_the_same_bytes_as_local_runs() {
    let stores = Stores::new();
    for ((name, local), (_, stored)) in commands("").into_iter().zip(commands("s3://b/")) {
        stores.run(&local).ends(0);
        stores.run(&stored).ends(0);
        stores.compare(name);
    }
    stores.run("verify s3://b/set").ends(0);
    stores.run("lint s3://b/tokens").ends(0);
    stores.run("info s3://b/set").ends(0).says("path: s3://b/set");
    let shard = stores.stored("set").into_keys().find(|key| key.ends_with(".tar")).unwrap();
    for root in ["set", "s3://b/set"] {
        stores.run(&format!("splits exclude {root} {shard} --yes")).ends(0);
    }
    stores.compare("set");
}

#[test]
fn commands_send_each_request_to_a_store_once() {
    let stores = Stores::new();
    stores.run("prepare s3://b/set --split-ratio 8,1,1 --sample-type CrudeWebdataset --yes").ends(0);
    let shard = stores.stored("set").into_keys().find(|key| key.ends_with(".tar")).unwrap();
    // Five requests of the last command concern its lock.
    for (line, most) in [
        ("info s3://b/set".to_owned(), 8),
        ("info s3://b/set".to_owned(), 7),
        ("prepare s3://b/set --update --yes".to_owned(), 9),
        (format!("splits exclude s3://b/set {shard} --yes"), 12),
    ] {
        stores.forget_requests();
        stores.run(&line).ends(0);
        let requests = stores.requests();
        assert!(requests.len() <= most, "{line}: {} requests, at most {most}: {requests:#?}", requests.len());
    }
}

#[test]
fn outputs_are_looked_up_without_a_listing_of_the_folder_above() {
    let stores = Stores::empty();
    let line = |number: usize| format!("{{\"text\": \"{number} {}\"}}\n", "word ".repeat(50));
    let rows = (0..40).map(|number| (format!("rows/{number:02}.jsonl"), line(number).into_bytes()));
    stores.server.state.lock().unwrap().objects.extend(rows);
    stores.run("dedup s3://b/rows --minlen 50 --output s3://b/above/out --yes").ends(0);
    let requests = stores.requests();
    let has_listing = |prefix: &str| {
        let mut words = requests.iter().flat_map(|request| request.split(['?', '&', ' ']));
        words.any(|word| word.replace("%2F", "/") == format!("prefix={prefix}"))
    };
    assert!(has_listing("above/out") && !has_listing("above/"), "{requests:#?}");
}

#[test]
fn each_text_and_shard_is_fetched_once() {
    let stores = Stores::new();
    let line = |number: usize| format!("{{\"text\": \"{number} {}\"}}\n", "word ".repeat(50));
    let text: String = (0..1_000).map(line).collect();
    for (command, name) in
        [("dedup s3://b/rows --minlen 50 --output s3://b/unique2 --yes", "rows"), ("facts s3://b/raw", "raw")]
    {
        let objects = match name {
            "rows" => BTreeMap::from(["a.jsonl", "b.jsonl"].map(|name| (name.to_owned(), text.clone().into_bytes()))),
            _ => stores.stored("set"),
        };
        let bytes: usize = objects.values().map(Vec::len).sum();
        // `facts` looks at the beginning of a shard to determine what it is.
        let more = if name == "raw" { bytes / 30 } else { 0 };
        let stored = objects.into_iter().map(|(key, bytes)| (format!("{name}/{key}"), bytes));
        stores.server.state.lock().unwrap().objects.extend(stored);
        stores.forget_requests();
        stores.run(command).ends(0);
        let fetched = stores.fetched(name);
        let requests = stores.requests();
        assert!(fetched <= bytes + more, "{command}: {fetched} bytes of {bytes} were fetched: {requests:#?}");
    }
}

#[test]
fn transient_store_faults_do_not_change_the_output() {
    let stores = Stores::new();
    let busy = || Fault::Answer(503, "Retry-After: 0\r\n".into(), "<Error><Code>SlowDown</Code></Error>".into());
    for ((name, local), (_, stored)) in commands("").into_iter().zip(commands("s3://b/")) {
        // Two of the faults affect the same request, so its pauses grow.
        for (place, fault) in
            [("/b?list-type", Fault::Cut(9)), ("GET", busy()), ("GET", Fault::Short(7)), ("PUT", busy())]
        {
            stores.server.fault(place, fault);
        }
        stores.run(&local).ends(0);
        stores.run(&stored).ends(0);
        stores.compare(name);
        assert!(stores.server.state.lock().unwrap().faults.is_empty(), "a fault was not met");
    }
}

#[test]
fn files_are_copied_up_down_and_within_the_store() {
    let stores = Stores::new();
    stores.run("cp text s3://b/up --yes").ends(0);
    stores.run("cp s3://b/up s3://b/other --yes").ends(0);
    stores.run("cp s3://b/other down --yes").ends(0);
    let wanted = below(&stores.sandbox.path("text"));
    assert!(!wanted.is_empty() && below(&stores.sandbox.path("down")) == wanted);
    assert!(stores.stored("up") == wanted && stores.stored("other") == wanted);
    stores.run("cp s3://b/up down --yes").ends(2).complains("--if-changed");
}

#[test]
fn store_keys_that_are_no_paths_are_reported_once_each() {
    let stores = Stores::new();
    for key in ["set/a//b", "set/a//c", "set/../x"] {
        stores.server.state.lock().unwrap().objects.insert(key.to_owned(), b"x".to_vec());
    }
    for command in ["info s3://b/set", "prepare s3://b/set --split-ratio 8,1,1 --skip-dataset-yaml --yes"] {
        let ran = stores.run(command).ends(1).complains("s3://b/set/a//b").complains("s3://b/set/../x");
        let count = |text: &str| ran.err.matches(text).count();
        assert_eq!((count("is no path"), count("are no paths")), (3, 0), "{command}: {}", ran.err);
    }
}

#[test]
fn web_page_address_is_refused_with_supported_addresses() {
    let stores = Stores::new();
    stores.server.state.lock().unwrap().objects.insert("page".to_owned(), b"<!DOCTYPE html>".to_vec());
    for command in ["browse", "info", "lint"] {
        let page = format!("{command} {}/b/page", stores.server.address);
        stores.run(&page).ends(2).complains("give the address of one file").complains("web-{0000..0099}.tar");
    }
}

#[test]
fn store_failures_name_the_address_and_the_reason() {
    let stores = Stores::new();
    stores.run("info s3://b/nothing").ends(3).complains("s3://b/nothing");
    stores.run("info s3://c/set").ends(3).complains("there is no such bucket");
    stores.run("info s3://b//set").ends(2).complains("empty");
    let refused = "<Error><Code>SignatureDoesNotMatch</Code></Error>";
    (0..9).for_each(|_| stores.server.fault("/", Fault::Answer(403, String::new(), refused.into())));
    stores
        .run("info s3://b/set")
        .ends(3)
        .complains("the secret of the key")
        .complains("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

#[test]
fn web_address_with_a_brace_range_is_read_as_one_data_set() {
    let stores = Stores::new();
    let address = |range: &str| format!("{}/b/set/shards/shard_{{{range}}}.tar", stores.server.address);
    let info = stores.run(&format!("info {} --json", address("0000..0003"))).ends(0).json("ok");
    assert_eq!((info["shards"].as_u64(), info["samples"].as_u64()), (Some(4), Some(18)), "{info}");
    stores.run(&format!("lint {}", address("0001..0002"))).ends(0);
    stores.run(&format!("info {}", address("0002..0004"))).ends(3).complains("shard_0004.tar");
    stores.run(&format!("prepare {} --yes", address("0000..0003"))).ends(2);
}

#[test]
fn edit_of_splits_asks_for_the_lock_of_another_machine_a_few_times() {
    let stores = Stores::new();
    stores.run("prepare s3://b/set --split-ratio 8,1,1 --skip-dataset-yaml --yes").ends(0);
    let lock = br#"{"host":"elsewhere","pid":7,"machine":"m","boot":"b","pid_space":"","started":1,"token":"t","system_lock":true}"#;
    let key = "set/.nv-meta/gristmill/lock".to_owned();
    stores.server.state.lock().unwrap().objects.insert(key, lock.to_vec());
    stores.forget_requests();
    stores.run("splits exclude s3://b/set shards/shard_0000.tar").ends(3).complains("elsewhere");
    let requests = stores.server.state.lock().unwrap().requests.len();
    assert!(requests < 100, "{requests}");
}

/// CRC-64/NVME of `123456789`.
const CHECKSUM: &str = "x-amz-checksum-crc64nvme: rosUhgp5mIg=\r\n";

#[test]
fn copied_object_with_another_checksum_is_fetched_again_once() {
    let stores = Stores::empty();
    {
        let mut state = stores.server.state.lock().unwrap();
        state.objects.insert("k".to_owned(), b"123456789".to_vec());
        state.metadata.insert("k".to_owned(), CHECKSUM.to_owned());
    }
    let flip = |times: usize| (0..times).for_each(|_| stores.server.fault("GET /b/k", Fault::Flip(3)));
    flip(1);
    stores.run("cp s3://b/k once --yes").ends(0);
    assert_eq!(std::fs::read(stores.sandbox.path("once")).unwrap(), b"123456789");
    flip(2);
    stores.run("cp s3://b/k twice --yes").ends(1).complains("does not have the checksum of the store");
    assert!(!stores.sandbox.path("twice").exists(), "wrong content is not published");
    assert!(stores.server.state.lock().unwrap().faults.is_empty());
    // Without a checksum the store's answers are taken as they are.
    stores.server.state.lock().unwrap().metadata.clear();
    flip(1);
    stores.run("cp s3://b/k unknown --yes").ends(0);
    assert_eq!(std::fs::read(stores.sandbox.path("unknown")).unwrap(), b"123556789");
}

#[test]
fn shard_in_a_store_that_is_replaced_after_its_scan_is_refused() {
    let stores = Stores::new();
    let (key, bytes) = {
        let state = stores.server.state.lock().unwrap();
        let shard = state.objects.iter().find(|(key, _)| key.starts_with("set/") && key.ends_with(".tar")).unwrap();
        (shard.0.clone(), shard.1.iter().copied().chain([0; 512]).collect::<Vec<u8>>())
    };
    let prepare = "prepare s3://b/set --split-ratio 8,1,1 --skip-dataset-yaml --yes";
    let place = format!("GET /b/{key}");
    stores.server.state.lock().unwrap().replaced_after = Some((place, key, bytes));
    stores.run(prepare).ends(1).complains("after it was read");
    assert!(stores.stored("set").keys().all(|key| !key.starts_with(".nv-meta")), "nothing is published");
    stores.run(prepare).ends(0);
}

#[test]
fn samples_are_looked_up_without_a_cache_folder() {
    let stores = Stores::new();
    stores.run("prepare s3://b/set --split-ratio 8,1,1 --skip-dataset-yaml --yes").ends(0);
    let shard = stores.stored("set").into_keys().find(|key| key.ends_with(".tar")).unwrap();
    let line = format!("splits exclude s3://b/set {shard}/typo --yes");
    let mut command = stores.sandbox.command(line.split_whitespace());
    stores.run_as(command.env("XDG_CACHE_HOME", "/proc/none")).ends(2).complains("the shard has no such sample");
}

#[test]
fn jsonl_object_without_permission_to_list_has_no_index() {
    let stores = Stores::empty();
    stores.server.state.lock().unwrap().objects.insert("t/a.jsonl".to_owned(), b"{}\n".to_vec());
    let refused = "<Error><Code>AccessDenied</Code></Error>";
    for command in ["info", "lint"] {
        (0..40).for_each(|_| stores.server.fault("GET /b?", Fault::Answer(403, String::new(), refused.into())));
        let ran = stores.run(&format!("{command} s3://b/t/a.jsonl"));
        assert!(!ran.err.contains("out of date") && ran.code < 3, "{}", ran.err);
        assert!(format!("{}{}", ran.out, ran.err).contains("prepare"), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn concurrent_edits_of_splits_wait_for_each_other() {
    let stores = Stores::new();
    let root = stores.sandbox.path("set");
    stores.run("prepare set --split-ratio 8,1,1 --skip-dataset-yaml --yes").ends(0);
    let shard = stores.stored("set").into_keys().find(|key| key.ends_with(".tar")).unwrap();
    let edit = &|number: usize| {
        let line = format!("splits exclude set {shard}/sample-{number} --allow-unmatched --yes");
        stores.run(&line).ends(0);
    };
    std::thread::scope(|scope| (0..3).for_each(|number| _ = scope.spawn(move || edit(number))));
    let splits = std::fs::read_to_string(root.join(".nv-meta/split.yaml")).unwrap();
    (0..3).for_each(|number| assert!(splits.contains(&format!("sample-{number}")), "{splits}"));
}

#[test]
fn doctor_looks_for_no_lock_on_a_web_server() {
    let stores = Stores::empty();
    for key in ["o", "o.gristmill/lock"] {
        stores.server.state.lock().unwrap().objects.insert(key.to_owned(), b"<html>".to_vec());
    }
    let ran = stores.run(&format!("doctor {}/b/o", stores.server.address));
    assert!(ran.out.contains("ok   read: yes") && !ran.out.contains("another process"), "{}{}", ran.out, ran.err);
}

#[test]
fn secrets_in_addresses_are_in_no_message_log_or_plan() {
    let sandbox = Sandbox::new();
    sandbox.write("text/a.jsonl", "{\"text\": \"a\"}\n");
    let pack = "--format nanosets --tokenizer t --eos-token x --output out --yes";
    for line in [
        "info s3://AKID:QQQ@data/set",
        "info s3:/AKID:QQQ@data/set",
        "info s3://data/set?X-Amz-Signature=QQQ",
        "lint gs://AKID:QQQ@data/set",
        "info hf://datasets/a/b?token=QQQ",
        "prepare msc://u:QQQ@p/x --yes",
        "cp text az://acc:QQQ@c/x",
        "cp s3://AKID:QQQ@data/x out",
        "mount s3://AKID:QQQ@data/x out",
        "doctor s3://AKID:QQQ@data/x",
        "mix new --blend s3://AKID:QQQ@data/x=1 --output m.yaml",
        "mix new --blend=s3://AKID:QQQ@data/x=1 --output m.yaml",
        &format!("pack s3://AKID:QQQ@data/text {pack} --save-plan p.yaml"),
        &format!("pack s3://AKID:QQQ@data/text {pack} --log-level trace"),
    ] {
        let ran = sandbox.say(line).ends(2);
        assert!(!ran.out.contains("QQQ") && !ran.err.contains("QQQ"), "{line}: {}", ran.err);
    }
    assert!(!sandbox.has("p.yaml") && !sandbox.has("m.yaml"));
    let home = below(&sandbox.path("../home"));
    assert!(home.keys().any(|name| name.contains("log")), "{:?}", home.keys());
    for (name, content) in home {
        assert!(!String::from_utf8_lossy(&content).contains("QQQ"), "{name}");
    }
}
