//! The list of the files of a run and their states.

use super::assemble::name;
use super::inputs::Inputs;
use super::layout::Layout;
use crate::engine::pack::{EncodingSpec, Kind};
use crate::formats::nanosets::{index_path, loss_path, metadata_path, names};
use crate::job::outputs::{LeftOver, OutputBoard};
use crate::job::publish::FinishedFile;
use gristmill_core::pack::NanosetsTarget;
use gristmill_core::{PackFormat, PackPlan};
use std::path::Path;
use walkdir::WalkDir;

/// Lists the files that a plan writes, by the spools that they are made of. The number of files of a shuffled task is only known at its
/// end.
pub(super) fn expect(board: &OutputBoard, plan: &PackPlan, layout: &Layout, inputs: &Inputs, specs: &[EncodingSpec]) {
    let files = specs.iter().flat_map(|spec| match (spec.format, &plan.nanosets) {
        (PackFormat::Modalities, _) => {
            let pbin = |(number, name): (usize, &String)| (name::pbin(number), shown(layout, &layout.pbin(name)));
            inputs.pbins.iter().enumerate().map(pbin).collect()
        }
        (PackFormat::Nanosets, Some(target)) => {
            inputs.ranks.iter().flat_map(|rank| task(layout, spec, target, *rank)).collect()
        }
        (PackFormat::Nanosets, None) => Vec::new(),
        (PackFormat::Forager, _) => {
            let samples =
                |(number, name): (usize, &String)| (name::samples(number), shown(layout, &layout.samples(name)));
            let index = ["sample_locations.bin", "file_location.txt"]
                .map(|name| (name.to_owned(), shown(layout, &layout.index(plan, name))));
            inputs.samples.iter().enumerate().map(samples).chain(index).collect()
        }
    });
    board.expect(files);
}

fn task(layout: &Layout, spec: &EncodingSpec, target: &NanosetsTarget, rank: u32) -> Vec<(String, String)> {
    let prefix = target.prefix.as_deref();
    let step = if target.chunk_size.is_some() { names::Step::Chunks } else { names::Step::Documents };
    let data = layout.task(&match target.is_shuffled() {
        true => names::shuffled(target.names, prefix, rank, 0, step),
        false => names::unshuffled(prefix, rank),
    });
    let mut files = vec![("ds", data.clone()), ("index", index_path(&data))];
    if spec.kind == Kind::LossMask {
        files.push(("loss", loss_path(&data)));
    }
    files.push(("metadata", metadata_path(&data)));
    files.into_iter().map(|(end, path)| (name::task(rank, end), shown(layout, &path))).collect()
}

/// Lists the files that are ready for publication.
pub(super) fn complete(board: &OutputBoard, layout: &Layout, made: &[Vec<FinishedFile>]) {
    board.complete(made.iter().flatten().map(|made| (shown(layout, &made.target), made.bytes)));
}

/// Records what an unsuccessful run left for the next one.
pub(super) fn leave(board: &OutputBoard, layout: &Layout) {
    let folder = layout.own.path();
    if folder.is_dir() && !board.read().files.is_empty() {
        board.leave(LeftOver { folder: folder.to_owned(), bytes: bytes_in(folder) });
    }
}

/// Returns the bytes of the files in a folder and its subfolders; files that cannot be read are not counted.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let entries = WalkDir::new(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(|facts| facts.is_file()).map(|facts| facts.len()).sum()
}

/// Returns a path relative to the folder of the output.
fn shown(layout: &Layout, path: &Path) -> String {
    path.strip_prefix(layout.root()).unwrap_or(path).to_string_lossy().into_owned()
}
