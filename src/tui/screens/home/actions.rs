//! The actions on the selected entry: which are available, why others are not, and their effects.

use super::{begun, Entry, EntryFacts, Focus, Home, InfoPage, PaneContent, State};
use crate::tui::form;
use crate::tui::keymap::{Action, Context};
use crate::tui::question::{DialogChoice, Question};
use crate::tui::screen::{Effect, TerminalProgram};
use crate::tui::screens::run::{orders, RunScreen};
use crate::tui::screens::{browse, facts, splits};
use crate::tui::widgets::{Level, Toast};
use gristmill_core::DatasetKind;
use gristmill_data::source::documents::is_written_back;
use gristmill_ops::engine::nanosets::mixture::{Member, MixtureIndexPlan};
use gristmill_ops::operations;
use gristmill_ops::operations::{erase, MixIndex, Plan as _};
use gristmill_ops::tokens::formats;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// All actions on an entry; the right pane, its keys and its help are derived from this table.
const ACTIONS: &[Action] = &[
    Action::Prepare,
    Action::Resume,
    Action::Browse,
    Action::Pack,
    Action::Dedup,
    Action::Media,
    Action::Facts,
    Action::Info,
    Action::Splits,
    Action::Mix,
    Action::Enter,
    Action::Edit,
];

impl Home {
    /// Returns the actions of [`ACTIONS`] that are available for the selected entry.
    pub(super) fn possible(&self) -> Vec<Action> {
        ACTIONS.iter().copied().filter(|a| self.why_not(*a).is_none()).collect()
    }

    /// Returns why an action is not available for the selected entry.
    pub(super) fn why_not(&self, action: Action) -> Option<String> {
        if !ACTIONS.contains(&action) {
            return None;
        }
        let Some(entry) = self.selected() else { return Some("nothing is selected".into()) };
        let seen = self.looks.get(&entry.path);
        match action {
            Action::Enter if !entry.is_folder => return Some("this is not a folder".into()),
            Action::Edit if seen.is_some_and(|l| l.is_begun) => return Some("nothing of it is there yet".into()),
            Action::Edit if entry.is_folder => return Some("this is a folder".into()),
            Action::Edit if seen.is_some_and(|l| l.is_shard) => return Some("a shard is not text".into()),
            Action::Enter | Action::Edit => return None,
            _ => {}
        }
        let Some(seen) = seen else { return Some("still looking".into()) };
        match action {
            Action::Resume => why_not_resume(seen),
            Action::Info => None,
            _ if seen.is_begun => Some("nothing of it is there yet".into()),
            Action::Prepare => why_not_prepare(seen),
            Action::Browse => why_not_browse(seen),
            Action::Pack => why_not_pack(entry, seen),
            Action::Dedup => why_not_dedup(entry, seen),
            Action::Media => why_not_media(seen),
            Action::Facts => why_not_facts(seen),
            Action::Mix => why_not_mix(seen),
            Action::Splits if seen.kind != DatasetKind::PreparedWebDataset => {
                Some("only a prepared WebDataset has splits".into())
            }
            _ => None,
        }
    }

