//! Samples in the tree layout: slashes in keys become folders. Keys are read in byte order; the listing skips a folder by continuing with
//! the first key after it.

use super::selection::Scope;
use super::MountedSet;
use gristmill_core::Outcome;
use gristmill_fuse::{names, Entry, Node, Refusal};

/// Number of keys that are fetched first, and maximum number that is fetched at a time.
const FIRST_KEYS: usize = 32;
const MAX_KEYS: usize = 512;

/// Returns the smallest text greater than all texts with this prefix, which must end with a slash.
fn end_of_prefix(folder: &str) -> String {
    // `0` is the byte after `/`.
    format!("{}0", folder.strip_suffix('/').unwrap_or(folder))
}

fn depth_of(folder: &str) -> u64 {
    folder.bytes().filter(|byte| *byte == b'/').count() as u64
}

/// A position at which a listing continues.
struct Position {
    /// The smallest key to list.
    from: String,
    /// The sample number and the smallest part to list of that sample.
    part: Option<(u64, u64)>,
}

impl MountedSet {
    /// Returns the path of a folder, ending with a slash.
    pub(super) fn prefix(&self, number: u64, depth: u64) -> Result<String, Refusal> {
        let key = self.sample(number)?.key;
        let nth = depth.checked_sub(1).and_then(|nth| usize::try_from(nth).ok()).ok_or(Refusal::Missing)?;
        let (slash, _) = key.match_indices('/').nth(nth).ok_or(Refusal::Missing)?;
        Ok(key.get(..=slash).unwrap_or_default().to_owned())
    }

    /// Returns the entry name of a folder, with a marker if a file has the same name.
    fn key_folder_name(&self, scope: &Scope<'_>, prefix: &str, name: &str) -> Outcome<String> {
        let entry = names::escape(name);
        let is_file = self.find_file(scope, prefix, name)?.is_some();
        Ok(names::shorten(if is_file { names::mark_folder(entry) } else { entry }))
    }

    fn find_file(&self, scope: &Scope<'_>, prefix: &str, name: &str) -> Outcome<Option<Entry>> {
        match name.contains('.') || self.samples.are_loose_files() {
            true => self.find_named(scope, &format!("{prefix}{name}"), prefix.len()),
            false => Ok(None),
        }
    }

    /// Finds the folder with this path, which must end with a slash, by its first shown sample.
    fn find_key_folder(&self, scope: &Scope<'_>, path: &str) -> Outcome<Option<Entry>> {
        let (mut from, mut count) = (path.to_owned(), 1);
        loop {
            let keys = self.samples.keys_from(&from, count)?;
            for (key, number) in keys.iter().take_while(|(key, _)| key.starts_with(path)) {
                if let Some(number) = self.shown_number(scope, key, *number) {
                    let inode = Node::KeyFolder { number, depth: depth_of(path) }.inode();
                    return Ok(inode.map(|inode| self.folder_entry(inode)));
                }
            }
            match keys.last().filter(|(key, _)| keys.len() == count && key.starts_with(path)) {
                Some((key, _)) => (from, count) = (format!("{key}\0"), MAX_KEYS),
                None => return Ok(None),
            }
        }
    }

    /// Finds a file or folder below a path.
    pub(super) fn find_in_keys(&self, scope: &Scope<'_>, prefix: &str, name: &str) -> Result<Entry, Refusal> {
        if let Some(kept) = names::beginning_before_hash(name) {
            let begin = names::undo_prefix(kept).ok_or(Refusal::Missing)?;
            return self.find_shortened(scope, prefix, &begin, name)?.ok_or(Refusal::Missing);
        }
        let unmarked = names::unmark_folder(name);
        let text = names::undo(unmarked.unwrap_or(name)).filter(|text| !text.contains('/'));
        let text = text.ok_or(Refusal::Missing)?;
        let file = self.find_file(scope, prefix, &text)?;
        match (file, unmarked) {
            (Some(file), None) => Ok(file),
            // Only a folder with the same name as a file has a marker.
            (None, Some(_)) => Err(Refusal::Missing),
            _ => self.find_key_folder(scope, &format!("{prefix}{text}/"))?.ok_or(Refusal::Missing),
        }
    }

