//! Lists loose files as samples: the files below a root that have the same key. Sorts on disk, so memory does not depend on the number of
//! files.

use super::keys::{divide, refusal, split_refusal, MAX_NAME_BYTES};
use super::refuse_split;
use crate::shard::list::SPLIT_FOLDERS;
use crate::shard::record::{RecordSorter, SpoolContext};
use crate::shard::sample::{Origin, Part, Sample, SampleSink, SourceContext};
use gristmill_core::text::count;
use gristmill_core::{Failure, FileStamp, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::layout::NV_META;
use gristmill_data::source::tar::is_reserved;
use gristmill_storage::files::is_symlink;
use gristmill_storage::folder::OpenFolder;
use gristmill_storage::walk::{walk_shown, WalkEntry, WalkError};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const ACTIVITY: &str = "looking for files";
/// Replaces `/` in sorted keys, so that keys are sorted by path component.
const SLASH: u8 = 1;
/// Ends a field of a sorted record; names do not contain this byte.
const END: u8 = 0;

/// Lists the samples of the files below a folder, sorted by the path components of their keys.
///
/// # Errors
/// The folder cannot be read, two files are the same part of a sample, or a file is outside the folders of splits.
pub(super) fn list(root: &Path, context: &SourceContext<'_>, sink: &mut dyn SampleSink) -> Outcome<()> {
    let sorter = RecordSorter::new(SpoolContext::of_source(context), "files");
    let mut found = ListedFile { root, context, sorter, folder: OpenFolder::default(), folders: Folders::default() };
    let hidden = Cell::new(0);
    // The metadata folder of a prepared set is not counted as hidden data.
    let count_hidden = |entry: &WalkEntry| hidden.set(hidden.get() + u64::from(entry.file_name() != NV_META));
    for entry in walk_shown(root, usize::MAX, count_hidden) {
        context.handles.cancel.check()?;
        match entry {
            Ok(entry) if entry.kind().is_dir() => {}
            Ok(entry) => found.add(&entry)?,
            Err(error) => found.report_error(&error)?,
        }
    }
    if hidden.get() > 0 {
        let why = format!("hidden, and left out: {} with a dot before the name", count(hidden.get(), "entry"));
        found.note(ProblemKind::UnnamedEntry, root, &why)?;
    }
    let has_splits = found.folders.are_splits(context)?;
    if !has_splits {
        refuse_split(root, context.plan)?;
    }
    let mut groups = Groups { root, has_splits, chosen: &context.plan.choice.splits, sample: None };
    found.sorter.for_each(&mut |text, numbers| groups.add(text, numbers, sink))?;
    groups.finish(sink)
}

/// The files found by the walk.
struct ListedFile<'a> {
    root: &'a Path,
    context: &'a SourceContext<'a>,
    /// Key, part, and path if it does not follow from the two; size, modification time and inode.
    sorter: RecordSorter<'a, 3>,
    /// The folder of the previous file.
    folder: OpenFolder,
    folders: Folders,
}

impl ListedFile<'_> {
    fn add(&mut self, entry: &WalkEntry) -> Outcome<()> {
        self.context.handles.progress.add(1, 0);
        let relative = below(self.root, entry.path());
        if !entry.kind().is_file() {
            let message = "it is left out: it is a fifo, socket or device";
            return self.problem(ProblemKind::NotAFile, entry.path(), message, "take it out of the folder");
        }
        let rule = self.context.plan.key_rule;
        let Some((key, part)) = divide(relative, rule) else {
            let note = "it is left out: its name has no dot, so it is no part of a sample";
            return self.note(ProblemKind::UnnamedEntry, entry.path(), note);
        };
        if is_reserved(relative) {
            let note = "it is left out: readers skip names whose first component is __…__";
            return self.note(ProblemKind::ReservedName, entry.path(), note);
        }
        let is_invalid = std::str::from_utf8(part).is_err() || part.iter().any(u8::is_ascii_control);
        let why =
            refusal(&key).or(is_invalid.then_some("the name of its part is not UTF-8, or has a control character"));
        let why = why.or((relative.len() > MAX_NAME_BYTES).then_some("its path has more than 4,096 bytes"));
        if let Some(why) = why {
            return self.problem(ProblemKind::BadName, entry.path(), &format!("it is left out: {why}"), "rename it");
        }
        let stamp = match entry.metadata_in(&mut self.folder) {
            Ok(info) => info.stamp,
            Err(error) => return self.report_error(&error),
        };
        self.folders.add(relative);
        let mut text: Vec<u8> = key.iter().map(|byte| if *byte == b'/' { SLASH } else { *byte }).collect();
        text.push(END);
        text.extend_from_slice(part);
        text.push(END);
        if [&key, &b"."[..], part].concat() != relative {
            text.extend_from_slice(relative);
        }
        self.sorter.push(&text, [stamp.bytes, stamp.modified_ns as u64, stamp.inode])
    }

    fn report_error(&self, error: &WalkError) -> Outcome<()> {
        let path = error.path().unwrap_or(self.root);
        if let Some(note) = error.loop_note() {
            return self.context.handles.problems.report(note);
        }
        let failure = error.failure(ACTIVITY, self.root);
        if path == self.root {
            return Err(failure);
        }
        let why = match error.is_broken_link() {
            true => "it is a broken link".to_owned(),
            false => failure.why,
        };
        let hint = match is_symlink(path) {
            true => "correct the link, or remove it",
            false => "make it readable, or take it out of the folder",
        };
        self.problem(ProblemKind::Unreadable, path, &format!("it is left out: {why}"), hint)
    }

    fn problem(&self, kind: ProblemKind, path: &Path, message: &str, hint: &'static str) -> Outcome<()> {
        self.context.handles.problems.report(Problem::problem(kind, Subject::path(path), message).with_hint(hint))
    }

    fn note(&self, kind: ProblemKind, path: &Path, message: &str) -> Outcome<()> {
        self.context.handles.problems.report(Problem::note(kind, Subject::path(path), message))
    }
}

