//! Samples by their place: files `KEY.PART` in one folder, or a folder for each sample.

use super::samples::{is_hidden, parts_of};
use super::selection::Selection;
use super::{MountedSet, State};
use crate::engine::browse::BrowseSample;
use gristmill_core::Outcome;
use gristmill_fuse::{names, Entry, Node, Refusal};
use std::ops::Range;

/// Keys that are fetched at a time while a shortened name is looked up.
const KEYS: usize = 256;

fn folder_name(key: &str) -> String {
    names::fit(names::escape(key))
}

impl MountedSet {
    /// Returns the name of a part as an entry of a folder of all parts; `key` may be without the folders of the key.
    pub(super) fn flat_name(&self, key: &str, part: &str) -> String {
        names::fit(names::escape(&self.samples.name_of(key, part)))
    }

    fn is_shown(&self, state: &State, selection: &Selection, sample: &BrowseSample) -> bool {
        let is_left_out = sample.parts.is_empty() || self.samples.are_loose_files() && is_hidden(&sample.key);
        !is_left_out && selection.has_sample(&state.marks, sample.at.group, &sample.key)
    }

    /// Lists the parts of samples as files of one folder.
    pub(super) fn list_flat(
        &self,
        state: &State,
        range: &Range<u64>,
        selection: &Selection,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let (first, next_part) = match after {
            None => (range.start, 0),
            Some(Node::Part { number, part }) => (number, part + 1),
            Some(_) => return Err(Refusal::Missing),
        };
        self.samples.each_from(first, |sample| {
            let number = self.samples.number(sample);
            if number >= range.end {
                return false;
            }
            let begin = if number == first { next_part } else { 0 };
            !self.is_shown(state, selection, sample)
                || parts_of(sample).filter(|(position, _)| *position >= begin).all(|(position, part)| {
                    let entry = self.part_entry(sample, position);
                    entry.is_none_or(|entry| add(&entry, &self.flat_name(&sample.key, &part.name)))
                })
        })?;
        Ok(())
    }

    /// Finds a part of a sample in a range by the name of its file.
    pub(super) fn find_flat(
        &self,
        state: &State,
        range: &Range<u64>,
        selection: &Selection,
        name: &str,
    ) -> Result<Entry, Refusal> {
        let shows = |sample: &BrowseSample| {
            range.contains(&self.samples.number(sample)) && self.is_shown(state, selection, sample)
        };
        if let Some(kept) = names::kept_beginning(name) {
            let mut found = None;
            self.each_like(&names::undo_prefix(kept).ok_or(Refusal::Missing)?, |sample| {
                let mut parts = parts_of(sample).filter(|_| shows(sample));
                let part = parts.find(|(_, part)| self.flat_name(&sample.key, &part.name) == name);
                found = part.and_then(|(position, _)| self.part_entry(sample, position));
                found.is_none()
            })?;
            return found.ok_or(Refusal::Missing);
        }
        let text = names::undo(name).ok_or(Refusal::Missing)?;
        self.find_named(&text, 0, shows)?.ok_or(Refusal::Missing)
    }

    /// Finds the part whose key and name, with a dot between them, are this text. The dot is not before byte `from`; the first that fits
    /// counts.
    pub(super) fn find_named(
        &self,
        text: &str,
        from: usize,
        shows: impl Fn(&BrowseSample) -> bool,
    ) -> Outcome<Option<Entry>> {
        if self.samples.are_loose_files() {
            let sample = self.samples.by_key(text)?.filter(shows);
            return Ok(sample.and_then(|sample| self.part_entry(&sample, 0)));
        }
        for (dot, _) in text.match_indices('.').filter(|(dot, _)| *dot >= from) {
            let (key, part) = (text.get(..dot).unwrap_or_default(), text.get(dot + 1..).unwrap_or_default());
            let Some(sample) = self.samples.by_key(key)?.filter(|sample| &*sample.key == key && shows(sample)) else {
                continue;
            };
            let mut parts = parts_of(&sample);
            if let Some((position, _)) = parts.find(|(_, known)| &*known.name == part) {
                return Ok(self.part_entry(&sample, position));
            }
        }
        Ok(None)
    }

    /// Passes the samples whose `KEY.PART` may begin with a text to `take`, until it returns false: keys that begin so, and keys before each
    /// of its dots.
    pub(super) fn each_like(&self, text: &str, mut take: impl FnMut(&BrowseSample) -> bool) -> Outcome<()> {
        for (dot, _) in text.match_indices('.') {
            let sample = self.samples.by_key(text.get(..dot).unwrap_or_default())?;
            if sample.is_some_and(|sample| !take(&sample)) {
                return Ok(());
            }
        }
        let mut from = text.to_owned();
        loop {
            let keys = self.samples.keys_from(&from, KEYS)?;
            for (_, number) in keys.iter().take_while(|(key, _)| key.starts_with(text)) {
                let sample = self.samples.sample(*number)?;
                if sample.is_some_and(|sample| !take(&sample)) {
                    return Ok(());
                }
            }
            match keys.last().filter(|(key, _)| keys.len() == KEYS && key.starts_with(text)) {
                Some((key, _)) => from = format!("{key}\0"),
                None => return Ok(()),
            }
        }
    }

    /// Lists samples as folders.
    pub(super) fn list_samples(
        &self,
        state: &State,
        selection: &Selection,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let first = match after {
            None => 0,
            Some(Node::Sample { number }) => number + 1,
            Some(_) => return Err(Refusal::Missing),
        };
        self.samples.each_from(first, |sample| {
            let entry = self.sample_entry(sample).filter(|_| self.is_shown(state, selection, sample));
            entry.is_none_or(|entry| add(&entry, &folder_name(&sample.key)))
        })?;
        Ok(())
    }

    /// Finds a sample by the name of its folder.
    pub(super) fn find_sample(&self, state: &State, selection: &Selection, name: &str) -> Result<Entry, Refusal> {
        let mut found = None;
        if let Some(kept) = names::kept_beginning(name) {
            self.each_like(&names::undo_prefix(kept).ok_or(Refusal::Missing)?, |sample| {
                found = (folder_name(&sample.key) == name).then(|| sample.clone());
                found.is_none()
            })?;
        } else {
            let key = names::undo(name).ok_or(Refusal::Missing)?;
            found = self.samples.by_key(&key)?.filter(|sample| *sample.key == *key);
        }
        let found = found.filter(|sample| self.is_shown(state, selection, sample));
        found.and_then(|sample| self.sample_entry(&sample)).ok_or(Refusal::Missing)
    }

    /// Lists the parts of a sample.
    pub(super) fn list_parts(
        &self,
        number: u64,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let begin = match after {
            None => 0,
            Some(Node::Part { part, .. }) => part + 1,
            Some(_) => return Err(Refusal::Missing),
        };
        let sample = self.samples.sample_in_window(number)?.ok_or(Refusal::Missing)?;
        for (position, part) in parts_of(&sample).filter(|(position, _)| *position >= begin) {
            let entry = self.part_entry(&sample, position);
            if entry.is_some_and(|entry| !add(&entry, &folder_name(&part.name))) {
                break;
            }
        }
        Ok(())
    }

    /// Finds a part of a sample by its name.
    pub(super) fn find_part(&self, number: u64, name: &str) -> Result<Entry, Refusal> {
        let sample = self.sample(number)?;
        let found = parts_of(&sample).find(|(_, part)| folder_name(&part.name) == name);
        found.and_then(|(position, _)| self.part_entry(&sample, position)).ok_or(Refusal::Missing)
    }
}
