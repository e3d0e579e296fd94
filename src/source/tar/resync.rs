//! The way on past a damaged header.

use super::header::{is_plausible, looks_like_extension, salvaged_size, BLOCK, BLOCK_BYTES};
use super::walk::Walker;
use super::window::Window;
use crate::model::Outcome;

/// Zero bytes at the end of a file that are looked at to believe that it ends there.
const TAIL: u64 = 1 << 20;
/// Damaged or distrusted headers that are stepped over by their own size.
const HOPS: usize = 40;

impl<W: Window> Walker<'_, W> {
    /// Where the walk can go on, given that the block at `bad` cannot be trusted: the next header, or the end.
    pub(super) fn find_next(&mut self, bad: u64) -> Outcome<u64> {
        // The size field of the damaged block is tried first, so that an archive inside the lost content is not taken for
        // part of this one.
        if let Some(next) = self.hop(bad)? {
            return Ok(next);
        }
        self.search(bad + BLOCK_BYTES)
    }

    fn hop(&mut self, bad: u64) -> Outcome<Option<u64>> {
        let mut at = bad;
        for _ in 0..HOPS {
            let Some(block) = self.block(at)? else { return Ok(None) };
            let content = if matches!(block[156], b'1'..=b'6') { Some(0) } else { salvaged_size(&block) };
            let target = content
                .and_then(|n| n.checked_next_multiple_of(BLOCK_BYTES))
                .and_then(|n| at.checked_add(BLOCK_BYTES)?.checked_add(n));
            let Some(target) = target.filter(|&t| self.window.can_look_ahead(t)) else { return Ok(None) };
            if !self.window.reaches(target)? {
                return Ok(None);
            }
            let sound = self.block(target)?.is_some_and(|b| is_plausible(&b));
            if !sound && !self.ends_at(target)? {
                return Ok(None);
            }
            // The entry that a lost extended header announced has a name or size that only that header knew.
            if !sound || !looks_like_extension(&block) {
                return Ok(Some(target));
            }
            at = target;
        }
        Ok(None)
    }

    fn search(&mut self, from: u64) -> Outcome<u64> {
        let mut at = from;
        let mut zeros_from = None;
        loop {
            if at % (1 << 18) == 0 {
                self.cancel.check()?;
            }
            let Ok(block) = <&[u8; BLOCK]>::try_from(self.window.bytes(at, BLOCK)?) else {
                return Ok(zeros_from.unwrap_or(self.window.known_len().max(from)));
            };
            if block.iter().all(|&b| b == 0) {
                zeros_from.get_or_insert(at);
            } else {
                zeros_from = None;
                if is_plausible(block) {
                    return Ok(at);
                }
            }
            at += BLOCK_BYTES;
        }
    }

    /// Whether nothing but zeros (or nothing at all) follows.
    fn ends_at(&mut self, at: u64) -> Outcome<bool> {
        let rest = self.window.bytes(at, TAIL as usize + 1)?;
        Ok(rest.len() as u64 <= TAIL && rest.iter().all(|&b| b == 0))
    }

    fn block(&mut self, at: u64) -> Outcome<Option<[u8; BLOCK]>> {
        Ok(<[u8; BLOCK]>::try_from(self.window.bytes(at, BLOCK)?).ok())
    }
}
