//! Plain prompts in a real terminal: the same questions, one line per state change, no boxes.

use super::cli_support::Sandbox;
use portable_pty::{native_pty_system, Child, CommandBuilder, MasterPty, PtySize};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Maximum time to wait for a text.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The program in a separate terminal.
pub struct Dialogue {
    child: Box<dyn Child + Send + Sync>,
    input: Box<dyn Write + Send>,
    output: Arc<Mutex<Vec<u8>>>,
    seen: usize,
    _master: Box<dyn MasterPty + Send>,
}

impl Dialogue {
    pub fn start(sandbox: &Sandbox, line: &str, term: &str) -> Self {
        Self::start_in(sandbox, line, term, &sandbox.path("../home"))
    }

    /// Starts the program with another home folder.
    pub fn start_in(sandbox: &Sandbox, line: &str, term: &str, home: &Path) -> Self {
        let pair = native_pty_system().openpty(PtySize { rows: 40, cols: 200, ..PtySize::default() }).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_gristmill"));
        command.args(line.split_whitespace());
        command.cwd(sandbox.path(""));
        command.env_clear();
        for (name, value) in
            [("HOME", "."), ("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache"), ("XDG_CONFIG_HOME", "config")]
        {
            command.env(name, home.join(value));
        }
        command.env("TMPDIR", sandbox.path("../tmp"));
        command.env("TERM", term);
        command.env("LANG", "C.UTF-8");
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().unwrap();
        let output = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&output);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { child, input: pair.master.take_writer().unwrap(), output, seen: 0, _master: pair.master }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// Waits for a text after the last expected one.
    pub fn expect(&mut self, wanted: &str) -> &mut Self {
        let start = Instant::now();
        loop {
            let text = self.text();
            if let Some(at) = text[self.seen.min(text.len())..].find(wanted) {
                self.seen += at + wanted.len();
                return self;
            }
            assert!(start.elapsed() < TIMEOUT, "'{wanted}' did not come; the terminal shows:\n{text}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn answer(&mut self, text: &str) -> &mut Self {
        writeln!(self.input, "{text}").unwrap();
        self
    }

    pub fn ends(mut self, code: u32) -> String {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                std::thread::sleep(Duration::from_millis(50));
                assert_eq!(status.exit_code(), code, "{}", self.text());
                return self.text();
            }
            assert!(start.elapsed() < TIMEOUT, "it does not end:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Answers the prompts up to the selection of the sample type.
fn divided_by_ratio(dialogue: &mut Dialogue) {
    dialogue.expect("Leave out shards").answer("");
    dialogue.expect("Exclude one sample").answer("");
    dialogue.expect("How should the shards be divided?").expect("Number").answer("1");
    dialogue.expect("Three numbers").answer("8,1,1");
    dialogue.expect("Shuffle").answer("");
    dialogue.expect("train: 8 shards").expect("Use this division?").answer("y");
}

#[test]
fn a_data_set_is_prepared_by_plain_prompts() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --plain", "xterm-256color");
    dialogue.expect("data: WebDataset, 10 shards").expect("From s_00.tar to s_09.tar");
    divided_by_ratio(&mut dialogue);
    dialogue
        .expect("Parts seen: json (100 %), txt (100 %)")
        .expect("Which class does the trainer use for a sample?")
        .expect("TextSample")
        .expect("Number")
        .answer("1");
    dialogue.expect("How are its fields filled?").expect("Number").answer("1");
    dialogue.expect("text (str)").answer("json[nope]");
    dialogue.expect("000: fails:").expect("Use it anyway?").answer("n");
    dialogue.expect("text (str)").answer("json[text],txt");
    dialogue.expect("000: long 000").expect("resolves in 100 %");
    dialogue
        .expect(".nv-meta/.info.json")
        .expect("Equivalent command: gristmill prepare data")
        .expect("What now?")
        .expect("6  change other settings")
        .expect("Number")
        .answer("6");
    pick(&mut dialogue, "dataset yaml name: dataset.yaml");
    dialogue.expect("dataset yaml name (").answer("train.yaml");
    dialogue.expect("Which setting?").expect("dataset yaml name: train.yaml").expect("Number").answer("");
    dialogue.expect("--dataset-yaml-name train.yaml").expect("What now?").expect("Number").answer("1");
    dialogue.expect("10 shards, 30 samples");
    let text = dialogue.ends(0);
    assert!(!text.contains('╭') && !text.contains("\x1b[?1049h"), "no boxes, no other screen");
    assert!(sandbox.text("data/.nv-meta/train.yaml").contains("text: json[text],txt"));
}

#[test]
fn dumb_terminal_gets_prompts_and_quitting_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --skip-dataset-yaml", "dumb");
    divided_by_ratio(&mut dialogue);
    dialogue.expect("What now?").expect("7  quit without writing").expect("Number").answer("7");
    dialogue.expect("Nothing was written");
    let text = dialogue.ends(0);
    assert!(!text.contains('\x1b'), "a dumb terminal gets no escape sequence:\n{text}");
    assert!(!sandbox.has("data/.nv-meta"));
}

#[test]
fn prompts_exclude_shards_and_can_change_the_split_method() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --plain --skip-dataset-yaml", "xterm");
    dialogue.expect("Leave out shards").answer("s_(").expect("Invalid pattern");
    dialogue.expect("Leave out shards").answer("nothing").expect("matches none");
    dialogue.expect("Leave out shards").answer("s_09").expect("Leave out 1 shard").answer("y");
    dialogue.expect("Leave out shards").answer("");
    dialogue.expect("Exclude one sample").answer("gone.tar/1").expect("No shard has this name");
    dialogue.expect("Exclude one sample").answer("s_00.tar/001");
    dialogue.expect("Exclude one sample").answer("");
    dialogue.expect("Number").answer("2").expect("Pattern for train").answer("s_*.tar");
    dialogue.expect("Pattern for val").answer("").expect("Pattern for test").answer("");
    dialogue.expect("further split").answer("").expect("Shuffle").answer("").expect("Not possible");
    dialogue.expect("Accept splits without shards?").answer("n");
    dialogue.expect("How should the shards be divided?").expect("Number").answer("3");
    dialogue.expect("Shards of train by number").answer("1-99").expect("is not a number");
    dialogue
        .expect("Shards of train by number")
        .answer("1-7")
        .expect("Shards of val")
        .answer("8,9")
        .expect("Shards of test")
        .answer("");
    dialogue.expect("further split").answer("").expect("train: 7 shards").expect("Use this division?").answer("y");
    dialogue.expect("What now?").expect("Number").answer("1").expect("Prepared data");
    dialogue.ends(0);
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    assert!(
        splits.contains("- s_{00..06}.tar") && splits.contains("- s_{07..08}.tar") && splits.contains("- s_00.tar/001"),
        "{splits}"
    );
    assert!(!sandbox.text("data/.nv-meta/.info.json").contains("s_09"));
}

#[test]
fn a_prepared_data_set_is_updated_by_prompts() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --skip-dataset-yaml").ends(0);
    sandbox.tar("data/s_10.tar", ["100"]);
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --plain", "xterm");
    dialogue.expect("already prepared").expect("1 new").expect("What do you want to do?").expect("Number").answer("1");
    dialogue.expect("Which split do new shards join?").expect("Number").answer("2");
    dialogue.expect("What now?").expect("Number").answer("1").expect("11 shards");
    dialogue.ends(0);
    assert!(sandbox.text("data/.nv-meta/.info.json").contains("s_10.tar"));
}

