//! Parts as values: the result of the trainer's default decoder for each part, and of field-map expressions on these values.
//!
//! Decoding never runs code from the data (no pickle) and needs no more memory than its input: only the headers of pictures are read. See
//! docs/formats/energon.md §10.
//!
//! ```ignore let value = decode_part("detail.json", br#"{"caption": "a cat"}"#)?;
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

/// Maximum size of a part that is decoded, in bytes.
pub const MAX_PART_BYTES: usize = 64 << 20;

/// Maximum side of a picture that is considered valid, in pixels.
const MAX_SIDE: u32 = 1 << 20;

/// Decoded content of a part, as far as it can be shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// Text.
    Text(String),
    /// A JSON document, or a piece of one that is neither text nor a whole number.
    Json(serde_json::Value),
    /// A whole number.
    Int(i64),
    /// A picture, described by its header.
    Image {
        /// `jpeg`, `png`, `webp` …
        format: String,
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// An array, described by its header.
    Array {
        /// Type of its items in numpy notation: `<f4`.
        dtype: String,
        /// Length of each axis.
        shape: Vec<u64>,
    },
    /// Sound or video: the trainer returns a decoder that reads on demand.
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
        /// Type to which the trainer decodes the content, for the user.
        label: &'static str,
    },
}

impl Value {
    /// Whether the trainer returns an array for this value.
    pub fn is_array(&self) -> bool {
        match self {
            Self::Image { .. } | Self::Array { .. } => true,
            Self::Bytes { label, .. } => ARRAY_LABELS.contains(label),
            _ => false,
        }
    }
    /// Describes the value in a word or two: `text`, `list of 3`, `picture 640×427`.
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

/// Returns how the trainer decodes parts with this name: the last suffix decides, after removing `.gz`. Suffixes of pictures, sound and
/// video are recognised in any case, others only in lower case.
pub fn part_class(part_name: &str) -> PartClass {
    let exact = strip_gz(part_name).0.rsplit('.').next().unwrap_or_default();
    match exact {
        "txt" | "text" | "transcript" => return PartClass::Text,
        "json" | "jsn" => return PartClass::Json,
        "cls" | "cls2" | "index" | "inx" | "id" => return PartClass::Int,
        "npy" => return PartClass::Array,
        _ => {}
    }
    match exact.to_ascii_lowercase().as_str() {
        suffix if PICTURES.contains(&suffix) || OTHER_PICTURES.contains(&suffix) => PartClass::Image,
        "mp4" | "avi" | "mov" | "webm" | "mkv" | "flac" | "mp3" | "wav" | "flv" => PartClass::Media,
        _ => PartClass::Bytes,
    }
}

/// Suffixes of pictures whose header is read.
const PICTURES: &[&str] = &["jpg", "jpeg", "jpe", "jfif", "png", "apng", "webp", "gif", "bmp", "dib", "tif", "tiff"];
/// Suffixes of pictures that the trainer decodes but whose header is not read here.
const OTHER_PICTURES: &[&str] = &[
    "ppm", "pgm", "pbm", "pnm", "jp2", "j2k", "jpc", "jpf", "jpx", "j2c", "ico", "icns", "tga", "psd", "sgi", "rgb",
    "rgba", "bw", "dds", "pcx", "xbm", "xpm", "eps", "ps", "fit", "fits", "im", "ras",
];

/// Decodes a part by its name, as the trainer's default decoder does. The error is for the user, without the part's name.
///
/// `bytes` may hold any content. At most [`MAX_PART_BYTES`] are examined.
pub fn decode_part(part_name: &str, bytes: &[u8]) -> Result<Value, String> {
    let (name, zipped) = strip_gz(part_name);
    if bytes.len() > MAX_PART_BYTES {
        return Err(format!("it is larger than {}", gristmill_core::text::bytes(MAX_PART_BYTES as u64)));
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
        PartClass::Json => json::parse(text(bytes)?).map(json::to_value),
        PartClass::Int => int(bytes),
        PartClass::Image if len == 0 => Err("it is empty".into()),
        PartClass::Image if OTHER_PICTURES.contains(&suffix(name).as_str()) => Ok(undecoded(name, len)),
        PartClass::Image => image(bytes),
        PartClass::Array => npy::header(bytes),
        PartClass::Media if len == 0 => Err("it is empty".into()),
        PartClass::Media | PartClass::Bytes => Ok(undecoded(name, len)),
    }
}

/// Returns the value of a part for which only the name and the length in bytes are needed: sound, video, and content that is not decoded
/// here.
pub fn undecoded(part_name: &str, len: u64) -> Value {
    let suffix = suffix(part_name);
    match part_class(part_name) {
        PartClass::Media => Value::Media { format: suffix, len },
        _ => Value::Bytes { len, label: label(part_name) },
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

/// Label of pictures whose header is not read.
const PICTURE: &str = "a picture of a format that is not looked into here";
const PYTORCH: &str = "a PyTorch file: the trainer may run code from it";
const ARRAYS: &str = "several arrays (npz)";
const TENSORS: &str = "tensors (tenbin)";
/// Labels of content that the trainer decodes to arrays.
const ARRAY_LABELS: [&str; 4] = [PICTURE, PYTORCH, ARRAYS, TENSORS];

fn label(part_name: &str) -> &'static str {
    let exact = strip_gz(part_name).0.rsplit('.').next().unwrap_or_default();
    if part_class(part_name) == PartClass::Image {
        return PICTURE;
    }
    match exact {
        "mp" | "msg" => "MessagePack, decoded by the trainer",
        "cbor" => "CBOR, decoded by the trainer",
        "pyd" | "pickle" | "pkl" => "a pickle: the trainer runs code from it",
        "pth" => PYTORCH,
        "npz" => ARRAYS,
        "ten" | "tb" => TENSORS,
        other if part_class(&other.to_ascii_lowercase()) != PartClass::Bytes => {
            "raw bytes: the trainer decodes this suffix in lower case only"
        }
        _ => "raw bytes: the trainer does not decode this suffix",
    }
}

fn unzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let limit = (bytes.len().saturating_mul(1000)).min(MAX_PART_BYTES) as u64;
    let mut out = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut out);
    match read {
        Err(e) => Err(format!("it is not valid gzip: {e}")),
        Ok(n) if n as u64 > limit => Err("it decompresses to too many bytes".into()),
        Ok(_) => Ok(out),
    }
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| format!("it is not UTF-8 at byte {}", e.valid_up_to()))
}