    /// Handles Enter: runs the most likely action for the entry.
    pub(super) fn open(&mut self) -> Vec<Effect> {
        let Some(entry) = self.selected() else { return Vec::new() };
        let path = entry.path.clone();
        let is_folder = entry.is_folder;
        match self.looks.get(&path) {
            Some(seen) if seen.is_begun => match self.why_not(Action::Resume) {
                None => self.resume(path),
                Some(why) => vec![Effect::Toast(Toast::new(Level::Info, why))],
            },
            // A prepared data set is browsed; p prepares it again.
            Some(seen) if seen.is_ready_to_browse() => self.browse(path),
            Some(seen) if seen.can_prepare() && is_folder => vec![Effect::OpenPath(path)],
            Some(seen) if seen.is_shard => {
                let key = |action| self.env.key(Context::Home, action);
                let (up, open) = (key(Action::Parent), key(Action::Open));
                let text = format!("This is one shard. Prepare works on its folder: press {up}, then {open}");
                vec![Effect::Toast(Toast::new(Level::Info, text))]
            }
            _ if is_folder => {
                self.go(PaneContent::Folder(path), None);
                Vec::new()
            }
            Some(seen) if seen.is_prepared_by_a_run() => self.prepare(path),
            Some(seen) if seen.is_packed_lines => self.browse(path),
            Some(seen) => {
                let edit = self.env.key(Context::Home, Action::Edit);
                let way = match self.why_not(Action::Edit) {
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
                self.go(PaneContent::Folder(path), None);
                Vec::new()
            }
            Action::Info => self.info(&entry),
            Action::Edit => edit(&entry),
            Action::Browse => self.browse(path),
            Action::Pack => self.form("pack", &path),
            Action::Dedup => self.form("dedup", &path),
            Action::Media => self.form("prepare-media", &path),
            Action::Facts => vec![Effect::Push(facts::open(path, self.env.clone()))],
            Action::Splits => vec![Effect::Push(splits::open(path, self.env.clone()))],
            Action::Mix => self.mix(&entry),
            _ => Vec::new(),
        }
    }

    fn browse(&self, path: PathBuf) -> Vec<Effect> {
        crate::tui::recent::remember(&self.env.state_dir, &path);
        vec![Effect::Push(browse::open(path, self.env.clone()))]
    }

    /// Opens the form of an operation with the path as its input.
    fn form(&self, operation: &str, path: &Path) -> Vec<Effect> {
        crate::tui::recent::remember(&self.env.state_dir, path);
        let inputs = vec![path.to_string_lossy().into_owned()];
        let plan = operations::operation(operation).map(|operation| operation.plan_for(inputs));
        plan.map(|plan| Effect::Push(form::open(plan, self.env.clone()))).into_iter().collect()
    }

    fn resume(&self, path: PathBuf) -> Vec<Effect> {
        match self.looks.get(&path).and_then(|seen| seen.begun.clone()) {
            Some(run) => {
                crate::tui::recent::remember(&self.env.state_dir, &path);
                begun::resume(&run, &self.env)
            }
            None => vec![Effect::ResumePath(path)],
        }
    }

    fn prepare(&mut self, path: PathBuf) -> Vec<Effect> {
        match self.looks.get(&path).map(|seen| (seen.kind, seen.clone())) {
            Some((DatasetKind::Jsonl, seen)) => vec![Effect::Push(self.ask_to_index(path, &seen))],
            Some((DatasetKind::Metadataset, _)) => {
                let run = RunScreen::new(orders::metadataset(&path), self.env.clone());
                vec![Effect::Push(Box::new(run))]
            }
            _ => vec![Effect::OpenPath(path)],
        }
    }

    /// Returns the question shown before a JSONL file is indexed, with what indexing reads and writes.
    fn ask_to_index(&self, path: PathBuf, seen: &EntryFacts) -> Box<Question> {
        let name = path.file_name().map_or_else(String::new, super::look::name_of);
        let mut lines = vec![
            format!(
                "Reads {} and writes {name}.idx next to it: 8 bytes a sample.",
                gristmill_core::text::bytes(seen.bytes)
            ),
            "Nothing else is needed: the training framework reads the file as it is.".to_owned(),
        ];
        match &seen.state {
            State::Prepared => lines.push("There is an index already, and it fits the file.".to_owned()),
            State::Stale(why) => lines.push(format!("The index that is there is out of date: {why}.")),
            _ => {}
        }
        let run = RunScreen::new(orders::jsonl(&path), self.env.clone());
        let without = RunScreen::new(orders::jsonl_without_bad_lines(&path), self.env.clone());
        let answers = vec![
            DialogChoice::new("Write the index", vec![Effect::Push(Box::new(run))]),
            DialogChoice::new("Leave bad lines out, in a copy", vec![Effect::Push(Box::new(without))]),
            DialogChoice::new("Leave it", Vec::new()),
        ];
        Box::new(Question::new("Prepare JSONL", lines, answers))
    }

    fn info(&self, entry: &Entry) -> Vec<Effect> {
        let Some(seen) = self.looks.get(&entry.path) else { return Vec::new() };
        vec![Effect::Push(Box::new(InfoPage::new(entry, seen, &self.env)))]
    }

    /// Opens a mixture of the data sets in a folder, or of those next to a data set with that one selected.
    fn mix(&self, entry: &Entry) -> Vec<Effect> {
        let seen = self.looks.get(&entry.path);
        if seen.and_then(|seen| seen.kind.tokens()).is_some_and(|kind| kind.is_mixable) {
            let members = vec![Member::Folder(entry.path.clone())];
            let plan = MixtureIndexPlan { members, ..MixtureIndexPlan::blank() };
            return vec![Effect::Push(form::open(erase::<MixIndex>(plan), self.env.clone()))];
        }
        let inside = seen.is_some_and(|l| l.kind != DatasetKind::PreparedWebDataset && l.members > 0);
        let (folder, chosen) = match (inside, entry.path.parent()) {
            (false, Some(parent)) => (parent.to_owned(), Some(entry.path.clone())),
            _ => (entry.path.clone(), None),
        };
        vec![Effect::Push(form::open_mix(folder, chosen, self.env.clone()))]
    }

    /// Returns the label of an action for the selected entry, where the default label does not fit.
    pub(super) fn word_for(&self, action: Action) -> &'static str {
        let kind = self.selected_look().map(|seen| seen.kind);
        match (action, kind) {
            (Action::Prepare, Some(DatasetKind::Jsonl)) => "write the index",
            (Action::Prepare, Some(DatasetKind::Metadataset)) => "check, prepare",
            _ => action.label(),
        }
    }

