//! The samples of a data set by number and by key, through its catalog. Only the most recent windows are cached.

use super::documents::Documents;
use super::files::{read_unchanged, OpenFiles, PartsFiles};
use super::losses::{ReadLosses, MAX_LISTED_LOSSES};
use crate::engine::browse::{BrowsePart, BrowseSample, Catalog, Groups, SampleAt, VisitFields};
use gristmill_core::text::{agree, count};
use gristmill_core::{
    Cancel, DatasetKind, Failure, FileStamp, Mutex, Outcome, Problem, ProblemKind, Severity, Subject,
};
use gristmill_fuse::{MAX_NUMBER, MAX_PARTS};
use gristmill_storage::cache::open_cached;
use gristmill_storage::location::{hint_for, is_remote};
use gristmill_storage::read::stamp_at;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Number of samples per window. Windows start at multiples of it.
const SAMPLES_PER_WINDOW: u64 = 256;
/// Maximum number of cached windows, and of samples cached separately.
const MAX_WINDOWS: usize = 4;
const MAX_SINGLES: usize = 64;
/// Maximum number of parts in a cached window.
const MAX_KEPT_PARTS: usize = 16 << 10;

/// Maximum number of open loose files of a store.
const MAX_OPEN_OBJECTS: usize = 32;

/// Size of a row that cannot be decoded, in bytes. Programs that copy files do not read a file without bytes.
const UNREADABLE_BYTES: u64 = 1;

/// Marks a missing number.
const NO_NUMBER: u64 = u64::MAX;

/// Interval at which the state of a scan is read.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

type Window = Arc<Vec<BrowseSample>>;

/// The position of the marker file of a sample with a repeated key; and its name, which is the same as in the reference program.
pub(super) const MARK_PART: u64 = MAX_PARTS - 1;
pub(super) const REPEATED_MARK: &str = "WARNING_SAME_KEY_IN_MULTIPLE_TAR_FILES";

/// The source of the keys of samples.
enum Keys {
    /// The keys of the data set, with an index in which they are unique.
    Indexed,
    /// The keys of the data set, sorted, with the numbers of their samples.
    Sorted(SortedKeys),
    /// Paths of loose files, sorted, with their numbers.
    Paths(SortedKeys),
    /// The numbers of the samples.
    Numbers,
}

/// Keys with the numbers of their samples, sorted by both.
struct SortedKeys {
    keys: Vec<(Box<str>, u64)>,
    /// Number of repeated keys.
    repeats: u64,
}

impl SortedKeys {
    fn new(mut keys: Vec<(Box<str>, u64)>) -> Self {
        keys.sort_unstable();
        let repeats = keys.chunk_by(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1).count() as u64;
        Self { keys, repeats }
    }

    /// Returns the entries for a key.
    fn of_key(&self, key: &str) -> &[(Box<str>, u64)] {
        let first = self.keys.partition_point(|(known, _)| **known < *key);
        let rest = self.keys.get(first..).unwrap_or_default();
        rest.get(..rest.partition_point(|(known, _)| **known == *key)).unwrap_or_default()
    }
}

/// The samples of an open data set.
pub(super) struct Samples {
    catalog: Arc<dyn Catalog>,
    groups: Arc<Groups>,
    /// The files that contain the parts.
    pub(super) files: PartsFiles,
    /// Windows by number, the most recently used one last.
    windows: Mutex<VecDeque<(u64, Window)>>,
    /// Samples that were fetched separately, by number, the most recent one last. A file is looked up first, and then read.
    singles: Mutex<VecDeque<(u64, BrowseSample)>>,
    /// The number of the most recently requested sample.
    last: AtomicU64,
    /// Whether a window had too many parts to be cached. Sequential reads then fetch one sample at a time.
    has_large_windows: AtomicBool,
    keys: Keys,
    /// The first known stamps of loose files, by number.
    stamps: Mutex<HashMap<u64, FileStamp>>,
    /// Open loose files of a store, by number.
    objects: OpenFiles,
    /// The files of documents, if the samples are packed tokens.
    documents: Option<Documents>,
    /// Reasons for which samples cannot be read, found while samples are listed and opened.
    pub(super) losses: ReadLosses,
}

