//! AppleDouble entries (`FOLDER/._NAME`), which the name rule treats as parts `_NAME` of a sample `FOLDER/`: records their position among
//! the samples of a shard.

use super::notes::printable;
use super::walk::Entry;
use gristmill_core::{AppleDouble, AppleDoublePlace, MAX_APPLE_DOUBLE_KEYS};
use std::collections::BTreeSet;

/// First bytes of every AppleDouble file.
pub(super) const MAGIC: [u8; 4] = [0x00, 0x05, 0x16, 0x07];

/// Whether the last component of a name begins with `._`; `dot` is where the name is split into key and part.
pub(super) fn has_name(name: &[u8], dot: usize) -> bool {
    name[..dot].ends_with(b"/") && name.get(dot + 1) == Some(&b'_')
}

/// Records the AppleDouble entries of one shard. Has no cost if there are none.
#[derive(Default)]
pub(super) struct AppleDoubles {
    /// Number of AppleDouble entries of the current sample; then whether it has other entries.
    entries: u64,
    has_others: bool,
    /// Key of the last ordinary sample, if only AppleDouble samples have followed it.
    before: Option<Vec<u8>>,
    all: Option<AppleDouble>,
    keys: BTreeSet<String>,
}

impl AppleDoubles {
    /// Begins a sample with this entry; `previous` is the key of the previous sample, if that is an ordinary one.
    pub(super) fn begin(&mut self, key: &[u8], entry: &Entry, previous: Option<&[u8]>) {
        (self.entries, self.has_others) = (0, false);
        if entry.is_apple_double {
            if let Some(previous) = previous {
                self.before = Some(previous.to_owned());
            }
        } else if self.before.take().is_some_and(|before| before == key) {
            self.refuse(AppleDoublePlace::InsideSamples);
        }
    }

    /// Adds an entry of the current sample.
    pub(super) fn add(&mut self, name: &[u8], entry: &Entry) {
        if !entry.is_apple_double {
            self.has_others = true;
            return;
        }
        self.entries += 1;
        let new = || AppleDouble { first: printable(name), byte_offset: entry.offset, ..AppleDouble::default() };
        self.all.get_or_insert_with(new).entries += 1;
    }

    /// Whether the current sample has only AppleDouble entries.
    pub(super) fn has_no_partner(&self) -> bool {
        self.entries > 0 && !self.has_others
    }

    /// Ends the current sample. Returns whether it must be excluded because it has only AppleDouble entries.
    pub(super) fn end(&mut self, key: &[u8]) -> bool {
        if self.entries == 0 {
            return false;
        }
        match std::str::from_utf8(key) {
            Ok(key) if !self.has_others => {
                if self.keys.len() < MAX_APPLE_DOUBLE_KEYS || self.keys.contains(key) {
                    self.keys.insert(key.to_owned());
                } else {
                    self.refuse(AppleDoublePlace::TooManyKeys);
                }
                true
            }
            // A key that is not UTF-8 cannot be excluded.
            _ => {
                self.refuse(AppleDoublePlace::InsideSamples);
                false
            }
        }
    }

    fn refuse(&mut self, place: AppleDoublePlace) {
        if let Some(all) = self.all.as_mut().filter(|all| all.place != AppleDoublePlace::InsideSamples) {
            all.place = place;
        }
    }

    /// Returns the facts about all AppleDouble entries, and the keys of samples to exclude, in order.
    pub(super) fn finish(self) -> (Option<AppleDouble>, Vec<String>) {
        (self.all, self.keys.into_iter().collect())
    }
}
