use super::guide::{MixGuide, KINDS, MEMBERS};
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, Guide as _};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use gristmill_core::mix::{MixKind, MixMember, MixPlan};
use gristmill_core::options::Answer;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_ops::engine::mix::author::FoundMember;
use gristmill_ops::engine::mix::{MixFacts, MixNode, MixNodeKind, MixSplit};
use gristmill_ops::job::mix::MixReport;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::{erase, MixNew};
use std::path::PathBuf;

type Test = FormTest<MixGuide>;

fn compare(name: &str, test: &mut Test) {
    test.compare(&format!("mix_{name}"));
}

fn found() -> Vec<FoundMember> {
    let member = |name: &str, kind, samples, is_crude| FoundMember {
        path: format!("/data/{name}").into(),
        kind,
        samples: Some(samples),
        splits: match kind {
            MixNodeKind::Jsonl => Vec::new(),
            _ => vec![("train".into(), samples * 8 / 10), ("val".into(), samples / 10)],
        },
        is_crude,
    };
    vec![
        member("coco", MixNodeKind::WebDataset, 201_330, false),
        member("corpus.jsonl", MixNodeKind::Jsonl, 1_300_000, true),
        member("flickr30k/crude", MixNodeKind::WebDataset, 31_014, true),
    ]
}

fn searching(plan: MixPlan, first: Option<&str>) -> Test {
    let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
    let guide = MixGuide::start("/data".into(), first.map(PathBuf::from), &env);
    FormTest::new(erase::<MixNew>(plan), guide)
}

fn blank() -> MixPlan {
    MixPlan::new("", MixKind::Blend)
}

fn find(test: &mut Test, members: Outcome<Vec<FoundMember>>) {
    test.guide.set_found(members, &mut test.form);
    test.refresh();
    test.form.focus_on(MEMBERS);
}

fn open() -> Test {
    let mut test = searching(blank(), None);
    find(&mut test, Ok(found()));
    test
}

fn plan(test: &Test) -> MixPlan {
    test.form.plan_of::<MixPlan>().cloned().unwrap()
}

fn node(label: &str, share: f64, samples: u64, oversampling: f64) -> MixNode {
    MixNode {
        label: label.into(),
        kind: MixNodeKind::WebDataset,
        line: 1,
        share,
        weight: Some(share),
        repetitions: None,
        samples: Some(samples),
        samples_per_epoch: Some(samples),
        oversampling: Some(oversampling),
        split_part: None,
        aux: Vec::new(),
        children: Vec::new(),
    }
}

/// Sets the preview of the answers.
fn preview(test: &mut Test, problems: Vec<Problem>) {
    let mut root = node("blend", 1.0, 185_874, 1.0);
    root.kind = MixNodeKind::Blend;
    root.children = vec![node("/data/coco", 0.75, 161_063, 0.87), node("/data/flickr30k/crude", 0.25, 24_811, 1.87)];
    let split = |name: &str| MixSplit { name: name.into(), root: root.clone() };
    let facts = MixFacts {
        path: "/data/mix.yaml".into(),
        version: 2,
        splits: vec![split("train"), split("val")],
        joins: Vec::new(),
        aux: Vec::new(),
        problems,
    };
    let text =
        "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    blend:\n    - path: coco\n";
    let report = MixReport {
        path: "/data/mix.yaml".into(),
        text: text.into(),
        replaces: false,
        nothing_to_do: false,
        facts,
        needs_prepare: false,
        counts: Vec::new(),
    };
    let report: Box<dyn Report> = Box::new(report);
    test.guide.preview.set_preview(test.form.plan(), Ok(report));
}

fn two_chosen() -> Test {
    let mut test = open();
    test.press("3");
    test.act_in_guide(&[Action::Down, Action::Down, Action::Toggle]);
    test
}

#[test]
fn the_search_is_shown_while_it_runs() {
    compare("searching", &mut searching(blank(), None));
}

#[test]
fn mix_form_without_prepared_data_sets_is_drawn() {
    let mut test = searching(blank(), None);
    find(&mut test, Ok(Vec::new()));
    compare("empty", &mut test);
}

#[test]
fn no_data_set_is_chosen_at_first() {
    let mut test = open();
    assert!(test.blocker("settings").unwrap().contains("choose the data sets"));
    compare("none", &mut test);
}

#[test]
fn draft_members_are_selected_by_relative_or_absolute_path() {
    let folder = std::env::current_dir().unwrap();
    let row =
        |test: &Test| test.guide.members.rows.iter().map(|row| (row.name.clone(), row.is_chosen)).collect::<Vec<_>>();
    for path in ["big".to_owned(), folder.join("big").to_string_lossy().into_owned()] {
        let mut plan = blank();
        plan.members.push(MixMember::new(path, 2.0));
        let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
        let mut test = FormTest::new(erase::<MixNew>(plan), MixGuide::start(folder.clone(), None, &env));
        let member = FoundMember { path: folder.join("big"), ..found().remove(0) };
        find(&mut test, Ok(vec![member]));
        assert_eq!(row(&test), [("big".to_owned(), true)]);
    }
}

#[test]
fn a_mixture_is_drawn_as_bars() {
    let mut test = two_chosen();
    preview(&mut test, Vec::new());
    assert_eq!(test.first_blocker(), None);
    compare("blend", &mut test);
}

#[test]
fn problems_of_a_mixture_are_shown_and_prevent_the_run() {
    let mut test = two_chosen();
    let problem = Problem::refusal(ProblemKind::BadMember, Subject::default(), "corpus.jsonl has no split 'val'")
        .with_hint("leave val out, or name a split of it");
    preview(&mut test, vec![problem]);
    assert!(test.first_blocker().unwrap().1.contains("no split"));
    compare("problem", &mut test);
}

