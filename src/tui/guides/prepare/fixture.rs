//! Data sets and screens for the tests of the guided prepare: deterministic, without access to the disk or the clock.

use super::derive::PlanFindings;
use super::field_map::samples::{SampleResult, SampleResults};
use super::step::Step;
use super::steps::PrepareSteps;
use super::PrepareGuide;
use crate::tui::drafts;
use crate::tui::form::{Form, FormScreen};
use crate::tui::guides::media::tally::MediaTally;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::testing;
use gristmill_core::{
    DatasetFacts, DatasetKind, FileStamp, ImageFacts, MediaFacts, MediaFilter, MediaPlan, MediaType, PartFacts,
    PreparePlan, PreparedFacts, Problem, ProblemKind, RunOptions, SampleMapping, SampleSketch, ShardFacts, ShardState,
    Subject,
};
use gristmill_data::preview::cells::Depth;
use gristmill_data::preview::picture::Picture;
use gristmill_data::preview::Drawable;
use gristmill_data::source::decode::{decode_part, Value};
use gristmill_ops::engine::plan::fields::{check_in, DecodedSample};
use gristmill_ops::engine::plan::file;
use gristmill_ops::job::prepare::preview;
use gristmill_ops::operations::{erase, Prepare};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::Path;
use std::sync::Arc;

