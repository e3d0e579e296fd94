//! Functions that process hostile inputs, for the fuzzers and the property tests. A function panics if the program violates a guarantee; it
//! returns if the input is refused or accepted.

use gristmill_core::field_map::FieldExpression;
use gristmill_core::text::{display_safe, display_safe_bytes};
use gristmill_core::{
    Cancel, FileStamp, Handles, HiddenSample, MediaFacts, Outcome, PartRow, ProblemLog, Progress, SampleRow, Shard,
};
use gristmill_data::formats::bsade;
use gristmill_data::formats::energon::dataset_yaml::DatasetYaml;
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_data::formats::energon::tar_idx;
use gristmill_data::source::decode;
use gristmill_data::source::dedup;
use gristmill_data::source::documents::Packing;
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_media::av::AvProbeResult;
use gristmill_media::{ProbeError, Reader};
use gristmill_ops::engine::dedup::write_back::{Layout, WriteBack};
use gristmill_ops::engine::dedup::RangesPlacement;
use gristmill_ops::engine::jsonl;
use gristmill_ops::engine::plan::file as plan_file;
use gristmill_ops::operations::prepare::command_line;
use gristmill_pycompat::{braces, pattern::Pattern};
use gristmill_storage::read::open_read;
use gristmill_tokenizer::Tokenizer;
use std::collections::HashSet;
use std::io::Write as _;
use std::path::Path;

/// A function that processes one input.
pub type Body = fn(&[u8]);

/// All bodies, with the names of their targets.
pub const ALL: &[(&str, Body)] = &[
    ("tar_scan", tar_scan),
    ("tar_idx", tar_index),
    ("metadataset", metadataset),
    ("join_idx", join_index),
    ("split_yaml", split_yaml),
    ("info_json", info_json),
    ("dataset_yaml", dataset_yaml),
    ("braces", brace_expressions),
    ("pattern", pattern),
    ("field_map", field_map),
    ("plan_yaml", plan_yaml),
    ("decode", decode_parts),
    ("display_safe", display),
    ("jsonl", json_lines),
    ("image", image),
    ("riff", riff),
    ("media_kind", media_kind),
    ("sound_in_frames_and_pages", sound_in_frames_and_pages),
    ("iso_media", iso_media),
    ("matroska", matroska),
    ("dedup_documents", dedup_documents),
    ("tokenizer", tokenizer),
    ("megatron_idx", megatron_index),
    ("mds_index", mds_index),
    ("arrow_file", arrow_file),
    ("csv_file", csv_file),
    ("parquet_file", parquet_file),
];

/// Uses the input as a `tokenizer.json` and, after the first NUL, a text: an accepted tokenizer encodes the text like the reference.
pub fn tokenizer(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (file, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(tokenizer) = Tokenizer::from_bytes("tokenizer.json", file) else { return };
    let (mut encoder, text) = (tokenizer.encoder(), String::from_utf8_lossy(text));
    let (mut ids, mut expected) = (Vec::new(), Vec::new());
    let is_encoded = encoder.encode(&text, &mut ids).is_ok();
    assert_eq!(is_encoded, encoder.encode_by_reference(&text, &mut expected).is_ok());
    assert!(!is_encoded || ids == expected, "{ids:?}, not {expected:?}");
}

/// Reads all lines of a file at once; returns the values of its index, and the number of bad lines.
fn naive_index(bytes: &[u8]) -> (Vec<u64>, u64) {
    let white = |byte: &u8| b" \t\r\n\x0b\x0c".contains(byte);
    let (mut values, mut bad, mut at) = (Vec::new(), 0, 0);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let first = line.iter().find(|byte| !white(byte));
        let last = line.iter().rev().find(|byte| !white(byte));
        match (first, last) {
            (None, _) | (_, None) => {}
            (Some(b'{'), Some(b'}')) => values.push(if values.is_empty() { 0 } else { at }),
            _ => bad += 1,
        }
        at += line.len() as u64;
    }
    values.push(at);
    (values, bad)
}

