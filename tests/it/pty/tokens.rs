//! Packing tokens and viewing them, like a user does.

use super::harness::{run_plainly, StoryOptions, TestHome};
use std::path::PathBuf;

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(path)
}

/// Returns three documents, one without text, and a tokenizer in the same folder.
fn corpus() -> TestHome {
    let test_home = TestHome::new();
    let lines = "{\"id\": 1, \"text\": \"The quick brown fox jumps over the lazy dog.\"}\n\
                 {\"id\": 2, \"title\": \"no text\"}\n\
                 {\"id\": 3, \"text\": \"A second document, a little longer than the first one.\"}\n";
    test_home.file("corpus.jsonl", lines.as_bytes());
    let tokenizer = std::fs::read(golden("nanosets/tokenizers/bpe1k.json")).unwrap();
    test_home.file("tokenizer.json", &tokenizer);
    test_home
}

fn copied(test_home: &TestHome, from: &str, to: &str) {
    for entry in walkdir::WalkDir::new(golden(from)).into_iter().flatten().filter(|entry| entry.file_type().is_file()) {
        let name = entry.path().strip_prefix(golden(from)).unwrap().to_str().unwrap().to_owned();
        test_home.file(&format!("{to}/{name}"), &std::fs::read(entry.path()).unwrap());
    }
}

#[test]
fn pack_form_packs_text_and_opens_the_browser() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).size(100, 30).run();
    story.wait_for("▸ corpus.jsonl").wait_for("t  pack tokens").keys("t");
    story.wait_for("Source").wait_for("1 file").wait_for("plain text").keys("enter");
    story.wait_for("(•) text").wait_for("2 of 3 documents have text there").wait_for("quick brown fox").keys("enter");
    story.wait_for("tokenizer.json").keys("tab enter").wait_for("<|endoftext|>").wait_for("A real document");
    story.wait_for("Its ids").keys("enter").wait_for("[ ] modalities").keys("j j space").wait_for("[x] forager");
    story.keys("k k space").wait_for("[x] modalities").wait_for("corpus-tokens").keys("enter");
    story.wait_for("everything is answered").wait_for("--format modalities").wait_for("documents");
    assert!(!test_home.data().join("corpus-tokens").exists(), "nothing is written before");
    story
        .keys("enter")
        .wait_for("corpus-tokens is packed, with 1 problem")
        .wait_for("modalities:")
        .wait_for("forager:");
    let packed = test_home.data().join("corpus-tokens/modalities");
    assert!(packed.exists(), "{packed:?}");
    story.keys("esc").wait_for("▸ corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn pack_without_a_path_requests_it_and_opens_the_form() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).arguments(&["pack"]).size(80, 24).run();
    story
        .wait_for("JSONL, CSV and TSV files")
        .type_text("nowhere.jsonl")
        .wait_for("failed on nowhere.jsonl")
        .keys("enter");
    story.keys("ctrl-x").type_text("corpus.jsonl").wait_for("▸ pack ▸ corpus.jsonl").wait_for("plain text");
    story.keys("enter").wait_for("2 of 3 documents have text there").keys("q").wait_gone("documents have text");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

/// The emulator draws a vowel sign in a separate cell, as many terminals do.
#[test]
fn combining_vowel_signs_leave_no_characters_on_later_screens() {
    let test_home = TestHome::new();
    let text =
        "ਪੰਜਾਬੀ ਵਿੱਚ ਇੱਕ ਦਸਤਾਵੇਜ਼ ਹੈ ਜਿਸ ਵਿੱਚ ਕਾਫ਼ੀ ਸ਼ਬਦ ਹਨ। तमिल हिन्दी में लिखा हुआ एक दस्तावेज़। தமிழ் மொழியில் ❤\u{fe0f} e\u{301} 🇩🇪";
    test_home.file("corpus.jsonl", format!("{{\"text\": \"{text}\"}}\n").repeat(9).as_bytes());
    let mut story = StoryOptions::new(&test_home).arguments(&["pack", "corpus.jsonl"]).size(80, 24).run();
    story.wait_for("1 file").keys("enter").wait_for("(•) text").wait_for("9 of 9 documents have text there");
    story.wait_until("a border where it belongs", |screen| {
        (2..22).all(|row| screen.cell(row, 79).is_some_and(|cell| cell.contents() == "│"))
    });
    story.keys("enter").wait_for("eos token").wait_for("Type a path or a name");
    let is_trace = |c: char| matches!(c, '\u{900}'..='\u{c00}' | '\u{301}' | '\u{fe0f}' | '❤' | '\u{1f000}'..);
    story.wait_until("no trace of the text", |screen| !screen.contents().contains(is_trace));
    story.keys("esc").wait_for("(•) text").keys("q").wait_gone("(•) text");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn closed_pack_form_restores_its_answers() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).size(80, 24).run();
    story.wait_for("▸ corpus.jsonl").wait_for("pack tokens").keys("t").wait_for("1 file").keys("enter");
    story.wait_for("(•) text").keys("j").wait_for("(•) title").keys("enter").wait_for("eos token");
    story.keys("esc").wait_for("(•) title").keys("esc").wait_for("1 file").keys("esc").wait_for("▸ corpus.jsonl");
    story.keys("t").wait_for("restored from a draft").keys("enter").wait_for("(•) title");
    story.keys("esc esc").wait_for("▸ corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn invalid_jq_program_is_reported_while_typing() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).size(80, 24).run();
    story.wait_for("▸ corpus.jsonl").wait_for("pack tokens").keys("t").wait_for("1 file").keys("enter");
    story.wait_for("(•) text").keys("j j j").wait_for("(•) a jq program").keys("tab").type_text(".text | [");
    // Shorter programs are wrong at other columns: the message about the last one is what Enter must find.
    story.wait_for("column 10").keys("enter").wait_for("column 10");
    story.keys("ctrl-x").type_text(".text // .title").wait_for("3 of 3 documents have text there");
}

#[test]
fn nanosets_files_are_browsed_as_text_ids_and_windows() {
    let test_home = TestHome::new();
    copied(&test_home, "nanosets/05_modern_loss/expected", "packed");
    let tokenizer = std::fs::read(golden("nanosets/tokenizers/bpe1k.json")).unwrap();
    test_home.file("tok.json", &tokenizer);
    let mut story = StoryOptions::new(&test_home).size(100, 30).run();
    story.wait_for("packed/").wait_for("Nanosets, packed").keys("b").wait_for("Documents").wait_for("tokens");
    story.wait_for("ids have no text").keys("T").wait_for("tokenizer").type_text("tok.json").keys("enter");
    story.wait_for("data/tok.json").keys(".").wait_for("ids 46 tokens").keys(",").wait_for("text 46 tokens");
    story
        .keys("v")
        .wait_for("sequence length")
        .keys("backspace backspace backspace backspace")
        .type_text("63")
        .keys("enter");
    story.wait_for("Windows").wait_for("-- document").keys("G").wait_for("left over").wait_for("fills no window");
    story
        .keys("v")
        .wait_for("Documents")
        .keys("/")
        .type_text("nowhere to be seen")
        .keys("enter")
        .wait_for("no row holds");
    story.keys("esc").wait_gone("found").keys("esc").wait_for("packed/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn pbin_and_forager_samples_are_browsed() {
    let test_home = TestHome::new();
    copied(&test_home, "modalities/pack_bpe/expected", "m");
    copied(&test_home, "modalities/tokenizers/bpe1k", "m/tok");
    copied(&test_home, "forager/tokens_16/expected", "f");
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "m/data.pbin"]).size(80, 24).run();
    story.wait_for("Documents").wait_for("#0").keys("T").type_text("m/tok").keys("enter").wait_for("endoftext");
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "f"]).size(80, 24).run();
    story.wait_for("37 samples").wait_for("16 tokens").wait_for("the size of an id is unknown").keys("q");
    assert_eq!(story.exit_code(), 0);
    assert_eq!(run_plainly(&test_home, &["browse", "m/data.pbin"]), Some(0));
}

