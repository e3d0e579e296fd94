//! `mix new`: flags → plan → file.

use super::super::context::Context;
use super::super::exit::{fields, Done, Finished};
use super::super::printer::{paint, Tone};
use super::super::task::{follow, print_findings};
use super::super::{paths, prepare, prepare::summary};
use super::args::NewArgs;
use super::tree;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::mix::{MixAux, MixKind, MixMember, MixPlan, MixSubflavor, Nonmatch};
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_ops::engine::mix::author::takes_aux;
use gristmill_ops::engine::plan::{file, shell_quote};
use gristmill_ops::formats::energon::split_yaml::SplitFile;
use gristmill_ops::job::mix::{start, start_dry};
use serde_json::{json, Value};
use std::path::Path;

const WHAT: &str = "reading the command line";
/// Prefix of the path of a folder of files.
const FOLDER: &str = "filesystem://";

/// Writes the metadataset of the flags.
pub fn run(args: &NewArgs, context: &Context) -> Finished {
    let plan = plan(args)?;
    execute(plan, context)
}

/// Writes the metadataset of a plan, and prints its resolved content.
pub fn execute(plan: MixPlan, context: &Context) -> Finished {
    if let Some(path) = &context.globals.save_plan {
        save_plan(&plan, path)?;
        context.printer.say(format!("Plan written to {}.", summary::quoted(path)));
    }
    let dry = context.globals.dry_run;
    let options = context.run_options();
    let task = if dry { start_dry(plan.clone(), options)? } else { start(plan.clone(), options)? };
    let report = follow(task, Some("checking"), context)?;
    print_findings(&report.facts.problems, &report.counts, context);
    let shown = display_safe(&plan.output);
    for line in tree::lines(&report.facts, context.globals.ascii) {
        context.printer.say(line);
    }
    let done = match (dry, report.nothing_to_do, report.replaces) {
        (true, ..) => {
            for line in report.text.lines() {
                context.printer.line(display_safe(line));
            }
            format!("Would write {shown}. Nothing was written.")
        }
        (_, true, _) => {
            format!("{} {shown} is there with the same content.", paint(Tone::Good, "Nothing to do."))
        }
        (_, _, true) => format!("{}, replacing an older one.", paint(Tone::Good, &format!("Written {shown}"))),
        _ => format!("{}.", paint(Tone::Good, &format!("Written {shown}"))),
    };
    context.printer.say(done);
    let alone = (plan.kind == MixKind::Join && plan.splits.is_empty())
        .then(|| other_splits(&plan))
        .filter(|names| !names.is_empty());
    let note = alone.map(|names| {
        let message = format!("only the split train is written; the members have {} too", names.join(" and "));
        Problem::note(ProblemKind::Other, Subject::path(&plan.output), message).with_hint(
            "--split NAME writes another: one file for each split, since the loader keeps one join index a file",
        )
    });
    if let Some(note) = &note {
        context.printer.note(note);
    }
    if report.needs_prepare {
        let next = paint(Tone::Strong, "Next:");
        context.printer.say(format!("{next} gristmill prepare {} makes the join", shell_quote(&plan.output)));
    }
    let mut result = fields(&report);
    result.insert("problems".into(), json!(report.facts.problems));
    result.insert("plan".into(), serde_json::to_value(&plan).unwrap_or(Value::Null));
    if dry {
        result.insert("dry_run".into(), json!(true));
    }
    if let Some(note) = note {
        result.insert("notes".into(), json!([note]));
    }
    let findings: Vec<_> = report.facts.problems.iter().map(|problem| (problem.severity, problem.kind)).collect();
    Ok(Done::with_findings(result, findings))
}

/// Returns which of `val` and `test` the first member of a join has.
fn other_splits(plan: &MixPlan) -> Vec<&'static str> {
    let file = plan.members.first().and_then(|member| SplitFile::read(Path::new(&member.path)).ok().flatten());
    let has = |name: &&str| {
        file.iter().flat_map(|file| &file.split_parts).any(|(split, shards)| split == name && !shards.is_empty())
    };
    ["val", "test"].into_iter().filter(has).collect()
}

/// Writes a plan for `gristmill run` with absolute paths, so that it gives the same file when run from another folder.
fn save_plan(plan: &MixPlan, path: &Path) -> Outcome<()> {
    let mut plan = plan.clone();
    make_whole(&mut plan.output);
    for member in &mut plan.members {
        member.is_relative |= make_whole(&mut member.path);
        for aux in &mut member.aux {
            aux.is_relative |= make_whole(&mut aux.path);
        }
    }
    prepare::write_plan(path, &file::mix_to_yaml(&plan)?)
}

