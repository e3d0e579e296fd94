//! Requests for jobs, and the texts about their ends.

use super::screen::StartJob;
use super::view::RunTexts;
use super::{JobOutput, JobRequest};
use crate::tui::{recent, widgets::text};
use gristmill_core::options::Answer;
use gristmill_core::text::shell_quote;
use gristmill_core::{DedupPlan, PackPlan, PreparePlan};
use gristmill_ops::engine::plan::CommandLine;
use gristmill_ops::operations::{erase, AnyPlan, Dedup, Pack, Prepare};
use gristmill_ops::tokens::formats;
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn name_of(path: &Path) -> String {
    text::safe(&text::last_name(path))
}

/// Quotes a path as an argument that cannot be mistaken for a flag.
fn argument(path: &Path) -> String {
    let path = path.to_string_lossy();
    match path.starts_with('-') {
        true => shell_quote(&format!("./{path}")),
        false => shell_quote(&path),
    }
}

/// Returns a request with defaults: one screen to close, no output to view. Callers override other values.
fn order(crumb: &str, name: &str, words: RunTexts, command: CommandLine, start: StartJob) -> JobRequest {
    let crumbs = vec![crumb.to_owned(), name.to_owned()];
    JobRequest {
        crumbs,
        words,
        command,
        next: Vec::new(),
        start,
        depth: 1,
        browse: None,
        splits: None,
        overview: None,
        draft: None,
    }
}

/// Returns the texts about the end of `what`: its name followed by each ending.
fn run_texts(what: &str, [ready, done, idle]: [&str; 3], back: &'static str) -> RunTexts {
    let sentence = |ending: &str| format!("{what} {ending}");
    let (ready, done, idle) = (sentence(ready), sentence(done), sentence(idle));
    RunTexts { ready, done, idle, overview: "Overview", back, keeps_work: false }
}

/// Returns the request to index a JSONL file.
pub fn jsonl(path: &Path) -> JobRequest {
    lines(PreparePlan::new(path.to_string_lossy()), path)
}

/// Returns the request to index a copy of a JSONL file without its bad lines; without bad lines, the file itself is indexed.
pub fn jsonl_without_bad_lines(path: &Path) -> JobRequest {
    let plan = PreparePlan { skip_bad_lines: true, ..PreparePlan::new(path.to_string_lossy()) };
    lines(plan, path)
}

fn lines(plan: PreparePlan, path: &Path) -> JobRequest {
    JobRequest {
        next: vec![format!("To check it again: gristmill lint {}", argument(path))],
        ..of_file(plan, ["is ready to train on", "is indexed", "is already indexed"])
    }
}

/// Returns the request to check a metadataset with its members, and to index its joins.
pub fn metadataset(path: &Path) -> JobRequest {
    let ends = ["is ready to train on", "can be read", "is ready to train on; nothing was to be written"];
    JobRequest {
        next: vec![format!("Check the mixture: gristmill mix check {}", argument(path))],
        browse: None,
        ..of_file(PreparePlan::new(path.to_string_lossy()), ends)
    }
}

/// Returns the request to prepare a file, which needs no form.
fn of_file(plan: PreparePlan, ends: [&str; 3]) -> JobRequest {
    let name = name_of(Path::new(&plan.path));
    let words = run_texts(&name, ends, "the list");
    JobRequest { words, depth: 1, ..JobRequest::of_plan(&*erase::<Prepare>(plan)) }
}

/// Returns the request to pack tokens.
pub fn pack(plan: PackPlan) -> JobRequest {
    let path = PathBuf::from(&plan.output);
    let name = name_of(&path);
    // A single file without the usual extension is not recognized.
    let is_shown = !formats::has_single_files(&plan) || is_known(&plan);
    let outputs = if is_shown { formats::opened(&plan) } else { Vec::new() };
    let ends = ["is ready to train on", "is packed", "is already packed with this plan"];
    JobRequest {
        words: RunTexts { overview: "Files", keeps_work: true, ..run_texts(&name, ends, "the answers") },
        next: outputs.iter().map(|path| format!("To look at it: gristmill browse {}", argument(path))).collect(),
        browse: outputs.into_iter().next().map(JobOutput::Samples),
        ..JobRequest::of_plan(&*erase::<Pack>(plan))
    }
}

