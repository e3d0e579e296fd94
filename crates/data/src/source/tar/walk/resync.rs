//! Resynchronisation after a damaged header.

use super::Walker;
use crate::source::tar::header::{is_plausible, resembles_extended_header, salvaged_sizes, BLOCK, BLOCK_BYTES};
use crate::source::tar::pax;
use crate::source::tar::window::Window;
use gristmill_core::Outcome;

/// Number of bytes at the end of a file that must be zero to accept an offset as the end of the archive.
const TAIL_BYTES: u64 = 1 << 20;
/// Maximum number of damaged or untrusted headers that are skipped by their own size.
const MAX_SKIPPED_HEADERS: usize = 40;

/// Position after damage where the walk continues.
pub(super) struct ResumeOffset {
    pub(super) at: u64,
    /// Whether every block was searched. An extended header before the entry there may be lost, and with it the true name of the entry.
    pub(super) by_search: bool,
}

impl<W: Window> Walker<'_, W> {
    /// Returns the offset at which the walk can resume, given that the block at `bad` cannot be trusted: the next header, or the end.
    pub(super) fn find_next(&mut self, bad: u64) -> Outcome<ResumeOffset> {
        // The salvaged size fields are tried first, so that an archive inside the lost content is not mistaken for part of this archive.
        match self.find_next_header(bad)? {
            Some(at) => Ok(ResumeOffset { at, by_search: false }),
            None => self.search(bad + BLOCK_BYTES).map(|at| ResumeOffset { at, by_search: true }),
        }
    }

    fn find_next_header(&mut self, bad: u64) -> Outcome<Option<u64>> {
        let mut at = bad;
        for _ in 0..MAX_SKIPPED_HEADERS {
            let Some(block) = self.block(at)? else { return Ok(None) };
            let Some((target, sound)) = self.nearest_target(at, &block)? else { return Ok(None) };
            // If the damaged header is an extended header, the next entry has lost its name or size, so it is skipped as well.
            if !sound || !(resembles_extended_header(&block) || self.begins_with_record(at + BLOCK_BYTES)?) {
                return Ok(Some(target));
            }
            at = target;
        }
        Ok(None)
    }

    fn begins_with_record(&mut self, at: u64) -> Outcome<bool> {
        Ok(pax::begins_with_record(self.window.bytes(at, BLOCK)?))
    }

    /// Returns the nearest possible end of the entry at `at` that is followed by a header (`true`) or is the end of the archive (`false`).
    fn nearest_target(&mut self, at: u64, block: &[u8; BLOCK]) -> Outcome<Option<(u64, bool)>> {
        for size in salvaged_sizes(block) {
            let target = size
                .checked_next_multiple_of(BLOCK_BYTES)
                .and_then(|n| at.checked_add(BLOCK_BYTES)?.checked_add(n))
                .filter(|&t| self.window.can_read_ahead(t));
            let Some(target) = target else { continue };
            if !self.window.has_bytes_to(target)? {
                continue;
            }
            if self.block(target)?.is_some_and(|b| is_plausible(&b)) {
                return Ok(Some((target, true)));
            }
            if self.ends_at(target)? {
                return Ok(Some((target, false)));
            }
        }
        Ok(None)
    }

    /// Returns the offset of the next header after `from`, searching every block, or the end.
    pub(super) fn search(&mut self, from: u64) -> Outcome<u64> {
        let mut at = from;
        let mut zeros_from = None;
        loop {
            if at.is_multiple_of(1 << 18) {
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

    /// Whether no bytes, or only zeros, follow.
    fn ends_at(&mut self, at: u64) -> Outcome<bool> {
        if self.block(at)?.is_some_and(|b| b.iter().any(|&byte| byte != 0)) {
            return Ok(false);
        }
        let rest = self.window.bytes(at, TAIL_BYTES as usize + 1)?;
        Ok(rest.len() as u64 <= TAIL_BYTES && rest.iter().all(|&b| b == 0))
    }

    pub(super) fn block(&mut self, at: u64) -> Outcome<Option<[u8; BLOCK]>> {
        Ok(<[u8; BLOCK]>::try_from(self.window.bytes(at, BLOCK)?).ok())
    }
}
