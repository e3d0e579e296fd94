//! Checks whether a line is a JSON object that every reader interprets in the same way.
//!
//! Python's `json.loads`, which the loader calls, refuses the same lines. Constructs that `json.loads` accepts and other readers refuse or
//! interpret differently are reported as well: repeated keys, `NaN`, lone surrogates, numbers that lose digits as floats.

use gristmill_pycompat::json_repeats::{repeats, KeyFingerprint};
use gristmill_pycompat::json_walk::{walk, Kind, Span, Visit};

/// Maximum number of digits of an integer that is certainly below 2⁵³.
const SAFE_DIGITS: usize = 15;
/// The largest integer up to which every integer is exact as a float.
const SAFE_INTEGER: u64 = 1 << 53;

/// An error or JSON extension at one position of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The line is not JSON; holds the reason.
    Syntax(&'static str),
    /// A byte that is not UTF-8.
    NotUtf8,
    /// A key that already occurs in its object.
    DuplicateKey,
    /// `NaN`, `Infinity`, or a number beyond the range of a float: not JSON, but accepted by Python.
    NotFinite,
    /// An unpaired surrogate, such as `\ud800`.
    UnpairedSurrogate,
    /// An integer beyond 2⁵³, which many readers round.
    LargeInteger,
}

impl Issue {
    /// Whether the loader refuses the line.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Syntax(_) | Self::NotUtf8)
    }
    /// Whether readers refuse the line or lose one of its values.
    pub fn is_problem(self) -> bool {
        self.is_fatal() || self == Self::DuplicateKey
    }
    /// Returns the description for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::Syntax(why) => why,
            Self::NotUtf8 => "a byte that is not UTF-8",
            Self::DuplicateKey => "a key that the object has already: only the last value is read",
            Self::NotFinite => "a number that is not finite, which only some readers take",
            Self::UnpairedSurrogate => "a lone surrogate, which cannot be written as UTF-8",
            Self::LargeInteger => "an integer beyond 2^53, which some readers round",
        }
    }
}

/// Checks lines, with memory that is reused from line to line.
#[derive(Debug, Default)]
pub struct Checker {
    /// For each open object or array, the number of keys before it.
    open: Vec<usize>,
    /// Keys of the open objects.
    keys: Vec<KeyFingerprint>,
    /// Start and end of each of those keys in the line, without quotes.
    places: Vec<(usize, usize)>,
}

impl Checker {
    /// Checks one line, without its `\n`, and calls `found` for each issue with its offset, in bytes from the beginning of the line. A
    /// fatal issue is the last one. Blank lines have no issues unless they contain white space that is invalid in JSON.
    pub fn check(&mut self, line: &[u8], mut found: impl FnMut(usize, Issue)) {
        self.open.clear();
        self.keys.clear();
        self.places.clear();
        if let Err(error) = std::str::from_utf8(line) {
            found(error.valid_up_to(), Issue::NotUtf8);
            return;
        }
        match line.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
            None => return,
            Some(at) if line.get(at) != Some(&b'{') => {
                found(at, Issue::Syntax("the line does not begin with {"));
                return;
            }
            Some(_) => {}
        }
        let mut issues = IssueFinder { line, checker: self, overflows: false, found: &mut found };
        if let Err(error) = walk(line, 0, &mut issues) {
            found(error.at, Issue::Syntax(error.why));
        }
    }
}

struct IssueFinder<'a, F> {
    line: &'a [u8],
    checker: &'a mut Checker,
    /// Whether the next number is beyond the range of floats.
    overflows: bool,
    found: &'a mut F,
}

impl<F: FnMut(usize, Issue)> IssueFinder<'_, F> {
    fn number(&mut self, span: Span) {
        let overflows = std::mem::take(&mut self.overflows);
        let text = self.line.get(span.from..span.to).unwrap_or_default();
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        if digits.len() > SAFE_DIGITS && digits.iter().all(u8::is_ascii_digit) {
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u64>().ok());
            if number.is_none_or(|number| number > SAFE_INTEGER) {
                (self.found)(span.from, Issue::LargeInteger);
            }
        } else if overflows {
            (self.found)(span.from, Issue::NotFinite);
        }
    }
}

