//! The options of `--format forager`.

use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::{ForagerTarget, SampleSize};
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

pub(in super::super) const CHOICE: Choice = Choice { name: "forager", help: "tokenized-samples/ and index/" };
pub(in super::super) const LOSS_MASKS: Choice = Choice { name: "forager", help: "In the samples, from lines of parts" };
/// The types of parts that training ignores by default (docs/formats/forager.md §3.4).
const MASKED_BY_DEFAULT: [&str; 2] = ["system", "prompt"];
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("Forager", "formats", OPTIONS).needs("--format forager", |plan| plan.forager.is_some());

const OPTIONS: &[Spec] = &[
    Spec::new(
        "variable",
        "",
        "One sample a document, without an end token",
        Access::Switch {
            get: |plan| plan.forager.as_ref().is_some_and(|target| target.sample_size == SampleSize::Variable),
            set: |plan, is_on| match plan.forager.as_mut() {
                Some(target) if is_on => target.sample_size = SampleSize::Variable,
                Some(target) if target.sample_size == SampleSize::Variable => {
                    target.sample_size = SampleSize::Fixed(0);
                }
                _ => {}
            },
        },
    ),
    Spec::new(
        "mask-parts",
        "A,B",
        "With loss masks: types of parts that are not trained on, in lines of the form \
         {\"parts\":[{\"type\":\"prompt\",\"text\":\"…\"},{\"type\":\"response\",\"text\":\"…\"}]}",
        Access::List {
            separator: Some(','),
            get: |plan| {
                let masks = plan.forager.as_ref().and_then(|target| target.masks.as_ref());
                let is_usual = |parts: &&Vec<String>| parts.iter().map(String::as_str).eq(MASKED_BY_DEFAULT);
                masks.map(|masks| &masks.parts).filter(|parts| !is_usual(parts)).cloned().unwrap_or_default()
            },
            set: |plan, parts| {
                if let Some(masks) = plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
                    masks.parts = if parts.is_empty() { usual_parts() } else { parts };
                }
                Ok(())
            },
        },
    )
    .unset("system,prompt")
    .needs("loss-masks")
    .applies("the loss masks of forager", has_masked_parts)
    .advanced(),
    Spec::new(
        "mask-eos",
        "",
        "With loss masks: do not train on end tokens",
        Access::Switch {
            get: |plan| {
                let masks = plan.forager.as_ref().and_then(|target| target.masks.as_ref());
                masks.is_some_and(|masks| masks.mask_end)
            },
            set: |plan, is_on| {
                if let Some(masks) = plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
                    masks.mask_end = is_on;
                }
            },
        },
    )
    .needs("loss-masks")
    .applies("the loss masks of forager", has_masked_parts)
    .advanced(),
    Spec::new(
        "file-suffix",
        "TEXT",
        "End of the name of each sample file",
        text_or!(usual_forager().file_suffix, forager?.file_suffix),
    )
    .default("tokenized-samples")
    .advanced(),
    Spec::new(
        "index-folder",
        "NAME",
        "Name of the index folder",
        text_or!(usual_forager().index_folder, forager?.index_folder),
    )
    .default("index")
    .advanced(),
];

pub(super) fn usual_forager() -> ForagerTarget {
    ForagerTarget::new(SampleSize::Fixed(0))
}

pub(super) fn usual_parts() -> Vec<String> {
    MASKED_BY_DEFAULT.map(str::to_owned).to_vec()
}

fn has_masked_parts(plan: &PackPlan) -> bool {
    plan.forager.as_ref().is_some_and(|target| target.masks.is_some())
}
