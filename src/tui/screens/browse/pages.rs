//! The loader view and the offset view as lines of text; computed by a worker.

use crate::tui::screens::page::{PageLine, Tone};
use gristmill_core::text::{bytes, count, grouped};
use gristmill_data::source::decode::Value;
use gristmill_ops::engine::browse::loader::{FieldValue, LoaderField, LoaderKind, LoaderView};
use gristmill_ops::engine::browse::offsets::{EntryView, HeaderView, OffsetView};

/// Maximum number of shown characters of a value.
const MAX_VALUE_CHARS: usize = 600;
/// Maximum number of shown lines of Python.
const CODE_LINES: usize = 200;
/// Maximum number of shown lines in total.
const MAX_LINES: usize = 4_000;
/// Number of bytes in a row of a hex dump.
const HEX_ROW_BYTES: usize = 8;

fn line(tone: Tone, text: impl Into<String>) -> PageLine {
    PageLine::new(tone, text)
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => {
            format!("{}  (and {} more)", text.get(..end).unwrap_or_default(), bytes((text.len() - end) as u64))
        }
        None => text.to_owned(),
    }
}

/// Returns the lines of a sample as the loader reads it.
pub fn loader_lines(view: &LoaderView) -> Vec<PageLine> {
    let head = match &view.kind {
        LoaderKind::FieldMap => format!("{}, by the field map", view.class),
        LoaderKind::Crude if view.class.is_empty() => "the parts themselves (crude)".to_owned(),
        LoaderKind::Crude => format!("{}: the parts themselves (crude)", view.class),
        LoaderKind::Function { function, .. } => format!("{}, made by {function}", view.class),
        LoaderKind::Missing => "nothing says how samples are made".to_owned(),
    };
    let mut lines = vec![line(Tone::Heading, head)];
    lines.extend(view.error.iter().map(|why| PageLine::labelled(Tone::Error, "! ", why.clone())));
    lines.extend(view.note.iter().map(|note| line(Tone::Muted, note.clone())));
    for field in &view.fields {
        lines.push(line(Tone::Plain, ""));
        lines.extend(field_lines(field));
    }
    if let LoaderKind::Function { code: Some(code), .. } = &view.kind {
        lines.push(line(Tone::Plain, ""));
        lines.push(line(Tone::Muted, "The file, as text; it is not run here:"));
        lines.extend(code.lines().take(CODE_LINES).map(|text| line(Tone::Plain, text)));
    }
    lines.truncate(MAX_LINES);
    lines
}

fn field_lines(field: &LoaderField) -> Vec<PageLine> {
    let mut head = field.name.clone();
    for more in [Some(field.field_type.to_owned()).filter(|t| !t.is_empty()), field.shape()].into_iter().flatten() {
        head.push_str("  ");
        head.push_str(&more);
    }
    let mut lines = vec![line(Tone::Heading, head)];
    lines.extend(field.expr.iter().map(|expr| PageLine::labelled(Tone::Muted, "  from ", expr.clone())));
    lines.push(match &field.value {
        Ok(FieldValue::Found(value)) => PageLine::labelled(Tone::Plain, "  ", value_words(value)),
        Ok(FieldValue::Default(value)) => {
            PageLine::labelled(Tone::Muted, "  ", format!("{value}, the class's default"))
        }
        Err(why) => PageLine::labelled(Tone::Error, "  ! ", why.clone()),
    });
    lines.extend(field.warning.iter().map(|why| PageLine::labelled(Tone::Warn, "  ! ", why.clone())));
    lines
}

fn value_words(value: &Value) -> String {
    match value {
        Value::Text(text) => cut(text),
        Value::Json(json) => cut(&json.to_string()),
        Value::Int(number) => number.to_string(),
        Value::Image { format, width, height } => format!("a picture, {format} {width}×{height}"),
        Value::Array { dtype, .. } => format!("an array of {dtype}"),
        Value::Media { format, len } => format!("a decoder of {format}, {}", bytes(*len)),
        Value::Bytes { len, label } => format!("{label}, {}", bytes(*len)),
    }
}

