//! Clusters and their blocks: iterates over the frames of all tracks, without reading their content.

use super::ebml::{number, Element};
use super::tracks::children;
use crate::{ProbeError, Reader};

/// One frame of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The number of its track.
    pub track: u64,
    /// Time of its block in ticks of the segment.
    pub time: i64,
    /// Index among the frames of its block, from 0.
    pub lace: u32,
    /// Number of frames in its block.
    pub laces: u32,
    /// Whether it is a key frame.
    pub key: bool,
    /// Duration of the whole block in ticks, if specified.
    pub duration: Option<u64>,
    /// Nanoseconds to be cut from its end.
    pub padding: i64,
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
}

/// A callback for frames; iteration stops when it returns `false`.
pub type Visitor<'a> = dyn FnMut(&mut Reader, Frame) -> Result<bool, ProbeError> + 'a;

const CLUSTER: u32 = 0x1f43_b675;
/// Payloads of at least this length are skipped without reading ahead, in bytes.
const LARGE_PAYLOAD_BYTES: u64 = 8 << 10;
/// Bytes that are searched at a time for the next cluster.
const CLUSTER_SEARCH_BYTES: usize = 64 << 10;

/// Passes the frames of all clusters from `at` to `end` to `visitor`. Returns whether no damage was found up to the end.
pub fn visit(reader: &mut Reader, at: u64, end: u64, visitor: &mut Visitor) -> Result<bool, ProbeError> {
    let (mut at, mut cluster_time, mut sound, mut large) = (at, 0_i64, true, false);
    while at < end {
        let next = if large {
            Element::at_without_read_ahead(reader, at, reader.len())?
        } else {
            Element::at(reader, at, reader.len())?
        };
        let Some(element) = next.filter(is_known) else {
            sound = false;
            match next_cluster(reader, at + 1, end)? {
                Some(found) => at = found,
                None => break,
            }
            continue;
        };
        large = false;
        if element.id == CLUSTER {
            at = element.body;
            continue;
        }
        // Other elements of unknown size cannot be skipped.
        let Some(body_end) = element.end else { return Ok(false) };
        if body_end > reader.len() {
            return Ok(false);
        }
        large = body_end - element.body >= LARGE_PAYLOAD_BYTES;
        let wanted = match element.id {
            0xe7 => {
                cluster_time = element.unsigned(reader)?.and_then(|time| i64::try_from(time).ok()).unwrap_or(0);
                true
            }
            0xa3 => {
                let block = Block { key: None, ..Block::default() };
                block.frames(reader, &element, cluster_time, visitor)?
            }
            0xa0 => group(reader, &element, cluster_time, visitor)?,
            _ => true,
        };
        if !wanted {
            return Ok(sound);
        }
        at = body_end;
    }
    Ok(sound)
}

/// Whether the ID occurs in segments and clusters; other IDs indicate damage.
fn is_known(element: &Element) -> bool {
    const ROOT_ELEMENTS: [u32; 8] =
        [CLUSTER, 0x114d_9b74, 0x1549_a966, 0x1654_ae6b, 0x1c53_bb6b, 0x1043_a770, 0x1941_a469, 0x1254_c367];
    const IN_CLUSTER: [u32; 9] = [0xe7, 0xa3, 0xa0, 0xa7, 0xab, 0xaf, 0x5854, 0xec, 0xbf];
    ROOT_ELEMENTS.contains(&element.id) || IN_CLUSTER.contains(&element.id)
}

/// Returns the offset of the next cluster.
fn next_cluster(reader: &mut Reader, mut at: u64, end: u64) -> Result<Option<u64>, ProbeError> {
    let id = CLUSTER.to_be_bytes();
    while at < end {
        let bytes = reader.up_to(at, CLUSTER_SEARCH_BYTES)?;
        if let Some(found) = memchr::memmem::find(bytes, &id) {
            return Ok(Some(at + found as u64).filter(|found| *found < end));
        }
        if bytes.len() <= id.len() {
            return Ok(None);
        }
        at += (bytes.len() - (id.len() - 1)) as u64;
    }
    Ok(None)
}

