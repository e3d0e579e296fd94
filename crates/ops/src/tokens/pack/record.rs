//! The record of a finished pack job, and how a later run uses it.

use super::super::formats;
use super::inputs::{absolute, Inputs};
use super::layout::Layout;
use crate::job::record::{self, refuse, RecordedInput, RecordedPlan};
use crate::tokens::encode::differences;
use gristmill_core::pack::PackPlan;
use gristmill_core::text::display_safe;
use gristmill_core::{FileStamp, Outcome};
use gristmill_data::source::documents::TextFile;
use gristmill_storage::files;
use gristmill_storage::listing::find_absent;
use gristmill_storage::remote::is_hub_url;
use gristmill_tokenizer::{vocab_merges_files, vocab_merges_name};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub(super) use crate::job::record::Decision;

/// The part of `report.json` that later runs read. Its hash covers the plan and the tokenizer file.
pub(super) type Recorded = record::Recorded<PackPlan>;

impl RecordedPlan for PackPlan {
    const ACTIVITY: &'static str = "packing";
    const COMMAND: &'static str = "pack";
    const MAX_RECORD_BYTES: u64 = 1 << 28;

    fn differences(earlier: &Self, now: &Self) -> Vec<String> {
        differences(&with_absolute_paths(earlier), &with_absolute_paths(now))
    }
}

/// Returns the plan with absolute paths, so that plans can be compared and a stopped run can be resumed from any folder. Output files still
/// contain the original names of the tokenizer and the inputs.
pub fn with_absolute_paths(plan: &PackPlan) -> PackPlan {
    let mut plan = plan.clone();
    let mut tokenizer = plan.tokenizer.clone();
    if let Some((vocab, merges)) = vocab_merges_files(&plan.tokenizer) {
        let [vocab, merges] = [vocab, merges].map(|path| {
            let mut path = path.to_owned();
            make_absolute(&mut path);
            path
        });
        tokenizer = vocab_merges_name(&vocab, &merges);
    } else if files::exists(&tokenizer) {
        // A name on the hub is not a path.
        make_absolute(&mut tokenizer);
    }
    if tokenizer != plan.tokenizer {
        plan.tokenizer_name.get_or_insert(std::mem::replace(&mut plan.tokenizer, tokenizer));
    }
    for format in formats::chosen(&plan) {
        format.paths(&mut plan).into_iter().for_each(make_absolute);
    }
    let given = plan.inputs.clone();
    let named = [Some(&mut plan.output), plan.paths_file.as_mut()];
    plan.inputs.iter_mut().chain(named.into_iter().flatten()).for_each(make_absolute);
    keep_input_names(&given, &mut plan);
    plan
}

/// Records the given names of inputs whose paths became absolute, if output files of the plan contain these names.
pub(crate) fn keep_input_names(given: &[String], plan: &mut PackPlan) {
    if plan.input_names.is_empty() && plan.inputs != given && formats::names_inputs(plan) {
        plan.input_names = given.to_vec();
    }
}

/// Makes a path absolute. Addresses, and paths whose absolute form is not valid UTF-8, remain unchanged.
fn make_absolute(path: &mut String) {
    if is_hub_url(path) {
        return;
    }
    let whole = files::absolute(&*path).ok();
    if let Some(whole) = whole.as_deref().and_then(Path::to_str) {
        whole.clone_into(path);
    }
}

impl Recorded {
    pub(super) fn inputs_of(inputs: &Inputs) -> Vec<RecordedInput> {
        let record = |file: &TextFile| match inputs.address(file) {
            // The commit in the address identifies the content, wherever the cache is.
            Some(address) => {
                let stamp = FileStamp { bytes: file.bytes, ..FileStamp::default() };
                RecordedInput { path: address.into(), stamp }
            }
            None => RecordedInput { path: absolute(&file.path), stamp: file.stamp },
        };
        inputs.files().into_iter().map(record).collect()
    }
}

