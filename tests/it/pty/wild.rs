//! Creates a data set of hostile names, texts, headers, depths and lengths.

use super::harness::{run_plainly, TestHome};

/// Size of one long line and of one long text in bytes, unless `GRISTMILL_HOSTILE_BYTES` is set.
const LONG: usize = 4 << 20;
/// Nesting depth of brackets.
const DEPTH: usize = 100_000;

/// Commands to a terminal, and characters that hide or reorder text.
pub const EVIL_TEXT: &str = "\x1b[2J\x1b[?1049l\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1b]8;;http://x\x07link\x1b]8;;\x07\
    \x1bP+q544e\x1b\\\u{9b}31m\u{9d}0;owned\u{9c}\u{90}q\u{9c}\x1bc\x1b(0\x0e\u{202e}live\u{2066}\u{200b}\u{200d}\u{feff}\r\n\
    second\tline\x08\x7f";

/// Returns the size of the long line and the long text, in bytes.
pub fn long() -> usize {
    std::env::var("GRISTMILL_HOSTILE_BYTES").ok().and_then(|n| n.parse().ok()).unwrap_or(LONG)
}

/// Returns the keys of samples; those too long for a header are stored in a separate header.
fn keys() -> Vec<String> {
    vec![
        "0-plain".to_owned(),
        "1\x1b[2J\x1b]0;owned\x07".to_owned(),
        "2\x1b]52;c;b3duZWQ=\x07\u{9b}31m".to_owned(),
        "3\u{202e}gpj\u{2066}\u{200b}\u{200b}".to_owned(),
        "4\nwith\r\nlines".to_owned(),
        format!("5e{}", "\u{301}".repeat(400)),
        format!("6{}", "\u{200b}".repeat(400)),
        "7\x1b[?1049l\x1bc\x0e".to_owned(),
    ]
}

/// Returns the parts of one sample: the suffix of the name, and the bytes.
fn parts(number: usize) -> Vec<(String, Vec<u8>)> {
    let evil_json = serde_json::json!({ EVIL_TEXT: EVIL_TEXT, "list": [EVIL_TEXT, {EVIL_TEXT: 1}] }).to_string();
    let flood = format!("x{}y", "\u{301}".repeat(5000));
    let usual = vec![
        ("txt".to_owned(), EVIL_TEXT.as_bytes().to_vec()),
        ("json".to_owned(), evil_json.into_bytes()),
        ("jpg".to_owned(), huge_jpeg()),
    ];
    match number {
        0 => vec![
            ("cls".into(), b"7\x1b[2J".to_vec()),
            ("jpg".into(), huge_jpeg()),
            ("json".into(), deep(b'[', b']')),
            ("msgpack".into(), vec![0x91; DEPTH]),
            ("npy".into(), object_array()),
            ("png".into(), huge_png()),
            ("txt".into(), b"a cat".to_vec()),
        ],
        1 => vec![
            ("json".into(), flood.replace('x', "{\"x").replace('y', "\":1}").into_bytes()),
            ("msgpack".into(), evil_msgpack()),
            ("npz".into(), b"PK\x03\x04\x1b[2J".to_vec()),
            ("txt".into(), flood.into_bytes()),
            ("wav".into(), b"RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff".to_vec()),
            ("x\x1b[2J\u{202e}".into(), EVIL_TEXT.as_bytes().to_vec()),
        ],
        2 => vec![("json".into(), deep(b'{', b'}')), ("txt".into(), vec![b'w'; long()])],
        _ => usual,
    }
}

fn deep(open: u8, close: u8) -> Vec<u8> {
    let opened: Vec<u8> = if open == b'{' { b"{\"\x1b[2J\":".to_vec() } else { vec![open] };
    let mut bytes = opened.repeat(DEPTH);
    bytes.extend(vec![close; DEPTH]);
    bytes
}

fn evil_msgpack() -> Vec<u8> {
    let text = EVIL_TEXT.as_bytes();
    let mut word = vec![0xd9, u8::try_from(text.len()).expect("a short text")];
    word.extend(text);
    let mut bytes = vec![0x82];
    for _ in 0..3 {
        bytes.extend(&word);
    }
    // A text with a stated length of 4 GiB.
    bytes.extend([0xdb, 0xff, 0xff, 0xff, 0xff, b'x']);
    bytes
}

