//! The command that opens the full-screen program, and its home screen.

use super::context::Context;
use super::exit::{CommandResult, CommandSuccess};
use super::logging;
use crate::tui::theme::ColourMode;
use crate::tui::FirstScreen;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Subject};

/// Opens the home screen, for which a terminal is required.
pub fn home(context: &Context) -> CommandResult {
    if !context.may_prompt() {
        return Err(Failure::usage("opening the home screen", "it needs a terminal")
            .with_hint("name a command; `gristmill --help` lists them")
            .into());
    }
    if context.prefers_prompts() {
        let why = match context.globals.plain {
            true => "--plain asks by prompts, and the home screen has none",
            false => "this terminal has no full-screen mode",
        };
        return Err(Failure::usage("opening the home screen", why)
            .with_hint("name a command: `gristmill prepare --plain` asks by prompts")
            .into());
    }
    screen(FirstScreen::Home(None), context)
}

/// Runs the full-screen program until the user quits.
pub fn screen(start: FirstScreen, context: &Context) -> CommandResult {
    if context.globals.save_plan.is_some() {
        // The plan is not known yet, and the user may run several plans.
        let failure = Failure::usage("opening the screens", "the screens save a plan with a key, not with this flag");
        let way = "press s on the page Review; or give all answers as flags, or --plain, and the plan is written first";
        return Err(failure.on(Subject::field("--save-plan")).with_hint(way).into());
    }
    context.set_screen();
    logging::start_for_screen(context);
    let env = context.ui_env()?;
    if env.colour != ColourMode::None {
        // The program has already decided whether to use colours; the backend must use the same decision.
        ratatui::crossterm::style::force_color_output(true);
    }
    let end = crate::tui::run(start, env)?;
    for (title, process) in end.left_jobs {
        let title = display_safe(&title);
        context.printer.line(format!("{title} continues as process {process}; `gristmill jobs` shows it"));
    }
    Ok(CommandSuccess::with_code(end.code))
}
