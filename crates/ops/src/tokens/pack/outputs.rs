//! Updates the list of output files that a front end shows.

use super::super::spools::SpoolSet;
use super::inputs::Inputs;
use super::layout::Layout;
use crate::job::outputs::{LeftoverWork, OutputBoard};
use crate::job::publish::FinishedFile;
use crate::job::task::TaskContext;
use crate::tokens::encode::EncodingSpec;
use gristmill_storage::files;
use gristmill_storage::walk::Walk;
use std::path::Path;

/// Lists the files that a plan writes, with their spools. Starts to upload the spools that become files unchanged.
pub(super) fn expect(context: &TaskContext, layout: &Layout, inputs: &Inputs, specs: &[EncodingSpec]) {
    for (spec, output) in specs.iter().zip(&inputs.outputs) {
        for (spool, path) in output.files().into_iter().filter(|(spool, _)| !output.spool_options(spool).is_reread) {
            context.uploads.add(layout.spools().join(spec.format).join(spool), path);
        }
    }
    context.outputs.expect(specs.iter().zip(&inputs.outputs).flat_map(|(spec, output)| {
        let file = |(spool, path): (String, _)| (SpoolSet::key(spec.format, &spool), layout.shown(Path::new(&path)));
        output.files().into_iter().map(file).collect::<Vec<_>>()
    }));
}

/// Lists the files that are ready for publication.
pub(super) fn complete(board: &OutputBoard, layout: &Layout, made: &[Vec<FinishedFile>]) {
    board.complete(made.iter().flatten().map(|made| (layout.shown(&made.target), made.bytes)));
}

/// Records the files that a stopped or failed run keeps for the next run.
pub(super) fn record_leftovers(board: &OutputBoard, layout: &Layout) {
    let folder = layout.run_folder.path();
    if files::is_dir(folder) && !board.read().files.is_empty() {
        board.record_leftovers(LeftoverWork { folder: folder.to_owned(), bytes: bytes_in(folder) });
    }
}

/// Returns the total size of the files in a folder and its subfolders, in bytes. Ignores files that cannot be read.
pub(super) fn bytes_in(folder: &Path) -> u64 {
    let entries = Walk::new(folder).keep_links().into_iter().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(|facts| facts.is_file()).map(|facts| facts.len()).sum()
}
