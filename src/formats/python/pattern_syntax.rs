//! Python's pattern syntax rewritten as that of the `regex` crate. Every construct is parsed here, so that nothing that means one
//! thing there can mean another here; what has no counterpart is refused by name.

use super::pattern::{PatternError, END};
use std::fmt::Write as _;

/// A pattern in the other syntax.
pub(super) struct Translated {
    /// `$` stands as [`END`].
    pub(super) body: String,
    /// Look-around, back-references, atomic groups, possessive repetition or conditions are in it.
    pub(super) backtracking: bool,
    /// A `$` that is not in multi-line mode is in it.
    pub(super) has_end: bool,
}

type Result<T> = std::result::Result<T, PatternError>;

/// Nesting of groups beyond this is refused.
const MAX_DEPTH: usize = 100;

pub(super) fn translate(text: &str) -> Result<Translated> {
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
    Ok(Translated { body: t.out, backtracking: t.backtracking, has_end: t.has_end })
}

struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    backtracking: bool,
    has_end: bool,
    groups: usize,
    /// Numbers of the capturing groups that are not closed yet.
    open: Vec<usize>,
    names: Vec<(String, usize)>,
    /// Whether `(?m)` holds, per open group.
    multiline: Vec<bool>,
}

/// What an element allows after itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Nothing to repeat: the start of a branch, or a position such as `^`.
    Nothing,
    /// May be repeated.
    Element,
    /// Was repeated already.
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
    fn eat(&mut self, text: &str) -> bool {
        let length = text.chars().count();
        let here = self.chars.get(self.at..self.at + length);
        let same = here.is_some_and(|here| here.iter().copied().eq(text.chars()));
        if same {
            self.at += length;
        }
        same
    }
    fn until(&mut self, end: char) -> Option<String> {
        let length = self.chars[self.at..].iter().position(|c| *c == end)?;
        let text = self.chars[self.at..self.at + length].iter().collect();
        self.at += length + 1;
        Some(text)
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
    }

    /// Alternatives up to a `)` that is not consumed, or the end; returns how many there are.
    fn sequence(&mut self) -> Result<usize> {
        let mut alternatives = 1;
        let mut after = After::Nothing;
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

    fn element(&mut self, c: char, after: After) -> Result<After> {
        match c {
            '|' => {
                self.out.push('|');
                return Ok(After::Nothing);
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
                return Ok(After::Nothing);
            }
            '[' => self.class()?,
            '(' => {
                return Ok(if self.group()? { After::Element } else { after });
            }
            '\\' => return self.escape(),
            c => self.literal(c),
        }
        Ok(After::Element)
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

    fn repeat(&mut self, text: &str, sign: char, after: After) -> Result<After> {
        match after {
            After::Nothing => return Err(PatternError::new(format!("'{sign}' has nothing before it to repeat"))),
            After::Repetition => {
                return Err(PatternError::new(format!("'{sign}' repeats something that is repeated already")));
            }
            After::Element => {}
        }
        self.out.push_str(text);
        if self.eat("?") {
            self.out.push('?');
        } else if self.eat("+") {
            self.out.push('+');
            self.backtracking = true;
        }
        Ok(After::Repetition)
    }

    /// `{2}`, `{2,}`, `{,3}`, `{2,3}` after the brace; `None` when the brace stands for itself.
    fn bounds(&mut self) -> Result<Option<String>> {
        let begin = self.at;
        let low = self.digits();
        let comma = self.eat(",");
        let high = if comma { self.digits() } else { low.clone() };
        if !self.eat("}") || (low.is_empty() && !comma) {
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

    /// Flags for the whole pattern, which Python takes only at its very start.
    fn global_flags(&mut self) -> Result<()> {
        while self.chars[self.at..].starts_with(&['(', '?'])
            && self.chars.get(self.at + 2).is_some_and(|c| "aiLmsux".contains(*c))
        {
            let begin = self.at;
            self.at += 2;
            let flags: String = self.chars[self.at..].iter().take_while(|c| c.is_ascii_alphabetic()).collect();
            if self.chars.get(self.at + flags.len()) != Some(&')') {
                self.at = begin;
                return Ok(());
            }
            self.at += flags.len() + 1;
            let known = self.flags(&flags)?;
            if flags.contains('m') {
                self.multiline = vec![true];
            }
            if !known.is_empty() {
                let _ = write!(self.out, "(?{known})");
            }
        }
        Ok(())
    }

    /// The flags that matter here and are the same there. `m` is kept by the translator itself.
    fn flags(&self, flags: &str) -> Result<String> {
        let mut known = String::new();
        for flag in flags.chars() {
            match flag {
                'i' | 's' => known.push(flag),
                'm' | 'u' => {}
                'a' | 'L' | 'x' => return Err(PatternError::new(format!("the flag (?{flag}) is not supported"))),
                other => return Err(PatternError::new(format!("'(?{other}' is no flag of Python's patterns"))),
            }
        }
        Ok(known)
    }

    /// A group after its `(`; false when it was a comment.
    fn group(&mut self) -> Result<bool> {
        if self.multiline.len() > MAX_DEPTH {
            return Err(PatternError::new(format!("groups are nested more than {MAX_DEPTH} deep")));
        }
        let mut multiline = self.is_multiline();
        let mut most_alternatives = usize::MAX;
        let mut capturing = false;
        if !self.eat("?") {
            capturing = true;
            self.out.push('(');
        } else if self.eat("#") {
            return match self.until(')') {
                Some(_) => Ok(false),
                None => Err(PatternError::new("a comment '(?#' has no ')'")),
            };
        } else if self.eat("P") {
            if !self.named_group()? {
                return Ok(true);
            }
            capturing = true;
        } else if self.eat("(") {
            self.condition()?;
            most_alternatives = 2;
        } else if !self.eat_look_around() {
            multiline = self.flagged_group()?;
        }
        if capturing {
            self.groups += 1;
            self.open.push(self.groups);
        }
        self.multiline.push(multiline);
        if self.sequence()? > most_alternatives {
            return Err(PatternError::new("a condition '(?(…)' has more than two branches"));
        }
        self.multiline.pop();
        if capturing {
            self.open.pop();
        }
        if !self.eat(")") {
            return Err(PatternError::new("a '(' has no ')'"));
        }
        self.out.push(')');
        Ok(true)
    }

    fn eat_look_around(&mut self) -> bool {
        for sign in ["=", "!", "<=", "<!", ">"] {
            if self.eat(sign) {
                let _ = write!(self.out, "(?{sign}");
                self.backtracking = true;
                return true;
            }
        }
        false
    }

    /// `(?P<name>` opens a group (true); `(?P=name)` is a back-reference and complete (false).
    fn named_group(&mut self) -> Result<bool> {
        if self.eat("=") {
            let name = self.until(')').unwrap_or_default();
            let number = self.group_named(&name);
            self.check_reference(number, &format!("(?P={name})"))?;
            let _ = write!(self.out, r"\k<{name}>");
            self.backtracking = true;
            return Ok(false);
        }
        if !self.eat("<") {
            return Err(PatternError::new("'(?P' must be followed by '<name>' or '=name'"));
        }
        let name = self.until('>').unwrap_or_default();
        let valid = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !valid {
            return Err(PatternError::new(format!("'{name}' cannot be the name of a group")));
        }
        if self.group_named(&name).is_some() {
            return Err(PatternError::new(format!("the group name '{name}' is used twice")));
        }
        let _ = write!(self.out, "(?P<{name}>");
        self.names.push((name, self.groups + 1));
        Ok(true)
    }

    fn group_named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// A back-reference needs a group that is closed before it.
    fn check_reference(&self, number: Option<usize>, text: &str) -> Result<()> {
        match number {
            Some(number) if self.open.contains(&number) => {
                Err(PatternError::new(format!("'{text}' refers to the group it stands in")))
            }
            Some(number) if number <= self.groups => Ok(()),
            _ => Err(PatternError::new(format!("'{text}' refers to a group that is not there before it"))),
        }
    }

    fn condition(&mut self) -> Result<()> {
        let name = self.until(')').unwrap_or_default();
        let known = match name.parse::<usize>() {
            Ok(number) => number >= 1 && number <= self.groups,
            Err(_) => self.group_named(&name).is_some(),
        };
        if !known {
            return Err(PatternError::new(format!("'(?({name})' refers to a group that is not there before it")));
        }
        if name.parse::<usize>().is_ok() {
            let _ = write!(self.out, "(?({name})");
        } else {
            let _ = write!(self.out, "(?(<{name}>)");
        }
        self.backtracking = true;
        Ok(())
    }

    /// `(?:`, `(?i:`, `(?-i:`; returns whether multi-line mode holds inside.
    fn flagged_group(&mut self) -> Result<bool> {
        let mut multiline = self.is_multiline();
        let mut flags = String::new();
        while let Some(c) = self.next() {
            if c == ':' {
                break;
            }
            if c == ')' || !(c.is_ascii_alphabetic() || c == '-') {
                return Err(self.unknown_extension(&flags, c));
            }
            flags.push(c);
            if self.peek().is_none() {
                return Err(self.unknown_extension(&flags, c));
            }
        }
        let (on, off) = flags.split_once('-').unwrap_or((&flags, ""));
        if on.contains('m') {
            multiline = true;
        }
        if off.contains('m') {
            multiline = false;
        }
        let (on, off) = (self.flags(on)?, self.flags(off)?);
        self.out.push_str("(?");
        self.out.push_str(&on);
        if !off.is_empty() {
            let _ = write!(self.out, "-{off}");
        }
        self.out.push(':');
        Ok(multiline)
    }

    fn unknown_extension(&self, flags: &str, c: char) -> PatternError {
        if c == ')' && flags.chars().all(|f| "aiLmsux".contains(f)) && !flags.is_empty() {
            return PatternError::new(format!("the flags '(?{flags})' must stand at the very start of the pattern"));
        }
        if c == '<' {
            return PatternError::new("'(?<name>' is not Python's syntax").with_hint("a named group is (?P<name>…)");
        }
        PatternError::new(format!("'(?{flags}{c}' is not known to Python's patterns"))
    }

    fn escape(&mut self) -> Result<After> {
        let Some(c) = self.next() else {
            return Err(PatternError::new("the pattern ends in a single '\\'"));
        };
        match c {
            'A' | 'Z' | 'b' | 'B' => {
                self.out.push('\\');
                self.out.push(if c == 'Z' { 'z' } else { c });
                return Ok(After::Nothing);
            }
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => {
                self.out.push('\\');
                self.out.push(c);
            }
            '1'..='9' => self.back_reference(c)?,
            _ => {
                let literal = self.character(c)?;
                self.literal(literal);
            }
        }
        Ok(After::Element)
    }

    /// `\1` to `\99`, or three octal digits.
    fn back_reference(&mut self, first: char) -> Result<()> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            self.at += 1;
            digits.push(second);
            let octal = |c: char| ('0'..='7').contains(&c);
            if let Some(third) = self.peek().filter(|c| octal(*c) && octal(first) && octal(second)) {
                self.at += 1;
                digits.push(third);
                let code = u32::from_str_radix(&digits, 8).unwrap_or(u32::MAX);
                return match char::from_u32(code).filter(|_| code <= 0o377) {
                    Some(c) => {
                        self.literal(c);
                        Ok(())
                    }
                    None => Err(PatternError::new(format!("the octal escape '\\{digits}' is larger than \\377"))),
                };
            }
        }
        let number: usize = digits.parse().unwrap_or(usize::MAX);
        self.check_reference(Some(number), &format!("\\{number}"))?;
        // Kept apart from a digit that follows.
        let _ = write!(self.out, r"(?:\{number})");
        self.backtracking = true;
        Ok(())
    }

    /// An escape that stands for one character, the same inside and outside of classes.
    fn character(&mut self, c: char) -> Result<char> {
        Ok(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => self.hex(c, 2)?,
            'u' => self.hex(c, 4)?,
            'U' => self.hex(c, 8)?,
            '0' => {
                let mut code = 0;
                for _ in 0..2 {
                    if let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) {
                        self.at += 1;
                        code = code * 8 + digit;
                    }
                }
                char::from_u32(code).unwrap_or('\0')
            }
            'N' => {
                return Err(PatternError::new("a character by name, '\\N{…}', is not supported")
                    .with_hint("write the character itself"))
            }
            'p' | 'P' => {
                return Err(PatternError::new(format!(
                    "'\\{c}' (a Unicode property) is not known to Python's patterns"
                )));
            }
            c if c.is_ascii_alphanumeric() => {
                return Err(PatternError::new(format!("'\\{c}' is not known to Python's patterns")));
            }
            c => c,
        })
    }

    fn hex(&mut self, letter: char, length: usize) -> Result<char> {
        let digits: String = self.chars[self.at..].iter().take(length).take_while(|c| c.is_ascii_hexdigit()).collect();
        let found = (digits.len() == length).then(|| u32::from_str_radix(&digits, 16).ok()).flatten();
        self.at += digits.len();
        found.and_then(char::from_u32).ok_or_else(|| {
            PatternError::new(format!("'\\{letter}{digits}' is no character; {length} hexadecimal digits are needed"))
        })
    }

    /// A class after its `[`.
    fn class(&mut self) -> Result<()> {
        let unfinished = || PatternError::new("a '[' has no ']'");
        let negated = self.eat("^");
        let mut items = String::new();
        let mut first = true;
        loop {
            let c = self.next().ok_or_else(unfinished)?;
            if c == ']' && !first {
                break;
            }
            first = false;
            let low = self.class_item(c)?;
            let is_range = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            if !is_range {
                low.push(&mut items);
                continue;
            }
            self.at += 1;
            let c = self.next().ok_or_else(unfinished)?;
            let high = self.class_item(c)?;
            match (low, high) {
                (ClassItem::Char(low), ClassItem::Char(high)) if low <= high => {
                    push_literal(&mut items, low);
                    items.push('-');
                    push_literal(&mut items, high);
                }
                _ => {
                    return Err(PatternError::new("a range in '[…]' does not go from a smaller to a larger character"))
                }
            }
        }
        self.out.push('[');
        self.out.push_str(if negated { "^" } else { "" });
        self.out.push_str(&items);
        self.out.push(']');
        Ok(())
    }

    fn class_item(&mut self, c: char) -> Result<ClassItem> {
        if c != '\\' {
            return Ok(ClassItem::Char(c));
        }
        let c = self.next().ok_or_else(|| PatternError::new("a '[' has no ']'"))?;
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(ClassItem::Set(c)),
            'b' => Ok(ClassItem::Char('\u{8}')),
            '1'..='7' => {
                let mut code = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    if let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) {
                        self.at += 1;
                        code = code * 8 + digit;
                    }
                }
                let fits = char::from_u32(code).filter(|_| code <= 0o377);
                fits.map(ClassItem::Char).ok_or_else(|| PatternError::new("an octal escape is larger than \\377"))
            }
            c => self.character(c).map(ClassItem::Char),
        }
    }
}

enum ClassItem {
    Char(char),
    Set(char),
}

impl ClassItem {
    fn push(&self, out: &mut String) {
        match self {
            Self::Char(c) => push_literal(out, *c),
            Self::Set(c) => {
                out.push('\\');
                out.push(*c);
            }
        }
    }
}

/// A character that stands for itself, inside and outside of classes.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | ' ') {
        out.push(c);
    } else {
        let _ = write!(out, r"\x{{{:x}}}", u32::from(c));
    }
}
