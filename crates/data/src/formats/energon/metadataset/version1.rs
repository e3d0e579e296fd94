//! Version 1: every split is a blend of data sets.

use super::keys::{describe, Keys, Mistakes};
use super::{values, version_2_hint, Blend, Leaf, Member, Node, Reference};
use gristmill_pycompat::yaml_read::{Marked, MarkedValue};
use gristmill_pycompat::Node as Value;

const KEYS: [&str; 8] = [
    "path",
    "split_part",
    "subflavor",
    "subflavors",
    "shuffle_over_epochs_multiplier",
    "dataset_config",
    "split_config",
    "weight",
];
/// Key under which the loader stores the single subflavor of old files.
const OLD_SUBFLAVOR: &str = "__subflavor__";

/// Parses the value of a split.
pub(super) fn split(value: Marked, found: &mut Mistakes) -> Option<Node> {
    let mut keys = Keys::of(value, "a split of version 1", found)?;
    let is_newer = ["path", "blend", "blend_epochized", "join"].into_iter().find(|key| keys.has(key));
    if let Some(key) = is_newer.filter(|_| !keys.has("datasets")) {
        let hint = format!("{} at the top", version_2_hint());
        let message = format!("'{key}' is of version 2, but without '__class__' the file is of version 1");
        found.mistake(keys.at_key(key), message, Some(hint));
        return None;
    }
    let list = keys.need("datasets", found);
    keys.finish(&["datasets"], |_| None, found);
    let list = list?;
    let at = list.at;
    let MarkedValue::List(items) = list.value else {
        found.mistake(at, format!("'datasets' must be a list of data sets, here is {}", describe(&list)), None);
        return None;
    };
    if items.is_empty() {
        found.mistake(at, "'datasets' has no member", None);
        return None;
    }
    let members = items.into_iter().filter_map(|item| member(item, found)).collect();
    Some(Node::Blend(Blend { at, is_epochized: false, members, subset: None }))
}

fn member(value: Marked, found: &mut Mistakes) -> Option<Member> {
    let mut keys = Keys::of(value, "a data set of version 1", found)?;
    let amount = values::amount(&mut keys, "weight", found);
    let path = keys.need("path", found);
    let old = keys.text("subflavor", found);
    let mut subflavors = values::subflavors(&mut keys, found);
    if let Some((at, text)) = old {
        found.remark(
            at,
            "'subflavor' is deprecated and will be removed",
            Some("write subflavors: {NAME: VALUE}".into()),
        );
        let entries = subflavors.get_or_insert_with(Vec::new);
        if !entries.iter().any(|(key, _)| key == OLD_SUBFLAVOR) {
            entries.insert(0, (OLD_SUBFLAVOR.to_owned(), Value::Str(text)));
        }
    }
    let reference = Reference {
        at: path.as_ref().map_or(keys.at, |path| path.at),
        path: path.and_then(|path| super::keys::as_text(&path, "path", false, found)).unwrap_or_default(),
        split_part: keys.text("split_part", found).map(|(_, text)| text),
        subflavors,
        shuffle_over_epochs: values::shuffling(&mut keys, found),
        dataset_config: keys.text("dataset_config", found),
        split_config: keys.text("split_config", found),
        aux: Vec::new(),
        subset: None,
    };
    let of_version_2 = format!("it is of version 2: {} at the top", version_2_hint());
    let elsewhere = |key: &str| match key {
        "aux" | "subset" | "join" | "blend" | "blend_epochized" | "repetitions" => Some(of_version_2.as_str()),
        _ => None,
    };
    keys.finish(&KEYS, elsewhere, found);
    (!reference.path.is_empty()).then_some(Member { amount, leaf: Leaf::Reference(reference) })
}