    /// Returns the description of an action for the selected entry.
    pub(super) fn sentence_for(&self, action: Action) -> &'static str {
        let kind = self.selected_look().map(|seen| seen.kind);
        match (action, kind) {
            (Action::Prepare, Some(DatasetKind::Jsonl)) => "Writes the index by which training finds each line.",
            (Action::Prepare, Some(DatasetKind::Metadataset)) => {
                "Opens every member, says what is wrong, and writes the index of joins."
            }
            (Action::Browse, _) if self.selected_look().is_some_and(|seen| seen.is_deduplicated) => {
                "Shows what the dedup took out of the documents, and where the copy that stays is."
            }
            _ => action.help(),
        }
    }

    /// Whether the action pane has the focus.
    pub(super) fn is_in_actions(&self) -> bool {
        self.focus == Focus::Actions
    }
}

fn why_not_resume(seen: &EntryFacts) -> Option<String> {
    match seen.state {
        State::Interrupted if seen.begun.is_some() || seen.can_prepare() && !seen.is_begun => None,
        State::Interrupted => Some("the answers of the run that was interrupted cannot be read".into()),
        _ => Some("no run was interrupted here".into()),
    }
}

fn why_not_prepare(seen: &EntryFacts) -> Option<String> {
    if seen.is_shard {
        return Some("this is one shard; prepare works on its folder".into());
    }
    if seen.is_prepared_by_a_run() {
        return None;
    }
    if seen.is_media_folder() {
        return Some("loose media are described by media metadata, not prepared".into());
    }
    if !seen.can_prepare() {
        return Some("only folders of tar shards, JSONL files and metadatasets can be prepared".into());
    }
    None
}

fn why_not_browse(seen: &EntryFacts) -> Option<String> {
    match seen.kind {
        _ if seen.is_packed_lines => None,
        _ if seen.is_shard => None,
        DatasetKind::PreparedWebDataset | DatasetKind::RawWebDataset | DatasetKind::Jsonl => None,
        DatasetKind::Filesystem => None,
        DatasetKind::Table(_) | DatasetKind::TableFolder(_) => None,
        DatasetKind::PlainFolder if seen.media > 0 || seen.is_deduplicated => None,
        DatasetKind::PlainFolder => Some("no picture, sound or video was seen in it".into()),
        DatasetKind::Metadataset => Some("its members are browsed, each by itself".into()),
        DatasetKind::Tokens(kind) if formats::browser(kind).is_some() => None,
        DatasetKind::Tokens(kind) => Some(format!("the browser does not open files of {}", kind.title)),
        DatasetKind::PackedFormats => Some("each of its formats is browsed by itself: open the folder".into()),
        DatasetKind::MixtureIndex => Some("the token folders of a mixture are browsed, not its index".into()),
        DatasetKind::OtherFile => Some("only shards, JSONL files, folders of media and tokens are browsed".into()),
    }
}

