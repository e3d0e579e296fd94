//! Samples that turn out to be damaged when they are first listed or opened in a mount. Their data is not examined before.

use gristmill_core::{Mutex, Problem, ProblemKind, Subject};
use std::sync::Arc;

/// Maximum number of listed problems of samples.
pub(super) const MAX_LISTED_LOSSES: usize = 100;

/// The reasons for which samples of a mounted data set are not shown, each once for each file. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ReadLosses(Arc<Mutex<Vec<Loss>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    group: Arc<str>,
    why: Arc<str>,
}

impl ReadLosses {
    /// Adds a reason for which a sample of a group is not shown. Reasons beyond the limit are discarded; the log has all of them.
    pub(super) fn add(&self, group: Arc<str>, why: &str) {
        let mut known = self.0.lock();
        let loss = Loss { group, why: Arc::from(why) };
        if known.len() < MAX_LISTED_LOSSES && !known.contains(&loss) {
            known.push(loss);
        }
    }

    /// Returns a problem for each reason, except those that are in the `reported` ones.
    pub fn problems(&self, reported: &[Problem]) -> Vec<Problem> {
        let known = self.0.lock().clone();
        let is_new = |loss: &Loss| !reported.iter().any(|problem| problem.message.contains(&*loss.why));
        let problem = |loss: Loss| {
            let message = format!("{}; samples that need it are not shown", loss.why);
            Problem::problem(ProblemKind::Unreadable, Subject::shard(&*loss.group), message)
        };
        known.into_iter().filter(is_new).map(problem).collect()
    }
}
