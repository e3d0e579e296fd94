//! The info page of an entry. A worker thread reads the files.

mod lines;

use super::{headline, EntryFacts, HomeEntry, PreparationState};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::page::{Page, PageLine, Tone};
use crate::tui::work::Stoppable;
use gristmill_core::{Cancel, Handles, Outcome, ProblemLog, Progress};
use gristmill_ops::datasets::{Dataset, InfoRequest};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::PathBuf;

/// The page opened with `i`.
pub struct InfoPage {
    page: Page,
    lines: Vec<PageLine>,
    worker: Stoppable<PathBuf, Outcome<Vec<PageLine>>>,
}

impl InfoPage {
    /// Creates the page of an entry with the known facts; the others are added later.
    pub fn new(entry: &HomeEntry, seen: &EntryFacts, env: &UiEnv) -> Self {
        let mut lines = first_lines(entry, seen, env.ascii);
        let (kind, is_ascii) = (seen.kind, env.ascii);
        let answer = move |path: PathBuf, cancel: &Cancel| read(&Dataset::of(&path, kind), is_ascii, cancel);
        let mut worker = Stoppable::start("info", env.wake.clone(), answer);
        let mut shown = lines.clone();
        if seen.kind.info().is_described && !seen.is_begun {
            worker.submit(entry.path.clone());
            shown.push(PageLine::new(Tone::Muted, "reading"));
        }
        lines.push(PageLine::new(Tone::Plain, ""));
        let name = entry.path.file_name().map_or_else(|| entry.name.clone(), super::entry::name_of);
        Self { page: Page::new(vec!["info".to_owned(), name], shown), lines, worker }
    }
}

fn first_lines(entry: &HomeEntry, seen: &EntryFacts, ascii: bool) -> Vec<PageLine> {
    let mut lines =
        vec![PageLine::new(Tone::Heading, entry.path.to_string_lossy()), PageLine::new(Tone::Plain, headline(seen))];
    let amount = seen.amount(if ascii { "-" } else { "·" });
    if !amount.is_empty() {
        lines.push(PageLine::new(Tone::Plain, amount));
    }
    if !seen.parts.is_empty() {
        lines.push(PageLine::new(Tone::Plain, format!("parts of the first sample: {}", seen.parts.join(" "))));
    }
    if seen.kind.has_loose_files() && seen.texts > 0 {
        let words = "Packing and dedup take the folder as a whole; for prepare, info and browse each file is a data set of its own.";
        lines.push(PageLine::new(Tone::Muted, words));
    }
    match &seen.state {
        PreparationState::Interrupted => {
            lines.push(PageLine::new(Tone::Warn, super::unfinished_runs::state_text(seen)))
        }
        PreparationState::Locked(holder) => lines.push(PageLine::new(Tone::Warn, format!("In use by {holder}."))),
        PreparationState::Stale(why) => lines.push(PageLine::new(Tone::Warn, format!("Out of date: {why}."))),
        PreparationState::Broken(why) => lines.push(PageLine::new(Tone::Error, why.clone())),
        PreparationState::None | PreparationState::Raw | PreparationState::Prepared => {}
    }
    lines
}

/// Describes a data set; runs on the worker thread.
fn read(dataset: &Dataset, is_ascii: bool, cancel: &Cancel) -> Outcome<Vec<PageLine>> {
    let (progress, log) = (Progress::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel, problems: &log };
    let mut info = dataset.info(&InfoRequest::default(), &handles)?;
    info.problems.splice(..0, log.to_vec());
    Ok(lines::lines(&info, is_ascii))
}

impl Screen for InfoPage {
    fn context(&self) -> Context {
        Context::Page
    }
    fn title(&self) -> Vec<String> {
        self.page.title()
    }
    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.page.draw(frame, area, ui);
    }
    fn handle(&mut self, input: Input) -> Vec<Effect> {
        self.page.handle(input)
    }
    fn disabled_reason(&self, action: Action) -> Option<String> {
        self.page.disabled_reason(action)
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(answer) = self.worker.take() else { return false };
        let mut lines = self.lines.clone();
        match answer {
            Ok(facts) => lines.extend(facts),
            Err(failure) => {
                lines.push(PageLine::new(Tone::Error, failure.to_string()));
                lines.extend(failure.hint.map(|hint| PageLine::new(Tone::Muted, format!("hint: {hint}"))));
            }
        }
        self.page.set_lines(lines);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shown(case: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case);
        let lines = read(&Dataset::find(&path).unwrap(), false, &Cancel::default()).unwrap();
        lines.iter().map(|line| format!("{}{}\n", line.label, line.text)).collect()
    }

    #[test]
    fn info_of_packed_tokens_shows_counts_and_files() {
        let packed = shown("modalities/pack_bpe/expected/data.pbin");
        for part in ["documents  ", "bytes a token             2", "on average", "the token 0"] {
            assert!(packed.contains(part), "{part}: {packed}");
        }
        let folder = shown("modalities/chunk_tokenized/expected");
        for part in ["documents  ", "files           2", "chunk0.pbin", "  file"] {
            assert!(folder.contains(part), "{part}: {folder}");
        }
        let folder = shown("nanosets/03_modern_doc_shuffle_split/expected");
        for part in ["../tokenizers/bpe1k.json", "2,541", "00001_00000_doc_shuffled.ds", "files           4"] {
            assert!(folder.contains(part), "{part}: {folder}");
        }
        let samples = shown("forager/aux_loss_mask/expected");
        for part in ["samples", "bytes a sample", "arrays", "tokens (uint32)"] {
            assert!(samples.contains(part), "{part}: {samples}");
        }
    }
}
