//! The actions on the selected entry: which are available, why others are not, and their effects.

use super::{unfinished_runs, EntryFacts, Focus, Home, HomeEntry, InfoPage, PaneContent, PreparationState};
use crate::tui::form;
use crate::tui::keymap::{Action, Context};
use crate::tui::mounter;
use crate::tui::question::{DialogChoice, Question};
use crate::tui::screen::{Effect, TerminalProgram};
use crate::tui::screens::run::{job_requests, RunScreen};
use crate::tui::screens::{browse, facts, splits};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::kinds::Support;
use gristmill_core::DatasetKind;
use gristmill_data::source::documents::is_written_back;
use gristmill_ops::operations;
use gristmill_ops::operations::{erase, MixIndex, Plan as _};
use gristmill_ops::tokens::formats::mixture::{Member, MixtureIndexPlan};
use gristmill_storage::location::is_read_only;
use gristmill_storage::stores::is_bucket;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// All actions on an entry; the right pane, its keys and its help are derived from this table.
const ACTIONS: &[Action] = &[
    Action::Prepare,
    Action::Resume,
    Action::Browse,
    Action::Pack,
    Action::Dedup,
    Action::Shards,
    Action::Media,
    Action::Facts,
    Action::Info,
    Action::Splits,
    Action::Mount,
    Action::Mix,
    Action::Enter,
    Action::Edit,
];

/// The reason why folders without media cannot be browsed or described.
const NO_MEDIA: &str = "no picture, sound or video was seen in it";

impl Home {
    /// Returns the actions of [`ACTIONS`] that are available for the selected entry.
    pub(super) fn available_actions(&self) -> Vec<Action> {
        ACTIONS.iter().copied().filter(|a| self.disabled_reason(*a).is_none()).collect()
    }

    /// Returns why an action is not available for the selected entry.
    pub(super) fn disabled_reason(&self, action: Action) -> Option<String> {
        if !ACTIONS.contains(&action) {
            return None;
        }
        let Some(entry) = self.selected() else { return Some("nothing is selected".into()) };
        let seen = self.entry_facts.get(&entry.path);
        match action {
            Action::Enter if !entry.is_folder => return Some("this is not a folder".into()),
            Action::Edit if seen.is_some_and(|l| l.is_begun) => return Some("the output does not exist yet".into()),
            Action::Edit if entry.is_folder => return Some("this is a folder".into()),
            Action::Edit if seen.is_some_and(is_shard) => return Some("a shard is not text".into()),
            Action::Enter | Action::Edit => return None,
            _ => {}
        }
        let Some(seen) = seen else { return Some("still looking".into()) };
        match action {
            Action::Resume => resume_refusal(seen),
            Action::Info => None,
            _ if seen.is_begun => Some("the output does not exist yet".into()),
            Action::Prepare | Action::Dedup | Action::Media | Action::Splits | Action::Mix
                if is_read_only(&entry.path) =>
            {
                Some("this location is read-only; copy the data with gristmill cp".into())
            }
            Action::Prepare => prepare_refusal(seen),
            Action::Browse => browse_refusal(seen),
            Action::Pack => pack_refusal(entry, seen),
            Action::Dedup => dedup_refusal(entry, seen),
            Action::Shards => shard_refusal(entry, seen),
            Action::Media => media_refusal(entry, seen),
            Action::Facts => why(seen.kind.info().figures),
            Action::Mount => mounter::unavailable_reason().or_else(|| browse_refusal(seen)),
            Action::Mix => mix_refusal(seen),
            Action::Splits => seen.kind.info().why_no_splits.map(str::to_owned),
            _ => None,
        }
    }

