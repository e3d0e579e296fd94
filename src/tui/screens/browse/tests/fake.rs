//! A catalog with generated samples, which is as slow as a test requires.

use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::screens::browse::screen::BrowseScreen;
use crate::tui::screens::browse::BrowseStart;
use crate::tui::testing::{self, terminal, text_of, Size};
use crate::tui::theme::ColourMode;
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, Shard};
use gristmill_ops::engine::browse::{
    BrowsePart, BrowseSample, Catalog, CatalogHead, Group, Groups, KeyQuery, SampleAt, VisitFields, VisitedSample,
};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Returns the contents of a part.
pub type Content = fn(SampleAt, &str) -> Vec<u8>;

/// The fake catalog.
pub struct Fake {
    pub groups: Mutex<Arc<Groups>>,
    pub kind: DatasetKind,
    pub word: &'static str,
    pub root: PathBuf,
    /// Returns the key of a sample.
    pub key: fn(u64) -> String,
    pub parts: fn(u64) -> Vec<&'static str>,
    pub content: Content,
    pub defect: fn(u64) -> Option<&'static str>,
    /// A barrier that blocks reads while it is closed.
    pub gate: CatalogBarrier,
}

/// A barrier that blocks readers until it is opened.
#[derive(Clone, Default)]
pub struct CatalogBarrier(Arc<(Mutex<bool>, Condvar)>);

impl CatalogBarrier {
    pub fn close(&self) {
        *self.0 .0.lock().unwrap() = true;
    }
    pub fn open(&self) {
        *self.0 .0.lock().unwrap() = false;
        self.0 .1.notify_all();
    }
    fn pass(&self) {
        let mut closed = self.0 .0.lock().unwrap();
        while *closed {
            closed = self.0 .1.wait(closed).unwrap();
        }
    }
}

pub fn group(name: &str, samples: u64) -> Group {
    Group { name: name.into(), samples, is_counted: true, bytes: samples * 2048, failure: None }
}

fn text(at: SampleAt, part: &str) -> Vec<u8> {
    match part {
        "json" => format!("{{\"id\": {}, \"tags\": [1, 2, 3], \"caption\": \"a cat\"}}", at.index).into_bytes(),
        "cls" => b"7".to_vec(),
        _ => format!("A man riding wave {} on top of a surfboard.", at.index).into_bytes(),
    }
}

impl Default for Fake {
    /// Returns a catalog of four shards of about ten thousand samples each.
    fn default() -> Self {
        let counts = [10_021, 10_000, 9_998, 10_004];
        Self::of(counts.iter().enumerate().map(|(at, n)| group(&format!("shard_{at:04}.tar"), *n)).collect())
    }
}

impl Fake {
    pub fn of(groups: Vec<Group>) -> Self {
        Self {
            groups: Mutex::new(Arc::new(Groups::new(1, groups, true))),
            kind: DatasetKind::PreparedWebDataset,
            word: "shard",
            root: PathBuf::from("/data/coco"),
            key: |number| format!("{number:06}"),
            parts: |number| if number % 5 == 3 { vec!["jpg", "txt"] } else { vec!["jpg", "txt", "json"] },
            content: text,
            defect: |_| None,
            gate: CatalogBarrier::default(),
        }
    }

    /// Returns a catalog of ten million samples in a thousand shards.
    pub fn huge() -> Self {
        Self::of((0..1_000).map(|at| group(&format!("shard_{at:04}.tar"), 10_000)).collect())
    }

    fn number(&self, at: SampleAt) -> u64 {
        self.groups().number(at)
    }

    fn sample(&self, at: SampleAt) -> BrowseSample {
        let number = self.number(at);
        let parts = (self.parts)(number);
        let size = |name: &str| (self.content)(at, name).len() as u64;
        let part = |(index, name): (usize, &&str)| BrowsePart {
            name: (*name).into(),
            byte_offset: at.index * 4096 + index as u64 * 1024 + 512,
            byte_size: size(name),
        };
        BrowseSample {
            at,
            key: (self.key)(number).into(),
            byte_offset: at.index * 4096,
            byte_size: 4096,
            parts: parts.iter().enumerate().map(part).collect(),
            defect: (self.defect)(number).map(Into::into),
        }
    }
}

