//! Division by ratio: whole shards, in order, to train, val and test.

use super::Candidates;
use gristmill_core::text::count;
use gristmill_core::{PreparePlan, Problem, ProblemKind, ShardId, Subject};
use gristmill_data::formats::energon::ratio::{allot, parse, Allotment, PARTS};

pub(super) fn divide(
    plan: &PreparePlan,
    text: &str,
    candidates: &Candidates<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Vec<ShardId>)> {
    let ratio = match checked(text) {
        Ok(ratio) => ratio,
        Err(problem) => {
            problems.push(problem);
            return Vec::new();
        }
    };
    let total = candidates.eligible.len();
    let allotment = allot(&ratio, total, plan.compat);
    note_rounding(text, &allotment, plan.compat, problems);
    note_empty(text, &ratio, &allotment, total, problems);
    let mut rest = candidates.eligible.as_slice();
    let mut splits = Vec::with_capacity(PARTS.len());
    for (part, &shards) in PARTS.iter().zip(&allotment.counts) {
        let (here, after) = rest.split_at(shards.min(rest.len()));
        splits.push(((*part).to_owned(), here.to_vec()));
        rest = after;
    }
    splits
}

/// Returns the three numbers, or a refusal with the reason why they are invalid.
pub(super) fn checked(text: &str) -> Result<[f64; 3], Problem> {
    parse(text).map_err(|why| {
        Problem::refusal(ProblemKind::BadRatio, Subject::field(text), why)
            .with_hint("for example --split-ratio 8,1,1: eight parts train, one val, one test")
    })
}

fn note_rounding(text: &str, allotment: &Allotment, compat: bool, problems: &mut Vec<Problem>) {
    let Some(away) = allotment.rounded_away else { return };
    let shards = count(away.shards as u64, "shard");
    let problem = match away.given_to {
        Some(part) => Problem::note(
            ProblemKind::RoundedAway,
            Subject::field(text),
            format!("rounding leaves the last {shards} out; put into {}", PARTS.get(part).unwrap_or(&"test")),
        ),
        None => Problem::note(
            if compat { ProblemKind::CompatLoss } else { ProblemKind::RoundedAway },
            Subject::field(text),
            format!("rounding leaves the last {shards} in no split, as the reference program does"),
        )
        .with_hint("leave --compat out to keep them"),
    };
    problems.push(problem);
}

fn note_empty(text: &str, ratio: &[f64; 3], allotment: &Allotment, total: usize, problems: &mut Vec<Problem>) {
    let wanted = || PARTS.iter().zip(ratio).zip(&allotment.counts);
    let empty: Vec<&str> = wanted().filter(|((_, r), n)| **r > 0.0 && **n == 0).map(|((name, _), _)| *name).collect();
    if empty.is_empty() || total == 0 {
        return;
    }
    let message = format!("{} over {} leaves {} empty", text.trim(), count(total as u64, "shard"), empty.join(" and "));
    let problem = Problem::note(ProblemKind::EmptySplit, Subject::field(empty[0]), message);
    problems.push(match fixing_ratio(ratio, total) {
        Some(fix) => problem.with_hint(format!("--split-ratio {fix} gives each of them at least one shard")),
        None => {
            let parts = ratio.iter().filter(|r| **r > 0.0).count();
            let fewer = if total == 1 { "1,0,0" } else { "1,1,0" };
            problem.with_hint(format!(
                "{parts} splits need at least {parts} shards; --split-ratio {fewer} uses what is there"
            ))
        }
    });
}

/// Returns a ratio near `ratio` with which no requested split of `total` shards is empty; `None` if there are too few shards.
pub fn fixing_ratio(ratio: &[f64; 3], total: usize) -> Option<String> {
    let sum: f64 = ratio.iter().sum();
    let wanted = ratio.iter().filter(|r| **r > 0.0).count();
    if total < wanted || wanted == 0 || !sum.is_finite() {
        return None;
    }
    let mut counts = [0usize; 3];
    for (slot, part) in counts.iter_mut().zip(ratio) {
        *slot = if *part > 0.0 { ((part / sum * total as f64).round() as usize).max(1) } else { 0 };
    }
    while counts.iter().sum::<usize>() != total {
        let too_many = counts.iter().sum::<usize>() > total;
        let largest = (0..3).max_by_key(|&i| (counts[i], 3 - i))?;
        if too_many {
            counts[largest] -= 1;
        } else {
            counts[largest] += 1;
        }
    }
    let as_ratio = counts.map(|n| n as f64);
    let works = |r: &[f64; 3]| {
        let got = allot(r, total, false).counts;
        got.iter().zip(ratio).all(|(n, r)| *r <= 0.0 || *n > 0)
    };
    works(&as_ratio).then(|| counts.map(|n| n.to_string()).join(","))
}