    /// Handles Enter: runs the most likely action for the entry.
    pub(super) fn open(&mut self) -> Vec<Effect> {
        let Some(entry) = self.selected() else { return Vec::new() };
        let path = entry.path.clone();
        let is_folder = entry.is_folder;
        match self.entry_facts.get(&path) {
            Some(seen) if seen.is_begun => match self.disabled_reason(Action::Resume) {
                None => self.resume(path),
                Some(why) => vec![Effect::Toast(Toast::new(Level::Info, why))],
            },
            // A prepared data set is opened in the browser; the key p prepares it again.
            Some(seen) if seen.is_ready_to_browse() => self.browse(path),
            // A bucket usually contains several data sets, so Enter lists its content.
            Some(_) if is_bucket(&path) => {
                self.open_pane(PaneContent::Folder(path), None);
                Vec::new()
            }
            Some(seen) if seen.can_prepare() && is_read_only(&path) => self.browse(path),
            Some(seen) if seen.can_prepare() && is_folder => vec![Effect::OpenPath(path)],
            Some(seen) if is_shard(seen) => {
                let key = |action| self.env.key(Context::Home, action);
                let (up, open) = (key(Action::Parent), key(Action::Open));
                let text = format!("This is one shard. Prepare works on its folder: press {up}, then {open}");
                vec![Effect::Toast(Toast::new(Level::Info, text))]
            }
            _ if is_folder => {
                self.open_pane(PaneContent::Folder(path), None);
                Vec::new()
            }
            Some(seen) if seen.kind.is_prepared_without_questions() => self.prepare(path),
            Some(seen) if seen.kind.info().browse.is_ok() => self.browse(path),
            Some(seen) => {
                let edit = self.env.key(Context::Home, Action::Edit);
                let way = match self.disabled_reason(Action::Edit) {
                    None if !edit.is_empty() => format!("; {edit} opens it in your editor"),
                    _ => String::new(),
                };
                let text = format!("{}: there is nothing to prepare or browse in it{way}", seen.title());
                vec![Effect::Toast(Toast::new(Level::Info, text))]
            }
            None => Vec::new(),
        }
    }

    /// Runs an action on the selected entry.
    pub(super) fn act_on_entry(&mut self, action: Action) -> Vec<Effect> {
        let Some(entry) = self.selected().cloned() else { return Vec::new() };
        let path = entry.path.clone();
        match action {
            Action::Prepare => self.prepare(path),
            Action::Resume => self.resume(path),
            Action::Enter => {
                self.open_pane(PaneContent::Folder(path), None);
                Vec::new()
            }
            Action::Info => self.info(&entry),
            Action::Edit => edit(&entry),
            Action::Browse => self.browse(path),
            Action::Pack => self.form("pack", &path),
            Action::Dedup => self.form("dedup", &path),
            Action::Shards => self.form("shard", &path),
            Action::Media => self.form("prepare-media", &path),
            Action::Facts => vec![Effect::Push(facts::open(path, self.env.clone()))],
            Action::Splits => vec![Effect::Push(splits::open(path, self.env.clone()))],
            Action::Mount => self.mounter.toggle_mount(&path),
            Action::Mix => self.mix(&entry),
            _ => Vec::new(),
        }
    }

    fn browse(&self, path: PathBuf) -> Vec<Effect> {
        crate::tui::recent::add(&self.env.state_dir, &path);
        vec![Effect::Push(browse::open(path, self.env.clone()))]
    }

    /// Opens the form of an operation with the path as its input.
    fn form(&self, operation: &str, path: &Path) -> Vec<Effect> {
        crate::tui::recent::add(&self.env.state_dir, path);
        let inputs = vec![path.to_string_lossy().into_owned()];
        let plan = operations::operation(operation).map(|operation| operation.plan_for(inputs));
        plan.map(|plan| Effect::Push(form::open(plan, self.env.clone()))).into_iter().collect()
    }

    fn resume(&self, path: PathBuf) -> Vec<Effect> {
        match self.entry_facts.get(&path).and_then(|seen| seen.begun.clone()) {
            Some(run) => {
                crate::tui::recent::add(&self.env.state_dir, &path);
                unfinished_runs::resume(&run, &self.env)
            }
            None => vec![Effect::ResumePath(path)],
        }
    }

    fn prepare(&mut self, path: PathBuf) -> Vec<Effect> {
        match self.entry_facts.get(&path).map(|seen| (seen.kind, seen.clone())) {
            Some((DatasetKind::Jsonl, seen)) => vec![Effect::Push(self.index_question(path, &seen))],
            Some((DatasetKind::Metadataset, _)) => {
                let run = RunScreen::new(job_requests::metadataset(&path), self.env.clone());
                vec![Effect::Push(Box::new(run))]
            }
            _ => vec![Effect::OpenPath(path)],
        }
    }

