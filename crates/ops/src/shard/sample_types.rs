//! Proposes sample types for the new set, and compares its sample type with that of the input.

use super::examples::Examples;
use crate::engine::dataset::new_facts;
use crate::engine::plan::suggest::{field_map_for, sample_types, Suggestion};
use gristmill_core::plan::{FieldExpr, DATASET_YAML};
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::{DatasetFacts, SampleMapping, ShardPlan};
use gristmill_data::formats::energon::dataset_yaml::DatasetYaml;

/// Returns whether a plan writes parts with this name.
pub fn is_part_written(plan: &ShardPlan, name: &str) -> bool {
    let is_in = |names: &[String]| names.iter().any(|known| known == name);
    (plan.choice.keep_parts.is_empty() || is_in(&plan.choice.keep_parts)) && !is_in(&plan.choice.drop_parts)
}

/// Returns sample types for the samples of a preview, the best first: the type of the input if that is prepared and keeps its parts, then
/// those that `prepare` would propose. Empty if the plan has no question for the sample type.
pub fn proposed_types(plan: &ShardPlan, examples: &Examples) -> Vec<Suggestion> {
    let preparation = &plan.preparation;
    let has_type = !plan.append && !preparation.no_prepare && plan.apart.media_to.is_none();
    if !has_type || preparation.loading == SampleMapping::NoDatasetYaml {
        return Vec::new();
    }
    let mut proposed = sample_types(&written_facts(plan, examples), &[]);
    let why = "the sample type of the input".to_owned();
    let of_input = match &examples.input_mapping {
        None => return proposed,
        Some(SampleMapping::FieldMap { sample_type, fields }) => {
            Suggestion { class: sample_type.clone(), why, share: 1.0, fields: fields.clone() }
        }
        Some(_) => Suggestion { class: CRUDE_CLASS.to_owned(), why, share: 1.0, fields: Vec::new() },
    };
    proposed.retain(|suggestion| suggestion.class != of_input.class);
    proposed.insert(0, of_input);
    proposed
}

/// Returns a field map for a sample type, as far as the written parts allow.
pub fn proposed_fields(plan: &ShardPlan, examples: &Examples, class: &str) -> Vec<FieldExpr> {
    let known = proposed_types(plan, examples).into_iter().find(|suggestion| suggestion.class == class);
    known.map_or_else(|| field_map_for(class, &written_facts(plan, examples), &[]), |suggestion| suggestion.fields)
}

/// Returns the facts of the new set that a proposal needs: its parts.
fn written_facts(plan: &ShardPlan, examples: &Examples) -> DatasetFacts {
    let mut facts = new_facts(plan.output.clone().unwrap_or_default());
    facts.parts = examples.parts.facts();
    facts.parts.retain(|name, _| is_part_written(plan, name));
    facts.samples_seen = examples.parts.samples();
    facts
}

/// Returns how the only input is loaded, if it is prepared and all its parts are written: by a field map, or crude.
pub(super) fn input_mapping(plan: &ShardPlan) -> Option<SampleMapping> {
    let choice = &plan.choice;
    let is_whole = choice.keep_parts.is_empty() && choice.drop_parts.is_empty() && choice.rename_parts.is_empty();
    let [input] = plan.inputs.as_slice() else { return None };
    // A file that cannot be read is no reason to refuse the run.
    let yaml = || DatasetYaml::read(input, DATASET_YAML).ok().flatten();
    let crude = SampleMapping::Crude { cooker: false };
    is_whole.then(yaml).flatten().map(|yaml| yaml.to_loading().unwrap_or(crude))
}

/// Returns the sample type of the input, if the new set gets the crude one in its place.
pub(super) fn lost_type(plan: &ShardPlan, mapping: Option<&SampleMapping>) -> Option<String> {
    let preparation = &plan.preparation;
    let is_crude = preparation.loading == SampleMapping::Unset && !preparation.no_prepare && !plan.append;
    match mapping {
        Some(SampleMapping::FieldMap { sample_type, .. }) if is_crude && sample_type != CRUDE_CLASS => {
            Some(sample_type.clone())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Examples {
        let mut examples = Examples::default();
        examples.parts.add([(b"jpg".as_slice(), 3), (b"txt", 2)]);
        examples
    }

    fn classes(plan: &ShardPlan, examples: &Examples) -> Vec<String> {
        proposed_types(plan, examples).into_iter().map(|suggestion| suggestion.class).collect()
    }

    #[test]
    fn written_parts_decide_the_proposed_sample_types() {
        let (mut plan, examples) = (ShardPlan::default(), examples());
        assert_eq!(classes(&plan, &examples)[0], "CaptioningSample");
        let fields = proposed_fields(&plan, &examples, "CaptioningSample");
        let fields: Vec<(&str, &str)> = fields.iter().map(|x| (x.field.as_str(), x.expr.as_str())).collect();
        assert_eq!(fields, [("image", "jpg"), ("caption", "txt")]);
        plan.choice.drop_parts = vec!["txt".to_owned()];
        assert!(!classes(&plan, &examples).contains(&"CaptioningSample".to_owned()));
        plan.append = true;
        assert!(classes(&plan, &examples).is_empty());
    }

    #[test]
    fn sample_type_of_the_input_is_proposed_first() {
        let (plan, mut examples) = (ShardPlan::default(), examples());
        examples.input_mapping = Some(SampleMapping::Crude { cooker: false });
        assert_eq!(classes(&plan, &examples)[..2], [CRUDE_CLASS, "CaptioningSample"]);
        let fields = vec![FieldExpr { field: "text".to_owned(), expr: "txt".to_owned() }];
        let mapping = SampleMapping::FieldMap { sample_type: "my:Sample".to_owned(), fields: fields.clone() };
        assert_eq!(lost_type(&plan, Some(&mapping)).unwrap(), "my:Sample");
        examples.input_mapping = Some(mapping);
        assert_eq!(classes(&plan, &examples)[0], "my:Sample");
        assert_eq!(proposed_fields(&plan, &examples, "my:Sample"), fields);
    }
}
