//! Messages about lines that are not objects and about files that are not JSONL, each with a hint.

use super::LineCounts;
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, count, count_verb, display_safe_bytes, grouped};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use gristmill_data::source::file_start::{start_of, FileStart};
use gristmill_data::source::jsonl::{is_white, BadLine};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// Maximum number of bytes of a line that are shown.
const MAX_SHOWN_BYTES: usize = 48;
/// Number of bytes at the start of a file that are searched for lines that end with CR alone.
const CR_SEARCH_BYTES: usize = 64 << 10;
/// Byte order mark, which is allowed at the start of a UTF-8 file, but not of a JSONL file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a file of lines. Refuses a file without text, and one with compressed or differently encoded text.
pub fn open(path: &Path) -> Outcome<ReadFile> {
    let file = open_read(path)?;
    check_start(path, start_of(&file)?)?;
    Ok(file)
}

/// Refuses a file whose beginning shows that it has no lines to index.
pub fn check_start(path: &Path, start: FileStart) -> Outcome<()> {
    let Some(problem) = refused_start(path, start) else { return Ok(()) };
    let mut failure = problem.into_failure();
    "reading the lines".clone_into(&mut failure.what);
    Err(failure)
}

/// Reports lines that are not objects: the first ones individually, the others as a count.
pub fn report_bad(file: &ReadFile, counts: &LineCounts, problems: &dyn ProblemSink) -> Outcome<()> {
    for bad in &counts.bad {
        problems.report(bad_line(file, bad))?;
    }
    let more = counts.bad_count - counts.bad.len() as u64;
    problems.count_more(Severity::Problem, ProblemKind::BadLine, more);
    Ok(())
}

/// Returns the failure for lines that cannot be indexed; `None` if all can.
pub fn refusal(file: &ReadFile, counts: &LineCounts) -> Option<Failure> {
    let path = file.path();
    if let Some(first) = counts.bad.first() {
        let lines = count(counts.lines, "line");
        let are = agree(counts.bad_count, "is not a JSON object", "are not JSON objects");
        let why = format!("{} of {lines} {are}; nothing was written", grouped(counts.bad_count));
        let subject = Subject::path(path).line(first.line + 1).at(first.start);
        let failure = Failure::data("indexing the lines", why).on(subject).of_kind(ProblemKind::BadLine);
        return Some(failure.with_hint(leave_out_hint(path)));
    }
    (counts.samples == 0).then(|| {
        let why =
            format!("{} blank, so it holds no sample", agree(counts.lines, "its only line is", "all its lines are"));
        Failure::data("indexing the lines", why)
            .on(Subject::path(path))
            .with_hint("write one JSON object a line into it, or leave the file out")
    })
}

pub(super) fn leave_out_hint(path: &Path) -> String {
    let quoted = shell_quote(&path.to_string_lossy());
    format!(
        "the loader fails on such lines: correct them, or leave them out: gristmill prepare {quoted} --skip-bad-lines \
         indexes a copy without them, NAME.clean.jsonl"
    )
}

/// Returns the problem of a file whose beginning shows that it has no lines to index; `None` for text.
pub fn refused_start(path: &Path, start: FileStart) -> Option<Problem> {
    let quoted = shell_quote(&path.to_string_lossy());
    let refuse = |message: String, hint: String| {
        Some(Problem::problem(ProblemKind::BadLine, Subject::path(path), message).with_hint(hint))
    };
    match start {
        FileStart::Text => None,
        FileStart::Empty => refuse(
            "the file is empty, and a JSONL file needs one line at least".to_owned(),
            "remove it from the mixture, or write one JSON object a line into it".to_owned(),
        ),
        FileStart::Wide(encoding) => refuse(
            format!("the text is encoded in {encoding}, and JSONL is UTF-8"),
            format!("convert it: iconv -f {encoding} -t UTF-8 {quoted} > NEW.jsonl"),
        ),
        FileStart::Compressed(compression) => {
            let name = compression.name;
            refuse(
                format!("it is compressed with {name}, and a loader cannot jump to a line of a compressed file"),
                format!("unpack it first: {}", compression.unpack_command(path)),
            )
        }
    }
}

/// Describes a line that is not an object: its actual content, its position, and its beginning.
pub fn bad_line(file: &ReadFile, bad: &BadLine) -> Problem {
    let shown = beginning(file, bad.ends.first_at);
    let (at, what, hint) = describe(file, bad, &shown);
    let column = at - bad.start + 1;
    let end = shown.iter().position(|byte| *byte == b'\n').unwrap_or(shown.len());
    let cut =
        if end == shown.len() && bad.ends.last_at >= bad.ends.first_at + MAX_SHOWN_BYTES as u64 { "…" } else { "" };
    let text = display_safe_bytes(shown.get(..end).unwrap_or_default());
    let message = format!("column {column}: {what}; it begins with {}{cut}", text.trim_end());
    let subject = Subject::path(file.path()).line(bad.line + 1).at(at);
    Problem::problem(ProblemKind::BadLine, subject, message).with_hint(hint)
}

