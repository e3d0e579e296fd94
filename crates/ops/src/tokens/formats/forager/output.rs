//! The sample files and the files of their index.

use super::files::{tokens_spool, SampleFiles, FILES, LOCATIONS, ROW_BYTES, SCHEMA};
use super::names::forager_names;
use super::target;
use super::writer::Writer;
use crate::tokens::encode::Kind;
use crate::tokens::format::{
    AssignedFiles, FileAssignmentRequest, FileEstimate, ReadingOrder, TokenOutput, TokenWriter,
};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::pack::SampleSize;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::files::{self, FolderEntry};
use std::path::{Path, PathBuf};

/// Assigns each input to its own sample file.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, spec, place, files } = request;
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
    Ok(AssignedFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

impl SpoolRules for SampleFiles {
    /// Spools are read again if the masks must be interleaved with the tokens.
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_reread: self.has_masks || !spool.ends_with(".tokens") }
    }

    fn is_growing(&self, spool: &str, slot: Option<usize>) -> bool {
        slot.is_some_and(|slot| spool == tokens_spool(slot))
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

    /// Any file in the index folder counts. An empty folder may remain from a run that was killed during publication.
    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        let first = files::read_dir(self.index("")).ok().and_then(|mut entries| entries.next());
        let first = first.and_then(Result::ok).map(FolderEntry::into_path);
        self.names.iter().map(|name| self.samples(name)).chain(first).find(|path| is_foreign(path))
    }

    /// The schema of an earlier run may describe samples of another shape.
    fn stale_files(&self, written: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        let schema = self.index(SCHEMA);
        if written(&schema) || !files::is_taken(&schema) {
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
        FileEstimate { items, extra_bytes: items * ROW_BYTES, files, ..FileEstimate::default() }
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}
