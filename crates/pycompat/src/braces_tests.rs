use super::*;
use crate::{json_read, Node};
use proptest::prelude::*;

#[test]
fn brace_expansion_matches_the_python_package() {
    let path = std::env::var("GRISTMILL_TABLE").unwrap_or("../../tests/golden/python/braceexpand.jsonl".to_owned());
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines() {
        let row = json_read::read(line).unwrap();
        let expression = row.get("text").unwrap().as_str().unwrap();
        let wanted = row.get("names").unwrap();
        let got = match expand(expression, 10_000) {
            Ok(names) => Node::strings(names),
            Err(BraceError::Unbalanced) => Node::Null,
            Err(other) => panic!("{expression:?}: {other}"),
        };
        if got != *wanted {
            wrong.push(format!("{expression:?}: wanted {wanted:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn brace_expansion_beyond_the_limit_is_refused() {
    assert_eq!(expand("{1..999999999999}", 1000), Err(BraceError::TooMany { limit: 1000 }));
    assert_eq!(expand(&"{a,b}".repeat(64), 1_000_000), Err(BraceError::TooMany { limit: 1_000_000 }));
    assert_eq!(expand(&"{1..99999}".repeat(40), usize::MAX), Err(BraceError::TooMany { limit: usize::MAX }));
    assert_eq!(count("{1..5}{a,b}"), Ok(10));
    assert_eq!(expand("{1..5}", 5).unwrap().len(), 5);
    assert_eq!(expand("a", 0), Err(BraceError::TooMany { limit: 0 }));
    assert_eq!(expand(&format!("{}{}", "{".repeat(5000), "}".repeat(5000)), 10), Err(BraceError::TooDeep));
}

#[test]
fn long_numbers_expand_only_if_their_leading_digits_agree() {
    let long = "9".repeat(50);
    assert_eq!(expand(&format!("{{{long}7..{long}9}}"), 10).unwrap(), [7, 8, 9].map(|n| format!("{long}{n}")));
    assert_eq!(expand(&format!("{{1..{long}}}"), 10), Err(BraceError::NumberTooLong));
    assert_eq!(expand("{١..٣}", 10), Err(BraceError::ForeignDigits));
}

#[test]
fn regular_expression_escapes_are_kept_on_request() {
    assert_eq!(
        expand_keeping_escapes(r"{train,val}-\d{6}\.tar", 10).unwrap(),
        [r"train-\d{6}\.tar", r"val-\d{6}\.tar"]
    );
    assert_eq!(expand(r"\d{6}", 10).unwrap(), ["d{6}"]);
}

proptest! {
    #[test]
    fn an_escaped_name_expands_to_itself(name in r"[a-z{},.\\0-9é-]{0,20}") {
        prop_assert_eq!(expand(&escape(&name), 1).unwrap(), [name]);
    }

    #[test]
    fn any_text_expands_or_is_refused_without_panic(text in r"[{},.\\0-3a-c\-]{0,40}|.{0,20}") {
        if let Ok(names) = expand(&text, 10_000) {
            prop_assert_eq!(names.len() as u128, count(&text).unwrap());
        }
    }
}
