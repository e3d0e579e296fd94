use super::columns::{image_columns, Mark, RowColumn};
use super::guide::{ShardGuide, COLUMNS, SIZE};
use super::inputs::{plan_of, ADD, INPUTS};
use super::parts::PARTS;
use super::types::TYPES;
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, FormScreen, Guide as _};
use crate::tui::keymap::Action;
use crate::tui::screen::{Screen as _, UiEnv};
use crate::tui::widgets::TextField;
use gristmill_core::options::Answer;
use gristmill_core::shard_plan::InputKind;
use gristmill_core::{Failure, Outcome, RunOptions, SampleMapping, ShardPlan, Subject};
use gristmill_data::preview::Drawable;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::{erase, WriteShards};
use gristmill_ops::shard::examples::{Examples, FuturePart, FutureSample, InputExample, NameExample, PartContent};
use gristmill_ops::shard::{ShardReport, WrittenShard};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::path::PathBuf;

fn sample(key: &str, parts: &[(&str, u64, &str)]) -> FutureSample {
    let part = |(name, bytes, from): &(&str, u64, &str)| FuturePart {
        name: (*name).to_owned(),
        bytes: *bytes,
        from: (*from).to_owned(),
        content: PartContent::Unknown,
    };
    FutureSample {
        key: key.to_owned(),
        parts: parts.iter().map(part).collect(),
        part_count: parts.len() as u64,
        bytes: parts.iter().map(|part| part.1).sum(),
    }
}

fn name(name: &str, first: (&str, &str), last: (&str, &str)) -> NameExample {
    let pair = |(key, part): (&str, &str)| Some((key.to_owned(), part.to_owned()));
    NameExample { name: name.to_owned(), first_dot: pair(first), last_dot: pair(last) }
}

/// Returns a report of a preview with this number of shards.
fn report(shards: u64) -> ShardReport {
    let file = |number: u64| WrittenShard {
        path: format!("/data/set/shard_{number:06}.tar").into(),
        samples: 1_000,
        bytes: if number + 1 == shards { 20_000_000 } else { 90_000_000 + number % 7 * 2_000_000 },
        sha256: None,
    };
    let files: Vec<WrittenShard> = (0..shards).map(file).collect();
    let jpg = |name: &str| (format!("{name}.jpg"), format!("/data/pictures/{name}.jpg"));
    let of = |key: &str, bytes| sample(key, &[("jpg", bytes, &jpg(key).1), ("txt", 52, "")]);
    let mut examples = Examples::default();
    examples.first = Some(of("0001", 48_211));
    examples.random = vec![of("0417", 51_902), of("0090", 47_000)];
    examples.largest = Some(sample(
        "panorama",
        &[
            ("jpg", 8_812_000, "/data/pictures/panorama.jpg"),
            ("seg.png", 90_000, ""),
            ("a", 1, ""),
            ("b", 2, ""),
            ("c", 3, ""),
        ],
    ));
    examples.names = vec![
        name("0001.seg.png", ("0001", "seg.png"), ("0001_seg", "png")),
        name("0001.jpg", ("0001", "jpg"), ("0001", "jpg")),
    ];
    ShardReport {
        output: "/data/set".into(),
        shards,
        samples: shards * 1_000,
        parts: shards * 2_000,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files,
        examples,
        ..ShardReport::default()
    }
}

fn form(preview: Option<Outcome<ShardReport>>) -> FormTest<ShardGuide> {
    let env = UiEnv::new(RunOptions::default(), std::env::temp_dir());
    let plan =
        ShardPlan { inputs: vec!["/data/pictures".into()], output: Some("/data/set".into()), ..ShardPlan::default() };
    let mut test = FormTest::new(erase::<WriteShards>(plan), ShardGuide::start(&env));
    if let Some(preview) = preview {
        let report = preview.map(|report| Box::new(report) as Box<dyn Report>);
        test.guide.preview.set_preview(test.form.plan(), report);
    }
    test
}

#[test]
fn shard_source_step_shows_samples_and_source() {
    form(Some(Ok(report(40)))).compare("shard_source");
}