impl<F: FnMut(usize, Issue)> Visit for IssueFinder<'_, F> {
    const REPORTS_ODDITIES: bool = true;
    const MAX_NESTING: usize = 1_000;

    #[inline(always)]
    fn key(&mut self, text: &[u8], _: usize, span: Span) {
        self.checker.keys.push(KeyFingerprint::new(text.get(span.from..span.to).unwrap_or_default()));
        self.checker.places.push((span.from, span.to));
    }

    #[inline(always)]
    fn value(&mut self, _: usize, kind: Kind, span: Span) {
        match kind {
            Kind::Object | Kind::Array => self.checker.open.push(self.checker.keys.len()),
            Kind::Number => self.number(span),
            Kind::NonFinite => (self.found)(span.from, Issue::NotFinite),
            _ => {}
        }
    }

    /// Reports the repeated keys of an object, in the order of the line.
    fn close(&mut self, _: usize, _: usize) {
        let Checker { open, keys, places } = &mut *self.checker;
        let first = open.pop().unwrap_or_default();
        let (seen, own) = (keys.get(first..).unwrap_or_default(), places.get(first..).unwrap_or_default());
        if seen.len() > 1 {
            let key_at = |at: usize| own.get(at).and_then(|(from, to)| self.line.get(*from..*to)).unwrap_or_default();
            let mut found = Vec::new();
            repeats(seen, key_at, &mut found);
            let mut others: Vec<usize> = found.into_iter().flat_map(|(.., others)| others).collect();
            others.sort_unstable();
            for (from, _) in others.iter().filter_map(|at| own.get(*at)) {
                (self.found)(from - 1, Issue::DuplicateKey);
            }
        }
        keys.truncate(first);
        places.truncate(first);
    }

    fn overflow(&mut self) {
        self.overflows = true;
    }

    fn unpaired_surrogate(&mut self, at: usize) {
        (self.found)(at, Issue::UnpairedSurrogate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issues(line: &[u8]) -> Vec<(usize, Issue)> {
        let mut found = Vec::new();
        Checker::default().check(line, |at, issue| found.push((at, issue)));
        found
    }

    fn fatal(line: &str) -> usize {
        let found = issues(line.as_bytes());
        match found.last() {
            Some((at, issue)) if issue.is_fatal() => *at,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn valid_json_objects_have_no_issue() {
        for line in [
            "{}",
            " { } ",
            "",
            " \t\r",
            r#"{"a":1}"#,
            "{\"a\": [1, -0, 0.5, 1e5, -1.25E-3, true, false, null, {}, []]}\r",
            r#"{"é": "ü\n\u00e9\ud83d\ude00", "b": {"a": 1}, "a": {"b": 2}}"#,
            r#"{"n": 9007199254740992}"#,
        ] {
            assert_eq!(issues(line.as_bytes()), [], "{line}");
        }
    }

    #[test]
    fn invalid_json_is_reported_with_its_offset() {
        for (line, at) in [
            ("[1]", 0),
            ("x", 0),
            ("{", 1),
            (r#"{"a"}"#, 4),
            (r#"{"a":}"#, 5),
            (r#"{"a":1,}"#, 7),
            (r#"{"a":1}}"#, 7),
            (r#"{"a":1} {"b":2}"#, 8),
            (r#"{"a":01}"#, 5),
            (r#"{"a":1.}"#, 7),
            (r#"{"a":1e}"#, 7),
            (r#"{"a":-}"#, 6),
            (r#"{'a':1}"#, 1),
            (r#"{"a":'b'}"#, 5),
            (r#"{"a":tru}"#, 5),
            (r#"{"a":[1 2]}"#, 8),
            (r#"{"a":[1}"#, 7),
            (r#"{"a":"b}"#, 5),
            (r#"{"a":"\x"}"#, 6),
            (r#"{"a":"\u12g4"}"#, 6),
            ("{\"a\":\"b\tc\"}", 7),
            (r#"{"a" 1}"#, 5),
            (r#"{"a":[1,]}"#, 8),
            (r#"{a:1}"#, 1),
            ("{}\x0b", 2),
            (r#"{"a":+1}"#, 5),
            (r#"{"a":nan}"#, 5),
            (&format!(r#"{{"a":-{}}}"#, "9".repeat(4_301)), 5),
        ] {
            assert_eq!(fatal(line), at, "{line}");
        }
        assert_eq!(issues(b"{\"a\":\"\xff\"}"), [(6, Issue::NotUtf8)]);
    }

    #[test]
    fn json_that_readers_interpret_differently_is_reported_but_not_fatal() {
        use Issue::*;
        for (line, wanted) in [
            (r#"{"a":1,"b":2,"a":3}"#, vec![(13, DuplicateKey)]),
            (r#"{"a":1,"\u0061":3}"#, vec![(7, DuplicateKey)]),
            (r#"{"a":{"k":1,"k":2,"k":3},"b":[{"k":1}]}"#, vec![(12, DuplicateKey), (18, DuplicateKey)]),
            (r#"{"a":NaN,"b":-Infinity,"c":Infinity}"#, vec![(5, NotFinite), (13, NotFinite), (27, NotFinite)]),
            (r#"{"a":1e999}"#, vec![(5, NotFinite)]),
            (
                r#"{"a":"\ud800","b":"\udc00\ud800x"}"#,
                vec![(6, UnpairedSurrogate), (19, UnpairedSurrogate), (25, UnpairedSurrogate)],
            ),
            (
                r#"{"a":9007199254740993,"b":-123456789012345678901234567890}"#,
                vec![(5, LargeInteger), (26, LargeInteger)],
            ),
        ] {
            assert_eq!(issues(line.as_bytes()), wanted, "{line}");
            assert!(wanted.iter().all(|(_, issue)| !issue.is_fatal()));
        }
    }

    #[test]
    fn json_nesting_is_limited_to_a_thousand_without_recursion() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(issues(nested(999).as_bytes()), []);
        assert_eq!(
            issues(nested(1000).as_bytes()),
            [(5 + 999, Issue::Syntax("objects and arrays are nested more than 1,000 deep"))]
        );
        assert_eq!(
            issues(nested(5_000_000).as_bytes()),
            [(5 + 999, Issue::Syntax("objects and arrays are nested more than 1,000 deep"))]
        );
    }

    #[test]
    fn json_object_with_very_many_duplicate_keys_is_checked() {
        let many: Vec<String> = (0..200_000).map(|number| format!("\"k{}\":0", number % 1000)).collect();
        let line = format!("{{{}}}", many.join(","));
        assert_eq!(issues(line.as_bytes()).len(), 199_000);
    }

    proptest! {
        #[test]
        fn fatal_json_issues_agree_with_serde_json(
            line in r#"\{("[a-c\\"/u0-9d]{0,4}" ?:? ?([0-9.eE+-]{1,5}|true|null|"x"|\[\]|\{\}|\[1,?\]),?){0,3}\}?"#
        ) {
            let ours = issues(line.as_bytes());
            let is_fatal = ours.iter().any(|(_, issue)| issue.is_fatal());
            let odd = ours.iter().any(|(_, issue)| matches!(issue, Issue::UnpairedSurrogate | Issue::NotFinite));
            let theirs = serde_json::from_str::<serde_json::Value>(&line);
            prop_assert!(odd || is_fatal == theirs.is_err(), "{} {:?} {:?}", line, ours, theirs);
        }

        #[test]
        fn json_issues_of_any_bytes_are_inside_the_line(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            for (at, _) in issues(&line) {
                prop_assert!(at <= line.len());
            }
        }
    }
}
