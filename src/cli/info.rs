//! `info`: what a prepared data set holds.

use super::context::Context;
use super::end::Finished;
use crate::model::Failure;
use std::path::Path;

/// Prints what a prepared data set holds.
pub fn run(path: &Path, split_config: &str, dataset_config: &str, context: &Context) -> Finished {
    let _ = (path, split_config, dataset_config, context);
    Err(Failure::usage("info", "not yet").into())
}
