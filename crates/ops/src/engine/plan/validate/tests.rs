use super::*;
use gristmill_core::plan::FieldExpr;
use gristmill_core::{DuplicateKeys, Duplicates, PartFacts, Severity, ShardFacts, ShardState};

fn facts(shards: &[&str], parts: &[(&str, u64)]) -> DatasetFacts {
    let mut facts = DatasetFacts::new("/data".into(), gristmill_core::DatasetKind::RawWebDataset);
    facts.shards = shards
        .iter()
        .map(|n| ShardFacts { name: (*n).into(), state: ShardState::Scanned, samples: 10, ..ShardFacts::default() })
        .collect();
    facts.samples_seen = 1000;
    facts.scan_complete = true;
    facts.parts = parts.iter().map(|(n, s)| ((*n).into(), PartFacts { samples: *s, bytes: 0 })).collect();
    facts
}

fn usual() -> DatasetFacts {
    facts(&["a.tar", "b.tar", "c.tar"], &[("jpg", 1000), ("txt", 997), ("json", 1000)])
}

fn answered() -> PreparePlan {
    PreparePlan {
        splits: SplitPlan::Ratio("1,1,1".into()),
        loading: field_map("CaptioningSample", &[("image", "jpg"), ("caption", "json[c],txt")]),
        ..PreparePlan::new("/data")
    }
}

fn field_map(class: &str, fields: &[(&str, &str)]) -> SampleMapping {
    let fields = fields.iter().map(|(f, e)| FieldExpr { field: (*f).into(), expr: (*e).into() }).collect();
    SampleMapping::FieldMap { sample_type: class.into(), fields }
}

fn refusals(plan: &PreparePlan, facts: &DatasetFacts) -> Vec<ProblemKind> {
    validate(plan, facts).into_iter().filter(|p| p.severity == Severity::Refusal).map(|p| p.kind).collect()
}

fn the(plan: &PreparePlan, facts: &DatasetFacts, kind: ProblemKind) -> Problem {
    let all = validate(plan, facts);
    all.iter().find(|p| p.kind == kind).unwrap_or_else(|| panic!("{kind:?} not in {all:?}")).clone()
}

#[test]
fn plan_with_every_answer_has_no_problems() {
    assert_eq!(validate(&answered(), &usual()), []);
}

#[test]
fn missing_answer_is_refused_with_its_flags() {
    let plan = PreparePlan::new("/data");
    let problems = validate(&plan, &usual());
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::MissingAnswer, ProblemKind::MissingAnswer]);
    assert!(problems[0].hint.as_ref().unwrap().contains("--split-ratio 8,1,1"));
    assert!(problems[1].hint.as_ref().unwrap().contains("--skip-dataset-yaml"));
    assert_eq!(problems[0].clone().into_failure().class.code(), 2);
}

#[test]
fn mapped_fields_are_checked_against_the_sample_class() {
    let with = |class: &str, fields: &[(&str, &str)]| PreparePlan { loading: field_map(class, fields), ..answered() };
    let plan = with("CaptioningSample", &[("image", "jpg"), ("captoin", "txt")]);
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::UnknownField, ProblemKind::MissingField]);
    assert!(the(&plan, &usual(), ProblemKind::UnknownField).message.contains("did you mean 'caption'"));
    let plan = with("CaptionSample", &[]);
    assert!(the(&plan, &usual(), ProblemKind::UnknownSampleType).message.contains("'CaptioningSample'"));
    let plan = with("my.code:Page", &[("anything", "jpg")]);
    assert!(refusals(&plan, &usual()).is_empty());
    let plan = with("TextSample", &[("text", "txt"), ("text", "json")]);
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::UnknownField]);
    let plan = with("TextSample", &[("text", "txt"), ("__key__", "json")]);
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::UnknownField]);
    let plan = with("TextSample", &[("text", "")]);
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::FieldFails]);
}

