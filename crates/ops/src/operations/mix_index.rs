//! `mix index`: writes the index that nanotron's Nanoset would compute for a mixture of token folders.

use super::{missing, Advice, AnyPlan, Operation, Plan, QuestionNeed};
use crate::job::report::{problem_table, Report, ReportLine};
use crate::job::task::TaskContext;
use crate::tokens::formats::mixture::job::{run_index, MixtureIndexReport};
use crate::tokens::formats::mixture::training::read_training;
use crate::tokens::formats::mixture::{Member, MixtureIndexPlan, TokenizerSettings, DEFAULT_SEED};
use gristmill_core::options::{Access, Group, OptionRow, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes, count, display_safe, grouped, percent, shell_quote};
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_storage::read::read_whole;
use std::path::{Path, PathBuf};

/// Maximum size of a training configuration, in bytes.
const MAX_YAML_BYTES: u64 = 16 << 20;

type Spec = OptionSpec<MixtureIndexPlan>;

impl Plan for MixtureIndexPlan {
    fn blank() -> Self {
        Self {
            version: PLAN_VERSION,
            members: Vec::new(),
            weights: None,
            sequence_length: None,
            samples: 0,
            seed: DEFAULT_SEED,
            training: TokenizerSettings::default(),
            output: PathBuf::new(),
            overwrite: false,
        }
    }
}

fn folders(plan: &MixtureIndexPlan) -> Vec<String> {
    let folder = |member: &Member| match member {
        Member::Folder(folder) => Some(folder.to_string_lossy().into_owned()),
        Member::Windows(_) => None,
    };
    plan.members.iter().filter_map(folder).collect()
}

fn lengths(plan: &MixtureIndexPlan) -> Vec<String> {
    let windows = |member: &Member| match member {
        Member::Folder(_) => None,
        Member::Windows(windows) => Some(windows.to_string()),
    };
    plan.members.iter().filter_map(windows).collect()
}

/// Replaces the members for which `is_it` returns `true`. If their number does not change, they keep their positions among the others.
fn replace(plan: &mut MixtureIndexPlan, new: Vec<Member>, is_it: fn(&Member) -> bool) {
    let old = plan.members.iter().filter(|member| is_it(member)).count();
    if old != new.len() {
        plan.members.retain(|member| !is_it(member));
        plan.members.extend(new);
        return;
    }
    let places = plan.members.iter_mut().filter(|member| is_it(member));
    places.zip(new).for_each(|(place, member)| *place = member);
}

const FOLDERS: &[Spec] = &[Spec::new(
    "folder",
    "FOLDERS",
    "Folders of .ds files, in the order of their numbers",
    Access::Paths {
        get: folders,
        set: |plan, paths| {
            let members = paths.into_iter().map(|path| Member::Folder(path.into())).collect();
            replace(plan, members, |member| matches!(member, Member::Folder(_)));
        },
    },
)
.or_store()
.positional()
.conflicts(&["lengths", "config"])];

const MEMBERS: &[Spec] = &[
    Spec::new(
        "lengths",
        "N,N,…",
        "Windows of each data set, in place of folders",
        Access::List {
            separator: Some(','),
            get: lengths,
            set: |plan, texts| {
                let windows = |text: &String| {
                    text.parse().map(Member::Windows).map_err(|_| format!("'{text}' is not a whole number"))
                };
                let members = texts.iter().map(windows).collect::<Result<Vec<_>, _>>()?;
                replace(plan, members, |member| matches!(member, Member::Windows(_)));
                Ok(())
            },
        },
    )
    .example("8,2,5,5")
    .conflicts(&["config"]),
    Spec::new(
        "config",
        "TRAINING.yaml",
        "Training configuration of nanotron: its folders, weights, sequence length, samples, seed, tokenizer and vocab_size are used \
         unless a flag gives others",
        Access::File { read: |plan, path| read_config(plan, path, None) },
    ),
    Spec::new(
        "stage",
        "NAME",
        "Stage of the training configuration",
        Access::FilePart { read: |plan, path, stage| read_config(plan, path, Some(stage)) },
    )
    .needs("config"),
];

