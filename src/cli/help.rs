//! `completions`, `help` and `man`: shell completions, help and manual pages.

use super::args::Cli;
use super::context::Context;
use super::exit::CommandResult;
use super::success_without_fields;
use super::usage::commands_hint;
use crate::tui::theme::BUILT_IN;
use clap::builder::PossibleValuesParser;
use clap::CommandFactory;
use gristmill_core::sample_type::{CRUDE_CLASS, SAMPLE_TYPES};
use gristmill_core::{Failure, Outcome, Subject};

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell, context: &Context) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_values(Cli::command()), "gristmill", &mut script);
    context.printer.raw(&String::from_utf8_lossy(&script));
    success_without_fields()
}

/// Adds possible values for the completions of a shell: the names of commands, and those values of options that data or files can extend.
fn with_values(program: clap::Command) -> clap::Command {
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<String> = shown.map(|command| command.get_name().to_owned()).collect();
    ["help", "man"].into_iter().fold(with_option_values(program), |program, command| {
        let names = PossibleValuesParser::new(&names);
        program.mut_subcommand(command, |page| page.mut_arg("command", |arg| arg.value_parser(names)))
    })
}

fn with_option_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "theme" => arg.value_parser(PossibleValuesParser::new(BUILT_IN.map(|(name, _)| name))),
        "sample-type" => arg
            .value_parser(PossibleValuesParser::new(SAMPLE_TYPES.iter().map(|known| known.class).chain([CRUDE_CLASS]))),
        _ => arg,
    });
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, with_option_values))
}

/// Prints the same as `COMMAND --help`.
pub fn help(names: &[String], context: &Context) -> CommandResult {
    let mut program = Cli::command();
    find_command(&program, names, "finding the help")?;
    let words = std::iter::once("gristmill").chain(names.iter().map(String::as_str)).chain(["--help"]);
    // A request for help always ends the parser with an error that contains the help.
    if let Err(help) = program.try_get_matches_from_mut(words) {
        context.printer.raw(&help.render().ansi().to_string());
    }
    success_without_fields()
}

/// Prints the manual page of the program or of one command, including its subcommands.
pub fn man(names: &[String], context: &Context) -> CommandResult {
    let mut program = Cli::command();
    program.build();
    let page = find_command(&program, names, "finding the manual page")?.clone();
    let name = std::iter::once("gristmill").chain(names.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
    let mut text = Vec::new();
    render_page(page.name(name), &mut text)
        .map_err(|error| Failure::environment("rendering the manual page", error.to_string()))?;
    context.printer.raw(&String::from_utf8_lossy(&text));
    success_without_fields()
}

/// Returns the command with this path of names.
fn find_command<'a>(program: &'a clap::Command, names: &[String], action: &str) -> Outcome<&'a clap::Command> {
    names.iter().try_fold(program, |parent, name| {
        parent.find_subcommand(name).ok_or_else(|| {
            Failure::usage(action, "there is no such command")
                .on(Subject::field(name))
                .with_hint(commands_hint(parent, Some(name)))
        })
    })
}

fn render_page(page: clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    let commands: Vec<clap::Command> = page.get_subcommands().cloned().collect();
    let is_program = page.get_name() == "gristmill";
    let mut first = Vec::new();
    clap_mangen::Man::new(page).render(&mut first)?;
    let mut is_replaced = false;
    for line in first.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".SH ") {
            is_replaced = line.starts_with(b".SH SYNOPSIS") && is_program;
            if is_replaced {
                // The list of all global options, without their values, would be longer than their descriptions are clear.
                text.extend_from_slice(b".SH SYNOPSIS\n\\fBgristmill\\fR [\\fIOPTIONS\\fR] [\\fICOMMAND\\fR]\n");
            }
        }
        if is_replaced {
            continue;
        }
        text.extend_from_slice(line);
        if line.starts_with(b".TH ") {
            // Left-aligned, because JSON has long words without a break, which cannot be justified.
            text.extend_from_slice(b".ad l\n");
        }
    }
    commands.into_iter().try_for_each(|command| render_command(command, text))
}

/// Adds the synopsis and the options of a command and its subcommands. Global options have a list of their own.
fn render_command(command: clap::Command, text: &mut Vec<u8>) -> std::io::Result<()> {
    if command.is_hide_set() {
        return Ok(());
    }
    let own = command.mut_args(|arg| if arg.is_global_set() { arg.hide(true) } else { arg });
    let title = own.get_bin_name().unwrap_or(own.get_name()).to_owned();
    let commands: Vec<clap::Command> = own.get_subcommands().cloned().collect();
    let man = clap_mangen::Man::new(own.name(title.clone()));
    let mut section = Vec::new();
    man.render_synopsis_section(&mut section)?;
    man.render_description_section(&mut section)?;
    man.render_options_section(&mut section)?;
    let section = String::from_utf8_lossy(&section).replace("\n.SH ", "\n.SS ");
    text.extend_from_slice(format!(".SH {}\n", title.to_uppercase()).as_bytes());
    text.extend_from_slice(
        section.strip_prefix(".SH ").map(|rest| format!(".SS {rest}")).unwrap_or(section).as_bytes(),
    );
    commands.into_iter().try_for_each(|command| render_command(command, text))
}
