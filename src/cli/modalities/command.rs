//! The equivalent command line of a run, for the result object.

use super::args::{ChunkArgs, FilterArgs, MergeArgs, OutputArgs, ShuffleArgs};
use gristmill_ops::engine::plan::CommandLine;
use std::path::PathBuf;

fn begun(name: &str, paths: &[PathBuf]) -> CommandLine {
    let mut line = CommandLine::of_words(&["gristmill", "modalities", name]);
    paths.iter().for_each(|path| line.path(path));
    line
}

fn ended(mut line: CommandLine, output: &OutputArgs, compat: bool) -> String {
    line.value("--output", &output.output.to_string_lossy());
    line.flag_if(output.overwrite, "--overwrite");
    line.flag_if(compat, "--compat");
    line.text()
}

/// Returns the command line of `modalities merge`.
pub fn merge(args: &MergeArgs, compat: bool) -> String {
    ended(begun("merge", &args.sources), &args.output, compat)
}

/// Returns the command line of `modalities shuffle`.
pub fn shuffle(args: &ShuffleArgs, compat: bool) -> String {
    let mut line = begun("shuffle", std::slice::from_ref(&args.path));
    line.value("--seed", &args.seed.text);
    ended(line, &args.output, compat)
}

/// Returns the command line of `modalities chunk`.
pub fn chunk(args: &ChunkArgs, compat: bool) -> String {
    let mut line = begun("chunk", &args.files);
    line.value("--part", &format!("{}/{}", args.part.0, args.part.1));
    line.value("--seed", &args.seed);
    ended(line, &args.output, compat)
}

/// Returns the command line of `modalities filter`.
pub fn filter(args: &FilterArgs, compat: bool) -> String {
    let mut line = begun("filter", std::slice::from_ref(&args.path));
    let named = args.documents_from.as_ref().map(|path| path.to_string_lossy().into_owned());
    let numbers = [("--min-tokens", args.min_tokens), ("--max-tokens", args.max_tokens)];
    let numbers = numbers.map(|(flag, number)| (flag, number.map(|number| number.to_string())));
    let flags = [("--documents", args.documents.clone()), ("--documents-from", named)];
    for (flag, value) in flags.into_iter().chain(numbers) {
        if let Some(value) = value {
            line.value(flag, &value);
        }
    }
    ended(line, &args.output, compat)
}