/// Uses the input as a JSONL file: its index is the same for ranges of any size, and all messages about it can be shown.
pub fn json_lines(bytes: &[u8]) {
    let file = file_of(bytes, ".jsonl");
    let read = open_read(file.path()).expect("it is a file");
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let (values, bad) = naive_index(bytes);
    let wanted: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let turn = gristmill_core::Mutex::new(());
    for size in [1 + bytes.len() as u64 / 3, 1 << 20] {
        let mut index = Vec::new();
        let mut line_ends = Vec::new();
        let mut merge = jsonl::LineMerge::new(|piece: &[u8]| {
            index.extend_from_slice(piece);
            Ok(())
        });
        let units = gristmill_data::source::jsonl::units(read.len(), size);
        for unit in &units {
            line_ends.push(merge.line_ends());
            let lines = jsonl::index_unit(&read, *unit, &mut Vec::new(), &progress, &cancel).expect("it can be read");
            merge.append_unit(&lines).expect("nothing refuses");
        }
        let counts = merge.finish(read.len()).expect("nothing refuses");
        assert_eq!((&index, counts.bad_count), (&wanted, bad));
        jsonl::report_bad(&read, &counts, &log).expect("nothing is strict");
        for (unit, before) in units.into_iter().zip(line_ends) {
            jsonl::lint_unit(&read, unit, before, &turn, &handles).expect("bad lines are findings");
        }
    }
    let facts = jsonl::facts_of(file.path(), 20).expect("whatever is in it");
    assert!(facts.looked_at <= 20 && facts.records.len() <= 20);
    for problem in log.to_vec().iter().chain(&facts.problems) {
        assert_shown(&problem.to_string());
        let (line, at) = (problem.subject.line, problem.subject.byte_offset);
        if let (Some(line), Some(at)) = (line, at) {
            let ends = bytes[..at as usize].iter().filter(|byte| **byte == b'\n').count() as u64;
            assert_eq!(line, ends + 1, "{problem}");
        }
    }
}

/// Result of one line.
#[derive(Debug, PartialEq)]
struct DedupLine {
    kind: std::mem::Discriminant<dedup::Kind>,
    start: u64,
    text: String,
    written: Vec<u8>,
}

fn dedup_lines(file: &dedup::TextFile, held_line: usize) -> Outcome<Vec<DedupLine>> {
    let cancel = Cancel::default();
    let spool: Box<dyn dedup::Spool> = Box::new(Vec::new());
    let mut documents =
        dedup::Documents::open_holding(file, "text", dedup::Position::default(), spool, held_line, &cancel)?;
    let layout = Layout { text_key: "text".into(), ranges: RangesPlacement::Under(vec!["a".into(), "b".into()]) };
    let mut write_back = WriteBack::new(&layout);
    let mut lines = Vec::new();
    while let Some(record) = documents.next()? {
        let (mut text, mut written) = (String::new(), Vec::new());
        let length = record.each_piece(&mut String::new(), &mut |piece| {
            text.push_str(piece);
            Ok(())
        })?;
        let ranges = if length > 4 {
            vec![bsade::Range::new(1, length / 2), bsade::Range::new(length / 2 + 1, length)]
        } else {
            Vec::new()
        };
        write_back.write(&record, &ranges, &mut |bytes| {
            written.extend_from_slice(bytes);
            Ok(())
        })?;
        if let Some(problem) = record.problem(file) {
            assert_shown(&problem.to_string());
        }
        assert_eq!(record.line, lines.len() as u64);
        lines.push(DedupLine { kind: std::mem::discriminant(&record.kind), start: record.start, text, written });
    }
    Ok(lines)
}

