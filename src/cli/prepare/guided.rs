//! `prepare` with questions: on the full screen if the terminal supports it, otherwise by plain prompts.

use super::super::context::Context;
use super::super::exit::{Done, Finished};
use super::super::logging;
use crate::tui::theme::ColourMode;
use crate::tui::Start;
use gristmill_core::{Failure, PreparePlan, Subject};
use serde_json::Map;

/// Asks the open questions of a plan, then runs it.
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

/// Runs the full-screen program until the user leaves it.
pub fn screen(start: Start, context: &Context) -> Finished {
    if context.globals.save_plan.is_some() {
        // The answers are not known yet, and the user may give them several times.
        let failure = Failure::usage("opening the screens", "they save a plan where it is asked for, not under a name");
        let way = "press s on the page Review; or give all answers as flags, or --plain, and the plan is written first";
        return Err(failure.on(Subject::field("--save-plan")).with_hint(way).into());
    }
    logging::start_for_screen(context);
    let env = context.ui_env()?;
    if env.colour != ColourMode::None {
        // Whether to use colours is already decided; the backend must not decide differently.
        ratatui::crossterm::style::force_color_output(true);
    }
    let code = crate::tui::run(start, env)?;
    Ok(Done::with_code(code))
}
