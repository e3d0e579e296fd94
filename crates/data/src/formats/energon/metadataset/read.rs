//! The file as a whole: its version and its splits.

use super::keys::{describe, Keys, Mistakes};
use super::{members, version1, Mark, Metadataset, Mistake, Node, Split};
use crate::formats::energon::fields::MARKER;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::sample_type::ENERGON_PACKAGE;
use gristmill_pycompat::yaml_read::{self, Marked, MarkedValue};

/// Class of the current version.
pub(super) const CLASS: &str = "MetadatasetV2";
/// Class of version 1.
const CLASS_1: &str = "Metadataset";
/// Splits that trainers request by convention.
const CONVENTIONAL_SPLITS: [&str; 3] = ["train", "val", "test"];
const KEYS: [&str; 3] = ["__module__", "__class__", "splits"];

/// Parses the text of a metadataset. All mistakes are returned, at most 1,000; aliases, tags and deep nesting are refused.
pub fn read(text: &str) -> Result<Metadataset, Vec<Mistake>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(line) = yaml_read::line_of_marker(text) {
        let (message, hint) = MARKER;
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        return Err(vec![Mistake { message: message.into(), line, column: 1, hint: Some(hint.into()) }]);
    }
    let root = yaml_read::read_marked(text).map_err(|error| {
        let within = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        vec![Mistake { message: error.message, line: within(error.line), column: within(error.column), hint: None }]
    })?;
    let mut found = Mistakes::default();
    let read = match root {
        Some(root) => read_metadataset(root, &mut found),
        None => {
            found.mistake(Mark { line: 1, column: 1 }, "the file is empty", Some(template_hint()));
            None
        }
    };
    match read {
        Some(mut metadataset) if found.mistakes.is_empty() => {
            metadataset.remarks = found.remarks;
            Ok(metadataset)
        }
        _ => {
            found.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
            Err(found.mistakes)
        }
    }
}

fn template_hint() -> String {
    "`gristmill mix new --blend PATH=WEIGHT --output META.yaml` writes a good one".into()
}

fn read_metadataset(root: Marked, found: &mut Mistakes) -> Option<Metadataset> {
    if matches!(root.value, MarkedValue::List(_) | MarkedValue::Scalar(_) | MarkedValue::Nothing) {
        found.mistake(root.at, format!("a metadataset is a map, here is {}", describe(&root)), Some(template_hint()));
        return None;
    }
    let mut keys = Keys::of(root, "the file", found)?;
    let version = version(&mut keys, found);
    let splits = keys.need("splits", found);
    let elsewhere = |key: &str| match key {
        "path" | "blend" | "blend_epochized" | "join" | "datasets" => {
            Some("it belongs below 'splits:' and the name of a split")
        }
        "train" | "val" | "test" => Some("splits are named below 'splits:'"),
        "__function__" => Some("a metadataset needs a '__class__'"),
        _ => None,
    };
    keys.finish(&KEYS, elsewhere, found);
    let mut read = Metadataset { version: version?, splits: Vec::new(), remarks: Vec::new() };
    let splits = splits?;
    let at = splits.at;
    let MarkedValue::Map(entries) = splits.value else {
        found.mistake(at, format!("'splits' must be a map of split names, here is {}", describe(&splits)), None);
        return None;
    };
    if entries.is_empty() {
        found.mistake(at, "there is no split", Some("add one below 'splits:', for example train".into()));
    } else if !entries.iter().any(|(name, _, _)| CONVENTIONAL_SPLITS.contains(&name.as_str())) {
        let meant = entries.iter().find_map(|(name, at, _)| Some((*at, name, nearest(name, CONVENTIONAL_SPLITS)?)));
        let (at, hint) = match meant {
            Some((at, name, near)) => (at, format!("is '{name}' meant to be '{near}'?")),
            None => (at, "the training script must name another one".to_owned()),
        };
        found.remark(at, "none of the splits is called train, val or test", Some(hint));
    }
    for (name, at, value) in entries {
        if value.value == MarkedValue::Nothing {
            found.mistake(at, format!("the split '{name}' is empty, and the loader stops at that"), None);
            continue;
        }
        let node = match read.version {
            1 => version1::split(value, found),
            _ => members::split(value, found),
        };
        read.splits.extend(node.map(|node: Node| Split { name, at, node }));
    }
    Some(read)
}

/// Returns the version, 1 or 2, by the rules of the loader; `None` for another class.
fn version(keys: &mut Keys<'_>, found: &mut Mistakes) -> Option<u8> {
    let at = keys.at_key("__class__");
    let module_at = keys.at_key("__module__");
    let module = keys.text("__module__", found).map(|(_, text)| text);
    let class = keys.text("__class__", found).map(|(_, text)| text);
    let Some(class) = class else {
        if module.is_some() {
            let hint = format!("add `__class__: {CLASS}`");
            found.remark(module_at, "without '__class__' the loader reads version 1", Some(hint));
        }
        return Some(1);
    };
    let Some(module) = module else {
        if class == CLASS {
            let hint = format!("add `__module__: {ENERGON_PACKAGE}`");
            found.mistake(at, "without '__module__' the loader ignores '__class__' and reads version 1", Some(hint));
            return Some(2);
        }
        return Some(1);
    };
    if !module.starts_with(ENERGON_PACKAGE) {
        let message = format!("the loader looks for '{class}' in the module '{module}' first");
        found.remark(module_at, message, Some(format!("both versions are in {ENERGON_PACKAGE}")));
    }
    match class.as_str() {
        CLASS => Some(2),
        CLASS_1 => Some(1),
        other => {
            let hint = match nearest(other, [CLASS, CLASS_1]) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("a metadataset is of class {CLASS}"),
            };
            found.mistake(at, format!("there is no class '{other}' for metadatasets"), Some(hint));
            None
        }
    }
}
