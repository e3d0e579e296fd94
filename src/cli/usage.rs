//! Reports arguments that cannot be parsed.

use super::args::Cli;
use super::exit::object;
use super::printer::Printer;
use clap::error::ErrorKind;
use clap::CommandFactory;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::text::agree;
use gristmill_core::Failure;
use gristmill_storage::address_secrets::without_secrets;
use gristmill_storage::files;
use serde_json::Map;
use std::ffi::OsString;

/// Commands that list files in other programs.
const LISTING_WORDS: [&str; 3] = ["ls", "list", "dir"];

/// Reports that the arguments cannot be parsed, and returns the exit code; also handles `--help` and `--version`.
pub fn report(printer: &Printer, error: &clap::Error, args: &[OsString]) -> u8 {
    if !error.use_stderr() {
        printer.raw(&error.render().ansi().to_string());
        return printer.write_failure().map_or(0, |failure| failure.class.code());
    }
    // A group of commands without a command prints its help.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !printer.is_json() {
        printer.raw(&error.render().ansi().to_string());
        return printer.write_failure().map_or(0, |failure| failure.class.code());
    }
    let program = Cli::command();
    let typed = typed_command(&program, args);
    let commands = matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand)
        .then(|| commands_hint(typed.command, typed.unknown.as_deref()));
    let help = match typed.names.as_slice() {
        [] => "`gristmill --help` lists commands and flags".to_owned(),
        names => format!("`gristmill {} --help` lists the flags and their values", names.join(" ")),
    };
    let mut failure = usage_failure(&message_of(error, args), commands, help);
    if let (Some(path), true) = (path_for_a_command(error), typed.names.is_empty()) {
        failure.hint =
            Some(format!("gristmill browse {path} opens it; gristmill without arguments lists the files here"));
    }
    printer.error(&failure);
    printer.result(object(&typed.name(), "error", 2, Map::new(), &[failure]));
    2
}

/// Returns the message of the parser, in which addresses have no passwords and signatures.
fn message_of(error: &clap::Error, args: &[OsString]) -> String {
    let mut text = error.render().to_string();
    for word in args.iter().filter_map(|word| word.to_str()).filter(|word| word.contains(":/")) {
        let flag = word.strip_prefix("--").and_then(|flag| flag.split_once('='));
        let address = flag.map_or(word, |(_, value)| value);
        text = text.replace(address, &without_secrets(address));
    }
    text
}

/// Returns the file or folder that was typed in place of a command.
fn path_for_a_command(error: &clap::Error) -> Option<String> {
    let word = match error.get(clap::error::ContextKind::InvalidSubcommand) {
        Some(clap::error::ContextValue::String(word)) => word,
        _ => return None,
    };
    files::exists(word).then(|| gristmill_core::text::shell_quote(word))
}

/// The commands named in arguments that cannot be parsed.
struct TypedCommand<'a> {
    /// Names of the commands, outermost first.
    names: Vec<&'a str>,
    /// The innermost command; the program itself if no command is named.
    command: &'a clap::Command,
    /// The next word that is neither a flag nor a known command.
    unknown: Option<String>,
}

impl TypedCommand<'_> {
    /// Returns the name as in the result object; `none` if no command is named.
    fn name(&self) -> String {
        if self.names.is_empty() {
            "none".to_owned()
        } else {
            self.names.join(" ")
        }
    }
}

/// Finds the command names in the arguments, skipping flags and their values.
fn typed_command<'a>(program: &'a clap::Command, args: &[OsString]) -> TypedCommand<'a> {
    let mut typed = TypedCommand { names: Vec::new(), command: program, unknown: None };
    let mut words = args.iter().skip(1).map_while(|word| word.to_str()).take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            let is_it = |arg: &&clap::Arg| {
                let short =
                    arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])));
                short || arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long))
            };
            let flag = typed.command.get_arguments().chain(program.get_arguments()).find(is_it);
            if flag.is_some_and(|arg| arg.get_action().takes_values()) {
                words.next();
            }
            continue;
        }
        let Some(command) = typed.command.find_subcommand(word) else {
            typed.unknown = Some(word.to_owned());
            break;
        };
        typed.names.push(command.get_name());
        typed.command = command;
    }
    typed
}

