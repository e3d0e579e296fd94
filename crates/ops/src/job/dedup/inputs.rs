//! The inputs of a run: the files of the earlier set followed by those of the folder, in their global order, and the units in which they
//! are read.

use super::layout::Layout;
use super::split::{Division, Memory, TABLE_MEMORY};
use crate::engine::dedup::original::Index;
use crate::engine::dedup::output::CompressedOutput;
use crate::job::damage::{leave_out_files, DamagedRows};
use crate::job::fetch::{fetch, FetchRequest};
use crate::job::job_progress::cost;
use crate::job::pool::run_units;
use crate::job::task::TaskContext;
use gristmill_core::{text, Cancel, DedupPlan, ExitClass, Failure, FileStamp, Outcome, Problem, RunOptions, Subject};
use gristmill_data::formats::bsade::{shard_folder, METADATA, METAOFF, OFFSET, TOKENIZED};
use gristmill_data::source::dedup::{line_from, list, reading_memory, text_field, Position, TextFile, HUB_RULES};
use gristmill_data::source::documents::{text_share, unpacked_share, HubSnapshot, Packing, Selection};
use gristmill_dedup::{Rule, Scanner};
use gristmill_storage::files;
use gristmill_storage::listing::find_changed;
use gristmill_storage::location::{is_remote, threads_for};
use gristmill_storage::read::{open_part, stamp_at};
use gristmill_storage::remote::address_of;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Limit of the search for the start of a line where a file is divided, in bytes; without a line start in this range, the file is not
/// divided there.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum number of files in a store that are divided at once, each with several requests.
const MAX_DIVIDED: usize = 8;
/// Minimum size of a part of a file, in bytes.
const MIN_FILE_PART_BYTES: u64 = 1 << 10;

/// Limit of compressed files examined to estimate the length of their text, and of the bytes read from each.
const EXAMINED_FILES: usize = 8;
const EXAMINED_BYTES: u64 = 1 << 20;

/// Lines of one file that begin at or after `from` and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineRange {
    /// Index among all files.
    pub(super) file: usize,
    /// Boundary between two lines.
    pub(super) from: Position,
    /// Offset in the uncompressed file, in bytes.
    pub(super) to: u64,
}

impl LineRange {
    /// Returns all lines of a file.
    pub(super) fn whole(file: usize) -> Self {
        Self { file, from: Position { offset: 0, line: 0 }, to: u64::MAX }
    }
}

/// The files of a run.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    /// The file or folder that is read in addition to the earlier set.
    root: PathBuf,
    /// Whether `root` is in the cache of the hub and the plan names its address.
    is_remote: bool,
    /// All files, those of the earlier set first.
    pub(super) files: Vec<TextFile>,
    /// Number of files of the earlier set.
    pub(super) earlier_count: usize,
    pub(super) problems: Vec<Problem>,
    /// An index that is read instead of a folder; its shards take the place of files.
    index: Option<Index>,
    /// Further files of the index that are read.
    extra_files: Vec<(PathBuf, FileStamp)>,
    /// Estimated bytes of text per hundred bytes of compressed files.
    per_hundred: u64,
    /// Limits of the memory for reading a file and for compressing its output, in bytes.
    reading: u64,
    packing: u64,
}

/// Downloads the input of a plan if it is a data set of the hub; for a preview, only lists it.
pub(super) fn fetch_remote(plan: &DedupPlan, is_preview: bool, context: &TaskContext) -> Outcome<Option<HubSnapshot>> {
    let (inputs, rules) = (&[PathBuf::from(&plan.input)], &[&HUB_RULES]);
    let selection = Selection { all_splits: true, ..Selection::default() };
    let request =
        FetchRequest { inputs, selection, rules, byte_cost: 2.0 * cost::BYTE_READ + cost::BYTE_COPIED, is_preview };
    Ok(fetch(&request, context)?.into_iter().next())
}

