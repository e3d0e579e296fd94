//! Numbered samples, such as lines: folders of ten thousand samples, named by the number of their first sample.

use super::MountedSet;
use gristmill_fuse::{Entry, Node, Refusal};
use std::ops::Range;

/// Number of samples per folder.
const FOLDER_SAMPLES: u64 = 10_000;

fn folder_name(position: u64) -> String {
    format!("{:09}", position.saturating_mul(FOLDER_SAMPLES))
}

impl MountedSet {
    /// Returns the numbers of the samples in the folder with this index; `None` if the folder does not exist.
    pub(super) fn lines_of(&self, position: u64) -> Option<Range<u64>> {
        let (start, total) = (position.checked_mul(FOLDER_SAMPLES)?, self.sample_count());
        (start < total).then(|| start..total.min(start.saturating_add(FOLDER_SAMPLES)))
    }

    fn lines_entry(&self, position: u64) -> Option<Entry> {
        self.lines_of(position)?;
        Node::Lines(position).inode().map(|inode| self.folder_entry(inode))
    }

    /// Lists the folders that follow an entry.
    pub(super) fn list_lines(&self, after: Option<Node>, add: &mut dyn FnMut(&Entry, &str) -> bool) {
        let first = match after {
            Some(Node::Lines(position)) => position + 1,
            _ => 0,
        };
        let mut entries = (first..).map_while(|position| Some((position, self.lines_entry(position)?)));
        // Stops at the last folder, or when no more entries fit.
        let _ = entries.all(|(position, entry)| add(&entry, &folder_name(position)));
    }

    /// Finds a folder by its name.
    pub(super) fn find_lines(&self, name: &str) -> Result<Entry, Refusal> {
        let number = name.parse::<u64>().ok().ok_or(Refusal::Missing)?;
        let entry = self.lines_entry(number / FOLDER_SAMPLES).ok_or(Refusal::Missing)?;
        if folder_name(number / FOLDER_SAMPLES) != name {
            return Err(Refusal::Missing);
        }
        Ok(entry)
    }
}
