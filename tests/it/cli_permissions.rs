//! Files that the user may not read or write: each is named in the message, with a suitable hint.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An unprivileged user, who owns none of the files.
const UNPRIVILEGED_USER: u32 = 65534;

/// A folder that every user can enter, with the program in it.
struct PermissionSandbox {
    root: tempfile::TempDir,
}

impl PermissionSandbox {
    fn new() -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        place.allow("", 0o755);
        std::fs::copy(env!("CARGO_BIN_EXE_gristmill"), place.path("gristmill")).unwrap();
        place.allow("gristmill", 0o755);
        std::fs::create_dir(place.path("home")).unwrap();
        place.allow("home", 0o777);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn allow(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Creates a folder of shards of one sample each.
    fn shards(&self, name: &str, shards: usize) {
        std::fs::create_dir(self.path(name)).unwrap();
        self.allow(name, 0o755);
        for shard in 0..shards {
            let file = std::fs::File::create(self.path(&format!("{name}/s_{shard}.tar"))).unwrap();
            let mut builder = tar::Builder::new(file);
            let mut header = tar::Header::new_ustar();
            header.set_size(1);
            builder.append_data(&mut header, format!("{shard}.txt"), &b"x"[..]).unwrap();
            builder.finish().unwrap();
            self.allow(&format!("{name}/s_{shard}.tar"), 0o644);
        }
    }

    /// Runs the program as a user who owns none of the files (as another user if the tests run as root), and returns exit code and output.
    fn say(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(self.path("gristmill"));
        command.args(arguments).current_dir(self.root.path()).env_clear().env("HOME", self.path("home"));
        if rustix::process::geteuid().is_root() {
            command.uid(UNPRIVILEGED_USER).gid(UNPRIVILEGED_USER);
        }
        // A child that another test forks at the same time keeps the copy open for writing until it executes its own program.
        let mut output = command.output();
        while output.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ExecutableFileBusy) {
            std::thread::yield_now();
            output = command.output();
        }
        let output = output.unwrap();
        let both = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&both).into_owned())
    }
}

fn complains(result: &(Option<i32>, String), code: i32, wanted: &[&str], unwanted: &str) {
    assert_eq!(result.0, Some(code), "{}", result.1);
    for wanted in wanted {
        assert!(result.1.contains(wanted), "'{wanted}' is not in\n{}", result.1);
    }
    assert!(!result.1.contains(unwanted), "{}", result.1);
}

#[test]
fn unreadable_folder_is_reported_without_mention_of_write_access() {
    let place = PermissionSandbox::new();
    place.shards("locked", 1);
    place.allow("locked", 0o000);
    let prepare = ["prepare", "--yes", "locked", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"];
    for command in [&["info", "locked"][..], &["splits", "show", "locked"], &prepare] {
        let result = place.say(command);
        complains(&result, 3, &["locked: permission denied", "read permission"], "renames");
        assert!(!result.1.contains("write access"), "{}", result.1);
    }
    place.allow("locked", 0o755);
}

#[test]
fn folder_without_write_access_is_refused_by_prepare() {
    let place = PermissionSandbox::new();
    place.shards("fixed", 2);
    place.allow("fixed", 0o555);
    let result =
        place.say(&["prepare", "--yes", "fixed", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"]);
    complains(&result, 3, &["permission denied", "ask for write access"], "panicked");
    assert!(!Path::new(&place.path("fixed/.nv-meta")).exists());
    place.allow("fixed", 0o755);
}

#[test]
fn unreadable_shard_is_reported_by_name() {
    let place = PermissionSandbox::new();
    place.shards("raw", 3);
    place.allow("raw", 0o777);
    place.allow("raw/s_1.tar", 0o000);
    let result = place.say(&["prepare", "--yes", "raw", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"]);
    assert!(
        result.0 != Some(0) && result.1.contains("s_1.tar") && result.1.contains("permission denied"),
        "{}",
        result.1
    );
    place.allow("raw/s_1.tar", 0o644);
}

#[test]
fn browse_of_only_unreadable_files_fails() {
    let place = PermissionSandbox::new();
    place.shards("raw", 2);
    place.allow("raw/s_0.tar", 0o000);
    assert_eq!(place.say(&["browse", "raw"]).0, Some(1), "one shard is left");
    place.allow("raw/s_1.tar", 0o000);
    for flags in [&["browse", "raw"][..], &["browse", "raw", "--json"]] {
        complains(&place.say(flags), 3, &["s_0.tar", "permission denied"], "0 samples");
    }
    std::fs::write(place.path("a.jsonl"), "{}\n").unwrap();
    place.allow("a.jsonl", 0o000);
    complains(&place.say(&["browse", "a.jsonl"]), 3, &["a.jsonl", "permission denied"], "0 samples");
}

#[test]
fn rows_of_unreadable_media_are_skipped_with_a_problem() {
    let place = PermissionSandbox::new();
    std::fs::create_dir(place.path("in")).unwrap();
    place.allow("in", 0o777);
    for (name, mode) in [("a.txt", 0o644), ("b.txt", 0o000)] {
        std::fs::write(place.path("in").join(name), "x").unwrap();
        place.allow(&format!("in/{name}"), mode);
    }
    std::fs::write(place.path("in/rows.jsonl"), "{\"t\": \"a.txt\"}\n{\"t\": \"b.txt\"}\n").unwrap();
    place.allow("in/rows.jsonl", 0o644);
    place.allow("", 0o777);
    let (code, output) = place.say(&["shard", "in/rows.jsonl", "--media", "t", "--output", "rows"]);
    assert!(code == Some(1) && output.contains("b.txt cannot be read: ") && output.contains("1 sample"), "{output}");
    let (code, output) = place.say(&["shard", "in", "--as", "files", "--output", "files"]);
    assert!(code == Some(1) && output.contains("in/b.txt") && output.contains("it is left out"), "{output}");
}