    /// Returns the question before a JSONL file is indexed, which states what indexing reads and writes.
    fn index_question(&self, path: PathBuf, seen: &EntryFacts) -> Box<Question> {
        let name = path.file_name().map_or_else(String::new, super::entry::name_of);
        let mut lines = vec![
            format!(
                "Reads {} and writes {name}.idx next to it: 8 bytes a sample.",
                gristmill_core::text::bytes(seen.bytes)
            ),
            "Nothing else is needed: the training framework reads the file as it is.".to_owned(),
        ];
        match &seen.state {
            PreparationState::Prepared => lines.push("There is an index already, and it fits the file.".to_owned()),
            PreparationState::Stale(why) => lines.push(format!("The index that is there is out of date: {why}.")),
            _ => {}
        }
        let run = RunScreen::new(job_requests::jsonl(&path), self.env.clone());
        let without = RunScreen::new(job_requests::jsonl_without_bad_lines(&path), self.env.clone());
        let answers = vec![
            DialogChoice::new("Write the index", vec![Effect::Push(Box::new(run))]),
            DialogChoice::new("Index a copy without the bad lines", vec![Effect::Push(Box::new(without))]),
            DialogChoice::new("Leave it", Vec::new()),
        ];
        Box::new(Question::new("Prepare JSONL", lines, answers))
    }

    fn info(&self, entry: &HomeEntry) -> Vec<Effect> {
        let Some(seen) = self.entry_facts.get(&entry.path) else { return Vec::new() };
        vec![Effect::Push(Box::new(InfoPage::new(entry, seen, &self.env)))]
    }

    /// Opens the form of a blend of the data sets in a folder; for a data set, those next to it, with that one selected.
    fn mix(&self, entry: &HomeEntry) -> Vec<Effect> {
        let seen = self.entry_facts.get(&entry.path);
        if seen.and_then(|seen| seen.kind.tokens()).is_some_and(|kind| kind.is_mixable) {
            let members = vec![Member::Folder(entry.path.clone())];
            let plan = MixtureIndexPlan { members, ..MixtureIndexPlan::blank() };
            return vec![Effect::Push(form::open(erase::<MixIndex>(plan), self.env.clone()))];
        }
        let inside = seen.is_some_and(|seen| !seen.kind.has_splits() && seen.members > 0);
        let (folder, chosen) = match (inside, entry.path.parent()) {
            (false, Some(parent)) => (parent.to_owned(), Some(entry.path.clone())),
            _ => (entry.path.clone(), None),
        };
        vec![Effect::Push(form::open_mix(folder, chosen, self.env.clone()))]
    }

    /// Returns the label of an action for the selected entry, if the default label does not fit.
    pub(super) fn word_for(&self, action: Action) -> &'static str {
        let kind = self.selected_facts().map(|seen| seen.kind);
        match (action, kind) {
            (Action::Prepare, Some(DatasetKind::Jsonl)) => "write the index",
            (Action::Prepare, Some(DatasetKind::Metadataset)) => "check, prepare",
            _ => action.label(),
        }
    }

    /// Returns the description of an action for the selected entry.
    pub(super) fn sentence_for(&self, action: Action) -> &'static str {
        let kind = self.selected_facts().map(|seen| seen.kind);
        match (action, kind) {
            (Action::Prepare, Some(DatasetKind::Jsonl)) => "Writes the index by which training finds each line.",
            (Action::Prepare, Some(DatasetKind::Metadataset)) => {
                "Opens every member, reports problems, and writes the index of joins."
            }
            (Action::Browse, _) if self.selected_facts().is_some_and(|seen| seen.is_deduplicated) => {
                "Shows the text that dedup removed, and where its kept copy is."
            }
            (Action::Browse, Some(kind)) if kind.is_document_file() || kind.table().is_some() => {
                "Shows the rows and their values, one by one; browsing writes nothing."
            }
            (Action::Browse, Some(kind)) if kind.is_tokens() => {
                "Shows the documents, their tokens and texts; browsing writes nothing."
            }
            (Action::Info, Some(kind)) if !kind.is_web_dataset() => {
                "Shows what is known of it: its kind, size and state."
            }
            _ => action.help(),
        }
    }

    /// Whether the action pane has the focus.
    pub(super) fn is_in_actions(&self) -> bool {
        self.focus == Focus::Actions
    }
}

fn resume_refusal(seen: &EntryFacts) -> Option<String> {
    match seen.state {
        PreparationState::Interrupted if seen.begun.is_some() || seen.can_prepare() && !seen.is_begun => None,
        PreparationState::Interrupted => Some("the answers of the run that was interrupted cannot be read".into()),
        _ => Some("no run was interrupted here".into()),
    }
}

