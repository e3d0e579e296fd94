//! Lists rows as samples: JSONL, JSON arrays, COCO annotations, CSV, TSV, Parquet and Arrow. See docs/formats/webdataset.md.

mod coco;
mod layout;
mod media;
mod sample;
mod value;

use super::refuse_split;
use crate::job::damage::{leave_out_files, DamagedRows};
use crate::shard::list::LINE;
use crate::shard::sample::{Origin, Part, Sample, SampleSink, SourceContext, SourceFile, SourceRow};
pub(in crate::shard) use coco::image_of;
use gristmill_core::pack::TextField;
use gristmill_core::shard_plan::RowColumns;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{
    list as list_documents, DocumentBlock, DocumentFields, InputRules, OtherFields, Packing, Position, Selection, Text,
    TextFile, BYTE_ORDER_MARK,
};
use gristmill_storage::files::is_dir;
use gristmill_storage::read_ahead::read_ahead;
pub(in crate::shard) use layout::EXTENSION;
use layout::{PartLayout, JSON_PART};
use media::MediaRoot;
use sample::{Draft, DraftPart, LeftOut, SampleMaker};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use value::RowReader;

const ACTIVITY: &str = "reading the rows";
/// Size of the blocks of rows that are read, in bytes.
const BLOCK_BYTES: usize = 1 << 20;
/// Number of rows whose media are located together.
const ROWS_AT_ONCE: usize = 1_024;
/// Maximum size of parts held in memory, in bytes.
const MAX_BUFFERED_BYTES: u64 = 16 << 20;
/// The UTF-8 byte-order mark.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Lists the samples of the rows of a file, or of the files of a folder, in order.
///
/// # Errors
/// A file cannot be read, the folder has no file of rows, no row has a column of the plan, or two columns become the same part.
pub(super) fn list(input: &Path, context: &SourceContext<'_>, sink: &mut dyn SampleSink) -> Outcome<()> {
    // Without a split column, files of a folder may be splits.
    let has_column = context.plan.rows.split.is_some();
    if !has_column && !is_dir(input) {
        refuse_split(input, context.plan)?;
    }
    let splits = if has_column { String::new() } else { context.plan.choice.splits.join("+") };
    let selection = Selection {
        reads_tables: true,
        all_splits: true,
        split: (!splits.is_empty()).then_some(splits.as_str()),
        ..Selection::default()
    };
    let mut listing = list_documents(&[input.to_owned()], selection, &InputRules::JSON_ROWS, context.handles.cancel)?;
    listing.problems.extend(leave_out_files(&mut listing.files, context.options, context.handles.cancel)?);
    listing.problems.into_iter().try_for_each(|problem| context.handles.problems.report(problem))?;
    let files: Vec<&TextFile> = listing.files.iter().collect();
    let damaged = DamagedRows::find(&files, &all_fields(), context.options, context.handles.cancel)?;
    listing.files.iter_mut().for_each(|file| file.damaged = damaged.of(&file.path));
    damaged.problems.into_iter().try_for_each(|problem| context.handles.problems.report(problem))?;
    let plain = listing.files.iter().filter(|file| file.has_plain_rows());
    let plain = plain.map(|file| (file.path.as_path(), file.stamp.bytes));
    context.keeper.map_or(Ok(()), |keeper| keeper.keep(plain))?;
    let _ahead = read_ahead(listing.files.iter().map(|file| (&*file.path, file.stamp)));
    for file in &listing.files {
        let first = context.next_row.load(Ordering::Relaxed);
        let mut rows = Rows::open(file, context, first, sink)?;
        rows.read()?;
        context.next_row.store(rows.number, Ordering::Relaxed);
        rows.check_columns(first)?;
    }
    Ok(())
}

fn all_fields() -> DocumentFields {
    DocumentFields { text: TextField::Jq(String::new()), others: OtherFields::Verbatim }
}

/// The noun for a row of the file, and its number.
#[derive(Clone, Copy)]
struct RowPlace {
    item: &'static str,
    number: u64,
}

/// Reads the rows of one file.
struct Rows<'a> {
    file: &'a TextFile,
    /// Path of the file, for messages.
    name: Arc<str>,
    context: &'a SourceContext<'a>,
    sink: &'a mut dyn SampleSink,
    maker: SampleMaker<'a>,
    media: MediaRoot,
    reader: RowReader,
    /// The number of the file in the sink, if rows are byte ranges of the file.
    source: Option<SourceFile>,
    /// Number of the next row. Blank lines are not counted.
    number: u64,
    /// Columns of the plan that no row had so far.
    unseen: Vec<String>,
    /// Rows whose media have not been located yet.
    waiting: Vec<(Draft, RowPlace)>,
    buffered_bytes: u64,
}

