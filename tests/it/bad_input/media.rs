//! Broken, unusual and hostile media: every file is described or reported with the reason, and none ends the run.

use super::sandbox::{ended, RunOutput, Sandbox};
use super::tars::{archive, entry};
use crate::support::{picture, put};
use rustix::fs::{mkfifoat, Mode, CWD};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{symlink, PermissionsExt as _};
use std::path::Path;

const EXTENSION: &str = "--media-metadata-by-extension";
const HEADER: &str = "--media-metadata-by-header";

/// Files that are described although they are unusual: folder and name below the golden media.
const ODD: &[&str] = &[
    "images/jpeg_named.png",
    "images/apng_RGB.png",
    "images/gif_anim_RGB.gif",
    "images/webp_anim_RGBA.webp",
    "images/jpeg_CMYK_.jpg",
    "images/png_16_0.png",
    "images/tiff_I16_tiff_lzw.tif",
    "images/jpeg_exif6.jpg",
    "iso/h264_aac.mp4",
    "iso/h264_b.mov",
    "iso/unknown_video.mp4",
    "iso/m_frag.mp4",
    "iso/vfr.mp4",
    "matroska/live_libx264.mkv",
    "matroska/w_live.webm",
    "matroska/nd_vfr_libx264.mkv",
    "riff/datasize_0.wav",
    "riff/datasize_4294967295.wav",
    "riff/datasize_6000.wav",
    "riff/riffsize_0.wav",
    "riff/zero.wav",
];
/// Pictures with a valid header that decoders fail on, and their width and height.
const CUT: &[(&str, u64, u64)] = &[
    ("images/jpeg_trunc.jpg", 64, 48),
    ("images/png_badzlib.png", 0, 0),
    ("images/jpeg_size30000x30000.jpg", 30_000, 30_000),
    ("images/png_huge.png", 30_000, 30_000),
];
/// Files without a row.
const NONE: &[&str] = &["images/empty.jpg", "iso/nomoov.mp4", "iso/cut50_m_fast_v.mp4", "riff/nofmt.wav"];

fn golden(path: &str) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/media").join(path);
    std::fs::read(&file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the row that the reference writes.
fn expected(path: &str) -> Value {
    let (folder, name) = path.split_once('/').unwrap();
    let all: Value = serde_json::from_slice(&golden(&format!("{folder}/expected.json"))).unwrap();
    all[name].clone()
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

/// Returns name and bytes of every unusual, cut and broken file.
fn zoo() -> Vec<(String, Vec<u8>)> {
    let all = ODD.iter().chain(CUT.iter().map(|(path, _, _)| path)).chain(NONE);
    let mut files: Vec<_> = all.map(|path| (name_of(path).to_owned(), golden(path))).collect();
    for ending in ["jpg", "png", "gif", "webp", "bmp", "tif", "mp4", "mkv", "wav", "mp3", "flac", "ogg", "avi", "aac"] {
        files.push((format!("zero.{ending}"), Vec::new()));
    }
    files
}

fn folder(files: &[(String, Vec<u8>)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, bytes) in files {
        put(&sandbox.at(name), bytes);
    }
    sandbox
}

/// Returns the media rows of the data set, by key.
fn rows(root: &Path) -> BTreeMap<String, String> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = rusqlite::Connection::open_with_flags(root.join(".nv-meta/index.sqlite"), flags).unwrap();
    let mut statement = database.prepare("SELECT entry_key, metadata_json FROM media_metadata").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

#[track_caller]
fn describe(sandbox: &Sandbox, more: &[&str]) -> RunOutput {
    sandbox.run(["prepare-media", ".", "--json"].iter().chain(more))
}

/// Returns all messages about a file, including notes.
fn messages_about<'a>(ran: &'a Value, name: &str) -> Vec<&'a str> {
    let all = ran["problems"].as_array().unwrap();
    let is_of = |problem: &&Value| problem["subject"].to_string().contains(&format!("{name}\""));
    all.iter().filter(is_of).map(|problem| problem["message"].as_str().unwrap()).collect()
}

