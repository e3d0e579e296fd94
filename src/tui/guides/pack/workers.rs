//! The workers of the guided pack; only the newest request of each kind is answered.

use super::pack_facts::TokenizerPreview;
use super::probe;
use crate::tui::screen::UiEnv;
use crate::tui::work::{LatestWorker, Stoppable};
use gristmill_core::pack::TextField;
use gristmill_core::{Outcome, PackPlan, RunOptions};
use gristmill_data::source::documents::DocumentRules;
use gristmill_data::source::documents::{SplitChoices, TextFile};
use gristmill_ops::operations::pack::{
    extract_texts, find_choices, find_files, read_documents, DocumentTexts, FirstDocuments, InputFiles,
};
use gristmill_ops::tokens::pack::PackPreview;
use gristmill_tokenizer::Tokenizer;
use std::path::PathBuf;
use std::sync::Arc;

/// A request to load a tokenizer and encode a document.
pub struct TokenizerQuestion {
    pub name: String,
    pub document: Option<Arc<str>>,
    /// The plan.
    pub plan: PackPlan,
}

/// The files of a plan, and the splits and subsets among which the user can choose.
type FilesAnswer = (Arc<Outcome<InputFiles>>, SplitChoices);
type PreviewAnswer = (PackPlan, Arc<Outcome<PackPreview>>);

/// The workers of the guided pack.
pub struct Workers {
    /// Lists the input files.
    pub files: Stoppable<PackPlan, FilesAnswer>,
    /// Reads the first documents of the files.
    pub documents: Stoppable<Vec<TextFile>, Arc<FirstDocuments>>,
    /// Extracts the text of documents.
    pub extract: LatestWorker<(TextField, Arc<FirstDocuments>, DocumentRules), Arc<DocumentTexts>>,
    /// Loads a tokenizer and encodes a document.
    pub tokenizer: LatestWorker<TokenizerQuestion, (String, Arc<Outcome<TokenizerPreview>>)>,
    /// Finds tokenizers.
    pub found: LatestWorker<Vec<PathBuf>, Vec<String>>,
    /// Computes what a run would do.
    pub preview: Stoppable<PackPlan, PreviewAnswer>,
}

impl Workers {
    /// Starts the workers.
    pub fn start(env: &UiEnv) -> Self {
        let wake = || env.wake.clone();
        let hubs = hubs(env);
        let options: RunOptions = env.options.clone();
        let mut loaded: Option<(String, Tokenizer)> = None;
        Self {
            files: Stoppable::start("pack-files", wake(), |plan: PackPlan, cancel| {
                (Arc::new(find_files(&plan, cancel)), find_choices(&plan, cancel))
            }),
            documents: Stoppable::start("pack-documents", wake(), |files: Vec<TextFile>, cancel| {
                Arc::new(read_documents(&files, cancel))
            }),
            extract: LatestWorker::start(
                "pack-text",
                wake(),
                |(field, documents, format): (TextField, Arc<FirstDocuments>, _)| {
                    Arc::new(extract_texts(&field, &documents, format))
                },
            ),
            tokenizer: LatestWorker::start("pack-tokenizer", wake(), move |asked: TokenizerQuestion| {
                let known = loaded.take().filter(|(name, _)| *name == asked.name).map(|(_, known)| Ok(known));
                let tokenizer = known.unwrap_or_else(|| Tokenizer::load(&asked.name));
                let tokenizer_preview = tokenizer.and_then(|tokenizer| {
                    let tokenizer_preview = probe::probe_tokenizer(&tokenizer, asked.document.as_deref(), &asked.plan);
                    loaded = Some((asked.name.clone(), tokenizer));
                    tokenizer_preview
                });
                (asked.name, Arc::new(tokenizer_preview))
            }),
            found: LatestWorker::start("pack-tokenizers", wake(), move |inputs: Vec<PathBuf>| {
                probe::tokenizers(&inputs, &hubs)
            }),
            preview: Stoppable::start("pack-preview", wake(), move |plan: PackPlan, cancel| {
                let found = gristmill_ops::tokens::pack::preview(&plan, &options, cancel);
                (plan, Arc::new(found))
            }),
        }
    }

    /// Whether a request is pending.
    pub fn is_busy(&self) -> bool {
        self.files.is_waiting()
            || self.documents.is_waiting()
            || self.extract.is_waiting()
            || self.tokenizer.is_waiting()
            || self.preview.is_waiting()
    }
}

/// Returns the cache folders of the hub.
fn hubs(env: &UiEnv) -> Vec<PathBuf> {
    let set = |name: &str| env.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let hub = set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/huggingface/hub")));
    hub.into_iter().collect()
}