/// Returns the facts of 20 scanned shards `shard_0000.tar` … with jpg, txt and json.
pub fn facts() -> DatasetFacts {
    let names: Vec<String> = (0..20).map(|i| format!("shard_{i:04}.tar")).collect();
    facts_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the facts of scanned shards with these names.
pub fn facts_of(names: &[&str]) -> DatasetFacts {
    let mut facts = DatasetFacts::new("/data/coco".into(), DatasetKind::RawWebDataset);
    facts.shards = names.iter().enumerate().map(|(i, name)| shard(name, 10_000 + 7 * i as u64)).collect();
    facts.samples_seen = facts.shards.iter().map(|s| s.samples).sum();
    let all = facts.samples_seen;
    for (name, samples) in [("jpg", all), ("txt", all - 300), ("json", all)] {
        facts.parts.insert(name.into(), PartFacts { samples, bytes: samples * 2_000 });
    }
    let parts = |at: u64| vec![("jpg".into(), at, 9), ("txt".into(), at + 10, 9), ("json".into(), at + 20, 9)];
    let sketch = |i: u64| SampleSketch { shard: names[0].into(), key: format!("{i:06}"), parts: parts(i * 100) };
    facts.sketches = (0..4).map(sketch).collect();
    facts.scan_complete = true;
    facts.opened = true;
    facts
}

fn shard(name: &str, samples: u64) -> ShardFacts {
    ShardFacts {
        name: name.into(),
        stamp: FileStamp { bytes: 215 << 20, modified_ns: 0, inode: 1 },
        is_tgz: name.ends_with(".tgz"),
        unusable: false,
        state: ShardState::Scanned,
        samples,
        ..ShardFacts::default()
    }
}

/// Returns facts of a data set of which half is scanned, with unusual properties.
pub fn facts_half_scanned() -> DatasetFacts {
    let mut facts = facts();
    for (at, shard) in facts.shards.iter_mut().enumerate() {
        match at {
            0..12 => {}
            12 => {
                shard.state = ShardState::Scanning;
                shard.samples = 4_211;
            }
            _ => {
                shard.state = ShardState::Waiting;
                shard.samples = 0;
            }
        }
    }
    facts.shards[7].samples = 0;
    facts.scan_complete = false;
    let subject = || Subject::shard("shard_0007.tar");
    facts.findings = vec![
        Problem::problem(ProblemKind::EmptyShard, subject(), "no entry makes a sample")
            .with_hint("it stays, with a count of 0; leave it out if that is not meant"),
        Problem::note(
            ProblemKind::UnnamedEntry,
            Subject::shard("shard_0002.tar"),
            "3 entries without a part name skipped",
        ),
    ];
    facts
}

/// Returns facts of a data set that was prepared by this program, with a ratio; two shards are new.
pub fn facts_prepared() -> DatasetFacts {
    let mut facts = facts();
    let names: Vec<String> = facts.shards.iter().map(|s| s.name.clone()).collect();
    let split = |name: &str, range: std::ops::Range<usize>| (name.to_owned(), names[range].to_vec());
    let mut plan = gristmill_core::PreparePlan::new("/data/coco");
    plan.splits = gristmill_core::SplitPlan::Ratio("8,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    facts.kind = DatasetKind::PreparedWebDataset;
    facts.prepared = Some(PreparedFacts {
        version: Some("7.4.1".into()),
        shard_counts: facts.shards[..18].iter().map(|s| (s.name.clone(), s.samples)).collect(),
        by_gristmill: true,
        plan: Some(Box::new(plan)),
        splits: vec![split("train", 0..14), split("val", 14..16), split("test", 16..18)],
        excludes: vec!["shard_0001.tar/000032".into()],
        new_shards: names[18..].to_vec(),
        ..PreparedFacts::default()
    });
    facts
}

/// Returns the samples of the facts.
pub fn samples(facts: &DatasetFacts) -> Vec<DecodedSample> {
    let captions = ["A man riding a wave on top of a surfboard.", "Two cats.", "A plate of food", "Rain"];
    let sample = |(sketch, caption): (&SampleSketch, &str)| {
        let json = format!(r#"{{"id": {}, "caption": {{"long": "{caption}", "lang": "en"}}}}"#, sketch.key.len());
        DecodedSample {
            shard: sketch.shard.clone(),
            key: sketch.key.clone(),
            parts: vec![
                ("jpg".into(), Ok(Value::Image { format: "jpeg".into(), width: 640, height: 427 })),
                ("txt".into(), decode_part("txt", caption.as_bytes())),
                ("json".into(), decode_part("json", json.as_bytes())),
            ],
        }
    };
    facts.sketches.iter().zip(captions).map(sample).collect()
}

/// The form of a data set, with its own state folder.
pub struct PrepareForm {
    screen: FormScreen,
    state: tempfile::TempDir,
}

impl std::ops::Deref for PrepareForm {
    type Target = PrepareSteps;

    fn deref(&self) -> &PrepareSteps {
        &self.guide().steps
    }
}

impl std::ops::DerefMut for PrepareForm {
    fn deref_mut(&mut self) -> &mut PrepareSteps {
        &mut self.screen.guide_mut::<PrepareGuide>().steps
    }
}

impl PrepareForm {
    /// Opens the form with a plan; `is_stopped` is whether the plan is that of a run to be resumed.
    pub fn open(plan: PreparePlan, is_stopped: bool, facts: DatasetFacts) -> Self {
        Self::open_in(tempfile::tempdir().unwrap(), plan, is_stopped, facts)
    }

    /// Opens the form with these answers as a draft, at this step.
    pub fn with_draft(plan: &PreparePlan, step: Step, facts: DatasetFacts) -> Self {
        let state = tempfile::tempdir().unwrap();
        let place = drafts::place(state.path(), "prepare-", [Path::new(&plan.path)]);
        let step =
            erase::<Prepare>(plan.clone()).operation().steps().get(step.index()).map_or("review", |step| step.id);
        drafts::save(&place, step, &file::to_yaml(plan).unwrap()).unwrap();
        Self::open_in(state, PreparePlan::new(&plan.path), false, facts)
    }

    /// Closes the form, which saves a draft, and opens it again.
    pub fn reopen(mut self, facts: DatasetFacts) -> Self {
        self.screen.closing();
        let plan = PreparePlan::new(&self.answers.plan.path);
        Self::open_in(self.state, plan, false, facts)
    }

    fn open_in(state: tempfile::TempDir, plan: PreparePlan, is_stopped: bool, facts: DatasetFacts) -> Self {
        let env = UiEnv::new(RunOptions::default(), state.path().to_owned());
        let guide = Box::new(PrepareGuide::new(&plan, &env));
        let screen = FormScreen::with_guide(erase::<Prepare>(plan), guide, env);
        let screen = if is_stopped { screen.resumed_run() } else { screen };
        let mut form = Self { screen, state };
        form.see(facts);
        form
    }

    /// Sets new facts, and the results of the workers for them.
    pub fn see(&mut self, facts: DatasetFacts) {
        self.set_facts_without_workers(facts);
        settle(self);
    }

    /// Sets new facts without results of the workers.
    pub fn set_facts_without_workers(&mut self, facts: DatasetFacts) {
        self.screen.with_guide_of(|guide: &mut PrepareGuide, form| {
            guide.steps.is_scanning = !facts.scan_complete;
            guide.set_facts(Arc::new(facts));
            guide.update(form);
        });
    }

    pub fn guide(&self) -> &PrepareGuide {
        self.screen.guide()
    }

    pub fn change_guide(&mut self, change: impl FnOnce(&mut PrepareGuide, &mut Form)) {
        self.screen.with_guide_of(change);
    }

    pub fn form(&self) -> &Form {
        self.screen.form()
    }

    /// Returns the step on the screen.
    pub fn step(&self) -> Step {
        Step::at(self.form().step)
    }

    /// Goes to a step.
    pub fn go(&mut self, step: Step) {
        self.change_guide(|_, form| form.select_step(step.index()));
        settle(self);
    }

    /// Runs an action without results of the workers.
    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        self.screen.handle(Input::Action(action))
    }

    /// Types a key.
    pub fn key(&mut self, key: KeyEvent) {
        self.screen.handle(Input::Key(key));
    }

    /// Pastes a text.
    pub fn paste(&mut self, text: &str) {
        self.screen.handle(Input::Paste(text.to_owned()));
    }

    /// Returns the key context.
    pub fn context(&self) -> Context {
        self.screen.context()
    }

    /// Returns why an action is not possible.
    pub fn why_disabled(&self, action: Action) -> Option<String> {
        self.screen.disabled_reason(action)
    }

    /// Returns the equivalent command.
    pub fn command(&self) -> String {
        self.form().command()
    }

    /// Returns whether the list of steps marks the answers of a step as wrong.
    pub fn is_broken(&self, step: Step) -> bool {
        use crate::tui::form::Guide;
        self.guide().blocking_reason(self.form(), step.index()).is_some()
    }
}

/// Returns the form for facts, with all results of the workers.
pub fn prepare(facts: DatasetFacts) -> PrepareForm {
    PrepareForm::open(PreparePlan::new("/data/coco"), false, facts)
}

/// Applies the results of the workers until nothing changes.
pub fn settle(form: &mut PrepareForm) {
    form.change_guide(|guide, form| {
        for _ in 0..4 {
            let facts = Arc::clone(&guide.steps.answers.facts);
            let samples = samples(&facts);
            guide.steps.set_findings(Arc::new(PlanFindings::of(&guide.steps.answers.plan, &facts, &samples)));
            guide.steps.field_map.results = Arc::new(results(&guide.steps, &samples));
        }
        let step = Step::at(form.step);
        if let Some(plan) = guide.steps.answers.plan.media.clone().filter(|_| step == Step::Media) {
            let seen = tally(&plan, &guide.steps.answers.facts);
            guide.steps.media.tally = Some((plan, Arc::new(seen)));
        }
        if step == Step::Review {
            guide.preview = Some(Arc::new(preview(&guide.steps.answers.plan, &guide.steps.answers.facts)));
        }
        guide.update(form);
    });
}

/// Returns the media that a plan would record of the fixture.
fn tally(plan: &MediaPlan, facts: &DatasetFacts) -> MediaTally {
    let picks = match &plan.filter {
        MediaFilter::Glob(patterns) => gristmill_media::kind::globs_match(patterns, "000000.jpg"),
        MediaFilter::Extension | MediaFilter::Header => true,
    };
    if !picks {
        return MediaTally::default();
    }
    let rows = facts.parts.get("jpg").map_or(0, |p| p.samples);
    let image = ImageFacts { width: 640, height: 427, format: "JPEG", mode: "RGB" };
    let name = |i: usize| format!("{i:06}.jpg");
    MediaTally {
        by_type: vec![("jpg".into(), MediaType::Image, rows)],
        probed: vec![
            (name(0), Ok(MediaFacts::Image(image.clone()))),
            (name(1), Ok(MediaFacts::Image(ImageFacts { width: 427, ..image }))),
            (name(2), Err("the picture ends in the middle of its header (byte 17)".into())),
        ],
        candidates: rows,
        is_counting: !facts.scan_complete,
    }
}

fn results(steps: &PrepareSteps, samples: &[DecodedSample]) -> SampleResults {
    let SampleMapping::FieldMap { sample_type, fields } = &steps.answers.plan.loading else {
        return SampleResults::default();
    };
    let class = gristmill_core::sample_type::find(sample_type);
    let checks = check_in(fields, class, samples, &steps.answers.facts);
    let mut results = super::field_map::samples::evaluated(fields, &checks, samples);
    for (at, sample) in samples.iter().enumerate().take(3) {
        let fields = checks.iter().map(|check| match &check.results[at] {
            Ok(Value::Image { .. }) => Ok(Drawable::Picture(Arc::new(picture(at as u32)))),
            Ok(value) => Ok(super::field_map::samples::show(value)),
            Err(error) => Err(error.to_string()),
        });
        results.samples.push(SampleResult { key: sample.key.clone(), fields: fields.collect() });
    }
    results
}

/// Returns a picture with bright and dark stripes.
fn picture(seed: u32) -> Picture {
    let pixels = image::RgbaImage::from_fn(48, 32, |x, y| {
        let level = if (x / (6 + seed) + y / 8).is_multiple_of(2) { 230 } else { 40 };
        image::Rgba([level, level, level, 255])
    });
    Picture::from_pixels("JPEG", "RGB", pixels)
}

/// Runs actions one after another, with the results of the workers after each.
pub fn act(form: &mut PrepareForm, actions: &[Action]) -> Vec<Effect> {
    let mut effects = Vec::new();
    for action in actions {
        effects.extend(form.act(*action));
        settle(form);
    }
    effects
}

/// Returns the notices among effects.
pub fn notices(effects: &[Effect]) -> Vec<&str> {
    fn text(effect: &Effect) -> Option<&str> {
        match effect {
            Effect::Toast(toast) => Some(&toast.text),
            _ => None,
        }
    }
    effects.iter().filter_map(text).collect()
}

pub fn type_text(form: &mut PrepareForm, text: &str) {
    for c in text.chars() {
        form.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
    }
    settle(form);
}

/// Clears the focused text field.
pub fn clear(form: &mut PrepareForm) {
    form.key(KeyEvent::new(KeyCode::Char('e'), KeyModifiers::CONTROL));
    for _ in 0..200 {
        form.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    }
    settle(form);
}

/// Returns the form as drawn: one line of text per row.
pub fn screen(form: &mut PrepareForm, width: u16, height: u16, ascii: bool) -> String {
    form.change_guide(|guide, _| guide.depth = if ascii { Depth::Ascii } else { Depth::Shades });
    // The frame's title line and bottom bar take a row each.
    testing::shown((width, height - 2, ascii), |frame, area, ui| form.screen.draw(frame, area, ui))
}
