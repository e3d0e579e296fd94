//! The list of sample types that fit the parts of the samples. The best one is proposed, with its field map.

use super::inputs::plan_of;
use crate::tui::form::{Field, Form, MouseTarget};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, heading};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::{text, ListState};
use gristmill_core::options::Answer;
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::text::display_safe;
use gristmill_core::{SampleMapping, ShardPlan};
use gristmill_ops::engine::plan::suggest::Suggestion;
use gristmill_ops::shard::examples::Examples;
use gristmill_ops::shard::sample_types::{proposed_fields, proposed_types};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The list of sample types.
pub(super) const TYPES: Field = Field::List("sample types");
/// Maximum height of the list in rows.
const MAX_ROWS: usize = 4;
/// Width of the name of a sample type, in columns.
const NAME_COLUMNS: usize = 22;

/// The proposed sample types of the last preview, the best first. They stay while the next preview is computed.
#[derive(Default)]
pub(super) struct TypeList {
    proposed: Vec<Suggestion>,
    pub(super) list: ListState,
}

impl TypeList {
    /// Sets the proposals to those for the samples of a preview, and proposes the best one and its fields as answers.
    pub(super) fn update(&mut self, form: &mut Form, examples: Option<&Examples>) {
        let Some(examples) = examples else { return };
        self.proposed = proposed_types(&plan_of(form), examples);
        self.list.set_len(self.proposed.len());
        let best = self.proposed.first().map_or(Answer::Unset, answer_of);
        // Without a choice of the sample type, an earlier proposal is withdrawn.
        form.propose("sample-type", best);
        let plan = plan_of(form);
        if let SampleMapping::FieldMap { sample_type, .. } = &plan.preparation.loading {
            let fields = proposed_fields(&plan, examples, sample_type);
            let texts: Vec<String> = fields.iter().map(|x| format!("{}={}", x.field, x.expr)).collect();
            form.propose("field-map", if texts.is_empty() { Answer::Unset } else { Answer::List(texts) });
        }
    }

    /// Whether there is more than one sample type to choose from.
    pub(super) fn has_choice(&self) -> bool {
        self.proposed.len() > 1
    }

    /// Returns the number of rows of the list, including its heading and a blank row.
    pub(super) fn rows(&self) -> usize {
        self.proposed.len().min(MAX_ROWS) + 2
    }

    /// Chooses the selected sample type.
    pub(super) fn choose(&self, form: &mut Form) {
        if let Some(chosen) = self.list.get().and_then(|at| self.proposed.get(at)) {
            form.answer("sample-type", &answer_of(chosen));
        }
    }

    /// Draws the sample types, with a heading.
    pub(super) fn draw(&mut self, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
        draw_lines(frame.buffer_mut(), area, [heading("What a sample becomes", ui)]);
        let area = Rect { height: area.height.saturating_sub(2), ..below(area, 1) };
        form.mouse_areas.add(area, MouseTarget::Field(TYPES));
        let (plan, proposed) = (plan_of(form), &self.proposed);
        let class = class_of(&plan);
        draw_list(frame.buffer_mut(), area, &mut self.list, form.is_focused(TYPES), ui, |at, room| {
            let Some(suggestion) = proposed.get(at) else { return Line::default() };
            let sign = if suggestion.class == class { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
            let name = text::fit_end(&display_safe(&suggestion.class), NAME_COLUMNS, ui.glyphs);
            let why = text::fit_end(&suggestion.why, room.saturating_sub(NAME_COLUMNS + 5), ui.glyphs);
            let style = if at == 0 { ui.theme.ok } else { ui.theme.muted };
            Line::from(vec![
                Span::raw(format!("{sign} {} ", text::pad_end(&name, NAME_COLUMNS))),
                Span::styled(why, style),
            ])
        });
    }
}

/// Returns the answer that chooses a sample type; the crude one is the default.
fn answer_of(suggestion: &Suggestion) -> Answer {
    match suggestion.class.as_str() {
        CRUDE_CLASS => Answer::Unset,
        class => Answer::Text(class.to_owned()),
    }
}

fn class_of(plan: &ShardPlan) -> &str {
    match &plan.preparation.loading {
        SampleMapping::FieldMap { sample_type, .. } => sample_type,
        _ => CRUDE_CLASS,
    }
}

/// Returns how the new set will be loaded; `None` if the run does not decide that.
pub(super) fn new_type_words(plan: &ShardPlan) -> Option<String> {
    if plan.append || plan.preparation.no_prepare {
        return None;
    }
    Some(match &plan.preparation.loading {
        SampleMapping::NoDatasetYaml => "The new set has no dataset yaml.".to_owned(),
        SampleMapping::FieldMap { sample_type, fields } => {
            let fields: Vec<String> = fields.iter().map(|x| format!("{}={}", x.field, x.expr)).collect();
            format!("The new set is {}: {}.", display_safe(sample_type), display_safe(&fields.join(" ")))
        }
        _ => format!("The new set is {CRUDE_CLASS}: a sample is a plain map of its parts, for a cooker of your own."),
    })
}
