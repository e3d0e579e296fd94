use super::fixture::{jsonl, keys, metadataset, Set, CRUDE};
use super::*;
use gristmill_core::{Cancel, ProblemLog, Progress};
use std::path::PathBuf;
use tempfile::TempDir;

fn facts(path: &Path) -> MixFacts {
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    check(path, Handles { progress: &progress, cancel: &cancel, problems: &problems }).unwrap()
}

/// Returns `line: message` of every problem and refusal.
fn complaints(facts: &MixFacts) -> Vec<String> {
    let bad = facts.problems.iter().filter(|problem| problem.severity >= Severity::Problem);
    bad.map(|problem| format!("{}: {}", problem.subject.line.unwrap_or(0), problem.message)).collect()
}

fn refusals(path: &Path) -> String {
    let facts = facts(path);
    assert!(facts.problems.iter().any(|problem| problem.severity == Severity::Refusal), "{:?}", facts.problems);
    complaints(&facts).join("\n")
}

/// Creates three sets of 20 samples (10 in train, 10 in val), the second crude, and a JSONL file of 4 lines.
fn house() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    Set::small().write(&dir.path().join("a"));
    Set { dataset_yaml: CRUDE, ..Set::small() }.write(&dir.path().join("b"));
    Set { uuid: "22222222-2222-4222-8222-222222222222", ..Set::small() }.write(&dir.path().join("sub/c"));
    jsonl(&dir.path().join("j.jsonl"), &["{}", "{}", "{}", "{}"]);
    dir
}

