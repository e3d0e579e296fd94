//! Serves a mount until it is unmounted or a signal ends it.

use super::super::context::Context;
use super::super::exit::{CommandResult, CommandSuccess};
use super::super::{logging, paths, success_without_fields};
use super::detach::{self, BackgroundMount};
use super::shell::Shell;
use super::{point, GuardArgs, LayoutArg, MountArgs, MountCaller};
use gristmill_core::text::{count, shell_quote};
use gristmill_core::{Cancel, Failure, Problem, Subject};
use gristmill_fuse::{GuardCommand, MountEnd, MountEvent, MountOptions, UnmountOutcome};
use gristmill_ops::mount::{Layout, MountView, MountedSet, ReadLosses};
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use serde_json::{json, Map};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "mounting";
/// Number of threads that answer reads which wait for a store, and of as many for other requests: more than the number of reads that the
/// kernel sends ahead.
const STORE_THREADS: usize = 64;

/// Mounts a data set, and serves the mount until it ends.
pub fn serve(args: &MountArgs, caller: MountCaller, context: &Context) -> CommandResult {
    let data = PathBuf::from(paths::local_or_readable(&args.path)?);
    if args.shell {
        // Must be called before the process has threads.
        gristmill_fuse::enter_namespace()?;
    }
    point::check(&args.dir, &data, args.nonempty, caller)?;
    if args.detach && !detach::is_background() {
        return match detach::start(context)? {
            // The process in the background has reported its failure.
            BackgroundMount::Ended(code) => std::process::exit(i32::from(code)),
            BackgroundMount::Mounted(problems) => {
                let mut done = CommandSuccess::ok(result(args, &data));
                done.add_problems(&problems);
                Ok(done)
            }
        };
    }
    if caller == MountCaller::DropIn {
        context.printer.line(format!("Mounting {} at {}...", data.display(), args.dir.display()));
    }
    logging::start_for_screen(context);
    let given = data;
    let data = files::absolute(&given).map_err(|error| Failure::io(ACTIVITY, &given, &error))?;
    let cancel = match args.shell {
        // Signals are passed to the command; before the command starts, there is nothing to clean up.
        true => Cancel::default(),
        false => context.signals.cancel_on_signal(),
    };
    let set = MountedSet::open(&data, &view_of(args), &cancel)?;
    let problems = set.problems(&cancel)?;
    problems.iter().for_each(|problem| context.printer.problem(problem));
    report_notes(args, &set, context);
    if set.was_scanned() && files::is_dir(&data) {
        let path = shell_quote(&given.to_string_lossy());
        context
            .printer
            .progress_line(format!("all shards were scanned; after gristmill prepare {path} no scan is needed"));
    }
    if set.sample_count() == 0 {
        let failure = Failure::data(ACTIVITY, "it has nothing to show").on(Subject::path(&data));
        return Err(failure.with_hint("name a data set: gristmill info PATH describes a path").into());
    }
    let line = mounted_line(args, &data, &set);
    if context.globals.dry_run {
        context.printer.line(line.replacen("mounted", "would mount", 1));
        let mut done = CommandSuccess::ok(result(args, &given));
        done.add_problems(&problems);
        return Ok(done);
    }
    let shown = result(args, &given);
    let (at, made) = point::make(&args.dir)?;
    let options = options_of(args, data, (at, made), cancel, context);
    let (shell, losses) = (Shell::new(&options.at, &args.command), set.losses());
    let ending = std::thread::scope(|scope| {
        gristmill_fuse::serve(set, &options, &|event| match event {
            MountEvent::Mounted(id) => {
                announce(&line, caller, context);
                if detach::is_background() {
                    if let Err(failure) = detach::leave_terminal(&problems) {
                        context.printer.error(&failure);
                    }
                }
                if args.shell {
                    let (shell, at) = (&shell, &options.at);
                    scope.spawn(move || {
                        if shell.run(id, context) == UnmountOutcome::Busy {
                            context.printer.progress_line(busy_line(at, "a signal"));
                        }
                    });
                }
            }
            MountEvent::Signal(signal) if shell.pass(signal) => {}
            // The command has ended, but its child processes have files open.
            MountEvent::Signal(signal) => report(MountEvent::Abandoned(signal), &options.at, context),
            MountEvent::Ended => shell.wait(),
            other => report(other, &options.at, context),
        })
    })?;
    let mut done =
        CommandSuccess { code: shell.code().or_else(|| code_of(ending, caller)), ..CommandSuccess::ok(shown) };
    add_losses(&mut done, &problems, &losses, context);
    Ok(done)
}

/// Adds the problems reported at the start, and reports and adds those found since then.
fn add_losses(done: &mut CommandSuccess, reported: &[Problem], losses: &ReadLosses, context: &Context) {
    done.add_problems(reported);
    let found = losses.problems(reported);
    found.iter().for_each(|problem| context.printer.problem(problem));
    done.add_problems(&found);
}

fn options_of(
    args: &MountArgs,
    data: PathBuf,
    (at, made): (PathBuf, Vec<PathBuf>),
    cancel: Cancel,
    context: &Context,
) -> MountOptions {
    let (threads, is_remote) = (context.run_options().threads, is_remote(&data));
    MountOptions {
        threads: if is_remote { threads.max(STORE_THREADS) } else { threads },
        read_threads: is_remote.then_some(STORE_THREADS),
        source: data.into_os_string(),
        allow_other: args.allow_other,
        guard: guard_command(&at, &made),
        cancel,
        is_for_command: args.shell,
        at,
    }
}