impl Samples {
    /// Waits until the catalog is complete, because the numbers of samples must not change later. If `has_text`, documents of tokens are
    /// shown as text, too.
    pub(super) fn new(catalog: Arc<dyn Catalog>, has_text: bool, cancel: &Cancel) -> Outcome<Self> {
        let documents = catalog.tokens().map(|set| Documents::new(set, has_text)).transpose()?;
        catalog.scan_all();
        let groups = loop {
            let groups = catalog.groups();
            if groups.is_complete {
                break groups;
            }
            cancel.check()?;
            std::thread::sleep(POLL_INTERVAL);
        };
        if groups.total() >= MAX_NUMBER {
            let why = format!("it has more than {MAX_NUMBER} samples");
            return Err(Failure::data(super::ACTIVITY, why).on(Subject::path(catalog.root())));
        }
        let files = PartsFiles::of(Arc::clone(&catalog), &groups);
        let kind = catalog.kind();
        let keys = if kind.has_loose_files() {
            Keys::Paths(sorted_keys(catalog.as_ref(), &groups, cancel)?)
        } else if !kind.is_web_dataset() && kind != DatasetKind::SingleShard {
            Keys::Numbers
        } else if catalog.has_key_order() && catalog.has_unique_keys(cancel)? {
            Keys::Indexed
        } else {
            Keys::Sorted(sorted_keys(catalog.as_ref(), &groups, cancel)?)
        };
        Ok(Self {
            catalog,
            groups,
            files,
            windows: Mutex::default(),
            singles: Mutex::default(),
            last: AtomicU64::new(NO_NUMBER),
            has_large_windows: AtomicBool::new(false),
            keys,
            stamps: Mutex::default(),
            objects: OpenFiles::new(MAX_OPEN_OBJECTS),
            documents,
            losses: ReadLosses::default(),
        })
    }

    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Returns the path of the data set.
    pub(super) fn root(&self) -> &Path {
        self.catalog.root()
    }

    /// Returns the range of sample numbers of a group.
    pub(super) fn range_of(&self, group: u32) -> std::ops::Range<u64> {
        let start = self.groups.number(SampleAt { group, index: 0 });
        start..start.saturating_add(self.groups.group(group).map_or(0, |group| group.samples))
    }

    pub(super) fn number(&self, sample: &BrowseSample) -> u64 {
        self.groups.number(sample.at)
    }

    pub(super) fn sample(&self, number: u64) -> Outcome<Option<BrowseSample>> {
        let before = self.last.swap(number, Ordering::Relaxed);
        if let Some(sample) = self.kept(number) {
            return Ok(Some(sample));
        }
        match before.checked_add(1) == Some(number) {
            // Files are usually read in the order of the data set.
            true => self.sample_in_window(number),
            false => self.fetch(number),
        }
    }

    fn fetch(&self, number: u64) -> Outcome<Option<BrowseSample>> {
        let Some(at) = self.groups.locate(number) else { return Ok(None) };
        let sample = self.catalog.samples(at, 1, &Cancel::of_thread())?.pop().filter(|sample| sample.at == at);
        let sample = sample.map(|sample| self.with_key(sample));
        sample.iter().for_each(|sample| self.note_loss(sample));
        if let Some(sample) = sample.as_ref().filter(|sample| sample.parts.len() <= MAX_KEPT_PARTS / MAX_SINGLES) {
            let mut singles = self.singles.lock();
            singles.push_back((number, sample.clone()));
            if singles.len() > MAX_SINGLES {
                singles.pop_front();
            }
        }
        Ok(sample)
    }

