//! The leak check, started from the split editor: lists the leaks, each of which can be ended by a key.

use super::choice::{Choice, ChoiceOption};
use super::move_dialog::choose_split;
use super::session::SplitSession;
use super::state::{columns, combine_edits};
use crate::tui::jobs::{JobId, JobResult, JobView};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::screens::jobs::lines::phase_word;
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::mouse::{Gesture, MouseAreas};
use crate::tui::widgets::{draw_list, draw_panel, padded, progress_bar, text, Level, ListState, Toast};
use gristmill_core::text::{count, duration, grouped};
use gristmill_ops::engine::leaks::{Leak, LeakLocation, LeakOptions, LeakRepair, SplitLayout};
use gristmill_ops::engine::splits::{Edit, ExcludeItem, SplitEditor};
use gristmill_ops::job::leaks::{self as job, LeakReport};
use gristmill_ops::job::JobState;
use gristmill_storage::fs::RealFs;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Handles `L`: asks which leak check to run, and offers the last one.
pub fn open_choice(session: &SplitSession) -> Vec<Effect> {
    let mut offers = vec![
        ChoiceOption::new("by name", "same key or file name in two splits: takes seconds"),
        ChoiceOption::new("by content", "reads every shard that is in a split, and compares"),
    ];
    let before = session.leak_job().filter(|id| session.env().jobs.view(*id).is_some());
    if before.is_some() {
        offers.push(ChoiceOption::new("the last check", "its present state"));
    }
    let lines = vec!["Looks for samples that two splits share. Changes that are not written count.".to_owned()];
    let session = session.clone();
    let chosen = move |row| match (row, before) {
        (2, Some(id)) => vec![Effect::Push(Box::new(LeakScreen::new(session.clone(), id)))],
        (row, _) => start(&session, row == 1),
    };
    vec![Effect::Push(Box::new(Choice::new("Leak check", lines, offers, chosen)))]
}

fn start(session: &SplitSession, content: bool) -> Vec<Effect> {
    let Some(layout) = session.editor().map(|editor| layout_of(&editor)) else { return Vec::new() };
    let env = session.env();
    let options = LeakOptions { content, ..LeakOptions::default() };
    match job::start(&session.root(), layout, options, env.options.clone(), Arc::new(RealFs)) {
        Err(failure) => vec![Effect::failure(&failure)],
        Ok(task) => {
            let id = env.jobs.add(format!("leak check of {}", session.name()), session.root(), Box::new(task));
            session.set_leak_job(id);
            vec![Effect::Push(Box::new(LeakScreen::new(session.clone(), id)))]
        }
    }
}

fn layout_of(editor: &SplitEditor) -> SplitLayout {
    let shards =
        |shards: &[gristmill_ops::engine::splits::ShardView]| shards.iter().map(|s| Arc::clone(&s.name)).collect();
    SplitLayout {
        splits: editor.splits().iter().map(|split| (Arc::clone(&split.name), shards(&split.shards))).collect(),
        excludes: editor.excludes().iter().map(|exclude| Arc::clone(&exclude.item)).collect(),
    }
}

/// The splits of shards and the excludes, which determine which leaks are ended.
#[derive(Clone, Debug, Default)]
pub struct ShardSplits {
    homes: HashMap<Arc<str>, Vec<u32>>,
    excluded: HashSet<Arc<str>>,
}

impl ShardSplits {
    /// Reads the splits and excludes of an editor.
    pub fn of(editor: &SplitEditor) -> Self {
        let mut homes: HashMap<Arc<str>, Vec<u32>> = HashMap::new();
        for (at, split) in (0u32..).zip(columns(editor)).filter(|(_, split)| !split.name.is_empty()) {
            for shard in split.shards.iter().filter(|shard| !shard.is_excluded) {
                homes.entry(Arc::clone(&shard.name)).or_default().push(at);
            }
        }
        let excluded = editor.excludes().iter().map(|exclude| Arc::clone(&exclude.item)).collect();
        Self { homes, excluded }
    }

    /// Whether at least two splits still contain the leaked item. A leak with unlisted places is always open.
    pub fn is_open(&self, leak: &Leak) -> bool {
        if leak.more > 0 {
            return true;
        }
        let used = leak.places.iter().filter(|place| {
            let item = place.exclude_item();
            item.is_none_or(|item| !self.excluded.contains(item.as_str()))
        });
        let splits: HashSet<u32> = used.filter_map(|place| self.homes.get(&place.shard)).flatten().copied().collect();
        splits.len() > 1
    }
}

