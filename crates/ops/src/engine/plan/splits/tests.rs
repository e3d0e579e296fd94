use super::*;
use gristmill_core::plan::{SplitList, SplitPattern};
use gristmill_core::{DatasetKind, PreparedFacts, Severity};

fn shards(names: &[&str]) -> Vec<ShardFacts> {
    names
        .iter()
        .map(|n| ShardFacts { name: (*n).into(), is_tgz: n.ends_with(".tgz"), ..ShardFacts::default() })
        .collect()
}

fn numbered(n: usize) -> Vec<ShardFacts> {
    let names: Vec<String> = (0..n).map(|i| format!("shard_{i:04}.tar")).collect();
    shards(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn ratio(text: &str) -> PreparePlan {
    PreparePlan { splits: SplitPlan::Ratio(text.into()), ..PreparePlan::new(".") }
}

fn patterns(all: &[(&str, &str)]) -> PreparePlan {
    let all = all.iter().map(|(n, p)| SplitPattern { name: (*n).into(), pattern: (*p).into() }).collect();
    PreparePlan { splits: SplitPlan::Patterns(all), ..PreparePlan::new(".") }
}

fn listed(all: &[(&str, &[&str])]) -> PreparePlan {
    let all = all
        .iter()
        .map(|(n, s)| SplitList { name: (*n).into(), shards: s.iter().map(|s| (*s).to_owned()).collect() })
        .collect();
    PreparePlan { splits: SplitPlan::Listed(all), ..PreparePlan::new(".") }
}

fn names(resolved: &ResolvedSplits, split: &str, shards: &[ShardFacts]) -> Vec<String> {
    resolved.shards_of(split).iter().map(|id| shards[id.0 as usize].name.clone()).collect()
}

fn sizes(resolved: &ResolvedSplits) -> Vec<usize> {
    resolved.splits.iter().map(|(_, s)| s.len()).collect()
}

fn kinds(resolved: &ResolvedSplits) -> Vec<(ProblemKind, Severity)> {
    resolved.problems.iter().map(|p| (p.kind, p.severity)).collect()
}

fn only(resolved: &ResolvedSplits, kind: ProblemKind) -> &Problem {
    let found: Vec<&Problem> = resolved.problems.iter().filter(|p| p.kind == kind).collect();
    assert_eq!(found.len(), 1, "{:?}", resolved.problems);
    found[0]
}

#[test]
fn a_ratio_divides_whole_shards_in_order() {
    let all = numbered(20);
    let r = resolve(&ratio("8,1,1"), &all);
    assert_eq!(sizes(&r), [16, 2, 2]);
    assert_eq!(names(&r, "val", &all), ["shard_0016.tar", "shard_0017.tar"]);
    assert!(r.problems.is_empty() && r.unassigned.is_empty() && r.left_out.is_empty());
}

#[test]
fn every_unusable_ratio_is_refused_with_a_reason_and_an_example() {
    for bad in ["8,1", "8,1,1,1", "a,b,c", "0,0,0", "-1,1,1", "nan,1,1", "inf,1,1", "", ",,", "1e308,1e308,1e308"] {
        let r = resolve(&ratio(bad), &numbered(4));
        assert!(r.splits.is_empty());
        let problem = only(&r, ProblemKind::BadRatio);
        assert_eq!(problem.severity, Severity::Refusal);
        assert!(problem.hint.as_ref().unwrap().contains("--split-ratio 8,1,1"));
        assert!(!problem.message.is_empty());
    }
}

#[test]
fn ratio_that_leaves_a_split_empty_has_a_note_with_a_fixing_ratio() {
    for (n, fix) in [(3, Some("1,1,1")), (4, Some("2,1,1")), (5, Some("3,1,1"))] {
        let r = resolve(&ratio("8,1,1"), &numbered(n));
        let problem = only(&r, ProblemKind::EmptySplit);
        assert_eq!(problem.severity, Severity::Note);
        let fix = fix.unwrap();
        assert!(problem.hint.as_ref().unwrap().contains(&format!("--split-ratio {fix}")), "{n}: {problem:?}");
        let fixed = resolve(&ratio(fix), &numbered(n));
        assert!(fixed.problems.is_empty(), "{fix}: {:?}", fixed.problems);
    }
    let r = resolve(&ratio("8,1,1"), &numbered(1));
    assert_eq!(sizes(&r), [0, 0, 1]);
    assert!(only(&r, ProblemKind::EmptySplit).hint.as_ref().unwrap().contains("1,0,0"));
}

#[test]
fn zero_in_the_ratio_leaves_its_split_empty_without_a_note() {
    let r = resolve(&ratio("1,0,0"), &numbered(3));
    assert_eq!(sizes(&r), [3, 0, 0]);
    assert!(r.problems.is_empty());
}

#[test]
fn shard_lost_by_rounding_is_assigned_except_with_compat() {
    let all = numbered(10);
    let r = resolve(&ratio("7,2,1"), &all);
    assert_eq!(sizes(&r), [7, 2, 1]);
    assert_eq!(only(&r, ProblemKind::RoundedAway).severity, Severity::Note);
    let r = resolve(&PreparePlan { compat: true, ..ratio("7,2,1") }, &all);
    assert_eq!(sizes(&r), [7, 2, 0]);
    assert_eq!(r.unassigned, [ShardId(9)]);
    assert!(only(&r, ProblemKind::CompatLoss).message.contains("1 shard"));
}

#[test]
fn shard_shuffle_matches_the_reference_and_patterns_keep_list_order() {
    let all = numbered(10);
    let r = resolve(&PreparePlan { shuffle_tars: true, ..ratio("8,1,1") }, &all);
    let ids: Vec<u32> = r.splits.iter().flat_map(|(_, s)| s.iter().map(|id| id.0)).collect();
    assert_eq!(ids, [7, 3, 2, 8, 5, 6, 9, 4, 0, 1]);
    let r = resolve(&PreparePlan { shuffle_tars: true, ..patterns(&[("train", ".*")]) }, &all);
    assert_eq!(r.shards_of("train"), (0..10).map(ShardId).collect::<Vec<_>>(), "patterns keep the order of the index");
}

#[test]
fn compressed_and_unusable_shards_are_in_no_split_with_a_reason() {
    let mut all = shards(&["a.tar", "b.tgz", "c.tar", "d{1,2}.tar"]);
    all[3].unusable = true;
    let r = resolve(&ratio("1,0,0"), &all);
    assert_eq!(names(&r, "train", &all), ["a.tar", "c.tar"]);
    let reasons: Vec<_> = r.left_out.iter().map(|l| (l.shard.0, l.reason)).collect();
    assert_eq!(reasons, [(1, LeftOutReason::Compressed), (3, LeftOutReason::UnusableName)]);
    let r = resolve(&PreparePlan { compat: true, ..ratio("1,0,0") }, &all);
    assert_eq!(names(&r, "train", &all), ["a.tar", "b.tgz", "c.tar"]);
}

#[test]
fn rewritten_compressed_shard_is_assigned_by_its_tar_name() {
    let all = shards(&["a.tgz", "b.tar", "b.tgz"]);
    let plan = PreparePlan { tgz: Tgz::Rewrite, ..listed(&[("train", &["{a,b}.tar"])]) };
    let r = resolve(&plan, &all);
    assert_eq!(names(&r, "train", &all), ["a.tgz", "b.tar"]);
    assert_eq!(r.left_out, [SkippedShard { shard: ShardId(2), reason: LeftOutReason::TarIsThere }]);
}

#[test]
fn excluded_shards_are_removed_before_the_ratio_is_applied() {
    let all = numbered(11);
    let plan = PreparePlan { exclude_shards: vec!["_0003".into()], ..ratio("8,1,1") };
    let r = resolve(&plan, &all);
    assert_eq!(sizes(&r), [8, 1, 1]);
    assert_eq!(r.left_out, [SkippedShard { shard: ShardId(3), reason: LeftOutReason::Excluded }]);
    assert!(!r.shards_of("train").contains(&ShardId(3)));
}

#[test]
fn split_patterns_match_at_the_start_of_names() {
    let all = shards(&["test-a/x.tar", "train/x.tar", "train/y.tar", "val/shard_00000.tar", "val/shard_00001.tar"]);
    let plan =
        patterns(&[("train", "train/.*"), ("val", "val/shard_{00000,00001}.tar"), ("test", "test"), ("all", ".*")]);
    let r = resolve(&plan, &all);
    assert_eq!(sizes(&r), [2, 2, 1, 5]);
    assert!(r.problems.iter().all(|p| p.kind == ProblemKind::ShardInTwoSplits), "{:?}", r.problems);
    let shared: Vec<&str> = r.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(shared.len(), 3);
    assert_eq!(shared[0], "1 shard is in both 'test' and 'all', e.g. test-a/x.tar");
    assert_eq!(shared[1], "2 shards are in both 'train' and 'all', e.g. train/x.tar");
    assert!(r.unassigned.is_empty());
}

#[test]
fn glob_as_split_pattern_is_refused_with_the_regular_expression() {
    let all = shards(&["train-shard-0.tar", "val-shard-0.tar"]);
    let r = resolve(&patterns(&[("train", "train"), ("val", "*val*.tar")]), &all);
    assert!(r.is_refused());
    let problem = r.problems.iter().find(|p| p.severity == Severity::Refusal).unwrap();
    assert!(problem.hint.as_ref().unwrap().contains(".*val.*"), "{problem:?}");
    let r = resolve(&patterns(&[("train", "train"), ("val", "v?l-*")]), &all);
    let hint = only(&r, ProblemKind::MatchesNothing).hint.clone().unwrap();
    assert!(hint.contains("did you mean 'v.l-.*'"), "{hint}");
    assert!(hint.contains("train-shard-0.tar … val-shard-0.tar"), "{hint}");
}

#[test]
fn pattern_that_matches_only_inside_names_is_refused_with_a_hint() {
    let r = resolve(&patterns(&[("train", "rain/.*")]), &shards(&["train/a.tar"]));
    let problem = only(&r, ProblemKind::MatchesNothing);
    assert_eq!(problem.message, "pattern 'rain/.*' of split 'train' matches 0 of 1 shard");
    assert!(problem.hint.as_ref().unwrap().contains(".*rain/.*"));
}

#[test]
fn an_empty_split_by_pattern_is_a_note_when_it_is_allowed_or_compat() {
    let all = shards(&["train/a.tar"]);
    let base = patterns(&[("train", "train"), ("val", "val")]);
    let r = resolve(&PreparePlan { allow_empty_splits: true, ..base.clone() }, &all);
    assert_eq!(kinds(&r), [(ProblemKind::EmptySplit, Severity::Note)]);
    assert_eq!(sizes(&r), [1, 0]);
    let r = resolve(&PreparePlan { compat: true, ..base }, &all);
    assert_eq!(kinds(&r), [(ProblemKind::CompatLoss, Severity::Note)]);
}

#[test]
fn repeat_count_expanded_as_a_brace_list_is_explained() {
    let r = resolve(&patterns(&[("train", r"s\d{2,3}.tar")]), &shards(&["s123.tar"]));
    let problem = only(&r, ProblemKind::MatchesNothing);
    assert!(problem.hint.as_ref().unwrap().contains("expanded before"), "{problem:?}");
    let r = resolve(&patterns(&[("train", r"s\d{3}.tar")]), &shards(&["s123.tar"]));
    assert_eq!(sizes(&r), [1]);
}

#[test]
fn invalid_split_pattern_is_refused_with_the_split_name() {
    for bad in ["(", "{a,b", "[", "*"] {
        let r = resolve(&patterns(&[("train", bad)]), &numbered(2));
        assert!(r.is_refused(), "{bad}");
        assert_eq!(r.problems.len(), 1, "{bad}: {:?}", r.problems);
        assert!(r.problems[0].message.contains("'train'"), "{}", r.problems[0].message);
    }
}

#[test]
fn last_pattern_of_a_repeated_split_wins_in_the_first_position() {
    let r = resolve(&patterns(&[("a", "shard_0000"), ("b", "shard_0001"), ("a", "shard_0002")]), &numbered(3));
    assert_eq!(r.splits, [("a".into(), vec![ShardId(2)]), ("b".into(), vec![ShardId(1)])]);
    assert_eq!(only(&r, ProblemKind::Other).severity, Severity::Note);
    assert_eq!(only(&r, ProblemKind::UnassignedShards).message, "1 shard is indexed but in no split: shard_0000.tar");
}

#[test]
fn a_split_without_a_name_is_refused() {
    for bad in ["", "a\nb"] {
        let r = resolve(&patterns(&[(bad, ".*")]), &numbered(1));
        assert_eq!(only(&r, ProblemKind::BadName).severity, Severity::Refusal);
    }
    let r = resolve(&patterns(&[("train ", ".*")]), &numbered(1));
    assert_eq!(only(&r, ProblemKind::BadName).severity, Severity::Note);
}

#[test]
fn shard_list_keeps_its_order_and_expands_braces() {
    let all = numbered(6);
    let r = resolve(&listed(&[("train", &["shard_0005.tar", "shard_{0000..0003}.tar"]), ("val", &[])]), &all);
    assert_eq!(r.shards_of("train"), [5, 0, 1, 2, 3].map(ShardId));
    assert_eq!(r.unassigned, [ShardId(4)]);
    assert_eq!(only(&r, ProblemKind::EmptySplit).severity, Severity::Note);
}

#[test]
fn a_listed_shard_that_does_not_exist_is_refused_with_the_nearest_name() {
    let r = resolve(&listed(&[("train", &["shard_0000.tar", "shrd_0001.tar"])]), &numbered(2));
    let problem = only(&r, ProblemKind::MatchesNothing);
    assert_eq!(problem.severity, Severity::Refusal);
    assert_eq!(problem.hint.as_deref(), Some("did you mean 'shard_0001.tar'?"));
}

#[test]
fn a_shard_in_two_lists_or_twice_in_one_is_noted() {
    let r = resolve(
        &listed(&[("train", &["shard_0000.tar", "shard_0000.tar"]), ("val", &["shard_0000.tar"])]),
        &numbered(1),
    );
    assert_eq!(sizes(&r), [1, 1]);
    assert!(only(&r, ProblemKind::ShardInTwoSplits).message.contains("'train' and 'val'"));
    assert!(only(&r, ProblemKind::Other).message.contains("more than once"));
}

#[test]
fn pattern_preview_counts_matching_and_unassigned_shards() {
    let all = shards(&["a/0.tar", "a/1.tar", "b/0.tar"]);
    let m = pattern_matches("a/", &all).unwrap();
    assert_eq!(
        (m.shards.len(), m.total, m.first.as_deref(), m.last.as_deref()),
        (2, 3, Some("a/0.tar"), Some("a/1.tar"))
    );
    let m = pattern_matches("A/", &all).unwrap();
    assert_eq!(m.meant.unwrap().pattern, "(?i)A/");
    let p = preview_patterns(&[SplitPattern { name: "t".into(), pattern: "a/.*".into() }], &all);
    assert_eq!(p.unassigned, [ShardId(2)]);
    assert_eq!(exclude_matches("0", &all).unwrap().shards, [ShardId(0), ShardId(2)]);
}

fn prepared(all: &[ShardFacts], splits: &[(&str, &[&str])]) -> PreparedFacts {
    PreparedFacts {
        shard_counts: all.iter().map(|s| (s.name.clone(), 10)).collect(),
        splits: splits.iter().map(|(n, s)| ((*n).into(), s.iter().map(|s| (*s).to_owned()).collect())).collect(),
        ..PreparedFacts::default()
    }
}

fn update(
    plan: PreparePlan,
    old: usize,
    now: usize,
    splits: &[(&str, &[&str])],
    recorded: Option<PreparePlan>,
) -> ResolvedSplits {
    let all = numbered(now);
    let mut facts = DatasetFacts::new(".".into(), DatasetKind::PreparedWebDataset);
    let mut before = prepared(&all[..old], splits);
    before.plan = recorded.map(Box::new);
    facts.prepared = Some(before);
    facts.shards = all;
    resolve_in(&PreparePlan { rerun: Rerun::Update, ..plan }, &facts)
}

const OLD: &[(&str, &[&str])] =
    &[("train", &["shard_0003.tar", "shard_0000.tar", "shard_0001.tar"]), ("val", &["shard_0002.tar"]), ("test", &[])];

#[test]
fn an_update_keeps_assignments_and_sends_new_shards_to_the_given_split() {
    let plan = PreparePlan { new_to: Some("val".into()), ..PreparePlan::new(".") };
    let r = update(plan, 4, 6, OLD, None);
    assert_eq!(r.shards_of("train"), [3, 0, 1].map(ShardId));
    assert_eq!(r.shards_of("val"), [2, 4, 5].map(ShardId));
    assert!(!r.is_refused());
}

#[test]
fn update_does_not_assign_shards_that_are_already_in_a_split() {
    let splits: &[(&str, &[&str])] = &[("train", &["shard_0000.tar", "shard_0002.tar"]), ("val", &["shard_0001.tar"])];
    for recorded in [None, Some(ratio("1,1,0"))] {
        let r = update(PreparePlan::new("."), 2, 3, splits, recorded);
        assert_eq!((r.shards_of("train"), r.shards_of("val")), (&[0, 2].map(ShardId)[..], &[ShardId(1)][..]));
        assert!(!r.is_refused() && r.problems.is_empty(), "{:?}", r.problems);
    }
}

#[test]
fn update_assigns_new_shards_toward_the_recorded_ratio() {
    let r = update(PreparePlan::new("."), 4, 10, OLD, Some(ratio("8,1,1")));
    assert_eq!(sizes(&r), [8, 1, 1]);
    assert_eq!(r.shards_of("train")[..3], [3, 0, 1].map(ShardId));
}

#[test]
fn an_update_sends_new_shards_by_the_recorded_patterns() {
    let r = update(PreparePlan::new("."), 4, 6, OLD, Some(patterns(&[("test", "shard_0004"), ("train", "x")])));
    assert_eq!(r.shards_of("test"), [ShardId(4)]);
    assert_eq!(r.unassigned, [ShardId(5)]);
}

#[test]
fn update_without_a_rule_for_new_shards_is_a_missing_answer() {
    for recorded in [None, Some(listed(&[("train", &["shard_0000.tar"])]))] {
        let r = update(PreparePlan::new("."), 4, 6, OLD, recorded);
        let problem = only(&r, ProblemKind::MissingAnswer);
        assert!(problem.hint.as_ref().unwrap().starts_with("--new-to train"), "{problem:?}");
    }
    let r = update(PreparePlan::new("."), 4, 4, OLD, None);
    assert!(!r.is_refused());
}

#[test]
fn update_to_an_unknown_split_is_refused() {
    let plan = PreparePlan { new_to: Some("vall".into()), ..PreparePlan::new(".") };
    assert!(only(&update(plan, 4, 5, OLD, None), ProblemKind::MatchesNothing).message.contains("train, val, test"));
}

#[test]
fn update_keeps_unassigned_shards_and_removes_missing_ones() {
    let splits: &[(&str, &[&str])] = &[("train", &["shard_0000.tar", "gone.tar"])];
    let plan = PreparePlan { new_to: Some("train".into()), ..PreparePlan::new(".") };
    let r = update(plan, 2, 3, splits, None);
    assert_eq!(r.shards_of("train"), [0, 2].map(ShardId));
    assert_eq!(r.unassigned, [ShardId(1)]);
    assert!(only(&r, ProblemKind::MissingFile).message.contains("gone.tar"));
}

proptest::proptest! {
    #[test]
    fn a_ratio_assigns_every_shard_exactly_once(a in 0u32..20, b in 0u32..20, c in 0u32..20, n in 0usize..60, shuffle in proptest::bool::ANY) {
        proptest::prop_assume!(a + b + c > 0);
        let all = numbered(n);
        let r = resolve(&PreparePlan { shuffle_tars: shuffle, ..ratio(&format!("{a},{b},{c}")) }, &all);
        let mut ids: Vec<u32> = r.splits.iter().flat_map(|(_, s)| s.iter().map(|id| id.0)).collect();
        ids.sort_unstable();
        proptest::prop_assert_eq!(ids, (0..n as u32).collect::<Vec<_>>());
    }

    #[test]
    fn fixing_ratio_leaves_no_requested_split_empty(a in 0u32..50, b in 0u32..50, c in 0u32..50, n in 1usize..60) {
        let r = [f64::from(a), f64::from(b), f64::from(c)];
        if let Some(fix) = fixing_ratio(&r, n) {
            let got = resolve(&ratio(&fix), &numbered(n));
            for (wanted, size) in r.iter().zip(sizes(&got)) {
                proptest::prop_assert_eq!(*wanted > 0.0, size > 0);
            }
        }
    }

    #[test]
    fn an_update_never_moves_a_shard(old in 1usize..20, new in 0usize..20, a in 1u32..9, b in 0u32..9) {
        let all = numbered(old);
        let kept: Vec<&str> = all.iter().map(|s| s.name.as_str()).collect();
        let r = update(PreparePlan::new("."), old, old + new, &[("train", &kept[..old / 2]), ("val", &kept[old / 2..])], Some(ratio(&format!("{a},{b},1"))));
        proptest::prop_assert_eq!(r.splits.iter().map(|(_, s)| s.len()).sum::<usize>(), old + new);
        for (i, id) in r.shards_of("train").iter().take(old / 2).enumerate() {
            proptest::prop_assert_eq!(id.0 as usize, i);
        }
    }

    #[test]
    fn resolving_any_split_pattern_does_not_panic(pattern in "[a-z0-9{},.*?\\[\\]()\\\\|+-]{0,12}") {
        let _ = resolve(&patterns(&[("t", &pattern)]), &numbered(3));
    }
}

#[test]
fn split_whose_scanned_shards_have_no_samples_is_reported() {
    let plan = listed(&[("train", &["a.tar"]), ("val", &["b.tar", "c.tar"])]);
    let mut facts = DatasetFacts::new("/d".into(), DatasetKind::RawWebDataset);
    facts.shards = shards(&["a.tar", "b.tar", "c.tar"]);
    facts.shards[0].samples = 3;
    facts.shards[1].state = ShardState::Failed;
    assert!(resolve_in(&plan, &facts).problems.is_empty(), "one is still to be read");
    facts.shards[2].state = ShardState::Scanned;
    let problem = only(&resolve_in(&plan, &facts), ProblemKind::EmptySplit).clone();
    assert_eq!(problem.message, "it has no samples in 2 shards");
    facts.shards[2].samples = 1;
    assert!(resolve_in(&plan, &facts).problems.is_empty());
}
