//! Tests of the step Formats: the formats, and all of their settings.

use super::*;
use gristmill_core::pack::SampleSize;

const ALL: [&str; 6] = ["modalities", "nanosets", "forager", "mds", "megatron", "olmo"];

#[test]
fn formats_step_shows_common_settings_and_all_on_request() {
    let mut test = answered();
    test.go_to("formats");
    assert!(test.blocker("formats").unwrap().contains("at least one format"));
    compare("formats_none", &mut test);
    set_formats(&mut test, &ALL);
    compare("formats", &mut test);
    assert_eq!(plan(&test).forager.unwrap().sample_size, SampleSize::Fixed(4_096));
    test.toggle(Field::Option("variable"));
    assert_eq!(plan(&test).forager.unwrap().sample_size, SampleSize::Variable);
    test.act(Action::Advanced);
    test.type_into("tasks", "many");
    test.form.focus_on(Field::Option("tasks"));
    compare("formats_all", &mut test);
    assert!(test.blocker("formats").unwrap().contains("not a number"));
    test.type_into("tasks", "8");
    assert_eq!(plan(&test).nanosets.unwrap().tasks, Some(8));
}

#[test]
fn applicable_format_options_have_fields() {
    let mut test = open(PackPlan { compat: true, ..given() });
    test.go_to("formats");
    set_formats(&mut test, &ALL);
    test.act(Action::Advanced);
    test.form.answer("loss-masks", &Answer::Text("all".into()));
    test.type_into("pad-to", "9");
    let all = test.form.table.rows().iter().filter(|row| row.step == "formats" && row.info.name != "format").count();
    assert_eq!(test.form.fields().len(), all + ALL.len());
    set_formats(&mut test, &[]);
    assert!(test.form.fields().len() < 13, "{:?}", test.form.fields());
}

#[test]
fn settings_of_deselected_format_return_with_format() {
    let mut test = answered();
    set_formats(&mut test, &["modalities", "nanosets"]);
    test.go_to("formats");
    for (option, value) in [("rank", "1"), ("skip", "4"), ("limit", "1,000"), ("prefix", "web"), ("pad-to", "9")] {
        test.type_into(option, value);
    }
    test.type_into("pad-token", "<pad>");
    let before = plan(&test);
    set_formats(&mut test, &[]);
    assert!(!test.form.command().contains("--rank"));
    set_formats(&mut test, &["modalities", "nanosets"]);
    assert_eq!(plan(&test), before);
}

#[test]
fn the_output_is_proposed_next_to_the_input_until_the_user_names_one() {
    let mut test = answered();
    set_formats(&mut test, &["modalities"]);
    assert_eq!(plan(&test).output, "/data/corpus.pbin");
    set_formats(&mut test, &["modalities", "nanosets"]);
    assert_eq!(plan(&test).output, "/data/corpus-tokens");
    test.type_into("output", "/elsewhere");
    set_formats(&mut test, &["modalities"]);
    assert_eq!(plan(&test).output, "/elsewhere");
}
