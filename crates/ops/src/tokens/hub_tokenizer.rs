//! Loads tokenizers by the names of models on the hub.

use gristmill_core::{Outcome, PackPlan};
use gristmill_storage::files;
use gristmill_tokenizer::{path_of, Join2, Tokenizer};
use std::path::Path;

/// Loads the tokenizer of a plan. Downloads the tokenizer of a model on the hub into the cache first.
///
/// # Errors
/// The errors of [`Tokenizer::load_with_special`]; the hub refuses the request or cannot be reached.
pub(crate) fn load_tokenizer(plan: &PackPlan, together: Join2<'_>) -> Outcome<Tokenizer> {
    if path_of(&plan.tokenizer).is_err() && !is_local_name(&plan.tokenizer) {
        download(&plan.tokenizer)?;
    }
    Tokenizer::load_with_special(&plan.tokenizer, &plan.special_tokens, together)
}

/// Whether a name is a path: it has the suffix of a file, or its folder exists.
fn is_local_name(name: &str) -> bool {
    let path = Path::new(name);
    let has_folder = path.parent().is_some_and(|folder| folder.as_os_str().is_empty() || files::is_dir(folder));
    has_folder || path.extension().is_some_and(|end| end == "json" || end == "model")
}

#[cfg(not(feature = "remote"))]
fn download(_: &str) -> Outcome<()> {
    Ok(())
}

#[cfg(feature = "remote")]
fn download(name: &str) -> Outcome<()> {
    use gristmill_core::{Cancel, Failure, Progress, Subject};
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::remote::{Hub, HubSettings, RepositoryFile, RepositoryUrl, Transfer};
    /// Files of a model that belong to its tokenizer. The tokenizer is loaded from the first; Python tools also need the others.
    const FILES: [&str; 3] = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"];
    let settings = HubSettings::from_env()?;
    let Some(url) = RepositoryUrl::model(name).filter(|_| !settings.is_offline()) else { return Ok(()) };
    let hub = Hub::open(settings, &RealFs)?;
    let (progress, cancel) = (Progress::default(), Cancel::default());
    let revision = hub.revision(&url, &cancel)?;
    let is_wanted = |file: &&RepositoryFile| FILES.contains(&file.path.as_str());
    let files: Vec<RepositoryFile> = revision.files.iter().filter(is_wanted).cloned().collect();
    if files.iter().all(|file| file.path != "tokenizer.json") {
        return Err(Failure::data("reading the tokenizer", "the model has no tokenizer.json")
            .on(Subject::path(name))
            .with_hint("convert its tokenizer with the library that it is for, and give the tokenizer.json"));
    }
    hub.fetch(&url, &revision.commit, &files, Transfer { progress: &progress, cancel: &cancel })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokenizer_names_that_are_files_or_in_existing_folders_are_paths() {
        assert!(is_local_name("gpt2") && is_local_name("owner/tokenizer.json") && is_local_name("src/tokenizer"));
        assert!(!is_local_name("owner/model-7b.v2"));
    }
}