/// Finds the inputs of a plan. `snapshot` is the input if it is a data set of the hub.
pub(super) fn find(
    plan: &DedupPlan,
    snapshot: Option<&HubSnapshot>,
    options: &RunOptions,
    cancel: &Cancel,
) -> Outcome<Inputs> {
    let root = snapshot.map_or_else(|| PathBuf::from(&plan.input), HubSnapshot::path);
    let mut inputs = Inputs { root, is_remote: snapshot.is_some(), ..Inputs::default() };
    if let Some(against) = &plan.against {
        inputs.add(Path::new(against), plan.compat, options, cancel)?;
        inputs.earlier_count = inputs.files.len();
    }
    match &plan.from_index {
        Some(index) => inputs.add_index(Path::new(index))?,
        None => inputs.add(&inputs.root.clone(), plan.compat, options, cancel)?,
    }
    if let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.is_file) {
        // The cache may contain other files of the repository.
        let chosen: HashSet<&str> = snapshot.chosen(Selection::default(), &HUB_RULES)?.into_iter().collect();
        let own = inputs.files.split_off(inputs.earlier_count);
        inputs.files.extend(own.into_iter().filter(|file| chosen.contains(file.name.as_str())));
    }
    inputs.sample_packed(plan, cancel)?;
    Ok(inputs)
}

impl Inputs {
    fn add(&mut self, path: &Path, follows_reference: bool, options: &RunOptions, cancel: &Cancel) -> Outcome<()> {
        let mut found = list(path, follows_reference, cancel)?;
        found.problems.extend(leave_out_files(&mut found.files, options, cancel)?);
        self.files.extend(found.files);
        self.problems.extend(found.problems);
        Ok(())
    }

    /// Determines the memory needed for compressed files, and estimates the compression ratio from the beginning of some of them.
    fn sample_packed(&mut self, plan: &DedupPlan, cancel: &Cancel) -> Outcome<()> {
        for file in &self.files {
            self.reading = self.reading.max(reading_memory(file)?);
            self.packing = self.packing.max(writing_memory(file));
        }
        let packed: Vec<&TextFile> = self.files.iter().filter(|file| !file.has_plain_lines()).collect();
        let (mut bytes, mut text) = (0_u64, 0_u64);
        for file in packed.iter().step_by(packed.len().div_ceil(EXAMINED_FILES).max(1)) {
            cancel.check()?;
            let (taken, given) = match file.source.is_table() {
                true => match text_share(file, &text_field(&plan.text_key), EXAMINED_BYTES, cancel) {
                    // Damage is reported when the rows are read.
                    Err(failure) if failure.class == ExitClass::Data => continue,
                    share => share?,
                },
                false => unpacked_share(file, EXAMINED_BYTES)?,
            };
            (bytes, text) = (bytes + taken, text + given);
        }
        self.per_hundred = (100 * text / bytes.max(1)).max(100);
        Ok(())
    }