/// Decides whether a plan may run with its output, and whether it has already run.
pub(super) fn decide(plan: &PackPlan, hash: &str, layout: &Layout, inputs: &Inputs) -> Outcome<Decision> {
    if inputs.passes.is_empty() {
        return Ok(Decision::Nothing);
    }
    if plan.overwrite {
        return Ok(Decision::Run);
    }
    let refuse = |why, hint| Err(refuse::<PackPlan>(&layout.output, why, hint));
    let mut recorded = Recorded::of_what_is_there(&layout.run_folder)?;
    recorded.iter_mut().flat_map(|known| &mut known.inputs).for_each(|input| input.path = absolute(&input.path));
    if let Some(recorded) = &recorded {
        if let Some(why) = recorded.other_plan(plan) {
            return refuse(why, "--force-overwrite replaces it; or name another output");
        }
        // The hash of a record with relative paths cannot be compared, because they may refer to another folder.
        if recorded.plan_hash != hash && with_absolute_paths(&recorded.plan) == recorded.plan {
            return refuse("the tokenizer file changed since it was made".into(), "--force-overwrite makes it again");
        }
        // This run may process other ranks than the recorded one, with other inputs.
        if !records_progress(plan) {
            if let Some(why) = recorded.other_input(&Recorded::inputs_of(inputs)) {
                return refuse(why, "--force-overwrite makes it again");
            }
            if recorded.is_whole() {
                return Ok(Decision::Nothing);
            }
        }
    }
    let absent = find_absent(output_paths(inputs));
    let is_taken = |path: &Path| !absent.contains(path) && files::is_taken(path);
    let is_foreign = |path: &Path| is_taken(path) && !recorded.iter().any(|known| known.has(path));
    match inputs.outputs.iter().find_map(|output| output.occupied(&is_foreign)) {
        Some(path) => {
            // An unreachable store may contain the output, so its error is returned.
            files::try_is_taken(&path)?;
            let why = format!("{} exists already", display_safe(&path.to_string_lossy()));
            refuse(why, "--force-overwrite replaces it; or name another output")
        }
        None => Ok(Decision::Run),
    }
}

/// Returns the paths at which existing files would conflict with the outputs.
fn output_paths(inputs: &Inputs) -> Vec<PathBuf> {
    let paths = RefCell::default();
    let collect = |path: &Path| {
        Vec::push(&mut paths.borrow_mut(), path.to_owned());
        false
    };
    inputs.outputs.iter().for_each(|output| _ = output.occupied(&collect));
    paths.into_inner()
}

/// Whether the output itself records which inputs are finished.
pub(super) fn records_progress(plan: &PackPlan) -> bool {
    formats::only_format(plan).is_some_and(|format| format.records_progress(plan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::encode::plan_hash;

    #[test]
    fn recorded_plan_has_absolute_paths() {
        let here = std::env::current_dir().unwrap();
        let plan = PackPlan::new(vec!["data/a.jsonl".into()], "Cargo.toml", "out/");
        let whole = with_absolute_paths(&plan);
        assert_eq!(whole.inputs, [here.join("data/a.jsonl").to_string_lossy()]);
        assert_eq!(whole.output, format!("{}/", here.join("out").display()));
        assert_eq!(whole.tokenizer, here.join("Cargo.toml").to_string_lossy());
        assert_eq!(whole.tokenizer_name.as_deref(), Some("Cargo.toml"), "metadata says what was given");
        assert_eq!(with_absolute_paths(&whole), whole);
        assert_eq!(plan_hash(&with_absolute_paths(&whole), "h"), plan_hash(&whole, "h"));
        assert!(<PackPlan as RecordedPlan>::differences(&plan, &whole).is_empty());
        let named = PackPlan::new(vec!["/a".into()], "gpt2", "/out");
        assert_eq!(with_absolute_paths(&named), named, "a name of the hub is no path");
    }
}
