//! The guide of `mix index`: token folders as a list with weights, and what each mixture does to them.

mod folders;
mod guide;
mod view;

pub use guide::MixtureGuide;

#[cfg(test)]
mod tests;
