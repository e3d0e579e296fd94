//! `repair`: repairs what a program is known to have written wrongly. Each format defines what that is.

use super::context::Context;
use super::exit::Finished;
use super::{modalities, paths, tokens};
use gristmill_core::text::shell_quote;
use gristmill_core::{DatasetKind, Failure, Subject};
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::modalities::check::is_raw_index;
use std::path::Path;

/// Repairs the file at a path, or names the command that corrects it.
pub fn run(path: &Path, context: &Context) -> Finished {
    let path = paths::local(path)?;
    let kind = kind_of(Path::new(&path))?;
    if let DatasetKind::Tokens(kind) = kind {
        return tokens::repair(&path, kind, context);
    }
    if is_raw_index(Path::new(&path)) {
        return modalities::check::repair(&path);
    }
    let quoted = shell_quote(&path);
    let (why, hint) = match kind {
        DatasetKind::Jsonl => {
            ("the index of a JSONL file is not repaired", format!("gristmill prepare {quoted} makes it anew"))
        }
        DatasetKind::Metadataset => {
            ("a metadataset is not repaired", format!("gristmill mix check {quoted} reports what is wrong with it"))
        }
        DatasetKind::PackedFormats => (
            "the formats of a folder are repaired one by one",
            format!("gristmill info {quoted} names their state; give the folder of one format"),
        ),
        DatasetKind::MixtureIndex => (
            "nothing is known that could be repaired in an index of a mixture",
            format!("gristmill info {quoted} reports what is wrong; gristmill mix index makes it again"),
        ),
        DatasetKind::Table(_) | DatasetKind::TableFolder(_) => (
            "files of rows are not repaired",
            format!("gristmill lint {quoted} reports what is wrong with them; get them again from their source"),
        ),
        DatasetKind::OtherFile => {
            ("nothing is known about files of this kind", "packed files (.pbin) can be repaired".to_owned())
        }
        _ => (
            "a prepared folder is not repaired",
            format!("gristmill prepare {quoted} --update looks at what changed and writes its files anew"),
        ),
    };
    Err(Failure::usage("repairing", why).on(Subject::path(&path)).with_hint(hint).into())
}
