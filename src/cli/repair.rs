//! `repair`: repairs what a program is known to have written wrongly. Each format defines what that is.

use super::context::Context;
use super::exit::Finished;
use super::{modalities, paths, tokens};
use gristmill_core::Failure;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::engine::modalities::check::is_raw_index;
use std::path::Path;

/// Repairs the file at a path, or names the command that corrects it.
pub fn run(path: &Path, context: &Context) -> Finished {
    let path = paths::local(path)?;
    let kind = kind_of(Path::new(&path))?;
    let refused = kind.info().repair.map_err(|refusal| refusal.on("repairing", &path));
    match kind.tokens() {
        Some(tokens) => tokens::repair(&path, tokens, context),
        None if is_raw_index(Path::new(&path)) => modalities::check::repair(&path),
        None => {
            Err(refused.err().unwrap_or_else(|| Failure::internal("repairing", "no repair is known for it")).into())
        }
    }
}
