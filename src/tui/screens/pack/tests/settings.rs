//! The step Formats: what is made, and every setting of it.

use super::*;

#[test]
fn formats_have_their_few_settings_and_all_of_them_on_demand() {
    let mut state = answered();
    state.go(Step::Targets);
    assert!(state.blocker(Step::Targets).unwrap().contains("at least one format"));
    compare("formats_none", &mut state);
    [Field::Modalities, Field::Nanosets, Field::Forager].into_iter().for_each(|field| state.toggle(field));
    compare("formats", &mut state);
    assert_eq!(state.plan.forager.as_ref().unwrap().sample_size, SampleSize::Fixed(4_096));
    type_into(&mut state, Field::SampleSize, "");
    assert_eq!(state.plan.forager.as_ref().unwrap().sample_size, SampleSize::Variable);
    state.act(Action::Advanced);
    type_into(&mut state, Field::Tasks, "many");
    state.focus_on(Field::Tasks);
    compare("formats_all", &mut state);
    assert!(state.blocker(Step::Targets).is_none_or(|why| why.contains("not a number")));
    type_into(&mut state, Field::Tasks, "8");
    assert_eq!(state.plan.nanosets.as_ref().unwrap().tasks, Some(8));
}

#[test]
fn every_setting_of_the_flags_can_be_given() {
    let mut state = answered();
    [Field::Modalities, Field::Nanosets, Field::Forager].into_iter().for_each(|field| state.toggle(field));
    [Field::NanosetsMasks, Field::Classic, Field::ForagerMasks, Field::MaskEnd, Field::SpecialTokens]
        .into_iter()
        .for_each(|field| state.toggle(field));
    for (field, value) in [
        (Field::PadTo, "9"),
        (Field::PadToken, "<pad>"),
        (Field::EodToken, "<eod>"),
        (Field::Index, "a.idx"),
        (Field::Rank, "1"),
        (Field::Tasks, "3"),
        (Field::Skip, "4"),
        (Field::Limit, "1,000"),
        (Field::Prefix, "web"),
        (Field::Logs, "logs"),
        (Field::MaskParts, "system, tool"),
        (Field::Suffix, "samples"),
        (Field::IndexFolder, "idx"),
        (Field::TokenizerName, "gpt2"),
        (Field::SampleSize, "64"),
        (Field::PathsFile, "list.txt"),
        (Field::BatchLines, "16"),
    ] {
        type_into(&mut state, field, value);
    }
    let command = state.command();
    for flag in [
        "--pad-token '<pad>'",
        "--eod-token '<eod>'",
        "--index a.idx",
        "--rank 1",
        "--skip 4",
        "--limit 1000",
        "--prefix web",
        "--names classic",
        "--logging-dir logs",
        "--loss-masks",
        "--mask-parts system,tool",
        "--mask-eos",
        "--file-suffix samples",
        "--index-folder idx",
        "--no-special-tokens",
        "--tokenizer-name gpt2",
        "--paths-file list.txt",
        "--batch-lines 16",
    ] {
        assert!(command.contains(flag), "{flag}: {command}");
    }
    state.go(Step::Targets);
    let few = state.fields().len();
    state.act(Action::Advanced);
    assert!(state.fields().len() > few + 15 && state.fields().contains(&Field::MaskParts));
    // Batches are asked for where they count.
    assert!(state.fields().contains(&Field::PathsFile) && !state.fields().contains(&Field::BatchLines));
    state.plan.compat = true;
    assert!(state.fields().contains(&Field::BatchLines));
    type_into(&mut state, Field::BatchLines, "");
    assert!(!state.command().contains("--batch-lines"));
    // Switched off and on again, what was typed comes back.
    let before = state.plan.nanosets.clone().unwrap();
    (0..2).for_each(|_| state.toggle(Field::Nanosets));
    let after = state.plan.nanosets.clone().unwrap();
    assert_eq!(
        (after.rank, after.skip, after.limit, after.prefix),
        (before.rank, before.skip, before.limit, before.prefix)
    );
}

#[test]
fn the_output_is_proposed_beside_the_input_until_somebody_says_otherwise() {
    let mut state = answered();
    state.toggle(Field::Modalities);
    assert_eq!(state.plan.output, "/data/corpus.pbin");
    state.toggle(Field::Nanosets);
    assert_eq!(state.plan.output, "/data/corpus-tokens");
    type_into(&mut state, Field::Output, "/elsewhere");
    state.toggle(Field::Nanosets);
    assert_eq!(state.plan.output, "/elsewhere");
}
