//! Addresses of files on web servers. Queries often contain signatures: they stay in memory, and the rest of the program uses the address
//! without its query.

use super::super::super::location::is_plain_key;
use super::super::secret::Secret;
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use reqwest::Url;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Name of this step in errors.
const ACTIVITY: &str = "reading the address";

/// The addresses that the user gave, with their queries.
static SECRETS: LazyLock<Mutex<HashMap<String, Option<Secret>>>> = LazyLock::new(Mutex::default);

/// Checks an address that the user typed and stores its query; returns the address without it.
pub(crate) fn check(text: &str) -> Outcome<String> {
    let (address, query) = split(text);
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let plain_host = host.rsplit('@').next().unwrap_or_default();
    let refuse = |why: &str, hint: &str| {
        let subject = Subject::path(format!("{scheme}://{plain_host}/{path}"));
        Err(Failure::usage(ACTIVITY, why).on(subject).with_hint(hint))
    };
    if plain_host != host {
        return refuse(
            "it has a name or password",
            "give an address without one: a signature in its query is not shown or saved",
        );
    }
    if path.is_empty() || path.ends_with('/') {
        return refuse("it is a folder, and web servers do not list folders", "name a file");
    }
    if !is_plain_key(path) {
        return refuse("a part of its path is empty, '.' or '..'", "name the file by its plain path");
    }
    if !Url::parse(address).is_ok_and(|url| url.has_host()) {
        return refuse("it is not valid", "an address is https://HOST/PATH");
    }
    let query = query.map(Secret::new);
    let mut given = SECRETS.lock();
    let known = given.entry(address.to_owned()).or_default();
    match (known.is_some(), query) {
        (true, Some(query)) if known.as_ref() != Some(&query) => refuse(
            "it is given with two queries",
            "give each file once: files are known by their address without the query",
        ),
        (false, query) => {
            *known = query;
            Ok(address.to_owned())
        }
        (true, _) => Ok(address.to_owned()),
    }
}

/// Whether the user gave an address. Other addresses are looked up because they are next to a given one.
pub(super) fn is_given(address: &str) -> bool {
    SECRETS.lock().contains_key(address)
}

/// Whether an address was given with a query.
pub(super) fn has_query(address: &str) -> bool {
    matches!(SECRETS.lock().get(address), Some(Some(_)))
}

/// Returns the URL for requests, with the query. It is never shown.
pub(super) fn url_of(address: &str) -> Outcome<Url> {
    let (plain, query) = split(address);
    let refuse = |why: &str| Failure::usage(ACTIVITY, why).on(Subject::path(plain));
    // An address that was not checked, such as one in a form: its query would be saved.
    if query.is_some() {
        return Err(refuse("it has a query").with_hint("give an address with a query as an argument of the command"));
    }
    let mut url = Url::parse(plain).map_err(|_| refuse("it is not valid"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            Failure::usage(ACTIVITY, "it has a name or password").on(Subject::path(super::super::http::host(&url)))
        );
    }
    if let Some(Some(query)) = SECRETS.lock().get(address) {
        url.set_query(Some(query.reveal()));
    }
    Ok(url)
}

/// Returns an address without its query, and the query. The fragment after `#` is removed.
fn split(text: &str) -> (&str, Option<&str>) {
    let text = text.split('#').next().unwrap_or_default();
    match text.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (text, None),
    }
}