/// Uses the input as a file of documents: lines in memory and lines in pieces give the same result, and written lines are read unchanged.
pub fn dedup_documents(bytes: &[u8]) {
    let of = |file: &tempfile::NamedTempFile, packing| {
        let stamp = open_read(file.path()).expect("it is a file").stamp().expect("it is open");
        dedup::TextFile {
            path: file.path().to_owned(),
            name: "x".into(),
            bytes: stamp.bytes,
            stamp,
            packing,
            source: &gristmill_data::source::documents::Jsonl,
            rows: None,
            damaged: Vec::new(),
        }
    };
    let file = file_of(bytes, ".jsonl");
    let plain = of(&file, Packing::Plain);
    let lines = dedup_lines(&plain, dedup::MAX_BUFFERED_LINE_BYTES).expect("nothing changes it");
    for held_line in [1, 30] {
        assert_eq!(lines, dedup_lines(&plain, held_line).expect("nothing changes it"), "{held_line}");
    }
    for packing in [Packing::Gzip, Packing::Zstd] {
        dedup_lines(&of(&file, packing), 30).expect("whatever cannot be unpacked is damage");
    }
    assert_eq!(lines.len(), bytes.split_inclusive(|byte| *byte == b'\n').count());
    let document = std::mem::discriminant(&dedup::Kind::Document);
    let written: Vec<u8> =
        lines.iter().filter(|line| line.kind == document).flat_map(|line| line.written.clone()).collect();
    assert!(written.is_ascii());
    let again = file_of(&written, ".jsonl");
    let again = dedup_lines(&of(&again, Packing::Plain), dedup::MAX_BUFFERED_LINE_BYTES).expect("nothing changes it");
    let documents: Vec<&DedupLine> = lines.iter().filter(|line| line.kind == document).collect();
    assert_eq!(documents.len(), again.len());
    for (first, second) in documents.into_iter().zip(again) {
        assert_eq!((&first.text, &first.written), (&second.text, &second.written));
    }
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn file_of(bytes: &[u8], suffix: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(suffix).tempfile().expect("a temporary file");
    file.write_all(bytes).expect("the input is written");
    file
}

/// Checks each row as it arrives.
#[derive(Default)]
struct Checker {
    samples: u64,
    at: u64,
    parts_end: u64,
    keys: HashSet<String>,
}

impl Checker {
    fn next(&mut self, index: u64, offset: u64, size: u64) {
        assert_eq!(index, self.samples, "samples come without gaps");
        assert!(offset >= self.at, "samples do not overlap");
        self.at = offset.checked_add(size).expect("a sample ends somewhere");
        self.samples += 1;
    }
}

impl ScanSink for Checker {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        let end = row.content_byte_offset.checked_add(row.content_byte_size).expect("a part ends somewhere");
        self.parts_end = self.parts_end.max(end);
        Ok(())
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.keys.insert(row.key.to_owned());
        self.next(row.sample_index, row.byte_offset, row.byte_size);
        Ok(())
    }
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.next(row.sample_index, row.byte_offset, row.byte_size);
        Ok(())
    }
}

/// Uses the input as a shard: the scan ends, its rows are in the order of the file, and excluded samples exist.
pub fn tar_scan(bytes: &[u8]) {
    let file = file_of(bytes, ".tar");
    let stamp = FileStamp { bytes: bytes.len() as u64, ..FileStamp::default() };
    let shard = Shard { name: "a.tar".into(), path: file.path().to_owned(), stamp, mode: 0o644, is_tgz: false };
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut sink = Checker::default();
    let scan = scan_shard(&shard, &mut sink, &handles).expect("damage is a finding, not a failure");
    assert_eq!(scan.samples, sink.samples);
    if !scan.compressed {
        assert!(scan.end_offset <= bytes.len() as u64 && sink.at <= scan.end_offset, "{scan:?}");
    }
    assert!(scan.damaged_keys.iter().all(|key| sink.keys.contains(key)), "what is excluded exists");
    for problem in log.to_vec() {
        assert_shown(&problem.to_string());
    }
}

/// Uses the input as a `.tar.idx`: spans are in order, or the file is refused.
pub fn tar_index(bytes: &[u8]) {
    let file = file_of(bytes, ".tar.idx");
    let words = tar_idx::read(file.path());
    let Ok(index) = tar_idx::TarIdx::open(file.path()) else {
        assert!(words.is_err());
        return;
    };
    assert_eq!(index.samples(), bytes.len() as u64 / 8 - 1);
    let _ = index.end().expect("it has a last word");
    for sample in [0, 1, index.samples().saturating_sub(1), index.samples(), u64::MAX] {
        if let Ok((first, end)) = index.span(sample) {
            assert!(first <= end && sample < index.samples());
        }
    }
    if let Ok(words) = words {
        let (end, offsets) = words.split_last().expect("it has a last word");
        assert_eq!(tar_idx::encode(offsets, *end), bytes);
    }
}

/// Uses the input as a metadataset: an accepted text is accepted again after it is written; mistakes have a position in the text.
pub fn metadataset(bytes: &[u8]) {
    use gristmill_data::formats::energon::metadataset::{read, render};
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match read(text) {
        Ok(read_once) => {
            let written = render(&read_once);
            let again =
                read(&written).unwrap_or_else(|mistakes| panic!("{mistakes:?} in what was written:\n{written}"));
            assert_eq!(render(&again), written);
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty() && mistakes.len() <= 1_000);
            // In YAML, a carriage return also ends a line.
            let lines = text.matches(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count() as u32 + 2;
            assert!(mistakes.iter().all(|m| (1..=lines).contains(&m.line) && m.column >= 1), "{mistakes:?}");
        }
    }
}

