use super::*;
use crate::{json_read, Node};
use proptest::prelude::*;

/// Parts of the messages for constructs that Python supports, but this crate does not.
const REFUSED: [&str; 4] =
    ["is not supported", "the pattern does not compile", "too large once compiled", "is too large"];

#[test]
fn pattern_matches_and_failures_agree_with_python_re() {
    let path = std::env::var("GRISTMILL_TABLE").unwrap_or("../../tests/golden/python/re.jsonl".to_owned());
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| json_read::read(line).unwrap());
    let header = lines.next().unwrap();
    let names: Vec<&str> =
        header.get("names").unwrap().as_list().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let (mut wrong, mut refused, mut rows) = (Vec::new(), Vec::new(), 0);
    for row in lines {
        rows += 1;
        let pattern = row.get("pattern").and_then(Node::as_str).unwrap();
        let wanted = row.get("match").and_then(Node::as_str);
        match (Pattern::compile(pattern), wanted) {
            (Err(error), Some(_)) if REFUSED.iter().any(|piece| error.message.contains(piece)) => {
                refused.push(format!("{pattern:?}: {}", error.message));
            }
            (Err(error), Some(_)) => wrong.push(format!("{pattern:?} is refused: {}", error.message)),
            // Lookbehind of any width is accepted, although Python requires a fixed width.
            (Ok(_), None) if row.get("error").and_then(Node::as_str).is_some_and(|e| e.contains("fixed-width")) => {}
            (Ok(_), None) => wrong.push(format!("{pattern:?} should fail: {:?}", row.get("error"))),
            (Err(_), None) => {}
            (Ok(compiled), Some(wanted)) => {
                let bits = |test: &dyn Fn(&str) -> bool| {
                    names.iter().map(|n| if test(n) { '1' } else { '0' }).collect::<String>()
                };
                let started = bits(&|n| compiled.is_match_start(n));
                let found = bits(&|n| compiled.is_found(n));
                if started != wanted || Some(found.as_str()) != row.get("search").and_then(Node::as_str) {
                    wrong.push(format!("{pattern:?} matches otherwise: {started} for {wanted}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {rows} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(
        refused.len() * 20 < rows,
        "{} of {rows} refused:\n{}",
        refused.len(),
        refused[..refused.len().min(40)].join("\n")
    );
}

#[test]
fn a_refused_construct_is_named() {
    for (pattern, said) in [
        (r"\p{L}", "Unicode property"),
        (r"(?<n>a)", "(?<name>"),
        (r"(?x)a b", "(?x)"),
        (r"\N{DIGIT ONE}", r"\N{"),
        (r"a(?i)b", "at the very start"),
        (r"(?R)", "'(?R"),
        (r"\z", r"'\z'"),
        ("*.tar", "'*' has nothing before it"),
        ("a**", "repeated already"),
        ("(a", "has no ')'"),
        ("[a", "has no ']'"),
        ("[z-a]", "a range in"),
    ] {
        let error = Pattern::compile(pattern).unwrap_err();
        assert!(error.message.contains(said), "{pattern}: {}", error.message);
    }
    assert_eq!(
        Pattern::compile("*.tar").unwrap_err().hint.unwrap(),
        r"patterns are regular expressions; did you mean '.*\.tar'?"
    );
}

#[test]
fn glob_is_recognized_and_translated_to_a_pattern() {
    for (glob, meant) in [
        ("val-shard-*", "val-shard-.*"),
        ("train/*.tar", r"train/.*\.tar"),
        ("**/x.tar", r".*/x\.tar"),
        ("shard_??", "shard_.."),
        ("[ab]x*", "[ab]x.*"),
        ("a.b*", r"a\.b.*"),
    ] {
        assert_eq!(regex_of_glob(glob).as_deref(), Some(meant), "{glob}");
        assert!(Pattern::compile(meant).is_ok());
    }
    for text in ["train/.*", "train", r"a\d*", "(ab)*", "[0-9]*", "a+", "^a", "", "x{2}*"] {
        assert_eq!(regex_of_glob(text), None, "{text}");
    }
}

#[test]
fn pattern_beyond_the_step_limit_fails_with_an_error() {
    let pattern = Pattern::compile(r"((a+)+)+\1c").unwrap();
    let name = format!("{}!", "a".repeat(60));
    assert!(!pattern.is_found(&name));
    assert!(pattern.try_found(&name).is_err());
    let linear = Pattern::compile("(a+)+$").unwrap();
    assert_eq!(linear.try_match_start(&name), Ok(false));
    assert!(
        Pattern::compile(&"a{1000}".repeat(1000)).is_ok_and(|p| !p.is_found("a"))
            || Pattern::compile(&"a{1000}".repeat(1000)).is_err()
    );
    assert!(Pattern::compile(&"(".repeat(5000)).is_err());
}

#[test]
fn pattern_is_anchored_at_the_start_only() {
    let pattern = Pattern::compile("rain/.*").unwrap();
    assert!(!pattern.is_match_start("train/x.tar"));
    assert!(pattern.is_found("train/x.tar"));
    let test = Pattern::compile("test").unwrap();
    assert!(test.is_match_start("test-a/shard.tar"));
    assert_eq!(test.as_str(), "test");
    assert!(Pattern::compile("a|b").unwrap().is_match_start("bx"));
}

proptest! {
    #[test]
    fn any_text_compiles_or_is_refused_without_panic(
        pattern in r"[ab.*+?|()\[\]^$\\{}1-9,:=!<>iPdwZ\-]{0,24}|.{0,20}", name in ".{0,12}"
    ) {
        if let Ok(compiled) = Pattern::compile(&pattern) {
            let _ = (compiled.try_match_start(&name), compiled.try_found(&name));
        }
        let _ = regex_of_glob(&pattern);
    }

    #[test]
    fn literal_pattern_matches_text_that_starts_with_it(text in "[a-zA-Z0-9_/ é]{0,12}", rest in ".{0,5}") {
        let pattern = Pattern::compile(&text).unwrap();
        let longer = format!("{text}{rest}");
        prop_assert!(pattern.is_match_start(&longer));
    }
}
