//! Compares the output on a disk and in a store with files written by the reference programs.

use super::*;

fn nanosets(name: &str, tokenizer: &str, target: NanosetsTarget, change: impl Fn(&mut PackPlan)) -> [PackReport; 2] {
    let name = format!("nanosets/{name}");
    in_each_place(&name, |input, folder| {
        let output = folder.join("out");
        let mut plan = plan(input, &format!("nanosets/tokenizers/{tokenizer}.json"), &output);
        plan.tokenizer_name = Some(format!("../tokenizers/{tokenizer}.json"));
        plan.nanosets = Some(target.clone());
        change(&mut plan);
        let report = run(&plan).unwrap();
        assert_same(&files(&output), &files(&case(&name).join("expected")), &name);
        report
    })
}

fn tasks(tasks: u32) -> NanosetsTarget {
    NanosetsTarget { tasks: Some(tasks), ..NanosetsTarget::default() }
}

#[test]
fn nanosets_without_shuffle() {
    for name in ["01_nanotron_cli_mixed", "02_modern_noshuffle"] {
        for report in nanosets(name, "bpe1k", tasks(3), |_| {}) {
            assert_eq!((report.documents, report.targets[0].documents, report.targets[0].tokens), (30, 30, 1196));
        }
    }
}

#[test]
fn nanosets_shuffled_by_documents_and_split() {
    let target = NanosetsTarget { shuffle: DocumentShuffle::Documents, max_tokens_per_file: Some(700), ..tasks(2) };
    nanosets("03_modern_doc_shuffle_split", "bpe1k", target, |_| {});
    let target = NanosetsTarget {
        shuffle: DocumentShuffle::Documents,
        max_tokens_per_file: Some(300),
        prefix: Some("web".into()),
        names: NameProfile::Classic,
        ..tasks(2)
    };
    nanosets("09_classic_shuffle_split", "bpe1k", target, |plan| plan.seed = 3);
}

#[test]
fn nanosets_shuffled_by_chunks() {
    let target = NanosetsTarget { shuffle: DocumentShuffle::Documents, chunk_size: Some(65), ..tasks(1) };
    for report in nanosets("04_modern_chunk_shuffle", "bpe1k", target, |plan| plan.seed = 5) {
        assert_eq!((report.targets[0].tokens, report.targets[0].dropped_tokens), (1755, 14));
    }
}

#[test]
fn nanosets_with_loss_masks() {
    nanosets("05_modern_loss", "bpe1k", NanosetsTarget { loss_masks: true, ..tasks(1) }, |_| {});
}

#[test]
fn nanosets_with_four_bytes_a_token() {
    nanosets("07_wordlevel_u32", "wordlevel70k", tasks(2), |plan| plan.end = Some(SpecialToken::Text("</s>".into())));
}

#[test]
fn nanosets_with_the_tokenizers_own_template() {
    nanosets("08_template_bos_no_eos", "bpe1k_bos", tasks(1), |plan| plan.end = None);
}

#[test]
fn nanosets_with_more_tasks_than_files() {
    let target = NanosetsTarget { shuffle: DocumentShuffle::Documents, ..tasks(4) };
    nanosets("10_tasks_more_than_files", "bpe1k", target, |plan| plan.seed = 3);
}

fn modalities(name: &str, tokenizer: &str, change: impl Fn(&mut PackPlan)) -> Vec<PackReport> {
    let name = format!("modalities/{name}");
    let expected = std::fs::read(case(&name).join("expected/data.pbin")).unwrap();
    // First by lines, then by the index that the reference program used.
    let indexes = [None, Some(case(&name).join("expected/data.idx").to_str().unwrap().to_owned())];
    let reports = indexes.iter().flat_map(|index| {
        in_each_place(&name, |input, folder| {
            let folder = folder.join(if index.is_some() { "by-index" } else { "by-lines" });
            let output = folder.join("data.pbin");
            let mut plan = plan(&input.join("data.jsonl"), &format!("modalities/tokenizers/{tokenizer}"), &output);
            plan.modalities =
                Some(ModalitiesTarget { index: index.clone(), batch_lines: 4, ..ModalitiesTarget::default() });
            change(&mut plan);
            let report = run(&plan).unwrap();
            assert!(gristmill_storage::files::read(&output).unwrap() == expected, "{name}");
            assert_eq!(files(&folder).len(), 1, "{name}");
            report
        })
    });
    reports.collect()
}

