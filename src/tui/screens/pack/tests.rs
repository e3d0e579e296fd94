use super::guide::PackGuide;
use super::look;
use super::seen::{Extracted, Files};
use super::state::PackState;
use super::step::{Field, Step};
use crate::tui::form::{draw, Answers as _, Step as _};
use crate::tui::keymap::Action;
use crate::tui::testing;
use gristmill_core::pack::{EndToken, ForagerTarget, NanosetsTarget, SampleSize, TextField};
use gristmill_core::{Cancel, Failure, PackFormat, PackPlan, Problem, ProblemKind, Subject};
use gristmill_ops::job::pack::{PackPreview, PackSample, Skipped, TargetPreview};
use gristmill_ops::job::prepare::OutputFile;
use gristmill_ops::source::text::Packing;
use gristmill_tokenizer::Tokenizer;
use std::sync::Arc;
use std::time::Duration;

mod settings;

const TOKENIZER: &str = "tests/golden/nanosets/tokenizers/bpe1k.json";

fn shown(state: &mut PackState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| draw::<PackGuide>(state, frame, area, ui))
}

fn compare(name: &str, state: &mut PackState) {
    testing::compare(&format!("pack_{name}"), &testing::SCREENS, |size| shown(state, size.0, size.1, size.2));
}

/// Documents as people have them: most with a text, one without, one empty.
const LINES: &str =
    "{\"id\": 1, \"text\": \"The quick brown fox\\njumps over the lazy dog\", \"meta\": {\"lang\": \"en\"}}\n\
{\"id\": 2, \"text\": \"Grüße aus Köln, 東京 und Москва\", \"meta\": {}}\n\
{\"id\": 3, \"summary\": \"no text at all\"}\n\
{\"id\": 4, \"text\": \"\"}\n\
{\"id\": 5, \"text\": \"The last one.\", \"summary\": \"short\"}\n";

/// What the workers would find in one file of `lines`.
fn with_documents(plan: PackPlan, lines: &str) -> PackState {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, lines.as_bytes(), 0o644).unwrap();
    let real = PackPlan { inputs: vec![path.display().to_string()], ..plan.clone() };
    let mut files = look::files(&real, &Cancel::default()).unwrap();
    let documents = Arc::new(look::documents(&files.shown, &Cancel::default()));
    for file in &mut files.shown {
        file.path = "/data/corpus.jsonl".into();
    }
    let mut state = PackState::new(plan);
    state.seen.keys.clone_from(&documents.keys);
    state.seen.files = Some(Arc::new(Ok(files)));
    state.seen.documents = Some(documents);
    state.propose();
    state.settle_lists();
    extract(&mut state);
    state
}

fn extract(state: &mut PackState) {
    let documents = state.seen.documents.clone().unwrap();
    let format = state.plan.formats().first().copied().unwrap_or(PackFormat::Nanosets);
    state.seen.extracted = Some(Arc::new(look::extract(&state.plan.text, &documents, format)));
}

fn plan() -> PackPlan {
    PackPlan::new(vec!["/data/corpus.jsonl".into()], "", "")
}

fn answered() -> PackState {
    let mut state = with_documents(plan(), LINES);
    state.seen.tokenizers = vec![TOKENIZER.into(), "gpt2".into()];
    state.settle_lists();
    state.go(Step::Tokenizer);
    type_into(&mut state, Field::Tokenizer, TOKENIZER);
    load(&mut state);
    state
}

fn load(state: &mut PackState) {
    let tokenizer = Tokenizer::load(&state.plan.tokenizer).unwrap();
    let texts = state.seen.extracted.clone().unwrap();
    let text = texts.texts.iter().find_map(|text| text.clone().ok());
    let look = look::look_at(&tokenizer, text.as_deref(), &state.plan);
    state.seen.tokenizer = Some((state.plan.tokenizer.clone(), Arc::new(look)));
    state.propose();
}

fn type_into(state: &mut PackState, field: Field, text: &str) {
    state.form.inputs.entry(field).or_default().set(text);
    state.typed(field);
}

