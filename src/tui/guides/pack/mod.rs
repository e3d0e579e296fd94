//! The guide of pack: answers are checked against real documents while the form is open.
//!
//! [`workers`] find out what is [`known`]; [`guide`] brings it into the form.

mod guide;
mod pack_facts;
mod probe;
#[cfg(test)]
mod tests;
mod view;
mod workers;

pub use guide::PackGuide;
