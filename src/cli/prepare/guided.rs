//! `prepare` with questions: the full screen where the terminal can, else plain prompts.

use super::super::context::Context;
use super::super::end::{Done, Finished};
use super::super::logging;
use crate::model::PreparePlan;
use crate::storage::xdg;
use crate::tui::theme::ColourMode;
use crate::tui::{Start, UiEnv};
use serde_json::Map;

/// Asks for what the plan leaves open, then runs it.
pub fn guided(plan: PreparePlan, context: &Context) -> Finished {
    if context.prefers_prompts() {
        let Some((plan, scan)) = crate::prompt::prepare(plan, &context.run_options())? else {
            context.printer.line("Nothing was written.");
            return Ok(Done::ok(Map::new()));
        };
        return super::execute(plan, Some(scan), context);
    }
    let path = std::path::PathBuf::from(&plan.path);
    screen(Start::Prepare(path, Box::new(plan)), context)
}

/// Runs the full-screen program until the person leaves it.
pub fn screen(start: Start, context: &Context) -> Finished {
    logging::start_for_screen(context);
    let mut env = UiEnv::new(context.run_options(), xdg::state_dir());
    env.ascii = context.globals.ascii;
    if context.has_no_colour() {
        env.colour = ColourMode::None;
    }
    let code = crate::tui::run(start, env)?;
    Ok(Done::with_code(code))
}
