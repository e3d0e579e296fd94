//! The files of pairs.

use super::files::{is_folder, lengths_spool, prefix, tokens_spool, Pairs};
use super::index::{DOCUMENT_BYTES, HEAD_BYTES, LENGTH_BYTES, MARK_BYTES};
use super::target;
use super::writer::Writer;
use crate::tokens::format::{DealRequest, DealtFiles, FileEstimate, ReadingOrder, TokenOutput, TokenWriter};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::{Failure, Outcome, Subject};
use std::path::{Path, PathBuf};

/// Limit of pairs in a preview.
const MAX_SHOWN_PAIRS: u64 = 500;

/// Returns one output for all inputs, in their order.
pub(super) fn deal(request: DealRequest<'_>) -> Outcome<DealtFiles> {
    let DealRequest { plan, spec, place, files } = request;
    if place.is_alone && is_folder(plan) && place.path.is_file() {
        return Err(Failure::usage("packing for megatron", "it is a file, and the slash at its end names a folder")
            .on(Subject::path(&place.path)));
    }
    let output = Pairs {
        prefix: prefix(plan, &place.path, place.is_alone),
        place: place.path,
        token: spec.token,
        max_tokens: target(plan).max_tokens_per_file,
    };
    let slots = vec![0; files.len()];
    Ok(DealtFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

impl SpoolRules for Pairs {
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_read_again: !spool.ends_with(".bin") }
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

    /// The number of pairs is only known at the end.
    fn files(&self) -> Vec<(String, PathBuf)> {
        vec![(tokens_spool(0), self.bin(0)), (lengths_spool(0), self.idx(0))]
    }

    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        [self.bin(0), self.idx(0)].into_iter().find(|path| is_foreign(path))
    }

    fn may_write_next_to(&self, path: &Path) -> bool {
        self.is_pair(path)
    }

    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate {
        let pairs = self.max_tokens.map_or(1, |most| tokens.div_ceil(most.saturating_add(1)).max(1));
        let files = (0..pairs.min(MAX_SHOWN_PAIRS)).flat_map(|number| [self.bin(number), self.idx(number)]).collect();
        let extra_bytes = documents.saturating_mul(DOCUMENT_BYTES) + pairs.saturating_mul(HEAD_BYTES + MARK_BYTES);
        FileEstimate { items: documents, extra_bytes, files: vec![files] }
    }

    /// The lengths of documents are spooled.
    fn scratch_bytes(&self, _: u64, items: u64) -> u64 {
        items * LENGTH_BYTES
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}
