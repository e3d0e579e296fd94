use super::super::fixture::{act, clear, facts, settle, type_text, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;

fn at_fields() -> Wizard {
    let mut wizard = wizard(facts());
    wizard.step = Step::FieldMap;
    settle(&mut wizard);
    wizard
}

fn expressions(wizard: &Wizard) -> Vec<(String, String)> {
    wizard.field_map.expressions().into_iter().map(|f| (f.field, f.expr)).collect()
}

#[test]
fn every_field_is_proposed_from_the_parts_seen() {
    let wizard = at_fields();
    let fields = expressions(&wizard);
    assert_eq!(fields[0], ("image".into(), "jpg".into()));
    assert_eq!(fields[1].0, "caption");
    assert_eq!(wizard.context(), Context::PrepareExpression);
    assert_eq!(wizard.field_map.blocker(&wizard.answers), None);
}

#[test]
fn an_expression_that_no_sample_resolves_is_an_error_at_its_field() {
    let mut wizard = at_fields();
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    type_text(&mut wizard, "json[caption][lnog]");
    let problem = wizard.field_map.row_problem(1, &wizard.answers).unwrap();
    assert_eq!(problem.severity, Severity::Refusal);
    assert!(problem.message.contains("lnog"), "{}", problem.message);
    assert_eq!(wizard.field_map.row_problem(0, &wizard.answers), None);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::FieldMap);
    clear(&mut wizard);
    type_text(&mut wizard, "json[caption][long]");
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Media);
    assert_eq!(expressions(&wizard)[1].1, "json[caption][long]");
}

#[test]
fn a_required_field_that_is_empty_is_said_to_be_required() {
    let mut wizard = at_fields();
    act(&mut wizard, &[Action::DropRow]);
    let problem = wizard.field_map.row_problem(0, &wizard.answers).unwrap();
    assert_eq!(problem.kind, ProblemKind::MissingField);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::FieldMap);
}

#[test]
fn tab_cycles_through_parts_and_keys_and_then_moves_on() {
    let mut wizard = at_fields();
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    type_text(&mut wizard, "json[cap");
    act(&mut wizard, &[Action::Complete]);
    assert_eq!(wizard.field_map.rows[1].expr.value(), "json[caption]");
    type_text(&mut wizard, "[");
    act(&mut wizard, &[Action::Complete]);
    assert_eq!(wizard.field_map.rows[1].expr.value(), "json[caption][lang]");
    act(&mut wizard, &[Action::Complete]);
    assert_eq!(wizard.field_map.rows[1].expr.value(), "json[caption][long]");
    act(&mut wizard, &[Action::Up, Action::Complete]);
    assert_eq!(wizard.field_map.row_at_focus(), 1, "jpg has nothing to complete, so Tab goes on");
}

#[test]
fn what_was_typed_for_a_type_comes_back_with_it() {
    let mut wizard = at_fields();
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    type_text(&mut wizard, "json[caption][long],txt");
    wizard.step = Step::SampleType;
    wizard.sample_type.set_focus(0);
    act(&mut wizard, &[Action::Last, Action::First]);
    assert_eq!(expressions(&wizard)[1].1, "json[caption][long],txt");
}

#[test]
fn a_class_of_ones_own_has_names_to_type_too() {
    let mut wizard = at_fields();
    wizard.step = Step::SampleType;
    act(&mut wizard, &[Action::Last, Action::Up, Action::NextField]);
    type_text(&mut wizard, "my.code:Page");
    act(&mut wizard, &[Action::Next]);
    assert!(wizard.field_map.is_own);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::FieldMap, "a class needs at least one field");
    type_text(&mut wizard, "page");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "jpg");
    assert_eq!(expressions(&wizard), [("page".into(), "jpg".into())]);
    assert_eq!(wizard.field_map.rows.len(), 2, "there is room for one more");
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.field_map.row_at_focus(), 1);
    act(&mut wizard, &[Action::Up, Action::PreviousField]);
    assert!(wizard.field_map.name_has_focus(0));
}

#[test]
fn flags_are_quoted_for_a_shell() {
    let mut wizard = at_fields();
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    type_text(&mut wizard, "json[caption][long],txt");
    assert_eq!(wizard.flags(), "--field-map image=jpg --field-map 'caption=json[caption][long],txt'");
}
