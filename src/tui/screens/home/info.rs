//! The info page of an entry. File contents are read on a worker thread.

mod lines;
mod tokens;

use super::{headline, Entry, EntryFacts, State};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::page::{Page, PageLine, Tone};
use crate::tui::theme::Glyphs;
use crate::tui::work::Stoppable;
use gristmill_core::{Cancel, DatasetKind, Handles, Outcome, ProblemLog, Progress};
use gristmill_ops::engine::check::mixture_index::mixture_facts;
use gristmill_ops::engine::check::{info, media_folder_info, tables as check_tables, InfoOptions};
use gristmill_ops::engine::jsonl::facts_of;
use gristmill_ops::engine::mix;
use gristmill_ops::tokens::formats;
use gristmill_ops::tokens::packed_formats::format_facts;
use ratatui::layout::Rect;
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// Number of records of a JSONL file that are examined.
const MAX_RECORDS: u64 = 1_000;

/// The page opened with `i`.
pub struct InfoPage {
    page: Page,
    lines: Vec<PageLine>,
    worker: Stoppable<PathBuf, Outcome<Vec<PageLine>>>,
}

impl InfoPage {
    /// Creates the page of an entry; facts that are not known yet are added later.
    pub fn new(entry: &Entry, seen: &EntryFacts, env: &UiEnv) -> Self {
        let mut lines = first_lines(entry, seen, env.ascii);
        let (kind, glyphs) = (seen.kind, Glyphs::new(env.ascii));
        // The user may have bound the action to another key, or to none.
        let key = Some(env.key(Context::Home, Action::Prepare)).filter(|key| !key.is_empty());
        let prepare = key.unwrap_or_else(|| Action::Prepare.label().to_owned());
        let answer = move |path: PathBuf, cancel: &Cancel| read(&path, kind, &prepare, &glyphs, cancel);
        let mut worker = Stoppable::start("info", env.wake.clone(), answer);
        let mut shown = lines.clone();
        if is_read(seen.kind) && !seen.is_begun {
            worker.ask(entry.path.clone());
            shown.push(PageLine::new(Tone::Muted, "reading"));
        }
        lines.push(PageLine::new(Tone::Plain, ""));
        let name = entry.path.file_name().map_or_else(|| entry.name.clone(), super::look::name_of);
        Self { page: Page::new(vec!["info".to_owned(), name], shown), lines, worker }
    }
}

fn first_lines(entry: &Entry, seen: &EntryFacts, ascii: bool) -> Vec<PageLine> {
    let mut lines =
        vec![PageLine::new(Tone::Heading, entry.path.to_string_lossy()), PageLine::new(Tone::Plain, headline(seen))];
    let amount = seen.amount(if ascii { "-" } else { "·" });
    if !amount.is_empty() {
        lines.push(PageLine::new(Tone::Plain, amount));
    }
    if !seen.parts.is_empty() {
        lines.push(PageLine::new(Tone::Plain, format!("parts of the first sample: {}", seen.parts.join(" "))));
    }
    if seen.kind == DatasetKind::PlainFolder && seen.texts > 0 {
        let words = "Packing and dedup take the folder as a whole; for prepare, info and browse each file is a data set of its own.";
        lines.push(PageLine::new(Tone::Muted, words));
    }
    match &seen.state {
        State::Interrupted => lines.push(PageLine::new(Tone::Warn, super::begun::state_text(seen))),
        State::Locked(holder) => lines.push(PageLine::new(Tone::Warn, format!("In use by process {holder}."))),
        State::Stale(why) => lines.push(PageLine::new(Tone::Warn, format!("Out of date: {why}."))),
        State::Broken(why) => lines.push(PageLine::new(Tone::Error, why.clone())),
        State::None | State::Raw | State::Prepared => {}
    }
    lines
}

/// Reads the engine's facts about a data set; runs on the worker thread.
fn read(path: &Path, kind: DatasetKind, prepare: &str, glyphs: &Glyphs, cancel: &Cancel) -> Outcome<Vec<PageLine>> {
    let (progress, log) = (Progress::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel, problems: &log };
    match kind {
        DatasetKind::Jsonl => facts_of(path, MAX_RECORDS).map(|facts| lines::jsonl(&facts, prepare)),
        DatasetKind::Tokens(kind) => match formats::reader(kind) {
            Some(reader) => reader.info(path, None, &handles).map(|info| tokens::of_format(&info)),
            None => Ok(Vec::new()),
        },
        DatasetKind::Table(_) | DatasetKind::TableFolder(_) => {
            check_tables::info(path, &handles).map(|info| tokens::of_format(&info))
        }
        DatasetKind::PackedFormats => {
            let (formats, problems) = format_facts(path, &handles)?;
            Ok(tokens::formats(&formats, &problems))
        }
        DatasetKind::MixtureIndex => mixture_facts(path, u64::MAX, &handles).map(|facts| tokens::mixture(&facts)),
        DatasetKind::Metadataset => mix::check(path, handles).map(|facts| lines::mixture(&facts, prepare, glyphs)),
        DatasetKind::Filesystem => media_folder_info(path).map(|report| lines::media_folder(&report)),
        _ => info(path, &InfoOptions::default()).map(|report| lines::webdataset(&report)),
    }
}

/// Whether the engine has more facts about this kind than the list shows.
fn is_read(kind: DatasetKind) -> bool {
    use DatasetKind::{Filesystem, Jsonl, Metadataset, MixtureIndex, PackedFormats, PreparedWebDataset};
    kind.is_tokens()
        || kind.table().is_some()
        || matches!(kind, PackedFormats | MixtureIndex | PreparedWebDataset | Jsonl | Metadataset | Filesystem)
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
    fn why_disabled(&self, action: Action) -> Option<String> {
        self.page.why_disabled(action)
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(answer) = self.worker.take() else { return false };
        let mut lines = self.lines.clone();
        match answer {
            Ok(told) => lines.extend(told),
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

    fn shown(case: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(case);
        let kind = gristmill_data::source::kind::kind_of(&path).unwrap();
        let lines = read(&path, kind, "p", &Glyphs::new(false), &Cancel::default()).unwrap();
        lines.iter().map(|line| format!("{}{}\n", line.label, line.text)).collect()
    }

    #[test]
    fn packed_tokens_show_what_the_command_prints() {
        let packed = shown("modalities/pack_bpe/expected/data.pbin");
        for part in ["documents  ", "bytes a token             2", "on average", "the token 0"] {
            assert!(packed.contains(part), "{part}: {packed}");
        }
        let folder = shown("modalities/chunk_tokenized/expected");
        for part in ["documents  ", "files      2", "chunk0.pbin", "  file"] {
            assert!(folder.contains(part), "{part}: {folder}");
        }
        let folder = shown("nanosets/03_modern_doc_shuffle_split/expected");
        for part in ["../tokenizers/bpe1k.json", "2,541", "00001_00000_doc_shuffled.ds", "files          4"] {
            assert!(folder.contains(part), "{part}: {folder}");
        }
        let samples = shown("forager/aux_loss_mask/expected");
        for part in ["samples", "bytes a sample", "arrays", "tokens (uint32)"] {
            assert!(samples.contains(part), "{part}: {samples}");
        }
    }
}