fn mix(dir: &TempDir, splits: &str) -> PathBuf {
    metadataset(&dir.path().join("mix.yaml"), splits)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn blend_shares_follow_weights_and_not_sizes() {
    let dir = house();
    let path = mix(&dir, "  train:\n    blend:\n    - {path: a, weight: 3}\n    - {path: ./b, weight: 1}\n    - {path: j.jsonl, weight: 4}\n");
    let facts = facts(&path);
    assert!(complaints(&facts).is_empty(), "{:?}", facts.problems);
    let root = &facts.splits[0].root;
    assert_eq!((root.kind, root.samples, root.samples_per_epoch), (MixNodeKind::Blend, Some(24), Some(24)));
    let shares: Vec<f64> = root.children.iter().map(|child| child.share).collect();
    assert!(close(shares[0], 0.375) && close(shares[1], 0.125) && close(shares[2], 0.5), "{shares:?}");
    assert_eq!(root.children[2].kind, MixNodeKind::Jsonl);
    assert_eq!(root.children[2].samples, Some(4));
    assert!(close(root.children[2].oversampling.unwrap(), 0.5 / (4.0 / 24.0)));
}

#[test]
fn an_epochized_blend_counts_repetitions() {
    let dir = house();
    let path = mix(&dir, "  val:\n    blend_epochized:\n    - {path: a, repetitions: 2.55}\n    - {path: j.jsonl}\n");
    let facts = facts(&path);
    let root = &facts.splits[0].root;
    assert_eq!(root.children[0].samples_per_epoch, Some(25));
    assert_eq!(root.samples_per_epoch, Some(29));
    assert!(close(root.children[1].share, 4.0 / 29.0));
}

#[test]
fn shares_of_nested_files_are_multiplied() {
    let dir = house();
    metadataset(
        &dir.path().join("sub/inner.yaml"),
        "  train:\n    blend: [{path: c, weight: 1}, {path: ../a, weight: 3}]\n  val: {path: c}\n",
    );
    let path = mix(&dir, "  train:\n    blend:\n    - {path: sub/inner.yaml, weight: 1}\n    - {path: b, weight: 1, split_part: val}\n  val:\n    blend_epochized: [{path: sub/inner.yaml, repetitions: 3}]\n");
    let facts = facts(&path);
    assert!(complaints(&facts).is_empty(), "{:?}", facts.problems);
    let inner = &facts.splits[0].root.children[0];
    assert_eq!(inner.kind, MixNodeKind::Metadataset);
    let shares: Vec<f64> = inner.children[0].children.iter().map(|child| child.share).collect();
    assert!(close(shares[0], 0.125) && close(shares[1], 0.375), "{shares:?}");
    assert_eq!(facts.splits[1].root.samples_per_epoch, Some(30));
}

#[test]
fn blend_inside_an_epochized_blend_is_found_across_files() {
    let dir = house();
    metadataset(&dir.path().join("inner.yaml"), "  train: {blend: [{path: a}]}\n");
    metadataset(&dir.path().join("middle.yaml"), "  train: {path: inner.yaml}\n");
    let path = mix(&dir, "  train:\n    blend_epochized:\n    - path: a\n    - path: middle.yaml\n");
    let all = refusals(&path);
    assert!(all.contains("7: an epochized blend cannot hold a weighted one, not even through another file"), "{all}");
    let path = mix(&dir, "  train:\n    blend:\n    - path: a\n    - path: middle.yaml\n");
    assert!(complaints(&facts(&path)).is_empty());
}

#[test]
fn excluded_shards_and_samples_are_not_counted() {
    let dir = house();
    let set = Set {
        shards: vec![("a.tar", keys("k", 0..10)), ("sub/b.tar", keys("k", 10..20)), ("c.tar", keys("k", 20..30))],
        splits: vec![("train", vec!["a.tar", "sub/b.tar", "c.tar"])],
        exclude: vec!["c.tar", "a.tar/k000{0..1}", "sub/b.tar/k0015", "a.tar/gone", "c.tar/k0022"],
        ..Set::small()
    };
    set.write(&dir.path().join("x"));
    let samples = |subset: &str| {
        let path = mix(&dir, &format!("  train: {{path: x{subset}}}\n"));
        let facts = facts(&path);
        assert!(complaints(&facts).is_empty(), "{:?}", facts.problems);
        facts.splits[0].root.samples
    };
    assert_eq!(samples(""), Some(17));
    // The loader counts 20 samples, including the two excluded ones in 0..10.
    assert_eq!(samples(", subset: {range: [0%, 50%]}"), Some(8));
    assert_eq!(samples(", subset: {range: [10, end]}"), Some(9));
    assert_eq!(samples(", subset: {range: [2, 10]}"), Some(8));
}

#[test]
fn excluded_samples_are_in_no_overlap() {
    let dir = house();
    let set = Set {
        shards: vec![("a.tar", keys("k", 0..10))],
        splits: vec![("train", vec!["a.tar"]), ("val", vec!["a.tar"])],
        exclude: vec!["a.tar/k000{3..5}"],
        ..Set::small()
    };
    set.write(&dir.path().join("x"));
    let both = facts(&mix(&dir, "  train: {path: x}\n  val: {path: x}\n"));
    let messages: Vec<&str> = both.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(messages.iter().any(|message| message.contains("share 7 samples of 'x'")), "{messages:?}");
    let text = "  train: {path: x, subset: {range: [3, 6]}}\n  val: {path: x}\n";
    let facts = facts(&mix(&dir, text));
    assert!(!facts.problems.iter().any(|problem| problem.message.contains("share")), "{:?}", facts.problems);
}

#[test]
fn subsets_apply_to_nested_members_and_are_checked_against_sizes() {
    let dir = house();
    let path = mix(&dir, "  train:\n    blend:\n    - {path: a, subset: {range: [50%, 100%]}}\n    - {path: b, subset: {range: [2, 8]}}\n    subset: {range: [0%, 50%]}\n");
    let facts = facts(&path);
    let samples: Vec<_> = facts.splits[0].root.children.iter().map(|child| child.samples).collect();
    assert_eq!(samples, [Some(2), Some(3)]);
    let path = mix(&dir, "  train: {path: a, subset: {range: [2, 11]}}\n");
    assert!(refusals(&path).contains("4: the range ends at sample 11, and the split has only 10"));
    let path = mix(&dir, "  train:\n    blend: [{path: a}]\n    subset: {range: [0, 5]}\n");
    assert!(refusals(&path).contains("6: a range of sample numbers is only for a single data set"));
    metadataset(&dir.path().join("inner.yaml"), "  train: {path: a}\n");
    let path = mix(&dir, "  train: {path: inner.yaml, subset: {range: [0, 5]}}\n");
    assert!(refusals(&path).contains("only for a single data set"));
    let path = mix(&dir, "  train: {path: a, subset: {range: [0%, 1%]}}\n");
    assert!(complaints(&super::tests::facts(&path))[0].contains("it has no sample left"));
}

#[test]
fn invalid_member_is_reported_at_its_line_with_a_hint() {
    let dir = house();
    std::fs::create_dir_all(dir.path().join("plain")).unwrap();
    std::fs::create_dir_all(dir.path().join("raw")).unwrap();
    let put = |name: &str| {
        use gristmill_storage::{fs::RealFs, publish::write_file};
        write_file(&RealFs, &dir.path().join(name), b"{}\n", 0o644).unwrap();
    };
    put("raw/x.tar");
    put("new.jsonl");
    put("odd.yml");
    let problem = |member: &str| {
        let path = mix(&dir, &format!("  train:\n    blend:\n    - {{path: a}}\n    - {member}\n"));
        let all = facts(&path).problems;
        let found: Vec<_> = all.into_iter().filter(|problem| problem.severity > Severity::Note).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].subject.line, Some(7));
        (found[0].message.clone(), found[0].hint.clone().unwrap_or_default())
    };
    for (member, message, hint) in [
        ("{path: nowhere}", "no such file or folder", ""),
        ("{path: raw}", "is not prepared", "gristmill prepare "),
        ("{path: plain}", "is not a data set: no .nv-meta", ""),
        ("{path: odd.yml}", "is not a data set", "a metadataset ending in .yaml"),
        ("{path: new.jsonl}", "has no index", "gristmill prepare "),
        ("{path: a, split_part: trian}", "has no split 'trian', only: train, val", "split_part: train"),
        ("{path: a, dataset_config: other.yaml}", "has no .nv-meta/other.yaml", "gristmill prepare"),
        ("{path: a, split_config: other.yaml}", "has no .nv-meta/other.yaml", "gristmill prepare"),
        ("{path: a, split_config: split.txt}", "reads splits from .yaml and .json files", ""),
        ("{path: j.jsonl, split_config: split.yaml}", "a JSONL file has no 'split_config'", ""),
        ("{path: a, aux: {m: b}}", "aux sources are for crude data sets only", "CrudeWebdataset"),
        ("{path: b, aux: {m: j.jsonl}}", "is a file; an aux source is", ""),
        ("{path: b, aux: {m: plain}}", "is a folder of files", "write m: filesystem://plain"),
        ("{path: b, aux: {m: raw}}", "is not prepared", "gristmill prepare"),
        ("{path: b, aux: {m: 'filesystem://nowhere'}}", "there is no folder", ""),
        ("{path: 's3://bucket/x'}", "does not know 's3://'", ""),
    ] {
        let (found, way_out) = problem(member);
        assert!(found.contains(message), "{member}: {found}");
        assert!(way_out.contains(hint), "{member}: {way_out}");
    }
}

