//! Address of an account, and the configured key or signature (SAS).

use super::super::environment::Environment;
use super::super::http::is_safe;
use super::super::s3::{encode, Keys};
use super::super::secret::Secret;
use super::super::store_settings::RemoteSettings;
use super::address::split_host;
use super::connection::ConnectionString;
use base64::prelude::{Engine as _, BASE64_STANDARD};
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::Url;
use std::net::IpAddr;

/// Name of this step in errors.
const ACTIVITY: &str = "reading the settings of Azure Storage";
/// Variables with the name of the account and with its key; each has two names.
const ACCOUNT: [&str; 2] = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
const KEY: [&str; 2] = ["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"];
const SAS: &str = "AZURE_STORAGE_SAS_TOKEN";
const CONNECTION: &str = "AZURE_STORAGE_CONNECTION_STRING";
const ENDPOINT: &str = "AZURE_STORAGE_ENDPOINT";
/// Default suffix of the hosts of accounts.
const SUFFIX: &str = "core.windows.net";

/// Settings from flags, or from a profile of another tool.
#[derive(Clone, Debug, Default)]
pub(in crate::remote) struct AzureProfile {
    /// Address of the account, and the name of the setting.
    pub(in crate::remote) endpoint: Option<(String, String)>,
    /// A connection string, and the name of the setting. With one, those of the environment are ignored.
    pub(in crate::remote) connection: Option<(Secret, String)>,
    pub(in crate::remote) is_anonymous: bool,
    /// Access tier of new blobs; without one, the account determines it.
    pub(in crate::remote) access_tier: Option<String>,
}

impl AzureProfile {
    pub(super) fn of_flags(flags: &RemoteSettings) -> Self {
        let endpoint = flags.endpoint_url.clone().map(|url| (url, "--endpoint-url".to_owned()));
        let access_tier = flags.new_objects.storage_class.clone();
        Self { endpoint, connection: None, is_anonymous: flags.anonymous, access_tier }
    }
}

/// Settings of the requests to an account.
#[derive(Clone, Debug)]
pub(super) struct AzureConfig {
    pub(super) account: String,
    /// Address of the account, without a trailing slash.
    base: String,
    /// Name of the setting with the address, if it is not the usual one.
    pub(super) endpoint_source: Option<String>,
    /// The key of the account, or a signature (SAS).
    pub(super) keys: Option<Keys>,
    pub(super) is_anonymous: bool,
    pub(super) access_tier: Option<String>,
}

