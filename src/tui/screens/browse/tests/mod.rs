//! The browser on a data set of ten million samples that exist nowhere.

mod fake;
mod reader;
mod screens;
mod steps;
mod tokens;