impl Catalog for Fake {
    fn head(&self) -> CatalogHead<'_> {
        CatalogHead { kind: self.kind, root: &self.root, group_word: self.word }
    }

    fn groups(&self) -> Arc<Groups> {
        Arc::clone(&self.groups.lock().unwrap())
    }
    fn samples(&self, from: SampleAt, count: usize, _: &Cancel) -> Outcome<Vec<BrowseSample>> {
        self.gate.pass();
        let groups = self.groups();
        let first = groups.number(from);
        let ats: Vec<SampleAt> = (first..first + count as u64).map_while(|n| groups.locate(n)).collect();
        let bad = |at: &&SampleAt| groups.group(at.group).is_some_and(|group| group.failure.is_some());
        if ats.iter().any(|at| bad(&at)) {
            return Err(Failure::data("reading the shard", "the header is damaged"));
        }
        Ok(ats.into_iter().map(|at| self.sample(at)).collect())
    }
    fn read(&self, sample: &BrowseSample, part: usize, from: u64, limit: usize) -> Outcome<Vec<u8>> {
        self.gate.pass();
        let bytes = (self.content)(sample.at, &sample.parts[part].name);
        let from = usize::try_from(from).unwrap().min(bytes.len());
        Ok(bytes[from..bytes.len().min(from + limit)].to_vec())
    }
    fn find(&self, query: &KeyQuery, cancel: &Cancel, found: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
        let groups = self.groups();
        for number in 0..groups.total() {
            cancel.check()?;
            self.gate.pass();
            let at = groups.locate(number).unwrap();
            if query.matches(&(self.key)(number)) && !found(at) {
                break;
            }
        }
        Ok(())
    }
    fn locate(&self, name: Option<&str>, key: &str, _: &Cancel) -> Outcome<Option<SampleAt>> {
        let groups = self.groups();
        let wanted = name.and_then(|name| groups.named(name));
        let fits = |at: &SampleAt| name.is_none() || wanted == Some(at.group);
        Ok((0..groups.total()).filter(|n| (self.key)(*n) == key).filter_map(|n| groups.locate(n)).find(fits))
    }
    fn shard(&self, _: u32) -> Outcome<Option<Shard>> {
        Ok(None)
    }
    fn visit(
        &self,
        group: u32,
        _: VisitFields,
        cancel: &Cancel,
        take: &mut dyn FnMut(VisitedSample<'_>) -> bool,
    ) -> Outcome<()> {
        let groups = self.groups();
        for index in 0..groups.group(group).map_or(0, |group| group.samples) {
            cancel.check()?;
            let number = groups.number(SampleAt { group, index });
            let (key, parts) = ((self.key)(number), (self.parts)(number));
            if !take(VisitedSample { index, key: &key, byte_size: 4096, parts: &parts }) {
                break;
            }
        }
        Ok(())
    }
}

pub fn env() -> UiEnv {
    UiEnv::new(gristmill_core::RunOptions::default(), PathBuf::from("/nowhere"))
}

/// The browser on a catalog, and its last frame.
pub struct BrowserTest {
    pub screen: BrowseScreen,
    pub effects: Vec<Effect>,
    pub ascii: bool,
    pub colour: ColourMode,
    pub size: (u16, u16),
}

impl BrowserTest {
    pub fn new(fake: Fake) -> Self {
        Self::at(fake, BrowseStart::First)
    }
    pub fn at(fake: Fake, start: BrowseStart) -> Self {
        Self::of(Arc::new(fake), start)
    }
    pub fn of(catalog: Arc<dyn Catalog>, start: BrowseStart) -> Self {
        let screen = BrowseScreen::with_catalog(catalog, start, env());
        Self { screen, effects: Vec::new(), ascii: false, colour: ColourMode::Sixteen, size: (100, 30) }
    }
    pub fn draw(&mut self) -> String {
        shown(&mut self.screen, self.size, self.ascii, self.colour)
    }
    pub fn act(&mut self, action: Action) -> &mut Self {
        let effects = self.screen.handle(Input::Action(action));
        self.effects.extend(effects);
        self.draw();
        self
    }
    pub fn acts(&mut self, actions: &[Action]) -> &mut Self {
        actions.iter().for_each(|action| {
            self.act(*action);
        });
        self
    }
    pub fn type_text(&mut self, text: &str) -> &mut Self {
        self.screen.handle(Input::Paste(text.to_owned()));
        self
    }
    /// Draws until no worker is busy and no row on the screen is missing.
    pub fn settle(&mut self) -> String {
        self.wait("everything is there", |test, shown| {
            let state = &test.screen.state;
            let is_there = |row| state.listing.at(row, &state.groups).is_none_or(|at| state.rows.get(at).is_some());
            !test.screen.is_busy() && !shown.contains(" reading") && test.screen.view.clone().all(is_there)
        })
    }
    pub fn wait(&mut self, what: &str, is_so: impl Fn(&Self, &str) -> bool) -> String {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            self.screen.tick(&mut self.effects);
            let shown = self.draw();
            if is_so(self, &shown) {
                return shown;
            }
            assert!(Instant::now() < end, "{what}: not within 20 s\n{shown}");
            std::thread::yield_now();
        }
    }
    /// Compares the screen with its snapshots at these sizes.
    pub fn compare(&mut self, name: &str, sizes: &[Size]) {
        testing::compare(name, sizes, |(columns, rows, ascii)| {
            (self.size, self.ascii) = ((columns, rows), ascii);
            self.colour = if ascii { ColourMode::None } else { ColourMode::Sixteen };
            self.draw()
        });
    }
    pub fn toasts(&mut self) -> Vec<String> {
        let toast_text = |effect: &Effect| match effect {
            Effect::Toast(toast) => Some(toast.text.clone()),
            _ => None,
        };
        std::mem::take(&mut self.effects).iter().filter_map(toast_text).collect()
    }
}

/// Returns the screen as text.
pub fn drawn(screen: &mut dyn Screen, columns: u16, rows: u16, ascii: bool) -> String {
    shown(screen, (columns, rows), ascii, if ascii { ColourMode::None } else { ColourMode::Sixteen })
}

fn shown(screen: &mut dyn Screen, (columns, rows): (u16, u16), ascii: bool, colour: ColourMode) -> String {
    text_of(&terminal((columns, rows, ascii), colour, |frame, area, ui| screen.draw(frame, area, ui)))
}
