//! Names of the parts that the plan makes from columns.

use crate::shard::source::keys::extension;
use gristmill_core::shard_plan::{Column, RowColumns};
use gristmill_core::{Failure, Outcome, Subject};
use memchr::memmem::find;

/// Placeholder in part names for the extension of a file.
pub(in crate::shard) const EXTENSION: &str = "{ext}";
/// Default name of the part made from a text column.
const TEXT_PART: &str = "txt";
/// Name of the part with the row itself.
pub(super) const JSON_PART: &str = "json";
/// Default extension of media.
const NO_EXTENSION: &str = "bin";

/// The parts that columns become.
#[derive(Clone, Debug)]
pub(super) struct PartLayout {
    pub(super) media: Vec<Column>,
    pub(super) text: Vec<Column>,
    pub(super) has_json: bool,
}

impl PartLayout {
    /// Returns the layout of a plan. `default_media` is the media column if the plan names none.
    ///
    /// # Errors
    /// Two columns become the same part, or a name is not a valid part name.
    pub(super) fn of(columns: &RowColumns, default_media: Option<&str>) -> Outcome<Self> {
        let default = default_media.map(|name| Column { name: name.to_owned(), part: None });
        let media = match columns.media.is_empty() {
            true => default.into_iter().collect(),
            false => columns.media.clone(),
        };
        let layout = Self { media, text: columns.text.clone(), has_json: !columns.no_json };
        layout.check()?;
        Ok(layout)
    }

    fn check(&self) -> Outcome<()> {
        let mut seen: Vec<&str> = self.has_json.then_some(JSON_PART).into_iter().collect();
        let media = self.media.iter().filter_map(|column| column.part.as_deref().map(|part| (column, part)));
        let texts = self.text.iter().map(|column| (column, text_part(column)));
        for (column, part) in media.chain(texts) {
            if part.contains('/') || part.chars().any(char::is_control) {
                return Err(refuse(&column.name, format!("a part cannot have the name '{part}'")));
            }
            if seen.contains(&part) && !part.contains(EXTENSION) {
                return Err(refuse(
                    &column.name,
                    format!("another column, or the row itself, is the part '{part}' already"),
                ));
            }
            seen.push(part);
        }
        let unnamed = self.media.iter().filter(|column| column.part.is_none() && self.media.len() > 1);
        match unnamed.into_iter().find(|column| column.name.contains('/')) {
            Some(column) => {
                Err(refuse(&column.name, "the name of the column has a slash, so it cannot name a part".to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Returns the part name of a medium. `number` is its index in a list.
    pub(super) fn media_part(&self, column: &Column, path: &[u8], number: Option<usize>) -> String {
        let extension = extension(path).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or(NO_EXTENSION);
        let count = number.map_or(String::new(), |number| number.to_string());
        match &column.part {
            Some(part) => {
                let part = match part.split_once('.') {
                    Some((stem, rest)) => format!("{stem}{count}.{rest}"),
                    None => format!("{part}{count}"),
                };
                part.replace(EXTENSION, extension)
            }
            None if self.media.len() == 1 && number.is_none() => extension.to_owned(),
            None => format!("{}{count}.{extension}", column.name),
        }
    }
}

pub(super) fn text_part(column: &Column) -> &str {
    column.part.as_deref().unwrap_or(TEXT_PART)
}

pub(super) fn refuse(column: &str, why: String) -> Failure {
    let failure = Failure::usage("making samples of the rows", why).on(Subject::field(column));
    failure.with_hint("give the part another name: COLUMN:PART")
}

/// Detects the extension of a medium from its first bytes.
pub(super) fn extension_of_bytes(bytes: &[u8]) -> Option<&'static str> {
    let at = |offset: usize, magic: &[u8]| bytes.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    let is_riff = |kind: &[u8]| at(0, b"RIFF") && at(8, kind);
    match () {
        () if at(0, b"\xff\xd8\xff") => Some("jpg"),
        () if at(0, b"\x89PNG\r\n\x1a\n") => Some("png"),
        () if at(0, b"GIF8") => Some("gif"),
        () if is_riff(b"WEBP") => Some("webp"),
        () if is_riff(b"WAVE") => Some("wav"),
        () if at(0, b"II*\0") || at(0, b"MM\0*") => Some("tiff"),
        () if at(0, b"BM") => Some("bmp"),
        () if at(4, b"ftypavif") => Some("avif"),
        () if at(4, b"ftypM4A") => Some("m4a"),
        () if at(4, b"ftyp") => Some("mp4"),
        () if at(0, b"fLaC") => Some("flac"),
        () if at(0, b"OggS") => Some("ogg"),
        () if at(0, b"ID3") || at(0, b"\xff\xfb") || at(0, b"\xff\xf3") => Some("mp3"),
        () if at(0, b"%PDF") => Some("pdf"),
        () if at(0, b"\x1aE\xdf\xa3") => {
            let is_webm = bytes.get(..64.min(bytes.len())).is_some_and(|head| find(head, b"webm").is_some());
            Some(if is_webm { "webm" } else { "mkv" })
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(text: &str) -> Column {
        let (name, part) = text.split_once(':').map_or((text, None), |(name, part)| (name, Some(part.to_owned())));
        Column { name: name.to_owned(), part }
    }

    fn layout(media: &[&str], text: &[&str]) -> Outcome<PartLayout> {
        let columns = |texts: &[&str]| texts.iter().map(|text| column(text)).collect();
        PartLayout::of(&RowColumns { media: columns(media), text: columns(text), ..RowColumns::default() }, None)
    }

    #[test]
    fn media_parts_are_named_by_the_plan_or_by_file_extension() {
        let one = layout(&["image"], &[]).unwrap();
        assert_eq!(one.media_part(&column("image"), b"a/b.tar.PNG", None), "PNG");
        assert_eq!(one.media_part(&column("image"), b"a/b", Some(2)), "image2.bin");
        let two = layout(&["pages:img.{ext}", "sound"], &["label:cls"]).unwrap();
        assert_eq!(two.media_part(&two.media[0], b"m/0.png", Some(0)), "img0.png");
        assert_eq!(two.media_part(&two.media[1], b"a/0.wav", None), "sound.wav");
    }

    #[test]
    fn columns_with_the_same_part_name_are_refused() {
        for (media, text) in [
            (&["a:x"][..], &["b:x"][..]),
            (&[], &["a", "b"]),
            (&[], &["a:json"]),
            (&["a:x/y"], &[]),
            (&["a/b", "c"], &[]),
        ] {
            assert!(layout(media, text).is_err(), "{media:?} {text:?}");
        }
        assert!(layout(&["a/b"], &[]).is_ok());
    }
}
