//! Parts as values: what the trainer's default decoder makes of each, and what a field-map expression finds in them.
//!
//! Decoding never runs code from the data (no pickle) and never holds more than it was given: pictures are read up to their
//! header only. See the Energon format page, "dataset.yaml".
//!
//! ```ignore
//! let value = decode_part("detail.json", br#"{"caption": "a cat"}"#)?;
//! ```

mod eval;
mod json;
mod npy;
#[cfg(test)]
mod tests;

pub use eval::{eval, DecodedPart, FieldError};
pub use json::MAX_JSON_DEPTH;

use serde::Serialize;
use std::io::Read as _;

/// The largest part that is decoded, in bytes.
pub const MAX_PART_BYTES: usize = 64 << 20;

/// The largest side of a picture that is taken for real, in pixels.
const MAX_SIDE: u32 = 1 << 20;

/// What a part holds, as far as it can be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// Text.
    Text(String),
    /// A JSON document, or a piece of one that is neither text nor a whole number.
    Json(serde_json::Value),
    /// A whole number.
    Int(i64),
    /// A picture, by its header.
    Image {
        /// `jpeg`, `png`, `webp` …
        format: String,
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// An array, by its header.
    Array {
        /// Type of its items as numpy writes it: `<f4`.
        dtype: String,
        /// Length of each axis.
        shape: Vec<u64>,
    },
    /// Sound or video: the trainer gets a decoder that reads on demand.
    Media {
        /// Last suffix of the part.
        format: String,
        /// Length in bytes.
        len: u64,
    },
    /// Anything else, as raw bytes.
    Bytes {
        /// Length in bytes.
        len: u64,
        /// What the trainer will make of it, in words.
        label: &'static str,
    },
}

impl Value {
    /// What it is, in a word or two: `text`, `list of 3`, `picture 640×427`.
    pub fn describe(&self) -> String {
        match self {
            Self::Text(_) => "text".into(),
            Self::Int(_) => "a whole number".into(),
            Self::Json(json) => json::describe(json),
            Self::Image { width, height, .. } => format!("a picture {width}×{height}"),
            Self::Array { dtype, shape } => {
                let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
                format!("an array {dtype} [{}]", shape.join(", "))
            }
            Self::Media { format, .. } => format!("sound or video ({format})"),
            Self::Bytes { label, .. } => (*label).to_owned(),
        }
    }
}

/// How a part is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartClass {
    /// A picture.
    Image,
    /// Sound or video.
    Media,
    /// Text.
    Text,
    /// A JSON document.
    Json,
    /// A whole number in decimal digits.
    Int,
    /// A numpy array.
    Array,
    /// Anything else.
    Bytes,
}

/// How the trainer decodes parts of that name: decided by the last suffix, in any case, after a `.gz` is taken off.
pub fn part_class(part_name: &str) -> PartClass {
    let suffix = suffix(strip_gz(part_name).0);
    match suffix.as_str() {
        "txt" | "text" | "transcript" => PartClass::Text,
        "json" | "jsn" | "jsonl" => PartClass::Json,
        "cls" | "cls2" | "index" | "inx" | "id" | "count" => PartClass::Int,
        "jpg" | "jpeg" | "png" | "webp" | "gif" | "bmp" | "tif" | "tiff" | "ppm" | "pgm" | "pbm" | "pnm" => {
            PartClass::Image
        }
        "mp4" | "m4v" | "mkv" | "webm" | "mov" | "avi" | "ogv" | "mpg" | "mpeg" | "mp3" | "wav" | "flac" | "m4a"
        | "aac" | "ogg" | "opus" => PartClass::Media,
        "npy" => PartClass::Array,
        _ => PartClass::Bytes,
    }
}

