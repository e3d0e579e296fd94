//! `gristmill megatron …`: the arguments of Megatron-LM's `tools/preprocess_data.py`, `tools/preprocess_data_fast.py` and
//! `tools/merge_datasets.py` (docs/formats/megatron.md §5 and §6).

use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::globals::Globals;
use super::super::{operation, paths};
use super::megatron_tokenizer::{choose, ChosenTokenizer, TokenizerArgs};
use clap::{value_parser, Args, Subcommand};
use gristmill_core::pack::{EmptyTexts, MegatronTarget, TextField};
use gristmill_core::{Failure, Outcome, PackPlan, Subject};
use gristmill_ops::operations::{erase, Pack};
use gristmill_ops::tokens::formats::{MegatronMerge, PairMergePlan};
use gristmill_storage::files;
use std::path::PathBuf;

/// The default key of the text.
const USUAL_KEY: &str = "text";

/// The tools.
#[derive(Clone, Debug, Subcommand)]
pub enum ToolCommand {
    /// Turn JSONL text into pairs of .bin and .idx: the arguments of preprocess_data.py
    #[command(name = "preprocess_data", alias = "preprocess-data", infer_long_args = true)]
    PreprocessData(Box<PreprocessArgs>),
    /// The same with the arguments of preprocess_data_fast.py, which treats empty texts differently
    #[command(name = "preprocess_data_fast", alias = "preprocess-data-fast", infer_long_args = true)]
    PreprocessDataFast(Box<FastArgs>),
    /// Put the pairs of a folder into one: the arguments of merge_datasets.py
    #[command(name = "merge_datasets", alias = "merge-datasets", infer_long_args = true)]
    MergeDatasets(MergeArgs),
}

/// The arguments of both tools; each given twice counts the last time, as there.
#[derive(Args, Clone, Debug)]
struct TextArgs {
    /// JSONL file; with --partitions also a pattern in quotes
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Keys of the texts: a pair for each [default: text]
    #[arg(long, value_name = "KEY", num_args = 1..)]
    json_keys: Vec<String>,
    /// Start of the names of the pairs
    #[arg(long, value_name = "PATH")]
    output_prefix: PathBuf,
    /// Put the end token after each document
    #[arg(long)]
    append_eod: bool,
    #[command(flatten)]
    tokenizer: TokenizerArgs,
}

/// The arguments of `preprocess_data.py`.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct PreprocessArgs {
    #[command(flatten)]
    text: TextArgs,
    /// Threads
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    workers: u16,
    /// Not supported: needs the sentence models of NLTK
    #[arg(long)]
    split_sentences: bool,
    /// Of --split-sentences
    #[arg(long)]
    keep_newlines: bool,
    /// Of --split-sentences
    #[arg(long, value_name = "NAME")]
    lang: Option<String>,
    /// Accepted, without effect
    #[arg(long, value_name = "N")]
    log_interval: Option<String>,
    /// Parts that the lines are dealt to, one part after the other in the pair
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..=65_536))]
    partitions: u32,
    /// Deal blocks of lines to the partitions, which keeps the order of the documents
    #[arg(long)]
    keep_sequential_samples: bool,
    /// Not supported: there is no number of workers to find
    #[arg(long)]
    find_optimal_num_workers: bool,
    /// Of --find-optimal-num-workers
    #[arg(long, value_name = "N", num_args = 1..)]
    workers_to_check: Vec<String>,
    /// Of --find-optimal-num-workers
    #[arg(long, value_name = "N")]
    max_documents: Option<String>,
}

/// The arguments of `preprocess_data_fast.py`.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct FastArgs {
    #[command(flatten)]
    text: TextArgs,
}

/// The arguments of `merge_datasets.py`.
#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub struct MergeArgs {
    /// Folder with pairs of .bin and .idx
    #[arg(long, value_name = "DIR")]
    input: PathBuf,
    /// Path of the merged pair without suffix
    #[arg(long, value_name = "PATH")]
    output_prefix: PathBuf,
    /// Keep the modes of the sequences, which all pairs must have
    #[arg(long)]
    multimodal: bool,
}

impl ToolCommand {
    /// Sets the number of threads to the number of workers.
    pub fn adjust(&self, globals: &mut Globals) {
        if let Self::PreprocessData(args) = self {
            globals.threads = globals.threads.or(Some(usize::from(args.workers)));
        }
    }
}

