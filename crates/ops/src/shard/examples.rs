//! Examples of samples for previews: the first, the largest, and random ones. Also shows how the key rules divide file names.

use super::list::InputFile;
use super::record::ListedSample;
use super::sample::{Origin, Part};
use super::source::{divide_name, image_of};
use gristmill_core::shard_plan::{InputKind, KeyRule};
use gristmill_core::{Failure, Outcome, PartFacts, SampleMapping};
use gristmill_storage::read::open_any;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of random samples, of parts per sample, and of file names.
const MAX_RANDOM: usize = 16;
const MAX_PARTS: usize = 64;
const MAX_NAMES: usize = 6;
/// Maximum number of part names that are counted separately.
const MAX_PART_NAMES: usize = 1_000;
/// Maximum number of bytes of a part made from a row that are stored.
const MAX_MADE_BYTES: usize = 64 << 10;

/// A part of a sample that will be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FuturePart {
    /// Name of the part; not escaped for display.
    pub name: String,
    /// Length in bytes.
    pub bytes: u64,
    /// The source file of the part; empty if the part is made from a row.
    pub from: String,
    /// Location of the bytes of the part.
    pub content: PartContent,
}

/// Location of the bytes of a part, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartContent {
    /// The bytes are not available, for example in a deleted decompressed copy.
    #[default]
    Unknown,
    /// The first bytes, in memory.
    Bytes(Vec<u8>),
    /// A range of a file.
    Range {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte.
        offset: u64,
    },
}

impl FuturePart {
    /// Reads up to `limit` bytes from an offset.
    pub fn read(&self, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        let count = usize::try_from(self.bytes.saturating_sub(from)).unwrap_or(usize::MAX).min(limit);
        match &self.content {
            PartContent::Unknown => Err(Failure::data(PART_ACTIVITY, "it cannot be read before it is written")),
            PartContent::Bytes(bytes) => {
                let rest = usize::try_from(from).ok().and_then(|from| bytes.get(from..)).unwrap_or_default();
                Ok(rest.get(..count).unwrap_or(rest).to_vec())
            }
            PartContent::Range { path, offset } => {
                let mut bytes = vec![0; count];
                let read = open_any(path)?.read_exact_at(&mut bytes, offset.saturating_add(from));
                read.map_err(|error| Failure::io(PART_ACTIVITY, path, &error)).map(|()| bytes)
            }
        }
    }
}

const PART_ACTIVITY: &str = "reading a part";

/// A sample that will be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FutureSample {
    /// Key of the sample; not escaped for display.
    pub key: String,
    /// The first parts of the sample.
    pub parts: Vec<FuturePart>,
    /// Number of all parts of the sample.
    pub part_count: u64,
    /// Size of all parts, in bytes.
    pub bytes: u64,
}

/// A file name, divided by a rule into key and part; `None` if it has no dot.
pub type DividedName = Option<(String, String)>;

/// A file name, divided by both key rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameExample {
    /// The file name.
    pub name: String,
    /// The name, divided at the first dot.
    pub first_dot: DividedName,
    /// The name, divided at the last dot.
    pub last_dot: DividedName,
}

/// The kind and size of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputExample {
    /// How the input is read.
    pub kind: InputKind,
    /// Number of samples in the input.
    pub samples: u64,
}

/// Total of the parts with the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartShare {
    /// Name of the parts; not escaped for display.
    pub name: String,
    /// Number of samples with this part.
    pub samples: u64,
    /// Total size of these parts, in bytes.
    pub bytes: u64,
}

/// Counts the parts of samples by their names.
#[derive(Clone, Debug, Default)]
pub struct PartTally {
    samples: u64,
    /// Number of samples and bytes for each part name.
    names: HashMap<Vec<u8>, (u64, u64)>,
    unlisted: u64,
}