    /// Returns a cached sample.
    pub(super) fn kept(&self, number: u64) -> Option<BrowseSample> {
        let single = self.singles.lock().iter().rfind(|(known, _)| *known == number).map(|(_, sample)| sample.clone());
        let place = usize::try_from(number % SAMPLES_PER_WINDOW).unwrap_or_default();
        single.or_else(|| self.kept_window(number / SAMPLES_PER_WINDOW)?.get(place).cloned())
    }

    /// Returns the number of a key if it belongs to the most recent sample or the next one, so that sequential access needs no index.
    fn number_near(&self, key: &str) -> Option<u64> {
        let last = self.last.load(Ordering::Relaxed);
        let mut near = [Some(last), last.checked_add(1)].into_iter().flatten();
        near.find(|number| self.kept(*number).is_some_and(|sample| *sample.key == *key))
    }

    /// Returns the sample with this number, and caches its neighbours.
    pub(super) fn sample_in_window(&self, number: u64) -> Outcome<Option<BrowseSample>> {
        if self.has_large_windows.load(Ordering::Relaxed) {
            return self.kept(number).map_or_else(|| self.fetch(number), |sample| Ok(Some(sample)));
        }
        let place = usize::try_from(number % SAMPLES_PER_WINDOW).unwrap_or_default();
        Ok(self.window(number / SAMPLES_PER_WINDOW)?.get(place).cloned())
    }

    /// Passes samples to `take`, starting with a number, until it returns `false`.
    pub(super) fn each_from(&self, first: u64, mut take: impl FnMut(&BrowseSample) -> Outcome<bool>) -> Outcome<()> {
        let mut place = usize::try_from(first % SAMPLES_PER_WINDOW).unwrap_or_default();
        for window in first / SAMPLES_PER_WINDOW..self.groups.total().div_ceil(SAMPLES_PER_WINDOW) {
            let samples = self.window(window)?;
            for sample in samples.iter().skip(place) {
                if !take(sample)? {
                    return Ok(());
                }
            }
            place = 0;
        }
        Ok(())
    }

    /// Records the reason if a sample cannot be read.
    fn note_loss(&self, sample: &BrowseSample) {
        let is_shown = !sample.parts.is_empty();
        if !is_shown || self.is_unreadable(sample) {
            let why = sample.defect.as_deref().unwrap_or("it has no parts");
            let group = self.groups.group(sample.at.group).map(|group| Arc::clone(&group.name));
            self.losses.add(group.unwrap_or_default(), why, is_shown);
        }
    }

    /// Whether a sample without readable content is listed by its number.
    pub(super) fn is_unreadable(&self, sample: &BrowseSample) -> bool {
        self.are_numbered() && sample.byte_size == 0 && sample.defect.is_some()
    }

    fn kept_window(&self, window: u64) -> Option<Window> {
        let mut windows = self.windows.lock();
        let at = windows.iter().rposition(|(known, _)| *known == window)?;
        let found = windows.remove(at)?;
        let samples = Arc::clone(&found.1);
        windows.push_back(found);
        Some(samples)
    }

    fn window(&self, window: u64) -> Outcome<Window> {
        if let Some(samples) = self.kept_window(window) {
            return Ok(samples);
        }
        let Some(at) = self.groups.locate(window.saturating_mul(SAMPLES_PER_WINDOW)) else { return Ok(Arc::default()) };
        let samples =
            self.catalog.samples(at, usize::try_from(SAMPLES_PER_WINDOW).unwrap_or_default(), &Cancel::of_thread())?;
        let samples = Arc::new(samples.into_iter().map(|sample| self.with_key(sample)).collect::<Vec<_>>());
        samples.iter().for_each(|sample| self.note_loss(sample));
        if samples.iter().map(|sample| sample.parts.len()).sum::<usize>() <= MAX_KEPT_PARTS {
            let mut windows = self.windows.lock();
            windows.push_back((window, Arc::clone(&samples)));
            if windows.len() > MAX_WINDOWS {
                windows.pop_front();
            }
        } else {
            self.has_large_windows.store(true, Ordering::Relaxed);
        }
        Ok(samples)
    }

