//! The file tree of a mounted data set: samples as files, read through the catalog that the browser uses, too.
//!
//! No memory is needed per sample: an inode number contains the number of a sample, and all other data come from the tables of the data
//! set. This module knows neither the kernel nor how file systems are mounted; file names follow `gristmill_fuse::names`.

mod documents;
mod files;
mod flat;
mod folders;
mod keys;
mod lines;
mod losses;
mod samples;
mod selection;
#[cfg(test)]
mod tests;

pub use losses::ReadLosses;

use crate::browse;
use crate::engine::browse::{BrowseSample, Marks, TokenView};
use folders::{root_inode, Content, Folder, Folders};
use gristmill_core::text::hint_for;
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_data::source::kind::kind_of;
use gristmill_fuse::{Entry, EntryKind, Node, Refusal, Totals, Tree};
use gristmill_storage::read::stamp_at;
use samples::{Samples, MARK_PART};
use selection::{read_marks, Scope, Selection};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

const ACTIVITY: &str = "mounting the data set";

/// How samples are arranged in folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Entries under their own names, where slashes become folders. Numbered lines are in folders of ten thousand.
    #[default]
    Tree,
    /// One folder with files `KEY.PART`.
    Flat,
    /// A folder for each sample, with its parts.
    Folders,
    /// The tree, with additional folders for shards, splits and excluded samples.
    All,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Flat, Self::Folders, Self::All];

    /// Returns the name of the layout.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Flat => "flat",
            Self::Folders => "folders",
            Self::All => "all",
        }
    }
}

/// The options of a mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountView {
    /// How samples are arranged.
    pub layout: Layout,
    /// The split whose samples are shown; `None` means all samples.
    pub split: Option<String>,
    /// Whether to show documents of tokens as text, too.
    pub decode: bool,
    /// The tokenizer for their text, by path or name; `None` means the one that the files name.
    pub tokenizer: Option<String>,
}

/// A data set as folders and files.
pub struct MountedSet {
    samples: Arc<Samples>,
    layout: Layout,
    /// The samples that the whole mount shows.
    selection: Selection,
    /// The data that depends on the splits.
    state: RwLock<Arc<State>>,
    /// Modification time of the folders.
    time: SystemTime,
}

/// The marks and folders, which change with the splits.
struct State {
    marks: Marks,
    folders: Folders,
}

impl MountedSet {
    /// Opens a data set. `cancel` stops waiting for a scan.
    pub fn open(path: &Path, view: &MountView, cancel: &Cancel) -> Outcome<Self> {
        let kind = kind_of(path)?;
        refuse_unsupported(path, kind, view)?;
        let layout = view.layout;
        let tokens = TokenView { tokenizer: view.tokenizer.clone(), ..TokenView::default() };
        let samples = Arc::new(Samples::new(browse::open_tokens(path, &tokens)?, view.decode, cancel)?);
        let selection = view.split.as_deref().map_or(Selection::All, |name| Selection::Split(Arc::from(name)));
        let time = stamp_at(path).map_or(SystemTime::UNIX_EPOCH, |stamp| time_of(stamp.modified_ns));
        let state = RwLock::new(Arc::new(State::read(&samples, layout, &selection)?));
        let set = Self { samples, layout, selection, state, time };
        set.examine_files()?;
        Ok(set)
    }

    /// Returns the number of samples, of all splits.
    pub fn sample_count(&self) -> u64 {
        self.samples.groups().total()
    }

    /// Returns the number of samples that are shown: those of the split without the excluded ones, or all.
    pub fn shown_count(&self) -> u64 {
        let (state, groups) = (self.state(), self.samples.groups());
        let shown = (0..).zip(&groups.groups).map(|(number, group)| match &self.selection {
            Selection::All => group.samples,
            selection if !selection.has_shard(&state.marks, number) => 0,
            _ => group.samples.saturating_sub(state.marks.samples_named_in(number)),
        });
        shown.sum()
    }

    /// Returns the number of repeated keys. For each of them, only the first sample is shown.
    pub fn repeated_keys(&self) -> u64 {
        self.samples.repeated_keys()
    }

    /// Whether all headers were read because the data set has no index of samples.
    pub fn was_scanned(&self) -> bool {
        self.samples.were_scanned()
    }

