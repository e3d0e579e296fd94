//! The home screen, driven by keys.

use super::*;
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::PackPlan;
use gristmill_ops::engine::plan::file::pack_to_yaml;
use gristmill_storage::memory_store;

fn open_test() -> AppTest {
    AppTest::new(ColourMode::Sixteen, false)
}

#[test]
fn home_entries_show_kind_and_state() {
    let mut test = open_test();
    let screen = test.screen(140, 30);
    let line = |name: &str| screen.lines().find(|l| l.contains(name)).unwrap_or_default().to_owned();
    assert!(line("coco/").contains("WebDataset") && line("coco/").contains("not prepared"), "{screen}");
    assert!(line("coco/").contains("20 shards"), "{screen}");
    assert!(line("done/").contains("prepared"), "{screen}");
    assert!(line("half/").contains("interrupted"), "{screen}");
    assert!(line("corpus.jsonl").contains("JSONL"), "{screen}");
    assert!(line("notes/").contains("folder"), "{screen}");
    test.assert_hides(".hidden");
}

#[test]
fn movement_keys_move_home_selection() {
    let mut test = open_test();
    test.keys("j").assert_shows("▸ corpus.jsonl");
    test.keys("down").assert_shows("▸ done/");
    test.keys("k up").assert_shows("▸ coco/");
    test.keys("G").assert_shows("▸ odd");
    test.type_text("gg").assert_shows("▸ coco/");
    test.keys("ctrl-d").assert_hides("▸ coco/");
    test.keys("ctrl-u").assert_shows("▸ coco/");
    test.keys("end home").assert_shows("▸ coco/");
}

#[test]
fn right_pane_lists_only_available_actions() {
    let mut test = open_test();
    test.assert_shows("p  prepare");
    test.assert_shows("parts: jpg txt json");
    test.assert_hides("c  resume");
    test.assert_hides("m  media metadata");
    test.keys("j").assert_shows("p  write the index");
    test.assert_shows("e  edit");
    test.keys("j j j").assert_shows("▸ notes/");
    test.assert_hides("p  prepare");
    test.assert_hides("f  facts");
}

#[test]
fn an_interrupted_preparation_is_offered_for_resume() {
    let mut test = open_test();
    test.keys("j j j").assert_shows("c  resume");
    test.assert_shows("! A run of prepare was");
    test.keys("c").assert_shows("▸ prepare ▸ half");
}

#[test]
fn an_output_that_does_not_exist_yet_is_listed_and_its_run_is_resumed() {
    let mut test = open_test();
    let data = test.folder.path().join("data");
    let inputs = vec![data.join("corpus.jsonl").to_string_lossy().into_owned()];
    let mut plan = PackPlan::new(inputs, "tokens.json", data.join("tok").to_string_lossy());
    plan.nanosets = Some(NanosetsTarget::default());
    put(&data.join("tok.gristmill/journal"), b"");
    put(&data.join("tok.gristmill/work/plan.yaml"), pack_to_yaml(&plan).unwrap().as_bytes());
    put(&data.join("lost.gristmill/work/plan.yaml"), b"");
    test.keys("f5 / t o k enter").assert_shows("▸ tok");
    test.assert_shows("! A run of pack was");
    test.assert_hides("lost");
    test.keys("e").assert_shows("the output does not exist yet");
    test.keys("c").assert_shows("▸ pack ▸ corpus.jsonl");
    test.assert_shows("--format nanosets");
    test.keys("esc esc esc esc esc").assert_shows("▸ tok");
    put(&data.join("tok.gristmill/work/plan.yaml"), b"what is this");
    test.keys("f5").keys("enter").assert_shows("the answers of the run that was interrupted cannot be read");
}

#[test]
fn enter_on_packed_lines_browses_them() {
    let mut test = open_test();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, b"{\"word\": \"seldom\"}\n").unwrap();
    put(&test.folder.path().join("data/packed.jsonl.gz"), &encoder.finish().unwrap());
    test.keys("f5 / p a c k e d enter").assert_shows("packed JSONL");
    test.keys("enter").assert_shows("▸ browse ▸ packed.jsonl.gz");
    test.assert_shows("seldom");
}

