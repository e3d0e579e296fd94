//! Tests that flags and plans of deduplicating are equivalent.

use super::plan::from_args;
use crate::cli::args::{Cli, Command};
use clap::Parser as _;
use gristmill_core::dedup::{Keep, Mode, Variant};
use gristmill_core::DedupPlan;
use gristmill_ops::engine::plan::file::{dedup_to_yaml, read, PlanFile};
use gristmill_ops::engine::plan::CommandLine;
use proptest::option::of;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    let odd = ["yes", "- x", "--yes", "null", "a: b", "'", "x\ny", "0x1", "~", "{a}", "-", "--", "é €", "1"];
    prop_oneof!["[a-z]{1,8}", "[ -~]{1,12}", prop::sample::select(odd.to_vec()).prop_map(str::to_owned)]
}

fn plans() -> impl Strategy<Value = DedupPlan> {
    let places = (text(), text(), of(text()), of(text()), of(text()), of(text()));
    let numbers = (of(any::<u64>()), any::<u64>(), any::<u32>());
    (places, numbers, (text(), text()), any::<[bool; 6]>()).prop_map(
        |((input, output, against, index, ranges, from), (min_length, min_count, shards), (key, text_key), b)| {
            DedupPlan {
                min_length,
                mode: if b[0] { Mode::Annotate } else { Mode::Remove },
                variant: if b[1] { Variant::B } else { Variant::A },
                annotate_key: key,
                text_key,
                keep: if b[2] { Keep::None } else { Keep::First },
                min_count,
                against,
                export_index: index,
                export_ranges: ranges,
                shards,
                table: b[3],
                from_index: from,
                overwrite: b[4],
                compat: b[5],
                ..DedupPlan::new(input, output)
            }
        },
    )
}

fn parse(words: &[String]) -> DedupPlan {
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let Some(Command::Dedup(args)) = cli.command else { panic!("{words:?}") };
    from_args(&args, cli.globals.compat).unwrap_or_else(|error| panic!("{error:?}"))
}

proptest! {
    #[test]
    fn the_printed_command_says_exactly_the_plan(plan in plans()) {
        let line = CommandLine::of_dedup(&plan);
        prop_assert_eq!(parse(&line.arguments), plan, "{}", line.text());
    }

    #[test]
    fn a_plan_survives_being_written_to_a_file_and_read_again(plan in plans()) {
        let yaml = dedup_to_yaml(&plan).unwrap();
        let back = read(&yaml);
        prop_assert!(back.is_ok(), "{:?}\n{}", back, yaml);
        prop_assert_eq!(back.unwrap(), PlanFile::Dedup(Box::new(plan)), "{}", yaml);
    }
}