#[test]
fn repetitions_without_samples_and_empty_aux_sources_are_reported() {
    let dir = house();
    let messages = |text: &str| complaints(&facts(&mix(&dir, text)));
    let few = messages("  val:\n    blend_epochized:\n    - {path: j.jsonl, repetitions: 0.1}\n");
    assert!(few.len() == 1 && few[0].contains("no sample in an epoch"), "{few:?}");
    let enough = messages("  val:\n    blend_epochized:\n    - {path: j.jsonl, repetitions: 0.1}\n    - {path: a}\n");
    assert!(enough.is_empty(), "{enough:?}");
    let empty = facts(&mix(&dir, "  train: {path: b, aux: {}}\n")).problems;
    assert!(empty.len() == 1 && empty[0].message.contains("an empty 'aux'"), "{empty:?}");
    let marked = facts(&mix(&dir, "  train: {path: b}\n"));
    let text = std::fs::read_to_string(&marked.path).unwrap();
    #[allow(clippy::disallowed_methods)]
    std::fs::write(&marked.path, format!("---\n{text}")).unwrap();
    let mut all = facts(&marked.path).problems;
    all.retain(|problem| problem.severity > Severity::Note);
    assert!(all.len() == 1 && all[0].severity == Severity::Refusal, "{all:?}");
    assert_eq!(all[0].subject.line, Some(1));
}

