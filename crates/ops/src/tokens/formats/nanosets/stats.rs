//! Writes the log folder of datatrove: the finished ranks and their counts (docs/formats/nanosets.md §10).

use super::counts::{Spread, TaskCounts};
use super::files::{completion, log_folder, spool, to_json, TokenFolder};
use super::logs::Logs;
use crate::tokens::format::{FinishContext, SideFile};
use crate::tokens::spool::each_chunk;
use gristmill_core::Outcome;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Datatrove's name of the step that reads text files.
const READER: &str = "📖 - READER: 🐿 Jsonl";
/// Datatrove's name of the step that reads data sets.
const DATASET_READER: &str = "📖 - READER: 🤗 HuggingFace";
/// Datatrove's name of the step that writes tokens.
const WRITER: &str = "🔢 - TOKENIZER: ✍️ Writer";

/// Returns the files of the log folder: the counts and the completion file of each rank, and the sum of all counts.
pub(super) fn side_files(
    output: &TokenFolder,
    tasks: &BTreeMap<u32, TaskCounts>,
    finishing: &FinishContext<'_>,
) -> Outcome<Vec<SideFile>> {
    let Some(folder) = log_folder(&output.plan) else { return Ok(Vec::new()) };
    let logs = Logs::new(finishing.context, output);
    let mut texts = Vec::new();
    let mut sum = StatisticsSum::default();
    let (took, is_dealt) = (finishing.context.elapsed(), output.row_filter.is_some());
    for rank in &output.ranks {
        let counts = tasks.get(rank).copied().unwrap_or_default();
        let tokens = tokens_of(finishing, *rank)?;
        let stats = steps(&counts, &tokens, took.as_secs_f64(), is_dealt);
        let target = folder.join("stats").join(format!("{rank:05}.json"));
        texts.push(SideFile { target, bytes: to_json(&stats)?, completes: false });
        texts.extend(logs.done(*rank, tokens.count, tokens.total));
        sum.add(&counts, &tokens);
    }
    let all = steps(&sum.counts, &sum.tokens, took.as_secs_f64(), is_dealt);
    texts.push(SideFile { target: folder.join("stats.json"), bytes: to_json(&all)?, completes: false });
    // A completion file marks a rank as finished, so the completion files are published last.
    for rank in &output.ranks {
        texts.push(SideFile { target: completion(&folder, *rank), bytes: Vec::new(), completes: true });
    }
    Ok(texts)
}

#[derive(Default)]
struct StatisticsSum {
    counts: TaskCounts,
    tokens: Spread,
}

impl StatisticsSum {
    fn add(&mut self, counts: &TaskCounts, tokens: &Spread) {
        self.counts.files += counts.files;
        self.counts.chars = self.counts.chars.with(&counts.chars);
        self.counts.documents = self.counts.documents.with(&counts.documents);
        self.tokens = self.tokens.with(tokens);
    }
}

/// Returns statistics of the document lengths of a task, in tokens.
fn tokens_of(finishing: &FinishContext<'_>, rank: u32) -> Outcome<Spread> {
    let index = spool(rank, "index");
    let (mut spread, mut last, mut left) = (Spread::default(), 0, Vec::new());
    each_chunk(&finishing.spool(&index), 0, finishing.bytes(&index), &mut |bytes| {
        left.extend_from_slice(bytes);
        let (whole, rest) = left.as_chunks::<8>();
        for end in whole {
            let end = u64::from_le_bytes(*end);
            spread.add(end.saturating_sub(std::mem::replace(&mut last, end)));
        }
        left = rest.to_vec();
        Ok(())
    })?;
    Ok(spread)
}

/// Returns the counts of both steps. The reader of data sets, which assigns rows, does not count files.
fn steps(counts: &TaskCounts, tokens: &Spread, seconds: f64, is_dealt: bool) -> Value {
    let mut reader = Map::new();
    if is_dealt && counts.chars.count > 0 {
        reader.insert("doc_len".into(), counts.chars.to_value(None));
    }
    if !is_dealt && counts.files > 0 {
        reader.insert("input_files".into(), json!(counts.files));
        if counts.chars.count > 0 {
            reader.insert("doc_len".into(), counts.chars.to_value(None));
        }
        reader.insert("documents".into(), counts.documents.to_value(Some("input_file")));
    }
    let mut writer = Map::new();
    if tokens.count > 0 {
        writer.insert("tokens".into(), tokens.to_value(None));
    }
    let time = |seconds: f64| json!({"total": seconds, "n": 1, "mean": seconds, "min": seconds, "max": seconds});
    json!([
        {"name": if is_dealt { DATASET_READER } else { READER }, "time_stats": time(0.0), "stats": reader},
        {"name": WRITER, "time_stats": time(seconds), "stats": writer},
    ])
}

impl Spread {
    fn with(&self, other: &Self) -> Self {
        let least = match (self.count, other.count) {
            (0, _) => other.least,
            (_, 0) => self.least,
            _ => self.least.min(other.least),
        };
        Self {
            count: self.count + other.count,
            total: self.total + other.total,
            least,
            most: self.most.max(other.most),
            squares: self.squares + other.squares,
        }
    }

    /// Formats statistics as datatrove does: as a single number if that is sufficient.
    fn to_value(self, unit: Option<&str>) -> Value {
        if self.total == 0 {
            return json!(0);
        }
        let mut table = Map::new();
        table.insert("total".into(), json!(self.total));
        if self.count > 1 && self.count != self.total {
            table.insert("n".into(), json!(self.count));
        }
        let (count, total) = (self.count as f64, self.total as f64);
        let mean = total / count;
        if self.least != self.most || mean != 1.0 {
            table.insert("mean".into(), json!(mean));
        }
        if self.least != self.most {
            let variance = ((self.squares - total * mean) / (count - 1.0)).max(0.0);
            table.insert("variance".into(), json!(variance));
            table.insert("std_dev".into(), json!(variance.sqrt()));
            table.insert("min".into(), json!(self.least));
            table.insert("max".into(), json!(self.most));
        }
        if let Some(unit) = unit {
            table.insert("unit".into(), json!(unit));
        }
        if table.len() == 1 {
            json!(self.total)
        } else {
            Value::Object(table)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_statistics_match_datatrove() {
        let of = |values: &[u64]| {
            let mut spread = Spread::default();
            values.iter().for_each(|value| spread.add(*value));
            spread
        };
        assert_eq!(of(&[]).to_value(None), json!(0));
        assert_eq!(of(&[1, 1, 1]).to_value(None), json!(3));
        assert_eq!(of(&[0]).to_value(Some("input_file")), json!(0));
        assert_eq!(of(&[5]).to_value(None), json!({"total": 5, "mean": 5.0}));
        let value = of(&[2, 4]).with(&of(&[9])).to_value(None);
        assert_eq!(
            (value["total"].as_u64(), value["n"].as_u64(), value["mean"].as_f64(), value["variance"].as_f64()),
            (Some(15), Some(3), Some(5.0), Some(13.0))
        );
        assert_eq!((value["min"].as_u64(), value["max"].as_u64()), (Some(2), Some(9)));
    }
}
