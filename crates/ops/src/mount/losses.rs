//! Samples that turn out to be damaged when they are first listed or opened in a mount. Their data is not examined before.

use gristmill_core::{Mutex, Problem, ProblemKind, Subject};
use std::sync::Arc;

/// Maximum number of listed problems of samples.
pub(super) const MAX_LISTED_LOSSES: usize = 100;

/// The reasons for which samples of a mounted data set cannot be read, each once for each file. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct ReadLosses(Arc<Mutex<Vec<Loss>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Loss {
    group: Arc<str>,
    why: Arc<str>,
    /// Whether the samples are shown as files that cannot be read.
    is_shown: bool,
}

impl ReadLosses {
    /// Adds a reason for which a sample of a group cannot be read, and writes it into the log if it is new. Reasons beyond the limit are only
    /// in the log.
    pub(super) fn add(&self, group: Arc<str>, why: &str, is_shown: bool) {
        let mut known = self.0.lock();
        let loss = Loss { group, why: Arc::from(why), is_shown };
        if known.contains(&loss) {
            return;
        }
        tracing::warn!("{}", loss.problem());
        if known.len() < MAX_LISTED_LOSSES {
            known.push(loss);
        }
    }

    /// Returns a problem for each reason, except those that are in the `reported` ones.
    pub fn problems(&self, reported: &[Problem]) -> Vec<Problem> {
        let known = self.0.lock().clone();
        let is_new = |loss: &Loss| !reported.iter().any(|problem| problem.message.contains(&*loss.why));
        known.iter().filter(|loss| is_new(loss)).map(Loss::problem).collect()
    }
}

impl Loss {
    fn problem(&self) -> Problem {
        let effect = if self.is_shown { "cannot be read" } else { "are not shown" };
        let message = format!("{}; samples that need it {effect}", self.why);
        Problem::problem(ProblemKind::Unreadable, Subject::shard(&*self.group), message)
    }
}
