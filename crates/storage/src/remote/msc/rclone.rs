//! The file with the remotes of rclone, whose sections are profiles with an empty base path, as multi-storage-client reads them.

use super::super::environment::{Environment, MAX_FILE_BYTES};
use super::ACTIVITY;
use crate::local_file::read_local;
use gristmill_core::{Failure, Outcome, Subject};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// First line of an encrypted file, after comments.
const ENCRYPTED: &str = "RCLONE_ENCRYPT_V";
/// Options of the storage and of the credentials: their names in profiles, and in the file.
const STORAGE_OPTIONS: [(&str, &str); 4] = [
    ("base_path", "base_path"),
    ("region_name", "region"),
    ("endpoint_url", "endpoint"),
    ("profile_name", "profile_name"),
];
const S3_CREDENTIALS: [(&str, &str); 3] =
    [("access_key", "access_key_id"), ("secret_key", "secret_access_key"), ("session_token", "session_token")];

type Section = BTreeMap<String, String>;

/// A file, and its profiles by name.
pub(super) struct RcloneFile {
    pub(super) path: PathBuf,
    pub(super) profiles: Vec<(String, Value)>,
    /// The remotes of other types, with their types.
    pub(super) others: Vec<(String, String)>,
}

/// Reads the first file that exists.
pub(super) fn read(environment: &Environment) -> Outcome<Option<RcloneFile>> {
    for path in paths(environment) {
        let Some(bytes) = read_local(&path, MAX_FILE_BYTES)? else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let is_comment = |line: &&str| line.is_empty() || line.starts_with(['#', ';']);
        if text.lines().map(str::trim).find(|line| !is_comment(line)).is_some_and(|line| line.starts_with(ENCRYPTED)) {
            return Err(Failure::environment(ACTIVITY, "it is encrypted, which is not supported")
                .on(Subject::path(&path))
                .with_hint("put the profile into the file that MSC_CONFIG names"));
        }
        let (mut profiles, mut others) = (Vec::new(), Vec::new());
        for (name, mut section) in parse(&text) {
            match profile(&section) {
                Some(profile) => profiles.push((name, profile)),
                None => others.extend(section.remove("type").map(|kind| (name, kind))),
            }
        }
        return Ok(Some(RcloneFile { path, profiles, others }));
    }
    Ok(None)
}

