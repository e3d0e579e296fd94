//! An isolated environment for each test: data set, home and temporary files, and the program run in it.

use crate::support::picture;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of a run: runs on the small data sets of these tests are much shorter, so a longer one hangs.
const HANG: Duration = Duration::from_secs(60);

/// A data set and all other folders that the program may write to.
pub struct Sandbox {
    dir: tempfile::TempDir,
}

impl Sandbox {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["data", "home", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// Returns the folder of the data set.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Returns a path inside the data set.
    pub fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.data().join(name)
    }

    /// Returns a path next to the data set, home and temporary files.
    pub fn sibling(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns a command that runs the program with its own home, inside the data set.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        let home = self.dir.path().join("home");
        command.args(args).current_dir(self.data()).env_clear();
        command.env("HOME", &home).env("TMPDIR", self.dir.path().join("tmp")).env("LANG", "C.UTF-8");
        for (name, folder) in [("STATE", "state"), ("CACHE", "cache"), ("CONFIG", "config"), ("DATA", "share")] {
            command.env(format!("XDG_{name}_HOME"), home.join(folder));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> RunOutput {
        ended(self.command(args).spawn().unwrap())
    }

    /// Returns the arguments of a plain prepare of crude samples, with the split ratio `8,1,1`.
    pub fn prepare_args(more: &[&str]) -> Vec<String> {
        let ratio = ["--split-ratio", "8,1,1"];
        let crude = ["--sample-type", "CrudeWebdataset"];
        let chosen = |flags: &[&str]| more.iter().any(|flag| flags.contains(flag));
        let mut args = vec!["prepare", ".", "--yes"];
        if !chosen(&["--split-ratio", "--split-parts", "--splits-from", "--update", "--tar-index-only"]) {
            args.extend(ratio);
        }
        if !chosen(&["--sample-type", "--skip-dataset-yaml", "--update", "--tar-index-only"]) {
            args.extend(crude);
        }
        args.extend(more);
        args.into_iter().map(str::to_owned).collect()
    }

    /// Runs `prepare . --yes --json` with a split ratio and a sample type, unless `more` sets others.
    #[track_caller]
    pub fn prepare(&self, more: &[&str]) -> RunOutput {
        let mut args = Self::prepare_args(more);
        args.push("--json".into());
        self.run(args)
    }

    /// Runs the same without `--json`, with the output that a user sees.
    #[track_caller]
    pub fn prepare_in_words(&self, more: &[&str]) -> RunOutput {
        self.run(Self::prepare_args(more))
    }

    /// Runs a prepare that is refused, and checks that the folder of the data set is unchanged.
    #[track_caller]
    pub fn refused(&self, more: &[&str], code: i32) -> RunOutput {
        let before = picture(&self.data());
        let ran = self.prepare(more);
        assert_eq!(ran.code, code, "{ran}");
        assert!(picture(&self.data()) == before, "a refused run changed files: {ran}");
        assert!(!ran.json()["error"]["message"].as_str().unwrap_or_default().is_empty(), "{ran}");
        ran
    }
}

/// Exit code and output of a run.
pub struct RunOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl std::fmt::Display for RunOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.out, self.err)
    }
}

impl RunOutput {
    /// Returns the result object; there is exactly one on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.out.trim_end().lines().count(), 1, "one object on stdout: {self}");
        let value: Value = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"));
        assert_eq!(value["exit_code"], self.code, "{self}");
        value
    }

    /// Returns the findings of one kind.
    #[track_caller]
    pub fn problems(&self, kind: &str) -> Vec<Value> {
        let all = self.json()["problems"].as_array().cloned().unwrap_or_default();
        all.into_iter().filter(|problem| problem["kind"] == kind).collect()
    }

    /// Returns the only finding of a kind.
    #[track_caller]
    pub fn problem(&self, kind: &str) -> Value {
        let mut found = self.problems(kind);
        assert_eq!(found.len(), 1, "one {kind}: {self}");
        found.remove(0)
    }

    /// Returns how many findings of a kind were counted, of any severity.
    #[track_caller]
    pub fn counted(&self, kind: &str) -> u64 {
        let counts = self.json()["counts"].clone();
        let severities = counts.as_object().cloned().unwrap_or_default();
        severities.values().filter_map(|kinds| kinds[kind].as_u64()).sum()
    }

    /// Returns message and hint of the error.
    #[track_caller]
    pub fn error(&self) -> (String, String) {
        let error = self.json()["error"].clone();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        (text("message"), text("hint"))
    }
}

