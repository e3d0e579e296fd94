use super::super::fixture::PrepareForm;
use super::super::fixture::{act, facts, facts_prepared, prepare, type_text};
use super::super::step::Step;
use super::*;

fn at_types() -> PrepareForm {
    let mut form = prepare(facts());
    form.go(Step::SampleType);
    form
}

fn choose(form: &mut PrepareForm, choice: Choice) {
    let row = form.sample_type.rows.iter().position(|r| *r == choice).unwrap();
    act(form, &[Action::First]);
    for _ in 0..row {
        act(form, &[Action::Down]);
    }
}

#[test]
fn best_sample_type_is_first_and_selected() {
    let form = at_types();
    assert_eq!(form.sample_type.class().as_deref(), Some("CaptioningSample"));
    assert_eq!(form.sample_type.list.selected, 0);
    assert_eq!(form.sample_type.rows.len(), SAMPLE_TYPES.len() + 3);
    assert!(form.command().contains("--sample-type CaptioningSample"));
}

#[test]
fn moving_in_the_sample_type_list_changes_the_plan() {
    let mut form = at_types();
    choose(&mut form, Choice::NoYaml);
    assert_eq!(form.answers.plan.loading, SampleMapping::NoDatasetYaml);
    choose(&mut form, Choice::Crude);
    assert_eq!(form.answers.plan.loading, SampleMapping::Crude { cooker: true });
    act(&mut form, &[Action::NextField, Action::Toggle]);
    assert_eq!(form.answers.plan.loading, SampleMapping::Crude { cooker: false });
    act(&mut form, &[Action::Up]);
    assert_eq!(form.sample_type.stop(), FocusStop::List);
}

#[test]
fn sample_loader_is_an_option_of_every_sample_type() {
    let mut form = at_types();
    act(&mut form, &[Action::NextField, Action::Down]);
    assert!(form.command().contains("--sample-type CaptioningSample --sample-loader"));
    assert!(!form.sample_type.wants_field_map());
    act(&mut form, &[Action::Up]);
    assert!(form.sample_type.wants_field_map());
    act(&mut form, &[Action::Toggle, Action::Toggle]);
    assert!(form.sample_type.wants_field_map());
}

#[test]
fn custom_sample_class_needs_module_and_class() {
    let mut form = at_types();
    choose(&mut form, Choice::Own);
    act(&mut form, &[Action::NextField]);
    assert_eq!(form.context(), Context::PrepareText);
    type_text(&mut form, "MySample");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::SampleType);
    act(&mut form, &[Action::DropRow]);
    type_text(&mut form, "my.code:MySample");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::FieldMap);
    for bad in ["", "a", "1a:B", "a:", ":B", "a b:C", "a:B-C"] {
        assert!(own_class_problem(bad).is_some(), "{bad}");
    }
}

#[test]
fn update_keeps_dataset_yaml_unless_another_type_is_chosen() {
    let mut form = prepare(facts_prepared());
    form.go(Step::SampleType);
    assert_eq!(form.sample_type.choice, Choice::Keep);
    act(&mut form, &[Action::Down]);
    assert_ne!(form.sample_type.choice, Choice::Keep);
    assert_ne!(form.answers.plan.loading, SampleMapping::Unset);
}
