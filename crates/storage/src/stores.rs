//! Selects the store of an address, and its functions that need no connection.

use super::location::RemoteUrl;
#[cfg(any(test, feature = "testing"))]
use super::memory_store;
#[cfg(feature = "remote")]
use super::remote::{az, gs, hf, msc, s3, web};
use super::scheme::{Scheme, StoreKind};
use super::store::{unlisted_buckets, Store};
use gristmill_core::{Failure, Mutex, Outcome};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The functions of a kind of store that need no connection.
struct StoreFunctions {
    /// Checks an address as the user typed it, and returns its canonical path.
    check_address: fn(&str) -> Outcome<String>,
    /// Lists the names of the buckets, or of their counterparts in addresses, if the scheme has lists.
    buckets: fn() -> io::Result<Vec<String>>,
    /// Whether an address is a whole bucket, next to which no object can be put.
    is_bucket: fn(&RemoteUrl<'_>) -> bool,
    /// Connects to the store of an address. Makes no request.
    open: fn(&RemoteUrl<'_>) -> Outcome<Arc<dyn Store>>,
}

impl StoreFunctions {
    /// Returns the functions of a store whose buckets cannot be listed.
    #[cfg(any(test, feature = "testing", feature = "remote"))]
    fn new(check_address: fn(&str) -> Outcome<String>, open: fn(&RemoteUrl<'_>) -> Outcome<Arc<dyn Store>>) -> Self {
        let buckets = || Err(unlisted_buckets().into_io());
        Self { check_address, buckets, is_bucket: |url| url.key.is_empty(), open }
    }
}

fn functions_of(kind: StoreKind) -> StoreFunctions {
    match kind {
        #[cfg(any(test, feature = "testing"))]
        StoreKind::Memory => StoreFunctions {
            buckets: memory_store::buckets,
            ..StoreFunctions::new(super::location::check_object_address, memory_store::open)
        },
        #[cfg(feature = "remote")]
        StoreKind::S3 => StoreFunctions { buckets: s3::buckets, ..StoreFunctions::new(msc::check_mapped, s3::open) },
        #[cfg(feature = "remote")]
        StoreKind::Google => StoreFunctions::new(msc::check_mapped, gs::open),
        #[cfg(feature = "remote")]
        StoreKind::Azure => StoreFunctions {
            buckets: az::buckets,
            ..StoreFunctions::new(|text| az::check(text, msc::check_mapped), az::open)
        },
        #[cfg(feature = "remote")]
        StoreKind::Msc => StoreFunctions {
            buckets: msc::buckets,
            is_bucket: msc::is_bucket,
            ..StoreFunctions::new(msc::check, msc::open)
        },
        #[cfg(feature = "remote")]
        StoreKind::Web => StoreFunctions::new(web::check, web::open),
        #[cfg(feature = "remote")]
        StoreKind::Hub => StoreFunctions::new(hf::check, hf::open),
    }
}

/// Returns the store of an address, which is opened once per run.
pub fn store_of(url: &RemoteUrl<'_>) -> io::Result<Arc<dyn Store>> {
    type Stores = Mutex<HashMap<(&'static str, String), Arc<dyn Store>>>;
    static STORES: std::sync::LazyLock<Stores> = std::sync::LazyLock::new(Mutex::default);
    let mut stores = STORES.lock();
    let name = (url.scheme.name, url.bucket.to_owned());
    if let Some(store) = stores.get(&name) {
        return Ok(Arc::clone(store));
    }
    let store = (functions_of(url.scheme.kind).open)(url).map_err(Failure::into_io)?;
    stores.insert(name, Arc::clone(&store));
    Ok(store)
}

/// Checks an address with this scheme as the user typed it, and returns its canonical path.
pub fn check_address(scheme: &Scheme, text: &str) -> Outcome<String> {
    (functions_of(scheme.kind).check_address)(text)
}

/// Lists the names of the buckets, or of their counterparts in addresses.
///
/// # Errors
/// The scheme has no lists of buckets, or the store does not answer.
pub(crate) fn buckets(scheme: &Scheme) -> io::Result<Vec<String>> {
    match scheme.lists_buckets {
        true => (functions_of(scheme.kind).buckets)(),
        false => Err(unlisted_buckets().into_io()),
    }
}

/// Whether a path is a bucket, without a key.
pub fn is_bucket(path: &Path) -> bool {
    RemoteUrl::parse(path).is_some_and(|url| (functions_of(url.scheme.kind).is_bucket)(&url))
}

/// Returns an address of the same object in a profile, if there is one.
#[cfg(feature = "remote")]
pub fn address_in_profile(url: &RemoteUrl<'_>) -> Option<String> {
    let store = store_of(url).ok()?;
    let wanted = (store.service(url), store.usual_address(url));
    let whole = format!("{}/{}", url.bucket, url.key);
    // A profile has a bucket, a prefix in it, or all buckets: the path in it is a suffix of the whole path.
    let ends = || std::iter::successors(Some(whole.as_str()), |path| path.split_once('/').map(|(_, below)| below));
    let addresses = msc::profile_names().flat_map(|name| ends().map(move |path| format!("msc://{name}/{path}")));
    let is_same = |address: &String| {
        let path = Path::new(address.as_str());
        let same = RemoteUrl::parse(path).and_then(|url| Some((store_of(&url).ok()?, url)));
        same.is_some_and(|(store, url)| (store.service(&url), store.usual_address(&url)) == wanted)
    };
    addresses.filter(is_same).min_by_key(String::len)
}
