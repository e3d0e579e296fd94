//! Reads a pickled list of pairs.

use super::PROTO;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::ops::Range;

/// Number of bytes that are read at a time.
const WINDOW_BYTES: usize = 256 << 10;
/// Maximum number of values on the stack; lists of pairs need no more.
const MAX_STACK: usize = 16;
/// Maximum number of memoized values that can be referred to later. Programs refer only to pairs that occur twice in the list.
const MAX_MEMO: usize = 1 << 18;
/// Maximum length of a number in decimal digits.
const MAX_DECIMAL_DIGITS: usize = 24;

/// A value on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// The list that is being filled.
    Outer,
    /// A list inside it, still empty.
    Inner,
    Mark,
    Number(u64),
    Pair(u64, u64),
}

/// Result of one operation.
enum Step {
    Nothing,
    Item(u64, u64),
    End,
}

/// Iterates over the items of a pickled list of pairs, in bounded memory.
///
/// Supports protocols 2 to 5, with or without frames; pairs are tuples or lists. Any other content is a failure with its byte offset, after
/// which there are no more items.
pub struct IndexReader<'a> {
    file: &'a ReadFile,
    window: Vec<u8>,
    /// Offset of the window in the file, and position in the window.
    start: u64,
    at: usize,
    end: u64,
    stack: Vec<Value>,
    /// Whether items were returned before their `APPENDS`.
    handed_out: bool,
    /// The most recent value, for `MEMOIZE`.
    latest: Option<Value>,
    memo: Vec<Value>,
    memoized: u64,
    is_begun: bool,
    is_ended: bool,
    takes_negative: bool,
}

impl<'a> IndexReader<'a> {
    /// Returns a reader for the pickle in a byte range of a file.
    pub fn new(file: &'a ReadFile, range: Range<u64>) -> Self {
        Self {
            file,
            window: Vec::new(),
            start: range.start,
            at: 0,
            end: range.end,
            stack: Vec::with_capacity(MAX_STACK),
            handed_out: false,
            latest: None,
            memo: Vec::new(),
            memoized: 0,
            is_begun: false,
            is_ended: false,
            takes_negative: false,
        }
    }

    /// Also accepts negative 32-bit numbers, which are returned as two's complement of 64 bits. A faulty merge may have placed documents
    /// before the first token.
    pub fn with_negative(self) -> Self {
        Self { takes_negative: true, ..self }
    }

    /// Returns the next pair; `None` at the end of the list, which must be the end of the range.
    pub fn next_item(&mut self) -> Outcome<Option<(u64, u64)>> {
        if self.is_ended {
            return Ok(None);
        }
        let result = self.advance();
        self.is_ended = !matches!(result, Ok(Some(_)));
        result
    }

    /// Returns the offset of the next operation in the file.
    pub fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    fn advance(&mut self) -> Outcome<Option<(u64, u64)>> {
        if !self.is_begun {
            self.is_begun = true;
            let [first, protocol] = self.take::<2>()?;
            if first != PROTO || !(2..=5).contains(&protocol) {
                return Err(self.refuse("it does not begin as a Python pickle of protocol 2 to 5"));
            }
        }
        loop {
            match self.step()? {
                Step::Nothing => {}
                Step::Item(offset, length) => return Ok(Some((offset, length))),
                Step::End if self.position() == self.end => return Ok(None),
                Step::End => return Err(self.refuse("bytes follow the end of the pickle")),
            }
        }
    }

