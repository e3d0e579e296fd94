//! The browser on a data set of ten million samples that exist nowhere.

mod fake;
mod screens;
mod steps;
mod tokens;
