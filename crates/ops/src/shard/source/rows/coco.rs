//! Reads COCO annotations: an object with `images` and `annotations`, from which each image becomes a row. Joins images and annotations by
//! sorting on disk.

use super::value::{RowReader, Value};
use crate::shard::record::{RecordSorter, SpoolContext};
use crate::shard::sample::SourceContext;
use gristmill_core::text::grouped;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{TextFile, UnpackedReader, MAX_LINE_BYTES};
use gristmill_storage::read::{open_read, ReadFile};
use gristmill_storage::sort::bytes::SpoolWriter;
use serde_json::{Deserializer, Map, Value as Json};
use std::path::PathBuf;
use std::sync::Arc;

const ACTIVITY: &str = "reading the annotations";
/// Number of bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;
/// Name of the field with the image in the resulting rows. Fields of the image are columns, too.
pub(super) const IMAGE: &str = "image";
/// Text of a resulting row before the image, and between the image and its annotations.
const BEFORE_IMAGE: &[u8] = b"{\"image\": ";
const AFTER_IMAGE: &[u8] = b", \"annotations\": [";
/// Path of the file name of the image in the resulting rows.
pub(super) const MEDIA_COLUMN: &str = "image.file_name";

/// One of the two arrays of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Array {
    Images,
    Annotations,
}

/// Calls `each` with the number of each image and its row, `{"image": …, "annotations": […]}`, in the order of the file. Returns `false`
/// without calling it if the file is not such an object.
///
/// # Errors
/// The file cannot be read or is truncated.
pub(super) fn each_row(
    file: &TextFile,
    context: &SourceContext<'_>,
    each: &mut dyn FnMut(u64, &[u8]) -> Outcome<()>,
) -> Outcome<bool> {
    let Some(collected) = SpooledElements::read(file, context)? else { return Ok(false) };
    collected.each_row(file, context, each)?;
    Ok(true)
}

/// Returns the image of a row created by [`each_row`], which may be truncated; `None` for other rows.
pub(in crate::shard) fn image_of(row: &[u8]) -> Option<Map<String, Json>> {
    let rest = row.strip_prefix(BEFORE_IMAGE)?;
    let mut values = Deserializer::from_slice(rest).into_iter();
    let image = values.next()?.ok()?;
    rest.get(values.byte_offset()..)?.starts_with(AFTER_IMAGE).then_some(image)
}

/// Elements of both arrays in a spool, and records sorted by image id: array, number, offset and length of an element.
struct SpooledElements<'a> {
    spool: PathBuf,
    ids: RecordSorter<'a, 4>,
}

impl<'a> SpooledElements<'a> {
    fn read(file: &TextFile, context: &SourceContext<'a>) -> Outcome<Option<Self>> {
        let mut input = UnpackedReader::new(Arc::new(open_read(&file.path)?), file.packing)?;
        let mut scanner = Scanner::default();
        let mut elements = SpoolWriter::create(context.fs, context.scratch, "coco-elements".to_owned())?;
        let mut ids = RecordSorter::new(SpoolContext::of_source(context), "coco-ids");
        let (mut counts, mut without_id) = ([0_u64; 2], [0_u64; 2]);
        let (mut buffer, mut total) = (vec![0; READ_BYTES], 0);
        loop {
            context.handles.cancel.check()?;
            let count = input.read(&mut buffer)?;
            if count == 0 || scanner.is_other() {
                break;
            }
            total += count as u64;
            for byte in buffer.get(..count).unwrap_or_default() {
                let Some(array) = scanner.push(*byte) else { continue };
                let element = scanner.element.trim_ascii();
                let (start, bytes) = (elements.position(), element.len() as u64);
                let number = &mut counts[array as usize];
                match id_of(element, array) {
                    Some(id) => ids.push(&id, [array as u64, *number, start, bytes])?,
                    None => without_id[array as usize] += 1,
                }
                *number += 1;
                elements.buffer().extend_from_slice(element);
                elements.check()?;
                scanner.element.clear();
            }
        }
        let spool = context.scratch.join(elements.finish()?.name);
        // JSON lines may have fields with these names.
        let has_images = counts[0] == 0 || without_id[0] < counts[0];
        let is_cut = scanner.has_images && !scanner.is_over;
        if scanner.is_other() || !scanner.has_both() && !is_cut || !has_images {
            context.fs.remove_file(&spool)?;
            ids.discard()?;
            return Ok(None);
        }
        let cut = || format!("the lists of the object end early at byte {}: the file is cut short", grouped(total));
        if let Some(why) = input.broken().map(str::to_owned).or_else(|| (!scanner.is_over).then(cut)) {
            let failure = Failure::data(ACTIVITY, why).on(Subject::path(&file.path));
            return Err(failure.with_hint("get the file again from its source"));
        }
        report_without_id(file, context, without_id)?;
        Ok(Some(Self { spool, ids }))
    }

