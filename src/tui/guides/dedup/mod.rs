//! The guide of dedup: what each minimum length removes is estimated from the data while the form is open.
//!
//! [`workers`] find out what is [`known`]; [`guide`] brings it into the form.

mod estimates;
mod guide;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub use guide::DedupGuide;
pub(in crate::tui) use view::passage_lines;