impl<'a> Rows<'a> {
    fn open(
        file: &'a TextFile,
        context: &'a SourceContext<'a>,
        number: u64,
        sink: &'a mut dyn SampleSink,
    ) -> Outcome<Self> {
        let rows = &context.plan.rows;
        let folder = || file.path.parent().unwrap_or(Path::new(".")).to_path_buf();
        let media = MediaRoot::open(&rows.media_root.clone().unwrap_or_else(folder))?;
        let maker = SampleMaker {
            object: None,
            plan: context.plan,
            layout: PartLayout::of(rows, None)?,
            binary: binary_media(file, rows)?,
        };
        let columns = rows.media.iter().chain(&rows.text).map(|column| column.name.clone());
        let key = context.plan.key.iter().filter(|key| *key != sample::NUMBER);
        let unseen = columns.chain(key.cloned()).chain(rows.split.clone()).collect();
        let (reader, waiting) = (RowReader::default(), Vec::new());
        let name = Arc::from(file.path.to_string_lossy());
        Ok(Self {
            file,
            name,
            context,
            sink,
            maker,
            media,
            reader,
            source: None,
            number,
            unseen,
            waiting,
            buffered_bytes: 0,
        })
    }

    fn read(&mut self) -> Outcome<()> {
        let (file, context) = (self.file, self.context);
        let name = file.name.to_lowercase();
        // Only such files may contain annotations.
        if Packing::strip_suffix(&name).ends_with(".json") {
            let first = self.number;
            self.maker.layout = PartLayout::of(&context.plan.rows, Some(coco::MEDIA_COLUMN))?;
            self.maker.object = Some(coco::IMAGE);
            let mut count = 0;
            let is_coco = coco::each_row(file, context, &mut |number, line| {
                count = number + 1;
                self.number = first + number;
                self.row(line, None, RowPlace { item: "image", number })
            })?;
            if is_coco {
                self.number = first + count;
                return self.pass_on();
            }
            self.maker.layout = PartLayout::of(&context.plan.rows, None)?;
            self.maker.object = None;
        }
        self.read_rows()
    }

    fn read_rows(&mut self) -> Outcome<()> {
        let (file, context) = (self.file, self.context);
        let cancel = context.handles.cancel;
        if file.has_plain_rows() {
            self.source = Some(self.sink.add_file(&file.path, file.stamp)?);
        }
        let mut blocks = file.source.open(file, &all_fields(), Position::default(), BLOCK_BYTES, cancel)?;
        let mut spare = Vec::new();
        while let Some(block) = blocks.next(spare)? {
            cancel.check()?;
            match &block {
                DocumentBlock::Lines(lines) => {
                    for line in lines.lines() {
                        let place = RowPlace { item: file.source.item(), number: line.number + 1 };
                        match line.is_overlong() {
                            true => self.left_out(&LeftOut::Bad(value::BadRow("it is longer than 64 MiB")), place)?,
                            false => self.line(line.bytes, line.start, place)?,
                        }
                    }
                }
                DocumentBlock::Rows(rows) => rows.decode(&mut |found| {
                    found.iter().try_for_each(|row| {
                        let place = RowPlace { item: file.source.item(), number: row.number };
                        match row.text {
                            Some(Text::Unreadable(why)) => {
                                self.number += 1;
                                self.left_out(&LeftOut::Unreadable(row.with_column(why)), place)
                            }
                            _ => self.row(row.line, None, place),
                        }
                    })
                })?,
                DocumentBlock::Spans { .. } => return Err(Failure::internal(ACTIVITY, "a file is read by an index")),
            }
            spare = block.into_memory();
        }
        self.pass_on()?;
        blocks.damage()?.map_or(Ok(()), |damage| context.handles.problems.report(damage))
    }

    /// Adds a line at offset `start` of the file.
    fn line(&mut self, line: &[u8], start: u64, place: RowPlace) -> Outcome<()> {
        let text = if start == 0 { line.strip_prefix(MARK).unwrap_or(line) } else { line };
        let text = text.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let lead = text.as_ptr() as usize - line.as_ptr() as usize;
        let origin = self.source.map(|file| Origin::Range { file, offset: start + lead as u64 });
        self.row(text, origin, place)
    }

    fn row(&mut self, line: &[u8], origin: Option<Origin>, place: RowPlace) -> Outcome<()> {
        let number = self.number;
        self.number += 1;
        self.context.handles.progress.add(1, line.len() as u64);
        let mut reader = std::mem::take(&mut self.reader);
        let drafted = match reader.read(line) {
            Ok(row) => {
                let is_seen =
                    |column: &str| row.has(column) || self.maker.object.is_some() && self.maker.has(&row, column);
                self.unseen.retain(|column| !is_seen(column));
                let json = self.json(line, origin);
                self.maker.draft(&row, number, json)?
            }
            Err(_) if line.starts_with(MARK) => Err(LeftOut::Bad(value::BadRow(BYTE_ORDER_MARK))),
            Err(bad) => Err(LeftOut::Bad(bad)),
        };
        self.reader = reader;
        match drafted {
            Ok(draft) => {
                self.buffered_bytes += draft.made_bytes();
                self.waiting.push((draft, place));
                match self.waiting.len() >= ROWS_AT_ONCE || self.buffered_bytes > MAX_BUFFERED_BYTES {
                    true => self.pass_on(),
                    false => Ok(()),
                }
            }
            Err(left_out) => self.left_out(&left_out, place),
        }
    }