fn preview() -> PackPreview {
    let output = |name: &str, bytes, replaces| OutputFile { name: name.into(), bytes, replaces };
    let target = |format, path: &str, outputs| TargetPreview {
        format,
        path: path.into(),
        outputs,
        documents: 1_204_331,
        tokens: 812_004_118,
        bytes: 1_624_008_236,
        token_bytes: 2,
        skipped: vec![Skipped { reason: "its text is empty".into(), is_by_design: true, documents: 12 }],
    };
    PackPreview {
        files: Vec::new(),
        file_count: 12,
        bytes: 3_900_000_000,
        sample: PackSample {
            lines: 4_096,
            documents: 4_090,
            bytes: 12_000_000,
            tokens: 2_700_000,
            bytes_per_second: 6e7,
        },
        targets: vec![
            target(
                PackFormat::Modalities,
                "/data/out/modalities",
                vec![output("modalities/corpus.pbin", 1_624_008_236, false)],
            ),
            target(
                PackFormat::Nanosets,
                "/data/out/nanosets",
                vec![
                    output("nanosets/00000_unshuffled.ds", 1_624_008_236, true),
                    output("nanosets/00000_unshuffled.ds.index", 9_634_648, false),
                    output("nanosets/00000_unshuffled.ds.metadata", 52, false),
                ],
            ),
        ],
        documents: 1_204_331,
        tokens: 811_000_000,
        estimated: Duration::from_secs(95),
        needed_bytes: 3_260_000_000,
        free_bytes: 88_000_000_000,
        warnings: vec!["the tokenizer file asks for truncation".into()],
        resumable_bytes: 0,
        nothing_to_do: false,
        problems: vec![Problem::problem(ProblemKind::CutShort, Subject::default(), "b.jsonl.gz is cut short")],
    }
}

#[test]
fn files_are_listed_with_what_each_format_makes_of_them() {
    let mut state = with_documents(plan(), LINES);
    if let Some(Ok(files)) = state.seen.files.clone().as_deref() {
        let mut files = files.clone();
        let more = |name: &str, packing| gristmill_ops::source::text::TextFile {
            name: name.into(),
            packing,
            ..files.shown[0].clone()
        };
        let added = vec![more("a/part-0001.jsonl.zst", Packing::Zstd), more("a/part-0002.jsonl.gz", Packing::Gzip)];
        files.shown.extend(added);
        files.total = 3;
        files.by_format = vec![
            (PackFormat::Modalities, Ok((3, files.bytes))),
            (PackFormat::Nanosets, Ok((5, files.bytes * 2))),
            (PackFormat::Forager, Err("there is no file whose name ends in .jsonl".into())),
        ];
        state.seen.files = Some(Arc::new(Ok(files)));
    }
    compare("source", &mut state);
    state.seen.files = Some(Arc::new(Err(
        Failure::usage("looking for text", "--glob fits no file").with_hint("**/*.jsonl looks into all folders")
    )));
    compare("source_failed", &mut state);
    assert!(state.blocker(Step::Source).unwrap().contains("fits no file"));
}

#[test]
fn keys_of_real_documents_are_offered_with_their_share() {
    let mut state = with_documents(plan(), LINES);
    state.go(Step::Text);
    compare("text", &mut state);
    let keys: Vec<(&str, usize)> = state.seen.keys.iter().map(|key| (key.name.as_str(), key.documents)).collect();
    assert_eq!(keys, [("text", 4), ("summary", 2), ("id", 5), ("meta", 2)]);
    assert_eq!(state.blocker(Step::Text), None);
    state.act(Action::Down);
    assert_eq!(state.plan.text, TextField::Key("summary".into()));
}

