//! The spools of one format in a run.

use super::spool::{Mark, Snapshot, Spool};
use crate::job::outputs::OutputState;
use crate::job::task::TaskContext;
use gristmill_core::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The rules for the spools of a format.
pub(crate) trait SpoolRules: Send + Sync {
    fn spool_options(&self, spool: &str) -> SpoolOptions;
    /// Whether a spool can still grow while a file of `slot` is packed.
    fn is_growing(&self, spool: &str, slot: Option<usize>) -> bool;
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpoolOptions {
    /// Number of bytes reserved at the start for the header.
    pub(crate) head_bytes: usize,
    /// Whether the run reads the spool again; if not, it becomes an output file unchanged.
    pub(crate) is_reread: bool,
}

/// The spools of a format, by name.
pub(crate) struct SpoolSet<'a> {
    context: &'a TaskContext,
    rules: &'a dyn SpoolRules,
    /// The name of the format, used as a prefix where formats share a list of spools.
    format: &'static str,
    folder: PathBuf,
    spools: BTreeMap<String, Spool>,
    marks: BTreeMap<String, Mark>,
    /// Names of the spools that grew since the last record.
    grown: BTreeSet<String>,
    /// The output whose input file is being packed.
    slot: Option<usize>,
    /// Whether the spools of the format may still grow.
    is_active: bool,
}

impl<'a> SpoolSet<'a> {
    /// Resumes the spools in `folder`. Returns `None` if they do not match their marks.
    pub(crate) fn resume(
        context: &'a TaskContext,
        rules: &'a dyn SpoolRules,
        format: &'static str,
        folder: &Path,
        marks: BTreeMap<String, Mark>,
    ) -> Outcome<Option<Self>> {
        context.fs.create_dir(folder, 0o700)?;
        let mut spools = BTreeMap::new();
        for (name, mark) in &marks {
            context.cancel.check()?;
            let options = rules.spool_options(name);
            match Spool::resume(&folder.join(name), *mark, options.head_bytes)? {
                Some(spool) => spools.insert(name.clone(), spool.with_reread(options.is_reread)),
                None => return Ok(None),
            };
        }
        let folder = folder.to_owned();
        let grown = BTreeSet::new();
        Ok(Some(Self { context, rules, format, folder, spools, marks, grown, slot: None, is_active: false }))
    }

    /// Returns the key of a spool in lists of several formats.
    pub(crate) fn key(format: &str, spool: &str) -> String {
        format!("{format}/{spool}")
    }

    /// Returns the mark of each spool at the last record.
    pub(crate) fn marks(&self) -> &BTreeMap<String, Mark> {
        &self.marks
    }

    /// Returns the folder of the spools.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Sets whether the format is being packed, and the output whose input file is being packed.
    pub(crate) fn set_slot(&mut self, is_active: bool, slot: Option<usize>) {
        (self.is_active, self.slot) = (is_active, slot);
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.spools.contains_key(name)
    }

    /// Returns the length of a spool in bytes, including its header; 0 if it does not exist.
    pub(crate) fn bytes(&self, name: &str) -> u64 {
        self.spools.get(name).map_or(0, Spool::bytes)
    }

    pub(crate) fn snapshot(&self, name: &str) -> Option<Snapshot> {
        self.spools.get(name).map(Spool::snapshot)
    }

    /// Discards all bytes appended since the snapshot. They remain on disk until the journal records the truncation.
    pub(crate) fn rewind_to(&mut self, name: &str, to: Snapshot) -> Outcome<()> {
        self.spools.get_mut(name).map_or(Ok(()), |spool| spool.rewind_to(to))
    }

    /// Closes the file of a spool, and returns its path.
    pub(crate) fn close(&mut self, name: &str) -> Outcome<PathBuf> {
        self.spools.get_mut(name).map_or(Ok(()), Spool::rest)?;
        Ok(self.folder.join(name))
    }

    /// Creates an empty spool. Replaces a spool of the same name.
    pub(crate) fn create(&mut self, name: &str) -> Outcome<()> {
        let options = self.rules.spool_options(name);
        let spool = Spool::create(&*self.context.fs, &self.folder.join(name), options.head_bytes)?;
        self.spools.insert(name.to_owned(), spool.with_reread(options.is_reread));
        self.grown.insert(name.to_owned());
        self.show(name);
        Ok(())
    }

    /// Appends to a spool. Creates it if it does not exist.
    pub(crate) fn append(&mut self, name: &str, bytes: &[u8]) -> Outcome<()> {
        if !self.spools.contains_key(name) {
            self.create(name)?;
        }
        if let Some(spool) = self.spools.get_mut(name) {
            spool.append(&*self.context.fs, bytes)?;
        }
        if !self.grown.contains(name) {
            self.grown.insert(name.to_owned());
        }
        Ok(())
    }

    /// Removes a finished spool from the set, except for its mark.
    pub(crate) fn drop_finished(&mut self, name: &str) {
        if let Some(spool) = self.spools.remove(name) {
            self.marks.insert(name.to_owned(), spool.mark());
            self.grown.insert(name.to_owned());
        }
    }

    /// Closes the files of the spools that grew.
    pub(crate) fn close_grown(&mut self) -> Outcome<()> {
        let Self { spools, grown, .. } = self;
        spools.iter_mut().filter(|(name, _)| grown.contains(*name)).try_for_each(|(_, spool)| spool.rest())
    }

    /// Closes the open files of all spools.
    pub(crate) fn rest(&mut self) -> Outcome<()> {
        self.spools.values_mut().try_for_each(Spool::rest)
    }

    /// Records the mark of every spool that grew; returns these marks by key.
    pub(crate) fn mark(&mut self) -> Vec<(String, Mark)> {
        let grown = std::mem::take(&mut self.grown);
        for name in &grown {
            if let Some(spool) = self.spools.get(name) {
                self.marks.insert(name.clone(), spool.mark());
            }
            self.show(name);
        }
        let marked = |name: String| Some((Self::key(self.format, &name), *self.marks.get(&name)?));
        grown.into_iter().filter_map(marked).collect()
    }

    /// Updates the state of the outputs whose spools already exist.
    pub(crate) fn show_all(&self) {
        self.marks.keys().for_each(|name| self.show(name));
    }

    fn show(&self, name: &str) {
        let bytes = self.spools.get(name).map(Spool::bytes).or(self.marks.get(name).map(|mark| mark.bytes));
        let is_open = self.is_active && self.contains(name) && self.rules.is_growing(name, self.slot);
        let state = if is_open { OutputState::Writing } else { OutputState::Written };
        self.context.outputs.update(&Self::key(self.format, name), state, bytes.unwrap_or(0));
    }
}
