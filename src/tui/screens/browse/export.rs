//! Export of parts: into a folder, or as a copy for the user's editor. Done on a worker.

use super::marked::{each_sample, MAX_MARKED_SAMPLES};
use super::rows::Span;
use super::screen::BrowseScreen;
use super::state::Pane;
use crate::tui::screen::{Effect, TerminalProgram, UiEnv};
use crate::tui::screens::splits::{Choice, Offer, Prompt};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::Latest;
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_ops::engine::browse::{BrowseSample, Catalog};
use gristmill_ops::job::export::{copy_of, export, export_all, ExportedFiles, PartCopy};
use gristmill_storage::files;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// What to export.
pub struct ExportTask {
    catalog: Arc<dyn Catalog>,
    from: From,
    what: What,
    cancel: Cancel,
}

/// The samples whose parts are exported.
#[derive(Clone)]
enum From {
    Shown(Arc<BrowseSample>),
    Marked(Vec<Span>),
}

enum What {
    /// A copy of a part of the shown sample for an editor; the index of the part.
    Copy(usize),
    /// Parts into a folder.
    Export(Parts, PathBuf),
}

#[derive(Clone)]
enum Parts {
    /// The shown part, by its name and index.
    Shown(Arc<str>, usize),
    All,
}

impl Parts {
    /// Returns the indexes of the parts in a sample; in marked samples the part is found by name.
    fn of(&self, sample: &BrowseSample, is_marked: bool) -> Vec<usize> {
        match self {
            Self::All => (0..sample.parts.len()).collect(),
            Self::Shown(name, _) if is_marked => {
                sample.parts.iter().position(|part| part.name == *name).into_iter().collect()
            }
            Self::Shown(_, at) => vec![*at],
        }
    }
}

fn exported(
    catalog: &dyn Catalog,
    from: &From,
    parts: &Parts,
    folder: &Path,
    cancel: &Cancel,
) -> Outcome<ExportedFiles> {
    match from {
        From::Shown(sample) => export(catalog, sample, &parts.of(sample, false), folder, cancel),
        From::Marked(spans) => {
            let mut samples = Vec::new();
            each_sample(catalog, spans, cancel, |sample| {
                let parts = parts.of(&sample, true);
                samples.push((sample, parts));
            })?;
            export_all(catalog, &samples, folder, cancel)
        }
    }
}

/// The result of an export.
pub enum ExportResult {
    /// A copy to open in an editor.
    Copy(Outcome<PartCopy>),
    /// Files in a folder.
    Exported(Outcome<ExportedFiles>),
}

/// The export worker, and the task that a popup has ordered.
pub struct Carrier {
    worker: Latest<ExportTask, ExportResult>,
    /// The copy that an editor has open; dropped when the editor returns.
    open: Option<PartCopy>,
    /// The task ordered by a popup, which has no access to the browser below it.
    orders: Rc<RefCell<Option<ExportTask>>>,
    cancel: Cancel,
}

impl Carrier {
    pub fn start(env: &UiEnv) -> Self {
        let scratch = env.options.scratch.clone();
        let worker = Latest::start("browse-carry", env.wake.clone(), move |errand: ExportTask| {
            let catalog = errand.catalog.as_ref();
            match (errand.what, &errand.from) {
                (What::Copy(part), From::Shown(sample)) => {
                    ExportResult::Copy(copy_of(catalog, sample, part, scratch.as_deref(), &errand.cancel))
                }
                (What::Copy(_), From::Marked(_)) => {
                    ExportResult::Copy(Err(Failure::usage("copying the part", "several samples are marked")))
                }
                (What::Export(parts, folder), from) => {
                    ExportResult::Exported(exported(catalog, from, &parts, &folder, &errand.cancel))
                }
            }
        });
        Self { worker, open: None, orders: Rc::default(), cancel: Cancel::default() }
    }

    /// Whether an export is in progress or ordered.
    pub fn is_busy(&self) -> bool {
        self.worker.is_waiting() || self.orders.borrow().is_some()
    }