    /// Finds a file or folder with a shortened name that starts with a text.
    fn find_shortened(&self, scope: &Scope<'_>, prefix: &str, begin: &str, name: &str) -> Outcome<Option<Entry>> {
        let mut found = Ok(None);
        let mut last_folder = String::new();
        self.for_each_with_prefix(scope, &format!("{prefix}{begin}"), |sample| {
            let rest = sample.key.strip_prefix(prefix);
            found = match rest.map(|rest| (rest, rest.find('/'))) {
                Some((rest, Some(slash))) => {
                    let folder = rest.get(..slash).unwrap_or_default();
                    if last_folder == folder {
                        return true;
                    }
                    folder.clone_into(&mut last_folder);
                    self.key_folder_name(scope, prefix, folder).and_then(|known| match known == name {
                        true => self.find_key_folder(scope, &format!("{prefix}{folder}/")),
                        false => Ok(None),
                    })
                }
                Some((rest, None)) => {
                    let part = self.shown_parts(scope, sample).find(|(_, part)| self.flat_name(rest, part) == name);
                    Ok(part.and_then(|(position, _)| self.part_entry(sample, position)))
                }
                None => Ok(None),
            };
            matches!(found, Ok(None))
        })?;
        found
    }

    /// Lists the files and folders below a path, which is empty or ends with a slash.
    pub(super) fn list_keys(
        &self,
        scope: &Scope<'_>,
        prefix: &str,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let mut position = match after {
            None => Position { from: prefix.to_owned(), part: None },
            Some(Node::Part { number, part }) => {
                Position { from: self.sample(number)?.key.to_string(), part: Some((number, part + 1)) }
            }
            Some(Node::KeyFolder { number, depth }) => {
                Position { from: end_of_prefix(&self.prefix(number, depth)?), part: None }
            }
            Some(_) => return Err(Refusal::Missing),
        };
        let mut count = FIRST_KEYS;
        loop {
            let keys = self.samples.keys_from(&position.from, count)?;
            let is_last = keys.len() < count;
            match self.list_batch(scope, prefix, &keys, position.part.take(), add)? {
                Some(from) if !is_last => position.from = from,
                _ => return Ok(()),
            }
            count = (count * 2).min(MAX_KEYS);
        }
    }

    /// Lists the entries for a batch of keys. Returns the smallest key after it; `None` at the end of the folder or when no more entries
    /// fit.
    fn list_batch(
        &self,
        scope: &Scope<'_>,
        prefix: &str,
        keys: &[(String, u64)],
        begin: Option<(u64, u64)>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Outcome<Option<String>> {
        let mut rest = keys;
        let mut next = String::new();
        while let Some(((key, number), after)) = rest.split_first() {
            let Some(below) = key.strip_prefix(prefix) else { return Ok(None) };
            next = format!("{key}\0");
            // Of samples with the same key only one is shown, which the first row determines.
            rest = after.get(after.partition_point(|(other, _)| other == key)..).unwrap_or_default();
            let Some(number) = self.shown_number(scope, key, *number) else { continue };
            if let Some(slash) = below.find('/') {
                let folder = below.get(..slash).unwrap_or_default();
                let path = format!("{prefix}{folder}/");
                let name = self.key_folder_name(scope, prefix, folder)?;
                let inode = Node::KeyFolder { number, depth: depth_of(&path) }.inode();
                if inode.is_some_and(|inode| !add(&self.folder_entry(inode), &name)) {
                    return Ok(None);
                }
                next = end_of_prefix(&path);
                rest = rest.get(rest.partition_point(|(key, _)| *key < next)..).unwrap_or_default();
                continue;
            }
            // If the next key belongs to the next sample of the data set, a window of samples is read at once.
            let has_neighbour = rest.first().is_some_and(|(_, other)| *other == number + 1);
            let sample = match has_neighbour {
                true => self.samples.sample_in_window(number)?,
                false => self.samples.sample(number)?,
            };
            let Some(sample) = sample else { continue };
            let first = begin.filter(|(known, _)| *known == number).map_or(0, |(_, part)| part);
            for (position, part) in self.shown_parts(scope, &sample).filter(|(position, _)| *position >= first) {
                let entry = self.part_entry(&sample, position);
                if entry.is_some_and(|entry| !add(&entry, &self.flat_name(below, part))) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(next))
    }
}
