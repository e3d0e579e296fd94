use super::super::tree::tree_line;
use super::super::tree::LineKind;
use super::super::tree_build::MAX_TREE_LINES;
use super::*;

fn tree(text: &str) -> Tree {
    match parse(text.as_bytes(), true).unwrap() {
        Document::Tree(tree) => tree,
        other => panic!("{other:?}"),
    }
}

fn shown(text: &str) -> Vec<String> {
    tree(text).lines.iter().map(tree_line).collect()
}

#[test]
fn json_document_is_shown_with_its_original_numbers_and_order() {
    let text = r#"{"id": 12345678901234567890123, "f": 1.50, "tags": ["a", {"b": null}], "e": {}, "l": []}"#;
    let lines = ["id: 12345678901234567890123", "f: 1.50", "tags:", "  0: a", "  1:", "    b: null", "e: {}", "l: []"];
    assert_eq!(shown(text), lines);
    let tree = tree(text);
    assert_eq!((tree.kind, tree.children), (LineKind::Object, 5));
    assert_eq!((tree.lines[2].inside, tree.lines[2].children), (3, 2));
    assert_eq!(parse(b" \"a\\u0041\\ud83d\\ude00\\n\" ", true), Ok(Document::Text("aA😀\n".into())));
    assert_eq!(parse(b"-0.5e+10", true), Ok(Document::Scalar("-0.5e+10".into())));
}

#[test]
fn json_syntax_error_is_reported_with_line_and_column() {
    for (text, line, column) in
        [("{\"a\":1,\n \"b\" 2}", 2, 6), ("[1,]", 1, 4), ("[01]", 1, 2), ("{a:1}", 1, 2), ("[1] x", 1, 5), ("[1", 1, 3)]
    {
        let error = parse(text.as_bytes(), true).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text}: {error}");
    }
    assert!(parse(b"", true).is_err());
    assert!(parse(b"\"abc", true).is_err());
    assert!(parse(b"\"\\u12", true).is_err());
    assert!(parse(b"\"\\q\"", true).is_err());
}

#[test]
fn json_that_only_python_accepts_is_shown() {
    assert_eq!(shown("[NaN, -Infinity, \"\\ud800\"]"), ["0: NaN", "1: -Infinity", "2: \u{fffd}"]);
    assert_eq!(shown("\u{feff}[1]"), ["0: 1"]);
}

#[test]
fn json_nested_a_million_deep_is_refused_and_a_thousand_deep_is_shown() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(parse(deep(1_000_000).as_bytes(), true).unwrap_err().what.contains("deeper"));
    assert!(parse("[".repeat(1_000_000).as_bytes(), true).is_err());
    let tree = tree(&deep(1_000));
    assert_eq!(tree.lines.len(), 999);
    assert_eq!(tree.lines[998].depth, 998);
    assert!(parse("{\"a\":".repeat(1_000_000).as_bytes(), true).unwrap_err().what.contains("deeper"));
}

#[test]
fn cut_json_document_is_shown_up_to_the_cut() {
    let Document::Tree(tree) = parse(br#"{"a": [1, 2, "thr"#, false).unwrap() else { panic!() };
    assert_eq!(tree.lines.iter().map(tree_line).collect::<Vec<_>>(), ["a:", "  0: 1", "  1: 2", "  2: thr"]);
    assert_eq!(tree.notes, ["only its beginning was read"]);
    assert!(parse(br#"{"a": }"#, false).is_err());
}

#[test]
fn long_json_documents_and_strings_are_cut_with_the_omitted_count() {
    let text = format!("[{}1]", "1,".repeat(150_000));
    let tree = tree(&text);
    assert_eq!(tree.lines.len(), MAX_TREE_LINES + 1);
    assert_eq!(tree.lines[MAX_TREE_LINES].value, "… 50,001 values more");
    assert_eq!(tree.children, 150_001);
    let long = format!("[\"{}\"]", "ä".repeat(20_000));
    let value = shown(&long).remove(0);
    assert!(value.ends_with("… 4,000 characters more"), "{}", &value[value.len() - 40..]);
}

#[test]
fn json_names_and_values_are_escaped_and_duplicate_keys_are_reported() {
    let tree = tree("{\"\\u001b[31m\": \"\\u202e\", \"k\": 1, \"k\": 2}");
    assert_eq!(tree_line(&tree.lines[0]), "␛[31m: <U+202E>");
    assert_eq!(tree.notes, ["duplicate key 'k': readers use the last value"]);
    let broken = parse(b"[\"\xff\x1b\"]", true).unwrap();
    let Document::Tree(broken) = broken else { panic!() };
    assert_eq!(tree_line(&broken.lines[0]), "0: \\xff␛");
}
