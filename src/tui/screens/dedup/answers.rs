//! From what is typed and chosen to the plan, and what is proposed where nobody said anything.

use super::state::DedupState;
use super::step::{Field, LENGTHS};
use gristmill_ops::engine::plan::setting::Setting as _;

impl DedupState {
    /// Takes what was typed into the plan.
    pub(super) fn take_typed(&mut self, field: Field) {
        if field == Field::Output {
            self.proposes_output = false;
        }
        self.form.troubles.remove(&field);
        if let Err(why) = field.set(&mut self.plan, &self.form.value(field)) {
            self.form.troubles.insert(field, why);
        }
    }

    /// Takes the other of two choices. The field of the key of variant A keeps what was typed where it has no meaning.
    pub(super) fn take_other(&mut self, field: Field) {
        let (_, chosen) = field.choices(&self.plan);
        field.choose(&mut self.plan, 1 - chosen.min(1));
        if Field::AnnotateKey.is_there(&self.plan) {
            self.take_typed(Field::AnnotateKey);
        }
    }

    /// Takes the length that the cursor is on.
    pub(super) fn choose_length(&mut self) {
        match LENGTHS.get(self.lengths.selected) {
            Some(length) => {
                self.is_own = false;
                self.form.troubles.remove(&Field::Own);
                self.plan.min_length = Some(*length);
            }
            None => {
                self.is_own = true;
                self.take_typed(Field::Own);
            }
        }
    }

    /// Proposes where the result goes, where nobody has said.
    pub fn propose(&mut self) {
        if self.proposes_output {
            self.plan.output = self.plan.proposed_output();
            self.form.set(Field::Output, &self.plan.output);
        }
    }
}
