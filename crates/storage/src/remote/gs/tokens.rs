//! Access tokens of Google: their sources, in the order of Google's tools.

use super::super::environment::{Environment, MAX_FILE_BYTES};
use super::super::http::is_safe;
use super::super::network::{Network, MAX_SMALL_ANSWER_BYTES};
use super::super::s3::{encode, FindKeys, Keys, KeysFuture};
use super::super::secret::Secret;
use crate::local_file::read_local;
use base64::prelude::{Engine as _, BASE64_URL_SAFE_NO_PAD};
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::header::CONTENT_TYPE;
use reqwest::Url;
use ring::rand::SystemRandom;
use ring::signature::{RsaKeyPair, RSA_PKCS1_SHA256};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::timeout;

/// Name of this step in errors.
const ACTIVITY: &str = "getting the credentials";
/// The scope for which tokens are requested.
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_write";
/// Default address of the service that issues tokens; a file may name another one.
const TOKEN_ADDRESS: &str = "https://oauth2.googleapis.com/token";
/// Host of the metadata of the machine, and the time limit for its answer.
const METADATA_HOST: &str = "metadata.google.internal";
const MAX_METADATA_TIME: Duration = Duration::from_secs(1);
/// Seconds for which a signed request for a token is valid.
const ASSERTION_SECONDS: u64 = 3600;
/// Variable with a token, which Google's own program also reads.
const TOKEN_VARIABLE: &str = "CLOUDSDK_AUTH_ACCESS_TOKEN";

/// Credentials from a profile of another tool.
#[derive(Clone, Debug)]
pub(in crate::remote) enum GoogleCredentials {
    /// A file with credentials.
    File(PathBuf),
    /// The content of such a file, and the name of the setting.
    Content(Secret, String),
}

/// Finds access tokens.
pub(super) struct GoogleTokens {
    network: Arc<Network>,
    environment: Environment,
    configured: Option<GoogleCredentials>,
}

impl FindKeys for GoogleTokens {
    fn find(&self) -> KeysFuture<'_> {
        Box::pin(self.find_token())
    }
}

impl GoogleTokens {
    pub(super) fn new(network: Arc<Network>, environment: Environment, given: Option<GoogleCredentials>) -> Self {
        Self { network, environment, configured: given }
    }

    async fn find_token(&self) -> Outcome<Option<Keys>> {
        match &self.configured {
            None => {}
            Some(GoogleCredentials::File(path)) => return self.token_of_file(path).await,
            Some(GoogleCredentials::Content(json, source)) => {
                return self.token_of(json.reveal().as_bytes(), &Subject::field(source), source).await;
            }
        }
        if let Some(token) = self.environment.text(TOKEN_VARIABLE) {
            return Ok(Some(keys(token, None, TOKEN_VARIABLE)));
        }
        if let Some(path) = self.environment.text("GOOGLE_APPLICATION_CREDENTIALS") {
            return self.token_of_file(&self.environment.path(&path)).await;
        }
        let folder = self.environment.text("CLOUDSDK_CONFIG").unwrap_or_else(|| "~/.config/gcloud".to_owned());
        let path = self.environment.path(&folder).join("application_default_credentials.json");
        // Without a home folder there is no such file.
        if !path.starts_with("~") && path.is_file() {
            return self.token_of_file(&path).await;
        }
        Ok(timeout(MAX_METADATA_TIME, self.token_of_machine()).await.ok().flatten())
    }

    /// Gets a token with the credentials of a file.
    async fn token_of_file(&self, path: &Path) -> Outcome<Option<Keys>> {
        let subject = Subject::path(path);
        let bytes = read_local(path, MAX_FILE_BYTES)?
            .ok_or_else(|| Failure::environment(ACTIVITY, "there is no such file").on(subject.clone()))?;
        self.token_of(&bytes, &subject, &path.display().to_string()).await
    }