#[test]
fn empty_splits_unknown_shards_and_folders_of_media_are_refused() {
    let dir = house();
    let set = Set {
        splits: vec![("train", vec!["a.tar"]), ("val", vec![]), ("test", vec!["z.tar"])],
        exclude: vec!["a.tar"],
        ..Set::small()
    };
    set.write(&dir.path().join("x"));
    let said = |split: &str| refusals(&mix(&dir, &format!("  {split}: {{path: x}}\n")));
    assert!(said("train").contains("split 'train' of") && said("train").contains("is empty"));
    assert!(said("val").contains("is empty"));
    assert!(said("test").contains("names the shard 'z.tar', which is not indexed"));
    std::fs::remove_file(dir.path().join("x/.nv-meta/.info.json")).unwrap();
    assert!(said("train").contains("as aux sources only"));
}

#[test]
fn cyclic_and_too_deep_metadatasets_are_refused() {
    let dir = house();
    metadataset(&dir.path().join("b.yaml"), "  train: {path: mix.yaml}\n");
    let path = mix(&dir, "  train: {path: b.yaml}\n");
    assert!(refusals(&path).contains("in a cycle"));
    let path = mix(&dir, "  train: {path: mix.yaml}\n");
    assert!(refusals(&path).contains("in a cycle"));
    std::os::unix::fs::symlink(&path, dir.path().join("link.yaml")).unwrap();
    let path = mix(&dir, "  train: {path: link.yaml}\n");
    assert!(refusals(&path).contains("in a cycle"));
    for n in 0..40 {
        let next = if n == 39 { "a".to_owned() } else { format!("d{}.yaml", n + 1) };
        metadataset(&dir.path().join(format!("d{n}.yaml")), &format!("  train: {{path: {next}}}\n"));
    }
    let path = mix(&dir, "  train: {path: d0.yaml}\n");
    assert!(refusals(&path).contains("nested deeper than 32 files"));
}

#[test]
fn metadatasets_with_too_many_resolved_members_are_refused() {
    let dir = house();
    for n in 0..20 {
        let next = if n == 19 { "a".to_owned() } else { format!("d{}.yaml", n + 1) };
        let body = format!("  train: {{blend: [{}]}}\n", vec![format!("{{path: {next}}}"); 10].join(", "));
        metadataset(&dir.path().join(format!("d{n}.yaml")), &body);
    }
    let path = mix(&dir, "  train: {path: d0.yaml}\n");
    assert!(refusals(&path).contains("resolves to more than 100000 members"));
}

#[test]
fn nested_metadataset_is_checked_as_by_the_loader() {
    let dir = house();
    let inner = dir.path().join("inner.yaml");
    metadataset(&inner, "  train: {path: a}\n  other: {path: nowhere}\n");
    let path = mix(&dir, "  train: {path: inner.yaml}\n");
    assert!(refusals(&path).contains("5: no such file or folder"), "{}", refusals(&path));
    metadataset(&inner, "  train: {path: a}\n");
    assert!(refusals(&mix(&dir, "  test: {path: inner.yaml}\n")).contains("has no split 'test', only: train"));
    assert!(refusals(&mix(&dir, "  train: {path: inner.yaml, aux: {x: a}}\n")).contains("takes no 'aux'"));
    metadataset(&inner, "  train: {pth: a}\n");
    let all = facts(&mix(&dir, "  train: {path: inner.yaml}\n"));
    assert!(
        complaints(&all).iter().any(|line| line.contains("4: there is a mistake in that file")),
        "{:?}",
        complaints(&all)
    );
    assert!(all.problems.iter().any(|problem| problem
        .subject
        .path
        .as_deref()
        .is_some_and(|path| path.ends_with("inner.yaml"))));
}

