//! Forecasts for the stages of a prepare.

use super::Context;
use crate::job::job_progress::{cost, Forecast};
use gristmill_core::Scope;

/// Assumed size of a sample in bytes, if no sample is known.
const SAMPLE_BYTES: u64 = 20_000;

/// Returns the estimated seconds for all stages after the scan.
pub(super) fn after_scan(context: &Context, shards: u64, bytes: u64) -> f64 {
    let (scanned, scanned_bytes) = {
        let state = context.shared.lock();
        let known = state.spools.iter().zip(&state.shards).filter_map(|(spool, shard)| Some((spool.as_ref()?, shard)));
        known.fold((0, 0), |(samples, bytes), (spool, shard)| (samples + spool.scan.samples, bytes + shard.stamp.bytes))
    };
    let samples = match scanned {
        0 => bytes / SAMPLE_BYTES,
        // The remaining shards are assumed to be like the shards that the adopted scan has read.
        samples => (samples as f64 * bytes as f64 / scanned_bytes.max(1) as f64) as u64,
    };
    let tables = tables(context, samples, shards);
    media(context, samples) + tables.stage + tables.later
}

/// Returns the estimated seconds for reading the media headers of the samples.
pub(super) fn media(context: &Context, samples: u64) -> f64 {
    context.plan.media.as_ref().map_or(0.0, |_| samples as f64 * cost::MEDIUM)
}

/// Returns the forecast for building the tables and for the publication.
pub(super) fn tables(context: &Context, samples: u64, shards: u64) -> Forecast {
    let rows = if context.plan.scope == Scope::WithoutSampleTables { 0 } else { samples };
    let described = if context.plan.media.is_some() { samples } else { 0 };
    Forecast::new(cost::rows(rows), cost::rows(described) + cost::publishing(shards))
}
