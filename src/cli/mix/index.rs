//! `mix index`: the index that nanotron's Nanoset would make, as files.

use super::super::context::Context;
use super::super::end::{fields, Done, Finished};
use super::super::prepare::summary;
use super::super::printer::{paint, Look};
use super::super::table::{Align, Table};
use super::super::task::{follow, tell};
use super::super::{jsonl, paths};
use super::args::IndexArgs;
use crate::engine::nanosets::mixture::{IndexPlan, Member, Outlook, DEFAULT_SEED};
use crate::engine::nanosets::training::{read_training, Training};
use crate::job::nanosets::{start_index, start_index_dry, IndexReport};
use crate::model::text::{count, display_safe, grouped};
use crate::model::{Failure, Outcome, Subject};
use serde_json::json;

const WHAT: &str = "reading the command line";
/// A training configuration is a page or two.
const MOST_YAML: u64 = 16 << 20;

/// Makes the index that the flags ask for, or says what it would come to.
pub fn run(args: &IndexArgs, context: &Context) -> Finished {
    let plan = plan(args)?;
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { start_index_dry(plan.clone(), options)? } else { start_index(plan.clone(), options)? };
    let report = follow(task, Some("mixing"), context)?;
    for line in lines(&report) {
        context.printer.say(line);
    }
    tell(&report.problems, &report.counts, context);
    let output = display_safe(&report.output.to_string_lossy()).into_owned();
    context.printer.say(match dry {
        true => format!("Would write {output}. Nothing was written."),
        false => {
            let size = crate::model::text::bytes(report.files.iter().map(|file| file.bytes).sum());
            format!(
                "{} in {output}, {size}.",
                paint(Look::Good, "Written dataset_index.npy and dataset_sample_index.npy")
            )
        }
    });
    let mut result = fields(&report);
    result.insert("plan".into(), json!(plan));
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if dry {
        result.insert("dry_run".into(), json!(true));
    }
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

/// What the index comes to.
fn lines(report: &IndexReport) -> Vec<String> {
    let outlook: &Outlook = &report.outlook;
    let about = if outlook.is_exact { "" } else { "about " };
    let mut lines = vec![format!(
        "{} from {}, {} to an epoch, {:.2} epochs",
        count(outlook.samples, "sample"),
        count(outlook.members.len() as u64, "data set"),
        grouped(outlook.epoch),
        outlook.passes
    )];
    let right = Align::Right;
    let mut table = Table::new(&[
        ("data set", Align::Left),
        ("windows", right),
        ("weight", right),
        ("samples", right),
        ("share", right),
        ("repeats", right),
        ("unread", right),
    ]);
    for (share, name) in outlook.members.iter().zip(&report.names) {
        let unread = match share.windows {
            0 => String::new(),
            windows => format!("{about}{:.1} %", share.unread as f64 * 100.0 / windows as f64),
        };
        table.row([
            display_safe(name).into_owned(),
            grouped(share.windows),
            format!("{:.4}", share.weight),
            format!("{about}{}", grouped(share.samples)),
            format!("{:.1} %", share.samples as f64 * 100.0 / outlook.samples.max(1) as f64),
            format!("{:.2}", share.repeats),
            unread,
        ]);
    }
    lines.extend(table.lines());
    lines
}

fn usage(flag: &str, why: impl Into<String>) -> Failure {
    Failure::usage(WHAT, why).on(Subject::field(flag))
}

/// The plan that the flags ask for; what a training configuration says counts where no flag does.
fn plan(args: &IndexArgs) -> Outcome<IndexPlan> {
    let training = args.config.as_ref().map(|path| training(path, args.stage.as_deref())).transpose()?;
    let of = |get: fn(&Training) -> Option<u64>| training.as_ref().and_then(get);
    let mut members: Vec<Member> = args.lengths.iter().map(|length| Member::Windows(*length)).collect();
    for folder in &args.folders {
        members.push(Member::Folder(paths::local(folder)?.into()));
    }
    if let Some(training) = &training {
        members.extend(training.folders.iter().map(|folder| Member::Folder(folder.into())));
    }
    if members.is_empty() {
        return Err(Failure::usage(WHAT, "there is no data set")
            .with_hint("folders of .ds files, --lengths 8,2,5, or --config TRAINING.yaml"));
    }
    let samples = args.samples.or(of(|training| training.samples)).ok_or_else(|| {
        usage("--samples", "it is missing")
            .with_hint("training steps times the global batch; or --config TRAINING.yaml")
    })?;
    let seed = args.seed.or(of(|training| training.seed)).unwrap_or(u64::from(DEFAULT_SEED));
    let seed =
        u32::try_from(seed).map_err(|_| usage("--seed", format!("{seed} is beyond 2^32 - 1, as far as numpy goes")))?;
    Ok(IndexPlan {
        members,
        weights: match args.weights.is_empty() {
            false => Some(args.weights.clone()),
            true => training.as_ref().and_then(|training| training.weights.clone()),
        },
        sequence_length: args.sequence_length.or(of(|training| training.sequence_length)),
        samples,
        seed,
        output: paths::local(&args.output)?.into(),
        overwrite: args.force_overwrite,
    })
}

fn training(path: &std::path::Path, stage: Option<&str>) -> Outcome<Training> {
    let path = paths::local(path)?;
    jsonl::refuse_packed(&path)?;
    let text = paths::read_text(path.as_ref(), "reading the training configuration", MOST_YAML)?;
    read_training(path.as_ref(), &text, stage)
}