fn announce(line: &str, caller: MountCaller, context: &Context) {
    match caller {
        MountCaller::Own => context.printer.line(line),
        MountCaller::DropIn => context.printer.line("Mount is ready to go."),
    }
}

/// Returns the fields of the result object.
fn result(args: &MountArgs, data: &Path) -> Map<String, serde_json::Value> {
    Map::from_iter([("path".to_owned(), json!(data)), ("mounted_at".to_owned(), json!(args.dir))])
}

fn code_of(ending: MountEnd, caller: MountCaller) -> Option<u8> {
    match (ending, caller) {
        (MountEnd::Signal(signal), MountCaller::Own) => u8::try_from(128 + signal).ok(),
        _ => None,
    }
}

fn view_of(args: &MountArgs) -> MountView {
    MountView {
        layout: layout_of(args.layout),
        split: args.split.clone(),
        decode: args.decode,
        tokenizer: args.tokenizer.clone(),
    }
}

/// Prints a note on a split without samples, and a note that only the first sample of each repeated key is shown, for layouts that do not
/// mark repeated keys.
fn report_notes(args: &MountArgs, set: &MountedSet, context: &Context) {
    let (repeats, layout) = (set.repeated_keys(), layout_of(args.layout));
    if repeats > 0 && matches!(layout, Layout::Tree | Layout::All) {
        let keys = if repeats == 1 { "1 key is repeated".to_owned() } else { format!("{repeats} keys are repeated") };
        let line = format!("{keys}: of each, the first sample is shown; --layout flat marks them");
        context.printer.progress_line(line);
    }
    if let Some(split) = args.split.as_ref().filter(|_| set.shown_count() == 0) {
        context.printer.progress_line(format!("the split '{split}' has no samples, so nothing is shown"));
    }
}

fn layout_of(layout: LayoutArg) -> Layout {
    match layout {
        LayoutArg::Tree => Layout::Tree,
        LayoutArg::Flat => Layout::Flat,
        LayoutArg::Folders => Layout::Folders,
        LayoutArg::All => Layout::All,
    }
}

/// Returns the line that is printed once the mount is ready, with how to end it.
fn mounted_line(args: &MountArgs, data: &Path, set: &MountedSet) -> String {
    let name = data.file_name().unwrap_or(data.as_os_str()).to_string_lossy();
    let split = args.split.as_ref().map(|split| format!(", split {split}")).unwrap_or_default();
    let samples = count(set.shown_count(), "sample");
    let dir = args.dir.to_string_lossy();
    let end = format!("\"umount {}\"", shell_quote(&dir));
    let end = match (args.shell, args.detach) {
        (true, _) => "the end of the shell".to_owned(),
        (false, true) => end,
        (false, false) => format!("Ctrl-C or {end}"),
    };
    format!("mounted {name} at {dir} ({}{split}, {samples}); {end} ends it", layout_of(args.layout).word())
}

fn report(event: MountEvent, at: &Path, context: &Context) {
    match event {
        MountEvent::Mounted(_) | MountEvent::Signal(_) | MountEvent::Ended => {}
        MountEvent::Busy => context.printer.progress_line(busy_line(at, "a second signal")),
        MountEvent::Covered => context.printer.progress_line(format!(
            "another mount is over this one at {}: unmount that, then this; a second signal ends this one at once",
            at.display()
        )),
        // The guard process unmounts.
        MountEvent::Abandoned(signal) => std::process::exit(128 + signal),
        MountEvent::Reloaded => {
            tracing::info!("the splits were read again");
            context.printer.progress_line("the splits were read again");
        }
        MountEvent::NotReloaded(failure) => {
            tracing::warn!("the splits were not read again: {failure}");
            context.printer.error(&failure);
        }
    }
}

fn busy_line(at: &Path, ends: &str) -> String {
    let at = at.display();
    format!("{at} is in use: it is no longer visible, and ends when its files are closed; {ends} ends it at once")
}

fn guard_command(at: &Path, made: &[PathBuf]) -> GuardCommand {
    let arguments = [OsString::from("mount-guard"), at.as_os_str().to_owned()];
    let made = made.iter().map(|folder| folder.clone().into_os_string());
    GuardCommand {
        program: detach::program(),
        arguments: arguments.into_iter().chain(made).collect(),
        has_terminal: !detach::is_background(),
    }
}

/// Unmounts once the process of a mount has ended.
pub fn guard(args: &GuardArgs) -> CommandResult {
    match gristmill_fuse::unmount_after_exit(&args.at, &args.made) {
        UnmountOutcome::Covered => {
            let why = "the process of a mount was killed, and another mount is over it";
            let at = shell_quote(&args.at.to_string_lossy());
            let hint = format!("unmount that, then this: umount {at}, twice");
            Err(Failure::environment("unmounting", why).on(Subject::path(&args.at)).with_hint(hint).into())
        }
        UnmountOutcome::Unmounted | UnmountOutcome::Busy => success_without_fields(),
    }
}
