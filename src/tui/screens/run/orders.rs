//! Jobs that are started without a form, and how their ends are told.

use super::screen::Start;
use super::view::Words;
use super::{Made, Order};
use crate::engine::nanosets::mixture::IndexPlan;
use crate::engine::plan::shell_quote;
use crate::model::{DedupPlan, PackFormat, PackPlan, PrepareMediaPlan};
use crate::tui::{recent, widgets::text};
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

/// An order that leads to one screen back and has nothing to look at; whoever has more to say says so.
fn order(crumb: &str, name: &str, words: Words, command: String, start: Start) -> Order {
    let crumbs = vec![crumb.to_owned(), name.to_owned()];
    Order { crumbs, words, command, next: Vec::new(), start, depth: 1, browse: None }
}

/// How `what` ended: each ending goes on after its name.
fn words(what: &str, [ready, done, idle]: [&str; 3], back: &'static str) -> Words {
    let told = |ending: &str| format!("{what} {ending}");
    let (ready, done, idle) = (told(ready), told(done), told(idle));
    Words { ready, done, idle, overview: "Overview", back, keeps_work: false }
}

/// Indexing a JSONL file.
pub fn jsonl(path: &Path) -> Order {
    let (name, file) = (name_of(path), path.to_owned());
    let ends = ["is ready to train on", "is indexed", "was indexed like this already"];
    let start: Start = Box::new(move |env| env.jobs.start_jsonl(file.clone(), env.options.clone()));
    let command = format!("gristmill prepare {}", argument(path));
    Order {
        next: vec![format!("To check it again: gristmill lint {}", argument(path))],
        browse: Some(Made::Samples(path.to_owned())),
        ..order("prepare", &name, words(&name, ends, "the list"), command, start)
    }
}

/// Checking a metadataset down to its members, and indexing its joins.
pub fn metadataset(path: &Path) -> Order {
    let (name, file) = (name_of(path), path.to_owned());
    let ends = ["is ready to train on", "can be read", "is ready to train on; nothing was to be written"];
    let start: Start = Box::new(move |env| env.jobs.start_metadataset(file.clone(), env.options.clone()));
    let command = format!("gristmill prepare {}", argument(path));
    Order {
        next: vec![format!("What the mixture comes to: gristmill mix check {}", argument(path))],
        ..order("prepare", &name, words(&name, ends, "the list"), command, start)
    }
}

/// Describing media.
pub fn media(plan: PrepareMediaPlan, command: String) -> Order {
    let path = PathBuf::from(&plan.path);
    let name = name_of(&path);
    let ends = ["are described", "are described", "were described like this already"];
    let words = words(&format!("the media of {name}"), ends, "the answers");
    let start: Start = Box::new(move |env| env.jobs.start_media(plan.clone(), env.options.clone()));
    Order { depth: 2, browse: Some(Made::Samples(path)), ..order("media metadata", &name, words, command, start) }
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
    let ends = ["is ready to train on", "is packed", "was packed like this already"];
    let words = Words { overview: "Files", keeps_work: true, ..words(&name, ends, "the answers") };
    let start: Start = Box::new(move |env| {
        recent::remember(&env.state_dir, Path::new(&plan.output));
        env.jobs.start_pack(plan.clone(), env.options.clone())
    });
    Order {
        next: looked_at.iter().map(|path| format!("To look at it: gristmill browse {}", argument(path))).collect(),
        depth: 2,
        browse: looked_at.into_iter().next().map(Made::Samples),
        ..order("pack", &name, words, command, start)
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
    let ends = ["is deduplicated", "is deduplicated", "was deduplicated like this already"];
    let words = Words { overview: "Report", keeps_work: true, ..words(&name, ends, "the answers") };
    let start: Start = Box::new(move |env| {
        recent::remember(&env.state_dir, Path::new(&plan.visible_output()));
        env.jobs.start_dedup(plan.clone(), env.dedup_options())
    });
    Order {
        next: vec![format!("To make tokens of it: gristmill pack {}", argument(&path))],
        depth: 2,
        browse: seen.then(|| Made::Repeats(Box::new(looked_at))),
        ..order("dedup", &name, words, command, start)
    }
}

/// Writing a mixture index.
pub fn mixture(plan: IndexPlan, command: String) -> Order {
    let name = name_of(&plan.output);
    let ends = ["is ready to train on", "is written", "was there already"];
    let start: Start = Box::new(move |env| env.jobs.start_mixture(plan.clone(), env.options.clone()));
    order("mixture", &name, words(&name, ends, "the weights"), command, start)
}