    /// Returns the first sample with this key whose number fits.
    pub(super) fn by_key(&self, key: &str, fits: impl Fn(u64) -> bool) -> Outcome<Option<BrowseSample>> {
        let number = match &self.keys {
            Keys::Sorted(keys) | Keys::Paths(keys) => {
                keys.of_key(key).iter().map(|(_, number)| *number).find(|number| fits(*number))
            }
            Keys::Numbers => key.parse().ok().filter(|number: &u64| number.to_string() == key && fits(*number)),
            Keys::Indexed => {
                if let Some(number) = self.number_near(key).filter(|number| fits(*number)) {
                    return self.sample(number);
                }
                let at = self.catalog.locate(None, key, &Cancel::of_thread())?.filter(|at| self.is_known(*at));
                at.map(|at| self.groups.number(at)).filter(|number| fits(*number))
            }
        };
        number.map_or(Ok(None), |number| self.sample(number))
    }

    /// Whether the key of a sample is valid UTF-8. If not, its row has replacement characters, and no index has the key.
    pub(super) fn has_text_key(&self, sample: &BrowseSample) -> Outcome<bool> {
        if !sample.key.contains(char::REPLACEMENT_CHARACTER) {
            return Ok(true);
        }
        let number = self.number(sample);
        Ok(match &self.keys {
            Keys::Sorted(keys) | Keys::Paths(keys) => {
                keys.of_key(&sample.key).iter().any(|(_, known)| *known == number)
            }
            Keys::Numbers => true,
            Keys::Indexed => self.catalog.locate(None, &sample.key, &Cancel::of_thread())? == Some(sample.at),
        })
    }

    /// Returns the entries for a key; empty if no key is repeated.
    pub(super) fn of_key(&self, key: &str) -> &[(Box<str>, u64)] {
        match &self.keys {
            Keys::Sorted(keys) if keys.repeats > 0 => keys.of_key(key),
            _ => &[],
        }
    }

    /// Whether several samples have the same key.
    pub(super) fn have_repeats(&self) -> bool {
        self.repeated_keys() > 0
    }

    pub(super) fn repeated_keys(&self) -> u64 {
        match &self.keys {
            Keys::Sorted(keys) => keys.repeats,
            _ => 0,
        }
    }

    fn is_known(&self, at: SampleAt) -> bool {
        self.groups.group(at.group).is_some_and(|group| at.index < group.samples)
    }

    /// Whether the keys of samples are their numbers.
    pub(super) fn are_numbered(&self) -> bool {
        matches!(self.keys, Keys::Numbers)
    }

    /// Whether samples are loose files, whose keys are their paths.
    pub(super) fn are_loose_files(&self) -> bool {
        matches!(self.keys, Keys::Paths(_))
    }

    /// Returns the file name of a part in a folder of all samples.
    pub(super) fn name_of(&self, key: &str, part: &str) -> String {
        if self.are_loose_files() {
            return key.to_owned();
        }
        format!("{key}.{part}")
    }

    /// Whether there are files of unknown size: texts of documents, and rows of tables that cannot be decoded.
    pub(super) fn have_unknown_sizes(&self) -> bool {
        self.catalog.kind().table().is_some() || self.documents.as_ref().is_some_and(Documents::has_texts)
    }

    /// Returns the length of a document's text, or 0 if it is not known yet; `None` for other parts.
    pub(super) fn text_bytes(&self, sample: &BrowseSample, position: u64) -> Option<u64> {
        let (documents, set) = self.documents.as_ref().zip(self.catalog.tokens())?;
        documents.text_bytes(set, sample, self.number(sample), position)
    }