impl AzureConfig {
    /// Reads the settings from a profile, or else from the environment. `host` is the host of the account, if the address contains one.
    pub(super) fn new(profile: &AzureProfile, environment: &Environment, host: Option<&str>) -> Outcome<Self> {
        let variable = |name: &str| Some((environment.text(name)?, name.to_owned()));
        let is_own = profile.connection.is_some();
        let text = profile.connection.clone();
        let text = text.or_else(|| variable(CONNECTION).map(|(text, source)| (Secret::new(text), source)));
        let connection = text.map(|(text, source)| parse_connection(&text, source)).transpose()?;
        let addressed = host.and_then(split_host);
        // Settings of the environment belong to the account that it names.
        let endpoint_account = |endpoint: &str| account_of(&Url::parse(endpoint).ok()?);
        let set = match is_own {
            true => None,
            false => environment
                .first(&ACCOUNT)
                .or_else(|| environment.text(ENDPOINT).and_then(|url| endpoint_account(&url))),
        };
        let connected = connection.as_ref().and_then(|(connection, _)| {
            connection.account.clone().or_else(|| endpoint_account(connection.endpoint.as_deref()?))
        });
        let given_account = profile.endpoint.as_ref().and_then(|(url, _)| endpoint_account(url));
        let account = addressed.map(|(account, _)| account.to_owned());
        let account = account.or(given_account).or_else(|| set.clone()).or_else(|| connected.clone());
        // Settings without an account do not apply to an account in an address: the address may come from a data set.
        let is_for = |name: &Option<String>| match name {
            Some(name) => account.as_ref().is_none_or(|account| account == name),
            None => addressed.is_none(),
        };
        let connection = connection.filter(|_| is_for(&connected));
        let has_variables = !is_own && is_for(&set);
        let has_endpoint = has_variables || !is_own && set.is_none();
        let named = profile.endpoint.clone().or_else(|| variable(ENDPOINT).filter(|_| has_endpoint));
        let named = named.or_else(|| {
            let (connection, source) = connection.as_ref()?;
            Some((connection.endpoint.clone()?, source.clone()))
        });
        let is_anonymous = profile.is_anonymous;
        let keys = match has_variables && !is_anonymous {
            true => keys_of_environment(environment, account.as_deref())?,
            false => None,
        };
        let keys = match (keys, &connection) {
            (None, Some((connection, source))) if !is_anonymous => keys_of(connection, source, account.as_deref())?,
            (keys, _) => keys,
        };
        let (base, endpoint_source) = match (named, &account) {
            (Some((address, source)), account) => (base_of(&address, account.as_deref(), &source)?, Some(source)),
            (None, Some(account)) => {
                let connection = connection.as_ref().map(|(connection, _)| connection);
                let suffix = addressed.map(|(_, suffix)| suffix);
                let suffix = suffix.or_else(|| connection?.suffix.as_deref()).unwrap_or(SUFFIX);
                let protocol = connection.and_then(|connection| connection.protocol.as_deref()).unwrap_or("https");
                let address = format!("{protocol}://{account}.blob.{suffix}");
                (base_of(&address, None, "the name of the account")?, None)
            }
            (None, None) => {
                let failure = Failure::environment(ACTIVITY, "no account is set").on(Subject::field(ACCOUNT[0]));
                return Err(failure.with_hint(
                    "set AZURE_STORAGE_ACCOUNT_NAME or AZURE_STORAGE_CONNECTION_STRING, or give the account in the address: \
                     abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY",
                ));
            }
        };
        if !is_anonymous {
            let source = endpoint_source.as_deref().or(connection.as_ref().map(|(_, source)| source.as_str()));
            check_safety(&base, keys.as_ref(), source.unwrap_or(ENDPOINT))?;
        }
        let account = account.or_else(|| account_of(&Url::parse(&base).ok()?)).unwrap_or_default();
        let access_tier = profile.access_tier.clone();
        Ok(Self { account, base, endpoint_source, keys, is_anonymous, access_tier })
    }

    /// Returns the address of the account.
    pub(super) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the URL of a key, or of the container if the key is empty. `sas` is a signature; a URL with one is never shown.
    pub(super) fn url(
        &self,
        container: &str,
        key: &str,
        query: &[(&str, String)],
        sas: Option<&Secret>,
    ) -> Outcome<Url> {
        let key = if key.is_empty() { String::new() } else { format!("/{}", encode(key, "/")) };
        let query = query.iter().map(|(name, value)| format!("{name}={}", encode(value, "")));
        let query: Vec<_> = query.chain(sas.map(|sas| sas.reveal().to_owned())).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let address = format!("{}/{}{key}{query}", self.base, encode(container, "$"));
        let refuse = || Failure::usage("reading the address", "it cannot be part of the address of the store");
        Url::parse(&address).map_err(|_| refuse().on(Subject::path(format!("az://{container}"))))
    }
}

/// Returns a failure about a setting.
fn refuse(source: &str, why: &str) -> Failure {
    Failure::environment(ACTIVITY, format!("it {why}")).on(Subject::field(source))
}

fn parse_connection(text: &Secret, source: String) -> Outcome<(ConnectionString, String)> {
    match ConnectionString::parse(text.reveal()) {
        Some(connection) => Ok((connection, source)),
        None => {
            Err(Failure::environment(ACTIVITY, "it is not a connection string").on(Subject::field(source)).with_hint(
                "its form is AccountName=NAME;AccountKey=KEY, or BlobEndpoint=https://HOST;SharedAccessSignature=TOKEN",
            ))
        }
    }
}

