//! The popup that asks for the name of a plan file and writes it.

use super::frame::find_step_index;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::{popup, Level, TextField, Toast};
use gristmill_ops::operations::{check_replaceable, write_plan, AnyPlan};
use gristmill_storage::files;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::{Path, PathBuf};

/// The popup that saves a plan.
pub struct SavePlan {
    env: UiEnv,
    plan: Box<dyn AnyPlan>,
    name: TextField,
    /// The existing file for which the user was asked whether to replace it.
    replaced: Option<PathBuf>,
}

impl SavePlan {
    /// Creates the popup with an unused name in the current folder.
    pub fn new(plan: Box<dyn AnyPlan>, env: UiEnv) -> Self {
        let inputs = plan.inputs();
        let input = inputs.first().and_then(|input| Path::new(input).file_name()).map(|name| name.to_string_lossy());
        let stem = input.as_deref().and_then(|name| name.split('.').next()).filter(|stem| !stem.is_empty());
        let stem = stem.map(|stem| format!("{stem}-")).unwrap_or_default() + &plan.operation().file_name();
        let name = |number: u32| match number {
            1 => format!("{stem}-plan.yaml"),
            number => format!("{stem}-plan-{number}.yaml"),
        };
        let unused = (1..1_000).map(name).find(|name| !files::exists(env.save_dir.join(name)));
        let name = TextField::new(&unused.unwrap_or_else(|| name(1_000)));
        Self { env, plan, name, replaced: None }
    }

    /// Writes the plan. An existing plan is replaced when this is called twice for its name; another file is never replaced.
    fn save(&mut self) -> Vec<Effect> {
        let name = self.name.value().trim();
        let path = self.env.save_dir.join(name);
        let shown = self.env.short_path(&path);
        let toast = |level, text: String| Effect::Toast(Toast::new(level, text));
        if name.is_empty() {
            return vec![toast(Level::Warn, "the plan needs a file name".to_owned())];
        }
        if let Err(failure) = check_replaceable(&path) {
            return vec![Effect::failure(&failure)];
        }
        if files::exists(&path) && self.replaced.as_ref() != Some(&path) {
            self.replaced = Some(path);
            let key = self.env.key(Context::GuidedText, Action::Next);
            return vec![toast(Level::Warn, format!("{shown} exists; {key} again replaces it"))];
        }
        match self.plan.to_yaml().and_then(|yaml| write_plan(&path, &yaml)) {
            Ok(()) => vec![Effect::Pop, toast(Level::Ok, format!("saved; run it with: gristmill run {shown}"))],
            Err(failure) => vec![Effect::failure(&failure)],
        }
    }
}

impl Screen for SavePlan {
    fn context(&self) -> Context {
        Context::GuidedText
    }

    fn is_popup(&self) -> bool {
        true
    }

    fn wants_text(&self) -> bool {
        true
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Next => "save",
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        let is_of_form = matches!(action, Action::NextField | Action::PreviousField | Action::SavePlan)
            || matches!(action, Action::StartAfresh | Action::Advanced)
            || find_step_index(action).is_some();
        is_of_form.then(|| "the plan is being saved".into())
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Next | Action::Accept) => return self.save(),
            Input::Action(Action::DropRow) => self.name.clear(),
            Input::Key(key) => {
                self.name.key(key);
            }
            Input::Paste(text) => {
                self.name.paste(&text);
            }
            Input::Action(_) | Input::Mouse(_) => {}
        }
        Vec::new()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let inner = popup(frame, area, area.width.min(60), 5, "Save the plan as", ui);
        let row = |y: u16| {
            Rect { x: inner.x + 1, y: inner.y + y, width: inner.width.saturating_sub(2), height: 1 }.intersection(inner)
        };
        self.name.draw(frame, row(1), true, "plan.yaml", ui);
        let key = ui.key(Context::GuidedText, Action::Next);
        let text = Span::styled(format!("{key} saves; `gristmill run FILE` runs it"), ui.theme.muted);
        draw_lines(frame.buffer_mut(), row(2), [Line::from(text)]);
    }
}
