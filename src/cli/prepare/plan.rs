//! Flags → [`PreparePlan`].

use super::args::{DuplicatesArg, PrepareArgs, TgzArg};
use crate::cli::args::Globals;
use crate::cli::paths;
use gristmill_core::plan::{FieldExpr, SplitList, SplitPattern};
use gristmill_core::sample_type::{self, CRUDE_CLASS};
use gristmill_core::{Duplicates, Failure, Loading, Outcome, PreparePlan, Rerun, Scope, SplitPlan, Subject, Tgz};
use gristmill_ops::engine::plan::flags;
use gristmill_ops::formats::energon::split_yaml::SplitFile;
use serde::de::{MapAccess, Visitor};
use std::path::Path;

/// Maximum size in bytes of a file of excludes.
const MAX_BYTES: u64 = 64 << 20;

/// Returns the plan of the flags; unanswered questions stay unset.
pub fn from_args(args: &PrepareArgs, globals: &Globals) -> Outcome<PreparePlan> {
    let mut plan = PreparePlan::new(paths::local(&args.path)?);
    plan.rerun = match (args.update, args.force_overwrite) {
        (true, _) => Rerun::Update,
        (_, true) => Rerun::Overwrite,
        _ => Rerun::Refuse,
    };
    plan.reset_excludes = args.reset_excludes;
    plan.skip_bad_lines = args.skip_bad_lines;
    plan.new_to = args.new_to.clone();
    plan.scope = match (args.tar_index_only, args.skip_sample_tables) {
        (true, _) => Scope::TarIndexOnly,
        (_, true) => Scope::WithoutSampleTables,
        _ => Scope::Full,
    };
    plan.exclude_shards = args.exclude.clone();
    plan.shuffle_tars = args.shuffle_tars;
    plan.allow_empty_splits = args.allow_empty_splits;
    plan.duplicates = match args.duplicates {
        DuplicatesArg::Fail => Duplicates::Fail,
        DuplicatesArg::KeepFirst => Duplicates::KeepFirst,
    };
    plan.tgz = match args.tgz {
        TgzArg::Skip => Tgz::Skip,
        TgzArg::Rewrite => Tgz::Rewrite,
    };
    plan.media = args.media.plan()?;
    if plan.media.is_some() && plan.scope != Scope::Full {
        return Err(without_database(plan.scope));
    }
    plan.compat = globals.compat;
    plan.loading = loading(args)?;
    if let Some(name) = &args.dataset_yaml_name {
        plan.dataset_yaml_name = yaml_name(name)?;
    }
    plan.splits = splits(args, globals.compat)?;
    if let Some(path) = &args.splits_from {
        take_split_file(path, &mut plan)?;
    }
    plan.excludes.extend(args.exclude_sample.iter().cloned());
    if let Some(path) = &args.exclude_from {
        plan.excludes.extend(exclude_lines(&paths::read_text(path, "reading --exclude-from", MAX_BYTES)?));
    }
    Ok(plan)
}

/// Returns the failure for media metadata without a full database, which stores it.
pub fn without_database(scope: Scope) -> Failure {
    let flag = if scope == Scope::TarIndexOnly { flags::TAR_INDEX_ONLY } else { flags::SKIP_SAMPLE_TABLES };
    Failure::usage("reading the flags", format!("media metadata cannot be made together with {flag}"))
        .with_hint("leave one of the two out; gristmill prepare-media describes the media of a prepared data set")
}

/// Takes splits and excludes of a `split.yaml` unchanged.
fn take_split_file(path: &Path, plan: &mut PreparePlan) -> Outcome<()> {
    let Some(file) = SplitFile::read_file(path)? else {
        return Err(Failure::io("reading --splits-from", path, &std::io::ErrorKind::NotFound.into()));
    };
    plan.findings.extend(file.repeated_excludes(path));
    let lists = file.split_parts.into_iter().map(|(name, shards)| SplitList { name, shards });
    plan.splits = SplitPlan::Listed(lists.collect());
    plan.excludes = file.exclude;
    Ok(())
}

