//! The keys that sign requests: their sources, in the order of Amazon's tools, and their renewal.

mod metadata;
mod process;
mod sso;
mod sts;

use super::super::environment::{Environment, MAX_FILE_BYTES};
use super::super::network::Network;
use super::super::secret::Secret;
use super::keys::{FindKeys, GivenKeys, Keys, KeysFuture};
use super::profiles::Profiles;
use super::s3_settings::S3Settings;
use crate::local_file::read_local;
use gristmill_core::{Failure, Outcome, Subject};
pub(in crate::remote) use process::output_of;
use reqwest::RequestBuilder;
use std::path::Path;
use std::sync::Arc;

/// Name of this step in errors.
const ACTIVITY: &str = "getting the credentials";
/// Unsupported settings of a profile: they need a prompt, or a browser.
const UNSUPPORTED: [&str; 2] = ["mfa_serial", "login_session"];
/// Maximum number of profiles in a chain of `source_profile` settings.
const MAX_PROFILES: usize = 8;

/// Finds keys in the order of Amazon's tools.
pub(super) struct CredentialChain {
    network: Arc<Network>,
    environment: Environment,
    profiles: Profiles,
    configured: GivenKeys,
    /// Whether a flag names the profile.
    is_profile_named: bool,
    region: String,
}

impl FindKeys for CredentialChain {
    fn find(&self) -> KeysFuture<'_> {
        Box::pin(self.find_keys())
    }
}

impl CredentialChain {
    pub(super) fn new(
        network: Arc<Network>,
        settings: S3Settings,
        environment: Environment,
        profiles: Profiles,
        region: String,
    ) -> Self {
        let is_profile_named = settings.flags.profile.is_some();
        Self { network, environment, profiles, configured: settings.keys, is_profile_named, region }
    }

    async fn find_keys(&self) -> Outcome<Option<Keys>> {
        match &self.configured {
            GivenKeys::None => {}
            GivenKeys::Fixed(keys) => return Ok(Some(keys.clone())),
            GivenKeys::File(path) => return read_keys(path).map(Some),
        }
        if !self.is_profile_named {
            if let Some(keys) = self.find_in_environment()? {
                return Ok(Some(keys));
            }
        }
        if let Some(keys) = self.find_in_profile(&self.profiles.name, 0).await? {
            return Ok(Some(keys));
        }
        let variable = |name: &str| self.environment.text(name);
        if let (Some(file), Some(role)) = (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN")) {
            let session = variable("AWS_ROLE_SESSION_NAME");
            return self.assume_role_with_web_identity(&file, &role, session.as_deref()).await.map(Some);
        }
        if let Some(keys) = self.find_in_container().await? {
            return Ok(Some(keys));
        }
        self.find_in_instance().await
    }

    fn find_in_environment(&self) -> Outcome<Option<Keys>> {
        let Some(id) = self.environment.text("AWS_ACCESS_KEY_ID") else { return Ok(None) };
        let Some(secret) = self.environment.text("AWS_SECRET_ACCESS_KEY") else {
            let why = "it is not set, and AWS_ACCESS_KEY_ID is";
            return Err(Failure::environment(ACTIVITY, why).on(Subject::field("AWS_SECRET_ACCESS_KEY")));
        };
        let token = self.environment.first(&["AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"]).map(Secret::new);
        let source = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned();
        Ok(Some(Keys { id, secret: Secret::new(secret), token, expires: None, source }))
    }

