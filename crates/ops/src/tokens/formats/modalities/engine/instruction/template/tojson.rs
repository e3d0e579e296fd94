//! The filter `tojson` of the reference program: `json.dumps` with its arguments.

use super::{plain, refused, MAX_DEPTH};
use gristmill_pycompat::json_write::{spaced, string};
use gristmill_pycompat::Node;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, Value};

/// Maximum width of one indentation level, in spaces.
const MAX_INDENT: usize = 1 << 10;

struct Writer {
    out: String,
    is_ascii: bool,
    /// The text of one indentation level; `None` for output on a single line.
    indent: Option<String>,
    comma: String,
    colon: String,
    is_sorted: bool,
}

/// Applies the filter.
pub(super) fn tojson(value: &Value, ensure_ascii: Option<bool>, arguments: Kwargs) -> Result<Value, Error> {
    let is_ascii = arguments.get::<Option<bool>>("ensure_ascii")?.or(ensure_ascii).unwrap_or(false);
    let is_sorted = arguments.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let indent = arguments.get::<Option<Value>>("indent")?.filter(|indent| !indent.is_none());
    let indent = indent.map(|indent| match indent.as_str() {
        Some(text) => text.to_owned(),
        None => " ".repeat(indent.as_usize().unwrap_or(0).min(MAX_INDENT)),
    });
    let (comma, colon) = match arguments.get::<Option<Vec<String>>>("separators")? {
        None => ((if indent.is_some() { "," } else { ", " }).to_owned(), ": ".to_owned()),
        Some(pair) => <[String; 2]>::try_from(pair)
            .map(|[comma, colon]| (comma, colon))
            .map_err(|_| refused("separators are two texts"))?,
    };
    arguments.assert_all_used()?;
    let mut writer = Writer { out: String::new(), is_ascii, indent, comma, colon, is_sorted };
    writer.push(value, 0)?;
    Ok(Value::from(writer.out))
}

impl Writer {
    fn text(&mut self, text: &str) {
        let written = if self.is_ascii { string(text) } else { spaced(&Node::str(text)) };
        self.out.push_str(&written);
    }

    fn line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.out.push('\n');
            self.out.push_str(&indent.repeat(depth));
        }
    }

    fn item(&mut self, at: usize, depth: usize) {
        if at > 0 {
            self.out.push_str(&self.comma);
        }
        self.line(depth + 1);
    }

    fn push(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(refused("a value that is written is nested too deep"));
        }
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.number(value)?,
            ValueKind::String => self.text(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                self.out.push('[');
                let mut count = 0;
                for item in value.try_iter()? {
                    self.item(count, depth);
                    self.push(&item, depth + 1)?;
                    count += 1;
                }
                if count > 0 {
                    self.line(depth);
                }
                self.out.push(']');
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.is_sorted {
                    keys.sort();
                }
                self.out.push('{');
                for (at, key) in keys.iter().enumerate() {
                    self.item(at, depth);
                    let name = if key.kind() == ValueKind::None { "null".to_owned() } else { plain(key)? };
                    self.text(&name);
                    self.out.push_str(&self.colon.clone());
                    self.push(&value.get_item(key)?, depth + 1)?;
                }
                if !keys.is_empty() {
                    self.line(depth);
                }
                self.out.push('}');
            }
            _ => return Err(refused(format!("what is {} is no JSON", value.kind()))),
        }
        Ok(())
    }

    fn number(&mut self, value: &Value) -> Result<(), Error> {
        let number = f64::try_from(value.clone()).unwrap_or(0.0);
        let text = match () {
            () if value.is_integer() => plain(value)?,
            () if number.is_nan() => "NaN".to_owned(),
            () if number.is_infinite() => (if number > 0.0 { "Infinity" } else { "-Infinity" }).to_owned(),
            () => plain(value)?,
        };
        self.out.push_str(&text);
        Ok(())
    }
}
