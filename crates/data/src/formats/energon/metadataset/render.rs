//! Writing a metadataset as a file of version 2.

use super::read::CLASS;
use super::{AuxTarget, Blend, Join, Joiner, Leaf, Metadataset, Node, Range, Reference, Subset};
use gristmill_core::mix::Nonmatch;
use gristmill_core::sample_type::ENERGON_PACKAGE;
use gristmill_pycompat::number::float_repr;
use gristmill_pycompat::{yaml_write, Node as Value};

type Entries = Vec<(String, Value)>;

/// Returns the content of the file, in version 2 regardless of the version that was read. Default values are omitted.
pub fn render(metadataset: &Metadataset) -> String {
    let splits = metadataset.splits.iter().map(|split| (split.name.clone(), Value::Map(node(&split.node)))).collect();
    yaml_write::dump_for_loader(&Value::Map(vec![
        entry("__module__", Value::str(ENERGON_PACKAGE)),
        entry("__class__", Value::str(CLASS)),
        entry("splits", Value::Map(splits)),
    ]))
}

fn entry(key: &str, value: Value) -> (String, Value) {
    (key.to_owned(), value)
}

fn node(node: &Node) -> Entries {
    match node {
        Node::Leaf(inner) => leaf(inner),
        Node::Blend(inner) => blend(inner),
    }
}

fn leaf(leaf: &Leaf) -> Entries {
    match leaf {
        Leaf::Reference(inner) => reference(inner),
        Leaf::Join(inner) => join(inner),
    }
}

fn blend(blend: &Blend) -> Entries {
    let (key, amount) = if blend.is_epochized { ("blend_epochized", "repetitions") } else { ("blend", "weight") };
    let members = blend.members.iter().map(|member| {
        let mut entries = leaf(&member.leaf);
        // The key follows the path, where readers expect it.
        let place = entries.len().min(1);
        entries.insert(place, entry(amount, number(member.amount)));
        Value::Map(entries)
    });
    let mut entries = vec![entry(key, Value::List(members.collect()))];
    entries.extend(blend.subset.as_ref().map(subset));
    entries
}

fn reference(reference: &Reference) -> Entries {
    let mut entries = vec![entry("path", Value::str(&reference.path))];
    let text = |key: &str, text: &str| entry(key, Value::str(text));
    entries.extend(reference.split_part.as_ref().map(|part| text("split_part", part)));
    entries.extend(reference.subflavors.as_ref().map(|map| entry("subflavors", Value::Map(map.clone()))));
    if reference.shuffle_over_epochs != Some(1) {
        let value = reference.shuffle_over_epochs.map_or(Value::Null, |n| Value::Int(n.into()));
        entries.push(entry("shuffle_over_epochs_multiplier", value));
    }
    entries.extend(reference.dataset_config.as_ref().map(|(_, name)| text("dataset_config", name)));
    entries.extend(reference.split_config.as_ref().map(|(_, name)| text("split_config", name)));
    if !reference.aux.is_empty() {
        let sources = reference.aux.iter().map(|aux| (aux.name.clone(), aux_target(&aux.target))).collect();
        entries.push(entry("aux", Value::Map(sources)));
    }
    entries.extend(reference.subset.as_ref().map(subset));
    entries
}

/// Returns a text if the loader parses it as the same target, otherwise a map.
fn aux_target(target: &AuxTarget) -> Value {
    match target {
        AuxTarget::Dataset(path) => Value::str(path),
        AuxTarget::Folder(path) if path.contains("://") => Value::Map(vec![entry("fs_path", Value::str(path))]),
        AuxTarget::Folder(path) => Value::str(format!("filesystem://{path}")),
    }
}

fn subset(subset: &Subset) -> (String, Value) {
    let percent = |value: f64| Value::str(format!("{}%", float_repr(value).trim_end_matches(".0")));
    let (from, to) = match subset.range {
        Range::Percent(from, to) => (percent(from), percent(to)),
        Range::Samples(from, to) => {
            (Value::Int(from.into()), to.map_or_else(|| Value::str("end"), |to| Value::Int(to.into())))
        }
    };
    entry("subset", Value::Map(vec![entry("range", Value::List(vec![from, to]))]))
}

fn join(join: &Join) -> Entries {
    let members = join.members.iter().map(|member| {
        let mut entries = reference(&member.reference);
        if member.nonmatch != Nonmatch::Error {
            entries.insert(1, entry("nonmatch", Value::str(member.nonmatch.name())));
        }
        (member.name.clone(), Value::Map(entries))
    });
    let members = match join.is_named {
        true => Value::Map(members.map(|(name, member)| (name.unwrap_or_default(), member)).collect()),
        false => Value::List(members.map(|(_, member)| member).collect()),
    };
    let mut entries = vec![entry("join", members), entry("joiner", joiner(&join.joiner))];
    entries.extend(join.split_part.as_ref().map(|part| entry("split_part", Value::str(part))));
    entries.extend(join.subflavors.as_ref().map(|map| entry("subflavors", Value::Map(map.clone()))));
    entries.extend(join.subset.as_ref().map(subset));
    entries
}

fn joiner(joiner: &Joiner) -> Value {
    let object = if joiner.is_class { "__class__" } else { "__function__" };
    Value::Map(vec![entry("__module__", Value::str(&joiner.module)), entry(object, Value::str(&joiner.object))])
}

/// Whole numbers are written without a point.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        Value::Int(value as i128)
    } else {
        Value::Float(value)
    }
}