    /// Returns the part with the row itself.
    fn json(&self, line: &[u8], origin: Option<Origin>) -> Part {
        let name = JSON_PART.as_bytes().to_vec();
        let made = match origin {
            Some(origin) => return Part { name, bytes: line.len() as u64, origin },
            None if !self.maker.layout.has_json => Vec::new(),
            None if self.maker.binary.is_empty() => line.to_vec(),
            None => media::without_values(line, &self.maker.binary),
        };
        Part { name, bytes: made.len() as u64, origin: Origin::Bytes(made) }
    }

    /// Locates the media of the waiting rows, and passes their samples to the sink.
    fn pass_on(&mut self) -> Outcome<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.buffered_bytes = 0;
        let paths: Vec<&Path> = waiting.iter().flat_map(|(draft, _)| draft.media()).collect();
        let mut found = self.media.find(&paths, self.sink)?.into_iter();
        for (draft, place) in waiting {
            let mut parts = Vec::with_capacity(draft.parts.len());
            let mut is_left_out = false;
            for part in draft.parts {
                let (name, found) = match part {
                    DraftPart::Ready(part) => {
                        parts.push(part);
                        continue;
                    }
                    DraftPart::Medium { name, .. } => (name.into_bytes(), found.next()),
                };
                match found {
                    Some(Ok((bytes, origin))) => parts.push(Part { name, bytes, origin }),
                    Some(Err(missing)) => {
                        is_left_out |= media::report_missing(self.context, &missing, &self.subject_of(place))?
                    }
                    None => return Err(Failure::internal(ACTIVITY, "a medium was not looked for")),
                }
            }
            let Draft { key, split, .. } = draft;
            let chosen = &self.context.plan.choice.splits;
            let is_of_other = |split: &String| !chosen.is_empty() && !chosen.contains(split);
            if !is_left_out && !split.as_ref().is_some_and(is_of_other) {
                let RowPlace { item, number } = place;
                self.sink.set_row(SourceRow { file: Arc::clone(&self.name), item, number });
                self.sink.add_sample(Sample { key, split, shard: String::new(), parts, is_excluded: false })?;
            }
        }
        Ok(())
    }

    fn subject_of(&self, place: RowPlace) -> Subject {
        let subject = Subject::path(&self.file.path);
        match place.item {
            LINE => subject.line(place.number),
            item => subject.key(format!("{item} {}", place.number)),
        }
    }

    fn left_out(&self, left_out: &LeftOut, place: RowPlace) -> Outcome<()> {
        let (kind, why, hint) = match left_out {
            LeftOut::Bad(bad) => (ProblemKind::BadLine, bad.0.to_owned(), "correct the row, or remove it"),
            LeftOut::Unreadable(why) => (ProblemKind::BadLine, why.clone(), "correct the row, or remove it"),
            LeftOut::Key(why) => (ProblemKind::BadName, why.clone(), "choose other keys with --key"),
            LeftOut::Split(why) => {
                (ProblemKind::BadName, why.clone(), "correct the split, or choose another --split-column")
            }
            LeftOut::Outside { path, why } => {
                let hint = match path {
                    path if path.starts_with("http://") || path.starts_with("https://") => {
                        "get the files first, for example by gristmill cp, and name their folder by --media-root"
                    }
                    path if path.contains("://") => "--media-root names the folder of a store that they are below",
                    _ => "--media-root names the folder that paths are relative to",
                };
                (ProblemKind::MediaOutside, format!("{}: {why}", display_safe(path)), hint)
            }
        };
        let problem = Problem::problem(kind, self.subject_of(place), format!("the row is left out: {why}"));
        self.context.handles.problems.report(problem.with_hint(hint))
    }

    /// Fails if no row has one of the columns.
    fn check_columns(&self, first: u64) -> Outcome<()> {
        let Some(column) = self.unseen.first().filter(|_| self.number > first) else { return Ok(()) };
        let failure = Failure::usage(ACTIVITY, format!("no row has the column '{}'", display_safe(column)));
        Err(failure.on(Subject::path(&self.file.path)).with_hint("gristmill browse shows the columns"))
    }
}

/// Returns the media columns of a file that have binary values.
fn binary_media(file: &TextFile, rows: &RowColumns) -> Outcome<Vec<String>> {
    let Some(format) = file.source.table().filter(|_| !file.source.is_compressible()) else { return Ok(Vec::new()) };
    let columns = format.open(&file.path)?.summary().columns;
    let is_media = |name: &str| rows.media.iter().any(|column| column.name == name);
    let is_binary = |type_name: &str| type_name.contains("binary");
    let found = columns.into_iter().filter(|column| is_media(&column.name) && is_binary(&column.type_name));
    Ok(found.map(|column| column.name).collect())
}
