//! Data sets and screens for the tests of the guided prepare: fixed, without disk or clock.

use super::derive::Derived;
use super::draw::{self, DrawContext};
use super::field_map::samples::{Results, SampleResult};
use super::spots::ClickTargets;
use super::state::Wizard;
use super::step::{Ask, Step};
use crate::tui::keymap::Action;
use crate::tui::screens::media::seen::MediaTally;
use crate::tui::testing;
use gristmill_core::{
    DatasetFacts, DatasetKind, FileStamp, ImageFacts, Loading, MediaFacts, MediaFilter, MediaPlan, MediaType,
    PartFacts, PreparedFacts, Problem, ProblemKind, SampleSketch, ShardFacts, ShardState, Subject,
};
use gristmill_ops::engine::plan::fields::{check_in, DecodedSample};
use gristmill_ops::job::prepare::preview;
use gristmill_ops::preview::cells::Depth;
use gristmill_ops::preview::picture::Picture;
use gristmill_ops::preview::Drawable;
use gristmill_ops::source::decode::{decode_part, Value};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::Arc;

/// 20 scanned shards `shard_0000.tar` … with jpg, txt and json.
pub fn facts() -> DatasetFacts {
    let names: Vec<String> = (0..20).map(|i| format!("shard_{i:04}.tar")).collect();
    facts_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Scanned shards of those names.
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

/// Half scanned, with unusual properties found.
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

/// Prepared by us before, with a ratio; two shards are new.
pub fn facts_prepared() -> DatasetFacts {
    let mut facts = facts();
    let names: Vec<String> = facts.shards.iter().map(|s| s.name.clone()).collect();
    let split = |name: &str, range: std::ops::Range<usize>| (name.to_owned(), names[range].to_vec());
    let mut plan = gristmill_core::PreparePlan::new("/data/coco");
    plan.splits = gristmill_core::SplitPlan::Ratio("8,1,1".into());
    plan.loading = Loading::Crude { cooker: false };
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

/// What the samples of the fixture hold.
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

/// A wizard over facts, with everything worked out as the workers would.
pub fn wizard(facts: DatasetFacts) -> Wizard {
    let earlier = facts.prepared.as_ref().and_then(|p| p.plan.as_deref().cloned());
    let mut wizard = Wizard::new("/data/coco", Arc::new(facts));
    wizard.is_scanning = !wizard.answers.facts.scan_complete;
    if let Some(earlier) = earlier {
        wizard.remember_earlier(earlier);
    }
    settle(&mut wizard);
    wizard
}

/// Does what the workers would do, until nothing changes.
pub fn settle(wizard: &mut Wizard) {
    for _ in 0..4 {
        let facts = Arc::clone(&wizard.answers.facts);
        let samples = samples(&facts);
        wizard.learn(Arc::new(Derived::of(&wizard.answers.plan, &facts, &samples)));
        wizard.field_map.results = Arc::new(results(wizard, &samples));
    }
    if let Some(plan) = wizard.answers.plan.media.clone().filter(|_| wizard.step == Step::Media) {
        let seen = tally(&plan, &wizard.answers.facts);
        wizard.media.seen = Some((plan, Arc::new(seen)));
    }
    if wizard.step == Step::Review {
        wizard.review.preview = Some(Arc::new(preview(&wizard.answers.plan, &wizard.answers.facts)));
    }
}

/// What answers about media would record of the fixture.
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

fn results(wizard: &Wizard, samples: &[DecodedSample]) -> Results {
    let Loading::FieldMap { sample_type, fields } = &wizard.answers.plan.loading else { return Results::default() };
    let class = gristmill_core::sample_type::find(sample_type);
    let checks = check_in(fields, class, samples, &wizard.answers.facts);
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

/// Bright and dark stripes.
fn picture(seed: u32) -> Picture {
    let pixels = image::RgbaImage::from_fn(48, 32, |x, y| {
        let level = if (x / (6 + seed) + y / 8).is_multiple_of(2) { 230 } else { 40 };
        image::Rgba([level, level, level, 255])
    });
    Picture::from_pixels("JPEG", "RGB", pixels)
}

/// Does actions one after the other, the workers keeping up.
pub fn act(wizard: &mut Wizard, actions: &[Action]) -> Vec<Ask> {
    let mut asks = Vec::new();
    for action in actions {
        asks.extend(wizard.act(*action));
        settle(wizard);
    }
    asks
}

/// Types a text.
pub fn type_text(wizard: &mut Wizard, text: &str) {
    for c in text.chars() {
        wizard.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
    }
    settle(wizard);
}

/// Empties the field in focus.
pub fn clear(wizard: &mut Wizard) {
    wizard.key(KeyEvent::new(KeyCode::Char('e'), KeyModifiers::CONTROL));
    for _ in 0..200 {
        wizard.key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE));
    }
    settle(wizard);
}

/// The wizard as drawn: one line of text per row.
pub fn screen(wizard: &mut Wizard, width: u16, height: u16, ascii: bool) -> String {
    let depth = if ascii { Depth::Ascii } else { Depth::Shades };
    // The frame's title line and bottom bar take a row each.
    testing::shown((width, height - 2, ascii), |frame, area, ui| {
        let look = DrawContext { ui, focused: true, is_scanning: false, depth, spots: &ClickTargets::default() };
        draw::draw(wizard, frame, area, &look);
    })
}