#[test]
fn version_1_members_are_not_jsonl_files() {
    let dir = house();
    let path = dir.path().join("old.yaml");
    let put = |text: &str| {
        use gristmill_storage::{fs::RealFs, publish::write_file};
        write_file(&RealFs, &path, text.as_bytes(), 0o644).unwrap();
    };
    put("splits:\n  train:\n    datasets:\n    - {path: a, weight: 1}\n    - {path: sub/c, weight: 3}\n");
    let read = facts(&path);
    assert_eq!((read.version, complaints(&read).len()), (1, 0));
    assert!(close(read.splits[0].root.children[1].share, 0.75));
    put("splits:\n  train:\n    datasets:\n    - {path: j.jsonl}\n");
    assert!(refusals(&path).contains("version 1 cannot have JSONL"));
}

#[test]
fn joins_list_their_missing_index_and_refuse_unsuitable_members() {
    let dir = house();
    let joiner = "joiner: {__module__: m, __function__: f}";
    let path =
        mix(&dir, &format!("  train:\n    join: [{{path: a}}, {{path: sub/c, nonmatch: none}}]\n    {joiner}\n"));
    let read = facts(&path);
    assert_eq!(complaints(&read), ["5: the index of the join is not there yet, and the loader stops at that"]);
    assert_eq!(read.joins.len(), 1);
    assert!(!read.joins[0].is_prepared);
    assert_eq!(read.joins[0].index.parent().unwrap(), dir.path().join("mix.yaml.cache"));
    assert_eq!(read.splits[0].root.samples, Some(10));
    for (member, why) in [("j.jsonl", "only prepared folders of tars"), ("nowhere", "no such file")] {
        let path = mix(&dir, &format!("  train:\n    join: [{{path: a}}, {{path: {member}}}]\n    {joiner}\n"));
        assert!(refusals(&path).contains(why), "{member}");
    }
    std::fs::remove_file(dir.path().join("sub/c/.nv-meta/index.uuid")).unwrap();
    let path = mix(&dir, &format!("  train:\n    join: [{{path: a}}, {{path: sub/c}}]\n    {joiner}\n"));
    assert!(refusals(&path).contains("has no .nv-meta/index.uuid, which a join needs"));
}

#[test]
fn two_splits_with_the_same_join_are_refused() {
    let dir = house();
    let join = "{join: [{path: a}, {path: sub/c}], joiner: {__module__: m, __function__: f}}";
    let path = mix(&dir, &format!("  train: {join}\n  val: {join}\n"));
    let all = refusals(&path);
    assert!(all.contains("splits 'train' and 'val' join the same data sets"), "{all}");
    let same = "{join: [{path: a}, {path: sub/c}], split_part: train, joiner: {__module__: m, __function__: f}}";
    let path = mix(&dir, &format!("  train: {same}\n  val: {same}\n"));
    assert!(!complaints(&facts(&path)).join("\n").contains("join the same"));
}

#[test]
fn media_names_in_records_are_looked_up_in_the_aux_sources() {
    let dir = house();
    let pictures = dir.path().join("pics");
    std::fs::create_dir_all(pictures.join("x")).unwrap();
    use gristmill_storage::{fs::RealFs, publish::write_file};
    write_file(&RealFs, &pictures.join("x/1.jpg"), b"", 0o644).unwrap();
    let lines = [
        r#"{"image": "x/1.jpg", "text": "a sentence. of words"}"#,
        r#"{"image": "x/2.jpg", "more": [{"clip": "k0003.txt"}]}"#,
        r#"{"image": "https://e.org/3.jpg"}"#,
    ];
    jsonl(&dir.path().join("r.jsonl"), &lines);
    let path = mix(&dir, "  train:\n    path: r.jsonl\n    aux: {pics: 'filesystem://pics', tars: a}\n");
    let read = facts(&path);
    let lookup = &read.aux[0];
    assert_eq!((lookup.records, lookup.found, lookup.missing), (3, 2, 1), "{lookup:?}");
    assert_eq!(lookup.examples, ["x/2.jpg"]);
    let said = complaints(&read);
    assert!(
        said[0].contains(
            "1 of 3 names of media in 3 of its records are in none of its aux sources, for example 'x/2.jpg'"
        ),
        "{said:?}"
    );
}