/// Returns the path of a walked entry, relative to the root.
fn below<'a>(root: &Path, path: &'a Path) -> &'a [u8] {
    let whole = path.as_os_str().as_bytes();
    // A walk appends names to the path of the root without changing it.
    let rest = whole.strip_prefix(root.as_os_str().as_bytes()).unwrap_or(whole);
    rest.strip_prefix(b"/").unwrap_or(rest)
}

/// The folders directly below the root.
#[derive(Default)]
struct Folders {
    names: BTreeSet<String>,
    /// The first file that is in none of them.
    first_outside: Option<String>,
}

impl Folders {
    fn add(&mut self, relative: &[u8]) {
        let relative = String::from_utf8_lossy(relative);
        match relative.split_once('/') {
            Some((folder, _)) if !self.names.contains(folder) => {
                self.names.insert(folder.to_owned());
            }
            Some(_) => {}
            None if self.first_outside.is_none() => self.first_outside = Some(relative.into_owned()),
            None => {}
        }
    }

    /// Whether the folders are splits, according to the plan or their names.
    fn are_splits(&self, context: &SourceContext<'_>) -> Outcome<bool> {
        let fail = |name: &str, why: &str| {
            let failure = Failure::data("dividing the files into splits", why.to_owned());
            Err(failure.on(Subject::field(name)).with_hint("move it, or leave out --splits-by-folder"))
        };
        if !context.plan.division.splits_by_folder {
            let is_known = |name: &String| SPLIT_FOLDERS.contains(&name.as_bytes());
            let are_all = self.first_outside.is_none() && !self.names.is_empty() && self.names.iter().all(is_known);
            return Ok(are_all && !context.plan.choice.one_split);
        }
        if let Some(name) = &self.first_outside {
            return fail(name, "a file is outside of the folders, which are the splits");
        }
        match self.names.iter().find_map(|name| split_refusal(name).map(|why| (name, why))) {
            Some((name, why)) => fail(name, why),
            None => Ok(true),
        }
    }
}

/// Groups consecutive files with the same key into samples.
struct Groups<'a> {
    root: &'a Path,
    has_splits: bool,
    /// The splits that are written; empty means all.
    chosen: &'a [String],
    sample: Option<Sample>,
}

impl Groups<'_> {
    fn add(&mut self, text: &[u8], [bytes, modified, inode]: [u64; 3], sink: &mut dyn SampleSink) -> Outcome<()> {
        let mut fields = text.splitn(3, |byte| *byte == END);
        let mut field = || fields.next().unwrap_or_default();
        let (key, name, other) = (field(), field(), field());
        let key: Vec<u8> = key.iter().map(|byte| if *byte == SLASH { b'/' } else { *byte }).collect();
        let relative = match other {
            b"" => [&key, &b"."[..], name].concat(),
            path => path.to_vec(),
        };
        let stamp = FileStamp { bytes, modified_ns: modified as i64, inode };
        let path = self.root.join(OsStr::from_bytes(&relative));
        let part = Part { name: name.to_vec(), bytes, origin: Origin::File { path, stamp } };
        if let Some(sample) = self.sample.as_mut().filter(|sample| sample.key == key) {
            return match sample.parts.last() {
                Some(before) if before.name == part.name => Err(same_part(before, &part)),
                _ => {
                    sample.parts.push(part);
                    Ok(())
                }
            };
        }
        self.finish(sink)?;
        let split = relative.split(|byte| *byte == b'/').next().filter(|_| self.has_splits);
        let split = split.map(|name| String::from_utf8_lossy(name).into_owned());
        self.sample = Some(Sample { key, split, shard: String::new(), parts: vec![part], is_excluded: false });
        Ok(())
    }

    fn finish(&mut self, sink: &mut dyn SampleSink) -> Outcome<()> {
        let is_chosen = |sample: &Sample| {
            let split = sample.split.as_ref().filter(|_| !self.chosen.is_empty());
            split.is_none_or(|split| self.chosen.contains(split))
        };
        self.sample.take().filter(is_chosen).map_or(Ok(()), |sample| sink.add_sample(sample))
    }
}

fn same_part(before: &Part, part: &Part) -> Failure {
    let path = |part: &Part| match &part.origin {
        Origin::File { path, .. } => path.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let why = format!("{} has the same key and part", gristmill_core::text::display_safe(&path(before)));
    let failure = Failure::data("dividing names into keys and parts", why).on(Subject::path(path(part)));
    failure.with_hint("rename one of them, or divide names by --key-rule first-dot")
}
