//! The text files that a preparation publishes: `.info.json`, `split.yaml`, `dataset.yaml`, and their Python files. Pure functions from a
//! plan and facts to bytes.

use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::{DatasetFacts, PreparePlan, SampleMapping, Scope};
use gristmill_data::formats::energon::{
    collapse::collapse, dataset_yaml::DatasetYaml, info::Info, layout, split_yaml::SplitFile, templates,
};
use gristmill_pycompat::braces;

/// A text file to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// File name inside `.nv-meta`.
    pub name: String,
    /// Content of the file.
    pub content: String,
    /// Whether the file is only written if no file with that name exists, because a user may have edited it.
    pub keep_existing: bool,
}

/// Returns the `.info.json` of these shards, in index order, and `.info.yaml` if `with_yaml` is set because an old one exists.
pub fn info(counts: Vec<(String, u64)>, with_yaml: bool) -> Vec<Text> {
    let info = Info::new(counts);
    let mut texts = vec![text(layout::INFO_JSON, info.to_json())];
    if with_yaml {
        texts.push(text(layout::INFO_YAML, info.to_yaml()));
    }
    texts
}

/// Returns `split.yaml`. Shard names are collapsed to brace expressions; names that contain braces or backslashes are escaped.
pub fn split_yaml(splits: &[(String, Vec<String>)], excludes: Vec<String>) -> String {
    let split_parts = splits
        .iter()
        .map(|(name, shards)| {
            let escaped: Vec<String> = shards.iter().map(|shard| braces::escape(shard)).collect();
            (name.clone(), collapse(&escaped))
        })
        .collect();
    SplitFile { split_parts, exclude: excludes, ..SplitFile::default() }.render()
}

/// Returns an `exclude` item for one sample, or for one shard.
pub fn exclude_item(shard: &str, key: Option<&str>) -> String {
    match key {
        Some(key) => format!("{}/{}", braces::escape(shard), braces::escape(key)),
        None => braces::escape(shard),
    }
}

/// Returns `dataset.yaml` and its Python file; empty if the plan does not request them.
pub fn loading(plan: &PreparePlan, facts: &DatasetFacts) -> Vec<Text> {
    if plan.scope == Scope::TarIndexOnly {
        return Vec::new();
    }
    let Some(yaml) = DatasetYaml::render(&plan.loading) else { return Vec::new() };
    let mut texts = vec![text(&plan.dataset_yaml_name, yaml)];
    let parts: Vec<String> = facts.parts.keys().cloned().collect();
    match &plan.loading {
        SampleMapping::Crude { cooker: true } => texts.push(helper(layout::COOKER_PY, cooker(facts, &parts))),
        SampleMapping::SampleLoader { sample_type } => {
            let fields = guessed_fields(sample_type, facts);
            texts.push(helper(layout::SAMPLE_LOADER_PY, templates::sample_loader_py(sample_type, &fields, &parts)));
        }
        _ => {}
    }
    texts
}

/// Returns the template of a cooker: for the sample type that suits all samples if there is one, otherwise for a user-defined class.
fn cooker(facts: &DatasetFacts, parts: &[String]) -> String {
    match super::plan::suggest::sample_types(facts, &[]).first() {
        Some(best) if best.class != CRUDE_CLASS && best.share >= 1.0 => {
            templates::cooker_for(&best.class, &best.fields, parts)
        }
        _ => templates::cooker_py(parts),
    }
}

/// Returns a guessed expression for each field, so that the template works if the guess is correct.
fn guessed_fields(sample_type: &str, facts: &DatasetFacts) -> Vec<FieldExpr> {
    super::plan::suggest::field_map_for(sample_type, facts, &[])
}

fn text(name: &str, content: String) -> Text {
    Text { name: name.to_owned(), content, keep_existing: false }
}

fn helper(name: &str, content: String) -> Text {
    Text { keep_existing: true, ..text(name, content) }
}