fn why_not_pack(entry: &Entry, seen: &EntryFacts) -> Option<String> {
    if seen.is_shard {
        return Some("a shard is no text to pack".into());
    }
    match seen.kind {
        _ if is_text_file(entry, seen) => None,
        DatasetKind::Tokens(_) if seen.texts == 0 => Some("it is packed already".into()),
        _ if entry.is_folder && seen.texts > 0 => None,
        _ => Some("no file of text was seen in it".into()),
    }
}

/// Whether the entry is a JSONL file, compressed or not.
fn is_text_file(entry: &Entry, seen: &EntryFacts) -> bool {
    match seen.kind {
        DatasetKind::Jsonl => true,
        DatasetKind::Table(_) => true,
        DatasetKind::OtherFile => entry.name.contains(".jsonl.") && !entry.name.ends_with(".idx"),
        _ => false,
    }
}

fn why_not_dedup(entry: &Entry, seen: &EntryFacts) -> Option<String> {
    let table = seen.kind.table().filter(|kind| !is_written_back(kind));
    if let Some(kind) = table {
        return Some(format!("dedup does not write files of {}", kind.title));
    }
    match seen.texts {
        _ if is_text_file(entry, seen) => None,
        _ if !entry.is_folder => Some("it is no file of JSONL or Parquet".into()),
        0 => Some("no file of JSONL or Parquet was seen in it".into()),
        _ => None,
    }
}

fn why_not_media(seen: &EntryFacts) -> Option<String> {
    match seen.kind {
        DatasetKind::PreparedWebDataset | DatasetKind::Filesystem => None,
        DatasetKind::PlainFolder if seen.media > 0 => None,
        DatasetKind::PlainFolder => Some("no picture, sound or video was seen in it".into()),
        DatasetKind::RawWebDataset => Some("the guided prepare asks about media; or prepare it first".into()),
        kind if kind.is_tokens() => Some("it holds tokens, no media".into()),
        _ => Some("media metadata is for folders".into()),
    }
}

fn why_not_facts(seen: &EntryFacts) -> Option<String> {
    match seen.kind {
        DatasetKind::PreparedWebDataset | DatasetKind::RawWebDataset | DatasetKind::Jsonl => None,
        DatasetKind::Filesystem | DatasetKind::Table(_) | DatasetKind::TableFolder(_) => None,
        _ if seen.is_media_folder() => Some("its media are not described yet".into()),
        DatasetKind::Metadataset => Some("info shows the shares of its members".into()),
        _ => Some("there is nothing to be counted in it".into()),
    }
}

fn why_not_mix(seen: &EntryFacts) -> Option<String> {
    match (seen.kind, &seen.state) {
        (DatasetKind::PreparedWebDataset, _) | (DatasetKind::Jsonl, State::Prepared) => None,
        (DatasetKind::Metadataset, State::Prepared) => None,
        (DatasetKind::Tokens(kind), _) if kind.is_mixable => None,
        (DatasetKind::RawWebDataset | DatasetKind::PlainFolder, _) if seen.members > 0 => None,
        _ => Some("a mixture needs prepared data sets".into()),
    }
}

fn edit(entry: &Entry) -> Vec<Effect> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
    // The editor may be set with arguments; it is split at spaces and never passed to a shell.
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut argv: Vec<OsString> = editor.split_whitespace().map(OsString::from).collect();
    // The path is absolute, so that it cannot be taken for an option.
    argv.push(Path::new(&entry.path).as_os_str().to_owned());
    vec![Effect::RunInTerminal(TerminalProgram { argv })]
}
