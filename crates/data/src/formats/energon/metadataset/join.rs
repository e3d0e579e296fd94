//! Joins: their members and the joiner that combines their samples.

use super::keys::{as_text, describe, Keys, Mistakes};
use super::reference::reference;
use super::values::{self, is_null};
use super::{Join, JoinMember, Joiner, Mark};
use gristmill_core::did_you_mean::nearest;
use gristmill_core::mix::Nonmatch;
use gristmill_core::sample_type::{self, ENERGON_PACKAGE};
use gristmill_pycompat::yaml_read::{Marked, MarkedValue};
use gristmill_pycompat::Node as Value;

const KEYS: [&str; 6] = ["join", "joiner", "split_part", "subflavors", "shuffle_over_epochs_multiplier", "subset"];

/// Parses a join. `more` are keys that were already taken and count as known.
pub(super) fn join(mut keys: Keys<'_>, more: &[&str], found: &mut Mistakes) -> Option<Join> {
    let at = keys.at_key("join");
    let list = keys.take("join", found);
    let joiner = joiner(&mut keys, found);
    let split_part = keys.text("split_part", found).map(|(_, text)| text);
    let subflavors = values::subflavors(&mut keys, found);
    if keys.has("shuffle_over_epochs_multiplier") {
        let at = keys.at_key("shuffle_over_epochs_multiplier");
        if values::shuffling(&mut keys, found) != Some(1) {
            found.remark(at, "the loader ignores 'shuffle_over_epochs_multiplier' at a join", None);
        }
    }
    let subset = values::subset(&mut keys, found);
    for key in ["dataset_config", "split_config"] {
        if keys.has(key) {
            let at = keys.at_key(key);
            let value = keys.take(key, found);
            if value.is_some_and(|value| !is_null(&value)) {
                let hint = "it belongs to the members of the join".to_owned();
                found.mistake(at, format!("'{key}' is not allowed in a join; the loader fails"), Some(hint));
            }
        }
    }
    let known: Vec<&str> = KEYS.iter().chain(more).copied().collect();
    let elsewhere = |key: &str| match key {
        "nonmatch" => Some("it belongs to the second and further members of the join"),
        "aux" => Some("joined samples have no aux sources"),
        _ => None,
    };
    keys.finish(&known, elsewhere, found);
    let (members, is_named) = all_members(list?, found)?;
    let joiner = joiner?;
    if is_named && joiner.is_class && is_default_joiner(&joiner) {
        let hint = "write the members as a list, each with a '-'".to_owned();
        let message = format!("'{}' joins by position, so the members must not have names", joiner.object);
        found.mistake(joiner.at, message, Some(hint));
    }
    Some(Join { at, members, is_named, joiner, split_part, subflavors, subset })
}

/// Whether the joiner is a class of the loader, whose samples are joined by the built-in method of the loader.
fn is_default_joiner(joiner: &Joiner) -> bool {
    joiner.module.starts_with(ENERGON_PACKAGE) && sample_type::find(&joiner.object).is_some()
}

fn all_members(list: Marked, found: &mut Mistakes) -> Option<(Vec<JoinMember>, bool)> {
    let at = list.at;
    let (items, is_named): (Vec<(Option<String>, Marked)>, bool) = match list.value {
        MarkedValue::List(items) => (items.into_iter().map(|item| (None, item)).collect(), false),
        MarkedValue::Map(entries) => (entries.into_iter().map(|(name, _, item)| (Some(name), item)).collect(), true),
        _ => {
            found.mistake(at, format!("'join' must be a list or a map of members, here is {}", describe(&list)), None);
            return None;
        }
    };
    match items.len() {
        0 => {
            found.mistake(at, "'join' has no member", None);
            return None;
        }
        1 => found.remark(at, "there is only one member, so nothing is joined", None),
        _ => {}
    }
    let mut members = Vec::with_capacity(items.len());
    for (place, (name, item)) in items.into_iter().enumerate() {
        members.extend(member(item, name, place == 0, found));
    }
    Some((members, is_named))
}

