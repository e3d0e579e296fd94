//! Tests of packing plans: open questions, wrong answers, and plan files.

use super::*;
use crate::engine::plan::file::{pack_to_yaml, read_plan_of, read_typed};
use gristmill_core::pack::{ForagerTarget, MaskedParts, ModalitiesTarget, NanosetsTarget, SampleSize, TextField};
use gristmill_core::PackPlan;

fn nanosets() -> PackPlan {
    let mut plan = PackPlan::new(vec!["web".into()], "tok.json", "out");
    plan.nanosets = Some(NanosetsTarget::default());
    plan
}

fn hints(plan: &PackPlan) -> Vec<String> {
    open_questions(plan).into_iter().map(|problem| problem.hint.unwrap()).collect()
}

#[test]
fn open_pack_questions_name_their_flags() {
    let nothing = PackPlan::new(vec![], "", "");
    let hints_of_nothing = hints(&nothing).join("\n");
    for flag in [".jsonl", "--format", "--tokenizer", "--output"] {
        assert!(hints_of_nothing.contains(flag), "{flag}: {hints_of_nothing}");
    }
    assert!(open_questions(&nanosets()).is_empty(), "an end token is not needed for token folders");
    let mut plan = nanosets();
    plan.modalities = Some(ModalitiesTarget::default());
    assert!(hints(&plan)[0].contains("--eos-token"));
    plan.modalities = Some(ModalitiesTarget { eod_token: Some("</s>".into()), ..ModalitiesTarget::default() });
    assert!(open_questions(&plan).is_empty());
    plan.forager = Some(ForagerTarget::new(SampleSize::Fixed(0)));
    assert_eq!(open_questions(&plan).len(), 2, "how large, and what ends a document");
    plan.forager = Some(ForagerTarget::new(SampleSize::Variable));
    assert!(open_questions(&plan).is_empty(), "samples of one document need no end token");
}

#[test]
fn paths_file_needs_the_folder_of_its_paths() {
    let mut plan = nanosets();
    plan.paths_file = Some("list.txt".into());
    assert!(open_questions(&plan).is_empty());
    plan.inputs.clear();
    let open: Vec<String> = open_questions(&plan).into_iter().map(|problem| problem.message).collect();
    assert_eq!(open, ["the folder that the listed paths start from is not given"]);
}

#[test]
fn invalid_pack_answers_are_refused() {
    let field = |plan: &PackPlan| refusals(plan).into_iter().filter_map(|p| p.subject.field).collect::<Vec<_>>();
    let with = |change: fn(&mut NanosetsTarget)| {
        let mut plan = nanosets();
        change(plan.nanosets.as_mut().unwrap());
        field(&plan)
    };
    assert_eq!(with(|_| ()), [""; 0]);
    assert_eq!(with(|t| (t.tasks, t.rank) = (Some(3), Some(3))), ["--rank"]);
    assert_eq!(with(|t| t.tasks = Some(0)), ["--tasks"]);
    assert_eq!(with(|t| t.chunk_size = Some(0)), ["--chunk-size"]);
    assert_eq!(with(|t| t.max_tokens_per_file = Some(9)), ["--max-tokens-per-file"]);
    assert_eq!(with(|t| (t.max_tokens_per_file, t.chunk_size) = (Some(9), Some(2))), [""; 0]);
    for bad in ["", ".", "..", "a/b", "/a", "a/", "a\nb"] {
        let mut plan = nanosets();
        plan.nanosets.as_mut().unwrap().prefix = Some(bad.into());
        assert_eq!(field(&plan), ["--prefix"], "{bad:?}");
    }
    let forager = |change: fn(&mut ForagerTarget)| {
        let mut plan = PackPlan::new(vec!["a".into()], "t", "o");
        plan.forager = Some(ForagerTarget::new(SampleSize::Fixed(8)));
        change(plan.forager.as_mut().unwrap());
        field(&plan)
    };
    let masks = || Some(MaskedParts { parts: vec![], mask_end: false });
    assert_eq!(forager(|t| t.index_folder = "tokenized-samples".into()), ["--index-folder"]);
    assert_eq!(forager(|t| t.index_folder = "../index".into()), ["--index-folder"]);
    assert_eq!(forager(|t| t.file_suffix = "a/../b".into()), ["--file-suffix"]);
    let mut plan = PackPlan::new(vec!["a".into()], "t", "o");
    plan.forager = Some(ForagerTarget { masks: masks(), ..ForagerTarget::new(SampleSize::Variable) });
    assert_eq!(field(&plan), ["--variable"]);
    plan.strip = true;
    assert_eq!(field(&plan), ["--strip", "--variable"], "masks refer to whole texts");
    let mut plan = PackPlan::new(vec!["a".into()], "t", "o");
    let odd = ModalitiesTarget { batch_lines: 4, ..ModalitiesTarget::default() };
    plan.modalities = Some(odd);
    assert_eq!(field(&plan), ["--batch-lines"], "batches are nothing without --compat");
    plan.compat = true;
    assert_eq!(field(&plan), [""; 0]);
    plan.text = TextField::Jq(" ".into());
    plan.input_names = vec!["a".into(), "b".into()];
    assert_eq!(field(&plan), ["--jq", "--input-name"]);
}

#[test]
fn plan_file_names_its_command_and_omits_defaults() {
    let yaml = pack_to_yaml(&nanosets()).unwrap();
    assert!(yaml.contains("\ncommand: pack\nversion: 1\n"), "{yaml}");
    assert_eq!(read_plan_of::<PackPlan>(&yaml, "pack"), Some(nanosets()));
    let short = "command: pack\nversion: 1\ninputs: [a.jsonl]\ntokenizer: t\noutput: o.pbin\nmodalities: {}\n";
    let plan: PackPlan = read_typed(short, "pack").unwrap();
    assert_eq!(plan.modalities, Some(ModalitiesTarget::default()));
    assert!(read_typed::<PackPlan>(&short.replace("modalities", "modalitys"), "pack").is_err());
}