#[test]
fn samples_in_several_pieces_are_shown_and_cannot_be_written() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), b"{}".to_vec());
    sandbox.tar_of("data/a.tar", &["0.txt", "1.txt", "0.json", "1.json"].map(entry));
    let line = "prepare data --plain --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    let mut dialogue = Dialogue::start(&sandbox, line, "xterm");
    dialogue.expect("Leave out shards").answer("").expect("Exclude one sample").answer("");
    dialogue.expect("Not possible").expect("not next to each other").expect("tar --sort=name");
    dialogue.expect("What now?").expect("Number").answer("5");
    let text = dialogue.ends(0);
    assert!(!text.contains("save the plan") && !text.contains("write it") && !text.contains("keep-first"), "{text}");
    assert!(!sandbox.has("data/.nv-meta"));
}

#[test]
fn ctrl_c_at_a_question_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --plain", "xterm");
    dialogue.expect("Leave out shards");
    dialogue.input.write_all(b"\x03").unwrap();
    let start = Instant::now();
    while dialogue.child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < TIMEOUT, "{}", dialogue.text());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!sandbox.has("data/.nv-meta"));
}

#[test]
fn prompts_offer_to_record_media_metadata() {
    let sandbox = Sandbox::new();
    let entries: Vec<(String, Vec<u8>)> = (0..3).map(|n| (format!("{n:03}.jpg"), Sandbox::jpeg(7, 5))).collect();
    sandbox.tar_of("data/s_00.tar", &entries);
    let line = "prepare data --plain --split-ratio 1,0,0 --sample-type CrudeWebdataset";
    let mut dialogue = Dialogue::start(&sandbox, line, "xterm");
    dialogue.expect("Leave out shards").answer("").expect("Exclude one sample").answer("");
    dialogue.expect("Pictures, sound and video by their names").expect("jpg (3)");
    dialogue.expect("Record their sizes and durations").expect("Number").answer("2");
    dialogue.expect("Decode every picture completely").answer("n");
    dialogue.expect("3 parts would be described").expect("\"width\":7").expect("Record these?").answer("y");
    dialogue.expect("--media-metadata-by-extension").expect("What now?").expect("Number").answer("1");
    dialogue.ends(0);
    assert_eq!(sandbox.media_rows("data").len(), 3);
}

