use super::*;
use gristmill_core::{DatasetKind, PartFacts};
use gristmill_data::source::decode::decode_part;

fn facts(parts: &[(&str, u64)]) -> DatasetFacts {
    let mut facts = DatasetFacts::new(".".into(), DatasetKind::RawWebDataset);
    facts.samples_seen = 100;
    facts.parts = parts.iter().map(|(n, s)| ((*n).into(), PartFacts { samples: *s, bytes: 0 })).collect();
    facts
}

fn sample(parts: &[(&str, &str)]) -> DecodedSample {
    let parts = parts.iter().map(|(n, b)| ((*n).to_owned(), decode_part(n, b.as_bytes()))).collect();
    DecodedSample { shard: "s.tar".into(), key: "k".into(), parts }
}

fn map(s: &Suggestion) -> Vec<String> {
    s.fields.iter().map(|f| format!("{}={}", f.field, f.expr)).collect()
}

#[test]
fn picture_and_text_suggest_captioning_with_a_reason() {
    let all = sample_types(&facts(&[("jpg", 100), ("txt", 100)]), &[]);
    assert_eq!(all[0].class, "CaptioningSample");
    assert_eq!(all[0].why, "jpg + txt in 100 % of samples");
    assert_eq!(map(&all[0]), ["image=jpg", "caption=txt"]);
    assert_eq!(all.last().unwrap().class, CRUDE_CLASS);
}

#[test]
fn picture_formats_become_alternatives_of_a_field() {
    let all = sample_types(&facts(&[("jpg", 60), ("png", 40), ("txt", 100)]), &[]);
    assert_eq!(map(&all[0])[0], "image=jpg,png");
    assert_eq!(all[0].why, "jpg or png + txt in 100 % of samples");
}

