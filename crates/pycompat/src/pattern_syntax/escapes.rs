//! Translates escapes and classes.

use super::{push_literal, FollowRule, PatternError, Result, Translator};
use std::fmt::Write as _;

impl Translator {
    pub(super) fn escape(&mut self) -> Result<FollowRule> {
        let Some(c) = self.next() else {
            return Err(PatternError::new("the pattern ends in a single '\\'"));
        };
        match c {
            'A' | 'Z' | 'b' | 'B' => {
                self.out.push('\\');
                self.out.push(if c == 'Z' { 'z' } else { c });
                return Ok(FollowRule::Nothing);
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
        Ok(FollowRule::Element)
    }

    /// Translates `\1` to `\99`, or three octal digits.
    pub(super) fn back_reference(&mut self, first: char) -> Result<()> {
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
        // The group separates the reference from a digit that follows.
        let _ = write!(self.out, r"(?:\{number})");
        self.backtracking = true;
        Ok(())
    }

    /// Returns the character of an escape that denotes one character, inside or outside of classes.
    pub(super) fn character(&mut self, c: char) -> Result<char> {
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

    pub(super) fn hex(&mut self, letter: char, length: usize) -> Result<char> {
        let digits: String = self.chars[self.at..].iter().take(length).take_while(|c| c.is_ascii_hexdigit()).collect();
        let found = (digits.len() == length).then(|| u32::from_str_radix(&digits, 16).ok()).flatten();
        self.at += digits.len();
        found.and_then(char::from_u32).ok_or_else(|| {
            PatternError::new(format!("'\\{letter}{digits}' is no character; {length} hexadecimal digits are needed"))
        })
    }

    /// Translates a class after its `[`.
    pub(super) fn class(&mut self) -> Result<()> {
        let unfinished = || PatternError::new("a '[' has no ']'");
        let negated = self.accept("^");
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
