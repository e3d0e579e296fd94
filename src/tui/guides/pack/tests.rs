use super::guide::{plan_of, PackGuide, FILES, FOUND, JQ, TOKENIZER as TOKENIZER_FIELD};
use super::probe;
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, Guide as _};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use gristmill_core::options::Answer;
use gristmill_core::pack::{SpecialToken, TextField};
use gristmill_core::{Cancel, Failure, PackPlan, Problem, ProblemKind, RunOptions, Subject};
use gristmill_data::source::documents::Packing;
use gristmill_ops::job::report::OutputFile;
use gristmill_ops::operations::pack::{extract_texts, find_files, read_documents, DocumentTexts, InputFiles};
use gristmill_ops::operations::{erase, Pack};
use gristmill_ops::tokens::pack::{PackPreview, PackSample, Skipped, TargetPreview};
use gristmill_tokenizer::Tokenizer;
use std::sync::Arc;
use std::time::Duration;

mod settings;

const TOKENIZER: &str = "tests/golden/nanosets/tokenizers/bpe1k.json";

type Test = FormTest<PackGuide>;

fn open(plan: PackPlan) -> Test {
    let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
    let guide = PackGuide::start(&plan, &env);
    FormTest::new(erase::<Pack>(plan), guide)
}

fn plan(test: &Test) -> PackPlan {
    plan_of(&test.form)
}

fn compare(name: &str, test: &mut Test) {
    test.compare(&format!("pack_{name}"));
}

/// Applies the facts to the form.
fn update(test: &mut Test) {
    test.guide.propose(&mut test.form);
    test.guide.update_lists(&test.form);
    test.refresh();
}

/// Typical documents: most with a text, one without, one empty.
const LINES: &str =
    "{\"id\": 1, \"text\": \"The quick brown fox\\njumps over the lazy dog\", \"meta\": {\"lang\": \"en\"}}\n\
{\"id\": 2, \"text\": \"Grüße aus Köln, 東京 und Москва\", \"meta\": {}}\n\
{\"id\": 3, \"summary\": \"no text at all\"}\n\
{\"id\": 4, \"text\": \"\"}\n\
{\"id\": 5, \"text\": \"The last one.\", \"summary\": \"short\"}\n";

/// Returns the form with the facts that the workers would compute for one file of `lines`.
fn with_documents(plan: PackPlan, lines: &str) -> Test {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.jsonl");
    gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, lines.as_bytes(), 0o644).unwrap();
    let real = PackPlan { inputs: vec![path.display().to_string()], ..plan.clone() };
    let mut files = find_files(&real, &Cancel::default()).unwrap();
    let documents = Arc::new(read_documents(&files.shown, &Cancel::default()));
    for file in &mut files.shown {
        file.path = "/data/corpus.jsonl".into();
    }
    let mut test = open(plan);
    test.guide.known.files = Some(Arc::new(Ok(files)));
    test.guide.known.documents = Some(documents);
    update(&mut test);
    extract(&mut test);
    test
}

fn extract(test: &mut Test) {
    let documents = test.guide.known.documents.clone().unwrap();
    let plan = plan(test);
    let rules = gristmill_ops::tokens::formats::document_rules(&plan);
    test.guide.known.extracted = Some(Arc::new(extract_texts(&plan.text, &documents, rules)));
}

fn given() -> PackPlan {
    PackPlan::new(vec!["/data/corpus.jsonl".into()], "", "")
}

fn answered() -> Test {
    let mut test = with_documents(given(), LINES);
    test.guide.known.tokenizers = vec![TOKENIZER.into(), "gpt2".into()];
    update(&mut test);
    test.go_to("tokenizer");
    test.type_into("tokenizer", TOKENIZER);
    load(&mut test);
    test
}

fn load(test: &mut Test) {
    let plan = plan(test);
    let tokenizer = Tokenizer::load(&plan.tokenizer).unwrap();
    let texts = test.guide.known.extracted.clone().unwrap();
    let text = texts.texts.iter().find_map(|text| text.clone().ok());
    let tokenizer_preview = probe::probe_tokenizer(&tokenizer, text.as_deref(), &plan);
    test.guide.known.tokenizer = Some((plan.tokenizer, Arc::new(tokenizer_preview)));
    update(test);
}

