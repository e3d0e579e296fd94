//! Patterns of file names: those in a card, and the default ones for folders without a card.

use super::super::glob::Glob;
use super::{listed, shown, ACTIVITY};
use gristmill_core::{Failure, Outcome, Subject};
use std::collections::BTreeSet;

/// Splits, each with the words by which names of files and folders denote it.
const WORDS: [(&str, &[&str]); 3] = [
    ("train", &["train", "training"]),
    ("validation", &["validation", "valid", "dev", "val"]),
    ("test", &["test", "testing", "eval", "evaluation"]),
];
/// Names of files that are not data, unless a pattern names them.
pub(in crate::source) const NO_DATA: [&str; 6] =
    ["README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json"];
/// Folder of files that are named by split and number.
const SHARD_FOLDER: &str = "data/";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordPosition {
    /// The name is the word.
    Whole,
    /// The name begins with the word and a separator.
    Start,
    /// The name ends with a separator and the word.
    End,
    /// The word is between two separators.
    Middle,
}

/// A pattern of relative paths.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// A pattern with wildcards in a card, and its text.
    Glob(Glob, String),
    /// A path in a card.
    Literal(String),
    /// Numbered files of a split in the folder `data`.
    Shards(String),
    /// Files at any depth in a folder whose name contains a word.
    Folder(&'static str, WordPosition),
    /// Files whose name contains a word.
    File(&'static str, WordPosition),
    /// All files.
    All,
}

impl Pattern {
    /// Parses a pattern of a card.
    pub(super) fn parse(text: &str) -> Outcome<Self> {
        let plain = text.strip_prefix("./").unwrap_or(text);
        let refuse = |why: String| {
            Failure::data(ACTIVITY, format!("the pattern {} cannot be used: {why}", shown(text)))
                .on(Subject::path("README.md"))
                .with_hint("correct `configs` in README.md, or pack the folder without --split and --subset")
        };
        if plain.starts_with('/') || plain.contains("://") || plain.split('/').any(|part| part == "..") {
            return Err(refuse("it leads out of the folder".to_owned()));
        }
        match plain.contains(['*', '?', '[']) {
            false => Ok(Self::Literal(plain.to_owned())),
            true => Glob::new(plain).map(|glob| Self::Glob(glob, plain.to_owned())).map_err(|error| refuse(error.why)),
        }
    }

    /// Whether the pattern has no wildcards.
    pub(super) fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Returns the text of a pattern in a card; empty for a default pattern.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Glob(_, text) | Self::Literal(text) => text,
            _ => "",
        }
    }

    fn matches(&self, path: &str) -> bool {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        match self {
            Self::Glob(glob, _) => glob.matches(path),
            Self::Literal(text) => text == path,
            Self::Shards(split) => shard_name(path)
                .is_some_and(|name| name.strip_prefix(&**split).is_some_and(|rest| shard_number(rest).is_some())),
            Self::Folder(word, place) => folders.split('/').any(|folder| has_word(folder, word, *place)),
            Self::File(word, place) => has_word(name, word, *place),
            Self::All => true,
        }
    }
}

/// Whether a path is data unless a pattern says otherwise: not hidden, and not a description.
pub(super) fn is_usual(path: &str) -> bool {
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    hidden(path) == 0 && special(path) == 0 && !NO_DATA.contains(&name)
}

fn hidden(path: &str) -> usize {
    path.split('/').filter(|part| part.starts_with('.') && part.chars().any(|char| char != '.')).count()
}

/// Returns the number of folders whose names begin with two underscores.
fn special(path: &str) -> usize {
    path.rsplit_once('/').map_or(0, |(folders, _)| folders.split('/').filter(|part| part.starts_with("__")).count())
}

fn is_separator(char: char) -> bool {
    matches!(char, '-' | '.' | '_' | ' ') || char.is_ascii_digit()
}

fn has_word(name: &str, word: &str, place: WordPosition) -> bool {
    let is_after = |rest: &str| rest.starts_with(is_separator);
    let is_before = |start: &str| start.ends_with(is_separator);
    match place {
        WordPosition::Whole => name == word,
        WordPosition::Start => name.strip_prefix(word).is_some_and(is_after),
        WordPosition::End => name.strip_suffix(word).is_some_and(is_before),
        WordPosition::Middle => name
            .match_indices(word)
            .any(|(at, _)| name.get(..at).is_some_and(is_before) && name.get(at + word.len()..).is_some_and(is_after)),
    }
}

/// Returns the name of a file directly in [`SHARD_FOLDER`].
fn shard_name(path: &str) -> Option<&str> {
    path.strip_prefix(SHARD_FOLDER).filter(|name| !name.contains('/'))
}

