//! Browses packed tokens made by the tools of the frameworks.

use super::*;
use gristmill_data::preview::{Drawable, PartPreview};
use std::path::PathBuf;

const TOKENIZER: &str = "../../tests/golden/nanosets/tokenizers/bpe1k.json";

fn golden(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(path)
}

fn with_tokenizer() -> TokenView {
    TokenView {
        tokenizer: Some(golden("nanosets/tokenizers/bpe1k.json").display().to_string()),
        ..TokenView::default()
    }
}

fn opened(path: &Path, view: &TokenView) -> Arc<dyn Catalog> {
    let opening = crate::datasets::Dataset::find(path).unwrap().catalog(view).unwrap();
    for work in opening.background {
        work(&Cancel::default());
    }
    opening.catalog
}

fn all(catalog: &dyn Catalog) -> Vec<BrowseSample> {
    catalog.samples(SampleAt::default(), 10_000, &Cancel::default()).unwrap()
}

fn shown(catalog: &dyn Catalog, row: &BrowseSample, part: usize) -> PartPreview {
    page(catalog.tokens().unwrap(), row, part, 0, &Cancel::default())
}

fn text_of(preview: &PartPreview) -> String {
    match &preview.body {
        Drawable::Tokens(tokens) => tokens.text.to_string(),
        other => format!("{other:?}"),
    }
}

/// View options for the test cases of Modalities, which use a different tokenizer.
fn of_modalities() -> TokenView {
    TokenView { tokenizer: Some(golden("modalities/tokenizers/bpe1k").display().to_string()), ..TokenView::default() }
}

#[test]
fn wrongly_merged_packed_file_is_listed_with_a_failure() {
    let catalog = opened(&golden("modalities/merge/expected/merged.pbin"), &of_modalities());
    let groups = catalog.groups();
    let trouble = groups.groups[0].failure.as_deref().unwrap();
    assert!(trouble.contains("merged wrongly"), "{trouble}");
    assert_eq!(groups.total(), all(catalog.as_ref()).len() as u64);
}

#[test]
fn packed_folder_is_one_list_with_the_tokenizer_of_its_run() {
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("tok/modalities");
    std::fs::create_dir_all(dir.path().join("tok.gristmill")).unwrap();
    std::fs::create_dir_all(root.join("sub")).unwrap();
    let packed = golden("modalities/pack_bpe/expected/data.pbin");
    for name in ["a.pbin", "sub/b.pbin"] {
        std::fs::copy(&packed, root.join(name)).unwrap();
    }
    write_file(&RealFs, &root.join("c.pbin"), b"no packed file", 0o644).unwrap();
    let tokenizer = golden("modalities/tokenizers/bpe1k/tokenizer.json").display().to_string();
    let plan = gristmill_core::PackPlan::new(vec!["in".into()], tokenizer, "tok");
    let plan = crate::engine::plan::file::pack_to_yaml(&plan).unwrap();
    write_file(&RealFs, &dir.path().join("tok.gristmill/plan.yaml"), plan.as_bytes(), 0o644).unwrap();

    let one = opened(&root.join("a.pbin"), &TokenView::default());
    assert!(one.tokens().unwrap().vocabulary().is_some(), "{:?}", one.tokens().unwrap().note());
    let catalog = opened(&root, &TokenView::default());
    let (set, groups) = (catalog.tokens().unwrap(), catalog.groups());
    assert!(set.vocabulary().is_some() && groups.is_complete);
    let names: Vec<&str> = groups.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["a.pbin", "c.pbin", "sub/b.pbin"]);
    assert!(groups.groups[1].failure.is_some() && groups.groups[1].samples == 0);
    let (single, rows) = (all(one.as_ref()), all(catalog.as_ref()));
    assert_eq!(rows.len(), 2 * single.len());
    let last = rows.last().unwrap();
    assert_eq!(text_of(&shown(set, last, 0)), text_of(&shown(one.as_ref(), single.last().unwrap(), 0)));
    let windows = opened(&root, &TokenView { sequence_length: Some(16), ..TokenView::default() });
    let of_one = opened(&packed, &TokenView { sequence_length: Some(16), ..TokenView::default() });
    assert_eq!(all(windows.as_ref()).len(), 2 * all(of_one.as_ref()).len());
}

