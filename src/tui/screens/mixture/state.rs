//! The answers of a mixture index, and what they come to. Pure.

use crate::tui::keymap::Action;
use crate::tui::widgets::{ListState, Places, TextField};
use gristmill_core::{Outcome, Problem};
use gristmill_ops::engine::nanosets::mixture::{
    FolderTokenizer, Member as Indexed, MixtureIndexPlan, Outlook, Request, TokenizerSettings, DEFAULT_SEED,
};
use gristmill_ops::formats::nanosets::windows;
use gristmill_ops::operations::{erase, MixIndex, Plan as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One step of a weight by a key.
const STEP: f64 = 0.05;
/// What is offered first.
const FIRST_LENGTH: &str = "2048";

/// A token folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Where it is.
    pub path: PathBuf,
    /// Its name, raw.
    pub name: String,
    /// Tokens of each file, in the order of names.
    pub tokens: Vec<u64>,
    /// The tokenizer and the bytes of a token that its metadata says.
    pub made_with: Option<(String, u64)>,
    /// Why it cannot be used, raw.
    pub trouble: Option<String>,
}

impl Member {
    /// Windows of a sequence length.
    pub fn windows(&self, sequence_length: u64) -> u64 {
        self.tokens.iter().map(|tokens| windows::count(*tokens, sequence_length)).sum()
    }
}

/// A row of the list.
#[derive(Clone, Debug)]
pub struct Row {
    /// The folder.
    pub member: Member,
    /// It is mixed.
    pub chosen: bool,
    /// Its weight as it is typed; empty where each counts by its windows.
    pub weight: String,
}

/// Where the keys go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// The list of folders.
    #[default]
    List,
    /// The path of a folder that is added.
    Folder,
    /// Tokens of a sample.
    Length,
    /// Training steps times the global batch.
    Samples,
    /// Seed of the shuffle.
    Seed,
    /// Where the index goes.
    Output,
}

impl Stop {
    /// All of them in order.
    pub const ALL: [Self; 6] = [Self::List, Self::Folder, Self::Length, Self::Samples, Self::Seed, Self::Output];
}

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The rows of the list.
    Rows,
    /// A field.
    Field(Stop),
    /// What the answers come to.
    Below,
}

/// Everything that decides what the answers come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The mixture.
    pub request: Request,
    /// Names of the data sets.
    pub names: Vec<String>,
    /// What the tokenizer is compared with.
    pub training: TokenizerSettings,
    /// The tokenizer of the data sets.
    pub made_with: Option<FolderTokenizer>,
}

/// What an index would come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Worked {
    /// Shares, repeats, unread parts.
    pub outlook: Outlook,
    /// What one should know.
    pub notes: Vec<Problem>,
}

/// See the module.
pub struct MixtureState {
    /// The folders; `None` while they are looked for.
    pub rows: Option<Result<Vec<Row>, String>>,
    /// Folders that were asked for.
    pub wanted: Vec<PathBuf>,
    /// Their weights, as they are typed; none where each counts by its windows.
    weights: Vec<String>,
    /// What the tokenizer of the data sets is compared with.
    pub training: TokenizerSettings,
    /// Replace an index that is there.
    pub overwrite: bool,
    /// The selected row.
    pub list: ListState,
    /// Where the keys go.
    pub stop: Stop,
    /// The fields by [`Stop::ALL`]; the first is of no use.
    pub inputs: [TextField; 6],
    /// The samples that the screen filled in itself: one epoch of the data sets that are mixed.
    epoch: String,
    /// What the answers come to, and for which of them.
    pub worked: Option<(Question, Arc<Outcome<Worked>>)>,
    /// First line in view of what is below.
    pub offset: usize,
    /// Where things were drawn last.
    pub places: Places<Place>,
}

