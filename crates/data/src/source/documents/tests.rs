//! Compares the fast check of lines with real parsers and a slow check, on all kinds of invalid lines.

use super::*;
use gristmill_core::pack::TextField;
use gristmill_pycompat::json_walk::NullVisitor;
use gristmill_pycompat::line_checker::LineChecker;
use proptest::prelude::*;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn slow(line: &[u8]) -> bool {
    let mut checker = LineChecker::default();
    checker.push(line, &mut NullVisitor);
    checker.is_json()
}

struct Case {
    line: Vec<u8>,
    python: bool,
    forager: bool,
    nanosets: bool,
    text: String,
}

/// Returns the results of Python 3.11's json (for bytes and for text) and orjson 3.13 on lines.
fn golden() -> Vec<Case> {
    let golden = std::fs::read_to_string("../../tests/golden/python/json_verdicts.tsv").unwrap();
    let case = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let is = |at: usize| fields[1].as_bytes()[at] == b'1';
        Case { line: unhex(fields[0]), python: is(0), forager: is(1), nanosets: is(2), text: fields[2].to_owned() }
    };
    golden.lines().map(case).collect()
}

#[test]
fn json_verdict_matches_python_for_every_golden_line() {
    let cases = golden();
    assert!(cases.len() > 4000);
    for case in &cases {
        let shown = case.line.escape_ascii().to_string();
        assert_eq!(python_line(&case.line).is_ok(), case.python, "{shown}");
        // The streaming check does not support wide encodings.
        if !case.line.contains(&0) {
            assert_eq!(slow(&case.line), case.python, "slow: {shown}");
        }
    }
    // Checks all lines as one block, in which an invalid line must not affect its neighbours.
    let block: Vec<u8> = cases.iter().flat_map(|case| [&case.line[..], b"\n"].concat()).collect();
    let mut at = 0;
    let mut number = 0;
    python_lines(&block, |from, len, fault| {
        assert_eq!((from, len, fault.is_none()), (at, cases[number].line.len(), cases[number].python));
        at += len + 1;
        number += 1;
    });
    assert_eq!((at, number), (block.len(), cases.len()));
}

