//! Answers without which `prepare` cannot run.

use super::missing_answer;
use crate::engine::dataset;
use crate::engine::plan::{already_prepared, classes};
use gristmill_core::{sample_type, PreparePlan, Problem, Rerun, SampleMapping, Scope, SplitPlan, Subject};
use std::path::Path;

/// Returns the refusal for a prepared data set with new shards. An update would need no answers.
pub(super) fn new_shards(plan: &PreparePlan) -> Option<Problem> {
    if plan.rerun != Rerun::Refuse || plan.scope == Scope::TarIndexOnly {
        return None;
    }
    let prepared = dataset::open(Path::new(&plan.path)).ok()?.facts.prepared?;
    if prepared.new_shards.is_empty() {
        return None;
    }
    let problem = already_prepared(&prepared, "");
    Some(Problem { subject: Subject::path(&plan.path), ..problem })
}

/// Returns one refusal for each required answer that is missing.
pub(super) fn open_questions(plan: &PreparePlan) -> Vec<Problem> {
    // In both cases, the answers come from the earlier preparation.
    if plan.scope == Scope::TarIndexOnly || plan.rerun == Rerun::Update {
        return Vec::new();
    }
    let mut open = Vec::new();
    if plan.splits == SplitPlan::Unset {
        open.push(
            missing_answer("no way to divide the shards is given")
                .with_hint("--split-ratio 8,1,1, or --split-parts NAME:REGEX, or --splits-from FILE"),
        );
    }
    let unknown = unknown_type(plan);
    match &plan.loading {
        SampleMapping::Unset => open.push(
            missing_answer("no sample type is given")
                .with_hint("--sample-type NAME (CrudeWebdataset takes any samples), or --skip-dataset-yaml"),
        ),
        _ if unknown.is_some() => open.extend(unknown),
        SampleMapping::FieldMap { sample_type, fields } if fields.is_empty() && needs_fields(sample_type) => {
            let problem = missing_answer("no field map is given");
            let hint = format!("--field-map {}, or --sample-loader", example(sample_type));
            open.push(Problem { subject: Subject::field(sample_type), ..problem }.with_hint(hint));
        }
        _ => {}
    }
    open
}

/// Returns the refusal for an unknown sample type, which is reported before those for its fields.
fn unknown_type(plan: &PreparePlan) -> Option<Problem> {
    match &plan.loading {
        SampleMapping::FieldMap { sample_type, fields } if fields.is_empty() => classes::resolve(sample_type).err(),
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
        plan.loading = SampleMapping::FieldMap { sample_type: "CaptioningSample".into(), fields: vec![] };
        let hint = open_questions(&plan)[0].hint.clone().unwrap();
        assert!(hint.starts_with("--field-map image=EXPR --field-map caption=EXPR"), "{hint}");
        plan.loading = SampleMapping::FieldMap { sample_type: "Sample".into(), fields: vec![] };
        assert!(open_questions(&plan).is_empty(), "a type without fields needs no field map");
        plan.loading = SampleMapping::FieldMap { sample_type: "CaptionSample".into(), fields: vec![] };
        assert!(open_questions(&plan)[0].message.contains("did you mean 'CaptioningSample'"));
        plan.splits = SplitPlan::Unset;
        plan.rerun = Rerun::Update;
        assert!(open_questions(&plan).is_empty(), "an update keeps its answers");
    }
}