#[test]
fn enter_opens_a_data_set_and_enters_a_folder() {
    let mut test = open_test();
    test.keys("enter").assert_shows("▸ prepare ▸ coco");
    test.keys("esc").assert_hides("▸ prepare");
    test.keys("j j j j enter").assert_shows("readme.txt");
    test.keys("enter").assert_shows("nothing to prepare or browse in it; e opens it in your editor");
    test.keys("h").assert_shows("▸ notes/");
}

#[test]
fn data_set_can_be_opened_like_a_folder() {
    let mut test = open_test();
    test.keys("l").assert_shows("shard_0007.tar");
    test.assert_shows("▸ . (here)");
    test.keys("j enter").assert_shows("one shard");
    test.keys("g g enter").assert_shows("▸ prepare ▸ coco");
}

#[test]
fn filter_accepts_and_deletes_letters() {
    let mut test = open_test();
    test.keys("/").type_text("jq").assert_shows("no name like that");
    test.keys("ctrl-u").type_text("crps").assert_shows("▸ corpus.jsonl");
    test.assert_hides("coco/");
    test.keys("enter j k").assert_shows("▸ corpus.jsonl");
    test.keys("esc").assert_shows("coco/");
    test.assert_shows("▸ corpus.jsonl");
}

#[test]
fn a_pasted_text_goes_into_the_filter() {
    let mut test = open_test();
    test.keys("/");
    test.app.handle(Event::Paste("half\n".into()));
    test.settle();
    test.assert_shows("▸ half/");
    test.assert_hides("coco/");
}

#[test]
fn toggles_hidden_entries() {
    let mut test = open_test();
    test.keys(".").assert_shows(".hidden");
    test.keys(".").assert_hides(".hidden");
}

#[test]
fn f5_rereads_the_home_folder() {
    let mut test = open_test();
    put(&test.folder.path().join("data/new.jsonl"), b"{}");
    test.assert_hides("new.jsonl");
    test.keys("f5").assert_shows("new.jsonl");
    test.assert_shows("▸ coco/");
}

#[test]
fn opened_data_set_is_listed_under_recent() {
    let mut test = open_test();
    test.keys("r").assert_shows("nothing was opened yet");
    test.keys("r").keys("enter").keys("esc");
    let state = test.folder.path().join("state");
    let end = Instant::now() + Duration::from_secs(20);
    while crate::tui::recent::load(&state).is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    test.keys("r").assert_shows("Opened last");
    test.assert_shows("~/data/coco");
    test.keys("esc").assert_shows("corpus.jsonl");
}

#[test]
fn unreadable_folder_shows_reason_and_can_be_left() {
    let mut test = open_test();
    test.keys("j j j j");
    std::fs::remove_dir_all(test.folder.path().join("data/notes")).unwrap();
    test.keys("enter").assert_shows("no such file");
    test.keys("h").assert_shows("coco/");
}

#[test]
fn info_of_raw_data_set_shows_kind_and_shards() {
    let mut test = open_test();
    test.keys("i").assert_shows("20 shards");
    test.assert_shows("WebDataset, not prepared");
    test.keys("esc").assert_shows("corpus.jsonl");
}

#[test]
fn actions_of_right_pane_are_selected_by_keys() {
    let mut test = open_test();
    test.keys("tab").assert_shows("▸ p  prepare");
    test.keys("j").assert_shows("▸ b  browse");
    test.keys("j").assert_shows("▸ S  shards");
    test.keys("j").assert_shows("▸ f  facts");
    test.keys("j").assert_shows("▸ i  info");
    test.keys("enter").assert_shows("▸ info ▸ coco");
    test.keys("esc tab").assert_hides("▸ p  prepare");
}

#[test]
fn a_click_selects_and_a_double_click_opens() {
    let mut test = open_test();
    let (column, row) = test.find("done/");
    test.click(column, row).assert_shows("▸ done/");
    test.assert_hides("▸ browse ▸ done");
    test.double_click(column, row).assert_shows("▸ browse ▸ done");
}

#[test]
fn the_wheel_scrolls_the_pane_under_it_and_leaves_the_focus_alone() {
    let mut test = open_test();
    for number in 0..60 {
        put(&test.folder.path().join(format!("data/zz{number:02}.txt")), b"x");
    }
    test.keys("f5 tab");
    let (column, row) = test.find("coco/");
    for _ in 0..30 {
        test.mouse(MouseEventKind::ScrollDown, column, row);
    }
    test.settle();
    test.assert_shows("zz59.txt");
    test.assert_hides("coco/ ");
    test.keys("l").assert_shows("this is not a folder");
}