/// Makes a path absolute if it is relative to the current folder; returns whether it was relative.
fn make_whole(text: &mut String) -> bool {
    let scheme = if text.starts_with(FOLDER) { FOLDER } else { "" };
    let path = text.get(scheme.len()..).unwrap_or_default();
    let is_relative = !path.starts_with('/') && !path.contains("://");
    if let (true, Ok(whole)) = (is_relative, std::path::absolute(path)) {
        *text = format!("{scheme}{}", whole.to_string_lossy());
    }
    is_relative
}

fn usage(flag: &str, why: impl Into<String>) -> Failure {
    Failure::usage(WHAT, why).on(Subject::field(flag))
}

/// Builds the plan of the flags.
fn plan(args: &NewArgs) -> Outcome<MixPlan> {
    let output = paths::local(&args.output)?;
    let (kind, flag, texts) = match (&args.blend, &args.epochized, &args.join) {
        (blend, _, _) if !blend.is_empty() => (MixKind::Blend, "--blend", blend),
        (_, epochized, _) if !epochized.is_empty() => (MixKind::Epochized, "--epochized", epochized),
        (_, _, join) if !join.is_empty() => (MixKind::Join, "--join", join),
        _ => {
            return Err(Failure::usage(WHAT, "there is no member")
                .with_hint("--blend PATH=WEIGHT, --epochized PATH=N or --join NAME=PATH, once for each member"))
        }
    };
    let mut plan = MixPlan::new(output, kind);
    for text in texts {
        plan.members.push(match kind {
            MixKind::Join => join_member(text)?,
            _ => weighted(flag, text)?,
        });
    }
    plan.joiner = args.joiner.clone();
    plan.splits = args.split.clone();
    plan.overwrite = args.force_overwrite;
    about_members(&mut plan, args)?;
    Ok(plan)
}

/// Parses `PATH=WEIGHT`, or `PATH` with weight 1.
fn weighted(flag: &str, text: &str) -> Outcome<MixMember> {
    let Some((path, number)) = text.rsplit_once('=') else {
        return Ok(MixMember::new(checked(flag, text)?, 1.0));
    };
    match number.trim().parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount.is_finite() => Ok(MixMember::new(checked(flag, path)?, amount)),
        Ok(amount) => Err(usage(flag, format!("'{text}' gives {amount}, and a number above 0 is needed"))),
        Err(_) => Err(usage(flag, format!("'{number}' in '{text}' is no number")).with_hint(format!(
            "{flag} PATH=NUMBER; for a path that holds '=': {flag} {}",
            shell_quote(&format!("{text}=1"))
        ))),
    }
}

/// Parses `NAME=PATH`, or `PATH` for a member by position.
fn join_member(text: &str) -> Outcome<MixMember> {
    let (name, path) = match text.split_once('=') {
        Some(("", path)) => (None, path),
        Some((name, path)) => (Some(name.to_owned()), path),
        None => (None, text),
    };
    Ok(MixMember { name, ..MixMember::new(checked("--join", path)?, 1.0) })
}

fn checked(flag: &str, path: &str) -> Outcome<String> {
    if path.is_empty() {
        return Err(usage(flag, "a path is empty").with_hint("`.` is the current folder"));
    }
    Ok(path.to_owned())
}

fn about_members(plan: &mut MixPlan, args: &NewArgs) -> Outcome<()> {
    for text in &args.nonmatch {
        let (member, how) = named(plan, "--nonmatch", text, '=')?;
        let known = [Nonmatch::Error, Nonmatch::Skip, Nonmatch::None];
        let how = known.into_iter().find(|known| known.name() == how);
        member.nonmatch =
            how.ok_or_else(|| usage("--nonmatch", format!("'{text}' must end in error, skip or none")))?;
    }
    for text in &args.split_part {
        let (member, split) = named(plan, "--split-part", text, '=')?;
        member.split_part = Some(split.to_owned());
    }
    for text in &args.subset {
        let (member, range) = named(plan, "--subset", text, '=')?;
        let ends = range.split_once(',').ok_or_else(|| {
            usage("--subset", format!("'{range}' is no range")).with_hint("for example 0%,50% or 0,1000 or 1000,end")
        })?;
        member.subset = Some([ends.0.trim().to_owned(), ends.1.trim().to_owned()]);
    }
    for text in &args.subflavor {
        let Some((front, value)) = text.split_once('=') else {
            return Err(
                usage("--subflavor", format!("'{text}' has no value")).with_hint("--subflavor MEMBER:KEY=VALUE")
            );
        };
        let (member, key) = named(plan, "--subflavor", front, ':')?;
        member.subflavors.push(MixSubflavor { key: key.to_owned(), value: value.to_owned() });
    }
    aux(plan, args)
}