#[track_caller]
fn assert_zoo(rows: &BTreeMap<String, String>, ran: &RunOutput) {
    let value = ran.json();
    for path in ODD {
        assert_eq!(rows.get(name_of(path)).map(String::as_str), expected(path).as_str(), "{path}: {ran}");
    }
    for (path, width, height) in CUT {
        let row: Value = serde_json::from_str(&rows[name_of(path)]).unwrap();
        if *width > 0 {
            assert_eq!((row["width"].as_u64(), row["height"].as_u64()), (Some(*width), Some(*height)), "{path}");
        }
    }
    for path in NONE {
        assert!(!rows.contains_key(name_of(path)), "{path} has a row");
        assert!(!messages_about(&value, name_of(path)).is_empty(), "{path} is not named: {ran}");
    }
    assert!(!rows.keys().any(|key| key.starts_with("zero.") && key != "zero.wav"), "{rows:?}");
}

#[test]
fn unusual_media_files_have_reference_rows_or_reasons() {
    for way in [vec![EXTENSION], vec![HEADER], vec!["--media-metadata-by-glob", "*"], vec![EXTENSION, "--decode"]] {
        // The empty zero.wav would replace the golden file.
        let files: Vec<_> = zoo().into_iter().filter(|(name, bytes)| name != "zero.wav" || !bytes.is_empty()).collect();
        let sandbox = folder(&files);
        let ran = describe(&sandbox, &way);
        assert_eq!(ran.code, 1, "{way:?}: {ran}");
        assert_zoo(&rows(&sandbox.data()), &ran);
    }
}

#[test]
fn unusual_media_entries_have_reference_rows_or_reasons() {
    for way in [&[EXTENSION][..], &[HEADER, "--decode"]] {
        let mut files = zoo();
        files.retain(|(name, bytes)| name != "zero.wav" || !bytes.is_empty());
        // The parts of a sample must be adjacent.
        files.sort();
        let entries: Vec<_> = files.into_iter().map(|(name, bytes)| entry(name.as_bytes(), &bytes)).collect();
        let sandbox = Sandbox::new();
        put(&sandbox.at("a.tar"), &archive(&entries));
        let ran = sandbox.prepare(&[way, &["--split-ratio", "1,0,0", "--duplicates", "keep-first"][..]].concat());
        assert_eq!(ran.code, 1, "{ran}");
        assert_eq!(ran.json()["status"], "problems");
        assert_zoo(&rows(&sandbox.data()), &ran);
        assert_eq!(sandbox.run(["verify", ".", "--json"]).code, 0, "what was written is what is there");
    }
}

#[test]
fn each_media_problem_has_one_message_with_its_reason() {
    let riff = [b"RIFF\x24\0\0\0WAVEfmt ".to_vec(), vec![0; 40]].concat();
    let jpeg = golden("images/jpeg_trunc.jpg");
    let (cut, huge) =
        ("cut short after a good header", "more than 178,956,970 pixels: readers built on Pillow refuse it");
    for (name, bytes, decode, said) in [
        ("empty.jpg", Vec::new(), false, "no row is written for it: it is empty"),
        ("empty.mp3", Vec::new(), false, "no row is written for it: it is empty"),
        ("sound.jpg", riff, false, "no row is written for it: not a picture of a known format"),
        (
            "words.mp4",
            b"only words".to_vec(),
            false,
            "no row is written for it: this is not a known audio or video format",
        ),
        ("headless.mp4", golden("iso/nomoov.mp4"), false, "no row is written for it: it has no moov header"),
        ("cut.jpg", jpeg.clone(), false, cut),
        ("cut.jpg", jpeg, true, "the picture cannot be decoded: it is cut short"),
        ("huge.jpg", golden("images/jpeg_size30000x30000.jpg"), false, huge),
        (
            "huge.jpg",
            golden("images/jpeg_size30000x30000.jpg"),
            true,
            "the picture cannot be decoded: more than 178,956,970",
        ),
    ] {
        let sandbox = folder(&[(name.to_owned(), bytes)]);
        let ran = describe(&sandbox, if decode { &[EXTENSION, "--decode"] } else { &[EXTENSION] });
        let value = ran.json();
        let messages = messages_about(&value, name);
        assert!(messages.len() == 1 && messages[0].starts_with(said), "{name}: {messages:?}");
        let is_note = value["problems"][0]["severity"] == "note";
        assert_eq!(ran.code, i32::from(!is_note), "{ran}");
    }
}

