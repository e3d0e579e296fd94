//! Checks that the samples are valid for Forager's readers: ids are in the vocabulary, masks are 0 or 1, lines are JSON
//! (docs/formats/forager.md §1 to §4).

use super::browser::planned_code;
use super::facts::{ForagerFacts, ForagerFile, Schema};
use crate::engine::browse::tokens::find_companion_info;
use crate::engine::check::tokens::Vocabulary;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::formats::forager::has_text;
use gristmill_data::preview::tokens::TokenCode;
use gristmill_data::source::documents::{python_line, MAX_LINE_BYTES};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// Bytes read at a time; a multiple of every id size.
const READ_BYTES: u64 = 1 << 20;
/// Limit of findings in one file that are reported individually; the others are counted.
const MAX_REPORTED: u64 = 5;
const ACTIVITY: &str = "reading the samples";

/// Properties of all samples of a set.
pub struct Samples<'a> {
    schema: Option<&'a Schema>,
    code: Option<TokenCode>,
    vocabulary: Option<&'a Vocabulary>,
}

impl<'a> Samples<'a> {
    /// Determines the token code. If neither a schema nor a plan of this program defines it, reports a note; ids are then read but not
    /// checked.
    pub fn of(facts: &'a ForagerFacts, vocabulary: Option<&'a Vocabulary>, handles: &Handles<'_>) -> Outcome<Self> {
        let schema = facts.schema.as_ref();
        let tokens = schema.and_then(|schema| schema.arrays.iter().find(|array| array.name == "tokens"));
        let code = match tokens {
            Some(array) => TokenCode::of_numpy(&array.dtype),
            None => planned_code(&find_companion_info(Path::new(&facts.path))),
        };
        let has_tokens = facts.files.iter().any(|file| !has_text(&file.path));
        if code.is_none() && has_tokens {
            let message = "the size of an id is unknown, so the ids are not checked";
            handles.problems.report(Problem::note(ProblemKind::Other, Subject::path(&facts.path), message))?;
        }
        Ok(Self { schema, code, vocabulary })
    }

    /// Reads all samples of a file. Bytes after the last sample are not read.
    pub fn check(&self, file: &ForagerFile, handles: &Handles<'_>) -> Outcome<()> {
        let Some(size) = file.bytes else { return Ok(()) };
        let open = open_read(&file.path)?;
        let end = file.sample_bytes.min(size);
        let mut found = FileFindings { file: &open, handles, number: 0 };
        if has_text(&file.path) {
            return lines(&mut found, end);
        }
        match self.schema.filter(|schema| schema.total_bytes_per_sample > 0) {
            None => self.ids(&mut found, 0, end),
            Some(schema) => {
                let total = schema.total_bytes_per_sample;
                for sample in 0..end / total {
                    self.sample(&mut found, schema, sample * total)?;
                }
                Ok(())
            }
        }
    }

    fn sample(&self, found: &mut FileFindings<'_>, schema: &Schema, begin: u64) -> Outcome<()> {
        for array in &schema.arrays {
            let Some(code) = TokenCode::of_numpy(&array.dtype) else { continue };
            let from = begin.saturating_add(array.offset);
            let to = from.saturating_add(schema.sample_size.saturating_mul(code.size()));
            // The values in the schema are unverified.
            if array.offset.saturating_add(to - from) > schema.total_bytes_per_sample {
                continue;
            }
            match array.name.as_str() {
                "tokens" => self.ids(found, from, to)?,
                "loss_mask" => masks(found, from, to)?,
                _ => each_piece(found, from, to, |_, _, _| Ok(()))?,
            }
        }
        Ok(())
    }