#[test]
fn each_reference_reader_accepts_and_refuses_the_golden_lines() {
    let mut extractor = Extractor::new(&TextField::default()).unwrap();
    for case in golden() {
        let shown = case.line.escape_ascii().to_string();
        let document = extractor.document(&case.line);
        let is_parsed = |peer: DocumentRules| {
            let bad = matches!(document.text, Text::Invalid { .. } | Text::Blank);
            // Python accepts an unpaired surrogate, but tokenizers refuse the text.
            let only_half = document.quirks.why(peer.refused).is_none_or(|why| why.contains("the text contains"));
            !bad && (only_half || !document.quirks.has(peer.refused))
        };
        assert_eq!(is_parsed(DocumentRules::JQ), case.forager, "forager: {shown}");
        let nanosets = !matches!(document.text, Text::Invalid { .. } | Text::Blank)
            && !document.quirks.has(DocumentRules::ORJSON.refused);
        assert_eq!(nanosets, case.nanosets, "nanosets: {shown}");
        if case.forager {
            let found = match document.text {
                Text::Is(_) if document.quirks.has(Quirks::SURROGATE_IN_TEXT.with(Quirks::SECOND_HALF_IN_TEXT)) => {
                    continue
                }
                Text::Is(text) => format!("s:{}", text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
                Text::Missing => "missing".into(),
                Text::Null => "null".into(),
                Text::Falsy(_) => "falsy".into(),
                Text::NotText(_) => "other".into(),
                Text::NotObject(_) => "notobject".into(),
                other => panic!("{other:?}: {shown}"),
            };
            let wanted = if case.text == "s:" { "s:" } else { &case.text };
            assert_eq!(found, wanted, "{shown}");
        }
    }
}

fn text_of(program: TextField, line: &str) -> String {
    let mut extractor = Extractor::new(&program).unwrap();
    format!("{:?}", extractor.document(line.as_bytes()).text)
}

#[test]
fn text_is_found_by_a_path_of_keys() {
    let at = |line: &str, path: &str| {
        text_at(line.as_bytes(), &path.split('.').map(str::to_owned).collect::<Vec<_>>())
            .unwrap_or_else(|| "none".into())
    };
    assert_eq!(at(r#"{"id": "a\n\u00e9", "text": "x"}"#, "id"), "a\n\u{e9}");
    assert_eq!(at(r#"{"m": {"id": ""}, "m": {"id": "last"}}"#, "m.id"), "last");
    for line in [r#"{"id": 1}"#, r#"{"id": null}"#, r#"{"x": "y"}"#, r#"{"id": "\ud800"}"#, "[]", "{bad", "\u{feff}"] {
        assert_eq!(at(line, "id"), "none", "{line}");
    }
    assert_eq!(at(r#"{"id": "a"}"#, "id.b"), "none");
}

#[test]
fn stripping_removes_white_space_at_both_ends_of_a_text() {
    for field in [TextField::default(), TextField::Jq(".text + \"\"".into())] {
        let mut extractor = Extractor::new(&field).unwrap().stripping(true);
        for (text, wanted) in
            [("a b", "a b"), (" a b  ", "a b"), (r"\n\u001c a\u00e9\u3000", "a\u{e9}"), (r" \t ", ""), ("", "")]
        {
            let line = format!(r#"{{"text": "{text}"}}"#);
            assert_eq!(extractor.document(line.as_bytes()).text, Text::Is(wanted), "{line}");
        }
        assert_eq!(extractor.document(b"{bad").text.as_str(), "");
    }
}

#[test]
fn key_path_and_jq_program_find_the_same_text() {
    let lines = [
        r#"{"a": {"b": "x"}}"#,
        r#"{"a": {"b": "x\n\u00e9"}, "a": {"b": "last"}}"#,
        r#"{"a": {"b": "x"}, "a": {}}"#,
        r#"{"a": {"b": 0}}"#,
        r#"{"a": {"b": null}}"#,
        r#"{"a": {"b": [1]}}"#,
        r#"{"a": {"c": {"b": "no"}, "b": "yes"}, "b": "no"}"#,
        r#"{"c": {"a": {"b": "no"}}}"#,
        r#"{"a": {"b": {"b": "deep"}}}"#,
        r#"{"a": {"b": true}}"#,
        r#"{"\u0061": {"\u0062": "escaped"}}"#,
    ];
    for line in lines {
        let path = text_of(TextField::Jq(".a.b".into()), line);
        let program = text_of(TextField::Jq(".a | .b".into()), line);
        let same = path == program || (path == "Missing" && program == "Null") || path.contains("0");
        assert!(same, "{line}: {path} and {program}");
    }
    for (line, wanted) in [
        (r#"{"a": "x"}"#, "NotObject(\"a string is where an object must be\")"),
        (r#"{"a": null}"#, "Null"),
        (r#"{}"#, "Missing"),
        (r#"["a"]"#, "NotObject(\"the line is an array, not an object\")"),
        (" \t\r", "Blank"),
        ("", "Blank"),
    ] {
        assert_eq!(text_of(TextField::Jq(".a.b".into()), line), wanted, "{line}");
    }
}

#[test]
fn jq_program_gives_its_first_output() {
    let line = r#"{"title": "T", "parts": ["a", "b"], "n": 3, "x": NaN, "big": 123456789012345678901234567890}"#;
    for (program, wanted) in [
        (r#".title + "\n\n" + (.parts | join(" "))"#, r#"Is("T\n\na b")"#),
        (r#".body // "default""#, r#"Is("default")"#),
        (".parts[]", r#"Is("a")"#),
        (".n | tostring", r#"Is("3")"#),
        (".n", r#"NotText("its text is a number")"#),
        ("empty", "Missing"),
        (".nothing", "Missing"),
        (". | .nothing", "Null"),
        (".title | error", r#"Fails("the jq program fails")"#),
        (".title.x | .", r#"Fails("the jq program fails")"#),
        (".big | tostring", r#"Is("123456789012345678901234567890")"#),
        (r#""\(.title)!""#, r#"Is("T!")"#),
        (r#".n | in({"a": 1})"#, r#"Fails("the jq program fails")"#),
        (r#".parts | has("a")"#, r#"Fails("the jq program fails")"#),
        (r#". | .nothing | has("a") | tostring"#, r#"Is("false")"#),
        (
            r#"[has("n", "z"), (.parts | has(1, 2)), ("title" | in({title: 1}))] | tojson"#,
            r#"Is("[true,false,true,false,true]")"#,
        ),
        ("[2026, 10, 30, 22, 0, 0, 1, 333] | mktime | tostring", r#"Is("1796076000")"#),
    ] {
        assert_eq!(text_of(TextField::Jq(program.into()), line), wanted, "{program}");
    }
}

#[test]
fn invalid_jq_program_is_a_usage_error_with_the_column() {
    for (program, column) in [
        (".a |", 5),
        (".a | nosuch", 6),
        (".a | $x", 6),
        ("(.a", 4),
        ("def f: f; f", 1),
        (".a | [repeat(.)]", 7),
        ("input", 1),
        ("\"\\(env)\"", 4),
        ("halt", 1),
        ("", 1),
    ] {
        let failure = Extractor::new(&TextField::Jq(program.into())).err().expect(program);
        assert_eq!(failure.class, gristmill_core::ExitClass::Usage);
        assert_eq!(failure.subject.column, Some(column), "{program}: {failure}");
    }
    for program in
        ["(".repeat(60_000), "[".repeat(10_000), "a".repeat(100_000), "-".repeat(60_000), ".[".repeat(20_000)]
    {
        assert!(Extractor::new(&TextField::Jq(program)).is_err());
    }
}

/// Each row has a program, a document, and the result of jq 1.8: a text, another value, nothing, or an error.
#[test]
fn jq_programs_give_the_results_of_jq() {
    let rows =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/jq/programs.tsv")).unwrap();
    let mut wrong = Vec::new();
    for row in rows.lines() {
        let [program, line, wanted] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let Ok(mut extractor) = Extractor::new(&TextField::Jq(program.into())) else {
            // An unknown filter is reported before any document is read.
            assert_eq!((program, wanted), (".body|ascii", "error"), "{program} is refused");
            continue;
        };
        let found = match extractor.document(line.as_bytes()).text {
            Text::Is(text) => serde_json::to_string(text).unwrap(),
            Text::Missing => "none".to_owned(),
            Text::Fails(_) => "error".to_owned(),
            _ => "other".to_owned(),
        };
        let wanted = match serde_json::from_str::<String>(wanted) {
            Ok(text) => serde_json::to_string(&text).unwrap(),
            Err(_) => wanted.to_owned(),
        };
        if found != wanted {
            wrong.push(format!("{program}  {line}\n  {found}\n  {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn jq_replacement_in_a_long_text_does_not_copy_the_output_per_match() {
    // Copying the output so far for each match would amount to a hundred gigabytes.
    let line = serde_json::json!({ "a": "word  ".repeat(200_000) }).to_string();
    for program in
        [r#".a | gsub("\\s+"; " ")"#, r#".a | split("  ") | join(" ")"#, r#".a | [splits(" +")] | join(" ")"#]
    {
        let mut extractor = Extractor::new(&TextField::Jq(program.into())).unwrap();
        let document = extractor.document(line.as_bytes());
        assert!(matches!(document.text, Text::Is(text) if text == "word ".repeat(200_000)), "{program}");
    }
}

#[test]
fn jq_product_of_a_text_and_a_large_number_is_an_error() {
    let line = r#"{"text": "ab", "n": 40000000, "big": 123456789012345678901234567890}"#;
    for program in [
        ".text * .n",
        ".n * .text",
        ".text * .big",
        ".text *= .n",
        r#""\(.text * .n)""#,
        "[.text * .n]",
        "{a: (.text * .n)}",
        "if .text * .n then 1 else 2 end",
        "reduce (.text * .n) as $x (0; 1)",
        ".text | .[0:(. * 40000000 | length)]",
    ] {
        let wanted = r#"Fails("the jq program repeats a text to more than 64 MiB")"#;
        assert_eq!(text_of(TextField::Jq(program.into()), line), wanted, "{program}");
    }
    for (program, wanted) in [
        (".text * 3", r#"Is("ababab")"#),
        (".text *= 2 | .text", r#"Is("abab")"#),
        ("[(2, 3) * (4, 5)] | tostring", r#"Is("[8,10,12,15]")"#),
        ("[.n, .text] | .[0] *= (2, 3) | .[0] | tostring", r#"Is("80000000")"#),
        ("{a: {b: 1}} * {a: {c: 2}} | tojson", r#"Is("{\"a\":{\"b\":1,\"c\":2}}")"#),
    ] {
        assert_eq!(text_of(TextField::Jq(program.into()), line), wanted, "{program}");
    }
}

#[test]
fn jq_range_is_limited_to_a_million_values_for_each_document() {
    let line = r#"{"n": 1000001, "half": 600000}"#;
    for program in [
        "reduce range(.n) as $i (0; . + 1) | tostring",
        "[range(0; .n)] | length | tostring",
        "reduce range(0; 1; 0) as $i (0; 1) | tostring",
        "[range(.half), range(.half)] | length | tostring",
        "[range(2000) | range(2000)] | length | tostring",
    ] {
        let wanted = r#"Fails("range in the jq program makes more than 1,000,000 values")"#;
        assert_eq!(text_of(TextField::Jq(program.into()), line), wanted, "{program}");
    }
    let mut extractor = Extractor::new(&TextField::Jq("[range(.half)] | length | tostring".into())).unwrap();
    for _ in 0..2 {
        assert_eq!(extractor.document(line.as_bytes()).text, Text::Is("600000"));
    }
    let program = "[range(3), range(5; 0; -2), range(2; 2), limit(2; range(.n))] | tostring";
    assert_eq!(text_of(TextField::Jq(program.into()), line), r#"Is("[0,1,2,5,3,1,0,1]")"#);
}

#[test]
fn buffered_parsed_lines_give_the_same_texts_as_single_lines() {
    let lines: [&[u8]; 9] = [
        br#"{"a": "plain"}"#,
        br#"{"a": "with \n an escape"}"#,
        br#"{"a": ""}"#,
        b"",
        br#"{"a": null}"#,
        br#"{"a": "\u00e9\ud83d\ude00"}"#,
        br#"{"b": 1}"#,
        br#"{"a": "half \ud800"}"#,
        b"{\"a\": \"\xff\"}",
    ];
    for way in [".a", ".a | .", ".a | ascii_upcase"] {
        let [mut holding, mut one_by_one] = [(); 2].map(|()| Extractor::new(&TextField::Jq(way.into())).unwrap());
        for _ in 0..2 {
            let held: Vec<ParsedLine<'_>> = lines.iter().map(|line| holding.document_in_batch(line)).collect();
            for (held, line) in held.iter().zip(lines) {
                assert_eq!(held.document(&holding), one_by_one.document(line), "{way}: {}", line.escape_ascii());
            }
            holding.clear();
        }
    }
}

#[test]
fn unpaired_surrogate_in_another_field_does_not_stop_a_jq_program() {
    let mut extractor = Extractor::new(&TextField::Jq(".a | .".into())).unwrap();
    let document = extractor.document(br#"{"a": "text", "b": "\ud800"}"#);
    assert_eq!(
        (document.text, document.verdict(DocumentRules::PYTHON)),
        (Text::Is("text"), DocumentVerdict::Take("text"))
    );
    let document = extractor.document(br#"{"a": "te\ud800xt"}"#);
    assert!(matches!(document.verdict(DocumentRules::PYTHON), DocumentVerdict::Refuse(_)));
    // Both a program and a path replace an unpaired second surrogate by the replacement character.
    for way in [".a | .", ".a"] {
        let mut extractor = Extractor::new(&TextField::Jq(way.into())).unwrap();
        let document = extractor.document(br#"{"a": "\udc00x\udfff"}"#);
        assert_eq!(document.verdict(DocumentRules::PYTHON), DocumentVerdict::Take("\u{fffd}x\u{fffd}"));
        assert!(matches!(document.verdict(DocumentRules::ORJSON), DocumentVerdict::Refuse(_)));
        assert!(matches!(document.verdict(DocumentRules::JQ), DocumentVerdict::Refuse(_)));
        let document = extractor.document(br#"{"a": "\udc00\ud800"}"#);
        assert!(matches!(document.verdict(DocumentRules::PYTHON), DocumentVerdict::Refuse(_)));
    }
}

#[test]
fn verdicts_follow_each_format_page() {
    let mut extractor = Extractor::new(&TextField::default()).unwrap();
    let mut verdicts = |line: &[u8]| {
        let document = extractor.document(line);
        [DocumentRules::PYTHON, DocumentRules::ORJSON, DocumentRules::JQ].map(|rules| match document.verdict(rules) {
            DocumentVerdict::Take(_) => 't',
            DocumentVerdict::Skip(_) => 's',
            DocumentVerdict::Refuse(_) => 'r',
        })
    };
    for (line, wanted) in [
        (&br#"{"text": "a"}"#[..], ['t', 't', 't']),
        (br#"{"text": ""}"#, ['r', 's', 't']),
        (br#"{"text": null}"#, ['r', 's', 'r']),
        (br#"{"text": 0}"#, ['r', 's', 'r']),
        (br#"{"text": 5}"#, ['r', 'r', 'r']),
        (b"{}", ['r', 's', 'r']),
        (b"", ['r', 's', 'r']),
        (b"null", ['r', 'r', 'r']),
        (b"{", ['r', 'r', 'r']),
        (br#"{"text": "a", "b": NaN}"#, ['t', 'r', 't']),
        (b"\xef\xbb\xbf{\"text\": \"a\"}", ['t', 'r', 'r']),
        (br#"{"text": "\ud800"}"#, ['r', 'r', 'r']),
        (br#"{"text": "a", "b": "\ud800"}"#, ['t', 'r', 't']),
        (b"{\"text\": \"\xff\"}", ['r', 'r', 'r']),
        (b"{\"text\": \"a\0\"}", ['r', 'r', 'r']),
        (br#"{"text": "a\u0000"}"#, ['t', 't', 't']),
    ] {
        assert_eq!(verdicts(line), wanted, "{}", line.escape_ascii());
    }
}

#[test]
fn top_level_keys_and_values_are_found() {
    let line = br#"{"id": "x\u00e9", "a": {"r": [[0, 2]]}, "id": 3, "k\n": null}"#;
    assert_eq!(keys_of(line), ["id", "a", "k\n"]);
    assert_eq!(keys_of(b"[1]"), [""; 0]);
    assert_eq!(value_of(line, &["a", "r"]), Some(serde_json::json!([[0, 2]])));
    assert_eq!(value_of(line, &["id"]), Some(serde_json::json!(3)));
    assert_eq!(value_of(line, &["no"]), None);
    assert_eq!(value_of(b"{\"a\": 1", &["a"]), None);
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(900), "]".repeat(900));
    assert!(value_of(deep.as_bytes(), &["a"]).is_none());
}

#[test]
fn lines_are_cut_at_carriage_returns_like_universal_newlines() {
    let cut = |line: &[u8]| cr_lines(line).map(|(at, piece)| (at, piece.to_vec())).collect::<Vec<_>>();
    assert_eq!(cut(b"abc"), [(0, b"abc".to_vec())]);
    assert_eq!(cut(b"abc\r"), [(0, b"abc".to_vec())]);
    assert_eq!(cut(b"a\rb"), [(0, b"a".to_vec()), (2, b"b".to_vec())]);
    assert_eq!(cut(b"a\r\r"), [(0, b"a".to_vec()), (2, b"".to_vec())]);
    assert_eq!(cut(b""), [(0, b"".to_vec())]);
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<&'static [u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\\n",
        b"\\u00e9",
        b"\\ud83d\\ude00",
        b"\\ud800",
        b"\\u12",
        b"\"a\"",
        b"\"text\"",
        b"1",
        b"-",
        b"0",
        b".",
        b"e",
        b"E+",
        b"true",
        b"null",
        b"false",
        b"NaN",
        b"Infinity",
        b" ",
        b"\t",
        b"\r",
        b"\x01",
        b"\xed\xa0\x80",
        b"\xff",
        b"\xc3\xa9",
        b"\xf0\x9f\x98\x80",
        b"\xef\xbb\xbf",
        b"{\"text\": \"",
        b"\", \"b\": ",
        b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];
    prop_oneof![
        8 => proptest::sample::select(fixed).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(1u8..=255, 0..9).prop_map(|mut bytes| { bytes.retain(|b| *b != b'\n'); bytes }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn streaming_json_check_and_parser_agree(pieces in proptest::collection::vec(piece(), 0..14)) {
        let line = pieces.concat();
        let fast = python_line(&line).is_ok();
        let is_wide = line.len() >= 2 && (line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff"));
        prop_assume!(!is_wide);
        prop_assert_eq!(fast, slow(&line));
        let mut extractor = Extractor::new(&TextField::default()).unwrap();
        let document = extractor.document(&line);
        let is_taken = !matches!(document.text, Text::Invalid { .. } | Text::Blank);
        // Python accepts surrogates in UTF-8, which a Rust string cannot hold.
        let is_utf8 = std::str::from_utf8(&line).is_ok();
        prop_assert_eq!(is_taken, fast && is_utf8);
    }

    #[test]
    fn extracted_text_equals_the_encoded_string(text in any::<String>(), other in any::<String>(), ascii in any::<bool>()) {
        let mut line = serde_json::json!({ "z": other, "text": text, "n": [1, { "text": "no" }] }).to_string();
        if ascii {
            line = line.chars().map(|c| match c {
                '\0'..='\x7f' => c.to_string(),
                _ => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            }).collect();
        }
        let mut extractor = Extractor::new(&TextField::default()).unwrap();
        prop_assert_eq!(extractor.document(line.as_bytes()).text, Text::Is(&text));
    }

    #[test]
    fn json_check_of_a_block_matches_check_of_its_lines(lines in proptest::collection::vec(proptest::collection::vec(piece(), 0..6), 0..8)) {
        let lines: Vec<Vec<u8>> = lines.iter().map(|pieces| pieces.concat()).collect();
        let block = lines.join(&b"\n"[..]);
        let mut number = 0;
        python_lines(&block, |_, len, fault| {
            assert_eq!((len, fault), (lines[number].len(), python_line(&lines[number]).err()));
            number += 1;
        });
        // An empty last line does not count.
        let counted = lines.len() - usize::from(lines.last().is_some_and(Vec::is_empty));
        prop_assert_eq!(number, counted);
    }
}