impl PartTally {
    /// Adds the parts of a sample by names and sizes. The names of a sample's parts must be distinct.
    pub fn add<'p>(&mut self, parts: impl IntoIterator<Item = (&'p [u8], u64)>) {
        self.samples += 1;
        for (name, bytes) in parts {
            if let Some((samples, sum)) = self.names.get_mut(name) {
                (*samples, *sum) = (*samples + 1, sum.saturating_add(bytes));
            } else if self.names.len() < MAX_PART_NAMES {
                self.names.insert(name.to_owned(), (1, bytes));
            } else {
                self.unlisted += 1;
            }
        }
    }

    /// Returns the number of samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the totals by name, the most frequent names first.
    pub fn shares(&self) -> Vec<PartShare> {
        let share = |(name, &(samples, bytes)): (&Vec<u8>, &(u64, u64))| PartShare {
            name: String::from_utf8_lossy(name).into_owned(),
            samples,
            bytes,
        };
        let mut shares: Vec<PartShare> = self.names.iter().map(share).collect();
        shares.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
        shares
    }

    /// Returns the number of samples and bytes for each part name.
    pub(super) fn facts(&self) -> BTreeMap<String, PartFacts> {
        let facts = |share: PartShare| (share.name, PartFacts { samples: share.samples, bytes: share.bytes });
        self.shares().into_iter().map(facts).collect()
    }

    /// Returns the number of parts whose names are not counted separately.
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }
}

/// Examples of the samples that will be written.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// The first sample.
    pub first: Option<FutureSample>,
    /// Random samples.
    pub random: Vec<FutureSample>,
    /// The sample with the most bytes.
    pub largest: Option<FutureSample>,
    /// Names of loose files; names for which the key rules give different keys come first.
    pub names: Vec<NameExample>,
    /// The kind and size of each input.
    pub inputs: Vec<InputExample>,
    /// Counts of the parts of all samples before the choice of parts, by their new names.
    pub parts: PartTally,
    /// How the only input is loaded, if it is prepared and all its parts are written.
    pub input_mapping: Option<SampleMapping>,
    sample_count: u64,
}

impl Examples {
    /// Adds the next sample.
    pub(super) fn add_sample(&mut self, listed: &ListedSample, files: &[InputFile]) {
        let bytes = listed.sample.parts.iter().map(|part| part.bytes).sum();
        let make = || FutureSample::of(listed, bytes, files);
        if self.first.is_none() {
            self.first = Some(make());
        }
        if self.largest.as_ref().is_none_or(|largest| bytes > largest.bytes) {
            self.largest = Some(make());
        }
        // Reservoir sampling with a fixed seed.
        let place = xxh3_64(&self.sample_count.to_le_bytes()) % (self.sample_count + 1);
        self.sample_count += 1;
        if self.random.len() < MAX_RANDOM {
            self.random.push(make());
        } else if let Some(kept) = self.random.get_mut(usize::try_from(place).unwrap_or(usize::MAX)) {
            *kept = make();
        }
        listed.sample.parts.iter().for_each(|part| self.add_name(part));
    }

    fn add_name(&mut self, part: &Part) {
        let differs = |name: &NameExample| name.first_dot != name.last_dot;
        if self.names.iter().filter(|name| differs(name)).count() >= MAX_NAMES {
            return;
        }
        let Origin::File { path, .. } = &part.origin else { return };
        let name = path.file_name().unwrap_or_default();
        let dots = name.as_encoded_bytes().iter().filter(|byte| **byte == b'.').count();
        if dots < 2 && self.names.len() >= MAX_NAMES {
            return;
        }
        let name = name.to_string_lossy().into_owned();
        let divided = |rule| divide_name(&name, rule);
        let (first_dot, last_dot) = (divided(KeyRule::FirstDot), divided(KeyRule::LastDot));
        let example = NameExample { name, first_dot, last_dot };
        match differs(&example) {
            true => self.names.insert(0, example),
            false if self.names.len() < MAX_NAMES => self.names.push(example),
            false => {}
        }
        self.names.truncate(MAX_NAMES);
    }
}

impl FutureSample {
    /// Returns the image object, if the sample comes from a file of annotations.
    pub fn annotated_image(&self) -> Option<Map<String, Value>> {
        let row = self.parts.iter().find(|part| part.name == "json")?;
        match &row.content {
            PartContent::Bytes(row) => image_of(row),
            _ => None,
        }
    }

    fn of(listed: &ListedSample, bytes: u64, files: &[InputFile]) -> Self {
        let parts = &listed.sample.parts;
        let shown = parts.iter().take(MAX_PARTS).map(|part| FuturePart {
            name: String::from_utf8_lossy(&part.name).into_owned(),
            bytes: part.bytes,
            content: content_of(&part.origin, files),
            from: match &part.origin {
                Origin::File { path, .. } => text_of(path),
                Origin::Range { file, .. } | Origin::Sparse { file, .. } => {
                    files.get(file.0 as usize).map(|file| text_of(file.of_input().0)).unwrap_or_default()
                }
                Origin::Bytes(_) => String::new(),
            },
        });
        Self {
            key: String::from_utf8_lossy(&listed.sample.key).into_owned(),
            parts: shown.collect(),
            part_count: parts.len() as u64,
            bytes,
        }
    }
}

