//! Runs a plan of any operation, and prints the result.

use super::context::Context;
use super::exit::{Done, Finished};
use super::prepare::{self, summary};
use super::printer::{paint, Tone};
use super::task::{follow, print_findings, report_earlier_problems};
use gristmill_ops::operations::AnyPlan;
use serde_json::{json, Map, Value};

/// Saves the plan if requested, then previews or runs it.
pub fn execute(plan: &dyn AnyPlan, context: &Context) -> Finished {
    let is_preview = context.globals.dry_run;
    if let Some(path) = &context.globals.save_plan {
        prepare::write_plan(path, &plan.to_yaml()?)?;
        context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    }
    let task = plan.start(is_preview, context.run_options())?;
    let report = follow(task, Some(plan.operation().doing()), context)?;
    let (problems, counts) = report.findings();
    print_findings(problems, counts, context);
    for line in report.lines(is_preview) {
        context.printer.say(match line.lead {
            "" => line.rest,
            lead => format!("{} {}", paint(Tone::Good, lead), line.rest),
        });
    }
    let mut result = match report.to_json() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    result.insert("plan".into(), plan.to_json());
    result.insert("equivalent_command".into(), json!(plan.command_line().text()));
    result.insert("counts".into(), summary::counts_value(counts));
    if is_preview {
        result.insert("dry_run".into(), json!(true));
    } else if report.is_nothing_to_do() {
        report_earlier_problems(problems, counts, context, &mut result);
    }
    Ok(Done::with_findings(result, counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}
