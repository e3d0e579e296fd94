//! Converts a row to a sample: its key, its split and its parts. Media are located later.

use super::layout::{extension_of_bytes, refuse, text_part, PartLayout, JSON_PART};
use super::value::{media_of, BadRow, Media, Medium, Row, Value};
use crate::shard::sample::{Origin, Part};
use crate::shard::source::keys::{divide, extension, key_of_text, refusal, split_refusal};
use gristmill_core::shard_plan::{Column, KeyRule, RowColumns, ShardPlan};
use gristmill_core::Outcome;
use gristmill_storage::files::is_absolute;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

pub(super) use super::super::NUMBER;

/// Maximum number of parts of one row.
const MAX_PARTS: usize = 65_536;

/// A sample made from a row, whose media have not been located yet.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) key: Vec<u8>,
    pub(super) split: Option<String>,
    pub(super) parts: Vec<DraftPart>,
}

#[derive(Debug)]
pub(super) enum DraftPart {
    /// A part whose size and location are known.
    Ready(Part),
    /// A medium at a path.
    Medium {
        /// Name of the part.
        name: String,
        /// Path relative to the media folder, or a name in the media set.
        path: PathBuf,
    },
}

impl DraftPart {
    fn name(&self) -> &[u8] {
        match self {
            Self::Ready(part) => &part.name,
            Self::Medium { name, .. } => name.as_bytes(),
        }
    }
}

/// The reason why a row is omitted.
#[derive(Debug)]
pub(super) enum LeftOut {
    /// The row is invalid.
    Bad(BadRow),
    /// One of its texts cannot be read; the reason, with the column.
    Unreadable(String),
    /// The path of a medium leads outside the media folder.
    Outside { path: String, why: &'static str },
    /// The key is invalid.
    Key(String),
    /// The split name is invalid.
    Split(String),
}

impl From<BadRow> for LeftOut {
    fn from(bad: BadRow) -> Self {
        Self::Bad(bad)
    }
}

/// Converts rows to samples.
pub(super) struct SampleMaker<'a> {
    pub(super) plan: &'a ShardPlan,
    pub(super) layout: PartLayout,
    /// A field whose own fields are columns, too.
    pub(super) object: Option<&'static str>,
    /// Media columns whose strings are base64.
    pub(super) binary: Vec<String>,
}

