//! Translates Python's pattern syntax to that of the `regex` crate. Every construct is parsed here, so that none changes its meaning. A
//! construct without an equivalent is refused with an error that names it.

mod escapes;
mod groups;

use std::fmt::Write as _;

/// The reason why a pattern is invalid or not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    /// The reason, which names the construct.
    pub message: String,
    /// What the user can do about the pattern.
    pub hint: Option<String>,
}

impl PatternError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Placeholder for `$`, which depends on the text to match. Translated patterns do not contain this character otherwise.
pub(super) const END: &str = "\u{10ffff}";

/// A pattern in the syntax of the `regex` crate.
pub(super) struct RegexPattern {
    /// The pattern, with [`END`] instead of `$`.
    pub(super) body: String,
    /// Whether it has look-around, back-references, atomic groups, possessive repetition or conditions.
    pub(super) backtracking: bool,
    /// Whether it has a `$` outside of multi-line mode.
    pub(super) has_end: bool,
}

type Result<T> = std::result::Result<T, PatternError>;

/// Maximum nesting depth of groups; deeper patterns are refused.
const MAX_DEPTH: usize = 100;

pub(super) fn translate(text: &str) -> Result<RegexPattern> {
    let mut t = Translator {
        chars: text.chars().collect(),
        at: 0,
        out: String::with_capacity(text.len() + 16),
        backtracking: false,
        has_end: false,
        groups: 0,
        open: Vec::new(),
        names: Vec::new(),
        multiline: vec![false],
    };
    t.global_flags()?;
    t.sequence()?;
    if t.at < t.chars.len() {
        return Err(PatternError::new("a ')' has no '('"));
    }
    Ok(RegexPattern { body: t.out, backtracking: t.backtracking, has_end: t.has_end })
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    backtracking: bool,
    has_end: bool,
    groups: usize,
    /// Numbers of the capturing groups that are still open.
    open: Vec<usize>,
    names: Vec<(String, usize)>,
    /// Whether `(?m)` is active, for each open group.
    multiline: Vec<bool>,
}

/// What may follow an element of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowRule {
    /// No repetition: the start of a branch, or a position such as `^`.
    Nothing,
    /// A repetition.
    Element,
    /// No repetition: the element is already repeated.
    Repetition,
}

impl Translator {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn accept(&mut self, text: &str) -> bool {
        let length = text.chars().count();
        let here = self.chars.get(self.at..self.at + length);
        let same = here.is_some_and(|here| here.iter().copied().eq(text.chars()));
        if same {
            self.at += length;
        }
        same
    }

    fn take_until(&mut self, end: char) -> Option<String> {
        let length = self.chars[self.at..].iter().position(|c| *c == end)?;
        let text = self.chars[self.at..self.at + length].iter().collect();
        self.at += length + 1;
        Some(text)
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
    }

    /// Translates alternatives up to a `)`, which is not consumed, or the end of the pattern. Returns their number.
    fn sequence(&mut self) -> Result<usize> {
        let mut alternatives = 1;
        let mut after = FollowRule::Nothing;
        while let Some(c) = self.peek() {
            if c == ')' {
                break;
            }
            self.at += 1;
            alternatives += usize::from(c == '|');
            after = self.element(c, after)?;
        }
        Ok(alternatives)
    }

    fn element(&mut self, c: char, after: FollowRule) -> Result<FollowRule> {
        match c {
            '|' => {
                self.out.push('|');
                return Ok(FollowRule::Nothing);
            }
            '*' | '+' | '?' => return self.repeat(&c.to_string(), c, after),
            '{' => {
                if let Some(bounds) = self.bounds()? {
                    return self.repeat(&bounds, '{', after);
                }
                self.literal(c);
            }
            '.' => self.out.push('.'),
            '^' | '$' => {
                self.position(c);
                return Ok(FollowRule::Nothing);
            }
            '[' => self.class()?,
            '(' => {
                return Ok(if self.group()? { FollowRule::Element } else { after });
            }
            '\\' => return self.escape(),
            c => self.literal(c),
        }
        Ok(FollowRule::Element)
    }

    fn position(&mut self, c: char) {
        match (c, self.is_multiline()) {
            ('^', true) => self.out.push_str("(?m:^)"),
            ('^', false) => self.out.push_str(r"\A"),
            (_, true) => self.out.push_str("(?m:$)"),
            (_, false) => {
                self.has_end = true;
                self.out.push_str(END);
            }
        }
    }

    fn is_multiline(&self) -> bool {
        self.multiline.last().copied().unwrap_or(false)
    }

    fn repeat(&mut self, text: &str, sign: char, after: FollowRule) -> Result<FollowRule> {
        match after {
            FollowRule::Nothing => return Err(PatternError::new(format!("'{sign}' has nothing before it to repeat"))),
            FollowRule::Repetition => {
                return Err(PatternError::new(format!("'{sign}' repeats something that is repeated already")));
            }
            FollowRule::Element => {}
        }
        self.out.push_str(text);
        if self.accept("?") {
            self.out.push('?');
        } else if self.accept("+") {
            self.out.push('+');
            self.backtracking = true;
        }
        Ok(FollowRule::Repetition)
    }

    /// Parses `{2}`, `{2,}`, `{,3}`, `{2,3}` after the brace; `None` if the brace is a literal.
    fn bounds(&mut self) -> Result<Option<String>> {
        let begin = self.at;
        let low = self.digits();
        let comma = self.accept(",");
        let high = if comma { self.digits() } else { low.clone() };
        if !self.accept("}") || (low.is_empty() && !comma) {
            self.at = begin;
            return Ok(None);
        }
        let number = |text: &str| match text {
            "" => Ok(None),
            text => text
                .parse::<u32>()
                .map(Some)
                .map_err(|_| PatternError::new(format!("the repetition count {text} is too large"))),
        };
        let (least, most) = (number(&low)?.unwrap_or(0), number(&high)?);
        if most.is_some_and(|most| most < least) {
            return Err(PatternError::new(format!("the repetition {{{low},{high}}} ends before it begins")));
        }
        Ok(Some(match most {
            None => format!("{{{least},}}"),
            Some(most) => format!("{{{least},{most}}}"),
        }))
    }

    fn digits(&mut self) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(char::is_ascii_digit) {
            text.push(c);
            self.at += 1;
        }
        text
    }
}

/// Appends a literal character, in a form that is valid inside and outside of classes.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | ' ') {
        out.push(c);
    } else {
        let _ = write!(out, r"\x{{{:x}}}", u32::from(c));
    }
}