const MIXTURE: &[Spec] = &[
    Spec::new(
        "weights",
        "W,W,…",
        "One weight for each data set, in any unit",
        Access::List {
            separator: Some(','),
            get: |plan| plan.weights.iter().flatten().map(f64::to_string).collect(),
            set: |plan, texts| {
                let weight = |text: &String| text.parse::<f64>().map_err(|_| format!("'{text}' is not a number"));
                let weights = texts.iter().map(weight).collect::<Result<Vec<_>, _>>()?;
                plan.weights = Some(weights).filter(|weights| !weights.is_empty());
                Ok(())
            },
        },
    )
    .example("0.7,0.3")
    .unset("by length"),
    Spec::new(
        "sequence-length",
        "N",
        "Tokens of a sample, without the one that is only predicted",
        number!(1..=u64::MAX, sequence_length),
    ),
    Spec::new("samples", "N", "Training steps times the global batch", number_or!(0, 1..=u64::MAX, samples)).required(),
    Spec::new("seed", "S", "Seed of the shuffle", number_or!(DEFAULT_SEED, 0..=u32::MAX as u64, seed)).default("1234"),
];

const TRAINING: &[Spec] = &[
    Spec::new(
        "tokenizer",
        "NAME",
        "tokenizer_name_or_path of the training configuration, compared with the metadata of the folders",
        text!(training.tokenizer),
    )
    .conflicts(&["lengths"])
    .advanced(),
    Spec::new(
        "vocab-size",
        "N",
        "vocab_size of the training configuration, compared with the tokenizer of the folders",
        number!(0..=u64::MAX, training.vocab_size),
    )
    .conflicts(&["lengths"])
    .advanced(),
];

const OUTPUT: &[Spec] = &[
    Spec::new("output", "DIR", "Folder for dataset_index.npy and dataset_sample_index.npy", path!(output))
        .or_store()
        .short('o')
        .required(),
    Spec::new("force-overwrite", "", "Replace an existing index", switch!(overwrite)).replaces(""),
];

/// Completes a plan with the settings of a training configuration. Flags have precedence.
fn read_config(plan: &mut MixtureIndexPlan, path: &Path, stage: Option<&str>) -> Outcome<()> {
    const ACTIVITY: &str = "reading the training configuration";
    let bytes = read_whole(path, MAX_YAML_BYTES)?;
    let bytes = bytes.ok_or_else(|| Failure::io(ACTIVITY, path, &std::io::ErrorKind::NotFound.into()))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::data(ACTIVITY, "it is not UTF-8 text").on(Subject::path(path)))?;
    let training = read_training(path, &text, stage)?;
    if plan.members.is_empty() {
        plan.members = training.folders.iter().map(|folder| Member::Folder(folder.into())).collect();
    }
    if plan.weights.is_none() {
        plan.weights = training.weights;
    }
    plan.sequence_length = plan.sequence_length.or(training.sequence_length);
    if plan.samples == 0 {
        plan.samples = training.samples.unwrap_or(0);
    }
    if let (DEFAULT_SEED, Some(seed)) = (plan.seed, training.seed) {
        plan.seed = u32::try_from(seed).map_err(|_| {
            let why = format!("its seed {seed} is beyond 2^32 - 1, the maximum of numpy");
            Failure::usage(ACTIVITY, why).on(Subject::path(path)).with_hint("--seed S gives another")
        })?;
    }
    let tokenizer = training.tokenizer;
    plan.training.tokenizer = plan.training.tokenizer.take().or(tokenizer.tokenizer);
    plan.training.vocab_size = plan.training.vocab_size.or(tokenizer.vocab_size);
    Ok(())
}

/// The advice of `mix index`: the data sets and the length of a sample are questions unless other answers have them.
struct MixtureAdvice;

impl Advice for MixtureAdvice {
    fn order(&self) -> &'static [&'static str] {
        &["folder", "sequence-length"]
    }

    fn need(&self, plan: &dyn AnyPlan, row: &OptionRow) -> QuestionNeed {
        let members = plan.typed::<MixtureIndexPlan>().map(|plan| plan.members.as_slice()).unwrap_or_default();
        match row.info.name {
            "folder" if members.is_empty() => QuestionNeed::Required,
            "sequence-length" if has_folder(members) => QuestionNeed::Required,
            _ if row.info.is_required => QuestionNeed::Required,
            _ => QuestionNeed::Optional,
        }
    }
}

