//! The home screen, driven by keys.

use super::*;
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::PackPlan;
use gristmill_ops::engine::plan::file::pack_to_yaml;
use gristmill_storage::memory_store;

fn stage() -> Stage {
    Stage::new(ColourMode::Sixteen, false)
}

#[test]
fn every_entry_says_what_it_is_and_how_far_it_is() {
    let mut stage = stage();
    let screen = stage.screen(140, 30);
    let line = |name: &str| screen.lines().find(|l| l.contains(name)).unwrap_or_default().to_owned();
    assert!(line("coco/").contains("WebDataset") && line("coco/").contains("not prepared"), "{screen}");
    assert!(line("coco/").contains("20 shards"), "{screen}");
    assert!(line("done/").contains("prepared"), "{screen}");
    assert!(line("half/").contains("interrupted"), "{screen}");
    assert!(line("corpus.jsonl").contains("JSONL"), "{screen}");
    assert!(line("notes/").contains("folder"), "{screen}");
    stage.assert_hides(".hidden");
}

#[test]
fn moving_keys_move() {
    let mut stage = stage();
    stage.keys("j").assert_shows("▸ corpus.jsonl");
    stage.keys("down").assert_shows("▸ done/");
    stage.keys("k up").assert_shows("▸ coco/");
    stage.keys("G").assert_shows("▸ odd");
    stage.type_text("gg").assert_shows("▸ coco/");
    stage.keys("ctrl-d").assert_hides("▸ coco/");
    stage.keys("ctrl-u").assert_shows("▸ coco/");
    stage.keys("end home").assert_shows("▸ coco/");
}

#[test]
fn the_right_pane_lists_only_what_can_be_done() {
    let mut stage = stage();
    stage.assert_shows("p  prepare");
    stage.assert_shows("parts: jpg txt json");
    stage.assert_hides("c  resume");
    stage.assert_hides("m  media metadata");
    stage.keys("j").assert_shows("p  write the index");
    stage.assert_shows("e  edit");
    stage.keys("j j j").assert_shows("▸ notes/");
    stage.assert_hides("p  prepare");
    stage.assert_hides("f  facts");
}

#[test]
fn an_interrupted_preparation_is_offered_for_resume() {
    let mut stage = stage();
    stage.keys("j j j").assert_shows("c  resume");
    stage.assert_shows("! A preparation was begun");
    stage.keys("c").assert_shows("▸ prepare ▸ half");
}

#[test]
fn an_output_of_which_nothing_is_there_yet_is_listed_and_its_run_is_gone_on_with() {
    let mut stage = stage();
    let data = stage.folder.path().join("data");
    let inputs = vec![data.join("corpus.jsonl").to_string_lossy().into_owned()];
    let mut plan = PackPlan::new(inputs, "tokens.json", data.join("tok").to_string_lossy());
    plan.nanosets = Some(NanosetsTarget::default());
    put(&data.join("tok.gristmill/journal"), b"");
    put(&data.join("tok.gristmill/work/plan.yaml"), pack_to_yaml(&plan).unwrap().as_bytes());
    put(&data.join("lost.gristmill/work/plan.yaml"), b"");
    stage.keys("f5 / t o k enter").assert_shows("▸ tok");
    stage.assert_shows("! A pack was begun here and not");
    stage.assert_hides("lost");
    stage.keys("e").assert_shows("nothing of it is there yet");
    stage.keys("c").assert_shows("▸ pack ▸ corpus.jsonl");
    stage.assert_shows("--format nanosets");
    stage.keys("esc esc esc esc esc").assert_shows("▸ tok");
    put(&data.join("tok.gristmill/work/plan.yaml"), b"what is this");
    stage.keys("f5").keys("enter").assert_shows("the answers of the run that was interrupted cannot be read");
}

#[test]
fn enter_on_packed_lines_browses_them() {
    let mut stage = stage();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, b"{\"word\": \"seldom\"}\n").unwrap();
    put(&stage.folder.path().join("data/packed.jsonl.gz"), &encoder.finish().unwrap());
    stage.keys("f5 / p a c k e d enter").assert_shows("packed JSONL");
    stage.keys("enter").assert_shows("▸ browse ▸ packed.jsonl.gz");
    stage.assert_shows("seldom");
}

