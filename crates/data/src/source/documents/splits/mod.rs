//! Assigns the files of a folder to splits as `load_dataset` of the Hugging Face library does (docs/formats/huggingface.md §2).
//!
//! Depends only on names and the text of two files, so it also applies to repositories of which only a listing is available.

mod card;
mod kinds;
mod patterns;
mod shards;
mod slices;

pub(in crate::source) use patterns::NO_DATA;
pub(in crate::source) use shards::missing as missing_shards;
pub use shards::MissingShards;
pub use slices::{parse_split, SplitPart};

use card::{DatasetCard, Subset};
use gristmill_core::did_you_mean::nearest;
use gristmill_core::text::{display_safe, grouped};
use gristmill_core::{Failure, Outcome, Subject};
use kinds::{kind_of_files, FileKind};
use patterns::{Names, Pattern};
use std::collections::{BTreeMap, BTreeSet};

/// Name of this step in failures.
const ACTIVITY: &str = "looking for splits";
/// Maximum number of patterns with wildcards per subset, because each is compared with every name.
const MAX_PATTERNS: usize = 1_000;
/// Maximum number of patterns per subset.
const MAX_CARD_PATTERNS: usize = 1_000_000;
/// Maximum number of files per subset, where a file counts once for each pattern that matches it.
const MAX_MATCHES: usize = 10_000_000;
/// Name of the subset of a folder whose card has no subsets.
const DEFAULT_SUBSET: &str = "default";

/// The files of a folder, or of a repository in a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderListing<'a> {
    /// Relative path of each file, with `/` separators, and its size in bytes.
    pub files: &'a [(String, u64)],
    /// The text of `README.md`.
    pub readme: Option<&'a str>,
    /// The text of `.huggingface.yaml`, whose keys replace those of `README.md`.
    pub settings: Option<&'a str>,
}

/// The splits of one subset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Splits {
    /// Name of the subset.
    pub subset: String,
    /// Splits in the order of the data set; each has files.
    pub splits: Vec<Split>,
    /// Data files that are in no split.
    pub outside: Vec<String>,
}

/// A split and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Name of the split.
    pub name: String,
    /// Files in reading order, each once.
    pub files: Vec<SplitFile>,
    /// Files as `load_dataset` reads them, as indexes of `files`: a file is repeated if several patterns match it.
    pub read_order: Vec<usize>,
    /// Data files that are left out because most files of the split have another ending.
    pub dropped: Vec<String>,
}

/// A file of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitFile {
    /// Path in the folder.
    pub path: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Finds the splits of a subset; `None` means the default subset of the card.
///
/// # Errors
/// The card is invalid; the subset does not exist, or there is no default; a pattern without wildcards matches nothing; a split has an
/// invalid name, or no files with documents.
pub fn find_splits(listing: &FolderListing<'_>, subset: Option<&str>) -> Outcome<Splits> {
    let card = DatasetCard::parse(listing.readme, listing.settings)?;
    let chosen = choose_subset(&card, subset)?;
    let mut files: Vec<&(String, u64)> = listing.files.iter().collect();
    files.sort();
    let folder = chosen.folder.clone().map_or_else(String::new, |folder| format!("{folder}/"));
    let inside = files.iter().enumerate();
    let inside = inside.filter_map(|(number, (path, _))| Some((number, path.strip_prefix(&*folder)?)));
    let names = Names::new(inside.collect());
    let is_empty = names.is_empty();
    let (patterns, is_chosen) = match &chosen.splits {
        Some(splits) => {
            let count = splits.iter().flat_map(|(_, texts)| texts).count();
            check_limit(count, MAX_CARD_PATTERNS, "patterns")?;
            let parsed: Vec<(String, Vec<Pattern>)> = splits
                .iter()
                .map(|(name, texts)| Ok((name.clone(), parse_patterns(texts)?)))
                .collect::<Outcome<_>>()?;
            let wide = parsed.iter().flat_map(|(_, patterns)| patterns).filter(|pattern| !pattern.is_literal());
            check_limit(wide.count(), MAX_PATTERNS, "patterns with wildcards")?;
            (parsed, true)
        }
        None => (names.default_patterns()?, false),
    };
    let (mut found, mut matches) = (Vec::new(), 0);
    for (name, patterns) in patterns {
        let mut order = Vec::new();
        for pattern in &patterns {
            let matching = names.matching(pattern, kinds::is_known);
            if is_chosen && matching.is_empty() && pattern.is_literal() {
                return Err(Failure::data(
                    ACTIVITY,
                    format!("the card names the file {}, which does not exist", shown(pattern.text())),
                )
                .on(Subject::path("README.md"))
                .with_hint("correct `configs` in README.md, or pack the folder without --split and --subset"));
            }
            matches += matching.len();
            check_limit(matches, MAX_MATCHES, "matches of its patterns")?;
            order.extend(matching);
        }
        if !order.is_empty() {
            found.push((name, order));
        }
    }
    if let (true, Some(splits), false) = (found.is_empty(), &chosen.splits, is_empty) {
        let patterns = listed(splits.iter().flat_map(|(_, texts)| texts).map(String::as_str));
        return Err(Failure::usage(
            ACTIVITY,
            format!("no file with documents matches the patterns of `configs`: {patterns}"),
        )
        .on(Subject::path("README.md"))
        .with_hint("correct `configs` in README.md, or pack the folder without --split and --subset"));
    }
    if found.is_empty() {
        let why = if is_empty { "it has no files" } else { "no file has an ending of a kind of data" };
        return Err(Failure::usage(ACTIVITY, why).with_hint("pack the folder without --split and --subset"));
    }
    let kind = common_kind(&files, &found)?;
    let mut splits: Vec<Split> = found.into_iter().map(|(name, order)| split(&files, name, &order, kind)).collect();
    splits.retain(|split| !split.files.is_empty());
    let used: BTreeSet<&String> =
        splits.iter().flat_map(|split| split.files.iter().map(|file| &file.path).chain(&split.dropped)).collect();
    let is_outside = |path: &&&(String, u64)| {
        patterns::is_usual(&path.0) && kinds::is_document_file(&path.0) && !used.contains(&path.0)
    };
    let outside = files.iter().filter(is_outside).map(|(path, _)| path.clone()).collect();
    Ok(Splits { subset: chosen.name, splits, outside })
}

