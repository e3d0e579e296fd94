//! A part of a sample prepared for display: text, a tree, a picture as coloured cells, an array, a sound, bytes.
//!
//! Owns only the decoding for display: it must not draw, open files or start threads. [`picture::decode`] must be called on a worker
//! thread, since a large picture takes a second.
//!
//! ```
//! use gristmill_data::preview::{tree, Drawable};
//! let drawable = Drawable::from_json(&serde_json::json!({"id": 1}));
//! let Drawable::Tree(lines) = drawable else { unreachable!() };
//! assert_eq!(tree::tree_line(&lines[0]), "id: 1");
//! ```

pub mod cells;
mod chat;
pub mod hex;
pub mod json;
pub mod msgpack;
mod part;
pub mod picture;
pub mod tensor;
pub mod text;
pub mod tokens;
pub mod tree;
pub mod tree_build;
pub mod waveform;

pub use part::{is_prose, lead, page, part, read, Page, PartBytes, PartPreview, ReadFrom, LEAD_BYTES, PAGE_BYTES};

use hex::HexView;
use picture::Picture;
use std::ops::Range;
use std::sync::Arc;
use tensor::TensorView;
use tokens::TokenText;
use tree::TreeLine;
use waveform::Waveform;

/// Something a screen can draw. All text in it is safe to show.
#[derive(Clone, Debug)]
pub enum Drawable {
    /// A picture.
    Picture(Arc<Picture>),
    /// Running text, not wrapped; line breaks kept.
    Text(Arc<str>),
    /// A JSON value as lines.
    Tree(Arc<[TreeLine]>),
    /// A page of the texts of a part.
    Reading(Arc<ReadingText>),
    /// One short line: a number, a shape, a size.
    Fact(Arc<str>),
    /// One array, or all arrays of an archive.
    Tensors(Arc<[TensorView]>),
    /// The waveform of a sound.
    Waveform(Arc<Waveform>),
    /// Bytes in hexadecimal.
    Hex(Arc<HexView>),
    /// Token ids and their text.
    Tokens(Arc<TokenText>),
}

/// Running text with headings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadingText {
    /// Text, safe to show; line breaks kept.
    pub text: String,
    /// Ranges of the lines that are headings, in bytes of the text, in order.
    pub headings: Vec<Range<usize>>,
    /// Offset of the byte to display first, if that is not the beginning.
    pub start: Option<usize>,
}

/// Maximum number of characters of a text that are shown; a note states the number of omitted ones.
pub const SHOWN_CHARACTERS: usize = 20_000;

impl Drawable {
    /// Converts text from the data; control characters become visible placeholders, line breaks are kept.
    pub fn from_text(raw: &str) -> Self {
        Self::Text(text::safe_lines(raw, SHOWN_CHARACTERS).into())
    }

    /// Converts a JSON value: texts to text, everything else to a tree.
    pub fn from_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(s) => Self::from_text(s),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => Self::Tree(tree::lines(value).into()),
            other => Self::Fact(other.to_string().into()),
        }
    }

    /// Creates one short line from text of this program.
    pub fn fact(line: impl Into<String>) -> Self {
        Self::Fact(line.into().into())
    }
}
