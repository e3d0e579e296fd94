//! Exports parts into a folder, or as a copy for the user's editor, on a worker.

use super::super::prompt::folder_of;
use super::super::rows::Span;
use super::super::state::Pane;
use super::marked::{each_sample, MAX_MARKED_SAMPLES};
use super::BrowseScreen;
use crate::tui::screen::{Effect, TerminalProgram, UiEnv};
use crate::tui::screens::splits::{Choice, ChoiceOption, Prompt};
use crate::tui::widgets::{Level, Toast};
use crate::tui::work::LatestWorker;
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_ops::engine::browse::{BrowseSample, Catalog};
use gristmill_ops::job::export::{copy_of, export, export_all, ExportedFiles, PartCopy};
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A task of the export worker.
pub struct ExportTask {
    catalog: Arc<dyn Catalog>,
    from: ExportSource,
    action: ExportAction,
    cancel: Cancel,
}

/// The samples whose parts are exported.
#[derive(Clone)]
enum ExportSource {
    Shown(Arc<BrowseSample>),
    Marked(Vec<Span>),
}

enum ExportAction {
    /// A copy of a part of the shown sample for an editor; holds the index of the part.
    Copy(usize),
    /// Parts into a folder.
    Export(ExportedParts, PathBuf),
}

#[derive(Clone)]
enum ExportedParts {
    /// The shown part, by its name and index.
    Shown(Arc<str>, usize),
    All,
}

impl ExportedParts {
    /// Returns the indexes of the exported parts in a sample; in marked samples, parts are found by name.
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
    from: &ExportSource,
    parts: &ExportedParts,
    folder: &Path,
    cancel: &Cancel,
) -> Outcome<ExportedFiles> {
    match from {
        ExportSource::Shown(sample) => export(catalog, sample, &parts.of(sample, false), folder, cancel),
        ExportSource::Marked(spans) => {
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

/// The export worker, and the task that a popup has requested.
pub struct Exporter {
    worker: LatestWorker<ExportTask, ExportResult>,
    /// The copy that is open in an editor; dropped when the editor exits.
    open: Option<PartCopy>,
    /// The task requested by a popup, which has no access to the browser below it.
    orders: Rc<RefCell<Option<ExportTask>>>,
    cancel: Cancel,
}

impl Exporter {
    pub fn start(env: &UiEnv) -> Self {
        let scratch = env.options.scratch.clone();
        let worker = LatestWorker::start("browse-carry", env.wake.clone(), move |task: ExportTask| {
            let catalog = task.catalog.as_ref();
            match (task.action, &task.from) {
                (ExportAction::Copy(part), ExportSource::Shown(sample)) => {
                    ExportResult::Copy(copy_of(catalog, sample, part, scratch.as_deref(), &task.cancel))
                }
                (ExportAction::Copy(_), ExportSource::Marked(_)) => {
                    ExportResult::Copy(Err(Failure::usage("copying the part", "several samples are marked")))
                }
                (ExportAction::Export(parts, folder), from) => {
                    ExportResult::Exported(exported(catalog, from, &parts, &folder, &task.cancel))
                }
            }
        });
        Self { worker, open: None, orders: Rc::default(), cancel: Cancel::default() }
    }

    /// Whether an export is in progress or requested.
    pub fn is_busy(&self) -> bool {
        self.worker.is_waiting() || self.orders.borrow().is_some()
    }

    /// Drops the copy after the editor has exited.
    pub fn release_copy(&mut self) {
        self.open = None;
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl BrowseScreen {
    fn task(&self, from: ExportSource, action: ExportAction) -> Option<ExportTask> {
        let (catalog, cancel) = (Arc::clone(self.catalog()?), self.exporter.cancel.clone());
        Some(ExportTask { catalog, from, action, cancel })
    }

    /// Opens a copy of the part in the user's editor.
    pub(in super::super) fn open_part(&mut self) -> Vec<Effect> {
        let Some(sample) = self.state.sample().cloned() else { return Vec::new() };
        let part = self.state.part_index(&sample);
        if let Some(task) = self.task(ExportSource::Shown(sample), ExportAction::Copy(part)) {
            self.exporter.worker.submit(task);
        }
        Vec::new()
    }

    /// Asks which parts to export, then the folder.
    pub(in super::super) fn open_export_dialog(&mut self) -> Vec<Effect> {
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
                    ChoiceOption::new(format!("part {part_name} of the {samples}"), ""),
                    ChoiceOption::new(format!("the {samples}, all parts"), ""),
                ];
                (ExportSource::Marked(self.state.marked_spans(rows)), samples, offers)
            }
            None => {
                let whole: u64 = sample.parts.iter().map(|part| part.byte_size).sum();
                let parts = count(sample.parts.len() as u64, "part");
                let offers = vec![
                    ChoiceOption::new(format!("part {part_name}"), bytes(part.byte_size)),
                    ChoiceOption::new("the whole sample", format!("{parts}, {}", bytes(whole))),
                ];
                (ExportSource::Shown(Arc::clone(&sample)), sample.key.to_string(), offers)
            }
        };
        let choices = [ExportedParts::Shown(part_name, shown), ExportedParts::All];
        let tasks = choices.map(|parts| self.task(from.clone(), ExportAction::Export(parts, PathBuf::new())));
        let (orders, home) = (Rc::clone(&self.exporter.orders), self.env.home.clone());
        let tasks = Rc::new(RefCell::new(tasks));
        let chosen = move |row: usize| {
            let mut task = tasks.borrow_mut().get_mut(row).and_then(Option::take);
            let (orders, home) = (Rc::clone(&orders), home.clone());
            let accept = move |typed: &str| {
                let folder = folder_of(typed, home.as_deref()).ok_or("name a folder")?;
                if let Some(mut task) = task.take() {
                    if let ExportAction::Export(_, into) = &mut task.action {
                        *into = folder;
                    }
                    *orders.borrow_mut() = Some(task);
                }
                Ok(Vec::new())
            };
            let line = "Into which folder? It is created if it does not exist; existing files are not overwritten.";
            vec![Effect::Push(Box::new(Prompt::new("Export", line, "", "~/export", accept)))]
        };
        vec![Effect::Push(Box::new(Choice::new("Export", vec![title], offers, chosen)))]
    }

    /// Starts requested tasks, and reports the results of finished ones.
    pub(super) fn take_exports(&mut self, effects: &mut Vec<Effect>) -> bool {
        let ordered = self.exporter.orders.borrow_mut().take();
        if let Some(task) = ordered {
            self.exporter.worker.submit(task);
        }
        match self.exporter.worker.take() {
            None => return false,
            Some(ExportResult::Copy(Ok(copy))) => {
                effects.push(Effect::RunInTerminal(editor_on(&copy)));
                self.exporter.open = Some(copy);
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

/// Returns the editor command for a copy. The user's setting may contain arguments; it is split at spaces and never passed to a shell.
fn editor_on(copy: &PartCopy) -> TerminalProgram {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    let named = named.unwrap_or_else(|| "vi".to_owned());
    let mut argv: Vec<OsString> = named.split_whitespace().map(OsString::from).collect();
    argv.push(copy.file.as_os_str().to_owned());
    TerminalProgram { argv }
}
