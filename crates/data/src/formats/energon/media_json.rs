//! `metadata_json` of a media row: compact, in the reference program's key order, floats formatted as in Python, unknown values omitted
//! (docs/formats/energon.md §12).

use gristmill_core::{AvFacts, ImageFacts, MediaFacts, MediaType};
use gristmill_pycompat::number::float_repr;
use serde_json::{Map, Value};
use std::fmt::Write as _;

/// Pillow's names of formats and modes; a value read from a database is one of these, or [`UNKNOWN`].
const NAMES: [&str; 64] = [
    "JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "ICO", "JPEG2000", "MPO", "AVIF", "CUR", "PPM", "TGA", "PCX",
    "PSD", "EPS", "SGI", "XBM", "XPM", "DDS", "ICNS", "PCD", "FLI", "MSP", "SPIDER", "IM", "FITS", "BLP", "FTEX",
    "GBR", "IPTC", "RGB", "RGBA", "RGBX", "RGBa", "L", "LA", "La", "P", "PA", "1", "CMYK", "YCbCr", "LAB", "HSV", "I",
    "F", "I;16", "I;16B", "I;16L", "I;16N", "I;16S", "I;12", "I;32S", "F;32F", "BGR;15", "BGR;16", "BGR;24", "QOI",
    "PIXAR", "SUN", "WMF", "MCIDAS",
];

/// Written for a format or mode that has no name.
pub const UNKNOWN: &str = "UNKNOWN";

/// Returns the JSON of one row, in ASCII.
pub fn to_json(facts: &MediaFacts) -> String {
    let mut out = Fields(String::from("{"));
    match facts {
        MediaFacts::Image(image) => {
            out.number("width", Some(image.width));
            out.number("height", Some(image.height));
            out.text("format", image.format);
            out.text("mode", image.mode);
        }
        MediaFacts::Av(av) => {
            out.float("video_duration", av.video_duration);
            out.number("video_num_frames", av.video_num_frames);
            out.float("video_fps", av.video_fps);
            out.number("video_width", av.video_width);
            out.number("video_height", av.video_height);
            out.float("audio_duration", av.audio_duration);
            out.number("audio_channels", av.audio_channels);
            out.number("audio_sample_rate", av.audio_sample_rate);
            out.number("audio_num_samples", av.audio_num_samples);
        }
    }
    out.0.push('}');
    out.0
}

/// A JSON object under construction.
struct Fields(String);

impl Fields {
    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        let _ = write!(self.0, "\"{name}\":");
    }
    fn number(&mut self, name: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.name(name);
            let _ = write!(self.0, "{value}");
        }
    }
    fn float(&mut self, name: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        self.name(name);
        // `json.dumps` writes these for values that JSON cannot represent.
        if value.is_nan() {
            self.0.push_str("NaN");
        } else if value.is_infinite() {
            self.0.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
        } else {
            self.0.push_str(&float_repr(value));
        }
    }
    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push_str(&gristmill_pycompat::json_write::string(value));
    }
}

/// Parses a row. An error describes, for the user, the field at which the loader would fail.
pub fn from_json(metadata_type: &str, json: &str) -> Result<MediaFacts, String> {
    let kind = match metadata_type {
        "image" => MediaType::Image,
        "av" => MediaType::Av,
        other => return Err(format!("its type is '{other}', not 'image' or 'av'")),
    };
    let value: Value = serde_json::from_str(json).map_err(|error| format!("its JSON cannot be read: {error}"))?;
    let Value::Object(map) = value else { return Err("its JSON is not an object".to_owned()) };
    let mut fields = Reading { map, wrong: None };
    let facts = match kind {
        MediaType::Image => MediaFacts::Image(ImageFacts {
            width: fields.needed("width"),
            height: fields.needed("height"),
            format: fields.word("format"),
            mode: fields.word("mode"),
        }),
        MediaType::Av => MediaFacts::Av(AvFacts {
            video_duration: fields.float("video_duration"),
            video_num_frames: fields.number("video_num_frames"),
            video_fps: fields.float("video_fps"),
            video_width: fields.small("video_width"),
            video_height: fields.small("video_height"),
            audio_duration: fields.float("audio_duration"),
            audio_channels: fields.small("audio_channels"),
            audio_sample_rate: fields.small("audio_sample_rate"),
            audio_num_samples: fields.number("audio_num_samples"),
        }),
    };
    if fields.wrong.is_none() {
        if let Some(name) = fields.map.keys().next() {
            return Err(format!("the loader does not know its field '{name}'"));
        }
    }
    fields.wrong.map_or(Ok(facts), Err)
}

