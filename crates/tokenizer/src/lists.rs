//! The long lists of a byte-pair `tokenizer.json`, tokens and merges, stored as positions in the file.
//!
//! A vocabulary has hundreds of thousands of strings. Two numbers for each need a third of the memory of pointers and copies, and all of it
//! is read several times before a tokenizer can be used.

use super::borrowed_text::BorrowedText;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Flag of a position: the string is in `escaped`.
const ESCAPED: u32 = 1 << 31;

/// Position and length of a string of a list, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct TextSpan {
    at: u32,
    length: u32,
}

/// The strings of a list.
#[derive(Debug, Default)]
struct Texts<'a> {
    /// The text to which positions are relative. It starts with the first string without escapes, and extends to the end of the file once
    /// the list is read.
    from: Option<&'a str>,
    /// Strings with escapes in the file, unescaped and concatenated.
    escaped: String,
}

/// Spellings and ids, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Vocab<'a> {
    texts: Texts<'a>,
    all: Vec<(TextSpan, u32)>,
}

/// Pairs of spellings, in merge order.
#[derive(Debug, Default)]
pub(super) struct Merges<'a> {
    texts: Texts<'a>,
    all: Vec<[TextSpan; 2]>,
}

/// A pair as a list of two strings, or as one string with a space between them.
enum Merge<'a> {
    Pair(BorrowedText<'a>, BorrowedText<'a>),
    Line(BorrowedText<'a>),
}

impl<'a> Texts<'a> {
    /// Adds the next string of a file. Fails if its position does not fit into 31 bits, or its length into 32 bits.
    fn put<E: Error>(&mut self, text: &BorrowedText<'a>) -> Result<TextSpan, E> {
        let (at, bit) = match &text.0 {
            Cow::Borrowed(text) => {
                let from = *self.from.get_or_insert(text);
                (text.as_ptr().addr().wrapping_sub(from.as_ptr().addr()), 0)
            }
            Cow::Owned(text) => {
                self.escaped.push_str(text);
                (self.escaped.len() - text.len(), ESCAPED)
            }
        };
        match (u32::try_from(at), u32::try_from(text.0.len())) {
            (Ok(at), Ok(length)) if at < ESCAPED => Ok(TextSpan { at: at | bit, length }),
            _ => Err(E::custom("the file is too long")),
        }
    }

    /// Finishes the strings of `file`. Returns `None` if they are not in this text.
    fn end(&mut self, file: &'a str) -> Option<()> {
        if let Some(from) = &mut self.from {
            *from = file.get(from.as_ptr().addr().checked_sub(file.as_ptr().addr())?..)?;
        }
        Some(())
    }

    #[inline]
    fn get(&self, TextSpan { at, length }: TextSpan) -> &str {
        let texts = if at & ESCAPED == 0 { self.from.unwrap_or_default() } else { &self.escaped };
        let at = (at & !ESCAPED) as usize;
        texts.get(at..at + length as usize).unwrap_or_default()
    }
}

impl<'a> Vocab<'a> {
    /// Finishes the list. Returns `None` if the strings are not in `file`.
    pub(super) fn end(&mut self, file: &'a str) -> Option<()> {
        self.texts.end(file)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the spelling and the id of the token at this position in the file.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<(&str, u32)> {
        self.all.get(number).map(|(place, id)| (self.texts.get(*place), *id))
    }

    /// Returns all spellings and ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, u32)> {
        self.all.iter().map(|(place, id)| (self.texts.get(*place), *id))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(|(_, id)| *id)
    }

    /// Returns the length of each spelling, in bytes.
    pub(super) fn lengths(&self) -> impl Iterator<Item = usize> + '_ {
        self.all.iter().map(|(place, _)| place.length as usize)
    }
}

impl<'a> Merges<'a> {
    /// Parses the merges from their JSON text.
    pub(super) fn of(list: &'a str) -> Option<Self> {
        let mut merges: Self = serde_json::from_str(list).ok()?;
        merges.texts.end(list)?;
        Some(merges)
    }

    /// Parses the merges at the start of a text. Returns them and their length in bytes.
    pub(super) fn first_of(text: &'a str) -> Option<(Self, usize)> {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Self>();
        let mut merges = values.next()?.ok()?;
        merges.texts.end(text)?;
        Some((merges, values.byte_offset()))
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the total length of all spellings, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.all.iter().flatten().map(|place| place.length as usize).sum()
    }

