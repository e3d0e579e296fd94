//! Files of users: damaged, hostile, and of all versions of the format.

use crate::cli_support::Sandbox;

#[test]
fn hostile_packed_files_and_indexes_are_refused_quickly() {
    let sandbox = Sandbox::new();
    let packed = |data: u64, size: u32, rest: &[u8]| [&data.to_le_bytes()[..], &size.to_le_bytes(), rest].concat();
    let code = b"\x80\x04]\x94(cos\nsystem\n(X\x02\x00\x00\x00lstR.";
    // A group that ends without its number of items.
    let cut = [&b"\x80\x04]\x94("[..], &b"K\x00K\x02\x86".repeat(1000)].concat();
    let framed = b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f]\x94.";
    for (name, bytes) in [
        ("beyond.pbin", packed(u64::MAX - 3, 2, b"abcd\x80\x04]\x94.")),
        ("longer.pbin", packed(1 << 40, 2, b"abcd\x80\x04]\x94.")),
        ("code.pbin", packed(4, 2, &[&b"abcd"[..], code].concat())),
        ("cut.pbin", packed(4, 2, &[&b"abcd"[..], &cut].concat())),
        ("frame.pbin", packed(4, 2, &[&b"abcd"[..], framed].concat())),
        ("size.pbin", packed(4, 9, b"abcd\x80\x04]\x94.")),
        ("odd.pbin", packed(3, 2, b"abc\x80\x04]\x94.")),
        ("unfinished.pbin", packed(0, 0, b"abcd")),
        ("tiny.pbin", b"\x00".to_vec()),
        ("empty.pbin", Vec::new()),
    ] {
        sandbox.write(name, bytes);
        for command in ["info", "lint", "verify", "repair"] {
            let ran = sandbox.say(&format!("{command} {name}")).ends(1);
            assert!(ran.err.contains(name) && !ran.err.contains("panicked"), "{command} {name}: {}", ran.err);
        }
        sandbox.say(&format!("modalities merge {name} {name} -o out.pbin")).ends(1);
    }
    // Offsets outside the file.
    let item = b"\x80\x04]\x94(\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x04\x86K\x00K\x04\x86e.";
    sandbox.write("nowhere.pbin", packed(8, 2, &[&b"abcdefgh"[..], item].concat()));
    sandbox.say("verify nowhere.pbin").ends(1).complains("document 0");
    sandbox.say("repair nowhere.pbin").ends(1).complains("document 0");
    for command in ["merge nowhere.pbin -o o.pbin", "shuffle nowhere.pbin -o o.pbin"] {
        sandbox.say(&format!("modalities {command}")).ends(1);
    }
    assert!(!sandbox.has("o.pbin"));
    sandbox.write("bad.idx", code);
    sandbox.say("info bad.idx").ends(1).complains("code");
    sandbox.write("a.jsonl", "{}\n{}\n");
    sandbox.write("a.idx", b"\x80\x04]\x94(K\x00K\x02\x86\x94K\x04K\x02\x86\x94e.");
    sandbox.say("verify a.idx").ends(1).complains("byte 4");
}

#[test]
fn packed_files_of_every_version_are_read_and_rewritten_in_the_current_one() {
    let sandbox = Sandbox::new();
    let tokens: [u32; 6] = [7, 300, 0, 5, 9, 0];
    let index = |base: u8, size: u8| {
        let short = 3 * size;
        [
            &b"\x80\x04]\x94("[..],
            &[b'K', base, b'K', short, 0x86, 0x94, b'K', base + short, b'K', short, 0x86, 0x94],
            b"e.",
        ]
        .concat()
    };
    let bytes = |size: usize, big: bool| -> Vec<u8> {
        let pick = |token: &u32| {
            let (little, large) = (token.to_le_bytes(), token.to_be_bytes());
            if big {
                large[4 - size..].to_vec()
            } else {
                little[..size].to_vec()
            }
        };
        tokens.iter().flat_map(pick).collect()
    };
    let head = |length: usize, size: u32, big: bool| {
        if big {
            [&(length as u64).to_be_bytes()[..], &size.to_be_bytes()].concat()
        } else {
            [&(length as u64).to_le_bytes()[..], &size.to_le_bytes()].concat()
        }
    };
    let eras = [
        ("oldest", [&24u64.to_be_bytes()[..], &bytes(4, true), &index(8, 4)].concat(), 4),
        ("big", [&head(12, 2, true)[..], &bytes(2, true), &index(12, 2)].concat(), 2),
        ("little", [&head(12, 2, false)[..], &bytes(2, false), &index(12, 2)].concat(), 2),
        ("three", [&head(18, 3, false)[..], &bytes(3, false), &index(0, 3)].concat(), 4),
        ("now", [&head(12, 2, false)[..], &bytes(2, false), &index(0, 2)].concat(), 2),
    ];
    for (name, content, size) in eras {
        sandbox.write(&format!("{name}.pbin"), content);
        let code = i32::from(name != "now");
        sandbox.say(&format!("info {name}.pbin")).ends(code).says("documents");
        sandbox.say(&format!("modalities merge {name}.pbin -o {name}.new.pbin")).ends(0);
        let wanted = [&head(6 * size, size as u32, false)[..], &bytes(size, false)].concat();
        assert!(sandbox.read(&format!("{name}.new.pbin")).starts_with(&wanted), "{name}");
        let value = sandbox.say(&format!("info {name}.new.pbin --json")).ends(0).json("ok");
        assert_eq!((&value["documents"], &value["tokens"], &value["end_token"]), (&2.into(), &6.into(), &0.into()));
    }
}

#[test]
fn refuses_path_through_missing_folder() {
    let sandbox = Sandbox::new();
    let text = b"{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
    sandbox.write("a.jsonl", text);
    sandbox.write("b.jsonl", text);
    let shuffle = "modalities data shuffle_jsonl_data --seed 1 --input_data_path a.jsonl --output_data_path";
    for line in [
        "modalities data create_raw_index a.jsonl --index_path new/../a.jsonl".to_owned(),
        "modalities data create_raw_index a.jsonl --index_path new/../b.jsonl".to_owned(),
        format!("{shuffle} new/../a.jsonl --file_existence_policy override"),
    ] {
        sandbox.say(&line).ends(2).complains("`..` follows a folder that does not exist");
        assert_eq!((sandbox.read("a.jsonl"), sandbox.read("b.jsonl")), (text.to_vec(), text.to_vec()), "{line}");
        std::fs::remove_dir(sandbox.path("new")).unwrap();
    }
    // A path that leaves an existing folder again is allowed.
    std::fs::create_dir(sandbox.path("new")).unwrap();
    sandbox.say("modalities data create_raw_index a.jsonl --index_path new/../c.idx").ends(0);
    assert!(sandbox.has("c.idx"));
}

#[test]
fn raw_index_without_valid_lines_is_written_with_a_problem() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.jsonl", "not json\n{]\n");
    sandbox.say("index bad.jsonl --format modalities").ends(1).complains("--skip-bad-lines");
    assert!(!sandbox.has("bad.idx"));
    sandbox.say("index bad.jsonl --format modalities --skip-bad-lines").ends(1).complains("no line is left");
    assert_eq!(sandbox.read("bad.idx"), [0x80, 4, b']', 0x94, b'.']);
    sandbox.write("empty.jsonl", "");
    sandbox.say("index empty.jsonl --format modalities --skip-bad-lines").ends(1).complains("the file is empty");
    assert!(!sandbox.has("empty.idx"));
}