#[test]
fn splits_move_shows_the_difference_and_needs_confirmation() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset").ends(0);
    let before = sandbox.read("data/.nv-meta/split.yaml");
    let line = "splits move data s_07.tar --to val";
    let mut dialogue = Dialogue::start(&sandbox, line, "dumb");
    dialogue.expect("- s_{00..07}.tar").expect("Write data/.nv-meta/split.yaml?").answer("n");
    dialogue.expect("Nothing was written.");
    dialogue.ends(0);
    assert_eq!(sandbox.read("data/.nv-meta/split.yaml"), before);
    let mut dialogue = Dialogue::start(&sandbox, line, "xterm-256color");
    dialogue.expect("Write data/.nv-meta/split.yaml?").answer("");
    dialogue.expect("Written data/.nv-meta/split.yaml");
    dialogue.ends(0);
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("s_{00..06}.tar"));
    let text = Dialogue::start(&sandbox, &format!("{line} --yes"), "xterm-256color").ends(0);
    assert!(!text.contains("Write data"), "{text}");
}

#[test]
fn without_a_full_screen_the_editor_is_a_menu() {
    let sandbox = Sandbox::new();
    sandbox.ten_shards();
    sandbox.say("prepare data --yes --split-ratio 8,1,1 --sample-type CrudeWebdataset").ends(0);
    let mut dialogue = Dialogue::start(&sandbox, "splits data --plain", "xterm-256color");
    dialogue.expect("train").expect("80.0 %").expect("gristmill splits --help");
    let number = |dialogue: &mut Dialogue, number: &str| {
        dialogue.expect("What do you want to do?").expect("10  leave").expect("Number").answer(number);
    };
    number(&mut dialogue, "2");
    dialogue.expect("Which shards").answer("s_99.tar");
    dialogue.expect("To which split?").expect("Number").answer("2");
    dialogue.expect("the data set has no such shard");
    number(&mut dialogue, "2");
    dialogue.expect("Which shards").answer("0..1 /s_02");
    dialogue.expect("To which split?").expect("val").expect("a new split").expect("Number").answer("2");
    number(&mut dialogue, "3");
    dialogue.expect("What, SHARD").answer("s_05.tar");
    dialogue.expect("Why").answer("too dark");
    number(&mut dialogue, "6");
    dialogue.expect("write the changes first");
    number(&mut dialogue, "5");
    dialogue.expect("Ratios").answer("1,1");
    dialogue.expect("2 numbers for 3 splits");
    number(&mut dialogue, "7");
    dialogue.expect("Undone: ");
    number(&mut dialogue, "8");
    dialogue.expect("+ ");
    number(&mut dialogue, "10");
    dialogue.expect("Discard 1 change that is not written?").answer("n");
    dialogue.expect("(1 change not written)").expect("Number").answer("9");
    dialogue.expect("Write data").answer("y");
    dialogue.expect("Written data/.nv-meta/split.yaml");
    number(&mut dialogue, "6");
    dialogue.expect("compare contents").answer("n");
    number(&mut dialogue, "1");
    dialogue.expect("s_00.tar");
    number(&mut dialogue, "");
    let text = dialogue.ends(0);
    let written = sandbox.text("data/.nv-meta/split.yaml");
    assert!(written.contains("s_{03..07}.tar") && !written.contains("s_05.tar"), "{written}");
    assert!(!text.contains('╭') && !text.contains("\x1b[?1049h"), "no boxes, no other screen");
}

