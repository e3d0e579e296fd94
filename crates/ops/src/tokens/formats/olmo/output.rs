//! The output files of `--format olmo`.

use super::files::{is_part_name, rows_spool, tokens_spool, PartFiles, ENDS_BYTES};
use super::target;
use super::writer::Writer;
use crate::tokens::format::{
    AssignedFiles, FileAssignmentRequest, FileEstimate, ReadingOrder, TokenOutput, TokenWriter,
};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::pack::DEFAULT_OLMO_FILE_TOKENS;
use gristmill_core::Outcome;
use gristmill_storage::files::{self, FolderEntry};
use std::path::{Path, PathBuf};

/// Maximum number of files in a preview.
const MAX_SHOWN_FILES: u64 = 1_000;
/// Estimated size of a row in a compressed table, and of the uncompressed row, in bytes.
const PACKED_ROW_BYTES: u64 = 16;
const ROW_BYTES: u64 = 96;

/// Assigns all inputs to one output, because files continue in the next input.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, spec, place, files } = request;
    let output = PartFiles {
        plan: plan.clone(),
        place: place.path,
        token_bytes: spec.token.bytes(),
        max_tokens: target(plan).max_tokens_per_file.unwrap_or(DEFAULT_OLMO_FILE_TOKENS),
    };
    let slots = vec![0; files.len()];
    Ok(AssignedFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

impl SpoolRules for PartFiles {
    /// Rows are read again to compress them. Token spools become files unchanged unless documents are shuffled.
    fn spool_options(&self, spool: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_reread: self.is_shuffled() || !spool.ends_with(".npy") }
    }

    fn is_growing(&self, _: &str, _: Option<usize>) -> bool {
        true
    }
}

impl TokenOutput for PartFiles {
    fn slots(&self) -> usize {
        1
    }

    fn path(&self) -> PathBuf {
        self.place.clone()
    }

    /// Lists only the first file, because the number of files is known at the end of the run.
    fn files(&self) -> Vec<(String, PathBuf)> {
        vec![(tokens_spool(0), self.tokens(0)), (rows_spool(0), self.table(0))]
    }

    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        parts_in(&self.place).into_iter().find(|path| is_foreign(path))
    }

    /// Readers read all parts of a folder, so the parts of earlier runs are stale.
    fn stale_files(&self, written: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        parts_in(&self.place).into_iter().filter(|path| !written(path)).collect()
    }

    /// Tables are small and therefore not listed.
    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate {
        let files = tokens.div_ceil(self.max_tokens.max(1)).clamp(1, MAX_SHOWN_FILES);
        FileEstimate {
            items: documents,
            extra_bytes: documents.saturating_mul(PACKED_ROW_BYTES),
            files: vec![(0..files).map(|number| self.tokens(number)).collect()],
            ..FileEstimate::default()
        }
    }

    /// Tables are compressed copies of the rows; shuffled files are copies of all tokens.
    fn scratch_bytes(&self, bytes: u64, items: u64) -> u64 {
        let rows = items.saturating_mul(ROW_BYTES);
        match self.is_shuffled() {
            true => rows.saturating_add(items.saturating_mul(ENDS_BYTES)).saturating_add(bytes),
            false => rows,
        }
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}

/// Returns the files of a folder with the names of parts, sorted.
fn parts_in(folder: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let parts = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_part_name));
    let mut parts: Vec<PathBuf> = parts.map(FolderEntry::into_path).collect();
    parts.sort();
    parts
}