    /// Returns the problems of damaged shards and files, of files with unknown contents, and of samples that are not shown completely.
    /// Reads tables that do not state their number of rows.
    pub fn problems(&self, cancel: &Cancel) -> Outcome<Vec<Problem>> {
        let groups = self.samples.groups().groups.iter();
        let problem = |name: &str, why: &str, is_shown: bool| {
            let end = if is_shown { "" } else { "; nothing of it is shown" };
            Problem::problem(ProblemKind::Unreadable, Subject::shard(name), format!("{why}{end}"))
        };
        let damaged = groups.filter_map(|group| Some(problem(&group.name, group.failure.as_ref()?, group.samples > 0)));
        let mut problems: Vec<Problem> = damaged.collect();
        problems.append(&mut self.samples.losses(cancel)?);
        Ok(problems)
    }

    /// Returns the list of the losses that are found while the data set is mounted.
    pub fn losses(&self) -> ReadLosses {
        self.samples.losses.clone()
    }

    /// Records sizes and times of all files on a separate thread, because there may be many files.
    fn examine_files(&self) -> Outcome<()> {
        let samples = Arc::clone(&self.samples);
        let thread = std::thread::Builder::new().name("mount".to_owned());
        let started = thread.spawn(move || samples.files.examine());
        started.map(drop).map_err(|error| Failure::io("starting a thread", self.samples.root(), &error))
    }

    fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn folder_entry(&self, inode: u64) -> Entry {
        Entry { inode, kind: EntryKind::Folder, bytes: 0, time: self.time }
    }

    fn sample_time(&self, sample: &BrowseSample) -> SystemTime {
        self.samples.stamp(sample).map_or(self.time, |stamp| time_of(stamp.modified_ns))
    }

    /// Returns the entry of a part; `None` if its numbers exceed the limits of inodes.
    fn part_entry(&self, sample: &BrowseSample, position: u64) -> Option<Entry> {
        let inode = Node::Part { number: self.samples.number(sample), part: position }.inode()?;
        let time = self.sample_time(sample);
        if position == MARK_PART {
            let is_there = self.marks_repeats() && self.samples.of_key(&sample.key).len() > 1;
            return is_there.then_some(Entry { inode, kind: EntryKind::Mark, bytes: 0, time });
        }
        let part = sample.parts.get(usize::try_from(position).ok()?)?;
        let (kind, bytes) = match self.samples.text_bytes(sample, position) {
            Some(bytes) => (EntryKind::Stream, bytes),
            // If its file is read successfully later, the kernel must not know the size of the failure.
            None if self.samples.is_unreadable(sample) => (EntryKind::Stream, part.byte_size),
            None => (EntryKind::File, part.byte_size),
        };
        Some(Entry { inode, kind, bytes, time })
    }

    fn sample_entry(&self, sample: &BrowseSample) -> Option<Entry> {
        let inode = Node::Sample { number: self.samples.number(sample) }.inode()?;
        Some(Entry { inode, kind: EntryKind::Folder, bytes: sample.byte_size, time: self.sample_time(sample) })
    }

    fn sample(&self, number: u64) -> Result<BrowseSample, Refusal> {
        self.samples.sample(number)?.ok_or(Refusal::Missing)
    }

    /// Returns the sample and the position of the part for an inode.
    fn part(&self, inode: u64) -> Result<(BrowseSample, u64), Refusal> {
        match Node::of(inode) {
            Some(Node::Part { number, part }) => Ok((self.sample(number)?, part)),
            _ => Err(Refusal::Missing),
        }
    }

    /// Returns the scope of the whole mount.
    fn full_scope<'a>(&'a self, state: &'a State) -> Scope<'a> {
        state.scope(&self.selection, 0..self.sample_count())
    }

    /// Whether a folder shows the sample with this number and key. Of several samples with the same key, it shows the first.
    fn shows(&self, scope: &Scope<'_>, key: &str, number: u64) -> bool {
        self.shown_number(scope, key, number) == Some(number)
    }

    /// Whether a marker file is added to the first sample of a repeated key. The tree layout has none, because it is copied unchanged.
    fn marks_repeats(&self) -> bool {
        self.samples.have_repeats() && matches!(self.layout, Layout::Flat | Layout::Folders)
    }