#[test]
fn pack_prompts_show_documents_and_preview_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"body\": \"The first one.\"}\n{\"body\": \"straße 東京\"}\n");
    let tokenizer = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/tokenizers/bpe1k");
    let mut dialogue = Dialogue::start(&sandbox, "pack a.jsonl --plain", "xterm-256color");
    dialogue
        .expect("1 file")
        .expect("text key: Key, or column, of the text (or --jq EXPR")
        .expect("[body]")
        .answer("--jq .summary");
    dialogue.expect("Invalid answer").expect("the lines have the keys: body").expect("[body]").answer("");
    dialogue.expect("The first one.").expect("format: Framework").expect("Numbers").answer("7");
    dialogue.expect("'7' is not a number from 1 to 6").expect("Numbers").answer("2");
    dialogue.expect("tokenizer: ").answer("nowhere.json");
    dialogue.expect("Invalid answer").expect("tokenizer: ").answer(&tokenizer.to_string_lossy());
    dialogue.expect("BPE").expect("eos token: Token that ends each document").answer("</nothing>");
    dialogue.expect("Invalid answer").expect("Token that ends each document").answer("");
    dialogue.expect("is token 0").expect("output: ").expect("[a-tokens]").answer("out");
    dialogue.expect("about 2 documents").expect("Equivalent command: gristmill pack a.jsonl").expect("What now?");
    dialogue.expect("Number").answer("");
    dialogue.ends(0);
    assert!(sandbox.has("out/00000_unshuffled.ds.metadata"));
}

#[test]
fn pack_prompts_request_the_base_folder_of_listed_paths() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"The first one.\"}\n");
    sandbox.write("list.txt", "a.jsonl\n");
    let tokenizer = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/tokenizers/bpe1k");
    let flags = format!("--paths-file list.txt --format nanosets --tokenizer {} --output out", tokenizer.display());
    let mut dialogue = Dialogue::start(&sandbox, &format!("pack {flags} --plain"), "xterm-256color");
    dialogue.expect("Folder that the listed paths start from").answer("");
    dialogue.expect("1 file").expect("The first one.").expect("Token that ends each document").answer("");
    dialogue.expect("What now?").expect("Number").answer("");
    dialogue.ends(0);
    assert!(sandbox.has("out/00000_unshuffled.ds.metadata"));
}

