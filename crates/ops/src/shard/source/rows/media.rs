//! Locates the media of rows: files below a folder, or parts of a prepared data set.

use super::sample::{Draft, DraftPart};
use crate::engine::browse::shard_named;
use crate::engine::recorded::update_command;
use crate::shard::sample::{Origin, Part, SampleSink, SourceContext, SourceFile};
use crate::shard::source::keys::divide;
use gristmill_core::shard_plan::{KeyRule, Missing};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::info::Info;
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use gristmill_data::source::tar::{may_be_header_of, BLOCK};
use gristmill_pycompat::json_fields::{slice, Fields};
use gristmill_storage::files::{metadata, FileInfo};
use gristmill_storage::folder::OpenFolder;
use gristmill_storage::listing::infos_below;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "looking for media";

/// A medium that was not found, with the reason.
#[derive(Debug)]
pub(super) struct MissingMedium {
    path: PathBuf,
    why: String,
}

/// The base of the paths of media.
pub(super) enum MediaRoot {
    /// A folder, to which paths are relative.
    Folder(PathBuf),
    /// A prepared data set, in which paths are `KEY.PART`.
    Prepared(Box<PreparedMedia>),
}

/// The index of a prepared data set with media.
pub(super) struct PreparedMedia {
    root: PathBuf,
    tables: Tables,
    /// Names of the shards, in the order of the index.
    shards: Vec<String>,
    /// Shards in which a part was found.
    files: HashMap<u32, SourceFile>,
    /// The most recently read shard.
    open: Option<(u32, ReadFile)>,
}

/// Size and location of a medium, or the reason why it was not found.
pub(super) type FoundMedium = Result<(u64, Origin), MissingMedium>;

impl MediaRoot {
    /// Opens a folder or a prepared data set.
    ///
    /// # Errors
    /// The path does not exist or is not a folder, or its index cannot be read.
    pub(super) fn open(root: &Path) -> Outcome<Self> {
        let info = metadata(root).map_err(|error| Failure::io(ACTIVITY, root, &error))?;
        if !info.is_dir() {
            return Err(Failure::usage(ACTIVITY, "--media-root is not a folder").on(Subject::path(root)));
        }
        let Some(info) = Info::read(root)? else { return Ok(Self::Folder(root.to_path_buf())) };
        let tables = Tables::open(&layout::in_nv_meta(root, layout::INDEX_SQLITE))?;
        let shards = info.shard_counts.into_iter().map(|(name, _)| name).collect();
        Ok(Self::Prepared(Box::new(PreparedMedia {
            root: root.to_path_buf(),
            tables,
            shards,
            files: HashMap::new(),
            open: None,
        })))
    }

    /// Returns the size and location of each medium.
    ///
    /// # Errors
    /// A store or an index cannot be queried.
    pub(super) fn find(&mut self, paths: &[&Path], sink: &mut dyn SampleSink) -> Outcome<Vec<FoundMedium>> {
        match self {
            Self::Folder(root) => find_files(root, paths),
            Self::Prepared(prepared) => paths.iter().map(|path| prepared.find(path, sink)).collect(),
        }
    }
}

fn find_files(root: &Path, paths: &[&Path]) -> Outcome<Vec<FoundMedium>> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| root.join(path)).collect();
    let infos: Vec<io::Result<Option<FileInfo>>> = match is_remote(root) {
        true => infos_below(root, &paths)
            .map_err(|error| Failure::io(ACTIVITY, root, &error))?
            .into_iter()
            .map(Ok)
            .collect(),
        false => {
            let mut folder = OpenFolder::default();
            paths.iter().map(|path| found(folder.readable_info(path))).collect()
        }
    };
    let medium = |(info, path): (io::Result<Option<FileInfo>>, PathBuf)| match info {
        Ok(Some(info)) if info.is_file() => Ok((info.len(), Origin::File { path, stamp: info.stamp })),
        Ok(Some(_)) => Err(MissingMedium { path, why: "is no file".to_owned() }),
        Ok(None) => Err(MissingMedium { path, why: "is missing".to_owned() }),
        Err(why) => Err(MissingMedium { path, why: format!("cannot be read: {why}") }),
    };
    Ok(infos.into_iter().zip(paths).map(medium).collect())
}

