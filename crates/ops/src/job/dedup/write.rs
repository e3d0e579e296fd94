//! Fourth stage: reads each file again and writes it without repeated text, or with a list of the repeated ranges.

use super::export::PlacedFile;
use super::inputs::LineRange;
use super::job::Job;
use super::merge::{Ranges, Walk};
use super::ordered_output::{OrderedOutput, OutputState};
use super::source::{each_noted_line, Line};
use super::spool::ScratchSpool;
use super::tables::edits_of;
use super::written::{PlaceInLine, WrittenParts};
use super::Figures;
use crate::engine::dedup::removed::RangeBlocks;
use crate::engine::dedup::write_back::{Layout, WriteBack};
use crate::job::pool::run_units;
use crate::job::task::TaskContext;
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::bsade::{Range, Shortener};
use gristmill_data::source::dedup::{offset_after, row_kind, row_record, Kind, TextFile};
use gristmill_data::source::documents::{FileRewriter, Row};
use gristmill_pycompat::json_fields::Fields;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::MutexGuard;

/// Lines between two progress updates.
const PROGRESS_EVERY: u64 = 256;
/// Minimum and maximum size, in bytes, of the output that a piece holds until it is next in order.
const MAX_UNWRITTEN_BYTES: (usize, usize) = (256 << 10, 4 << 20);
/// Bytes of ranges that are written together.
const RANGE_BUFFER_BYTES: usize = 64 << 10;

/// Writes all files except those that a stopped run finished. Records the lines of the `wanted` positions, each given as a file and an
/// offset in its text.
pub(super) fn write_files(job: &Job<'_>, files: &[PlacedFile], wanted: &[(usize, u64)]) -> Outcome<Vec<WrittenParts>> {
    let (threads, cancel) = (job.memory.threads, &job.context.cancel);
    let known = run_units(files, threads, cancel, |placed| read_written_parts(job, placed))?;
    let file_outputs: Vec<OrderedOutput> =
        files.iter().zip(&known).map(|(placed, known)| OrderedOutput::of(job, placed, known.is_none())).collect();
    // Pieces are sorted by file, so a thread that waits for its turn waits for a piece that another thread has started.
    let pieces: Vec<(usize, usize)> = file_outputs
        .iter()
        .enumerate()
        .flat_map(|(number, sheet)| (0..sheet.pieces.len()).map(move |piece| (number, piece)))
        .collect();
    run_units(&pieces, threads, cancel, |&(number, piece)| match (files.get(number), file_outputs.get(number)) {
        (Some(placed), Some(sheet)) => {
            let of_file = wanted.iter().filter(|one| one.0 == placed.file).map(|one| one.1).collect();
            OutputPiece::write(job, placed, sheet, piece, of_file)
        }
        _ => Err(missing_piece()),
    })?;
    // Not collected in place: that would keep the larger allocation of the file_outputs.
    let mut all = Vec::with_capacity(file_outputs.len());
    all.extend(file_outputs.into_iter().zip(known).map(|(sheet, known)| known.unwrap_or_else(|| sheet.into_written())));
    Ok(all)
}

/// Returns the output of a file that a stopped run wrote, if all of it exists.
fn read_written_parts(job: &Job<'_>, placed: &PlacedFile) -> Outcome<Option<WrittenParts>> {
    let Some(written) = job.recorded_unit::<WrittenParts>(&name_of(placed)) else { return Ok(None) };
    if !is_there(job, placed.file, &written)? {
        return Ok(None);
    }
    let documents = written.files.iter().map(|file| file.figures.documents).sum();
    job.context.progress.resume_from(documents, job.inputs.bytes_of(&LineRange::whole(placed.file)));
    Ok(Some(WrittenParts { is_resumed: true, ..written }))
}

fn name_of(placed: &PlacedFile) -> String {
    format!("write/{}", placed.file)
}