fn member(value: Marked, name: Option<String>, is_first: bool, found: &mut Mistakes) -> Option<JoinMember> {
    let mut keys = Keys::of(value, "a member of a join", found)?;
    let nonmatch = nonmatch(&mut keys, is_first, found);
    for (key, why) in [
        ("aux", "joined samples have no aux sources; the loader ignores them"),
        ("subset", "the loader ignores a subset here; move it to the join"),
        ("shuffle_over_epochs_multiplier", "the loader ignores it in a join"),
    ] {
        if keys.has(key) {
            found.remark(keys.at_key(key), format!("'{key}' has no effect: {why}"), None);
        }
    }
    let reference = reference(keys, &["nonmatch"], found)?;
    Some(JoinMember { name, reference, nonmatch })
}

fn nonmatch(keys: &mut Keys<'_>, is_first: bool, found: &mut Mistakes) -> Nonmatch {
    let Some(value) = keys.take("nonmatch", found) else { return Nonmatch::Error };
    let nonmatch = match &value.value {
        MarkedValue::Scalar(Value::Str(text)) => {
            [Nonmatch::Error, Nonmatch::Skip, Nonmatch::None].into_iter().find(|known| known.name() == text)
        }
        _ => None,
    };
    let Some(nonmatch) = nonmatch else {
        let hint = match &value.value {
            MarkedValue::Scalar(Value::Null) => "write the word none".to_owned(),
            _ => "error: refuse; skip: leave the sample out; none: join it with nothing".to_owned(),
        };
        let message = format!("'nonmatch' is one of error, skip and none, here is {}", describe(&value));
        found.mistake(value.at, message, Some(hint));
        return Nonmatch::Error;
    };
    if is_first && nonmatch != Nonmatch::Error {
        let message = format!("the first member cannot have nonmatch '{}'; it gives the samples", nonmatch.name());
        let hint = "leave it out here, or put another member first".to_owned();
        found.mistake(value.at, message, Some(hint));
        return Nonmatch::Error;
    }
    nonmatch
}

fn joiner(keys: &mut Keys<'_>, found: &mut Mistakes) -> Option<Joiner> {
    let value = match keys.has("joiner") {
        true => keys.take("joiner", found)?,
        false => {
            let hint = "for example joiner: {__module__: my_module, __function__: my_function}".to_owned();
            found.mistake(keys.at, "a join needs a 'joiner', which is missing", Some(hint));
            return None;
        }
    };
    let at = value.at;
    let mut inner = Keys::of(value, "a joiner", found)?;
    let module = inner.need("__module__", found);
    let module = module.and_then(|value| as_text(&value, "__module__", false, found));
    let class = inner.text("__class__", found);
    let function = inner.text("__function__", found);
    let known = ["__module__", "__class__", "__function__"];
    inner.finish(&known, |_| None, found);
    if let (Some(_), Some((at, _))) = (&class, &function) {
        found.remark(*at, "the loader uses '__class__' and ignores '__function__'", None);
    }
    let (object_at, object, is_class) = match (class, function) {
        (Some((at, class)), _) => (at, class, true),
        (None, Some((at, function))) => (at, function, false),
        (None, None) => {
            found.mistake(at, "a joiner needs '__class__' or '__function__'", None);
            return None;
        }
    };
    let module = module?;
    if is_class {
        check_class(&module, &object, object_at, found);
    }
    Some(Joiner { at, module, object, is_class })
}

/// Reports a class that should be one of the loader's and is not.
fn check_class(module: &str, class: &str, at: Mark, found: &mut Mistakes) {
    if module != ENERGON_PACKAGE || sample_type::find(class).is_some_and(|known| known.module == module) {
        return;
    }
    let near = nearest(class, sample_type::SAMPLE_TYPES.iter().map(|known| known.class));
    let hint = match (sample_type::find(class), near) {
        (Some(known), _) => format!("it is in the module {}", known.module),
        (None, Some(near)) => format!("did you mean '{near}'?"),
        (None, None) => "a class of your own is named with its own module".to_owned(),
    };
    found.mistake(at, format!("there is no class '{class}' in {ENERGON_PACKAGE}"), Some(hint));
}
