//! `plan.yaml`: a plan as a text file, which the user can read, compare and run again.

use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{DedupPlan, Failure, Outcome, PackPlan, PreparePlan, Subject};
use serde::{Deserialize, Serialize};

/// Limit of the size of a plan file, in bytes.
const MAX_PLAN_BYTES: usize = 64 << 20;

const HEADER: &str = "\
# A plan of Gristmill: every answer of a preparation. Replay it with
#     gristmill run THIS_FILE
# What is left out keeps its default. `path` is where the data set is.
";

const PACK_HEADER: &str = "\
# A plan of Gristmill: every answer of packing text into tokens. Replay it with
#     gristmill run THIS_FILE
# What is left out keeps its default.
";

/// Returns the content of a plan file, with a comment that explains it.
pub fn to_yaml(plan: &PreparePlan) -> Outcome<String> {
    let body = serde_yaml::to_string(plan).map_err(|e| Failure::usage("writing the plan", e.to_string()))?;
    Ok(format!("{HEADER}{}", body.trim_start_matches("---\n")))
}

/// Returns the content of a plan file of `pack`.
pub fn pack_to_yaml(plan: &PackPlan) -> Outcome<String> {
    typed_to_yaml("packing text into tokens", "pack", plan)
}

/// Returns the content of a plan file. `what` describes the plan; `command` is its command in plan files.
pub fn typed_to_yaml(what: &str, command: &str, plan: &impl Serialize) -> Outcome<String> {
    let body = serde_yaml::to_string(plan).map_err(|e| Failure::usage("writing the plan", e.to_string()))?;
    let head = PACK_HEADER.replace("packing text into tokens", what);
    Ok(format!("{head}command: {command}\n{}", body.trim_start_matches("---\n")))
}

/// Returns the content of a plan file of `dedup`.
pub fn dedup_to_yaml(plan: &DedupPlan) -> Outcome<String> {
    typed_to_yaml("removing repeated text", "dedup", plan)
}

const NO_VERSION_HINT: &str = "a plan has a line `version: 1`";

/// Returns the command in a plan file; `None` if it contains none. Refuses a newer version.
pub fn command_of(text: &str) -> Outcome<Option<String>> {
    let refuse = |why: String| Failure::usage("reading the plan", why);
    if text.len() > MAX_PLAN_BYTES {
        return Err(refuse("it is larger than 64 MiB".into()));
    }
    let names_version = || text.lines().any(|line| line.starts_with("version:"));
    let head: PlanHeader = parse(text).map_err(|failure| match names_version() {
        true => failure,
        false => refuse("it is not a plan".into()).with_hint(NO_VERSION_HINT),
    })?;
    match head.version {
        Some(version) if version > PLAN_VERSION => {
            return Err(refuse(format!(
                "it has version {version}; this version of gristmill supports up to {PLAN_VERSION}"
            ))
            .with_hint("use a newer gristmill, or answer the questions again"));
        }
        Some(0) | None => {
            let hint = match text.contains("Metadataset") {
                true => {
                    "this looks like a metadataset: `gristmill prepare FILE` and `gristmill mix check FILE` take it"
                }
                false => NO_VERSION_HINT,
            };
            return Err(refuse("it has no version".into()).with_hint(hint));
        }
        Some(_) => {}
    }
    Ok(head.command)
}

/// Reads the plan of `command` from a plan file.
pub fn read_typed<P: serde::de::DeserializeOwned>(text: &str, command: &str) -> Outcome<P> {
    let is_command = |line: &str| line.starts_with("command:");
    let lines: Vec<&str> = text.lines().map(|line| if is_command(line) { "" } else { line }).collect();
    parse(&lines.join("\n")).map_err(|failure| failure.with_hint(save_plan_hint(command)))
}

/// Reads the plan of `command` from a plan file; `None` if it is a plan of another command, or cannot be read.
pub fn read_plan_of<P: serde::de::DeserializeOwned>(text: &str, command: &str) -> Option<P> {
    let is_it = command_of(text).ok()?.is_some_and(|known| known == command);
    is_it.then(|| read_typed(text, command).ok()).flatten()
}

fn save_plan_hint(command: &str) -> String {
    format!("`gristmill {command} … --dry-run --save-plan FILE` writes a valid one")
}

/// Reads a plan of `prepare` from a plan file, which may contain no command. Refuses a plan of another command.
pub fn from_yaml(text: &str) -> Outcome<PreparePlan> {
    match command_of(text)?.as_deref() {
        None | Some("prepare") => read_typed(text, "prepare PATH"),
        Some(other) => Err(Failure::usage("reading the plan", format!("it is a plan of {other}, not of prepare"))),
    }
}

/// The keys that are read first, so that a newer version is detected before its unknown keys are reported.
#[derive(Deserialize)]
struct PlanHeader {
    version: Option<u32>,
    command: Option<String>,
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Outcome<T> {
    let options = serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_nodes: 20_000_000,
            max_events: 40_000_000,
            max_total_scalar_bytes: MAX_PLAN_BYTES,
            max_anchors: 0,
            max_aliases: 0,
            max_depth: 64,
        },
        strict_booleans: true,
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map(|at| at.line());
        let plain = error.without_snippet().to_string();
        let why = plain.lines().next().unwrap_or("it is not a plan");
        // The line is in the subject.
        let why = why.split_once(" at line ").map_or(why, |(why, _)| why).to_owned();
        let mut failure = Failure::usage("reading the plan", why).with_hint(save_plan_hint("prepare PATH"));
        if let Some(line) = line {
            failure = failure.on(Subject::default().line(line));
        }
        failure
    })
}

/// Returns a short fingerprint of every answer that determines the bytes of the result. The path and the rerun mode are not included.
pub fn hash(plan: &PreparePlan) -> String {
    let same = PreparePlan {
        path: String::new(),
        rerun: gristmill_core::Rerun::default(),
        reset_excludes: false,
        new_to: None,
        ..plan.clone()
    };
    let canonical = serde_json::to_string(&same).unwrap_or_else(|_| format!("{same:?}"));
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(canonical.as_bytes()))
}