/// Whether all output of a file that a stopped run wrote is unchanged.
fn is_there(job: &Job<'_>, number: usize, written: &WrittenParts) -> Outcome<bool> {
    for (part, file) in written.files.iter().enumerate() {
        if let Some(mark) = file.mark {
            if !mark.is_unchanged(&job.layout.staged(number, part))? {
                return Ok(false);
            }
        }
    }
    match written.ranges.mark {
        Some(mark) => mark.is_unchanged(&job.layout.ranges_section(number)),
        None => Ok(true),
    }
}

fn missing_piece() -> Failure {
    Failure::internal("writing the output", "a piece of a file is missing")
}

fn changed(path: &Path) -> Failure {
    Failure::data("deduplicating", "it was written to while it was read")
        .on(Subject::path(path))
        .with_hint("wait until no program writes to it, then run the same command again")
}

/// A piece of a file that is being written.
struct OutputPiece<'a> {
    job: &'a Job<'a>,
    file: usize,
    sheet: &'a OrderedOutput,
    piece: usize,
    /// The locked output; set once the piece is next in order.
    down: Option<MutexGuard<'a, OutputState>>,
    /// Output that is held until the piece is next in order, and its limit in bytes.
    unwritten: Vec<u8>,
    most: usize,
    /// Ranges that are not yet written.
    gathered: RangeBlocks,
    figures: Figures,
    input_bytes: u64,
    lines: Vec<PlaceInLine>,
    /// Requested positions, in descending order.
    requested: Vec<u64>,
}

/// The text of a piece, document after document, with its ranges.
struct PieceText<'a> {
    ranges: Walk<'a>,
    /// Offset of the piece in the text of the file.
    in_file: u64,
    /// Offset in the text of the piece.
    at: u64,
    lines: u64,
    documents: u64,
    /// Number of documents, and of bytes of the file, already added to the progress.
    reported: (u64, u64),
    /// Ranges of the current document.
    found: Vec<Range>,
    spare: String,
}

impl<'a> PieceText<'a> {
    fn new(ranges: Walk<'a>, in_file: u64, start: u64) -> Self {
        let (found, spare) = (Vec::new(), String::new());
        Self { ranges, in_file, at: 0, lines: 0, documents: 0, reported: (0, start), found, spare }
    }

    /// Counts a line, and updates the progress from time to time. `read` is the number of bytes of the file read so far.
    fn end_line(&mut self, context: &TaskContext, read: u64) {
        self.lines += 1;
        if self.lines.is_multiple_of(PROGRESS_EVERY) {
            context.progress.add(self.documents - self.reported.0, read.saturating_sub(self.reported.1));
            self.reported = (self.documents, read.max(self.reported.1));
        }
    }
}

impl<'a> OutputPiece<'a> {
    fn write(
        job: &'a Job<'a>,
        placed: &PlacedFile,
        sheet: &'a OrderedOutput,
        piece: usize,
        mut wanted: Vec<u64>,
    ) -> Outcome<()> {
        wanted.sort_unstable();
        wanted.dedup();
        wanted.reverse();
        let most = usize::try_from(job.memory.per_thread / 4)
            .unwrap_or(MAX_UNWRITTEN_BYTES.1)
            .clamp(MAX_UNWRITTEN_BYTES.0, MAX_UNWRITTEN_BYTES.1);
        let mut writing = Self {
            job,
            file: placed.file,
            sheet,
            piece,
            down: None,
            unwritten: Vec::new(),
            most,
            gathered: RangeBlocks::default(),
            figures: Figures::default(),
            input_bytes: 0,
            lines: Vec::new(),
            requested: wanted,
        };
        if piece == 0 {
            writing.wait_for_turn()?;
        }
        writing.lines(placed)?;
        writing.wait_for_turn()?;
        let Some(mut down) = writing.down.take() else { return Err(missing_piece()) };
        down.put_ranges(job, placed.file, &mut writing.gathered)?;
        writing.hand_over(&mut down);
        down.next += 1;
        if down.next == sheet.pieces.len() {
            down.end()?;
            let (files, lines, ranges) = (down.files.clone(), down.lines.clone(), down.end_ranges()?);
            let written = WrittenParts { files, lines, ranges, is_resumed: false };
            job.note(&name_of(placed), &written)?;
        }
        drop(down);
        sheet.call_next();
        Ok(())
    }

