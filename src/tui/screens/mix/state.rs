//! The answers of the mix form. Pure: no file, no thread.

use crate::tui::keymap::Action;
use crate::tui::widgets::{Gesture, ListState, Places, TextField};
use gristmill_core::mix::{MixAux, MixKind, MixMember, MixPlan};
use gristmill_core::{Outcome, Severity};
use gristmill_ops::engine::mix::author::FoundMember;
use gristmill_ops::engine::mix::{MixFacts, MixNodeKind};
use gristmill_ops::engine::plan::shell_quote;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A field of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Drawn by weight, or seen a number of times.
    Kind,
    /// The data sets.
    Members,
    /// The splits that are written.
    Splits,
    /// Where the file is written.
    Output,
    /// What the mixture comes to, which is read and scrolled.
    Mixture,
}

impl Stop {
    const ALL: [Self; 5] = [Self::Kind, Self::Members, Self::Splits, Self::Output, Self::Mixture];
}

/// What lies at a place of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A way to put members together.
    Kind(MixKind),
    /// The rows of the data sets.
    Members,
    /// A text field.
    Field(Stop),
    /// The page of the file.
    Page,
    /// What the mixture comes to.
    Mixture,
    /// The buttons of the popup of a source of media: whether it is added.
    Aux(bool),
}

/// One data set that was found.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is.
    pub member: FoundMember,
    /// Its path from the folder that was searched.
    pub name: String,
    /// It is in the mixture.
    pub chosen: bool,
    /// Weight or repetitions, as typed.
    pub amount: String,
}

impl Row {
    /// The amount as a number; `None` where it is none that can be used.
    pub fn number(&self) -> Option<f64> {
        self.amount.parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0)
    }

    /// Whether it may have sources of media: its samples name them.
    pub fn may_have_aux(&self) -> bool {
        self.member.is_crude && self.member.kind != MixNodeKind::Metadataset
    }
}

/// What a plan comes to: the text that would be written, and what the loader makes of it.
#[derive(Clone, Debug)]
pub struct Worked {
    /// The file.
    pub text: String,
    /// The mixture.
    pub facts: MixFacts,
}

/// The whole form.
#[derive(Clone, Debug, Default)]
pub struct MixState {
    /// The folder that is searched.
    pub folder: PathBuf,
    /// Members were found, or why not; `None` while they are searched.
    pub found: Option<Result<(), String>>,
    /// The data sets, in the order in which they were found.
    pub rows: Vec<Row>,
    /// Rows in view.
    pub list: ListState,
    /// How members are put together.
    pub kind: MixKind,
    /// Names of splits, parted by commas; empty for those that every member has.
    pub splits: TextField,
    /// The file that is written.
    pub output: TextField,
    /// What the answers come to, and for which answers that was worked out.
    pub worked: Option<(MixPlan, Arc<Outcome<Worked>>)>,
    /// Sources of media, for every member that may have some.
    pub sources: Vec<MixAux>,
    /// A source of media is being typed.
    pub aux: Option<TextField>,
    /// The file is shown before it is written.
    pub is_reviewing: bool,
    /// First line in view of the file.
    pub offset: usize,
    /// First line in view of what the mixture comes to.
    pub mixture_offset: usize,
    /// Where things were drawn last, for the mouse.
    pub places: Places<Place>,
    /// What was written.
    pub written: Option<PathBuf>,
    focus: usize,
    /// The folder that the program runs in: what is below it is told relative to it, so that the file can move with its members.
    base: PathBuf,
    /// The member that is chosen from the beginning.
    first: Option<PathBuf>,
}

impl MixState {
    /// The form of a folder, with one data set chosen already.
    pub fn new(folder: PathBuf, first: Option<PathBuf>, base: PathBuf) -> Self {
        Self { folder, first, base, ..Self::default() }
    }

