//! Keys that sign requests, and their renewal.

use super::super::secret::Secret;
use gristmill_core::Outcome;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

/// Time before their expiry at which keys are renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);

/// Keys that sign requests.
#[derive(Clone, Debug)]
pub(in crate::remote) struct Keys {
    pub(in crate::remote) id: String,
    pub(in crate::remote) secret: Secret,
    pub(in crate::remote) token: Option<Secret>,
    /// Time of their expiry.
    pub(in crate::remote) expires: Option<SystemTime>,
    /// Source of the keys, for messages.
    pub(in crate::remote) source: String,
}

impl Keys {
    /// Returns the last characters of the id, by which users recognize a key.
    pub(in crate::remote) fn id_end(&self) -> String {
        let id: Vec<char> = self.id.chars().collect();
        format!("…{}", id[id.len().saturating_sub(4)..].iter().collect::<String>())
    }

    fn ends_within(&self, time: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + time)
    }
}

/// A search for keys in progress.
pub(in crate::remote) type KeysFuture<'a> = Pin<Box<dyn Future<Output = Outcome<Option<Keys>>> + Send + 'a>>;

/// Finds keys.
pub(in crate::remote) trait FindKeys: Send + Sync {
    /// Returns keys; `None` if no source has any.
    fn find(&self) -> KeysFuture<'_>;
}

/// The keys in use.
pub(in crate::remote) struct CurrentKeys {
    finder: Box<dyn FindKeys>,
    /// Whether requests are not signed.
    is_anonymous: bool,
    /// `None` before the first search; `Some(None)` if there are no keys.
    current: Mutex<Option<Option<Arc<Keys>>>>,
}

impl CurrentKeys {
    pub(in crate::remote) fn new(finder: Box<dyn FindKeys>, is_anonymous: bool) -> Self {
        Self { finder, is_anonymous, current: Mutex::new(None) }
    }

    /// Returns the keys; `None` if no source has any. One caller renews them, and the others wait for the result.
    pub(in crate::remote) async fn get(&self) -> Outcome<Option<Arc<Keys>>> {
        if self.is_anonymous {
            return Ok(None);
        }
        let mut current = self.current.lock().await;
        if let Some(keys) = current.as_ref() {
            if !keys.as_ref().is_some_and(|keys| keys.ends_within(RENEWED_BEFORE)) {
                return Ok(keys.clone());
            }
        }
        match (self.finder.find().await, current.as_ref()) {
            // Keys that are still valid are used, even if there will be no new ones. A source that had keys may only be slow to answer.
            (Err(_) | Ok(None), Some(Some(keys))) if !keys.ends_within(Duration::ZERO) => Ok(Some(Arc::clone(keys))),
            (Ok(keys), _) => Ok(current.insert(keys.map(Arc::new)).clone()),
            (Err(failure), _) => Err(failure),
        }
    }

    /// Discards keys that the store no longer accepts.
    pub(in crate::remote) async fn forget(&self, refused: &Keys) {
        let mut current = self.current.lock().await;
        // Tokens have no id.
        let is_same =
            |keys: &Keys| (&keys.id, &keys.token, &keys.secret) == (&refused.id, &refused.token, &refused.secret);
        if matches!(&*current, Some(Some(keys)) if is_same(keys)) {
            *current = None;
        }
    }
}

/// Configured keys, which replace the search for keys.
#[derive(Clone, Debug)]
pub(in crate::remote) enum GivenKeys {
    None,
    Fixed(Keys),
    /// A file with keys in the format of `credential_process`, which another program renews.
    File(PathBuf),
}