#[test]
fn token_folders_are_mixed_by_weights_and_the_index_is_written() {
    let test_home = TestHome::new();
    copied(&test_home, "nanosets/02_modern_noshuffle/expected", "a");
    copied(&test_home, "nanosets/05_modern_loss/expected", "b");
    let mut story = StoryOptions::new(&test_home).size(100, 30).run();
    story.wait_for("a/").wait_for("Nanosets, packed").wait_for("x  mix").keys("x");
    story.wait_for("windows").wait_for("[x] a").wait_for("[ ] b").keys("j space").wait_for("[x] b");
    story.keys("tab tab").wait_for("2048").keys("ctrl-x").type_text("31").keys("backtab backtab").keys("+");
    story
        .wait_for("epochs")
        .keys("tab tab tab ctrl-x")
        .type_text("100")
        .wait_for("100 samples")
        .keys("enter")
        .wait_for("everything is answered")
        .keys("enter")
        .wait_for("mixture-index is ready to train on");
    assert!(test_home.data().join("mixture-index/dataset_index.npy").is_file());
    story.keys("esc").wait_for("Nanosets, packed").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn an_incomplete_mixture_opens_the_form() {
    let test_home = TestHome::new();
    copied(&test_home, "nanosets/02_modern_noshuffle/expected", "a");
    copied(&test_home, "nanosets/05_modern_loss/expected", "b");
    let arguments = ["mix", "index", "b", "a", "--weights", "3,1", "--sequence-length", "31", "--output", "made"];
    let mut story = StoryOptions::new(&test_home).arguments(&arguments).size(100, 30).run();
    story.wait_for("windows").wait_for("[x] b").wait_for("[x] a").wait_for("made").wait_for("epochs");
    story.keys("enter").wait_for("everything is answered").keys("enter").wait_for("made is ready to train on");
    story.keys("esc").wait_for("Nanosets, packed").keys("q");
    assert_eq!(story.exit_code(), 0);
    assert!(test_home.data().join("made/dataset_index.npy").is_file());
}