fn content_of(origin: &Origin, files: &[InputFile]) -> PartContent {
    match origin {
        Origin::File { path, .. } => PartContent::Range { path: path.clone(), offset: 0 },
        Origin::Range { file, offset } => match files.get(file.0 as usize).filter(|file| file.original.is_none()) {
            Some(file) => PartContent::Range { path: file.path.clone(), offset: *offset },
            None => PartContent::Unknown,
        },
        Origin::Sparse { .. } => PartContent::Unknown,
        Origin::Bytes(bytes) => PartContent::Bytes(bytes.get(..MAX_MADE_BYTES).unwrap_or(bytes).to_vec()),
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard::sample::{Sample, SourceFile};
    use gristmill_core::FileStamp;

    fn listed(key: &str, parts: Vec<Part>) -> ListedSample {
        let sample = Sample { key: key.into(), split: None, shard: String::new(), parts, is_excluded: false };
        ListedSample { input: 0, sample }
    }

    fn file(name: &str, bytes: u64) -> Part {
        let path = Path::new("/data").join(name);
        let name = name.rsplit('.').next().unwrap_or_default();
        Part { name: name.into(), bytes, origin: Origin::File { path, stamp: FileStamp::default() } }
    }

    #[test]
    fn first_largest_and_random_samples_are_kept_as_examples() {
        let mut examples = Examples::default();
        for number in 0..1000u64 {
            let parts = vec![file(&format!("{number}.txt"), if number == 700 { 9 } else { 1 })];
            examples.add_sample(&listed(&number.to_string(), parts), &[]);
        }
        let key = |sample: &Option<FutureSample>| sample.as_ref().unwrap().key.clone();
        assert_eq!((key(&examples.first), key(&examples.largest)), ("0".to_owned(), "700".to_owned()));
        let random: Vec<u64> = examples.random.iter().map(|sample| sample.key.parse().unwrap()).collect();
        assert!(random.len() == MAX_RANDOM && random.iter().any(|number| *number > 500), "{random:?}");
        assert_eq!(examples.random[0].parts[0].from, format!("/data/{}.txt", random[0]));
    }

    #[test]
    fn part_tally_counts_samples_and_bytes_by_part_name() {
        let mut tally = PartTally::default();
        tally.add([(&b"txt"[..], 3), (b"jpg", 3)]);
        tally.add([(&b"jpg"[..], 3)]);
        let share = |name: &str, samples, bytes| PartShare { name: name.to_owned(), samples, bytes };
        assert_eq!((tally.samples(), tally.shares()), (2, vec![share("jpg", 2, 6), share("txt", 1, 3)]));
        (0..MAX_PART_NAMES).for_each(|number| tally.add([(number.to_string().as_bytes(), 1)]));
        assert_eq!((tally.shares().len(), tally.unlisted()), (MAX_PART_NAMES, 2));
    }

    #[test]
    fn examples_list_names_first_on_which_the_key_rules_differ() {
        let mut examples = Examples::default();
        let names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt", "g.seg.png", "h.txt"];
        names.iter().for_each(|name| examples.add_sample(&listed("k", vec![file(name, 1)]), &[]));
        let pair = |key: &str, part: &str| Some((key.to_owned(), part.to_owned()));
        let first = &examples.names[0];
        assert_eq!((&first.first_dot, &first.last_dot), (&pair("g", "seg.png"), &pair("g_seg", "png")));
        assert_eq!(examples.names.len(), MAX_NAMES);
        let made = Part { name: b"json".to_vec(), bytes: 2, origin: Origin::Bytes(b"{}".to_vec()) };
        let gone = Part { name: b"x".to_vec(), bytes: 2, origin: Origin::Range { file: SourceFile(7), offset: 0 } };
        examples.add_sample(&listed("big", vec![made, gone, file("z", 90)]), &[]);
        let largest = examples.largest.unwrap();
        assert_eq!((largest.part_count, largest.bytes), (3, 94));
        assert!(largest.parts.iter().take(2).all(|part| part.from.is_empty()));
        assert_eq!(largest.parts[0].read(1, 9).unwrap(), b"}");
        assert!(largest.parts[1].read(0, 9).is_err());
    }
}