/// Runs a tool.
pub fn run(command: &ToolCommand, context: &Context) -> CommandResult {
    match command {
        ToolCommand::PreprocessData(args) => {
            refuse_unsupported(args)?;
            let is_reordered = args.partitions > 1 && !args.keep_sequential_samples;
            let target = MegatronTarget {
                special_tokens: !args.text.tokenizer.leaves_out_template(),
                empty_texts: EmptyTexts::Document,
                partitions: is_reordered.then_some(args.partitions),
                ..MegatronTarget::default()
            };
            pack(&args.text, target, args.partitions > 1, context)
        }
        ToolCommand::PreprocessDataFast(args) => {
            args.text.tokenizer.refuse_slow()?;
            let empty_texts = EmptyTexts::Sequence;
            let target = MegatronTarget { special_tokens: false, empty_texts, ..MegatronTarget::default() };
            pack(&args.text, target, false, context)
        }
        ToolCommand::MergeDatasets(args) => {
            let (input, output) =
                (paths::local_or_readable(&args.input)?, paths::local_or_writable(&args.output_prefix)?);
            let (multimodal, compat) = (args.multimodal, context.globals.compat);
            let plan = PairMergePlan { multimodal, overwrite: true, compat, ..PairMergePlan::new(input, output) };
            operation::execute(&*erase::<MegatronMerge>(plan), context)
        }
    }
}

/// Refuses unsupported flags, with a hint about alternatives.
fn refuse_unsupported(args: &PreprocessArgs) -> Outcome<()> {
    let (flag, why, hint) = if args.split_sentences {
        let hint = "split the texts first: a list of strings makes a document of several sequences, without the flag";
        ("--split-sentences", "the sentence models of NLTK are not part of this program", hint)
    } else if args.find_optimal_num_workers || !args.workers_to_check.is_empty() || args.max_documents.is_some() {
        let hint = "remove it; --workers sets the number of threads and does not change the output";
        ("--find-optimal-num-workers", "the number of workers is not searched for", hint)
    } else {
        return Ok(());
    };
    Err(Failure::usage("preprocess_data", why).on(Subject::field(flag)).with_hint(hint))
}

/// Packs texts as the tools do: existing files are overwritten without a question.
fn pack(args: &TextArgs, target: MegatronTarget, takes_pattern: bool, context: &Context) -> CommandResult {
    let chosen = choose(&args.tokenizer, args.append_eod)?;
    for note in args.tokenizer.notes(&chosen) {
        context.printer.note(&note);
    }
    let plan = plan(args, target, takes_pattern, &chosen)?;
    // The tokenizer stays loaded until the end of the run, so that the run does not load it again.
    let done = operation::execute(&*erase::<Pack>(PackPlan { compat: context.globals.compat, ..plan }), context);
    std::mem::forget(chosen);
    done
}

fn plan(args: &TextArgs, target: MegatronTarget, takes_pattern: bool, chosen: &ChosenTokenizer) -> Outcome<PackPlan> {
    let output = paths::local_or_writable(&args.output_prefix)?;
    if output.ends_with('/') {
        return Err(Failure::usage("preprocess_data", "it is a folder, and a prefix of file names is expected")
            .on(Subject::field("--output-prefix"))
            .with_hint("add a prefix: FOLDER/NAME"));
    }
    let input = paths::local_or_readable(&args.input)?;
    let (input, glob) = match takes_pattern && !files::exists(&args.input) {
        true => split_pattern(&input),
        false => (input, None),
    };
    let mut plan = PackPlan::new(vec![input], chosen.name.clone(), output);
    let (text, keys) = match args.json_keys.as_slice() {
        [] => (TextField::Key(USUAL_KEY.to_owned()), Vec::new()),
        [key] => (TextField::Key(key.clone()), Vec::new()),
        keys => (TextField::default(), keys.to_vec()),
    };
    (plan.text, plan.glob, plan.end) = (text, glob, chosen.end.clone());
    plan.special_tokens.clone_from(&args.tokenizer.special_tokens);
    plan.overwrite = true;
    plan.megatron = Some(MegatronTarget { keys, ..target });
    Ok(plan)
}

/// Splits a pattern into the folder before its first special character, and the pattern of files in that folder.
fn split_pattern(pattern: &str) -> (String, Option<String>) {
    let is_special = |part: &str| part.contains(['*', '?', '[']);
    let Some(first) = pattern.split('/').position(is_special) else { return (pattern.to_owned(), None) };
    let parts: Vec<&str> = pattern.split('/').collect();
    let (folder, glob) = parts.split_at(first.min(parts.len()));
    let folder = match folder {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        parts => parts.join("/"),
    };
    (folder, Some(glob.join("/")))
}

#[cfg(test)]
mod tests {
    use super::split_pattern;

    #[test]
    fn input_pattern_is_divided_into_folder_and_file_pattern() {
        let split = |pattern| split_pattern(pattern);
        assert_eq!(split("a/b/*.jsonl"), ("a/b".into(), Some("*.jsonl".into())));
        assert_eq!(split("part-?.jsonl"), (".".into(), Some("part-?.jsonl".into())));
        assert_eq!(split("/*/x.jsonl"), ("/".into(), Some("*/x.jsonl".into())));
        assert_eq!(split("a/x.jsonl"), ("a/x.jsonl".into(), None));
    }
}