    /// Releases the copy after the editor has returned.
    pub fn editor_is_back(&mut self) {
        self.open = None;
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl BrowseScreen {
    fn errand(&self, from: From, what: What) -> Option<ExportTask> {
        let (catalog, cancel) = (Arc::clone(self.catalog()?), self.carrier.cancel.clone());
        Some(ExportTask { catalog, from, what, cancel })
    }

    /// Opens a copy of the part in the user's editor.
    pub(super) fn open_part(&mut self) -> Vec<Effect> {
        let Some(sample) = self.state.sample().cloned() else { return Vec::new() };
        let part = self.state.part_index(&sample);
        if let Some(errand) = self.errand(From::Shown(sample), What::Copy(part)) {
            self.carrier.worker.ask(errand);
        }
        Vec::new()
    }

    /// Asks what to export, then where to.
    pub(super) fn ask_export(&mut self) -> Vec<Effect> {
        let Some(sample) = self.state.sample().cloned() else { return Vec::new() };
        let shown = self.state.part_index(&sample);
        let Some(part) = sample.parts.get(shown) else { return Vec::new() };
        let part_name = Arc::clone(&part.name);
        let marked = self.state.marked_rows().filter(|_| self.state.pane != Pane::Groups);
        let number = marked.as_ref().map_or(0, |rows| rows.end() - rows.start() + 1);
        if number > MAX_MARKED_SAMPLES {
            let words = format!(
                "{} samples are marked, and {} at most are exported at once",
                grouped(number),
                grouped(MAX_MARKED_SAMPLES)
            );
            return vec![Effect::Toast(Toast::new(Level::Warn, words))];
        }
        let (from, title, offers) = match marked {
            Some(rows) => {
                let samples = count(number, "marked sample");
                let offers = vec![
                    Offer::new(format!("part {part_name} of the {samples}"), ""),
                    Offer::new(format!("the {samples}, all parts"), ""),
                ];
                (From::Marked(self.state.marked_spans(rows)), samples, offers)
            }
            None => {
                let whole: u64 = sample.parts.iter().map(|part| part.byte_size).sum();
                let parts = count(sample.parts.len() as u64, "part");
                let offers = vec![
                    Offer::new(format!("part {part_name}"), bytes(part.byte_size)),
                    Offer::new("the whole sample", format!("{parts}, {}", bytes(whole))),
                ];
                (From::Shown(Arc::clone(&sample)), sample.key.to_string(), offers)
            }
        };
        let choices = [Parts::Shown(part_name, shown), Parts::All];
        let errands = choices.map(|parts| self.errand(from.clone(), What::Export(parts, PathBuf::new())));
        let (orders, home) = (Rc::clone(&self.carrier.orders), self.env.home.clone());
        let errands = Rc::new(RefCell::new(errands));
        let chosen = move |row: usize| {
            let errand = errands.borrow_mut().get_mut(row).and_then(Option::take);
            let (orders, home) = (Rc::clone(&orders), home.clone());
            let mut errand = errand;
            let accept = move |typed: &str| {
                let folder = folder_of(typed, home.as_deref()).ok_or("name a folder")?;
                if let Some(mut errand) = errand.take() {
                    if let What::Export(_, into) = &mut errand.what {
                        *into = folder;
                    }
                    *orders.borrow_mut() = Some(errand);
                }
                Ok(Vec::new())
            };
            let line = "Into which folder? It is made if it is not there; nothing in it is written over.";
            vec![Effect::Push(Box::new(Prompt::new("Export", line, "", "~/export", accept)))]
        };
        vec![Effect::Push(Box::new(Choice::new("Export", vec![title], offers, chosen)))]
    }

    /// Starts ordered tasks, and takes the results of finished ones.
    pub(super) fn gather_carried(&mut self, effects: &mut Vec<Effect>) -> bool {
        let ordered = self.carrier.orders.borrow_mut().take();
        if let Some(errand) = ordered {
            self.carrier.worker.ask(errand);
        }
        match self.carrier.worker.take() {
            None => return false,
            Some(ExportResult::Copy(Ok(copy))) => {
                effects.push(Effect::RunInTerminal(editor_on(&copy)));
                self.carrier.open = Some(copy);
            }
            Some(ExportResult::Exported(Ok(exported))) => {
                let files = count(exported.files.len() as u64, "file");
                let folder = exported.files.first().and_then(|file| file.parent()).map(|p| self.env.short_path(p));
                let words = format!("wrote {files}, {}, to {}", bytes(exported.bytes), folder.unwrap_or_default());
                effects.push(Effect::Toast(Toast::new(Level::Ok, words)));
            }
            Some(ExportResult::Copy(Err(failure)) | ExportResult::Exported(Err(failure))) => {
                effects.push(Effect::failure(&failure));
            }
        }
        true
    }
}

/// Returns the editor command for a copy. The editor may be set with arguments; it is split at spaces and never passed to a shell.
fn editor_on(copy: &PartCopy) -> TerminalProgram {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    let named = named.unwrap_or_else(|| "vi".to_owned());
    let mut argv: Vec<OsString> = named.split_whitespace().map(OsString::from).collect();
    argv.push(copy.file.as_os_str().to_owned());
    TerminalProgram { argv }
}

/// Returns the folder for a typed path, in which `~` is the home folder.
pub(super) fn folder_of(typed: &str, home: Option<&std::path::Path>) -> Option<PathBuf> {
    let typed = typed.trim();
    let path = match (typed.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(typed),
    };
    (!typed.is_empty()).then(|| files::absolute(&path).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_folder_may_begin_at_home() {
        let home = Some(Path::new("/home/me"));
        assert_eq!(folder_of(" ~/out ", home), Some("/home/me/out".into()));
        assert_eq!(folder_of("~", home), Some("/home/me".into()));
        assert_eq!(folder_of("/a/b", home), Some("/a/b".into()));
        assert!(folder_of("~you/x", home).unwrap().ends_with("~you/x"));
        assert_eq!(folder_of("  ", home), None);
    }
}
