//! Writes plans as files and as commands, and reads them back. Runs them by the kind of their data.

use super::{command_line, JsonlResult, MetadatasetResult, Prepare};
use crate::engine::mix::fixture::{metadataset, Set};
use crate::engine::plan::file::{from_yaml, hash, read_typed, to_yaml};
use crate::operations::{erase, read_plan, Operation};
use gristmill_core::plan::{FieldExpr, SplitList, SplitPattern};
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::text::shell_quote;
use gristmill_core::{Duplicates, PackPlan, PreparePlan, Rerun, RunOptions, SampleMapping, Scope, SplitPlan, Tgz};
use gristmill_data::formats::energon::jsonl_idx::index_path;
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_storage::files;
use gristmill_storage::fs::RealFs;
use gristmill_storage::publish::write_file;
use proptest::prelude::*;
use std::path::Path;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[ -~]{1,12}",
        any::<String>().prop_map(|s| s.replace('\0', "0")).prop_filter("not empty", |s| !s.is_empty()),
        prop_oneof![
            Just("yes".to_owned()),
            Just("1:30".into()),
            Just("null".into()),
            Just("- x".into()),
            Just("a: b".into()),
            Just("'".into()),
            Just("x\ny".into()),
            Just("0x1".into()),
            Just("~".into()),
            Just("--yes".into()),
            Just("{a}".into())
        ],
    ]
}

fn name() -> impl Strategy<Value = String> {
    text().prop_map(|s| s.replace([':', '='], "_"))
}

fn splits() -> impl Strategy<Value = SplitPlan> {
    prop_oneof![
        Just(SplitPlan::Unset),
        text().prop_map(SplitPlan::Ratio),
        prop::collection::vec((name(), text()), 1..4).prop_map(|v| SplitPlan::Patterns(
            v.into_iter().map(|(name, pattern)| SplitPattern { name, pattern }).collect()
        )),
        prop::collection::btree_map("[a-z]{1,6}", prop::collection::vec("[a-z]{1,5}\\.tar", 0..4), 1..4)
            .prop_map(|v| SplitPlan::Listed(v.into_iter().map(|(name, shards)| SplitList { name, shards }).collect())),
    ]
}

fn loading() -> impl Strategy<Value = SampleMapping> {
    let class = || "[A-Z][a-z]{1,8}";
    let plain = prop::collection::btree_map("[a-z_]{1,6}", text(), 0..4);
    let odd = prop::collection::btree_map(text(), any::<String>(), 0..3);
    let map = prop_oneof![plain, odd];
    prop_oneof![
        Just(SampleMapping::Unset),
        Just(SampleMapping::NoDatasetYaml),
        any::<bool>().prop_map(|cooker| SampleMapping::Crude { cooker }),
        class().prop_map(|sample_type| SampleMapping::SampleLoader { sample_type }),
        (class(), map).prop_map(|(sample_type, map)| SampleMapping::FieldMap {
            sample_type,
            fields: map.into_iter().map(|(field, expr)| FieldExpr { field, expr }).collect(),
        }),
    ]
}

fn plans() -> impl Strategy<Value = PreparePlan> {
    let rerun = prop_oneof![Just(Rerun::Refuse), Just(Rerun::Update), Just(Rerun::Overwrite)];
    let scope = prop_oneof![Just(Scope::Full), Just(Scope::TarIndexOnly), Just(Scope::WithoutSampleTables)];
    let lists = (prop::collection::vec(text(), 0..3), prop::collection::vec(text(), 0..12));
    let bools = any::<[bool; 7]>();
    (text(), rerun, scope, prop::option::of(text()), splits(), lists, loading(), text(), bools).prop_map(
        |(path, rerun, scope, new_to, splits, (exclude_shards, excludes), loading, yaml, b)| PreparePlan {
            rerun,
            scope,
            new_to,
            splits,
            exclude_shards,
            excludes,
            loading,
            dataset_yaml_name: yaml,
            reset_excludes: b[0],
            shuffle_tars: b[1],
            allow_empty_splits: b[2],
            duplicates: if b[3] { Duplicates::KeepFirst } else { Duplicates::Fail },
            tgz: if b[4] { Tgz::Rewrite } else { Tgz::Skip },
            compat: b[5],
            skip_bad_lines: b[6],
            ..PreparePlan::new(path)
        },
    )
}

