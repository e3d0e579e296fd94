//! Which fields there are, and what is in them at the start.

use super::state::PackState;
use super::step::Field;
use gristmill_ops::engine::plan::setting::{Kind, Setting as _};

impl PackState {
    /// Writes the answers of the plan into the fields.
    pub(super) fn fill_inputs(&mut self) {
        for field in Field::ALL.iter().filter(|field| field.kind() == Kind::Text) {
            self.form.set(*field, &field.words(&self.plan));
        }
    }

    /// Whether a field has a meaning with the other answers.
    pub(super) fn is_there(&self, field: Field) -> bool {
        match field {
            Field::Found => !self.seen.tokenizers.is_empty(),
            field => field.is_there(&self.plan),
        }
    }
}
