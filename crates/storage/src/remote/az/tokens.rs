//! Credentials of requests: the configured key or signature, or else access tokens, whose sources are tried in the order of Microsoft's
//! tools.

use super::super::environment::{Environment, MAX_FILE_BYTES};
use super::super::http::is_safe;
use super::super::network::Network;
use super::super::s3::{encode, output_of, FindKeys, Keys, KeysFuture};
use super::super::secret::Secret;
use crate::local_file::read_local;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Request, RequestBuilder, Url};
use serde_json::Value;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Name of this step in errors.
const ACTIVITY: &str = "getting the credentials";
/// The resource for which tokens are requested.
const RESOURCE: &str = "https://storage.azure.com";
/// Default address of the service that issues tokens of applications, and the variable that replaces it.
const AUTHORITY: &str = "https://login.microsoftonline.com";
const AUTHORITY_VARIABLE: &str = "AZURE_AUTHORITY_HOST";
/// Default address of the metadata of the machine, the variable that replaces it, and the time limit for its first answer.
const METADATA: &str = "http://169.254.169.254";
const METADATA_VARIABLE: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
const MAX_METADATA_TIME: Duration = Duration::from_secs(1);
/// Seconds for which a token is used if its answer has no expiry.
const DEFAULT_SECONDS: u64 = 600;

/// Finds credentials.
pub(super) struct AzureTokens {
    network: Arc<Network>,
    environment: Environment,
    /// The configured key or signature.
    configured: Option<Keys>,
}

impl FindKeys for AzureTokens {
    fn find(&self) -> KeysFuture<'_> {
        Box::pin(self.find_keys())
    }
}

impl AzureTokens {
    pub(super) fn new(network: Arc<Network>, environment: Environment, given: Option<Keys>) -> Self {
        Self { network, environment, configured: given }
    }

    async fn find_keys(&self) -> Outcome<Option<Keys>> {
        if let Some(keys) = &self.configured {
            return Ok(Some(keys.clone()));
        }
        if let Some(keys) = self.find_by_secret().await? {
            return Ok(Some(keys));
        }
        if let Some(keys) = self.find_by_workload().await? {
            return Ok(Some(keys));
        }
        if let Some(keys) = self.find_by_service().await? {
            return Ok(Some(keys));
        }
        if let Some(keys) = self.find_by_metadata().await? {
            return Ok(Some(keys));
        }
        Ok(self.find_by_program().await)
    }

    /// Returns the token of an application with a secret; `None` if none is configured.
    async fn find_by_secret(&self) -> Outcome<Option<Keys>> {
        let variable = |name: &str| self.environment.text(name);
        let given = (variable("AZURE_TENANT_ID"), variable("AZURE_CLIENT_ID"), variable("AZURE_CLIENT_SECRET"));
        let (Some(tenant), Some(client), Some(secret)) = given else { return Ok(None) };
        let form = [("client_id", client.as_str()), ("client_secret", secret.as_str())];
        self.token_of_application(&tenant, &form, "AZURE_CLIENT_SECRET").await.map(Some)
    }

    /// Returns the token of an application with a token of the cluster (workload identity); `None` if none is configured.
    async fn find_by_workload(&self) -> Outcome<Option<Keys>> {
        const SOURCE: &str = "AZURE_FEDERATED_TOKEN_FILE";
        let variable = |name: &str| self.environment.text(name);
        let given = (variable("AZURE_TENANT_ID"), variable("AZURE_CLIENT_ID"), variable(SOURCE));
        let (Some(tenant), Some(client), Some(file)) = given else { return Ok(None) };
        let path = self.environment.path(&file);
        let missing = || {
            let why = format!("{SOURCE} names it, and there is no such file");
            Failure::environment(ACTIVITY, why).on(Subject::path(&path))
        };
        let token = read_local(&path, MAX_FILE_BYTES)?.ok_or_else(missing)?;
        let token = String::from_utf8_lossy(&token).trim().to_owned();
        let form = [
            ("client_id", client.as_str()),
            ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
            ("client_assertion", token.as_str()),
        ];
        self.token_of_application(&tenant, &form, SOURCE).await.map(Some)
    }

