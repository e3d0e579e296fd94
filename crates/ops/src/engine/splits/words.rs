//! Checks of generated text, and of names of splits.

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_data::formats::energon::split_edit::SplitDoc;
use gristmill_data::formats::energon::split_yaml::SplitFile;

pub(super) const ACTIVITY: &str = "editing the splits";

/// Parses a generated text as the loader does, and compares it with the intended meaning.
pub(super) fn check_meaning(doc: &SplitDoc, text: &str) -> Outcome<()> {
    let odd = |why: String| {
        Failure::data("writing the splits", why)
            .with_hint("nothing was written; edit the file as text, and report this")
    };
    let read = SplitFile::parse(text.strip_prefix('\u{feff}').unwrap_or(text))
        .map_err(|error| odd(format!("the edited text cannot be read back: {error}")))?;
    let same_splits = read.split_parts.len() == doc.splits().len()
        && read.split_parts.iter().zip(doc.splits()).all(|((name, items), split)| {
            **name == **split.name()
                && items.len() == split.items().len()
                && items.iter().zip(split.items().iter()).all(|(a, b)| **a == **b.value())
        });
    let same_excludes = read.exclude.len() == doc.excludes().len()
        && read.exclude.iter().zip(doc.excludes().iter()).all(|(a, b)| **a == **b.value());
    if same_splits && same_excludes {
        Ok(())
    } else {
        Err(odd("the edited text would not mean what was intended".to_owned()))
    }
}

/// Refuses names of splits that cannot be written or already exist.
pub(super) fn check_split_name(doc: &SplitDoc, name: &str) -> Outcome<()> {
    let refused = |why: &str| Failure::usage(ACTIVITY, why).on(Subject::field(name));
    if name.trim().is_empty() {
        return Err(refused("a split needs a name"));
    }
    if name.trim() != name || name.chars().any(char::is_control) {
        return Err(refused("a name of a split has no spaces around it and no control characters"));
    }
    if name.chars().count() > 100 {
        return Err(refused("a name of a split has at most 100 characters"));
    }
    if doc.splits().iter().any(|split| **split.name() == *name) {
        return Err(refused("there is a split of that name"));
    }
    Ok(())
}