    /// A path as the plan has it.
    fn told(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.base).ok().filter(|p| !p.as_os_str().is_empty());
        below.unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Takes the data sets that were found.
    pub fn take_found(&mut self, found: Outcome<Vec<FoundMember>>) {
        match found {
            Err(failure) => self.found = Some(Err(failure.to_string())),
            Ok(members) => {
                self.found = Some(Ok(()));
                let row = |member: FoundMember| {
                    let name = member.path.strip_prefix(&self.folder).unwrap_or(&member.path);
                    let name = name.to_string_lossy().into_owned();
                    let chosen = self.first.as_ref() == Some(&member.path);
                    Row { name, chosen, member, amount: "1".to_owned() }
                };
                self.rows = members.into_iter().map(row).collect();
                self.list = ListState::new(self.rows.len());
                self.list.select(self.rows.iter().position(|r| r.chosen).unwrap_or(0));
                self.focus = 1;
                self.propose_output();
            }
        }
    }

    /// The first free name, so that no other file is in the way.
    fn propose_output(&mut self) {
        let taken = |path: &Path| self.rows.iter().any(|r| r.member.path == path);
        let free = (1..100).map(|n| match n {
            1 => self.folder.join("mix.yaml"),
            n => self.folder.join(format!("mix-{n}.yaml")),
        });
        if let Some(path) = free.into_iter().find(|p| !taken(p)) {
            let told = self.told(&path);
            self.output.set(&told);
        }
    }

    /// The field in focus.
    pub fn stop(&self) -> Stop {
        Stop::ALL.get(self.focus).copied().unwrap_or(Stop::Kind)
    }

    /// Whether letters type.
    pub fn is_typing(&self) -> bool {
        !self.is_reviewing && (self.aux.is_some() || matches!(self.stop(), Stop::Splits | Stop::Output))
    }

    /// The text field in focus.
    pub fn field(&mut self) -> Option<&mut TextField> {
        if self.is_reviewing {
            return None;
        }
        if self.aux.is_some() {
            return self.aux.as_mut();
        }
        match self.stop() {
            Stop::Splits => Some(&mut self.splits),
            Stop::Output => Some(&mut self.output),
            Stop::Kind | Stop::Members | Stop::Mixture => None,
        }
    }

    /// The field in focus, where a path is typed into it.
    pub fn path_field(&mut self) -> Option<&mut TextField> {
        let is_path = self.aux.is_none() && self.stop() == Stop::Output;
        self.field().filter(|_| is_path)
    }

    fn selected(&mut self) -> Option<&mut Row> {
        let at = self.list.get()?;
        self.rows.get_mut(at)
    }

    /// The answers; `None` where no file can hold them yet.
    pub fn plan(&self) -> Option<MixPlan> {
        if self.blocker().is_some() {
            return None;
        }
        let mut plan = MixPlan::new(self.output.value().trim(), self.kind);
        for row in self.rows.iter().filter(|r| r.chosen) {
            let mut member = MixMember::new(self.told(&row.member.path), row.number()?);
            if row.may_have_aux() {
                member.aux.clone_from(&self.sources);
            }
            plan.members.push(member);
        }
        plan.splits = self.splits.value().split(',').map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect();
        Some(plan)
    }

    /// Why the answers cannot be used yet.
    pub fn blocker(&self) -> Option<String> {
        let word = if self.kind == MixKind::Epochized { "repetitions" } else { "weight" };
        let chosen: Vec<&Row> = self.rows.iter().filter(|r| r.chosen).collect();
        if chosen.is_empty() {
            return Some("choose the data sets of the mixture with Space".to_owned());
        }
        if let Some(row) = chosen.iter().find(|r| r.number().is_none()) {
            return Some(format!("the {word} of {} must be a number above 0", row.name));
        }
        if !self.output.value().trim().ends_with(".yaml") {
            return Some("the name of the file must end in .yaml, or the loader does not know it".to_owned());
        }
        None
    }

    /// What the answers come to, unless they were changed since.
    pub fn worked_now(&self) -> Option<&Outcome<Worked>> {
        let plan = self.plan()?;
        self.worked.as_ref().filter(|(of, _)| *of == plan).map(|(_, worked)| worked.as_ref())
    }

