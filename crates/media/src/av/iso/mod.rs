//! MP4, MOV, M4A, M4V, 3GP: files of boxes (ISO/IEC 14496-12), read like in FFmpeg.
//!
//! Boxes are visited by offset, and sample tables are read in pieces: memory does not grow with the number of samples.

mod boxes;
mod edits;
mod entry;
mod facts;
mod fragments;
mod key_frame;
mod samples;
mod tables;
mod track;

use super::AvProbeResult;
use crate::{ProbeError, Reader};
use boxes::{be32, be64, BoxHeader};
use entry::Kind;
use fragments::Fragments;
pub use key_frame::key_frame;
use track::Track;

/// Whether these first bytes belong to a file of boxes.
pub fn matches(first: &[u8]) -> bool {
    let mut at = 0;
    while let Some(&[a, b, c, d, k, l, m, n]) = first.get(at..at + 8) {
        let size = match u32::from_be_bytes([a, b, c, d]) {
            0 => first.len() - at,
            1 => first
                .get(at + 8..at + 16)
                .and_then(|long| long.try_into().ok())
                .map_or(0, |long| u64::from_be_bytes(long) as usize),
            size => size as usize,
        };
        if size < 8 {
            at += 4;
            continue;
        }
        match &[k, l, m, n] {
            b"ftyp" => return !matches!(first.get(at + 8..at + 12), Some(b"jp2 " | b"jpx " | b"jxl ")),
            b"moov" | b"mdat" | b"pnot" | b"udta" | b"wide" | b"free" | b"junk" | b"pict" | b"ediw" => return true,
            _ => {}
        }
        let Some(next) = at.checked_add(size) else { return false };
        at = next;
    }
    false
}

/// The declared compatibility of the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brand {
    /// Whether the major brand is not QuickTime's.
    pub isom: bool,
    /// Whether the file is compatible with QuickTime.
    pub quicktime: bool,
}

/// The maximum number of tracks of one file; real files have fewer.
const MAX_TRACKS: usize = 1024;
/// The maximum nesting depth of boxes.
const MAX_DEPTH: usize = 11;

/// The header of a file.
#[derive(Default)]
struct Movie {
    brand: Brand,
    scale: u32,
    tracks: Vec<Track>,
    fragments: Fragments,
    found_header: bool,
    found_data: bool,
    /// Whether an index lists every fragment, so that the header is not read further.
    listed: bool,
    /// Offset at which reading of the header ended.
    read_to: u64,
    /// Whether to search for the header in boxes that are marked as free.
    free: bool,
    /// Whether edit lists determine which samples are read; cleared once a track has no samples in the header.
    edited: bool,
}

/// Reads the facts of the first video and the first audio stream.
///
/// # Errors
/// [`ProbeError::Broken`], with the reason and the offset, for every file for which the reference program returns no facts.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let movie = Movie::read(reader)?;
    facts::assemble(reader, movie)
}

impl Movie {
    /// Reads the header.
    fn read(reader: &mut Reader) -> Result<Self, ProbeError> {
        let mut movie = Self { edited: true, ..Self::default() };
        movie.walk(reader)?;
        if !movie.found_header {
            // Some writers store the header in a box that is marked as free.
            movie = Self { edited: true, free: true, ..Self::default() };
            movie.walk(reader)?;
        }
        if !movie.found_header {
            return Err(ProbeError::broken("it has no moov header", reader.len()));
        }
        Ok(movie)
    }

    /// Visits all relevant boxes.
    fn walk(&mut self, reader: &mut Reader) -> Result<(), ProbeError> {
        let len = reader.len();
        let mut stack = vec![(*b"root", super::after_id3(reader)?, len)];
        while let Some(&(kind, at, end)) = stack.last() {
            let head = boxes::next(reader, at, end)?;
            let misplaced =
                |head: &BoxHeader| !matches!(&kind, b"root" | b"moov") && matches!(&head.kind, b"trak" | b"mdat");
            let Some(mut head) = head.filter(|head| !misplaced(head)) else {
                stack.pop();
                match &kind {
                    b"trak" => self.finish_track(reader)?,
                    b"moov" => self.found_header = true,
                    _ => {}
                }
                continue;
            };
            if let Some(top) = stack.last_mut() {
                top.1 = head.end;
            }
            if kind == *b"root" {
                self.read_to = head.end;
            }
            let disguised = &head.kind == b"hoov" || self.free && &head.kind == b"free";
            if disguised && matches!(reader.up_to(head.body + 4, 4)?, b"mvhd" | b"cmov") {
                head.kind = *b"moov";
            }
            let inside = stack.iter().any(|(kind, ..)| kind == b"trak");
            if let Some(start) = self.open(reader, &head, inside)? {
                if stack.len() >= MAX_DEPTH {
                    return Err(ProbeError::broken("its boxes are nested too deep", head.at));
                }
                stack.push((head.kind, start, head.end));
            } else {
                self.leaf(reader, &head, inside)?;
            }
            if self.found_header && self.found_data && self.listed && kind == *b"root" {
                break;
            }
        }
        Ok(())
    }