/// The screen of a leak check: first its progress, then the list of leaks.
pub struct LeakScreen {
    session: SplitSession,
    job: JobId,
    view: Option<JobView>,
    result: Option<JobResult>,
    list: ListState,
    homes: ShardSplits,
    shown_version: Option<u64>,
    mouse_areas: MouseAreas<()>,
    /// The key that writes changes, as of the last frame.
    write_key: String,
}

impl LeakScreen {
    fn new(session: SplitSession, job: JobId) -> Self {
        let mut screen = Self {
            session,
            job,
            view: None,
            result: None,
            list: ListState::default(),
            homes: ShardSplits::default(),
            shown_version: None,
            mouse_areas: MouseAreas::default(),
            write_key: String::new(),
        };
        screen.update();
        screen
    }

    fn update(&mut self) -> bool {
        let version = self.session.version();
        let mut changed = false;
        if self.shown_version != Some(version) {
            self.shown_version = Some(version);
            self.homes = self.session.editor().map(|editor| ShardSplits::of(&editor)).unwrap_or_default();
            changed = true;
        }
        if self.result.is_none() {
            let jobs = self.session.env().jobs;
            self.view = jobs.view(self.job);
            self.result = jobs.result(self.job);
            let rows = self.report().map_or(0, |report| report.found.leaks.len());
            self.list.set_len(rows);
            changed = true;
        }
        changed
    }

    fn report(&self) -> Option<&LeakReport> {
        self.result.as_ref()?.typed()
    }

    fn selected(&self) -> Option<&Leak> {
        self.report()?.found.leaks.get(self.list.get()?)
    }

    fn is_running(&self) -> bool {
        self.result.is_none()
    }

    fn repair(&mut self, repair: &LeakRepair) -> Vec<Effect> {
        let effects = self.session.apply(repair.edit());
        self.update();
        effects
    }

    fn exclude(&mut self) -> Vec<Effect> {
        let repair =
            self.selected().and_then(|leak| leak.repairs.iter().find(|r| matches!(r, LeakRepair::Exclude { .. })));
        match repair.cloned() {
            Some(repair) => self.repair(&repair),
            None => self.offer_repairs(),
        }
    }

    fn move_shard(&mut self) -> Vec<Effect> {
        let Some(leak) = self.selected() else { return Vec::new() };
        if let Some(repair) = leak.repairs.iter().find(|r| matches!(r, LeakRepair::Move { .. })).cloned() {
            return self.repair(&repair);
        }
        let Some(last) = leak.places.last() else { return Vec::new() };
        choose_split(&self.session, vec![Arc::clone(&last.shard)], Some(&last.split))
    }

    /// Offers all repairs of the selected leak.
    fn offer_repairs(&mut self) -> Vec<Effect> {
        let Some(leak) = self.selected() else { return Vec::new() };
        if leak.repairs.is_empty() {
            let words = "it is in too many places: move a shard (m), or exclude one in the editor";
            return vec![Effect::Toast(Toast::new(Level::Info, words))];
        }
        let lines: Vec<String> = leak.places.iter().map(place_words).collect();
        let offers = leak.repairs.iter().map(repair_offer).collect();
        let (session, repairs) = (self.session.clone(), leak.repairs.clone());
        let chosen = move |row: usize| repairs.get(row).map(|repair| session.apply(repair.edit())).unwrap_or_default();
        vec![Effect::Push(Box::new(Choice::new(leak.kind.title(), lines, offers, chosen)))]
    }

    /// Applies the best repair of each open leak that is certain, in one step.
    fn repair_all(&mut self) -> Vec<Effect> {
        let Some(report) = self.report() else { return Vec::new() };
        let open = report.found.leaks.iter().filter(|leak| leak.kind.is_sure() && self.homes.is_open(leak));
        let repairs: Vec<&LeakRepair> = open.filter_map(|leak| leak.repairs.first()).collect();
        if repairs.is_empty() {
            return vec![Effect::Toast(Toast::new(Level::Info, "no sure leak is left that one change would end"))];
        }
        let edit = combine_edits(format!("end {}", count(repairs.len() as u64, "leak")), combine_repairs(&repairs));
        let effects = self.session.apply(edit);
        self.update();
        effects
    }
}

/// Combines many repairs into few edits: one for all excludes, and one for each split that receives shards.
fn combine_repairs(repairs: &[&LeakRepair]) -> Vec<Edit> {
    let mut excluded = Vec::new();
    let mut moved: BTreeMap<&Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
    for repair in repairs {
        match repair {
            LeakRepair::Exclude { items, .. } => excluded.extend(items.iter().map(ExcludeItem::escaped)),
            LeakRepair::Move { shard, to } => moved.entry(to).or_default().push(Arc::clone(shard)),
        }
    }
    let moves = moved.into_iter().map(|(to, shards)| Edit::MoveShards { shards, to: Some(Arc::clone(to)) });
    let excludes = (!excluded.is_empty()).then_some(Edit::Exclude { items: excluded });
    moves.chain(excludes).collect()
}