#[test]
fn the_review_shows_the_file() {
    let mut test = two_chosen();
    preview(&mut test, Vec::new());
    test.go_to("review");
    compare("review", &mut test);
}

#[test]
fn unreadable_mix_folder_is_drawn_as_an_error() {
    let mut test = searching(blank(), None);
    find(&mut test, Err(Failure::environment("looking into", "permission denied")));
    compare("error", &mut test);
}

#[test]
fn digits_and_arrows_change_a_weight_and_space_toggles_the_member() {
    let mut test = open();
    test.press("2.5x");
    assert_eq!(plan(&test).members[0].amount, 2.5);
    test.act_in_guide(&[Action::Right, Action::Left, Action::Left, Action::Left]);
    assert_eq!(test.guide.members.rows[0].weight, "0.5");
    test.press("\u{8}");
    assert_eq!(test.guide.members.rows[0].weight, "0.");
    assert!(test.blocker("settings").unwrap().contains("a number above 0"), "{:?}", test.blocker("settings"));
    test.press("\u{8}\u{8}");
    test.act_in_guide(&[Action::Right]);
    assert_eq!((plan(&test).members[0].amount, test.blocker("settings")), (2.0, None));
    test.act_in_guide(&[Action::Toggle]);
    assert!(plan(&test).members.is_empty());
}

#[test]
fn change_of_mix_kind_keeps_members() {
    let mut test = two_chosen();
    test.form.focus_on(KINDS);
    test.act_in_guide(&[Action::Down]);
    let amounts = |plan: &MixPlan| plan.members.iter().map(|member| member.amount).collect::<Vec<_>>();
    assert_eq!((plan(&test).kind, amounts(&plan(&test))), (MixKind::Epochized, vec![3.0, 1.0]));
    assert!(test.form.command().contains("--epochized /data/coco=3"), "{}", test.form.command());
    test.act_in_guide(&[Action::Down]);
    assert_eq!(plan(&test).kind, MixKind::Join);
    assert!(test.form.fields().contains(&Field::Option("joiner")));
    assert!(test.form.command().contains("--join /data/coco"), "{}", test.form.command());
    compare("join", &mut test);
    test.form.focus_on(KINDS);
    test.act_in_guide(&[Action::Up, Action::Up]);
    assert_eq!((plan(&test).kind, amounts(&plan(&test))), (MixKind::Blend, vec![3.0, 1.0]));
}

#[test]
fn aux_sources_are_kept_when_a_weight_changes() {
    let mut test = two_chosen();
    test.type_into("aux", "images=filesystem:///data/images");
    test.form.focus_on(MEMBERS);
    test.press("5");
    assert_eq!(plan(&test).members[1].aux[0].path, "filesystem:///data/images");
    assert!(test.form.command().contains("--aux images=filesystem:///data/images"), "{}", test.form.command());
    compare("aux", &mut test);
    test.type_into("aux", "images");
    assert!(test.blocker("settings").unwrap().contains("NAME=PATH"));
}

#[test]
fn given_data_set_is_selected_and_an_unused_output_name_proposed() {
    let mut members = found();
    members.push(FoundMember {
        path: "/data/mix.yaml".into(),
        kind: MixNodeKind::Metadataset,
        samples: None,
        splits: vec![("train".into(), 0)],
        is_crude: false,
    });
    let mut test = searching(blank(), Some("/data/coco"));
    find(&mut test, Ok(members));
    assert_eq!((plan(&test).members[0].path.as_str(), plan(&test).output.as_str()), ("/data/coco", "/data/mix-2.yaml"));
}

#[test]
fn plan_members_are_selected_even_if_the_search_misses_them() {
    let mut given = erase::<MixNew>(MixPlan::new("out.yaml", MixKind::Blend));
    let answer = Answer::List(vec!["/data/coco=3".into(), "/elsewhere=0.5".into()]);
    given.set("epochized", &answer).unwrap();
    let given = given.typed::<MixPlan>().cloned().unwrap();
    let mut test = searching(given.clone(), None);
    find(&mut test, Ok(found()));
    let chosen: Vec<(&str, &str)> = (test.guide.members.rows.iter().filter(|row| row.is_chosen))
        .map(|row| (row.name.as_str(), row.weight.as_str()))
        .collect();
    assert_eq!(chosen, [("coco", "3"), ("/elsewhere", "0.5")]);
    assert_eq!(plan(&test), given);
    test.act_in_guide(&[Action::Toggle, Action::Toggle]);
    assert_eq!(plan(&test), given);
}

#[test]
fn mix_form_draws_at_any_size_and_escapes_names() {
    let mut members = found();
    members[0].path = "/data/a\u{1b}[31m\u{202e}b".into();
    let mut test = searching(blank(), None);
    find(&mut test, Ok(members));
    test.press("2");
    preview(&mut test, Vec::new());
    for (columns, rows) in [(1, 1), (2, 4), (10, 5), (39, 10), (72, 9), (200, 60)] {
        for step in ["settings", "review"] {
            test.go_to(step);
            assert!(!test.shown((columns, rows, false)).contains(['\u{1b}', '\u{202e}']));
        }
    }
}

#[test]
fn click_on_checkbox_and_double_click_toggle_a_member() {
    let mut test = open();
    test.guide.members.list.select(1);
    test.guide.click(&mut test.form, "members", 20, false);
    assert!(!test.guide.members.rows[1].is_chosen);
    test.guide.click(&mut test.form, "members", 4, false);
    assert!(test.guide.members.rows[1].is_chosen);
    test.guide.click(&mut test.form, "members", 20, true);
    assert!(plan(&test).members.is_empty());
}
