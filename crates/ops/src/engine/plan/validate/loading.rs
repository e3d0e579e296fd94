//! Checks sample type and field map against the content of the data set.

use crate::engine::plan::{classes, nearest};
use gristmill_core::field_map::FieldExpression;
use gristmill_core::plan::FieldExpr;
use gristmill_core::sample_type::SampleType;
use gristmill_core::{DatasetFacts, PreparePlan, Problem, ProblemKind, SampleMapping, Subject};
use std::collections::HashSet;

/// Fields that the loader sets itself.
const BASE_FIELDS: [&str; 4] = ["__key__", "__restore_key__", "__subflavors__", "__sources__"];

pub(super) fn check(plan: &PreparePlan, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    match &plan.loading {
        SampleMapping::Unset => problems.push(
            Problem::refusal(ProblemKind::MissingAnswer, Subject::field("--sample-type"), "no sample type is given")
                .with_hint(
                "--sample-type CaptioningSample with --field-map image=jpg and so on, --sample-type CrudeWebdataset, \
                 or --skip-dataset-yaml",
            ),
        ),
        SampleMapping::NoDatasetYaml | SampleMapping::Crude { .. } => {}
        SampleMapping::SampleLoader { sample_type } => {
            if let Err(problem) = classes::resolve(sample_type) {
                problems.push(problem);
            }
        }
        SampleMapping::FieldMap { sample_type, fields } => match classes::resolve(sample_type) {
            Ok(class) => {
                check_names(sample_type, class.known, fields, problems);
                for field in fields {
                    check_parts(field, plan.compat, facts, problems);
                }
            }
            Err(problem) => problems.push(problem),
        },
    }
}

fn check_names(typed: &str, class: Option<&SampleType>, fields: &[FieldExpr], problems: &mut Vec<Problem>) {
    let mut seen = HashSet::new();
    for field in fields {
        let name = field.field.as_str();
        if !seen.insert(name) {
            let message = format!("field '{name}' is given more than once");
            let hint = format!("alternatives go into one expression: --field-map {name}=A,B");
            problems.push(Problem::refusal(ProblemKind::UnknownField, Subject::field(name), message).with_hint(hint));
        }
        if BASE_FIELDS.contains(&name) {
            let message = format!("field '{name}' is filled by the loader itself");
            problems.push(Problem::refusal(ProblemKind::UnknownField, Subject::field(name), message));
        } else if let Some(class) = class {
            if !class.fields.iter().any(|f| f.name == name) {
                problems.push(unknown_field(class, name));
            }
        } else if !classes::is_identifier(name) {
            let message = format!("'{name}' cannot be the name of a field");
            problems.push(Problem::refusal(ProblemKind::UnknownField, Subject::field(name), message));
        }
    }
    let missing = class.into_iter().flat_map(|c| c.fields).filter(|f| f.default.is_none() && !seen.contains(f.name));
    for field in missing {
        let message = format!("{typed} needs its field '{}' ({})", field.name, field.field_type.python());
        problems.push(
            Problem::refusal(ProblemKind::MissingField, Subject::field(field.name), message)
                .with_hint(format!("--field-map {}=PART", field.name)),
        );
    }
}

fn unknown_field(class: &SampleType, name: &str) -> Problem {
    let names: Vec<&str> = class.fields.iter().map(|f| f.name).collect();
    let message = match nearest(name, names.iter().copied()) {
        Some(near) => format!("{} has no field '{name}'; did you mean '{near}'?", class.class),
        None => format!("{} has no field '{name}'", class.class),
    };
    let hint = if names.is_empty() {
        "it has no fields of its own".into()
    } else {
        format!("its fields are {}", names.join(", "))
    };
    Problem::refusal(ProblemKind::UnknownField, Subject::field(name), message).with_hint(hint)
}