fn object_array() -> Vec<u8> {
    let head = format!("{:<117}\n", "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(head.len()).expect("a short header").to_le_bytes());
    bytes.extend(head.bytes());
    bytes.extend(b"\x80\x03cposix\nsystem\nX\x02\x00\x00\x00id\x85R.");
    bytes
}

/// Returns a picture whose header states a width and height of 30,000 pixels.
fn huge_jpeg() -> Vec<u8> {
    let mut bytes = vec![0xff, 0xd8, 0xff, 0xc0, 0, 17, 8];
    bytes.extend([0x75, 0x30, 0x75, 0x30, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
    bytes.extend([0xff, 0xda, 0, 12, 3, 1, 0, 2, 0x11, 3, 0x11, 0, 0x3f, 0]);
    bytes.extend([0x12; 64]);
    bytes.extend([0xff, 0xd9]);
    bytes
}

fn huge_png() -> Vec<u8> {
    let mut head = b"IHDR".to_vec();
    head.extend([0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30, 8, 6, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0d".to_vec();
    bytes.extend(&head);
    bytes.extend(crc(&head).to_be_bytes());
    bytes.extend(b"\0\0\0\x04IDAT\x78\x9c\x63\0");
    bytes.extend(crc(b"IDAT\x78\x9c\x63\0").to_be_bytes());
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 })
    })
}

/// Returns one shard of all keys, with these parts of each.
fn shard(parts: impl Fn(usize) -> Vec<(String, Vec<u8>)>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (number, key) in keys().into_iter().enumerate() {
        for (part, bytes) in parts(number) {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, format!("{key}.{part}"), &bytes[..]).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

/// Writes `wild`, a prepared data set; `leaky`, with the same keys in two splits; `cut`, truncated shards; `lies`, with wrong indexes;
/// `broken`, with an unreadable list of splits; `lines.jsonl` and `media`.
pub fn furnish(test_home: &TestHome) {
    let shard = shard(parts);
    test_home.file("wild/a\x1b]0;owned\x07\u{202e}.tar", &shard);
    for (number, name) in ["wild/b\u{9b}31m\nx.tar", "lies/s.tar", "broken/s.tar"].into_iter().enumerate() {
        test_home.shard(name, number * 100, 30);
    }
    test_home.shard("wild/c\x1b[2J\u{200b}.tar", 900, 5);
    // The same keys in two splits.
    for name in ["leaky/a\x1b]0;owned\x07.tar", "leaky/b\u{202e}.tar"] {
        test_home.file(name, &self::shard(|_| vec![("txt".to_owned(), EVIL_TEXT.as_bytes().to_vec())]));
    }
    for name in ["wild", "lies", "broken", "leaky"] {
        let mut answers = vec!["prepare", name, "--yes", "--sample-type", "CrudeWebdataset", "--problems-ok"];
        answers.extend(["--split-ratio", "1,1,0", "--skip-sample-tables"].iter().take(if name == "leaky" {
            3
        } else {
            2
        }));
        assert_eq!(run_plainly(test_home, &answers), Some(0), "{name}");
    }
    let map = "__module__: megatron.energon\n__class__: CaptioningSample\nfield_map:\n  image: jpg\n  caption: txt\n";
    test_home.file("wild/.nv-meta/dataset.yaml", map.as_bytes());
    test_home.file("cut/whole.tar", &shard[..shard.len() / 3]);
    test_home.file("cut/header.tar", &shard[..700]);
    test_home.file("cut/nothing.tar", b"");
    let starts = [0_u64, u64::MAX, 7, 1 << 40, 512, 3];
    test_home.file("lies/s.tar.idx", &starts.iter().flat_map(|start| start.to_le_bytes()).collect::<Vec<_>>());
    test_home.file("lies/.nv-meta/index.sqlite", b"SQLite format 3\0and then nothing \x1b[2J");
    test_home.file("broken/.nv-meta/split.yaml", b"split_parts:\n  train: [\"\x1b[2J\n - : : }{\x07");
    let mut lines = format!("{}\n", serde_json::json!({ "text": EVIL_TEXT, EVIL_TEXT: [EVIL_TEXT] })).into_bytes();
    lines.extend(format!("{{\"long\":\"{}\"}}\n", "z".repeat(long())).bytes());
    lines.extend(deep(b'[', b']'));
    lines.extend(b"\n\xff\xfe\x1b[2J not json\n{\"raw\":\"\x1b]0;owned\x07\"}\n");
    test_home.file("lines.jsonl", &lines);
    for name in ["a\x1b[2J.png", "b\u{202e}gnp.jpg", "c\nd.png", "dir\x1b]0;x\x07/e.jpg"] {
        test_home
            .file(&format!("media/{name}"), if name.ends_with("png") { huge_png() } else { huge_jpeg() }.as_slice());
    }
}