#[test]
fn random_key_shows_another_sample() {
    let mut test = form(Some(Ok(report(40))));
    test.go_to("order");
    let size = (100, 28, false);
    assert!(test.shown(size).contains("0417") && test.shown(size).contains("r takes another"));
    test.act_in_guide(&[Action::Random]);
    assert!(test.shown(size).contains("0090") && !test.shown(size).contains("0417"));
    test.act_in_guide(&[Action::Random]);
    assert!(test.shown(size).contains("0417"));
}

#[test]
fn pictures_texts_and_columns_of_annotations_are_shown() {
    let mut picture = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(32, 32).write_to(&mut picture, image::ImageFormat::Png).unwrap();
    let made = |name: &str, bytes: Vec<u8>| FuturePart {
        name: name.to_owned(),
        bytes: bytes.len() as u64,
        from: String::new(),
        content: PartContent::Bytes(bytes),
    };
    let of = |key: &str, parts: Vec<FuturePart>| FutureSample { parts, ..sample(key, &[]) };
    // The preview contains only the beginning of a long row.
    let json = br#"{"image": {"id": 7, "file_name": "a.png"}, "annotations": [{"id": 1, "bbox": [1,"#.to_vec();
    let mut found = report(1);
    found.examples = Examples::default();
    found.examples.first = Some(of("a", vec![made("json", json), made("png", picture.into_inner())]));
    found.examples.random = vec![of("b", vec![made("txt", b"a cat sleeps".to_vec())])];
    let first = found.examples.first.clone();
    let mut test = form(Some(Ok(found)));
    test.go_to("samples");
    test.guide.request_data(&mut test.form);
    while !test.guide.previews.apply_results() {
        std::thread::yield_now();
    }
    let shown = test.shown((100, 40, false));
    assert!(shown.contains("a cat sleeps"), "{shown}");
    let previews = test.guide.previews.known.iter().map(|(_, preview)| &preview.body);
    assert_eq!(previews.filter(|body| matches!(body, Drawable::Picture(_))).count(), 1);
    let columns = image_columns(first.as_ref().unwrap());
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["image.id", "image.file_name"]);
}

#[test]
fn columns_with_a_colon_are_not_offered() {
    let mut test = form(None);
    test.go_to("samples");
    let column = |name: &str| RowColumn { name: name.to_owned(), value: "1".to_owned() };
    test.guide.request_data(&mut test.form);
    test.guide.set_columns(vec![column("a:b"), column("number")]);
    test.refresh();
    test.form.focus_on(COLUMNS);
    assert!(test.shown((100, 28, false)).contains("1 column with a colon"));
    for mark in [Mark::Media, Mark::Text, Mark::Split, Mark::None] {
        test.act_in_guide(&[Action::Right]);
        assert_eq!(Mark::of(&plan_of(&test.form), "number"), mark);
    }
}

#[test]
fn samples_step_shows_key_rules_with_names() {
    let mut test = form(Some(Ok(report(40))));
    test.go_to("samples");
    test.compare("shard_samples");
}

#[test]
fn row_columns_are_marked_as_media_text_split_or_key() {
    let mut test = form(None);
    test.go_to("samples");
    let column = |name: &str, value: &str| RowColumn { name: name.to_owned(), value: value.to_owned() };
    let columns = vec![column("image", "images/0001.jpg"), column("caption", "a cat"), column("set", "train")];
    // The columns of the input are requested once.
    test.guide.request_data(&mut test.form);
    test.guide.set_columns(columns);
    test.refresh();
    test.form.focus_on(COLUMNS);
    let act = |test: &mut FormTest<ShardGuide>, actions: &[Action]| {
        actions.iter().for_each(|action| test.act_in_guide(&[*action]));
    };
    act(&mut test, &[Action::Right, Action::Down, Action::Right, Action::Right, Action::Down, Action::Left]);
    let command = test.form.plan().command_line().text();
    assert!(command.contains("--media image --text caption --split-column set"), "{command}");
    test.compare("shard_columns");
    act(&mut test, &[Action::Left, Action::Up, Action::Left, Action::Left]);
    let plan = plan_of(&test.form);
    assert_eq!(["set", "caption"].map(|name| Mark::of(&plan, name)), [Mark::Key, Mark::None]);
    assert_eq!(plan.key.as_deref(), Some("set"));
}

