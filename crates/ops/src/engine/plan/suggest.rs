//! Proposes answers based on the content of the data set, each with its reason in words.

use super::fields::DecodedSample;
use super::splits;
use gristmill_core::plan::{FieldExpr, SplitPattern};
use gristmill_core::sample_type::{self, FieldType, SampleType, CRUDE_CLASS};
use gristmill_core::{DatasetFacts, PreparePlan, ShardFacts, SplitPlan};
use gristmill_data::source::decode::{part_class, DecodedPart, PartClass, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A proposed sample type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// Class name; [`CRUDE_CLASS`] for crude.
    pub class: String,
    /// The reason in words: `jpg + txt in 100 % of samples`.
    pub why: String,
    /// Share of the samples in which all required fields resolve, from 0 to 1.
    pub share: f64,
    /// A field map for the class.
    pub fields: Vec<FieldExpr>,
}

/// Parts that are alternatives for one field, combined in one expression.
#[derive(Clone, Debug)]
struct Source {
    expr: String,
    words: String,
    share: f64,
    /// Each part with the share of its samples in which the expression resolves.
    parts: Vec<(String, f64)>,
}

/// Returns the share of the samples that have all of the sources.
fn share_of(facts: &DatasetFacts, sources: &[&Source]) -> f64 {
    let usable = |source: &Source, names: &[String]| {
        let there = source.parts.iter().filter(|(part, _)| names.contains(part));
        there.map(|(_, share)| *share).fold(0.0, f64::max)
    };
    let all = |names: &[String]| sources.iter().map(|source| usable(source, names)).fold(1.0, f64::min);
    facts.part_sets.mean(all).unwrap_or_else(|| sources.iter().map(|source| source.share).fold(1.0, f64::min))
}

/// Minimum share of the samples that must have a part for it to be proposed.
const MIN_PROPOSED_SHARE: f64 = 0.05;

/// Returns suitable sample types, best first; crude is always included. `samples` may be empty; otherwise, JSON keys are considered, too.
pub fn sample_types(facts: &DatasetFacts, samples: &[DecodedSample]) -> Vec<Suggestion> {
    let mut out: Vec<(f64, Suggestion)> = Vec::new();
    for class in sample_type::SAMPLE_TYPES.iter().filter(|c| !c.fields.is_empty()) {
        let sources: Vec<Option<Source>> =
            class.fields.iter().map(|f| source_for(f.name, f.field_type, facts, samples)).collect();
        let required: Option<Vec<&Source>> =
            class.fields.iter().zip(&sources).filter(|(f, _)| f.default.is_none()).map(|(_, s)| s.as_ref()).collect();
        let Some(required) = required else { continue };
        let share = share_of(facts, &required);
        let filled = sources.iter().flatten().count();
        if required.is_empty()
            || share < MIN_PROPOSED_SHARE
            || reuses_a_part(&sources)
            || !is_distinguished(class, &sources)
        {
            continue;
        }
        // The reason names only fields that exist in that share of the samples, without optional fields that are rarer.
        let is_required = |source: &Source| required.iter().any(|other| std::ptr::eq(*other, source));
        let mut with_optional = required.clone();
        let used: Vec<&Source> = sources
            .iter()
            .flatten()
            .filter(|source| {
                with_optional.push(source);
                let is_used = is_required(source) || share_of(facts, &with_optional) >= share - 1e-9;
                if !is_used {
                    with_optional.pop();
                }
                is_used
            })
            .collect();
        // A class with more filled fields describes the data better; each missing field reduces the score slightly.
        let score = share * (1.0 + 0.25 * filled as f64) - 0.01 * (class.fields.len() - filled) as f64;
        let fields = map_from(class, &sources);
        out.push((score, Suggestion { class: class.class.to_owned(), why: why(&used, share), share, fields }));
    }
    out.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut out: Vec<Suggestion> = out.into_iter().map(|(_, s)| s).collect();
    let why =
        "every sample as a plain map of its parts; your own code, a cooker, turns it into what you train on".to_owned();
    out.push(Suggestion { class: CRUDE_CLASS.to_owned(), why, share: 1.0, fields: Vec::new() });
    out
}

/// Returns a field map for a class of the library, as far as the parts allow. Fields without a source are omitted.
pub fn field_map_for(class: &str, facts: &DatasetFacts, samples: &[DecodedSample]) -> Vec<FieldExpr> {
    let Some(class) = super::classes::resolve(class).ok().and_then(|c| c.known) else { return Vec::new() };
    let sources: Vec<_> = class.fields.iter().map(|f| source_for(f.name, f.field_type, facts, samples)).collect();
    map_from(class, &sources)
}

