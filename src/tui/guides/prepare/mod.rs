//! The guide of `prepare`: its steps draw the data, and a scan runs while the user answers.
//!
//! [`steps::PrepareSteps`] has the answers and is pure; [`guide::PrepareGuide`] connects it with the form and applies the results of
//! workers. All slow work has a worker: opening and scanning, checking a plan, reading samples, encoding pictures.

mod click_targets;
mod derive;
mod field_map;
#[cfg(test)]
mod fixture;
mod follow;
mod guide;
mod interrupted;
mod media;
mod questions;
mod recorded;
mod review;
mod run;
mod sample_type;
#[cfg(test)]
mod screens_tests;
mod source;
mod splits;
mod step;
mod steps;
mod workers;

pub use guide::PrepareGuide;