impl MixtureState {
    /// Before anything is known of the folders; `usual` is where the index goes unless it is said.
    pub fn new(given: &MixtureIndexPlan, wanted: Vec<PathBuf>, usual: &Path) -> Self {
        let typed = |number: Option<u64>| number.map(|number| number.to_string());
        let length = typed(given.sequence_length).unwrap_or_else(|| FIRST_LENGTH.to_owned());
        let samples = typed(Some(given.samples).filter(|samples| *samples != 0)).unwrap_or_default();
        let output = match given.output.as_os_str().is_empty() {
            true => usual.to_string_lossy(),
            false => given.output.to_string_lossy(),
        };
        let seed = given.seed.to_string();
        Self {
            rows: None,
            wanted,
            weights: given.weights.iter().flatten().map(f64::to_string).collect(),
            training: given.training.clone(),
            overwrite: given.overwrite,
            list: ListState::new(0),
            stop: Stop::List,
            inputs: ["", "", &length, &samples, &seed, &output].map(TextField::new),
            epoch: String::new(),
            worked: None,
            offset: 0,
            places: Places::default(),
        }
    }

    /// Takes the folders that were found.
    pub fn take_found(&mut self, found: Result<Vec<Member>, String>) {
        let wanted = std::mem::take(&mut self.wanted);
        let weights = std::mem::take(&mut self.weights);
        let row = |member: Member| {
            let place = wanted.iter().position(|path| *path == member.path);
            let chosen = member.trouble.is_none() && (wanted.is_empty() || place.is_some());
            let weight = place.and_then(|at| weights.get(at)).cloned().unwrap_or_default();
            Row { member, chosen, weight }
        };
        self.rows = Some(found.map(|members| members.into_iter().map(row).collect()));
        self.list.set_len(self.rows().len());
        self.follow_epoch();
    }

