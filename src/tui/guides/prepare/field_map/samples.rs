//! Evaluates the field map on samples of the data set, on a worker.

use crate::tui::widgets::preview::{run_until, DECODE_DEADLINE};
use gristmill_core::field_map::FieldExpression;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type;
use gristmill_core::{DatasetFacts, FileStamp, Mutex, Problem, ProblemKind, SampleSketch, Shard, Subject};
use gristmill_data::preview::picture::{self, Picture};
use gristmill_data::preview::{text, Drawable};
use gristmill_data::source::contents;
use gristmill_data::source::decode::Value;
use gristmill_ops::engine::plan::fields::{self, DecodedSample, FieldCheck, Share};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of shown samples.
pub const MAX_SHOWN_SAMPLES: usize = 3;
/// Maximum size of a picture file that is read, in bytes.
const PICTURE_FILE_BYTES: u64 = 64 << 20;

/// A request: the current expressions, and the facts with the samples found so far.
#[derive(Clone, Debug)]
pub struct SampleRequest {
    /// The class, as written in the plan.
    pub class: String,
    /// The current expressions.
    pub fields: Vec<FieldExpr>,
    /// The data set.
    pub facts: Arc<DatasetFacts>,
}

/// The result of the field map for one sample.
#[derive(Clone, Debug)]
pub struct SampleResult {
    pub key: String,
    /// One value per expression, in order, or an error message for the user.
    pub fields: Vec<Result<Drawable, String>>,
}

/// The results of the field map for all samples.
#[derive(Clone, Debug, Default)]
pub struct SampleResults {
    /// The expressions that were evaluated.
    pub fields: Vec<FieldExpr>,
    /// The shown samples, at most [`MAX_SHOWN_SAMPLES`].
    pub samples: Vec<SampleResult>,
    /// For each expression, the share of scanned samples in which it resolves.
    pub shares: Vec<Option<Share>>,
    /// Problems by field: refusals if no sample resolves, notes if some do not.
    pub problems: Vec<Problem>,
    /// JSON values found, by part.
    pub json: BTreeMap<String, Vec<serde_json::Value>>,
}

impl SampleResults {
    /// Returns the index of the result for a field with this expression; `None` if the results are for an older text.
    pub fn of(&self, field: &str, expr: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.field == field && f.expr == expr)
    }
}

type Samples = BTreeMap<(String, String), Arc<DecodedSample>>;

/// Samples that were read, shared by workers. Clones share the samples.
#[derive(Clone, Default)]
pub struct SampleStore {
    samples: Arc<Mutex<Samples>>,
}

impl SampleStore {
    /// Returns a sample; reads it from disk the first time, without holding the lock.
    fn get(&self, facts: &DatasetFacts, sketch: &SampleSketch) -> Arc<DecodedSample> {
        let key = (sketch.shard.clone(), sketch.key.clone());
        if let Some(known) = self.samples.lock().get(&key) {
            return Arc::clone(known);
        }
        let sample = Arc::new(fields::load(&facts.root, sketch));
        Arc::clone(self.samples.lock().entry(key).or_insert(sample))
    }

    /// Returns all samples that are listed in the facts.
    pub fn all(&self, facts: &DatasetFacts) -> Vec<DecodedSample> {
        facts.sketches.iter().map(|s| (*self.get(facts, s)).clone()).collect()
    }
}

/// Evaluates samples on a worker thread, and caches decoded pictures.
#[derive(Default)]
pub struct SampleEvaluator {
    store: SampleStore,
    /// By shard, key and part.
    pictures: BTreeMap<(String, String, String), Result<Arc<Picture>, String>>,
}

impl SampleEvaluator {
    /// Creates an evaluator that shares its samples with other workers.
    pub fn new(store: SampleStore) -> Self {
        Self { store, ..Self::default() }
    }

    /// Evaluates every expression on every known sample, which is read from disk the first time.
    pub fn answer(&mut self, question: &SampleRequest) -> SampleResults {
        let facts = &question.facts;
        let samples = self.store.all(facts);
        let class = sample_type::find(&question.class);
        let checks = fields::check_in(&question.fields, class, &samples, facts);
        let mut results = evaluated(&question.fields, &checks, &samples);
        for (at, sketch) in facts.sketches.iter().enumerate().take(MAX_SHOWN_SAMPLES) {
            let fields = checks.iter().map(|check| self.drawable(facts, sketch, check, at)).collect();
            results.samples.push(SampleResult { key: sketch.key.clone(), fields });
        }
        results
    }