    async fn token_of_application(&self, tenant: &str, form: &[(&str, &str)], source: &str) -> Outcome<Keys> {
        let authority = self.environment.text(AUTHORITY_VARIABLE).unwrap_or_else(|| AUTHORITY.to_owned());
        let authority = if authority.contains("://") { authority } else { format!("https://{authority}") };
        let address = format!("{}/{}/oauth2/v2.0/token", authority.trim_end_matches('/'), encode(tenant, ""));
        let url = Url::parse(&address).ok().filter(is_safe).ok_or_else(|| {
            Failure::environment(ACTIVITY, "it may only be https, or lead to this machine")
                .on(Subject::field(AUTHORITY_VARIABLE))
        })?;
        let scope = format!("{RESOURCE}/.default");
        let fixed = [("grant_type", "client_credentials"), ("scope", scope.as_str())];
        let form = fixed.iter().chain(form).map(|(name, value)| format!("{name}={}", encode(value, "")));
        let body = form.collect::<Vec<_>>().join("&");
        let request = self.network.client(false).post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let subject = "the token service of Microsoft";
        let (status, answer) = self.network.fetch(ACTIVITY, request.body(body), false, subject).await?;
        let token = parse_token(&answer, source).filter(|_| status == 200);
        token.ok_or_else(|| {
            Failure::environment(ACTIVITY, format!("{subject} answers {status} without a token"))
                .on(Subject::field(source))
                .with_hint("check AZURE_TENANT_ID, AZURE_CLIENT_ID and the secret of the application")
        })
    }

    /// Returns the token of the service of the container (managed identity); `None` if the environment names no service.
    async fn find_by_service(&self) -> Outcome<Option<Keys>> {
        const SOURCE: &str = "IDENTITY_ENDPOINT";
        let variable = |name: &str| self.environment.text(name);
        let (Some(address), Some(header)) = (variable(SOURCE), variable("IDENTITY_HEADER")) else { return Ok(None) };
        let refuse = |why: &str| Failure::environment(ACTIVITY, why).on(Subject::field(SOURCE));
        // The address is on this machine, without TLS.
        let url = Url::parse(&address).ok().filter(|url| is_safe(url) || is_link_local(url));
        let url = url.ok_or_else(|| refuse("it may only be https, or lead to this machine"))?;
        let request = self.identity(url, "2019-08-01").header("x-identity-header", header);
        let (status, answer) = self.network.fetch(ACTIVITY, request, true, "the identity of the container").await?;
        let token = parse_token(&answer, "the identity of the container").filter(|_| status == 200);
        token.map(Some).ok_or_else(|| refuse(&format!("its answer ({status}) has no token")))
    }

    /// Returns the token of the metadata of the machine (managed identity); `None` if it is not an Azure machine, or has no identity.
    async fn find_by_metadata(&self) -> Outcome<Option<Keys>> {
        const SUBJECT: &str = "the metadata of the machine";
        let base = self.environment.text(METADATA_VARIABLE).unwrap_or_else(|| METADATA.to_owned());
        let address = format!("{}/metadata/identity/oauth2/token", base.trim_end_matches('/'));
        let Ok(url) = Url::parse(&address) else { return Ok(None) };
        // Outside Azure, no service or another one answers. A token may take longer than this request, which is incomplete and therefore
        // refused.
        let client = self.network.client(true);
        let probe = self.network.send(client, Request::new(Method::GET, url.clone()), SUBJECT);
        match timeout(MAX_METADATA_TIME, probe).await {
            Ok(Ok(Ok(reply))) if reply.status() == 400 => {}
            _ => return Ok(None),
        }
        let request = self.identity(url, "2018-02-01").header("metadata", "true");
        let (status, answer) = self.network.fetch(ACTIVITY, request, true, SUBJECT).await?;
        Ok(parse_token(&answer, "the identity of the machine").filter(|_| status == 200))
    }

