//! Tests that flags and plans of packing are equivalent.

use super::plan::from_args;
use crate::cli::args::{Cli, Command};
use clap::Parser as _;
use gristmill_core::pack::{
    DocumentShuffle, EndToken, ForagerTarget, MaskedParts, ModalitiesTarget, NameProfile, NanosetsTarget, SampleSize,
    TextField, TokenType,
};
use gristmill_core::PackPlan;
use gristmill_ops::engine::plan::file::{pack_to_yaml, read, PlanFile};
use gristmill_ops::engine::plan::CommandLine;
use proptest::option::of;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    let odd = ["yes", "- x", "--yes", "null", "a: b", "'", "x\ny", "0x1", "~", "{a}", "-", "--", "é €", "1"];
    prop_oneof!["[a-z]{1,8}", "[ -~]{1,12}", prop::sample::select(odd.to_vec()).prop_map(str::to_owned)]
}

fn field() -> impl Strategy<Value = TextField> {
    prop_oneof![Just(TextField::default()), text().prop_map(TextField::Key), text().prop_map(TextField::Jq)]
}

fn end() -> impl Strategy<Value = EndToken> {
    prop_oneof![text().prop_map(EndToken::Text), any::<u32>().prop_map(EndToken::Id)]
}

fn modalities() -> impl Strategy<Value = ModalitiesTarget> {
    let texts = (of(text()), of(text()), of((any::<u32>(), of(text()))));
    (texts, of(any::<u32>()), any::<bool>(), any::<u64>()).prop_map(
        |((eod_token, index, pad), truncate_to, skip_bad_lines, batch_lines)| ModalitiesTarget {
            eod_token,
            index,
            truncate_to,
            pad_to: pad.as_ref().map(|pad| pad.0),
            pad_token: pad.and_then(|pad| pad.1),
            skip_bad_lines,
            batch_lines,
        },
    )
}

fn nanosets() -> impl Strategy<Value = NanosetsTarget> {
    let numbers =
        (of(any::<u32>()), of(any::<u32>()), of(any::<u64>()), of(any::<u64>()), any::<u64>(), of(any::<u64>()));
    (numbers, any::<[bool; 3]>(), of(text()), of(text())).prop_map(
        |((tasks, rank, chunk_size, max_tokens_per_file, skip, limit), b, prefix, logging_dir)| NanosetsTarget {
            tasks,
            rank,
            shuffle: if b[0] { DocumentShuffle::Documents } else { DocumentShuffle::None },
            chunk_size,
            max_tokens_per_file,
            loss_masks: b[1],
            prefix,
            names: if b[2] { NameProfile::Classic } else { NameProfile::Modern },
            skip,
            limit,
            logging_dir,
        },
    )
}

fn forager() -> impl Strategy<Value = ForagerTarget> {
    use TokenType::{I32, I64, U16, U32, U64, U8};
    let size = prop_oneof![Just(SampleSize::Variable), any::<u64>().prop_map(SampleSize::Fixed)];
    let usual = vec!["system".to_owned(), "prompt".to_owned()];
    let parts = prop_oneof![Just(usual), prop::collection::vec("[a-z -]{1,6}", 1..4)];
    let masks = of((parts, any::<bool>()).prop_map(|(parts, mask_end)| MaskedParts { parts, mask_end }));
    let types = of(prop::sample::select(vec![U8, U16, U32, I32, I64, U64]));
    (size, types, masks, text(), text(), any::<bool>()).prop_map(
        |(sample_size, token_type, masks, file_suffix, index_folder, special_tokens)| ForagerTarget {
            sample_size,
            token_type,
            masks,
            file_suffix,
            index_folder,
            special_tokens,
        },
    )
}

fn plans() -> impl Strategy<Value = PackPlan> {
    let targets = (of(modalities()), of(nanosets()), of(forager()))
        .prop_filter("a format", |(m, n, f)| m.is_some() || n.is_some() || f.is_some());
    let inputs = prop::collection::vec(text(), 1..3);
    let shared = (inputs, of(text()), field(), text(), of(text()), of(end()), text(), any::<u64>());
    let special = prop::collection::vec(text(), 0..3);
    (shared, of(text()), special, targets, any::<[bool; 2]>()).prop_map(
        |((inputs, glob, text, tokenizer, tokenizer_name, end, output, seed), paths_file, special, (m, n, f), b)| {
            let mut plan = PackPlan::new(inputs, tokenizer, output);
            plan.special_tokens = special;
            plan.paths_file = paths_file.filter(|_| n.is_some());
            (plan.glob, plan.text, plan.tokenizer_name, plan.end, plan.seed) = (glob, text, tokenizer_name, end, seed);
            (plan.modalities, plan.nanosets, plan.forager) = (m, n, f);
            [plan.overwrite, plan.compat] = b;
            plan
        },
    )
}

fn parse(words: &[String]) -> PackPlan {
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let Some(Command::Pack(args)) = cli.command else { panic!("{words:?}") };
    from_args(&args, cli.globals.compat).unwrap_or_else(|error| panic!("{error:?}"))
}

proptest! {
    #[test]
    fn the_printed_command_says_exactly_the_plan(plan in plans()) {
        let line = CommandLine::of_pack(&plan);
        prop_assert_eq!(parse(&line.arguments), plan, "{}", line.text());
    }

    #[test]
    fn a_plan_survives_being_written_to_a_file_and_read_again(plan in plans()) {
        let yaml = pack_to_yaml(&plan).unwrap();
        let back = read(&yaml);
        prop_assert!(back.is_ok(), "{:?}\n{}", back, yaml);
        prop_assert_eq!(back.unwrap(), PlanFile::Pack(Box::new(plan)), "{}", yaml);
    }
}

#[test]
fn flags_of_a_format_that_is_not_asked_for_are_refused_by_name() {
    let line = "gristmill pack a --format modalities --tokenizer t --output o --tasks 3 --variable --loss-masks";
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let cli = Cli::try_parse_from(&words).unwrap();
    let Some(Command::Pack(args)) = cli.command else { panic!() };
    let failures = from_args(&args, false).unwrap_err();
    let flags: Vec<_> = failures.iter().filter_map(|failure| failure.subject.field.as_deref()).collect();
    assert_eq!(flags, ["--tasks", "--variable", "--loss-masks"]);
    assert!(failures.iter().all(|failure| failure.class.code() == 2));
}

#[test]
fn forager_alone_goes_into_the_folder_that_it_reads() {
    let parse_line = |line: &str| parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(parse_line("gristmill pack a/b.jsonl --format forager").output, "a");
    assert_eq!(parse_line("gristmill pack b.jsonl --format forager").output, ".");
    assert_eq!(parse_line("gristmill pack src --format forager").output, "src");
    assert_eq!(parse_line("gristmill pack src --format forager --format nanosets").output, "");
    assert_eq!(parse_line("gristmill pack a b --format forager").output, "");
}