    fn ids(&self, found: &mut FileFindings<'_>, from: u64, to: u64) -> Outcome<()> {
        let Some(code) = self.code else { return each_piece(found, from, to, |_, _, _| Ok(())) };
        let greatest = self.vocabulary.map_or(i128::MAX, |vocabulary| i128::from(vocabulary.greatest));
        each_piece(found, from, to, |found, at, bytes| {
            if self.vocabulary.is_none() && !code.is_signed {
                return Ok(());
            }
            let ids = code.ids(bytes).into_iter();
            for (place, id) in (0_u64..).zip(ids).filter(|(_, id)| *id < 0 || *id > greatest) {
                found.report_at(at + place * code.size(), || match self.vocabulary {
                    Some(known) => format!("the id {id} is beyond those of {}: 0 to {}", known.name, known.greatest),
                    None => format!("the id {id} is below 0"),
                })?;
            }
            Ok(())
        })
    }
}

fn masks(found: &mut FileFindings<'_>, from: u64, to: u64) -> Outcome<()> {
    each_piece(found, from, to, |found, at, bytes| {
        for (place, mask) in (0_u64..).zip(bytes).filter(|(_, mask)| **mask > 1) {
            found.report_at(at + place, || format!("a mask is {mask}, and only 0 and 1 are known"))?;
        }
        Ok(())
    })
}

/// Reports lines that the reader cannot parse, which would make it fail. A line of more than 64 MiB is skipped.
fn lines(found: &mut FileFindings<'_>, end: u64) -> Outcome<()> {
    let (mut line, mut begin, mut is_long) = (Vec::new(), 0_u64, false);
    each_piece(found, 0, end, |found, at, bytes| {
        let mut from = 0;
        for stop in memchr::memchr_iter(b'\n', bytes) {
            line.extend_from_slice(bytes.get(from..stop).unwrap_or_default());
            check_line(found, begin, &line, is_long)?;
            line.clear();
            (from, begin, is_long) = (stop + 1, at + stop as u64 + 1, false);
        }
        line.extend_from_slice(bytes.get(from..).unwrap_or_default());
        if line.len() > MAX_LINE_BYTES {
            line.clear();
            is_long = true;
        }
        Ok(())
    })?;
    if begin < end {
        check_line(found, begin, &line, is_long)?;
    }
    Ok(())
}

fn check_line(found: &mut FileFindings<'_>, begin: u64, line: &[u8], is_long: bool) -> Outcome<()> {
    if is_long {
        return Ok(());
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return found.report_at(begin, || "the line is blank, and the reader fails at it".to_owned());
    }
    match python_line(line) {
        Ok(()) => Ok(()),
        Err(_) => found.report_at(begin, || "the line is not JSON, and the reader fails at it".to_owned()),
    }
}

/// The file that is being checked, and the number of its findings.
struct FileFindings<'a> {
    file: &'a ReadFile,
    handles: &'a Handles<'a>,
    number: u64,
}

impl FileFindings<'_> {
    fn report_at(&mut self, at: u64, message: impl FnOnce() -> String) -> Outcome<()> {
        self.number += 1;
        if self.number > MAX_REPORTED {
            self.handles.problems.count_more(Severity::Problem, ProblemKind::BadFile, 1);
            return Ok(());
        }
        let subject = Subject::path(self.file.path()).at(at);
        self.handles.problems.report(Problem::problem(ProblemKind::BadFile, subject, message()))
    }
}