fn found(info: io::Result<FileInfo>) -> io::Result<Option<FileInfo>> {
    match info {
        Ok(info) => Ok(Some(info)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

impl PreparedMedia {
    fn find(&mut self, path: &Path, sink: &mut dyn SampleSink) -> Outcome<FoundMedium> {
        let missing = |why: &str| Ok(Err(MissingMedium { path: self.root.join(path), why: why.to_owned() }));
        let name = path.as_os_str().as_encoded_bytes();
        let divided = divide(name, KeyRule::FirstDot);
        let Some((Ok(key), Ok(part))) = divided.map(|(key, part)| (String::from_utf8(key), std::str::from_utf8(part)))
        else {
            return missing("is no name of a part");
        };
        let Some(sample) = self.tables.sample_by_key(&key)? else { return missing("is not in the data set") };
        let parts = self.tables.parts(sample.tar_file_id, sample.sample_index, 1)?;
        let Some(found) = parts.into_iter().find(|found| found.part_name == part) else {
            return missing("is not in the data set");
        };
        let file = match self.files.get(&sample.tar_file_id) {
            Some(file) => *file,
            None => {
                let name = self.shards.get(sample.tar_file_id as usize).map_or("", String::as_str);
                let path = shard_named(&self.root, name)?.path;
                let file = sink.add_file(&path, stamp_at(&path)?)?;
                self.files.insert(sample.tar_file_id, file);
                file
            }
        };
        let (size, offset) = (found.content_byte_size, found.content_byte_offset);
        self.check_header(sample.tar_file_id, name, size, offset)?;
        Ok(Ok((size, Origin::Range { file, offset })))
    }
}

impl PreparedMedia {
    /// Fails if the header before a part is not the header of this part, which means that the shard has changed since it was indexed.
    fn check_header(&mut self, shard: u32, name: &[u8], size: u64, offset: u64) -> Outcome<()> {
        let path = self.root.join(self.shards.get(shard as usize).map_or("", String::as_str));
        let known = self.open.as_ref().filter(|(known, _)| *known == shard);
        let file = match known {
            Some((_, file)) => file,
            None => &self.open.insert((shard, open_read(&path)?)).1,
        };
        let mut header = [0; BLOCK];
        let start = offset.checked_sub(BLOCK as u64);
        let is_read = start.is_some_and(|start| file.read_exact_at(&mut header, start).is_ok());
        if is_read && may_be_header_of(&header, name, size) {
            return Ok(());
        }
        let failure = Failure::data(ACTIVITY, "the shard has changed since it was indexed").on(Subject::path(path));
        Err(failure.with_hint(update_command(&self.root)))
    }
}

impl Draft {
    /// Returns the paths of the row's media.
    pub(super) fn media(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().filter_map(|part| match part {
            DraftPart::Medium { path, .. } => Some(path.as_path()),
            DraftPart::Ready(_) => None,
        })
    }

    /// Returns the total size of the parts in memory, in bytes.
    pub(super) fn made_bytes(&self) -> u64 {
        let bytes = self.parts.iter().map(|part| match part {
            DraftPart::Ready(Part { origin: Origin::Bytes(bytes), .. }) => bytes.len() as u64,
            _ => 0,
        });
        bytes.sum()
    }
}

/// Reports a medium that does not exist. Returns whether its row is omitted.
///
/// # Errors
/// The plan has `--missing fail`.
pub(super) fn report_missing(context: &SourceContext<'_>, missing: &MissingMedium, subject: &Subject) -> Outcome<bool> {
    let why = format!("{} {}", display_safe(&missing.path.to_string_lossy()), missing.why);
    let policy = context.plan.rows.missing;
    if policy == Missing::Fail {
        let failure = Failure::data(ACTIVITY, why).on(subject.clone());
        return Err(failure.with_hint("--missing skip leaves such rows out, --missing keep leaves out the part"));
    }
    let what = if policy == Missing::Skip { "the row is left out" } else { "the sample is without it" };
    let problem = Problem::problem(ProblemKind::MissingMedia, subject.clone(), format!("{what}: {why}"));
    context.handles.problems.report(problem.with_hint("--media-root names the folder that paths are relative to"))?;
    Ok(policy == Missing::Skip)
}

/// Returns the row with null as the value of these columns.
pub(super) fn without_values(line: &[u8], columns: &[String]) -> Vec<u8> {
    let mut fields = Fields::any();
    if fields.read(line).is_err() {
        return line.to_vec();
    }
    let (mut row, mut copied) = (Vec::new(), 0);
    for field in fields.list() {
        let key = slice(line, field.key_from, field.key_to);
        if columns.iter().any(|column| column.as_bytes() == key) {
            row.extend_from_slice(slice(line, copied, field.from));
            row.extend_from_slice(b"null");
            copied = field.to;
        }
    }
    row.extend_from_slice(slice(line, copied, line.len() as u64));
    row
}