    /// Returns the number of the sample that a folder shows for a key, given one of its rows; `None` if it shows none.
    fn shown_number(&self, scope: &Scope<'_>, key: &str, number: u64) -> Option<u64> {
        match self.samples.have_repeats() {
            true => self.shown_of_key(scope, key).next(),
            false => self.is_in(scope, key, number).then_some(number),
        }
    }

    fn is_in(&self, scope: &Scope<'_>, key: &str, number: u64) -> bool {
        let at = self.samples.groups().locate(number).filter(|_| scope.range.contains(&number));
        at.is_some_and(|at| scope.selection.has_sample(scope.marks, at.group, key))
    }

    /// Returns the numbers of all samples with a key that are in a folder. Empty if no key is repeated.
    fn shown_of_key<'a>(&'a self, scope: &'a Scope<'a>, key: &'a str) -> impl Iterator<Item = u64> + 'a {
        let numbers = self.samples.of_key(key).iter().map(|(_, number)| *number);
        numbers.filter(move |number| self.is_in(scope, key, *number))
    }

    /// Lists a folder for a given state of the splits.
    fn list_in(
        &self,
        state: &State,
        inode: u64,
        after: u64,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> Result<(), Refusal> {
        let after = match after {
            0 => None,
            after => Some(Node::of(after).ok_or(Refusal::Missing)?),
        };
        match Node::of(inode).ok_or(Refusal::Missing)? {
            Node::Root | Node::Fixed(_) => {
                let folder = state.folders.get(inode).ok_or(Refusal::Missing)?;
                if !self.list_folders(state, folder, after, add) {
                    return Ok(());
                }
                let after = after.filter(|node| !matches!(node, Node::Fixed(_)));
                let all = || 0..self.sample_count();
                match &folder.content {
                    Some(Content::Flat(range, selection)) => {
                        self.list_flat(&state.scope(selection, range.clone()), after, add)
                    }
                    Some(Content::Folders(selection)) => self.list_samples(&state.scope(selection, all()), after, add),
                    Some(Content::Keys(selection)) => self.list_keys(&state.scope(selection, all()), "", after, add),
                    Some(Content::Lines) => {
                        self.list_lines(after, add);
                        Ok(())
                    }
                    None => Ok(()),
                }
            }
            Node::KeyFolder { number, depth } => {
                let prefix = self.prefix(number, depth)?;
                self.list_keys(&self.full_scope(state), &prefix, after, add)
            }
            Node::Sample { number } => self.list_parts(&self.full_scope(state), number, after, add),
            Node::Lines(position) => {
                let range = self.lines_of(position).ok_or(Refusal::Missing)?;
                self.list_flat(&state.scope(&Selection::All, range), after, add)
            }
            Node::Part { .. } => Err(Refusal::Missing),
        }
    }

    /// Lists the subfolders that follow an entry. Returns whether more entries fit.
    fn list_folders(
        &self,
        state: &State,
        folder: &Folder,
        after: Option<Node>,
        add: &mut dyn FnMut(&Entry, &str) -> bool,
    ) -> bool {
        let known = after.and_then(Node::inode).and_then(|inode| state.folders.get(inode));
        let first = match (after, known) {
            (None, _) => 0,
            (Some(Node::Fixed(_)), Some(last)) => last.place + 1,
            _ => return true,
        };
        folder.folders.iter().skip(first).all(|inode| {
            let name = state.folders.get(*inode).map(|folder| folder.name.as_str()).unwrap_or_default();
            add(&self.folder_entry(*inode), name)
        })
    }
}

impl State {
    fn scope<'a>(&'a self, selection: &'a Selection, range: Range<u64>) -> Scope<'a> {
        Scope { marks: &self.marks, selection, range }
    }

