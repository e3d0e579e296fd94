//! Parses a profile: its kind of store, its bucket and prefix, and its credentials.

use super::super::super::store::Store;
use super::super::az::{self, AzureContext, AzureProfile};
use super::super::environment::Environment;
use super::super::gs::{self, GoogleCredentials, GoogleProfile};
use super::super::network::Network;
use super::super::s3::{self, GivenKeys, Keys, S3Context, S3Settings};
use super::super::secret::Secret;
use super::super::store_settings::RemoteSettings;
use super::config::{refuse, RawProfile};
use gristmill_core::{Failure, Outcome};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sections of a profile that change the meaning of an address, and are not supported.
const UNSUPPORTED: [&str; 4] = ["provider_bundle", "storage_provider_profiles", "metadata_provider", "replicas"];
/// Types of storage with the API of Amazon S3.
const S3_TYPES: [&str; 4] = ["s3", "s8k", "gcs_s3", "ais_s3"];

/// Settings of the connection to a store with buckets.
#[derive(Debug)]
pub(super) enum BucketSettings {
    S3(Box<S3Settings>),
    Google(GoogleProfile),
    Azure(AzureProfile),
}

pub(super) type OpenBucket = Box<dyn Fn(&str) -> Arc<dyn Store> + Send + Sync>;

impl BucketSettings {
    /// Returns the function that opens buckets.
    pub(super) fn opener(self, network: Arc<Network>, environment: Environment) -> Outcome<OpenBucket> {
        let context = match self {
            Self::S3(settings) => S3Context::new(network, *settings, environment)?,
            Self::Google(profile) => gs::context(network, environment, profile)?,
            Self::Azure(profile) => {
                let context = Arc::new(AzureContext::new(network, profile, environment, None)?);
                return Ok(Box::new(move |container| az::store_of_container(&context, container)));
            }
        };
        let context = Arc::new(context);
        Ok(Box::new(move |bucket| s3::store_of_bucket(&context, bucket)))
    }
}

/// Target of the addresses of a profile.
#[derive(Debug)]
pub(super) enum Target {
    /// Below a folder of this machine.
    Local(PathBuf),
    /// A prefix in a bucket: `BUCKET` or `BUCKET/PREFIX`. If it is empty, addresses begin with the bucket.
    Bucket(Box<BucketSettings>, String),
}

/// Parses a profile. `flags` are flags that also apply to stores of profiles.
pub(super) fn parse(name: &str, raw: &RawProfile, flags: &RemoteSettings) -> Outcome<Target> {
    let unsupported =
        |what: String| refuse(&raw.file, format!("its profile {name} has {what}, which is not supported"));
    let is_given = |value: &Value| !value.is_null() && !value.as_array().is_some_and(Vec::is_empty);
    if let Some(part) = UNSUPPORTED.into_iter().find(|part| raw.content.get(*part).is_some_and(is_given)) {
        return Err(unsupported(part.to_owned()));
    }
    let Some(kind) = raw.content.pointer("/storage_provider/type").and_then(Value::as_str) else {
        return Err(refuse(&raw.file, format!("its profile {name} has no type of storage_provider")));
    };
    let option = |pointer: &str| text(raw.content.pointer(&format!("/storage_provider/options/{pointer}"))?);
    let base = option("base_path").unwrap_or_default();
    let endpoint_url = option("endpoint_url");
    // A value from a variable is a string.
    let is_true =
        |value: &Value| *value == true || value.as_str().is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let verify = raw.content.pointer("/storage_provider/options/verify");
    if let Some(verify) = verify.filter(|verify| !is_true(verify)) {
        // Without TLS there is no certificate.
        if is_given(verify) && !endpoint_url.as_ref().is_some_and(|url| url.starts_with("http://")) {
            let hint = "remove it: certificates are always checked. AWS_CA_BUNDLE names a file with those that are trusted in addition";
            return Err(unsupported(format!("verify: {verify}")).with_hint(hint));
        }
    }
    let bucket = |settings| Target::Bucket(Box::new(settings), base.trim_matches('/').to_owned());
    match kind {
        "file" => Ok(Target::Local(PathBuf::from(&base))),
        kind if S3_TYPES.contains(&kind) => {
            let settings = S3Settings {
                flags: RemoteSettings {
                    profile: option("profile_name"),
                    region: option("region_name"),
                    endpoint_url,
                    anonymous: flags.anonymous || option("signature_version").as_deref() == Some("UNSIGNED"),
                    ..flags.clone()
                },
                addressing_style: option("s3/addressing_style"),
                keys: keys(name, raw)?,
                source: Some(source(name, &raw.file)),
            };
            Ok(bucket(BucketSettings::S3(Box::new(settings))))
        }
        "gcs" => Ok(bucket(BucketSettings::Google(GoogleProfile {
            endpoint: option("endpoint_url").map(|url| (url, source(name, &raw.file))),
            credentials: google_credentials(name, raw)?,
            is_anonymous: flags.anonymous,
        }))),
        "azure" => Ok(bucket(BucketSettings::Azure(AzureProfile {
            endpoint: option("endpoint_url").map(|url| (url, source(name, &raw.file))),
            connection: azure_connection(name, raw)?,
            is_anonymous: flags.anonymous,
            access_tier: flags.new_objects.storage_class.clone(),
        }))),
        "huggingface" => Err(unsupported(format!("the storage {kind}"))
            .with_hint("address the data set itself: hf://datasets/OWNER/NAME")),
        kind => Err(unsupported(format!("the storage {kind}"))),
    }
}