/// Parses the patterns of a card.
fn parse_patterns(texts: &[String]) -> Outcome<Vec<Pattern>> {
    texts.iter().map(|text| Pattern::parse(text)).collect()
}

/// Refuses a card with more patterns or matches than a limit.
fn check_limit(count: usize, most: usize, what: &str) -> Outcome<()> {
    match count > most {
        true => Err(Failure::data(
            ACTIVITY,
            format!("the subset of the card has more than {} {what}", grouped(most as u64)),
        )
        .on(Subject::path("README.md"))
        .with_hint("correct `configs` in README.md, or pack the folder without --split and --subset")),
        false => Ok(()),
    }
}

/// Returns the names of the subsets that a card describes.
///
/// # Errors
/// The card is invalid.
pub fn subset_names(listing: &FolderListing<'_>) -> Outcome<Vec<String>> {
    let card = DatasetCard::parse(listing.readme, listing.settings)?;
    Ok(card.subsets.into_iter().map(|subset| subset.name).collect())
}

fn choose_subset(card: &DatasetCard, wanted: Option<&str>) -> Outcome<Subset> {
    let names = || card.subsets.iter().map(|subset| subset.name.as_str());
    let Some(wanted) = wanted else {
        let chosen = match card.subsets.as_slice() {
            [] => return Ok(Subset { name: DEFAULT_SUBSET.to_owned(), ..Subset::default() }),
            [only] => Some(only),
            several => {
                several.iter().find(|subset| subset.is_default).or(several.iter().find(|s| s.name == DEFAULT_SUBSET))
            }
        };
        return chosen.cloned().ok_or_else(|| {
            Failure::usage(ACTIVITY, "the data set has several subsets, and none of them is the default")
                .on(Subject::field("--subset"))
                .with_hint(format!("name one of them: --subset {}", listed(names())))
        });
    };
    if let Some(subset) = card.subsets.iter().find(|subset| subset.name == wanted) {
        return Ok(subset.clone());
    }
    if card.subsets.is_empty() && wanted == DEFAULT_SUBSET {
        return Ok(Subset { name: DEFAULT_SUBSET.to_owned(), ..Subset::default() });
    }
    let failure =
        Failure::usage(ACTIVITY, format!("there is no subset {}", shown(wanted))).on(Subject::field("--subset"));
    Err(match card.subsets.is_empty() {
        true => failure.with_hint("README.md of the data set names no subsets: leave out --subset"),
        false => failure.with_hint(choices("subset", wanted, names())),
    })
}

