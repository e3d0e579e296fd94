//! Facts from the first records of a JSONL file, for the facts view, the home screen and `info`.

use super::{messages, Lengths};
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem};
use gristmill_data::formats::energon::jsonl_idx::{self, IndexState};
use gristmill_data::source::file_start::{start_of, FileStart};
use gristmill_data::source::jsonl::{each_line, Line, LineEnds, Unit};
use gristmill_storage::read::open_read;
use serde::Serialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// Limit of bytes of records that are read.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum length of a record that is parsed, in bytes; longer ones are only counted.
const MAX_RECORD_BYTES: usize = 1 << 20;
/// Limit of distinct keys that are counted.
const MAX_KEYS: usize = 200;
/// Number of records that are stored with their text.
const MAX_SHOWN_RECORDS: usize = 20;
/// Limit of bad lines that are reported individually.
const MAX_LISTED_PROBLEMS: usize = 20;
/// Maximum length of the stored text of a record, in bytes.
const MAX_RECORD_TEXT_BYTES: usize = 16 << 10;

/// Bytes of one value of an index.
const VALUE_BYTES: u64 = jsonl_idx::WORD_BYTES as u64;
/// Number of index values read at a time.
const VALUES_PER_READ: u64 = 8 << 10;
/// Limit of reads of the index.
const MAX_READS: u64 = 512;

/// A key of the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KeyFacts {
    /// Name of the key; raw.
    pub name: String,
    /// Number of records that have the key.
    pub seen: u64,
    /// Types of the values with their counts: `string`, `number`, `bool`, `null`, `array`, `object`.
    pub kinds: Vec<(&'static str, u64)>,
    /// Lengths of the strings, in characters.
    pub text: Lengths,
}

/// A record of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordFacts {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Offset of the line, in bytes.
    pub byte_offset: u64,
    /// Length of the line, in bytes.
    pub bytes: u64,
    /// Beginning of the record, with invalid UTF-8 replaced; raw.
    pub text: String,
    /// The parsed record; `None` if it cannot be parsed or is too long.
    pub value: Option<Value>,
}

/// Facts of a JSONL file, from a part of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JsonlFacts {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The state of its index.
    pub index: IndexState,
    /// Number of samples, if the index matches the file or the whole file was read.
    pub samples: Option<u64>,
    /// Number of records that were read.
    pub looked_at: u64,
    /// Whether the whole file was read.
    pub is_complete: bool,
    /// Lengths in bytes: of all samples if the index matches the file (of evenly spread samples if there are millions), otherwise of the
    /// records that were read.
    pub line_bytes: Lengths,
    /// Keys in order of their first appearance.
    pub keys: Vec<KeyFacts>,
    /// The key that probably contains the text: `text`, or the key with the longest strings.
    pub text_key: Option<String>,
    /// The first records of the file.
    pub records: Vec<RecordFacts>,
    /// Number of records that cannot be parsed, among those that were read.
    pub unparsed: u64,
    /// Number of lines that are not JSON objects, among those that were read.
    pub bad_lines: u64,
    /// The first bad lines that were read, for which `prepare` would refuse the file.
    pub problems: Vec<Problem>,
}

impl JsonlFacts {
    /// Returns the lengths of the texts in characters; `None` if no key contains text.
    pub fn text_lengths(&self) -> Option<&Lengths> {
        let name = self.text_key.as_ref()?;
        self.keys.iter().find(|key| key.name == *name).map(|key| &key.text)
    }
}

/// Reads up to `sample_limit` records from the beginning of a file, at most 64 MiB, and its index.
pub fn facts_of(path: &Path, sample_limit: u64) -> Outcome<JsonlFacts> {
    let file = open_read(path)?;
    let index = jsonl_idx::state_of(path)?;
    let mut facts = JsonlFacts {
        bytes: file.len(),
        samples: match index {
            IndexState::Fits { samples } => Some(samples),
            _ => None,
        },
        index,
        looked_at: 0,
        is_complete: false,
        line_bytes: Lengths::default(),
        keys: Vec::new(),
        text_key: None,
        records: Vec::new(),
        unparsed: 0,
        bad_lines: 0,
        problems: Vec::new(),
    };
    match start_of(&file)? {
        FileStart::Text => {}
        start => {
            facts.is_complete = file.is_empty();
            facts.problems.extend(messages::refused_start(path, start));
            return Ok(facts);
        }
    }
    let mut seen = FactsVisitor { places: HashMap::new(), facts: &mut facts };
    let (turn, cancel) = (Mutex::new(()), Cancel::default());
    let all = Unit { start: 0, end: file.len() };
    let mut was_stopped = false;
    each_line(&file, all, MAX_RECORD_BYTES, &turn, &cancel, |line| {
        if seen.facts.looked_at >= sample_limit || line.start >= MAX_BYTES {
            was_stopped = true;
            return Ok(false);
        }
        match LineEnds::of(line.start, line.bytes) {
            None => {}
            Some(ends) if line.is_whole() && !ends.is_object() => {
                let bad = gristmill_data::source::jsonl::BadLine { line: line.number, start: line.start, ends };
                seen.facts.bad_lines += 1;
                if seen.facts.problems.len() < MAX_LISTED_PROBLEMS {
                    seen.facts.problems.push(messages::bad_line(&file, &bad));
                }
            }
            Some(_) => seen.record(line),
        }
        Ok(true)
    })?;
    facts.is_complete = !was_stopped;
    if facts.is_complete && facts.samples.is_none() {
        facts.samples = Some(facts.looked_at);
    }
    facts.text_key = text_key(&facts.keys);
    if matches!(facts.index, IndexState::Fits { .. }) {
        // If the index can no longer be read, the lengths of the records that were read are used.
        facts.line_bytes = lengths_of_index(path).unwrap_or(facts.line_bytes);
    }
    Ok(facts)
}

