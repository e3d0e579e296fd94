//! Locates the subject of a problem in a data set: its sample, or the nearest one.

use super::{BrowseSample, Catalog, SampleAt, VisitFields};
use gristmill_core::{Cancel, Outcome, Subject};
use gristmill_storage::files;
use std::path::Path;
use std::sync::Arc;

/// Samples that are listed at a time during the search for one sample.
const WINDOW: usize = 256;

/// The location of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectLocation {
    /// The subject is a sample, or inside a sample.
    Sample {
        /// The location of the sample.
        at: SampleAt,
        /// The sample's key, raw.
        key: Arc<str>,
    },
    /// The subject is between samples or after the last one; contains the location of the preceding sample.
    Near(SampleAt),
    /// The subject is at an unknown position in this group.
    Group(u32),
    /// The subject was not found in the part of the data set that is known so far.
    Unknown,
}

impl SubjectLocation {
    /// Returns the sample to show; for a group, its first sample.
    pub fn sample(&self, catalog: &dyn Catalog) -> Option<SampleAt> {
        match self {
            Self::Sample { at, .. } | Self::Near(at) => Some(*at),
            Self::Group(group) => {
                let has_samples = catalog.groups().group(*group).is_some_and(|known| known.samples > 0);
                has_samples.then_some(SampleAt { group: *group, index: 0 })
            }
            Self::Unknown => None,
        }
    }
}

/// Finds the subject of a problem: by its shard and the key of a sample or the name of an entry, by an offset in its shard or file, or by
/// its line. A path must be that of the data set, or of a file in its folder.
pub fn place_of(catalog: &dyn Catalog, subject: &Subject, cancel: &Cancel) -> Outcome<SubjectLocation> {
    if let (Some(path), None) = (&subject.path, &subject.shard) {
        return in_file(catalog, Path::new(path), subject, cancel);
    }
    if let Some(key) = &subject.key {
        if let Some((at, key)) = named(catalog, subject.shard.as_deref(), key, cancel)? {
            return Ok(SubjectLocation::Sample { at, key });
        }
    }
    let Some(group) = subject.shard.as_deref().and_then(|shard| catalog.groups().named(shard)) else {
        return Ok(SubjectLocation::Unknown);
    };
    match (subject.byte_offset, &subject.key) {
        (Some(offset), _) => sample_at_offset(catalog, group, offset, cancel),
        (None, Some(key)) => find_in_group(catalog, group, key, cancel),
        (None, None) => Ok(SubjectLocation::Group(group)),
    }
}

/// Finds a sample by its key that has no row in the tables, as another sample has the same key.
fn find_in_group(catalog: &dyn Catalog, group: u32, key: &str, cancel: &Cancel) -> Outcome<SubjectLocation> {
    let (mut start, count) = (0, catalog.groups().group(group).map_or(0, |group| group.samples));
    while start < count {
        let samples = catalog.samples(SampleAt { group, index: start }, WINDOW, cancel)?;
        let of_group = samples.iter().take_while(|sample| sample.at.group == group);
        if let Some(sample) = of_group.clone().find(|sample| *sample.key == *key) {
            return Ok(SubjectLocation::Sample { at: sample.at, key: Arc::clone(&sample.key) });
        }
        match of_group.last() {
            Some(last) => start = last.at.index + 1,
            None => break,
        }
    }
    Ok(SubjectLocation::Group(group))
}

/// Finds a file that is the data set itself, or is in its folder.
fn in_file(catalog: &dyn Catalog, path: &Path, subject: &Subject, cancel: &Cancel) -> Outcome<SubjectLocation> {
    let (root, path) = (files::absolute_or_same(catalog.root()), files::absolute_or_same(path));
    if root != path {
        return match catalog.kind() {
            kind if kind.has_loose_files() => loose_file(catalog, &root, &path, cancel),
            _ => Ok(SubjectLocation::Unknown),
        };
    }
    if catalog.groups().group(0).is_none() {
        return Ok(SubjectLocation::Unknown);
    }
    if let Some(tokens) = catalog.tokens() {
        let row = match subject.byte_offset {
            Some(byte) => tokens.row_holding(0, byte)?,
            None => None,
        };
        return Ok(row.map_or(SubjectLocation::Group(0), SubjectLocation::Near));
    }
    let offset = match (subject.byte_offset, subject.line) {
        (Some(offset), _) => Some(offset),
        (None, Some(line)) => catalog.line_start(line, cancel)?,
        (None, None) => return Ok(SubjectLocation::Group(0)),
    };
    match offset {
        Some(offset) => sample_at_offset(catalog, 0, offset, cancel),
        None => Ok(SubjectLocation::Unknown),
    }
}

/// Finds a file in a data set whose groups are folders and whose samples are files.
fn loose_file(catalog: &dyn Catalog, root: &Path, path: &Path, cancel: &Cancel) -> Outcome<SubjectLocation> {
    let Ok(relative) = path.strip_prefix(root) else { return Ok(SubjectLocation::Unknown) };
    let name = relative.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let folder = relative.parent().map(|folder| folder.to_string_lossy()).filter(|folder| !folder.is_empty());
    let folder = folder.unwrap_or_else(|| ".".into());
    let Some(group) = catalog.groups().named(&folder) else { return Ok(SubjectLocation::Unknown) };
    let mut found = None;
    let wanted = VisitFields { keys: true, parts: true, ..VisitFields::default() };
    catalog.visit(group, wanted, cancel, &mut |sample| {
        let part = sample.parts.first().copied().unwrap_or_default();
        let rest = name.strip_prefix(sample.key);
        if rest.is_some_and(|rest| rest == part || rest.strip_prefix('.') == Some(part)) {
            found = Some((SampleAt { group, index: sample.index }, Arc::from(sample.key)));
        }
        found.is_none()
    })?;
    Ok(found.map_or(SubjectLocation::Group(group), |(at, key)| SubjectLocation::Sample { at, key }))
}

/// Finds a sample by its name, or by the name of one of its entries.
fn named(
    catalog: &dyn Catalog,
    shard: Option<&str>,
    name: &str,
    cancel: &Cancel,
) -> Outcome<Option<(SampleAt, Arc<str>)>> {
    if let Some(at) = catalog.locate(shard, name, cancel)? {
        return Ok(Some((at, Arc::from(name))));
    }
    let Some((key, _)) = gristmill_data::source::tar::split_name(name) else { return Ok(None) };
    Ok(catalog.locate(shard, key, cancel)?.map(|at| (at, Arc::from(key))))
}

/// Finds the sample that contains an offset of a group, or the last one before it.
fn sample_at_offset(catalog: &dyn Catalog, group: u32, offset: u64, cancel: &Cancel) -> Outcome<SubjectLocation> {
    let is_in = |sample: &BrowseSample| offset < sample.byte_offset.saturating_add(sample.byte_size);
    let (mut low, mut high) = (0, catalog.groups().group(group).map_or(0, |group| group.samples));
    let mut before: Option<BrowseSample> = None;
    while low < high {
        let index = low + (high - low) / 2;
        let Some(sample) = catalog.samples(SampleAt { group, index }, 1, cancel)?.pop() else { break };
        if sample.at.group != group {
            break;
        }
        if sample.byte_offset > offset {
            high = index;
            continue;
        }
        low = index + 1;
        before = Some(sample);
    }
    Ok(match before {
        Some(sample) if is_in(&sample) => SubjectLocation::Sample { at: sample.at, key: sample.key },
        Some(sample) => SubjectLocation::Near(sample.at),
        None => SubjectLocation::Group(group),
    })
}