#[test]
fn a_program_is_tried_on_real_documents_and_its_mistakes_are_shown() {
    let mut state = with_documents(plan(), LINES);
    state.go(Step::Text);
    (0..4).for_each(|_| state.act(Action::Down));
    assert_eq!(state.plan.text, TextField::Jq(String::new()));
    state.focus_on(Field::Jq);
    assert!(state.wants_text());
    type_into(&mut state, Field::Jq, ".text + \" / \" + .summary");
    extract(&mut state);
    compare("jq", &mut state);
    type_into(&mut state, Field::Jq, ".text | [");
    extract(&mut state);
    compare("jq_wrong", &mut state);
    assert!(state.blocker(Step::Text).is_some());
}

#[test]
fn a_wrong_key_names_those_that_exist() {
    let state = with_documents(PackPlan { text: TextField::Key("body".into()), ..plan() }, LINES);
    let why = state.blocker(Step::Text).unwrap();
    assert!(why.contains("the lines have the keys: text, summary, id, meta"), "{why}");
}

#[test]
fn a_document_is_shown_token_by_token_with_what_is_put_around_it() {
    let mut state = answered();
    assert_eq!(state.plan.end, Some(EndToken::Text("<|endoftext|>".into())), "proposed from the vocabulary");
    load(&mut state);
    compare("tokenizer", &mut state);
    type_into(&mut state, Field::End, "<|nowhere|>");
    load(&mut state);
    let warnings = state.seen.tokenizer_of(TOKENIZER).unwrap().as_ref().unwrap().warnings.clone();
    assert!(warnings[0].contains("<|nowhere|> is not in the vocabulary"), "{warnings:?}");
    assert_eq!(state.plan.end, Some(EndToken::Text("<|nowhere|>".into())), "what was typed is not proposed away");
    type_into(&mut state, Field::End, "#7");
    assert_eq!(state.plan.end, Some(EndToken::Id(7)));
}

#[test]
fn before_a_tokenizer_is_chosen_those_found_are_offered() {
    let mut state = with_documents(plan(), LINES);
    state.seen.tokenizers = vec!["/data/tokenizer.json".into(), "meta-llama/Llama-3.1-8B".into()];
    state.settle_lists();
    state.go(Step::Tokenizer);
    compare("tokenizers_found", &mut state);
    state.focus_on(Field::Tokenizer);
    assert!(state.offers_found());
    state.plan.tokenizer = "named".into();
    assert!(!state.offers_found());
    state.plan.tokenizer.clear();
    state.focus_on(Field::Found);
    state.act(Action::Down);
    state.act(Action::Toggle);
    assert_eq!(state.plan.tokenizer, "meta-llama/Llama-3.1-8B");
    state.seen.tokenizer = Some((
        state.plan.tokenizer.clone(),
        Arc::new(Err(Failure::environment(
            "reading the tokenizer",
            "no such file, and no model of this name in the local hub cache",
        ))),
    ));
    compare("tokenizer_missing", &mut state);
}

#[test]
fn letters_are_only_typed_where_somebody_went_to_type() {
    let mut state = with_documents(plan(), LINES);
    assert_eq!((state.field(), state.wants_text()), (Some(Field::Files), false));
    state.act(Action::Up);
    assert_eq!((state.field(), state.wants_text()), (Some(Field::Glob), true));
    state.act(Action::Down);
    assert_eq!(state.field(), Some(Field::Files));
    // What has no value yet is no flag.
    let command = state.command();
    assert!(!command.contains("--tokenizer") && !command.contains("''"), "{command}");
}

#[test]
fn the_review_tells_what_is_missing_then_what_a_run_would_do() {
    let mut state = answered();
    state.go(Step::Review);
    compare("review_open", &mut state);
    assert_eq!(state.first_blocker().unwrap().0, Step::Targets);
    state.toggle(Field::Modalities);
    state.toggle(Field::Nanosets);
    type_into(&mut state, Field::Output, "/data/out");
    compare("review_waiting", &mut state);
    state.seen.preview = Some((state.plan.clone(), Arc::new(Ok(preview()))));
    assert_eq!(state.first_blocker(), None);
    compare("review", &mut state);
    state.toggle(Field::Overwrite);
    assert!(state.preview_now().is_none(), "other answers, another outlook");
}