    /// Returns a sample with the key that the mount uses, and for tokens with its parts.
    fn with_key(&self, mut sample: BrowseSample) -> BrowseSample {
        match self.keys {
            Keys::Numbers => {
                sample.key = Arc::from(self.number(&sample).to_string());
                if let Some((documents, set)) = self.documents.as_ref().zip(self.catalog.tokens()) {
                    documents.show(set, &mut sample);
                }
                if self.is_unreadable(&sample) && sample.parts.iter().all(|part| part.byte_size == 0) {
                    let (name, byte_size) = (Arc::from("json"), UNREADABLE_BYTES);
                    sample.parts = vec![BrowsePart { name, byte_offset: sample.byte_offset, byte_size }];
                }
            }
            Keys::Paths(_) => {
                let folder = self.groups.group(sample.at.group).map(|group| Arc::clone(&group.name));
                let part = sample.parts.first().map(|part| Arc::clone(&part.name)).unwrap_or_default();
                sample.key = Arc::from(path_of(&folder.unwrap_or_default(), &sample.key, &part));
                if let (Some(stamp), Some(part)) = (self.stamp(&sample), sample.parts.first_mut()) {
                    (part.byte_size, sample.byte_size) = (stamp.bytes, stamp.bytes);
                }
            }
            Keys::Indexed | Keys::Sorted(_) => {}
        }
        sample
    }

    /// Whether the samples were found by scanning the data.
    pub(super) fn were_scanned(&self) -> bool {
        matches!(self.keys, Keys::Sorted(_)) && !self.catalog.has_key_order()
    }

    /// Returns the problems of samples that are not shown, or not with all their parts, as far as they are known after counting.
    pub(super) fn losses(&self, cancel: &Cancel) -> Outcome<Vec<Problem>> {
        let list = self.catalog.problems();
        let is_table = self.catalog.kind().table().is_some();
        if !is_table && !self.were_scanned() {
            // Lines are shown unchanged, even if they are invalid.
            return Ok(Vec::new());
        }
        let others = list.others().iter().filter(|problem| problem.severity > Severity::Note);
        let mut losses: Vec<Problem> = others.map(|problem| Problem::clone(problem)).collect();
        if is_table {
            losses.append(&mut self.catalog.row_problems(cancel)?);
        }
        // Repeated keys are reported separately, and marked in the folders.
        losses.extend(list.iter().filter(|(_, known)| !known.is_repeat()).map(|(at, known)| {
            let shard = self.groups.group(at.group).map(|group| Arc::clone(&group.name)).unwrap_or_default();
            Problem::problem(known.kind, Subject::shard(&*shard), known.why.to_string())
        }));
        let more = losses.len().saturating_sub(MAX_LISTED_LOSSES) as u64;
        losses.truncate(MAX_LISTED_LOSSES);
        if more > 0 {
            let why =
                format!("{} of the data set {} not listed", count(more, "more problem"), agree(more, "is", "are"));
            let command = if is_table { "gristmill lint PATH" } else { "gristmill prepare PATH --dry-run" };
            let hint = hint_for(self.root(), &format!("{command} lists all of them"));
            losses.push(Problem::problem(ProblemKind::Other, Subject::path(self.root()), why).with_hint(hint));
        }
        Ok(losses)
    }

    /// Returns the stamp that the file of a sample had at the time of the mount; for a loose file, its first known stamp.
    pub(super) fn stamp(&self, sample: &BrowseSample) -> Option<FileStamp> {
        if !self.are_loose_files() {
            return self.files.stamp(sample.at.group);
        }
        let number = self.number(sample);
        let seen = || self.stamps.lock();
        if let Some(stamp) = seen().get(&number) {
            return Some(*stamp);
        }
        let stamp = stamp_at(&self.root().join(&*sample.key)).ok()?;
        Some(*seen().entry(number).or_insert(stamp))
    }

