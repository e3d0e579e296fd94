//! An entry of a folder with its facts, and their texts.

use gristmill_core::text::{bytes, count};
use gristmill_core::DatasetKind;
use gristmill_ops::operations::InterruptedRun;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

/// One entry of a folder, from the folder's listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeEntry {
    /// Path of the entry.
    pub path: PathBuf,
    /// Name of the entry, made valid UTF-8; not escaped.
    pub name: String,
    /// Whether it is a folder, or a link to one.
    pub is_folder: bool,
    /// Size of a file in bytes.
    pub bytes: u64,
}

/// Facts about an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryFacts {
    /// Kind of the entry.
    pub kind: DatasetKind,
    /// State of its preparation.
    pub state: PreparationState,
    /// Number of shards found.
    pub shards: u64,
    /// Size in bytes: of the shards found, of the media if there are no shards, or of the file.
    pub bytes: u64,
    /// Number of files found whose names are those of pictures, sound or video; 0 if there are shards.
    pub media: u64,
    /// Number of samples of an indexed JSONL file.
    pub samples: Option<u64>,
    /// Number of text files found, compressed or not: `.jsonl`, `.jsonl.gz` and the like.
    pub texts: u64,
    /// Total size of the text files in bytes.
    pub text_bytes: u64,
    /// Number of token files directly in the folder.
    pub files: u64,
    /// Number of data sets found inside that can be members of a metadataset.
    pub members: u64,
    /// Contents of a metadataset.
    pub mixture: Option<Mixture>,
    /// Whether a dedup run wrote it and stored the removed ranges, which can be shown.
    pub is_deduplicated: bool,
    /// Whether it is the output of an unfinished run, of which nothing is visible yet.
    pub is_begun: bool,
    /// The stopped run that has this output.
    pub begun: Option<Arc<InterruptedRun>>,
    /// Whether a limit was reached, so that counts may be too low.
    pub more: bool,
    /// Part names of the first sample, in archive order.
    pub parts: Vec<String>,
    /// For a folder with several formats, each format's name and the facts about its folder.
    pub formats: Vec<(&'static str, EntryFacts)>,
    /// Number of data sets of a mixture index.
    pub datasets: u64,
}

/// State of the preparation of a data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreparationState {
    /// The entry has a kind that cannot be prepared.
    #[default]
    None,
    /// The data set is not prepared.
    Raw,
    /// The data set is prepared.
    Prepared,
    /// The data set is prepared, but was changed since; holds the change.
    Stale(String),
    /// The data set is unusable; holds the reason.
    Broken(String),
    /// A run was stopped, and no process is working on it.
    Interrupted,
    /// A process is working on it; holds its description.
    Locked(String),
}

impl PreparationState {
    /// Returns the state in one or two words, for the list.
    pub fn word(&self, kind: DatasetKind) -> &'static str {
        match self {
            Self::None => "",
            Self::Raw => kind.info().raw,
            Self::Prepared => kind.info().prepared,
            Self::Stale(_) => "out of date",
            Self::Broken(_) => kind.info().broken,
            Self::Interrupted => "interrupted",
            Self::Locked(_) => "in use",
        }
    }
}

impl EntryFacts {
    pub(super) fn of(kind: DatasetKind) -> Self {
        Self {
            kind,
            state: PreparationState::None,
            shards: 0,
            bytes: 0,
            media: 0,
            samples: None,
            texts: 0,
            text_bytes: 0,
            files: 0,
            members: 0,
            mixture: None,
            is_deduplicated: false,
            is_begun: false,
            begun: None,
            more: false,
            parts: Vec::new(),
            formats: Vec::new(),
            datasets: 0,
        }
    }

    /// Whether the guided prepare can be opened on it.
    pub fn can_prepare(&self) -> bool {
        self.kind.is_web_dataset()
    }

    /// Whether Enter opens the browser.
    pub fn is_ready_to_browse(&self) -> bool {
        let is_file_of_rows = self.kind.is_document_file() && self.kind.table().is_some();
        let is_ready = self.state == PreparationState::Prepared && self.kind.info().browse.is_ok();
        !self.is_begun && (is_file_of_rows || is_ready && !self.kind.has_loose_files())
    }

    /// Returns the kind in words.
    pub fn title(&self) -> &'static str {
        if self.is_begun {
            "output"
        } else {
            self.kind.title()
        }
    }

    /// Returns the state in one or two words.
    pub fn word(&self) -> &'static str {
        match self.state {
            PreparationState::Prepared if self.is_deduplicated => "deduplicated",
            _ => self.state.word(self.kind),
        }
    }

    /// Returns the amount of data: `20 shards · 4.3 GiB`.
    pub fn amount(&self, dot: &str) -> String {
        let plus = if self.more { "+" } else { "" };
        if let Some(mixture) = &self.mixture {
            return mixture.amount(dot);
        }
        let size = bytes(self.bytes);
        if !self.formats.is_empty() {
            let of = |(format, entry_facts): &(&str, EntryFacts)| match entry_facts.state {
                PreparationState::Prepared => format!("{format} {}", bytes(entry_facts.bytes)),
                _ => format!("{format} unusable"),
            };
            return self.formats.iter().map(of).collect::<Vec<_>>().join(&format!(" {dot} "));
        }
        if let (1.., Some(samples)) = (self.datasets, self.samples) {
            let datasets = count(self.datasets, "data set");
            return format!("{} {dot} {datasets}{plus} {dot} {size}", count(samples, "sample"));
        }
        if self.files > 0 {
            return format!("{}{plus} {dot} {size}{plus}", count(self.files, "file"));
        }
        match (self.shards, self.media, self.samples) {
            (0, 0, None) if self.texts > 0 => {
                let word = if self.kind.table().is_some() { "file" } else { "text file" };
                format!("{}{plus} {dot} {}{plus}", count(self.texts, word), bytes(self.text_bytes))
            }
            (0, 0, None) if self.bytes == 0 => String::new(),
            (0, 0, None) => size,
            (0, 0, Some(samples)) => format!("{} {dot} {size}", count(samples, "sample")),
            (0, files, _) => format!("{}{plus} {dot} {size}{plus}", count(files, "media file")),
            (shards, _, _) => format!("{}{plus} {dot} {size}{plus}", count(shards, "shard")),
        }
    }
}

/// The contents of a metadataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mixture {
    /// The version, 1 or 2; 0 if the file has mistakes.
    pub version: u8,
    /// Names of its splits; not escaped.
    pub splits: Vec<String>,
    /// Number of data sets in its first split.
    pub members: u64,
    /// Whether it joins data sets by key, and so needs a join index.
    pub has_joins: bool,
}

impl Mixture {
    /// Returns a summary: `version 2 · 3 members · train, val`.
    pub fn amount(&self, dot: &str) -> String {
        if self.version == 0 {
            return String::new();
        }
        let joins = if self.has_joins { format!(" {dot} joins") } else { String::new() };
        let splits = self.splits.join(", ");
        format!("version {} {dot} {}{joins} {dot} {splits}", self.version, count(self.members, "member"))
    }
}

/// Returns a name as text. Bytes that are not UTF-8 become `\xNN`.
pub fn name_of(name: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    match name.to_str() {
        Some(text) => text.to_owned(),
        None => gristmill_core::text::display_safe_bytes(name.as_bytes()),
    }
}
