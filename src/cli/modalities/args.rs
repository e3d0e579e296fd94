//! The flags of `modalities`.

use super::super::args::Globals;
use super::super::dropin::{self, modalities::DataArgs};
use clap::{Args, Subcommand};
use gristmill_pycompat::random::Seed;
use std::path::PathBuf;

/// Merge, shuffle, cut and filter packed files; `data` has the names of the `modalities` program.
#[derive(Args, Clone, Debug)]
pub struct ModalitiesArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ModalitiesCommand,
}

/// The commands of `modalities`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModalitiesCommand {
    /// Put packed files one after the other into one
    Merge(MergeArgs),
    /// Put the documents of a packed file, or the lines of a .jsonl file, into a random order
    Shuffle(ShuffleArgs),
    /// Take one part of each file and shuffle all parts together
    Chunk(ChunkArgs),
    /// Keep only some documents of a packed file
    Filter(FilterArgs),
    /// Put conversations through a chat template, deal them to train, val and test, and pack each
    Instruction {
        /// Configuration (.yaml), as prepare_instruction_tuning_data takes it
        config: PathBuf,
    },
    /// The arguments of the `modalities data` program, for scripts that exist
    Data(Box<DataArgs>),
}

impl ModalitiesArgs {
    /// Applies the drop-in names and configurations that correspond to global flags.
    pub fn adjust(&self, globals: &mut Globals) {
        if let ModalitiesCommand::Data(args) = &self.command {
            dropin::modalities::adjust(args, globals);
        }
    }

    /// Returns the name of the command for the result object.
    pub fn name(&self) -> &'static str {
        match &self.command {
            ModalitiesCommand::Merge(_) => "modalities merge",
            ModalitiesCommand::Shuffle(_) => "modalities shuffle",
            ModalitiesCommand::Chunk(_) => "modalities chunk",
            ModalitiesCommand::Filter(_) => "modalities filter",
            ModalitiesCommand::Instruction { .. } => "modalities instruction",
            ModalitiesCommand::Data(args) => args.name(),
        }
    }
}

/// Where the result goes.
#[derive(Args, Clone, Debug)]
pub struct OutputArgs {
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    pub overwrite: bool,
}

/// Flags of `modalities merge`.
#[derive(Args, Clone, Debug)]
pub struct MergeArgs {
    /// Packed files, or folders with them at any depth
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Flags of `modalities shuffle`.
#[derive(Args, Clone, Debug)]
pub struct ShuffleArgs {
    /// Packed file (.pbin), or text with one document a line
    pub path: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Seed; Python's generator gives the order
    #[arg(long, value_name = "N", default_value = "42", value_parser = typed_seed, allow_hyphen_values = true)]
    pub seed: TypedSeed,
}

/// Flags of `modalities chunk`.
#[derive(Args, Clone, Debug)]
pub struct ChunkArgs {
    /// Packed files (.pbin), or text with one document a line
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Which chunk, counted from 0, of how many
    #[arg(long, value_name = "I/N", value_parser = part)]
    pub part: (u64, u64),
    /// One seed for all chunks; numpy's generator gives the order
    #[arg(long, value_name = "N", default_value = "42", value_parser = digits, allow_hyphen_values = true)]
    pub seed: String,
}

/// Flags of `modalities filter`.
#[derive(Args, Clone, Debug)]
pub struct FilterArgs {
    /// Packed file (.pbin)
    pub path: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Numbers of documents to keep, from 0: 0-99,200,300-
    #[arg(long, value_name = "RANGES", conflicts_with = "documents_from")]
    pub documents: Option<String>,
    /// The same from a file, separated by commas or lines
    #[arg(long, value_name = "FILE")]
    pub documents_from: Option<PathBuf>,
    /// Keep documents of at least N tokens, end token included
    #[arg(long, value_name = "N")]
    pub min_tokens: Option<u64>,
    /// Keep documents of at most N tokens, end token included
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
}

/// A seed and its text on the command line.
#[derive(Clone, Debug)]
pub struct TypedSeed {
    /// The seed.
    pub seed: Seed,
    /// Its digits as typed.
    pub text: String,
}

fn typed_seed(text: &str) -> Result<TypedSeed, String> {
    seed(text).map(|seed| TypedSeed { seed, text: text.trim().to_owned() })
}

/// Parses a seed of any size.
pub fn seed(text: &str) -> Result<Seed, String> {
    Seed::parse(text).ok_or_else(|| "a whole number is needed".to_owned())
}

/// Parses an integer of any size; returns its digits as Python prints them.
pub fn digits(text: &str) -> Result<String, String> {
    seed(text)?;
    let digits = text.trim_start_matches(['-', '+']).trim_start_matches('0');
    Ok(match (digits, text.starts_with('-')) {
        ("", _) => "0".to_owned(),
        (digits, true) => format!("-{digits}"),
        (digits, false) => digits.to_owned(),
    })
}

fn part(text: &str) -> Result<(u64, u64), String> {
    let numbers = text.split_once('/').and_then(|(id, of)| Some((id.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((id, of)) if id < of => Ok((id, of)),
        Some(_) => Err("chunks are counted from 0, so the first number must be below the second".into()),
        None => Err("two numbers are needed, as in 0/8".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_of_any_size_are_written_in_one_way() {
        for (typed, written) in
            [("42", "42"), ("+007", "7"), ("-0", "0"), ("-12", "-12"), ("18446744073709551616", "18446744073709551616")]
        {
            assert_eq!(digits(typed).as_deref(), Ok(written));
        }
        assert!(["", "-", "1.0", "0x10", "--1"].iter().all(|text| digits(text).is_err()));
    }
}