/// Splits a line into words like a POSIX shell that supports `$'…'`.
fn shell_words(line: &str) -> Vec<String> {
    let bytes = line.as_bytes();
    let (mut words, mut word, mut open, mut i) = (Vec::new(), Vec::new(), false, 0);
    while i < bytes.len() {
        match bytes[i] {
            b' ' => {
                if open {
                    words.push(String::from_utf8(std::mem::take(&mut word)).unwrap());
                }
                open = false;
                i += 1;
            }
            b'\'' => {
                let end = i + 1 + bytes[i + 1..].iter().position(|b| *b == b'\'').unwrap();
                word.extend(&bytes[i + 1..end]);
                open = true;
                i = end + 1;
            }
            b'$' if bytes.get(i + 1) == Some(&b'\'') => {
                i += 2;
                while bytes[i] != b'\'' {
                    if bytes[i] != b'\\' {
                        word.push(bytes[i]);
                        i += 1;
                        continue;
                    }
                    match bytes[i + 1] {
                        b'n' => word.push(b'\n'),
                        b't' => word.push(b'\t'),
                        c @ (b'\'' | b'\\') => word.push(c),
                        _ => {
                            let octal = std::str::from_utf8(&bytes[i + 1..i + 4]).unwrap();
                            word.push(u8::from_str_radix(octal, 8).unwrap());
                            i += 2;
                        }
                    }
                    i += 2;
                }
                open = true;
                i += 1;
            }
            b'\\' => {
                word.push(bytes[i + 1]);
                open = true;
                i += 2;
            }
            b => {
                assert!(b.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&b), "{} is special in a shell", b as char);
                word.push(b);
                open = true;
                i += 1;
            }
        }
    }
    if open {
        words.push(String::from_utf8(word).unwrap());
    }
    words
}

/// Parses a command using only the documented flags.
fn read_back(words: &[String], files: &[(String, String)]) -> PreparePlan {
    assert_eq!(words[..2], ["gristmill", "prepare"]);
    let file = |name: &str| files.iter().find(|(n, _)| n == name).unwrap().1.clone();
    let mut plan = PreparePlan::new("");
    let mut class = None;
    let mut map: Vec<FieldExpr> = Vec::new();
    let (mut loader, mut cooker, mut only_paths) = (false, false, false);
    let mut rest = words[2..].iter();
    while let Some(word) = rest.next() {
        if only_paths || !word.starts_with("--") {
            plan.path.clone_from(word);
            continue;
        }
        let (flag, tied) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || tied.clone().unwrap_or_else(|| rest.next().unwrap().clone());
        match flag {
            "--" => only_paths = true,
            "--yes" => {}
            "--update" => plan.rerun = Rerun::Update,
            "--force-overwrite" => plan.rerun = Rerun::Overwrite,
            "--new-to" => plan.new_to = Some(value()),
            "--skip-bad-lines" => plan.skip_bad_lines = true,
            "--reset-excludes" => plan.reset_excludes = true,
            "--tar-index-only" => plan.scope = Scope::TarIndexOnly,
            "--skip-sample-tables" => plan.scope = Scope::WithoutSampleTables,
            "--split-ratio" => plan.splits = SplitPlan::Ratio(value()),
            "--split-parts" => {
                let text = value();
                let (name, pattern) = text.split_once(':').unwrap();
                let one = SplitPattern { name: name.into(), pattern: pattern.into() };
                match &mut plan.splits {
                    SplitPlan::Patterns(all) => all.push(one),
                    other => *other = SplitPlan::Patterns(vec![one]),
                }
            }
            "--splits-from" => {
                let read = SplitFile::parse(&file(&value())).unwrap();
                let lists = read.split_parts.into_iter().map(|(name, shards)| SplitList { name, shards });
                plan.splits = SplitPlan::Listed(lists.collect());
                plan.excludes = read.exclude;
            }
            "--shuffle-tars" => plan.shuffle_tars = true,
            "--allow-empty-splits" => plan.allow_empty_splits = true,
            "--exclude" => plan.exclude_shards.push(value()),
            "--exclude-sample" => plan.excludes.push(value()),
            "--exclude-from" => plan.excludes.extend(file(&value()).split_terminator('\n').map(str::to_owned)),
            "--skip-dataset-yaml" => plan.loading = SampleMapping::NoDatasetYaml,
            "--sample-type" => class = Some(value()),
            "--sample-loader" => loader = true,
            "--cooker" => cooker = true,
            "--field-map" => {
                let text = value();
                if text.starts_with('{') {
                    let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&text).unwrap();
                    map.extend(
                        json.into_iter().map(|(field, e)| FieldExpr { field, expr: e.as_str().unwrap().into() }),
                    );
                } else {
                    let (field, expr) = text.split_once('=').unwrap();
                    map.push(FieldExpr { field: field.into(), expr: expr.into() });
                }
            }
            "--dataset-yaml-name" => plan.dataset_yaml_name = value(),
            "--duplicates" => {
                plan.duplicates = if value() == "keep-first" { Duplicates::KeepFirst } else { Duplicates::Fail }
            }
            "--tgz" => plan.tgz = if value() == "rewrite" { Tgz::Rewrite } else { Tgz::Skip },
            "--compat" => plan.compat = true,
            other => panic!("{other}"),
        }
    }
    plan.loading = match class {
        None => plan.loading,
        Some(c) if c == CRUDE_CLASS => SampleMapping::Crude { cooker },
        Some(sample_type) if loader => SampleMapping::SampleLoader { sample_type },
        Some(sample_type) => SampleMapping::FieldMap { sample_type, fields: map },
    };
    plan
}