/// Parses `-00001-of-00003`, which text with a dot must follow; returns both numbers and this text.
pub(super) fn shard_number(text: &str) -> Option<(u32, u32, &str)> {
    let number = |text: &str| {
        let digits = text.get(..5).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<u32>().ok()
    };
    let rest = text.strip_prefix('-')?;
    let this = number(rest)?;
    let rest = rest.get(5..)?.strip_prefix("-of-")?;
    let all = number(rest)?;
    let rest = rest.get(5..)?;
    rest.contains('.').then_some((this, all, rest))
}

/// Returns the name of the split of a numbered file, which is the text before the last number.
fn split_of_shard(name: &str) -> Option<&str> {
    let mut ends = name.match_indices('-').map(|(at, _)| at).filter(|at| *at > 0);
    ends.rfind(|at| name.get(*at..).and_then(shard_number).is_some()).and_then(|at| name.get(..at))
}

/// Whether a text consists of words joined by dots.
fn is_split_name(name: &str) -> bool {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(|char| char.is_alphanumeric() || char == '_');
    name.split('.').all(is_word)
}

/// Sorted names, each with its index.
pub(super) struct Names<'a> {
    names: Vec<(usize, &'a str)>,
}

impl<'a> Names<'a> {
    pub(super) fn new(names: Vec<(usize, &'a str)>) -> Self {
        Self { names }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the indexes of the names that a pattern matches, in order.
    pub(super) fn matching(&self, pattern: &Pattern, is_kept: impl Fn(&str) -> bool) -> Vec<usize> {
        let (text, named) = (pattern.text(), pattern.text().rsplit('/').next().unwrap_or_default());
        let fits = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            pattern.matches(path)
                && hidden(path) == hidden(text)
                && special(path) == special(text)
                && (!NO_DATA.contains(&name) || name == named)
        };
        let names = match pattern {
            Pattern::Literal(text) => {
                let from = self.names.partition_point(|(_, path)| *path < text.as_str());
                self.names.get(from..self.names.len().min(from + 1)).unwrap_or_default()
            }
            _ => &self.names[..],
        };
        names.iter().filter(|(_, path)| fits(path) && is_kept(path)).map(|(number, _)| *number).collect()
    }

    fn has(&self, pattern: &Pattern) -> bool {
        self.names.iter().any(|(_, path)| is_usual(path) && pattern.matches(path))
    }

    /// Returns the splits of a folder without a card, each with its patterns. The first rule that finds a file decides for all splits.
    pub(super) fn default_patterns(&self) -> Outcome<Vec<(String, Vec<Pattern>)>> {
        let shards = self.names.iter().filter(|(_, path)| is_usual(path)).filter_map(|(_, path)| shard_name(path));
        let splits: BTreeSet<&str> = shards.filter_map(split_of_shard).collect();
        if !splits.is_empty() {
            let invalid: Vec<&str> = splits.iter().copied().filter(|name| !is_split_name(name)).collect();
            if !invalid.is_empty() {
                let why =
                    format!("names of files in data/ have invalid names of splits: {}", listed(invalid.into_iter()));
                let hint = "a name is letters, digits and _, joined by dots: rename the files, or leave out --split";
                return Err(Failure::usage(ACTIVITY, why).with_hint(hint));
            }
            let usual = WORDS.iter().map(|(split, _)| *split);
            let others = splits.iter().copied().filter(|name| WORDS.iter().all(|(split, _)| split != name));
            let ordered = usual.filter(|split| splits.contains(split)).chain(others);
            return Ok(ordered.map(|name| (name.to_owned(), vec![Pattern::Shards(name.to_owned())])).collect());
        }
        let by_word = |of: &dyn Fn(&'static str) -> Vec<Pattern>| {
            let patterns = WORDS.iter().map(|(split, words)| {
                ((*split).to_owned(), words.iter().flat_map(|word| of(word)).collect::<Vec<_>>())
            });
            patterns.filter(|(_, patterns)| patterns.iter().any(|pattern| self.has(pattern))).collect::<Vec<_>>()
        };
        let places = [WordPosition::Whole, WordPosition::Start, WordPosition::End, WordPosition::Middle];
        let folders = by_word(&|word| places.map(|place| Pattern::Folder(word, place)).into());
        if !folders.is_empty() {
            return Ok(folders);
        }
        let files =
            by_word(&|word| [WordPosition::Start, WordPosition::Middle].map(|place| Pattern::File(word, place)).into());
        Ok(match files.is_empty() {
            true => vec![("train".to_owned(), vec![Pattern::All])],
            false => files,
        })
    }
}
