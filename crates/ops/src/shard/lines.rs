//! Writes samples without their media as JSON lines, for `--text-to`.

use super::gather::OpenInputs;
use super::record::{subject_of, ListedSample, RecordWriter, Records, SpoolContext};
use super::sample::{Part, Sample};
use crate::job::task::TaskContext;
use gristmill_core::text::display_safe_bytes;
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink as _};
use gristmill_storage::fs::BufferedFile;
use serde::de::IgnoredAny;
use std::path::Path;

/// Size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 20;
/// Maximum size of a text part, in bytes.
const MAX_TEXT_BYTES: u64 = 256 << 20;
/// Keys of a line that are not names of parts.
const KEY: &str = "__key__";
const MEDIA: &str = "media";

/// Collects the samples for the lines, in their order.
pub(super) struct LineList {
    writer: RecordWriter,
    samples: u64,
}

/// The samples that become lines.
pub(super) struct PlannedLines {
    pub(super) records: Records,
    pub(super) samples: u64,
}

impl LineList {
    pub(super) fn create(context: &SpoolContext<'_>) -> Outcome<Self> {
        Ok(Self { writer: RecordWriter::create(context, "lines")?, samples: 0 })
    }

    pub(super) fn push(&mut self, record: &[u8]) -> Outcome<()> {
        self.samples += 1;
        self.writer.push(record)
    }

    pub(super) fn finish(self) -> Outcome<PlannedLines> {
        Ok(PlannedLines { records: self.writer.finish()?, samples: self.samples })
    }
}

/// Writes one line per sample, and returns the number of lines. Omits parts that a line cannot contain, and reports a problem for each.
pub(super) fn write_lines(
    context: &TaskContext,
    inputs: &OpenInputs<'_>,
    samples: &Records,
    path: &Path,
) -> Outcome<u64> {
    context.fs.remove_file(path)?;
    let mut out = BufferedFile::new(context.fs.create_file(path)?, BUFFER_BYTES);
    let mut samples = samples.open()?;
    let (mut line, mut lines) = (Vec::new(), 0);
    while let Some(ListedSample { sample, .. }) = samples.next_sample()? {
        context.cancel.check()?;
        let Ok(key) = std::str::from_utf8(&sample.key) else {
            let why = "its key is not UTF-8, so that no line can name it";
            context.problems.report(Problem::problem(ProblemKind::EntryNameNotUtf8, subject_of(&sample), why))?;
            continue;
        };
        line.clear();
        push_line(context, inputs, (&sample, key), &mut line)?;
        out.write_all(&line)?;
        lines += 1;
    }
    out.finish().map(|_| lines)
}

fn push_line(
    context: &TaskContext,
    inputs: &OpenInputs<'_>,
    (sample, key): (&Sample, &str),
    line: &mut Vec<u8>,
) -> Outcome<()> {
    line.push(b'{');
    push_member(line, KEY, &json_text(key));
    for part in sample.parts.iter().filter(|part| !part.is_media()) {
        let name = std::str::from_utf8(&part.name).ok().filter(|name| ![KEY, MEDIA].contains(name));
        let value = match name {
            Some(name) => value_of(context, inputs, name, part)?.map(|value| (name, value)),
            None => None,
        };
        match value {
            Some((name, value)) => push_member(line, name, &value),
            None => {
                let name = display_safe_bytes(&part.name);
                let why = format!("the part '{name}' cannot be in a line: it is too large, not UTF-8, not JSON, or has a reserved name");
                context.problems.report(Problem::problem(ProblemKind::BadLine, subject_of(sample), why))?;
            }
        }
    }
    let names =
        sample.parts.iter().filter(|part| part.is_media()).filter_map(|part| std::str::from_utf8(&part.name).ok());
    let mut media = b"{".to_vec();
    names.for_each(|name| push_member(&mut media, name, &json_text(&format!("{key}.{name}"))));
    if media.len() > 1 {
        media.push(b'}');
        push_member(line, MEDIA, &media);
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

/// Returns the JSON value of a part: JSON unchanged, other text as a string; `None` if it is neither.
fn value_of(context: &TaskContext, inputs: &OpenInputs<'_>, name: &str, part: &Part) -> Outcome<Option<Vec<u8>>> {
    if part.bytes > MAX_TEXT_BYTES {
        return Ok(None);
    }
    let bytes = inputs.read_part(part, &context.cancel)?;
    if name.rsplit('.').next() == Some("json") {
        let is_json = std::str::from_utf8(&bytes).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        return Ok(is_json.then(|| without_space(&bytes)));
    }
    Ok(std::str::from_utf8(&bytes).ok().map(json_text))
}

fn push_member(line: &mut Vec<u8>, name: &str, value: &[u8]) {
    if line.last() != Some(&b'{') {
        line.extend_from_slice(b", ");
    }
    line.extend_from_slice(&json_text(name));
    line.extend_from_slice(b": ");
    line.extend_from_slice(value);
}

fn json_text(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).unwrap_or_default()
}

/// Returns valid JSON without white space outside of strings.
fn without_space(json: &[u8]) -> Vec<u8> {
    let (mut is_text, mut is_escaped) = (false, false);
    let mut kept = Vec::with_capacity(json.len());
    for &byte in json {
        if !is_text && byte.is_ascii_whitespace() {
            continue;
        }
        kept.push(byte);
        match byte {
            b'"' if !is_escaped => is_text = !is_text,
            b'\\' if is_text && !is_escaped => {
                is_escaped = true;
                continue;
            }
            _ => {}
        }
        is_escaped = false;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_white_space_outside_strings_is_removed() {
        let json = br#" { "a b" : [ 1 , "x \" y\\" ] ,
            "c": "\\" , "d": null } "#;
        assert_eq!(without_space(json), br#"{"a b":[1,"x \" y\\"],"c":"\\","d":null}"#);
    }
}
