//! Estimates which entries a filter selects before the run, for questions and `--dry-run`.

use super::pick::{picks, ProbeVerdict, Prober};
use gristmill_core::{Cancel, DatasetFacts, MediaFacts, MediaFilter, MediaPlan, MediaType};
use gristmill_data::source::compressed_start;
use gristmill_data::source::media_folder;
use gristmill_media::kind::{type_by_extension, type_by_header, HEADER_BYTES};
use gristmill_media::{ByteSource, Part};
use gristmill_storage::read::{open_read, ReadFile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Number of entries that are probed as examples.
const MAX_PROBED: usize = 3;
/// Maximum number of listed kinds of entries; all others are counted as one more.
const MAX_LISTED_KINDS: usize = 40;

/// The estimate of the entries that a filter selects.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MediaForecast {
    /// Extensions (`jpg`), or `by header: xyz` if only the content decides, each with its type and the number of entries found so far; most
    /// frequent first.
    pub by_type: Vec<(String, MediaType, u64)>,
    /// The first selected entries, each with its facts or an error; at most 3.
    #[serde(serialize_with = "as_pairs")]
    pub probed: Vec<(String, Result<MediaFacts, String>)>,
    /// Number of entries that would be probed, as far as they are counted.
    pub candidates: u64,
}

fn as_pairs<S: serde::Serializer>(
    probed: &[(String, Result<MediaFacts, String>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct ForecastRow<'a> {
        entry: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        facts: Option<&'a MediaFacts>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
    }
    serializer.collect_seq(probed.iter().map(|(entry, result)| ForecastRow {
        entry,
        facts: result.as_ref().ok(),
        error: result.as_ref().err().map(String::as_str),
    }))
}

/// Counts of entries by extension.
#[derive(Default)]
struct EndingCounts(BTreeMap<String, (MediaType, u64)>);

impl EndingCounts {
    fn add(&mut self, name: String, media_type: MediaType, count: u64) {
        let full = self.0.len() >= MAX_LISTED_KINDS && !self.0.contains_key(&name);
        let name = if full { "others".to_owned() } else { name };
        self.0.entry(name).or_insert((media_type, 0)).1 += count;
    }
    fn sorted(self) -> Vec<(String, MediaType, u64)> {
        let mut list: Vec<_> = self.0.into_iter().map(|(name, (kind, count))| (name, kind, count)).collect();
        list.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
        list
    }
}

/// Returns the extension in the form in which it is listed.
fn ending(name: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.rsplit_once('.').map_or_else(String::new, |(_, end)| end.to_lowercase())
}

/// Estimates the entries that a plan selects in a WebDataset, from the part names of the samples scanned so far, and from the first
/// samples.
///
/// Counts are numbers of samples with a part. If a pattern or the content decides, the first samples represent all: a part is counted if
/// the entry of one of them is selected.
pub fn forecast(facts: &DatasetFacts, plan: &MediaPlan) -> MediaForecast {
    let cancel = Cancel::default();
    let mut counted = EndingCounts::default();
    let mut seen = MediaForecast::default();
    for (part, figures) in &facts.parts {
        let of_part = || EntrySketch::of(facts, part);
        let picked = match &plan.filter {
            MediaFilter::Extension => {
                type_by_extension(&format!("x.{part}")).map(|kind| (kind, ending(&format!(".{part}"))))
            }
            MediaFilter::Header => by_content(part, of_part),
            MediaFilter::Glob(_) => {
                let matches = of_part().into_iter().filter(|entry| picks(&plan.filter, &entry.name));
                let matches: Vec<EntrySketch> = matches.collect();
                if matches.is_empty() {
                    continue;
                }
                let by_name = type_by_extension(&format!("x.{part}")).map(|kind| (kind, ending(&format!(".{part}"))));
                by_name.or_else(|| by_content(part, || matches))
            }
        };
        if plan.filter == MediaFilter::Header || picked.is_some() {
            seen.candidates += figures.samples;
        }
        if let Some((kind, name)) = picked {
            counted.add(name, kind, figures.samples);
        }
    }
    seen.by_type = counted.sorted();
    seen.probed = first_facts(facts, plan, &cancel);
    seen
}

/// An entry of a sample that was recorded by the scan.
struct EntrySketch {
    name: String,
    part: String,
    shard: String,
    offset: u64,
    size: u64,
    root: std::path::PathBuf,
}

impl EntrySketch {
    fn all(facts: &DatasetFacts) -> impl Iterator<Item = Self> + '_ {
        facts.sketches.iter().flat_map(move |sketch| {
            sketch.parts.iter().map(move |(part, offset, size)| Self {
                name: format!("{}.{part}", sketch.key),
                part: part.clone(),
                shard: sketch.shard.clone(),
                offset: *offset,
                size: *size,
                root: facts.root.clone(),
            })
        })
    }
    fn of(facts: &DatasetFacts, part: &str) -> Vec<Self> {
        Self::all(facts).filter(|entry| entry.part == part).take(MAX_PROBED).collect()
    }
    /// Opens the archive, unless it is compressed.
    fn open(&self) -> Option<ReadFile> {
        let file = open_read(&self.root.join(&self.shard)).ok()?;
        (!compressed_start(&file)).then_some(file)
    }
}

