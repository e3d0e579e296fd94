//! Requests to a container: signed, repeated after failures that may be temporary, and corrected once if the store refuses the credentials
//! or the clock.

use super::super::super::store::Condition;
use super::super::dates::{format_http_date, StoreClock};
use super::super::environment::Environment;
use super::super::network::{body, Answer, Network};
use super::super::retry::RetryReason;
use super::super::s3::{attempt, insert, Action, Attempt, Call, CurrentKeys, Keys, Refusal, BUSY, MAX_CLOCK_SECONDS};
use super::config::{AzureConfig, AzureProfile};
use super::signature::{sign, VERSION};
use super::tokens::AzureTokens;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::{Method, Request};
use std::sync::Arc;

/// Code of the refusal to read a folder as a blob.
pub(super) const FOLDER: &str = "Folder";

/// State that all containers of an account share.
pub(in crate::remote) struct AzureContext {
    pub(super) network: Arc<Network>,
    pub(super) config: AzureConfig,
    /// The host of the account, if addresses contain it.
    host: Option<String>,
    pub(super) credentials: CurrentKeys,
    pub(super) clock: StoreClock,
}

impl AzureContext {
    /// Creates the context of an account. `host` is its host, if addresses contain it.
    pub(in crate::remote) fn new(
        network: Arc<Network>,
        profile: AzureProfile,
        environment: Environment,
        host: Option<&str>,
    ) -> Outcome<Self> {
        let config = AzureConfig::new(&profile, &environment, host)?;
        let tokens = AzureTokens::new(Arc::clone(&network), environment, config.keys.clone());
        let credentials = CurrentKeys::new(Box::new(tokens), config.is_anonymous);
        let host = host.map(str::to_owned);
        Ok(Self { network, config, host, credentials, clock: StoreClock::default() })
    }
}

/// The corrections that were made to a request.
#[derive(Default)]
struct Corrections {
    keys: bool,
    clock: bool,
}

/// Sends the requests of a container.
pub(super) struct AzureClient {
    pub(super) context: Arc<AzureContext>,
    pub(super) container: String,
}

impl AzureClient {
    pub(super) fn new(context: Arc<AzureContext>, container: &str) -> Self {
        Self { context, container: container.to_owned() }
    }

    /// Sends a request until the store answers with success, or with a refusal that does not depend on time. Reading a folder as a blob is
    /// refused with the code [`FOLDER`].
    pub(super) async fn call(&self, call: &Call) -> Outcome<Result<Answer, Refusal>> {
        let network = &self.context.network;
        let mut answer = Answer::default();
        let mut corrections = Corrections::default();
        let mut patience = None;
        loop {
            let keys = self.context.credentials.get().await?;
            let request = self.request(call, keys.as_deref(), &answer)?;
            let patience = patience.get_or_insert_with(|| network.patience(request.url()));
            let before = answer.body.len();
            let reason = match attempt(self, call, request, &mut answer).await? {
                Attempt::Complete if is_folder(call, &answer) => return Ok(Err(Refusal::of_success(404, FOLDER))),
                Attempt::Complete => return Ok(Ok(answer)),
                Attempt::Retry(reason) => reason,
                Attempt::Refused(mut refusal) => {
                    refusal.keys = keys;
                    if self.correct(&refusal, &mut corrections).await {
                        continue;
                    }
                    if !refusal.is_temporary() {
                        return Ok(Err(refusal));
                    }
                    RetryReason::new(refusal.text())
                }
            };
            if call.range.is_some() && answer.body.len() > before {
                patience.reset();
            }
            patience.wait(&reason).await.map_err(|failure| self.with_hint(failure, &reason))?;
        }
    }

    /// Returns the address of a key in the form that users type.
    pub(super) fn address(&self, key: &str) -> String {
        let slash = if key.is_empty() { "" } else { "/" };
        match &self.context.host {
            Some(host) => format!("abfss://{}@{host}{slash}{key}", self.container),
            None => format!("az://{}{slash}{key}", self.container),
        }
    }

