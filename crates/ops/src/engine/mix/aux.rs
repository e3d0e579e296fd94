//! Aux sources: opens them, and looks up the media that the records of a member name.

use super::facts::AuxLookup;
use super::paths::{resolve, PathTarget};
use super::records;
use super::sets::{quoted, MemberCache, MemberSource, MixFile, SplitView, UnusableMember};
use gristmill_core::{Cancel, Outcome};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::metadataset::{Aux, AuxTarget, Mark};
use gristmill_data::formats::energon::tables::Tables;
use gristmill_data::source::tar::split_name;
use gristmill_media::kind::type_by_extension;
use gristmill_storage::files;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Maximum number of texts that are looked up per record.
const MAX_TEXTS: usize = 1_000;
/// Maximum length of a text that is treated as a name, in bytes.
const MAX_NAME_BYTES: usize = 1_024;
/// Maximum number of missing names recorded as examples.
const MAX_EXAMPLES: usize = 5;

/// An aux source that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Source {
    /// The database of a prepared WebDataset.
    Database(PathBuf),
    /// A folder of files.
    Folder(PathBuf),
}

/// A member with aux sources, which are searched later.
pub(super) struct AuxMember {
    pub(super) label: String,
    pub(super) file: Rc<MixFile>,
    pub(super) at: Mark,
    pub(super) path: PathBuf,
    pub(super) opened: MemberSource,
    pub(super) view: Option<Rc<SplitView>>,
    pub(super) sources: Vec<Source>,
}

/// Returns the target in the form in which it is written in a file.
pub(super) fn written(target: &AuxTarget) -> String {
    match target {
        AuxTarget::Dataset(path) => path.clone(),
        AuxTarget::Folder(path) => format!("filesystem://{path}"),
    }
}

/// Opens a source; `None` for a remote one, which is not opened.
pub(super) fn open(library: &mut MemberCache, file: &MixFile, aux: &Aux) -> Result<Option<Source>, UnusableMember> {
    let (AuxTarget::Dataset(text) | AuxTarget::Folder(text)) = &aux.target;
    let PathTarget::Local(path) = resolve(file.folder(), text).map_err(UnusableMember::new)? else { return Ok(None) };
    let is_folder = matches!(aux.target, AuxTarget::Folder(_));
    match open_local(library, path, is_folder)? {
        Source::Folder(path) if !is_folder => {
            let message = format!("{} is a folder of files, not a prepared folder of tars", path.display());
            Err(UnusableMember::new(message).hint(format!("write {}: filesystem://{text}", aux.name)))
        }
        source => Ok(Some(source)),
    }
}

/// Opens a source on this machine: a prepared WebDataset if there is one and `is_folder` is not set, else a folder of files.
pub(super) fn open_local(library: &mut MemberCache, path: PathBuf, is_folder: bool) -> Result<Source, UnusableMember> {
    let shown = path.display();
    match files::is_dir(&path) {
        true if is_folder => return Ok(Source::Folder(path)),
        false if is_folder => return Err(UnusableMember::new(format!("there is no folder {shown}"))),
        false if files::is_file(&path) => {
            let message = format!("{shown} is a file; an aux source is a prepared folder of tars or a folder of files");
            return Err(UnusableMember::new(message));
        }
        _ => {}
    }
    let database = layout::in_nv_meta(&path, layout::INDEX_SQLITE);
    match library.open(&path) {
        Ok(MemberSource::Web(_)) if files::is_file(&database) => Ok(Source::Database(database)),
        Ok(_) => {
            let message = format!("{shown} has no .nv-meta/{}, which an aux source needs", layout::INDEX_SQLITE);
            Err(UnusableMember::new(message).hint(format!("gristmill prepare {} --tar-index-only", quoted(&path))))
        }
        Err(_) if files::is_dir(&path) && !has_shards(&path) => Ok(Source::Folder(path)),
        Err(why) => Err(why),
    }
}

fn has_shards(path: &Path) -> bool {
    gristmill_data::source::kind::kind_of(path).is_ok_and(gristmill_core::DatasetKind::is_raw_web_dataset)
}

/// A source open for look-ups.
enum AuxSource {
    Database(Tables),
    Folder(PathBuf),
}

impl AuxSource {
    fn open(source: &Source) -> Outcome<Self> {
        match source {
            Source::Database(path) => Tables::open(path).map(Self::Database),
            Source::Folder(path) => Ok(Self::Folder(path.clone())),
        }
    }

    fn has(&self, name: &str) -> Outcome<bool> {
        match self {
            Self::Folder(folder) => Ok(match resolve(folder, name) {
                Ok(PathTarget::Local(path)) => files::is_file(path),
                _ => false,
            }),
            Self::Database(tables) => {
                let Some((key, part)) = split_name(name) else { return Ok(false) };
                let Some(sample) = tables.sample_by_key(key)? else { return Ok(false) };
                let parts = tables.parts(sample.tar_file_id, sample.sample_index, 1)?;
                Ok(parts.iter().any(|found| found.part_name == part))
            }
        }
    }
}

/// Looks up the names in some records of a member in its aux sources. Returns `None` if no record contains a name that looks like media.
pub(super) fn lookup(member: &AuxMember, cancel: &Cancel) -> Outcome<Option<AuxLookup>> {
    let sources = member.sources.iter().map(AuxSource::open).collect::<Outcome<Vec<_>>>()?;
    let records = records::read_records(&member.opened, member.view.as_deref(), &member.path, cancel)?;
    let mut lookup = AuxLookup { member: member.label.clone(), records: 0, found: 0, missing: 0, examples: Vec::new() };
    let mut asked: HashSet<String> = HashSet::new();
    for record in &records {
        cancel.check()?;
        lookup.records += 1;
        for text in texts(record) {
            let is_new = !asked.contains(text);
            if !is_new || text.len() > MAX_NAME_BYTES || text.contains('\n') {
                continue;
            }
            asked.insert(text.to_owned());
            if any_has(&sources, text)? {
                lookup.found += 1;
            } else if is_media_name(text) {
                lookup.missing += 1;
                if lookup.examples.len() < MAX_EXAMPLES {
                    lookup.examples.push(text.to_owned());
                }
            }
        }
    }
    Ok((lookup.found + lookup.missing > 0).then_some(lookup))
}

fn any_has(sources: &[AuxSource], name: &str) -> Outcome<bool> {
    // A name without a dot is not in a tar, and unlikely to be a file.
    if name.is_empty() || !name.contains('.') {
        return Ok(false);
    }
    for source in sources {
        if source.has(name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a text is a name with the extension of a picture, audio or video file, and not a URL.
fn is_media_name(text: &str) -> bool {
    type_by_extension(text).is_some() && !text.contains("://") && !text.starts_with("data:")
}

/// Returns the first [`MAX_TEXTS`] texts of a record.
fn texts(record: &serde_json::Value) -> Vec<&str> {
    let (mut open, mut texts) = (vec![record], Vec::new());
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::String(text) if texts.len() < MAX_TEXTS => texts.push(text.as_str()),
            serde_json::Value::Array(items) => open.extend(items.iter().rev()),
            serde_json::Value::Object(entries) => open.extend(entries.values().rev()),
            _ => {}
        }
    }
    texts
}