    /// Returns the offset of the nested boxes, for boxes that contain boxes.
    fn open(&mut self, reader: &mut Reader, head: &BoxHeader, inside: bool) -> Result<Option<u64>, ProbeError> {
        Ok(match &head.kind {
            b"moov" if self.found_header => None,
            b"trak" => {
                if self.tracks.len() >= MAX_TRACKS {
                    return Err(ProbeError::broken("it has too many tracks", head.at));
                }
                self.tracks.push(Track::new());
                Some(head.body)
            }
            b"moof" => {
                self.fragments.begin(head);
                Some(head.body)
            }
            b"moov" | b"mdia" | b"minf" | b"stbl" | b"edts" | b"mvex" | b"traf" | b"udta" | b"ilst" | b"dinf"
            | b"tref" => Some(head.body),
            b"meta" if !inside => meta_boxes(reader, head)?,
            _ => None,
        })
    }

    fn leaf(&mut self, reader: &mut Reader, head: &BoxHeader, inside: bool) -> Result<(), ProbeError> {
        match &head.kind {
            b"ftyp" => {
                let bytes = reader.up_to(head.body, usize::try_from(head.len().min(4096)).unwrap_or(0))?;
                self.brand.isom |= bytes.get(..4) != Some(b"qt  ");
                self.brand.quicktime |=
                    bytes.get(8..).is_some_and(|brands| brands.windows(4).any(|brand| brand == b"qt  "));
            }
            b"mdat" => self.found_data |= head.len() > 0,
            b"mvhd" => {
                let long = reader.array::<1>(head.body)? == [1];
                let scale = be32(reader, head.body + if long { 20 } else { 12 })?;
                self.scale = if scale == 0 || scale > i32::MAX as u32 { 1 } else { scale };
            }
            b"trex" => self.fragments.read_trex(reader, head)?,
            b"cmov" => return Err(ProbeError::broken("its header is compressed", head.at)),
            b"sidx" => self.list(reader, head)?,
            b"covr" => self.cover(reader, head)?,
            b"----" => self.gapless(reader, head)?,
            b"tfhd" | b"tfdt" | b"trun" => {
                self.fragments.read_box(reader, head, &mut self.tracks, &mut |_, _, _| Ok(()))?
            }
            _ => {
                let brand = self.brand;
                if let Some(track) = self.tracks.last_mut().filter(|_| inside) {
                    track.read_box(reader, head, &brand)?;
                }
            }
        }
        Ok(())
    }

    /// Completes a track: determines whether it is usable, and whether its edits are applied.
    fn finish_track(&mut self, reader: &mut Reader) -> Result<(), ProbeError> {
        let Some(track) = self.tracks.last_mut() else { return Ok(()) };
        let chunks = track.chunk_count();
        let times = track.times.map_or(0, |table| table.count);
        if chunks == 0 && times == 0 {
            track.chunks.count = 0;
        }
        let plain = track.size > 0 || track.entry.as_ref().is_some_and(|entry| entry.sample_size > 0);
        if chunks > 0 && (times == 0 || track.chunks.count == 0 || !plain && track.samples == 0)
            || chunks == 0 && track.samples > 0
        {
            return Ok(());
        }
        if track.chunks.count > 0 {
            let last = be32(reader, track.chunks.at + (track.chunks.count - 1) * 12)?;
            if u64::from(last) > chunks {
                return Err(ProbeError::broken("the tables of a track contradict each other", track.chunks.at));
            }
        }
        track.usable = true;
        if track.scale == 0 {
            track.scale = self.scale.max(1);
        }
        self.edited &= times > 0;
        (track.edited, track.movie_scale) = (self.edited, self.scale);
        Ok(())
    }