/// Decodes a part by its name, as the trainer's default decoder does. The error is in a user's words, without the part's name.
///
/// `bytes` may hold any content. At most [`MAX_PART_BYTES`] are looked at.
pub fn decode_part(part_name: &str, bytes: &[u8]) -> Result<Value, String> {
    let (name, zipped) = strip_gz(part_name);
    if bytes.len() > MAX_PART_BYTES {
        return Err(format!("it is larger than {}", crate::model::text::bytes(MAX_PART_BYTES as u64)));
    }
    let unzipped;
    let bytes = if zipped {
        unzipped = unzip(bytes)?;
        &unzipped
    } else {
        bytes
    };
    let len = bytes.len() as u64;
    match part_class(name) {
        PartClass::Text => text(bytes).map(|t| Value::Text(t.to_owned())),
        PartClass::Json if suffix(name) == "jsonl" => json_lines(bytes),
        PartClass::Json => json::parse(text(bytes)?).map(json::to_value),
        PartClass::Int => int(bytes),
        PartClass::Image => image(bytes),
        PartClass::Array => npy::header(bytes),
        PartClass::Media if len == 0 => Err("it is empty".into()),
        PartClass::Media | PartClass::Bytes => Ok(undecoded(name, len)),
    }
}

/// The value of a part of which only the name and the length in bytes matter: sound, video, and what is not decoded here.
pub fn undecoded(part_name: &str, len: u64) -> Value {
    let suffix = suffix(part_name);
    match part_class(part_name) {
        PartClass::Media => Value::Media { format: suffix, len },
        _ => Value::Bytes { len, label: label(&suffix) },
    }
}

fn strip_gz(name: &str) -> (&str, bool) {
    match name.strip_suffix(".gz") {
        Some(inner) => (inner, true),
        None => (name, false),
    }
}

fn suffix(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase()
}

fn label(suffix: &str) -> &'static str {
    match suffix {
        "mp" | "msgpack" | "msg" => "MessagePack, decoded by the trainer",
        "cbor" => "CBOR, decoded by the trainer",
        "pyd" | "pickle" | "pkl" => "a pickle: the trainer runs code from it",
        "pth" | "pt" => "a PyTorch file: the trainer may run code from it",
        "npz" => "several arrays (npz)",
        "ten" | "tb" => "tensors (tenbin)",
        "safetensors" => "tensors (safetensors)",
        _ => "raw bytes",
    }
}

fn unzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let limit = (bytes.len().saturating_mul(1000)).min(MAX_PART_BYTES) as u64;
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut out);
    match read {
        Err(e) => Err(format!("it is not valid gzip: {e}")),
        Ok(n) if n as u64 > limit => Err("it unpacks to more than is sensible".into()),
        Ok(_) => Ok(out),
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| format!("it is not UTF-8 at byte {}", e.valid_up_to()))
}

fn int(bytes: &[u8]) -> Result<Value, String> {
    let text = text(bytes)?.trim();
    let plain = text.replace('_', "");
    let well_placed = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    match plain.parse::<i64>() {
        Ok(number) if well_placed => Ok(Value::Int(number)),
        _ => {
            let shown: String = text.chars().take(40).collect();
            Err(format!("'{shown}' is not a whole number"))
        }
    }
}

fn json_lines(bytes: &[u8]) -> Result<Value, String> {
    let mut documents = Vec::new();
    for (number, line) in text(bytes)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        documents.push(json::parse(line).map_err(|e| format!("line {}: {e}", number + 1))?);
    }
    Ok(Value::Json(serde_json::Value::Array(documents)))
}

/// Format and size of a picture from its header; nothing is decoded.
fn image(bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    let mut reader = image::ImageReader::new(std::io::Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| format!("it cannot be read: {e}"))?;
    let format = reader.format().ok_or("it is no picture of a known format")?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(64 << 20);
    reader.limits(limits);
    let (width, height) = reader.into_dimensions().map_err(|e| format!("its header cannot be read: {e}"))?;
    let format = format.extensions_str().first().copied().unwrap_or("picture");
    let format = if format == "jpg" { "jpeg" } else { format };
    Ok(Value::Image { format: format.to_owned(), width, height })
}