    /// Returns all pairs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.of_places(&self.all)
    }

    /// Returns the pairs of a range, `at_once` at a time. If the range is out of bounds, returns all pairs.
    pub(super) fn pairs_in(
        &self,
        range: Range<usize>,
        at_once: usize,
    ) -> impl Iterator<Item = impl Iterator<Item = (&str, &str)> + Clone> {
        self.all.get(range).unwrap_or(&self.all).chunks(at_once).map(|some| self.of_places(some))
    }

    fn of_places<'p>(&'p self, places: &'p [[TextSpan; 2]]) -> impl Iterator<Item = (&'p str, &'p str)> + Clone {
        places.iter().map(|[left, right]| (self.texts.get(*left), self.texts.get(*right)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Vocab<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vocab<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("spellings and ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let Vocab { mut texts, mut all } = Vocab::default();
                while let Some((text, id)) = map.next_entry()? {
                    all.push((texts.put(&text)?, id));
                }
                Ok(Vocab { texts, all })
            }
        }
        from.deserialize_map(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merges<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Merges<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("pairs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let Merges { mut texts, mut all } = Merges::default();
                let (mut has_pairs, mut has_lines) = (false, false);
                while let Some(merge) = list.next_element()? {
                    let (left, right) = match merge {
                        Merge::Pair(left, right) => {
                            has_pairs = true;
                            (left, right)
                        }
                        Merge::Line(line) => {
                            has_lines = true;
                            // The first line of a merges file is a version, which the reference ignores.
                            if line.0.starts_with("#version") {
                                continue;
                            }
                            line.halves().ok_or_else(|| A::Error::custom("a merge is not two words"))?
                        }
                    };
                    all.push([texts.put(&left)?, texts.put(&right)?]);
                }
                if has_pairs && has_lines {
                    return Err(A::Error::custom("merges are written in two ways"));
                }
                Ok(Merges { texts, all })
            }
        }
        from.deserialize_seq(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Merge<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("two spellings")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Merge::Line(BorrowedText(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Merge::Line(BorrowedText(Cow::Owned(text.to_owned()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let missing = || A::Error::custom("a merge is not two spellings");
                let left = list.next_element()?.ok_or_else(missing)?;
                let right = list.next_element()?.ok_or_else(missing)?;
                match list.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Merge::Pair(left, right)),
                    Some(_) => Err(missing()),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_read_as_pairs_or_lines_but_not_mixed() {
        let read = |text: &str| -> Option<Vec<(String, String)>> {
            let merges = Merges::of(text)?;
            Some(merges.iter().map(|(left, right)| (left.to_owned(), right.to_owned())).collect())
        };
        let two = vec![("a".to_owned(), "b".to_owned()), ("é".to_owned(), "\"".to_owned())];
        assert_eq!(read(r#"[["a","b"],["é","\""]]"#).unwrap(), two);
        assert_eq!(read("[\"#version: 0.2\",\"a b\",\"é \\\"\"]").unwrap(), two);
        assert_eq!(read("[]").unwrap(), []);
        for wrong in [r#"["ab"]"#, r#"["a b c"]"#, r#"[["a"]]"#, r#"[["a","b","c"]]"#, r#"[["a","b"],"a b"]"#, "[1]"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn escaped_and_plain_vocabulary_texts_are_read() {
        let json = r#" {"\"":7,"":8,"b\u00e9":9,"one":10,"\\":11,"é":12,"a\"b":13}"#;
        let mut vocab: Vocab<'_> = serde_json::from_str(json).unwrap();
        vocab.end(json).unwrap();
        let all: Vec<(&str, u32)> = vocab.iter().collect();
        assert_eq!(all, [("\"", 7), ("", 8), ("bé", 9), ("one", 10), ("\\", 11), ("é", 12), ("a\"b", 13)]);
        assert_eq!((vocab.get(3), vocab.get(7), vocab.len()), (Some(("one", 10)), None, 7));
        assert_eq!(vocab.ids().zip(vocab.lengths()).last(), Some((13, 3)));
        // A different text than the one that was parsed.
        let mut vocab: Vocab<'_> = serde_json::from_str(json).unwrap();
        assert!(vocab.end(&json[json.len() - 1..]).is_none());
        let text = r#"[["a","\t"],["b","cd"],["e","f"]] and more"#;
        let (merges, length) = Merges::first_of(text).unwrap();
        assert_eq!(&text[length..], " and more");
        let some: Vec<Vec<(&str, &str)>> = merges.pairs_in(1..3, 1).map(Iterator::collect).collect();
        assert_eq!((some, merges.bytes()), (vec![vec![("b", "cd")], vec![("e", "f")]], 7));
        assert!(Merges::first_of("[[\"a\",").is_none() && Merges::first_of("").is_none());
    }
}
