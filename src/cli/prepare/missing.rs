//! Questions that flags must answer when asking is not possible.

use super::super::context::Context;
use super::super::exit::Stopped;
use gristmill_core::sample_type;
use gristmill_core::{Failure, Loading, PreparePlan, Problem, Rerun, Scope, SplitPlan, Subject};
use gristmill_ops::engine::dataset;
use gristmill_ops::engine::plan::already_prepared;
use gristmill_ops::engine::plan::classes;
use std::path::Path;

/// How the user confirms that a plan may run without questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// By `--yes` or `--dry-run` only.
    ByFlag,
    /// By the command itself.
    Given,
}

/// Refuses a plan with open questions, naming the flag of each; with [`Confirmation::ByFlag`] a missing `--yes` is one of them.
pub fn refuse_missing(plan: &PreparePlan, context: &Context, consent: Confirmation) -> Result<(), Stopped> {
    let mut failures = open_questions(plan);
    if consent == Confirmation::ByFlag && !context.globals.yes && !context.globals.dry_run {
        failures.push(Failure::usage("asking questions", "this is not a terminal").with_hint(
            "add --yes (or --non-interactive) to run without questions, or --dry-run to see what would be done",
        ));
    }
    if failures.is_empty() {
        Ok(())
    } else if let Some(failure) = new_shards(plan) {
        Err(failure.into())
    } else {
        Err(failures.into())
    }
}

/// Returns the failure for a prepared data set with new shards: an update would answer all open questions.
fn new_shards(plan: &PreparePlan) -> Option<Failure> {
    if plan.rerun != Rerun::Refuse || plan.scope == Scope::TarIndexOnly {
        return None;
    }
    let prepared = dataset::open(Path::new(&plan.path)).ok()?.facts.prepared?;
    if prepared.new_shards.is_empty() {
        return None;
    }
    let problem = already_prepared(&prepared, "");
    let failure = Failure::data("preparing the data set", problem.message).on(Subject::path(&plan.path));
    Some(Failure { hint: problem.hint, ..failure })
}

/// Returns one failure per unanswered question.
fn open_questions(plan: &PreparePlan) -> Vec<Failure> {
    // Both take their answers from the earlier preparation.
    if plan.scope == Scope::TarIndexOnly || plan.rerun == Rerun::Update {
        return Vec::new();
    }
    let mut failures = Vec::new();
    if plan.splits == SplitPlan::Unset {
        failures.push(
            Failure::usage("dividing the shards", "nothing says how")
                .with_hint("--split-ratio 8,1,1, or --split-parts NAME:REGEX, or --splits-from FILE"),
        );
    }
    let unknown = unknown_type(plan);
    match &plan.loading {
        Loading::Unset => failures.push(
            Failure::usage("writing the dataset yaml", "no sample type is given")
                .with_hint("--sample-type NAME (CrudeWebdataset takes any samples), or --skip-dataset-yaml"),
        ),
        _ if unknown.is_some() => failures.extend(unknown),
        Loading::FieldMap { sample_type, fields } if fields.is_empty() && needs_fields(sample_type) => failures.push(
            Failure::usage("filling the sample type", "nothing says which part fills which field")
                .on(Subject::field(sample_type))
                .with_hint(format!("--field-map {}, or --sample-loader", example(sample_type))),
        ),
        _ => {}
    }
    failures
}

/// Returns the failure for an unknown sample type, which precedes failures about its fields.
fn unknown_type(plan: &PreparePlan) -> Option<Failure> {
    match &plan.loading {
        Loading::FieldMap { sample_type, fields } if fields.is_empty() => {
            classes::resolve(sample_type).err().map(Problem::into_failure)
        }
        _ => None,
    }
}

fn needs_fields(sample_type: &str) -> bool {
    known(sample_type).is_none_or(|class| !class.fields.is_empty())
}

fn known(sample_type: &str) -> Option<&'static sample_type::SampleType> {
    sample_type::find(sample_type.rsplit(':').next().unwrap_or(sample_type))
}

fn example(sample_type: &str) -> String {
    let required = known(sample_type).into_iter().flat_map(|class| class.fields).filter(|f| f.default.is_none());
    let fields: Vec<String> = required.map(|field| format!("{}=EXPR", field.name)).collect();
    if fields.is_empty() {
        "FIELD=EXPR".to_owned()
    } else {
        fields.join(" --field-map ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_open_question_names_its_flags() {
        let mut plan = PreparePlan::new("x");
        assert_eq!(open_questions(&plan).len(), 2);
        plan.splits = SplitPlan::Ratio("8,1,1".into());
        plan.loading = Loading::FieldMap { sample_type: "CaptioningSample".into(), fields: vec![] };
        let hint = open_questions(&plan)[0].hint.clone().unwrap();
        assert!(hint.starts_with("--field-map image=EXPR --field-map caption=EXPR"), "{hint}");
        plan.loading = Loading::FieldMap { sample_type: "Sample".into(), fields: vec![] };
        assert!(open_questions(&plan).is_empty(), "a type without fields needs no field map");
        plan.loading = Loading::FieldMap { sample_type: "CaptionSample".into(), fields: vec![] };
        assert!(open_questions(&plan)[0].why.contains("did you mean 'CaptioningSample'"));
        plan.splits = SplitPlan::Unset;
        plan.rerun = Rerun::Update;
        assert!(open_questions(&plan).is_empty(), "an update keeps its answers");
    }
}