/// Uses the input as a join index: rows are read at their offsets, and an incomplete file is never treated as complete.
pub fn join_index(bytes: &[u8]) {
    use gristmill_data::formats::energon::join_idx::{header, JoinIdx, CELL_BYTES, HEADER};
    let file = file_of(bytes, ".bin");
    let Ok(index) = JoinIdx::open(file.path()) else { return };
    let row = (index.columns() * CELL_BYTES) as u64;
    assert_eq!(HEADER + index.rows() * row, bytes.len() as u64);
    assert_eq!(&bytes[..16], &header(index.columns())[..]);
    for number in [0, index.rows() / 2, index.rows().saturating_sub(1)] {
        let cells = index.row(number).unwrap();
        assert_eq!(cells.is_some(), number < index.rows());
        let written: Vec<u8> = cells.into_iter().flatten().flat_map(|cell| cell.to_bytes()).collect();
        let at = (HEADER + number * row) as usize;
        assert!(written.is_empty() || bytes[at..].starts_with(&written));
    }
    assert!(index.rows_with_nothing().unwrap() <= index.rows());
}

/// Uses the input as the index of a Megatron pair.
pub fn megatron_index(bytes: &[u8]) {
    token_set(&[("a.idx", bytes), ("a.bin", &[7; 40])]);
}

/// Uses the input as the `index.json` of a set of MDS shards, and as its first shard.
pub fn mds_index(bytes: &[u8]) {
    token_set(&[("index.json", bytes), ("shard.00000.mds", bytes)]);
}

/// Uses the input as an Arrow file.
pub fn arrow_file(bytes: &[u8]) {
    table(bytes, ".arrow");
}

/// Uses the input as a CSV file, plain and compressed, and as lines of text.
pub fn csv_file(bytes: &[u8]) {
    for suffix in [".csv", ".tsv", ".txt", ".csv.gz"] {
        table(bytes, suffix);
    }
}

/// Uses the input as a Parquet file.
pub fn parquet_file(bytes: &[u8]) {
    table(bytes, ".parquet");
}

/// Reads the first rows of a table: the texts of a column, and whole rows. Rows are numbered without a gap.
fn table(bytes: &[u8], suffix: &str) {
    use gristmill_core::pack::TextField;
    use gristmill_data::source::documents::{
        list_jsonl, DocumentBlock, DocumentFields, OtherFields, Position, Selection,
    };
    const MAX_ROWS: u64 = 20_000;
    let (file, cancel) = (file_of(bytes, suffix), Cancel::default());
    let selection = Selection { reads_tables: true, ..Selection::default() };
    let Ok(listing) = list_jsonl(&[file.path().to_owned()], selection, &cancel) else { return };
    let [file] = listing.files.as_slice() else { return };
    let whole = DocumentFields { text: TextField::Jq(".a | b".into()), others: OtherFields::All };
    let fields =
        ["text", "string"].map(|key| DocumentFields { text: TextField::Key(key.into()), ..Default::default() });
    let _ = file.source.first_documents(file, 3, &cancel);
    for (fields, block_bytes) in fields.iter().zip([500, 1 << 20]).chain([(&whole, 2_000)]) {
        let _ = file.source.layout(file, fields, &cancel);
        let Ok(mut reader) = file.source.open(file, fields, Position::default(), block_bytes, &cancel) else { return };
        let mut rows = 0;
        while let Ok(Some(block)) = reader.next(Vec::new()) {
            let DocumentBlock::Rows(block) = block else {
                assert!(!file.source.is_table(), "a table has rows");
                break;
            };
            let decoded = block.decode(&mut |found| {
                assert!(found.iter().zip(rows..).all(|(row, number)| row.number == number));
                rows += found.len() as u64;
                Ok(())
            });
            if decoded.is_err() || rows > MAX_ROWS {
                break;
            }
        }
        let _ = reader.damage();
    }
}

