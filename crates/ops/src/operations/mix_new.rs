//! `mix new`: writes a metadataset that blends, repeats or joins data sets.

use super::{absolute, missing, Operation, Plan};
use crate::engine::mix::author::takes_aux;
use crate::job::mix::{run_mix, tree, MixReport};
use crate::job::report::{Report, ReportLine};
use crate::job::task::TaskContext;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::mix::{MixAux, MixKind, MixMember, MixPlan, MixSubflavor, Nonmatch};
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::text::display_safe;
use gristmill_core::text::shell_quote;
use gristmill_core::{Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_storage::address_secrets::refuse_secrets;
use gristmill_storage::files;
use serde_json::json;
use std::path::Path;

/// Prefix of the path of a folder of files.
const FOLDER: &str = "filesystem://";

type Spec = OptionSpec<MixPlan>;

impl Plan for MixPlan {
    fn blank() -> Self {
        Self::new("", MixKind::Blend)
    }
}

/// Returns the accessors for the members of one kind of mixture.
macro_rules! members {
    ($kind:ident, $format:expr, $parse:expr) => {
        Access::List {
            separator: None,
            get: |plan| match plan.kind {
                MixKind::$kind => plan.members.iter().map($format).collect(),
                _ => Vec::new(),
            },
            set: |plan, texts| set_members(plan, MixKind::$kind, &texts, $parse),
        }
    };
}

/// Returns the accessors for a property of members, in texts that name the member.
macro_rules! property {
    ($texts:expr, $reset:expr, $apply:expr) => {
        Access::List {
            separator: None,
            get: |plan| plan.members.iter().flat_map($texts).collect(),
            set: |plan, texts| {
                let mut members = plan.members.clone();
                members.iter_mut().for_each($reset);
                texts.iter().try_for_each(|text| $apply(&mut members, text.as_str()))?;
                plan.members = members;
                Ok(())
            },
        }
    };
}

const MEMBERS: &[Spec] = &[
    Spec::new(
        "blend",
        "PATH=WEIGHT",
        "Draw from this data set with this weight, or with weight 1 (repeat)",
        members!(Blend, weighted_text, weighted),
    )
    .example("a.jsonl=0.7")
    .conflicts(&["epochized", "join"]),
    Spec::new(
        "epochized",
        "PATH=N",
        "Use every sample of this data set N times per epoch, or once (repeat)",
        members!(Epochized, weighted_text, weighted),
    )
    .example("a.jsonl=2")
    .conflicts(&["join"]),
    Spec::new(
        "join",
        "[NAME=]PATH",
        "Join this data set by key, under a name or by position (repeat); the first determines the samples",
        members!(Join, join_text, join_member),
    )
    .example("a=data/a"),
];

const JOINS: &[Spec] = &[
    Spec::new(
        "joiner",
        "MODULE:FUNC",
        "Function, or class (capital letter), that makes one sample of several",
        text!(joiner),
    ),
    Spec::new(
        "nonmatch",
        "MEMBER=HOW",
        "What to do with samples that a member lacks: error, skip or none (repeat)",
        property!(
            |member| (member.nonmatch != Nonmatch::Error).then(|| format!(
                "{}={}",
                label(member),
                member.nonmatch.name()
            )),
            |member| member.nonmatch = Nonmatch::Error,
            set_nonmatch
        ),
    )
    .example("a=skip"),
];

const ABOUT_MEMBERS: &[Spec] = &[
    Spec::new(
        "aux",
        "NAME=PATH",
        "Where crude and JSONL members find their media: a prepared data set, or a folder of files (repeat)",
        Access::List {
            separator: None,
            get: |plan| {
                let sources = plan.members.iter().map(|member| &member.aux).find(|aux| !aux.is_empty());
                sources.into_iter().flatten().map(|aux| format!("{}={}", aux.name, aux.path)).collect()
            },
            set: |plan, texts| {
                let source = |text: &String| match text.split_once('=') {
                    Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                        checked(path).map(|path| MixAux::new(name, path))
                    }
                    _ => Err(format!("'{text}' is not of the form NAME=PATH")),
                };
                let sources = texts.iter().map(source).collect::<Result<Vec<_>, _>>()?;
                plan.members.iter_mut().for_each(|member| member.aux.clone_from(&sources));
                Ok(())
            },
        },
    )
    .example("media=data/media")
    .applies("--blend PATH", |plan| !plan.members.is_empty() && plan.kind != MixKind::Join),
    Spec::new(
        "split-part",
        "MEMBER=SPLIT",
        "Use this split of a member in place of the one of the same name (repeat)",
        property!(
            |member| member.split_part.as_ref().map(|split| format!("{}={split}", label(member))),
            |member| member.split_part = None,
            |members: &mut [MixMember], text: &str| {
                let (member, split) = named(members, text, '=')?;
                member.split_part = Some(split.to_owned());
                Ok::<(), String>(())
            }
        ),
    )
    .example("a.jsonl=val")
    .advanced(),
    Spec::new(
        "subset",
        "MEMBER=FROM,TO",
        "Use a range of a member: 0%,50% or 0,1000 or 1000,end (repeat)",
        property!(
            |member| member.subset.as_ref().map(|[from, to]| format!("{}={from},{to}", label(member))),
            |member| member.subset = None,
            set_subset
        ),
    )
    .example("a.jsonl=0%,50%")
    .advanced(),
    Spec::new(
        "subflavor",
        "MEMBER:KEY=VALUE",
        "Add a property to each sample of a member (repeat)",
        property!(
            |member| {
                let text = |flavor: &MixSubflavor| format!("{}:{}={}", label(member), flavor.key, flavor.value);
                member.subflavors.iter().map(text).collect::<Vec<_>>()
            },
            |member| member.subflavors.clear(),
            add_subflavor
        ),
    )
    .example("a.jsonl:lang=en")
    .advanced(),
];