#[test]
fn modalities_of_every_token_size_and_option() {
    modalities("pack_1_byte", "wl200", |_| {});
    modalities("pack_4_byte", "wl70k", |_| {});
    modalities("pack_bos_eos_template", "bpe1k_bos", |_| {});
    modalities("pack_eod_in_text", "bpe1k", |_| {});
    modalities("pack_truncation", "bpe1k", |plan| {
        plan.modalities = plan.modalities.take().map(|target| ModalitiesTarget { truncate_to: Some(6), ..target });
    });
    for report in modalities("pack_bpe", "bpe1k", |_| {}) {
        assert_eq!((report.documents, report.targets[0].documents, report.targets[0].tokens), (23, 23, 853));
        assert!(report.targets[0].skipped.is_empty() && report.problems.is_empty());
    }
}

#[test]
fn modalities_by_a_jq_expression() {
    modalities("pack_jq_expression", "bpe1k", |plan| plan.text = TextField::Jq(r#".a.t[1] + "\n" + .b"#.into()));
}

#[test]
fn modalities_by_sentencepiece() {
    modalities("pack_sentencepiece", "spm500/spm.model", |plan| plan.end = Some(SpecialToken::Text("<eod>".into())));
}

#[test]
fn modalities_loses_the_documents_of_the_reference_only_with_compat() {
    for (name, kept, lost) in [("pack_quirk_empty_text", 8, 4), ("pack_quirk_missing_field", 4, 11)] {
        for report in modalities(name, "bpe1k", |plan| plan.compat = true) {
            assert_eq!(report.targets[0].documents, kept, "{name}");
            let skipped: Vec<u64> = report.targets[0].skipped.iter().map(|skipped| skipped.documents).collect();
            assert_eq!(skipped, [lost, 1], "{name}: {:?}", report.targets[0].skipped);
        }
        let folder = case("modalities").join(name);
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("data.pbin");
        let mut plan = plan(&folder.join("input/data.jsonl"), "modalities/tokenizers/bpe1k", &output);
        plan.modalities = Some(ModalitiesTarget { batch_lines: 4, ..ModalitiesTarget::default() });
        let report = run(&plan).unwrap();
        assert_eq!(report.targets[0].documents, kept + lost, "{name}");
        assert_eq!(report.problems.len(), 1, "{name}");
    }
}

fn forager(name: &str, tokenizer: &str, target: ForagerTarget) {
    let name = format!("forager/{name}");
    in_each_place(&name, |input, folder| {
        let output = folder.join("out");
        let mut plan = plan(input, &format!("modalities/tokenizers/{tokenizer}"), &output);
        plan.forager = Some(target.clone());
        run(&plan).unwrap();
        assert_same(&files(&output), &files(&case(&name).join("expected")), &name);
    });
}

#[test]
fn forager_of_every_sample_size_and_option() {
    let fixed = |size| ForagerTarget::new(SampleSize::Fixed(size));
    forager("tokens_16", "bpe1k", fixed(16));
    forager("tokens_tree", "bpe1k", fixed(32));
    forager("tokens_bos_template", "bpe1k_bos", fixed(16));
    forager("tokens_uint32", "wl70k", ForagerTarget { token_type: Some(TokenType::U32), ..fixed(8) });
    forager("tokens_variable", "bpe1k", ForagerTarget::new(SampleSize::Variable));
    let masks = Some(MaskedParts { parts: vec!["system".into(), "prompt".into()], mask_end: false });
    forager("aux_loss_mask", "bpe1k", ForagerTarget { masks, ..fixed(12) });
}

#[test]
fn forager_fails_where_the_reference_fails_only_with_compat() {
    for (name, documents) in
        [("tokens_fail_empty_line", 5), ("tokens_fail_missing_field", 5), ("tokens_fail_same_stem", 0)]
    {
        in_each_place(&format!("forager/{name}"), |input, folder| {
            let mut plan = plan(input, "modalities/tokenizers/bpe1k", &folder.join("out"));
            plan.forager = Some(ForagerTarget::new(SampleSize::Fixed(16)));
            plan.compat = true;
            let failure = run(&plan).unwrap_err();
            assert_eq!(failure.class, gristmill_core::ExitClass::Data, "{failure}");
            // Stores have no empty folders, so only files are checked.
            let mut left = Walk::new(folder).into_iter().flatten().filter(|entry| entry.path() != folder);
            assert!(left.next().is_none(), "{name} left something");
            plan.compat = false;
            let report = run(&plan).unwrap();
            if documents > 0 {
                assert_eq!(report.problems.len(), 1, "{name}");
            } else {
                let names: Vec<&str> = report.targets[0].outputs.iter().map(|file| file.name.as_str()).collect();
                assert!(names[0].ends_with("n1-a-tokenized-samples.bin"), "{names:?}");
            }
        });
    }
}