    fn drawable(
        &mut self,
        facts: &DatasetFacts,
        sketch: &SampleSketch,
        check: &FieldCheck,
        sample: usize,
    ) -> Result<Drawable, String> {
        match check.results.get(sample) {
            Some(Ok(Value::Image { .. })) => {
                let part = self.picture_part(facts, sketch, &check.expr).ok_or("no picture part")?;
                self.picture(facts, sketch, &part).map(Drawable::Picture)
            }
            Some(Ok(value)) => Ok(show(value)),
            Some(Err(error)) => Err(gristmill_core::text::display_safe(&error.to_string()).into_owned()),
            None => Err("not read yet".into()),
        }
    }

    /// Returns the part whose picture an expression yields: the first alternative that the sample has.
    fn picture_part(&self, facts: &DatasetFacts, sketch: &SampleSketch, expr: &str) -> Option<String> {
        let sample = self.store.get(facts, sketch);
        let options = FieldExpression::parse(expr).options;
        options.into_iter().find(|o| matches!(sample.part(&o.part), Some(Ok(_)))).map(|o| o.part)
    }

    fn picture(&mut self, facts: &DatasetFacts, sketch: &SampleSketch, part: &str) -> Result<Arc<Picture>, String> {
        let key = (sketch.shard.clone(), sketch.key.clone(), part.to_owned());
        if let Some(known) = self.pictures.get(&key) {
            return known.clone();
        }
        let result = self.decode_picture(facts, sketch, part);
        self.pictures.insert(key, result.clone());
        result
    }

    fn decode_picture(
        &mut self,
        facts: &DatasetFacts,
        sketch: &SampleSketch,
        part: &str,
    ) -> Result<Arc<Picture>, String> {
        let row = sketch.parts.iter().rev().find(|(name, _, _)| name == part);
        let &(_, offset, size) = row.ok_or_else(|| format!("no part '{part}'"))?;
        if size > PICTURE_FILE_BYTES {
            return Err(format!("{} are too much to show", gristmill_core::text::bytes(size)));
        }
        let shard = Shard {
            name: sketch.shard.clone(),
            path: facts.root.join(&sketch.shard),
            stamp: FileStamp::default(),
            mode: 0,
            is_tgz: sketch.shard.ends_with(".tgz"),
        };
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let bytes = contents::read_part(&shard, offset, size, limit).map_err(|f| f.why)?;
        match run_until(DECODE_DEADLINE, move || picture::decode(&bytes))? {
            Ok(picture) => Ok(Arc::new(picture)),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns the results without shown samples and pictures: shares, problems, JSON values.
pub(in super::super) fn evaluated(
    fields: &[FieldExpr],
    checks: &[FieldCheck],
    samples: &[DecodedSample],
) -> SampleResults {
    SampleResults {
        fields: fields.to_vec(),
        shares: checks.iter().map(|c| c.share).collect(),
        problems: checks.iter().flat_map(problems).collect(),
        json: json_of(samples),
        samples: Vec::new(),
    }
}

pub(in super::super) fn show(value: &Value) -> Drawable {
    match value {
        Value::Text(text) => Drawable::from_text(text),
        Value::Json(json) => Drawable::from_json(json),
        Value::Int(number) => Drawable::fact(number.to_string()),
        Value::Bytes { len, label } => Drawable::fact(format!("{} · {label}", gristmill_core::text::bytes(*len))),
        Value::Media { len, .. } => {
            Drawable::fact(format!("{} · {}", gristmill_core::text::bytes(*len), value.describe()))
        }
        other => Drawable::fact(text::cut_end(&other.describe(), 400)),
    }
}

fn problems(check: &FieldCheck) -> Vec<Problem> {
    let subject = || Subject::field(&check.field);
    let mut out = Vec::new();
    let failed = check.results.iter().filter(|r| r.is_err()).count();
    if let Some(error) = check.first_error() {
        let of = check.results.len();
        if failed == of {
            out.push(Problem::refusal(ProblemKind::FieldFails, subject(), error.to_string()));
        } else {
            let message = format!(
                "{failed} of {of} samples {}: {error}",
                gristmill_core::text::agree(failed as u64, "fails", "fail")
            );
            out.push(Problem::problem(ProblemKind::FieldFails, subject(), message));
        }
    }
    if let Some(warning) = &check.warning {
        out.push(Problem::note(ProblemKind::FieldFails, subject(), warning.clone()));
    }
    out
}

fn json_of(samples: &[DecodedSample]) -> BTreeMap<String, Vec<serde_json::Value>> {
    let mut json: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
    for (name, part) in samples.iter().flat_map(|s| &s.parts) {
        if let Ok(Value::Json(value)) = part {
            json.entry(name.clone()).or_default().push(value.clone());
        }
    }
    json
}
