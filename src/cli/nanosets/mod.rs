//! Token folders on the command line: the commands of `nanosets`, and `info`, `lint`, `verify` of one.

pub mod check;

use super::arguments::{commands_of, given_of, GivenPlan};
use clap::error::{Error, ErrorKind};
use clap::{ArgMatches, Args, Command, FromArgMatches};

const GROUP: &str = "nanosets";

/// The arguments of a command of `nanosets`.
#[derive(Clone, Debug)]
pub struct NanosetsArgs(pub GivenPlan);

impl FromArgMatches for NanosetsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        given_of(GROUP, matches).map(Self).ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for NanosetsArgs {
    fn augment_args(command: Command) -> Command {
        command.subcommands(commands_of(GROUP)).subcommand_required(true).arg_required_else_help(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