/// Describes, checks and lists a folder of token files: rows of the browser are within their files.
fn token_set(files: &[(&str, &[u8])]) {
    use gristmill_data::source::kind::kind_of;
    use gristmill_ops::engine::browse::{SampleAt, TokenView};
    use gristmill_ops::engine::check::tokens::Depth;
    use gristmill_ops::tokens::{formats, reader::CheckRequest};
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        let mut file = tempfile::NamedTempFile::new_in(folder.path()).expect("a temporary file");
        file.write_all(bytes).expect("the input is written");
        file.persist(folder.path().join(name)).expect("the input is renamed");
    }
    let kind = kind_of(folder.path()).expect("the folder exists");
    let Some(reader) = kind.tokens().and_then(formats::reader) else { return };
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let request = CheckRequest { depth: Depth::Tokens, vocabulary: None, threads: 1 };
    let described = reader.info(folder.path(), None, &handles);
    let checked = reader.check(folder.path(), &request, &handles);
    assert_eq!(described.is_ok(), checked.is_ok());
    let Ok(catalog) = gristmill_ops::browse::open_tokens(folder.path(), &TokenView::default()) else { return };
    for row in catalog.samples(SampleAt::default(), 100, &cancel).into_iter().flatten() {
        let file = &catalog.groups().groups[row.at.group as usize];
        assert!(row.byte_offset.checked_add(row.byte_size).is_some_and(|end| end <= file.bytes));
    }
}

/// Uses the input as a `split.yaml`: an accepted text is accepted again after it is written.
pub fn split_yaml(bytes: &[u8]) {
    let text = text(bytes);
    for parsed in [SplitFile::parse(&text), SplitFile::parse_json(&text)] {
        let Ok(file) = parsed else { continue };
        let yaml = file.render();
        assert_shown_lines(&yaml);
        assert_eq!(SplitFile::parse(&yaml).as_ref(), Ok(&file), "{yaml}");
        let (splits, _) = file.expanded();
        assert!(splits.len() == file.split_parts.len());
        assert!(splits.iter().map(|(_, names)| names.len()).sum::<usize>() <= 5_000_000, "small texts stay small");
        assert!(file.expanded_excludes().0.len() <= 5_000_000);
    }
}

/// Uses the input as `.info.json` and `.info.yaml`.
pub fn info_json(bytes: &[u8]) {
    let text = text(bytes);
    for parsed in [Info::parse_json(&text), Info::parse_yaml(&text)] {
        let Ok(info) = parsed else { continue };
        let _ = info.samples();
        assert_eq!(Info::parse_json(&info.to_json()).as_ref(), Ok(&info), "{}", info.to_json());
        // In YAML the shards are sorted by name.
        let mut again = Info::parse_yaml(&info.to_yaml()).expect("what was written is read");
        let mut wanted = info.clone();
        again.shard_counts.sort();
        wanted.shard_counts.sort();
        assert_eq!(again, wanted, "{}", info.to_yaml());
    }
}

/// Uses the input as a `dataset.yaml`.
pub fn dataset_yaml(bytes: &[u8]) {
    if let Err(error) = DatasetYaml::parse(&text(bytes)) {
        assert_shown(&error.into_failure("reading the dataset yaml", Path::new("dataset.yaml")).to_string());
    }
}

/// Uses the input as a brace expression, and as a name that must be escaped.
pub fn brace_expressions(bytes: &[u8]) {
    const LIMIT: usize = 10_000;
    let text = text(bytes);
    if let Ok(names) = braces::expand(&text, LIMIT) {
        assert!(!names.is_empty() && names.len() <= LIMIT);
        assert_eq!(braces::count(&text), Ok(names.len() as u128));
        assert_eq!(braces::expand_keeping_escapes(&text, LIMIT).map(|kept| kept.len()), Ok(names.len()));
    }
    let escaped = braces::escape(&text);
    assert_eq!(braces::expand(&escaped, 1), Ok(vec![text.clone().into_owned()]), "{escaped}");
    if braces::is_literal(&text) {
        assert_eq!(braces::expand(&text, 1), Ok(vec![text.into_owned()]));
    }
}

/// Uses the input as a pattern and, after the first line end, the text to match.
pub fn pattern(bytes: &[u8]) {
    let text = text(bytes);
    let (pattern, subject) = text.split_once('\n').unwrap_or((&text, "train/shard_000001.tar"));
    match Pattern::compile(pattern) {
        Ok(compiled) => {
            let found = compiled.try_found(subject);
            if let (Ok(true), Ok(found)) = (compiled.try_match_start(subject), found) {
                assert!(found, "what matches at the start is found");
            }
        }
        Err(error) => assert!(!error.message.is_empty()),
    }
}

