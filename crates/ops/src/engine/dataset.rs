//! Opening a data set: its kind, its shards, and the state recorded by an earlier preparation. Reads no tar.

use super::plan::file as plan_file;
use super::recorded::Recorded;
use gristmill_core::{
    DatasetFacts, DatasetKind, ExitClass, Failure, FileStamp, Mutex, Outcome, PreparePlan, PreparedFacts, Problem,
    ProblemKind, Rerun, Scope, Shard, ShardFacts, Subject,
};
use gristmill_data::formats::energon::{info::Info, layout, split_yaml::SplitFile, tables, tar_idx::TarIdx};
use gristmill_data::source::{discover, kind};
use gristmill_pycompat::pattern::Pattern;
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::files_ahead::NamesAhead;
use gristmill_storage::listing::Listing;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{read_whole, stamp_at};
use gristmill_storage::read_ahead::read_names_ahead;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::waiting::for_each_at_once;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Hint for a data set that [has only splits](has_only_splits).
pub(crate) const UPDATE_HINT: &str =
    "gristmill prepare PATH --update reads all shards again and keeps the splits and excludes of its split.yaml";

/// Limit of the size of a recorded plan, in bytes.
const MAX_PLAN_BYTES: u64 = 64 << 20;

/// Returns the facts of a data set that is not written yet, without its shards.
pub fn new_facts(root: PathBuf) -> DatasetFacts {
    DatasetFacts::new(root, DatasetKind::RawWebDataset)
}

/// An opened data set: its shards as files, and as facts for front ends.
#[derive(Clone, Debug)]
pub struct OpenDataset {
    /// Shards in index order, before `--exclude` is applied; parallel to `facts.shards`.
    pub shards: Vec<Shard>,
    /// Facts known before any tar is read.
    pub facts: DatasetFacts,
    /// Stamp of the file that marks the data set as prepared, taken before anything was read; see [`prepared_stamp`].
    pub prepared: Option<FileStamp>,
}

/// Returns the stamp that identifies a publication: it differs after every run that published files.
pub fn prepared_stamp(root: &Path) -> Option<FileStamp> {
    [layout::INFO_JSON, layout::INFO_YAML].iter().find_map(|name| stamp_at(&layout::in_nv_meta(root, name)).ok())
}

/// Begins to fetch the small files of a prepared data set in a store.
pub fn fetch_small_files(root: &Path) -> NamesAhead {
    read_names_ahead(&layout::nv_meta(root), &layout::SMALL_FILES)
}

/// Opens the folder of a WebDataset, prepared or not.
///
/// For any other path, fails with a usage failure that names its kind and the command for it.
pub fn open(root: &Path) -> Outcome<OpenDataset> {
    // The listing of a store has the stamp, too.
    let _ = files::metadata_and_listing(root);
    let prepared = prepared_stamp(root);
    let kind = kind::kind_of(root)?;
    kind.info().shards.map_err(|refusal| refusal.on("opening the data set", &root.to_string_lossy()))?;
    let found = discover::discover(root)?;
    if kind == DatasetKind::Filesystem && found.shards.is_empty() {
        return Err(only_media_metadata(root));
    }
    let mut facts = DatasetFacts::new(root.to_path_buf(), kind);
    facts.opened = true;
    facts.findings = found.findings;
    if !kind.has_splits() && files::is_file(layout::in_nv_meta(root, layout::INDEX_SQLITE)) {
        facts.findings.push(leftover_database());
    }
    facts.prepared = match kind.has_splits() {
        true => read_prepared(root, &found.shards, &mut facts.findings)?,
        false => None,
    };
    facts.shards = found.shards.iter().map(shard_facts).collect();
    if let Some(prepared) = &facts.prepared {
        take_counts(prepared, &mut facts.shards);
    }
    facts.scan_complete = facts.shards.is_empty();
    Ok(OpenDataset { shards: found.shards, facts, prepared })
}

fn only_media_metadata(root: &Path) -> Failure {
    Failure::data("preparing the data set", "the folder holds media metadata and no tar shard")
        .on(Subject::path(root))
        .with_hint("a folder of loose media files is prepared by prepare-media, not by prepare")
}

fn leftover_database() -> Problem {
    Problem::note(
        ProblemKind::LeftoverDatabase,
        Subject::path(format!("{}/{}", layout::NV_META, layout::INDEX_SQLITE)),
        "left over from a run that did not finish; it will be replaced (media metadata in it is kept)",
    )
}