/// Returns the type by content, from the first entry whose content identifies it; otherwise by name.
fn by_content(part: &str, entries: impl FnOnce() -> Vec<EntrySketch>) -> Option<(MediaType, String)> {
    let by_name = type_by_extension(&format!("x.{part}"));
    let label = |kind| match by_name {
        Some(named) if named == kind => ending(&format!(".{part}")),
        _ => format!("by header: {part}"),
    };
    for entry in entries() {
        let Some(file) = entry.open() else { continue };
        let content = Part::new(&file, entry.offset, entry.size);
        let mut first = vec![0; usize::try_from(entry.size).unwrap_or(HEADER_BYTES).min(HEADER_BYTES)];
        let Ok(count) = content.read_at(&mut first, 0) else { continue };
        first.truncate(count);
        if let Some(kind) = type_by_header(&first) {
            return Some((kind, label(kind)));
        }
    }
    by_name.map(|kind| (kind, label(kind)))
}

fn first_facts(facts: &DatasetFacts, plan: &MediaPlan, cancel: &Cancel) -> Vec<(String, Result<MediaFacts, String>)> {
    let mut prober = Prober::new(plan, false, cancel);
    let mut found = Vec::new();
    for entry in EntrySketch::all(facts).filter(|entry| picks(&plan.filter, &entry.name)) {
        let Some(file) = entry.open() else { continue };
        let content = Part::new(&file, entry.offset, entry.size);
        found.extend(probe_entry(&mut prober, entry.name, &content));
        if found.len() == MAX_PROBED {
            break;
        }
    }
    found
}

fn probe_entry(
    prober: &mut Prober<'_>,
    name: String,
    source: &dyn ByteSource,
) -> Option<(String, Result<MediaFacts, String>)> {
    let result = match prober.probe(&name, source).ok()? {
        ProbeVerdict::Other => return None,
        ProbeVerdict::Media { facts: Some(facts), damage: None, .. } => Ok(facts),
        ProbeVerdict::Media { damage, .. } => Err(damage.unwrap_or_default()),
        ProbeVerdict::NotMedia(why) | ProbeVerdict::Broken(why) => Err(why),
        ProbeVerdict::Unreadable(error) => Err(error.to_string()),
    };
    Some((name, result))
}

/// Estimates the entries that a filter selects in a folder of loose media, from the files found.
pub fn of_files(root: &Path, plan: &MediaPlan, files: &media_folder::FileList, cancel: &Cancel) -> MediaForecast {
    let mut counted = EndingCounts::default();
    let mut seen = MediaForecast { candidates: files.len() as u64, ..MediaForecast::default() };
    let mut prober = Prober::new(plan, false, cancel);
    for name in files.names() {
        if let Some(kind) = type_by_extension(name) {
            counted.add(ending(name), kind, 1);
        }
        if seen.probed.len() < MAX_PROBED {
            if let Ok(file) = open_read(&root.join(name)) {
                seen.probed.extend(probe_entry(&mut prober, name.to_owned(), &file));
            }
        }
    }
    seen.by_type = counted.sorted();
    seen
}
