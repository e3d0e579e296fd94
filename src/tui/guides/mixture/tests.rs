use super::folders::{row, FolderRow, TokenFolder};
use super::guide::{MixtureGuide, ADD, FOLDERS};
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, Guide as _};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use gristmill_core::Problem;
use gristmill_core::{ProblemKind, RunOptions, Subject};
use gristmill_ops::job::report::{Report, RunFindings};
use gristmill_ops::operations::{erase, MixIndex, Plan as _};
use gristmill_ops::tokens::formats::mixture::job::MixtureIndexReport;
use gristmill_ops::tokens::formats::mixture::{Member, MixtureForecast, MixtureIndexPlan, Request};
use std::path::Path;

type Test = FormTest<MixtureGuide>;

fn compare(name: &str, test: &mut Test) {
    test.compare(&format!("mixture_{name}"));
}

fn folder(name: &str, tokens: &[u64]) -> FolderRow {
    let path = format!("/data/{name}").into();
    row(TokenFolder { path, tokens: tokens.to_vec(), failure: None }, Path::new("/data"))
}

fn plan_of(folders: &[&str]) -> MixtureIndexPlan {
    let members = folders.iter().map(|folder| Member::Folder(format!("/data/{folder}").into())).collect();
    MixtureIndexPlan { members, ..MixtureIndexPlan::blank() }
}

fn open(plan: MixtureIndexPlan, folders: Vec<FolderRow>) -> Test {
    let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
    let guide = MixtureGuide::start(&plan, &env);
    let mut test = FormTest::new(erase::<MixIndex>(plan), guide);
    test.guide.set_found(Ok(folders), &mut test.form);
    test.refresh();
    test.form.focus_on(FOLDERS);
    test
}

/// The example of docs/formats/nanosets.md §7.1: 8, 2, 5 and 5 windows.
fn example() -> Test {
    let windows = |count: u64| count * 10 + 3;
    let mut torn = folder("torn", &[]);
    torn.is_usable = false;
    torn.item.failure = Some("there is no .ds file directly in it".into());
    let folders = vec![
        folder("books", &[windows(5), windows(3)]),
        folder("code", &[windows(2)]),
        folder("news", &[windows(5)]),
        torn,
        folder("web", &[windows(5)]),
    ];
    let mut test = open(MixtureIndexPlan { sequence_length: Some(9), ..MixtureIndexPlan::blank() }, folders);
    test.type_into("output", "/data/mixture-index");
    test.form.focus_on(FOLDERS);
    test
}

fn plan(test: &Test) -> MixtureIndexPlan {
    test.form.plan_of::<MixtureIndexPlan>().cloned().unwrap()
}

fn chosen(test: &Test) -> Vec<&str> {
    test.guide.folders.chosen().map(|row| row.name.as_str()).collect()
}

/// Sets the preview of the answers.
fn preview(test: &mut Test, problems: Vec<Problem>) -> MixtureForecast {
    let plan = plan(test);
    let length = plan.sequence_length.unwrap();
    let lengths = test.guide.folders.chosen().map(|row| row.item.windows(length)).collect();
    let names: Vec<String> = chosen(test).into_iter().map(str::to_owned).collect();
    let request = Request { lengths, weights: plan.weights.clone(), samples: plan.samples, seed: plan.seed };
    request.check(&names).unwrap();
    let outlook = MixtureForecast::exact_or_estimated(&request);
    let report = MixtureIndexReport {
        output: plan.output.clone(),
        files: Vec::new(),
        names,
        outlook: outlook.clone(),
        sequence_length: plan.sequence_length,
        seed: plan.seed,
        nothing_to_do: false,
        findings: RunFindings { problems, ..RunFindings::default() },
    };
    let report: Box<dyn Report> = Box::new(report);
    test.guide.preview.set_preview(test.form.plan(), Ok(report));
    outlook
}

#[test]
fn mixture_folders_are_weighted_by_windows_by_default() {
    let mut test = example();
    assert_eq!((plan(&test).weights, plan(&test).samples), (None, 20), "windows are counted file by file");
    preview(&mut test, Vec::new());
    assert_eq!(test.first_blocker(), None);
    compare("by_windows", &mut test);
    test.act_in_guide(&[Action::Down, Action::Right]);
    assert_eq!(plan(&test).weights.unwrap(), [0.4, 0.15, 0.25, 0.25]);
    test.act_in_guide(&[Action::Left]);
    assert_eq!(plan(&test).weights.unwrap()[1], 0.1);
    test.act_in_guide(&[Action::DropRow]);
    assert_eq!(plan(&test).weights, None);
}