fn shard_facts(shard: &Shard) -> ShardFacts {
    ShardFacts { name: shard.name.clone(), stamp: shard.stamp, is_tgz: shard.is_tgz, ..ShardFacts::default() }
}

/// Takes the sample counts of unchanged shards from the earlier run, before the scan.
fn take_counts(prepared: &PreparedFacts, shards: &mut [ShardFacts]) {
    let changed: HashSet<&str> = prepared.changed_shards.iter().map(String::as_str).collect();
    let counts: HashMap<&str, u64> = prepared.shard_counts.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    for shard in shards.iter_mut().filter(|shard| !changed.contains(shard.name.as_str())) {
        shard.samples = counts.get(shard.name.as_str()).copied().unwrap_or(0);
    }
}

/// Compares the files of an earlier preparation with the current shards on disk.
fn read_prepared(root: &Path, shards: &[Shard], findings: &mut Vec<Problem>) -> Outcome<Option<PreparedFacts>> {
    let _fetched = fetch_small_files(root);
    let info = match Info::read(root) {
        Ok(Some(info)) => info,
        Ok(None) => return Ok(None),
        // The indexed shards are unknown, but excludes and splits are manual work that must be kept.
        Err(failure) if failure.class == ExitClass::Data => {
            let problem = Problem::of_failure(ProblemKind::BadFile, failure);
            findings.push(problem.with_hint("--force-overwrite makes it again; excludes stay"));
            Info::default()
        }
        Err(failure) => return Err(failure),
    };
    prepared_with(info, root, shards, findings).map(Some)
}

/// Whether a data set has `split.yaml` but not the file that marks it as prepared, as when a run on another machine was stopped while it
/// published.
pub(crate) fn has_only_splits(root: &Path) -> bool {
    prepared_stamp(root).is_none() && files::is_file(layout::in_nv_meta(root, layout::SPLIT_YAML))
}

/// Returns the facts for a plan. An update of a data set that [has only splits](has_only_splits) keeps its splits and excludes, and reads
/// all shards.
pub fn facts_for_plan<'f>(plan: &PreparePlan, facts: &'f DatasetFacts) -> Outcome<Cow<'f, DatasetFacts>> {
    let is_update = plan.rerun == Rerun::Update && plan.scope != Scope::TarIndexOnly;
    if !is_update || facts.prepared.is_some() || !has_only_splits(&facts.root) {
        return Ok(Cow::Borrowed(facts));
    }
    let mut facts = facts.clone();
    let message = ".info.json is missing: all shards are read again, and the splits and excludes of split.yaml stay";
    facts.findings.push(Problem::note(ProblemKind::MissingFile, Subject::path(&facts.root), message));
    let shards = discover::discover(&facts.root)?.shards;
    facts.prepared = Some(prepared_with(Info::default(), &facts.root, &shards, &mut facts.findings)?);
    Ok(Cow::Owned(facts))
}

/// Compares the files of an earlier preparation, whose list of shards is `info`, with the current shards on disk.
fn prepared_with(info: Info, root: &Path, shards: &[Shard], findings: &mut Vec<Problem>) -> Outcome<PreparedFacts> {
    let own = RunFolder::for_webdataset(root);
    let recorded = Recorded::read(&own)?;
    let mut prepared = PreparedFacts {
        version: info.energon_version.clone(),
        by_gristmill: files::is_file(own.plan()),
        plan: recorded_plan(&own)?.map(Box::new),
        shard_counts: info.shard_counts,
        ..PreparedFacts::default()
    };
    let split_yaml = layout::in_nv_meta(root, layout::SPLIT_YAML);
    // Read before the file: an edit between the two steps is then detected as a change.
    prepared.split_version = files::metadata(&split_yaml).ok().map(|info| info.stamp);
    match SplitFile::read(root) {
        Ok(Some(file)) => {
            let (splits, bad) = file.expanded();
            prepared.splits = splits;
            for item in bad {
                let subject = Subject::field(item.item.clone());
                findings.push(Problem::problem(ProblemKind::BadBraces, subject, format!("split.yaml: {}", item.error)));
            }
            findings.extend(file.repeated_excludes(&split_yaml));
            prepared.excludes = file.exclude;
        }
        Ok(None) => findings.push(Problem::problem(
            ProblemKind::MissingFile,
            Subject::path(split_yaml),
            "the data set is prepared but has no split.yaml",
        )),
        Err(failure) => findings.push(Problem::of_failure(ProblemKind::BadFile, failure)),
    }
    prepared.user_excludes = recorded.as_ref().map(|recorded| recorded.user_excludes.clone()).unwrap_or_default();
    compare(root, shards, recorded.as_ref(), &mut prepared)?;
    if tables_know_more(root, prepared.shard_counts.len()) {
        // Rows refer to a shard by its position in the list. If a shard is missing, the positions after it shift.
        let indexed: HashSet<&str> = prepared.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
        let names = shards.iter().map(|shard| &shard.name).filter(|name| indexed.contains(name.as_str()));
        prepared.changed_shards = names.cloned().collect();
        prepared.retimed_shards.clear();
        let message =
            "index.sqlite has rows of more shards than .info.json lists; which rows belong to which is unknown";
        findings.push(
            Problem::problem(ProblemKind::IndexMismatch, Subject::path(root.join(layout::NV_META)), message)
                .with_hint("an update reads every shard again"),
        );
    }
    Ok(prepared)
}