/// Uses the input as a field expression and, after the first line end, the JSON to evaluate it on.
pub fn field_map(bytes: &[u8]) {
    let text = text(bytes);
    let (expression, json) =
        text.split_once('\n').unwrap_or((&text, "{\"a\": [1, {\"b\": \"x\"}], \"caption\": null}"));
    let parsed = FieldExpression::parse(expression);
    assert!(!parsed.options.is_empty());
    if FieldExpression::fits_grammar(expression) {
        let again: Vec<String> = parsed
            .options
            .iter()
            .map(|o| o.steps.iter().fold(o.part.clone(), |text, step| format!("{text}[{step}]")))
            .collect();
        assert_eq!(again.join(","), expression);
    }
    let part = decode::decode_part("json", json.as_bytes());
    match decode::eval(&parsed, &|name| (name != "none").then_some(&part)) {
        Ok(value) => drop(value.describe()),
        Err(error) => assert_shown(&display_safe(&error.to_string())),
    }
}

/// Uses the input as a plan: an accepted plan is accepted again after it is written, and its command line is one safe line.
pub fn plan_yaml(bytes: &[u8]) {
    match plan_file::from_yaml(&text(bytes)) {
        Ok(plan) => {
            let yaml = plan_file::to_yaml(&plan).expect("a plan can be written");
            assert_eq!(plan_file::from_yaml(&yaml).as_ref(), Ok(&plan), "{yaml}");
            assert_eq!(plan_file::hash(&plan), plan_file::hash(&plan));
            assert_shown(&command_line(&plan).text());
        }
        Err(failure) => assert_shown(&failure.to_string()),
    }
}

/// Uses the input as a part of a sample; the first byte selects the kind.
pub fn decode_parts(bytes: &[u8]) {
    const PARTS: [&str; 10] = ["json", "txt", "cls", "jpg", "png", "webp", "npy", "pth", "gif", "tiff"];
    let (kind, content) = bytes.split_first().unwrap_or((&0, &[]));
    if let Ok(value) = decode::decode_part(PARTS[*kind as usize % PARTS.len()], content) {
        assert_shown(&display_safe(&value.describe()));
    }
}

/// Uses the input as a picture: its header and, if the header is valid and the picture small, all of it.
pub fn image(bytes: &[u8]) {
    let cancel = Cancel::default();
    let mut reader = Reader::new(&bytes, &cancel);
    let probed = gristmill_media::image::probe(&mut reader);
    assert_bounded(&reader);
    match probed {
        Ok(probed) => {
            let MediaFacts::Image(facts) = &probed.facts else { panic!("a picture is not {:?}", probed.facts) };
            assert!(facts.width > 0 && facts.height > 0, "{facts:?}");
            probed.remarks.iter().for_each(|remark| assert_shown(remark));
            if u64::from(facts.width) * u64::from(facts.height) <= 1 << 22 {
                if let Err(error) = gristmill_media::image::check(&mut reader, facts) {
                    assert_shown(&display_safe(&error.to_string()));
                }
            }
        }
        Err(error) => assert_shown(&display_safe(&error.to_string())),
    }
}

/// Uses the input as WAV, AVI, FLAC and AAC, regardless of its first bytes.
pub fn riff(bytes: &[u8]) {
    use gristmill_media::av::{adts, flac, riff};
    let cancel = Cancel::default();
    for probe in [riff::wav::probe, riff::avi::probe, flac::probe, adts::probe] {
        let mut reader = Reader::new(&bytes, &cancel);
        let probed = probe(&mut reader);
        assert_bounded(&reader);
        match probed {
            Ok(probed) => {
                let facts = probed.facts;
                let numbers = [facts.video_duration, facts.video_fps, facts.audio_duration];
                assert!(numbers.into_iter().flatten().all(|number| number.is_finite() && number >= 0.0), "{facts:?}");
                probed.remarks.iter().for_each(|remark| assert_shown(remark));
            }
            Err(error) => assert_shown(&display_safe(&error.to_string())),
        }
    }
}

