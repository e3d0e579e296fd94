//! Keys that sign requests, and their renewal.

use super::super::secret::Secret;
use gristmill_core::{Mutex, Outcome};
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Time before their expiry at which keys are renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(300);
/// Maximum time between searches for keys that replace valid ones.
const MAX_BETWEEN_SEARCHES: Duration = Duration::from_secs(30);

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

    /// Returns the time between searches for other keys while these are valid: the source may have no newer ones yet, or not answer.
    fn time_between_searches(&self) -> Duration {
        let left = self.expires.and_then(|expires| expires.duration_since(SystemTime::now()).ok());
        MAX_BETWEEN_SEARCHES.min(left.unwrap_or_default() / 2)
    }

    fn ends_within(&self, time: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + time)
    }
}

/// A search for keys in progress.
pub(in crate::remote) type KeysFuture<'a> = Pin<Box<dyn Future<Output = Outcome<Option<Keys>>> + Send + 'a>>;

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
    /// Locked during a search. The time at which the last one began.
    search: tokio::sync::Mutex<Option<Instant>>,
}

impl CurrentKeys {
    pub(in crate::remote) fn new(finder: Box<dyn FindKeys>, is_anonymous: bool) -> Self {
        Self { finder, is_anonymous, current: Mutex::default(), search: tokio::sync::Mutex::default() }
    }

    /// Returns the known keys unless they expire within this time.
    fn known(&self, time: Duration) -> Option<Option<Arc<Keys>>> {
        self.current.lock().clone().filter(|keys| !keys.as_ref().is_some_and(|keys| keys.ends_within(time)))
    }

    /// Returns the keys; `None` if no source has any. One caller renews them before they expire; until then, the others use the present
    /// ones.
    pub(in crate::remote) async fn get(&self) -> Outcome<Option<Arc<Keys>>> {
        if self.is_anonymous {
            return Ok(None);
        }
        if let Some(keys) = self.known(RENEWED_BEFORE) {
            return Ok(keys);
        }
        let Some(Some(valid)) = self.known(Duration::ZERO) else {
            let mut searched = self.search.lock().await;
            // Another caller may have found keys.
            if let Some(keys) = self.known(Duration::ZERO) {
                return Ok(keys);
            }
            *searched = Some(Instant::now());
            return self.find().await;
        };
        let Ok(mut searched) = self.search.try_lock() else { return Ok(Some(valid)) };
        if searched.is_some_and(|at| at.elapsed() < valid.time_between_searches()) {
            return Ok(Some(valid));
        }
        *searched = Some(Instant::now());
        match self.find().await {
            Ok(Some(keys)) => Ok(Some(keys)),
            // A source that had keys may only be slow to answer.
            Err(_) | Ok(None) if !valid.ends_within(Duration::ZERO) => Ok(Some(valid)),
            found => found,
        }
    }

    /// Searches keys, and replaces the known ones, unless there are none to replace them.
    async fn find(&self) -> Outcome<Option<Arc<Keys>>> {
        let found = self.finder.find().await?.map(Arc::new);
        let mut current = self.current.lock();
        let has_valid = matches!(&*current, Some(Some(keys)) if !keys.ends_within(Duration::ZERO));
        if found.is_some() || !has_valid {
            *current = Some(found.clone());
        }
        Ok(found)
    }

    /// Discards keys that the store no longer accepts.
    pub(in crate::remote) fn forget(&self, refused: &Keys) {
        let mut current = self.current.lock();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Finds keys that expire after a time, then none.
    struct Source {
        lifetime: Duration,
        searches: Arc<AtomicUsize>,
    }

    impl FindKeys for Source {
        fn find(&self) -> KeysFuture<'_> {
            let number = self.searches.fetch_add(1, Ordering::Relaxed);
            let keys = Keys {
                id: "id".to_owned(),
                secret: Secret::new("secret"),
                token: None,
                expires: Some(SystemTime::now() + self.lifetime),
                source: "a test".to_owned(),
            };
            Box::pin(async move {
                match number {
                    0 => Ok(Some(keys)),
                    _ => Err(gristmill_core::Failure::environment("looking for keys", "no answer")),
                }
            })
        }
    }

    #[test]
    fn valid_keys_are_not_searched_again_for_each_request() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (lifetime, expected) in [(600, 1), (240, 2)] {
            let searches = Arc::new(AtomicUsize::new(0));
            let source = Source { lifetime: Duration::from_secs(lifetime), searches: Arc::clone(&searches) };
            let keys = CurrentKeys::new(Box::new(source), false);
            let first = runtime.block_on(keys.get()).unwrap().unwrap();
            // The first search began just now.
            keys.search.try_lock().unwrap().take();
            for _ in 0..5 {
                assert_eq!(runtime.block_on(keys.get()).unwrap().unwrap().expires, first.expires);
            }
            assert_eq!(searches.load(Ordering::Relaxed), expected, "{lifetime}");
            keys.forget(&first);
            assert!(runtime.block_on(keys.get()).is_err());
        }
    }

    #[test]
    fn requests_use_valid_keys_during_a_search() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let source = Source { lifetime: Duration::from_secs(60), searches: Arc::default() };
        let keys = CurrentKeys::new(Box::new(source), false);
        runtime.block_on(keys.get()).unwrap();
        let searching = keys.search.try_lock().unwrap();
        assert!(runtime.block_on(keys.get()).unwrap().is_some(), "it does not wait");
        drop(searching);
    }
}
