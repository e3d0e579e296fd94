//! Kinds of files by the endings of their names. Every part of a name after a dot is an ending: `a.jsonl.gz` has two.

use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Parquet,
    Arrow,
    Json,
    Csv,
    /// CSV with tabs; the reader of CSV reads it, but it counts as a separate kind.
    Tsv,
    Text,
    /// Files without documents; holds their name in sentences.
    Other(&'static str),
}

/// Endings of each kind, in lower case.
const ENDINGS: &[(FileKind, &[&str])] = &[
    (FileKind::Parquet, &["parquet", "geoparquet", "gpq"]),
    (FileKind::Arrow, &["arrow"]),
    (FileKind::Json, &["json", "jsonl", "ndjson"]),
    (FileKind::Csv, &["csv"]),
    (FileKind::Tsv, &["tsv"]),
    (FileKind::Text, &["txt"]),
    (FileKind::Other("tar archives"), &["tar"]),
    (FileKind::Other("pictures"), &["png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff"]),
    (FileKind::Other("sound"), &["wav", "mp3", "flac", "ogg", "opus", "m4a", "aac"]),
    (FileKind::Other("video"), &["mp4", "mkv", "avi", "mov", "webm", "mpeg", "mpg"]),
    (FileKind::Other("PDF"), &["pdf"]),
    (FileKind::Other("HDF5"), &["h5", "hdf5"]),
    (FileKind::Other("XML"), &["xml"]),
    (FileKind::Other("CoNLL"), &["conll", "conllu"]),
    (FileKind::Other("Lance"), &["lance"]),
    (FileKind::Other("Vortex"), &["vortex"]),
    (FileKind::Other("logs of evaluations"), &["eval"]),
];

/// Endings that win if several are equally frequent, the strongest last.
const PREFERRED_ENDINGS: [&str; 7] = ["csv", "json", "jsonl", "arrow", "vortex", "lance", "parquet"];

impl FileKind {
    fn of(ending: &str) -> Option<Self> {
        ENDINGS.iter().find(|(_, endings)| endings.contains(&ending)).map(|(kind, _)| *kind)
    }

    /// Returns the name of the kind in sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Json => "JSON",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Text => "text",
            Self::Other(name) => name,
        }
    }

    /// Whether the reader of this kind reads a file with this name.
    pub(super) fn has(self, path: &str) -> bool {
        let reader = |kind| if kind == Self::Tsv { Self::Csv } else { kind };
        endings(path).filter_map(Self::of).any(|kind| reader(kind) == reader(self))
    }
}

fn endings(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').next().unwrap_or(path).split('.').skip(1)
}

/// Whether a file has an ending of a known kind of data.
pub(super) fn is_known(path: &str) -> bool {
    endings(path).any(|ending| FileKind::of(ending).is_some())
}

/// Whether a file has an ending of a kind with documents.
pub(super) fn is_document_file(path: &str) -> bool {
    endings(path).filter_map(FileKind::of).any(|kind| !matches!(kind, FileKind::Other(_)))
}

/// Returns the kind of the most frequent ending.
pub(super) fn kind_of_files<'p>(paths: impl Iterator<Item = &'p str>) -> Option<FileKind> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for ending in paths.flat_map(endings) {
        *counts.entry(ending.to_lowercase()).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    let rank = |ending: &str| PREFERRED_ENDINGS.iter().position(|favorite| *favorite == ending);
    counts.sort_by_cached_key(|(ending, count)| Reverse((*count, rank(ending), ending.clone())));
    counts.iter().find_map(|(ending, _)| FileKind::of(ending))
}
