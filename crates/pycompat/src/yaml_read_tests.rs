use super::*;
use proptest::prelude::*;

fn item(text: &str) -> Node {
    read(&format!("- {text}\n")).unwrap().as_list().unwrap()[0].clone()
}

#[test]
fn unquoted_yaml_scalars_follow_the_rules_of_the_loader() {
    for text in ["null", "NULL", "nUll", "~", ""] {
        assert_eq!(item(text), Node::Null, "{text}");
    }
    for text in ["true", "Yes", "TRUE", "yes"] {
        assert_eq!(item(text), Node::Bool(true), "{text}");
    }
    for text in ["false", "No", "no"] {
        assert_eq!(item(text), Node::Bool(false), "{text}");
    }
    for (text, value) in [("00000", 0), ("1_000", 1000), ("-7", -7), ("+7", 7), ("08", 8)] {
        assert_eq!(item(text), Node::Int(value), "{text}");
    }
    for (text, value) in [("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("-1e-2", -0.01)] {
        assert_eq!(item(text), Node::Float(value), "{text}");
    }
    for text in [
        "on",
        "off",
        "y",
        "n",
        "0x1",
        "12:30:45",
        "2020-01-01",
        "1__0",
        "7.4.1",
        "e",
        ".",
        "a.tar",
        "<<",
        "=",
        ".inf",
        "nan",
    ] {
        assert_eq!(item(text), Node::str(text), "{text}");
    }
    assert!(matches!(item(&"9".repeat(60)), Node::Float(_)));
}

#[test]
fn quoted_and_block_scalars_are_text() {
    for text in ["'12'", "\"12\"", "|-\n  12", ">-\n  12"] {
        assert_eq!(item(text), Node::str("12"), "{text}");
    }
    assert_eq!(item("'it''s'"), Node::str("it's"));
    assert_eq!(item(r#""\xfc\u2028\U0001F600\n""#), Node::str("ü\u{2028}😀\n"));
    assert_eq!(item("a\n  b"), Node::str("a b"));
}

#[test]
fn yaml_keys_are_always_text() {
    let node = read("yes: 1\n12: 2\n~: 3\n'q': 4\n? a long key\n: 5\n").unwrap();
    let keys: Vec<_> = node.as_map().unwrap().iter().map(|(k, _)| k.as_str()).collect();
    assert_eq!(keys, ["yes", "12", "~", "q", "a long key"]);
    let long = "k".repeat(5000);
    assert!(read(&format!("{long}: 1\n")).unwrap().get(&long).is_some());
}

#[test]
fn nested_lists_and_maps_in_both_styles_are_read() {
    let node = read("a:\n- b\n-\n  - c\n  - {d: [1, 'x'], e: {}}\nf: []\n# end\n").unwrap();
    let a = node.get("a").unwrap().as_list().unwrap();
    assert_eq!(a[0], Node::str("b"));
    assert_eq!(a[1].as_list().unwrap()[1].get("d").unwrap().as_list().unwrap(), [Node::Int(1), Node::str("x")]);
    assert_eq!(node.get("f"), Some(&Node::List(vec![])));
    assert_eq!(read("").unwrap(), Node::Null);
    assert_eq!(read("# only a comment\n").unwrap(), Node::Null);
    assert_eq!(read("---\na: b\n...\n").unwrap().get("a"), Some(&Node::str("b")));
}

#[test]
fn an_alias_bomb_is_refused_at_its_first_alias() {
    let mut text = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='k').zip('a'..) {
        text.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
    }
    let error = read(&text).unwrap_err();
    assert!(error.message.contains("alias") && error.line == 2, "{error}");
}

#[test]
fn invalid_yaml_is_refused_with_its_place() {
    for (text, said, line) in [
        ("a: 1\na: 2\n", "duplicate key", 2),
        ("a: !x b\n", "tag", 1),
        ("a: !!str 5\n", "tag", 1),
        ("a: !!map {}\n", "tag", 1),
        ("a\n---\nb\n", "second document", 2),
        ("{[a]: b}\n", "cannot be a key", 1),
        ("a: 'x\n", "", 1),
        ("a: [\n", "", 1),
        ("a: b: c\n", "", 1),
        ("%TAG ! x\n", "", 1),
        ("a: *nope\n", "alias", 1),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.message.contains(said), "{text:?}: {error}");
        assert!(error.line >= line, "{text:?}: {error}");
        assert!(error.to_string().contains("line"));
    }
    assert!(read(&"- ".repeat(100_000)).is_err());
    assert!(read(&"[".repeat(100_000)).is_err());
    assert!(read(&"{a: ".repeat(100_000)).is_err());
    assert!(read(&" ".repeat(MAX_BYTES + 1)).unwrap_err().message.contains("longer than 64 MiB"));
}

proptest! {
    #[test]
    fn any_yaml_text_is_read_or_refused(text in "[a-z:\\- \n\\[\\]{}'\"#&*!|>%@?,.0-9\t\r\u{85}]{0,200}|.{0,100}") {
        let _ = read(&text);
    }
}

#[test]
fn yaml_document_start_marker_is_found() {
    for (text, wanted) in [
        ("---\na: b\n", Some(1)),
        ("%YAML 1.2\n# why\n\n--- \na: b\n", Some(4)),
        ("--- {a: b}", Some(1)),
        ("\u{feff}---", Some(1)),
        ("a: b\n---\n", None),
        ("---x: 1\n", None),
        (" ---\n", None),
        ("# ---\na: b\n", None),
        ("", None),
    ] {
        assert_eq!(line_of_marker(text), wanted, "{text:?}");
    }
}
