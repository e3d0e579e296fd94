//! The card of a data set: the YAML at the beginning of `README.md`, and `.huggingface.yaml`.

use super::{shown, ACTIVITY, DEFAULT_SUBSET};
use gristmill_core::{Failure, Outcome, Subject};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Maximum size of the YAML of a card, in bytes.
const MAX_CARD_BYTES: usize = 4 << 20;

/// The content of a card that concerns files.
#[derive(Clone, Debug, Default)]
pub(super) struct DatasetCard {
    pub(super) subsets: Vec<Subset>,
}

/// A subset of a data set.
#[derive(Clone, Debug, Default)]
pub(super) struct Subset {
    pub(super) name: String,
    pub(super) is_default: bool,
    /// Folder of its files; `None` means the root folder.
    pub(super) folder: Option<String>,
    /// The patterns of each split; `None` means that file names decide.
    pub(super) splits: Option<Vec<(String, Vec<String>)>>,
}

/// The keys of a card that are read.
#[derive(Debug, Default, Deserialize)]
struct RawCard {
    configs: Option<Vec<RawSubset>>,
}

#[derive(Debug, Deserialize)]
struct RawSubset {
    config_name: Option<String>,
    data_files: Option<DataFiles>,
    data_dir: Option<String>,
    default: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DataFiles {
    Splits(Vec<RawSplit>),
    Train(OneOrMore),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSplit {
    split: String,
    path: OneOrMore,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn into_list(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

impl DatasetCard {
    /// Parses the two files of a card.
    pub(super) fn parse(readme: Option<&str>, settings: Option<&str>) -> Outcome<Self> {
        let mut card = Self::default();
        let yaml = readme.and_then(front_matter).map(|(line, text)| ("README.md", line, text));
        for (file, line, text) in yaml.into_iter().chain(settings.map(|text| (".huggingface.yaml", 0, text))) {
            if let Some(subsets) = read(file, line, text)?.configs {
                card.subsets = subsets.into_iter().map(|raw| subset(file, raw)).collect::<Outcome<_>>()?;
            }
        }
        let mut names = BTreeSet::new();
        match card.subsets.iter().find(|subset| !names.insert(&subset.name)) {
            Some(twice) => Err(invalid("README.md", format!("two subsets have the name {}", shown(&twice.name)))),
            None => Ok(card),
        }
    }
}

/// Returns the YAML at the beginning of a README, and the number of the line before it.
fn front_matter(readme: &str) -> Option<(u64, &str)> {
    let readme = readme.strip_prefix('\u{feff}').unwrap_or(readme);
    let (mut from, mut at) = (None, 0);
    for (number, line) in readme.split_inclusive('\n').enumerate() {
        let is_mark = line.trim_end() == "---";
        match from {
            None if is_mark => from = Some((number as u64 + 1, at + line.len())),
            None if line.trim().is_empty() => {}
            None => return None,
            Some((first, start)) if is_mark => return readme.get(start..at).map(|text| (first, text)),
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

fn invalid(file: &str, why: String) -> Failure {
    Failure::data(ACTIVITY, why)
        .on(Subject::path(file))
        .with_hint("correct its YAML, or pack the folder without --split and --subset")
}

fn read(file: &str, line: u64, text: &str) -> Outcome<RawCard> {
    if text.len() > MAX_CARD_BYTES {
        return Err(invalid(file, "its YAML has more than 4 MiB".to_owned()));
    }
    if text.trim().is_empty() {
        return Ok(RawCard::default());
    }
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_nodes: 1_000_000,
            max_events: 2_000_000,
            max_total_scalar_bytes: MAX_CARD_BYTES,
            max_anchors: 0,
            max_aliases: 0,
            max_depth: 64,
        },
        strict_booleans: true,
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().map(|at| at.line() + line);
        let plain = error.without_snippet().to_string();
        let mut failure = invalid(file, reason(plain.lines().next().unwrap_or("it is not valid YAML")));
        if let Some(at) = at {
            failure.subject = failure.subject.line(at);
        }
        failure
    })
}

/// Returns the reason in a message of the library, without its line, which does not count the lines before the YAML.
fn reason(message: &str) -> String {
    let why = message.split_once(" at line ").map_or(message, |(why, _)| why);
    match why {
        "expected sequence start" => "a list is expected".to_owned(),
        "expected mapping start" => "keys with values are expected".to_owned(),
        "expected string scalar" => "a text is expected".to_owned(),
        _ if why.starts_with("budget breached: A") => "anchors and aliases are not read".to_owned(),
        _ if why.starts_with("budget breached") => "it has too many values, or is nested too deep".to_owned(),
        _ => why.to_owned(),
    }
}

fn subset(file: &str, raw: RawSubset) -> Outcome<Subset> {
    let name = raw.config_name.unwrap_or_else(|| DEFAULT_SUBSET.to_owned());
    let folder = raw.data_dir.map(|folder| folder.trim_start_matches("./").trim_end_matches('/').to_owned());
    if folder.as_deref().is_some_and(|folder| folder.starts_with('/') || folder.split('/').any(|part| part == "..")) {
        return Err(invalid(file, format!("data_dir of subset {} leads out of the folder", shown(&name))));
    }
    let splits = match raw.data_files {
        None => None,
        Some(DataFiles::Train(paths)) => Some(vec![("train".to_owned(), paths.into_list())]),
        Some(DataFiles::Splits(splits)) => {
            let splits: Vec<_> = splits.into_iter().map(|split| (split.split, split.path.into_list())).collect();
            let mut names = BTreeSet::new();
            if let Some((twice, _)) = splits.iter().find(|(name, _)| !names.insert(name)) {
                return Err(invalid(file, format!("subset {} names split {} twice", shown(&name), shown(twice))));
            }
            Some(splits)
        }
    };
    let folder = folder.filter(|folder| !folder.is_empty() && folder != ".");
    Ok(Subset { name, is_default: raw.default.unwrap_or(false), folder, splits })
}
