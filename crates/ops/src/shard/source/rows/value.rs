//! Values of a row, which is a JSON object whose values keep their original spelling.

use gristmill_pycompat::json_fields::{slice, Fields, LineShape};
use gristmill_pycompat::json_text::unescape;
use gristmill_pycompat::json_walk::Kind;

/// A value at a path of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// No value, or `null`.
    Null,
    /// A string.
    Text(String),
    /// Another value, in its original spelling.
    Json(&'a [u8]),
}

/// The reason why a row is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadRow(pub(super) &'static str);

/// The reason for a string that cannot be encoded in UTF-8.
const HALF: &str = "a text of it has half of a surrogate pair, which is no character";

/// Reads rows one at a time.
#[derive(Debug)]
pub(super) struct RowReader {
    fields: Fields,
}

impl Default for RowReader {
    fn default() -> Self {
        Self { fields: Fields::any() }
    }
}

impl RowReader {
    pub(super) fn read<'a>(&mut self, line: &'a [u8]) -> Result<Row<'a, '_>, BadRow> {
        if std::str::from_utf8(line).is_err() {
            return Err(BadRow("it is not UTF-8"));
        }
        self.fields.read(line).map_err(|error| BadRow(error.why))?;
        match self.fields.shape() {
            LineShape::Object => Ok(Row { line, fields: &self.fields }),
            LineShape::TooMany => Err(BadRow("it has more than 65,536 fields")),
            LineShape::Other(_) => Err(BadRow("it is not an object")),
        }
    }
}

/// A parsed row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a, 'f> {
    line: &'a [u8],
    fields: &'f Fields,
}

impl<'a> Row<'a, '_> {
    /// Returns the value of a column: of the field with this name, or of the field at this dotted path.
    pub(super) fn value(&self, column: &str) -> Result<Value<'a>, BadRow> {
        value_in(self.line, self.fields, column)
    }

    /// Whether the row has a field for a column.
    pub(super) fn has(&self, column: &str) -> bool {
        let first = column.split('.').next().unwrap_or(column);
        self.fields.list().iter().any(|field| {
            let key = slice(self.line, field.key_from, field.key_to);
            is_key(key, column) || is_key(key, first)
        })
    }
}

fn is_key(raw: &[u8], name: &str) -> bool {
    if !raw.contains(&b'\\') {
        return raw == name.as_bytes();
    }
    let mut key = String::new();
    unescape(&String::from_utf8_lossy(raw), &mut key);
    key == name
}

fn value_in<'a>(object: &'a [u8], fields: &Fields, column: &str) -> Result<Value<'a>, BadRow> {
    let field_of = |name: &str| {
        // If a key is repeated, the last value counts, as in Python.
        let mut found = fields.list().iter().rev();
        found.find(|field| is_key(slice(object, field.key_from, field.key_to), name))
    };
    if let Some(field) = field_of(column) {
        let raw = slice(object, field.from, field.to);
        return match field.kind {
            Kind::Null => Ok(Value::Null),
            Kind::String if field.has_half => Err(BadRow(HALF)),
            Kind::String => Ok(Value::Text(text_of(raw))),
            _ => Ok(Value::Json(raw)),
        };
    }
    let Some((first, rest)) = column.split_once('.') else { return Ok(Value::Null) };
    let Some(field) = field_of(first).filter(|field| field.kind == Kind::Object) else { return Ok(Value::Null) };
    let inner = slice(object, field.from, field.to);
    let mut fields = Fields::any();
    fields.read(inner).map_err(|error| BadRow(error.why))?;
    value_in(inner, &fields, rest)
}

/// Returns the value of a JSON string with its quotes.
fn text_of(raw: &[u8]) -> String {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    let inner = String::from_utf8_lossy(inner);
    let mut text = String::with_capacity(inner.len());
    unescape(&inner, &mut text);
    text
}

/// A medium in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    /// A path, or a name in the media set.
    Path(String),
    /// The bytes of the medium, and a path from which to take the extension.
    Bytes(Vec<u8>, Option<String>),
    /// No medium.
    Null,
}

/// The value of a media column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// A single medium.
    One(Medium),
    /// A list of media.
    List(Vec<Medium>),
}