    /// Returns the keys of a profile. `depth` is the number of profiles that referred to it.
    fn find_in_profile<'a>(&'a self, name: &'a str, depth: usize) -> KeysFuture<'a> {
        Box::pin(async move {
            let get = |setting: &str| self.profiles.get(name, setting);
            let source = format!("the profile {name}");
            if let Some(setting) = UNSUPPORTED.into_iter().find(|setting| get(setting).is_some()) {
                return Err(self.refuse(name, &format!("it has {setting}, which is not supported")));
            }
            // A profile that is its own source has the keys for its role.
            let is_own_source = depth > 0 && get("source_profile") == Some(name);
            if let Some(role) = get("role_arn").filter(|_| !is_own_source) {
                if let Some(file) = get("web_identity_token_file") {
                    let session = get("role_session_name");
                    return self.assume_role_with_web_identity(file, role, session).await.map(Some);
                }
                let base = self.source_of_role(name, depth).await?;
                return self.assume_role(name, role, &base).await.map(Some);
            }
            if let (Some(id), Some(secret)) = (get("aws_access_key_id"), get("aws_secret_access_key")) {
                let token = get("aws_session_token").map(Secret::new);
                return Ok(Some(Keys { id: id.to_owned(), secret: Secret::new(secret), token, expires: None, source }));
            }
            if get("sso_session").is_some() || get("sso_start_url").is_some() {
                return self.find_by_sso(name).await.map(Some);
            }
            if let Some(command) = get("credential_process") {
                return process::run(command, &source).await.map(Some);
            }
            Ok(None)
        })
    }

    /// Returns the keys with which the role of a profile is assumed.
    async fn source_of_role(&self, name: &str, depth: usize) -> Outcome<Keys> {
        let get = |setting: &str| self.profiles.get(name, setting);
        let keys = match (get("source_profile"), get("credential_source")) {
            (Some(source), _) if depth >= MAX_PROFILES => {
                return Err(self.refuse(name, &format!("its source profiles do not end ({source})")));
            }
            (Some(source), _) if !self.profiles.has(source) => {
                return Err(self.refuse(name, &format!("its source profile {source} does not exist")));
            }
            (Some(source), _) => self.find_in_profile(source, depth + 1).await?,
            (None, Some("Environment")) => self.find_in_environment()?,
            (None, Some("EcsContainer")) => self.find_in_container().await?,
            (None, Some("Ec2InstanceMetadata")) => self.find_in_instance().await?,
            (None, _) => return Err(self.refuse(name, "it has a role_arn, but no source_profile or credential_source")),
        };
        keys.ok_or_else(|| self.refuse(name, "the source of its role has no keys"))
    }

    /// Returns a failure about a profile, with a hint that does not depend on how its keys are found.
    fn refuse(&self, profile: &str, why: &str) -> Failure {
        Failure::environment(ACTIVITY, why).on(Subject::field(format!("the profile {profile}"))).with_hint(format!(
            "run `eval \"$(aws configure export-credentials --profile {profile} --format env)\"`, then the same command without --profile"
        ))
    }

    /// Sends a request for keys.
    async fn fetch(&self, request: RequestBuilder, is_direct: bool, subject: &str) -> Outcome<(u16, Vec<u8>)> {
        self.network.fetch(ACTIVITY, request, is_direct, subject).await
    }
}

/// Reads keys from a file that another program renews.
fn read_keys(path: &Path) -> Outcome<Keys> {
    let refuse = |why: &str| Failure::environment(ACTIVITY, why).on(Subject::path(path));
    let bytes = read_local(path, MAX_FILE_BYTES)?.ok_or_else(|| refuse("there is no such file"))?;
    parse_keys(&bytes, &path.display().to_string()).ok_or_else(|| refuse("it has no keys"))
}

/// Parses keys in the format of `credential_process`, or of the services of containers and instances, which have `Token`.
fn parse_keys(json: &[u8], source: &str) -> Option<Keys> {
    let json: serde_json::Value = serde_json::from_slice(json).ok()?;
    let text = |name: &str| json.get(name).and_then(serde_json::Value::as_str).filter(|text| !text.is_empty());
    let expires = match text("Expiration") {
        Some(expires) => Some(super::super::dates::parse_iso_time(expires)?),
        None => None,
    };
    Some(Keys {
        id: text("AccessKeyId")?.to_owned(),
        secret: Secret::new(text("SecretAccessKey")?),
        token: text("SessionToken").or_else(|| text("Token")).map(Secret::new),
        expires,
        source: source.to_owned(),
    })
}