#[test]
fn going_back_loses_nothing() {
    let mut state = answered();
    state.go(Step::Targets);
    state.toggle(Field::Forager);
    let plan = state.plan.clone();
    while let Some(step) = state.form.step.previous() {
        state.go(step);
    }
    assert_eq!((state.form.step, &state.plan), (Step::Source, &plan));
    assert!(Step::ALL[..3].iter().all(|step| state.form.answered.contains(step)));
    state.form.draft = Some(Duration::from_secs(7_300));
    compare("draft", &mut state);
    state.act(Action::PreviousField);
    assert_eq!(state.form.rail, Some(Step::Source));
    state.act(Action::Down);
    state.act(Action::Down);
    compare("rail", &mut state);
}

#[test]
fn hostile_documents_are_shown_safely_and_bound() {
    let lines = format!(
        "{{\"text\": \"\\u001b[31mred\\u0007\", \"\\u001b]0;x\": 1}}\n{{\"text\": \"{}\"}}\nnot json\n",
        "x".repeat(100_000)
    );
    let mut state = with_documents(plan(), &lines);
    state.go(Step::Text);
    let drawn = shown(&mut state, 80, 22, false);
    assert!(!drawn.contains('\u{1b}') && !drawn.contains('\u{7}'), "{drawn}");
    let extracted: &Extracted = state.seen.extracted.as_ref().unwrap();
    assert_eq!((extracted.with_text(), extracted.texts.len()), (2, 3));
    assert!(extracted.texts[1].as_ref().unwrap().len() <= 20_000);
}

#[test]
fn nothing_is_proposed_for_a_run_that_is_gone_on_with() {
    let end_after = |is_kept: bool| {
        let mut state = PackState::new(PackPlan::new(vec!["/data/corpus.jsonl".into()], "t.json", "/data/out"));
        if is_kept {
            state.keep_as_given();
        }
        // No tokenizer is known yet, so that what is proposed is no end token.
        state.plan.end = Some(EndToken::Id(3));
        state.propose();
        state.plan.end
    };
    assert_eq!(end_after(true), Some(EndToken::Id(3)));
    assert_eq!(end_after(false), None);
}

#[test]
fn a_format_that_finds_nothing_to_read_says_so_and_where_that_is_changed() {
    let mut state = with_documents(plan(), LINES);
    let by_format = vec![(PackFormat::Forager, Err("there is no file whose name ends in .jsonl".into()))];
    state.seen.files = Some(Arc::new(Ok(Files { by_format, ..Files::default() })));
    state.plan.forager = Some(ForagerTarget::new(SampleSize::Variable));
    state.plan.tokenizer = "tokenizer.json".into();
    state.go(Step::Targets);
    compare("formats_without_files", &mut state);
    assert!(state.blocker(Step::Targets).unwrap().contains("nothing to read for forager"));
    state.plan.forager = None;
    state.plan.nanosets = Some(NanosetsTarget::default());
    assert_eq!(state.blocker(Step::Targets), None);
}

#[test]
fn an_end_token_that_the_vocabulary_lacks_holds_its_step_back() {
    let unknown = |end: Option<&str>| {
        let mut state = with_documents(plan(), LINES);
        state.plan.tokenizer = TOKENIZER.into();
        state.plan.end = Some(EndToken::Text("<|nowhere|>".into()));
        let tokenizer = Tokenizer::load(&state.plan.tokenizer).unwrap();
        let look = look::look_at(&tokenizer, None, &state.plan);
        state.seen.tokenizer = Some((state.plan.tokenizer.clone(), Arc::new(look)));
        state.plan.end = end.map(|end| EndToken::Text(end.into()));
        state.blocker(Step::Tokenizer)
    };
    assert_eq!(unknown(Some("<|nowhere|>")).unwrap(), "the end token <|nowhere|> is not in the vocabulary");
    // What was found out of one says nothing of another.
    assert_eq!((unknown(Some("<|elsewhere|>")), unknown(None)), (None, None));
}
