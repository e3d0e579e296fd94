//! `mix index`: writes the index that nanotron's Nanoset would compute.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::prepare::{self, summary};
use super::super::printer::{paint, Tone};
use super::super::task::{follow, print_findings};
use super::super::{jsonl, paths};
use super::args::IndexArgs;
use crate::tui::Start;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{count, display_safe, grouped};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_ops::engine::nanosets::mixture::{
    IndexDraft, IndexPlan, Member, Outlook, TokenizerSettings, DEFAULT_SEED,
};
use gristmill_ops::engine::nanosets::training::{read_training, Training};
use gristmill_ops::engine::plan::{file, CommandLine};
use gristmill_ops::job::nanosets::{start_index, start_index_dry, IndexReport};
use serde_json::json;
use std::path::{Path, PathBuf};

const WHAT: &str = "reading the command line";
/// Maximum size in bytes of a training configuration.
const MAX_YAML: u64 = 16 << 20;

/// Writes the index by the flags, or with `--dry-run` prints its figures; if the flags are incomplete, the screen asks for the rest.
pub fn run(args: &IndexArgs, context: &Context) -> Finished {
    let given = given(args)?;
    let is_open =
        [given.samples, given.sequence_length].contains(&None) || given.output.is_none() || given.members.is_empty();
    let is_asked = is_open && args.lengths.is_empty() && !context.globals.dry_run;
    if is_asked && context.may_ask() && !context.prefers_prompts() {
        return prepare::screen(Start::Mixture(Box::new(given)), context);
    }
    make(given.plan()?, context)
}

/// Writes the index of a plan.
pub fn make(plan: IndexPlan, context: &Context) -> Finished {
    if let Some(path) = &context.globals.save_plan {
        prepare::write_plan(path, &file::index_to_yaml(&replayable(&plan)?)?)?;
        context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    }
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { start_index_dry(plan.clone(), options)? } else { start_index(plan.clone(), options)? };
    let report = follow(task, Some("mixing"), context)?;
    for line in lines(&report) {
        context.printer.say(line);
    }
    print_findings(&report.problems, &report.counts, context);
    let output = display_safe(&report.output.to_string_lossy()).into_owned();
    context.printer.say(match dry {
        true => format!("Would write {output}. Nothing was written."),
        false if report.nothing_to_do => {
            format!("{} This very index is in {output} already.", paint(Tone::Good, "Nothing to do."))
        }
        false => {
            let size = gristmill_core::text::bytes(report.files.iter().map(|file| file.bytes).sum());
            format!(
                "{} in {output}, {size}.",
                paint(Tone::Good, "Written dataset_index.npy and dataset_sample_index.npy")
            )
        }
    });
    let mut result = fields(&report);
    result.insert("plan".into(), json!(plan));
    if let Some(command) = CommandLine::of_index(&plan) {
        result.insert("equivalent_command".into(), json!(command.text()));
    }
    result.insert("counts".into(), summary::counts_value(&report.counts));
    if dry {
        result.insert("dry_run".into(), json!(true));
    }
    Ok(Done::with_findings(result, report.counts.iter().map(|(severity, kind, _)| (*severity, *kind))))
}

/// Returns the figures of the index as text.
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

/// Returns the plan with absolute paths, since it may be run from another folder.
fn replayable(plan: &IndexPlan) -> Outcome<IndexPlan> {
    let absolute = |path: &Path| prepare::absolute(&path.to_string_lossy()).map(PathBuf::from);
    let mut plan = plan.clone();
    plan.output = absolute(&plan.output)?;
    for member in &mut plan.members {
        if let Member::Folder(path) = member {
            *path = absolute(path)?;
        }
    }
    Ok(plan)
}

/// Returns the values of the flags, completed by those of a training configuration.
fn given(args: &IndexArgs) -> Outcome<IndexDraft> {
    let training = args.config.as_ref().map(|path| training(path, args.stage.as_deref())).transpose()?;
    let of = |get: fn(&Training) -> Option<u64>| training.as_ref().and_then(get);
    let mut members: Vec<Member> = args.lengths.iter().map(|length| Member::Windows(*length)).collect();
    for folder in &args.folders {
        members.push(Member::Folder(paths::local(folder)?.into()));
    }
    if let Some(training) = &training {
        members.extend(training.folders.iter().map(|folder| Member::Folder(folder.into())));
    }
    let seed = args.seed.or(of(|training| training.seed)).unwrap_or(u64::from(DEFAULT_SEED));
    let seed = u32::try_from(seed).map_err(|_| {
        Failure::usage(WHAT, format!("{seed} is beyond 2^32 - 1, as far as numpy goes")).on(Subject::field("--seed"))
    })?;
    Ok(IndexDraft {
        members,
        weights: match args.weights.is_empty() {
            false => Some(args.weights.clone()),
            true => training.as_ref().and_then(|training| training.weights.clone()),
        },
        sequence_length: args.sequence_length.or(of(|training| training.sequence_length)),
        samples: args.samples.or(of(|training| training.samples)),
        seed,
        training: TokenizerSettings {
            tokenizer: args
                .tokenizer
                .clone()
                .or(training.as_ref().and_then(|training| training.tokenizer.tokenizer.clone())),
            vocab_size: args.vocab_size.or(of(|training| training.tokenizer.vocab_size)),
        },
        output: args.output.as_deref().map(paths::local).transpose()?.map(PathBuf::from),
        overwrite: args.force_overwrite,
    })
}

fn training(path: &Path, stage: Option<&str>) -> Outcome<Training> {
    let path = paths::local(path)?;
    jsonl::refuse_packed(&path)?;
    let text = paths::read_text(path.as_ref(), "reading the training configuration", MAX_YAML)?;
    read_training(path.as_ref(), &text, stage)
}