/// Converts the message of the parser into a failure: its first line becomes the reason, and its tip, choices or usage the hint.
fn usage_failure(text: &str, commands: Option<String>, help: String) -> Failure {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("the arguments are not valid");
    let mut why = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    let (mut tip, mut choices, mut usage) = (None, None, None);
    let mut in_list = why.ends_with(':');
    for line in lines {
        if let Some(text) = line.strip_prefix("tip: ") {
            tip.get_or_insert(text.to_owned());
        } else if let Some(text) = line.strip_prefix('[') {
            choices.get_or_insert(text.trim_end_matches(']').to_owned());
        } else if let Some(text) = line.strip_prefix("Usage: ") {
            in_list = false;
            usage.get_or_insert(format!("usage: {text}"));
        } else if in_list {
            why.push(' ');
            why.push_str(line);
        }
    }
    if let Some(missing) = why.strip_prefix("the following required arguments were not provided: ") {
        let names: Vec<_> = missing.split_whitespace().map(|name| name.replace(['<', '>'], "")).collect();
        why = format!("{} {} not given", names.join(", "), agree(names.len() as u64, "is", "are"));
    }
    // A tip with `--` is wrong for negative values: a word after `--` is never the value of a flag.
    let is_negative = |tip: &String| !tip.contains("'-- -");
    let tip = tip.filter(is_negative);
    // The similar value may not be the meant one.
    let tip = tip.map(|tip| match &choices {
        Some(choices) => format!("{tip}; {choices}"),
        None => tip,
    });
    let hint = commands.or(tip).or(choices).or(usage);
    Failure::usage("reading the command line", why).with_hint(hint.unwrap_or(help))
}

/// Returns the hint for a command that does not exist below `parent`: the most similar name, or the list of all names.
pub fn commands_hint(parent: &clap::Command, typed: Option<&str>) -> String {
    if typed.is_some_and(|word| LISTING_WORDS.contains(&word)) && parent.find_subcommand("browse").is_some() {
        return "gristmill browse PATH opens a data set, gristmill info PATH describes it".to_owned();
    }
    match typed.and_then(|word| nearest(word, command_names(parent))) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("the commands are {}", command_names(parent).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the names of the visible commands below `parent`.
fn command_names(parent: &clap::Command) -> impl Iterator<Item = &str> {
    parent.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parser_message_becomes_reason_and_hint() {
        let text =
            "error: unexpected argument '--foo' found\n\n  tip: a similar argument exists: '--force'\n\nUsage: x\n";
        let failure = usage_failure(text, None, String::new());
        assert_eq!(failure.why, "unexpected argument '--foo' found");
        assert_eq!(failure.hint.as_deref(), Some("a similar argument exists: '--force'"));
    }

    #[test]
    fn hint_for_an_invalid_value_lists_all_values() {
        let text = "error: invalid value 'tcsh' for '<SHELL>'\n  [possible values: bash, zsh]\n\n  tip: a similar value exists: 'zsh'\n";
        let hint = usage_failure(text, None, String::new()).hint.unwrap_or_default();
        assert_eq!(hint, "a similar value exists: 'zsh'; possible values: bash, zsh");
    }

    #[test]
    fn missing_arguments_are_named_in_the_reason() {
        let text = "error: the following required arguments were not provided:\n  <PATH>\n\nUsage: x\n";
        assert_eq!(usage_failure(text, None, String::new()).why, "PATH is not given");
        let text = "error: the following required arguments were not provided:\n  <SRC>...\n  <DST>\n\nUsage: x\n";
        assert_eq!(usage_failure(text, None, String::new()).why, "SRC..., DST are not given");
    }

    #[test]
    fn unknown_command_hint_has_nearest_name_or_all_commands() {
        let program = Cli::command();
        assert_eq!(commands_hint(&program, Some("prepar")), "did you mean 'prepare'?");
        let all = commands_hint(&program, Some("frobnicate"));
        assert!(all.starts_with("the commands are prepare, prepare-media, pack, count, dedup"), "{all}");
        assert!(commands_hint(&program, Some("ls")).starts_with("gristmill browse PATH opens"));
        let mix = program.find_subcommand("mix").unwrap();
        assert_eq!(commands_hint(mix, Some("chek")), "did you mean 'check'?");
    }

    #[test]
    fn invalid_arguments_are_attributed_to_typed_command() {
        let program = Cli::command();
        let name =
            |line: &str| typed_command(&program, &line.split(' ').map(OsString::from).collect::<Vec<_>>()).name();
        assert_eq!(name("gristmill lint --foo"), "lint");
        assert_eq!(name("gristmill --threads 4 --json mix --scratch x new --foo"), "mix new");
        assert_eq!(name("gristmill splits move d --foo"), "splits move");
        assert_eq!(name("gristmill splits d --foo"), "splits");
        assert_eq!(name("gristmill energon prepare --foo"), "energon prepare");
        assert_eq!(name("gristmill --foo"), "none");
        assert_eq!(name("gristmill nonsense lint"), "none");
    }
}
