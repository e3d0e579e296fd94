use super::super::fixture::PrepareForm;
use super::super::fixture::{act, clear, facts, prepare, type_text};
use super::super::step::Step;
use super::*;

fn at_fields() -> PrepareForm {
    let mut form = prepare(facts());
    form.go(Step::FieldMap);
    form
}

fn expressions(form: &PrepareForm) -> Vec<(String, String)> {
    form.field_map.expressions().into_iter().map(|f| (f.field, f.expr)).collect()
}

#[test]
fn proposed_field_map_uses_parts_of_the_samples() {
    let form = at_fields();
    let fields = expressions(&form);
    assert_eq!(fields[0], ("image".into(), "jpg".into()));
    assert_eq!(fields[1].0, "caption");
    assert_eq!(form.context(), Context::PrepareExpression);
    assert_eq!(form.field_map.blocking_reason(&form.answers), None);
}

#[test]
fn expression_that_fails_on_all_samples_blocks_its_field() {
    let mut form = at_fields();
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    type_text(&mut form, "json[caption][lnog]");
    let problem = form.field_map.row_problem(1, &form.answers).unwrap();
    assert_eq!(problem.severity, Severity::Refusal);
    assert!(problem.message.contains("lnog"), "{}", problem.message);
    assert_eq!(form.field_map.row_problem(0, &form.answers), None);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::FieldMap);
    clear(&mut form);
    type_text(&mut form, "json[caption][long]");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Media);
    assert_eq!(expressions(&form)[1].1, "json[caption][long]");
}

#[test]
fn empty_required_field_blocks_field_map_step() {
    let mut form = at_fields();
    act(&mut form, &[Action::DropRow]);
    let problem = form.field_map.row_problem(0, &form.answers).unwrap();
    assert_eq!(problem.kind, ProblemKind::MissingField);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::FieldMap);
}

#[test]
fn tab_cycles_completions_and_then_moves_to_the_next_field() {
    let mut form = at_fields();
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    type_text(&mut form, "json[cap");
    act(&mut form, &[Action::Complete]);
    assert_eq!(form.field_map.rows[1].expr.value(), "json[caption]");
    type_text(&mut form, "[");
    act(&mut form, &[Action::Complete]);
    assert_eq!(form.field_map.rows[1].expr.value(), "json[caption][lang]");
    act(&mut form, &[Action::Complete]);
    assert_eq!(form.field_map.rows[1].expr.value(), "json[caption][long]");
    act(&mut form, &[Action::Up, Action::Complete]);
    assert_eq!(form.field_map.row_at_focus(), 1, "jpg has nothing to complete, so Tab goes on");
}

#[test]
fn typed_field_map_returns_with_its_sample_type() {
    let mut form = at_fields();
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    type_text(&mut form, "json[caption][long],txt");
    form.go(Step::SampleType);
    form.sample_type.set_focus(0);
    act(&mut form, &[Action::Last, Action::First]);
    assert_eq!(expressions(&form)[1].1, "json[caption][long],txt");
}

#[test]
fn custom_class_has_editable_field_names() {
    let mut form = at_fields();
    form.go(Step::SampleType);
    act(&mut form, &[Action::Last, Action::Up, Action::NextField]);
    type_text(&mut form, "my.code:Page");
    act(&mut form, &[Action::Next]);
    assert!(form.field_map.is_own);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::FieldMap, "a class needs at least one field");
    type_text(&mut form, "page");
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "jpg");
    assert_eq!(expressions(&form), [("page".into(), "jpg".into())]);
    assert_eq!(form.field_map.rows.len(), 2, "there is room for one more");
    act(&mut form, &[Action::Down]);
    assert_eq!(form.field_map.row_at_focus(), 1);
    act(&mut form, &[Action::Up, Action::PreviousField]);
    assert!(form.field_map.name_has_focus(0));
}

#[test]
fn flags_are_quoted_for_a_shell() {
    let mut form = at_fields();
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    type_text(&mut form, "json[caption][long],txt");
    assert!(form.command().contains("--field-map image=jpg --field-map 'caption=json[caption][long],txt'"));
}