fn map_from(class: &SampleType, sources: &[Option<Source>]) -> Vec<FieldExpr> {
    let filled = class.fields.iter().zip(sources);
    filled
        .filter_map(|(f, s)| s.as_ref().map(|s| FieldExpr { field: f.name.to_owned(), expr: s.expr.clone() }))
        .collect()
}

fn why(used: &[&Source], share: f64) -> String {
    let mut words: Vec<&str> = Vec::new();
    for source in used {
        if !words.contains(&source.words.as_str()) {
            words.push(&source.words);
        }
    }
    format!("{} in {} of samples", words.join(" + "), gristmill_core::text::percent(share))
}

/// Whether two fields have the same expression, so that at least one of them has the wrong meaning.
fn reuses_a_part(sources: &[Option<Source>]) -> bool {
    let exprs: Vec<&str> = sources.iter().flatten().map(|s| s.expr.as_str()).collect();
    exprs.iter().collect::<BTreeSet<_>>().len() < exprs.len()
}

/// Whether the sources are specific to the class. Classes that fit any picture with a text are only proposed if one of their own fields has
/// a source.
fn is_distinguished(class: &SampleType, sources: &[Option<Source>]) -> bool {
    let has = |name: &str| class.fields.iter().zip(sources).any(|(f, s)| f.name == name && s.is_some());
    match class.class {
        "ImageClassificationSample" => has("label") || has("label_name"),
        "MultiChoiceVQASample" => has("choices"),
        "VQASample" => {
            has("answers") || !class.fields.iter().zip(sources).any(|(f, s)| f.name == "context" && is_plain_text(s))
        }
        "OCRSample" => class.fields.iter().zip(sources).any(|(f, s)| f.default.is_some() && s.is_some()),
        "VQAOCRSample" => has("answers") && has("words_text"),
        _ => true,
    }
}

fn is_plain_text(source: &Option<Source>) -> bool {
    source.as_ref().is_some_and(|s| !s.expr.contains('['))
}

/// Returns JSON keys that may contain a field, most likely first.
fn keys_for(field: &str) -> &'static [&'static str] {
    match field {
        "caption" => &["caption", "text", "description", "alt", "title", "captions"],
        "text" => &["text", "content", "ocr", "transcription", "document", "body"],
        "context" => &["context", "question", "prompt", "instruction", "query"],
        "answers" => &["answers", "answer", "response", "completion"],
        "choices" => &["choices", "options", "candidates"],
        "correct_choice_idx" => &["correct_choice_idx", "correct_choice", "answer_idx", "label"],
        "answer_weights" => &["answer_weights", "weights"],
        "label" => &["label", "class", "class_id", "category_id", "target"],
        "label_name" => &["label_name", "class_name", "category"],
        "texts" => &["texts", "text_list"],
        "similarity_matrix" => &["similarity_matrix"],
        "matched_text_indices" => &["matched_text_indices"],
        "sequence" => &["sequence", "interleaved"],
        "words_text" => &["words_text", "words"],
        "words_boxes" => &["words_boxes", "word_boxes", "boxes"],
        "lines_text" => &["lines_text", "lines"],
        "lines_boxes" => &["lines_boxes", "line_boxes"],
        "block_text" => &["block_text", "blocks"],
        "block_boxes" => &["block_boxes"],
        "block_classes" => &["block_classes"],
        "chars_text" => &["chars_text"],
        "chars_boxes" => &["chars_boxes"],
        _ => &[],
    }
}

fn source_for(field: &str, field_type: FieldType, facts: &DatasetFacts, samples: &[DecodedSample]) -> Option<Source> {
    let named = json_source(field, field_type, facts, samples);
    match (field, field_type) {
        ("image", _) => parts_source(facts, &|part| part_class(part) == PartClass::Image && !is_extra_picture(part)),
        ("video", FieldType::Video) => parts_source(facts, &|part| part_class(part) == PartClass::Media),
        ("label", _) => parts_source(facts, &|part| part_class(part) == PartClass::Int).or(named),
        ("caption" | "text" | "context", FieldType::Str) => {
            let text = parts_source(facts, &|part| is_text_for(field, part));
            match (named, text) {
                (Some(json), Some(text)) if text.share < 1.0 => {
                    let both = Source {
                        expr: format!("{},{}", text.expr, json.expr),
                        words: format!("{} or {}", text.words, json.words),
                        share: text.share.max(json.share),
                        parts: [text.parts, json.parts].concat(),
                    };
                    Some(Source { share: share_of(facts, &[&both]), ..both })
                }
                (json, text) => text.or(json),
            }
        }
        _ => named.or_else(|| own_part(field, field_type, facts)),
    }
}