#[test]
fn enter_opens_a_data_set_and_enters_a_folder() {
    let mut stage = stage();
    stage.keys("enter").assert_shows("▸ prepare ▸ coco");
    stage.keys("esc").assert_hides("▸ prepare");
    stage.keys("j j j j enter").assert_shows("readme.txt");
    stage.keys("enter").assert_shows("nothing to prepare or browse in it; e opens it in your editor");
    stage.keys("h").assert_shows("▸ notes/");
}

#[test]
fn a_data_set_can_be_entered_like_a_folder() {
    let mut stage = stage();
    stage.keys("l").assert_shows("shard_0007.tar");
    stage.assert_shows("▸ . (here)");
    stage.keys("j enter").assert_shows("one shard");
    stage.keys("g g enter").assert_shows("▸ prepare ▸ coco");
}

#[test]
fn the_filter_takes_letters_and_gives_them_back() {
    let mut stage = stage();
    stage.keys("/").type_text("jq").assert_shows("no name like that");
    stage.keys("ctrl-u").type_text("crps").assert_shows("▸ corpus.jsonl");
    stage.assert_hides("coco/");
    stage.keys("enter j k").assert_shows("▸ corpus.jsonl");
    stage.keys("esc").assert_shows("coco/");
    stage.assert_shows("▸ corpus.jsonl");
}

#[test]
fn a_pasted_text_goes_into_the_filter() {
    let mut stage = stage();
    stage.keys("/");
    stage.app.handle(Event::Paste("half\n".into()));
    stage.settle();
    stage.assert_shows("▸ half/");
    stage.assert_hides("coco/");
}

#[test]
fn hidden_entries_come_and_go() {
    let mut stage = stage();
    stage.keys(".").assert_shows(".hidden");
    stage.keys(".").assert_hides(".hidden");
}

#[test]
fn a_folder_is_read_again_on_request() {
    let mut stage = stage();
    put(&stage.folder.path().join("data/new.jsonl"), b"{}");
    stage.assert_hides("new.jsonl");
    stage.keys("f5").assert_shows("new.jsonl");
    stage.assert_shows("▸ coco/");
}

#[test]
fn an_opened_data_set_is_found_again_under_recent() {
    let mut stage = stage();
    stage.keys("r").assert_shows("nothing was opened yet");
    stage.keys("r").keys("enter").keys("esc");
    let state = stage.folder.path().join("state");
    let end = Instant::now() + Duration::from_secs(20);
    while crate::tui::recent::load(&state).is_empty() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
    stage.keys("r").assert_shows("Opened last");
    stage.assert_shows("~/data/coco");
    stage.keys("esc").assert_shows("corpus.jsonl");
}

#[test]
fn a_folder_that_cannot_be_read_says_why_and_can_be_left() {
    let mut stage = stage();
    stage.keys("j j j j");
    std::fs::remove_dir_all(stage.folder.path().join("data/notes")).unwrap();
    stage.keys("enter").assert_shows("no such file");
    stage.keys("h").assert_shows("coco/");
}

#[test]
fn info_shows_what_is_known() {
    let mut stage = stage();
    stage.keys("i").assert_shows("20 shards");
    stage.assert_shows("WebDataset, not prepared");
    stage.keys("esc").assert_shows("corpus.jsonl");
}

#[test]
fn the_right_pane_can_be_walked_and_used() {
    let mut stage = stage();
    stage.keys("tab").assert_shows("▸ p  prepare");
    stage.keys("j").assert_shows("▸ b  browse");
    stage.keys("j").assert_shows("▸ S  shards");
    stage.keys("j").assert_shows("▸ f  facts");
    stage.keys("j").assert_shows("▸ i  info");
    stage.keys("enter").assert_shows("▸ info ▸ coco");
    stage.keys("esc tab").assert_hides("▸ p  prepare");
}

