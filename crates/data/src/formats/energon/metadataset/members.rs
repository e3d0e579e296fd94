//! Splits and blends of version 2.

use super::keys::{describe, Keys, Mistakes};
use super::reference::reference;
use super::{join, values, Blend, Leaf, Member, Node};
use gristmill_pycompat::yaml_read::{Marked, MarkedValue};

/// Keys that determine the kind of a node.
const KINDS: [&str; 4] = ["path", "blend", "blend_epochized", "join"];

/// Parses the value of a split.
pub(super) fn split(value: Marked, found: &mut Mistakes) -> Option<Node> {
    let mut keys = Keys::of(value, "a split", found)?;
    match kind(&keys, found)? {
        "blend" => blend(keys, false, found).map(Node::Blend),
        "blend_epochized" => blend(keys, true, found).map(Node::Blend),
        "join" => {
            keys.rename("a join");
            join::join(keys, &[], found).map(|join| Node::Leaf(Leaf::Join(join)))
        }
        _ => {
            keys.rename("a data set");
            reference(keys, &[], found).map(|reference| Node::Leaf(Leaf::Reference(reference)))
        }
    }
}

/// Returns the kind of a map by its key; none or several of these keys are a mistake.
fn kind(keys: &Keys<'_>, found: &mut Mistakes) -> Option<&'static str> {
    let there: Vec<&'static str> = KINDS.into_iter().filter(|kind| keys.has(kind)).collect();
    match there.as_slice() {
        [one] => Some(one),
        [] => {
            let message = "a split needs one of 'path', 'blend', 'blend_epochized' and 'join'";
            found.mistake(keys.at, message, hint_for_none(keys));
            None
        }
        [first, second, ..] => {
            let message = format!("'{first}' and '{second}' do not go together; a split is one of them");
            let hint = "put one of them into a metadataset of its own and name that by 'path'".to_owned();
            found.mistake(keys.at_key(second), message, Some(hint));
            None
        }
    }
}

fn hint_for_none(keys: &Keys<'_>) -> Option<String> {
    if keys.has("concat") {
        return Some("there is no concat; blend_epochized sees each member once per epoch".into());
    }
    if keys.has("datasets") {
        return Some("'datasets' is of version 1; in version 2 it is 'blend'".into());
    }
    keys.names().find_map(|name| {
        let near = gristmill_core::did_you_mean::nearest(name, KINDS)?;
        Some(format!("is '{name}' meant to be '{near}'?"))
    })
}

fn blend(mut keys: Keys<'_>, is_epochized: bool, found: &mut Mistakes) -> Option<Blend> {
    let (key, other, amount) = match is_epochized {
        true => ("blend_epochized", "weight", "repetitions"),
        false => ("blend", "repetitions", "weight"),
    };
    keys.rename(if is_epochized { "an epochized blend" } else { "a blend" });
    let subset = values::subset(&mut keys, found);
    let list = keys.take(key, found);
    let elsewhere = |key: &str| match key {
        "split_part" | "subflavors" | "aux" | "weight" | "repetitions" | "shuffle_over_epochs_multiplier" => {
            Some("it belongs to the members")
        }
        _ => None,
    };
    keys.finish(&[key, "subset"], elsewhere, found);
    let list = list?;
    let at = list.at;
    let MarkedValue::List(items) = list.value else {
        found.mistake(at, format!("'{key}' must be a list of members, here is {}", describe(&list)), None);
        return None;
    };
    if items.is_empty() {
        found.mistake(at, format!("'{key}' has no member"), None);
        return None;
    }
    let members = items.into_iter().filter_map(|item| member(item, amount, other, found)).collect();
    Some(Blend { at, is_epochized, members, subset })
}

/// Parses a member of a blend; `amount` is the key it must have, `other` the key of members of the other kind of blend.
fn member(value: Marked, amount: &'static str, other: &str, found: &mut Mistakes) -> Option<Member> {
    let mut keys = Keys::of(value, "a member of a blend", found)?;
    if let Some(inner) = ["blend", "blend_epochized"].into_iter().find(|key| keys.has(key)) {
        let hint = match (inner, amount) {
            ("blend", "weight") | ("blend_epochized", "repetitions") => {
                "put the inner one into a metadataset of its own and name that by 'path', or multiply it out"
            }
            _ => "the two kinds of blend cannot be nested into each other, not even through another file",
        };
        let message = format!("a member of a blend is a data set or a join, not '{inner}'");
        found.mistake(keys.at_key(inner), message, Some(hint.into()));
        return None;
    }
    if keys.has(other) {
        let message = format!("'{other}' does not belong here; members of this blend have '{amount}'");
        let hint = match other {
            "weight" => "weights are for 'blend'",
            _ => "repetitions are for 'blend_epochized'",
        };
        found.mistake(keys.at_key(other), message, Some(hint.into()));
        keys.take(other, found);
    }
    if keys.has("join") && keys.has("path") {
        found.mistake(keys.at_key("join"), "'path' and 'join' do not go together", None);
        return None;
    }
    let number = values::amount(&mut keys, amount, found);
    let leaf = if keys.has("join") {
        keys.rename("a join");
        Leaf::Join(join::join(keys, &[amount], found)?)
    } else {
        Leaf::Reference(reference(keys, &[amount], found)?)
    };
    Some(Member { amount: number, leaf })
}