#[test]
fn mixture_shares_follow_weights() {
    let mut test = example();
    for (row, weight) in [(0, "0.1"), (1, "0.5"), (2, "0.3"), (4, "0.1")] {
        test.guide.folders.list.select(row);
        test.press("\u{8}\u{8}\u{8}\u{8}");
        test.press(weight);
    }
    for (row, weight) in [(0, "0.1"), (1, "0.5"), (2, "0.3"), (4, "0.1")] {
        test.guide.folders.list.select(row);
        test.press("\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}");
        test.press(weight);
    }
    test.type_into("samples", "70");
    let samples: Vec<u64> = preview(&mut test, Vec::new()).members.iter().map(|share| share.samples).collect();
    assert_eq!(samples, [7, 34, 21, 8], "the figures of the format page");
    compare("weighted", &mut test);
    let command = test.form.command();
    assert!(command.contains("--weights 0.1,0.5,0.3,0.1 --sequence-length 9 --samples 70 --output"), "{command}");
    test.go_to("review");
    compare("review", &mut test);
}

#[test]
fn problems_are_shown_below_the_mixture() {
    let mut test = example();
    let why = "vocab_size is 7 in the training configuration, and 1,000 in the tokenizer of the folders";
    let problem = Problem::problem(ProblemKind::Other, Subject::default(), why);
    preview(&mut test, vec![problem]);
    compare("problem", &mut test);
}

#[test]
fn mixture_list_shows_answers_of_command_line() {
    let given = MixtureIndexPlan {
        weights: Some(vec![0.25, 3.0]),
        sequence_length: Some(9),
        samples: 40,
        seed: 7,
        output: "/data/index".into(),
        overwrite: true,
        ..plan_of(&["web", "books"])
    };
    let folders = vec![folder("web", &[103]), folder("books", &[203]), folder("code", &[303])];
    let mut test = open(given.clone(), folders);
    assert_eq!(chosen(&test), ["web", "books"]);
    assert_eq!(plan(&test), given);
    test.act_in_guide(&[Action::Toggle, Action::Toggle]);
    assert_eq!(plan(&test), given);
    let command =
        "gristmill mix index /data/web /data/books --weights 0.25,3 --sequence-length 9 --samples 40 --seed 7 \
                   --output /data/index --force-overwrite";
    assert_eq!(test.form.command(), command);
}

#[test]
fn unreadable_folders_and_invalid_numbers_block_the_mixture_form() {
    let mut test = example();
    test.guide.folders.list.select(3);
    test.act_in_guide(&[Action::Toggle]);
    assert_eq!(chosen(&test).len(), 4, "a folder that cannot be read is not chosen");
    test.type_into("sequence-length", "none");
    assert!(test.blocker("settings").unwrap().contains("sequence length"));
    compare("wrong", &mut test);
    test.type_into("sequence-length", "9");
    test.form.focus_on(FOLDERS);
    for row in [0, 1, 2, 4] {
        test.guide.folders.list.select(row);
        test.act_in_guide(&[Action::Toggle]);
    }
    assert!(test.blocker("settings").unwrap().contains("choose"));
    compare("empty", &mut open(MixtureIndexPlan::blank(), Vec::new()));
}

#[test]
fn mixture_samples_default_to_one_epoch() {
    let given = MixtureIndexPlan { sequence_length: Some(9), ..plan_of(&["books"]) };
    let mut test = open(given, vec![folder("books", &[53, 33]), folder("code", &[23])]);
    assert_eq!(plan(&test).samples, 8);
    test.guide.folders.list.select(1);
    test.act_in_guide(&[Action::Toggle]);
    assert_eq!(plan(&test).samples, 10);
    test.guide.add(folder("../elsewhere/news", &[53]), &mut test.form);
    assert_eq!((chosen(&test).len(), plan(&test).samples), (3, 15));
    test.guide.add(folder("code", &[23]), &mut test.form);
    assert_eq!(test.guide.folders.rows.len(), 3, "a folder is in the list once");
    test.type_into("samples", "40");
    test.form.focus_on(FOLDERS);
    test.act_in_guide(&[Action::Toggle]);
    assert_eq!((chosen(&test).len(), plan(&test).samples), (2, 40));
}

#[test]
fn mixture_folder_is_added_by_path() {
    let mut test = example();
    assert_eq!(test.form.fields()[..2], [FOLDERS, ADD]);
    test.form.focus_on(ADD);
    assert!(test.form.wants_text());
    let next = test.guide.handle_action(Action::Next, &mut test.form, &UiEnv::new(RunOptions::default(), "/x".into()));
    assert!(next.is_none(), "without a path, Enter completes the step");
    test.form.mistakes.insert(ADD, "/nowhere is not a folder of .ds files".into());
    compare("not_added", &mut test);
}

#[test]
fn mixture_of_window_counts_has_lengths_instead_of_folder_list() {
    let mut given = MixtureIndexPlan::blank();
    given.members = vec![Member::Windows(8), Member::Windows(2)];
    let test = open(given, vec![folder("books", &[53])]);
    assert!(!test.form.fields().contains(&FOLDERS) && test.form.fields().contains(&Field::Option("lengths")));
    assert_eq!(plan(&test).members.len(), 2);
}