    /// Excludes damaged row groups if the options accept damage. Returns a problem for each.
    pub(super) fn leave_out_damage(
        &mut self,
        text_key: &str,
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<Vec<Problem>> {
        let damaged = DamagedRows::find(&self.line_files(), &text_field(text_key), options, cancel)?;
        self.files.iter_mut().for_each(|file| file.damaged = damaged.of(&file.path));
        Ok(damaged.problems)
    }

    /// Returns how the memory of a run is divided.
    pub(super) fn memory(&self, rule: &Rule, options: &RunOptions) -> Memory {
        Memory::of(options.memory_bytes, options.threads.max(1), self.working_memory(rule), self.files.len())
    }

    /// Refuses a memory limit that is too small for the window of a decoder or for the data of each file.
    pub(super) fn check_memory(&self, rule: &Rule, memory: u64) -> Outcome<()> {
        let working = self.working_memory(rule);
        let least = Memory::least(working, self.files.len());
        if least <= memory {
            return Ok(());
        }
        let enough = format!("give --memory {}M or more", least.div_ceil(1 << 20));
        if Memory::least(working, 0) <= memory {
            let why = format!(
                "the names, sizes and counts of {} do not fit into {} of memory",
                text::count(self.files.len() as u64, "file"),
                text::bytes(memory)
            );
            let hint = format!("{enough}, or put the lines of many files into one");
            return Err(Failure::usage("deduplicating", why).on(Subject::field("--memory")).with_hint(hint));
        }
        let needs = |file: &&TextFile| reading_memory(file).unwrap_or_default();
        let largest = self.files.iter().max_by_key(needs).map(|file| Subject::path(&file.path)).unwrap_or_default();
        let why = format!(
            "decompressing it needs {} for its window; {} are allowed",
            text::bytes(self.reading),
            text::bytes(memory)
        );
        let hint = format!("{enough}, or compress it with a smaller window");
        Err(Failure::usage("deduplicating", why).on(largest).with_hint(hint))
    }

    /// Refuses an output that contains an input file, or is inside a subfolder that is read. Links are resolved.
    pub(super) fn refuse_overlap(&self, plan: &DedupPlan, layout: &Layout) -> Outcome<()> {
        // The shards of an index are not in this list.
        let files = self.line_files();
        let refuse = |why: String, name: &str| {
            let failure = Failure::usage("deduplicating", why).on(Subject::field("--output"));
            Err(failure.with_hint(format!("{} is read, too; name another folder", text::display_safe(name))))
        };
        // The folder of a file that is named directly may contain the output.
        let root = |path: &Path| match files::is_file(path) {
            true => path.parent().unwrap_or(path).to_owned(),
            false => path.to_owned(),
        };
        let named = [Some(self.root.as_path()), plan.against.as_deref().map(Path::new)];
        let roots: Vec<PathBuf> = named.into_iter().flatten().map(root).collect();
        let places: Vec<PathBuf> = layout.places().map(real).collect();
        let mut seen: HashMap<&Path, PathBuf> = HashMap::new();
        for file in files {
            let Some(folder) = file.path.parent() else { continue };
            if !seen.contains_key(folder) {
                let inner = folder.ancestors().take_while(|folder| !roots.iter().any(|root| root == folder));
                for folder in inner {
                    if let Some(place) = places.iter().find(|place| place.starts_with(real(folder))) {
                        let place = text::display_safe(&place.to_string_lossy()).into_owned();
                        return refuse(format!("{place} is in a folder that is read by a link"), &file.name);
                    }
                }
                seen.insert(folder, real(folder));
            }
            let is_link = files::is_symlink(&file.path);
            let path = match (is_link, seen.get(folder), file.path.file_name()) {
                (false, Some(folder), Some(name)) => folder.join(name),
                _ => real(&file.path),
            };
            if places.iter().any(|place| path.starts_with(place)) {
                return refuse("it contains a file that is read".to_owned(), &file.name);
            }
        }
        Ok(())
    }

    /// Returns the memory that a thread uses for reading and writing.
    fn working_memory(&self, rule: &Rule) -> u64 {
        self.reading + self.packing.max(Scanner::memory(rule))
    }

    fn add_index(&mut self, folder: &Path) -> Outcome<()> {
        let index = Index::open(folder)?;
        for number in 0..index.shards {
            let shard = shard_folder(folder, number);
            for name in [OFFSET, METADATA, METAOFF] {
                let path = shard.join(name);
                let stamp = stamp_at(&path)?;
                self.extra_files.push((path, stamp));
            }
            let path = shard.join(TOKENIZED);
            let stamp = stamp_at(&path)?;
            let (name, packing) = (number.to_string(), Packing::Plain);
            self.files.push(TextFile {
                path,
                name,
                bytes: stamp.bytes,
                stamp,
                packing,
                source: &gristmill_data::source::documents::Jsonl,
                rows: None,
                damaged: Vec::new(),
            });
        }
        self.index = Some(index);
        Ok(())
    }

    /// Returns the folder of the shard that takes the place of a file.
    pub(super) fn shard_of(&self, file: usize) -> Option<PathBuf> {
        let number = u32::try_from(file.checked_sub(self.earlier_count)?).ok()?;
        self.index.as_ref().map(|index| shard_folder(&index.folder, number))
    }

    /// Returns the number of shards of an index.
    pub(super) fn shards(&self) -> Option<u32> {
        self.index.as_ref().map(|index| index.shards)
    }

    /// Returns the files whose output is written: all except the earlier set.
    pub(super) fn written_files(&self) -> &[TextFile] {
        self.files.get(self.earlier_count..).unwrap_or_default()
    }

    /// Returns every file that is read line by line, or row by row.
    pub(super) fn line_files(&self) -> Vec<&TextFile> {
        let count = if self.index.is_some() { self.earlier_count } else { self.files.len() };
        self.files.iter().take(count).collect()
    }

    /// Returns every file whose documents are lines.
    pub(super) fn files_of_lines(&self) -> Vec<&TextFile> {
        self.line_files().into_iter().filter(|file| !file.source.is_table()).collect()
    }

    /// Returns the paths of all input files with the stamps they had when they were found.
    pub(super) fn stamps(&self) -> impl Iterator<Item = (&Path, FileStamp)> {
        let beside = self.extra_files.iter().map(|(path, stamp)| (path.as_path(), *stamp));
        self.files.iter().map(|file| (file.path.as_path(), file.stamp)).chain(beside)
    }

    /// Returns the address of a downloaded file of the hub, including its commit.
    pub(super) fn address(&self, path: &Path) -> Option<String> {
        address_of(path).filter(|_| self.is_remote && path.starts_with(&self.root))
    }

    /// Returns the size on disk of all files, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the size on disk of a range of lines, in bytes.
    pub(super) fn bytes_of(&self, stretch: &LineRange) -> u64 {
        let end = self.files.get(stretch.file).map_or(0, |file| file.bytes);
        end.min(stretch.to).saturating_sub(stretch.from.offset)
    }

    /// Returns the approximate size of the text in bytes; for uncompressed files never less than the actual size.
    pub(super) fn text_bytes(&self) -> u64 {
        let of = |file: &TextFile| match file.has_plain_lines() {
            true => file.bytes,
            false => file.bytes.saturating_mul(self.per_hundred) / 100,
        };
        self.files.iter().map(of).sum()
    }

    /// Whether a file is read and written in parts, so that several threads have work.
    pub(super) fn is_divided(&self, number: usize, division: &Division) -> bool {
        let Some(file) = self.files.get(number) else { return false };
        let least = division.unit_bytes.max(MIN_FILE_PART_BYTES);
        file.has_plain_lines() && self.shard_of(number).is_none() && file.bytes > least
    }

    /// Returns the units of reading: consecutive files of one set with about the size given by the division. Each part of a larger file is
    /// a unit of its own; lines of a part are counted from its beginning.
    pub(super) fn units(&self, division: &Division, cancel: &Cancel) -> Outcome<Vec<Vec<LineRange>>> {
        let divided: Vec<usize> = (0..self.files.len()).filter(|at| self.is_divided(*at, division)).collect();
        let threads = self.files.first().map_or(1, |file| threads_for(&file.path, 1).min(MAX_DIVIDED));
        let mut parts =
            run_units(&divided, threads, cancel, |number| self.parts(*number, division, cancel))?.into_iter();
        let mut units = Vec::new();
        let (mut unit, mut bytes) = (Vec::new(), 0_u64);
        for (at, file) in self.files.iter().enumerate() {
            if !unit.is_empty() && (at == self.earlier_count || bytes.saturating_add(file.bytes) > division.unit_bytes)
            {
                units.push(std::mem::take(&mut unit));
                bytes = 0;
            }
            if self.is_divided(at, division) {
                units.extend(parts.next().into_iter().flatten().map(|part| vec![part]));
                continue;
            }
            unit.push(LineRange::whole(at));
            bytes = bytes.saturating_add(file.bytes);
        }
        if !unit.is_empty() {
            units.push(unit);
        }
        Ok(units)
    }

    /// Returns the parts of an uncompressed file, each consisting of whole lines.
    fn parts(&self, number: usize, division: &Division, cancel: &Cancel) -> Outcome<Vec<LineRange>> {
        let whole = LineRange::whole(number);
        let Some(file) = self.files.get(number) else { return Ok(vec![whole]) };
        let count = file.bytes.div_ceil(division.unit_bytes.max(MIN_FILE_PART_BYTES));
        let (mut parts, mut from) = (Vec::new(), 0);
        let wanted: Vec<u64> =
            (1..count).map(|part| (u128::from(file.bytes) * u128::from(part) / u128::from(count)) as u64).collect();
        // For an object in a store, requests only the range around the first boundary.
        let first = wanted.first().map_or(0..u64::MAX, |first| first.saturating_sub(1)..*first);
        let open = open_part(&file.path, first)?;
        let find = |wanted: &u64| line_from(&open, *wanted, MAX_LINE_BYTES, cancel);
        // For an object in a store, all boundaries are searched for in parallel.
        let known = match is_remote(&file.path) {
            true => run_units(&wanted, threads_for(&file.path, 1), cancel, find)?,
            false => Vec::new(),
        };
        for (at, wanted) in wanted.into_iter().enumerate() {
            if wanted <= from {
                // The boundary is inside a line that is longer than a part.
                continue;
            }
            if let Some(to) = known.get(at).map_or_else(|| find(&wanted), |known| Ok(*known))? {
                parts.push(LineRange { file: number, from: Position { offset: from, line: 0 }, to });
                from = to;
            }
        }
        parts.push(LineRange { from: Position { offset: from, line: 0 }, ..whole });
        Ok(parts)
    }

    /// Returns a hash of the current state of the files.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = format!("{}\n", self.earlier_count);
        for file in &self.files {
            text.push_str(&format!("{:?} {:?} {:?} {:?}\n", file.path, file.name, file.stamp, file.packing));
            file.damaged.iter().for_each(|rows| text.push_str(&format!("{rows:?}\n")));
        }
        text.push_str(&format!("{:?}", self.extra_files));
        format!("{:032x}", xxh3_128(text.as_bytes()))
    }

