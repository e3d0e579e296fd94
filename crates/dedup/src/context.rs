//! The text around an anchor.

use super::anchor::Anchor;
use super::bytes::{common_prefix, common_suffix};
use super::match_cache::{Agreement, Repeat};
use super::{Rule, TextReader};
use gristmill_core::{Failure, Outcome};

/// Number of additional bytes that are read on both sides of a context if repeats are cached. Reading a few thousand bytes takes little
/// longer than reading a few hundred.
const MARGIN: u32 = 2 << 10;

/// The text of all or some windows of an anchor, with additional text on both sides.
pub(super) struct Context<'a> {
    left: &'a [u8],
    right: &'a [u8],
    /// Position of the anchor, between both sides.
    at: u64,
    /// Number of bytes on each side that belong to windows.
    pub far: u32,
    pub right_reach: u32,
}

impl<'a> Context<'a> {
    /// Reads the windows at distances `near` to `far` before `at`. If `is_wide`, also reads up to [`MARGIN`] bytes on each side.
    #[inline]
    pub(super) fn read<T: TextReader + ?Sized>(
        text: &'a T,
        (at, near, far): (u64, u32, u32),
        rule: &Rule,
        is_wide: bool,
        spare: &'a mut Vec<u8>,
    ) -> Outcome<Self> {
        let margin = if is_wide { MARGIN } else { 0 };
        let right_reach = (rule.min_length - u64::from(near)) as u32;
        let start = at.saturating_sub(u64::from(far) + u64::from(margin));
        let before = (at - start) as usize;
        let bytes = text.read(start, before + right_reach as usize + margin as usize, spare)?;
        match bytes.split_at_checked(before) {
            Some((left, right)) if before >= far as usize && right.len() >= right_reach as usize => {
                Ok(Self { left, right, at, far, right_reach })
            }
            _ => Err(shorter()),
        }
    }

    /// Compares the text of two anchors. `left` and `right` bytes next to the anchors are known to be equal. Also returns the repeat found
    /// there, if this context comes after the other one.
    #[inline]
    pub(super) fn compare(&self, pivot: &Self, (left, right): (u32, u32)) -> ([Agreement; 2], Option<Repeat>) {
        let (most_left, most_right) = (self.far.min(pivot.far), self.right_reach.min(pivot.right_reach));
        let known = left.min(most_left) as usize;
        let beyond = |bytes: &'a [u8]| &bytes[..bytes.len().saturating_sub(known)];
        let left = (known + common_suffix(beyond(self.left), beyond(pivot.left))) as u32;
        let known = right.min(most_right) as usize;
        let beyond = |bytes: &'a [u8]| bytes.get(known..).unwrap_or_default();
        let right = (known + common_prefix(beyond(self.right), beyond(pivot.right))) as u32;
        let sides = [
            Agreement { same_bytes: left.min(most_left), byte: self.left_at(left.min(most_left)).unwrap_or_default() },
            Agreement {
                same_bytes: right.min(most_right),
                byte: self.right_at(right.min(most_right)).unwrap_or_default(),
            },
        ];
        let back = self.at.checked_sub(pivot.at).filter(|back| *back > 0);
        let repeat = back.map(|back| Repeat {
            start: self.at - u64::from(left),
            end: self.at + u64::from(right),
            distance: back,
            before: pivot.left_at(left).and_then(|_| self.left_at(left)),
            after: pivot.right_at(right).and_then(|_| self.right_at(right)),
        });
        (sides, repeat)
    }

    /// Returns the byte at this distance before the anchor.
    #[inline]
    fn left_at(&self, distance: u32) -> Option<u8> {
        self.left.iter().rev().nth(distance as usize).copied()
    }
    #[inline]
    fn right_at(&self, distance: u32) -> Option<u8> {
        self.right.get(distance as usize).copied()
    }
}

/// Reads the text of all windows of an anchor. Its first `far` bytes are before the anchor.
#[inline]
pub(super) fn context_bytes<'a, T: TextReader + ?Sized>(
    text: &'a T,
    anchor: &Anchor,
    rule: &Rule,
    spare: &'a mut Vec<u8>,
) -> Outcome<&'a [u8]> {
    let wanted = anchor.far as usize + (rule.min_length - u64::from(anchor.near)) as usize;
    let bytes = text.read(anchor.at.saturating_sub(u64::from(anchor.far)), wanted, spare)?;
    match bytes.len() == wanted {
        true => Ok(bytes),
        false => Err(shorter()),
    }
}

fn shorter() -> Failure {
    Failure::data("reading text back", "it is shorter than it was when it was searched")
}
