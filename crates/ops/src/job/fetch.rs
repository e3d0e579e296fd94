//! Inputs that are data sets of the hub, which are downloaded into its cache before they are read.

use super::task::TaskContext;
use gristmill_core::{Failure, Outcome};
use gristmill_data::source::documents::{HubSnapshot, InputRules, Selection};
use gristmill_storage::remote::is_hub_url;
use std::path::PathBuf;

/// The inputs to fetch, and how they are read.
#[cfg_attr(not(feature = "remote"), expect(dead_code, reason = "without the feature addresses are refused"))]
pub(crate) struct FetchRequest<'a> {
    /// Addresses of the hub, and other paths, which are ignored.
    pub(crate) inputs: &'a [PathBuf],
    /// The selection of the files that are read.
    pub(crate) selection: Selection<'a>,
    /// Rules for the files that the operation reads.
    pub(crate) rules: &'a [&'static InputRules],
    /// Estimated time to process a byte after the download, in seconds.
    pub(crate) byte_cost: f64,
    /// Whether files are only previewed: files that are not in the cache are then read by ranges instead of downloaded.
    pub(crate) is_preview: bool,
}

/// Downloads the files of the hub that are not in the cache, or only lists them for a preview. From then on, problems name these files by
/// their addresses.
///
/// # Errors
/// An address is invalid, the hub refuses the request or cannot be reached, a data set has no data, or the disk is full.
pub(crate) fn fetch(request: &FetchRequest<'_>, context: &TaskContext) -> Outcome<Vec<HubSnapshot>> {
    let inputs = request.inputs.iter().filter_map(|input| input.to_str());
    let inputs: Vec<&str> = inputs.filter(|input| is_hub_url(input)).collect();
    if inputs.is_empty() {
        return Ok(Vec::new());
    }
    let selection = request.selection;
    if selection.paths_file.is_some() {
        return Err(Failure::usage("looking for text files", "with --paths-file the input is a local folder")
            .with_hint("--glob selects files of a data set of the hub"));
    }
    if request.inputs.len() > 1 && (selection.split.is_some() || selection.subset.is_some()) {
        let option = if selection.split.is_some() { "--split" } else { "--subset" };
        return Err(Failure::usage("looking for splits", "a split or subset is of one data set")
            .on(gristmill_core::Subject::field(option))
            .with_hint("give each data set a run of its own"));
    }
    fetch_all(request, &inputs, context)
}

#[cfg(not(feature = "remote"))]
fn fetch_all(_: &FetchRequest<'_>, inputs: &[&str], _: &TaskContext) -> Outcome<Vec<HubSnapshot>> {
    use gristmill_core::Subject;
    Err(Failure::usage("opening the data set", "this build has no feature `remote`, which reads the hub")
        .on(inputs.first().map_or_else(Subject::default, Subject::path))
        .with_hint("download the data set, and give the local folder"))
}

#[cfg(feature = "remote")]
use hub::fetch_all;

#[cfg(feature = "remote")]
mod hub {
    use super::*;
    use crate::job::job_progress::Forecast;
    use crate::job::Phase;
    use gristmill_core::text::{bytes, count};
    use gristmill_core::{ProblemSink as _, Subject};
    use gristmill_storage::read::read_whole;
    use gristmill_storage::remote::{Hub, HubSettings, RepositoryFile, RepositoryUrl, Revision, Transfer};
    use std::collections::HashSet;

    /// Name of this step in errors.
    const ACTIVITY: &str = "looking for text files";
    /// Limit of the size of a file that describes the data set, in bytes.
    const MAX_CARD_BYTES: u64 = 16 << 20;
    /// Seconds to download a byte, on a typical connection.
    const BYTE_DOWNLOADED: f64 = 2e-8;

    pub(super) fn fetch_all(
        request: &FetchRequest<'_>,
        inputs: &[&str],
        context: &TaskContext,
    ) -> Outcome<Vec<HubSnapshot>> {
        let hub = Hub::open(HubSettings::from_env()?, &*context.fs)?;
        inputs.iter().map(|input| fetch_one(&hub, request, input, context)).collect()
    }

