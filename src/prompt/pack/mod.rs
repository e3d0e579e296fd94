//! Packing, asked by plain prompts: what the plan leaves open, then a review.

mod documents;
mod review;

use super::ask::Ask;
use super::next_action::LastLook as _;
use gristmill_core::pack::{EndToken, ForagerTarget, ModalitiesTarget, NanosetsTarget, SampleSize};
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Outcome, PackFormat, PackPlan, RunOptions};
use gristmill_ops::engine::plan::pack::FIRST_SAMPLE_SIZE;
use gristmill_tokenizer::Tokenizer;

/// Spellings of end tokens, the likeliest first.
const ENDS: [&str; 8] =
    ["<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eot_id|>", "<|im_end|>", "<eod>", "[SEP]"];

/// What a guide works with: the questions, and the plan that fills up.
struct Guide {
    ask: Ask,
    plan: PackPlan,
    options: RunOptions,
}

/// Asks for everything that the plan leaves open; `None` when the person decides to leave it.
pub fn pack(plan: PackPlan, options: &RunOptions) -> Outcome<Option<PackPlan>> {
    let mut guide = Guide { ask: Ask::new()?, plan, options: options.clone() };
    guide.inputs()?;
    guide.text_field()?;
    guide.formats()?;
    let tokenizer = guide.tokenizer()?;
    guide.end(&tokenizer)?;
    guide.samples()?;
    guide.output()?;
    Ok(guide.review()?.then_some(guide.plan))
}

impl Guide {
    fn formats(&mut self) -> Outcome<()> {
        while self.plan.formats().is_empty() {
            let choices = [
                "Modalities: a .pbin for each file",
                "Nanosets (nanotron, datatrove): a folder of .ds",
                "Forager: tokenized-samples/ and index/",
                "all three, in one pass",
            ];
            let chosen = self.ask.choose("For which framework?", &choices.map(str::to_owned), 0)?;
            if matches!(chosen, 0 | 3) {
                self.plan.modalities = Some(ModalitiesTarget::default());
            }
            if matches!(chosen, 1 | 3) {
                self.plan.nanosets = Some(NanosetsTarget::default());
            }
            if matches!(chosen, 2 | 3) {
                // Asked for below.
                self.plan.forager = Some(ForagerTarget::new(SampleSize::Fixed(0)));
            }
        }
        Ok(())
    }

    fn tokenizer(&mut self) -> Outcome<Tokenizer> {
        loop {
            if self.plan.tokenizer.is_empty() {
                let question = "Tokenizer (tokenizer.json, a folder with one, a SentencePiece .model)";
                self.plan.tokenizer = self.ask.text(question, None, false)?;
            }
            match Tokenizer::load(&self.plan.tokenizer) {
                Ok(tokenizer) => {
                    let facts = tokenizer.facts();
                    self.ask.tell(format!(
                        "{}: {}, {} in the model, {} with those added",
                        display_safe(&self.plan.tokenizer),
                        facts.model,
                        count(facts.base_size, "token"),
                        grouped(facts.full_size)
                    ));
                    facts.warnings.iter().for_each(|warning| self.ask.tell(format!("Note: {warning}")));
                    return Ok(tokenizer);
                }
                Err(failure) => self.ask.refuse(&failure),
            }
            self.plan.tokenizer.clear();
        }
    }

    fn needs_end(&self) -> bool {
        let of_modalities = self.plan.modalities.as_ref().is_some_and(|target| target.eod_token.is_none());
        let of_forager = self.plan.forager.as_ref().is_some_and(|target| target.sample_size != SampleSize::Variable);
        of_modalities || of_forager
    }

    fn end(&mut self, tokenizer: &Tokenizer) -> Outcome<()> {
        let proposed = ENDS.into_iter().find(|text| tokenizer.id_of(text).is_some());
        while self.plan.end.is_none() && (self.needs_end() || self.plan.nanosets.is_some()) {
            let must = self.needs_end();
            let question = if must { "Token that ends a document" } else { "Token that ends a document (- for none)" };
            let text = self.ask.text(question, proposed, false)?;
            if text == "-" && !must {
                return Ok(());
            }
            match tokenizer.expect_id(&text) {
                Ok(id) => {
                    self.ask.tell(format!("{} is token {id}.", display_safe(&text)));
                    self.plan.end = Some(EndToken::Text(text));
                }
                Err(failure) => self.ask.refuse(&failure),
            }
        }
        Ok(())
    }

    fn samples(&mut self) -> Outcome<()> {
        while self.plan.forager.as_ref().is_some_and(|target| target.sample_size == SampleSize::Fixed(0)) {
            let usual = FIRST_SAMPLE_SIZE.to_string();
            let text =
                self.ask.text("Tokens of a Forager sample (v for one sample a document)", Some(&usual), false)?;
            let size = match (text.as_str(), text.parse()) {
                ("v", _) => SampleSize::Variable,
                (_, Ok(number)) if number > 0 => SampleSize::Fixed(number),
                _ => {
                    self.ask.tell("A number above 0 is needed, or v.");
                    continue;
                }
            };
            if let Some(target) = &mut self.plan.forager {
                target.sample_size = size;
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Outcome<()> {
        if !self.plan.output.is_empty() {
            return Ok(());
        }
        let formats = self.plan.formats();
        let input = self.plan.inputs.first().map(String::as_str).unwrap_or_default();
        let stem = input.trim_end_matches('/').trim_end_matches(".jsonl");
        let single = self.plan.inputs.len() == 1 && std::path::Path::new(input).is_file();
        let (question, proposed) = match formats.as_slice() {
            [PackFormat::Modalities] if single => ("File for the tokens", format!("{stem}.pbin")),
            [_] => ("Folder for the tokens", format!("{stem}-tokens")),
            _ => ("Folder for the tokens, with a folder for each format", format!("{stem}-tokens")),
        };
        let hint = format!("{question} (--output says the same)");
        self.plan.output = self.ask.text(&hint, Some(&proposed), false)?;
        Ok(())
    }
}