proptest! {
    #[test]
    fn prepare_plan_is_read_back_from_yaml(plan in plans()) {
        let yaml = to_yaml(&plan).unwrap();
        let back = from_yaml(&yaml);
        prop_assert!(back.is_ok(), "{:?}\n{yaml}", back);
        prop_assert_eq!(back.unwrap(), plan, "{}", yaml);
    }

    #[test]
    fn printed_prepare_command_gives_the_same_plan(plan in plans()) {
        let line = command_line(&plan);
        let words = shell_words(&line.text());
        prop_assert_eq!(&words, &line.arguments);
        // A path that looks like a flag is printed with a `./` prefix.
        let path = if plan.path.starts_with('-') { format!("./{}", plan.path) } else { plan.path.clone() };
        prop_assert_eq!(read_back(&words, &line.files), PreparePlan { path, ..plan }, "{}", line.text());
    }

    #[test]
    fn printed_command_is_safe_to_display(plan in plans()) {
        let line = command_line(&plan).text();
        prop_assert_eq!(gristmill_core::text::display_safe(&line).into_owned(), line);
    }

    #[test]
    fn parsing_any_text_as_a_plan_does_not_panic(text in any::<String>()) {
        let _ = from_yaml(&text);
        let _ = from_yaml(&format!("version: 1\n{text}"));
    }
}

#[test]
fn plan_file_is_human_readable() {
    let plan = PreparePlan {
        splits: SplitPlan::Ratio("8,1,1".into()),
        loading: SampleMapping::FieldMap {
            sample_type: "CaptioningSample".into(),
            fields: vec![FieldExpr { field: "image".into(), expr: "jpg".into() }],
        },
        ..PreparePlan::new("data/coco")
    };
    let yaml = to_yaml(&plan).unwrap();
    assert!(yaml.starts_with("# A plan of Gristmill"), "{yaml}");
    for line in ["version: 1\n", "path: data/coco\n", "  ratio: 8,1,1\n", "sample_type: CaptioningSample\n"] {
        assert!(yaml.contains(line), "{line:?} not in\n{yaml}");
    }
}

#[test]
fn newer_plan_version_is_refused_before_unknown_keys() {
    let failure = from_yaml("version: 2\npath: x\nshiny: true\n").unwrap_err();
    assert!(failure.why.contains("version 2"), "{failure}");
    assert_eq!(failure.class.code(), 2);
    assert!(from_yaml("path: x\n").unwrap_err().why.contains("version"));
}

#[test]
fn an_unknown_key_or_a_wrong_value_is_refused_with_its_line() {
    let failure = from_yaml("version: 1\npath: x\nsplitz: 3\n").unwrap_err();
    assert!(failure.why.contains("splitz"), "{failure}");
    assert_eq!(failure.subject.line, Some(3));
    let failure = from_yaml("version: 1\npath: x\nshuffle_tars: 7\n").unwrap_err();
    assert_eq!(failure.subject.line, Some(3), "{failure}");
    let pack = "version: 1\ncommand: pack\ninputs: [a]\ntokenizer: t\noutput: o\nshape: 3\n";
    let failure = read_typed::<PackPlan>(pack, "pack").unwrap_err();
    assert_eq!(failure.subject.line, Some(6), "{failure}");
    assert!(failure.hint.unwrap().starts_with("`gristmill pack …"));
    let metadataset = read_plan("__module__: megatron.energon\n__class__: MetadatasetV2\nsplits: {}\n").unwrap_err();
    assert!(metadataset.hint.unwrap().contains("mix check"), "{}", metadataset.why);
    assert!(from_yaml("version: 1\n").is_err());
    assert!(from_yaml("version: [\n").is_err());
}