/// Returns the member identified by its path or its name in a join, and the text after the last `sign`.
fn named<'p, 't>(
    plan: &'p mut MixPlan,
    flag: &str,
    text: &'t str,
    sign: char,
) -> Outcome<(&'p mut MixMember, &'t str)> {
    let Some((wanted, rest)) = text.rsplit_once(sign).filter(|(_, rest)| !rest.is_empty()) else {
        return Err(usage(flag, format!("'{text}' is not of the form MEMBER{sign}…")));
    };
    let plain = |path: &str| path.trim_end_matches('/').trim_start_matches("./").to_owned();
    let is_it = |member: &MixMember| member.name.as_deref() == Some(wanted) || plain(&member.path) == plain(wanted);
    let place = plan.members.iter().position(is_it);
    let known: Vec<String> = plan.members.iter().map(|m| m.name.clone().unwrap_or_else(|| m.path.clone())).collect();
    match place.and_then(|place| plan.members.get_mut(place)) {
        Some(member) => Ok((member, rest)),
        None => {
            let hint = match nearest(wanted, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("the members are {}", known.join(", ")),
            };
            Err(usage(flag, format!("'{wanted}' is none of the members")).with_hint(hint))
        }
    }
}

fn aux(plan: &mut MixPlan, args: &NewArgs) -> Outcome<()> {
    let mut sources = Vec::with_capacity(args.aux.len());
    for text in &args.aux {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                sources.push(MixAux::new(name, path));
            }
            _ => return Err(usage("--aux", format!("'{text}' is not of the form NAME=PATH"))),
        }
    }
    if sources.is_empty() {
        return Ok(());
    }
    let mut given = 0;
    for member in plan.members.iter_mut().filter(|member| plan.kind != MixKind::Join && takes_aux(&member.path)) {
        member.aux = sources.clone();
        given += 1;
    }
    if given == 0 {
        return Err(usage("--aux", "no member is crude or JSONL, and others have no aux sources")
            .with_hint("prepare a member with --sample-type CrudeWebdataset, or leave --aux out"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_a_path_and_a_number() {
        let member = weighted("--blend", "a=b/c=0.5").unwrap();
        assert_eq!((member.path.as_str(), member.amount), ("a=b/c", 0.5));
        assert_eq!(weighted("--blend", "a").unwrap().amount, 1.0);
        for bad in ["a=x", "a=0", "a=-1", "a=nan", "a=inf", "=1", ""] {
            assert_eq!(weighted("--blend", bad).unwrap_err().class.code(), 2, "{bad}");
        }
        assert!(weighted("--blend", "a=x").unwrap_err().hint.unwrap().contains("a=x=1"));
        let member = join_member("text=d/a=b").unwrap();
        assert_eq!((member.name.as_deref(), member.path.as_str()), (Some("text"), "d/a=b"));
        assert_eq!(join_member("=d/a=b").unwrap().path, "d/a=b");
        assert_eq!(join_member("d/a").unwrap().name, None);
    }

    #[test]
    fn what_is_said_of_members_finds_them_by_path_or_name() {
        let args = NewArgs {
            join: vec!["text=d/a".into(), "d/b/".into()],
            joiner: Some("m:f".into()),
            nonmatch: vec!["d/b=skip".into()],
            split_part: vec!["text=val".into()],
            subset: vec!["./d/b=0%,50%".into()],
            subflavor: vec!["text:lang=a=b".into()],
            output: "x.yaml".into(),
            ..NewArgs::default()
        };
        let made = plan(&args).unwrap();
        assert_eq!(made.members[1].nonmatch, Nonmatch::Skip);
        assert_eq!(made.members[0].split_part.as_deref(), Some("val"));
        assert_eq!(made.members[1].subset, Some(["0%".into(), "50%".into()]));
        assert_eq!(made.members[0].subflavors[0].value, "a=b");
        let lost = NewArgs { split_part: vec!["txt=val".into()], ..args };
        assert_eq!(plan(&lost).unwrap_err().hint.as_deref(), Some("did you mean 'text'?"));
    }
}
