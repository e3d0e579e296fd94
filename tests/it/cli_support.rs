//! Helpers for the command-line tests: a folder for each test, the program with a clean environment, small tars.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder with a separate home.
pub struct Sandbox {
    dir: TempDir,
}

/// Exit code and output of a run.
pub struct RunOutput {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Sandbox {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        for name in ["home", "tmp", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// Returns a copy of a golden case's input as the current folder.
    pub fn golden(case: &str) -> Self {
        let sandbox = Self::new();
        copy_tree(&golden_dir(case).join("input"), &sandbox.path(""));
        sandbox
    }

    /// Returns a path below the current folder.
    pub fn path(&self, name: &str) -> PathBuf {
        let work = self.dir.path().join("work");
        if name.is_empty() {
            work
        } else {
            work.join(name)
        }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        #[allow(clippy::disallowed_methods)]
        std::fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    /// Writes a tar of samples with these keys, each with a `txt` and a `json` part.
    pub fn tar(&self, name: &str, keys: impl IntoIterator<Item = impl AsRef<str>>) {
        let entries: Vec<(String, Vec<u8>)> = keys
            .into_iter()
            .flat_map(|key| {
                let key = key.as_ref();
                let json = format!(r#"{{"text": "long {key}", "id": 7}}"#);
                [
                    (format!("{key}.txt"), format!("short {key}").into_bytes()),
                    (format!("{key}.json"), json.into_bytes()),
                ]
            })
            .collect();
        self.tar_of(name, &entries);
    }

    /// Returns a plain PNG of this size.
    pub fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::new_rgb8(width, height).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    /// Returns a plain JPEG of this size.
    pub fn jpeg(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::new_rgb8(width, height).write_to(&mut bytes, image::ImageFormat::Jpeg).unwrap();
        bytes.into_inner()
    }

    /// Returns key and JSON of every media row in a data set, by key.
    pub fn media_rows(&self, data: &str) -> Vec<(String, String)> {
        let path = self.path(data).join(".nv-meta/index.sqlite");
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
        let database = rusqlite::Connection::open_with_flags(path, flags).unwrap();
        let sql = "SELECT entry_key, metadata_json FROM media_metadata ORDER BY entry_key";
        let mut statement = database.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Writes a tar with exactly these entries.
    pub fn tar_of(&self, name: &str, entries: &[(String, Vec<u8>)]) {
        let mut tar = tar::Builder::new(Vec::new());
        for (name, content) in entries {
            let mut header = tar::Header::new_ustar();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(1_700_000_000);
            tar.append_data(&mut header, name, content.as_slice()).unwrap();
        }
        self.write(name, tar.into_inner().unwrap());
    }

    /// Writes ten shards of three samples each to `data/`.
    pub fn ten_shards(&self) {
        for shard in 0..10 {
            self.tar(&format!("data/s_{shard:02}.tar"), (0..3).map(|n| format!("{shard:02}{n}")));
        }
    }

    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
        let home = self.dir.path().join("home");
        command.args(args).current_dir(self.path("")).env_clear().stdin(Stdio::null());
        command.env("HOME", &home).env("TMPDIR", self.dir.path().join("tmp"));
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_CACHE_HOME", home.join("cache"));
        command.env("XDG_CONFIG_HOME", home.join("config")).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> RunOutput {
        let output = self.command(args).output().unwrap();
        RunOutput {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command line as typed by a user; words are separated by blanks, quotes are not supported.
    pub fn say(&self, line: &str) -> RunOutput {
        self.run(line.split_whitespace())
    }
}

impl RunOutput {
    /// Checks the exit code; on failure, shows all output.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Checks that stdout contains this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.out.contains(text), "'{text}' is not in stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Checks that stdout does not contain this text.
    #[track_caller]
    pub fn leaves_out(self, text: &str) -> Self {
        assert!(!self.out.contains(text), "'{text}' is in stdout:\n{}", self.out);
        self
    }

    /// Checks that stderr contains this text.
    #[track_caller]
    pub fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "'{text}' is not in stderr:\n{}", self.err);
        self
    }

    /// Checks that stdout is exactly one JSON object with a schema version and this status, and returns it.
    #[track_caller]
    pub fn json(&self, status: &str) -> Value {
        assert_eq!(self.out.trim_end().lines().count(), 1, "one object is wanted:\n{}\n{}", self.out, self.err);
        let value: Value = serde_json::from_str(&self.out).unwrap();
        assert_eq!(value["schema_version"], 1);
        assert_eq!(value["status"], status, "{value:#}");
        assert_eq!(value["exit_code"], self.code);
        for line in self.err.lines() {
            let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in: {line}"));
            assert!(event["event"].is_string(), "{line}");
        }
        value
    }
}

/// Returns the folder of a golden case.
pub fn golden_dir(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/energon").join(case)
}

pub fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns a zip archive of stored members.
pub fn zip(texts: &[&str]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for text in texts {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let size = (text.len() as u32).to_le_bytes();
        let start = (archive.len() as u32).to_le_bytes();
        let facts = [&[0; 8][..], &crc.sum().to_le_bytes(), &size, &size, &[1, 0, 0, 0]].concat();
        archive.extend([b"PK\x03\x04\x14\0", &facts[..], b"a", text.as_bytes()].concat());
        directory.extend([b"PK\x01\x02\x14\0\x14\0", &facts[..], &[0; 10], &start, b"a"].concat());
    }
    let count = [texts.len() as u8, 0];
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (archive.len() as u32).to_le_bytes());
    [&archive[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0, 0]].concat()
}