/// Returns the account in the URL of a store; `None` if the host is a custom domain.
fn account_of(url: &Url) -> Option<String> {
    let account = match is_path_style(url) {
        true => url.path_segments()?.next()?,
        false => url.host_str()?.split_once('.').filter(|(_, rest)| format!(".{rest}").contains(".blob."))?.0,
    };
    (!account.is_empty()).then(|| account.to_owned())
}

/// Whether the account is in the path, as for emulators.
fn is_path_style(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    !host.contains('.') || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok()
}

/// Checks the URL of an account from the setting `source`, and adds the account to its path if it belongs there.
fn base_of(address: &str, account: Option<&str>, source: &str) -> Outcome<String> {
    let url = Url::parse(address).ok().filter(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        ["http", "https"].contains(&url.scheme()) && url.has_host() && is_plain && url.fragment().is_none()
    });
    let Some(url) = url else {
        let why = "it has to be https://HOST or http://HOST, without a name, password or signature";
        return Err(Failure::usage("reading the endpoint", why).on(Subject::field(source)));
    };
    let base = url.as_str().trim_end_matches('/').to_owned();
    Ok(match account {
        Some(account) if is_path_style(&url) && url.path() == "/" => format!("{base}/{account}"),
        _ => base,
    })
}

/// Checks that signatures and tokens are sent only over TLS, or to this machine. A key is never sent.
fn check_safety(base: &str, keys: Option<&Keys>, source: &str) -> Outcome<()> {
    let has_key = keys.is_some_and(|keys| !keys.id.is_empty());
    match has_key || Url::parse(base).is_ok_and(|url| is_safe(&url)) {
        true => Ok(()),
        false => Err(refuse(source, "may only be https, except on this machine or with the key of the account")
            .with_hint("name an address with https, or run it with --anonymous")),
    }
}

fn keys_of_environment(environment: &Environment, account: Option<&str>) -> Outcome<Option<Keys>> {
    let find = |names: &[&'static str]| names.iter().find_map(|name| Some((*name, environment.text(name)?)));
    match (find(&KEY), find(&[SAS])) {
        (Some((source, key)), _) => key_of(Secret::new(key), source, account).map(Some),
        (None, Some((source, sas))) => signature_of(&Secret::new(sas), source).map(Some),
        (None, None) => Ok(None),
    }
}

fn keys_of(connection: &ConnectionString, source: &str, account: Option<&str>) -> Outcome<Option<Keys>> {
    match (&connection.key, &connection.sas) {
        (Some(key), _) => key_of(key.clone(), source, account).map(Some),
        (None, Some(sas)) => signature_of(sas, source).map(Some),
        (None, None) => Ok(None),
    }
}

fn key_of(secret: Secret, source: &str, account: Option<&str>) -> Outcome<Keys> {
    if BASE64_STANDARD.decode(secret.reveal()).is_err() {
        return Err(refuse(source, "has no key: what it has is not valid Base64"));
    }
    let Some(account) = account else {
        return Err(refuse(source, "has a key, but no account is set").with_hint("set AZURE_STORAGE_ACCOUNT_NAME"));
    };
    Ok(Keys { id: account.to_owned(), secret, token: None, expires: None, source: source.to_owned() })
}

/// Returns a signature (SAS) as keys without an id; its token is added to URLs.
fn signature_of(sas: &Secret, source: &str) -> Outcome<Keys> {
    let text = sas.reveal().trim_start_matches('?');
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Err(refuse(source, "has a signature with characters that none has")
            .with_hint("copy it again, from 'sv=' to its end"));
    }
    let token = Some(Secret::new(text));
    Ok(Keys { id: String::new(), secret: Secret::new(""), token, expires: None, source: source.to_owned() })
}
