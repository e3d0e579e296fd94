//! `prepare` with questions: on the full screen if the terminal supports it, otherwise by plain prompts.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::screen::screen;
use crate::tui::FirstScreen;
use gristmill_core::PreparePlan;
use gristmill_ops::operations::{erase, Prepare};
use serde_json::Map;

/// Asks the open questions of a plan, then runs it.
pub fn guided(plan: PreparePlan, context: &Context) -> CommandResult {
    if context.prefers_prompts() {
        let Some((plan, scan)) = crate::prompt::prepare(plan, &context.run_options())? else {
            context.printer.line("Nothing was written.");
            return Ok(CommandSuccess::ok(Map::new()));
        };
        return super::execute(plan, Some(scan), context);
    }
    screen(FirstScreen::Form(erase::<Prepare>(plan)), context)
}