const OUTPUT: &[Spec] = &[
    Spec::new("split", "NAME", "Split to write (repeat)", list!(None, splits))
        .unset("those of train, val and test that every member has, JSONL files in the first alone; of a join train"),
    Spec::new("output", "META.yaml", "Metadataset to write (.yaml)", path!(output)).or_store().short('o').required(),
    Spec::new("force-overwrite", "", "Replace an existing file", switch!(overwrite)).replaces(""),
];

/// The `mix new` operation.
pub struct MixNew;

impl Operation for MixNew {
    type Plan = MixPlan;
    type Preview = MixReport;
    type Report = MixReport;
    const NAME: &'static str = "mix new";
    const ABOUT: &'static str = "Write a metadataset: a blend, an epochized blend or a join of prepared data sets";
    const ACTIVITY: &'static str = "checking";
    const PLAN_OF: &'static str = "writing a metadataset";
    const FILE_NAME: Option<&'static str> = Some("mix");
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("Members", "settings", MEMBERS).one_of(),
        Group::new("Joins", "settings", JOINS).needs("--join PATH", |plan| plan.kind == MixKind::Join),
        Group::new("About members", "settings", ABOUT_MEMBERS).needs("--blend PATH", |plan| !plan.members.is_empty()),
        Group::new("Output", "settings", OUTPUT),
    ];

    fn complete(plan: &mut MixPlan) {
        let takes: Vec<bool> = plan.members.iter().map(|member| has_aux(member) && takes_aux(&member.path)).collect();
        if takes.contains(&true) {
            let others = plan.members.iter_mut().zip(takes).filter(|(_, takes)| !takes);
            others.for_each(|(member, _)| member.aux.clear());
        }
    }

    fn check(plan: &MixPlan, _: bool) -> Vec<Problem> {
        let mut found = missing::<Self>(plan);
        if plan.kind == MixKind::Join && plan.joiner.is_none() {
            let why = "--joiner is needed: the function that makes one sample of the joined ones";
            let problem = Problem::refusal(ProblemKind::MissingAnswer, Subject::default(), why);
            found.push(problem.with_hint("for example --joiner my.module:join"));
        }
        let mut sources = plan.members.iter().filter(|member| has_aux(member)).peekable();
        // Members that do not exist are reported when they are opened.
        let may_have_aux = |member: &MixMember| !files::exists(&member.path) || takes_aux(&member.path);
        if sources.peek().is_some() && !sources.any(may_have_aux) {
            let why = "no member is crude or JSONL, and others have no aux sources";
            let problem = Problem::refusal(ProblemKind::BadName, Subject::field("--aux"), why);
            found.push(problem.with_hint("prepare a member with --sample-type CrudeWebdataset, or leave --aux out"));
        }
        found
    }

    fn is_expressible(plan: &MixPlan) -> bool {
        let mut typed = MixPlan::blank();
        let options = Self::GROUPS.iter().flat_map(|group| group.options);
        let is_accepted = options.into_iter().all(|option| option.set(&mut typed, &option.get(plan)).is_ok());
        Self::complete(&mut typed);
        is_accepted && typed == *plan
    }

    fn absolute(plan: &MixPlan) -> Outcome<MixPlan> {
        let mut plan = absolute::<Self>(plan)?;
        for member in &mut plan.members {
            member.is_relative |= make_absolute(&mut member.path);
            for aux in &mut member.aux {
                aux.is_relative |= make_absolute(&mut aux.path);
            }
        }
        Ok(plan)
    }

    fn notes(plan: &MixPlan) -> Outcome<Option<Vec<Problem>>> {
        let others = if plan.kind == MixKind::Join && plan.splits.is_empty() { other_splits(plan) } else { Vec::new() };
        if others.is_empty() {
            return Ok(None);
        }
        let message = format!("only the split train is written; the members have {} too", others.join(" and "));
        let hint = "--split NAME writes another: one file for each split, since the loader keeps one join index a file";
        Ok(Some(vec![Problem::note(ProblemKind::Other, Subject::path(&plan.output), message).with_hint(hint)]))
    }

    fn preview(plan: &MixPlan, context: &TaskContext) -> Outcome<MixReport> {
        run_mix(plan, false, context)
    }

    fn run(plan: &MixPlan, context: &TaskContext) -> Outcome<MixReport> {
        run_mix(plan, true, context)
    }
}

