//! Tries the field map on the first real samples before anything is written.

use super::super::context::Context;
use gristmill_core::plan::FieldExpr;
use gristmill_core::{
    Failure, Loading, Outcome, PreparePlan, Problem, ProblemKind, Rerun, SampleSketch, Scope, ShardFacts, Subject,
};
use gristmill_ops::engine::plan::{classes, fields, splits};
use gristmill_ops::source::{decode::FieldError, discover::discover, peek};
use std::path::Path;

/// Number of samples that are tried.
const SAMPLES: usize = 8;
/// Maximum number of shards that the samples are taken from.
const SHARDS: usize = 8;

/// Refuses a field that fails on every sample tried, and warns of one that fails on some. A drop-in name only warns, since
/// the program it imitates does not check.
pub fn try_fields(plan: &PreparePlan, context: &Context) -> Result<(), Vec<Failure>> {
    let Loading::FieldMap { sample_type, fields } = &plan.loading else { return Ok(()) };
    if plan.rerun == Rerun::Update || plan.scope == Scope::TarIndexOnly || fields.is_empty() {
        return Ok(());
    }
    let sketches = first_samples(plan).map_err(|failure| vec![failure])?;
    let lenient = context.globals.drop_in || plan.compat;
    let mut refused = Vec::new();
    for (on_all, problem) in failing(Path::new(&plan.path), sample_type, fields, &sketches) {
        if on_all && !lenient {
            refused.push(problem.into_failure());
        } else {
            context.printer.problem(&problem);
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        Err(refused)
    }
}

/// Returns the first samples of shards spread over the data set, without excluded shards.
fn first_samples(plan: &PreparePlan) -> Outcome<Vec<SampleSketch>> {
    let shards = discover(Path::new(&plan.path))?.shards;
    let facts: Vec<ShardFacts> =
        shards.iter().map(|shard| ShardFacts { name: shard.name.clone(), ..ShardFacts::default() }).collect();
    let excluded = splits::excluded(&plan.exclude_shards, &facts);
    let stay: Vec<_> = shards.iter().zip(excluded).filter(|(_, excluded)| !excluded).map(|(shard, _)| shard).collect();
    let chosen = stay.len().min(SHARDS);
    let mut sketches = Vec::new();
    for shard in (0..chosen).filter_map(|n| stay.get(n * stay.len() / chosen)) {
        // The run itself reports a shard that cannot be read.
        sketches.extend(peek(shard, SAMPLES.div_ceil(chosen)).unwrap_or_default());
    }
    Ok(sketches)
}

/// Returns one problem per failing field, and whether the field fails on all samples.
fn failing(root: &Path, sample_type: &str, map: &[FieldExpr], sketches: &[SampleSketch]) -> Vec<(bool, Problem)> {
    // The run itself reports an unknown class.
    let Ok(class) = classes::resolve(sample_type) else { return Vec::new() };
    let samples: Vec<fields::DecodedSample> = sketches.iter().map(|sketch| fields::load(root, sketch)).collect();
    let mut found = Vec::new();
    let checks = fields::check(map, &samples);
    found.extend(fields::misfits(class.known, &checks, &samples).into_iter().map(|note| (false, note)));
    for check in checks {
        // Missing parts are left to the run: only the full scan shows whether a part is missing everywhere.
        let failed: Vec<_> = samples
            .iter()
            .zip(&check.results)
            .filter_map(|(s, r)| Some((s, r.as_ref().err()?)))
            .filter(|(_, error)| !matches!(error, FieldError::NoPart { .. }))
            .collect();
        let Some((sample, error)) = failed.first() else { continue };
        let subject =
            Subject { shard: Some(sample.shard.clone()), field: Some(check.field.clone()), ..Subject::default() };
        let message = format!(
            "'{}' fails on {} of {} tried: {error}",
            check.expr,
            failed.len(),
            gristmill_core::text::count(samples.len() as u64, "sample")
        );
        let optional = class
            .known
            .and_then(|c| c.fields.iter().find(|f| f.name == check.field))
            .is_some_and(|f| f.default.is_some());
        let hint = if optional {
            "leave this field out, or correct its expression"
        } else {
            "correct the expression, or add an alternative after a comma"
        };
        let problem = Problem::problem(ProblemKind::FieldFails, subject.key(&sample.key), message).with_hint(hint);
        found.push((failed.len() == samples.len(), problem));
    }
    found
}
