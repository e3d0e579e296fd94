//! Evaluates a field map on samples: the value of each field, or the reason why it has none.

use gristmill_core::field_map::FieldExpression;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::{FieldType, SampleType};
use gristmill_core::text::percent;
use gristmill_core::{
    DatasetFacts, PreparePlan, Problem, ProblemKind, SampleMapping, SampleSketch, Scope, Shard, Subject,
};
use gristmill_data::source::contents;
use gristmill_data::source::decode::{self, DecodedPart, FieldError, PartClass, Value};
use serde::Serialize;
use std::path::Path;

/// Bytes of a picture that are read: enough to find its header after thumbnails and colour profiles.
const PICTURE_BYTES: u64 = 4 << 20;

/// A sample with its parts decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecodedSample {
    /// Relative name of the shard.
    pub shard: String,
    /// Key of the sample.
    pub key: String,
    /// Part names and decoded parts, in archive order.
    pub parts: Vec<(String, DecodedPart)>,
}

impl DecodedSample {
    /// Returns the part with that name. If there are several, returns the last one, as the loader does.
    pub fn part(&self, name: &str) -> Option<&DecodedPart> {
        self.parts.iter().rev().find(|(known, _)| known == name).map(|(_, part)| part)
    }
    /// Evaluates an expression on this sample.
    pub fn eval(&self, expression: &FieldExpression) -> Result<Value, FieldError> {
        decode::eval(expression, &|name| self.part(name))
    }
}

/// Reads and decodes one sample. A part that cannot be read becomes an undecodable part, never a failure.
///
/// Reads from disk, so it must not be called on the thread that draws.
pub fn load(root: &Path, sketch: &SampleSketch) -> DecodedSample {
    let shard = Shard {
        name: sketch.shard.clone(),
        path: root.join(&sketch.shard),
        stamp: gristmill_core::FileStamp::default(),
        mode: 0,
        is_tgz: sketch.shard.ends_with(".tgz"),
    };
    let parts = sketch.parts.iter().map(|(name, offset, size)| (name.clone(), load_part(&shard, name, *offset, *size)));
    DecodedSample { shard: sketch.shard.clone(), key: sketch.key.clone(), parts: parts.collect() }
}

fn load_part(shard: &Shard, name: &str, offset: u64, size: u64) -> DecodedPart {
    let wanted = match decode::part_class(name) {
        PartClass::Media | PartClass::Bytes if size > 0 => return Ok(decode::undecoded(name, size)),
        PartClass::Image => size.min(PICTURE_BYTES),
        _ => size,
    };
    if wanted > decode::MAX_PART_BYTES as u64 {
        return Err(format!("it is larger than {}", gristmill_core::text::bytes(decode::MAX_PART_BYTES as u64)));
    }
    let bytes =
        contents::read_part(shard, offset, wanted, decode::MAX_PART_BYTES).map_err(|failure| failure.why.clone())?;
    decode::decode_part(name, &bytes)
}

/// Share of the scanned samples in which an expression can resolve, judged by their parts, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Lower bound of the share.
    pub at_least: f64,
    /// Upper bound of the share; differs from the lower one only if several parts are alternatives.
    pub at_most: f64,
}

impl Share {
    /// Returns the share of the samples that have at least one of these parts, which must be distinct.
    pub fn of_any<'a>(parts: impl Iterator<Item = &'a str> + Clone, facts: &DatasetFacts) -> Self {
        let shares = || parts.clone().map(|part| facts.part_share(part));
        Self { at_least: shares().fold(0.0, f64::max), at_most: shares().sum::<f64>().min(1.0) }
    }

    /// Formats the share: `100 %`, `99.7 %`, `60.0 % to 100 %`.
    pub fn text(&self) -> String {
        if (self.at_most - self.at_least).abs() < 1e-9 {
            percent(self.at_least)
        } else {
            format!("{} to {}", percent(self.at_least), percent(self.at_most))
        }
    }
}

/// The results of evaluating one field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldCheck {
    /// Name of the field.
    pub field: String,
    /// Expression of the field.
    pub expr: String,
    /// One result per sample, in the order of the samples.
    pub results: Vec<Result<Value, FieldError>>,
    /// Share of the scanned samples with a part that the expression names; `None` if no sample was scanned yet.
    pub share: Option<Share>,
    /// A warning, in one sentence, about an expression that is allowed but probably a mistake.
    pub warning: Option<String>,
}

impl FieldCheck {
    /// Returns the first error; `None` if no sample fails.
    pub fn first_error(&self) -> Option<&FieldError> {
        self.results.iter().find_map(|r| r.as_ref().err())
    }
}

/// Evaluates every field on every sample.
pub fn check(fields: &[FieldExpr], samples: &[DecodedSample]) -> Vec<FieldCheck> {
    fields.iter().map(|field| check_one(field, samples)).collect()
}

