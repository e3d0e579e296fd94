//! The command line: arguments → plan → job, and one printed result.
//!
//! Owns the exit codes, and all output to stdout and stderr outside the full-screen program. Uses plans, jobs and checks; must not make
//! decisions that are not in a plan.

mod args;
mod arguments;
mod browse;
mod bug_report;
mod check;
mod context;
mod demo;
mod doctor;
mod dropin;
mod exit;
mod facts;
mod figures;
mod globals;
mod help;
mod info;
mod jobs;
mod keys;
mod kinds;
mod lint;
mod locale;
mod logging;
mod media;
mod mix;
mod mount;
mod operation;
mod panic;
mod paths;
mod plan_result;
mod prepare;
mod printer;
mod progress;
mod repair;
mod report;
mod run_plan;
mod screen;
mod signals;
mod splits;
#[cfg(feature = "remote")]
mod store_flags;
mod task;
mod usage;
mod waits;

pub use args::Cli;

use args::Command;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use context::Context;
use exit::{CommandFailure, CommandResult, CommandSuccess};
use gristmill_core::{Failure, Outcome, Problem, ProblemLog, ProblemSink as _, Subject};
use gristmill_ops::datasets::{CheckRequest, InfoRequest};
use gristmill_ops::engine::check::LintOptions;
use gristmill_storage::local_copy::remove_temporary_copies;
use gristmill_storage::location::{is_bucket_list, is_remote};
use gristmill_storage::{files, notices};
use printer::Printer;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use task::print_findings;
use waits::report_waits;

/// Runs the program with its arguments (the program's own name first) and returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    panic::install();
    signals::handle_file_size_signal();
    let args: Vec<OsString> = args.into_iter().collect();
    let printer = Printer::from_raw_args(&args);
    let (mut cli, name) = match parse(&args) {
        Ok(parsed) => parsed,
        Err(error) => return usage::report(&printer, &error, &args),
    };
    if let Some(Command::Energon(args)) = &cli.command {
        dropin::energon::adjust(args, &mut cli.globals);
    }
    if let Some(Command::Framework(command)) = &cli.command {
        command.adjust(&mut cli.globals);
    }
    if let Some(Command::Operation(given)) = &cli.command {
        operation::adjust(given, &mut cli.globals);
    }
    #[cfg(feature = "remote")]
    cli.globals.stores.apply();
    let printer = printer.configured(&cli.globals);
    let context = Context::new(cli.globals, printer);
    let finished = logging::start(&context, &name).map_err(Into::into).and_then(|()| match cli.command {
        // A process with threads cannot enter a namespace.
        command @ Some(Command::Mount(_) | Command::MountGuard(_) | Command::Energon(_)) => {
            dispatch(command, &name, &context)
        }
        command => report_waits(&context, || dispatch(command, &name, &context)),
    });
    let code = exit::report(&context, &name, finished);
    remove_temporary_copies();
    code
}

/// Parses the arguments. Also returns the name of the command, with the names of the commands that contain it.
fn parse(args: &[OsString]) -> Result<(Cli, String), clap::Error> {
    let mut command = Cli::command();
    let mut matches = command.try_get_matches_from_mut(args)?;
    let name = name_of(&matches);
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, name))
}

/// Returns the name of a command for the result object; `home` without a command.
fn name_of(matches: &ArgMatches) -> String {
    let commands = std::iter::successors(matches.subcommand(), |(_, inner)| inner.subcommand());
    let names: Vec<&str> = commands.map(|(name, _)| name).collect();
    match names.as_slice() {
        [] => "home".to_owned(),
        // The source of the documents is an argument of the tool.
        ["nanotron", tool, ..] => format!("nanotron {tool}"),
        names => names.join(" "),
    }
}

