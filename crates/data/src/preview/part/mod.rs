//! One part of a sample prepared for display, by its name and its content.
//!
//! No function fails: damaged, hostile or oversized content becomes a note next to the content that can be shown. Parts are read through
//! [`PartBytes`], so that a part of many gigabytes is never read whole.

mod av;
mod reading;
mod text;

pub use reading::{is_prose, lead, read, ReadFrom, LEAD_BYTES};

use super::hex::HexView;
use super::tree::TreeLine;
use super::tree_build::Tree;
use super::{json, msgpack, picture, tensor, Drawable};
use crate::source::decode::{part_class, PartClass};
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::text::{bytes as size_words, count, display_safe};
use gristmill_core::{Cancel, MediaType, Outcome};
use gristmill_media::kind::type_by_header;
use std::io::Read as _;
use std::sync::Arc;

/// Random access to the content of one part.
pub trait PartBytes: Send + Sync {
    /// Returns the length in bytes.
    fn len(&self) -> u64;
    /// Whether the content is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads up to `limit` bytes at `from`; fewer only at the end of the part.
    fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>>;
}

impl PartBytes for Vec<u8> {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
    fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let rest = usize::try_from(from).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        Ok(rest.get(..limit).unwrap_or(rest).to_vec())
    }
}

/// A part prepared for display. All text in it is safe to show.
#[derive(Clone, Debug)]
pub struct PartPreview {
    /// Name of the part, raw characters made visible.
    pub name: String,
    /// Kind, dimensions and size: `jpg 640×427 RGB 48.1 KiB`.
    pub title: String,
    /// Content to display.
    pub body: Drawable,
    /// Additional facts, as name and value.
    pub facts: Vec<(String, String)>,
    /// Damage, and content that was left out.
    pub notes: Vec<String>,
    /// Range of the part that is shown, for a long part.
    pub page: Page,
}

/// A piece of a part, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Start, inclusive.
    pub from: u64,
    /// End, exclusive; the next piece begins here.
    pub to: u64,
    /// Length of the part.
    pub of: u64,
}

impl Page {
    /// Returns the page that covers the whole part.
    pub fn whole(of: u64) -> Self {
        Self { from: 0, to: of, of }
    }

    /// Whether a piece follows.
    pub fn has_more(&self) -> bool {
        self.to < self.of
    }
}

/// Size of a page of text or of unrecognised content, in bytes.
pub const PAGE_BYTES: usize = 64 << 10;
/// Maximum bytes of a JSON or MessagePack document that are read.
const DOCUMENT_BYTES: usize = 16 << 20;
/// Maximum bytes of a picture file that are read.
const PICTURE_BYTES: u64 = 64 << 20;
/// Maximum size of a compressed part, both as stored and after decompression.
const PACKED_BYTES: usize = 16 << 20;
/// Number of bytes at the beginning from which content is recognised.
const FIRST_BYTES: usize = 8 << 10;

/// Returns the first page of a part. Reads and decodes, so it must run on a worker thread; see [`page`] for the other pages.
pub fn part(name: &str, bytes: &dyn PartBytes, cancel: &Cancel) -> PartPreview {
    page(name, bytes, 0, cancel)
}

/// Returns the page of a part that begins at byte `from`, which is the end of the previous page. Long texts and unrecognised content are
/// divided into pages; other content is shown whole, regardless of `from`.
pub fn page(name: &str, bytes: &dyn PartBytes, from: u64, cancel: &Cancel) -> PartPreview {
    let mut out = PartPreview {
        name: display_safe(name).into_owned(),
        title: String::new(),
        body: Drawable::fact("(empty)"),
        facts: Vec::new(),
        notes: Vec::new(),
        page: Page::whole(bytes.len()),
    };
    if bytes.is_empty() {
        out.title = title(name, &["empty".into()]);
        return out;
    }
    let look = PartReader { name, bytes, from, cancel };
    // Third-party decoders may panic on unexpected content, which must not end the worker.
    let looked = catch_panic(|| {
        let mut seen = out.clone();
        look.fill(&mut seen).map(|()| seen)
    });
    let failure = match looked {
        Some(Ok(seen)) => return seen,
        Some(Err(failure)) => failure.to_string(),
        None => "its decoder failed; the part is damaged or malicious".to_owned(),
    };
    out.title = title(name, &[size_words(bytes.len())]);
    out.notes.insert(0, failure);
    out.body = Drawable::fact("it could not be shown");
    out
}