impl Report for MixReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let mut lines = tree::lines(&self.facts);
        let path = self.path.to_string_lossy();
        let shown = display_safe(&path);
        if is_preview {
            lines.extend(self.text.lines().map(|line| ReportLine::plain(display_safe(line))));
        }
        lines.push(match (is_preview, self.nothing_to_do, self.replaces) {
            (true, ..) => ReportLine::plain(format!("Would write {shown}. Nothing was written.")),
            (_, true, _) => ReportLine::success("Nothing to do.", format!(" {shown} already has this content.")),
            (_, _, true) => ReportLine::success(format!("Written {shown}"), ", replacing an older one."),
            _ => ReportLine::success(format!("Written {shown}"), "."),
        });
        lines
    }

    fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        value["problems"] = json!(self.facts.problems);
        value
    }

    fn is_nothing_to_do(&self) -> bool {
        self.nothing_to_do
    }

    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        (&self.facts.problems, &self.counts)
    }

    fn next_command(&self) -> Option<String> {
        self.needs_prepare
            .then(|| format!("gristmill prepare {} makes the join", shell_quote(&self.path.to_string_lossy())))
    }
}

fn has_aux(member: &MixMember) -> bool {
    !member.aux.is_empty()
}

/// Returns the name of a member in option values.
fn label(member: &MixMember) -> &str {
    member.name.as_deref().unwrap_or(&member.path)
}

