//! The first samples of a shard without reading the rest, for questions to the user before a large shard is scanned.

use super::tar::{scan_shard, ScanSink};
use gristmill_core::{
    Cancel, Failure, Handles, HiddenSample, NullProblemSink, Outcome, PartRow, Progress, SampleRow, SampleSketch, Shard,
};

/// Maximum number of parts of a sample that is read; a sample with more is unsuitable for a question.
const MAX_PARTS: usize = 1_000;

/// Returns the first `count` samples of a shard; fewer if it has no more. Problems are not reported here, but by the scan that follows.
pub fn peek_samples(shard: &Shard, count: usize) -> Outcome<Vec<SampleSketch>> {
    let mut sink = FirstSamples { shard: &shard.name, count, parts: Vec::new(), found: Vec::new() };
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &NullProblemSink };
    match scan_shard(shard, &mut sink, &handles) {
        Ok(_) => Ok(sink.found),
        Err(failure) if failure.is_cancelled() => Ok(sink.found),
        Err(failure) => Err(failure),
    }
}

struct FirstSamples<'a> {
    shard: &'a str,
    count: usize,
    /// Name, offset and size in bytes of the parts of the current sample.
    parts: Vec<(String, u64, u64)>,
    found: Vec<SampleSketch>,
}

impl ScanSink for FirstSamples<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        if self.parts.len() >= MAX_PARTS {
            return Err(Failure::cancelled());
        }
        self.parts.push((row.part_name.to_owned(), row.content_byte_offset, row.content_byte_size));
        Ok(())
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let parts = std::mem::take(&mut self.parts);
        self.found.push(SampleSketch { shard: self.shard.to_owned(), key: row.key.to_owned(), parts });
        if self.found.len() >= self.count {
            Err(Failure::cancelled())
        } else {
            Ok(())
        }
    }

    fn hidden_sample(&mut self, _row: HiddenSample) -> Outcome<()> {
        self.parts.clear();
        Ok(())
    }
}
