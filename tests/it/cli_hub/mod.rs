//! Commands on data sets of the hub, from a local server that can simulate failures.

mod access;
mod cache;
mod count;
mod dedup;
mod faults;
mod network;
mod read;
mod screen;
mod splits;
mod web;

use super::cli_support::{RunOutput, Sandbox};
use super::support::{picture, put};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The token that ends documents.
const END: &str = "<|endoftext|>";
/// Number of documents in the large file: about 300 KB.
const DOCUMENTS: u32 = 1_500;

/// A server with data sets in a folder.
struct Server {
    process: Child,
    address: String,
    log: PathBuf,
}

impl Server {
    fn start(root: &Path, log: &Path, flags: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/mock_hub.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(root).arg("--log").arg(log).args(flags);
        let mut process = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        assert!(address.contains("://127.0.0.1:"), "{address}");
        Self { process, address: address.trim().to_owned(), log: log.to_owned() }
    }

    /// Returns the requests so far, one JSON object a line.
    fn requests(&self) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn data_requests(&self) -> usize {
        self.requests().iter().filter(|request| request["port"] == "data").count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with data sets for a server, and a working folder.
struct HubTest {
    sandbox: Sandbox,
    /// Environment variables of every run.
    variables: Vec<(String, String)>,
}

impl HubTest {
    /// Creates the data set `o/n`: a small file, a large one, and files without documents.
    fn new() -> Self {
        let test = Self { sandbox: Sandbox::new(), variables: Vec::new() };
        let line = |number: u32| {
            let words: Vec<String> =
                (0..20).map(|word| format!("{:x}", number.wrapping_mul(2_654_435_761) >> (word % 16))).collect();
            format!("{{\"text\": \"{number} {}\"}}\n", words.join(" "))
        };
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        (0..DOCUMENTS).for_each(|number| packed.write_all(line(number).as_bytes()).unwrap());
        test.put("o/n/data/large.jsonl.gz", &packed.finish().unwrap());
        test.put("o/n/data/small.jsonl", line(7).as_bytes());
        test.put("o/n/README.md", b"# A data set\n");
        test.put("o/n/.gitattributes", b"*.gz filter=lfs\n");
        test
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        put(&self.root().join(name), bytes);
    }

    fn root(&self) -> PathBuf {
        self.sandbox.path("served")
    }

    fn serve(&self, flags: &[&str]) -> Server {
        Server::start(&self.root(), &self.sandbox.path("requests.jsonl"), flags)
    }

    /// Sets a variable of all later runs.
    fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self, endpoint: &str, words: &[&str]) -> Command {
        let mut command = self.sandbox.command(words);
        command
            .env("HF_ENDPOINT", endpoint)
            .env("HF_HOME", self.sandbox.path("hf"))
            .env("GRISTMILL_HTTP_PAUSE_MS", "100");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, endpoint: &str, words: &[&str]) -> RunOutput {
        let output = self.command(endpoint, words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        RunOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }

    fn pack(&self, endpoint: &str, input: &str, output: &str) -> RunOutput {
        self.run(endpoint, &pack_words(input, output).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the token files of an output.
    fn tokens(&self, output: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = picture(&self.sandbox.path(output));
        files.retain(|path, _| path.extension().is_some_and(|end| end == "ds"));
        files
    }

    /// Checks that an output has the tokens of the served folder.
    #[track_caller]
    fn has_all(&self, output: &str) {
        let local = self.sandbox.path("served/o/n/data").to_string_lossy().into_owned();
        self.pack("http://127.0.0.1:9", &local, "wanted").ends(0);
        let (wanted, made) = (self.tokens("wanted"), self.tokens(output));
        assert!(!wanted.is_empty() && wanted.values().any(|bytes| bytes.len() > 1_000));
        assert!(made.values().eq(wanted.values()), "{:?} and {:?}", made.keys(), wanted.keys());
    }

    /// Returns the folder of the data set `o/n` in the cache.
    fn cached(&self) -> PathBuf {
        self.sandbox.path("hf/hub/datasets--o--n")
    }
}

fn tokenizer() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/tokenizers/bpe1k/tokenizer.json")
}

fn pack_words(input: &str, output: &str) -> Vec<String> {
    let tokenizer = tokenizer();
    let tokenizer = tokenizer.to_string_lossy();
    let words =
        ["pack", input, "--format", "nanosets", "--tokenizer", &tokenizer, "--eos-token", END, "--output", output];
    words.map(str::to_owned).to_vec()
}

#[test]
fn hub_data_set_is_packed_like_a_local_copy_and_named_by_address() {
    let test = HubTest::new();
    let server = test.serve(&["--leak-check"]);
    let ran = test.pack(&server.address, "hf://datasets/o/n", "out").ends(0).says("pack hf://datasets/o/n --format");
    assert!(!ran.out.contains("/hf/hub") && !ran.err.contains("/hf/hub"), "{}{}", ran.out, ran.err);
    test.has_all("out");
    let plan = test.sandbox.text("out.gristmill/plan.yaml");
    assert!(plan.contains("- hf://datasets/o/n\n"), "{plan}");
    let report = test.sandbox.text("out.gristmill/report.json");
    assert!(report.contains("hf://datasets/o/n@") && !report.contains("/hf/hub"), "{report}");
    // The same plan has nothing to do, and only requests the commit.
    let before = server.requests().len();
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0).says("Nothing to do");
    assert_eq!(server.requests().len(), before + 1);
    let again = test.run(&server.address, &["run", "out.gristmill/plan.yaml"]).ends(0);
    assert!(again.out.contains("Nothing to do"), "{}", again.out);
    // Another commit is a different input.
    test.put("o/n/data/small.jsonl", b"{\"text\": \"other\"}\n");
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(1).complains("the input changed since it was made");
}

#[test]
fn address_selects_a_folder_a_file_or_glob_matches() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    test.pack(&server.address, "hf://datasets/o/n@main/data", "folder").ends(0);
    test.has_all("folder");
    test.pack(&server.address, "hf://o/n/data/small.jsonl", "file").ends(0);
    let words = pack_words("hf://o/n", "glob");
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--glob", "**/small*"]).collect();
    test.run(&server.address, &words).ends(0);
    assert_eq!(
        test.tokens("file").into_values().collect::<Vec<_>>(),
        test.tokens("glob").into_values().collect::<Vec<_>>()
    );
    let local = test.sandbox.path("served/o/n/data/small.jsonl").to_string_lossy().into_owned();
    test.pack(&server.address, &local, "local").ends(0);
    assert_eq!(test.tokens("local"), test.tokens("file"));
}

#[test]
fn bad_lines_of_a_hub_file_are_reported_with_its_address() {
    let test = HubTest::new();
    test.put("o/n/data/bad.jsonl", b"{\"text\": \"good\"}\n{\"text\": \n");
    let server = test.serve(&[]);
    let ran = test.pack(&server.address, "hf://datasets/o/n", "out").ends(1);
    assert!(ran.err.contains("hf://datasets/o/n/data/bad.jsonl"), "{}", ran.err);
    assert!(!ran.err.contains("snapshots") && !ran.err.contains("blobs"), "{}", ran.err);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(1).complains("hf://datasets/o/n/data/bad.jsonl");
}

#[test]
fn a_dry_run_estimates_from_parts_of_the_text_and_downloads_nothing() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    let words = pack_words("hf://datasets/o/n", "out");
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--dry-run"]).collect();
    test.run(&server.address, &words).ends(0).says("Would pack 2 files").says("hf://datasets/o/n");
    let cached = || walkdir::WalkDir::new(test.cached()).into_iter().flatten();
    let has_large = || cached().any(|entry| entry.file_name() == "large.jsonl.gz");
    assert!(!test.sandbox.has("out") && !has_large());
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    assert!(has_large());
}