impl SampleMaker<'_> {
    fn columns(&self) -> &RowColumns {
        &self.plan.rows
    }

    fn value<'r>(&self, row: &Row<'r, '_>, column: &str) -> Result<Value<'r>, BadRow> {
        match (row.value(column)?, self.object) {
            (Value::Null, Some(object)) => row.value(&format!("{object}.{column}")),
            (value, _) => Ok(value),
        }
    }

    /// Whether a row has a value other than null in a column.
    pub(super) fn has(&self, row: &Row<'_, '_>, column: &str) -> bool {
        self.value(row, column).is_ok_and(|value| value != Value::Null)
    }

    /// Returns the draft of a row with this number. `json` is the part with the row itself.
    ///
    /// # Errors
    /// Two columns become the same part of a row.
    pub(super) fn draft(&self, row: &Row<'_, '_>, number: u64, json: Part) -> Outcome<Result<Draft, LeftOut>> {
        let mut parts = Parts::default();
        let mut only_path = None;
        for column in &self.layout.media {
            let found =
                self.value(row, &column.name).and_then(|value| media_of(&value, self.binary.contains(&column.name)));
            let (media, is_list) = match found {
                Ok(Media::One(medium)) => (vec![medium], false),
                Ok(Media::List(media)) => (media, true),
                Err(bad) => return Ok(Err(bad.into())),
            };
            for (place, medium) in media.into_iter().enumerate() {
                let place = is_list.then_some(place);
                let part = match self.medium(column, medium, place, &mut only_path) {
                    Ok(part) => part,
                    Err(left_out) => return Ok(Err(left_out)),
                };
                parts.add(part, &column.name)?;
                if parts.list.len() > MAX_PARTS {
                    return Ok(Err(BadRow("it has more than 65,536 media").into()));
                }
            }
        }
        for column in &self.layout.text {
            let text = match self.value(row, &column.name) {
                Ok(Value::Null) => continue,
                Ok(Value::Text(text)) => text.into_bytes(),
                Ok(Value::Json(raw)) => raw.to_vec(),
                Err(bad) => return Ok(Err(bad.into())),
            };
            parts.add(Some(ready_part(text_part(column), text)), &column.name)?;
        }
        if self.layout.has_json {
            parts.add(Some(DraftPart::Ready(json)), JSON_PART)?;
        }
        let key = match self.key(row, number, only_path.as_deref()) {
            Ok(key) => key,
            Err(left_out) => return Ok(Err(left_out)),
        };
        if let Some(why) = refusal(&key) {
            return Ok(Err(LeftOut::Key(why.to_owned())));
        }
        match self.split(row) {
            Ok(split) => Ok(Ok(Draft { key, split, parts: parts.list })),
            Err(left_out) => Ok(Err(left_out)),
        }
    }

    fn medium(
        &self,
        column: &Column,
        medium: Medium,
        place: Option<usize>,
        only_path: &mut Option<Vec<u8>>,
    ) -> Result<Option<DraftPart>, LeftOut> {
        let names_sample = self.layout.media.len() == 1 && place.is_none();
        let mut keep = |path: &[u8]| {
            if names_sample {
                *only_path = Some(path.to_vec());
            }
        };
        Ok(match medium {
            Medium::Null => None,
            Medium::Bytes(bytes, path) => {
                let path = path.filter(|path| !path.is_empty());
                path.iter().for_each(|path| keep(path.as_bytes()));
                let guessed = || extension_of_bytes(&bytes).map_or(String::new(), |extension| format!("x.{extension}"));
                let path = path.filter(|path| extension(path.as_bytes()).is_some());
                let path = path.unwrap_or_else(guessed);
                Some(ready_part(&self.layout.media_part(column, path.as_bytes(), place), bytes))
            }
            Medium::Path(path) => {
                let path = self.relative(&path)?;
                let bytes = path.as_os_str().as_encoded_bytes();
                keep(bytes);
                Some(DraftPart::Medium { name: self.layout.media_part(column, bytes, place), path })
            }
        })
    }

    /// Returns the path of a medium relative to the media folder.
    fn relative(&self, text: &str) -> Result<PathBuf, LeftOut> {
        let outside = |why| LeftOut::Outside { path: text.to_owned(), why };
        let mut path = Path::new(text);
        if is_absolute(path) || text.contains("://") {
            let root = self.columns().media_root.as_deref();
            let below = root.and_then(|root| path.strip_prefix(root).ok());
            let is_web = text.starts_with("http://") || text.starts_with("https://");
            path = match below {
                Some(below) => below,
                None if is_web => return Err(outside("it is an address of the web, which is not downloaded")),
                None if text.contains("://") => {
                    return Err(outside("it is an address, and not below one that --media-root names"))
                }
                None => return Err(outside("it is absolute, and not below the folder of media")),
            };
        }
        let mut relative = PathBuf::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => relative.push(name),
                _ => return Err(outside("it leads out of the folder of media")),
            }
        }
        if relative.as_os_str().is_empty() || text.contains('\0') {
            return Err(outside("it is not the path of a file"));
        }
        Ok(relative)
    }

    fn key(&self, row: &Row<'_, '_>, number: u64, path: Option<&[u8]>) -> Result<Vec<u8>, LeftOut> {
        let by_number = || format!("{number:09}").into_bytes();
        match self.plan.key.as_deref() {
            Some(NUMBER) => Ok(by_number()),
            Some(column) => match self.value(row, column)? {
                Value::Text(text) => Ok(key_of_text(text.as_bytes())),
                Value::Json(raw) if raw.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') => Ok(raw.to_vec()),
                _ => Err(LeftOut::Key(format!("its column '{column}' has no text and no integer as the key"))),
            },
            None => Ok(path.map_or_else(by_number, |path| key_of_path(path, self.plan.key_rule))),
        }
    }

    fn split(&self, row: &Row<'_, '_>) -> Result<Option<String>, LeftOut> {
        let Some(column) = self.columns().split.as_deref() else { return Ok(None) };
        let split = match self.value(row, column)? {
            Value::Text(text) => text,
            Value::Null => String::new(),
            Value::Json(_) => return Err(LeftOut::Split(format!("its column '{column}' has no text as the split"))),
        };
        match split_refusal(&split) {
            Some(why) => Err(LeftOut::Split(why.to_owned())),
            None => Ok(Some(split)),
        }
    }
}

/// Returns the key derived from the path of a medium.
fn key_of_path(path: &[u8], rule: KeyRule) -> Vec<u8> {
    divide(path, rule).map_or_else(|| path.to_vec(), |(key, _)| key)
}

fn ready_part(name: &str, bytes: Vec<u8>) -> DraftPart {
    DraftPart::Ready(Part { name: name.as_bytes().to_vec(), bytes: bytes.len() as u64, origin: Origin::Bytes(bytes) })
}

/// Parts with unique names.
#[derive(Default)]
struct Parts {
    list: Vec<DraftPart>,
    names: HashSet<Vec<u8>>,
}

impl Parts {
    fn add(&mut self, part: Option<DraftPart>, column: &str) -> Outcome<()> {
        let Some(part) = part else { return Ok(()) };
        if !self.names.insert(part.name().to_vec()) {
            let name = String::from_utf8_lossy(part.name()).into_owned();
            return Err(refuse(column, format!("another column, or the row itself, is the part '{name}' already")));
        }
        self.list.push(part);
        Ok(())
    }
}
