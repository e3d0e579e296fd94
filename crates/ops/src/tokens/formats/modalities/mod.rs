//! Packed files of Modalities: one `.pbin` for each input file (docs/formats/modalities.md §3 and §4).

mod browser;
mod check;
mod config;
mod encoding;
pub mod engine;
pub mod instruction;
pub mod job;
mod names;
pub mod operations;
mod options;
mod output;
pub(crate) mod raw_index;
mod reader;

pub(super) use options::{CHOICE, GROUP};

use self::job::{run_raw, start_raw, RawIndexPlan};
use super::super::format::{
    folder_name, AssignedFiles, EndTokenNeed, FileAssignmentRequest, FormatInfo, OtherFile, OutputTarget, TokenFormat,
};

use crate::job::task::TaskContext;
use crate::tokens::encode::EncodingSpec;
use crate::tokens::index::IndexFormatInfo;
use crate::tokens::options::{shared_answer, SharedAnswer};
use gristmill_core::options::Choice;
use gristmill_core::pack::ModalitiesTarget;
use gristmill_core::{Outcome, PackPlan, Problem};
use gristmill_data::formats::modalities::raw_index::default_path;
use gristmill_data::source::documents::DocumentRules;
use gristmill_storage::files;
use gristmill_tokenizer::Tokenizer;
use std::path::{Path, PathBuf};

/// The raw index of a file.
pub(super) const INDEX: IndexFormatInfo = IndexFormatInfo {
    choice: Choice { name: "modalities", help: "One .idx next to each file; every line is checked" },
    title: "Modalities",
    needs: "--format modalities",
    is_of_folder: false,
    run: |request, context| {
        let plan = RawIndexPlan {
            index: request.index_path.clone(),
            existing: request.existing,
            skip_bad_lines: request.skip_bad_lines,
            is_dry: request.is_dry,
            ..RawIndexPlan::new(&request.source)
        };
        run_raw(&plan, context)
    },
};

/// The format `modalities`.
pub(super) struct Modalities;

fn target(plan: &PackPlan) -> ModalitiesTarget {
    plan.modalities.clone().unwrap_or_default()
}

impl TokenFormat for Modalities {
    common_methods!(modalities, ModalitiesTarget::default);

    fn info(&self) -> FormatInfo {
        FormatInfo {
            readers: &[&reader::PackedFileReader, &reader::PackedFolderReader],
            operations: operations::OPERATIONS,
            has_single_files: true,
            own_end: Some(shared_answer!(modalities.eod_token)),
            ..FormatInfo::default()
        }
    }

    fn end_token(&self, plan: &PackPlan) -> EndTokenNeed {
        match target(plan).eod_token {
            None => EndTokenNeed::Required,
            Some(_) => EndTokenNeed::Unused,
        }
    }

    fn open_questions(&self, plan: &PackPlan) -> Vec<Problem> {
        check::open_questions(plan, &target(plan))
    }

    fn refusals(&self, plan: &PackPlan) -> Vec<Problem> {
        check::refusals(plan, &target(plan))
    }

    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem> {
        check::notes(plan, &target(plan), tokenizer)
    }

    fn output_name(&self, stem: &str, is_one_file: bool) -> String {
        if is_one_file {
            format!("{stem}.pbin")
        } else {
            folder_name(stem)
        }
    }

    fn paths<'p>(&self, plan: &'p mut PackPlan) -> Vec<&'p mut String> {
        plan.modalities.iter_mut().flat_map(|target| &mut target.index).collect()
    }

    fn other_files(&self, plan: &PackPlan) -> Vec<OtherFile> {
        let (path, flag) = match (target(plan).index, plan.inputs.as_slice()) {
            (Some(index), _) => (PathBuf::from(index), Some("--index")),
            (None, [input]) => (default_path(Path::new(input)), None),
            (None, _) => return Vec::new(),
        };
        vec![OtherFile { path, what: "the raw index of the text", flag }]
    }

    /// Writes the raw index given by `--index` if it does not exist. Without the flag, lines are read instead.
    fn before_run(&self, plan: &PackPlan, context: &TaskContext) -> Outcome<()> {
        let target = target(plan);
        let (Some(index), [input]) = (&target.index, plan.inputs.as_slice()) else { return Ok(()) };
        if files::exists(index) || files::is_dir(input) {
            return Ok(());
        }
        let skip_bad_lines = target.skip_bad_lines;
        let raw = RawIndexPlan { index: Some(index.into()), skip_bad_lines, ..RawIndexPlan::new(input) };
        context.run_part(start_raw(raw, context.options.clone())?)?;
        context.log(format!("wrote the index {index}"));
        Ok(())
    }

    fn document_rules(&self) -> DocumentRules {
        DocumentRules::PYTHON
    }

    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec> {
        encoding::encoding(plan, &target(plan), tokenizer)
    }

    /// A `.pbin` file may be in the folder of the text, so that folder can be an input.
    fn own_places(&self, _: &PackPlan, place: &OutputTarget) -> Vec<PathBuf> {
        if place.is_only_target {
            Vec::new()
        } else {
            vec![place.path.clone()]
        }
    }

    /// A text byte becomes at most a token and an entry of the index.
    fn max_bytes_per_text_byte(&self, _: &PackPlan) -> u64 {
        4 + 20
    }
}