    fn lines(&mut self, placed: &PlacedFile) -> Outcome<()> {
        let (job, context) = (self.job, self.job.context);
        let Some(piece) = self.sheet.pieces.get(self.piece).copied() else { return Err(missing_piece()) };
        let Some(part) = placed.parts.get(piece.part) else { return Err(missing_piece()) };
        let Some(file) = job.inputs.files.get(placed.file) else { return Err(changed(Path::new(""))) };
        // Only a compressed file needs a spool. Such a file is a single piece, so the path is unique.
        let spool = ScratchSpool::new(&context.fs, job.layout.staged(placed.file, 0).with_extension("line"));
        let ranges = Ranges::of(job, part.unit, &part.ranges);
        let in_file = part.at + piece.at;
        while self.requested.last().is_some_and(|at| *at < in_file) {
            self.requested.pop();
        }
        let mut walk = PieceText::new(ranges.from(part.base + piece.at)?, in_file, piece.lines.from.offset);
        let is_index = job.inputs.shard_of(placed.file).is_some();
        if let Some(rewriter) = file.source.rewriter().filter(|_| !is_index) {
            self.rows(file, rewriter, &mut walk)?;
        } else {
            let mut back = WriteBack::new(&Layout::of(job.plan)?);
            let (key, cancel) = (&job.plan.text_key, &context.cancel);
            let notes = &mut part.notes_from(&piece.lines);
            each_noted_line(job.inputs, &piece.lines, notes, key, Box::new(spool), cancel, &mut |line, read| {
                if line.kind() == Kind::Blank {
                    return Ok(true);
                }
                if is_index {
                    self.begin_next_file(&line)?;
                }
                let len = self.find_ranges(&line, file, &mut walk)?;
                let Some(written) = line.write(&mut back, &walk.found, &mut |bytes| self.write_bytes(bytes))? else {
                    return Err(changed(&file.path));
                };
                self.count(&line, &walk.found, (written.removed, len));
                walk.end_line(context, read);
                Ok(true)
            })?;
        }
        let end = file.bytes.min(piece.lines.to);
        context.progress.add(walk.documents - walk.reported.0, end.saturating_sub(walk.reported.1));
        match walk.at == piece.bytes {
            true => Ok(()),
            // The stamp is the same, but the text differs.
            false => Err(changed(&file.path)),
        }
    }