fn is_shard(seen: &EntryFacts) -> bool {
    seen.kind == DatasetKind::SingleShard
}

/// Returns why a kind of entry does not support an action.
fn why(support: Support) -> Option<String> {
    support.err().map(|refusal| refusal.why.to_owned())
}

fn prepare_refusal(seen: &EntryFacts) -> Option<String> {
    match () {
        () if is_shard(seen) => Some("this is one shard; prepare works on its folder".into()),
        () if seen.can_prepare() || seen.kind.is_prepared_without_questions() => None,
        () if seen.media > 0 => Some("loose media are described by media metadata, not prepared".into()),
        () => Some("only folders of tar shards, JSONL files and metadatasets can be prepared".into()),
    }
}

fn browse_refusal(seen: &EntryFacts) -> Option<String> {
    let is_empty = seen.kind.has_loose_files() && seen.state == PreparationState::None;
    why(seen.kind.info().browse).or_else(|| is_empty.then(|| NO_MEDIA.to_owned()))
}

/// Whether the entry is a file of documents, or a piece of a JSONL file by its name: `a.jsonl.0`.
fn is_text_file(entry: &HomeEntry, seen: &EntryFacts) -> bool {
    let is_piece = || entry.name.contains(".jsonl.") && !entry.name.ends_with(".idx");
    seen.kind.is_document_file() || seen.kind == DatasetKind::OtherFile && is_piece()
}

fn pack_refusal(entry: &HomeEntry, seen: &EntryFacts) -> Option<String> {
    match () {
        () if is_shard(seen) => Some("a shard is no text to pack".into()),
        () if is_text_file(entry, seen) || entry.is_folder && seen.texts > 0 => None,
        () if seen.kind.is_tokens() => Some("it is packed already".into()),
        () => Some("no file of text was seen in it".into()),
    }
}

fn dedup_refusal(entry: &HomeEntry, seen: &EntryFacts) -> Option<String> {
    let table = seen.kind.table().filter(|kind| !is_written_back(kind));
    match (table, seen.texts) {
        (Some(kind), _) => Some(format!("dedup does not write files of {}", kind.title)),
        _ if is_text_file(entry, seen) => None,
        _ if !entry.is_folder => Some("it is no file of JSONL or Parquet".into()),
        (_, 0) => Some("no file of JSONL or Parquet was seen in it".into()),
        _ => None,
    }
}

fn shard_refusal(entry: &HomeEntry, seen: &EntryFacts) -> Option<String> {
    match seen.kind {
        kind if kind.is_tokens() => Some("packed tokens are not samples with parts".into()),
        _ if is_shard(seen) || entry.is_folder || seen.kind.is_document_file() => None,
        _ => Some("shards are made of files, rows and other shards".into()),
    }
}

fn media_refusal(entry: &HomeEntry, seen: &EntryFacts) -> Option<String> {
    match why(seen.kind.info().media) {
        None if seen.kind.has_loose_files() && seen.media == 0 => Some(NO_MEDIA.to_owned()),
        None => None,
        Some(_) if seen.shards > 0 => Some("the guided prepare asks about media; or prepare it first".into()),
        Some(_) if !entry.is_folder => Some("media metadata is for folders".into()),
        why => why,
    }
}

fn mix_refusal(seen: &EntryFacts) -> Option<String> {
    let is_usable =
        seen.kind.info().member.is_ok() && (seen.kind.has_splits() || seen.state == PreparationState::Prepared);
    let is_token_folder = seen.kind.tokens().is_some_and(|kind| kind.is_mixable);
    let is_folder_of_members = seen.members > 0 && (seen.can_prepare() || seen.kind.has_loose_files());
    let is_possible = is_usable || is_token_folder || is_folder_of_members;
    (!is_possible).then(|| "a mixture needs prepared data sets".into())
}

fn edit(entry: &HomeEntry) -> Vec<Effect> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    // The user's setting may contain arguments; it is split at spaces and never passed to a shell.
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut argv: Vec<OsString> = editor.split_whitespace().map(OsString::from).collect();
    // The path is absolute, so it cannot be mistaken for an option.
    argv.push(Path::new(&entry.path).as_os_str().to_owned());
    vec![Effect::RunInTerminal(TerminalProgram { argv })]
}