/// Waits for a run, and checks the rules for every run: it ends, does not panic, and prints no dangerous characters.
#[track_caller]
pub fn ended(mut child: Child) -> RunOutput {
    let reader = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let out = reader(Box::new(child.stdout.take().unwrap()));
    let err = reader(Box::new(child.stderr.take().unwrap()));
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > HANG {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let ran = RunOutput {
        code: status.code().unwrap_or(-1),
        out: harmless(&out.join().unwrap()),
        err: harmless(&err.join().unwrap()),
    };
    assert!(!ran.err.contains("panicked") && ran.code != 101, "{ran}");
    ran
}

/// Returns the text of an output after checking it: valid UTF-8, and without characters that a terminal interprets or does not show.
#[track_caller]
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8(bytes.to_vec()).expect("the output is UTF-8");
    if let Some(bad) = text.chars().find(|&c| c != '\n' && is_dangerous(c)) {
        panic!("U+{:04X} reaches the terminal: {}", bad as u32, text.escape_debug());
    }
    text
}

/// Whether a character is a control, a bidi control, a zero-width or invisible character, or a tag.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            0x00ad | 0x061c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
            | 0xe0000..=0xe007f)
}

/// Returns the bytes in the tar of every part in the tables of a prepared data set, by shard, key and part.
///
/// Also checks the index: `.info.json`, `.tar.idx` and the tables agree.
#[track_caller]
pub fn indexed_parts(root: &Path) -> BTreeMap<(String, String, String), Vec<u8>> {
    let shards = shard_counts(root);
    let database = rusqlite::Connection::open_with_flags(
        root.join(".nv-meta/index.sqlite"),
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .unwrap();
    let mut found = BTreeMap::new();
    for (id, (shard, count)) in shards.iter().enumerate() {
        let offsets = tar_idx(root, shard);
        assert_eq!(offsets.len() as u64, count + 1, "{shard}: .tar.idx and .info.json agree");
        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{shard}: {offsets:?}");
        let tar = std::fs::read(root.join(shard)).unwrap();
        let sql =
            "SELECT s.sample_key, s.sample_index, s.byte_offset, s.byte_size, p.part_name, p.content_byte_offset, \
                   p.content_byte_size FROM samples s JOIN sample_parts p ON p.tar_file_id = s.tar_file_id AND \
                   p.sample_index = s.sample_index WHERE s.tar_file_id = ?1";
        let mut statement = database.prepare(sql).unwrap();
        let mut rows = statement.query([id as i64]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let number = |column: usize| row.get::<_, i64>(column).unwrap() as usize;
            let (index, offset, size) = (number(1), number(2), number(3));
            let span = (offsets[index], offsets[index + 1]);
            assert_eq!((offset as u64, (offset + size) as u64), span, "{shard}: sample {index}");
            let content = tar[number(5)..number(5) + number(6)].to_vec();
            let (key, part): (String, String) = (row.get(0).unwrap(), row.get(4).unwrap());
            found.entry((shard.clone(), key, part)).or_insert(content);
        }
    }
    found
}

/// Returns the keys of a shard in the tables, in order.
#[track_caller]
pub fn keys(root: &Path, shard: &str) -> Vec<String> {
    let mut keys: Vec<String> =
        indexed_parts(root).into_keys().filter(|(of, _, _)| of == shard).map(|(_, key, _)| key).collect();
    keys.dedup();
    keys
}

/// Returns the shard names and sample counts of `.info.json`.
pub fn shard_counts(root: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(root.join(".nv-meta/.info.json")).unwrap();
    let info: Value = serde_json::from_str(&text).unwrap();
    let counts = info["shard_counts"].as_object().unwrap();
    counts.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

/// Returns the numbers of a shard's `.tar.idx`.
pub fn tar_idx(root: &Path, shard: &str) -> Vec<u64> {
    let stem = shard.rsplit_once('.').unwrap().0;
    let bytes = std::fs::read(root.join(format!("{stem}.tar.idx"))).unwrap();
    assert_eq!(bytes.len() % 8, 0);
    bytes.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect()
}

/// Returns `split.yaml` as text.
pub fn split_yaml(root: &Path) -> String {
    std::fs::read_to_string(root.join(".nv-meta/split.yaml")).unwrap()
}

/// Returns the exclude items of `split.yaml`, expanded.
pub fn excludes(root: &Path) -> Vec<String> {
    let file = gristmill_data::formats::energon::split_yaml::SplitFile::read(root).unwrap().unwrap();
    let (items, bad) = file.expanded_excludes();
    assert!(bad.is_empty(), "{bad:?}");
    items
}

/// Returns the splits of `split.yaml`, expanded.
pub fn splits(root: &Path) -> Vec<(String, Vec<String>)> {
    let file = gristmill_data::formats::energon::split_yaml::SplitFile::read(root).unwrap().unwrap();
    let (splits, bad) = file.expanded();
    assert!(bad.is_empty(), "{bad:?}");
    splits
}

/// Checks that nothing is published: no index next to a shard, and only the program's own folder in `.nv-meta`.
#[track_caller]
pub fn assert_unprepared(root: &Path) {
    let made: Vec<PathBuf> = picture(root)
        .into_keys()
        .filter(|name| name.starts_with(".nv-meta") || name.extension().is_some_and(|end| end == "idx"))
        .collect();
    assert!(made.is_empty(), "visible: {made:?}");
}