    fn read(samples: &Samples, layout: Layout, selection: &Selection) -> Outcome<Self> {
        let groups = samples.groups();
        let marks = match (layout, selection) {
            (Layout::All, _) | (_, Selection::Split(_)) => read_marks(samples.root(), groups)?,
            _ => Marks::default(),
        };
        if let Selection::Split(wanted) = selection {
            check_split(samples.root(), wanted, &marks)?;
        }
        let all = 0..groups.total();
        let main = |selection: &Selection| match layout {
            Layout::Flat => Content::Flat(all.clone(), selection.clone()),
            Layout::Folders => Content::Folders(selection.clone()),
            Layout::Tree if samples.are_numbered() => Content::Lines,
            Layout::Tree | Layout::All => Content::Keys(selection.clone()),
        };
        if layout != Layout::All {
            return Ok(Self { marks, folders: Folders::new(Some(main(selection))) });
        }
        let mut folders = Folders::new(None);
        folders.add(["samples"], Some(main(selection)));
        folders.add(["splits"], None);
        let shown = |name: &Arc<str>| match selection {
            Selection::Split(wanted) => wanted == name,
            _ => true,
        };
        let splits = marks.splits().iter().filter(|split| shown(&split.name));
        let splits = splits.map(|split| (vec!["splits", &*split.name], Selection::Split(Arc::clone(&split.name))));
        let others = [(vec!["shards"], selection.clone()), (vec!["excluded"], Selection::Excluded)];
        for (above, selection) in others.into_iter().chain(splits) {
            folders.add(above.iter().copied(), None);
            for (group, shard) in (0u32..).zip(&groups.groups).filter(|(group, _)| selection.has_shard(&marks, *group))
            {
                let content = Content::Flat(samples.range_of(group), selection.clone());
                folders.add(above.iter().copied().chain(shard.name.split('/')), Some(content));
            }
        }
        Ok(Self { marks, folders })
    }
}

impl Tree for MountedSet {
    fn entry(&self, inode: u64) -> Result<Entry, Refusal> {
        match Node::of(inode).ok_or(Refusal::Missing)? {
            Node::Root | Node::Fixed(_) if self.state().folders.get(inode).is_some() => Ok(self.folder_entry(inode)),
            Node::Root | Node::Fixed(_) => Err(Refusal::Missing),
            Node::KeyFolder { number, depth } => self.prefix(number, depth).map(|_| self.folder_entry(inode)),
            Node::Lines(position) => self.lines_of(position).map(|_| self.folder_entry(inode)).ok_or(Refusal::Missing),
            Node::Sample { number } => self.sample_entry(&self.sample(number)?).ok_or(Refusal::Missing),
            Node::Part { number, part } => self.part_entry(&self.sample(number)?, part).ok_or(Refusal::Missing),
        }
    }

    fn find(&self, folder: u64, name: &str) -> Result<Entry, Refusal> {
        let state = self.state();
        match Node::of(folder).ok_or(Refusal::Missing)? {
            Node::Root | Node::Fixed(_) => {
                let folder = state.folders.get(folder).ok_or(Refusal::Missing)?;
                if let Some(inode) = folder.named(name) {
                    return Ok(self.folder_entry(inode));
                }
                let all = || 0..self.sample_count();
                match &folder.content {
                    Some(Content::Flat(range, selection)) => {
                        self.find_flat(&state.scope(selection, range.clone()), name)
                    }
                    Some(Content::Folders(selection)) => self.find_sample(&state.scope(selection, all()), name),
                    Some(Content::Keys(selection)) => self.find_in_keys(&state.scope(selection, all()), "", name),
                    Some(Content::Lines) => self.find_lines(name),
                    None => Err(Refusal::Missing),
                }
            }
            Node::KeyFolder { number, depth } => {
                self.find_in_keys(&self.full_scope(&state), &self.prefix(number, depth)?, name)
            }
            Node::Sample { number } => self.find_part(&self.full_scope(&state), number, name),
            Node::Lines(position) => {
                let range = self.lines_of(position).ok_or(Refusal::Missing)?;
                self.find_flat(&state.scope(&Selection::All, range), name)
            }
            Node::Part { .. } => Err(Refusal::Missing),
        }
    }

    fn list(&self, folder: u64, after: u64, add: &mut dyn FnMut(&Entry, &str) -> bool) -> Result<(), Refusal> {
        self.list_in(&self.state(), folder, after, add)
    }

    fn read(&self, inode: u64, offset: u64, count: usize) -> Result<Vec<u8>, Refusal> {
        let (sample, position) = self.part(inode)?;
        let position = usize::try_from(position).map_err(|_| Refusal::Missing)?;
        Ok(self.samples.read(&sample, position, offset, count)?)
    }

