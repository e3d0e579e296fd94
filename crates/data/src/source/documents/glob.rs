//! Patterns for relative paths with the syntax of fsspec (docs/formats/nanosets.md §3): `*` and `?` stay within a component, `**` as a
//! whole component matches any number of them, `[…]` matches one character.

use gristmill_core::{Failure, Outcome, Subject};

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    components: Vec<Component>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Component {
    /// `**`.
    AnyDepth,
    Name(Vec<GlobPart>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum GlobPart {
    One(char),
    AnyOne,
    Any,
    Class { is_negated: bool, ranges: Vec<(char, char)> },
}

/// Maximum number of components of a pattern.
const MAX_COMPONENTS: usize = 64;

impl Glob {
    /// Parses a pattern. A pattern without any of `* ? [` is prefixed with `*`.
    ///
    /// # Errors
    /// It contains `..`, or `**` within a name, or too many components.
    pub fn new(text: &str) -> Outcome<Self> {
        let refuse = |why: &str| Err(Failure::usage("reading --glob", why).on(Subject::field(text)));
        let full = if text.contains(['*', '?', '[']) { text.to_owned() } else { format!("*{text}") };
        let mut components = Vec::new();
        if text.split('/').any(|name| name == "..") {
            return refuse("a pattern is for paths below the folder, so .. has no place in it");
        }
        for name in full.split('/').filter(|name| !name.is_empty() && *name != ".") {
            if name != "**" && name.contains("**") {
                return refuse("** must be alone between slashes");
            }
            let next = if name == "**" { Component::AnyDepth } else { Component::Name(pieces(name)) };
            if next != Component::AnyDepth || components.last() != Some(&next) {
                components.push(next);
            }
        }
        if components.is_empty() || components.len() > MAX_COMPONENTS {
            return refuse("it has no component, or too many");
        }
        Ok(Self { components })
    }

    /// Whether the pattern contains a hidden name: a component that begins with a dot.
    pub(super) fn has_hidden(&self) -> bool {
        let is_hidden = |component: &Component| match component {
            Component::AnyDepth => false,
            Component::Name(pieces) => pieces.first() == Some(&GlobPart::One('.')),
        };
        self.components.iter().any(is_hidden)
    }

    /// Whether a relative path with `/` separators matches.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        // Marks the positions in the names where a prefix of the pattern may end.
        let mut ends = vec![false; names.len() + 1];
        ends[0] = true;
        let last = self.components.len() - 1;
        for (number, component) in self.components.iter().enumerate() {
            let mut next = vec![false; names.len() + 1];
            match component {
                Component::AnyDepth => {
                    let mut seen = false;
                    for (end, reached) in ends.iter().enumerate() {
                        // At the end of the pattern, `**` must match at least one name: the name of the file.
                        next[end] = seen || (*reached && number < last);
                        seen |= reached;
                    }
                }
                Component::Name(pieces) => {
                    for (at, name) in names.iter().enumerate() {
                        next[at + 1] = ends[at] && matches(pieces, name);
                    }
                }
            }
            ends = next;
        }
        ends.last() == Some(&true)
    }
}

fn pieces(name: &str) -> Vec<GlobPart> {
    let chars: Vec<char> = name.chars().collect();
    let mut out: Vec<GlobPart> = Vec::new();
    let mut at = 0;
    while let Some(next) = chars.get(at) {
        at += 1;
        match next {
            '*' => out.push(GlobPart::Any),
            '?' => out.push(GlobPart::AnyOne),
            '[' => match class(&chars, at) {
                Some((piece, after)) => {
                    out.push(piece);
                    at = after;
                }
                None => out.push(GlobPart::One('[')),
            },
            other => out.push(GlobPart::One(*other)),
        }
    }
    out
}

/// Parses a character class; `at` is the index after its `[`. Returns `None` if it is not closed.
fn class(chars: &[char], at: usize) -> Option<(GlobPart, usize)> {
    let is_negated = matches!(chars.get(at), Some('!' | '^'));
    let from = at + usize::from(is_negated);
    // A `]` directly at the beginning is a member of the class.
    let close = from + 1 + chars.get(from + 1..)?.iter().position(|c| *c == ']')?;
    let inside = chars.get(from..close)?;
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(first) = inside.get(at) {
        match (inside.get(at + 1), inside.get(at + 2)) {
            (Some('-'), Some(last)) => {
                ranges.push((*first, *last));
                at += 3;
            }
            _ => {
                ranges.push((*first, *first));
                at += 1;
            }
        }
    }
    Some((GlobPart::Class { is_negated, ranges }, close + 1))
}

fn matches(pieces: &[GlobPart], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut at) = (0, 0);
    // Position to retry from if the text matched by a `*` was too short.
    let mut again: Option<(usize, usize)> = None;
    while at < name.len() || piece < pieces.len() {
        let is_fit = match (pieces.get(piece), name.get(at)) {
            (Some(GlobPart::Any), _) => {
                again = Some((piece + 1, at));
                piece += 1;
                continue;
            }
            (Some(GlobPart::AnyOne), Some(_)) => true,
            (Some(GlobPart::One(wanted)), Some(found)) => wanted == found,
            (Some(GlobPart::Class { is_negated, ranges }), Some(found)) => {
                ranges.iter().any(|(first, last)| first <= found && found <= last) != *is_negated
            }
            _ => false,
        };
        if is_fit {
            piece += 1;
            at += 1;
            continue;
        }
        match again {
            Some((after, taken)) if taken < name.len() => {
                again = Some((after, taken + 1));
                (piece, at) = (after, taken + 1);
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_patterns_match_as_the_format_page_specifies() {
        let fits = |pattern: &str, path: &str| Glob::new(pattern).unwrap().matches(path);
        for (pattern, path, wanted) in [
            (".jsonl", "a.jsonl", true),
            (".jsonl", "sub/a.jsonl", false),
            ("*.jsonl", "a.jsonl", true),
            ("*.jsonl", ".a.jsonl", true),
            ("*.jsonl", "a.jsonl.gz", false),
            ("**/*.jsonl", "a.jsonl", true),
            ("**/*.jsonl", "x/y/.z/a.jsonl", true),
            ("x/**", "x/a", true),
            ("x/**", "x/b/a", true),
            ("x/**", "y/a", false),
            ("x/**/b", "x/b", true),
            ("x/**/b", "x/1/2/b", true),
            ("**", "a/b", true),
            ("a?c[0-9].[!x]*", "abc7.yz", true),
            ("a?c[0-9].[!x]*", "abc7.xz", false),
            ("[]]", "]", true),
            ("a[", "a[", true),
            ("*a*b*c", "xxaxxbxxbc", true),
            ("*a*b*c", "xxaxxbxxbcd", false),
        ] {
            assert_eq!(fits(pattern, path), wanted, "{pattern} on {path}");
        }
    }

    #[test]
    fn invalid_glob_patterns_are_refused() {
        for pattern in ["a**b", "../x", "*/../x", "", &"a/".repeat(100)] {
            // An empty pattern becomes `*`.
            assert_eq!(Glob::new(pattern).is_ok(), pattern.is_empty(), "{pattern}");
        }
    }

    #[test]
    fn glob_pattern_of_many_stars_is_matched_quickly() {
        assert!(!Glob::new(&format!("{}b", "*a".repeat(200))).unwrap().matches(&"a".repeat(4000)));
    }
}