/// Returns the common kind of the files of all splits.
fn common_kind(files: &[&(String, u64)], found: &[(String, Vec<usize>)]) -> Outcome<FileKind> {
    let mut common: Option<(&str, FileKind)> = None;
    for (name, order) in found {
        let names = order.iter().filter_map(|number| files.get(*number)).map(|(path, _)| path.as_str());
        let Some(kind) = kind_of_files(names) else {
            return Err(Failure::usage(
                ACTIVITY,
                format!("no file of split {} has an ending of a kind of data", shown(name)),
            ));
        };
        if let FileKind::Other(what) = kind {
            let why = format!("most files of split {} are {what}, which hold no documents", shown(name));
            return Err(Failure::usage(ACTIVITY, why)
                .with_hint("pack the folder without --split and --subset, or choose files by --glob"));
        }
        match common {
            Some((first, other)) if other != kind => {
                let (first, name) = (shown(first), shown(name));
                let why = format!("split {first} has files of {}, and split {name} of {}", other.name(), kind.name());
                let hint = "name the folder or the files of one split alone, without --split";
                return Err(Failure::usage(ACTIVITY, why).with_hint(hint));
            }
            Some(_) => {}
            None => common = Some((name, kind)),
        }
    }
    common.map(|(_, kind)| kind).ok_or_else(|| Failure::internal(ACTIVITY, "there is no split"))
}

/// Creates a split from the files that its patterns match; `order` has their indexes in order.
fn split(files: &[&(String, u64)], name: String, order: &[usize], kind: FileKind) -> Split {
    let mut split = Split { name, files: Vec::new(), read_order: Vec::new(), dropped: Vec::new() };
    let mut places: BTreeMap<usize, usize> = BTreeMap::new();
    let mut dropped = BTreeSet::new();
    for number in order {
        let Some((path, bytes)) = files.get(*number) else { continue };
        if !kind.has(path) {
            if kinds::is_document_file(path) && dropped.insert(path) {
                split.dropped.push(path.clone());
            }
            continue;
        }
        let place = *places.entry(*number).or_insert_with(|| {
            split.files.push(SplitFile { path: path.clone(), bytes: *bytes });
            split.files.len() - 1
        });
        split.read_order.push(place);
    }
    split
}

impl Splits {
    /// Returns the names of all splits.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.splits.iter().map(|split| split.name.as_str())
    }

    /// Returns the files of a split that other splits share, each with the names of these splits.
    pub fn leaks<'s>(&'s self, split: &'s Split) -> impl Iterator<Item = (&'s str, Vec<&'s str>)> {
        let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for other in self.splits.iter().filter(|other| other.name != split.name) {
            other.files.iter().for_each(|file| others.entry(&file.path).or_default().push(&other.name));
        }
        split.files.iter().filter_map(move |file| Some((file.path.as_str(), others.remove(file.path.as_str())?)))
    }
}

impl Split {
    /// Returns the files that several patterns match.
    pub fn repeated(&self) -> impl Iterator<Item = &str> {
        let mut times = vec![0_u32; self.files.len()];
        for place in &self.read_order {
            times.get_mut(*place).into_iter().for_each(|count| *count += 1);
        }
        self.files.iter().zip(times).filter(|(_, times)| *times > 1).map(|(file, _)| file.path.as_str())
    }

    /// Returns the files that should exist according to the numbers in the names of the others, such as `train-00001-of-00003.parquet`.
    pub fn missing_shards(&self) -> Vec<MissingShards> {
        shards::missing(self.files.iter().map(|file| file.path.as_str()))
    }
}

/// Returns the failure for a split that does not exist.
pub fn no_such_split<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Failure {
    Failure::usage(ACTIVITY, format!("there is no split {}", shown(wanted)))
        .on(Subject::field("--split"))
        .with_hint(choices("split", wanted, names))
}

/// Lists the names that exist, the most similar name first.
fn choices<'n>(what: &str, wanted: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    let all = format!("each {what}: {}", listed(names.iter().copied()));
    match nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean {}? {all}", shown(near)),
        None => all,
    }
}

/// Lists names from the data for a sentence.
pub(in crate::source) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    /// Maximum number of listed names.
    const MAX_NAMED: usize = 20;
    let mut named: Vec<String> = names.take(MAX_NAMED + 1).map(shown).collect();
    if named.len() > MAX_NAMED {
        named.truncate(MAX_NAMED);
        named.push("…".to_owned());
    }
    named.join(", ")
}

fn shown(name: &str) -> String {
    display_safe(name).into_owned()
}

#[cfg(test)]
mod tests;
