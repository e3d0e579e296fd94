use super::fake::BrowserTest;
use crate::tui::keymap::Action;
use crate::tui::screen::Screen as _;
use crate::tui::screens::browse::BrowseStart;
use crate::tui::testing;
use gristmill_ops::engine::browse::TokenView;
use std::path::Path;

const TOKENIZER: &str = "tests/golden/nanosets/tokenizers/bpe1k.json";

fn compare(name: &str, test: &mut BrowserTest) {
    test.compare(&format!("tokens_{name}"), &testing::WINDOWS[..3]);
}

fn open_test(path: &str, tokenizer: Option<&str>, sequence_length: Option<u64>) -> BrowserTest {
    let view = TokenView { tokenizer: tokenizer.map(str::to_owned), sequence_length };
    let path = Path::new("tests/golden").join(path);
    let catalog = gristmill_ops::browse::open_tokens(&path, &view).unwrap();
    let mut test = BrowserTest::of(catalog, BrowseStart::First);
    test.screen.view_of_tokens = view;
    test.settle();
    test
}

#[test]
fn documents_of_a_token_folder_are_text_with_masks() {
    let mut test = open_test("nanosets/05_modern_loss/expected", Some(TOKENIZER), None);
    test.act(Action::Down);
    test.settle();
    compare("document", &mut test);
    test.act(Action::NextPart);
    test.settle();
    compare("ids", &mut test);
}

#[test]
fn token_windows_show_document_borders_and_leftover_tokens() {
    let mut test = open_test("nanosets/02_modern_noshuffle/expected", Some(TOKENIZER), Some(127));
    test.settle();
    compare("window", &mut test);
    test.act(Action::Last);
    test.settle();
    compare("left_over", &mut test);
    // The title counts whole windows, like the pane: 4, 3 and 1 in three files.
    assert_eq!(test.screen.status_right().unwrap(), "8 windows  172 tokens left over");
    assert_eq!(test.screen.label(Action::LoaderView), "documents");
}

#[test]
fn without_tokenizer_ids_are_shown_with_reason() {
    let mut test = open_test("modalities/pack_bpe/expected/data.pbin", None, None);
    compare("without_tokenizer", &mut test);
    test.act(Action::Tokenizer);
    compare("tokenizer_prompt", &mut test);
    test.act(Action::Close);
    test.act(Action::LoaderView);
    compare("length_prompt", &mut test);
}

#[test]
fn forager_samples_are_shown_as_windows() {
    let mut test = open_test("forager/aux_loss_mask/expected", Some(TOKENIZER), None);
    compare("sample", &mut test);
    assert!(test.screen.disabled_reason(Action::LoaderView).unwrap().contains("windows already"));
    assert!(test.screen.disabled_reason(Action::ContactSheet).is_some());
    let mut test = self::open_test("forager/jsonl_one_file/expected", None, None);
    compare("lines", &mut test);
}