struct PartReader<'a> {
    name: &'a str,
    bytes: &'a dyn PartBytes,
    from: u64,
    cancel: &'a Cancel,
}

impl PartReader<'_> {
    fn fill(&self, out: &mut PartPreview) -> Outcome<()> {
        if let Some(inner) = self.name.strip_suffix(".gz") {
            return self.unpacked(inner, out);
        }
        match part_class(self.name) {
            PartClass::Image => self.picture(out),
            PartClass::Json => self.json(out),
            PartClass::Text | PartClass::Int => self.text(out),
            PartClass::Array => self.array(out),
            PartClass::Media => self.av(out),
            PartClass::Bytes => self.by_content(out),
        }
    }

    /// Shows a part by its content, because its name is inconclusive or the trainer does not decode it.
    fn by_content(&self, out: &mut PartPreview) -> Outcome<()> {
        let first = self.bytes.read(0, FIRST_BYTES)?;
        let suffix = self.name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        match suffix.as_str() {
            "mp" | "msg" | "msgpack" => return self.msgpack(out),
            "npz" => return self.arrays(out),
            "jsonl" | "yaml" | "yml" | "svg" | "csv" | "md" | "html" | "xml" => return self.text(out),
            "pyd" | "pickle" | "pkl" | "pth" | "pt" => {
                out.notes.push("a pickle may run code when it is loaded; only its bytes are shown".into());
                return self.hex(out);
            }
            _ => {}
        }
        if first.starts_with(b"\x93NUMPY") {
            return self.array(out);
        }
        if text::is_text(&first) {
            return self.text(out);
        }
        match type_by_header(&first) {
            Some(MediaType::Image) => self.picture(out),
            Some(MediaType::Av) => self.av(out),
            None if matches!(suffix.as_str(), "aac" | "ogg" | "opus" | "m4a" | "oga" | "aif" | "aiff") => self.av(out),
            None => self.hex(out),
        }
    }

    /// Shows a compressed part: its decompressed content is shown like a part of the name `inner`.
    fn unpacked(&self, inner: &str, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let DecompressedPart { content, limit, is_damaged } = unpack(self.bytes)?;
        if content.is_empty() {
            out.notes.push("it is not gzip, or it is empty".into());
            return self.hex(out);
        }
        let mut seen = page(inner, &content, self.from, self.cancel);
        seen.name.clone_from(&out.name);
        seen.title = format!("{} · {} gzip", seen.title, size_words(length));
        if content.len() == limit {
            seen.notes.push(format!("only the first {} of what is in it are shown", size_words(limit as u64)));
        } else if is_damaged {
            seen.notes.push("it is cut short, or damaged".into());
        }
        *out = seen;
        Ok(())
    }

    fn picture(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        if length > PICTURE_BYTES {
            out.notes.push(format!("{} are too much for a picture to be shown", size_words(length)));
            return self.hex(out);
        }
        let content = self.bytes.read(0, usize::try_from(length).unwrap_or(usize::MAX))?;
        if self.cancel.is_cancelled() {
            return Err(gristmill_core::Failure::cancelled());
        }
        match picture::decode(&content) {
            Ok(picture) => {
                let measures = format!("{}×{}", picture.width, picture.height);
                out.title = title(self.name, &[measures, picture.colour.into(), size_words(length)]);
                out.facts.push(("format".into(), picture.format.into()));
                out.body = Drawable::Picture(Arc::new(picture));
                Ok(())
            }
            Err(error) => {
                out.notes.push(error.to_string());
                if text::is_text(content.get(..FIRST_BYTES).unwrap_or(&content)) {
                    return self.text(out);
                }
                self.picture_by_header(out)
            }
        }
    }

    fn json(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let content = self.bytes.read(0, DOCUMENT_BYTES)?;
        let is_whole = content.len() as u64 >= length;
        match json::parse(&content, is_whole) {
            Ok(json::Document::Tree(tree)) => self.tree(tree, content.len(), out),
            Ok(json::Document::Text(text)) => {
                out.title = title(self.name, &["text".into(), size_words(length)]);
                out.body = Drawable::from_text(&text);
            }
            Ok(json::Document::Scalar(word)) => {
                out.title = title(self.name, &[size_words(length)]);
                out.body = Drawable::fact(word);
            }
            Err(error) => {
                out.notes.push(error.to_string());
                return self.text(out);
            }
        }
        Ok(())
    }

    fn msgpack(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let content = self.bytes.read(0, DOCUMENT_BYTES)?;
        let is_whole = content.len() as u64 >= length;
        match msgpack::parse(&content, is_whole) {
            Ok(msgpack::Document::Tree(tree)) => self.tree(tree, content.len(), out),
            Ok(msgpack::Document::Scalar(value)) => {
                out.title = title(self.name, &[size_words(length)]);
                out.body = Drawable::fact(value);
            }
            Err(error) => {
                out.notes.push(error.to_string());
                return self.hex(out);
            }
        }
        Ok(())
    }

    /// Shows a tree that was parsed from the first `read` bytes.
    fn tree(&self, tree: Tree, read: usize, out: &mut PartPreview) {
        let length = self.bytes.len();
        let top = TreeLine { kind: tree.kind, children: tree.children, ..TreeLine::default() };
        out.title = title(self.name, &[top.summary(), size_words(length)]);
        if (read as u64) < length {
            out.notes.push(format!("only the first {} are shown", size_words(read as u64)));
        }
        out.notes.extend(tree.notes);
        out.body = match tree.lines.is_empty() {
            true => Drawable::fact(top.summary()),
            false => Drawable::Tree(tree.lines.into()),
        };
    }

    fn array(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let first = self.bytes.read(0, tensor::npy::NEEDED_BYTES)?;
        match tensor::npy::view("", &first, length) {
            Ok(view) => {
                out.title = title(self.name, &[view.describe(), size_words(length)]);
                out.body = Drawable::Tensors(vec![view].into());
                Ok(())
            }
            Err(why) => {
                out.notes.push(why);
                self.hex(out)
            }
        }
    }

    fn arrays(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        match tensor::npz::views(self.bytes)? {
            Ok((views, notes)) => {
                out.notes.extend(notes);
                out.title = title(self.name, &[count(views.len() as u64, "array"), size_words(length)]);
                out.body = Drawable::Tensors(views.into());
                Ok(())
            }
            Err(why) => {
                out.notes.push(why);
                self.hex(out)
            }
        }
    }

    fn text(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let page = text::page(self.bytes, self.from)?;
        out.title = title(self.name, &[size_words(length)]);
        out.page = Page { from: page.from, to: page.to, of: length };
        out.body = Drawable::Text(page.text.into());
        Ok(())
    }

    fn hex(&self, out: &mut PartPreview) -> Outcome<()> {
        let length = self.bytes.len();
        let row = super::hex::BYTES_PER_ROW as u64;
        let from = self.from.min(length.saturating_sub(1)) / row * row;
        let content = self.bytes.read(from, PAGE_BYTES)?;
        out.title = title(self.name, &[size_words(length)]);
        out.page = Page { from, to: from + content.len() as u64, of: length };
        out.body = Drawable::Hex(Arc::new(HexView { from, bytes: content }));
        Ok(())
    }
}

/// Decompressed content of a part.
struct DecompressedPart {
    content: Vec<u8>,
    /// Maximum number of decompressed bytes.
    limit: usize,
    is_damaged: bool,
}

fn unpack(bytes: &dyn PartBytes) -> Outcome<DecompressedPart> {
    let packed = bytes.read(0, PACKED_BYTES)?;
    let limit = packed.len().saturating_mul(1_000).min(PACKED_BYTES);
    let mut content = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(packed.as_slice()).take(limit as u64);
    let is_damaged = reader.read_to_end(&mut content).is_err();
    Ok(DecompressedPart { content, limit, is_damaged })
}

/// Returns the part's name, then its known properties; safe to show.
fn title(name: &str, words: &[String]) -> String {
    let mut out = display_safe(name).into_owned();
    for word in words.iter().filter(|w| !w.is_empty()) {
        out.push(' ');
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod tests;
