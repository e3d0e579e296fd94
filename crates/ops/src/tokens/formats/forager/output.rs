//! The files of samples and of their index.

use super::names::forager_names;
use super::writer::Writer;
use super::{target, SAMPLES};
use crate::engine::pack::Kind;
use crate::tokens::format::{
    DealRequest, DealtFiles, FileEstimate, ReadingOrder, SpoolOptions, TokenOutput, TokenWriter,
};
use gristmill_core::pack::{SampleSize, TokenType};
use gristmill_core::{Failure, Outcome};
use std::path::{Path, PathBuf};

/// Locations of all samples.
pub(super) const LOCATIONS: &str = "sample_locations.bin";
/// Names of the sample files.
pub(super) const FILES: &str = "file_location.txt";
/// Description of samples with masks.
pub(super) const SCHEMA: &str = "sample_schema.json";
/// Bytes of a row of the locations.
pub(super) const ROW_BYTES: u64 = 24;

/// The sample files of a run, and their index.
pub(super) struct SampleFiles {
    place: PathBuf,
    /// Names of the sample files.
    pub(super) names: Vec<String>,
    index_folder: String,
    pub(super) sample_size: SampleSize,
    pub(super) token: TokenType,
    pub(super) has_masks: bool,
    pub(super) compat: bool,
}

/// Returns one sample file for each input.
pub(super) fn deal(request: DealRequest<'_>) -> Outcome<DealtFiles> {
    let DealRequest { plan, spec, place, files } = request;
    let target = target(plan);
    let names = forager_names(&files, &target.file_suffix, !plan.compat).ok_or_else(|| {
        Failure::data("packing for forager", "two inputs have the same name, and their samples would too")
            .with_hint("without --compat they get the names of their folders in front")
    })?;
    let output = SampleFiles {
        place: place.path,
        names,
        index_folder: target.index_folder,
        sample_size: target.sample_size,
        token: spec.token,
        has_masks: matches!(spec.kind, Kind::Parts(_)),
        compat: plan.compat,
    };
    let slots = (0..files.len()).collect();
    Ok(DealtFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

/// Returns the spool of the tokens of a file.
pub(super) fn tokens_spool(number: usize) -> String {
    format!("{number}.tokens")
}

/// Returns the spool of the masks of a file.
pub(super) fn mask_spool(number: usize) -> String {
    format!("{number}.mask")
}

/// Returns the spool of the lengths of samples of variable length.
pub(super) fn lengths_spool(number: usize) -> String {
    format!("{number}.lengths")
}

impl SampleFiles {
    /// Returns the path of a sample file.
    pub(super) fn samples(&self, name: &str) -> PathBuf {
        self.place.join(SAMPLES).join(name)
    }

    /// Returns the path of a file of the index.
    pub(super) fn index(&self, name: &str) -> PathBuf {
        self.place.join(&self.index_folder).join(name)
    }
}

impl TokenOutput for SampleFiles {
    fn slots(&self) -> usize {
        self.names.len()
    }

    fn path(&self) -> PathBuf {
        self.place.clone()
    }

    fn files(&self) -> Vec<(String, PathBuf)> {
        let samples = self.names.iter().enumerate().map(|(number, name)| (tokens_spool(number), self.samples(name)));
        samples.chain([LOCATIONS, FILES].map(|name| (name.to_owned(), self.index(name)))).collect()
    }

    /// Masks are interleaved with the tokens.
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_read_again: self.has_masks || !spool.ends_with(".tokens") }
    }

    fn is_growing(&self, spool: &str, slot: Option<usize>) -> bool {
        slot.is_some_and(|slot| spool == tokens_spool(slot))
    }

    /// An index of any files counts; an empty folder may have been left by a run that was killed during publication.
    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        let first = std::fs::read_dir(self.index("")).ok().and_then(|mut entries| entries.next());
        let first = first.and_then(Result::ok).map(|entry| entry.path());
        self.names.iter().map(|name| self.samples(name)).chain(first).find(|path| is_foreign(path))
    }

    /// An old schema describes samples of another shape.
    fn stale_files(&self, written: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let schema = self.index(SCHEMA);
        if written(&schema) || schema.symlink_metadata().is_err() {
            return Vec::new();
        }
        vec![schema]
    }

    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate {
        let items = match self.sample_size {
            SampleSize::Fixed(size) => tokens / size.max(1),
            SampleSize::Variable => documents,
        };
        let files = self.names.iter().map(|name| vec![self.samples(name)]).collect();
        FileEstimate { items, extra_bytes: items * ROW_BYTES, files }
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}