    /// Adds a folder to the list and mixes it; one that is in the list is mixed as well.
    pub fn add(&mut self, member: Member) {
        let Some(Ok(rows)) = &mut self.rows else { return };
        let at = rows.iter().position(|row| row.member.path == member.path).unwrap_or_else(|| {
            let weight = if rows.iter().all(|row| row.weight.is_empty()) { "" } else { "1" };
            rows.push(Row { member, chosen: false, weight: weight.to_owned() });
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(at) {
            row.chosen = row.member.trouble.is_none();
        }
        self.list.set_len(self.rows().len());
        self.list.select(at);
        self.set_input(Stop::Folder, "");
        self.follow_epoch();
    }

    /// Fills in one epoch of the data sets that are mixed as the samples, unless a number was typed.
    pub fn follow_epoch(&mut self) {
        let typed = self.input(Stop::Samples);
        if self.stop == Stop::Samples || !typed.trim().is_empty() && typed != self.epoch {
            return;
        }
        let Some(length) = self.length().filter(|_| self.chosen().next().is_some()) else { return };
        let windows = self.chosen().map(|row| row.member.windows(length));
        self.epoch = windows.fold(0u64, u64::saturating_add).to_string();
        self.set_input(Stop::Samples, &self.epoch.clone());
    }

    /// The rows; none while they are looked for.
    pub fn rows(&self) -> &[Row] {
        match &self.rows {
            Some(Ok(rows)) => rows,
            _ => &[],
        }
    }

    /// The rows that are mixed.
    pub fn chosen(&self) -> impl Iterator<Item = &Row> {
        self.rows().iter().filter(|row| row.chosen)
    }

    fn slot(stop: Stop) -> usize {
        Stop::ALL.iter().position(|known| *known == stop).unwrap_or(0)
    }

    /// What is typed into a field.
    pub fn input(&self, stop: Stop) -> &str {
        self.inputs.get(Self::slot(stop)).map_or("", TextField::value)
    }

    fn set_input(&mut self, stop: Stop, text: &str) {
        if let Some(input) = self.inputs.get_mut(Self::slot(stop)) {
            input.set(text);
        }
    }

    /// The field in focus, where a path is typed into it.
    pub fn path_field(&mut self) -> Option<&mut TextField> {
        matches!(self.stop, Stop::Folder | Stop::Output).then(|| self.field()).flatten()
    }

    /// The field that takes what is typed.
    pub fn field(&mut self) -> Option<&mut TextField> {
        let slot = Self::slot(self.stop);
        self.inputs.get_mut(slot).filter(|_| slot > 0)
    }

    /// The sequence length that is typed.
    pub fn length(&self) -> Option<u64> {
        number(self.input(Stop::Length)).filter(|length| *length > 0)
    }

    /// Whether each data set counts by its windows.
    pub fn is_by_windows(&self) -> bool {
        self.chosen().all(|row| row.weight.trim().is_empty())
    }

    /// What is asked for; `Err` says what is missing.
    pub fn request(&self) -> Result<Request, String> {
        if self.chosen().next().is_none() {
            return Err("choose the data sets that are mixed".into());
        }
        let length = self.length().ok_or("the sequence length has to be a number of tokens, 1 or more")?;
        let samples = number(self.input(Stop::Samples)).filter(|samples| *samples > 0);
        let samples =
            samples.ok_or("the samples have to be a number, 1 or more: training steps times the global batch")?;
        let seed = number(self.input(Stop::Seed)).and_then(|seed| u32::try_from(seed).ok());
        let seed = seed.ok_or("the seed has to be a number below 2^32")?;
        let lengths = self.chosen().map(|row| row.member.windows(length)).collect();
        let weights = match self.is_by_windows() {
            true => None,
            false => Some(self.chosen().map(weight_of).collect::<Result<Vec<f64>, String>>()?),
        };
        let mut made = self.chosen().filter_map(|row| Some((&row.member.name, row.member.made_with.as_ref()?)));
        if let Some((first, with)) = made.next() {
            if let Some((other, _)) = made.find(|(_, other)| *other != with) {
                return Err(format!("{first} and {other} were made with different tokenizers, or sizes of a token"));
            }
        }
        Ok(Request { lengths, weights, samples, seed })
    }

    /// What is to be worked out; `Err` says what is missing.
    pub fn question(&self) -> Result<Question, String> {
        let made_with = self.chosen().find_map(|row| {
            let (name, _) = row.member.made_with.clone()?;
            Some(FolderTokenizer { folder: row.member.path.clone(), name })
        });
        Ok(Question {
            request: self.request()?,
            names: self.chosen().map(|row| row.member.name.clone()).collect(),
            training: self.training.clone(),
            made_with,
        })
    }

    /// What the answers come to, when that was found out for them.
    pub fn worked_now(&self) -> Option<&Outcome<Worked>> {
        let question = self.question().ok()?;
        self.worked.as_ref().filter(|(of, _)| *of == question).map(|(_, worked)| worked.as_ref())
    }

    /// Why it cannot be written as it is.
    pub fn blocker(&self) -> Option<String> {
        match self.request() {
            Err(why) => Some(why),
            Ok(_) if self.input(Stop::Output).trim().is_empty() => Some("say where the index goes".into()),
            Ok(_) => self.worked_now().and_then(|worked| worked.as_ref().err()).map(ToString::to_string),
        }
    }

    /// The same as a command, quoted for a shell.
    pub fn command(&self) -> String {
        erase::<MixIndex>(self.plan()).command_line().text()
    }

    /// Returns the plan of the answers; those that are not valid are missing.
    pub fn plan(&self) -> MixtureIndexPlan {
        let weights = || self.chosen().map(weight_of).collect::<Result<Vec<f64>, String>>().ok();
        MixtureIndexPlan {
            members: self.chosen().map(|row| Indexed::Folder(row.member.path.clone())).collect(),
            weights: (!self.is_by_windows()).then(weights).flatten(),
            sequence_length: self.length(),
            samples: number(self.input(Stop::Samples)).unwrap_or(0),
            seed: number(self.input(Stop::Seed)).and_then(|seed| u32::try_from(seed).ok()).unwrap_or(DEFAULT_SEED),
            training: self.training.clone(),
            output: PathBuf::from(self.input(Stop::Output).trim()),
            overwrite: self.overwrite,
            ..MixtureIndexPlan::blank()
        }
    }

    /// Puts weights in the place of windows: the shares that these come to.
    fn make_weights(&mut self) {
        if !self.is_by_windows() {
            return;
        }
        let length = self.length().unwrap_or(1);
        let all: u64 = self.chosen().map(|row| row.member.windows(length)).sum();
        let Some(Ok(rows)) = &mut self.rows else { return };
        for row in rows.iter_mut() {
            let share = if row.chosen { row.member.windows(length) as f64 / all.max(1) as f64 } else { 1.0 };
            row.weight = words_of(share);
        }
    }

    fn selected(&mut self) -> Option<&mut Row> {
        let row = self.list.get()?;
        match &mut self.rows {
            Some(Ok(rows)) => rows.get_mut(row),
            _ => None,
        }
    }

    /// Changes the weight of the selected data set by a step.
    fn step_weight(&mut self, up: bool) {
        self.make_weights();
        if let Some(row) = self.selected().filter(|row| row.chosen) {
            let now = row.weight.trim().parse::<f64>().unwrap_or(0.0);
            let next = if up { now + STEP } else { now - STEP };
            row.weight = words_of(next.max(0.0));
        }
    }

    /// Types into the weight of the selected data set.
    pub fn type_weight(&mut self, letter: char) {
        if !letter.is_ascii_digit() && letter != '.' {
            return;
        }
        let begins = self.is_by_windows();
        self.make_weights();
        if let Some(row) = self.selected().filter(|row| row.chosen && row.weight.len() < 12) {
            if begins {
                row.weight.clear();
            }
            row.weight.push(letter);
        }
    }

    /// Takes the last letter of the weight back.
    pub fn erase_weight(&mut self) {
        if let Some(row) = self.selected() {
            row.weight.pop();
        }
    }

    /// Does what a key means.
    pub fn act(&mut self, action: Action) {
        if action == Action::NextField && self.field().is_some_and(TextField::complete) {
            return;
        }
        let at = Self::slot(self.stop);
        match (self.stop, action) {
            (_, Action::NextField | Action::NextPane) => self.stop = Stop::ALL.get(at + 1).copied().unwrap_or_default(),
            (_, Action::PreviousField | Action::PreviousPane) => {
                self.stop = at.checked_sub(1).and_then(|at| Stop::ALL.get(at)).copied().unwrap_or(Stop::Output);
            }
            (Stop::List, Action::Toggle) => {
                if let Some(row) = self.selected().filter(|row| row.member.trouble.is_none()) {
                    row.chosen = !row.chosen;
                }
            }
            (Stop::List, Action::Left | Action::Right) => self.step_weight(action == Action::Right),
            // All weights away: each counts by its windows again.
            (Stop::List, Action::DropRow) => {
                if let Some(Ok(rows)) = &mut self.rows {
                    rows.iter_mut().for_each(|row| row.weight.clear());
                }
            }
            (Stop::List, Action::Down) if self.list.selected + 1 >= self.list.len => self.stop = Stop::Folder,
            (Stop::List, moving) => {
                self.list.act(moving);
            }
            (_, Action::DropRow) => {
                if let Some(field) = self.field() {
                    field.clear();
                }
            }
            (_, Action::Up) => self.stop = Stop::ALL.get(at.saturating_sub(1)).copied().unwrap_or_default(),
            (_, Action::Down) => self.stop = Stop::ALL.get(at + 1).copied().unwrap_or(Stop::Output),
            (_, Action::PageDown) => self.offset = self.offset.saturating_add(4),
            (_, Action::PageUp) => self.offset = self.offset.saturating_sub(4),
            _ => {}
        }
    }
}

fn weight_of(row: &Row) -> Result<f64, String> {
    let typed = row.weight.trim();
    let weight = typed.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0);
    weight.ok_or_else(|| format!("the weight of {} has to be a number, 0 or more", row.member.name))
}

/// A weight without needless zeros.
fn words_of(weight: f64) -> String {
    let words = format!("{weight:.3}");
    words.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn number(typed: &str) -> Option<u64> {
    let digits: String = typed.trim().chars().filter(|c| !matches!(c, ',' | '_' | '\'' | ' ')).collect();
    digits.parse().ok()
}