    async fn token_of(&self, json: &[u8], subject: &Subject, source: &str) -> Outcome<Option<Keys>> {
        let refuse = |why: &str| Failure::environment(ACTIVITY, why).on(subject.clone());
        let json: Value = serde_json::from_slice(json).map_err(|_| refuse("it is not valid JSON"))?;
        let text = |name: &str| {
            let value = json.get(name).and_then(Value::as_str).filter(|value| !value.is_empty());
            value.ok_or_else(|| refuse(&format!("it has no {name}")))
        };
        let address = json.get("token_uri").and_then(Value::as_str).unwrap_or(TOKEN_ADDRESS);
        let url = Url::parse(address).ok().filter(is_safe).ok_or_else(|| refuse("its token_uri is not https"))?;
        let form = match text("type")? {
            "service_account" => {
                let assertion = sign(text("client_email")?, address, text("private_key")?);
                let assertion = assertion.ok_or_else(|| refuse("its private_key is no RSA key in PKCS #8"))?;
                vec![("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer".to_owned()), ("assertion", assertion)]
            }
            "authorized_user" => vec![
                ("grant_type", "refresh_token".to_owned()),
                ("client_id", text("client_id")?.to_owned()),
                ("client_secret", text("client_secret")?.to_owned()),
                ("refresh_token", text("refresh_token")?.to_owned()),
            ],
            kind => {
                let hint = format!("set {TOKEN_VARIABLE} to what `gcloud auth print-access-token` prints");
                return Err(refuse(&format!("its type {kind} is not supported")).with_hint(hint));
            }
        };
        let body: Vec<_> = form.iter().map(|(name, value)| format!("{name}={}", encode(value, ""))).collect();
        let request = self.network.client(false).post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = request.body(body.join("&"));
        let (status, answer) = self.network.fetch(ACTIVITY, request, false, "the token service of Google").await?;
        if status != 200 {
            return Err(refuse(&format!("the token service answers {status}")).with_hint(
                "run `gcloud auth application-default login`, or give the file of another service account",
            ));
        }
        let token = parse_token(&answer, source);
        token.map(Some).ok_or_else(|| refuse("the answer of the token service has no token"))
    }

    /// Requests a token from the metadata of the machine once; `None` if it is not a Google machine.
    async fn token_of_machine(&self) -> Option<Keys> {
        let host = self.environment.text("GCE_METADATA_HOST").unwrap_or_else(|| METADATA_HOST.to_owned());
        let address = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
        let client = self.network.client(true);
        let request = client.get(address).header("metadata-flavor", "Google").build().ok()?;
        let mut reply = self.network.send(client, request, "the metadata of the machine").await.ok()?.ok()?;
        let mut body = Vec::new();
        reply.read(&mut body, MAX_SMALL_ANSWER_BYTES).await.ok()?;
        (reply.status() == 200).then(|| parse_token(&body, "the service account of the machine"))?
    }
}

fn keys(token: String, expires: Option<SystemTime>, source: &str) -> Keys {
    Keys { id: String::new(), secret: Secret::new(token), token: None, expires, source: source.to_owned() }
}

fn parse_token(json: &[u8], source: &str) -> Option<Keys> {
    let json: Value = serde_json::from_slice(json).ok()?;
    let token = json.get("access_token")?.as_str().filter(|token| !token.is_empty())?;
    let seconds = json.get("expires_in").and_then(Value::as_u64);
    let expires = seconds.and_then(|seconds| SystemTime::now().checked_add(Duration::from_secs(seconds)));
    Some(keys(token.to_owned(), expires, source))
}

/// Returns a request for a token, signed with the key of a service account; `None` if the key is not valid.
fn sign(email: &str, address: &str, key: &str) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let claims = json!({"iss": email, "scope": SCOPE, "aud": address, "iat": now, "exp": now + ASSERTION_SECONDS});
    let encode = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(json!({"alg": "RS256", "typ": "JWT"})), encode(claims));
    let pem = PrivatePkcs8KeyDer::from_pem_slice(key.as_bytes()).ok()?;
    let key = RsaKeyPair::from_pkcs8(pem.secret_pkcs8_der()).ok()?;
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature).ok()?;
    Some(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}
