//! `gs://BUCKET/KEY`: Google Cloud Storage, by its XML API, which is the API of Amazon S3 with access tokens instead of signatures.

#[cfg(test)]
mod tests;
mod tokens;

use super::super::location::RemoteUrl;
use super::super::store::Store;
use super::environment::Environment;
use super::network::Network;
use super::s3::{self, S3Context};
use super::store_settings::remote_settings;
use gristmill_core::Outcome;
use std::sync::{Arc, OnceLock};
pub(super) use tokens::GoogleCredentials;
use tokens::GoogleTokens;

/// Address of the store.
const ENDPOINT: &str = "https://storage.googleapis.com";
/// Variable with the address of an emulator, which accepts requests without a token.
const EMULATOR: &str = "STORAGE_EMULATOR_HOST";

/// Returns the store of an address.
pub(crate) fn open(url: &RemoteUrl<'_>) -> Outcome<Arc<dyn Store>> {
    static CONTEXT: OnceLock<Outcome<Arc<S3Context>>> = OnceLock::new();
    let new = || {
        let environment = Environment::of_process();
        let profile = GoogleProfile { is_anonymous: remote_settings().anonymous, ..GoogleProfile::default() };
        context(Network::of_process()?, environment, profile).map(Arc::new)
    };
    Ok(s3::store_of_bucket(&CONTEXT.get_or_init(new).clone()?, url.bucket))
}

/// Settings from flags, or from a profile of another tool.
#[derive(Clone, Debug, Default)]
pub(super) struct GoogleProfile {
    /// Address of the store, and the name of the setting.
    pub(super) endpoint: Option<(String, String)>,
    pub(super) credentials: Option<GoogleCredentials>,
    pub(super) is_anonymous: bool,
}

/// Returns the state that all buckets share.
pub(super) fn context(network: Arc<Network>, environment: Environment, profile: GoogleProfile) -> Outcome<S3Context> {
    let emulator = environment.text(EMULATOR).map(|host| match host.contains("://") {
        true => (host, EMULATOR.to_owned()),
        false => (format!("http://{host}"), EMULATOR.to_owned()),
    });
    let is_anonymous = profile.is_anonymous || profile.endpoint.is_none() && emulator.is_some();
    let endpoint = profile.endpoint.or(emulator);
    let tokens = GoogleTokens::new(Arc::clone(&network), environment, profile.credentials);
    S3Context::of_google(network, ENDPOINT, endpoint, is_anonymous, Box::new(tokens))
}