#[test]
fn a_click_selects_and_a_double_click_opens() {
    let mut stage = stage();
    let (column, row) = stage.find("done/");
    stage.click(column, row).assert_shows("▸ done/");
    stage.assert_hides("▸ browse ▸ done");
    stage.double_click(column, row).assert_shows("▸ browse ▸ done");
}

#[test]
fn the_wheel_scrolls_the_pane_under_it_and_leaves_the_focus_alone() {
    let mut stage = stage();
    for number in 0..60 {
        put(&stage.folder.path().join(format!("data/zz{number:02}.txt")), b"x");
    }
    stage.keys("f5 tab");
    let (column, row) = stage.find("coco/");
    for _ in 0..30 {
        stage.mouse(MouseEventKind::ScrollDown, column, row);
    }
    stage.settle();
    stage.assert_shows("zz59.txt");
    stage.assert_hides("coco/ ");
    stage.keys("l").assert_shows("this is not a folder");
}

#[test]
fn a_click_focuses_the_filter_and_the_pane_of_actions() {
    let mut stage = stage();
    let (column, row) = stage.find("(/ to filter)");
    stage.click(column, row).type_text("done").assert_hides("corpus.jsonl");
    stage.keys("esc esc");
    let (column, row) = stage.find("i  info");
    stage.click(column, row).assert_shows("▸ i  info");
    stage.double_click(column, row).assert_shows("▸ info ▸ done");
}

#[test]
fn the_editor_gets_the_whole_path() {
    let mut stage = stage();
    stage.keys("j e");
    let requests = stage.app.take_requests();
    let Some(Request::Run(program)) = requests.first() else { panic!("{requests:?}") };
    assert!(Path::new(program.argv.last().unwrap()).is_absolute());
}

#[test]
fn a_data_set_with_a_running_job_states_it() {
    let mut stage = stage();
    with_jobs(&mut stage);
    let screen = stage.screen(140, 30);
    assert!(screen.contains("preparing"), "{screen}");
    stage.assert_shows("1 job running");
}

#[test]
fn what_is_known_of_a_jsonl_file_is_all_that_the_command_prints() {
    let mut stage = stage();
    let lines = "{\"text\": \"hello\", \"id\": 1}\n{\"text\": \"hi\", \"id\": null}\n";
    put(&stage.folder.path().join("data/aa.jsonl"), lines.as_bytes());
    stage.keys("f5").keys("home").keys("i").assert_shows("▸ info ▸ aa.jsonl");
    stage.assert_shows("none: prepare writes it");
    stage.assert_shows("Keys (of 2 records)");
    stage.assert_shows("string, 4 characters on average, 5 at most");
    stage.assert_shows("number or null");
    stage.assert_shows("First records");
}

#[test]
fn what_is_known_of_a_metadataset_names_the_line_at_which_the_loader_stops() {
    let mut stage = stage();
    let yaml = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n    path: ./gone\n";
    put(&stage.folder.path().join("data/aa.yaml"), yaml.as_bytes());
    stage.keys("f5").keys("home").keys("i").assert_shows("▸ info ▸ aa.yaml");
    stage.assert_shows("cannot be used");
    stage.assert_shows("Problems");
    stage.assert_shows("line 5");
}

#[test]
fn an_address_in_the_filter_lists_a_store() {
    let mut stage = stage();
    memory_store::put(Path::new("mem://home/sets/coco/a.tar"), b"");
    memory_store::put(Path::new("mem://home/sets/words.jsonl"), b"{}\n");
    stage.keys("/").type_text("mem://home").assert_shows("lists this folder of a store");
    stage.keys("enter").assert_shows("sets/");
    stage.keys("right").assert_shows("words.jsonl");
    stage.assert_shows("coco/");
    // Above the bucket are all buckets, and above them is the folder from before.
    stage.keys("left left").assert_shows("home/");
    stage.keys("left").assert_shows("corpus.jsonl");
    stage.keys("/").type_text("mem://").keys("enter").assert_shows("home/");
}