/// Interprets the value of a media column. `is_binary` means that strings are base64.
pub(super) fn media_of(value: &Value<'_>, is_binary: bool) -> Result<Media, BadRow> {
    let raw = match value {
        Value::Null => return Ok(Media::One(Medium::Null)),
        Value::Text(text) => return medium_of(&serde_json::Value::from(text.as_str()), is_binary).map(Media::One),
        Value::Json(raw) => raw,
    };
    let value: serde_json::Value =
        serde_json::from_slice(raw).map_err(|_| BadRow("its media cannot be read as JSON"))?;
    match &value {
        serde_json::Value::Array(items) => {
            items.iter().map(|item| medium_of(item, is_binary)).collect::<Result<_, _>>().map(Media::List)
        }
        other => medium_of(other, is_binary).map(Media::One),
    }
}

fn medium_of(value: &serde_json::Value, is_binary: bool) -> Result<Medium, BadRow> {
    use base64::Engine as _;
    const NO_MEDIA_VALUE: BadRow = BadRow("its media are no path, no list of paths, and no bytes");
    let decode = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| NO_MEDIA_VALUE);
    match value {
        serde_json::Value::Null => Ok(Medium::Null),
        serde_json::Value::String(text) if text.is_empty() => Ok(Medium::Null),
        serde_json::Value::String(text) if is_binary => Ok(Medium::Bytes(decode(text)?, None)),
        serde_json::Value::String(text) => Ok(Medium::Path(text.clone())),
        serde_json::Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(serde_json::Value::as_str);
            match (text("bytes"), text("path")) {
                (Some(bytes), path) => Ok(Medium::Bytes(decode(bytes)?, path.map(str::to_owned))),
                (None, Some(path)) if !path.is_empty() => Ok(Medium::Path(path.to_owned())),
                (None, _) if fields.contains_key("path") || fields.contains_key("bytes") => Ok(Medium::Null),
                _ => Err(NO_MEDIA_VALUE),
            }
        }
        _ => Err(NO_MEDIA_VALUE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(line: &str, column: &str) -> Result<Value<'static>, BadRow> {
        let line: &'static [u8] = Box::leak(line.to_owned().into_boxed_str()).as_bytes();
        RowReader::default().read(line)?.value(column)
    }

    #[test]
    fn row_columns_are_names_or_key_paths() {
        let line =
            r#"{"a.b": 1.10, "a": {"b": 2, "c": {"d": "\u00fc\n"}}, "x": null, "a\u0021": [1, 2], "r": 1, "r": 2}"#;
        assert_eq!(value(line, "a.b"), Ok(Value::Json(b"1.10")));
        assert_eq!(value(line, "a.c.d"), Ok(Value::Text("ü\n".into())));
        assert_eq!(value(line, "a!"), Ok(Value::Json(b"[1, 2]")));
        assert_eq!(value(line, "r"), Ok(Value::Json(b"2")));
        for column in ["x", "y", "a.x", "x.y", "a.c.d.e"] {
            assert_eq!(value(line, column), Ok(Value::Null), "{column}");
        }
    }

    #[test]
    fn rows_without_a_json_object_are_refused() {
        for line in ["[1]", "{\"a\": 1", "{\"a\": \"\\ud800\"}"] {
            assert!(value(line, "a").is_err(), "{line}");
        }
    }

    #[test]
    fn media_cells_are_paths_lists_or_bytes() {
        let media = |line: &str, is_binary| media_of(&value(line, "m").unwrap(), is_binary);
        assert_eq!(media(r#"{"m": "a.png"}"#, false), Ok(Media::One(Medium::Path("a.png".into()))));
        assert_eq!(
            media(r#"{"m": ["a.png", null]}"#, false),
            Ok(Media::List(vec![Medium::Path("a.png".into()), Medium::Null]))
        );
        assert_eq!(media(r#"{"m": "QUI="}"#, true), Ok(Media::One(Medium::Bytes(b"AB".to_vec(), None))));
        assert_eq!(
            media(r#"{"m": {"bytes": "QUI=", "path": "x.jpg"}}"#, false),
            Ok(Media::One(Medium::Bytes(b"AB".to_vec(), Some("x.jpg".into()))))
        );
        assert_eq!(
            media(r#"{"m": {"bytes": null, "path": "x.jpg"}}"#, false),
            Ok(Media::One(Medium::Path("x.jpg".into())))
        );
        for line in [r#"{"m": 1}"#, r#"{"m": {"url": "x"}}"#, r#"{"m": [1]}"#] {
            assert!(media(line, false).is_err(), "{line}");
        }
    }
}
