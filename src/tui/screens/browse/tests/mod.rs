//! Tests of the browser on a data set of ten million generated samples.

mod fake;
mod reader;
mod screens;
mod steps;
mod tokens;
