//! Forecasts for the stages of a dedup.

use super::job::Job;
use crate::job::job_progress::{cost, Forecast};

/// Seconds for reading a byte of text and recording its anchors.
const BYTE_SCANNED: f64 = 3e-8;
/// Seconds for sorting a byte of text to find repeats.
const BYTE_SORTED: f64 = 2e-8;

/// Returns the size of the files that are deduplicated, without an earlier set, in bytes.
pub(super) fn own_bytes(job: &Job<'_>) -> u64 {
    job.inputs.written_files().iter().map(|file| file.bytes).sum()
}

pub(super) fn reading(job: &Job<'_>) -> Forecast {
    let own = cost::reading(job.inputs.files.len() as u64, 0) + job.inputs.bytes() as f64 * BYTE_SCANNED;
    let finding = finding(job);
    Forecast::new(own, finding.stage + finding.later)
}

/// Returns the forecast for finding repeats and merging the ranges.
pub(super) fn finding(job: &Job<'_>) -> Forecast {
    let writing = writing(job);
    Forecast::new(job.inputs.bytes() as f64 * BYTE_SORTED, writing.stage + writing.later)
}

pub(super) fn writing(job: &Job<'_>) -> Forecast {
    let exporting = exporting(job);
    let exported = if is_exported(job) { exporting.stage } else { 0.0 };
    Forecast::new(cost::copying(own_bytes(job)), exported + exporting.later)
}

pub(super) fn exporting(job: &Job<'_>) -> Forecast {
    let files = if is_exported(job) { 2 } else { 1 } * job.inputs.written_files().len() as u64;
    Forecast::new(cost::copying(own_bytes(job)), cost::publishing(files + 3))
}

fn is_exported(job: &Job<'_>) -> bool {
    job.layout.index.is_some() || job.layout.ranges.is_some()
}
