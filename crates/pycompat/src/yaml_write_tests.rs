use super::*;
use crate::{json_read, yaml_read};
use proptest::prelude::*;

/// Returns values and PyYAML 6.0.3's output for them, from a file with one pair per line.
fn table(name: &str) -> Vec<(Node, String)> {
    let path = std::env::var("GRISTMILL_TABLE").unwrap_or(format!("../../tests/golden/python/{name}"));
    let text = std::fs::read_to_string(path).unwrap();
    let pair = |line: &str| {
        let row = json_read::read(line).unwrap();
        (row.get("value").unwrap().clone(), row.get("yaml").unwrap().as_str().unwrap().to_owned())
    };
    text.lines().map(pair).collect()
}

#[test]
fn unusual_yaml_values_are_written_as_by_pyyaml() {
    let rows = table("pyyaml_dump.jsonl");
    assert!(rows.len() >= 150);
    let wrong: Vec<_> = rows.iter().filter(|(node, yaml)| dump(node) != *yaml).collect();
    for (node, yaml) in wrong.iter().take(10) {
        eprintln!("value {node:?}\nwanted {yaml:?}\ngot    {:?}\n", dump(node));
    }
    assert!(wrong.is_empty(), "{} of {} differ", wrong.len(), rows.len());
}

#[test]
fn texts_that_the_loader_reads_as_other_types_are_quoted() {
    let node = Node::Map(vec![("08".into(), Node::strings(["08", "1e3", "tRue", "nUll", "8.tar", "1.5"]))]);
    assert_eq!(dump(&node), "08:\n- 08\n- 1e3\n- tRue\n- nUll\n- 8.tar\n- '1.5'\n");
    assert_eq!(dump_for_loader(&node), "08:\n- '08'\n- '1e3'\n- 'tRue'\n- 'nUll'\n- 8.tar\n- '1.5'\n");
}

#[test]
fn keys_are_sorted_on_request_at_every_depth() {
    let node = Node::Map(vec![
        ("b".into(), Node::Map(vec![("z".into(), Node::Int(1)), ("Z".into(), Node::Int(2))])),
        ("a".into(), Node::strings(["x"])),
    ]);
    assert_eq!(dump_sorted(&node), "a:\n- x\nb:\n  Z: 2\n  z: 1\n");
}

fn any_node() -> impl Strategy<Value = Node> {
    let scalar = prop_oneof![
        any::<String>().prop_map(Node::Str),
        "[ -~\n]{0,120}".prop_map(Node::Str),
        any::<i64>().prop_map(|n| Node::Int(n.into())),
        any::<bool>().prop_map(Node::Bool),
        Just(Node::Null),
    ];
    scalar.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Node::List),
            prop::collection::btree_map("[ -~]{0,30}|.{0,8}", inner, 0..6)
                .prop_map(|map| Node::Map(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_text_in_a_list_is_read_back_as_that_text(items in prop::collection::vec(any::<String>(), 1..8)) {
        let node = Node::strings(items);
        prop_assert_eq!(yaml_read::read(&dump_for_loader(&node)).unwrap(), node);
    }

    #[test]
    fn every_value_is_read_back_as_itself(node in any_node()) {
        prop_assert_eq!(yaml_read::read(&dump_for_loader(&node)).unwrap(), node);
    }
}

#[test]
fn non_ascii_yaml_characters_are_written_unescaped_if_configured() {
    let list = ["°", "é x", "a: é", "\u{a0}", "日本", "🙂", "\u{2028}é", "\"\u{1}é🙂"];
    let node = Node::List(list.iter().map(|text| Node::str(*text)).collect());
    let text = dump_as_python_sorted(&node);
    assert!(text.starts_with("- °\n- é x\n- 'a: é'\n- \u{a0}\n- 日本\n- 🙂\n"), "{text}");
    assert!(text.ends_with("- \"\\\"\\x01é\\U0001F642\"\n"), "{text}");
    assert!(dump(&node).starts_with("- \"\\xB0\"\n"));
}