/// Checks that samples have the parts that an expression names.
fn check_parts(field: &FieldExpr, compat: bool, facts: &DatasetFacts, problems: &mut Vec<Problem>) {
    let subject = || Subject::field(&field.field);
    if field.expr.is_empty() {
        let message = format!("field '{}' has an empty expression", field.field);
        problems.push(
            Problem::refusal(ProblemKind::FieldFails, subject(), message)
                .with_hint("leave an optional field out to keep its default"),
        );
        return;
    }
    if let Some(defect) = FieldExpression::defect(&field.expr) {
        let message = format!("field '{}': {defect}", field.field);
        // The reference program reads such an expression as the name of a part, which is only intended if the part exists.
        let exists = facts.part_share(&field.expr) > 0.0;
        let make = if exists || compat { Problem::note } else { Problem::refusal };
        problems.push(
            make(ProblemKind::FieldFails, subject(), message)
                .with_hint("an expression is PART, PART[KEY] or PART[KEY][0]; alternatives are separated by commas"),
        );
        if !exists {
            return;
        }
    }
    if facts.samples_seen == 0 || !facts.lists_all_parts() {
        return;
    }
    let expression = FieldExpression::parse(&field.expr);
    let mut parts: Vec<&str> = expression.options.iter().map(|o| o.part.as_str()).collect();
    parts.sort_unstable();
    parts.dedup();
    let (there, absent): (Vec<&str>, Vec<&str>) = parts.iter().partition(|part| facts.part_share(part) > 0.0);
    if there.is_empty() {
        problems.push(no_such_part(field, &absent, facts));
    } else if let Some(part) = absent.first() {
        let message = format!("field '{}' never uses '{part}': no sample {}has that part", field.field, so_far(facts));
        problems.push(Problem::note(ProblemKind::NoSuchPart, subject(), message));
    }
    if facts.scan_complete {
        report_missing_parts(field, &there, compat, facts, problems);
    }
}

/// Reports samples that have none of the parts. For several parts, the reported number is a lower bound.
fn report_missing_parts(
    field: &FieldExpr,
    there: &[&str],
    compat: bool,
    facts: &DatasetFacts,
    problems: &mut Vec<Problem>,
) {
    let having: u64 = there.iter().filter_map(|part| facts.parts.get(*part)).map(|part| part.samples).sum();
    let (lacking, one) = (facts.samples_seen.saturating_sub(having), there.len() == 1);
    if there.is_empty() || lacking == 0 {
        return;
    }
    let share = having as f64 / facts.samples_seen as f64;
    let message = format!(
        "{}{} of {} {} {} {} ({}{} have it); the trainer fails on them",
        if one { "" } else { "at least " },
        gristmill_core::text::grouped(lacking),
        gristmill_core::text::count(facts.samples_seen, "sample"),
        gristmill_core::text::agree(lacking, "has", "have"),
        if one { "no part" } else { "none of the parts" },
        there.iter().map(|part| format!("'{part}'")).collect::<Vec<_>>().join(", "),
        if one { "" } else { "at most " },
        gristmill_core::text::percent(share)
    );
    let make = if compat { Problem::note } else { Problem::problem };
    problems.push(
        make(ProblemKind::SampleLacksPart, Subject::field(&field.field), message)
            .with_hint(format!("add an alternative ({}={},OTHER), or exclude these samples", field.field, field.expr)),
    );
}

fn so_far(facts: &DatasetFacts) -> &'static str {
    if facts.scan_complete {
        ""
    } else {
        "scanned so far "
    }
}

/// Returns the problem of a missing part. It is a refusal only after the scan is complete, because the part may still be found before.
fn no_such_part(field: &FieldExpr, absent: &[&str], facts: &DatasetFacts) -> Problem {
    let wanted = absent.first().copied().unwrap_or_default();
    let message = format!("no sample {}has the part '{wanted}' that field '{}' needs", so_far(facts), field.field);
    let subject = Subject::field(&field.field);
    let problem = if facts.scan_complete {
        Problem::refusal(ProblemKind::NoSuchPart, subject, message)
    } else {
        Problem::note(ProblemKind::NoSuchPart, subject, message)
    };
    let known: Vec<&str> = facts.parts.keys().map(String::as_str).take(1_000).collect();
    let shown = known.iter().take(12).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let more = if known.len() > 12 { " …" } else { "" };
    problem.with_hint(match nearest(wanted, known.iter().copied()) {
        Some(near) => format!("did you mean '{near}'? The parts are {shown}{more}"),
        None => format!("the parts are {shown}{more}"),
    })
}
