//! The guide of dedup: estimates from the data how much each minimum length removes, while the form is open.
//!
//! [`workers`] compute the [facts](estimates), and [`guide`] shows them in the form.

mod estimates;
mod guide;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub use guide::DedupGuide;
pub(in crate::tui) use view::passage_lines;