fn dispatch(command: Option<Command>, name: &str, context: &Context) -> CommandResult {
    if context.globals.save_plan.is_some() && command.as_ref().is_some_and(|command| !command.has_plan()) {
        let why = format!("{name} has no plan to save");
        return Err(Failure::usage("saving the plan", why).on(Subject::field("--save-plan")).into());
    }
    let path = command.as_ref().and_then(Command::data_path);
    // `browse` and `info` list the buckets of a store, which is not an address of data.
    let takes_list = matches!(command, Some(Command::Browse(_) | Command::Info { .. }));
    let is_list = |path: &&Path| takes_list && is_bucket_list(path);
    let path = path.filter(|path| !is_list(path));
    // The screen opens without waiting for the store.
    let opens_screen = matches!(command, Some(Command::Browse(_))) && context.has_full_screen();
    let (at_once, meanwhile) = match path {
        Some(path) if opens_screen && is_remote(path) => (None, spawn_loss_check(path.to_owned())),
        path => (path, None),
    };
    let mut problems = at_once.map(|path| report_losses(losses(path)?, context)).transpose()?.unwrap_or_default();
    let finished = run(command, context);
    if let Some(Ok(Ok(found))) = meanwhile.filter(|thread| thread.is_finished()).map(JoinHandle::join) {
        problems = report_losses(found, context)?;
    }
    let mut noticed = notices::take();
    if let Err(stopped) = &finished {
        noticed.retain(|notice| !stopped.states(notice));
    }
    print_findings(&noticed, &[], context);
    let mut done = finished?;
    done.add_problems(&problems);
    done.add_problems(&noticed);
    Ok(done)
}

/// Returns the problems of reading a path: data that are missing in its store.
fn losses(path: &Path) -> Outcome<Vec<Problem>> {
    let path = paths::local_or_readable(path)?;
    files::losses(&path).map_err(|error| Failure::io("reading", &path, &error))
}

/// Starts a thread that finds the losses of a path; `None` if the thread cannot be started.
fn spawn_loss_check(path: PathBuf) -> Option<JoinHandle<Outcome<Vec<Problem>>>> {
    std::thread::Builder::new().name("losses".to_owned()).spawn(move || losses(&path)).ok()
}

/// Prints losses, and returns them.
fn report_losses(losses: Vec<Problem>, context: &Context) -> Result<Vec<Problem>, CommandFailure> {
    let log = ProblemLog::new(context.globals.strict);
    losses.into_iter().try_for_each(|problem| log.report(problem))?;
    print_findings(&log.to_vec(), &[], context);
    Ok(log.to_vec())
}

fn run(command: Option<Command>, context: &Context) -> CommandResult {
    match command {
        None => screen::home(context),
        Some(Command::Run { plan, force_overwrite }) => run_plan::run(&plan, force_overwrite, context),
        Some(Command::Info { path, sequence_length }) => {
            info::run(&path, InfoRequest { sequence_length, ..InfoRequest::default() }, context)
        }
        Some(Command::Facts { path }) => figures::run(&path, context),
        Some(Command::Lint { path, decode }) => {
            let lint = LintOptions { decode, ..LintOptions::default() };
            lint::run(&path, CheckRequest { lint, ..CheckRequest::default() }, context)
        }
        Some(Command::Verify { path, tokenizer, source }) => {
            lint::verify(&path, &lint::VerifyReferences { tokenizer, source }, context)
        }
        Some(Command::Repair { path }) => repair::run(&path, context),
        Some(Command::Browse(args)) => browse::run(&args, context),
        Some(Command::Mount(args)) => mount::run(&args, context),
        Some(Command::MountGuard(args)) => mount::guard(&args),
        Some(Command::Demo { dir }) => demo::run(dir, context),
        Some(Command::Splits(args)) => splits::run(args, context),
        Some(Command::Mix(args)) => mix::run(args, context),
        Some(Command::Framework(command)) => command.run(context),
        Some(Command::Operation(given)) => operation::run(&given, context),
        Some(Command::Jobs { paths }) => jobs::run(&paths, context),
        Some(Command::Keys) => keys::run(context),
        Some(Command::Doctor { path, store }) => doctor::run(path.as_deref(), &store, context),
        Some(Command::BugReport) => bug_report::run(context),
        Some(Command::Completions { shell }) => help::completions(shell, context),
        Some(Command::Man { command }) => help::man(&command, context),
        Some(Command::Help { command }) => help::help(&command, context),
        Some(Command::Energon(args)) => dropin::energon::run(args, context),
        Some(Command::Nanotron(args)) => dropin::nanotron::run(args, context),
    }
}

/// Returns a success whose result object has no fields except the status.
fn success_without_fields() -> CommandResult {
    Ok(CommandSuccess::ok(serde_json::Map::new()))
}
