//! Data sets given by their path.

use super::keys::{as_text, Keys, Mistakes};
use super::{values, Reference};

/// Keys that a data set may have.
const REFERENCE_KEYS: [&str; 8] = [
    "path",
    "split_part",
    "subflavors",
    "shuffle_over_epochs_multiplier",
    "dataset_config",
    "split_config",
    "aux",
    "subset",
];

/// Parses a data set given by its path. `more` are keys that were already taken and count as known.
pub(super) fn reference(mut keys: Keys<'_>, more: &[&str], found: &mut Mistakes) -> Option<Reference> {
    let path = keys.need("path", found);
    let reference = Reference {
        at: path.as_ref().map_or(keys.at, |path| path.at),
        path: path.and_then(|path| as_text(&path, "path", false, found)).unwrap_or_default(),
        split_part: keys.text("split_part", found).map(|(_, text)| text),
        subflavors: values::subflavors(&mut keys, found),
        shuffle_over_epochs: values::shuffling(&mut keys, found),
        dataset_config: keys.text("dataset_config", found),
        split_config: keys.text("split_config", found),
        aux: values::aux(&mut keys, found),
        subset: values::subset(&mut keys, found),
    };
    let known: Vec<&str> = REFERENCE_KEYS.iter().chain(more).copied().collect();
    keys.finish(&known, misplaced_key_reason, found);
    (!reference.path.is_empty()).then_some(reference)
}

fn misplaced_key_reason(key: &str) -> Option<&'static str> {
    match key {
        "weight" => Some("only members of a blend have a weight"),
        "repetitions" => Some("only members of an epochized blend have repetitions"),
        "nonmatch" => Some("only members of a join have it"),
        "joiner" => Some("it belongs next to 'join:'"),
        "subflavor" => Some("it is of version 1; write subflavors: {NAME: VALUE}"),
        "datasets" => Some("it is of version 1; in version 2 it is 'blend'"),
        _ => None,
    }
}