/// Returns the possible paths of the file, in the order of multi-storage-client.
fn paths(environment: &Environment) -> Vec<PathBuf> {
    let programs = environment.text("PATH").unwrap_or_default();
    let program = programs.split(':').map(Path::new).find(|folder| folder.join("rclone").is_file());
    let home = environment.text("HOME").map(PathBuf::from);
    let below = |folder: &Option<PathBuf>, name: &str| folder.as_ref().map(|folder| folder.join(name));
    [
        program.filter(|folder| folder.is_absolute()).map(|folder| folder.join("rclone.conf")),
        below(&environment.text("XDG_CONFIG_HOME").map(PathBuf::from), "rclone/rclone.conf"),
        Some(PathBuf::from("/etc/rclone.conf")),
        below(&home, ".config/rclone/rclone.conf"),
        below(&home, ".rclone.conf"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn parse(text: &str) -> Vec<(String, Section)> {
    let mut sections: Vec<(String, Section)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push((name.to_owned(), Section::new()));
        } else if let (Some((_, section)), Some(at)) = (sections.last_mut(), line.find(['=', ':'])) {
            let (name, value) = (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default());
            section.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    sections
}

/// Returns a section as a profile; `None` if its type is not a store.
fn profile(section: &Section) -> Option<Value> {
    let kind = match section.get("type")?.to_ascii_lowercase().as_str() {
        "azureblob" => "azure".to_owned(),
        "google cloud storage" => "gcs".to_owned(),
        kind @ ("s3" | "s8k" | "gcs_s3" | "azure" | "gcs" | "file") => kind.to_owned(),
        _ => return None,
    };
    let pick = |names: &[(&str, &str)]| -> Map<String, Value> {
        let given =
            names.iter().filter_map(|(to, from)| Some((*to, section.get(*from).filter(|text| !text.is_empty())?)));
        given.map(|(name, value)| (name.to_owned(), Value::from(value.as_str()))).collect()
    };
    let mut storage = pick(&STORAGE_OPTIONS);
    storage.entry("base_path").or_insert_with(|| "".into());
    let provider = match kind.as_str() {
        "gcs" => google_credentials(section),
        "azure" => azure_credentials(section),
        _ => None,
    };
    // Without credentials in the section, only the address names the account.
    if let (Some(account), "azure", None) = (section.get("account"), kind.as_str(), &provider) {
        storage.entry("endpoint_url").or_insert_with(|| format!("https://{account}.blob.core.windows.net").into());
    }
    let mut profile = Map::new();
    profile.insert("storage_provider".to_owned(), serde_json::json!({"type": kind, "options": storage}));
    let keys = pick(&S3_CREDENTIALS);
    if keys.contains_key("access_key") {
        profile
            .insert("credentials_provider".to_owned(), serde_json::json!({"type": "S3Credentials", "options": keys}));
    }
    profile.extend(provider.map(|provider| ("credentials_provider".to_owned(), provider)));
    Some(Value::Object(profile))
}

/// Returns the credentials of a Google remote; `None` if the credentials of the machine apply. A remote must only be used with its own
/// credentials.
fn google_credentials(section: &Section) -> Option<Value> {
    let given = |name: &str| section.get(name).filter(|text| !text.is_empty());
    let of_account =
        |options: Value| serde_json::json!({"type": "GoogleServiceAccountCredentialsProvider", "options": options});
    if let Some(file) = given("service_account_file") {
        return Some(of_account(serde_json::json!({"file": file})));
    }
    if let Some(info) = given("service_account_credentials").and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        return Some(of_account(serde_json::json!({"info": info})));
    }
    let others = ["service_account_credentials", "token", "access_token", "anonymous"];
    let other = others.into_iter().find(|name| given(name).is_some_and(|value| value != "false"))?;
    Some(serde_json::json!({"type": format!("{other} of rclone"), "options": {}}))
}

/// Returns the credentials of an Azure remote as a connection string; `None` if the credentials of the machine apply.
fn azure_credentials(section: &Section) -> Option<Value> {
    let given = |name: &str| section.get(name).filter(|text| !text.is_empty() && *text != "false");
    let connection = if given("use_emulator").is_some() {
        Some("UseDevelopmentStorage=true".to_owned())
    } else if let (Some(account), Some(key)) = (given("account"), given("key")) {
        Some(format!("AccountName={account};AccountKey={key}"))
    } else if let Some((address, sas)) = given("sas_url").and_then(|url| url.split_once('?')) {
        // The path is the container, which the addresses also contain.
        let host = address.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        Some(format!("BlobEndpoint={host};SharedAccessSignature={sas}"))
    } else {
        given("connection_string").cloned()
    };
    if let Some(connection) = connection {
        return Some(serde_json::json!({"type": "AzureCredentials", "options": {"connection": connection}}));
    }
    let others = [
        "sas_url",
        "service_principal_file",
        "client_secret",
        "client_certificate_path",
        "username",
        "use_msi",
        "use_az",
        "key",
    ];
    let other = others.into_iter().find(|name| given(name).is_some());
    match (other, given("account"), given("env_auth")) {
        (None, Some(_), Some(_)) => None,
        (other, ..) => {
            let kind = format!("{} of rclone", other.unwrap_or("account"));
            Some(serde_json::json!({"type": kind, "options": {}}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rclone_google_remote_uses_only_its_own_credentials() {
        let type_of = |line: &str| {
            let text = format!("[r]\ntype = google cloud storage\n{line}\n");
            let profile = profile(&parse(&text)[0].1).unwrap();
            profile["credentials_provider"]["type"].as_str().unwrap_or("none").to_owned()
        };
        let account = "GoogleServiceAccountCredentialsProvider";
        assert_eq!(type_of("service_account_file = /k.json"), account);
        assert_eq!(type_of(r#"service_account_credentials = {"type": "service_account"}"#), account);
        assert_eq!(type_of("anonymous = false"), "none");
        for other in ["token = {}", "anonymous = true", "service_account_credentials = {"] {
            assert!(type_of(other).ends_with("of rclone"), "{other}");
        }
    }

    #[test]
    fn rclone_azure_remote_uses_only_its_own_credentials() {
        let parsed = |lines: &str| profile(&parse(&format!("[r]\ntype = azureblob\n{lines}\n"))[0].1).unwrap();
        let connection = |lines: &str| {
            let profile = parsed(lines);
            assert_eq!(profile["credentials_provider"]["type"], "AzureCredentials", "{lines}");
            profile["credentials_provider"]["options"]["connection"].as_str().unwrap().to_owned()
        };
        assert_eq!(connection("account = acc\nkey = a2V5"), "AccountName=acc;AccountKey=a2V5");
        assert_eq!(
            connection("sas_url = https://acc.blob.core.windows.net/c?sv=1&sig=a%3D"),
            "BlobEndpoint=https://acc.blob.core.windows.net;SharedAccessSignature=sv=1&sig=a%3D"
        );
        assert_eq!(connection("use_emulator = true"), "UseDevelopmentStorage=true");
        let machine = parsed("account = acc\nenv_auth = true");
        assert!(machine.get("credentials_provider").is_none());
        assert_eq!(machine["storage_provider"]["options"]["endpoint_url"], "https://acc.blob.core.windows.net");
        for other in
            ["account = acc", "account = acc\nuse_msi = true", "account = acc\nclient_secret = s\nenv_auth = true"]
        {
            let kind = parsed(other)["credentials_provider"]["type"].as_str().unwrap().to_owned();
            assert!(kind.ends_with("of rclone"), "{other}: {kind}");
        }
    }
}
