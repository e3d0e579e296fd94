//! Asks for the sample type, and for the source of its fields.

use super::Guide;
use gristmill_core::sample_type::{CRUDE_CLASS, SAMPLE_TYPES};
use gristmill_core::text::{display_safe, percent};
use gristmill_core::{Outcome, Rerun, SampleMapping};
use gristmill_ops::engine::plan::{classes, suggest};
use std::time::Duration;

/// Maximum time to wait for the first samples before the question about the sample type.
const SAMPLES_TIMEOUT: Duration = Duration::from_secs(3);

/// A line of the choice.
enum Choice {
    Class(&'static str),
    Crude,
    OwnClass,
    NoYaml,
    Keep,
}

impl Guide {
    /// Asks for the sample type and its fields, until both are usable together.
    pub(super) fn loading(&mut self) -> Outcome<()> {
        let facts = self.facts_when(SAMPLES_TIMEOUT, |facts| facts.samples_seen > 0);
        let mut parts: Vec<String> = Vec::new();
        for (name, part) in &facts.parts {
            let share = percent(part.samples as f64 / facts.samples_seen.max(1) as f64);
            parts.push(format!("{} ({share})", display_safe(name)));
        }
        self.prompt.print(format!("Parts seen: {}", parts.join(", ")));
        loop {
            let loading = match self.chosen_class()? {
                Choice::NoYaml => SampleMapping::NoDatasetYaml,
                Choice::Keep => SampleMapping::Unset,
                Choice::Crude => {
                    let question = "Write a cooker.py skeleton that turns raw samples into your own?";
                    SampleMapping::Crude { cooker: self.prompt.confirm(question, true)? }
                }
                Choice::Class(class) => match self.prompt_fields(class.to_owned())? {
                    Some(loading) => loading,
                    None => continue,
                },
                Choice::OwnClass => match self.own_class()? {
                    Some(loading) => loading,
                    None => continue,
                },
            };
            self.plan.loading = loading;
            return Ok(());
        }
    }

    fn chosen_class(&self) -> Outcome<Choice> {
        if let SampleMapping::FieldMap { sample_type, .. } = &self.plan.loading {
            if let Some(known) = gristmill_core::sample_type::find(sample_type) {
                return Ok(Choice::Class(known.class));
            }
        }
        let suggestions = suggest::sample_types(&self.facts(), &[]);
        let reason = |class: &str| suggestions.iter().find(|s| s.class == class).map(|s| s.why.clone());
        let rank = |class: &str| suggestions.iter().position(|s| s.class == class).unwrap_or(usize::MAX);
        let mut classes: Vec<_> = SAMPLE_TYPES.iter().collect();
        classes.sort_by_key(|known| rank(known.class));
        let mut lines: Vec<(String, Choice)> = Vec::new();
        for known in classes {
            let fields: Vec<&str> = known.fields.iter().map(|field| field.name).collect();
            let why = reason(known.class).map_or(String::new(), |why| format!(" – {why}"));
            let line = format!("{}: {} [{}]{why}", known.class, known.what, fields.join(", "));
            lines.push((line, Choice::Class(known.class)));
        }
        let crude_first = rank(CRUDE_CLASS) == 0;
        let crude = format!(
            "{CRUDE_CLASS}: all parts as they are, turned into samples by your own code (recommended by Energon)"
        );
        lines.insert(if crude_first { 0 } else { lines.len() }, (crude, Choice::Crude));
        lines.push(("a class of your own, as module:Class".to_owned(), Choice::OwnClass));
        lines.push(("none: write no dataset yaml".to_owned(), Choice::NoYaml));
        if self.plan.rerun == Rerun::Update {
            lines.insert(0, ("keep the existing dataset yaml".to_owned(), Choice::Keep));
        }
        let (texts, mut choices): (Vec<String>, Vec<Choice>) = lines.into_iter().unzip();
        let chosen = self.prompt.choose("Which class does the trainer use for a sample?", &texts, 0)?;
        Ok(choices.swap_remove(chosen))
    }

    fn own_class(&self) -> Outcome<Option<SampleMapping>> {
        let text = self.prompt.text("Class, as module:Class", None, false)?;
        match classes::resolve(&text) {
            Ok(_) => self.prompt_fields(text),
            Err(problem) => {
                self.prompt.print(format!("Invalid class: {problem}"));
                Ok(None)
            }
        }
    }

    /// Asks for the source of the fields; `None` goes back to the sample type.
    fn prompt_fields(&self, sample_type: String) -> Outcome<Option<SampleMapping>> {
        if gristmill_core::sample_type::find(&sample_type).is_some_and(|known| known.fields.is_empty()) {
            return Ok(Some(SampleMapping::FieldMap { sample_type, fields: Vec::new() }));
        }
        let choices = [
            "a field map: which part fills which field",
            "a sample_loader.py template to fill in (deprecated)",
            "back",
        ];
        match self.prompt.choose("How are its fields filled?", &choices.map(str::to_owned), 0)? {
            0 => Ok(self.field_map(&sample_type)?.map(|fields| SampleMapping::FieldMap { sample_type, fields })),
            1 => Ok(Some(SampleMapping::SampleLoader { sample_type })),
            _ => Ok(None),
        }
    }
}
