//! The output files of `--format mds`.

use super::files::ShardFolder;
use super::index::INDEX;
use super::shard::{Config, ShardPlan, DEFAULT_SIZE_LIMIT};
use super::target;
use super::writer::{Writer, TOKENS_SPOOL};
use crate::tokens::format::{
    AssignedFiles, FileAssignmentRequest, FileEstimate, ReadingOrder, TokenOutput, TokenWriter,
};
use crate::tokens::spools::{SpoolOptions, SpoolRules};
use gristmill_core::Outcome;
use std::path::{Path, PathBuf};

/// Maximum number of shards in a preview.
const MAX_SHOWN_SHARDS: u64 = 1_000;

/// Assigns all inputs to one output, because tokens at the end of one file continue in the next.
pub(super) fn assign_files(request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles> {
    let FileAssignmentRequest { plan, place, files, .. } = request;
    let target = target(plan);
    let config = Config::new(target.size_limit.unwrap_or(DEFAULT_SIZE_LIMIT), target.hashes, target.compression);
    let output =
        ShardFolder { place: place.path, config, sample_size: target.sample_size.max(1), no_wrap: target.no_wrap };
    let slots = vec![0; files.len()];
    Ok(AssignedFiles { files, slots, order: ReadingOrder::Exact, index: None, output: Box::new(output) })
}

impl SpoolRules for ShardFolder {
    fn spool_options(&self, _: &str) -> SpoolOptions {
        SpoolOptions { head_bytes: 0, is_reread: true }
    }

    fn is_growing(&self, _: &str, _: Option<usize>) -> bool {
        true
    }
}

impl TokenOutput for ShardFolder {
    fn slots(&self) -> usize {
        1
    }

    fn path(&self) -> PathBuf {
        self.place.clone()
    }

    /// Lists only the first shard, because the number of shards is known at the end of the run.
    fn files(&self) -> Vec<(String, PathBuf)> {
        vec![(TOKENS_SPOOL.to_owned(), self.shard(0)), (INDEX.to_owned(), self.place.join(INDEX))]
    }

    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        [self.place.join(INDEX), self.shard(0)].into_iter().find(|path| is_foreign(path))
    }

    fn estimate(&self, _: u64, tokens: u64) -> FileEstimate {
        let samples = tokens / self.sample_size;
        let Ok(shards) = ShardPlan::new(&self.config, samples, self.sample_size) else {
            return FileEstimate { items: samples, ..FileEstimate::default() };
        };
        let files = (0..shards.shards().min(MAX_SHOWN_SHARDS)).map(|number| self.shard(number)).collect();
        let extra_bytes = shards.bytes().saturating_sub(tokens * 4);
        FileEstimate { items: samples, extra_bytes, files: vec![files], ..FileEstimate::default() }
    }

    /// The shards are written while the spool still exists.
    fn scratch_bytes(&self, bytes: u64, _: u64) -> u64 {
        bytes
    }

    fn writer(&self) -> Box<dyn TokenWriter + '_> {
        Box::new(Writer::new(self))
    }
}