#[test]
fn the_sizes_of_shards_are_drawn() {
    let mut test = form(Some(Ok(report(40))));
    test.go_to("shards");
    test.compare("shard_shards");
}

#[test]
fn too_many_shards_are_a_warning() {
    let mut test = form(Some(Ok(report(12_000))));
    test.go_to("shards");
    assert!(test.shown((100, 28, false)).contains("more than 10,000 shards"));
}

#[test]
fn failed_preview_is_shown_instead_of_samples() {
    let failure = Failure::data("looking for samples", "no sample was found").with_hint("name another folder");
    form(Some(Err(failure))).compare("shard_failure");
}

#[test]
fn failed_preview_blocks_the_step_of_the_option_in_its_hint() {
    let named = |failure: Failure| form(Some(Err(failure))).first_blocker().unwrap().0;
    let failure = |why: &str| Failure::usage("looking for samples", why);
    let several = failure("it has several splits").with_hint("--split NAMES keeps these splits apart; --one-split");
    assert_eq!(named(several.clone()), "choose");
    assert_eq!(named(failure("no sample was found").with_hint("name another folder")), "review");
    assert_eq!(named(failure("no place").with_hint("gristmill repair PATH --limit 3 repairs it")), "review");
    assert_eq!(named(failure("it is a file").on(Subject::path("/data/set"))), "source");
    let mut test = form(Some(Err(several)));
    test.go_to("review");
    let shown = test.shown((100, 28, true));
    assert!(shown.contains("x Choose") && shown.contains("goes to Choose"), "{shown}");
}

#[test]
fn selected_samples_are_counted_next_to_input_samples() {
    let mut found = report(1);
    for _ in 0..1_500 {
        found.examples.parts.add([(b"jpg".as_slice(), 3)]);
    }
    let mut test = form(Some(Ok(found)));
    for step in ["source", "choose"] {
        test.go_to(step);
        let shown = test.shown((100, 28, false));
        assert!(shown.contains("1,000 of 1,500 samples are written"), "{shown}");
    }
}

#[test]
fn inputs_are_added_and_removed_in_a_list() {
    let mut found = report(40);
    found.examples.inputs = vec![InputExample { kind: InputKind::Files, samples: 40_000 }];
    let mut test = form(Some(Ok(found)));
    test.compare("shard_inputs");
    test.form.inputs.insert(ADD, TextField::new("captions"));
    assert_eq!(test.blocker("source").unwrap(), "Enter in its field adds captions");
    test.form.focus_on(ADD);
    test.act_in_guide(&[Action::Next]);
    let inputs = |test: &FormTest<ShardGuide>| plan_of(&test.form).inputs;
    assert_eq!(inputs(&test), [PathBuf::from("/data/pictures"), "captions".into()]);
    assert!(test.form.value(ADD).is_empty() && test.blocker("source").is_none());
    test.form.focus_on(INPUTS);
    test.act_in_guide(&[Action::MoveUp]);
    assert_eq!(inputs(&test), [PathBuf::from("captions"), "/data/pictures".into()]);
    assert_eq!(test.guide.disabled_reason(Action::MoveUp, &test.form).unwrap(), "it is the first input");
    test.act_in_guide(&[Action::MoveDown, Action::DropRow]);
    assert_eq!(inputs(&test), [PathBuf::from("/data/pictures")]);
    test.act_in_guide(&[Action::DropRow]);
    assert!(inputs(&test).is_empty() && !test.form.fields().contains(&INPUTS));
    assert_eq!(test.blocker("source").unwrap(), "an input is needed");
}

#[test]
fn invalid_input_address_is_refused_in_its_field() {
    let mut test = form(None);
    test.form.inputs.insert(ADD, TextField::new("file:///data"));
    test.form.focus_on(ADD);
    test.act_in_guide(&[Action::Next]);
    let (shown, line) = (test.shown((100, 28, false)), "there are no addresses of file://");
    assert!(shown.contains(line) && test.form.value(ADD) == "file:///data", "{shown}");
    assert_eq!(plan_of(&test.form).inputs, [PathBuf::from("/data/pictures")]);
    test.form.inputs.insert(ADD, TextField::new("more"));
    test.form.apply_typed(ADD);
    assert!(!test.shown((100, 28, false)).contains(line), "the text is another one");
    test.type_into("output", "nfs://x/set");
    assert!(test.blocker("source").unwrap().contains("output: there are no addresses of nfs://"));
    test.type_into("output", "~/set");
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap();
    assert_eq!(plan_of(&test.form).output, Some(home.join("set")));
    assert_eq!(test.form.value(Field::Option("output")), "~/set", "the text stays as it was typed");
}

