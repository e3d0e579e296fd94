//! JSONL files that are broken or only appear to be: each is indexed as the loader reads it, or refused with position and hint.

use super::sandbox::Sandbox;
use crate::support::{picture, put};
use rustix::fs::{mkfifoat, Mode, CWD};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

/// Returns the values of an index.
fn index(sandbox: &Sandbox, name: &str) -> Vec<u64> {
    let bytes = std::fs::read(sandbox.at(name)).unwrap();
    bytes.chunks_exact(8).map(|value| u64::from_le_bytes(value.try_into().unwrap())).collect()
}

#[test]
fn unusual_jsonl_files_are_indexed_like_the_loader_and_linted() {
    let long = [b"{\"t\": \"".to_vec(), vec![b'x'; 64 << 20], b"\"}\n{}\n".to_vec()].concat();
    let end = long.len() as u64;
    let deep = format!("{{\"a\": {}{}}}\n", "[".repeat(100_000), "]".repeat(100_000)).into_bytes();
    let deep_end = deep.len() as u64;
    for (what, bytes, wanted, lint) in [
        ("no last newline", b"{\"a\": 1}\n{}".to_vec(), vec![0, 9, 11], 0),
        ("blank lines", b"\n \t\n{}\n\r\n{}\n\n".to_vec(), vec![0, 9, 13], 0),
        ("windows line ends", b"{}\r\n{}\r\n".to_vec(), vec![0, 4, 8], 0),
        ("CR only", b"{\"a\":1}\r{\"a\":2}\r".to_vec(), vec![0, 16], 1),
        ("invalid UTF-8", b"{\"a\": \"\xff\"}\n".to_vec(), vec![0, 11], 1),
        ("two objects in a line", b"{}{}\n".to_vec(), vec![0, 5], 1),
        ("a key twice", b"{\"a\": 1, \"a\": 2}\n".to_vec(), vec![0, 17], 1),
        ("nested without end", deep, vec![0, deep_end], 1),
        ("a line of 64 MB", long, vec![0, end - 3, end], 0),
    ] {
        let sandbox = Sandbox::new();
        put(&sandbox.at("x.jsonl"), &bytes);
        let ran = sandbox.run(["prepare", "x.jsonl", "--json"]);
        // The loader fails on such a line, which the index contains.
        let is_reported = i32::from(what == "invalid UTF-8");
        assert_eq!(ran.code, is_reported, "{what}: {ran}");
        assert_eq!(index(&sandbox, "x.jsonl.idx"), wanted, "{what}");
        assert_eq!(sandbox.run(["verify", "x.jsonl", "--json"]).code, is_reported, "{what}");
        assert_eq!(sandbox.run(["info", "x.jsonl", "--json"]).code, 0, "{what}");
        let ran = sandbox.run(["lint", "x.jsonl", "--json"]);
        assert_eq!((ran.code, ran.json()["problems"].as_array().is_some()), (lint, true), "{what}: {ran}");
        assert_eq!(sandbox.run(["lint", "x.jsonl", "--problems-ok"]).code, 0, "{what}");
    }
}

#[test]
fn invalid_jsonl_files_are_refused_by_every_command_with_the_position() {
    let long = [b"{}\n{\"t\": \"".to_vec(), vec![b'x'; 1 << 20], b"\n".to_vec()].concat();
    for (what, bytes, word) in [
        ("byte order mark", b"\xef\xbb\xbf{}\n".to_vec(), "line 1, byte 0"),
        ("an array", b"{}\n[1]\n".to_vec(), "line 2, byte 3"),
        ("numbers", b"1\n2\n".to_vec(), "line 1, byte 0"),
        ("escape codes", b"{}\n\x1b]0;x\x07\x1b[2J\n".to_vec(), "line 2, byte 3"),
        ("NUL bytes", b"{}\n\0\0\n".to_vec(), "line 2, byte 3"),
        ("cut short", b"{}\n{\"a\": 1".to_vec(), "line 2, byte 3"),
        ("a long line that is cut short", long, "line 2, byte 3"),
        ("empty", Vec::new(), "empty"),
        ("blank lines only", b"\n\n \r\n".to_vec(), "blank"),
    ] {
        let sandbox = Sandbox::new();
        put(&sandbox.at("x.jsonl"), &bytes);
        let before = picture(&sandbox.data());
        let words = sandbox.run(["prepare", "x.jsonl"]);
        assert!(words.err.contains("hint: ") && words.err.contains("error: "), "{what}: {words}");
        for command in ["prepare", "lint", "verify"] {
            let ran = sandbox.run([command, "x.jsonl", "--json"]);
            assert_eq!(ran.code, 1, "{what}: {ran}");
            assert_eq!(ran.json()["schema_version"], 1);
            assert!(command != "prepare" || ran.error().0.contains(word), "{what}: {ran}");
        }
        assert!(picture(&sandbox.data()) == before, "{what}: a refused run wrote something");
    }
}

#[test]
fn special_files_named_jsonl_are_refused_with_their_kind() {
    let sandbox = Sandbox::new();
    for name in ["fifo.jsonl", "fifo.yaml"] {
        mkfifoat(CWD, sandbox.at(name), Mode::from_raw_mode(0o600)).unwrap();
    }
    symlink("/dev/zero", sandbox.at("device.jsonl")).unwrap();
    symlink("loop.jsonl", sandbox.at("loop.jsonl")).unwrap();
    std::fs::create_dir(sandbox.at("folder.jsonl")).unwrap();
    for (name, code, word) in [
        ("fifo.jsonl", 2, "fifo, socket or device"),
        ("fifo.yaml", 2, "fifo, socket or device"),
        ("device.jsonl", 2, "fifo, socket or device"),
        ("loop.jsonl", 3, "symbolic links form a loop"),
        ("gone.jsonl", 3, "no such file"),
    ] {
        for command in ["prepare", "info", "lint", "verify"] {
            let ran = sandbox.run([command, name, "--json"]);
            let (message, _) = ran.error();
            assert!(ran.code == code && message.contains(word) && message.contains(name), "{command}: {ran}");
        }
    }
    assert_eq!(sandbox.run(["mix", "check", "fifo.yaml", "--json"]).code, 2);
    assert_eq!(sandbox.run(["lint", "folder.jsonl", "--json"]).code, 2);
}

#[test]
fn jsonl_names_with_control_characters_are_escaped() {
    let sandbox = Sandbox::new();
    for name in ["a\nb.jsonl", "\u{1b}[31m.jsonl", "\u{202e}x.jsonl", "a'b \"c\".jsonl"] {
        put(&sandbox.at(name), b"{}\n");
        for command in ["prepare", "info", "lint", "verify"] {
            assert_eq!(sandbox.run([command, name]).code, 0, "{name:?}");
            assert_eq!(sandbox.run([command, name, "--json"]).code, 0, "{name:?}");
        }
    }
    let name = std::ffi::OsStr::from_bytes(b"n\xff.jsonl");
    put(&sandbox.at(name), b"{}\n");
    let ran = sandbox.run([std::ffi::OsStr::new("prepare"), name, std::ffi::OsStr::new("--json")]);
    let (message, hint) = ran.error();
    assert!(ran.code == 2 && message.contains("UTF-8") && hint == "rename it", "{ran}");
}

#[test]
fn figures_of_long_lines_are_grouped() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("x.jsonl"), format!("{{\"t\": \"{}\"}}\n{{}}\n", "x".repeat(9_000)).as_bytes());
    let ran = sandbox.run(["info", "x.jsonl"]);
    assert!(ran.out.contains("2 to 9,009, 4,506 on average"), "{ran}");
}