    /// Why the file cannot be written as it is.
    pub fn refusal(&self) -> Option<String> {
        if let Some(why) = self.blocker() {
            return Some(why);
        }
        match self.worked_now() {
            None => Some("it is still being worked out".to_owned()),
            Some(Err(failure)) => Some(failure.to_string()),
            Some(Ok(worked)) => {
                worked.facts.problems.iter().find(|p| p.severity == Severity::Refusal).map(ToString::to_string)
            }
        }
    }

    /// The same as a command, quoted for a shell.
    pub fn command(&self) -> String {
        let Some(plan) = self.plan() else { return String::new() };
        let flag = if plan.kind == MixKind::Epochized { "--epochized" } else { "--blend" };
        let mut words = vec!["gristmill mix new".to_owned()];
        let mut add = |flag: &str, value: &str| words.push(format!("{flag} {}", shell_quote(value)));
        for member in &plan.members {
            add(flag, &format!("{}={}", member.path, member.amount));
        }
        if plan.members.iter().any(|m| !m.aux.is_empty()) {
            self.sources.iter().for_each(|source| add("--aux", &format!("{}={}", source.name, source.path)));
        }
        plan.splits.iter().for_each(|split| add("--split", split));
        add("--output", &plan.output);
        words.join(" ")
    }

    fn step_focus(&mut self, forward: bool) {
        let stops = Stop::ALL.len();
        self.focus = (self.focus + if forward { 1 } else { stops - 1 }) % stops;
    }

    fn change_amount(&mut self, more: bool) {
        if let Some(row) = self.selected() {
            let now = row.number().unwrap_or(1.0);
            let step = if now < 1.0 || now <= 1.0 && !more { 0.1 } else { 1.0 };
            let next = if more { now + step } else { (now - step).max(0.1) };
            // Tenths, without the noise of binary fractions.
            row.amount = format!("{}", (next * 10.0).round() / 10.0);
            row.chosen = true;
        }
    }

    /// Types a digit into the weight of the selected row; a row that is typed at is chosen.
    pub fn type_amount(&mut self, c: char) {
        if self.stop() != Stop::Members || !(c.is_ascii_digit() || c == '.') {
            return;
        }
        if let Some(row) = self.selected() {
            // The first digit takes the place of what was proposed.
            if !row.chosen || row.amount == "1" && c != '.' {
                row.amount.clear();
            }
            if row.amount.len() < 12 {
                row.amount.push(c);
            }
            row.chosen = true;
        }
    }

    /// Takes the last digit of the weight away.
    pub fn erase_amount(&mut self) {
        if self.stop() == Stop::Members {
            if let Some(row) = self.selected() {
                row.amount.pop();
            }
        }
    }

    /// Takes the source that was typed: `NAME=PATH`. Returns what is wrong with it.
    pub fn take_aux(&mut self) -> Option<String> {
        let typed = self.aux.as_ref().map(|f| f.value().trim().to_owned())?;
        let Some((name, path)) = typed.split_once('=').map(|(n, p)| (n.trim(), p.trim())) else {
            return Some("a source is written NAME=PATH, or NAME=filesystem://FOLDER".to_owned());
        };
        if name.is_empty() || path.is_empty() {
            return Some("a source needs a name and a path".to_owned());
        }
        let source = MixAux::new(name, path);
        self.aux = None;
        self.sources.retain(|known| known.name != source.name);
        self.sources.push(source);
        None
    }

    /// Why no source of media can be added.
    pub fn why_no_aux(&self) -> Option<String> {
        let any = self.rows.iter().any(|r| r.chosen && r.may_have_aux());
        (!any).then(|| "only crude data sets and JSONL files have sources of media; choose one first".to_owned())
    }