#[test]
fn ten_thousand_members_are_checked() {
    let dir = house();
    let members: String =
        (0..10_000).map(|n| format!("    - {{path: {}, weight: {}}}\n", ["a", "b", "./sub/c"][n % 3], n + 1)).collect();
    let read = facts(&mix(&dir, &format!("  train:\n    blend:\n{members}")));
    assert!(complaints(&read).is_empty());
    let all: f64 = read.splits[0].root.children.iter().map(|child| child.share).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    assert_eq!(read.splits[0].root.samples, Some(100_000));
}

mod authored {
    use super::super::author::{facts_of_plan, find_members, render};
    use super::*;
    use gristmill_core::mix::{MixAux, MixKind, MixMember, MixPlan, MixSubflavor, Nonmatch};

    fn plan(dir: &TempDir, kind: MixKind, members: &[(&str, f64)]) -> MixPlan {
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let mut plan = MixPlan::new(at("out/new.yaml"), kind);
        plan.members = members.iter().map(|(name, amount)| MixMember::new(at(name), *amount)).collect();
        plan
    }

    #[test]
    fn a_plan_is_written_with_the_splits_that_all_members_have() {
        let dir = house();
        let plan = plan(&dir, MixKind::Blend, &[("a", 0.7), ("j.jsonl", 3.0)]);
        let text = render(&plan).unwrap();
        let read = gristmill_data::formats::energon::metadataset::read(&text).unwrap();
        let names: Vec<&str> = read.splits.iter().map(|split| split.name.as_str()).collect();
        assert_eq!(names, ["train", "val"]);
        assert!(text.contains("weight: 0.7\n") && text.contains("weight: 3\n"), "{text}");
    }

    #[test]
    fn every_answer_of_a_mix_plan_is_written_to_the_file() {
        let dir = house();
        let mut plan = plan(&dir, MixKind::Epochized, &[("b", 2.0)]);
        plan.splits = vec!["train".into()];
        let member = &mut plan.members[0];
        member.split_part = Some("val".into());
        member.subset = Some(["0%".into(), "50%".into()]);
        member.subflavors = vec![MixSubflavor { key: "lang".into(), value: "no".into() }];
        let pics = format!("filesystem://{}", dir.path().display());
        member.aux = vec![MixAux::new("pics", pics)];
        let handles = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &handles.0, cancel: &handles.1, problems: &handles.2 };
        let read = facts_of_plan(&plan, handles).unwrap();
        assert!(complaints(&read).is_empty(), "{:?}", read.problems);
        assert_eq!(read.splits[0].root.samples_per_epoch, Some(10));
        let text = render(&plan).unwrap();
        assert!(text.contains("lang: 'no'"), "{text}");
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_reported_once_and_without_lines_of_a_file_that_is_not_written() {
        let dir = house();
        let plan = plan(&dir, MixKind::Blend, &[("a", 1.0), ("a", 2.0), ("nowhere", 1.0)]);
        let plan = MixPlan { splits: vec!["train".into(), "val".into()], ..plan };
        let handles = (Progress::default(), Cancel::default(), ProblemLog::default());
        let handles = Handles { progress: &handles.0, cancel: &handles.1, problems: &handles.2 };
        let facts = facts_of_plan(&plan, handles).unwrap();
        let of = |words: &str| facts.problems.iter().filter(|problem| problem.message.contains(words)).count();
        assert_eq!(of("nowhere"), 1, "{:?}", facts.problems);
        assert!(facts.problems.iter().all(|problem| problem.subject.line.is_none()), "{:?}", facts.problems);
        assert_eq!(of("new.yaml:"), 0, "{:?}", facts.problems);
        assert_eq!(of("2 times, together 75.0 % of its samples"), 2, "{:?}", facts.problems);
    }