/// Selects a row of the list of settings by its label.
fn pick(dialogue: &mut Dialogue, label: &str) {
    dialogue.expect("Which setting?").expect("no more").expect("Number");
    let text = dialogue.text();
    let list = text.rsplit("Which setting?").next().unwrap();
    let row = list.lines().find(|line| line.contains(label)).unwrap_or_else(|| panic!("'{label}' is not in{list}"));
    dialogue.answer(row.split_whitespace().next().unwrap());
}

#[test]
fn pack_prompts_can_change_settings() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"The first one.\"}\n{\"text\": \"The second one.\"}\n");
    let tokenizer = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/tokenizers/bpe1k");
    let flags = format!("--format nanosets --eos-id 0 --tokenizer {}", tokenizer.display());
    let mut dialogue = Dialogue::start(&sandbox, &format!("pack a.jsonl --plain {flags}"), "xterm-256color");
    dialogue.expect("output: ").answer("out");
    dialogue.expect("What now?").expect("3  change settings").expect("Number").answer("3");
    pick(&mut dialogue, "Nanosets, tasks: ");
    dialogue.expect("Nanosets, tasks (one for each file").answer("many").expect("'many' is not a number");
    pick(&mut dialogue, "Nanosets, tasks: ");
    dialogue.expect("Nanosets, tasks (").answer("2");
    pick(&mut dialogue, "shuffle: none");
    dialogue.expect("documents: All documents of the output, or of each task, permuted").expect("Number").answer("2");
    assert!(!dialogue.text().contains("dtype"));
    pick(&mut dialogue, "format: nanosets");
    dialogue.expect("modalities: .pbin").expect("Numbers").expect("[2]").answer("2,3");
    pick(&mut dialogue, "sample size: ");
    dialogue.expect("sample size (").answer("4");
    pick(&mut dialogue, "dtype: auto");
    dialogue.expect("u32: Four bytes, unsigned").expect("Number").answer("4");
    pick(&mut dialogue, "Nanosets, tasks: 2");
    dialogue.expect("Nanosets, tasks (").answer("-");
    dialogue.expect("Which setting?").expect("Nanosets, tasks: one for each file").expect("Number").answer("");
    dialogue.expect("--sample-size 4").expect("--shuffle documents").expect("--dtype u32");
    dialogue.expect("What now?").expect("Number").answer("1");
    dialogue.ends(0);
    assert!(sandbox.has("out/nanosets/00000_00000_doc_shuffled.ds"));
    assert!(sandbox.has("out/forager/index/sample_locations.bin"));
}

#[test]
fn dedup_prompts_can_change_settings() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jsonl", "{\"text\": \"The first one.\"}\n{\"text\": \"The first one.\"}\n");
    let mut dialogue = Dialogue::start(&sandbox, "dedup in --minlen 10 --plain", "xterm-256color");
    dialogue.expect("output: ").answer("out");
    dialogue.expect("What now?").expect("3  change settings").expect("Number").answer("3");
    assert!(!dialogue.text().contains("annotate key"));
    pick(&mut dialogue, "mode: remove");
    dialogue.expect("annotate: Leave the text").expect("Number").answer("2");
    pick(&mut dialogue, "Annotate, annotate key: metadata.sa_remove_ranges");
    dialogue.expect("annotate key (").answer("a.b");
    pick(&mut dialogue, "keep: first");
    dialogue.expect("none: None at all").expect("Number").answer("2");
    pick(&mut dialogue, "minlen: 10");
    dialogue.expect("minlen (").answer("8");
    dialogue.expect("Which setting?").expect("Number").answer("");
    dialogue.expect("--minlen 8").expect("--annotate-key a.b").expect("--keep none");
    dialogue.expect("What now?").expect("Number").answer("1");
    dialogue.ends(0);
    assert!(sandbox.text("out/a.jsonl").contains("\"a\""));
}