#[test]
fn given_inputs_replace_those_of_a_draft() {
    let folder = tempfile::tempdir().unwrap();
    let open = |inputs: &[&str]| {
        let plan = ShardPlan { inputs: inputs.iter().map(PathBuf::from).collect(), ..ShardPlan::default() };
        FormScreen::new(erase::<WriteShards>(plan), UiEnv::new(RunOptions::default(), folder.path().to_owned()))
    };
    let mut screen = open(&["/data/a", "/data/b"]);
    screen.with_guide_of::<ShardGuide>(|_, form| {
        form.answer("input", &Answer::List(vec!["/data/c".to_owned()]));
        form.answer("limit", &Answer::Text("7".to_owned()));
        form.go_to("choose");
    });
    screen.closing();
    let screen = open(&["/data/a", "/data/b"]);
    assert!(screen.form().draft.is_some());
    assert_eq!(plan_of(screen.form()).inputs, [PathBuf::from("/data/a"), "/data/b".into()]);
    assert_eq!(screen.form().plan().get("limit"), Answer::Text("7".to_owned()), "the other answers are kept");
}

#[test]
fn a_draft_replaces_answers_that_the_data_propose() {
    let folder = tempfile::tempdir().unwrap();
    let env = || UiEnv::new(RunOptions::default(), folder.path().to_owned());
    let proposed = || {
        let mut plan = ShardPlan { inputs: vec!["/data/a".into()], ..ShardPlan::default() };
        plan.preparation.loading = SampleMapping::NoDatasetYaml;
        erase::<WriteShards>(plan)
    };
    let mut screen = FormScreen::proposed(proposed(), env());
    screen.with_guide_of::<ShardGuide>(|_, form| {
        form.answer("limit", &Answer::Text("7".to_owned()));
        form.go_to("choose");
    });
    screen.closing();
    let limit = |screen: &FormScreen| screen.form().plan().get("limit");
    assert_eq!(limit(&FormScreen::proposed(proposed(), env())), Answer::Text("7".to_owned()));
    assert_eq!(limit(&FormScreen::new(proposed(), env())), Answer::Unset, "given answers are no proposals");
}

#[test]
fn samples_stay_visible_while_output_is_typed() {
    let env = UiEnv::new(RunOptions::default(), std::env::temp_dir());
    let plan = ShardPlan { inputs: vec!["/data/pictures".into()], ..ShardPlan::default() };
    let mut test = FormTest::new(erase::<WriteShards>(plan), ShardGuide::start(&env));
    test.guide.preview.set_preview(test.form.plan(), Ok(Box::new(report(40))));
    let size = (100, 28, false);
    assert!(test.shown(size).contains("First sample"));
    test.type_into("output", "o");
    assert!(test.shown(size).contains("First sample"));
    // Other answers may have other samples.
    test.go_to("choose");
    test.type_into("limit", "3");
    assert!(!test.shown(size).contains("First sample"));
}

#[test]
fn selectable_parts_are_shown_with_shares() {
    let mut found = report(40);
    let many = [("jpg", 4, 90_000), ("txt", 3, 52), ("seg.png", 1, 4_000)];
    for number in 0..4 {
        let parts = many.iter().filter(|part| number < part.1);
        found.examples.parts.add(parts.map(|part| (part.0.as_bytes(), part.2)));
    }
    let mut test = form(Some(Ok(found)));
    test.go_to("choose");
    test.guide.request_data(&mut test.form);
    test.compare("shard_choose");
    // The list stays while the samples are listed again.
    test.form.focus_on(PARTS);
    test.act_in_guide(&[Action::Down, Action::Toggle]);
    let choice = |test: &FormTest<ShardGuide>| {
        let choice = plan_of(&test.form).choice;
        (choice.keep_parts.join(","), choice.drop_parts.join(","))
    };
    assert_eq!(choice(&test), (String::new(), "txt".to_owned()));
    assert!(test.shown((100, 28, true)).contains("[ ] txt"), "{}", test.shown((100, 28, true)));
    test.act_in_guide(&[Action::Toggle]);
    assert_eq!(choice(&test), Default::default());
    test.form.answer("keep-parts", &Answer::List(vec!["jpg".to_owned()]));
    test.act_in_guide(&[Action::Toggle]);
    assert_eq!(choice(&test).0, "jpg,txt");
    test.act_in_guide(&[Action::Up, Action::Toggle, Action::Down, Action::Toggle]);
    assert_eq!(choice(&test), ("txt".to_owned(), "txt".to_owned()), "none is another answer than all");
}

