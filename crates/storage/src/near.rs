//! Suggests names that exist in a store and are similar to a missing one.

use super::files::first_entries;
use super::location::RemoteUrl;
use super::store::{NO_BUCKET, NO_CONTAINER};
use super::stores;
use gristmill_core::did_you_mean::nearest;
use gristmill_core::{ExitClass, Failure};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Maximum number of names that are compared.
const MAX_NAMES: usize = 1000;

/// Time limit for the suggestion: the failure must not be delayed for long.
const MAX_SUGGESTION_TIME: Duration = Duration::from_secs(2);

/// Adds the most similar existing address to the hint of a failure about an address that does not exist. Queries the store, if it permits
/// listing.
pub fn with_near_address(failure: Failure) -> Failure {
    // Some commands report a missing name as a usage failure.
    let is_missing = Failure { class: ExitClass::Environment, ..failure.clone() }.is_missing();
    let is_missing = is_missing || [NO_BUCKET, NO_CONTAINER].contains(&failure.why.as_str());
    let path = failure.subject.path.clone().filter(|_| is_missing);
    match path.and_then(|path| in_time(MAX_SUGGESTION_TIME, move || hint_about(Path::new(&path)))) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Returns the result of a function, or `None` after a time limit; the function then continues in the background.
fn in_time<T: Send + 'static>(time: Duration, find: impl FnOnce() -> Option<T> + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let search = std::thread::Builder::new().name("near-names".to_owned());
    search.spawn(move || _ = sender.send(find())).ok()?;
    receiver.recv_timeout(time).ok().flatten()
}

/// Returns a hint about a missing address.
fn hint_about(path: &Path) -> Option<String> {
    let url = RemoteUrl::parse(path)?;
    // If the buckets cannot be listed, this one may exist.
    let buckets = stores::buckets(url.scheme).unwrap_or_default();
    if !buckets.is_empty() && buckets.len() <= MAX_NAMES && !buckets.iter().any(|name| name == url.bucket) {
        let near = nearest(url.bucket, buckets.iter().map(String::as_str))?;
        // Whether that bucket has the key is unknown.
        return Some(there_is(&RemoteUrl { bucket: near, key: "", ..url }.to_path()));
    }
    let folder = path.parent().filter(|folder| RemoteUrl::parse(folder).is_some_and(|url| !url.bucket.is_empty()))?;
    let entries = first_entries(folder, MAX_NAMES).ok()?;
    let name = path.file_name()?.to_str()?;
    let names = || entries.iter().filter_map(|entry| entry.file_name().to_str());
    if names().any(|other| other == name) {
        return Some("it is listed, so it was removed a moment ago: run the same command again".to_owned());
    }
    let near = nearest(name, names())?;
    Some(there_is(&folder.join(near)))
}

fn there_is(address: &Path) -> String {
    format!("there is {}", address.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_store::put;
    use std::io::ErrorKind;

    #[test]
    fn store_lookup_does_not_wait_beyond_its_time_limit() {
        let (end, ended) = mpsc::channel::<()>();
        assert_eq!(in_time(Duration::ZERO, move || ended.recv().ok()), None);
        drop(end);
        assert_eq!(in_time(Duration::from_secs(60), || Some(1)), Some(1));
        assert_eq!(in_time(Duration::from_secs(60), || None::<u8>), None);
    }

    #[test]
    fn missing_address_is_reported_with_the_nearest_existing_address() {
        put(Path::new("mem://near-names/coco/a.tar"), b"");
        put(Path::new("mem://near-names/web.jsonl"), b"");
        let hint = |path: &str| with_near_address(Failure::io("opening", path, &ErrorKind::NotFound.into())).hint;
        assert_eq!(hint("mem://near-names/coca").unwrap(), "there is mem://near-names/coco");
        assert_eq!(hint("mem://near-names/coco/b.tar").unwrap(), "there is mem://near-names/coco/a.tar");
        assert_eq!(hint("mem://near-name/coco").unwrap(), "there is mem://near-names");
        put(Path::new("mem://near-names/listed"), b"");
        assert!(hint("mem://near-names/listed").unwrap().contains("removed a moment ago"));
        for far in ["mem://near-names/other", "mem://near-names/none/a", "/near-names/coca"] {
            assert_eq!(hint(far), None, "{far}");
        }
        let other = Failure::environment("opening", "it is archived")
            .on(gristmill_core::Subject::path("mem://near-names/coca"));
        assert_eq!(with_near_address(other).hint, None);
    }
}
