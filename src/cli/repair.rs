//! `repair`: repairs what a program is known to have written wrongly. Each format defines what that is.

use super::context::Context;
use super::exit::Finished;
use super::{jsonl, mix, modalities, paths};
use gristmill_core::{DatasetKind, Failure, Subject};
use gristmill_ops::engine::plan::shell_quote;
use gristmill_ops::source::kind::kind_of;
use std::path::Path;

/// Repairs the file at a path, or names the command that corrects it.
pub fn run(path: &Path, context: &Context) -> Finished {
    let path = paths::local(path)?;
    let kind = kind_of(Path::new(&path))?;
    if modalities::check::is_ours(&path) {
        return modalities::check::repair(&path, context);
    }
    let quoted = shell_quote(&path);
    let (why, hint) = match kind {
        _ if jsonl::is_jsonl(&path) => {
            ("the index of a JSONL file is not repaired", format!("gristmill prepare {quoted} makes it anew"))
        }
        _ if mix::is_metadataset(&path) => {
            ("a metadataset is not repaired", format!("gristmill mix check {quoted} reports what is wrong with it"))
        }
        DatasetKind::PackedFolder => (
            "packed files are repaired one by one",
            format!("gristmill lint {quoted} reports which of them is wrong; name that file"),
        ),
        DatasetKind::PackedFormats => (
            "the formats of a folder are repaired one by one",
            format!("gristmill info {quoted} names their state; give the folder of one format"),
        ),
        DatasetKind::TokenFolder | DatasetKind::ForagerSamples | DatasetKind::MixtureIndex => (
            "nothing is known that could be repaired in tokens of this kind",
            format!("gristmill verify {quoted} reports what is wrong; gristmill pack makes them again"),
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
