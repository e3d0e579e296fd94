//! `splits balance`: moves shards until the splits have given ratios.

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::change::PendingChange;
use super::{is_split, no_split, open};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{count, display_safe, grouped, percent};
use gristmill_core::Outcome;
use gristmill_ops::engine::splits::{balance, parse_ratios, Balance, SplitEditor};
use serde_json::{json, Value};
use std::path::Path;

/// Maximum number of moves in the printed list.
const MAX_LISTED_MOVES: usize = 20;

/// Suggests moves and applies them.
pub(super) fn run(path: &Path, ratios: &str, new: bool, context: &Context) -> CommandResult {
    balancing(open(path)?, ratios, new, context)?.finish(context)
}

/// Prints the moves, and applies them without writing.
pub(super) fn balancing(editor: SplitEditor, ratios: &str, new: bool, context: &Context) -> Outcome<PendingChange> {
    let ratios = parse_ratios(&editor, ratios)?;
    if let Some((name, _)) = ratios.iter().find(|(name, _)| !new && !is_split(&editor, name)) {
        return Err(no_split(&editor, name));
    }
    let proposal = balance(&editor, &ratios);
    for line in lines(&proposal) {
        context.printer.line(line);
    }
    let mut change = PendingChange::new(editor);
    change.result.insert("balance".into(), value(&proposal));
    if let Some(edit) = proposal.edit() {
        change.apply(edit)?;
    }
    Ok(change)
}

fn lines(proposal: &Balance) -> Vec<String> {
    let columns = [
        ("split", Align::Left),
        ("wanted", Align::Right),
        ("now", Align::Right),
        ("then", Align::Right),
        ("samples", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for share in &proposal.shares {
        table.row([
            display_safe(&share.name).into_owned(),
            percent(share.target_part),
            percent(share.before),
            percent(share.after),
            grouped(share.samples_after),
        ]);
    }
    let mut lines = table.lines();
    lines.push(format!("{} to move.", count(proposal.moves.len() as u64, "shard")));
    for one in proposal.moves.iter().take(MAX_LISTED_MOVES) {
        let samples = count(one.samples, "sample");
        lines.push(format!(
            "  {}: {} -> {} ({samples})",
            display_safe(&one.shard),
            display_safe(&one.from),
            display_safe(&one.to)
        ));
    }
    if proposal.moves.len() > MAX_LISTED_MOVES {
        lines.push(format!("  and {} more", grouped((proposal.moves.len() - MAX_LISTED_MOVES) as u64)));
    }
    lines
}

fn value(proposal: &Balance) -> Value {
    let moves = proposal
        .moves
        .iter()
        .map(|one| json!({ "shard": *one.shard, "samples": one.samples, "from": *one.from, "to": *one.to }));
    let shares = proposal.shares.iter().map(|share| {
        json!({
            "split": *share.name, "wanted": share.target_part, "before": share.before, "after": share.after,
            "samples_before": share.samples_before, "samples_after": share.samples_after, "is_new": share.is_new,
        })
    });
    json!({ "moves": moves.collect::<Vec<_>>(), "shares": shares.collect::<Vec<_>>() })
}