/// Replaces the members of a mixture of one kind. Members with an unchanged path keep their properties.
fn set_members(
    plan: &mut MixPlan,
    kind: MixKind,
    texts: &[String],
    parse: fn(&str) -> Result<MixMember, String>,
) -> Result<(), String> {
    let mut members = texts.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
    if members.is_empty() && plan.kind != kind {
        return Ok(());
    }
    for member in &mut members {
        if let Some(old) = plan.members.iter().find(|old| old.path == member.path) {
            *member = MixMember { amount: member.amount, name: member.name.take(), ..old.clone() };
        }
    }
    plan.kind = if members.is_empty() { MixKind::Blend } else { kind };
    plan.members = members;
    Ok(())
}

fn weighted_text(member: &MixMember) -> String {
    match member.amount {
        1.0 if !member.path.contains('=') => member.path.clone(),
        amount => format!("{}={amount}", member.path),
    }
}

/// Parses `PATH=WEIGHT`, or `PATH` with weight 1.
fn weighted(text: &str) -> Result<MixMember, String> {
    let Some((path, number)) = text.rsplit_once('=') else {
        return Ok(MixMember::new(checked(text)?, 1.0));
    };
    match number.trim().parse::<f64>() {
        Ok(amount) if amount > 0.0 && amount.is_finite() => Ok(MixMember::new(checked(path)?, amount)),
        Ok(amount) => Err(format!("'{text}' gives {amount}, and a number above 0 is needed")),
        Err(_) => Err(format!(
            "'{number}' in '{text}' is not a number (for a path that contains '=', add a number: {})",
            shell_quote(&format!("{text}=1"))
        )),
    }
}

fn join_text(member: &MixMember) -> String {
    match &member.name {
        Some(name) => format!("{name}={}", member.path),
        None if member.path.contains('=') => format!("={}", member.path),
        None => member.path.clone(),
    }
}

/// Parses `NAME=PATH`, or `PATH` for a positional member.
fn join_member(text: &str) -> Result<MixMember, String> {
    let (name, path) = match text.split_once('=') {
        Some(("", path)) => (None, path),
        Some((name, path)) => (Some(name.to_owned()), path),
        None => (None, text),
    };
    Ok(MixMember { name, ..MixMember::new(checked(path)?, 1.0) })
}

fn checked(path: &str) -> Result<String, String> {
    match path {
        "" => Err("the path is empty (`.` is the current folder)".to_owned()),
        path => refuse_secrets(path).map(|()| path.to_owned()).map_err(|failure| failure.why),
    }
}

fn set_nonmatch(members: &mut [MixMember], text: &str) -> Result<(), String> {
    let (member, how) = named(members, text, '=')?;
    let known = [Nonmatch::Error, Nonmatch::Skip, Nonmatch::None].into_iter().find(|known| known.name() == how);
    member.nonmatch = known.ok_or_else(|| format!("'{text}' must end in error, skip or none"))?;
    Ok(())
}

fn set_subset(members: &mut [MixMember], text: &str) -> Result<(), String> {
    let (member, range) = named(members, text, '=')?;
    let (from, to) = range.split_once(',').ok_or_else(|| format!("'{range}' is not a range"))?;
    member.subset = Some([from.trim().to_owned(), to.trim().to_owned()]);
    Ok(())
}

fn add_subflavor(members: &mut [MixMember], text: &str) -> Result<(), String> {
    let (front, value) = text.split_once('=').ok_or_else(|| format!("'{text}' has no value"))?;
    let (member, key) = named(members, front, ':')?;
    member.subflavors.push(MixSubflavor { key: key.to_owned(), value: value.to_owned() });
    Ok(())
}

