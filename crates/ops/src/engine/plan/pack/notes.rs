//! Notes on the combination of a tokenizer and a plan that the user should read before the run; none of them prevents it.

use crate::engine::pack::{unknown_end, unknown_end_note};
use gristmill_core::pack::{EndToken, SampleSize};
use gristmill_core::{PackFormat, PackPlan, Problem, ProblemKind, Subject};
use gristmill_tokenizer::{Template, Tokenizer, TokenizerKind};

/// Returns notes on documents without an end, tokens that a template adds or that are left out, and stored padding and truncation.
pub fn notes(plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
    let template = tokenizer.template().unwrap_or_default();
    let mut notes = Vec::new();
    notes.extend(plan.nanosets.is_some().then(|| of_nanosets(plan, tokenizer, &template)).into_iter().flatten());
    if let Some(target) = &plan.forager {
        let end = plan.end.as_ref().and_then(|end| id_of(tokenizer, end));
        let is_fixed = matches!(target.sample_size, SampleSize::Fixed(_));
        if is_fixed && target.special_tokens && end.is_some() && template.suffix.last().copied() == end {
            let why = "the tokenizer ends each text with the end token, and Forager puts it once more";
            notes.push(note(PackFormat::Forager, why).with_hint("--no-special-tokens leaves out its own"));
        }
        if tokenizer.padding().is_some() {
            notes.push(note(PackFormat::Forager, "the tokenizer file asks for padding, and texts are filled up by it"));
        }
        if tokenizer.truncation().is_some() {
            notes.push(note(PackFormat::Forager, CUT));
        }
    }
    if let Some(target) = &plan.modalities {
        let end = target.eod_token.as_deref().or(match &plan.end {
            Some(EndToken::Text(text)) => Some(text),
            _ => None,
        });
        // Without --compat it is refused.
        let unknown = end.filter(|_| plan.compat).and_then(|token| Some((token, unknown_end(tokenizer, token)?)));
        notes.extend(unknown.map(|(token, id)| unknown_end_note(token, id)));
        let set = tokenizer.padding().is_some() || tokenizer.truncation().is_some();
        if set && tokenizer.kind() == TokenizerKind::Json {
            let why = "padding and truncation of the tokenizer file are left out, as Modalities does";
            let hint = "--truncate-to N and --pad-to N set them";
            notes.push(note(PackFormat::Modalities, why).with_hint(hint));
        }
    }
    notes
}

const CUT: &str = "the tokenizer file asks for truncation: what is beyond it is lost";

fn note(format: PackFormat, why: &str) -> Problem {
    Problem::note(ProblemKind::Other, Subject::field(format.word()), why)
}

fn of_nanosets(plan: &PackPlan, tokenizer: &Tokenizer, template: &Template) -> Vec<Problem> {
    let mut notes = Vec::new();
    match &plan.end {
        None if template.suffix.is_empty() => {
            let why = "no token ends a document: models cannot see where the next one begins";
            notes.push(note(PackFormat::Nanosets, why).with_hint("--eos-token TEXT puts one"));
        }
        Some(_) if !template.is_empty() => {
            let left_out = spelled(tokenizer, template);
            let why = format!("the end token takes the place of the tokenizer's template: {left_out} will not be put");
            notes.push(note(PackFormat::Nanosets, &why).with_hint("without --eos-token it is"));
        }
        _ => {}
    }
    if tokenizer.padding().is_some() {
        let why = "the tokenizer file asks for padding: each 10,000 documents are filled up together";
        notes.push(note(PackFormat::Nanosets, why));
    }
    if tokenizer.truncation().is_some() {
        notes.push(note(PackFormat::Nanosets, CUT));
    }
    notes
}

fn spelled(tokenizer: &Tokenizer, template: &Template) -> String {
    let ids = template.prefix.iter().chain(&template.suffix);
    let texts: Vec<String> = ids.map(|id| tokenizer.token_of(*id).unwrap_or_else(|| id.to_string())).collect();
    texts.join(" ")
}

fn id_of(tokenizer: &Tokenizer, end: &EndToken) -> Option<u32> {
    match end {
        EndToken::Text(text) => tokenizer.id_of(text),
        EndToken::Id(id) => Some(*id),
    }
}