#[test]
fn documents_of_a_token_folder_have_masks_and_the_tokenizer_of_the_metadata() {
    let catalog = opened(&golden("nanosets/05_modern_loss/expected"), &TokenView::default());
    let set = catalog.tokens().unwrap();
    assert!(set.vocabulary().is_some(), "{:?}: {TOKENIZER} is named by its metadata", set.note());
    let rows = all(catalog.as_ref());
    let ids = shown(catalog.as_ref(), &rows[0], 1);
    let untrained = rows.iter().filter(|row| text_of(&shown(set, row, 1)).contains("not trained on")).count();
    assert!(untrained > 0 && untrained < rows.len(), "{untrained} of {}", rows.len());
    assert!(ids.title.starts_with("ids "));
    assert_eq!(set.measure(&rows[0]).unwrap(), format!("{} tokens", rows[0].byte_size / 2));
}

#[test]
fn token_windows_show_document_boundaries_and_waste() {
    let path = golden("nanosets/02_modern_noshuffle/expected");
    let documents = opened(&path, &with_tokenizer());
    let view = TokenView { sequence_length: Some(63), ..with_tokenizer() };
    let windows = opened(&path, &view);
    let first_group: Vec<_> = all(windows.as_ref()).into_iter().filter(|row| row.at.group == 0).collect();
    let tokens: u64 = first_group.iter().map(|row| row.byte_size / 2).sum();
    let in_documents: u64 =
        all(documents.as_ref()).iter().filter(|row| row.at.group == 0).map(|row| row.byte_size / 2).sum();
    assert_eq!(tokens, in_documents, "windows and the rest are the whole file");
    let (whole, rest) = first_group.split_at(first_group.len() - 1);
    assert!(whole.iter().all(|row| row.byte_size == 128));
    let set = windows.tokens().unwrap();
    assert!(set.measure(&rest[0]).unwrap().ends_with("left over"));
    let shown_texts: Vec<String> = whole.iter().map(|row| text_of(&shown(set, row, 0))).collect();
    assert!(shown_texts.iter().all(|text| text.starts_with("-- document ")));
    let borders: usize = shown_texts.iter().map(|text| text.matches("-- document ").count() - 1).sum();
    assert!(borders > 0);
    assert!(shown(set, &rest[0], 0).notes[0].contains("fills no window"));
    assert_eq!(set.row_holding(0, 130).unwrap().unwrap().index, 1);
    assert_eq!(documents.tokens().unwrap().row_holding(0, 0).unwrap().unwrap().index, 0);
}

#[test]
fn forager_samples_and_plain_indexes_are_read_by_their_table() {
    let set = opened(&golden("forager/tokens_16/expected"), &with_tokenizer());
    let rows = all(set.as_ref());
    assert_eq!(rows.len(), 37);
    assert!(rows.iter().all(|row| row.byte_size == 32 && row.defect.is_none()));
    let marked = rows.iter().filter(|row| text_of(&shown(set.as_ref(), row, 0)).contains("-- next document --"));
    assert!(marked.count() > 0);
    let masked = opened(&golden("forager/aux_loss_mask/expected"), &with_tokenizer());
    let rows = all(masked.as_ref());
    assert!(rows.iter().any(|row| text_of(&shown(masked.as_ref(), row, 1)).contains("not trained on")));
    let lines = opened(&golden("forager/jsonl_one_file/expected"), &TokenView::default());
    let rows = all(lines.as_ref());
    assert!(!rows.is_empty() && rows.iter().all(|row| &*row.parts[0].name == "json"));
}