/// Whether the tables contain rows of a shard beyond the list. Unreadable tables are reported by another check.
fn tables_know_more(root: &Path, listed: usize) -> bool {
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    if listed == 0 || !files::is_file(&database) {
        return false;
    }
    let last = tables::open_readonly(&database)
        .ok()
        .and_then(|db| db.query_row("SELECT max(tar_file_id) FROM samples", [], |row| row.get::<_, i64>(0)).ok());
    last.is_some_and(|last| usize::try_from(last).is_ok_and(|last| last >= listed))
}

/// Returns the plan of the last run of this program; `None` if it cannot be parsed (newer version, or edited manually).
pub(crate) fn recorded_plan(own: &RunFolder) -> Outcome<Option<PreparePlan>> {
    let bytes = read_whole(&own.plan(), MAX_PLAN_BYTES)?;
    Ok(bytes.and_then(|bytes| plan_file::from_yaml(std::str::from_utf8(&bytes).ok()?).ok()))
}

fn compare(root: &Path, shards: &[Shard], recorded: Option<&Recorded>, prepared: &mut PreparedFacts) -> Outcome<()> {
    let indexed: HashSet<&str> = prepared.shard_counts.iter().map(|(name, _)| name.as_str()).collect();
    let on_disk: HashSet<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
    let stamps = recorded.map(Recorded::stamps).unwrap_or_default();
    let indexes = IndexFiles { root, listing: OnceLock::new(), ends: Mutex::default() };
    let is_foreign =
        |shard: &&Shard| indexed.contains(shard.name.as_str()) && !stamps.contains_key(shard.name.as_str());
    indexes.read_ends(shards.iter().filter(is_foreign))?;
    let mut new_shards = Vec::new();
    let (mut changed, mut retimed) = (Vec::new(), Vec::new());
    let on_purpose = left_out_on_purpose(prepared.plan.as_deref());
    for shard in shards {
        if !indexed.contains(shard.name.as_str()) {
            if !on_purpose(&shard.name) && !has_indexed_tar(&shard.name, &indexed) {
                new_shards.push(shard.name.clone());
            }
        } else if let Some(change) = change_of(shard, &stamps, &indexes)? {
            changed.push(shard.name.clone());
            if change == ShardChange::Time {
                retimed.push(shard.name.clone());
            }
        }
    }
    let missing: Vec<String> = prepared
        .shard_counts
        .iter()
        .map(|(name, _)| name)
        .filter(|name| !on_disk.contains(name.as_str()))
        .cloned()
        .collect();
    prepared.new_shards = new_shards;
    prepared.changed_shards = changed;
    prepared.retimed_shards = retimed;
    prepared.missing_shards = missing;
    Ok(())
}

/// The index files next to shards, listed on first use.
struct IndexFiles<'a> {
    root: &'a Path,
    listing: OnceLock<Listing>,
    /// The ends of shards according to their indexes in a store, which are read together.
    ends: Mutex<HashMap<String, Outcome<u64>>>,
}