fn has_folder(members: &[Member]) -> bool {
    members.iter().any(|member| matches!(member, Member::Folder(_)))
}

/// The `mix index` operation.
pub struct MixIndex;

impl Operation for MixIndex {
    type Plan = MixtureIndexPlan;
    type Preview = MixtureIndexReport;
    type Report = MixtureIndexReport;
    const NAME: &'static str = "mix index";
    const ABOUT: &'static str = "Make the index of a mixture of token folders, as nanotron's Nanoset does";
    const ACTIVITY: &'static str = "mixing";
    const PLAN_OF: &'static str = "the index of a mixture";
    const GROUPS: &'static [Group<Self::Plan>] = &[
        Group::new("", "settings", FOLDERS),
        Group::new("Members", "settings", MEMBERS),
        Group::new("Mixture", "settings", MIXTURE),
        Group::new("Training", "settings", TRAINING),
        Group::new("Output", "settings", OUTPUT),
    ];

    fn check(plan: &MixtureIndexPlan, _: bool) -> Vec<Problem> {
        let refusal =
            |subject, why: &str, hint: &str| Problem::refusal(ProblemKind::MissingAnswer, subject, why).with_hint(hint);
        let no_member = plan.members.is_empty().then(|| {
            let hint = "folders of .ds files, --lengths 8,2,5, or --config TRAINING.yaml";
            refusal(Subject::default(), "there is no data set", hint)
        });
        let no_length = (has_folder(&plan.members) && plan.sequence_length.is_none()).then(|| {
            let why = "--sequence-length N is not given, which determines the windows of a folder";
            refusal(Subject::default(), why, "the value of the training configuration; or --config TRAINING.yaml")
        });
        no_member.into_iter().chain(no_length).chain(missing::<Self>(plan)).collect()
    }

    fn advice(_: &RunOptions) -> Box<dyn Advice> {
        Box::new(MixtureAdvice)
    }

    fn is_expressible(plan: &MixtureIndexPlan) -> bool {
        folders(plan).is_empty() || lengths(plan).is_empty()
    }

    fn preview(plan: &MixtureIndexPlan, context: &TaskContext) -> Outcome<MixtureIndexReport> {
        run_index(plan, false, context)
    }

    fn run(plan: &MixtureIndexPlan, context: &TaskContext) -> Outcome<MixtureIndexReport> {
        run_index(plan, true, context)
    }
}

impl Report for MixtureIndexReport {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let mut lines = figures(self);
        lines.extend(problem_table(&self.findings.counts));
        let output = display_safe(&self.output.to_string_lossy()).into_owned();
        lines.push(match (is_preview, self.nothing_to_do) {
            (true, _) => ReportLine::plain(format!("Would write {output}. Nothing was written.")),
            (false, true) => ReportLine::success("Nothing to do.", format!(" {output} already has this index.")),
            (false, false) => ReportLine::success(
                "Written dataset_index.npy and dataset_sample_index.npy",
                format!(" in {output}, {}.", bytes(self.files.iter().map(|file| file.bytes).sum())),
            ),
        });
        lines
    }

    crate::job_report!(; findings);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill info {}", shell_quote(&self.output.to_string_lossy())))
    }
}

/// Returns lines with the samples, epochs and shares of the mixture.
fn figures(report: &MixtureIndexReport) -> Vec<ReportLine> {
    let outlook = &report.outlook;
    let about = if outlook.is_exact { "" } else { "about " };
    let mut lines = vec![ReportLine::plain(format!(
        "{} from {}, {} per epoch, {:.2} epochs",
        count(outlook.samples, "sample"),
        count(outlook.members.len() as u64, "data set"),
        grouped(outlook.epoch),
        outlook.passes
    ))];
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
            windows => format!("{about}{}", percent(share.unread as f64 / windows as f64)),
        };
        table.row([
            display_safe(name).into_owned(),
            grouped(share.windows),
            format!("{:.4}", share.weight),
            format!("{about}{}", grouped(share.samples)),
            percent(share.samples as f64 / outlook.samples.max(1) as f64),
            format!("{:.2}", share.repeats),
            unread,
        ]);
    }
    lines.extend(table.lines().into_iter().map(ReportLine::from));
    lines
}