    /// Adds a hint to the failure of a request.
    fn with_hint(&self, failure: Failure, reason: &RetryReason) -> Failure {
        let failure = failure.on(Subject::path(self.address("")));
        if let Some(hint) = &reason.hint {
            return failure.with_hint(hint);
        }
        match &self.context.config.endpoint_source {
            _ if reason.why == BUSY => {
                failure.with_hint("run it with fewer --connections, or spread the data over more accounts")
            }
            Some(source) => failure.with_hint(format!("the address of the store is from {source}")),
            None => {
                let account = &self.context.config.account;
                failure.with_hint(format!("check the network, and whether there is an account {account}"))
            }
        }
    }

    /// Returns a request, with its credentials, for the part that `answer` lacks.
    fn request(&self, call: &Call, keys: Option<&Keys>, answer: &Answer) -> Outcome<Request> {
        let sas = keys.and_then(|keys| keys.token.as_ref());
        let url = self.context.config.url(&self.container, &call.key, &call.query, sas)?;
        let mut request = Request::new(call.method.clone(), url.clone());
        let headers = request.headers_mut();
        insert(headers, "x-ms-version", VERSION);
        if let Some(range) = &call.range {
            insert(headers, "range", &answer.missing_range(range));
        }
        let etag = call.etag.as_deref().or(Some(answer.version.as_str())).filter(|etag| !etag.is_empty());
        let is_of_version = call.range.is_some() || matches!(call.condition, Condition::IfStamp(_));
        if let (Some(etag), true) = (etag, is_of_version) {
            insert(headers, "if-match", &format!("\"{etag}\""));
        }
        if call.condition == Condition::IfAbsent {
            insert(headers, "if-none-match", "*");
        }
        call.headers.iter().for_each(|(name, value)| insert(headers, name, value));
        match keys {
            Some(keys) if !keys.id.is_empty() => {
                insert(headers, "x-ms-date", &format_http_date(self.context.clock.now()));
                sign(keys, call.method.as_str(), &url, &call.query, headers, call.body.len());
            }
            Some(keys) if keys.token.is_none() => {
                insert(headers, "authorization", &format!("Bearer {}", keys.secret.reveal()));
            }
            _ => {}
        }
        if !call.body.is_empty() {
            body::set(&mut request, call.body.clone());
        } else if call.method == Method::PUT {
            // Without a body the client sends no length, which the store refuses (411).
            insert(request.headers_mut(), "content-length", "0");
        }
        Ok(request)
    }

    /// Corrects the cause of a refusal, each cause once. Returns whether the request should be repeated.
    async fn correct(&self, refusal: &Refusal, corrections: &mut Corrections) -> bool {
        let Some(keys) = &refusal.keys else { return false };
        if is_clock(refusal) && !keys.id.is_empty() && !corrections.clock {
            corrections.clock = true;
            self.context.clock.set(refusal.clock_offset);
            return true;
        }
        if refusal.status == 401 && !corrections.keys {
            corrections.keys = true;
            self.context.credentials.forget(keys);
            return true;
        }
        false
    }
}

/// Whether an answer concerns a folder of an account with folders, or a blob that marks one.
fn is_folder(call: &Call, answer: &Answer) -> bool {
    let is = |name: &str, value: &str| answer.header(name).is_some_and(|text| text.eq_ignore_ascii_case(value));
    let is_read = call.action == Action::Read && call.query.is_empty();
    is_read && (is("x-ms-resource-type", "directory") || is("x-ms-meta-hdi_isfolder", "true"))
}

/// Whether a request may be refused because the clocks differ.
fn is_clock(refusal: &Refusal) -> bool {
    refusal.status == 403 && refusal.code == "AuthenticationFailed" && refusal.clock_offset.abs() > MAX_CLOCK_SECONDS
}