/// Returns a place as `train  shard_0000.tar/000001`, not escaped.
fn place_words(place: &LeakLocation) -> String {
    let key = place.key.as_ref().map(|key| format!("/{key}")).unwrap_or_default();
    let part = place.part.as_ref().map(|part| format!(".{part}")).unwrap_or_default();
    format!("{}  {}{key}{part}", place.split, place.shard)
}

fn repair_offer(repair: &LeakRepair) -> ChoiceOption {
    match repair {
        LeakRepair::Exclude { keep, items } => {
            ChoiceOption::new(format!("keep it in {keep}"), format!("excludes {}", count(items.len() as u64, "sample")))
        }
        LeakRepair::Move { shard, to } => ChoiceOption::new(format!("move to {to}"), shard.to_string()),
    }
}

impl Screen for LeakScreen {
    fn context(&self) -> Context {
        Context::SplitsLeaks
    }

    fn title(&self) -> Vec<String> {
        vec!["splits".to_owned(), self.session.name(), "leaks".to_owned()]
    }

    fn status_right(&self) -> Option<String> {
        match self.session.pending() {
            0 => None,
            pending => Some(format!("{} not written ({})", count(pending as u64, "change"), self.write_key)),
        }
    }

    fn shows_job(&self, id: JobId) -> bool {
        self.job == id
    }

    fn is_busy(&self) -> bool {
        self.is_running() || self.session.is_busy()
    }

    fn unwritten(&self) -> Option<String> {
        self.session.unwritten()
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Accept => "resolve",
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        match action {
            Action::Exclude | Action::MoveTo | Action::Accept | Action::RepairAll if self.selected().is_none() => {
                Some(if self.is_running() { "still looking".to_owned() } else { "there is no leak".to_owned() })
            }
            Action::Write if self.session.pending() == 0 => Some("there is nothing to write".to_owned()),
            Action::Undo if self.session.pending() == 0 => Some("there is nothing to undo".to_owned()),
            _ => None,
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Exclude) => return self.exclude(),
            Input::Action(Action::MoveTo) => return self.move_shard(),
            Input::Action(Action::Accept) => return self.offer_repairs(),
            Input::Action(Action::RepairAll) => return self.repair_all(),
            Input::Action(Action::Write) => return self.session.write(),
            Input::Action(Action::Undo) => {
                let effects = self.session.undo();
                self.update();
                return effects;
            }
            Input::Action(Action::Redo) => {
                let effects = self.session.redo();
                self.update();
                return effects;
            }
            Input::Action(action) => {
                self.list.handle_action(action);
            }
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(Gesture::Wheel { rows, .. }) => self.list.scroll(rows),
                Some(Gesture::Click { line, .. }) => {
                    if let Some(row) = self.list.row_at(line) {
                        self.list.select(row);
                    }
                }
                Some(Gesture::DoubleClick { .. }) => return self.offer_repairs(),
                None => {}
            },
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let changed = self.session.tick(effects);
        self.update() || changed
    }

    fn interrupt(&mut self) -> bool {
        self.is_running() && self.session.env().jobs.cancel(self.job)
    }

    fn resumed(&mut self) {
        self.update();
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.mouse_areas.clear();
        self.write_key = ui.key(Context::SplitsLeaks, Action::Write);
        let Some(result) = &self.result else { return draw_running(self.view.as_ref(), frame, area, ui) };
        let Some(report) = result.typed() else { return super::view::draw_nothing(result.failure(), frame, area, ui) };
        let inner = draw_leaks(report, &self.homes, &mut self.list, frame, area, ui);
        self.mouse_areas.add(inner, ());
    }
}

/// Draws the check while it runs.
pub fn draw_running(view: Option<&JobView>, frame: &mut Frame, area: Rect, ui: &Ui) {
    let inner = padded(draw_panel(frame, area, "Leak check", true, ui));
    let Some(view) = view else { return };
    let running = view.status.state == JobState::Running;
    let word = if running { phase_word(view.status.phase) } else { "waiting" };
    let done = view.status.progress;
    let mut lines = vec![Line::from(Span::styled(format!("{} {word}", ui.spinner()), ui.theme.accent))];
    if let Some(share) = view.status.share {
        let bar = progress_bar(share, usize::from(inner.width / 2), ui.glyphs);
        let shards = format!("{}/{} {}s", grouped(done.items_done), grouped(done.items_total), view.status.item);
        lines.push(Line::from(vec![
            Span::styled(bar, ui.theme.bar(0)),
            Span::styled(format!("  {shards}"), ui.theme.muted),
        ]));
    }
    let mut times = vec![duration(view.status.elapsed)];
    times.extend(view.status.remaining.map(|left| format!("{} left", duration(left))));
    lines.push(Line::from(Span::styled(times.join(&format!(" {} ", ui.glyphs.dot)), ui.theme.muted)));
    lines.push(Line::default());
    let words = format!(
        "{} goes back; the check continues, and {} finds it again. {} stops it.",
        ui.key(Context::SplitsLeaks, Action::Close),
        ui.key(Context::Splits, Action::LeakCheck),
        ui.key(Context::Global, Action::Interrupt)
    );
    for line in text::wrap(&words, usize::from(inner.width)) {
        lines.push(Line::from(Span::styled(line, ui.theme.muted)));
    }
    draw_lines(frame.buffer_mut(), inner, lines);
}