    /// Fails if a file has changed since it was found.
    pub(super) fn check_unchanged(&self, cancel: &Cancel) -> Outcome<()> {
        let Some(changed) = find_changed(self.stamps(), cancel)? else { return Ok(()) };
        let why =
            if changed.is_missing { "it was removed while it was read" } else { "it was written to while it was read" };
        Err(Failure::data("deduplicating", why)
            .on(Subject::path(changed.path))
            .with_hint("wait until no program writes to it, then run the same command again"))
    }
}

/// Returns the memory that writing a file takes, in bytes.
fn writing_memory(file: &TextFile) -> u64 {
    match file.source.is_table() {
        true => TABLE_MEMORY,
        false => CompressedOutput::memory(Packing::of_name(&file.name)),
    }
}

/// Resolves the links of a path; for a path that does not exist yet, those of its existing parents.
fn real(path: &Path) -> PathBuf {
    if is_remote(path) {
        // Stores have no links.
        return path.to_owned();
    }
    for folder in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (files::canonicalize(folder), path.strip_prefix(folder)) {
            return real.join(rest);
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    fn file(name: &str, bytes: u64) -> TextFile {
        let stamp = FileStamp { bytes, modified_ns: 0, inode: 0 };
        TextFile {
            path: PathBuf::from(name),
            name: name.into(),
            bytes,
            stamp,
            packing: Packing::Plain,
            source: &gristmill_data::source::documents::Jsonl,
            rows: None,
            damaged: Vec::new(),
        }
    }

    #[test]
    fn units_cover_every_file_once_and_do_not_mix_both_sets() {
        let files: Vec<TextFile> = (0..20).map(|number| file(&number.to_string(), number * 10)).collect();
        for earlier in [0, 1, 7, 20] {
            for unit_bytes in [1, 100, 250, 10_000] {
                let inputs = Inputs { files: files.clone(), earlier_count: earlier, ..Inputs::default() };
                let division = Division { unit_bytes, parts: 1, narrow: true };
                let units = inputs.units(&division, &Cancel::default()).unwrap();
                let all: Vec<usize> = units.iter().flatten().map(|stretch| stretch.file).collect();
                assert_eq!(all, (0..20).collect::<Vec<_>>());
                for unit in units {
                    let is_earlier = |stretch: &LineRange| stretch.file < earlier;
                    assert!(unit.iter().all(is_earlier) || !unit.iter().any(is_earlier), "{unit:?} {earlier}");
                    let bytes: u64 = unit.iter().map(|stretch| inputs.files[stretch.file].bytes).sum();
                    assert!(bytes <= unit_bytes || unit.len() <= 2, "{unit:?}");
                }
            }
        }
        let division = Division { unit_bytes: 1, parts: 1, narrow: true };
        assert!(Inputs::default().units(&division, &Cancel::default()).unwrap().is_empty());
    }
}
