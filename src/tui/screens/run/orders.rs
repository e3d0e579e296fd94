//! Jobs that are started without a form, and how their ends are told.

use super::view::Words;
use super::{Made, Order};
use crate::engine::nanosets::mixture::IndexPlan;
use crate::engine::plan::shell_quote;
use crate::model::{DedupPlan, PackFormat, PackPlan, PrepareMediaPlan};
use crate::tui::screen::UiEnv;
use crate::tui::widgets::text;
use std::path::{Path, PathBuf};

fn name_of(path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |n| n.to_string_lossy());
    text::safe(&name)
}

/// A path as an argument that is never taken for a flag.
fn argument(path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.starts_with('-') {
        true => shell_quote(&format!("./{path}")),
        false => shell_quote(&path),
    }
}

/// Indexing a JSONL file.
pub fn jsonl(path: &Path) -> Order {
    let name = name_of(path);
    let file: PathBuf = path.to_owned();
    Order {
        crumbs: vec!["prepare".to_owned(), name.clone()],
        words: Words {
            ready: format!("{name} is ready to train on"),
            done: format!("{name} is indexed"),
            idle: format!("{name} was indexed like this already"),
            overview: "Overview",
            back: "the list",
            keeps_work: false,
        },
        command: format!("gristmill prepare {}", argument(path)),
        next: vec![format!("To check it again: gristmill lint {}", argument(path))],
        start: Box::new(move |env: &UiEnv| env.jobs.start_jsonl(file.clone(), env.options.clone())),
        depth: 1,
        browse: Some(Made::Samples(path.to_owned())),
    }
}

/// Checking a metadataset down to its members, and indexing its joins.
pub fn metadataset(path: &Path) -> Order {
    let name = name_of(path);
    let file: PathBuf = path.to_owned();
    Order {
        crumbs: vec!["prepare".to_owned(), name.clone()],
        words: Words {
            ready: format!("{name} is ready to train on"),
            done: format!("{name} can be read"),
            idle: format!("{name} is ready to train on; nothing was to be written"),
            overview: "Overview",
            back: "the list",
            keeps_work: false,
        },
        command: format!("gristmill prepare {}", argument(path)),
        next: vec![format!("What the mixture comes to: gristmill mix check {}", argument(path))],
        start: Box::new(move |env: &UiEnv| env.jobs.start_metadataset(file.clone(), env.options.clone())),
        depth: 1,
        browse: None,
    }
}

/// Describing media.
pub fn media(plan: PrepareMediaPlan, command: String) -> Order {
    let path = PathBuf::from(&plan.path);
    let name = name_of(&path);
    Order {
        crumbs: vec!["media metadata".to_owned(), name.clone()],
        words: Words {
            ready: format!("the media of {name} are described"),
            done: format!("the media of {name} are described"),
            idle: format!("the media of {name} were described like this already"),
            overview: "Overview",
            back: "the answers",
            keeps_work: false,
        },
        command,
        next: Vec::new(),
        start: Box::new(move |env: &UiEnv| env.jobs.start_media(plan.clone(), env.options.clone())),
        depth: 2,
        browse: Some(Made::Samples(path)),
    }
}

/// Packing tokens.
pub fn pack(plan: PackPlan, command: String) -> Order {
    let path = PathBuf::from(&plan.output);
    let name = name_of(&path);
    let formats = plan.formats();
    // Of several formats each has a folder of its own; a folder of .pbin files is looked into file by file.
    let looked_at: Vec<PathBuf> = match formats.as_slice() {
        [PackFormat::Modalities] => vec![path.clone()].into_iter().filter(|path| is_packed_file(path)).collect(),
        [_] => vec![path.clone()],
        _ => formats.iter().filter(|f| **f != PackFormat::Modalities).map(|f| path.join(f.word())).collect(),
    };
    Order {
        crumbs: vec!["pack".to_owned(), name.clone()],
        words: Words {
            ready: format!("{name} is ready to train on"),
            done: format!("{name} is packed"),
            idle: format!("{name} was packed like this already"),
            overview: "Files",
            back: "the answers",
            keeps_work: true,
        },
        command,
        next: looked_at.iter().map(|path| format!("To look at it: gristmill browse {}", argument(path))).collect(),
        start: Box::new(move |env: &UiEnv| env.jobs.start_pack(plan.clone(), env.options.clone())),
        depth: 2,
        browse: looked_at.into_iter().next().map(Made::Samples),
    }
}

fn is_packed_file(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "pbin")
}

/// Deduplicating.
pub fn dedup(plan: DedupPlan, command: String) -> Order {
    let path = PathBuf::from(plan.visible_output());
    let name = name_of(&path);
    let (looked_at, seen) = (plan.clone(), plan.from_index.is_none());
    Order {
        crumbs: vec!["dedup".to_owned(), name.clone()],
        words: Words {
            ready: format!("{name} is deduplicated"),
            done: format!("{name} is deduplicated"),
            idle: format!("{name} was deduplicated like this already"),
            overview: "Report",
            back: "the answers",
            keeps_work: true,
        },
        command,
        next: vec![format!("To make tokens of it: gristmill pack {}", argument(&path))],
        start: Box::new(move |env: &UiEnv| env.jobs.start_dedup(plan.clone(), env.dedup_options())),
        depth: 2,
        browse: seen.then(|| Made::Repeats(Box::new(looked_at))),
    }
}

/// Writing a mixture index.
pub fn mixture(plan: IndexPlan, command: String) -> Order {
    let name = name_of(&plan.output);
    Order {
        crumbs: vec!["mixture".to_owned(), name.clone()],
        words: Words {
            ready: format!("{name} is ready to train on"),
            done: format!("{name} is written"),
            idle: format!("{name} was there already"),
            overview: "Overview",
            back: "the weights",
            keeps_work: false,
        },
        command,
        next: Vec::new(),
        start: Box::new(move |env: &UiEnv| env.jobs.start_mixture(plan.clone(), env.options.clone())),
        depth: 1,
        browse: None,
    }
}