struct Reading {
    map: Map<String, Value>,
    /// First mistake found.
    wrong: Option<String>,
}

impl Reading {
    fn set_reason(&mut self, name: &str, what: &str) {
        self.wrong.get_or_insert_with(|| format!("its field '{name}' {what}"));
    }
    fn take(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name).filter(|value| !value.is_null())
    }
    /// Returns the value of a field, and records a mistake if it is missing.
    fn checked<T>(&mut self, name: &str, value: Option<T>, what: &str) -> Option<T> {
        if value.is_none() {
            self.set_reason(name, what);
        }
        value
    }
    fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        self.checked(name, value.as_u64(), "is not a count")
    }
    fn small(&mut self, name: &str) -> Option<u32> {
        let number = self.number(name)?;
        self.checked(name, u32::try_from(number).ok(), "is too large")
    }
    fn needed(&mut self, name: &str) -> u32 {
        let value = self.small(name);
        self.checked(name, value, "is missing").unwrap_or_default()
    }
    fn float(&mut self, name: &str) -> Option<f64> {
        let value = self.take(name)?;
        self.checked(name, value.as_f64(), "is not a number")
    }
    fn word(&mut self, name: &str) -> &'static str {
        match self.take(name) {
            Some(Value::String(text)) => NAMES.iter().find(|known| **known == text).copied().unwrap_or(UNKNOWN),
            other => {
                self.set_reason(name, if other.is_some() { "is not text" } else { "is missing" });
                UNKNOWN
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> MediaFacts {
        MediaFacts::Image(ImageFacts { width: 20, height: 10, format: "JPEG", mode: "I;16" })
    }

    #[test]
    fn media_json_is_compact_and_has_the_key_order_of_the_reference() {
        assert_eq!(to_json(&image()), r#"{"width":20,"height":10,"format":"JPEG","mode":"I;16"}"#);
        let av = AvFacts {
            video_duration: Some(17.0 / 30.0),
            video_fps: Some(30.0),
            audio_channels: Some(2),
            audio_num_samples: Some(0),
            ..AvFacts::default()
        };
        assert_eq!(
            to_json(&MediaFacts::Av(av)),
            r#"{"video_duration":0.5666666666666667,"video_fps":30.0,"audio_channels":2,"audio_num_samples":0}"#
        );
        assert_eq!(to_json(&MediaFacts::Av(AvFacts::default())), "{}");
        let odd = AvFacts { video_fps: Some(f64::INFINITY), ..AvFacts::default() };
        assert_eq!(to_json(&MediaFacts::Av(odd)), r#"{"video_fps":Infinity}"#);
    }

    #[test]
    fn media_facts_are_read_back_from_their_json() {
        let av = AvFacts {
            video_duration: Some(0.48),
            video_num_frames: Some(12),
            video_fps: Some(25.0),
            video_width: Some(64),
            video_height: Some(48),
            audio_duration: Some(0.302),
            audio_channels: Some(2),
            audio_sample_rate: Some(44_100),
            audio_num_samples: Some(12_288),
        };
        for facts in [image(), MediaFacts::Av(av), MediaFacts::Av(AvFacts::default())] {
            assert_eq!(from_json(facts.media_type().name(), &to_json(&facts)), Ok(facts));
        }
    }

    #[test]
    fn rows_that_the_loader_would_refuse_are_reported() {
        for (kind, json, part) in [
            ("text", "{}", "type is 'text'"),
            ("image", "{", "cannot be read"),
            ("image", "[]", "not an object"),
            ("image", r#"{"width":1,"height":2,"format":"JPEG"}"#, "'mode' is missing"),
            ("image", r#"{"width":-1,"height":2,"format":"JPEG","mode":"L"}"#, "'width' is not a count"),
            ("image", r#"{"width":1,"height":99999999999,"format":"JPEG","mode":"L"}"#, "'height' is too large"),
            ("image", r#"{"width":1,"height":2,"format":3,"mode":"L"}"#, "'format' is not text"),
            ("av", r#"{"video_fps":"fast"}"#, "'video_fps' is not a number"),
            ("av", r#"{"video_length":1}"#, "does not know its field 'video_length'"),
        ] {
            let why = from_json(kind, json).unwrap_err();
            assert!(why.contains(part), "{json}: {why}");
        }
        let unnamed = from_json("image", r#"{"width":1,"height":2,"format":"NEW","mode":"L"}"#);
        assert!(matches!(unnamed, Ok(MediaFacts::Image(image)) if image.format == UNKNOWN));
    }
}