#[test]
fn a_part_that_no_sample_has_is_refused_once_the_scan_is_complete() {
    let plan = PreparePlan { loading: field_map("ImageSample", &[("image", "jpeg")]), ..answered() };
    let mut facts = usual();
    let problem = the(&plan, &facts, ProblemKind::NoSuchPart);
    assert_eq!(problem.severity, Severity::Refusal);
    assert!(problem.hint.unwrap().contains("did you mean 'jpg'? The parts are 'jpg', 'json', 'txt'"));
    facts.scan_complete = false;
    assert_eq!(the(&plan, &facts, ProblemKind::NoSuchPart).severity, Severity::Note);
    facts.samples_seen = 0;
    assert!(refusals(&plan, &facts).is_empty());
}

#[test]
fn part_missing_in_some_samples_is_a_problem_with_their_number() {
    let plan = PreparePlan { loading: field_map("TextSample", &[("text", "txt")]), ..answered() };
    let problem = the(&plan, &usual(), ProblemKind::SampleLacksPart);
    assert_eq!(problem.message, "3 of 1,000 samples have no part 'txt' (99.7 % have it); the trainer fails on them");
    assert_eq!(problem.severity, Severity::Problem);
    let plan = PreparePlan { loading: field_map("TextSample", &[("text", "a,b")]), ..answered() };
    let problem = the(&plan, &facts(&["a.tar"], &[("a", 300), ("b", 500)]), ProblemKind::SampleLacksPart);
    assert!(problem
        .message
        .starts_with("at least 200 of 1,000 samples have none of the parts 'a', 'b' (at most 80.0 %"));
}

#[test]
fn expression_outside_the_grammar_is_refused_unless_it_is_a_part_name() {
    for (expr, why) in [("txt,", "remove the trailing comma"), ("json[c", "missing ]"), ("json[c]][7]", "extra ]")] {
        let plan = PreparePlan { loading: field_map("TextSample", &[("text", expr)]), ..answered() };
        let problem = the(&plan, &usual(), ProblemKind::FieldFails);
        assert_eq!(problem.severity, Severity::Refusal, "{expr}");
        assert!(problem.message.starts_with("field 'text': ") && problem.message.contains(why), "{}", problem.message);
        assert_eq!(refusals(&plan, &usual()).len(), 1, "reported once");
        let mut odd = usual();
        odd.parts.insert(expr.into(), PartFacts { samples: 1000, bytes: 0 });
        assert_eq!(the(&plan, &odd, ProblemKind::FieldFails).severity, Severity::Note, "{expr}");
    }
}

#[test]
fn excludes_without_a_match_are_refused_with_a_suggestion() {
    let plan = PreparePlan { exclude_shards: vec!["B".into()], ..answered() };
    assert!(the(&plan, &usual(), ProblemKind::MatchesNothing).hint.unwrap().contains("(?i)B"));
    let plan = PreparePlan { exclude_shards: vec!["(".into()], ..answered() };
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::BadPattern]);
    let plan = PreparePlan { exclude_shards: vec![".*".into()], ..answered() };
    assert!(refusals(&plan, &usual()).contains(&ProblemKind::NoShards));
}

