//! The output files of `--format megatron`.

use super::files::{is_folder, PairSpools, Pairs};
use super::index::{DOCUMENT_BYTES, HEAD_BYTES, LENGTH_BYTES, MARK_BYTES};
use super::target;
use super::writer::Writer;
use crate::tokens::format::{
    AssignedFiles, FileAssignmentRequest, FileEstimate, ReadingOrder, TokenOutput, TokenWriter,
};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files;
use std::path::{Path, PathBuf};

/// Maximum number of pairs in a preview.
const MAX_SHOWN_PAIRS: usize = 500;

/// Assigns all inputs to one output, in their order.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, spec, place, files } = request;
    if place.is_only_target && is_folder(plan) && files::is_file(&place.path) {
        return Err(Failure::usage("packing for megatron", "it is a file, and the slash at its end names a folder")
            .on(Subject::path(&place.path)));
    }
    let output = Pairs::of(plan, &target(plan), place, spec.token);
    let slots = vec![0; files.len()];
    Ok(AssignedFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

impl SpoolRules for Pairs {
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_reread: !spool.ends_with(".bin") }
    }

    fn is_growing(&self, _: &str, _: Option<usize>) -> bool {
        true
    }
}

impl TokenOutput for Pairs {
    fn slots(&self) -> usize {
        1
    }

    fn path(&self) -> PathBuf {
        self.first()
    }

    /// Lists only the first pair of each key, because the number of pairs is known at the end of the run.
    fn files(&self) -> Vec<(String, PathBuf)> {
        let of_key = |key| {
            let spools = PairSpools { key, number: 0, partition: 0 };
            [(spools.tokens(), self.bin(key, 0)), (spools.lengths(), self.idx(key, 0))]
        };
        self.keys().flat_map(of_key).collect()
    }

    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        self.keys().flat_map(|key| [self.bin(key, 0), self.idx(key, 0)]).find(|path| is_foreign(path))
    }

    fn may_write_next_to(&self, path: &Path) -> bool {
        self.is_pair(path)
    }

    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate {
        let keys = self.prefixes.len() as u64;
        let tokens_of_key = tokens / keys.max(1);
        let pairs = self.max_tokens.map_or(1, |most| tokens_of_key.div_ceil(most.saturating_add(1)).max(1));
        let of_key = documents.saturating_mul(DOCUMENT_BYTES) + pairs.saturating_mul(HEAD_BYTES + MARK_BYTES);
        let listed = || (0..pairs).flat_map(|number| self.keys().map(move |key| (key, number))).take(MAX_SHOWN_PAIRS);
        FileEstimate {
            items: documents,
            extra_bytes: of_key.saturating_mul(keys),
            files: vec![listed().map(|(key, number)| self.bin(key, number)).collect()],
            tables: listed().map(|(key, number)| (self.idx(key, number), of_key / pairs)).collect(),
        }
    }

    /// The last stage reads the spools of lengths and counts, and concatenates partitions.
    fn scratch_bytes(&self, bytes: u64, items: u64) -> u64 {
        let tables = items.saturating_mul(2 * LENGTH_BYTES).saturating_mul(self.prefixes.len() as u64);
        tables.saturating_add(if self.partitions > 1 { bytes } else { 0 })
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}
