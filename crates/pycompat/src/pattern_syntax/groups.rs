//! Translates groups, flags and references to groups.

use super::{PatternError, Result, Translator, MAX_DEPTH};
use std::fmt::Write as _;

impl Translator {
    /// Translates flags for the whole pattern, which Python accepts only at its start.
    pub(super) fn global_flags(&mut self) -> Result<()> {
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

    /// Returns the flags that are relevant here and have the same meaning in the `regex` crate. `m` is handled by the translator.
    pub(super) fn flags(&self, flags: &str) -> Result<String> {
        let mut known = String::new();
        for flag in flags.chars() {
            match flag {
                'i' | 's' => known.push(flag),
                'm' | 'u' => {}
                'a' | 'L' | 'x' => return Err(PatternError::new(format!("the flag (?{flag}) is not supported"))),
                other => {
                    return Err(PatternError::new(format!("'(?{other}' is not a flag of Python's regular expressions")))
                }
            }
        }
        Ok(known)
    }

    /// Translates a group after its `(`. Returns `false` if it was a comment.
    pub(super) fn group(&mut self) -> Result<bool> {
        if self.multiline.len() > MAX_DEPTH {
            return Err(PatternError::new(format!("groups are nested more than {MAX_DEPTH} deep")));
        }
        let mut multiline = self.is_multiline();
        let mut most_alternatives = usize::MAX;
        let mut capturing = false;
        if !self.accept("?") {
            capturing = true;
            self.out.push('(');
        } else if self.accept("#") {
            return match self.take_until(')') {
                Some(_) => Ok(false),
                None => Err(PatternError::new("a comment '(?#' has no ')'")),
            };
        } else if self.accept("P") {
            if !self.named_group()? {
                return Ok(true);
            }
            capturing = true;
        } else if self.accept("(") {
            self.condition()?;
            most_alternatives = 2;
        } else if !self.parse_lookaround() {
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
        if !self.accept(")") {
            return Err(PatternError::new("a '(' has no ')'"));
        }
        self.out.push(')');
        Ok(true)
    }

    pub(super) fn parse_lookaround(&mut self) -> bool {
        for sign in ["=", "!", "<=", "<!", ">"] {
            if self.accept(sign) {
                let _ = write!(self.out, "(?{sign}");
                self.backtracking = true;
                return true;
            }
        }
        false
    }

    /// Translates `(?P<name>`, which opens a group (`true`), or `(?P=name)`, which is a complete back-reference (`false`).
    pub(super) fn named_group(&mut self) -> Result<bool> {
        if self.accept("=") {
            let name = self.take_until(')').unwrap_or_default();
            let number = self.group_named(&name);
            self.check_reference(number, &format!("(?P={name})"))?;
            let _ = write!(self.out, r"\k<{name}>");
            self.backtracking = true;
            return Ok(false);
        }
        if !self.accept("<") {
            return Err(PatternError::new("'(?P' must be followed by '<name>' or '=name'"));
        }
        let name = self.take_until('>').unwrap_or_default();
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

    pub(super) fn group_named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// Checks that a back-reference comes after the end of its group.
    pub(super) fn check_reference(&self, number: Option<usize>, text: &str) -> Result<()> {
        match number {
            Some(number) if self.open.contains(&number) => {
                Err(PatternError::new(format!("'{text}' refers to the group that contains it")))
            }
            Some(number) if number <= self.groups => Ok(()),
            _ => Err(PatternError::new(format!("'{text}' refers to a group that is not there before it"))),
        }
    }

    pub(super) fn condition(&mut self) -> Result<()> {
        let name = self.take_until(')').unwrap_or_default();
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

    /// Translates `(?:`, `(?i:`, `(?-i:`. Returns whether multi-line mode is active inside.
    pub(super) fn flagged_group(&mut self) -> Result<bool> {
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

    pub(super) fn unknown_extension(&self, flags: &str, c: char) -> PatternError {
        if c == ')' && flags.chars().all(|f| "aiLmsux".contains(f)) && !flags.is_empty() {
            return PatternError::new(format!("the flags '(?{flags})' must be at the very start of the pattern"));
        }
        if c == '<' {
            return PatternError::new("'(?<name>' is not Python's syntax").with_hint("a named group is (?P<name>…)");
        }
        PatternError::new(format!("'(?{flags}{c}' is not known to Python's patterns"))
    }
}