    fn each_row(
        self,
        file: &TextFile,
        context: &SourceContext<'_>,
        each: &mut dyn FnMut(u64, &[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let spool = open_read(&self.spool)?;
        let path = self.spool.clone();
        let mut row = Vec::new();
        let mut open: Option<(u64, bool)> = None;
        self.by_image(file, context)?.for_each(&mut |image, [_, order, start, bytes]| {
            let image = image.try_into().map_or(0, u64::from_be_bytes);
            match &mut open {
                Some((current, has_annotations)) if *current == image => {
                    row.extend_from_slice(if *has_annotations { b", " } else { b"" });
                    *has_annotations = true;
                }
                _ => {
                    if let Some((before, _)) = open {
                        row.extend_from_slice(b"]}");
                        each(before, &row)?;
                    }
                    row.clear();
                    row.extend_from_slice(BEFORE_IMAGE);
                    open = Some((image, false));
                }
            }
            append(&spool, start, bytes, &mut row)?;
            if order == 0 {
                row.extend_from_slice(AFTER_IMAGE);
            }
            Ok(())
        })?;
        if let Some((last, _)) = open {
            row.extend_from_slice(b"]}");
            each(last, &row)?;
        }
        context.fs.remove_file(&path)
    }

    /// Sorts all elements by the number of their image: first the image, then its annotations.
    fn by_image(self, file: &TextFile, context: &SourceContext<'_>) -> Outcome<RecordSorter<'a, 4>> {
        let mut rows = RecordSorter::new(self.ids.context(), "coco-rows");
        let mut current: Option<(Vec<u8>, u64)> = None;
        let (mut without_image, mut repeated) = (0_u64, 0_u64);
        self.ids.for_each(&mut |id, [array, number, start, bytes]| {
            let known = current.as_ref().filter(|(known, _)| known == id).map(|(_, image)| *image);
            match (array == Array::Images as u64, known) {
                (true, known) => {
                    repeated += u64::from(known.is_some());
                    if known.is_none() {
                        current = Some((id.to_vec(), number));
                    }
                    rows.push(&number.to_be_bytes(), [0, 0, start, bytes])
                }
                (false, Some(image)) => rows.push(&image.to_be_bytes(), [1, number + 1, start, bytes]),
                (false, None) => {
                    without_image += 1;
                    Ok(())
                }
            }
        })?;
        let report = |kind, count: u64, what: &str| match count {
            0 => Ok(()),
            _ => {
                let message = format!("{} {what}", gristmill_core::text::grouped(count));
                context.handles.problems.report(Problem::problem(kind, Subject::path(&file.path), message))
            }
        };
        report(ProblemKind::BadLine, without_image, "annotations belong to no image, and are left out")?;
        report(ProblemKind::RepeatedKey, repeated, "images have the id of an earlier one, and no annotations")?;
        Ok(rows)
    }
}

fn append(spool: &ReadFile, start: u64, bytes: u64, row: &mut Vec<u8>) -> Outcome<()> {
    let from = row.len();
    row.resize(from + usize::try_from(bytes).unwrap_or(0), 0);
    let space = row.get_mut(from..).unwrap_or_default();
    spool.read_exact_at(space, start).map_err(|error| Failure::io("reading the spool", spool.path(), &error))
}

/// Returns the id of the image to which an element belongs.
fn id_of(element: &[u8], array: Array) -> Option<Vec<u8>> {
    let column = match array {
        Array::Images => "id",
        Array::Annotations => "image_id",
    };
    match RowReader::default().read(element).ok()?.value(column).ok()? {
        Value::Null => None,
        Value::Text(text) => Some(format!("\"{text}").into_bytes()),
        Value::Json(raw) => Some(raw.to_vec()),
    }
}

fn report_without_id(file: &TextFile, context: &SourceContext<'_>, counts: [u64; 2]) -> Outcome<()> {
    let report = |(number, what): (u64, &str)| {
        let message =
            format!("{} are left out: they are no objects with {what}", gristmill_core::text::grouped(number));
        context.handles.problems.report(Problem::problem(ProblemKind::BadLine, Subject::path(&file.path), message))
    };
    let found = counts.into_iter().zip(["'id', as images have", "'image_id', as annotations have"]);
    found.filter(|(number, _)| *number > 0).try_for_each(report)
}

/// Finds the elements of both arrays, one byte at a time.
#[derive(Debug, Default)]
struct Scanner {
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
    /// The last string in the outermost object.
    key: Vec<u8>,
    array: Option<Array>,
    element: Vec<u8>,
    has_images: bool,
    has_annotations: bool,
    /// Whether the outermost object has ended.
    is_over: bool,
    /// Whether the text is not such an object.
    is_other: bool,
}

impl Scanner {
    /// Whether the text is not an object, continues after it, or has an element that is too large for memory.
    fn is_other(&self) -> bool {
        self.is_other || self.element.len() > MAX_LINE_BYTES
    }

    fn has_both(&self) -> bool {
        self.has_images && self.has_annotations
    }

    /// Processes a byte. If it ends an element, returns the array of the element in `element`.
    fn push(&mut self, byte: u8) -> Option<Array> {
        if self.is_in_string {
            self.in_string(byte);
            return None;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                if self.array.is_none() {
                    self.key.clear();
                } else {
                    self.element.push(byte);
                }
                return None;
            }
            b'{' | b'[' => return self.open(byte),
            b'}' | b']' => return self.close(byte),
            b',' if self.depth == 2 && self.array.is_some() => return self.ended(),
            _ if self.array.is_some() => self.element.push(byte),
            _ if self.depth == 0 => self.is_other |= !byte.is_ascii_whitespace() && !is_mark(byte),
            _ => {}
        }
        None
    }

    fn in_string(&mut self, byte: u8) {
        if self.array.is_some() {
            self.element.push(byte);
        }
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.is_in_string = false,
            _ if self.array.is_none() && self.depth == 1 && self.key.len() < 64 => self.key.push(byte),
            _ => {}
        }
    }

    fn open(&mut self, byte: u8) -> Option<Array> {
        self.is_other |= self.depth == 0 && (byte != b'{' || self.is_over);
        self.depth += 1;
        if self.array.is_some() {
            self.element.push(byte);
        } else if self.depth == 2 && byte == b'[' {
            self.array = match self.key.as_slice() {
                b"images" => Some(Array::Images),
                b"annotations" => Some(Array::Annotations),
                _ => None,
            };
            self.has_images |= self.array == Some(Array::Images);
            self.has_annotations |= self.array == Some(Array::Annotations);
        }
        None
    }

    fn close(&mut self, byte: u8) -> Option<Array> {
        let ended = match self.depth {
            2 if self.array.is_some() => self.ended(),
            _ => {
                if self.array.is_some() {
                    self.element.push(byte);
                }
                None
            }
        };
        if self.depth == 2 {
            self.array = None;
        }
        self.depth = self.depth.saturating_sub(1);
        self.is_over |= self.depth == 0;
        ended
    }

    /// Returns the current array if `element` is not blank.
    fn ended(&mut self) -> Option<Array> {
        self.array.filter(|_| !self.element.trim_ascii().is_empty())
    }
}

/// Whether a byte occurs in a byte-order mark.
fn is_mark(byte: u8) -> bool {
    [0xef, 0xbb, 0xbf].contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(text: &str) -> (Vec<(Array, String)>, Scanner) {
        let (mut scanner, mut found) = (Scanner::default(), Vec::new());
        for byte in text.bytes() {
            if let Some(array) = scanner.push(byte) {
                found.push((array, String::from_utf8_lossy(scanner.element.trim_ascii()).into_owned()));
                scanner.element.clear();
            }
        }
        (found, scanner)
    }

    #[test]
    fn coco_elements_of_both_arrays_are_found_unchanged() {
        let text = r#" {"info": {"images": [9]}, "images": [ {"a": "],\"}"} , {} ], "x": ["images"], "annotations": [[1, 2]]} "#;
        let (found, scanner) = elements(text);
        let expected = [
            (Array::Images, r#"{"a": "],\"}"}"#.to_owned()),
            (Array::Images, "{}".to_owned()),
            (Array::Annotations, "[1, 2]".to_owned()),
        ];
        assert_eq!(found, expected);
        assert!(scanner.has_both() && scanner.is_over && !scanner.is_other());
    }

    #[test]
    fn json_without_both_coco_arrays_is_not_annotations() {
        for text in ["[{}]", "{\"a\": 1}\n{\"b\": 2}", "7", "{\"images\": []}"] {
            let scanner = elements(text).1;
            assert!(scanner.is_other() || !scanner.has_both(), "{text}");
        }
        assert!(!elements("{\"images\": [], \"annotations\": [").1.is_over);
    }
}