    /// Returns up to `count` keys in byte order with their numbers, starting with the first key that is at least `from`.
    pub(super) fn keys_from(&self, from: &str, count: usize) -> Outcome<Vec<(String, u64)>> {
        if let Keys::Sorted(keys) | Keys::Paths(keys) = &self.keys {
            let first = keys.keys.partition_point(|(known, _)| **known < *from);
            let keys = keys.keys.iter().skip(first).take(count);
            return Ok(keys.map(|(key, number)| (key.to_string(), *number)).collect());
        }
        let mut keys = Vec::new();
        self.catalog.keys_from(from, &Cancel::of_thread(), &mut |key, at| {
            if self.is_known(at) {
                keys.push((key.to_owned(), self.groups.number(at)));
            }
            keys.len() < count
        })?;
        Ok(keys)
    }

    /// Returns up to `count` bytes of a part; fewer only at its end.
    pub(super) fn read(&self, sample: &BrowseSample, position: usize, from: u64, count: usize) -> Outcome<Vec<u8>> {
        if let Some((documents, set)) = self.documents.as_ref().zip(self.catalog.tokens()) {
            let number = self.number(sample);
            if let Some(read) = documents.read((set, &self.files), (sample, number), position, from, count) {
                return read;
            }
        }
        if self.is_unreadable(sample) {
            // A store may have been unreachable when the row was listed.
            let again = self.fetch(self.number(sample))?.unwrap_or_else(|| sample.clone());
            return match again.defect.as_deref().filter(|_| self.is_unreadable(&again)) {
                Some(defect) => Err(Failure::data("reading a row", defect).on(Subject::path(self.root()))),
                None => self.read(&again, position, from, count),
            };
        }
        let Some(part) = sample.parts.get(position) else { return Ok(Vec::new()) };
        if from >= part.byte_size {
            return Ok(Vec::new());
        }
        if self.are_loose_files() {
            let path = self.root().join(&*sample.key);
            let file = match is_remote(&path) {
                true => self.objects.get(self.number(sample), || open_cached(&path))?,
                // A file that was replaced or removed is detected.
                false => Arc::new(open_cached(&path)?),
            };
            return read_unchanged(&file, self.stamp(sample), part, from, count);
        }
        self.files.read(sample.at.group, part, from, count, || self.catalog.read(sample, position, from, count))
    }
}

/// Returns all keys in order, with the numbers of their samples; for loose files their paths, without hidden files.
fn sorted_keys(catalog: &dyn Catalog, groups: &Groups, cancel: &Cancel) -> Outcome<SortedKeys> {
    let mut keys = Vec::new();
    let is_loose = catalog.kind().has_loose_files();
    let wanted = VisitFields { keys: true, parts: is_loose, ..VisitFields::default() };
    for (group, folder) in (0u32..).zip(&groups.groups) {
        catalog.visit(group, wanted, cancel, &mut |sample| {
            let number = groups.number(SampleAt { group, index: sample.index });
            if is_loose {
                let path = path_of(&folder.name, sample.key, sample.parts.first().copied().unwrap_or_default());
                if !is_hidden(&path) {
                    keys.push((Box::from(path), number));
                }
            } else if !sample.key.is_empty() {
                // A key that is not UTF-8 is passed as an empty text.
                keys.push((Box::from(sample.key), number));
            }
            true
        })?;
    }
    Ok(SortedKeys::new(keys))
}

/// Returns the path of a loose file. `.` is the data set itself, and a file without a suffix has an empty part.
fn path_of(folder: &str, key: &str, part: &str) -> String {
    let folder = if folder == "." { String::new() } else { format!("{folder}/") };
    match part {
        "" => format!("{folder}{key}"),
        part => format!("{folder}{key}.{part}"),
    }
}

/// Whether a component of a path starts with a dot.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// Returns the parts of a sample with their positions; of parts with the same name, only the first.
pub(super) fn parts_of(sample: &BrowseSample) -> impl Iterator<Item = (u64, &BrowsePart)> {
    let parts = (0..MAX_PARTS).zip(&sample.parts);
    parts.filter(|(position, part)| {
        let before = usize::try_from(*position).unwrap_or(usize::MAX);
        !sample.parts.iter().take(before).any(|earlier| earlier.name == part.name)
    })
}