#[test]
fn exclude_item_must_name_a_shard_or_its_sample() {
    let facts = facts(&["s/a.tar", "s/b.tar"], &[("jpg", 1000), ("txt", 1000)]);
    let plan = |items: &[&str]| PreparePlan {
        excludes: items.iter().map(|i| (*i).into()).collect(),
        splits: SplitPlan::Ratio("1,0,0".into()),
        ..answered()
    };
    let fine = plan(&["s/a.tar", "s/a.tar/k/1", "s/{a,b}.tar/0{1..3}"]);
    assert!(refusals(&fine, &facts).is_empty(), "{:?}", validate(&fine, &facts));
    for bad in ["s/c.tar/1", "a.tar", "s/a.tarx", "s/{a,c}.tar", ""] {
        assert_eq!(refusals(&plan(&[bad]), &facts), [ProblemKind::MatchesNothing], "{bad}");
    }
    assert_eq!(refusals(&plan(&["s/{a,b.tar"]), &facts), [ProblemKind::BadBraces]);
    let many: Vec<String> = (0..100).map(|i| format!("s/c{i}.tar")).collect();
    let many = plan(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(refusals(&many, &facts).len(), 21);
    let problems = validate(&many, &facts);
    let suggests = |problem: &&Problem| problem.hint.as_ref().is_some_and(|hint| hint.contains("did you mean"));
    assert_eq!(problems.iter().filter(suggests).count(), 20, "{problems:?}");
    assert!(problems.iter().any(|problem| problem.message.starts_with("80 more excludes name")), "{problems:?}");
}

#[test]
fn dataset_yaml_name_is_a_plain_unreserved_file_name() {
    for bad in ["", "a/b.yaml", "../x.yaml", "/etc/x", "split.yaml", ".info.json", "index.sqlite", "..", "a\nb"] {
        let plan = PreparePlan { dataset_yaml_name: bad.into(), ..answered() };
        assert_eq!(refusals(&plan, &usual()), [ProblemKind::BadName], "{bad:?}");
    }
    assert!(refusals(&PreparePlan { dataset_yaml_name: "captions.yaml".into(), ..answered() }, &usual()).is_empty());
}

#[test]
fn plan_without_shards_has_only_that_refusal() {
    let mut empty = facts(&[], &[]);
    assert_eq!(refusals(&PreparePlan::new("/data"), &empty), [ProblemKind::NoShards]);
    empty.kind = gristmill_core::DatasetKind::SingleShard;
    let problem = the(&answered(), &empty, ProblemKind::NoShards);
    assert!(problem.severity == Severity::Refusal && problem.hint.unwrap().contains("folder that holds them"));
}

fn prepared(plan: Option<PreparePlan>) -> DatasetFacts {
    let mut facts = usual();
    facts.kind = gristmill_core::DatasetKind::PreparedWebDataset;
    facts.prepared = Some(PreparedFacts {
        by_gristmill: plan.is_some(),
        plan: plan.map(Box::new),
        shard_counts: facts.shards.iter().map(|s| (s.name.clone(), 10)).collect(),
        splits: vec![("train".into(), vec!["a.tar".into()])],
        ..PreparedFacts::default()
    });
    facts
}

#[test]
fn data_set_prepared_by_another_program_is_refused_without_a_rerun_flag() {
    let facts = prepared(None);
    let problem = the(&answered(), &facts, ProblemKind::AlreadyPrepared);
    assert!(problem.message.contains("another program"));
    assert!(problem.hint.as_ref().unwrap().contains("--update"));
    assert_eq!(problem.into_failure().class.code(), 1);
    for rerun in [Rerun::Update, Rerun::Overwrite] {
        assert!(refusals(&PreparePlan { rerun, ..answered() }, &facts).is_empty());
    }
}

#[test]
fn repeated_plan_is_nothing_to_do_and_another_plan_is_refused_with_differences() {
    let mut facts = prepared(Some(answered()));
    assert!(refusals(&answered(), &facts).is_empty());
    assert_eq!(the(&answered(), &facts, ProblemKind::NothingToDo).severity, Severity::Note);
    let other = PreparePlan { splits: SplitPlan::Ratio("2,1,0".into()), ..answered() };
    let message = the(&other, &facts, ProblemKind::AlreadyPrepared).message;
    assert!(message.contains("splits: by ratio 1,1,1 → by ratio 2,1,0"), "{message}");
    if let Some(p) = facts.prepared.as_mut() {
        p.new_shards = vec!["d.tar".into()];
    }
    assert!(the(&answered(), &facts, ProblemKind::AlreadyPrepared)
        .message
        .contains("1 new shard is not indexed (d.tar)"));
}

#[test]
fn update_of_a_prepared_data_set_needs_no_answers() {
    let plan = PreparePlan { rerun: Rerun::Update, ..PreparePlan::new("/data") };
    assert!(refusals(&plan, &prepared(None)).is_empty());
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::MissingAnswer, ProblemKind::MissingAnswer]);
}