/// Parses one item per line; blank lines and lines that begin with `#` are ignored.
pub fn exclude_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

fn splits(args: &PrepareArgs, compat: bool) -> Outcome<SplitPlan> {
    if !args.split_parts.is_empty() {
        return Ok(SplitPlan::Patterns(split_patterns(&args.split_parts, compat)?));
    }
    Ok(args.split_ratio.clone().map_or(SplitPlan::Unset, SplitPlan::Ratio))
}

/// Parses `NAME:REGEX` texts, split at the first colon. A repeated name is refused, unless `last_wins`.
pub fn split_patterns(texts: &[String], last_wins: bool) -> Outcome<Vec<SplitPattern>> {
    let mut patterns: Vec<SplitPattern> = Vec::new();
    for text in texts {
        let Some((name, pattern)) = text.split_once(':').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage("reading --split-parts", "NAME:REGEX is needed")
                .on(Subject::field(text))
                .with_hint("for example --split-parts 'train:train/.*'"));
        };
        match patterns.iter_mut().find(|known| known.name == name) {
            Some(known) if last_wins => pattern.clone_into(&mut known.pattern),
            Some(known) => {
                let both = format!("{name}:(?:{}|{pattern})", known.pattern);
                return Err(Failure::usage("reading --split-parts", "this split is given twice")
                    .on(Subject::field(name))
                    .with_hint(format!("join the patterns: --split-parts '{both}'")));
            }
            None => patterns.push(SplitPattern { name: name.to_owned(), pattern: pattern.to_owned() }),
        }
    }
    Ok(patterns)
}

fn loading(args: &PrepareArgs) -> Outcome<Loading> {
    let Some(sample_type) = args.sample_type.clone() else {
        return Ok(if args.skip_dataset_yaml { Loading::NoDatasetYaml } else { Loading::Unset });
    };
    let crude = sample_type == CRUDE_CLASS;
    if crude && (!args.field_map.is_empty() || args.sample_loader) {
        return Err(Failure::usage("reading --sample-type", "crude samples take neither field map nor sample loader")
            .on(Subject::field(sample_type))
            .with_hint("leave the flag out, or name a sample type"));
    }
    if args.cooker && !crude {
        return Err(Failure::usage("reading --cooker", "only crude samples are cooked")
            .on(Subject::field(sample_type))
            .with_hint("--sample-type CrudeWebdataset --cooker, or --sample-loader for this type"));
    }
    if crude {
        return Ok(Loading::Crude { cooker: args.cooker });
    }
    if args.sample_loader {
        return Ok(Loading::SampleLoader { sample_type });
    }
    let mut fields = field_map(&args.field_map)?;
    in_class_order(&sample_type, &mut fields);
    Ok(Loading::FieldMap { sample_type, fields })
}

/// Sorts fields by the order of their class, so that equivalent flags give the same file. Unknown ones stay last.
fn in_class_order(sample_type: &str, fields: &mut [FieldExpr]) {
    let class = sample_type.rsplit(':').next().unwrap_or(sample_type);
    if let Some(known) = sample_type::find(class) {
        fields.sort_by_key(|f| known.fields.iter().position(|k| k.name == f.field).unwrap_or(usize::MAX));
    }
}

/// Parses texts, each a JSON object or one `FIELD=EXPR`; keeps the order, refuses a repeated field.
pub fn field_map(texts: &[String]) -> Outcome<Vec<FieldExpr>> {
    let mut fields: Vec<FieldExpr> = Vec::new();
    for text in texts {
        let more = if text.trim_start().starts_with('{') { from_json(text)? } else { vec![from_pair(text)?] };
        for field in more {
            if fields.iter().any(|known| known.field == field.field) {
                return Err(Failure::usage("reading --field-map", "this field is given twice")
                    .on(Subject::field(field.field))
                    .with_hint("alternatives of one field are separated by commas: caption=json[text],txt"));
            }
            fields.push(field);
        }
    }
    Ok(fields)
}