    #[test]
    fn relative_member_paths_are_written_relative_to_the_file() {
        let mut plan = MixPlan::new("some/where/new.yaml", MixKind::Blend);
        plan.members = vec![MixMember::new("some/data", 1.0), MixMember::new("some/where/x.jsonl", 1.0)];
        plan.splits = vec!["train".into()];
        let text = render(&plan).unwrap();
        assert!(text.contains("path: ../data\n") && text.contains("path: x.jsonl\n"), "{text}");
    }

    #[test]
    fn joins_are_written_with_or_without_names() {
        let dir = house();
        let mut plan = plan(&dir, MixKind::Join, &[("a", 1.0), ("sub/c", 1.0)]);
        assert!(render(&plan).unwrap_err().hint.unwrap().contains("--joiner"));
        plan.joiner = Some("my.module:join_them".into());
        plan.members[1].nonmatch = Nonmatch::Skip;
        assert!(render(&plan).unwrap().contains("__function__: join_them"));
        plan.joiner = Some("my.module:Joined".into());
        plan.members[0].name = Some("x".into());
        assert!(render(&plan).unwrap_err().why.contains("either all members"));
        plan.members[1].name = Some("x".into());
        assert!(render(&plan).unwrap_err().why.contains("two members"));
        plan.members[1].name = Some("y".into());
        let text = render(&plan).unwrap();
        assert!(text.contains("__class__: Joined") && text.contains("      y:\n"), "{text}");
        plan.members[0].nonmatch = Nonmatch::Skip;
        assert!(render(&plan).unwrap_err().why.contains("first member"));
    }

    #[test]
    fn invalid_mix_plans_are_usage_failures() {
        let dir = house();
        let class = |plan: &MixPlan| render(plan).unwrap_err();
        let good = plan(&dir, MixKind::Blend, &[("a", 1.0)]);
        assert!(class(&MixPlan { members: Vec::new(), ..good.clone() }).why.contains("no member"));
        assert!(class(&MixPlan { output: "x.yml".into(), ..good.clone() }).why.contains("must end in .yaml"));
        assert!(class(&MixPlan { joiner: Some("a:b".into()), ..good.clone() }).why.contains("--join only"));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(class(&plan(&dir, MixKind::Blend, &[("a", bad)])).why.contains("above 0"));
        }
        let mut subset = good.clone();
        subset.members[0].subset = Some(["5".into(), "3".into()]);
        assert!(class(&subset).why.contains("ends before it begins"));
        let twice = MixPlan { splits: vec!["a".into(), "a".into()], ..good };
        assert!(class(&twice).why.contains("given twice"));
        assert_eq!(class(&twice).class, gristmill_core::ExitClass::Usage);
    }

    #[test]
    fn members_are_found_in_a_folder() {
        let dir = house();
        mix(&dir, "  train: {path: a}\n");
        let found = find_members(dir.path()).unwrap();
        let names: Vec<_> =
            found.iter().map(|m| m.path.strip_prefix(dir.path()).unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["a", "b", "j.jsonl", "mix.yaml", "sub/c"]);
        assert_eq!(found[0].splits, [("train".to_owned(), 10), ("val".to_owned(), 10)]);
        assert!(!found[0].is_crude && found[1].is_crude && found[2].is_crude);
        assert_eq!(found[2].samples, Some(4));
        assert!(find_members(&dir.path().join("none")).is_err());
        let set = Set {
            shards: vec![("a.tar", keys("k", 0..10)), ("b.tar", keys("k", 10..20)), ("c.tar", keys("k", 20..30))],
            splits: vec![("train", vec!["a.tar", "b.tar"])],
            exclude: vec!["b.tar", "a.tar/k0001"],
            ..Set::small()
        };
        set.write(&dir.path().join("x"));
        let found = find_members(&dir.path().join("x")).unwrap();
        assert_eq!((found[0].samples, found[0].splits[0].1), (Some(9), 9), "as many as are trained on");
    }
}
