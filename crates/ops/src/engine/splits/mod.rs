//! Editing of splits and excludes in memory, without threads. Files are written by `job::splits`.
//!
//! The text is authoritative: every [`Edit`] changes the text of `split.yaml` (see `formats::energon::split_edit`), and the views are then
//! derived from the new text.

mod apply;
mod balance;
mod check;
mod derive;
mod diff;
mod edit;
mod editor;
mod matching;
mod problems;
mod shards;
mod view;
mod words;

pub use balance::{balance, parse_ratios, Balance, BalanceMove, BalanceShare};
pub use check::{check_items, CheckedItems};
pub use diff::{diff_of, DiffKind, DiffLine};
pub use edit::{Edit, ExcludeItem, Meaning};
pub use editor::{Draft, RejectedEdit, SplitEditor};
pub use matching::matching;
pub use view::{EditResult, ExcludeTotals, ExcludeView, Matches, Names, ShardView, SplitSummary, SplitView};

#[cfg(test)]
mod tests;