fn from_pair(text: &str) -> Outcome<FieldExpr> {
    match text.split_once('=') {
        Some((field, expr)) if !field.trim().is_empty() && !expr.is_empty() => {
            Ok(FieldExpr { field: field.trim().to_owned(), expr: expr.to_owned() })
        }
        _ => Err(Failure::usage("reading --field-map", "a JSON object or FIELD=EXPR is needed")
            .on(Subject::field(text))
            .with_hint("for example --field-map image=jpg --field-map 'caption=json[text],txt'")),
    }
}

fn from_json(text: &str) -> Outcome<Vec<FieldExpr>> {
    serde_json::from_str::<Pairs>(text).map(|pairs| pairs.0).map_err(|error| {
        Failure::usage("reading --field-map", format!("it is not a JSON object of texts: {error}"))
            .on(Subject::field(text))
            .with_hint(r#"for example --field-map '{"image": "jpg", "caption": "json[text],txt"}'"#)
    })
}

/// A JSON object as pairs: keeps the order and repeated keys.
struct Pairs(Vec<FieldExpr>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor;
        impl<'de> Visitor<'de> for PairVisitor {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some((field, expr)) = map.next_entry()? {
                    pairs.push(FieldExpr { field, expr });
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairVisitor)
    }
}

/// Checks the name of the dataset yaml: one plain file name inside `.nv-meta`.
pub fn yaml_name(name: &str) -> Outcome<String> {
    let reserved = ["", ".", "..", "split.yaml", ".info.json", ".info.yaml", "index.sqlite", "index.uuid", "gristmill"];
    if reserved.contains(&name) || name.contains(['/', '\0', '\n']) {
        return Err(Failure::usage("reading --dataset-yaml-name", "a plain file name of its own is needed")
            .on(Subject::field(name))
            .with_hint("for example --dataset-yaml-name captions.yaml; it is written into .nv-meta"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_maps_come_as_json_or_pairs_and_never_twice() {
        let one = |texts: &[&str]| field_map(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        let fields = one(&["image=jpg", r#"{"caption": "json[a=b],txt"}"#]).unwrap();
        assert_eq!(fields[1], FieldExpr { field: "caption".into(), expr: "json[a=b],txt".into() });
        assert_eq!(one(&["caption=json[a=b]"]).unwrap()[0].expr, "json[a=b]", "the first = separates");
        for bad in ["image", "=jpg", "image=", r#"{"image": 1}"#, r#"{"image": "jpg""#, r#"{"a": "x", "a": "y"}"#] {
            assert_eq!(one(&[bad]).unwrap_err().class.code(), 2, "{bad}");
        }
        assert!(one(&["image=jpg", "image=png"]).is_err());
    }

    #[test]
    fn split_patterns_end_their_name_at_the_first_colon() {
        let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let patterns = split_patterns(&texts(&["train:a:b", "val:.*"]), false).unwrap();
        assert_eq!((patterns[0].name.as_str(), patterns[0].pattern.as_str()), ("train", "a:b"));
        assert!(split_patterns(&texts(&["train"]), false).is_err());
        assert!(split_patterns(&texts(&[":x"]), false).is_err());
        let twice = texts(&["a:1", "b:2", "a:3"]);
        let failure = split_patterns(&twice, false).unwrap_err();
        assert!(failure.hint.unwrap().contains("a:(?:1|3)"));
        assert_eq!(
            split_patterns(&twice, true).unwrap()[0].pattern,
            "3",
            "the last one wins, at the first one's place"
        );
    }

    #[test]
    fn exclude_files_hold_one_item_a_line() {
        assert_eq!(exclude_lines("# why\na.tar/1\r\n\n b.tar/x y\n"), ["a.tar/1", " b.tar/x y"]);
    }

    #[test]
    fn a_yaml_name_stays_inside_its_folder() {
        assert_eq!(yaml_name("captions.yaml").unwrap(), "captions.yaml");
        for bad in ["", "..", "a/b", ".info.json", "split.yaml", "x\ny"] {
            assert!(yaml_name(bad).is_err(), "{bad}");
        }
    }
}
