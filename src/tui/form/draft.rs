//! The draft of a form: its answers in the state folder until they are run.

use super::guide::Guide;
use super::state::Form;
use crate::tui::drafts;
use crate::tui::screen::UiEnv;
use crate::tui::work::LatestWorker;
use gristmill_core::Mutex;
use gristmill_ops::operations::{read_plan, AnyPlan};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Maximum size of a draft: this program writes no larger ones.
const MAX_DRAFT_BYTES: u64 = 64 << 20;
/// Prefix of the line with typed answers that are not in the plan.
const UNCHOSEN: &str = "# unchosen: ";

/// The content of a draft.
pub(super) struct Draft {
    pub(super) plan: Box<dyn AnyPlan>,
    pub(super) step: String,
    pub(super) age: Duration,
    /// Typed answers that are not in the plan, in the format of the guide.
    pub(super) unchosen: String,
}

/// Answers to be saved. A request with a higher number is newer.
struct Request {
    number: u64,
    step: &'static str,
    answers: String,
}

/// The file of a draft. While the form is open, a worker writes it, because the disk may be slow.
pub(super) struct DraftFile {
    place: PathBuf,
    next: u64,
    /// The number of the newest request carried out; older requests that are carried out later have no effect.
    newest: Arc<Mutex<u64>>,
    worker: LatestWorker<Request, ()>,
}

impl DraftFile {
    /// Returns the file for a kind of draft and the paths that the draft belongs to.
    pub(super) fn new(kind: &str, sources: &[PathBuf], env: &UiEnv) -> Self {
        let place = drafts::place(&env.state_dir, kind, sources.iter().map(PathBuf::as_path));
        let newest = Arc::new(Mutex::new(0));
        let (of_worker, path) = (Arc::clone(&newest), place.clone());
        let worker = LatestWorker::start("draft", env.wake.clone(), move |request| save(&path, &request, &of_worker));
        Self { place, next: 0, newest, worker }
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.place
    }

    /// Reads the draft of an operation, if there is one.
    pub(super) fn load(&self, operation: &str) -> Option<Draft> {
        let saved = drafts::load(&self.place, MAX_DRAFT_BYTES)?;
        let divided = saved.answers.strip_prefix(UNCHOSEN).and_then(|rest| rest.split_once('\n'));
        let (unchosen, text) = divided.unwrap_or(("", &saved.answers));
        let plan = read_plan(text).ok().filter(|plan| plan.operation().name() == operation)?;
        Some(Draft { plan, step: saved.step, age: saved.age, unchosen: unchosen.to_owned() })
    }

    /// Saves the answers of a form on this thread.
    pub(super) fn save(&mut self, form: &Form, guide: &dyn Guide) {
        if let Some(request) = self.request(form, guide) {
            save(&self.place, &request, &self.newest);
        }
    }

    /// Saves the answers of a form in the background.
    pub(super) fn save_later(&mut self, form: &Form, guide: &dyn Guide) {
        if let Some(request) = self.request(form, guide) {
            self.worker.submit(request);
        }
    }

    /// Deletes the file, and discards the pending requests to save answers.
    pub(super) fn delete(&mut self) {
        self.next += 1;
        *self.newest.lock() = self.next;
        drafts::delete(&self.place);
    }

    fn request(&mut self, form: &Form, guide: &dyn Guide) -> Option<Request> {
        self.next += 1;
        let unchosen = guide.unchosen().map(|line| format!("{UNCHOSEN}{line}\n")).unwrap_or_default();
        let plan = form.plan().to_yaml();
        let plan = plan.map_err(|failure| tracing::warn!(%failure, "the draft could not be created")).ok()?;
        Some(Request { number: self.next, step: form.step_id(), answers: unchosen + &plan })
    }
}

/// Carries out a request, unless a newer one has been carried out.
fn save(place: &Path, request: &Request, newest: &Mutex<u64>) {
    let mut newest = newest.lock();
    if request.number <= *newest {
        return;
    }
    *newest = request.number;
    if let Err(failure) = drafts::save(place, request.step, &request.answers) {
        tracing::warn!(%failure, "the draft could not be saved");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_draft_request_does_not_replace_newer_draft() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("draft.yaml");
        let newest = Mutex::new(0);
        let request = |number, answers: &str| Request { number, step: "source", answers: answers.to_owned() };
        save(&place, &request(2, "newer"), &newest);
        save(&place, &request(1, "older"), &newest);
        assert_eq!(drafts::load(&place, 99).unwrap().answers, "newer");
        // As if request 3 had deleted the draft.
        *newest.lock() = 3;
        drafts::delete(&place);
        save(&place, &request(2, "newer"), &newest);
        assert!(!place.exists());
    }
}