    /// Does what a key means.
    pub fn act(&mut self, action: Action) {
        if self.is_reviewing {
            self.offset = scrolled(self.offset, action);
            return;
        }
        if action == Action::NextField && self.field().is_some_and(TextField::complete) {
            return;
        }
        match (self.stop(), action) {
            (_, Action::NextField | Action::NextPane) => self.step_focus(true),
            (_, Action::PreviousField | Action::PreviousPane) => self.step_focus(false),
            (Stop::Kind, Action::Down) if self.kind == MixKind::Blend => self.choose_kind(true),
            (Stop::Kind, Action::Up) => self.choose_kind(false),
            (Stop::Members, Action::Toggle) => {
                if let Some(row) = self.selected() {
                    row.chosen = !row.chosen;
                }
            }
            (Stop::Members, Action::Left | Action::Right) => self.change_amount(action == Action::Right),
            (Stop::Members, Action::AddAux) => self.aux = Some(TextField::new("")),
            (Stop::Members, Action::DropRow) => self.sources.clear(),
            (Stop::Members, moving) => self.move_in_list(moving),
            (Stop::Splits | Stop::Output, Action::DropRow) => {
                if let Some(field) = self.field() {
                    field.clear();
                }
            }
            (Stop::Mixture, Action::Up) if self.mixture_offset == 0 => self.step_focus(false),
            (Stop::Mixture, action) => self.mixture_offset = scrolled(self.mixture_offset, action),
            (_, Action::Up) => self.step_focus(false),
            (_, Action::Down) => self.step_focus(true),
            _ => {}
        }
    }

    /// Does what the mouse did. A row that is selected already is chosen, or no longer, by a click on its sign.
    pub fn point(&mut self, gesture: Gesture<Place>) {
        /// Columns of the marker and the sign in front of a row.
        const SIGN: usize = 6;
        match gesture {
            Gesture::Wheel { on: Place::Members, rows } => self.list.scroll(rows),
            Gesture::Wheel { on: Place::Page, rows } => self.offset = self.offset.saturating_add_signed(rows),
            Gesture::Wheel { on: Place::Mixture, rows } => {
                self.mixture_offset = self.mixture_offset.saturating_add_signed(rows);
            }
            Gesture::Wheel { .. } => {}
            Gesture::Click { on, line, column } | Gesture::DoubleClick { on, line, column } => {
                let stop = match on {
                    Place::Kind(kind) => {
                        self.kind = kind;
                        Stop::Kind
                    }
                    Place::Members => {
                        let Some(row) = self.list.row_at(line) else { return };
                        self.list.select(row);
                        let is_twice = matches!(gesture, Gesture::DoubleClick { .. });
                        if let Some(row) = self.selected().filter(|_| is_twice || column < SIGN) {
                            row.chosen = !row.chosen;
                        }
                        Stop::Members
                    }
                    Place::Field(stop) => stop,
                    Place::Mixture => Stop::Mixture,
                    Place::Page | Place::Aux(_) => return,
                };
                self.focus = Stop::ALL.iter().position(|s| *s == stop).unwrap_or(0);
            }
        }
    }

    fn choose_kind(&mut self, epochized: bool) {
        self.kind = if epochized { MixKind::Epochized } else { MixKind::Blend };
    }

    fn move_in_list(&mut self, action: Action) {
        if !self.list.act(action) {
            match action {
                Action::Up => self.step_focus(false),
                Action::Down => self.step_focus(true),
                _ => {}
            }
        }
    }
}

/// Where a page is in view from, after a key that scrolls it; drawing keeps it within the page.
fn scrolled(offset: usize, action: Action) -> usize {
    match action {
        Action::Up => offset.saturating_sub(1),
        Action::Down => offset + 1,
        Action::PageUp | Action::HalfUp => offset.saturating_sub(10),
        Action::PageDown | Action::HalfDown => offset + 10,
        Action::First => 0,
        _ => offset,
    }
}

/// A path as it is told: what is below the folder of the program is relative to it.
pub fn quoted(path: &Path) -> String {
    shell_quote(&path.to_string_lossy())
}
