//! From what is typed and switched to the plan, and what is proposed where nobody said anything.

use super::state::PackState;
use super::step::Field;
use gristmill_core::pack::EndToken;
use gristmill_core::PackPlan;
use gristmill_ops::engine::plan::setting::{Kind, Setting as _};
use std::path::Path;

impl PackState {
    /// Takes what was typed into the plan.
    pub(super) fn take_typed(&mut self, field: Field) {
        match field {
            Field::End => self.proposes_end = false,
            Field::Output => self.proposes_output = false,
            _ => {}
        }
        self.form.troubles.remove(&field);
        if let Err(why) = field.set(&mut self.plan, &self.form.value(field)) {
            self.form.troubles.insert(field, why);
        }
    }

    /// Switches a switch on or off.
    pub(super) fn switch(&mut self, field: Field, on: bool) {
        field.switch(&mut self.plan, on);
        let again = Field::ALL.iter().copied().filter(|other| match field {
            Field::Modalities | Field::Nanosets | Field::Forager => other.group() == Some(field.label()),
            Field::ForagerMasks => *other == Field::MaskParts,
            _ => false,
        });
        let again: Vec<Field> =
            again.filter(|other| other.kind() == Kind::Text && other.is_there(&self.plan)).collect();
        self.retype(&again);
    }

    /// Takes what stands in fields that have come back.
    fn retype(&mut self, fields: &[Field]) {
        fields.iter().for_each(|field| self.take_typed(*field));
    }

    pub(super) fn step_type(&mut self, forward: bool) {
        let (types, now) = Field::TokenType.choices(&self.plan);
        let next = (now + if forward { 1 } else { types.len().saturating_sub(1) }) % types.len().max(1);
        Field::TokenType.choose(&mut self.plan, next);
    }

    /// Proposes what nobody has said otherwise: the end token, and where the tokens go.
    pub fn propose(&mut self) {
        if self.proposes_end {
            let end = self.seen.usual_end(&self.plan.tokenizer);
            self.plan.end = end.clone().map(EndToken::Text);
            self.form.set(Field::End, &end.unwrap_or_default());
        }
        if self.proposes_output {
            self.plan.output = usual_output(&self.plan, self.seen.is_one_file());
            self.form.set(Field::Output, &self.plan.output);
        }
    }
}

/// Where the tokens go unless somebody says otherwise: beside the input.
fn usual_output(plan: &PackPlan, is_one_file: bool) -> String {
    let Some(input) = plan.inputs.first() else { return String::new() };
    let path = Path::new(input);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|| "text".to_owned());
    let stem = match (is_one_file, name.find(".jsonl")) {
        (true, Some(at)) if at > 0 => name.get(..at).unwrap_or(&name).to_owned(),
        _ => name,
    };
    let formats = plan.formats();
    let is_one_packed = is_one_file && formats.len() == 1 && plan.modalities.is_some();
    let name = if is_one_packed { format!("{stem}.pbin") } else { format!("{stem}-tokens") };
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent.join(name).to_string_lossy().into_owned(),
        None => name,
    }
}
