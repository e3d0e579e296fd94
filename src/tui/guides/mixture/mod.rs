//! The guide of `mix index`: token folders as a list with weights, and the effect of the mixture on each of them.

mod folders;
mod guide;
mod view;

pub use guide::MixtureGuide;

#[cfg(test)]
mod tests;