#[test]
fn a_click_focuses_the_filter_and_the_pane_of_actions() {
    let mut test = open_test();
    let (column, row) = test.find("(/ to filter;");
    test.click(column, row).type_text("done").assert_hides("corpus.jsonl");
    test.keys("esc esc");
    let (column, row) = test.find("i  info");
    test.click(column, row).assert_shows("▸ i  info");
    test.double_click(column, row).assert_shows("▸ info ▸ done");
}

#[test]
fn editor_receives_absolute_path() {
    let mut test = open_test();
    test.keys("j e");
    let requests = test.app.take_requests();
    let Some(Request::Run(program)) = requests.first() else { panic!("{requests:?}") };
    assert!(Path::new(program.argv.last().unwrap()).is_absolute());
}

#[test]
fn data_set_with_running_job_is_shown_as_preparing() {
    let mut test = open_test();
    with_jobs(&mut test);
    let screen = test.screen(140, 30);
    assert!(screen.contains("preparing"), "{screen}");
    test.assert_shows("1 job running");
}

#[test]
fn info_of_jsonl_file_shows_index_keys_and_first_records() {
    let mut test = open_test();
    let lines = "{\"text\": \"hello\", \"id\": 1}\n{\"text\": \"hi\", \"id\": null}\n";
    put(&test.folder.path().join("data/aa.jsonl"), lines.as_bytes());
    test.keys("f5").keys("home").keys("i").assert_shows("▸ info ▸ aa.jsonl");
    test.assert_shows("none: prepare writes it");
    test.assert_shows("Keys (of 2 records)");
    test.assert_shows("string, 4 characters on average, 5 at most");
    test.assert_shows("number or null");
    test.assert_shows("First records");
}

#[test]
fn info_of_unusable_metadataset_shows_problem_line() {
    let mut test = open_test();
    let yaml = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    path: ./gone\n";
    put(&test.folder.path().join("data/aa.yaml"), yaml.as_bytes());
    test.keys("f5").keys("home").keys("i").assert_shows("▸ info ▸ aa.yaml");
    test.assert_shows("cannot be used");
    test.assert_shows("Problems");
    test.assert_shows("line 5");
}

#[test]
fn store_address_in_filter_lists_store_folders() {
    let mut test = open_test();
    memory_store::put(Path::new("mem://home/sets/coco/a.tar"), b"");
    memory_store::put(Path::new("mem://home/sets/words.jsonl"), b"{}\n");
    test.keys("/").type_text("mem://home").assert_shows("lists this folder of a store");
    test.keys("enter").assert_shows("sets/");
    test.keys("right").assert_shows("words.jsonl");
    test.assert_shows("coco/");
    // The parent of a bucket is the list of buckets, and its parent is the previous folder.
    test.keys("left left").assert_shows("home/");
    test.keys("left").assert_shows("corpus.jsonl");
    test.keys("/").type_text("mem://").keys("enter").assert_shows("home/");
}

#[test]
fn selected_action_is_described_in_full_where_not_all_descriptions_fit() {
    let mut test = open_test();
    let mut right = |keys: &str| {
        test.keys(keys);
        let lines: Vec<String> = test.screen(80, 24).lines().map(|line| line.chars().skip(48).collect()).collect();
        lines.join("\n")
    };
    let of_prepare = right("tab");
    assert!(of_prepare.contains("Guides through") && !of_prepare.contains("Shows shards"), "{of_prepare}");
    let of_browse = right("j");
    assert!(of_browse.contains("Shows shards") && of_browse.contains("nothing."), "{of_browse}");
    assert!(!of_browse.contains("Guides through") && !of_browse.contains('…'), "{of_browse}");
}

#[test]
fn empty_folder_names_the_key_that_reads_it_again() {
    let mut test = open_test();
    std::fs::create_dir(test.folder.path().join("data/zz")).unwrap();
    test.keys("f5").assert_shows("zz/");
    test.keys("G l").assert_shows("nothing here; F5 reads the folder again");
}
