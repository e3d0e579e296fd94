//! Tests options of `pack` that depend on each other.

use super::advice::PackAdvice;
use super::*;
use crate::operations::{erase, Advice as _, AnyPlan, QuestionNeed};
use gristmill_core::options::Answer;
use gristmill_core::pack::{SampleSize, SpecialToken, TextField};
use gristmill_core::Cancel;
use gristmill_data::source::documents::DocumentRules;
use gristmill_storage::{fs::RealFs, publish::write_file};

fn plan(answers: &[(&str, &str)]) -> Box<dyn AnyPlan> {
    let mut plan = erase::<Pack>(PackPlan::blank());
    for (name, value) in answers {
        let answer = match *value {
            "" => Answer::On,
            value => Answer::Text(value.to_owned()),
        };
        plan.set(name, &answer).unwrap();
    }
    plan
}

#[test]
fn format_settings_are_kept_while_other_formats_are_added() {
    let mut plan = plan(&[("format", "nanosets"), ("tasks", "3")]);
    plan.set("format", &Answer::List(vec!["forager".into(), "nanosets".into()])).unwrap();
    assert_eq!(plan.get("tasks"), Answer::Text("3".into()));
    plan.set("format", &Answer::List(vec!["forager".into()])).unwrap();
    assert_eq!((plan.get("tasks"), plan.applies("tasks")), (Answer::Unset, false));
}

#[test]
fn loss_masks_apply_to_the_formats_that_support_them() {
    let of = |formats: &[&str], masks: &str| {
        let mut plan = erase::<Pack>(PackPlan::blank());
        plan.set("format", &Answer::List(formats.iter().map(|format| (*format).to_owned()).collect())).unwrap();
        plan.set("loss-masks", &Answer::Text(masks.into())).unwrap();
        plan.get("loss-masks")
    };
    let text = |text: &str| Answer::Text(text.into());
    assert_eq!(of(&["nanosets", "forager"], "all"), text("all"));
    assert_eq!(of(&["nanosets", "forager"], "forager"), text("forager"));
    assert_eq!(of(&["nanosets"], "all"), text("nanosets"));
    assert_eq!((of(&["nanosets"], "forager"), of(&["modalities"], "all")), (Answer::Unset, Answer::Unset));
}

#[test]
fn two_options_of_one_answer_do_not_clear_each_other() {
    let mut fixed = plan(&[("format", "forager"), ("sample-size", "9"), ("eos-id", "7")]);
    fixed.set("variable", &Answer::Unset).unwrap();
    fixed.set("eos-token", &Answer::Unset).unwrap();
    let typed = fixed.typed::<PackPlan>().unwrap();
    assert_eq!(typed.forager.as_ref().unwrap().sample_size, SampleSize::Fixed(9));
    assert_eq!(typed.end, Some(SpecialToken::Id(7)));
    let variable = plan(&[("format", "forager"), ("sample-size", "9"), ("variable", "")]);
    assert_eq!(variable.get("sample-size"), Answer::Unset);
}

#[test]
fn forager_only_output_is_the_input_folder() {
    let output = |inputs: &[&str], formats: &[&str]| {
        let list = |values: &[&str]| Answer::List(values.iter().map(|value| (*value).to_owned()).collect());
        let mut plan = plan(&[]);
        plan.set("path", &list(inputs)).unwrap();
        plan.set("format", &list(formats)).unwrap();
        plan.complete();
        plan.typed::<PackPlan>().unwrap().output.clone()
    };
    assert_eq!(output(&["a/b.jsonl"], &["forager"]), "a");
    assert_eq!(output(&["b.jsonl"], &["forager"]), ".");
    assert_eq!(output(&["src"], &["forager"]), "src");
    assert_eq!((output(&["src"], &["forager", "nanosets"]), output(&["a", "b"], &["forager"])), ("".into(), "".into()));
}

#[test]
fn text_key_is_a_path_unless_a_column_has_that_name() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/parquet");
    for (case, key) in [("p12_nested_path", "meta.deep.x"), ("p13_column_with_a_dot", "meta.text")] {
        let mut plan = PackPlan::new(vec![format!("{folder}/{case}/input")], "t", "o");
        plan.text = TextField::Key(key.into());
        let files = super::source::find_files(&plan, &Cancel::default()).unwrap();
        let documents = super::source::read_documents(&files.shown, &Cancel::default());
        let texts = super::source::extract_texts(&plan.text, &documents, DocumentRules::PYTHON);
        assert!(texts.with_text() > 0, "{case}: {texts:?}");
        assert_eq!(documents.text_blocker(&texts), None, "{case}");
    }
}

#[test]
fn split_and_subset_are_asked_only_if_there_are_several() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        write_file(&RealFs, &folder.path().join(name), text.as_bytes(), 0o644).unwrap();
    };
    write("train.jsonl", "{\"text\": \"a\"}\n");
    let mut plan = plan(&[]);
    plan.set("path", &Answer::List(vec![folder.path().to_string_lossy().into_owned()])).unwrap();
    let rows = plan.operation().options();
    let row = |name: &str| rows.iter().find(|row| row.info.name == name).unwrap();
    let mut advice = PackAdvice::default();
    advice.check(&*plan, "path").unwrap();
    assert!(matches!(advice.need(&*plan, row("split")), QuestionNeed::Optional), "one split");
    write("test.jsonl", "{\"text\": \"b\"}\n");
    let lines = advice.check(&*plan, "path").unwrap();
    assert!(lines.contains(&"Splits: train (1 file), test (1 file)".to_owned()), "{lines:?}");
    assert!(matches!(advice.need(&*plan, row("split")), QuestionNeed::Always));
    assert!(matches!(advice.need(&*plan, row("subset")), QuestionNeed::Optional));
    let card = |name: &str| format!("- config_name: {name}\n  data_files: {name}.jsonl\n");
    write("README.md", &format!("---\nconfigs:\n{}{}---\n", card("train"), card("test")));
    let lines = advice.check(&*plan, "path").unwrap();
    assert!(lines.contains(&"Subsets: train, test".to_owned()), "{lines:?}");
    assert!(matches!(advice.need(&*plan, row("subset")), QuestionNeed::Always));
}