#[test]
fn invalid_token_files_are_reported_and_not_read_beyond_their_end() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, bytes, 0o644).unwrap();
    };
    let ends: Vec<u8> = [2_u64, 1, u64::MAX, 900].iter().flat_map(|end| end.to_le_bytes()).collect();
    put("ds/a.ds", &[1, 0, 2, 0, 3, 0, 4]);
    put("ds/a.ds.index", &ends);
    put("ds/a.ds.metadata", b"nowhere/at/all.json|2\n3\n3.00 T");
    let set = opened(&dir.path().join("ds"), &TokenView::default());
    let rows = all(set.as_ref());
    assert_eq!(rows.len(), 4);
    assert!(rows[0].defect.is_none() && rows[1..].iter().all(|row| row.defect.is_some()), "{rows:?}");
    for (row, part) in rows.iter().flat_map(|row| [(row, 0), (row, 1)]) {
        let preview = shown(set.as_ref(), row, part);
        assert!(preview.page.of <= 7, "{preview:?}");
    }
    assert!(set.groups().groups[0].failure.is_some());
    assert!(set.tokens().unwrap().note().unwrap().contains("nowhere"));
    let mut table: Vec<u8> = Vec::new();
    for number in [0_u64, 4, 4, 0, u64::MAX, 8, 7, 0, 4] {
        table.extend(number.to_le_bytes());
    }
    table.push(1);
    put("forager/index/sample_locations.bin", &table);
    put("forager/index/file_location.txt", b"tokenized-samples/x.bin\n../../../../nowhere.bin\n");
    put("forager/tokenized-samples/x.bin", &[1, 0, 2, 0]);
    let set = opened(&dir.path().join("forager"), &TokenView::default());
    for row in all(set.as_ref()) {
        assert!(row.defect.is_some(), "{row:?}");
        let _ = shown(set.as_ref(), &row, 0);
    }
}

#[test]
fn packed_document_is_shown_with_its_original_text() {
    let case = golden("modalities/pack_bpe");
    let catalog = opened(&case.join("expected/data.pbin"), &of_modalities());
    let rows = all(catalog.as_ref());
    let texts = texts(&case.join("input/data.jsonl"));
    assert_eq!(rows.len(), texts.len());
    for (row, text) in rows.iter().zip(&texts) {
        let preview = shown(catalog.as_ref(), row, 0);
        let shown_texts = plain(&text_of(&preview));
        let wanted = gristmill_core::text::display_safe_lines(text).into_owned() + "<|endoftext|>";
        assert_eq!(shown_texts, wanted);
        assert!(preview.page.to == row.byte_size && row.defect.is_none());
    }
}

#[test]
fn text_and_token_ids_are_found_in_their_documents() {
    let case = golden("modalities/pack_bpe");
    let catalog = opened(&case.join("expected/data.pbin"), &of_modalities());
    let rows = all(catalog.as_ref());
    let text = texts(&case.join("input/data.jsonl")).remove(2);
    let some: String = text.chars().skip(2).take(12).collect();
    let found = |query: &KeyQuery| {
        let mut found = Vec::new();
        catalog
            .find(query, &Cancel::default(), &mut |at| {
                found.push(at.index);
                true
            })
            .unwrap();
        found
    };
    assert!(found(&KeyQuery::Substring(some)).contains(&2));
    let bytes = catalog.read(&rows[4], 0, 0, 6).unwrap();
    let ids: Vec<String> = TokenCode::little(2).ids(&bytes).iter().map(i128::to_string).collect();
    assert!(found(&KeyQuery::Substring(ids.join(" "))).contains(&4));
    assert!(found(&KeyQuery::Substring("65535 65535".into())).is_empty());
}

/// Returns the texts of a JSONL file.
fn texts(path: &Path) -> Vec<String> {
    let read = std::fs::read_to_string(path).unwrap();
    let text =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).ok()?.get("text")?.as_str().map(str::to_owned);
    read.lines().filter_map(text).collect()
}

/// Removes the symbols for line breaks from displayed text.
fn plain(shown: &str) -> String {
    shown.replace('↵', "")
}