/// The properties of a block in addition to its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    /// Whether the block is a key frame; `None` if its own flag determines it.
    key: Option<bool>,
    duration: Option<u64>,
    padding: i64,
}

fn group(reader: &mut Reader, group: &Element, cluster_time: i64, visitor: &mut Visitor) -> Result<bool, ProbeError> {
    let (mut block, mut bytes) = (Block { key: Some(true), ..Block::default() }, None);
    children(reader, group, &mut |reader, element| {
        match element.id {
            0xa1 => bytes = Some(*element),
            0x9b => block.duration = element.unsigned(reader)?,
            0xfb => block.key = Some(false),
            0x75a2 => block.padding = element.signed(reader)?.unwrap_or(0).max(0),
            _ => {}
        }
        Ok(())
    })?;
    match bytes {
        Some(bytes) => block.frames(reader, &bytes, cluster_time, visitor),
        None => Ok(true),
    }
}

impl Block {
    /// Passes the frames of a block, laced or not, to `visitor`.
    fn frames(
        &self,
        reader: &mut Reader,
        block: &Element,
        cluster_time: i64,
        visitor: &mut Visitor,
    ) -> Result<bool, ProbeError> {
        let Some(end) = block.end else { return Ok(true) };
        let head = reader.up_to(block.body, 12)?;
        let Some((Some(track), used)) = number(head) else { return Ok(true) };
        let Some(&[high, low, flags]) = head.get(used..used + 3).and_then(|rest| rest.first_chunk()) else {
            return Ok(true);
        };
        let body = block.body + used as u64 + 3;
        if body > end {
            return Ok(true);
        }
        let key = self.key.unwrap_or(flags & 0x80 != 0);
        let Some((first, sizes)) = laces(reader, body, end, flags >> 1 & 3)? else { return Ok(true) };
        let frame = Frame {
            track,
            time: cluster_time.saturating_add(i64::from(i16::from_be_bytes([high, low]))),
            lace: 0,
            laces: sizes.len() as u32,
            key,
            duration: self.duration,
            padding: self.padding,
            at: first,
            len: 0,
        };
        let mut at = first;
        for (lace, len) in sizes.into_iter().enumerate() {
            if !visitor(reader, Frame { lace: lace as u32, at, len, ..frame })? {
                return Ok(false);
            }
            at += len;
        }
        Ok(true)
    }
}

/// Returns the offset of the first frame, and the length of each; `None` if the lacing is invalid.
fn laces(reader: &mut Reader, body: u64, end: u64, lacing: u8) -> Result<Option<(u64, Vec<u64>)>, ProbeError> {
    if lacing == 0 {
        return Ok(Some((body, vec![end - body])));
    }
    let left = usize::try_from(end - body).unwrap_or(usize::MAX);
    // Xiph lacing takes many bytes of 255, other lacing at most 255 lengths of up to eight bytes; anything longer is damage.
    let head = reader.up_to(body, left.min(CLUSTER_SEARCH_BYTES))?;
    let Some((&count, rest)) = head.split_first() else { return Ok(None) };
    let known = match lacing {
        1 => xiph(rest, usize::from(count)),
        2 => Some((Vec::new(), 0)),
        _ => ebml(rest, usize::from(count)),
    };
    let Some((mut sizes, used)) = known else { return Ok(None) };
    let first = body + 1 + used as u64;
    let Some(left) = end.checked_sub(first) else { return Ok(None) };
    if lacing == 2 {
        let frames = u64::from(count) + 1;
        return Ok(left.is_multiple_of(frames).then(|| (first, vec![left / frames; frames as usize])));
    }
    let declared = sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size));
    let Some(last) = declared.and_then(|declared| left.checked_sub(declared)) else { return Ok(None) };
    sizes.push(last);
    Ok(Some((first, sizes)))
}

