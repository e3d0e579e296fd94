//! Python's regular expressions: `re.match` and `re.search` on names.
//!
//! A pattern is first translated so that it has the same meaning as in Python ([`super::pattern_syntax`]), and then run by the `regex`
//! crate in linear time. Patterns with look-around, back-references and similar constructs are run by `fancy-regex` with a limit on
//! backtracking.

pub use super::pattern_syntax::PatternError;
use super::pattern_syntax::{translate, RegexPattern, END};

/// Maximum compiled size of a pattern, in bytes.
const SIZE_LIMIT: usize = 16 << 20;
/// Maximum number of backtracking steps of a pattern on one name.
const BACKTRACK_LIMIT: usize = 1_000_000;

#[derive(Clone, Debug)]
enum Program {
    Linear(regex::Regex),
    Backtracking(fancy_regex::Regex),
}

impl Program {
    fn compile(text: &str, backtracking: bool) -> Result<Self, String> {
        if backtracking {
            return fancy_regex::RegexBuilder::new(text)
                .backtrack_limit(BACKTRACK_LIMIT)
                .delegate_size_limit(SIZE_LIMIT)
                .build()
                .map(Self::Backtracking)
                .map_err(|error| error.to_string());
        }
        regex::RegexBuilder::new(text).size_limit(SIZE_LIMIT).build().map(Self::Linear).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "it is too large once compiled".to_owned(),
            other => other.to_string(),
        })
    }

    fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match self {
            Self::Linear(regex) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|_| {
                PatternError::new("the pattern needs too many steps on one name")
                    .with_hint("nested repetitions such as (a+)+ are the usual reason")
            }),
        }
    }
}

/// A pattern compiled in two forms: anchored at the start of the text, and unanchored.
#[derive(Clone, Debug)]
struct Pair {
    start: Program,
    unanchored: Program,
}

impl Pair {
    fn compile(body: &str, backtracking: bool) -> Result<Self, String> {
        Ok(Self {
            start: Program::compile(&format!(r"\A(?:{body})"), backtracking)?,
            unanchored: Program::compile(body, backtracking)?,
        })
    }
}

/// A compiled Python pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    ordinary: Pair,
    /// The pattern for texts that end with a line end, where Python's `$` can match at two positions. Set only for patterns with a `$`.
    before_line_end: Option<Pair>,
}

impl Pattern {
    /// Compiles a pattern. The error names the construct that is invalid or not supported.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        Self::build(text).map_err(|mut error| {
            if let (None, Some(meant)) = (&error.hint, regex_of_glob(text)) {
                error.hint = Some(format!("patterns are regular expressions; did you mean '{meant}'?"));
            }
            error
        })
    }

    fn build(text: &str) -> Result<Self, PatternError> {
        let translated = translate(text)?;
        let RegexPattern { body, backtracking, has_end } = &translated;
        let plain_end = body.replace(END, r"\z");
        let compile = |body: &str, backtracking| {
            Pair::compile(body, backtracking)
                .map_err(|why| PatternError::new(format!("the pattern does not compile: {}", one_line(&why))))
        };
        let ordinary = compile(&plain_end, *backtracking)?;
        let before_line_end = if *has_end { Some(compile(&body.replace(END, r"(?=\n?\z)"), true)?) } else { None };
        Ok(Self { text: text.to_owned(), ordinary, before_line_end })
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    fn pair_for(&self, text: &str) -> &Pair {
        match &self.before_line_end {
            Some(pair) if text.ends_with('\n') => pair,
            _ => &self.ordinary,
        }
    }

    /// Whether the pattern matches at the start of a text, not necessarily to the end (`re.match`). Returns `false` if matching needs too
    /// many steps.
    pub fn is_match_start(&self, text: &str) -> bool {
        self.try_match_start(text).unwrap_or(false)
    }

    /// Whether the pattern matches anywhere in a text (`re.search`). Returns `false` if matching needs too many steps.
    pub fn is_found(&self, text: &str) -> bool {
        self.try_found(text).unwrap_or(false)
    }

    /// Like [`is_match_start`](Self::is_match_start), but fails if matching needs too many steps.
    pub fn try_match_start(&self, text: &str) -> Result<bool, PatternError> {
        self.pair_for(text).start.is_match(text)
    }

    /// Like [`is_found`](Self::is_found), but fails if matching needs too many steps.
    pub fn try_found(&self, text: &str) -> Result<bool, PatternError> {
        self.pair_for(text).unanchored.is_match(text)
    }
}

/// Returns the last line of a multi-line message, without its label.
fn one_line(message: &str) -> String {
    let last = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

/// Returns the regular expression that a glob was probably meant to be: `val-shard-*` → `val-shard-.*`. Returns `None` if the text does not
/// look like a glob.
pub fn regex_of_glob(text: &str) -> Option<String> {
    if text.contains(['\\', '(', ')', '|', '^', '$', '+'])
        || text.contains(".*")
        || text.contains(".+")
        || text.contains(".?")
    {
        return None;
    }
    let mut wild = false;
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    let mut in_class = false;
    let mut previous = None;
    while let Some(c) = chars.next() {
        match c {
            ']' => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '*' | '?' => {
                // After a class or a brace, a star is as likely to be a repetition.
                if matches!(previous, Some(']' | '}')) {
                    return None;
                }
                wild = true;
                while c == '*' && chars.peek() == Some(&'*') {
                    chars.next();
                }
                out.push('.');
                if c == '?' {
                    previous = Some(c);
                    continue;
                }
            }
            '.' => out.push('\\'),
            _ => {}
        }
        out.push(c);
        previous = Some(c);
    }
    wild.then_some(out)
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
