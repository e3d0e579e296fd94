//! The advice of `pack`: lists the files, shows the text of documents, and loads the tokenizer.

use super::source::{
    extract_texts, find_choices, find_files, lines_of_choices, read_documents, usual_end, DataFacts, FirstDocuments,
    InputFiles,
};
use crate::operations::{Advice, AnyPlan, QuestionNeed};
use crate::tokens::{formats, EndTokenNeed};
use gristmill_core::options::OptionRow;
use gristmill_core::pack::SpecialToken;
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Cancel, Failure, Outcome, PackPlan};
use gristmill_data::preview::text::cut_end;
use gristmill_tokenizer::Tokenizer;

/// Maximum number of documents that are shown.
const SHOWN_DOCUMENTS: usize = 3;
/// Maximum number of columns of a shown document.
const DOCUMENT_COLUMNS: usize = 100;

/// The advice of `pack`, with the files and documents that it has read.
#[derive(Default)]
pub(super) struct PackAdvice {
    files: InputFiles,
    documents: FirstDocuments,
    tokenizer: Option<Tokenizer>,
    /// The options for choosing among several splits or subsets, each with a line that lists them.
    choices: Vec<(&'static str, String)>,
}

impl Advice for PackAdvice {
    fn order(&self) -> &'static [&'static str] {
        &["path", "split", "subset", "text-key", "format", "tokenizer", "eos-token", "sample-size", "output"]
    }

    fn need(&self, plan: &dyn AnyPlan, row: &OptionRow) -> QuestionNeed {
        let Some(plan) = plan.typed::<PackPlan>() else { return QuestionNeed::Optional };
        match row.info.name {
            "path" | "format" | "sample-size" => QuestionNeed::Required,
            option if self.choices.iter().any(|(of, _)| *of == option) => QuestionNeed::Always,
            "eos-token" if formats::end_token(plan) == EndTokenNeed::Required => QuestionNeed::Required,
            "eos-token" if formats::end_token(plan) == EndTokenNeed::Useful => QuestionNeed::Always,
            _ if row.info.is_required => QuestionNeed::Required,
            _ => QuestionNeed::Optional,
        }
    }

    fn question(&self, plan: &dyn AnyPlan, option: &str) -> Option<&'static str> {
        let has_list = plan.typed::<PackPlan>().is_some_and(|plan| plan.paths_file.is_some());
        (option == "path" && has_list).then_some("Folder that the listed paths start from")
    }

    fn propose(&self, plan: &dyn AnyPlan, option: &str) -> Option<String> {
        let plan = plan.typed::<PackPlan>()?;
        let facts = DataFacts {
            keys: &self.documents.keys,
            is_one_file: self.files.is_one_file,
            usual_end: self.tokenizer.as_ref().and_then(usual_end),
        };
        match option {
            "path" => plan.paths_file.is_some().then(|| ".".to_owned()),
            // Only formats with an end token ask for it.
            "eos-token" if formats::end_token(plan) == EndTokenNeed::Unused => None,
            _ => facts.propose(plan, option),
        }
    }

    fn check(&mut self, plan: &dyn AnyPlan, option: &str) -> Outcome<Vec<String>> {
        let Some(plan) = plan.typed::<PackPlan>() else { return Ok(Vec::new()) };
        match option {
            "path" | "glob" | "split" | "subset" | "paths-file" => self.list_files(plan),
            "text-key" | "jq" => self.show_documents(plan),
            "tokenizer" => self.load_tokenizer(plan),
            "eos-token" => self.find_end(plan),
            _ => Ok(Vec::new()),
        }
    }
}

impl PackAdvice {
    fn list_files(&mut self, plan: &PackPlan) -> Outcome<Vec<String>> {
        self.choices = lines_of_choices(&find_choices(plan, &Cancel::default()));
        let is_chosen = plan.split.is_some() || plan.subset.is_some();
        self.files = match find_files(plan, &Cancel::default()) {
            // The files depend on the answers to the next questions.
            Err(_) if !is_chosen && !self.choices.is_empty() => {
                return Ok(self.choices.iter().map(|(_, line)| line.clone()).collect());
            }
            found => found?,
        };
        self.documents = read_documents(&self.files.shown, &Cancel::default());
        let mut lines = vec![format!("{}, {}", count(self.files.total, "file"), bytes(self.files.bytes))];
        lines.extend(self.files.format_lines(plan));
        lines.extend(self.choices.iter().map(|(_, line)| line.clone()));
        lines.extend(self.files.problems.iter().map(|problem| format!("Warning: {problem}")));
        lines.extend(self.documents.failures.iter().map(|why| format!("Warning: {why}")));
        Ok(lines)
    }

    fn show_documents(&self, plan: &PackPlan) -> Outcome<Vec<String>> {
        let texts = extract_texts(&plan.text, &self.documents, formats::document_rules(plan));
        if let Some(failure) = texts.failure {
            return Err(failure);
        }
        if let Some(why) = self.documents.text_blocker(&texts) {
            return Err(Failure::data("finding the text", why));
        }
        let shown = texts.texts.iter().flatten().filter(|text| !text.is_empty()).take(SHOWN_DOCUMENTS);
        Ok(shown.map(|text| format!("  {}", cut_end(&display_safe(text), DOCUMENT_COLUMNS))).collect())
    }

    fn load_tokenizer(&mut self, plan: &PackPlan) -> Outcome<Vec<String>> {
        self.tokenizer = None;
        let tokenizer = self.tokenizer.insert(Tokenizer::load(&plan.tokenizer)?);
        let facts = tokenizer.facts();
        let figures = format!(
            "{}: {}, {} in the model, {} with those added",
            display_safe(&plan.tokenizer),
            facts.model,
            count(facts.base_size, "token"),
            grouped(facts.full_size)
        );
        let warnings = facts.warnings.iter().map(|warning| format!("Note: {warning}"));
        Ok(std::iter::once(figures).chain(warnings).collect())
    }

    fn find_end(&self, plan: &PackPlan) -> Outcome<Vec<String>> {
        let (Some(SpecialToken::Text(text)), Some(tokenizer)) = (&plan.end, &self.tokenizer) else {
            return Ok(Vec::new());
        };
        match tokenizer.expect_id(text) {
            Ok(id) => Ok(vec![format!("{} is token {id}.", display_safe(text))]),
            // Modalities uses the unknown token in this case.
            Err(_) if plan.compat => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }
}
