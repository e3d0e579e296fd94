//! From what is typed and chosen to the plan, and what is proposed where nobody said anything.

use super::state::DedupState;
use super::step::{Field, LENGTHS};
use crate::model::dedup::{Keep, Mode, Variant, ANNOTATE_KEY, FIELD_OF_VARIANT_B, LEAST_COUNT, TEXT_KEY};
use crate::tui::form::{number_of, Field as _};

impl DedupState {
    /// Takes what was typed into the plan.
    pub(super) fn take_typed(&mut self, field: Field) {
        let value = self.form.value(field);
        let filled = Some(value.clone()).filter(|value| !value.is_empty());
        self.form.troubles.remove(&field);
        let plan = &mut self.plan;
        match field {
            Field::TextKey => plan.text_key = filled.unwrap_or_else(|| TEXT_KEY.into()),
            Field::Against => plan.against = filled,
            Field::AnnotateKey => plan.annotate_key = filled.unwrap_or_else(|| ANNOTATE_KEY.into()),
            Field::ExportRanges => plan.export_ranges = filled,
            Field::ExportIndex => plan.export_index = filled,
            Field::Output => {
                self.proposes_output = false;
                plan.output = value;
            }
            Field::Own | Field::MinCount => match (number_of(&value), value.is_empty()) {
                (_, true) if field == Field::MinCount => plan.min_count = LEAST_COUNT,
                (Some(number), _) if field == Field::MinCount => plan.min_count = number,
                (Some(number), _) if number > 0 => plan.min_length = Some(number),
                (_, true) => plan.min_length = None,
                _ => {
                    let why = format!("{}: that is not a number above 0", field.label());
                    self.form.troubles.insert(field, why);
                }
            },
            _ => {}
        }
    }

    /// Takes the other of two choices.
    pub(super) fn take_other(&mut self, field: Field) {
        let plan = &mut self.plan;
        match field {
            Field::Mode => {
                plan.mode = if plan.mode == Mode::Remove { Mode::Annotate } else { Mode::Remove };
                self.settle_annotations();
            }
            Field::Variant => {
                plan.variant = if plan.variant == Variant::A { Variant::B } else { Variant::A };
                self.settle_annotations();
            }
            Field::Keep => plan.keep = if plan.keep == Keep::First { Keep::None } else { Keep::First },
            _ => {}
        }
    }

    /// The key of variant A counts only there; elsewhere the plan has the usual one, and the field keeps what was typed.
    fn settle_annotations(&mut self) {
        match (self.plan.mode, self.plan.variant) {
            (Mode::Annotate, Variant::A) => self.take_typed(Field::AnnotateKey),
            _ => self.plan.annotate_key = ANNOTATE_KEY.into(),
        }
        if self.plan.mode == Mode::Remove {
            self.plan.variant = Variant::A;
        }
    }

    /// What a choice says now, and what that means.
    pub(super) fn chosen(&self, field: Field) -> (&'static str, &'static str) {
        let plan = &self.plan;
        match (field, plan.mode, plan.variant, plan.keep) {
            (Field::Mode, Mode::Remove, ..) => ("cut out", "the text becomes shorter"),
            (Field::Mode, Mode::Annotate, ..) => ("listed", "the text stays; each record lists its ranges"),
            (Field::Variant, _, Variant::A, _) => ("variant a", "under a dotted key"),
            (Field::Variant, _, Variant::B, _) => ("variant b", FIELD_OF_VARIANT_B),
            (Field::Keep, _, _, Keep::First) => ("keep the first", "in the order of the documents"),
            (Field::Keep, _, _, Keep::None) => ("keep none", "every copy goes"),
            _ => ("", ""),
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