/// Returns the lengths of all samples from the index, or of evenly spread groups if there are very many. A sample includes the blank lines
/// after it.
fn lengths_of_index(path: &Path) -> Outcome<Lengths> {
    let index = open_read(&jsonl_idx::index_path(path))?;
    let words = index.len() / VALUE_BYTES;
    let stretch = words.min(VALUES_PER_READ);
    let stretches =
        if words <= MAX_READS * VALUES_PER_READ { words.div_ceil(VALUES_PER_READ.max(1)) } else { MAX_READS };
    let mut lengths = Lengths::default();
    let mut bytes = Vec::new();
    for number in 0..stretches {
        let first =
            if stretches == MAX_READS { (words - stretch) / MAX_READS * number } else { number * VALUES_PER_READ };
        // Reads one more value, which is the end of the last sample of the group.
        let count = (stretch + 1).min(words - first);
        bytes.resize(usize::try_from(count * VALUE_BYTES).unwrap_or(0), 0);
        let failed = |error: std::io::Error| Failure::io("reading the index", path, &error);
        index.read_exact_at(&mut bytes, first * VALUE_BYTES).map_err(failed)?;
        let values =
            bytes.chunks_exact(VALUE_BYTES as usize).map(|word| word.try_into().map(u64::from_le_bytes).unwrap_or(0));
        let mut before = None;
        for value in values {
            if let Some(before) = before.replace(value) {
                lengths.add(value.saturating_sub(before));
            }
        }
    }
    Ok(lengths)
}

struct FactsVisitor<'a> {
    /// Position of each key in `facts.keys`.
    places: HashMap<String, usize>,
    facts: &'a mut JsonlFacts,
}

impl FactsVisitor<'_> {
    fn record(&mut self, line: Line<'_>) {
        self.facts.looked_at += 1;
        self.facts.line_bytes.add(line.len);
        let value: Option<Value> = line.is_whole().then(|| serde_json::from_slice(line.bytes).ok()).flatten();
        match &value {
            Some(Value::Object(map)) => map.iter().for_each(|(key, value)| self.key(key, value)),
            _ => self.facts.unparsed += 1,
        }
        if self.facts.records.len() < MAX_SHOWN_RECORDS {
            let beginning = line.bytes.get(..MAX_RECORD_TEXT_BYTES).unwrap_or(line.bytes);
            self.facts.records.push(RecordFacts {
                line: line.number + 1,
                byte_offset: line.start,
                bytes: line.len,
                text: String::from_utf8_lossy(beginning).trim_end().to_owned(),
                value,
            });
        }
    }

    fn key(&mut self, name: &str, value: &Value) {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.facts.keys.len() < MAX_KEYS => {
                let place = self.facts.keys.len();
                self.places.insert(name.to_owned(), place);
                self.facts.keys.push(KeyFacts { name: name.to_owned(), ..KeyFacts::default() });
                place
            }
            None => return,
        };
        let Some(facts) = self.facts.keys.get_mut(place) else { return };
        facts.seen += 1;
        let kind = kind_of(value);
        match facts.kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, number)) => *number += 1,
            None => facts.kinds.push((kind, 1)),
        }
        if let Value::String(text) = value {
            facts.text.add(text.chars().count() as u64);
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn text_key(keys: &[KeyFacts]) -> Option<String> {
    let texts = || keys.iter().filter(|key| key.text.count > 0);
    let named = texts().find(|key| key.name == "text");
    named.or_else(|| texts().max_by_key(|key| key.text.total)).map(|key| key.name.clone())
}