#[test]
fn tar_index_only_needs_a_prepared_data_set_and_no_answers() {
    let plan = PreparePlan { scope: Scope::TarIndexOnly, ..PreparePlan::new("/data") };
    assert!(refusals(&plan, &prepared(None)).is_empty());
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::MissingFile]);
}

#[test]
fn rerun_options_without_a_rerun_flag_are_refused() {
    let plan = PreparePlan { new_to: Some("val".into()), ..answered() };
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::MissingAnswer]);
    let plan = PreparePlan { reset_excludes: true, ..answered() };
    assert_eq!(refusals(&plan, &usual()), [ProblemKind::MissingAnswer]);
}

#[test]
fn duplicate_keys_of_the_scan_are_refused_unless_the_plan_resolves_them() {
    let mut facts = usual();
    let group = |shards: &[u32], key: &str, keys| DuplicateKeys { shards: shards.to_vec(), key: key.into(), keys };
    facts.same_keys = vec![group(&[0, 1], "k", 2), group(&[0, 1, 1], "l", 1)];
    assert_eq!(refusals(&answered(), &facts), [ProblemKind::DuplicateKey]);
    let message_of = |plan: &PreparePlan, facts: &DatasetFacts| same_keys(plan, facts).map(|problem| problem.message);
    let all = "3 keys name more than one sample; 'k' is in a.tar and again in b.tar";
    assert_eq!(message_of(&answered(), &facts).as_deref(), Some(all));
    let without_a = PreparePlan { exclude_shards: vec!["^a".into()], ..answered() };
    assert_eq!(
        message_of(&without_a, &facts).as_deref(),
        Some("1 key names more than one sample; 'l' is in b.tar twice"),
        "what is left of it"
    );
    let keeps_first = PreparePlan { duplicates: Duplicates::KeepFirst, ..answered() };
    assert_eq!(message_of(&keeps_first, &facts).as_deref(), Some(all), "no refusal, and reported all the same");
    for plan in [
        PreparePlan { duplicates: Duplicates::KeepFirst, ..answered() },
        PreparePlan { scope: Scope::WithoutSampleTables, ..answered() },
        PreparePlan { exclude_shards: vec!["b".into()], ..answered() },
    ] {
        assert!(!refusals(&plan, &facts).contains(&ProblemKind::DuplicateKey));
    }
}

#[test]
fn splits_that_no_loader_requests_are_noted() {
    let splits =
        SplitPlan::Patterns(vec![gristmill_core::plan::SplitPattern { name: "all".into(), pattern: ".*".into() }]);
    let problem = the(&PreparePlan { splits, ..answered() }, &usual(), ProblemKind::Other);
    assert!(problem.severity == Severity::Note && problem.message.contains("no split is called train"));
}

#[test]
fn more_than_ten_thousand_shards_are_noted() {
    let of = |shards: usize| {
        let mut facts = usual();
        let one = facts.shards[0].clone();
        facts.shards = (0..shards).map(|n| ShardFacts { name: format!("s_{n:05}.tar"), ..one.clone() }).collect();
        validate(&PreparePlan { exclude_shards: vec!["s_00000".into()], ..answered() }, &facts)
    };
    assert!(!of(10_001).iter().any(|p| p.kind == ProblemKind::ManyShards), "one is left out");
    let problems = of(10_002);
    let note = problems.iter().find(|p| p.kind == ProblemKind::ManyShards).unwrap();
    assert_eq!(note.severity, Severity::Note);
    assert!(note.message.contains("10,001 shards") && note.message.contains("by prefix"), "{}", note.message);
}