#[test]
fn damage_after_a_valid_header_is_found_only_by_lint_with_decode() {
    let files: Vec<_> = CUT.iter().map(|(path, _, _)| (name_of(path).to_owned(), golden(path))).collect();
    let sandbox = folder(&files);
    assert_eq!(describe(&sandbox, &[EXTENSION]).code, 0);
    assert_eq!(sandbox.run(["lint", "."]).code, 0);
    let ran = sandbox.run(["lint", ".", "--decode", "--json"]);
    assert_eq!((ran.code, ran.counted("broken-media")), (1, CUT.len() as u64), "{ran}");
    assert!(ran
        .problems("broken-media")
        .iter()
        .all(|problem| problem["hint"].as_str().unwrap().contains("put a whole one")));
    assert_eq!(sandbox.run(["lint", ".", "--decode", "--problems-ok"]).code, 0);
    let ran = sandbox.run(["lint", ".", "--decode"]);
    assert_eq!(ran.err.matches("hint: ").count(), 1, "the same way out is shown once: {ran}");
}

#[test]
fn mp3_with_large_id3_tag_has_the_row_of_untagged_mp3() {
    let sound = golden("mpeg_audio/cbr_320000.mp3");
    let frames = match sound.strip_prefix(b"ID3") {
        Some(tag) => {
            let size = tag[3..7].iter().fold(0, |size, &byte| size << 7 | usize::from(byte));
            sound[10 + size..].to_vec()
        }
        None => sound,
    };
    let size: usize = 10 << 20;
    let bytes: Vec<u8> = (0..4).rev().map(|place| (size >> (7 * place)) as u8 & 127).collect();
    let tagged = [&b"ID3\x04\0\0"[..], &bytes, &vec![0; size], &frames].concat();
    let sandbox = folder(&[("tagged.mp3".to_owned(), tagged), ("plain.mp3".to_owned(), frames)]);
    assert_eq!(describe(&sandbox, &[EXTENSION]).code, 0);
    let rows = rows(&sandbox.data());
    assert_eq!(rows["tagged.mp3"], rows["plain.mp3"]);
}

