//! The guide of `prepare`: its steps draw the data, and a scan runs while the user answers.
//!
//! [`steps::PrepareSteps`] has the answers and is pure; [`guide::PrepareGuide`] connects them with the form and brings results of the workers
//! back. Nothing slow happens there: opening and scanning, checking a plan, reading samples and drawing pictures have a worker each.

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
