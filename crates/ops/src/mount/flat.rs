//! Samples in the layouts without key folders: files `KEY.PART` in one folder, or a folder for each sample.

use super::samples::{is_hidden, parts_of, MARK_PART, REPEATED_MARK};
use super::selection::Scope;
use super::MountedSet;
use crate::engine::browse::BrowseSample;
use gristmill_core::Outcome;
use gristmill_fuse::{names, Entry, Node, Refusal};

/// Number of keys that are fetched at a time when a shortened name is looked up.
const KEYS: usize = 256;

fn folder_name(key: &str) -> String {
    names::shorten(names::escape(key))
}

impl MountedSet {
    /// Returns the file name of a part in a folder of all parts. `key` may lack the folders of the key.
    pub(super) fn flat_name(&self, key: &str, part: &str) -> String {
        names::shorten(names::escape(&self.samples.name_of(key, part)))
    }

    /// Whether a folder shows a sample under its name.
    pub(super) fn is_shown(&self, scope: &Scope<'_>, sample: &BrowseSample) -> Outcome<bool> {
        let is_left_out = sample.parts.is_empty()
            || self.samples.are_loose_files() && is_hidden(&sample.key)
            || !self.samples.has_text_key(sample)?;
        Ok(!is_left_out && self.shows(scope, &sample.key, self.samples.number(sample)))
    }

