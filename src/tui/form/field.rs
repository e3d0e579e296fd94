//! The fields of a step: the fields of each option, and how each field is answered.

use gristmill_core::options::{Answer, OptionRow, ValueKind};
use gristmill_ops::operations::AnyPlan;

/// An element of a form that can have the focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// The option with this name.
    Option(&'static str),
    /// One of the values of an option that can have several.
    Choice(&'static str, &'static str),
    /// A list that the guide provides, by name.
    List(&'static str),
    /// A text that the guide provides, which keys scroll.
    Page(&'static str),
    /// A text field for a path, used by the guide.
    Path(&'static str),
    /// A field that the guide draws and handles itself, by its number in the step.
    FocusStop(usize),
}

/// How a field is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Typed text.
    Text,
    /// A switch: on or off.
    Switch,
    /// One of several values, selected with the arrow keys.
    Choice,
    /// A list with a cursor.
    List,
    /// A text without an answer.
    Page,
    /// The guide handles the answer itself.
    FocusStop,
}

/// The options of an operation as fields.
#[derive(Clone, Debug)]
pub struct FieldTable {
    rows: Vec<OptionRow>,
}

impl FieldTable {
    /// Returns the fields of a plan's operation. Global flags, files with answers, and inputs that are already given have no field.
    pub fn of(plan: &dyn AnyPlan) -> Self {
        let shown = |row: &OptionRow| {
            let is_known_input = row.info.is_positional && plan.get(row.info.name) != Answer::Unset;
            !row.info.is_global && row.kind.is_stored() && !is_known_input
        };
        Self { rows: plan.operation().options().into_iter().filter(shown).collect() }
    }

    /// Returns the row of an option.
    pub fn row(&self, option: &str) -> Option<&OptionRow> {
        self.rows.iter().find(|row| row.info.name == option)
    }

    /// Returns all options.
    pub fn rows(&self) -> &[OptionRow] {
        &self.rows
    }

    /// Returns the fields of a step that apply to a plan. Advanced options are included if `is_advanced`, or if they have an answer.
    /// Options that depend on a value of another option follow that value.
    pub fn of_step(&self, step: &str, plan: &dyn AnyPlan, is_advanced: bool) -> Vec<Field> {
        let is_shown = |row: &&OptionRow| {
            let is_main = !row.info.is_advanced || plan.get(row.info.name) != Answer::Unset;
            row.step == step && plan.applies(row.info.name) && (is_advanced || is_main)
        };
        let fields_of = |row: &OptionRow| match row.kind {
            ValueKind::Choices(choices) => {
                let mut fields = Vec::new();
                for choice in choices {
                    fields.push(Field::Choice(row.info.name, choice.name));
                    let below = self.rows.iter().filter(is_shown).filter(|other| needs(other, row, choice.name));
                    fields.extend(below.map(|other| Field::Option(other.info.name)));
                }
                fields
            }
            _ => vec![Field::Option(row.info.name)],
        };
        let is_below = |row: &OptionRow| self.rows.iter().any(|other| is_parent(other, row));
        self.rows.iter().filter(is_shown).filter(|row| !is_below(row)).flat_map(fields_of).collect()
    }

    /// Returns the step of a field.
    pub fn step(&self, field: Field) -> Option<&'static str> {
        match field {
            Field::Option(name) | Field::Choice(name, _) => self.row(name).map(|row| row.step),
            Field::List(_) | Field::Page(_) | Field::Path(_) | Field::FocusStop(_) => None,
        }
    }

    /// Returns how a field is answered.
    pub fn kind(&self, field: Field) -> FieldKind {
        match field {
            Field::List(_) => FieldKind::List,
            Field::Page(_) => FieldKind::Page,
            Field::FocusStop(_) => FieldKind::FocusStop,
            Field::Path(_) => FieldKind::Text,
            Field::Choice(..) => FieldKind::Switch,
            Field::Option(name) => match self.row(name).map(|row| row.kind) {
                Some(ValueKind::Switch) => FieldKind::Switch,
                Some(ValueKind::Choice(_)) => FieldKind::Choice,
                _ => FieldKind::Text,
            },
        }
    }

    /// Returns the label of a field.
    pub fn label(&self, field: Field) -> String {
        match field {
            Field::Choice(_, name) | Field::List(name) | Field::Page(name) | Field::Path(name) => name.to_owned(),
            Field::Option(name) => self.row(name).map(|row| row.info.label()).unwrap_or_default(),
            Field::FocusStop(_) => String::new(),
        }
    }

    /// Returns the meaning of a field; for a text field, the value that applies while it is empty.
    pub fn note(&self, field: Field) -> &'static str {
        match (field, self.row_of(field)) {
            (Field::Choice(_, name), Some(OptionRow { kind: ValueKind::Choices(choices), .. })) => {
                choices.iter().find(|choice| choice.name == name).map(|choice| choice.help).unwrap_or_default()
            }
            (_, Some(row)) => match (self.kind(field), row.info.default, row.info.unset) {
                (FieldKind::Text, "", "") | (FieldKind::Switch, ..) => row.info.help,
                (_, "", note) | (_, note, "") => note,
                (_, _, note) => note,
            },
            (_, None) => "",
        }
    }

    /// Returns the complete description of a field.
    pub fn help(&self, field: Field) -> String {
        let help = match field {
            Field::Choice(..) => self.note(field).to_owned(),
            _ => self.row_of(field).map(|row| row.info.full_help()).unwrap_or_default(),
        };
        // A form has one field for all values.
        help.replace("(repeat)", "(several: separated by spaces)")
    }

    /// Returns whether a field is a path.
    pub fn is_path(&self, field: Field) -> bool {
        let is_path =
            |row: &OptionRow| matches!(row.kind, ValueKind::Path | ValueKind::Paths) || row.info.completes_paths;
        matches!(field, Field::Path(_)) || self.row_of(field).is_some_and(is_path)
    }

    /// Returns whether a field is a switch that switches others off.
    pub fn is_exclusive(&self, field: Field) -> bool {
        self.row_of(field).is_some_and(|row| row.is_one_of)
    }

    /// Returns whether a field depends on a value of another one.
    pub fn is_indented(&self, field: Field) -> bool {
        match self.row_of(field) {
            Some(row) if matches!(field, Field::Option(_)) => self.rows.iter().any(|other| is_parent(other, row)),
            _ => false,
        }
    }

    fn row_of(&self, field: Field) -> Option<&OptionRow> {
        match field {
            Field::Option(name) | Field::Choice(name, _) => self.row(name),
            Field::List(_) | Field::Page(_) | Field::Path(_) | Field::FocusStop(_) => None,
        }
    }
}

/// Whether an option depends on this value of another one in the same step.
fn needs(row: &OptionRow, parent: &OptionRow, value: &str) -> bool {
    row.step == parent.step
        && row.needs.strip_prefix("--").is_some_and(|needed| needed == [parent.info.name, value].join(" "))
}

fn is_parent(parent: &OptionRow, row: &OptionRow) -> bool {
    match parent.kind {
        ValueKind::Choices(choices) => choices.iter().any(|choice| needs(row, parent, choice.name)),
        _ => false,
    }
}