/// Reads lengths that are sums of bytes of 255 and a last smaller byte.
fn xiph(mut rest: &[u8], count: usize) -> Option<(Vec<u64>, usize)> {
    let (all, mut sizes) = (rest.len(), Vec::with_capacity(count));
    for _ in 0..count {
        let mut size = 0;
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            size += u64::from(byte);
            if byte != 255 {
                break;
            }
        }
        sizes.push(size);
    }
    Some((sizes, all - rest.len()))
}

/// Reads the first length as a number, the others as differences.
fn ebml(mut rest: &[u8], count: usize) -> Option<(Vec<u64>, usize)> {
    let (all, mut sizes) = (rest.len(), Vec::with_capacity(count));
    for place in 0..count {
        let (value, used) = number(rest)?;
        rest = rest.get(used..)?;
        let value = i64::try_from(value?).ok()?;
        let size = match sizes.last() {
            None => value,
            Some(&before) => {
                let middle = (1_i64 << (7 * used - 1)) - 1;
                i64::try_from(before).ok()?.checked_add(value - middle)?
            }
        };
        debug_assert_eq!(sizes.len(), place);
        sizes.push(u64::try_from(size).ok()?);
    }
    Some((sizes, all - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::Cancel;

    fn frames(bytes: &[u8]) -> (Vec<(i64, u64, u64)>, bool) {
        let (cancel, mut found) = (Cancel::default(), Vec::new());
        let mut reader = Reader::new(&bytes, &cancel);
        let sound = visit(&mut reader, 0, bytes.len() as u64, &mut |_, frame| {
            found.push((frame.time, frame.at, frame.len));
            Ok(true)
        });
        (found, sound.unwrap())
    }

    const CLUSTER_AT_100: [u8; 8] = [0x1f, 0x43, 0xb6, 0x75, 0xff, 0xe7, 0x81, 100];

    #[test]
    fn matroska_blocks_of_every_lacing_are_divided_into_frames() {
        let mut bytes = CLUSTER_AT_100.to_vec();
        bytes.extend([0xa3, 0x86, 0x81, 0, 5, 0x80, 7, 7]);
        bytes.extend([0xa3, 0x8a, 0x81, 0, 6, 0x82, 1, 2, 9, 9, 8, 8]);
        bytes.extend([0xa3, 0x89, 0x81, 0, 7, 0x84, 1, 9, 9, 8, 8]);
        bytes.extend([0xa3, 0x8d, 0x81, 0, 8, 0x86, 2, 0x82, 0xc0, 9, 9, 8, 8, 8, 7]);
        let (found, sound) = frames(&bytes);
        let expected = [
            (105, 14, 2),
            (106, 24, 2),
            (106, 26, 2),
            (107, 35, 2),
            (107, 37, 2),
            (108, 48, 2),
            (108, 50, 3),
            (108, 53, 1),
        ];
        assert_eq!((found.as_slice(), sound), (expected.as_slice(), true));
    }

    #[test]
    fn matroska_damage_is_skipped_up_to_the_next_cluster() {
        let mut bytes = vec![0, 0, 9, 9];
        bytes.extend(CLUSTER_AT_100);
        bytes.extend([0xa3, 0x85, 0x81, 0xff, 0xff, 0x80, 7]);
        assert_eq!(frames(&bytes), (vec![(99, 18, 1)], false));
    }

    #[test]
    fn matroska_lace_lengths_that_overflow_give_no_frames() {
        let mut bytes = CLUSTER_AT_100.to_vec();
        bytes.extend([0xa3, 0x41, 0x12, 0x81, 0, 8, 0x86, 255]);
        for _ in 0..2 {
            bytes.extend([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
        }
        bytes.extend([0xbf; 253]);
        assert!(frames(&bytes).0.is_empty());
    }

    #[test]
    fn matroska_block_that_is_cut_gives_no_frame() {
        let mut bytes = CLUSTER_AT_100.to_vec();
        bytes.extend([0xa3, 0x88, 0x81, 0, 5, 0x80, 7, 7]);
        assert_eq!(frames(&bytes), (vec![], false));
    }
}