/// Draws the list of leaks, and the places of the selected leak. Returns the area of the list.
pub fn draw_leaks(
    report: &LeakReport,
    homes: &ShardSplits,
    list: &mut ListState,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) -> Rect {
    let found = &report.found;
    let scope = format!(
        "{} of {}, {}",
        count(report.compared.samples, "sample"),
        count(report.compared.shards, "shard"),
        if report.content { "contents compared" } else { "names compared, contents not" }
    );
    let inner = draw_panel(frame, area, &title(report), true, ui);
    let columns = usize::from(inner.width).saturating_sub(2);
    let line = |words: &str| {
        Line::from(Span::styled(format!(" {}", text::fit_end(words, columns, ui.glyphs)), ui.theme.muted))
    };
    if found.leaks.is_empty() {
        let sign = format!(" {} no two splits share a sample", ui.glyphs.check);
        let lines = [Line::from(Span::styled(sign, ui.theme.ok)), line(&scope)];
        draw_lines(frame.buffer_mut(), inner, lines);
        return Rect::default();
    }
    draw_lines(frame.buffer_mut(), inner, [line(&scope)]);
    let selected = list.get().and_then(|row| found.leaks.get(row));
    let places = selected.map_or(0, |leak| leak.places.len().min(6) + 2);
    // The places of the selected leak are drawn if there is more space than the list needs.
    let rows = inner.height.saturating_sub(1);
    let below = u16::try_from(places).unwrap_or(u16::MAX).min(rows.saturating_sub(6));
    let list_area = Rect { y: inner.y + 1.min(inner.height), height: rows - below, ..inner };
    draw_list(frame.buffer_mut(), list_area, list, true, ui, |row, columns| {
        found.leaks.get(row).map(|leak| leak_line(leak, homes, columns, ui)).unwrap_or_default()
    });
    if let Some(leak) = selected.filter(|_| below > 2) {
        let mut lines = vec![Line::default()];
        lines.extend(leak.places.iter().map(|place| line(&format!("  {}", place_words(place)))));
        if leak.more > 0 {
            lines.push(line(&format!("  and {} more", count(leak.more, "place"))));
        }
        draw_lines(frame.buffer_mut(), Rect { y: list_area.bottom(), height: below, ..inner }, lines);
    }
    list_area
}

fn title(report: &LeakReport) -> String {
    let kinds = report.found.counts.iter().map(|count| format!("{} {}", grouped(count.leaks), count.kind.title()));
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    if kinds.is_empty() {
        "Leaks".to_owned()
    } else {
        format!("Leaks  {kinds}")
    }
}

fn leak_line(leak: &Leak, homes: &ShardSplits, columns: usize, ui: &Ui) -> Line<'static> {
    let is_open = homes.is_open(leak);
    let (sign, style) = match (is_open, leak.kind.is_sure()) {
        (false, _) => (ui.glyphs.check, ui.theme.ok),
        (true, true) => (ui.glyphs.warn, ui.theme.warn),
        (true, false) => ("?", ui.theme.text),
    };
    let kind = text::pad_end(leak.kind.title(), 12);
    // A row shows one place of each of two splits that share the item.
    let first = leak.places.first();
    let other = leak.places.iter().find(|place| first.is_some_and(|first| first.split != place.split));
    let words: Vec<String> = first.into_iter().chain(other.or(leak.places.get(1))).map(place_words).collect();
    let more = leak.places.len().saturating_sub(2) as u64 + leak.more;
    let more = if more > 0 { format!("  +{}", grouped(more)) } else { String::new() };
    let room = columns.saturating_sub(kind.len() + 3 + text::width(&more));
    let words = text::fit_end(&words.join("  =  "), room, ui.glyphs);
    Line::from(vec![
        Span::styled(format!("{sign} {kind} "), style),
        Span::styled(words, if is_open { ui.theme.text } else { ui.theme.disabled }),
        Span::styled(more, ui.theme.muted),
    ])
}
