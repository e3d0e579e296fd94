//! A part of a sample made ready to be shown: text, a tree, a picture as coloured cells, an array, a sound, bytes.
//!
//! Owns the decoding for the eye and nothing else: it draws nothing, opens no file and starts no thread. Whoever calls
//! [`picture::decode`] does so on a worker thread, since a large picture takes a second.
//!
//! ```
//! use gristmill::preview::{text, Drawable};
//! let drawable = Drawable::from_json(&serde_json::json!({"id": 1}));
//! let Drawable::Tree(lines) = drawable else { unreachable!() };
//! assert_eq!(text::tree_line(&lines[0]), "id: 1");
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
    /// Running text, unwrapped; line breaks kept.
    Text(Arc<str>),
    /// A JSON value as lines.
    Tree(Arc<[TreeLine]>),
    /// A page of the texts of a part, as the reader shows them.
    Reading(Arc<Reading>),
    /// One short line: a number, a shape, a size.
    Fact(Arc<str>),
    /// Arrays: one, or those of an archive.
    Tensors(Arc<[TensorView]>),
    /// The outline of a sound.
    Waveform(Arc<Waveform>),
    /// Bytes, digit by digit.
    Hex(Arc<HexView>),
    /// Token ids and their text.
    Tokens(Arc<TokenText>),
}

/// Running text with headings in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Safe to show; line breaks kept.
    pub text: String,
    /// Lines that are headings, as bytes of the text; in order.
    pub headings: Vec<Range<usize>>,
    /// The byte from which it is to be looked at, when that is not the beginning.
    pub start: Option<usize>,
}

/// Characters of a text that are kept for showing; a note tells how many more there are.
pub const SHOWN_CHARACTERS: usize = 20_000;

impl Drawable {
    /// Text from the data; controls become visible stand-ins, line breaks stay.
    pub fn from_text(raw: &str) -> Self {
        Self::Text(text::safe_lines(raw, SHOWN_CHARACTERS).into())
    }

    /// A JSON value: texts as text, everything else as a tree.
    pub fn from_json(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(s) => Self::from_text(s),
            serde_json::Value::Array(_) | serde_json::Value::Object(_) => Self::Tree(tree::lines(value).into()),
            other => Self::Fact(other.to_string().into()),
        }
    }

    /// One short line of our own.
    pub fn fact(line: impl Into<String>) -> Self {
        Self::Fact(line.into().into())
    }
}