/// Returns the position of the error, the error, and a hint.
fn describe(file: &ReadFile, bad: &BadLine, shown: &[u8]) -> (u64, &'static str, String) {
    let quoted = shell_quote(&file.path().to_string_lossy());
    let one_line = || format!("each object must be on a line of its own: jq -c . {quoted} > NEW.jsonl");
    let ends = bad.ends;
    if shown.starts_with(BYTE_ORDER_MARK) {
        let hint = match ends.first_at {
            0 => format!("cut it off: tail -c +4 {quoted} > NEW.jsonl"),
            _ => format!("cut it out: LC_ALL=C sed 's/^\\xEF\\xBB\\xBF//' {quoted} > NEW.jsonl"),
        };
        return (ends.first_at, "the line begins with a byte order mark (EF BB BF)", hint);
    }
    if ends.first != b'{' {
        let (what, hint) = match ends.first {
            // `.[]` alone would also take the objects of other lines apart.
            b'[' => (
                "the line is an array, not an object",
                format!("take it apart: jq -c 'if type == \"array\" then .[] else . end' {quoted} > NEW.jsonl"),
            ),
            0 => (
                "the line has NUL bytes, as after a crash",
                format!("take them out: tr -d '\\000' < {quoted} > NEW.jsonl"),
            ),
            b'"' => ("the line is a string or continues the line before, not an object", one_line()),
            b'}' | b']' | b',' => ("the line continues the previous line", one_line()),
            b'-' | b'0'..=b'9' => {
                ("the line is a number, not an object", "wrap each value in an object: {\"value\": …}".to_owned())
            }
            _ => ("the line does not begin with {", "each line must be one JSON object".to_owned()),
        };
        return (ends.first_at, what, hint);
    }
    let (what, hint) = match ends.last {
        0 => (
            "the line ends with NUL bytes, as files have after a crash",
            format!("take them out: tr -d '\\000' < {quoted} > NEW.jsonl"),
        ),
        b'{' | b'[' | b',' | b':' => ("the object continues in the next line", one_line()),
        _ => (
            "the line does not end with }",
            "each line must be one whole JSON object; it may have been cut short".to_owned(),
        ),
    };
    (ends.last_at, what, hint)
}

fn beginning(file: &ReadFile, at: u64) -> Vec<u8> {
    let mut bytes = vec![0; MAX_SHOWN_BYTES];
    // If reading fails, the message contains no text of the line.
    let count = file.read_at(&mut bytes, at).unwrap_or(0);
    bytes.truncate(count);
    // An incomplete character at the end is removed.
    if count == MAX_SHOWN_BYTES {
        let whole = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        bytes.truncate(count - whole);
    }
    bytes
}

/// Returns the note that blank lines are not samples, and that their bytes belong to the previous sample.
pub fn blank_lines(path: &Path, counts: &LineCounts) -> Option<Problem> {
    let lines = count_verb(counts.blank, "blank line", "is no sample; its", "are no samples; their");
    let message = format!("{lines} bytes belong to the sample before");
    (counts.blank > 0).then(|| Problem::note(ProblemKind::BlankLine, Subject::path(path), message))
}

/// Returns the warning that the loader does not split lines at CR alone.
pub fn cr_only(file: &ReadFile, counts: &LineCounts) -> Option<Problem> {
    if counts.lines != 1 || counts.samples != 1 {
        return None;
    }
    let mut bytes = vec![0; CR_SEARCH_BYTES];
    let read = file.read_at(&mut bytes, 0).unwrap_or(0);
    bytes.truncate(read);
    let found = has_cr_between_objects(&bytes);
    found.then(|| {
        let quoted = shell_quote(&file.path().to_string_lossy());
        let message = "lines seem to end with CR alone, which ends no line: the whole file is one sample";
        Problem::note(ProblemKind::BadLine, Subject::path(file.path()), message)
            .with_hint(format!("turn them into line ends: tr '\\r' '\\n' < {quoted} > NEW.jsonl"))
    })
}

/// Whether `bytes` contains the end of an object, a CR, and the start of another object, in this order.
fn has_cr_between_objects(bytes: &[u8]) -> bool {
    let (mut closed, mut broken) = (false, false);
    for byte in bytes {
        match byte {
            b'\r' => broken = closed,
            b'{' if broken => return true,
            byte if is_white(*byte) => {}
            byte => (closed, broken) = (*byte == b'}', false),
        }
    }
    false
}