/// The credentials of a profile.
struct Provider<'a> {
    name: &'a str,
    file: &'a Path,
    kind: &'a str,
    content: &'a Value,
}

impl<'a> Provider<'a> {
    fn of(name: &'a str, raw: &'a RawProfile) -> Option<Self> {
        let content = raw.content.get("credentials_provider").filter(|content| !content.is_null())?;
        let kind = content.get("type").and_then(Value::as_str).unwrap_or_default();
        Some(Self { name, file: &raw.file, kind, content })
    }

    fn option(&self, option: &str) -> Option<&'a Value> {
        self.content.get("options")?.get(option)
    }

    fn required(&self, option: &str) -> Outcome<String> {
        self.option(option)
            .and_then(text)
            .ok_or_else(|| refuse(self.file, format!("the credentials of its profile {} have no {option}", self.name)))
    }

    /// Returns the failure for a type of credentials that the store does not support.
    fn unsupported(&self, supported: &str) -> Failure {
        let (name, kind) = (self.name, self.kind);
        let why = format!("the credentials of its profile {name} are of the type {kind}, which is not supported");
        refuse(self.file, why)
            .with_hint(format!("supported for this storage: {supported}, or none, to use those of this machine"))
    }
}

fn keys(name: &str, raw: &RawProfile) -> Outcome<GivenKeys> {
    let Some(provider) = Provider::of(name, raw) else { return Ok(GivenKeys::None) };
    match provider.kind {
        "S3Credentials" => Ok(GivenKeys::Fixed(Keys {
            id: provider.required("access_key")?,
            secret: Secret::new(provider.required("secret_key")?),
            token: provider.option("session_token").and_then(text).map(Secret::new),
            expires: None,
            source: source(name, &raw.file),
        })),
        "FileBasedCredentials" => Ok(GivenKeys::File(PathBuf::from(provider.required("credential_file_path")?))),
        _ => Err(provider.unsupported("S3Credentials, FileBasedCredentials")),
    }
}

fn google_credentials(name: &str, raw: &RawProfile) -> Outcome<Option<GoogleCredentials>> {
    let Some(provider) = Provider::of(name, raw) else { return Ok(None) };
    match (provider.kind, provider.option("info")) {
        ("GoogleServiceAccountCredentialsProvider", Some(info @ Value::Object(_))) => {
            Ok(Some(GoogleCredentials::Content(Secret::new(info.to_string()), source(name, &raw.file))))
        }
        ("GoogleServiceAccountCredentialsProvider", _) => {
            Ok(Some(GoogleCredentials::File(PathBuf::from(provider.required("file")?))))
        }
        _ => Err(provider.unsupported("GoogleServiceAccountCredentialsProvider")),
    }
}

fn azure_connection(name: &str, raw: &RawProfile) -> Outcome<Option<(Secret, String)>> {
    let Some(provider) = Provider::of(name, raw) else { return Ok(None) };
    let has_options = provider.content.get("options").and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    match provider.kind {
        "AzureCredentials" => Ok(Some((Secret::new(provider.required("connection")?), source(name, &raw.file)))),
        // Its options would select an identity, or disable sources.
        "DefaultAzureCredentials" if !has_options => Ok(None),
        _ => Err(provider.unsupported("AzureCredentials, DefaultAzureCredentials without options")),
    }
}

fn source(name: &str, file: &Path) -> String {
    format!("the profile {name} of {}", file.display())
}

/// Returns a string, or a number as text; an empty string counts as absent.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