    fn fetch_one(
        hub: &Hub<'_>,
        request: &FetchRequest<'_>,
        input: &str,
        context: &TaskContext,
    ) -> Outcome<HubSnapshot> {
        let url = RepositoryUrl::parse(input)?;
        context.log(format!("listing the files of {input}"));
        let revision = hub.revision(&url, &context.cancel)?;
        let mut snapshot = listed(input, &url, &revision);
        let base = base_of(&url, snapshot.is_file);
        let transfer = Transfer { progress: &context.progress, cancel: &context.cancel };
        let selection = request.selection;
        let needs_card = selection.split.is_some() || selection.glob.is_none() && !selection.all_splits;
        if !snapshot.is_file && needs_card {
            (snapshot.readme, snapshot.settings) = card(hub, &url, &revision, &base, transfer)?;
        }
        let mut chosen: HashSet<String> = HashSet::new();
        match snapshot.split_files(selection)? {
            Some(files) => chosen.extend(files),
            None => {
                for rules in request.rules {
                    chosen.extend(snapshot.chosen(selection, rules)?.into_iter().map(str::to_owned));
                }
            }
        }
        let is_chosen = |file: &&RepositoryFile| chosen.contains(relative(&file.path, &base));
        let files: Vec<RepositoryFile> = revision.files.iter().filter(is_chosen).cloned().collect();
        if files.is_empty() {
            return Err(no_data(hub, selection, &url, context));
        }
        let folder = match request.is_preview && hub.makes_requests() && !hub.has(&url, &revision.commit, &files) {
            true => PathBuf::from(url.at_revision(&revision.commit)),
            false => {
                let total: u64 = files.iter().map(|file| file.size).fold(0, u64::saturating_add);
                let forecast = Forecast::new(total as f64 * BYTE_DOWNLOADED, total as f64 * request.byte_cost);
                let line = format!("downloading {} ({}) of {input}", count(files.len() as u64, "file"), bytes(total));
                context.stage(Phase::Download, Phase::Download.item(), forecast, line);
                hub.fetch(&url, &revision.commit, &files, transfer)?
            }
        };
        let address = url.of_file("");
        context.problems.rename_folder(folder.to_string_lossy(), address.trim_end_matches('/'));
        snapshot.address = url.of_file(&base).trim_end_matches('/').to_owned();
        snapshot.folder = if base.is_empty() { folder } else { folder.join(base) };
        let mut losses = revision.losses(input, files.iter()).into_iter();
        losses.try_for_each(|problem| context.problems.report(problem))?;
        Ok(snapshot)
    }

    fn listed(input: &str, url: &RepositoryUrl, revision: &Revision) -> HubSnapshot {
        let is_file = matches!(revision.files.as_slice(), [file] if file.path == url.path);
        let base = base_of(url, is_file);
        let files = revision.files.iter().map(|file| (relative(&file.path, &base).to_owned(), file.size)).collect();
        HubSnapshot { input: input.to_owned(), files, is_file, ..HubSnapshot::default() }
    }

    /// Returns the files that describe the splits of a data set: `README.md` and `.huggingface.yaml`.
    fn card(
        hub: &Hub<'_>,
        url: &RepositoryUrl,
        revision: &Revision,
        base: &str,
        transfer: Transfer<'_>,
    ) -> Outcome<(Option<String>, Option<String>)> {
        let text = |name: &str| -> Outcome<Option<String>> {
            let file = revision.files.iter().find(|file| relative(&file.path, base) == name);
            let Some(file) = file else { return Ok(None) };
            if file.size > MAX_CARD_BYTES {
                return Err(Failure::data(ACTIVITY, format!("{name} of the data set has more than 16 MiB"))
                    .on(Subject::path(url.of_file(&file.path)))
                    .with_hint("select files with --glob"));
            }
            let folder = match hub.fetch(url, &revision.commit, std::slice::from_ref(file), transfer) {
                // Other tools may have downloaded only the data, in which case it is unknown whether splits are described.
                Err(_) if !hub.makes_requests() && !revision.is_whole => return Ok(None),
                folder => folder?,
            };
            let bytes = read_whole(&folder.join(&file.path), MAX_CARD_BYTES)?;
            Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        Ok((text("README.md")?, text(".huggingface.yaml")?))
    }

    /// Returns the folder in the repository to which names are relative.
    fn base_of(url: &RepositoryUrl, is_file: bool) -> String {
        match is_file {
            true => url.path.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default(),
            false => url.path.clone(),
        }
    }

    fn relative<'p>(path: &'p str, base: &str) -> &'p str {
        path.strip_prefix(base).map_or(path, |rest| rest.strip_prefix('/').unwrap_or(rest))
    }

    fn no_data(hub: &Hub<'_>, selection: Selection<'_>, url: &RepositoryUrl, context: &TaskContext) -> Failure {
        let failure = |why: &str| Failure::usage(ACTIVITY, why).on(Subject::path(url.of_file(&url.path)));
        if selection.glob.is_some() {
            return failure("--glob fits no file")
                .with_hint("* stays within a folder: **/*.parquet looks into all of them");
        }
        let failure = failure("the data set has no file of documents: JSON lines (.jsonl) or rows of a table");
        let address = url.at_revision("refs/convert/parquet");
        match hub.converted(url, &context.cancel) {
            Some(false) => failure.with_hint(format!("the hub has converted it: {address}")),
            Some(true) => failure.with_hint(format!("the hub has converted a part of it: {address}")),
            None => failure.with_hint("say which files to read with --glob"),
        }
    }
}