    /// Returns the parts of a sample with their positions and names. If other samples have the same key, also returns a marker file.
    pub(super) fn shown_parts<'a>(
        &self,
        scope: &Scope<'_>,
        sample: &'a BrowseSample,
    ) -> impl Iterator<Item = (u64, &'a str)> {
        let is_repeated = self.marks_repeats() && self.shown_of_key(scope, &sample.key).nth(1).is_some();
        let is_marked = is_repeated && sample.parts.iter().all(|part| &*part.name != REPEATED_MARK);
        let parts = parts_of(sample).map(|(position, part)| (position, &*part.name));
        parts.chain(is_marked.then_some((MARK_PART, REPEATED_MARK)))
    }

    /// Returns the first sample with a key that a folder shows.
    pub(super) fn sample_of_key(&self, scope: &Scope<'_>, key: &str) -> Outcome<Option<BrowseSample>> {
        let found = self.samples.by_key(key, |number| self.is_in(scope, key, number))?;
        match found {
            Some(sample) if *sample.key == *key && self.is_shown(scope, &sample)? => Ok(Some(sample)),
            _ => Ok(None),
        }
    }

    /// Lists the parts of samples as files of one folder.
    pub(super) fn list_flat(
        &self,
        scope: &Scope<'_>,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let (first, next_part) = match after {
            None => (scope.range.start, 0),
            Some(Node::Part { number, part }) => (number, part + 1),
            Some(_) => return Err(Refusal::Missing),
        };
        self.samples.each_from(first, |sample| {
            let number = self.samples.number(sample);
            if number >= scope.range.end {
                return Ok(false);
            }
            let begin = if number == first { next_part } else { 0 };
            if !self.is_shown(scope, sample)? {
                return Ok(true);
            }
            let mut parts = self.shown_parts(scope, sample).filter(|(position, _)| *position >= begin);
            Ok(parts.all(|(position, part)| {
                let entry = self.part_entry(sample, position);
                entry.is_none_or(|entry| add(&entry, &self.flat_name(&sample.key, part)))
            }))
        })?;
        Ok(())
    }

    /// Finds a part of a sample by its file name.
    pub(super) fn find_flat(&self, scope: &Scope<'_>, name: &str) -> Result<Entry, Refusal> {
        if let Some(kept) = names::beginning_before_hash(name) {
            let mut found = None;
            self.for_each_with_prefix(scope, &names::undo_prefix(kept).ok_or(Refusal::Missing)?, |sample| {
                let mut parts = self.shown_parts(scope, sample);
                let part = parts.find(|(_, part)| self.flat_name(&sample.key, part) == name);
                found = part.and_then(|(position, _)| self.part_entry(sample, position));
                found.is_none()
            })?;
            return found.ok_or(Refusal::Missing);
        }
        let text = names::undo(name).ok_or(Refusal::Missing)?;
        self.find_named(scope, &text, 0)?.ok_or(Refusal::Missing)
    }

    /// Finds the part whose `KEY.PART` is this text. The dot is at or after byte `from`; the first match counts.
    pub(super) fn find_named(&self, scope: &Scope<'_>, text: &str, from: usize) -> Outcome<Option<Entry>> {
        if self.samples.are_loose_files() {
            let sample = self.sample_of_key(scope, text)?;
            return Ok(sample.and_then(|sample| self.part_entry(&sample, 0)));
        }
        for (dot, _) in text.match_indices('.').filter(|(dot, _)| *dot >= from) {
            let (key, name) = (text.get(..dot).unwrap_or_default(), text.get(dot + 1..).unwrap_or_default());
            let Some(sample) = self.sample_of_key(scope, key)? else { continue };
            let part = self.shown_parts(scope, &sample).find(|(_, known)| *known == name);
            if let Some((position, _)) = part {
                return Ok(self.part_entry(&sample, position));
            }
        }
        Ok(None)
    }

    /// Passes shown samples whose `KEY.PART` may start with a text to `take`, until it returns `false`: samples whose key starts with the
    /// text, and samples whose key is the text before one of its dots.
    pub(super) fn for_each_with_prefix(
        &self,
        scope: &Scope<'_>,
        text: &str,
        mut take: impl FnMut(&BrowseSample) -> bool,
    ) -> Outcome<()> {
        for (dot, _) in text.match_indices('.') {
            let sample = self.sample_of_key(scope, text.get(..dot).unwrap_or_default())?;
            if sample.is_some_and(|sample| !take(&sample)) {
                return Ok(());
            }
        }
        let mut from = text.to_owned();
        loop {
            let keys = self.samples.keys_from(&from, KEYS)?;
            for (key, number) in keys.iter().take_while(|(key, _)| key.starts_with(text)) {
                let Some(number) = self.shown_number(scope, key, *number) else { continue };
                let sample = self.samples.sample(number)?;
                let Some(sample) = sample else { continue };
                if self.is_shown(scope, &sample)? && !take(&sample) {
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
        scope: &Scope<'_>,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let first = match after {
            None => 0,
            Some(Node::Sample { number }) => number + 1,
            Some(_) => return Err(Refusal::Missing),
        };
        self.samples.each_from(first, |sample| {
            let entry = if self.is_shown(scope, sample)? { self.sample_entry(sample) } else { None };
            Ok(entry.is_none_or(|entry| add(&entry, &folder_name(&sample.key))))
        })?;
        Ok(())
    }

    /// Finds a sample by the name of its folder.
    pub(super) fn find_sample(&self, scope: &Scope<'_>, name: &str) -> Result<Entry, Refusal> {
        let mut found = None;
        if let Some(kept) = names::beginning_before_hash(name) {
            self.for_each_with_prefix(scope, &names::undo_prefix(kept).ok_or(Refusal::Missing)?, |sample| {
                found = (folder_name(&sample.key) == name).then(|| sample.clone());
                found.is_none()
            })?;
        } else {
            found = self.sample_of_key(scope, &names::undo(name).ok_or(Refusal::Missing)?)?;
        }
        found.and_then(|sample| self.sample_entry(&sample)).ok_or(Refusal::Missing)
    }

    /// Lists the parts of a sample.
    pub(super) fn list_parts(
        &self,
        scope: &Scope<'_>,
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
        for (position, part) in self.shown_parts(scope, &sample).filter(|(position, _)| *position >= begin) {
            let entry = self.part_entry(&sample, position);
            if entry.is_some_and(|entry| !add(&entry, &folder_name(part))) {
                break;
            }
        }
        Ok(())
    }

    /// Finds a part of a sample by its name.
    pub(super) fn find_part(&self, scope: &Scope<'_>, number: u64, name: &str) -> Result<Entry, Refusal> {
        let sample = self.sample(number)?;
        let found = self.shown_parts(scope, &sample).find(|(_, part)| folder_name(part) == name);
        found.and_then(|(position, _)| self.part_entry(&sample, position)).ok_or(Refusal::Missing)
    }
}