/// Parses a whole number like Python's `int`. A number beyond 64 bits is valid for the trainer but is not shown.
fn int(bytes: &[u8]) -> Result<Value, String> {
    let text = text(bytes)?.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let well_formed = !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        && !digits.starts_with('_')
        && !digits.ends_with('_')
        && !digits.contains("__");
    if !well_formed {
        let shown: String = text.chars().take(40).collect();
        return Err(format!("'{shown}' is not a whole number"));
    }
    let long = Value::Bytes { len: bytes.len() as u64, label: "a whole number of very many digits" };
    Ok(text.replace('_', "").parse().map_or(long, Value::Int))
}

/// Returns format and size of a picture from its header, without decoding the picture.
fn image(bytes: &[u8]) -> Result<Value, String> {
    let mut reader = image::ImageReader::new(std::io::Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|e| format!("it cannot be read: {e}"))?;
    let format = reader.format().ok_or("it is not a picture of a known format")?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(64 << 20);
    reader.limits(limits);
    let (width, height) = match reader.into_dimensions() {
        Ok(size) => size,
        Err(image::ImageError::Unsupported(_)) => return Ok(Value::Bytes { len: bytes.len() as u64, label: PICTURE }),
        Err(e) => return Err(format!("its header cannot be read: {e}")),
    };
    let format = format.extensions_str().first().copied().unwrap_or("picture");
    let format = if format == "jpg" { "jpeg" } else { format };
    Ok(Value::Image { format: format.to_owned(), width, height })
}
