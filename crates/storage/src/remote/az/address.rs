//! Addresses of blobs: with the account of the environment, or with an account in the address.

use super::super::super::location::RemoteUrl;
use super::super::super::scheme::{StoreKind, ABFSS};
use gristmill_core::{Failure, Outcome, Subject};
use std::path::Path;

/// Suffixes of the hosts of accounts: of Azure, of Azure in China, and of Azure for the government of the USA.
const SUFFIXES: [&str; 3] = ["core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net"];
/// Services of an account whose hosts may be in an address. Both have the same files.
const SERVICES: [&str; 2] = ["dfs", "blob"];

/// Checks an address that the user typed; `check_mapped` replaces it if it is mapped to a profile. A query may be a signature, so messages
/// omit it.
pub(crate) fn check(text: &str, check_mapped: impl FnOnce(&str) -> Outcome<String>) -> Outcome<String> {
    if let Some((address, _)) = text.split_once('?').filter(|(_, query)| query.contains("sig=")) {
        return Err(Failure::usage("reading the address", "it has a signature, which is not part of a key")
            .on(Subject::path(address))
            .with_hint("set AZURE_STORAGE_SAS_TOKEN to what follows the question mark"));
    }
    if RemoteUrl::parse(Path::new(text)).is_some_and(|url| url.bucket.is_empty()) {
        return Err(Failure::usage("reading the address", "it has no container")
            .on(Subject::path(text))
            .with_hint("az://CONTAINER/KEY"));
    }
    let address = check_mapped(text)?;
    // An address that is mapped to a profile is checked there.
    if let Some(url) = RemoteUrl::parse(Path::new(&address)).filter(|url| url.scheme.kind == StoreKind::Azure) {
        parse_bucket(&url)?;
    }
    Ok(address)
}

/// Returns the container of an address, and the host of its account if the address contains one.
pub(super) fn parse_bucket<'a>(url: &RemoteUrl<'a>) -> Outcome<(&'a str, Option<&'a str>)> {
    let refuse = |why: &str, hint: &str| {
        Err(Failure::usage("reading the address", why).on(Subject::path(url.to_path())).with_hint(hint))
    };
    let (container, host) = match url.bucket.split_once('@') {
        Some((container, host)) => (container, Some(host)),
        None => (url.bucket, None),
    };
    let hint =
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY, or az://CONTAINER/KEY with AZURE_STORAGE_ACCOUNT_NAME";
    let has_account = url.scheme.usual == ABFSS.name;
    if host.is_some() != has_account {
        return refuse(if has_account { "it has no account" } else { "it has an account" }, hint);
    }
    if host.is_some_and(|host| split_host(host).is_none()) {
        return refuse("its host is not that of an account", hint);
    }
    let is_name = |name: &str| {
        let name = name.strip_prefix('$').unwrap_or(name);
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !name.is_empty() && name.len() <= 63 && name.bytes().all(is_letter)
    };
    if !is_name(container) {
        return refuse("it has no valid name of a container", "names have lower-case letters, digits and '-'");
    }
    Ok((container, host))
}

/// Splits the host of an account into the account and the suffix of the host.
pub(super) fn split_host(host: &str) -> Option<(&str, &'static str)> {
    let (account, rest) = host.split_once('.')?;
    let (service, suffix) = rest.split_once('.')?;
    let suffix = SUFFIXES.into_iter().find(|known| *known == suffix)?;
    let is_name = account.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    (SERVICES.contains(&service) && !account.is_empty() && is_name).then_some((account, suffix))
}