    fn has_streams(&self) -> bool {
        self.samples.have_unknown_sizes()
    }

    fn has_small_folders(&self) -> bool {
        self.layout == Layout::Folders
    }

    fn attributes(&self, inode: u64) -> Result<Vec<(&'static str, String)>, Refusal> {
        let (sample, offset) = match Node::of(inode) {
            Some(Node::Part { part: MARK_PART, .. }) => return Ok(Vec::new()),
            Some(Node::Part { .. }) => {
                let (sample, position) = self.part(inode)?;
                let part = usize::try_from(position).ok().and_then(|at| sample.parts.get(at));
                let offset = part.ok_or(Refusal::Missing)?.byte_offset;
                (sample, offset)
            }
            Some(Node::Sample { number }) => {
                let sample = self.sample(number)?;
                let offset = sample.byte_offset;
                (sample, offset)
            }
            _ => return Ok(Vec::new()),
        };
        let shard = self.samples.groups().group(sample.at.group).map(|group| group.name.to_string());
        Ok(vec![
            ("user.gristmill.key", sample.key.to_string()),
            ("user.gristmill.shard", shard.unwrap_or_default()),
            ("user.gristmill.offset", offset.to_string()),
        ])
    }

    fn totals(&self) -> Totals {
        Totals { bytes: self.samples.files.bytes(), samples: self.sample_count() }
    }

    fn reload(&self, stale: &mut dyn FnMut(&str)) -> Outcome<()> {
        let next = Arc::new(State::read(&self.samples, self.layout, &self.selection)?);
        let before = std::mem::replace(&mut *self.state.write().unwrap_or_else(PoisonError::into_inner), next);
        let listed = self.list_in(&before, root_inode(), 0, &mut |_, name| {
            stale(name);
            true
        });
        match listed {
            Err(Refusal::Failed(failure)) => Err(*failure),
            _ => Ok(()),
        }
    }
}

fn time_of(modified_ns: i64) -> SystemTime {
    let distance = Duration::from_nanos(modified_ns.unsigned_abs());
    let time = match modified_ns {
        ..0 => SystemTime::UNIX_EPOCH.checked_sub(distance),
        _ => SystemTime::UNIX_EPOCH.checked_add(distance),
    };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Refuses kinds and options that cannot be mounted.
fn refuse_unsupported(path: &Path, kind: DatasetKind, view: &MountView) -> Outcome<()> {
    let refuse = |field: &str, why: &str| Err(Failure::usage(ACTIVITY, why).on(Subject::field(field)));
    kind.info().browse.map_err(|refusal| refusal.on(ACTIVITY, &path.to_string_lossy()))?;
    if kind.has_loose_files() && view.layout == Layout::Folders {
        return refuse("--layout", "loose files have the layouts tree and flat");
    }
    let flag = if view.split.is_some() { "--split" } else { "--layout" };
    match kind.info().why_no_splits {
        Some(why) if view.split.is_some() || view.layout == Layout::All => {
            let failure = Failure::usage(ACTIVITY, why).on(Subject::field(flag));
            let hint =
                kind.is_raw_web_dataset().then(|| hint_for(path, "gristmill prepare PATH divides it into splits"));
            return Err(Failure { hint: hint.or(failure.hint.clone()), ..failure });
        }
        _ => {}
    }
    match () {
        () if view.decode && !kind.is_tokens() => refuse("--decode", "only packed tokens are decoded"),
        () if view.tokenizer.is_some() && !view.decode => refuse("--tokenizer", "it is used with --decode only"),
        () => Ok(()),
    }
}

/// Refuses a split that does not exist, and lists the existing ones.
fn check_split(root: &Path, wanted: &str, marks: &Marks) -> Outcome<()> {
    let names: Vec<&str> = marks.splits().iter().map(|split| &*split.name).collect();
    if names.contains(&wanted) {
        return Ok(());
    }
    let failure = Failure::data("reading --split", format!("there is no split '{wanted}'"))
        .on(Subject::path(layout::in_nv_meta(root, layout::SPLIT_YAML)));
    Err(match names.as_slice() {
        [] => failure.with_hint("gristmill splits divides the shards"),
        names => failure.with_hint(format!("the splits are {}", names.join(", "))),
    })
}