    /// Reads `sidx`: the duration of a track, and whether every fragment is listed.
    fn list(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let [version] = reader.array(head.body)?;
        let id = be32(reader, head.body + 4)?;
        let Some(index) = self.tracks.iter().position(|track| track.id == Some(id)).filter(|_| version <= 1) else {
            return Ok(());
        };
        if be32(reader, head.body + 8)? as i32 <= 0 {
            return Err(ProbeError::broken("the list of its fragments has no time scale", head.at));
        }
        let (mut time, skip, at) = if version == 0 {
            (i64::from(be32(reader, head.body + 12)?), u64::from(be32(reader, head.body + 16)?), head.body + 20)
        } else {
            (be64(reader, head.body + 12)? as i64, be64(reader, head.body + 20)?, head.body + 28)
        };
        let mut offset = head.end.saturating_add(skip);
        let count = u64::from(be32(reader, at)? & 0xffff);
        if count == 0 {
            return Err(ProbeError::broken("the list of its fragments is empty", head.at));
        }
        let mut words = boxes::WordReader::new(at + 4, count * 3);
        while let (Some((size, duration)), Some(_)) = (words.pair(reader)?, words.next(reader)?) {
            if size & 0x8000_0000 != 0 {
                return Err(ProbeError::broken("the list of its fragments is a list of lists", head.at));
            }
            offset = offset.saturating_add(u64::from(size));
            time = time.saturating_add(i64::from(duration));
        }
        let len = reader.len();
        let random_access = if len >= 4 { u64::from(be32(reader, len - 4)?) } else { 0 };
        let complete = offset == len || Some(offset) == len.checked_sub(random_access);
        let scale = self.tracks.get(index).map_or(1, |track| i64::from(track.scale));
        for (other, track) in self.tracks.iter_mut().enumerate() {
            if other == index {
                (track.duration, track.end, track.listed) = (time, time, true);
            } else if complete && !track.listed {
                let time =
                    super::rational::rescale(time, i64::from(track.scale), scale, super::rational::Rounding::Near);
                (track.duration, track.end) = (time, time);
            }
        }
        self.listed |= complete;
        Ok(())
    }

    /// Reads a cover: a picture that counts as a video stream.
    fn cover(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let mut at = head.body;
        while let Some(data) = boxes::next(reader, at, head.end)? {
            at = data.end;
            if &data.kind != b"data" || data.len() < 8 {
                break;
            }
            let kind = be32(reader, data.body)?;
            let mime = match kind {
                0xd => "image/jpeg",
                0xe => "image/png",
                0x1b => "image/bmp",
                _ => continue,
            };
            if self.tracks.len() < MAX_TRACKS {
                let cover = Some((mime, data.body + 8, data.end));
                self.tracks.push(Track { kind: Kind::Cover, cover, ..Track::default() });
            }
        }
        Ok(())
    }

    /// Reads `iTunSMPB`: the number of samples that the encoder inserted at the beginning.
    fn gapless(&mut self, reader: &mut Reader, head: &BoxHeader) -> Result<(), ProbeError> {
        let (mut at, mut name, mut value) = (head.body, false, None);
        while let Some(part) = boxes::next(reader, at, head.end)? {
            at = part.end;
            let bytes = reader.up_to(part.body, usize::try_from(part.len().min(256)).unwrap_or(0))?;
            match &part.kind {
                b"name" => name = bytes.get(4..) == Some(b"iTunSMPB"),
                b"data" => value = bytes.get(8..).map(|text| String::from_utf8_lossy(text).into_owned()),
                _ => {}
            }
        }
        let Some(value) = value.filter(|_| name) else { return Ok(()) };
        let mut fields = value.split_ascii_whitespace();
        let numbers: Vec<i64> =
            fields.by_ref().take(4).map_while(|field| i64::from_str_radix(field, 16).ok()).collect();
        if let (&[_, priming, _, _], Some(track)) = (numbers.as_slice(), self.tracks.last_mut()) {
            if priming > 0 && priming < 16_384 {
                track.priming = Some(priming);
            }
        }
        Ok(())
    }
}

/// Returns the offset of the boxes in `meta`, which has a version field in most files, but not in QuickTime's.
fn meta_boxes(reader: &mut Reader, head: &BoxHeader) -> Result<Option<u64>, ProbeError> {
    for skip in [4, 0] {
        if reader.up_to(head.body + skip + 4, 4)? == b"hdlr" {
            return Ok(Some(head.body + skip));
        }
    }
    Ok(None)
}