/// Uses the input as an ISO media file, which consists of boxes.
pub fn iso_media(bytes: &[u8]) {
    let _ = gristmill_media::av::iso::matches(bytes);
    container(bytes, gristmill_media::av::iso::probe);
}

/// Uses the input as Matroska or WebM.
pub fn matroska(bytes: &[u8]) {
    let _ = gristmill_media::av::matroska::matches(bytes);
    container(bytes, gristmill_media::av::matroska::probe);
}

fn container(bytes: &[u8], probe: fn(&mut Reader) -> Result<AvProbeResult, ProbeError>) {
    let cancel = Cancel::default();
    let mut reader = Reader::new(&bytes, &cancel);
    let probed = probe(&mut reader);
    assert_bounded(&reader);
    match probed {
        Ok(probed) => {
            let facts = probed.facts;
            let numbers = [facts.video_duration, facts.video_fps, facts.audio_duration];
            assert!(numbers.into_iter().flatten().all(f64::is_finite), "{facts:?}");
            probed.remarks.iter().for_each(|remark| assert_shown(remark));
        }
        Err(error) => assert_shown(&display_safe(&error.to_string())),
    }
}

/// Checks that a reader of headers reads an entry a limited number of times, and keeps only a small part in memory.
#[track_caller]
fn assert_bounded(reader: &Reader) {
    // Each read takes at most one window; hostile entries cause many reads.
    let most = 64 * reader.len() + (64 << 20);
    assert!(reader.bytes_read() <= most, "{} bytes read of {}", reader.bytes_read(), reader.len());
}

/// Uses the input as MPEG audio and as Ogg, regardless of content: reads are bounded, and messages are safe.
pub fn sound_in_frames_and_pages(bytes: &[u8]) {
    for probe in [gristmill_media::av::mpeg_audio::probe, gristmill_media::av::ogg::probe] {
        let cancel = Cancel::default();
        let mut reader = Reader::new(&bytes, &cancel);
        match probe(&mut reader) {
            Ok(probed) => {
                let seconds = [probed.facts.audio_duration, probed.facts.video_duration, probed.facts.video_fps];
                assert!(seconds.into_iter().flatten().all(f64::is_finite), "{probed:?}");
                probed.remarks.iter().for_each(|remark| assert_shown(&display_safe(remark)));
            }
            Err(error) => assert_shown(&display_safe(&error.to_string())),
        }
        assert_bounded(&reader);
    }
}

/// Uses the input as the beginning of an entry, and as a name and patterns.
pub fn media_kind(bytes: &[u8]) {
    let by_header = gristmill_media::kind::type_by_header(bytes);
    assert_eq!(
        by_header,
        gristmill_media::kind::type_by_header(&bytes[..bytes.len().min(gristmill_media::kind::HEADER_BYTES)])
    );
    let text = text(bytes);
    let (pattern, name) = text.split_once('\0').unwrap_or((&text, &text));
    let _ = gristmill_media::kind::type_by_extension(name);
    let patterns: Vec<String> = pattern.split(',').map(str::to_owned).collect();
    let picked = gristmill_media::kind::globs_match(&patterns, name);
    assert!(picked || !patterns.iter().any(|pattern| pattern == "*"), "a star matches everything");
}

/// Shows the input: the result contains no characters that a terminal interprets, and safe text is not changed again.
pub fn display(bytes: &[u8]) {
    let text = text(bytes);
    let shown = display_safe(&text);
    assert_shown(&shown);
    assert_eq!(display_safe(&shown), shown, "it is safe already");
    let from_bytes = display_safe_bytes(bytes);
    assert_shown(&from_bytes);
    assert_eq!(display_safe(&from_bytes), from_bytes);
    if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        assert_eq!(shown, text, "plain text stays as it is");
    }
}

#[track_caller]
fn assert_shown(line: &str) {
    let dangerous = line.chars().find(|&c| is_dangerous(c));
    assert!(dangerous.is_none(), "U+{:04X} would be shown raw", dangerous.unwrap_or_default() as u32);
}

#[track_caller]
fn assert_shown_lines(text: &str) {
    text.lines().for_each(assert_shown);
}

/// Whether a character is a control, a bidi control, invisible, or a tag. Repeated here as a check on the program's own list.
pub fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            0x00ad | 0x061c | 0x180e | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff | 0xfff9..=0xfffb
            | 0xe0000..=0xe007f)
}