fn set_formats(test: &mut Test, formats: &[&str]) {
    let formats = formats.iter().map(|format| (*format).to_owned()).collect();
    test.form.answer("format", &Answer::List(formats));
    update(test);
}

fn preview() -> PackPreview {
    let output = |name: &str, bytes, replaces| OutputFile { name: name.into(), bytes, replaces };
    let target = |format: &str, path: &str, outputs| TargetPreview {
        format: format.to_owned(),
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
            rows: 0,
            documents: 4_090,
            bytes: 12_000_000,
            tokens: 2_700_000,
            bytes_per_second: 6e7,
        },
        targets: vec![
            target("modalities", "/data/out/modalities", vec![output("modalities/corpus.pbin", 1_624_008_236, false)]),
            target(
                "nanosets",
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
        notes: Vec::new(),
        resumable_bytes: 0,
        nothing_to_do: false,
        problems: vec![Problem::problem(ProblemKind::CutShort, Subject::default(), "b.jsonl.gz is cut short")],
    }
}

#[test]
fn source_step_shows_files_per_format() {
    let mut test = with_documents(given(), LINES);
    if let Some(Ok(files)) = test.guide.known.files.clone().as_deref() {
        let mut files = files.clone();
        let more = |name: &str, packing| gristmill_data::source::documents::TextFile {
            name: name.into(),
            packing,
            ..files.shown[0].clone()
        };
        let added = vec![more("a/part-0001.jsonl.zst", Packing::Zstd), more("a/part-0002.jsonl.gz", Packing::Gzip)];
        files.shown.extend(added);
        files.total = 3;
        files.by_format = vec![
            ("modalities", Ok((3, files.bytes))),
            ("nanosets", Ok((5, files.bytes * 2))),
            ("forager", Err("there is no file whose name ends in .jsonl".into())),
        ];
        test.guide.known.files = Some(Arc::new(Ok(files)));
    }
    compare("source", &mut test);
    test.guide.known.files = Some(Arc::new(Err(
        Failure::usage("looking for text", "--glob fits no file").with_hint("**/*.jsonl looks into all folders")
    )));
    compare("source_failed", &mut test);
    assert!(test.blocker("source").unwrap().contains("fits no file"));
}

#[test]
fn failure_of_earlier_inputs_does_not_block_other_inputs() {
    let mut test = open(PackPlan::new(Vec::new(), "", ""));
    test.form.type_into("path", "/data/te");
    test.guide.request_data(&mut test.form);
    test.guide.known.files = Some(Arc::new(Err(Failure::usage("looking for text", "no such file or folder"))));
    assert!(test.blocker("source").is_some());
    test.form.type_into("path", "/data/text");
    test.guide.request_data(&mut test.form);
    assert!(test.guide.known.files.is_none(), "it is unknown until the inputs are listed");
    assert_eq!(test.blocker("source"), None);
}

#[test]
fn split_field_is_shown_only_with_several_splits() {
    let mut test = with_documents(given(), LINES);
    let is_asked = |test: &Test, name| test.form.fields().contains(&Field::Option(name));
    assert!(!is_asked(&test, "split") && !is_asked(&test, "subset"));
    test.guide.known.choices.splits = vec![("train".into(), 12), ("test".into(), 1)];
    update(&mut test);
    assert!(is_asked(&test, "split") && !is_asked(&test, "subset"));
    compare("source_splits", &mut test);
}

#[test]
fn text_step_offers_keys_of_documents_with_shares() {
    let mut test = with_documents(given(), LINES);
    test.go_to("text");
    compare("text", &mut test);
    let keys: Vec<(&str, usize)> =
        test.guide.known.keys().iter().map(|key| (key.name.as_str(), key.documents)).collect();
    assert_eq!(keys, [("text", 4), ("summary", 2), ("id", 5), ("meta", 2)]);
    assert_eq!(test.blocker("text"), None);
    test.act(Action::Down);
    assert_eq!(plan(&test).text, TextField::Key("summary".into()));
}

#[test]
fn jq_program_is_tried_on_documents_and_mistakes_are_shown() {
    let mut test = with_documents(given(), LINES);
    test.go_to("text");
    (0..4).for_each(|_| test.act(Action::Down));
    assert!(test.blocker("text").unwrap().contains("enter a jq program"));
    test.form.focus_on(JQ);
    assert!(test.form.wants_text());
    test.type_into("jq", ".text + \" / \" + .summary");
    extract(&mut test);
    compare("jq", &mut test);
    test.type_into("jq", ".text | [");
    extract(&mut test);
    compare("jq_wrong", &mut test);
    assert!(test.blocker("text").is_some());
}

#[test]
fn unknown_text_key_is_refused_with_existing_keys() {
    let test = with_documents(PackPlan { text: TextField::Key("body".into()), ..given() }, LINES);
    let why = test.blocker("text").unwrap();
    assert!(why.contains("the lines have the keys: text, summary, id, meta"), "{why}");
}

#[test]
fn document_is_shown_as_tokens_with_end_token() {
    let mut test = answered();
    assert_eq!(plan(&test).end, Some(SpecialToken::Text("<|endoftext|>".into())), "proposed from the vocabulary");
    load(&mut test);
    compare("tokenizer", &mut test);
    test.type_into("eos-token", "<|nowhere|>");
    load(&mut test);
    let warnings = test.guide.known.tokenizer_of(TOKENIZER).unwrap().as_ref().unwrap().warnings.clone();
    assert!(warnings[0].contains("<|nowhere|> is not in the vocabulary"), "{warnings:?}");
    assert_eq!(plan(&test).end, Some(SpecialToken::Text("<|nowhere|>".into())), "what was typed is not proposed away");
    test.type_into("eos-id", "7");
    assert_eq!(
        (plan(&test).end, test.form.value(Field::Option("eos-token")).as_str()),
        (Some(SpecialToken::Id(7)), "")
    );
}

#[test]
fn found_tokenizers_are_offered_before_one_is_chosen() {
    let mut test = with_documents(given(), LINES);
    test.guide.known.tokenizers = vec!["/data/tokenizer.json".into(), "meta-llama/Llama-3.1-8B".into()];
    update(&mut test);
    test.go_to("tokenizer");
    compare("tokenizers_found", &mut test);
    test.form.focus_on(TOKENIZER_FIELD);
    assert!(test.guide.completing_selects_tokenizer(&test.form));
    test.type_into("tokenizer", "named");
    assert!(!test.guide.completing_selects_tokenizer(&test.form));
    test.type_into("tokenizer", "");
    test.form.focus_on(FOUND);
    test.act(Action::Down);
    test.act(Action::Toggle);
    assert_eq!(plan(&test).tokenizer, "meta-llama/Llama-3.1-8B");
    test.guide.known.tokenizer = Some((
        plan(&test).tokenizer.clone(),
        Arc::new(Err(Failure::environment(
            "reading the tokenizer",
            "no such file, and no model of this name in the local hub cache",
        ))),
    ));
    compare("tokenizer_missing", &mut test);
}

#[test]
fn letters_are_typed_only_into_a_focused_text_field() {
    let mut test = with_documents(given(), LINES);
    assert_eq!((test.form.field(), test.form.wants_text()), (Some(FILES), false));
    let press = |test: &mut Test, action| {
        let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
        assert!(test.guide.handle_action(action, &mut test.form, &env).is_some());
    };
    press(&mut test, Action::Up);
    assert_eq!((test.form.field(), test.form.wants_text()), (Some(Field::Option("glob")), true));
    press(&mut test, Action::Down);
    assert_eq!(test.form.field(), Some(FILES));
    // An option without a value is not part of the command.
    let command = test.form.command();
    assert!(!command.contains("--tokenizer") && !command.contains("''"), "{command}");
}

#[test]
fn pack_review_shows_missing_answers_then_preview() {
    let mut test = answered();
    test.go_to("review");
    compare("review_open", &mut test);
    assert_eq!(test.first_blocker().unwrap().0, "formats");
    set_formats(&mut test, &["modalities", "nanosets"]);
    test.type_into("output", "/data/out");
    compare("review_waiting", &mut test);
    test.guide.known.preview = Some((plan(&test), Arc::new(Ok(preview()))));
    assert_eq!(test.first_blocker(), None);
    compare("review", &mut test);
    test.form.answer("force-overwrite", &Answer::On);
    assert!(test.guide.pack_preview(&test.form).is_none(), "other answers, another outlook");
}

#[test]
fn pack_form_keeps_answers_on_the_way_back() {
    let mut test = answered();
    test.go_to("formats");
    set_formats(&mut test, &["forager"]);
    let before = plan(&test);
    (0..test.form.step).rev().for_each(|step| test.form.select_step(step));
    assert_eq!((test.form.step, plan(&test)), (0, before));
    assert!((0..3).all(|step| test.form.is_answered(step)));
    test.form.draft = Some(Duration::from_secs(7_300));
    compare("draft", &mut test);
    test.act(Action::PreviousField);
    assert_eq!(test.form.rail, Some(0));
    test.act(Action::Down);
    test.act(Action::Down);
    compare("rail", &mut test);
}

#[test]
fn hostile_documents_are_escaped_and_limited() {
    let lines = format!(
        "{{\"text\": \"\\u001b[31mred\\u0007\", \"\\u001b]0;x\": 1}}\n{{\"text\": \"{}\"}}\nnot json\n",
        "x".repeat(100_000)
    );
    let mut test = with_documents(given(), &lines);
    test.go_to("text");
    let drawn = test.shown((80, 22, false));
    assert!(!drawn.contains('\u{1b}') && !drawn.contains('\u{7}'), "{drawn}");
    let extracted: &DocumentTexts = test.guide.known.extracted.as_ref().unwrap();
    assert_eq!((extracted.with_text(), extracted.texts.len()), (2, 3));
    assert!(extracted.texts[1].as_ref().unwrap().len() <= 20_000);
}

#[test]
fn resumed_run_gets_no_proposals() {
    let end_after = |is_kept: bool| {
        let mut test = answered();
        test.form = crate::tui::form::Form::new(erase::<Pack>(PackPlan { tokenizer: TOKENIZER.into(), ..given() }));
        if is_kept {
            test.form.disable_suggestions();
        }
        update(&mut test);
        plan(&test).end
    };
    assert_eq!(end_after(true), None);
    assert_eq!(end_after(false), Some(SpecialToken::Text("<|endoftext|>".into())));
}

#[test]
fn format_without_input_files_blocks_formats_step() {
    let mut test = with_documents(given(), LINES);
    let by_format = vec![("forager", Err("there is no file whose name ends in .jsonl".into()))];
    test.guide.known.files = Some(Arc::new(Ok(InputFiles { by_format, ..InputFiles::default() })));
    test.type_into("tokenizer", "tokenizer.json");
    set_formats(&mut test, &["forager"]);
    test.form.answer("variable", &Answer::On);
    test.go_to("formats");
    compare("formats_without_files", &mut test);
    assert!(test.blocker("formats").unwrap().contains("nothing to read for forager"));
    set_formats(&mut test, &["nanosets"]);
    assert_eq!(test.blocker("formats"), None);
}

#[test]
fn end_token_outside_vocabulary_blocks_tokenizer_step() {
    let unknown = |end: &str| {
        let mut test = with_documents(given(), LINES);
        test.type_into("tokenizer", TOKENIZER);
        test.type_into("eos-token", "<|nowhere|>");
        load(&mut test);
        test.type_into("eos-token", end);
        test.blocker("tokenizer")
    };
    assert_eq!(unknown("<|nowhere|>").unwrap(), "the end token <|nowhere|> is not in the vocabulary");
    // The result for one end token does not apply to another.
    assert_eq!((unknown("<|elsewhere|>"), unknown("")), (None, None));
}
