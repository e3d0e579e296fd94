//! Editing of splits and excludes: pure state without threads; nothing is written. `job::splits` writes.
//!
//! The text is authoritative: every [`Edit`] changes the text of `split.yaml` (see `formats::energon::split_edit`), and the views are
//! derived from the text again.

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
