//! Keys from single sign-on, with the token that `aws sso login` stores in its cache.

use super::super::super::environment::MAX_FILE_BYTES;
use super::super::signature::encode;
use super::{CredentialChain, Keys, Secret, ACTIVITY};
use crate::local_file::read_local;
use gristmill_core::text::hex;
use gristmill_core::{Failure, Outcome, Subject};
use serde_json::Value;
use sha1::{Digest as _, Sha1};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

impl CredentialChain {
    /// Returns the keys of the role of a profile.
    pub(super) async fn find_by_sso(&self, profile: &str) -> Outcome<Keys> {
        let source = format!("the profile {profile}");
        let session = self.profiles.get(profile, "sso_session");
        let get = |setting: &str| {
            let of_session = session.and_then(|session| self.profiles.other("sso-session", session, setting));
            of_session.or_else(|| self.profiles.get(profile, setting))
        };
        let required =
            |setting: &str| get(setting).ok_or_else(|| self.refuse(profile, &format!("it has no {setting}")));
        let (account, role) = (required("sso_account_id")?, required("sso_role_name")?);
        let (region, start) = (required("sso_region")?, required("sso_start_url")?);
        let expired = || {
            Failure::environment(ACTIVITY, "its single sign-on session has expired")
                .on(Subject::field(&source))
                .with_hint(format!("run `aws sso login --profile {profile}`"))
        };
        let name = hex(&Sha1::digest(session.unwrap_or(start)));
        let path = self.environment.path(&format!("~/.aws/sso/cache/{name}.json"));
        let cached = read_local(&path, MAX_FILE_BYTES)?.ok_or_else(expired)?;
        let cached: Value = serde_json::from_slice(&cached).map_err(|_| expired())?;
        let text = |name: &str| cached.get(name).and_then(Value::as_str);
        let expires = text("expiresAt").and_then(super::super::super::dates::parse_iso_time).ok_or_else(expired)?;
        let token = text("accessToken").filter(|_| expires > SystemTime::now()).ok_or_else(expired)?;
        let usual = || format!("https://portal.sso.{region}.amazonaws.com");
        let portal = self.environment.text("AWS_ENDPOINT_URL_SSO").unwrap_or_else(usual);
        let address = format!(
            "{}/federation/credentials?account_id={}&role_name={}",
            portal.trim_end_matches('/'),
            encode(account, ""),
            encode(role, "")
        );
        let request = self.network.client(false).get(address).header("x-amz-sso_bearer_token", token);
        let (status, answer) = self.fetch(request, false, "the portal of single sign-on").await?;
        match status {
            200 => {
                keys_of(&answer, &source).ok_or_else(|| self.refuse(profile, "the answer of the portal has no keys"))
            }
            401 => Err(expired()),
            _ => Err(self.refuse(profile, &format!("the portal of single sign-on answers {status}"))),
        }
    }
}

fn keys_of(answer: &[u8], source: &str) -> Option<Keys> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let role = answer.get("roleCredentials")?;
    let text = |name: &str| role.get(name).and_then(Value::as_str);
    Some(Keys {
        id: text("accessKeyId")?.to_owned(),
        secret: Secret::new(text("secretAccessKey")?),
        token: text("sessionToken").map(Secret::new),
        expires: Some(UNIX_EPOCH + Duration::from_millis(role.get("expiration")?.as_u64()?)),
        source: source.to_owned(),
    })
}
