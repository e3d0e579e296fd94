//! Layout of JSON in a file: one value per line, or an array or objects over several lines. Only the beginning is read, usually no more
//! than the first line.

use super::packing::UnpackedReader;
use super::{TextFile, MAX_LINE_BYTES};
use gristmill_core::text::shell_quote;
use gristmill_core::{Cancel, Outcome};
use gristmill_pycompat::json_walk::NullVisitor;
use gristmill_pycompat::line_checker::LineChecker;
use std::sync::Arc;

/// Number of bytes that are decompressed at a time.
const UNPACK_BYTES: usize = 16 << 10;
/// Maximum size in bytes of a value over several lines that is examined.
const MAX_BYTES: u64 = 1 << 20;

/// Layout of JSON in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One value per line in the examined part.
    Lines,
    /// Rows with the text field.
    Rows,
    /// Rows without the text field; the reason, and a hint.
    NoText {
        /// Reason.
        why: String,
        /// What the user can do.
        hint: String,
    },
    /// There is no text.
    Empty,
    /// A single array.
    Array,
    /// Objects of several lines each.
    Objects,
}

impl Layout {
    /// Returns a description of a file without lines, and the command that converts it to lines.
    pub fn conversion(&self, file: &TextFile) -> Option<(&'static str, String)> {
        let (why, program) = match self {
            Self::Array => ("it is one JSON array", "'.[]'"),
            Self::Objects => ("its JSON objects take several lines each", "."),
            Self::Lines | Self::Rows | Self::NoText { .. } | Self::Empty => return None,
        };
        let path = shell_quote(&file.path.to_string_lossy());
        let command = match file.packing.filter() {
            None => format!("jq -c {program} {path} > NEW.jsonl"),
            Some(filter) => format!("{filter} < {path} | jq -c {program} > NEW.jsonl"),
        };
        Some((why, command))
    }
}

/// Determines the layout from the beginning of a file. Lines that are not JSON are ignored here, because they are reported when they are
/// read.
pub fn layout_of(file: &TextFile, cancel: &Cancel) -> Outcome<Layout> {
    let mut text = Text::open(file, cancel)?;
    let Some(first) = text.next_content()? else {
        return Ok(if text.taken == 0 && text.input.broken().is_none() { Layout::Empty } else { Layout::Lines });
    };
    match first {
        b'{' => text.objects(),
        b'[' => text.array(),
        _ => Ok(Layout::Lines),
    }
}

/// Whether a text that begins with an array consists of lines: after a whole array another value follows.
pub(super) fn has_array_lines(file: &TextFile, cancel: &Cancel) -> Outcome<bool> {
    let mut text = Text::open(file, cancel)?;
    if text.next_content()? != Some(b'[') || !matches!(text.value(b'[')?, End::Whole { .. }) {
        return Ok(false);
    }
    Ok(matches!(text.next_content()?, Some(b'[' | b'{')))
}

/// Reads the text of a file byte by byte.
struct Text<'a> {
    input: UnpackedReader,
    /// The bytes that were read at once.
    step: Vec<u8>,
    /// Index in `step` of the next byte.
    at: usize,
    /// Number of bytes returned.
    taken: u64,
    cancel: &'a Cancel,
}

/// Reason why reading a value ended.
enum End {
    /// The value is complete; it contains this number of line ends.
    Whole { line_ends: u64 },
    /// The value is longer than [`MAX_LINE_BYTES`], or than [`MAX_BYTES`] and has several lines.
    TooLong,
    /// The text is not JSON, or ended.
    Broken,
}

impl<'a> Text<'a> {
    fn open(file: &TextFile, cancel: &'a Cancel) -> Outcome<Self> {
        let input = UnpackedReader::new(Arc::new(file.open()?), file.packing)?;
        Ok(Self { input, step: Vec::new(), at: 0, taken: 0, cancel })
    }

    fn next(&mut self) -> Outcome<Option<u8>> {
        if self.at >= self.step.len() {
            self.cancel.check()?;
            self.step.resize(UNPACK_BYTES, 0);
            let count = self.input.read(&mut self.step)?;
            self.step.truncate(count);
            self.at = 0;
        }
        let byte = self.step.get(self.at).copied();
        self.at += 1;
        self.taken += u64::from(byte.is_some());
        Ok(byte)
    }

    /// Returns the next byte that is not white space; a byte-order mark at the start of the text is skipped.
    fn next_content(&mut self) -> Outcome<Option<u8>> {
        while let Some(byte) = self.next()? {
            let is_mark = self.taken <= 3 && matches!(byte, 0xef | 0xbb | 0xbf);
            if !is_mark && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
        }
        Ok(None)
    }