#[test]
fn special_files_with_media_names_are_skipped_and_named() {
    let good = golden("images/jpeg_exif6.jpg");
    let sandbox = folder(&[("good.jpg".to_owned(), good.clone()), ("sub/in.jpg".to_owned(), good)]);
    mkfifoat(CWD, sandbox.at("fifo.jpg"), Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(sandbox.at("socket.jpg")).unwrap();
    for (name, target) in [
        ("device.jpg", "/dev/zero"),
        ("dangling.jpg", "nowhere"),
        ("one.jpg", "two.jpg"),
        ("two.jpg", "one.jpg"),
        ("again", "."),
        ("sub/up", ".."),
    ] {
        symlink(target, sandbox.at(name)).unwrap();
    }
    for way in [EXTENSION, HEADER] {
        let ran = describe(&sandbox, &[way]);
        let value = ran.json();
        assert_eq!((ran.code, &value["rows_written"]), (1, &2.into()), "{ran}");
        for name in ["fifo.jpg", "socket.jpg", "device.jpg", "dangling.jpg", "one.jpg", "two.jpg"] {
            let said = messages_about(&value, name);
            assert!(said.len() == 1 && said[0].starts_with("it is left out: "), "{name}: {said:?}");
        }
        assert!(messages_about(&value, "one.jpg")[0].contains("symbolic links form a loop"), "{ran}");
        let all = value["problems"].as_array().unwrap();
        assert!(all.iter().all(|problem| problem["severity"] == "note" || problem["hint"].is_string()), "{ran}");
        assert_eq!(value["counts"]["note"]["other"], 2, "both links that lead back are noted: {ran}");
    }
}

#[test]
fn unusual_media_names_have_rows_and_are_escaped() {
    let good = golden("images/jpeg_exif6.jpg");
    let sandbox = Sandbox::new();
    let names =
        ["new\nline.jpg", "\u{1b}[31mred.jpg", "\u{202e}gpj.jpg", ".hidden.jpg", ".h/x.jpg", "a'b\"c;.jpg", "UP.JPG"];
    for name in names {
        put(&sandbox.at(name), &good);
    }
    put(&sandbox.at("s/.nv-meta/no.jpg"), &good);
    put(&sandbox.at(std::ffi::OsStr::from_bytes(b"bad\xff.jpg")), &good);
    // Runs once with text output and once with JSON output: the sandbox checks everything that reaches the terminal.
    assert_eq!(sandbox.run(["prepare-media", ".", EXTENSION, "-v"]).code, 1);
    let ran = describe(&sandbox, &[EXTENSION]);
    assert_eq!((ran.code, ran.counted("entry-name-not-utf8")), (1, 1), "{ran}");
    let rows = rows(&sandbox.data());
    assert!(rows.len() == names.len() && names.iter().all(|name| rows.contains_key(*name)), "{rows:?}");
    for args in [["lint", "."], ["verify", "."], ["info", "."]] {
        sandbox.run(args);
    }
}

#[test]
fn unreadable_media_files_and_folders_are_problems() {
    let good = golden("images/jpeg_exif6.jpg");
    let sandbox = folder(&["a.jpg", "b.jpg", "locked/c.jpg"].map(|name| (name.to_owned(), good.clone())));
    let set = |name, mode| std::fs::set_permissions(sandbox.at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    set("b.jpg", 0o000);
    set("locked", 0o000);
    let ran = describe(&sandbox, &[EXTENSION]);
    let free = std::fs::File::open(sandbox.at("b.jpg")).is_ok();
    set("locked", 0o700);
    if free {
        assert_eq!(ran.code, 0, "the superuser may read everything: {ran}");
        return;
    }
    assert_eq!((ran.code, ran.counted("unreadable")), (1, 2), "{ran}");
    assert_eq!(rows(&sandbox.data()).keys().collect::<Vec<_>>(), ["a.jpg"]);
}

#[test]
fn the_first_problem_ends_a_strict_run_and_nothing_is_written() {
    let sandbox = folder(&[("a.jpg".to_owned(), Vec::new())]);
    let before = picture(&sandbox.data());
    let ran = describe(&sandbox, &[EXTENSION, "--strict"]);
    assert_eq!((ran.code, ran.json()["status"].as_str()), (1, Some("refused")), "{ran}");
    let (message, hint) = ran.error();
    assert!(message.contains("a.jpg") && hint.contains("--strict"), "{ran}");
    assert!(picture(&sandbox.data()) == before);
    assert_eq!(describe(&sandbox, &[EXTENSION, "--problems-ok"]).code, 0);
}

#[test]
fn every_media_refusal_has_reason_and_hint() {
    let sandbox = folder(&[("m/a.jpg".to_owned(), golden("images/jpeg_exif6.jpg")), ("n/readme".to_owned(), vec![1])]);
    put(&sandbox.at("r/a.tar"), &archive(&[entry(b"a.jpg", b"")]));
    symlink("loop", sandbox.at("loop")).unwrap();
    for (args, code, word, way) in [
        (vec!["m"], 2, "media metadata not given", "--media-metadata-by-"),
        (vec!["m", EXTENSION, HEADER], 2, "cannot be used with", "gristmill prepare-media"),
        (vec!["nowhere", EXTENSION], 3, "no such file", ""),
        (vec!["loop", EXTENSION], 3, "symbolic links form a loop", ""),
        (vec!["m/a.jpg", EXTENSION], 2, "it is a file", "folder of media"),
        (vec!["n", EXTENSION], 1, "none of 1 file", HEADER),
        (vec!["m", "--media-metadata-by-glob", "*.xyz"], 2, "none of 1 file", "comma"),
        (vec!["r", EXTENSION], 2, "not prepared", "gristmill prepare"),
        (vec!["hf://datasets/o/n", EXTENSION], 2, "cannot be written", "gristmill cp"),
        (vec!["s3://bucket/../x", EXTENSION], 2, "a part of its key is empty", "folder above"),
    ] {
        let before = picture(&sandbox.data());
        let ran = sandbox.run(["prepare-media", "--json"].iter().chain(&args));
        let (message, hint) = ran.error();
        assert!(ran.code == code && message.contains(word) && hint.contains(way), "{args:?}: {ran}");
        assert_eq!(ran.json()["schema_version"], 1);
        assert!(picture(&sandbox.data()) == before, "{args:?}");
    }
    for command in ["info", "lint", "verify"] {
        let ran = sandbox.run([command, "m", "--json"]);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.error().1.contains("prepare-media"), "loose media have their own command: {ran}");
    }
}

#[test]
fn killed_prepare_media_leaves_old_or_complete_rows() {
    let good = golden("images/jpeg_exif6.jpg");
    let files: Vec<_> = (0..300).map(|number| (format!("{number:03}.jpg"), good.clone())).collect();
    let started = std::time::Instant::now();
    let whole = folder(&files);
    assert_eq!(describe(&whole, &[EXTENSION]).code, 0);
    let took = started.elapsed();
    for point in 0..12 {
        let sandbox = folder(&files);
        let null = std::process::Stdio::null;
        let mut command = sandbox.command(["prepare-media", ".", EXTENSION]);
        let mut child = command.stdout(null()).stderr(null()).spawn().unwrap();
        std::thread::sleep(took.mul_f64(f64::from(point) / 10.0));
        child.kill().unwrap();
        child.wait().unwrap();
        if sandbox.at(".nv-meta/index.sqlite").exists() {
            assert_eq!(rows(&sandbox.data()).len(), 300, "never a part of the rows");
        }
        let stray: Vec<_> = picture(&sandbox.data()).into_keys().filter(|name| name.starts_with(".nv-meta")).collect();
        assert!(stray.iter().all(|name| name == Path::new(".nv-meta/index.sqlite")), "{stray:?}");
        let ran = describe(&sandbox, &[EXTENSION]);
        assert_eq!((ran.code, rows(&sandbox.data()).len()), (0, 300), "{ran}");
    }
}

#[test]
fn concurrent_prepare_media_runs_succeed_or_name_the_lock_holder() {
    let good = golden("images/jpeg_exif6.jpg");
    let files: Vec<_> = (0..100).map(|number| (format!("{number:03}.jpg"), good.clone())).collect();
    let sandbox = folder(&files);
    let start = |way| sandbox.command(["prepare-media", ".", way, "--json"]).spawn().unwrap();
    let children: Vec<_> = [EXTENSION, HEADER, EXTENSION, HEADER].into_iter().map(start).collect();
    let runs: Vec<RunOutput> = children.into_iter().map(ended).collect();
    assert!(runs.iter().any(|ran| ran.code == 0));
    for ran in runs.iter().filter(|ran| ran.code != 0) {
        let (message, hint) = ran.error();
        assert!(ran.code == 3 && message.contains("held by process") && hint.contains("--break-lock"), "{ran}");
    }
    assert_eq!(rows(&sandbox.data()).len(), 100);
}
