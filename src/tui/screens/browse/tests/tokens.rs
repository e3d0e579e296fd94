use super::fake::Stage;
use crate::tui::keymap::Action;
use crate::tui::screen::Screen as _;
use crate::tui::screens::browse::BrowseStart;
use crate::tui::testing;
use gristmill_ops::engine::browse::TokenView;
use std::path::Path;

const TOKENIZER: &str = "tests/golden/nanosets/tokenizers/bpe1k.json";

fn compare(name: &str, stage: &mut Stage) {
    stage.compare(&format!("tokens_{name}"), &testing::WINDOWS[..3]);
}

fn stage(path: &str, tokenizer: Option<&str>, sequence_length: Option<u64>) -> Stage {
    let view = TokenView { tokenizer: tokenizer.map(str::to_owned), sequence_length };
    let path = Path::new("tests/golden").join(path);
    let catalog = gristmill_ops::browse::open_tokens(&path, &view).unwrap();
    let mut stage = Stage::of(catalog, BrowseStart::First);
    stage.screen.view_of_tokens = view;
    stage.settle();
    stage
}

#[test]
fn documents_of_a_token_folder_are_text_with_masks() {
    let mut stage = stage("nanosets/05_modern_loss/expected", Some(TOKENIZER), None);
    stage.act(Action::Down);
    stage.settle();
    compare("document", &mut stage);
    stage.act(Action::NextPart);
    stage.settle();
    compare("ids", &mut stage);
}

#[test]
fn windows_show_borders_of_documents_and_what_is_left_over() {
    let mut stage = stage("nanosets/02_modern_noshuffle/expected", Some(TOKENIZER), Some(127));
    stage.settle();
    compare("window", &mut stage);
    stage.act(Action::Last);
    stage.settle();
    compare("left_over", &mut stage);
    // The title counts whole windows, as the pane does: 4, 3 and 1 of three files.
    assert_eq!(stage.screen.status_right().unwrap(), "8 windows  172 tokens left over");
    assert_eq!(stage.screen.label(Action::LoaderView), "documents");
}

#[test]
fn without_a_tokenizer_ids_are_shown_and_it_is_said_why() {
    let mut stage = stage("modalities/pack_bpe/expected/data.pbin", None, None);
    compare("without_tokenizer", &mut stage);
    stage.act(Action::Tokenizer);
    compare("tokenizer_prompt", &mut stage);
    stage.act(Action::Close);
    stage.act(Action::LoaderView);
    compare("length_prompt", &mut stage);
}

#[test]
fn samples_of_forager_are_windows_already() {
    let mut stage = stage("forager/aux_loss_mask/expected", Some(TOKENIZER), None);
    compare("sample", &mut stage);
    assert!(stage.screen.why_disabled(Action::LoaderView).unwrap().contains("windows already"));
    assert!(stage.screen.why_disabled(Action::ContactSheet).is_some());
    let mut stage = self::stage("forager/jsonl_one_file/expected", None, None);
    compare("lines", &mut stage);
}