/// Returns lines with the location of a sample according to the archive and to each index.
pub fn offset_lines(view: &OffsetView) -> Vec<PageLine> {
    let mut lines = vec![line(Tone::Heading, format!("{}, {}", view.name, count(view.file_bytes, "byte")))];
    if view.is_compressed {
        lines.push(line(Tone::Muted, "compressed: offsets count unpacked bytes, and headers are not shown"));
    }
    let widest = view.claims.iter().map(|claim| claim.source.chars().count()).max().unwrap_or(0).min(30);
    for claim in &view.claims {
        let label = format!("{:widest$}  ", claim.source);
        let mut words = match claim.span {
            Some((from, to)) => format!("{} to {}", grouped(from), grouped(to)),
            None => String::new(),
        };
        if let Some(note) = &claim.note {
            let comma = if words.is_empty() { "" } else { "; " };
            words.push_str(&format!("{comma}{note}"));
        }
        let tone = if claim.span.is_some() { Tone::Plain } else { Tone::Muted };
        lines.push(PageLine::labelled(tone, label, words));
    }
    match view.disagreements.as_slice() {
        [] if view.entries.is_empty() => {}
        [] => lines.push(line(Tone::Ok, "archive and index agree")),
        all => lines.extend(all.iter().map(|why| PageLine::labelled(Tone::Error, "! ", why.clone()))),
    }
    for entry in &view.entries {
        lines.push(line(Tone::Plain, ""));
        lines.extend(entry_lines(entry));
    }
    for row in &view.lost_rows {
        let words = format!("row of {}: {}; no entry begins there", row.name, place(row.byte_offset, row.byte_size));
        lines.push(PageLine::labelled(Tone::Error, "! ", words));
    }
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES);
        lines.push(line(Tone::Muted, "and more"));
    }
    lines
}

fn place(offset: u64, size: u64) -> String {
    format!("byte {}, {}", grouped(offset), count(size, "byte"))
}

fn entry_lines(entry: &EntryView) -> Vec<PageLine> {
    let part = entry.part.as_ref().map_or("skipped".to_owned(), |part| format!("part {part}"));
    let mut lines = vec![line(Tone::Heading, format!("{}  ({part})", entry.name))];
    lines.push(PageLine::labelled(Tone::Plain, "tar header  ", place(entry.content_offset, entry.size)));
    lines.push(match &entry.row {
        Some(row) => PageLine::labelled(Tone::Plain, "index row   ", place(row.byte_offset, row.byte_size)),
        None => PageLine::labelled(Tone::Muted, "index row   ", "none"),
    });
    lines.extend(entry.headers.iter().flat_map(header_lines));
    lines
}

fn header_lines(header: &HeaderView) -> Vec<PageLine> {
    let mut lines = vec![line(Tone::Muted, format!("header at byte {}", grouped(header.offset)))];
    for field in header.fields.iter().filter(|field| !field.value.is_empty() || field.defect.is_some()) {
        let label = format!("  {:>3} {:9} ", field.from, field.name);
        let tone = if field.defect.is_some() { Tone::Warn } else { Tone::Plain };
        let defect = field.defect.map(|why| format!("  ! {why}")).unwrap_or_default();
        lines.push(PageLine::labelled(tone, label, format!("{}{defect}", field.value)));
    }
    for (index, row) in header.bytes.chunks(HEX_ROW_BYTES).enumerate() {
        // Most rows of a header are all zero bytes and are omitted.
        if row.iter().all(|byte| *byte == 0) {
            continue;
        }
        let digits: String = row.iter().map(|byte| format!("{byte:02x} ")).collect();
        let shown: String = row.iter().map(|b| if (0x20..0x7f).contains(b) { char::from(*b) } else { '.' }).collect();
        lines.push(line(Tone::Muted, format!("  {:>3}  {digits:24} {shown}", index * HEX_ROW_BYTES)));
    }
    lines
}
