//! The guide of pack: checks answers with real documents while the form is open.
//!
//! [`workers`] compute the [facts](pack_facts), and [`guide`] shows them in the form.

mod guide;
mod pack_facts;
mod probe;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub use guide::PackGuide;
