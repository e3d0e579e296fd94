//! Evaluates the field map on the first real samples before anything is written.

use super::super::context::Context;
use super::super::operation::refused_plan;
use gristmill_core::{
    Failure, Outcome, PreparePlan, Problem, Rerun, SampleMapping, SampleSketch, Scope, Severity, ShardFacts,
};
use gristmill_data::source::{discover::discover, peek_samples};
use gristmill_ops::engine::plan::fields::{load, try_on};
use gristmill_ops::engine::plan::splits;
use std::path::Path;

/// Number of samples on which the field map is evaluated.
const SAMPLES: usize = 8;
/// Maximum number of shards from which the samples are taken.
const SHARDS: usize = 8;

/// Refuses a field that fails on all evaluated samples, and prints a warning about a field that fails on some of them. For drop-in commands
/// it is only a warning, because the original program does not check.
pub fn try_fields(plan: &PreparePlan, context: &Context) -> Result<(), Vec<Failure>> {
    let SampleMapping::FieldMap { fields, .. } = &plan.loading else { return Ok(()) };
    if plan.rerun == Rerun::Update || plan.scope == Scope::TarIndexOnly || fields.is_empty() {
        return Ok(());
    }
    let sketches = first_samples(plan).map_err(|failure| vec![failure])?;
    let samples: Vec<_> = sketches.iter().map(|sketch| load(Path::new(&plan.path), sketch)).collect();
    let mut refused = Vec::new();
    for problem in try_on(plan, &samples) {
        match problem.severity {
            Severity::Refusal if context.globals.drop_in => {
                context.printer.problem(&Problem { severity: Severity::Problem, ..problem });
            }
            Severity::Refusal => refused.push(refused_plan(problem)),
            Severity::Problem | Severity::Note => context.printer.problem(&problem),
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
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
