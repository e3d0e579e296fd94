//! Reads the facts of packed tokens from the files next to them: the tokenizer, the type of an id, the token that ends a document.

use super::vocabulary::Vocabulary;
use crate::engine::plan;
use gristmill_core::pack::SpecialToken;
use gristmill_core::PackPlan;
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use gristmill_tokenizer::possible_names;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limit of the size of a plan, in bytes.
const MAX_PLAN: u64 = 1 << 20;

/// The information found next to packed tokens.
#[derive(Default)]
pub(crate) struct CompanionInfo {
    root: PathBuf,
    /// The names as written in metadata, in the order in which they were found.
    tokenizers: Vec<String>,
    plan: Option<Box<PackPlan>>,
    loaded: std::cell::OnceCell<Result<Arc<Vocabulary>, String>>,
}

/// Searches for the plan of the run that made the tokens: next to the tokens, or next to the folder of several formats.
pub(crate) fn find(root: &Path) -> CompanionInfo {
    let mut named = CompanionInfo { root: root.to_owned(), ..CompanionInfo::default() };
    // A file of tokens is in the folder of its format, or in the folder of its run.
    let depth = if files::is_dir(root) { 2 } else { 3 };
    let outputs = std::iter::successors(Some(root), |path| path.parent()).take(depth);
    named.plan = outputs.map(RunFolder::for_output).find_map(|own| read_plan(&own.plan()));
    if let Some(plan) = &named.plan {
        named.tokenizers.push(plan.tokenizer.clone());
        // Adds the name as the user gave it, too: it may still be valid if the files were moved.
        named.tokenizers.extend(plan.tokenizer_name.clone());
    }
    named
}

fn read_plan(path: &Path) -> Option<Box<PackPlan>> {
    let bytes = read_whole(path, MAX_PLAN).ok().flatten()?;
    plan::file::read_plan_of(std::str::from_utf8(&bytes).ok()?, "pack").map(Box::new)
}

impl CompanionInfo {
    /// Adds a tokenizer named in metadata.
    pub(crate) fn add(&mut self, tokenizer: &str) {
        if !tokenizer.is_empty() && !self.tokenizers.iter().any(|known| known == tokenizer) && self.tokenizers.len() < 8
        {
            self.tokenizers.push(tokenizer.to_owned());
        }
    }

    /// Returns the plan of the run that made the tokens.
    pub(crate) fn plan(&self) -> Option<&PackPlan> {
        self.plan.as_deref()
    }

    fn load(&self) -> &Result<Arc<Vocabulary>, String> {
        self.loaded.get_or_init(|| {
            let mut first: Option<String> = None;
            for name in &self.tokenizers {
                for path in possible_names(&self.root, name) {
                    match Vocabulary::load(&path) {
                        Ok(vocabulary) => return Ok(Arc::new(vocabulary)),
                        Err(failure) => first = first.or(Some(format!("{name}: {}", failure.why))),
                    }
                }
            }
            Err(first.unwrap_or_else(|| "no file next to them names it".to_owned()))
        })
    }

    /// Returns the vocabulary, or the reason why there is none.
    pub(super) fn vocabulary(&self) -> (Option<Arc<Vocabulary>>, Option<String>) {
        match self.load() {
            Ok(vocabulary) => (Some(Arc::clone(vocabulary)), None),
            Err(why) => (None, Some(why.clone())),
        }
    }

    /// Returns the token that ends a document, if the plan names one.
    pub(super) fn end_id(&self) -> Option<u32> {
        match self.plan.as_ref()?.end.as_ref()? {
            SpecialToken::Id(id) => Some(*id),
            SpecialToken::Text(text) => self.load().as_ref().ok()?.id_of(text),
        }
    }
}
