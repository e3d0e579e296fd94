//! Queries for keys.

use gristmill_core::{Failure, Outcome};
use regex::{Regex, RegexBuilder};

/// Limit of the memory of a compiled pattern, in bytes.
const PATTERN_BYTES: usize = 4 << 20;

/// A condition on a key.
#[derive(Clone, Debug)]
pub enum KeyQuery {
    /// The key begins with this text. Found at once if the keys have an index.
    Prefix(String),
    /// The key contains this text.
    Substring(String),
    /// The pattern matches somewhere in the key.
    Regex(Regex),
}

impl KeyQuery {
    /// Parses a query as entered by a user: `^abc` matches keys that begin with `abc`, `/abc.*/` is a regular expression, any other text
    /// matches keys that contain it. Matching is case-sensitive; `/(?i)abc/` ignores case. `\^abc` and `\/abc/` search for the character
    /// itself.
    ///
    /// A pattern that does not compile is a usage failure that names the position.
    pub fn parse(text: &str) -> Outcome<Self> {
        if let Some(prefix) = text.strip_prefix('^') {
            return Ok(Self::Prefix(prefix.to_owned()));
        }
        if let Some(pattern) = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|p| !p.is_empty())
        {
            let built = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES).build();
            return built.map(Self::Regex).map_err(|error| {
                let why = error.to_string();
                let last = why.lines().last().unwrap_or_default();
                let last = last.strip_prefix("error: ").unwrap_or(last).to_owned();
                Failure::usage("the pattern", last)
                    .with_hint("/…/ is a regular expression; without slashes it is plain text")
            });
        }
        let plain = text.strip_prefix('\\').filter(|rest| rest.starts_with(['^', '/', '\\'])).unwrap_or(text);
        Ok(Self::Substring(plain.to_owned()))
    }

    /// Whether a key matches.
    pub fn matches(&self, key: &str) -> bool {
        match self {
            Self::Prefix(prefix) => key.starts_with(prefix.as_str()),
            Self::Substring(part) => memchr::memmem::find(key.as_bytes(), part.as_bytes()).is_some(),
            Self::Regex(pattern) => pattern.is_match(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_query_kind_is_recognized_by_its_prefix() {
        for (text, yes, no) in [
            ("^ab", "abc", "cab"),
            ("ab", "cabc", "acb"),
            ("/^a.c$/", "abc", "abcd"),
            ("/(?i)AB/", "cab", "ba"),
            ("\\^ab", "x^ab", "abc"),
            ("\\/a/", "x/a/b", "a"),
            ("/", "a/b", "ab"),
            ("//", "a//b", "a/b"),
            ("", "", "\u{0}never"),
        ] {
            let query = KeyQuery::parse(text).unwrap();
            assert!(query.matches(yes), "{text} on {yes}");
            assert!(text.is_empty() || !query.matches(no), "{text} on {no}");
        }
    }

    #[test]
    fn invalid_or_too_large_pattern_is_refused_with_a_reason() {
        assert!(KeyQuery::parse("/a(/").unwrap_err().why.contains("unclosed group"));
        assert!(KeyQuery::parse("/(((a{1000}){1000}){1000})/").is_err());
    }
}