/// Whether a part is a mask or depth map next to the picture: `mask.png`, `depth.png`.
fn is_extra_picture(part: &str) -> bool {
    let first = part.split('.').next().unwrap_or("");
    ["mask", "seg", "depth", "thumb", "label"].iter().any(|extra| first.starts_with(extra))
}

/// Whether a part is a text for a field: `txt` for any text field; `question.txt` only for the field `question`.
fn is_text_for(field: &str, part: &str) -> bool {
    let stem = part.rsplit_once('.').map(|(stem, _)| stem);
    part_class(part) == PartClass::Text && stem.is_none_or(|stem| keys_for(field).contains(&stem) || stem == field)
}

/// Returns a part with the name of the field: `answers.json`, `words_boxes.npy`.
fn own_part(field: &str, field_type: FieldType, facts: &DatasetFacts) -> Option<Source> {
    let wanted = |part: &str| match field_type {
        FieldType::Tensor | FieldType::TensorList => matches!(part_class(part), PartClass::Array | PartClass::Json),
        _ => part_class(part) == PartClass::Json,
    };
    parts_source(facts, &|part| part.split_once('.').is_some_and(|(stem, _)| stem == field) && wanted(part))
}

/// Returns all parts of a kind as alternatives, the most frequent first.
fn parts_source(facts: &DatasetFacts, wanted: &dyn Fn(&str) -> bool) -> Option<Source> {
    let mut parts: Vec<(&str, f64)> = facts
        .parts
        .keys()
        .filter(|part| wanted(part) && !part.contains([',', '[', ']']) && !part.is_empty())
        .map(|part| (part.as_str(), facts.part_share(part)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    // Parts of the same sample are not alternatives, so only the most frequent one is used.
    let mut total = 0.0;
    parts.retain(|(_, share)| {
        let fits = total + share <= 1.0 + 1e-9;
        total += if fits { *share } else { 0.0 };
        fits
    });
    if parts.is_empty() {
        return None;
    }
    let names: Vec<&str> = parts.iter().map(|(name, _)| *name).collect();
    let usable = names.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
    Some(Source { expr: names.join(","), words: names.join(" or "), share: total, parts: usable })
}

/// Returns a location in a JSON part that exists in the given samples and has a suitable value: the most likely key, at the top level, one
/// level below it (`[caption][long]`), or inside one map (`[meta][caption]`). Of several locations, returns the one in most samples.
fn json_source(field: &str, field_type: FieldType, facts: &DatasetFacts, samples: &[DecodedSample]) -> Option<Source> {
    let parts =
        facts.parts.keys().filter(|name| part_class(name) == PartClass::Json && !name.contains([',', '[', ']']));
    for part in parts {
        for key in keys_for(field) {
            // Paths with their number of samples, in the order of discovery, so that paths with equal shares keep the order of the
            // document.
            let mut ways: Vec<(String, usize)> = Vec::new();
            for map in samples.iter().filter_map(|sample| as_map(sample.part(part))) {
                for way in paths_to(map, key, field_type) {
                    match ways.iter_mut().find(|(known, _)| *known == way) {
                        Some((_, n)) => *n += 1,
                        None => ways.push((way, 1)),
                    }
                }
            }
            let best = ways.iter().rev().max_by_key(|(way, n)| (*n, std::cmp::Reverse(way.matches('[').count())));
            if let Some((way, found)) = best {
                let usable = *found as f64 / samples.len() as f64;
                let (expr, share) = (format!("{part}{way}"), facts.part_share(part) * usable);
                return Some(Source { expr, words: part.clone(), share, parts: vec![(part.clone(), usable)] });
            }
        }
    }
    None
}

type JsonMap = serde_json::Map<String, serde_json::Value>;

fn as_map(part: Option<&DecodedPart>) -> Option<&JsonMap> {
    match part {
        Some(Ok(Value::Json(serde_json::Value::Object(map)))) => Some(map),
        _ => None,
    }
}

/// Returns the paths from a map to a suitable value under `key`, in the field-map grammar.
fn paths_to(map: &JsonMap, key: &str, field_type: FieldType) -> Vec<String> {
    let mut ways = Vec::new();
    let sayable = |step: &str| !step.is_empty() && !step.contains(['[', ']', ',']);
    match map.get(key) {
        Some(serde_json::Value::Object(inner)) => {
            let suitable = inner.iter().filter(|(step, value)| sayable(step) && is_of_type(value, field_type));
            ways.extend(suitable.map(|(step, _)| format!("[{key}][{step}]")));
        }
        Some(value) if is_of_type(value, field_type) => ways.push(format!("[{key}]")),
        _ => {}
    }
    for (outer, value) in map.iter().filter(|(outer, _)| sayable(outer)) {
        if value.get(key).is_some_and(|value| is_of_type(value, field_type)) {
            ways.push(format!("[{outer}][{key}]"));
        }
    }
    ways
}

fn is_of_type(value: &serde_json::Value, field_type: FieldType) -> bool {
    if value.is_null() {
        return false;
    }
    let value = match value {
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Number(n) if n.is_i64() => Value::Int(n.as_i64().unwrap_or(0)),
        other => Value::Json(other.clone()),
    };
    super::fields::mismatch_reason(field_type, &value).is_none()
}

/// A proposed division of shards, with the reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitSuggestion {
    /// The proposed answer.
    pub splits: SplitPlan,
    /// The reason in words.
    pub why: String,
}

/// Returns proposed divisions of the shards, best first: patterns if the names indicate splits, and a ratio that leaves no split empty.
pub fn splits(facts: &DatasetFacts) -> Vec<SplitSuggestion> {
    let mut out = Vec::new();
    if let Some((patterns, why)) = patterns_from_names(&facts.shards) {
        out.push(SplitSuggestion { splits: SplitPlan::Patterns(patterns), why });
    }
    let usable = facts.shards.iter().filter(|s| !s.is_tgz && !s.unusable).count();
    let (ratio, why) = match usable {
        0..=2 => ("1,0,0".to_owned(), "too few shards to hold any back".to_owned()),
        3..=9 => {
            let fix = splits::fixing_ratio(&[8.0, 1.0, 1.0], usable).unwrap_or_else(|| "1,1,1".into());
            (fix, format!("{usable} shards: one each for val and test"))
        }
        _ => ("8,1,1".to_owned(), "eight parts to train on, one each for val and test".to_owned()),
    };
    out.push(SplitSuggestion { splits: SplitPlan::Ratio(ratio), why });
    out
}

const FIELD_NAMES: [(&str, &[&str]); 3] = [
    ("train", &["train", "training", "trn"]),
    ("val", &["val", "valid", "validation", "dev", "eval"]),
    ("test", &["test", "testing", "tst"]),
];

/// Returns patterns from folders or prefixes with the names of splits; `None` unless at least two splits are found.
fn patterns_from_names(shards: &[ShardFacts]) -> Option<(Vec<SplitPattern>, String)> {
    let mut prefixes: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for shard in shards {
        if let Some((split, prefix)) = split_of(&shard.name) {
            prefixes.entry(split).or_default().insert(prefix);
        }
    }
    if prefixes.len() < 2 || prefixes.values().any(|p| p.len() > 20) {
        return None;
    }
    let patterns: Vec<SplitPattern> = prefixes
        .iter()
        .map(|(&split, prefixes)| SplitPattern {
            name: FIELD_NAMES[split].0.to_owned(),
            pattern: one_pattern(prefixes),
        })
        .collect();
    let plan = PreparePlan { splits: SplitPlan::Patterns(patterns.clone()), ..PreparePlan::new("") };
    let resolved = splits::resolve(&plan, shards);
    if resolved.is_refused() {
        return None;
    }
    let names: Vec<String> = prefixes.values().flatten().take(3).map(|p| format!("{p}…")).collect();
    let left = match resolved.unassigned.len() {
        0 => String::new(),
        n => format!("; {} in none of them", gristmill_core::text::count(n as u64, "shard")),
    };
    Some((patterns, format!("shards are named {}{left}", names.join(", "))))
}

/// Returns the split that a name indicates, and the prefix of the name up to that word and its separator.
fn split_of(name: &str) -> Option<(usize, String)> {
    let mut start = 0;
    let bytes = name.as_bytes();
    while start < bytes.len() {
        let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_alphabetic()).unwrap_or(bytes.len());
        let word = name.get(start..end)?.to_ascii_lowercase();
        if let Some(split) = FIELD_NAMES.iter().position(|(_, words)| words.contains(&word.as_str())) {
            // The separator belongs to the prefix, so that `val-` does not match `value-0.tar`.
            let with_end = if bytes.get(end).is_some_and(|b| b"/-_".contains(b)) { end + 1 } else { end };
            return Some((split, name.get(..with_end)?.to_owned()));
        }
        // The next word begins after the next character that is not a letter.
        start = (end.max(start)..bytes.len()).find(|&i| !bytes[i].is_ascii_alphabetic()).map_or(bytes.len(), |i| i + 1);
        while start < bytes.len() && !name.is_char_boundary(start) {
            start += 1;
        }
    }
    None
}

fn one_pattern(prefixes: &BTreeSet<String>) -> String {
    let escaped: Vec<String> = prefixes.iter().map(|p| regex::escape(p).replace("\\-", "-")).collect();
    match escaped.as_slice() {
        [one] => format!("{one}.*"),
        several => format!("(?:{}).*", several.join("|")),
    }
}

#[cfg(test)]
#[path = "suggest_tests.rs"]
mod tests;