/// Returns the member with the path or join name in the text, and the text after the last `sign`.
fn named<'p, 't>(
    members: &'p mut [MixMember],
    text: &'t str,
    sign: char,
) -> Result<(&'p mut MixMember, &'t str), String> {
    let Some((wanted, rest)) = text.rsplit_once(sign).filter(|(_, rest)| !rest.is_empty()) else {
        return Err(format!("'{text}' is not of the form MEMBER{sign}…"));
    };
    let plain = |path: &str| path.trim_end_matches('/').trim_start_matches("./").to_owned();
    let is_it = |member: &MixMember| member.name.as_deref() == Some(wanted) || plain(&member.path) == plain(wanted);
    let known: Vec<String> = members.iter().map(|member| label(member).to_owned()).collect();
    if let Some(member) = members.iter_mut().find(|member| is_it(member)) {
        return Ok((member, rest));
    }
    let hint = match nearest(wanted, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("the members are {}", known.join(", ")),
    };
    Err(format!("'{wanted}' is not a member; {hint}"))
}

/// Returns those of the splits `val` and `test` that the first member of a join has.
fn other_splits(plan: &MixPlan) -> Vec<&'static str> {
    let file = plan.members.first().and_then(|member| SplitFile::read(Path::new(&member.path)).ok().flatten());
    let has = |name: &&str| {
        file.iter().flat_map(|file| &file.split_parts).any(|(split, shards)| split == name && !shards.is_empty())
    };
    ["val", "test"].into_iter().filter(has).collect()
}

/// Makes a relative path absolute. Returns whether it was relative.
fn make_absolute(text: &mut String) -> bool {
    let scheme = if text.starts_with(FOLDER) { FOLDER } else { "" };
    let path = text.get(scheme.len()..).unwrap_or_default();
    let is_relative = !path.starts_with('/') && !path.contains("://");
    if let (true, Ok(whole)) = (is_relative, files::absolute(path)) {
        *text = format!("{scheme}{}", whole.to_string_lossy());
    }
    is_relative
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::options::Answer;

    #[test]
    fn blend_member_is_a_path_with_an_optional_number() {
        let member = weighted("a=b/c=0.5").unwrap();
        assert_eq!((member.path.as_str(), member.amount), ("a=b/c", 0.5));
        assert_eq!(weighted("a").unwrap().amount, 1.0);
        for bad in ["a=x", "a=0", "a=-1", "a=nan", "a=inf", "=1", ""] {
            assert!(weighted(bad).is_err(), "{bad}");
        }
        assert!(weighted("a=x").unwrap_err().contains("a=x=1"));
        let member = join_member("text=d/a=b").unwrap();
        assert_eq!((member.name.as_deref(), member.path.as_str()), (Some("text"), "d/a=b"));
        assert_eq!(join_member("=d/a=b").unwrap().path, "d/a=b");
        assert_eq!(join_member("d/a").unwrap().name, None);
    }

    #[test]
    fn member_properties_are_assigned_by_path_or_name() {
        let mut plan = MixPlan::blank();
        let mut set = |name: &str, values: &[&str]| {
            let mut options = MixNew::GROUPS.iter().flat_map(|group| group.options);
            let option = options.find(|option| option.info.name == name).unwrap();
            let answer = Answer::List(values.iter().map(|&value| value.to_owned()).collect());
            option.set(&mut plan, &answer).map(|()| plan.clone())
        };
        set("join", &["text=d/a", "d/b/"]).unwrap();
        set("nonmatch", &["d/b=skip"]).unwrap();
        set("split-part", &["text=val"]).unwrap();
        set("subset", &["./d/b=0%,50%"]).unwrap();
        let made = set("subflavor", &["text:lang=a=b"]).unwrap();
        assert_eq!(made.members[1].nonmatch, Nonmatch::Skip);
        assert_eq!(made.members[0].split_part.as_deref(), Some("val"));
        assert_eq!(made.members[1].subset, Some(["0%".into(), "50%".into()]));
        assert_eq!(made.members[0].subflavors[0].value, "a=b");
        assert!(MixNew::is_expressible(&made));
        assert!(set("split-part", &["txt=val"]).unwrap_err().contains("did you mean 'text'?"));
    }
}