/// Returns the problems of field expressions of a plan that fail on samples of the data set. Reads the samples that the scan has recorded
/// as examples.
///
/// A field that fails on every sample is refused, since the trainer could not load any sample. Any other failure is a problem. With
/// `--compat`, all failures are notes. Missing parts are not reported here, because [`validate`](super::validate) covers all samples.
pub fn try_out(plan: &PreparePlan, facts: &DatasetFacts) -> Vec<Problem> {
    if plan.scope == Scope::TarIndexOnly || !matches!(plan.loading, SampleMapping::FieldMap { .. }) {
        return Vec::new();
    }
    let samples: Vec<DecodedSample> = facts.sketches.iter().map(|sketch| load(&facts.root, sketch)).collect();
    try_on(plan, &samples)
}

/// Like [`try_out`], on samples that were already read.
pub fn try_on(plan: &PreparePlan, samples: &[DecodedSample]) -> Vec<Problem> {
    let SampleMapping::FieldMap { fields, sample_type } = &plan.loading else { return Vec::new() };
    let class = super::classes::resolve(sample_type).ok().and_then(|class| class.known);
    let is_optional =
        |name: &str| class.is_some_and(|class| class.fields.iter().any(|f| f.name == name && f.default.is_some()));
    let tried = check(fields, samples);
    let mut problems: Vec<Problem> =
        tried.iter().filter_map(|tried| failing(plan, tried, is_optional(&tried.field), samples)).collect();
    problems.extend(type_mismatches(class, &tried, samples));
    problems
}

/// Returns notes on fields whose value has another type than declared, each with the first such sample. They are notes because the trainer
/// does not check types.
pub fn type_mismatches(class: Option<&SampleType>, tried: &[FieldCheck], samples: &[DecodedSample]) -> Vec<Problem> {
    let type_of = |name: &str| Some(class?.fields.iter().find(|field| field.name == name)?.field_type);
    let reasons = tried.iter().filter_map(|tried| {
        let field_type = type_of(&tried.field)?;
        let found = tried.results.iter().zip(samples);
        let (why, sample) = found
            .filter_map(|(result, sample)| Some((mismatch_reason(field_type, result.as_ref().ok()?)?, sample)))
            .next()?;
        let message = format!("field '{}' by '{}': {why}; the trainer does not check it", tried.field, tried.expr);
        let subject = Subject {
            key: Some(sample.key.clone()),
            shard: Some(sample.shard.clone()),
            ..Subject::field(&tried.field)
        };
        Some(Problem::note(ProblemKind::FieldFails, subject, message))
    });
    reasons.collect()
}

fn failing(plan: &PreparePlan, tried: &FieldCheck, is_optional: bool, samples: &[DecodedSample]) -> Option<Problem> {
    let errors =
        tried.results.iter().zip(samples).filter_map(|(result, sample)| Some((result.as_ref().err()?, sample)));
    let errors: Vec<_> = errors.filter(|(error, _)| !matches!(error, FieldError::NoPart { .. })).collect();
    let (error, sample) = errors.first()?;
    let all = errors.len() == tried.results.len();
    let count = gristmill_core::text::count(samples.len() as u64, "sample");
    let message = if all {
        format!("field '{}' fails on every sample that was tried: {error}", tried.field)
    } else {
        format!(
            "field '{}' fails on {} of {count} that were tried: {error}; the trainer fails on them",
            tried.field,
            errors.len()
        )
    };
    let subject =
        Subject { key: Some(sample.key.clone()), shard: Some(sample.shard.clone()), ..Subject::field(&tried.field) };
    let make = match (plan.compat, all) {
        (true, _) => Problem::note,
        (false, true) => Problem::refusal,
        (false, false) => Problem::problem,
    };
    let hint = match is_optional {
        true => "leave this field out, or correct its expression".to_owned(),
        false => {
            format!("--field-map {}=EXPR names a part and the way into it, as in json[caption][0],txt", tried.field)
        }
    };
    Some(make(ProblemKind::FieldFails, subject, message).with_hint(hint))
}

/// Like [`check`], and adds the share of all scanned samples, and warnings about types.
pub fn check_in(
    fields: &[FieldExpr],
    class: Option<&SampleType>,
    samples: &[DecodedSample],
    facts: &DatasetFacts,
) -> Vec<FieldCheck> {
    let mut checks = check(fields, samples);
    for check in &mut checks {
        check.share = share(&check.expr, facts);
        let field_type = class.and_then(|c| c.fields.iter().find(|f| f.name == check.field)).map(|f| f.field_type);
        if let (None, Some(field_type)) = (&check.warning, field_type) {
            check.warning = check.results.iter().flatten().find_map(|value| mismatch_reason(field_type, value));
        }
    }
    checks
}

fn check_one(field: &FieldExpr, samples: &[DecodedSample]) -> FieldCheck {
    let expression = FieldExpression::parse(&field.expr);
    let warning = if !FieldExpression::fits_grammar(&field.expr) {
        Some(format!(
            "an option of '{}' is not of the form PART[STEP], and no part is likely to have this name",
            field.expr
        ))
    } else {
        spaces(&expression)
    };
    FieldCheck {
        field: field.field.clone(),
        expr: field.expr.clone(),
        results: samples.iter().map(|s| s.eval(&expression)).collect(),
        share: None,
        warning,
    }
}