    fn step(&mut self) -> Outcome<Step> {
        let [operation] = self.take::<1>()?;
        match operation {
            b'K' | b'M' | b'J' | 0x8a | 0x8b | b'I' | b'L' => self.number(operation)?,
            0x86 => {
                let (second, first) = (self.stack.pop(), self.stack.pop());
                return match (first, second) {
                    (Some(Value::Number(first)), Some(Value::Number(second))) => self.pair(first, second),
                    _ => Err(self.refuse("an item is not a pair of numbers")),
                };
            }
            b't' => {
                let (first, second) = self.two_above_mark()?;
                return self.pair(first, second);
            }
            b'(' => self.push(Value::Mark)?,
            b']' => {
                let list = if self.stack.is_empty() { Value::Outer } else { Value::Inner };
                self.push(list)?;
            }
            b'e' => return self.appends(),
            b'a' => {
                return match (self.stack.pop(), self.stack.as_slice()) {
                    (Some(Value::Pair(offset, length)), [Value::Outer]) => {
                        self.latest = Some(Value::Outer);
                        Ok(Step::Item(offset, length))
                    }
                    _ => Err(self.refuse("an item is not a pair of numbers")),
                };
            }
            0x94 => self.memoize(self.memoized)?,
            b'q' => {
                let [number] = self.take::<1>()?;
                self.memoize(number.into())?;
            }
            b'r' => {
                let number = u32::from_le_bytes(self.take()?);
                self.memoize(number.into())?;
            }
            b'h' => {
                let [number] = self.take::<1>()?;
                return self.memoized_value(number.into());
            }
            b'j' => {
                let number = u32::from_le_bytes(self.take()?);
                return self.memoized_value(number.into());
            }
            0x95 => {
                let length = u64::from_le_bytes(self.take()?);
                if length > self.end.saturating_sub(self.position()) {
                    return Err(self.refuse("it is cut short: a frame is longer than what is left"));
                }
            }
            b'.' if self.stack == [Value::Outer] => return Ok(Step::End),
            b'.' => return Err(self.refuse("it ends inside of the list, or is no list")),
            b'c' | 0x93 | b'R' | 0x81 | b'b' | 0x92 | b'i' | b'o' | 0x82..=0x84 | b'P' | b'Q' => {
                let hint = "do not open it with Python: it is malicious, or it is not an index";
                return Err(self.refuse("it asks for code to be run, which an index has no use for").with_hint(hint));
            }
            _ => return Err(self.refuse("it holds something else than a list of pairs of numbers")),
        }
        Ok(Step::Nothing)
    }

    /// Pushes the number that follows one of the operations for numbers.
    #[inline]
    fn number(&mut self, operation: u8) -> Outcome<()> {
        match operation {
            b'K' => {
                let [number] = self.take::<1>()?;
                self.push(Value::Number(number.into()))
            }
            b'M' => {
                let number = u16::from_le_bytes(self.take()?);
                self.push(Value::Number(number.into()))
            }
            b'J' => {
                let number = i64::from(i32::from_le_bytes(self.take()?));
                if number < 0 && !self.takes_negative {
                    return Err(self.refuse("a number is negative"));
                }
                self.push(Value::Number(number.cast_unsigned()))
            }
            0x8a => {
                let [length] = self.take::<1>()?;
                self.long(length.into())
            }
            0x8b => {
                let length = u32::from_le_bytes(self.take()?);
                self.long(u64::from(length))
            }
            operation => self.decimal(operation == b'L'),
        }
    }

    /// Completes a pair: an item if the list is being filled, otherwise a value on the stack.
    fn pair(&mut self, first: u64, second: u64) -> Outcome<Step> {
        if self.stack == [Value::Outer, Value::Mark] {
            self.handed_out = true;
            self.latest = Some(Value::Pair(first, second));
            return Ok(Step::Item(first, second));
        }
        self.push(Value::Pair(first, second))?;
        Ok(Step::Nothing)
    }

    fn appends(&mut self) -> Outcome<Step> {
        if self.stack == [Value::Outer, Value::Mark] {
            self.stack.pop();
            self.handed_out = false;
            self.latest = Some(Value::Outer);
            return Ok(Step::Nothing);
        }
        let (first, second) = self.two_above_mark()?;
        match self.stack.pop() {
            Some(Value::Inner) => self.pair(first, second),
            _ => Err(self.refuse("an item is not a pair of numbers")),
        }
    }

    /// Pops two numbers and the mark below them.
    fn two_above_mark(&mut self) -> Outcome<(u64, u64)> {
        let (second, first, mark) = (self.stack.pop(), self.stack.pop(), self.stack.pop());
        match (mark, first, second) {
            // If items of a group were already returned, its mark is not the mark of a pair.
            (Some(Value::Mark), Some(Value::Number(first)), Some(Value::Number(second)))
                if !self.handed_out || self.stack.len() >= 2 =>
            {
                Ok((first, second))
            }
            _ => Err(self.refuse("an item is not a pair of numbers")),
        }
    }

