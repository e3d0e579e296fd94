//! A passage of an estimate for display: its file, its line and its beginning.

use super::inputs::{Inputs, LineRange};
use super::report::RepeatedPassage;
use super::source::each_line;
use crate::engine::dedup::write_back::TextPieces as _;
use gristmill_core::{Cancel, DedupPlan, Outcome};
use gristmill_data::source::dedup::{line_around, lines_before, Kind, Position};
use gristmill_dedup::Passage;
use gristmill_storage::read::open_read;
use std::time::Instant;

/// Longest line whose beginning is searched for, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Bytes of a passage that are shown.
const MAX_SHOWN_BYTES: usize = 200;

/// Returns the line that contains a position of a file, and whether its number is known: lines are only counted where that is fast.
pub(super) fn find_line(
    inputs: &Inputs,
    number: usize,
    place: u64,
    cancel: &Cancel,
) -> Outcome<Option<(LineRange, bool)>> {
    let Some(file) = inputs.files.get(number) else { return Ok(None) };
    if !file.has_plain_lines() || inputs.shard_of(number).is_some() {
        return Ok(Some((LineRange::whole(number), true)));
    }
    let open = open_read(&file.path)?;
    let Some(offset) = line_around(&open, place, MAX_LINE_BYTES, cancel)? else { return Ok(None) };
    let is_counted = offset <= MAX_LINE_BYTES;
    let line = if is_counted { lines_before(&open, offset, cancel)? } else { 0 };
    Ok(Some((LineRange { file: number, from: Position { offset, line }, to: offset + 1 }, is_counted)))
}

/// Returns a passage for display, found in the lines of a stretch.
pub(super) fn show(
    plan: &DedupPlan,
    inputs: &Inputs,
    stretch: &LineRange,
    (place, passage): (u64, &Passage),
    until: Instant,
    cancel: &Cancel,
) -> Outcome<Option<RepeatedPassage>> {
    let Some(file) = inputs.files.get(stretch.file) else { return Ok(None) };
    let (mut shown, mut spare) = (None, String::new());
    each_line(inputs, stretch, &plan.text_key, Box::new(Vec::new()), cancel, &mut |line, _| {
        let start = line.start();
        if start > place || Instant::now() >= until {
            return Ok(false);
        }
        if line.kind() != Kind::Document || start + line.most_bytes() < place {
            return Ok(true);
        }
        let (mut at, mut text) = (start, Vec::new());
        line.each_piece(&mut spare, &mut |piece| {
            let from = usize::try_from(place.saturating_sub(at)).unwrap_or(usize::MAX).min(piece.len());
            let rest = piece.as_bytes().get(from..).unwrap_or_default();
            text.extend_from_slice(rest.get(..MAX_SHOWN_BYTES - text.len()).unwrap_or(rest));
            at += piece.len() as u64;
            Ok(())
        })?;
        shown = Some(RepeatedPassage {
            file: line.file().unwrap_or(&file.name).to_owned(),
            line: line.number() + 1,
            offset: place - start,
            length: passage.len,
            count: passage.count,
            text: text_of(&text),
        });
        Ok(true)
    })?;
    Ok(shown)
}

/// Returns the text without incomplete characters at its start and end.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let is_inside = |byte: &&u8| **byte & 0xc0 == 0x80;
    let start = bytes.iter().take_while(is_inside).count();
    let rest = bytes.get(start..).unwrap_or_default();
    let whole = match std::str::from_utf8(rest) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(rest.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default(),
    };
    whole.to_owned()
}
