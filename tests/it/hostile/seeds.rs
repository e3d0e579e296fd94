//! Seeds of hostile inputs: golden files, handwritten texts, and pieces that readers often fail on.

mod of_media;

use crate::bad_input::tars;
pub use of_media::*;
use std::path::Path;

pub const CSV_TOKENS: &[&[u8]] = &[
    b"\"",
    b"\"\"",
    b",",
    b"\t",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xfd",
    b"NA",
    b"text,text",
    b"{",
];

pub const TAR_TOKENS: &[&[u8]] = &[
    &[0; 512],
    &[0; 1024],
    &[0xff; 8],
    &[0x80, 0, 0, 0, 0x7f],
    b"././@LongLink\0",
    b"ustar\x0000",
    b"00000000000\0",
    b"77777777777\0",
    b"30 size=18446744073709551615\n",
    b"20 path=a/b/c.d.e\n",
    b"9999999999 path=x\n",
    b"0 x=\n",
    b"-1 x\n",
    b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
    b"BZh9",
    b"\xfd7zXZ\0",
    b"GNU.sparse.map=0,1,2\n",
    b"x",
    b"g",
    b"L",
    b"K",
    b"S",
    b"/",
    b".",
];

pub const YAML_TOKENS: &[&[u8]] = &[
    b"\n",
    b"\t",
    b"- ",
    b": ",
    b"? ",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"!!python/object:os.system ",
    b"!!binary ",
    b"|\n",
    b">-\n",
    b"'",
    b"\"",
    b"\\x1b",
    b"\\u202e",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[[[[[[[[",
    b"]]]]]]]]",
    b"{{{{",
    b",",
    b"#",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"null",
    b"~",
    b"no",
    b"1:30",
    b"0x1F",
    b"1e400",
    b"-.inf",
    b".nan",
    b"1_000",
    b"2001-01-01",
    b"=",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"{0..999999}",
    b"{a,b}",
    b"18446744073709551616",
    b"-1",
    b"split_parts:\n",
    b"exclude:\n",
    b"train:\n",
    b"shard_counts",
    b"energon_version",
    b"version: 1\n",
];

pub const BRACE_TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b",",
    b"..",
    b"{a,b}",
    b"{0..9}",
    b"{00..10}",
    b"{9..0}",
    b"{a..z}",
    b"{Z..a}",
    b"{0..10..3}",
    b"{0..10..0}",
    b"{0..10..-1}",
    b"\\",
    b"\\{",
    b"\\}",
    b"{}",
    b"{,}",
    b"{a}",
    b"${",
    b"{-5..5}",
    b"{0..99999999999999999999}",
    b"{{{{{{{{",
    b"}}}}}}}}",
    b"\xd9\xa3",
    b"{\xd9\xa1..\xd9\xa3}",
    b"{1..2}{1..2}{1..2}{1..2}{1..2}{1..2}",
    b" ",
    b"\n",
];

pub const PATTERN_TOKENS: &[&[u8]] = &[
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"*",
    b"+",
    b"?",
    b"|",
    b"^",
    b"$",
    b"\\",
    b".",
    b"(?:",
    b"(?=",
    b"(?!",
    b"(?<=",
    b"(?<!",
    b"(?P<n>",
    b"(?P=n)",
    b"(?(1)a|b)",
    b"(?i)",
    b"(?x)",
    b"(?#",
    b"\\1",
    b"\\d",
    b"\\Z",
    b"\\A",
    b"\\b",
    b"\\N{DIGIT ONE}",
    b"\\u0041",
    b"\\x4",
    b"[^]",
    b"[[:alpha:]]",
    b"[a-\\d]",
    b"[z-a]",
    b"{1,}",
    b"{,5}",
    b"{5,1}",
    b"{1000}",
    b"{99999999999}",
    b"(a+)+",
    b"(a|a)*",
    b"*.tar",
    b"\n",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    b"\xc3\xa9",
    b"&&",
    b"--",
    b"~~",
];

pub const FIELD_TOKENS: &[&[u8]] = &[
    b"[",
    b"]",
    b"[a]",
    b"[0]",
    b"[-1]",
    b"[99999999999999999999]",
    b",",
    b".",
    b"json",
    b"none",
    b"[[",
    b"]]",
    b"\n",
    b"{",
    b"}",
    b"\"",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"null",
    b"1e999",
    b"\\ud800",
    b"\xc3\xa9",
    b" ",
    b"NaN",
    b"-Infinity",
];

pub const PART_TOKENS: &[&[u8]] = &[
    &[0],
    &[1],
    &[3],
    &[4],
    &[5],
    &[6],
    &[8],
    &[9],
    &[0xff; 4],
    b"\xff\xd8\xff\xe0",
    b"\xff\xc0\0\x11\x08",
    b"\x89PNG\r\n\x1a\n",
    b"IHDR",
    b"RIFF\xff\xff\xff\xffWEBPVP8X",
    b"VP8 ",
    b"VP8L",
    b"GIF89a",
    b"II*\0",
    b"MM\0*",
    b"\x93NUMPY\x01\0\xff\xff",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
    b"{'shape': (99999999999999999999,)}",
    b"[[[[[[[[",
    b"{\"a\":",
    b"\\u0000",
    b"1e999",
    b"-",
    b"99999999999999999999",
];

pub const TEXT_TOKENS: &[&[u8]] = &[
    b"\x1b[31m",
    b"\x1b]0;x\x07",
    b"\x1bP",
    b"\x9b",
    b"\xc2\x9b",
    b"\xe2\x80\xae",
    b"\xe2\x81\xa6",
    b"\xe2\x80\x8b",
    b"\xef\xbb\xbf",
    b"\xf3\xa0\x81\x81",
    b"\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
    b"\xef\xb8\x8f",
    b"\xff",
    b"\xf0\x9f",
    b"\r",
    b"\n",
    b"\t",
    b"\x7f",
    b"\0",
    b"\xd8\x9c",
    b"\xe3\x85\xa4",
    b"\xe2\x80\xa8",
    b"\xf0\x9f\xa6\x80",
    "日本".as_bytes(),
];

/// Returns the golden files whose path ends with `end`.
pub fn golden(end: &str) -> Vec<Vec<u8>> {
    golden_of("energon", end)
}

/// Returns the golden files of a format whose paths end with `end`.
pub fn golden_of(format: &str, end: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format);
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().flatten();
    let files = files.filter(|entry| entry.file_type().is_file() && entry.path().to_string_lossy().ends_with(end));
    let found: Vec<Vec<u8>> = files.map(|entry| std::fs::read(entry.path()).unwrap()).collect();
    assert!(!found.is_empty(), "no golden file ends with {end}");
    found
}

fn with(mut more: Vec<Vec<u8>>, texts: &[&str]) -> Vec<Vec<u8>> {
    more.extend(texts.iter().map(|text| text.as_bytes().to_vec()));
    more
}

pub fn tars() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = golden(".tar").into_iter().filter(|tar| tar.len() < 100_000).collect();
    seeds.push(tars::archive(&tars::samples("k", 5)));
    seeds.push(tars::archive(&[
        tars::pax_entry(&[("path", b"long/name.with.dots"), ("size", b"3")], b"x", b"abc"),
        tars::entry(b"a.txt", b"x"),
        tars::pax_entry(&[("GNU.sparse.major", b"1"), ("GNU.sparse.name", b"s.bin")], b"y", b"1\n0\n3\nabc"),
    ]));
    seeds.push(Vec::new());
    seeds
}

pub fn metadataset() -> Vec<Vec<u8>> {
    let head = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n";
    let blend = "  train:\n    blend:\n    - {path: a, weight: 0.5, aux: {m: 'filesystem://x'}, subset: {range: [0%, 50%]}}\n    - path: b.jsonl\n      weight: 2\n";
    let join = "  val:\n    join:\n      x: {path: a}\n      y: {path: b, nonmatch: none}\n    joiner: {__module__: m, __function__: f}\n";
    let old = "splits:\n  train:\n    datasets:\n    - {path: a, weight: 1, subflavor: x}\n";
    let epochs = "  test: {blend_epochized: [{path: a, repetitions: 3, shuffle_over_epochs_multiplier: -1}], subset: {range: [5%, 6%]}}\n";
    let texts = [
        format!("{head}{blend}{join}{epochs}"),
        format!("{head}{join}"),
        old.to_owned(),
        format!("{head}  train: &a [*a]\n"),
    ];
    with(golden("skip.yaml"), &texts.iter().map(String::as_str).collect::<Vec<_>>())
}

pub fn split_yaml() -> Vec<Vec<u8>> {
    with(
        golden("split.yaml"),
        &[
            "exclude: []\nsplit_parts:\n  train:\n  - a{000..010}.tar\n  val: []\n",
            "{\"split_parts\": {\"train\": [\"a.tar\"]}, \"exclude\": [\"a.tar/k\"]}",
            "split_parts:\n  train: ['{0..999999}', '{0..999999}', '{0..999999}', '{0..999999}', '{0..999999}', '{0..999999}']\n",
        "split_parts:\n  train: &x ['a.tar', \"b\\x1b.tar\"]\n  val: *x\nexclude: ~\n",
        ],
    )
}

pub fn info() -> Vec<Vec<u8>> {
    with(
        golden(".info.json"),
        &["energon_version: 7.4.1\nshard_counts:\n  a.tar: 3\n  \"b\\n.tar\": 0\n", "{\"shard_counts\": {}}"],
    )
}

pub fn dataset_yaml() -> Vec<Vec<u8>> {
    with(golden("dataset.yaml"), &[
        "__module__: megatron.energon\n__class__: CrudeWebdataset\n",
        "sample_type:\n  __module__: m\n  __class__: C\nsample_loader: sample_loader.py:sample_loader\npart_filter: sample_loader.py:part_filter\n",
        "__class__: StandardWebdatasetFactory\nfield_map: {image: jpg, caption: 'json[a][0],txt'}\nsubflavors: {a: 1}\n",
    ])
}

pub fn braces() -> Vec<Vec<u8>> {
    with(
        Vec::new(),
        &[
            "a",
            "a{b,c}d",
            "{000..100}",
            "x{a,{b,c}}{1..3}",
            "\\{a\\}",
            "{a..e..2}",
            "s_{0,1}/t_{00..11}.tar",
            "{",
            "a}b{c",
        ],
    )
}

pub fn patterns() -> Vec<Vec<u8>> {
    with(
        Vec::new(),
        &[
            "train/.*",
            "(?:a|b)+$",
            "shard_(?!0)\\d{6}\\.tar",
            "(a+)+$\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaX",
            "[^/]+/(?P<x>\\d+)(?P=x)",
            "(?i)ABC",
            "(x)(?(1)y|z)",
            "\\bfoo\\b",
            "(?<=a)b",
            "a{2,3}?",
        ],
    )
}

pub fn field_maps() -> Vec<Vec<u8>> {
    with(
        Vec::new(),
        &[
            "json[a][1][b],txt",
            "detail.json[caption][long]",
            "txt\n{\"a\": 1}",
            "json[a][0]\n{\"a\": [1.5, 12345678901234567890]}",
            ",",
            "a[",
            "json[x]\n{\"x\": {\"x\": {\"x\": [[[[]]]]}}}",
        ],
    )
}

pub fn plans() -> Vec<Vec<u8>> {
    use gristmill_core::plan::{FieldExpr, SplitPattern};
    use gristmill_core::{PreparePlan, SampleMapping, SplitPlan};
    let mut plan = PreparePlan::new("data set/with 'quotes'");
    let ratio = gristmill_ops::engine::plan::file::to_yaml(&plan).unwrap();
    plan.splits = SplitPlan::Patterns(vec![SplitPattern { name: "train".into(), pattern: "a.*{b,c}\n".into() }]);
    plan.excludes = vec!["a.tar/\u{1b}k".into()];
    plan.loading = SampleMapping::FieldMap {
        sample_type: "CaptioningSample".into(),
        fields: vec![FieldExpr { field: "image".into(), expr: "jpg,png".into() }],
    };
    let patterns = gristmill_ops::engine::plan::file::to_yaml(&plan).unwrap();
    with(Vec::new(), &[&ratio, &patterns, "version: 1\npath: .\nsplits: !ratio 8,1,1\n"])
}

pub fn parts() -> Vec<Vec<u8>> {
    let mut seeds = vec![
        b"\x00{\"a\": [1, 2.5, null, \"x\"], \"b\": {\"c\": true}}".to_vec(),
        b"\x01text".to_vec(),
        b"\x02 12 ".to_vec(),
        b"\x06\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n".to_vec(),
    ];
    for (kind, format) in [
        (3, image::ImageFormat::Jpeg),
        (4, image::ImageFormat::Png),
        (5, image::ImageFormat::WebP),
        (8, image::ImageFormat::Gif),
    ] {
        let mut bytes = std::io::Cursor::new(vec![kind]);
        bytes.set_position(1);
        image::DynamicImage::new_rgb8(5, 4).write_to(&mut bytes, format).unwrap();
        seeds.push(bytes.into_inner());
    }
    seeds
}

pub fn texts() -> Vec<Vec<u8>> {
    with(Vec::new(), &["plain name.tar", "ümläut/日本語 🦀.tar", "e\u{301}\u{1b}[0m", ""])
}

pub const LINE_TOKENS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\x0b\x0c",
    b"{",
    b"}",
    b"{}",
    b"[",
    b"]",
    b"[[[[[[[[[[[[[[[[",
    b"\"",
    b"\\",
    b"\\u00",
    b"\\ud800",
    b"\\udc00",
    b":",
    b",",
    b"-",
    b"0",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"-Infinity",
    b"null",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b"\"a\":1,",
    b"\x1f\x8b\x08",
];

/// Returns JSONL files: those of the golden case, and lines with every element of JSON.
pub fn lines() -> Vec<Vec<u8>> {
    let mut seeds = golden(".jsonl");
    let all = r#"{"a": [1, -0.5e3, true, false, null, "\u00e9\ud83d\ude00\n"], "b": {"c": {"d": []}}, "a": 1}"#;
    seeds.push(format!("{all}\n\n {all} \r\n{all}").into_bytes());
    seeds.push(b"{}\n".repeat(40));
    seeds
}

pub fn documents() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dedup");
    let mut seeds: Vec<Vec<u8>> = [
        "v06_edges/input/e1.jsonl",
        "v07_metadata/input/in/meta.jsonl",
        "v08_compressed/input/y.jsonl.gz",
        "v08_compressed/input/z.jsonl.zst",
    ]
    .iter()
    .map(|name| std::fs::read(root.join(name)).unwrap())
    .collect();
    seeds.push(br#"{"a":{"b":1,"c":[{},{"d":-0.0}],"b":2},"te\u0078t":"a\ud83d\ude00\n","a":{"\u0062":3}}"#.to_vec());
    seeds.push(b"{\"text\":\"a\",\"text\":\"caf\xc3\xa9 \\ud800\"}\r\n \n{\"text\":1e999}\n{\"text\":\"b\"".to_vec());
    seeds
}