#[test]
fn dedup_prompts_show_the_removed_share_per_length() {
    let sandbox = Sandbox::new();
    let line = format!("{{\"text\": \"{}\"}}\n", "a sentence of some length that is there twice ".repeat(3));
    sandbox.write("in/a.jsonl", &(line.clone() + &line));
    let mut dialogue = Dialogue::start(&sandbox, "dedup --plain", "xterm-256color");
    dialogue.expect("dir: JSONL or Parquet file").answer("nowhere").expect("Invalid answer").expect("no such file");
    dialogue.expect("dir: JSONL or Parquet file").answer("in").expect("1 file");
    dialogue.expect("at a minimum length of 50 bytes: ").expect("% removed");
    assert!(dialogue.text().contains("reading a sample of the text"), "{}", dialogue.text());
    dialogue.expect("minlen: ").expect("[500]").answer("0").expect("'0' is not a number of 1 or more");
    dialogue.expect("minlen: ").answer("100").expect("output: ").expect("[in-dedup]").answer("");
    dialogue.expect("Would deduplicate 1 file").expect("--minlen 100 --output in-dedup").expect("What now?");
    dialogue.expect("Number").answer("1");
    dialogue.ends(0);
    assert!(sandbox.has("in-dedup/a.jsonl"));
}

#[test]
fn prompt_for_sample_size_accepts_variable_instead() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"The first one.\"}\n");
    let tokenizer = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/modalities/tokenizers/bpe1k");
    let flags = format!("--format forager --eos-token nowhere --output out --tokenizer {}", tokenizer.display());
    let mut dialogue = Dialogue::start(&sandbox, &format!("pack a.jsonl --plain {flags}"), "xterm-256color");
    dialogue.expect("Invalid answer").expect("eos token: ").expect("(or --eos-id N)").answer("--eos-id 0");
    dialogue.expect("sample size: ").expect("(or --variable)").expect("[4096]").answer("--variable");
    dialogue.expect("Equivalent command").expect("--eos-id 0").expect("--variable").expect("What now?");
    dialogue.expect("Number").answer("4");
    dialogue.expect("Nothing was written");
    dialogue.ends(0);
}

#[test]
fn mix_prompts_ask_for_members_and_for_the_sequence_length() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"a\"}\n");
    sandbox.say("prepare a.jsonl").ends(0);
    let mut dialogue = Dialogue::start(&sandbox, "mix new --plain", "xterm-256color");
    dialogue.expect("output: ").answer("m.yaml");
    dialogue.expect("Members").expect("1  blend: ").expect("Number").answer("1");
    dialogue.expect("blend (").answer("a.jsonl=2");
    dialogue.expect("What now?").expect("1  write it").expect("Number").answer("1");
    dialogue.ends(0);
    assert!(sandbox.text("m.yaml").contains("weight: 2"));
    let mut dialogue = Dialogue::start(&sandbox, "mix index --plain", "xterm-256color");
    dialogue.expect("folder: ").expect("or --lengths N,N").answer("--lengths 8,2");
    dialogue.expect("samples: ").answer("20");
    dialogue.expect("output: ").answer("mixed");
    dialogue.expect("What now?").expect("1  write it").expect("Number").answer("1");
    let text = dialogue.ends(0);
    assert!(!text.contains("sequence length: Tokens"), "numbers of windows need no length: {text}");
    sandbox.write("tokens/00000_tokens.ds", [0; 64]);
    let mut dialogue = Dialogue::start(&sandbox, "mix index tokens --samples 5 --output other --plain", "xterm");
    dialogue.expect("sequence length: ").answer("").expect("sequence length: ").answer("4");
    dialogue.expect("What now?").expect("Number");
}

#[test]
fn home_screen_is_not_opened_by_plain() {
    let sandbox = Sandbox::new();
    let text = Dialogue::start(&sandbox, "--plain", "xterm-256color").ends(2);
    assert!(text.contains("--plain asks by prompts") && !text.contains("this terminal"), "{text}");
}
