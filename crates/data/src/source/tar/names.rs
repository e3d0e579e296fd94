//! The two name rules: which entries are reserved, and how a name is split into key and part.
//!
//! Handwritten for speed; the tests compare the rules with the regular expressions in docs/formats/energon.md §3.2.

/// Whether the first component of the name is `__…__`: such entries are skipped.
///
/// Equivalent to the expression `__[^/]*__($|/)` matched at the start: `$` also matches before one final newline.
pub(super) fn is_reserved(name: &[u8]) -> bool {
    if !name.starts_with(b"__") {
        return false;
    }
    let framed = |first: &[u8]| first.len() >= 4 && first.ends_with(b"__");
    match memchr::memchr(b'/', name) {
        Some(slash) => framed(&name[..slash]),
        None => framed(name) || framed(name.strip_suffix(b"\n").unwrap_or(name)),
    }
}

/// Returns the offset of the dot at which the name is split: `name[..n]` is the key, `name[n + 1..]` the part. `None` for entries without a
/// part name.
///
/// Equivalent to the expression `^((?:.*/|)[^.]+)[.]([^/]*)$`, where `.` matches anything but a newline.
pub(super) fn split(name: &[u8]) -> Option<usize> {
    let last_slash = memchr::memrchr(b'/', name);
    let after = last_slash.map_or(0, |s| s + 1);
    let dot = after + memchr::memchr(b'.', &name[after..])?;
    let newline_before = memchr::memchr(b'\n', &name[..after]);
    if newline_before.is_none() && dot > after {
        return Some(dot);
    }
    // Either the last component begins with a dot, or a newline prevents `.*/` from matching up to the last slash. Then a shorter folder
    // part matches, and the key must extend across the last slash without a dot.
    let reach = newline_before.unwrap_or(last_slash?);
    let folder = memchr::memrchr(b'/', &name[..reach]).map_or(0, |s| s + 1);
    (folder < dot && memchr::memchr(b'.', &name[folder..dot]).is_none()).then_some(dot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reserved_by_rule(name: &str) -> bool {
        fancy_regex::Regex::new(r"\A__[^/]*__(?:\n?\z|/)").unwrap().is_match(name).unwrap()
    }

    fn split_by_rule(name: &str) -> Option<(String, String)> {
        // Python's `$` also matches before a final newline, but the greedy last group always includes that newline.
        let rule = fancy_regex::Regex::new(r"\A((?:[^\n]*/|)[^.]+)[.]([^/]*)\z").unwrap();
        let found = rule.captures(name).unwrap()?;
        Some((found[1].to_owned(), found[2].to_owned()))
    }

    fn split_text(name: &str) -> Option<(String, String)> {
        split(name.as_bytes()).map(|n| (name[..n].to_owned(), name[n + 1..].to_owned()))
    }

    #[test]
    fn reserved_names_have_a_first_component_framed_by_underscores() {
        for name in ["__meta__", "__meta__/x.txt", "____/z.txt", "__a__b__/z", "____"] {
            assert!(is_reserved(name.as_bytes()), "{name}");
        }
        for name in ["__x__.txt", "sub/__y__/k.txt", "___", "__", "__/", "___/a.b", "/__x__/y"] {
            assert!(!is_reserved(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_split_at_the_first_dot_of_the_last_component() {
        let cases = [
            ("imgs/a.b/noext", None),
            ("imgs/a.b/001.img1.JPG", Some(("imgs/a.b/001", "img1.JPG"))),
            ("trail.", Some(("trail", ""))),
            (".hidden.txt", None),
            ("imgs/.hidden.txt", Some(("imgs/", "hidden.txt"))),
            ("a/b/.x", Some(("a/b/", "x"))),
            ("a.c/.x", None),
            ("a.c/b/.x", Some(("a.c/b/", "x"))),
            ("/.x", Some(("/", "x"))),
            ("./a.txt", Some(("./a", "txt"))),
            ("a\n/b.txt", Some(("a\n/b", "txt"))),
            ("a.\n/b.txt", None),
            ("", None),
        ];
        for (name, expected) in cases {
            let expected = expected.map(|(k, p)| (k.to_owned(), p.to_owned()));
            assert_eq!(split_text(name), expected, "{name:?}");
            assert_eq!(split_by_rule(name), expected, "{name:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]
        #[test]
        fn name_split_agrees_with_the_regular_expression(name in "[ab/._\n]{0,12}") {
            prop_assert_eq!(split_text(&name), split_by_rule(&name));
            prop_assert_eq!(is_reserved(name.as_bytes()), reserved_by_rule(&name));
        }
        #[test]
        fn name_split_agrees_with_the_regular_expression_on_any_text(name in "\\PC{0,6}[./\n]{0,2}\\PC{0,6}[./_]{0,3}(?s:.){0,4}") {
            prop_assert_eq!(split_text(&name), split_by_rule(&name));
            prop_assert_eq!(is_reserved(name.as_bytes()), reserved_by_rule(&name));
        }
        #[test]
        fn reserved_name_check_agrees_with_the_regular_expression(name in "_{0,3}[a/\n.]{0,3}_{0,3}[/\n]{0,2}[a.]{0,2}") {
            prop_assert_eq!(is_reserved(name.as_bytes()), reserved_by_rule(&name));
        }
        #[test]
        fn non_utf8_names_split_like_utf8_names(name in proptest::collection::vec(
            prop_oneof![Just(0xffu8), Just(b'/'), Just(b'.'), Just(b'\n'), any::<u8>()], 0..12)) {
            let rule = regex::bytes::Regex::new(r"(?-u)\A((?:[^\n]*/|)[^.]+)[.]([^/]*)\z").unwrap();
            let expected = rule.captures(&name).map(|c| c[1].len());
            prop_assert_eq!(split(&name), expected);
        }
    }
}