    /// Reads the rest of a value that begins with this bracket.
    fn value(&mut self, first: u8) -> Outcome<End> {
        let mut checker = LineChecker::default();
        let (mut byte, mut fed, mut line_ends) = (first, 0, 0);
        loop {
            // Between values a line end is white space; in a string it is not allowed.
            checker.push(&[if byte == b'\n' { b'\r' } else { byte }], &mut NullVisitor);
            fed += 1;
            if checker.valid_bytes() < fed {
                return Ok(End::Broken);
            }
            if matches!(byte, b'}' | b']') && checker.is_json() {
                return Ok(End::Whole { line_ends });
            }
            if fed > MAX_LINE_BYTES as u64 || line_ends > 0 && fed > MAX_BYTES {
                return Ok(End::TooLong);
            }
            let Some(next) = self.next()? else { return Ok(End::Broken) };
            line_ends += u64::from(next == b'\n');
            byte = next;
        }
    }

    fn objects(&mut self) -> Outcome<Layout> {
        match self.value(b'{')? {
            End::TooLong if self.taken <= MAX_LINE_BYTES as u64 => return Ok(Layout::Objects),
            End::Whole { line_ends: 1.. } => {}
            _ => return Ok(Layout::Lines),
        }
        // The first value may be a line with a line end inside it by mistake, so the second value decides.
        Ok(match self.next_content()? {
            None => Layout::Objects,
            Some(b'{') => match self.value(b'{')? {
                End::Whole { line_ends: 1.. } | End::TooLong => Layout::Objects,
                End::Whole { .. } | End::Broken => Layout::Lines,
            },
            Some(_) => Layout::Lines,
        })
    }

    fn array(&mut self) -> Outcome<Layout> {
        Ok(match self.value(b'[')? {
            End::Whole { .. } if self.next_content()?.is_none() => Layout::Array,
            End::TooLong => Layout::Array,
            End::Whole { .. } | End::Broken => Layout::Lines,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::documents::{text_file, Packing};
    use gristmill_storage::{fs::RealFs, publish::write_file};

    fn layout(text: &str) -> Layout {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.jsonl");
        write_file(&RealFs, &path, text.as_bytes(), 0o600).unwrap();
        let file = text_file(path, "a.jsonl".to_owned(), true).unwrap();
        assert_eq!(file.packing, Packing::Plain);
        layout_of(&file, &Cancel::default()).unwrap()
    }

    #[test]
    fn arrays_and_indented_objects_are_recognised() {
        let long = format!("[\n{}  {{}}]", "  {\"a\": [1, 2]},\n".repeat(100_000));
        for text in [
            "[]",
            "[{\"a\": 1}, {\"a\": 2}]\n\n",
            "[\n {\"a\": 1},\n {\"a\": 2}\n]",
            "\u{feff}[1]",
            "\n \n[\n1\n]",
            &long,
        ] {
            assert_eq!(layout(text), Layout::Array, "{}", &text[..text.len().min(40)]);
        }
        let long = format!("{{\n\"a\": [\n{}0]}}", "1,\n".repeat(500_000));
        for text in [
            "{\n \"a\": 1\n}",
            "{\n}{\n}",
            "{\"a\": 1,\n\"b\": \"}\"}\n{\"a\": 2,\n\"b\": 3}\n",
            "\u{feff}\n{\r\n}\r\n",
            &long,
        ] {
            assert_eq!(layout(text), Layout::Objects, "{}", &text[..text.len().min(40)]);
        }
    }

    #[test]
    fn json_lines_are_recognized_although_some_lines_are_invalid() {
        for text in [
            "{\"a\": 1}\n{\"a\": 2}\n",
            "{\"a\": 1}",
            "[1]\n{\"a\": 2}\n",
            "[1]\n[2]\n",
            "{\"a\": 1}\n[1]\n",
            "{\"a\": \"one\ntwo\"}\n{\"a\": 2}\n",
            "{\"a\":\n1}\n{\"a\": 2}\n",
            "{\"a\": 1\n{\"a\": 2}\n",
            "{\"a\": ",
            "{\"a\": 1} {\"a\": 2}\n",
            "[1, 2\n[3]\n",
            "\"text\"\n",
            "words",
            "\n\n",
            "{",
            "[",
        ] {
            assert_eq!(layout(text), Layout::Lines, "{text}");
        }
        assert_eq!(layout(&format!("{{\"a\": \"{}\"}}\n{{}}\n", "x".repeat(2 << 20))), Layout::Lines);
        assert_eq!(layout(""), Layout::Empty);
    }
}