    fn push(&mut self, value: Value) -> Outcome<()> {
        if self.stack.len() >= MAX_STACK {
            return Err(self.refuse("it holds something else than a list of pairs of numbers"));
        }
        self.stack.push(value);
        self.latest = Some(value);
        Ok(())
    }

    fn memoize(&mut self, number: u64) -> Outcome<()> {
        let Some(value) = self.latest else { return Err(self.refuse("it stores a value that does not exist")) };
        self.memoized = self.memoized.max(number.saturating_add(1));
        // Values memoized out of order or beyond the limit are not stored. This fails only if they are referred to.
        if number == self.memo.len() as u64 && self.memo.len() < MAX_MEMO {
            self.memo.push(value);
        }
        Ok(())
    }

    fn memoized_value(&mut self, number: u64) -> Outcome<Step> {
        let value = usize::try_from(number).ok().and_then(|at| self.memo.get(at)).copied();
        match value {
            Some(Value::Pair(first, second)) => self.pair(first, second),
            Some(Value::Number(number)) => self.push(Value::Number(number)).map(|()| Step::Nothing),
            _ => Err(self.refuse("it refers to a value that is no pair, or too far back")),
        }
    }

    /// Reads a number of `length` bytes in two's complement.
    fn long(&mut self, length: u64) -> Outcome<()> {
        let mut digits = [0; 9];
        let Some(place) = usize::try_from(length).ok().and_then(|length| digits.get_mut(..length)) else {
            return Err(self.refuse("a number is greater than any file"));
        };
        self.fill(place)?;
        let is_negative = place.last().is_some_and(|byte| byte & 0x80 != 0);
        if is_negative || digits[8] != 0 {
            return Err(self.refuse("a number is negative, or greater than any file"));
        }
        let [a, b, c, d, e, f, g, h, _] = digits;
        self.push(Value::Number(u64::from_le_bytes([a, b, c, d, e, f, g, h])))
    }

    /// Reads a number in decimal digits up to the end of the line.
    fn decimal(&mut self, is_long: bool) -> Outcome<()> {
        let mut text = Vec::with_capacity(MAX_DECIMAL_DIGITS);
        loop {
            match self.take::<1>()? {
                [b'\n'] => break,
                [byte] if text.len() < MAX_DECIMAL_DIGITS => text.push(byte),
                _ => return Err(self.refuse("a number is greater than any file")),
            }
        }
        let digits = if is_long { text.strip_suffix(b"L").unwrap_or(&text) } else { &text };
        // `I00` and `I01` are false and true.
        let is_plain = digits.iter().all(u8::is_ascii_digit) && (is_long || !matches!(digits, b"00" | b"01"));
        let number = std::str::from_utf8(digits).ok().filter(|_| is_plain).and_then(|text| text.parse().ok());
        match number {
            Some(number) => self.push(Value::Number(number)),
            None => Err(self.refuse("a number cannot be read")),
        }
    }

    fn take<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, target: &mut [u8]) -> Outcome<()> {
        if self.window.len() - self.at < target.len() {
            self.refill()?;
        }
        let Some(bytes) = self.window.get(self.at..self.at + target.len()) else {
            return Err(self.refuse("it is cut short"));
        };
        target.copy_from_slice(bytes);
        self.at += target.len();
        Ok(())
    }

    /// Moves the window to the current position.
    fn refill(&mut self) -> Outcome<()> {
        self.start = self.position();
        self.at = 0;
        let left = self.end.saturating_sub(self.start);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(WINDOW_BYTES);
        self.window.resize(wanted, 0);
        let mut filled = 0;
        while let Some(rest) = self.window.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let count = self
                .file
                .read_at(rest, self.start + filled as u64)
                .map_err(|error| Failure::io("reading the index", self.file.path(), &error))?;
            if count == 0 {
                break;
            }
            filled += count;
        }
        self.window.truncate(filled);
        Ok(())
    }

    fn refuse(&self, why: &str) -> Failure {
        Failure::data("reading the index", why).on(Subject::path(self.file.path()).at(self.position()))
    }
}
