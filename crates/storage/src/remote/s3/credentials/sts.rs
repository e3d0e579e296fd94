//! Keys of a role, from the security token service.

use super::super::super::dates::parse_iso_time;
use super::super::super::environment::MAX_FILE_BYTES;
use super::super::answers::text_of;
use super::super::config::{configured_endpoint, domain};
use super::super::signature::{encode, Signer};
use super::{CredentialChain, Keys, Secret, ACTIVITY};
use crate::local_file::read_local;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::header::{HeaderMap, HeaderValue, CONTENT_TYPE};
use reqwest::Url;
use std::time::SystemTime;

/// Version of the API.
const VERSION: &str = "2011-06-15";
/// Default name of the session.
const SESSION: &str = "gristmill";

impl CredentialChain {
    /// Assumes the role of a profile with other keys.
    pub(super) async fn assume_role(&self, profile: &str, role: &str, base: &Keys) -> Outcome<Keys> {
        let get = |setting: &str| self.profiles.get(profile, setting);
        let mut form = vec![
            ("Action", "AssumeRole"),
            ("Version", VERSION),
            ("RoleArn", role),
            ("RoleSessionName", get("role_session_name").unwrap_or(SESSION)),
        ];
        let optional = [("DurationSeconds", "duration_seconds"), ("ExternalId", "external_id")];
        form.extend(optional.into_iter().filter_map(|(name, setting)| Some((name, get(setting)?))));
        self.request_role(&form, Some(base), &format!("the profile {profile}")).await
    }

    /// Assumes a role with the token in a file.
    pub(super) async fn assume_role_with_web_identity(
        &self,
        file: &str,
        role: &str,
        session: Option<&str>,
    ) -> Outcome<Keys> {
        let path = self.environment.path(file);
        let refuse = || Failure::environment(ACTIVITY, "there is no such file").on(Subject::path(&path));
        let token = read_local(&path, MAX_FILE_BYTES)?.ok_or_else(refuse)?;
        let token = Secret::new(String::from_utf8_lossy(&token).trim());
        let form = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", VERSION),
            ("RoleArn", role),
            ("RoleSessionName", session.unwrap_or(SESSION)),
            ("WebIdentityToken", token.reveal()),
        ];
        self.request_role(&form, None, "the web identity").await
    }

    async fn request_role(&self, form: &[(&str, &str)], base: Option<&Keys>, source: &str) -> Outcome<Keys> {
        let usual = format!("https://sts.{}.{}", self.region, domain(&self.region));
        let configured = configured_endpoint("sts", &self.environment, &self.profiles)?;
        let (endpoint, setting) = configured.unwrap_or((usual, "the region".to_owned()));
        let refuse = |why: &str| Failure::environment(ACTIVITY, why).on(Subject::field(source));
        let url = Url::parse(&endpoint).map_err(|_| refuse("the token service has no valid address"))?;
        let form: Vec<_> = form.iter().map(|(name, value)| format!("{name}={}", encode(value, ""))).collect();
        let body = form.join("&");
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded; charset=utf-8"));
        if let Some(keys) = base {
            let signer = Signer { keys, region: &self.region, service: "sts", time: SystemTime::now() };
            signer.sign("POST", &url, &mut headers, Some(body.as_bytes()));
        }
        let request = self.network.client(false).post(url).headers(headers).body(body);
        let sent = self.fetch(request, false, "the token service").await;
        let (status, answer) = sent.map_err(|failure| {
            let hint =
                format!("{source} needs it; its address is from {setting}, and AWS_ENDPOINT_URL_STS sets another one");
            failure.with_hint(hint)
        })?;
        let text = |name: &str| text_of(&answer, name).filter(|text| !text.is_empty());
        if status != 200 {
            let code = text("Code").unwrap_or_default();
            let code = code.chars().filter(char::is_ascii_alphanumeric).take(64).collect::<String>();
            return Err(refuse(format!("the token service answers {status} {code}").trim_end())
                .with_hint("check the role, and who may assume it"));
        }
        let keys = || {
            Some(Keys {
                id: text("AccessKeyId")?,
                secret: Secret::new(text("SecretAccessKey")?),
                token: Some(Secret::new(text("SessionToken")?)),
                expires: Some(parse_iso_time(&text("Expiration")?)?),
                source: source.to_owned(),
            })
        };
        keys().ok_or_else(|| refuse("the answer of the token service has no keys"))
    }
}