/// Whether the output of a plan for packed files only will be recognized: a `.pbin` file, or a folder of such files.
fn is_known(plan: &PackPlan) -> bool {
    let output = Path::new(&plan.output);
    if is_remote(output) {
        // The thread that draws must not query a store. The output of a single file is recognized by its extension.
        return output.extension().is_some_and(|end| end == "pbin");
    }
    let is_folder = |input: &String| !is_remote(Path::new(input)) && files::is_dir(input);
    let several = plan.inputs.len() > 1 || plan.inputs.iter().any(is_folder);
    // A folder that also holds other files is not recognized as packed tokens.
    let is_mixed = files::is_dir(output) && !formats::has_only_files_of(plan, output) && !is_empty(output);
    let is_folder = several || plan.paths_file.is_some() || plan.output.ends_with('/') || files::is_dir(output);
    !is_mixed && (is_folder || output.extension().is_some_and(|end| end == "pbin"))
}

fn is_empty(folder: &Path) -> bool {
    files::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the request to deduplicate.
pub fn dedup(plan: DedupPlan) -> JobRequest {
    let path = PathBuf::from(plan.visible_output());
    let ends = ["is deduplicated", "is deduplicated", "is already deduplicated with this plan"];
    let texts = run_texts(&name_of(&path), ends, "the answers");
    JobRequest {
        words: RunTexts { overview: "Report", keeps_work: true, ..texts },
        next: vec![format!("To make tokens of it: gristmill pack {}", argument(&path))],
        browse: plan.from_index.is_none().then(|| JobOutput::Repeats(Box::new(plan.clone()))),
        ..JobRequest::of_plan(&*erase::<Dedup>(plan))
    }
}

impl JobRequest {
    /// Returns the request to run the plan of an operation.
    pub fn of_plan(plan: &dyn AnyPlan) -> Self {
        let command = plan.operation().name();
        let (name, ends) = match plan.get("output") {
            Answer::Text(path) => (name_of(Path::new(&path)), ["is written", "is written", "was there already"]),
            _ => (text::safe(&plan.input_name()), ["is done", "is done", "was done already"]),
        };
        let subject = if ends[0] == "is done" { command } else { &name };
        let words = RunTexts { overview: "Report", ..run_texts(subject, ends, "the answers") };
        let shared: Arc<dyn AnyPlan> = Arc::from(plan.boxed_clone());
        let start: StartJob = Box::new(move |env| {
            shared.recent().iter().for_each(|path| recent::add(&env.state_dir, path));
            let options = match shared.operation().uses_spare_memory() {
                true => env.dedup_options(),
                false => env.options.clone(),
            };
            env.jobs.start_plan(Arc::clone(&shared), options)
        });
        let browse = plan.recent().map(JobOutput::Samples);
        Self { depth: 2, browse, ..order(command, &name, words, plan.command_line(), start) }
    }
}

/// Returns the texts about the end of writing a mixture index to `output`.
pub fn mixture_texts(output: &Path) -> RunTexts {
    run_texts(&name_of(output), ["is ready to train on", "is written", "was there already"], "the weights")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::pack::{MegatronTarget, ModalitiesTarget};

    fn browsable(inputs: &[&str], output: &Path) -> Vec<String> {
        let inputs = inputs.iter().map(|&input| input.into()).collect();
        let mut plan = PackPlan::new(inputs, "t.json", output.to_string_lossy());
        plan.modalities = Some(ModalitiesTarget::default());
        let order = pack(plan);
        assert_eq!(order.browse.is_some(), !order.next.is_empty());
        order.next
    }

    #[test]
    fn next_command_after_megatron_pack_has_pair_prefix() {
        let mut plan = PackPlan::new(vec!["a.jsonl".into()], "t.json", "s3://b/web");
        plan.megatron = Some(MegatronTarget::default());
        assert_eq!(pack(plan.clone()).next, ["To look at it: gristmill browse s3://b/web_text_document"]);
        plan.output = "web/".to_owned();
        assert_eq!(pack(plan.clone()).next, ["To look at it: gristmill browse web/text_document"]);
        plan.modalities = Some(ModalitiesTarget::default());
        let both =
            ["web/modalities", "web/megatron/text_document"].map(|at| format!("To look at it: gristmill browse {at}"));
        assert_eq!(pack(plan).next, both);
    }

    #[test]
    fn next_command_after_modalities_pack_names_file_or_folder() {
        let dir = tempfile::tempdir().unwrap();
        let look = |path: &Path| vec![format!("To look at it: gristmill browse {}", path.display())];
        let folder = dir.path().join("tokens");
        assert_eq!(browsable(&["a.jsonl", "b.jsonl"], &folder), look(&folder));
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(browsable(&["a.jsonl"], &folder), look(&folder));
        std::fs::create_dir(folder.join("others")).unwrap();
        assert!(browsable(&["a.jsonl"], &folder).is_empty(), "they are not known among others");
        let file = dir.path().join("a.pbin");
        assert_eq!(browsable(&["a.jsonl"], &file), look(&file));
        assert!(browsable(&["a.jsonl"], &dir.path().join("a.tokens")).is_empty());
    }
}