#[test]
fn sliders_change_the_size_of_a_shard() {
    let mut test = form(Some(Ok(report(40))));
    test.go_to("shards");
    test.guide.request_data(&mut test.form);
    test.refresh();
    test.form.focus_on(SIZE);
    test.act_in_guide(&[Action::Left, Action::Down, Action::Left]);
    let division = plan_of(&test.form).division;
    assert_eq!((division.max_count, division.max_size), (5_000, 2 << 30));
    assert_eq!(test.form.value(Field::Option("max-count")), "5000");
    // The estimate changes before the samples are divided again.
    assert!(test.shown((100, 28, false)).contains("about 8 shards"), "{}", test.shown((100, 28, false)));
    test.act_in_guide(&[Action::Up, Action::Right, Action::Right]);
    assert_eq!(plan_of(&test.form).division.max_count, 20_000);
    test.form.focus_on(SIZE);
    assert!(test.shown((100, 28, false)).contains("Limit the samples or the bytes of a shard"));
    let digit = KeyEvent::new(KeyCode::Char('7'), KeyModifiers::NONE);
    test.guide.key(&mut test.form, &digit);
    assert!(test.form.is_focused(Field::Option("max-count")));
    assert_eq!(plan_of(&test.form).division.max_count, 7);
    test.form.answer("shards", &Answer::Text("3".to_owned()));
    test.refresh();
    assert!(!test.form.fields().contains(&SIZE), "the number of shards is given");
}

#[test]
fn order_step_shows_cost_of_shuffle_and_media_step_shows_parts() {
    let mut found = report(40);
    found.seconds = Some(90.0);
    for _ in 0..4 {
        found.examples.parts.add([(b"jpg".as_slice(), 1 << 20), (b"txt", 100)]);
    }
    let mut test = form(Some(Ok(found)));
    test.go_to("order");
    test.compare("shard_order");
    test.go_to("media");
    test.compare("shard_media");
}

#[test]
fn sample_type_of_the_parts_is_proposed_with_its_fields() {
    let mut found = report(40);
    found.examples.parts.add([(b"jpg".as_slice(), 3), (b"txt", 2)]);
    found.examples.inputs = vec![InputExample { kind: InputKind::Files, samples: 40_000 }];
    let mut test = form(Some(Ok(found)));
    test.go_to("prepare");
    test.guide.request_data(&mut test.form);
    let answers = |test: &FormTest<ShardGuide>| {
        let plan = test.form.plan();
        (plan.get("sample-type"), plan.get("field-map"))
    };
    let fields = || Answer::List(vec!["image=jpg".to_owned(), "caption=txt".to_owned()]);
    assert_eq!(answers(&test), (Answer::Text("CaptioningSample".to_owned()), fields()));
    test.form.set_fields(test.guide.fields(&test.form));
    test.compare("shard_types");
    // The user chooses the last one, which has no fields, and it stays chosen.
    test.form.focus_on(TYPES);
    test.act_in_guide(&[Action::Last, Action::Toggle]);
    test.guide.request_data(&mut test.form);
    assert_eq!(answers(&test), (Answer::Unset, Answer::Unset));
    // Settings of rows are shown for rows only.
    test.go_to("samples");
    let names = |test: &FormTest<ShardGuide>| test.guide.fields(&test.form);
    assert!(names(&test).contains(&Field::Option("key-rule")) && !names(&test).contains(&Field::Option("media")));
    test.form.answer("input", &Answer::List(vec!["/data/other".to_owned()]));
    assert!(names(&test).contains(&Field::Option("media")), "the kind of the new input is unknown");
}
