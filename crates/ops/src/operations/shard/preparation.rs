//! The options of `shard` for preparing the new set: the options of `prepare` that apply to it.

use super::super::media_filters::{self, MediaAnswers};
use super::super::prepare::{field_map, split_patterns, yaml_name};
use gristmill_core::options::{Access, OptionSpec};
use gristmill_core::plan::DATASET_YAML;
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::{MediaFilter, MediaPlan, SampleMapping, ShardPlan, SplitPlan};

type Spec = OptionSpec<ShardPlan>;

pub(super) const PREPARE: &[Spec] = &[
    Spec::new("no-prepare", "", "Write shards only", switch!(preparation.no_prepare)),
    Spec::new(
        "split-ratio",
        "A,B,C",
        "Divide the new shards by three numbers for train, val and test",
        variant_text!(SplitPlan::Ratio, preparation.splits),
    )
    .unset("the splits of the input, or all in train")
    .conflicts(&["split-parts", "no-prepare"]),
    Spec::new(
        "split-parts",
        "NAME:REGEX",
        "Divide the new shards by regular expressions on their names, anchored at the start (repeat)",
        Access::List {
            separator: None,
            get: |plan| match &plan.preparation.splits {
                SplitPlan::Patterns(all) => all.iter().map(|x| format!("{}:{}", x.name, x.pattern)).collect(),
                _ => Vec::new(),
            },
            set: |plan, texts| {
                match (split_patterns(&texts, false)?, &plan.preparation.splits) {
                    (patterns, SplitPlan::Patterns(_)) if patterns.is_empty() => {
                        plan.preparation.splits = SplitPlan::Unset;
                    }
                    (patterns, _) if patterns.is_empty() => {}
                    (patterns, _) => plan.preparation.splits = SplitPlan::Patterns(patterns),
                }
                Ok(())
            },
        },
    )
    .example("train:train/.*")
    .conflicts(&["no-prepare"]),
    Spec::new(
        "sample-type",
        "NAME",
        "Sample type: a class name, or module:Class",
        Access::Text {
            get: |plan| match &plan.preparation.loading {
                SampleMapping::FieldMap { sample_type, .. } => Some(sample_type.clone()),
                _ => None,
            },
            set: |plan, name| {
                plan.preparation.loading = match (std::mem::take(&mut plan.preparation.loading), name) {
                    (SampleMapping::NoDatasetYaml, None) => SampleMapping::NoDatasetYaml,
                    (_, None) => SampleMapping::Unset,
                    (_, Some(name)) if name == CRUDE_CLASS => SampleMapping::Unset,
                    (SampleMapping::FieldMap { fields, .. }, Some(sample_type)) => {
                        SampleMapping::FieldMap { sample_type, fields }
                    }
                    (_, Some(sample_type)) => SampleMapping::FieldMap { sample_type, fields: Vec::new() },
                };
                Ok(())
            },
        },
    )
    .unset(CRUDE_CLASS)
    .conflicts(&["skip-dataset-yaml", "no-prepare"]),
    Spec::new(
        "field-map",
        "JSON|FIELD=EXPR",
        "Which part fills which field (repeat): caption=json[text],txt",
        Access::List {
            separator: None,
            get: |plan| match &plan.preparation.loading {
                SampleMapping::FieldMap { fields, .. } => {
                    fields.iter().map(|x| format!("{}={}", x.field, x.expr)).collect()
                }
                _ => Vec::new(),
            },
            set: |plan, texts| {
                let new = field_map(&texts)?;
                if let SampleMapping::FieldMap { fields, .. } = &mut plan.preparation.loading {
                    *fields = new;
                }
                Ok(())
            },
        },
    )
    .example("image=jpg")
    .needs("sample-type")
    .applies("--sample-type", |plan| matches!(plan.preparation.loading, SampleMapping::FieldMap { .. })),
    Spec::new(
        "skip-dataset-yaml",
        "",
        "Write no dataset yaml",
        value!(SampleMapping::NoDatasetYaml, preparation.loading),
    )
    .conflicts(&["no-prepare"]),
    Spec::new(
        "dataset-yaml-name",
        "NAME",
        "Name of the dataset yaml",
        Access::Text {
            get: |plan| Some(plan.preparation.dataset_yaml_name.clone()).filter(|name| name != DATASET_YAML),
            set: |plan, name| {
                plan.preparation.dataset_yaml_name =
                    name.map_or(Ok(DATASET_YAML.to_owned()), |name| yaml_name(&name))?;
                Ok(())
            },
        },
    )
    .default(DATASET_YAML)
    .advanced(),
];

pub(super) const DECODE: &[Spec] = &[media_filters::decode()
    .applies("one of the flags --media-metadata-by-extension, -header and -glob", |plan: &ShardPlan| {
        plan.preparation.media.is_some()
    })];

impl MediaAnswers for ShardPlan {
    fn media(&self) -> Option<&MediaPlan> {
        self.preparation.media.as_ref()
    }

    fn set_filter(&mut self, filter: Option<MediaFilter>) {
        let decode = self.preparation.media.as_ref().is_some_and(|media| media.decode);
        self.preparation.media = filter.map(|filter| MediaPlan { filter, decode });
    }

    fn set_decode(&mut self, is_on: bool) {
        if let Some(media) = &mut self.preparation.media {
            media.decode = is_on;
        }
    }
}