/// Warns about spaces, which are significant in the grammar: `json[a], txt` names a part ` txt`.
fn spaces(expression: &FieldExpression) -> Option<String> {
    let odd = expression.options.iter().find(|o| o.part.trim() != o.part)?;
    Some(format!("spaces are significant: this names a part '{}'", odd.part))
}

/// Returns the share of the scanned samples in which an expression can resolve; `None` if no sample was scanned yet.
pub fn share(expr: &str, facts: &DatasetFacts) -> Option<Share> {
    if facts.samples_seen == 0 {
        return None;
    }
    let expression = FieldExpression::parse(expr);
    let mut parts: Vec<&str> = expression.options.iter().map(|o| o.part.as_str()).collect();
    parts.sort_unstable();
    parts.dedup();
    Some(Share::of_any(parts.into_iter(), facts))
}

/// Returns why a value is probably unsuitable for a field of that type; `None` if it is suitable. The trainer itself does not check this.
pub fn mismatch_reason(field_type: FieldType, value: &Value) -> Option<String> {
    use FieldType as T;
    let fits = match field_type {
        T::Tensor => value.is_array() || is_list(value, &|item| item.is_number() || item.is_array()),
        T::Str => matches!(value, Value::Text(_)),
        T::Int => matches!(value, Value::Int(_)),
        T::StrList => is_list(value, &serde_json::Value::is_string),
        T::IntList => is_list(value, &serde_json::Value::is_i64),
        T::TensorList => value.is_array() || is_list(value, &|_| true),
        T::TensorOrStrList => value.is_array() || is_list(value, &serde_json::Value::is_string),
        T::TensorOrStrSequence => is_list(value, &|_| true),
        T::Video => matches!(value, Value::Media { .. }),
    };
    (!fits).then(|| format!("the field is a {}; this is {}", field_type.python(), value.describe()))
}

fn is_list(value: &Value, item: &dyn Fn(&serde_json::Value) -> bool) -> bool {
    match value {
        Value::Json(serde_json::Value::Array(items)) => items.iter().all(item),
        Value::Json(serde_json::Value::Null) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{DatasetKind, PartFacts};

    fn sample(key: &str, parts: &[(&str, &str)]) -> DecodedSample {
        let parts = parts.iter().map(|(n, b)| ((*n).to_owned(), decode::decode_part(n, b.as_bytes())));
        DecodedSample { shard: "s.tar".into(), key: key.into(), parts: parts.collect() }
    }

    fn field(field: &str, expr: &str) -> FieldExpr {
        FieldExpr { field: field.into(), expr: expr.into() }
    }

    #[test]
    fn field_check_gives_a_value_or_an_error_for_every_sample() {
        let samples = [sample("a", &[("json", r#"{"c": "x"}"#), ("txt", "t")]), sample("b", &[("json", "{}")])];
        let checks = check(&[field("caption", "json[c],txt"), field("label", "cls")], &samples);
        assert_eq!(checks[0].results[0], Ok(Value::Text("x".into())));
        assert_eq!(checks[0].results[1].as_ref().unwrap_err().to_string(), "no part 'txt' in this sample");
        assert_eq!(checks[1].first_error().unwrap().part(), "cls");
    }

    #[test]
    fn last_of_duplicate_parts_is_used() {
        let s = sample("a", &[("txt", "first"), ("txt", "last")]);
        assert_eq!(check(&[field("text", "txt")], &[s])[0].results[0], Ok(Value::Text("last".into())));
    }

    #[test]
    fn field_expression_outside_the_grammar_has_a_warning() {
        let checks = check(&[field("text", "json[a"), field("text", "json[a], txt")], &[]);
        assert!(checks[0].warning.as_ref().unwrap().contains("is not of the form"));
        assert!(checks[1].warning.as_ref().unwrap().contains("' txt'"));
    }

    #[test]
    fn share_of_alternative_parts_is_a_range() {
        let mut facts = DatasetFacts::new("x".into(), DatasetKind::RawWebDataset);
        assert_eq!(share("jpg", &facts), None);
        facts.samples_seen = 1000;
        for (name, samples) in [("jpg", 600), ("png", 399), ("txt", 1000), ("json", 999)] {
            facts.parts.insert(name.into(), PartFacts { samples, bytes: 0 });
        }
        assert_eq!(share("txt", &facts).unwrap().text(), "100 %");
        assert_eq!(share("jpg,png", &facts).unwrap().text(), "60.0 % to 99.9 %");
        assert_eq!(share("json[a],json[b]", &facts).unwrap().text(), "99.9 %");
        assert_eq!(share("cls", &facts).unwrap().text(), "0 %");
    }

    #[test]
    fn value_of_another_type_than_its_field_is_reported() {
        let text = Value::Text("x".into());
        assert_eq!(mismatch_reason(FieldType::Str, &text), None);
        assert_eq!(mismatch_reason(FieldType::Tensor, &text).unwrap(), "the field is a torch.Tensor; this is text");
        let list = Value::Json(serde_json::json!(["a", 1]));
        assert!(mismatch_reason(FieldType::StrList, &list).is_some());
        assert!(mismatch_reason(FieldType::IntList, &Value::Json(serde_json::json!([1, 2]))).is_none());
    }
}
