//! Evaluates the field map on the first real samples before anything is written.

use super::super::context::Context;
use super::super::plan_result::refused_plan;
use gristmill_core::{Failure, Outcome, PreparePlan, Rerun, SampleMapping, SampleSketch, Scope, Severity, ShardFacts};
use gristmill_data::source::{discover::discover, peek_samples};
use gristmill_ops::engine::plan::fields::{load, try_on};
use gristmill_ops::engine::plan::splits;
use std::path::Path;

/// Number of samples on which the field map is evaluated.
const SAMPLES: usize = 8;
/// Maximum number of shards from which the samples are taken.
const SHARDS: usize = 8;

/// Refuses a field that fails on all evaluated samples. The run reports what fails on some, on more samples, and decides for drop-in
/// commands.
pub fn try_fields(plan: &PreparePlan, context: &Context) -> Result<(), Vec<Failure>> {
    let SampleMapping::FieldMap { fields, .. } = &plan.loading else { return Ok(()) };
    let is_left_to_run = context.globals.drop_in || plan.rerun == Rerun::Update || plan.scope == Scope::TarIndexOnly;
    if is_left_to_run || fields.is_empty() {
        return Ok(());
    }
    let sketches = first_samples(plan).map_err(|failure| vec![failure])?;
    let samples: Vec<_> = sketches.iter().map(|sketch| load(Path::new(&plan.path), sketch)).collect();
    let problems = try_on(plan, &samples).into_iter();
    let refused: Vec<Failure> =
        problems.filter(|problem| problem.severity == Severity::Refusal).map(refused_plan).collect();
    match refused.is_empty() {
        true => Ok(()),
        false => Err(refused),
    }
}

/// Returns the first samples of shards that are spread over the data set, without excluded shards.
fn first_samples(plan: &PreparePlan) -> Outcome<Vec<SampleSketch>> {
    let shards = discover(Path::new(&plan.path))?.shards;
    let facts: Vec<ShardFacts> =
        shards.iter().map(|shard| ShardFacts { name: shard.name.clone(), ..ShardFacts::default() }).collect();
    let excluded = splits::excluded(&plan.exclude_shards, &facts);
    let stay: Vec<_> = shards.iter().zip(excluded).filter(|(_, excluded)| !excluded).map(|(shard, _)| shard).collect();
    let chosen = stay.len().min(SHARDS);
    let mut sketches = Vec::new();
    for shard in (0..chosen).filter_map(|n| stay.get(n * stay.len() / chosen)) {
        // A shard that cannot be read is reported by the run.
        sketches.extend(peek_samples(shard, SAMPLES.div_ceil(chosen)).unwrap_or_default());
    }
    Ok(sketches)
}