#[test]
fn json_keys_distinguish_question_samples_from_captions() {
    let f = facts(&[("jpg", 100), ("json", 100)]);
    let vqa = sample(&[("json", r#"{"question": "?", "answers": ["a"]}"#)]);
    let best = sample_types(&f, &[vqa]).remove(0);
    assert_eq!(best.class, "VQASample");
    assert_eq!(map(&best), ["image=jpg", "context=json[question]", "answers=json[answers]"]);
    let caption = sample(&[("json", r#"{"caption": "a cat"}"#)]);
    let best = sample_types(&f, &[caption]).remove(0);
    assert_eq!((best.class.as_str(), map(&best)[1].as_str()), ("CaptioningSample", "caption=json[caption]"));
    let choices = sample(&[("json", r#"{"question": "?", "choices": ["a", "b"], "answer_idx": 1}"#)]);
    assert_eq!(sample_types(&f, &[choices])[0].class, "MultiChoiceVQASample");
}

#[test]
fn nested_caption_is_suggested_by_the_key_of_most_samples() {
    let f = facts(&[("jpg", 100), ("detail.json", 100)]);
    let both = sample(&[("detail.json", r#"{"caption": {"short": "a", "long": "b"}, "id": 7}"#)]);
    let long = sample(&[("detail.json", r#"{"caption": {"long": "b"}}"#)]);
    let fields = field_map_for("CaptioningSample", &f, &[both.clone(), long]);
    assert_eq!(fields[1].expr, "detail.json[caption][long]");
    assert_eq!(field_map_for("CaptioningSample", &f, &[both])[1].expr, "detail.json[caption][short]");
    let inside = sample(&[("detail.json", r#"{"meta": {"caption": "c"}, "a,b": {"caption": "d"}}"#)]);
    assert_eq!(field_map_for("CaptioningSample", &f, &[inside])[1].expr, "detail.json[meta][caption]");
}

#[test]
fn part_sets_suggest_their_sample_types() {
    let best = |parts: &[(&str, u64)]| sample_types(&facts(parts), &[]).remove(0).class;
    assert_eq!(best(&[("jpg", 100), ("cls", 100)]), "ImageClassificationSample");
    assert_eq!(best(&[("txt", 100)]), "TextSample");
    assert_eq!(best(&[("png", 100)]), "ImageSample");
    assert_eq!(best(&[("mp4", 100), ("txt", 100)]), "VidQASample");
    assert_eq!(best(&[("mp", 100)]), CRUDE_CLASS);
    assert_eq!(best(&[]), CRUDE_CLASS);
}

#[test]
fn text_missing_in_some_samples_has_a_json_alternative() {
    let f = facts(&[("jpg", 100), ("txt", 80), ("json", 100)]);
    let s = sample(&[("json", r#"{"caption": "c"}"#)]);
    let fields = field_map_for("CaptioningSample", &f, &[s]);
    assert_eq!(fields[1].expr, "txt,json[caption]");
}

#[test]
fn field_map_suggestion_leaves_out_fields_without_a_part() {
    let fields = field_map_for("VQASample", &facts(&[("jpg", 100)]), &[]);
    assert_eq!(fields.len(), 1);
    assert!(field_map_for("my:Own", &facts(&[("jpg", 100)]), &[]).is_empty());
}

fn named(names: &[&str]) -> DatasetFacts {
    let mut f = facts(&[]);
    f.shards = names.iter().map(|n| ShardFacts { name: (*n).into(), ..ShardFacts::default() }).collect();
    f
}

#[test]
fn folders_and_prefixes_named_like_splits_become_patterns() {
    let patterns = |names: &[&str]| match splits(&named(names)).remove(0).splits {
        SplitPlan::Patterns(p) => p.into_iter().map(|p| format!("{}:{}", p.name, p.pattern)).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(patterns(&["train/a.tar", "train/b.tar", "val/a.tar"]), ["train:train/.*", "val:val/.*"]);
    assert_eq!(
        patterns(&["train_00.tar", "validation_00.tar", "test_00.tar"]),
        ["train:train_.*", "val:validation_.*", "test:test_.*"]
    );
    assert_eq!(
        patterns(&["data/coco-train-0.tar", "data/coco-val-0.tar"]),
        ["train:data/coco-train-.*", "val:data/coco-val-.*"]
    );
    assert_eq!(
        patterns(&["a/train/0.tar", "b/train/0.tar", "a/val/0.tar"]),
        ["train:(?:a/train/|b/train/).*", "val:a/val/.*"]
    );
}

#[test]
fn shard_names_without_split_suggest_a_ratio_without_empty_splits() {
    let ratio = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("shard-{i}.tar")).collect();
        match splits(&named(&names.iter().map(String::as_str).collect::<Vec<_>>())).remove(0).splits {
            SplitPlan::Ratio(r) => r,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ratio(1), "1,0,0");
    assert_eq!(ratio(4), "2,1,1");
    assert_eq!(ratio(20), "8,1,1");
    assert!(matches!(splits(&named(&["trainer.tar", "value.tar"]))[0].splits, SplitPlan::Ratio(_)));
    assert!(matches!(splits(&named(&["train/a.tar"]))[0].splits, SplitPlan::Ratio(_)));
}

#[test]
fn sample_type_without_matching_samples_is_not_suggested() {
    let mut f = facts(&[("jpg", 50), ("txt", 50)]);
    f.part_sets.add(&["jpg"], 50);
    f.part_sets.add(&["txt"], 50);
    let all = sample_types(&f, &[]);
    assert!(!all.iter().any(|s| s.class == "CaptioningSample"), "{all:?}");
    assert_eq!(all[0].why, "jpg in 50.0 % of samples");
}

#[test]
fn suggestion_share_counts_samples_with_all_parts() {
    let mut f = facts(&[("jpg", 80), ("txt", 70), ("json", 30)]);
    f.part_sets.add(&["jpg", "txt"], 50);
    f.part_sets.add(&["json", "jpg"], 30);
    f.part_sets.add(&["txt"], 20);
    let caption = sample(&[("json", r#"{"caption": "a"}"#)]);
    let all = sample_types(&f, std::slice::from_ref(&caption));
    let best = all.iter().find(|s| s.class == "CaptioningSample").unwrap();
    assert_eq!((best.share, best.why.as_str()), (0.8, "jpg + txt or json in 80.0 % of samples"));
    let all = sample_types(&f, &[]);
    let best = all.iter().find(|s| s.class == "CaptioningSample").unwrap();
    assert_eq!(best.why, "jpg + txt in 50.0 % of samples");
}