    /// Writes a table again.
    fn rows(&mut self, file: &TextFile, rewriter: &dyn FileRewriter, walk: &mut PieceText<'_>) -> Outcome<()> {
        let (plan, context) = (self.job.plan, self.job.context);
        let fields = Fields::new(&plan.text_key);
        let (mut start, mut shortened, written) = (0, Vec::new(), Cell::new(0_u64));
        // Both closures use the piece, but never at the same time.
        let writing = RefCell::new(self);
        let mut edit = |row: &Row<'_>, ranges: &mut Vec<std::ops::Range<usize>>| {
            let (kind, text) = row_kind(row);
            let record = row_record((row.number, row.group), start, kind, text, &fields);
            let (line, mut writing) = (Line::Of(&record), writing.borrow_mut());
            let len = writing.find_ranges(&line, file, walk)?;
            shortened.clear();
            if !walk.found.is_empty() {
                Shortener::new(&walk.found).push(text, &mut shortened);
            }
            let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            ranges.extend(shortened.iter().map(|range| place(range.start)..place(range.end)));
            writing.count(&line, &walk.found, (shortened.iter().map(|range: &Range| range.len()).sum(), len));
            start = offset_after(start, kind, text.len());
            walk.end_line(context, written.get().min(file.bytes));
            Ok(())
        };
        rewriter.rewrite(file, &edits_of(plan)?, &mut edit, &mut |bytes| {
            context.cancel.check()?;
            written.set(written.get() + bytes.len() as u64);
            writing.borrow_mut().write_bytes(bytes)
        })
    }

    /// Finds the ranges of a line, and records them and the lines of requested positions. Returns the size of the text in bytes.
    fn find_ranges(&mut self, line: &Line<'_>, file: &TextFile, walk: &mut PieceText<'_>) -> Outcome<u64> {
        walk.found.clear();
        if line.kind() != Kind::Document {
            return Ok(0);
        }
        let len = line.text_bytes(&mut walk.spare)?;
        walk.ranges.of_document(walk.at + 1, len, &mut walk.found)?;
        self.record_places((walk.in_file + walk.at + 1, len), line, line.file().unwrap_or(&file.name));
        if !walk.found.is_empty() && line.file().is_none() {
            self.note_ranges(line, &walk.found)?;
        }
        walk.at += 1 + len;
        walk.documents += 1;
        Ok(len)
    }

    /// Waits until the piece is next in order, and writes the buffered output.
    fn wait_for_turn(&mut self) -> Outcome<()> {
        if self.down.is_none() {
            let sheet = self.sheet;
            self.down = Some(sheet.wait_for(self.piece, &self.job.context.cancel)?);
        }
        let held = std::mem::take(&mut self.unwritten);
        match held.is_empty() {
            true => Ok(()),
            false => self.write_bytes(&held),
        }
    }

    /// Writes output, or buffers it up to the limit if the piece is not next in order.
    fn write_bytes(&mut self, bytes: &[u8]) -> Outcome<()> {
        if let Some(down) = &mut self.down {
            return down.open(self.job, self.file)?.write(bytes);
        }
        self.unwritten.extend_from_slice(bytes);
        match self.unwritten.len() >= self.most {
            true => self.wait_for_turn(),
            false => Ok(()),
        }
    }

    /// Records ranges for viewing them later.
    fn note_ranges(&mut self, line: &Line<'_>, found: &[Range]) -> Outcome<()> {
        self.gathered.add(line.start(), line.number(), found);
        match &mut self.down {
            Some(down) if self.gathered.len() >= RANGE_BUFFER_BYTES => {
                down.put_ranges(self.job, self.file, &mut self.gathered)
            }
            _ => Ok(()),
        }
    }

    /// Begins the next file if the line of an index belongs to one. The piece must then be next in order.
    fn begin_next_file(&mut self, line: &Line<'_>) -> Outcome<()> {
        let Some(mut down) = self.down.take() else { return Err(missing_piece()) };
        if line.file() != down.files.last().map(|file| file.name.as_str()) {
            self.hand_over(&mut down);
        }
        let entered = down.begin_next_file(line);
        self.down = Some(down);
        entered
    }

    /// Adds the counts to the file that is being written.
    fn hand_over(&mut self, down: &mut OutputState) {
        let (figures, input_bytes) = (std::mem::take(&mut self.figures), std::mem::take(&mut self.input_bytes));
        if let Some(file) = down.files.last_mut() {
            file.figures.add(&figures);
            file.input_bytes += input_bytes;
        }
        down.lines.append(&mut self.lines);
    }

    /// Records the lines that contain the wanted positions.
    fn record_places(&mut self, (start, len): (u64, u64), line: &Line<'_>, name: &str) {
        while let Some(at) = self.requested.last().copied().filter(|at| *at < start + len) {
            let offset = at.saturating_sub(start);
            let (number, begins) = (line.number() + 1, line.start());
            self.lines.push(PlaceInLine { at, file: name.to_owned(), line: number, start: begins, offset });
            self.requested.pop();
        }
    }

    fn count(&mut self, line: &Line<'_>, found: &[Range], (removed, len): (u64, u64)) {
        let figures = &mut self.figures;
        if line.kind() != Kind::Document {
            figures.copied_lines += 1;
            return;
        }
        if line.file().is_some() {
            // An index does not contain the size of the original file, so the bytes of text are counted.
            self.input_bytes += len;
        }
        figures.documents += 1;
        figures.text_bytes += len;
        if found.is_empty() {
            return;
        }
        figures.ranges += found.len() as u64;
        figures.range_bytes += found.iter().map(|range| range.len()).sum::<u64>();
        figures.removed_bytes += removed;
        figures.changed_documents += 1;
        figures.emptied_documents += u64::from(removed == len);
    }
}
