//! What a profile says: which store it is, where in it, and with which keys.

use super::super::s3::{GivenKeys, Keys, S3Settings};
use super::super::settings::Secret;
use super::super::store_settings::RemoteSettings;
use super::config::{refuse, RawProfile};
use gristmill_core::Outcome;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Parts of a profile that change what an address means, and are not read.
const UNSUPPORTED: [&str; 4] = ["provider_bundle", "storage_provider_profiles", "metadata_provider", "replicas"];
/// Types of storage with the interface of Amazon S3.
const S3_TYPES: [&str; 4] = ["s3", "s8k", "gcs_s3", "ais_s3"];

/// Where the addresses of a profile lead.
#[derive(Debug)]
pub(super) enum Target {
    /// Below a folder of this machine.
    Local(PathBuf),
    /// Into a bucket, below a prefix: `BUCKET` or `BUCKET/PREFIX`. If it is empty, addresses begin with the bucket.
    S3(Box<S3Settings>, String),
}

/// Parses a profile. `flags` are those that also apply to stores of profiles.
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
    match kind {
        "file" => Ok(Target::Local(PathBuf::from(base))),
        kind if S3_TYPES.contains(&kind) => {
            let settings = S3Settings {
                flags: RemoteSettings {
                    profile: option("profile_name"),
                    region: option("region_name"),
                    endpoint_url: option("endpoint_url"),
                    anonymous: flags.anonymous || option("signature_version").as_deref() == Some("UNSIGNED"),
                    ..flags.clone()
                },
                addressing_style: option("s3/addressing_style"),
                keys: keys(name, raw)?,
                source: Some(source(name, &raw.file)),
            };
            Ok(Target::S3(Box::new(settings), base.trim_matches('/').to_owned()))
        }
        "huggingface" => Err(unsupported(format!("the storage {kind}"))
            .with_hint("address the data set itself: hf://datasets/OWNER/NAME")),
        kind => Err(unsupported(format!("the storage {kind}"))),
    }
}

fn keys(name: &str, raw: &RawProfile) -> Outcome<GivenKeys> {
    let Some(provider) = raw.content.get("credentials_provider").filter(|provider| !provider.is_null()) else {
        return Ok(GivenKeys::None);
    };
    let option = |option: &str| provider.pointer(&format!("/options/{option}")).and_then(text);
    let missing = |option: &str| refuse(&raw.file, format!("the credentials of its profile {name} have no {option}"));
    let source = source(name, &raw.file);
    match provider.get("type").and_then(Value::as_str).unwrap_or_default() {
        "S3Credentials" => Ok(GivenKeys::Fixed(Keys {
            id: option("access_key").ok_or_else(|| missing("access_key"))?,
            secret: Secret::new(option("secret_key").ok_or_else(|| missing("secret_key"))?),
            token: option("session_token").filter(|token| !token.is_empty()).map(Secret::new),
            expires: None,
            source,
        })),
        "FileBasedCredentials" => {
            let path = option("credential_file_path").ok_or_else(|| missing("credential_file_path"))?;
            Ok(GivenKeys::File(PathBuf::from(path)))
        }
        kind => Err(refuse(&raw.file, format!("the credentials of its profile {name} are of the type {kind}, which is not supported"))
            .with_hint("for S3 these are S3Credentials and FileBasedCredentials; without any, those of Amazon's own files are found")),
    }
}

fn source(name: &str, file: &Path) -> String {
    format!("the profile {name} of {}", file.display())
}

/// Returns a text, or a number as it is written; an empty text counts as none.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
