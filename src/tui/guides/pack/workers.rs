//! Background work of the guided pack; the newest request of each kind wins.

use super::pack_facts::TokenizerPreview;
use super::probe;
use crate::tui::screen::UiEnv;
use crate::tui::work::LatestWorker;
use gristmill_core::pack::TextField;
use gristmill_core::{Cancel, Outcome, PackPlan, RunOptions};
use gristmill_data::source::documents::DocumentRules;
use gristmill_data::source::documents::{SplitChoices, TextFile};
use gristmill_ops::operations::pack::{
    extract_texts, find_choices, find_files, read_documents, DocumentTexts, FirstDocuments, InputFiles,
};
use gristmill_ops::tokens::pack::PackPreview;
use gristmill_tokenizer::Tokenizer;
use std::path::PathBuf;
use std::sync::Arc;

/// A tokenizer to examine, with a document to encode.
pub struct TokenizerQuestion {
    pub name: String,
    pub document: Option<Arc<str>>,
    /// The other answers.
    pub plan: PackPlan,
}

/// The files of a plan, and what can be chosen of them.
type FilesAnswer = (Arc<Outcome<InputFiles>>, SplitChoices);
type PreviewAnswer = (PackPlan, Arc<Outcome<PackPreview>>);

pub struct Workers {
    files: LatestWorker<(PackPlan, Cancel), FilesAnswer>,
    documents: LatestWorker<(Vec<TextFile>, Cancel), Arc<FirstDocuments>>,
    extract: LatestWorker<(TextField, Arc<FirstDocuments>, DocumentRules), Arc<DocumentTexts>>,
    tokenizer: LatestWorker<TokenizerQuestion, (String, Arc<Outcome<TokenizerPreview>>)>,
    found: LatestWorker<Vec<PathBuf>, Vec<String>>,
    preview: LatestWorker<(PackPlan, Cancel), PreviewAnswer>,
    leaving: Cancel,
    previewing: Cancel,
}

impl Workers {
    /// Starts them.
    pub fn start(env: &UiEnv) -> Self {
        let wake = || env.wake.clone();
        let hubs = hubs(env);
        let options: RunOptions = env.options.clone();
        let mut loaded: Option<(String, Tokenizer)> = None;
        Self {
            files: LatestWorker::start("pack-files", wake(), |(plan, cancel): (PackPlan, Cancel)| {
                (Arc::new(find_files(&plan, &cancel)), find_choices(&plan, &cancel))
            }),
            documents: LatestWorker::start("pack-documents", wake(), |(files, cancel): (Vec<TextFile>, Cancel)| {
                Arc::new(read_documents(&files, &cancel))
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
            preview: LatestWorker::start("pack-preview", wake(), move |(plan, cancel): (PackPlan, Cancel)| {
                let found = gristmill_ops::tokens::pack::preview(&plan, &options, &cancel);
                (plan, Arc::new(found))
            }),
            leaving: Cancel::default(),
            previewing: Cancel::default(),
        }
    }

    /// Finds the files.
    pub fn files(&mut self, plan: PackPlan) {
        self.files.submit((plan, self.leaving.clone()));
    }

    /// Reads documents of files.
    pub fn documents(&mut self, files: Vec<TextFile>) {
        self.documents.submit((files, self.leaving.clone()));
    }

    /// Takes the text out of documents.
    pub fn extract(&mut self, field: TextField, documents: Arc<FirstDocuments>, rules: DocumentRules) {
        self.extract.submit((field, documents, rules));
    }

    /// Loads a tokenizer and encodes a document.
    pub fn tokenizer(&mut self, question: TokenizerQuestion) {
        self.tokenizer.submit(question);
    }

    /// Looks for tokenizers.
    pub fn find_tokenizers(&mut self, inputs: Vec<PathBuf>) {
        self.found.submit(inputs);
    }

    /// Finds out what a run would do; what was being found out for other answers ends.
    pub fn preview(&mut self, plan: PackPlan) {
        self.previewing.cancel();
        self.previewing = Cancel::default();
        self.preview.submit((plan, self.previewing.clone()));
    }

    /// The files, once.
    pub fn take_files(&mut self) -> Option<FilesAnswer> {
        self.files.take()
    }

    /// The documents, once.
    pub fn take_documents(&mut self) -> Option<Arc<FirstDocuments>> {
        self.documents.take()
    }

    /// Returns the values of the text field, once.
    pub fn take_extracted(&mut self) -> Option<Arc<DocumentTexts>> {
        self.extract.take()
    }

    /// Returns the facts about the tokenizer, once.
    pub fn take_tokenizer(&mut self) -> Option<(String, Arc<Outcome<TokenizerPreview>>)> {
        self.tokenizer.take()
    }

    /// Tokenizers that were found, once.
    pub fn take_found(&mut self) -> Option<Vec<String>> {
        self.found.take()
    }

    /// Returns the preview of the run, once.
    pub fn take_preview(&mut self) -> Option<PreviewAnswer> {
        self.preview.take()
    }

    /// Whether a question is open.
    pub fn is_busy(&self) -> bool {
        self.files.is_waiting()
            || self.documents.is_waiting()
            || self.extract.is_waiting()
            || self.tokenizer.is_waiting()
            || self.preview.is_waiting()
    }

    /// Whether files are being looked for.
    pub fn is_listing(&self) -> bool {
        self.files.is_waiting()
    }

    /// Whether a tokenizer is being loaded.
    pub fn is_loading(&self) -> bool {
        self.tokenizer.is_waiting()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.leaving.cancel();
        self.previewing.cancel();
    }
}

/// Returns the cache folder of the hub.
fn hubs(env: &UiEnv) -> Vec<PathBuf> {
    let set = |name: &str| env.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let hub = set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/huggingface/hub")));
    hub.into_iter().collect()
}
