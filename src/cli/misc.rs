//! Small commands without a data set: home, completions, manual pages.

use super::args::Cli;
use super::context::Context;
use super::end::Finished;
use super::plainly_done;
use crate::model::{Failure, Subject};
use crate::tui::Start;
use clap::CommandFactory;

/// The home screen; needs a terminal.
pub fn home(context: &Context) -> Finished {
    if !context.may_ask() {
        return Err(Failure::usage("opening the home screen", "it needs a terminal")
            .with_hint("name a command; `gristmill --help` lists them")
            .into());
    }
    if context.prefers_prompts() {
        return Err(Failure::usage("opening the home screen", "this terminal has no full screen")
            .with_hint("`gristmill prepare PATH --plain` asks by prompts")
            .into());
    }
    super::prepare::screen(Start::Home(None), context)
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell, context: &Context) -> Finished {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gristmill", &mut script);
    context.printer.raw(&String::from_utf8_lossy(&script));
    plainly_done()
}

/// Prints the manual page of the program or of one command.
pub fn man(command: Option<&str>, context: &Context) -> Finished {
    let mut cli = Cli::command();
    cli.build();
    let page = match command {
        None => cli,
        Some(name) => match cli.find_subcommand(name) {
            Some(found) => found.clone().name(format!("gristmill-{name}")),
            None => {
                return Err(Failure::usage("finding the manual page", "there is no such command")
                    .on(Subject::field(name))
                    .with_hint("`gristmill --help` lists the commands")
                    .into())
            }
        },
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::environment("rendering the manual page", error.to_string()))?;
    context.printer.raw(&String::from_utf8_lossy(&text));
    plainly_done()
}