impl IndexFiles<'_> {
    /// Reads the ends of shards in a store, with one request each.
    fn read_ends<'s>(&self, shards: impl Iterator<Item = &'s Shard>) -> Outcome<()> {
        let shards: Vec<&Shard> = shards.filter(|shard| is_remote(&shard.path) && !shard.is_tgz).collect();
        let read = |shard: &&Shard| {
            let end = TarIdx::open(&self.root.join(shard.index_name())).and_then(|offsets| offsets.end());
            self.ends.lock().insert(shard.name.clone(), end);
            Ok(())
        };
        for_each_at_once(&shards, read, || ())
    }

    /// Returns the end of a shard according to its index.
    fn end_of(&self, shard: &Shard) -> Outcome<u64> {
        let known = self.ends.lock().remove(&shard.name);
        known.unwrap_or_else(|| TarIdx::open(&self.root.join(shard.index_name()))?.end())
    }

    fn info(&self, path: &Path) -> Outcome<Option<FileInfo>> {
        const ACTIVITY: &str = "looking for indexes";
        let listing = match self.listing.get() {
            Some(listing) => listing,
            None => {
                let listing = Listing::of(self.root).map_err(|error| Failure::io(ACTIVITY, self.root, &error))?;
                self.listing.get_or_init(|| listing)
            }
        };
        listing.info(path).map_err(|error| Failure::io(ACTIVITY, path, &error))
    }
}

/// Whether the recorded plan omits a shard, which is then not reported as new.
pub(crate) fn left_out_on_purpose(plan: Option<&PreparePlan>) -> impl Fn(&str) -> bool {
    let texts = plan.map(|plan| plan.exclude_shards.as_slice()).unwrap_or_default();
    let patterns: Vec<Pattern> = texts.iter().filter_map(|text| Pattern::compile(text).ok()).collect();
    move |name| patterns.iter().any(|pattern| pattern.is_found(name))
}

/// Whether a finding of [`open`] concerns a plan. Findings about unread files that the plan omits do not.
pub(crate) fn concerns(plan: Option<&PreparePlan>) -> impl Fn(&Problem) -> bool {
    let on_purpose = left_out_on_purpose(plan);
    move |finding| {
        finding.kind != ProblemKind::UnreadShard || !finding.subject.shard.as_deref().is_some_and(&on_purpose)
    }
}

/// Whether this is a `.tgz` whose `.tar` is indexed. Only one of the two can be indexed, because both use the same `.tar.idx`.
pub(crate) fn has_indexed_tar(name: &str, indexed: &HashSet<&str>) -> bool {
    name.strip_suffix(".tgz").is_some_and(|stem| indexed.contains(format!("{stem}.tar").as_str()))
}

/// The difference between a shard and its state at the last run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShardChange {
    /// Only its time or inode differs, as in a copy that does not preserve times.
    Time,
    /// Its size differs, or it has no index.
    Content,
}

/// Compares a shard with the state recorded by the last run of this program. In a data set that another program prepared, a shard counts as
/// changed if it is newer than its `.tar.idx`, or too short for it.
///
/// In a store, times are those of uploads, in any order, and are ignored. A shard is then identified by its recorded version, if it was in
/// the store when it was recorded.
fn change_of(
    shard: &Shard,
    stamps: &HashMap<&str, FileStamp>,
    indexes: &IndexFiles<'_>,
) -> Outcome<Option<ShardChange>> {
    let is_object = is_remote(&shard.path);
    if let Some(stamp) = stamps.get(shard.name.as_str()) {
        let is_uploaded = is_object && !stamp.is_of_object();
        return Ok(match stamp.bytes == shard.stamp.bytes {
            false => Some(ShardChange::Content),
            true if is_object => (stamp.inode != shard.stamp.inode && !is_uploaded).then_some(ShardChange::Time),
            true => (*stamp != shard.stamp).then_some(ShardChange::Time),
        });
    }
    let path = indexes.root.join(shard.index_name());
    let index = match indexes.info(&path) {
        Ok(Some(index)) => index,
        Err(failure) if is_object => return Err(failure),
        _ => return Ok(Some(ShardChange::Content)),
    };
    if !shard.is_tgz {
        match indexes.end_of(shard) {
            Ok(end) if end <= shard.stamp.bytes => {}
            // If the store does not answer, it is unknown whether the shard has changed.
            Err(failure) if is_object && failure.class == ExitClass::Environment => return Err(failure),
            _ => return Ok(Some(ShardChange::Content)),
        }
    }
    Ok((!is_object && shard.stamp.modified_ns > index.stamp.modified_ns).then_some(ShardChange::Time))
}

/// Marks shards as unchanged again if only their time differs and their headers match the index.
pub fn accept_times(opened: &mut OpenDataset, unchanged: &HashSet<String>) {
    let Some(prepared) = &mut opened.facts.prepared else { return };
    prepared.retimed_shards.clear();
    prepared.changed_shards.retain(|name| !unchanged.contains(name));
    take_counts(prepared, &mut opened.facts.shards);
}
