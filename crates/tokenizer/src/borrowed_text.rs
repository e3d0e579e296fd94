//! Strings of a JSON file that are not copied if possible.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;

/// A string that borrows from the bytes of the file unless it contains escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BorrowedText<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = BorrowedText<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(BorrowedText(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(BorrowedText(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Reader)
    }
}

impl<'a> BorrowedText<'a> {
    /// Splits a string at its space into two words; `None` unless it has exactly one space.
    pub(super) fn halves(&self) -> Option<(Self, Self)> {
        let (left, right) = self.0.split_once(' ').filter(|(_, right)| !right.contains(' '))?;
        let part = |from: usize, to: usize| match &self.0 {
            Cow::Borrowed(text) => BorrowedText(Cow::Borrowed(&text[from..to])),
            Cow::Owned(text) => BorrowedText(Cow::Owned(text[from..to].to_owned())),
        };
        Some((part(0, left.len()), part(self.0.len() - right.len(), self.0.len())))
    }
}