#[test]
fn a_plan_with_very_many_excludes_is_read() {
    let excludes: Vec<String> = (0..300_000).map(|i| format!("s/{:04}.tar/{i:09}", i / 100)).collect();
    let plan = PreparePlan { excludes, ..PreparePlan::new("x") };
    assert_eq!(from_yaml(&to_yaml(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn plan_hash_ignores_run_options() {
    let plan = PreparePlan { splits: SplitPlan::Ratio("8,1,1".into()), ..PreparePlan::new("a") };
    let elsewhere = PreparePlan { path: "b".into(), rerun: Rerun::Overwrite, ..plan.clone() };
    assert_eq!(hash(&plan), hash(&elsewhere));
    assert_ne!(hash(&plan), hash(&PreparePlan { compat: true, ..plan.clone() }));
    assert_eq!(hash(&plan).len(), 32);
}

#[test]
fn printed_command_is_quoted_for_the_shell() {
    let plan = PreparePlan {
        splits: SplitPlan::Patterns(vec![SplitPattern { name: "train".into(), pattern: "train/.*".into() }]),
        exclude_shards: vec!["-x".into()],
        loading: SampleMapping::FieldMap {
            sample_type: "CaptioningSample".into(),
            fields: vec![FieldExpr { field: "caption".into(), expr: "detail.json[a],txt".into() }],
        },
        ..PreparePlan::new("my data")
    };
    assert_eq!(
        command_line(&plan).text(),
        "gristmill prepare 'my data' --yes --split-parts 'train:train/.*' --exclude=-x --sample-type CaptioningSample \
         --field-map 'caption=detail.json[a],txt'"
    );
    assert_eq!(shell_quote("it's"), r"'it'\''s'");
    assert_eq!(shell_quote("a\u{1b}\nb"), r"$'a\033\nb'");
    assert_eq!(shell_quote(""), "''");
    assert_eq!(shell_quote("~x"), "'~x'");
}

#[test]
fn command_after_run_replays_the_recorded_plan_if_files_were_needed() {
    let mut plan = PreparePlan::new("my data");
    assert_eq!(Prepare::command_after_run(&plan), command_line(&plan).text());
    plan.splits = SplitPlan::Listed(vec![SplitList { name: "train".into(), shards: vec!["a.tar".into()] }]);
    let line = Prepare::command_after_run(&plan);
    assert_eq!(line, "gristmill run 'my data/.nv-meta/gristmill/plan.yaml'");
}

#[test]
fn bash_reads_quoted_text_unchanged() {
    for text in ["it's", "a\u{1b}\nb", "$HOME `x` \\ \"", "\u{202e}x", "*", "-n", ""] {
        let script = format!("printf %s {}", shell_quote(text));
        let Ok(out) = std::process::Command::new("bash").args(["-c", &script]).output() else { return };
        assert_eq!(String::from_utf8(out.stdout).unwrap(), text);
    }
}

#[test]
fn files_are_prepared_by_their_kind_and_a_preview_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let lines = dir.path().join("a.jsonl");
    write_file(&RealFs, &lines, b"{\"n\": 1}\n{\"n\": 2}\n", 0o644).unwrap();
    let start = |path: &Path, is_preview| {
        let plan = erase::<Prepare>(PreparePlan::new(path.to_string_lossy()));
        plan.start(is_preview, RunOptions::default()).unwrap().wait().unwrap()
    };
    for is_preview in [true, false] {
        let report = start(&lines, is_preview);
        assert_eq!(report.typed::<JsonlResult>().unwrap().report.samples, 2);
        assert_eq!(files::exists(index_path(&lines)), !is_preview);
    }
    let set = |name: &str, uuid| Set { uuid, ..Set::small() }.write(&dir.path().join(name));
    set("b", Set::small().uuid);
    set("c", "22222222-2222-4222-8222-222222222222");
    let joiner = "joiner: {__module__: m, __function__: f}";
    let join = format!("  train:\n    join: [{{path: b}}, {{path: c}}]\n    {joiner}\n");
    let mix = metadataset(&dir.path().join("mix.yaml"), &join);
    for is_preview in [true, false] {
        let report = start(&mix, is_preview);
        assert_eq!(report.typed::<MetadatasetResult>().unwrap().report.joins.len(), 1);
        assert_eq!(files::exists(dir.path().join("mix.yaml.cache")), !is_preview);
    }
}