    /// Returns a request for the token of an identity of the machine: the identity of `AZURE_CLIENT_ID`, if it has several.
    fn identity(&self, url: Url, version: &str) -> RequestBuilder {
        let client = self.environment.text("AZURE_CLIENT_ID");
        let client = client.iter().map(|client| ("client_id", client.as_str()));
        let mut url = url;
        url.query_pairs_mut().extend_pairs([("api-version", version), ("resource", RESOURCE)]).extend_pairs(client);
        self.network.client(true).get(url)
    }

    /// Returns the token that the program `az` prints; `None` if it is not installed, or no user has logged in.
    async fn find_by_program(&self) -> Option<Keys> {
        let folders = self.environment.text("PATH")?;
        let program =
            std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|folder| folder.join("az"));
        let mut command = Command::new(program.into_iter().find(|program| program.is_file())?);
        command.args(["account", "get-access-token", "--output", "json", "--resource", RESOURCE]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let output = spawn_blocking(move || output_of(command)).await.ok().flatten()?;
        parse_token(&output, "the program az")
    }
}

/// Whether a URL is plain HTTP to a link-local address, which never leaves the network of this machine.
fn is_link_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().parse::<std::net::Ipv4Addr>();
    url.scheme() == "http" && host.is_ok_and(|host| host.is_link_local())
}

/// Parses a token in the form of the services, whose numbers may be strings, or in the form that the program `az` prints.
fn parse_token(json: &[u8], source: &str) -> Option<Keys> {
    let json: Value = serde_json::from_slice(json).ok()?;
    let text = |name: &str| json.get(name)?.as_str().filter(|token| !token.is_empty());
    let number = |name: &str| {
        let value = json.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    };
    let token = text("access_token").or_else(|| text("accessToken"))?;
    // A relative expiry does not depend on the clock.
    let end = match (number("expires_in"), number("expires_on")) {
        (None, Some(seconds)) => UNIX_EPOCH.checked_add(Duration::from_secs(seconds)),
        (seconds, _) => SystemTime::now().checked_add(Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS))),
    };
    Some(Keys { id: String::new(), secret: Secret::new(token), token: None, expires: end, source: source.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_token_expiry_is_parsed_in_every_form() {
        let end = |json: &str| {
            let keys = parse_token(json.as_bytes(), "x").unwrap();
            assert_eq!((keys.secret.reveal(), keys.id.as_str(), keys.token.is_none()), ("t", "", true));
            keys.expires.unwrap()
        };
        let at = UNIX_EPOCH + Duration::from_secs(4_000_000_000);
        assert_eq!(end(r#"{"access_token":"t","expires_on":"4000000000"}"#), at);
        assert!(end(r#"{"access_token":"t","expires_on":"4000000000","expires_in":"5"}"#) < at);
        assert_eq!(end(r#"{"accessToken":"t","expiresOn":"2096-10-02 07:06:40","expires_on":4000000000}"#), at);
        assert!(end(r#"{"access_token":"t","expires_in":3599}"#) > SystemTime::now() + Duration::from_secs(3000));
        assert!(end(r#"{"accessToken":"t"}"#) > SystemTime::now());
        assert!(parse_token(br#"{"access_token":""}"#, "x").is_none() && parse_token(b"", "x").is_none());
    }

    #[test]
    fn only_link_local_azure_services_are_used_without_tls() {
        let is_local = |address: &str| is_link_local(&Url::parse(address).unwrap());
        assert!(is_local("http://169.254.131.2:8081/msi/token") && !is_local("http://10.0.0.1/x"));
        assert!(!is_local("http://169.254.1.1.example.com/x"));
    }
}
