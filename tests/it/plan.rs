//! From a folder of tars to a valid plan: suggestions, views and refusals.

use crate::support::write_tar;
use gristmill_core::plan::FieldExpr;
use gristmill_core::{DatasetFacts, PreparePlan, ProblemKind, RunOptions, SampleMapping, Severity, SplitPlan};
use gristmill_data::source::decode::Value;
use gristmill_ops::engine::plan::{classes, fields, suggest, validate};
use gristmill_ops::job::scan::LiveScan;
use std::path::Path;

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
    out.into_inner()
}

/// Writes captioned pictures in three shards; one sample has no caption in any part.
fn pictures(root: &Path) {
    for shard in 0..3 {
        let mut entries = Vec::new();
        for i in 0..5 {
            let key = format!("{shard}{i}");
            entries.push((format!("{key}.png"), png(8 + i, 6)));
            let odd = shard == 2 && i == 4;
            let json = if odd { "{}".to_owned() } else { format!(r#"{{"caption": {{"long": "picture {key}"}}}}"#) };
            entries.push((format!("{key}.detail.json"), json.into_bytes()));
            if i % 2 == 0 && !odd {
                entries.push((format!("{key}.txt"), format!("short {key}").into_bytes()));
            }
        }
        write_tar(&root.join(format!("train_{shard}.tar")), &entries);
    }
}

fn facts(root: &Path) -> std::sync::Arc<DatasetFacts> {
    LiveScan::start(root, &RunOptions::default()).unwrap().wait().unwrap()
}

fn expr(field: &str, expr: &str) -> FieldExpr {
    FieldExpr { field: field.into(), expr: expr.into() }
}

#[test]
fn field_map_is_resolved_on_samples_read_from_shards() {
    let folder = tempfile::tempdir().unwrap();
    pictures(folder.path());
    let facts = facts(folder.path());
    let samples: Vec<_> = facts.sketches.iter().take(3).map(|s| fields::load(folder.path(), s)).collect();
    let class = classes::resolve("CaptioningSample").unwrap();
    let map = [expr("image", "png"), expr("caption", "detail.json[caption][long],txt")];
    let checks = fields::check_in(&map, class.known, &samples, &facts);
    assert_eq!(checks[0].results[1], Ok(Value::Image { format: "png".into(), width: 9, height: 6 }));
    assert_eq!(checks[1].results[2], Ok(Value::Text("picture 02".into())));
    assert_eq!(checks[0].share.unwrap().text(), "100 %");
    assert_eq!((checks[0].warning.as_ref(), checks[1].warning.as_ref()), (None, None));
    let wrong = fields::check_in(&[expr("image", "detail.json[caption][short]")], class.known, &samples, &facts);
    let error = wrong[0].first_error().unwrap().to_string();
    assert_eq!(error, "detail.json[caption] has no [short]: its keys are 'long'");
}

#[test]
fn the_proposed_answers_make_a_plan_without_refusals() {
    let folder = tempfile::tempdir().unwrap();
    pictures(folder.path());
    let facts = facts(folder.path());
    let samples: Vec<_> = facts.sketches.iter().map(|s| fields::load(folder.path(), s)).collect();
    let best = suggest::sample_types(&facts, &samples).remove(0);
    assert_eq!(best.class, "CaptioningSample");
    let plan = PreparePlan {
        splits: suggest::splits(&facts).remove(0).splits,
        loading: SampleMapping::FieldMap { sample_type: best.class, fields: best.fields },
        ..PreparePlan::new(folder.path().to_str().unwrap())
    };
    let problems = validate(&plan, &facts);
    assert!(!problems.iter().any(|p| p.severity == Severity::Refusal), "{problems:#?}");
}

#[test]
fn field_map_with_an_unknown_part_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    pictures(folder.path());
    let facts = facts(folder.path());
    let plan = PreparePlan {
        splits: SplitPlan::Ratio("1,1,1".into()),
        loading: SampleMapping::FieldMap { sample_type: "ImageSample".into(), fields: vec![expr("image", "jpg")] },
        ..PreparePlan::new(folder.path().to_str().unwrap())
    };
    let problems = validate(&plan, &facts);
    assert_eq!(problems[0].kind, ProblemKind::NoSuchPart);
    assert!(problems[0].hint.as_ref().unwrap().contains("'detail.json', 'png', 'txt'"), "{:?}", problems[0]);
}

#[test]
fn unreadable_part_is_an_error_of_its_field() {
    let folder = tempfile::tempdir().unwrap();
    pictures(folder.path());
    let facts = facts(folder.path());
    std::fs::remove_file(folder.path().join("train_0.tar")).unwrap();
    let sample = fields::load(folder.path(), &facts.sketches[0]);
    let checks = fields::check(&[expr("image", "png")], &[sample]);
    assert!(checks[0].first_error().unwrap().to_string().contains("no such file"), "{checks:?}");
}