/// Passes a range of a file on in pieces, each with its offset. Ends early if the file became shorter.
fn each_piece<'a>(
    found: &mut FileFindings<'a>,
    from: u64,
    to: u64,
    mut take: impl FnMut(&mut FileFindings<'a>, u64, &[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut bytes = Vec::new();
    let mut at = from;
    while at < to {
        found.handles.cancel.check()?;
        let wanted = usize::try_from((to - at).min(READ_BYTES)).unwrap_or(0);
        bytes.resize(wanted, 0);
        match found.file.read_exact_at(&mut bytes, at) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return found.report_at(at, || "it became shorter while it was read".to_owned());
            }
            Err(error) => return Err(Failure::io(ACTIVITY, found.file.path(), &error)),
        }
        take(found, at, &bytes)?;
        found.handles.progress.add(0, wanted as u64);
        at += wanted as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::facts::forager_facts;
    use super::*;
    use gristmill_core::{Cancel, ProblemLog, Progress};
    use gristmill_storage::{fs::RealFs, publish::write_file};
    use proptest::prelude::*;

    fn put(path: &Path, bytes: &[u8]) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_file(&RealFs, path, bytes, 0o644).unwrap();
    }

    /// Checks a set with one file, whose samples have `size` bytes each.
    fn check_file(name: &str, data: &[u8], size: u64, schema: Option<&str>, greatest: Option<u32>) -> String {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join(name), data);
        put(&dir.path().join("index/file_location.txt"), format!("{name}\n").as_bytes());
        let rows = (0..data.len() as u64 / size).flat_map(|row| [0, row * size, size]);
        let rows: Vec<u8> = rows.flat_map(u64::to_le_bytes).collect();
        put(&dir.path().join("index/sample_locations.bin"), &rows);
        if let Some(schema) = schema {
            put(&dir.path().join("index/sample_schema.json"), schema.as_bytes());
        }
        let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
        let facts = forager_facts(dir.path(), &handles).unwrap();
        let vocabulary = greatest.map(|greatest| Vocabulary { name: "v".into(), greatest });
        let samples = Samples::of(&facts, vocabulary.as_ref(), &handles).unwrap();
        facts.files.iter().for_each(|file| samples.check(file, &handles).unwrap());
        problems.to_vec().iter().map(|problem| format!("{problem}\n")).collect()
    }

    const MASKED: &str = r#"{"sample_size": 2, "arrays": [{"name": "tokens", "dtype": "int32", "offset": 0},
        {"name": "loss_mask", "dtype": "uint8", "offset": 8}], "total_bytes_per_sample": 10}"#;

    fn masked(ids: [i32; 4], masks: [u8; 4]) -> Vec<u8> {
        let sample = |at: usize| [&ids[at].to_le_bytes()[..], &ids[at + 1].to_le_bytes(), &masks[at..at + 2]].concat();
        [sample(0), sample(2)].concat()
    }

    #[test]
    fn invalid_ids_and_masks_of_forager_samples_are_reported() {
        let of = |ids, masks, greatest| check_file("t/a.bin", &masked(ids, masks), 10, Some(MASKED), greatest);
        assert_eq!(of([1, 2, 3, 4], [0, 1, 0, 1], Some(4)), "");
        assert!(of([1, 2, 5, 4], [0, 1, 0, 1], Some(4)).contains("the id 5 is beyond those of v: 0 to 4"));
        assert_eq!(of([1, 2, 5, 4], [0, 1, 0, 1], None), "");
        assert!(of([1, -2, 3, 4], [0, 1, 0, 1], None).contains("the id -2 is below 0"));
        assert!(of([1, 2, 3, 4], [0, 1, 0, 7], None).contains("a mask is 7"));
        let plain = check_file("t/a.bin", &[9; 8], 4, None, Some(3));
        assert!(plain.contains("the size of an id is unknown"), "{plain}");
    }

    #[test]
    fn lines_that_the_forager_reader_refuses_are_reported() {
        let all = b"{\"a\": NaN}\n  \nnope\n[1]";
        let said = check_file("a.jsonl", all, all.len() as u64, None, None);
        assert_eq!(said.lines().count(), 2, "{said}");
        assert!(said.contains("blank") && said.contains("not JSON"), "{said}");
    }

    proptest! {
        #[test]
        fn any_forager_schema_is_checked_against_any_data(
            data in proptest::collection::vec(any::<u8>(), 1..100),
            [sample_size, offset, total] in any::<[u64; 3]>(),
            dtype in "(uint8|uint16|int64|float32)",
        ) {
            for (sample_size, offset, total) in [(sample_size, offset, total), (sample_size % 9, offset % 9, total % 50)] {
                let schema = format!(
                    r#"{{"sample_size": {sample_size}, "arrays": [{{"name": "tokens", "dtype": "{dtype}",
                    "offset": {offset}}}], "total_bytes_per_sample": {total}}}"#
                );
                check_file("t/a.bin", &data, 7, Some(&schema), Some(9));
            }
        }
    }
}
