//! Requests to a bucket: signed, repeated after failures that may be temporary, and corrected once if the store refuses the region, the
//! keys or the clock.

use super::super::super::store::Condition;
use super::super::dates::StoreClock;
use super::super::environment::Environment;
use super::super::network::{body, Answer, Network, RangeCall, RangeResult, Reply, MAX_ANSWER_BYTES};
use super::super::retry::RetryReason;
use super::super::store_settings::remote_settings;
use super::call::Call;
use super::config::{S3Config, FIRST_REGION};
use super::crc64nvme::{checksum_of, CHECKSUM};
use super::credentials::CredentialChain;
use super::keys::{CurrentKeys, FindKeys, Keys};
use super::object::ObjectClient;
use super::profiles::Profiles;
use super::refusal::{Refusal, BUSY};
use super::s3_settings::S3Settings;
use super::signature::{insert, Signer};
use super::upload::GrowingUpload;
use super::vendor::Vendor;
use gristmill_core::{Failure, Mutex, Outcome, Subject};
use reqwest::header::HeaderMap;
use reqwest::{Method, Request, Url};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Maximum difference between the clocks that a store accepts.
pub(in crate::remote) const MAX_CLOCK_SECONDS: i64 = 15 * 60;

/// Time for which a refusal applies to equal requests, or to all requests if it concerns every request.
const REFUSAL_LIFETIME: Duration = Duration::from_secs(2);

/// Header with the algorithm of the checksums of the parts of an upload.
const CHECKSUM_KIND: &str = "x-amz-checksum-algorithm";

/// State that all buckets share.
pub(in crate::remote) struct S3Context {
    pub(super) network: Arc<Network>,
    pub(super) config: S3Config,
    pub(super) vendor: Vendor,
    pub(super) credentials: CurrentKeys,
}

impl S3Context {
    pub(in crate::remote) fn new(
        network: Arc<Network>,
        settings: S3Settings,
        environment: Environment,
    ) -> Outcome<Self> {
        let profiles = Profiles::read(&environment, settings.flags.profile.as_deref())
            .map_err(|failure| failure.on(Subject::field(settings.source_of("--profile"))))?;
        let config = S3Config::new(&settings, &environment, &profiles)?;
        let region = config.region.clone().unwrap_or_else(|| FIRST_REGION.to_owned());
        let chain = CredentialChain::new(Arc::clone(&network), settings, environment, profiles, region);
        let credentials = CurrentKeys::new(Box::new(chain), config.is_anonymous);
        Ok(Self { network, config, vendor: Vendor::Amazon, credentials })
    }

    /// Creates the context of Google's store. `endpoint` is an unusual endpoint and the name of its setting.
    pub(in crate::remote) fn of_google(
        network: Arc<Network>,
        usual: &str,
        endpoint: Option<(String, String)>,
        is_anonymous: bool,
        tokens: Box<dyn FindKeys>,
    ) -> Outcome<Self> {
        let config = S3Config::of_google(usual, endpoint, is_anonymous, &remote_settings().new_objects)?;
        Ok(Self { network, config, vendor: Vendor::Google, credentials: CurrentKeys::new(tokens, is_anonymous) })
    }
}

/// The corrections that were made to a request.
#[derive(Default)]
struct Corrections {
    region: bool,
    keys: bool,
    clock: bool,
}

/// Sends the requests of a bucket.
pub(super) struct S3Client {
    pub(super) context: Arc<S3Context>,
    pub(super) bucket: String,
    /// The region that the store named, if it is not the configured one.
    region: Mutex<Option<String>>,
    clock: StoreClock,
    /// Whether the store has refused checksums, and whether its answers have contained them.
    has_no_checksums: AtomicBool,
    names_checksums: AtomicBool,
    /// Whether the store has refused a body that is not signed.
    must_sign: AtomicBool,
    /// Uploads of objects whose files still grow, by their keys.
    pub(super) ahead: Mutex<HashMap<String, GrowingUpload>>,
    /// Whether the store obeys `If-None-Match`, once known.
    pub(super) obeys_absence: OnceLock<bool>,
    /// Whether the tags of objects are MD5 sums, once known.
    pub(super) has_md5_tags: OnceLock<bool>,
    /// Recent refusals by the name of the request; a refusal that concerns every request has the empty name.
    refusals: Mutex<HashMap<String, (Instant, Refusal)>>,
}

impl S3Client {
    pub(super) fn new(context: Arc<S3Context>, bucket: &str) -> Self {
        Self {
            context,
            bucket: bucket.to_owned(),
            region: Mutex::default(),
            clock: StoreClock::default(),
            has_no_checksums: AtomicBool::new(false),
            names_checksums: AtomicBool::new(false),
            must_sign: AtomicBool::new(false),
            ahead: Mutex::default(),
            obeys_absence: OnceLock::new(),
            has_md5_tags: OnceLock::new(),
            refusals: Mutex::default(),
        }
    }

    /// Sends a request until the store answers with success, or with a refusal that does not depend on time.
    pub(super) async fn call(&self, call: &Call) -> Outcome<Result<Answer, Refusal>> {
        if let Some(refusal) = self.recent_refusal(call) {
            return Ok(Err(refusal));
        }
        let network = &self.context.network;
        let mut answer = Answer::default();
        let mut corrections = Corrections::default();
        let mut patience = None;
        let mut checksum = self.checksum(call);
        let has_checksum = checksum.is_some();
        // A refusal of HEAD has no code. The same object is then requested by GET to obtain it.
        let mut inquiry: Option<Call> = None;
        loop {
            let keys = self.context.credentials.get().await?;
            let current = inquiry.as_ref().unwrap_or(call);
            let region = self.region();
            let request = self.request(current, keys.as_deref(), &region, &answer, checksum.as_ref())?;
            let patience = patience.get_or_insert_with(|| network.patience(request.url()));
            let before = answer.body.len();
            let reason = match attempt(self, current, request, &mut answer).await? {
                Attempt::Retry(reason) => {
                    answer.lost_answers += 1;
                    reason
                }
                Attempt::Complete if inquiry.is_none() => {
                    self.has_no_checksums.fetch_or(has_checksum && checksum.is_none(), Ordering::Relaxed);
                    match self.check_sum(&answer, checksum.as_ref()) {
                        true => return Ok(Ok(answer)),
                        false => RetryReason::new("the store has other bytes than were sent"),
                    }
                }
                Attempt::Complete => RetryReason::new("the store refuses requests inconsistently"),
                Attempt::Refused(mut refusal) => {
                    refusal.keys = keys;
                    if refusal.may_concern_checksum() && checksum.take().is_some() {
                        continue;
                    }
                    if self.correct(&refusal, &region, &mut corrections).await {
                        inquiry = None;
                        continue;
                    }
                    let is_silent = current.method == Method::HEAD && refusal.code.is_empty();
                    if is_silent && [301, 307, 400, 403].contains(&refusal.status) {
                        // The answer to another request may have named the reason meanwhile.
                        if let Some(refusal) = self.recent_refusal(call) {
                            return Ok(Err(refusal));
                        }
                        inquiry = Some(Call { method: Method::GET, range: Some(0..1), ..call.clone() });
                        continue;
                    }
                    let may_pass = refusal.is_temporary() || inquiry.is_some() && refusal.status == 416;
                    if !may_pass {
                        self.remember_refusal(call, &refusal);
                        return Ok(Err(refusal));
                    }
                    RetryReason::new(refusal.text())
                }
            };
            if inquiry.take().is_some() {
                answer = Answer { lost_answers: answer.lost_answers, ..Answer::default() };
            } else if call.range.is_some() && answer.body.len() > before {
                patience.reset();
            }
            patience.wait(&reason).await.map_err(|failure| self.with_hint(failure, &reason))?;
        }
    }

    /// Returns the recent refusal that applies to a request.
    fn recent_refusal(&self, call: &Call) -> Option<Refusal> {
        let mut refusals = self.refusals.lock();
        refusals.retain(|_, (at, _)| at.elapsed() < REFUSAL_LIFETIME);
        refusals.get("").or_else(|| refusals.get(&name_of(call))).map(|(_, refusal)| refusal.clone())
    }

    fn remember_refusal(&self, call: &Call, refusal: &Refusal) {
        let name = match () {
            () if refusal.concerns_all(self.context.vendor) => String::new(),
            () if call.is_read() && [401, 403].contains(&refusal.status) => name_of(call),
            () => return,
        };
        let mut refusals = self.refusals.lock();
        refusals.insert(name, (Instant::now(), refusal.clone()));
    }

    /// Returns the address of a key in the form that users type.
    pub(super) fn address(&self, key: &str) -> String {
        match key {
            "" => format!("{}://{}", self.context.vendor.scheme(), self.bucket),
            key => format!("{}://{}/{key}", self.context.vendor.scheme(), self.bucket),
        }
    }

    /// Returns the address of the server, if one is configured.
    pub(super) fn endpoint(&self) -> Option<&str> {
        self.context.config.endpoint.as_ref().map(|(address, _)| address.as_str())
    }

    /// Returns the region that requests are signed for.
    pub(super) fn region(&self) -> String {
        let named = self.region.lock().clone();
        named.or_else(|| self.context.config.region.clone()).unwrap_or_else(|| FIRST_REGION.to_owned())
    }

    /// Adds a hint to the failure of a request.
    fn with_hint(&self, failure: Failure, reason: &RetryReason) -> Failure {
        let failure = failure.on(Subject::path(self.address("")));
        if let Some(hint) = &reason.hint {
            return failure.with_hint(hint);
        }
        match &self.context.config.endpoint {
            _ if reason.why == BUSY => {
                failure.with_hint("run it with fewer --connections, or spread the data over more prefixes")
            }
            Some((_, source)) => failure.with_hint(format!("the address of the store is from {source}")),
            None if self.context.vendor == Vendor::Google => failure.with_hint("check the network"),
            None => failure.with_hint("check the network; --endpoint-url is for a store that is not Amazon's"),
        }
    }

    fn url(&self, call: &Call, region: &str) -> Outcome<Url> {
        let query: Vec<_> = call.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.context.config.url(region, &self.bucket, &call.key, &query)
    }

    /// Returns the header with which the store checks the body of a request, or the header that announces it for the parts of an upload.
    fn checksum(&self, call: &Call) -> Option<(&'static str, String)> {
        if self.context.vendor != Vendor::Amazon || self.has_no_checksums.load(Ordering::Relaxed) {
            return None;
        }
        match call.method {
            Method::PUT if !call.body.is_empty() => Some((CHECKSUM, checksum_of(&call.body))),
            Method::POST if call.makes_object() => Some((CHECKSUM_KIND, "CRC64NVME".to_owned())),
            _ => None,
        }
    }

    /// Whether the answer to a request with a checksum does not contain a different one.
    fn check_sum(&self, answer: &Answer, checksum: Option<&(&'static str, String)>) -> bool {
        let sent = checksum.filter(|(name, _)| *name == CHECKSUM);
        let Some((stored, (_, sent))) = answer.header(CHECKSUM).zip(sent) else { return true };
        self.names_checksums.store(true, Ordering::Relaxed);
        stored == sent
    }

    /// Returns a signed request for the part that `answer` lacks.
    fn request(
        &self,
        call: &Call,
        keys: Option<&Keys>,
        region: &str,
        answer: &Answer,
        checksum: Option<&(&'static str, String)>,
    ) -> Outcome<Request> {
        let mut request = Request::new(call.method.clone(), self.url(call, region)?);
        let url = request.url().clone();
        let headers = request.headers_mut();
        if let Some(range) = &call.range {
            insert(headers, "range", &answer.missing_range(range));
        }
        let etag = call.etag.as_deref().or(Some(answer.version.as_str())).filter(|etag| !etag.is_empty());
        let is_of_version = call.range.is_some() || matches!(call.condition, Condition::IfStamp(_));
        if let (Some(etag), true) = (etag, is_of_version) {
            self.context.vendor.add_version(etag, headers);
        }
        self.context.vendor.add_condition(call.condition, headers);
        call.headers.iter().for_each(|(name, value)| insert(headers, name, value));
        if call.makes_object() {
            self.context.config.object_headers.iter().for_each(|(name, value)| insert(headers, name, value));
        }
        if self.context.vendor == Vendor::Google {
            self.context.vendor.add_token(&call.method, headers, keys, &call.body);
        } else if self.context.config.request_payer {
            insert(headers, "x-amz-request-payer", "requester");
        }
        checksum.into_iter().for_each(|(name, value)| insert(headers, name, value));
        if let Some(keys) = keys.filter(|_| self.context.vendor == Vendor::Amazon) {
            let signer = Signer { keys, region, service: "s3", time: self.clock.now() };
            // A body that the store compares with a checksum need not be signed if TLS protects it.
            let is_checked = url.scheme() == "https"
                && self.names_checksums.load(Ordering::Relaxed)
                && !self.must_sign.load(Ordering::Relaxed)
                && checksum.is_some_and(|(name, _)| *name == CHECKSUM);
            signer.sign(call.method.as_str(), &url, headers, (!is_checked).then_some(&*call.body));
        }
        if !call.body.is_empty() {
            body::set(&mut request, call.body.clone());
        } else if [Method::PUT, Method::POST].contains(&call.method) {
            // Without a body the client sends no length, which some stores refuse (411).
            insert(request.headers_mut(), "content-length", "0");
        }
        Ok(request)
    }

    /// Corrects the cause of a refusal of a request to a region, each cause once. Returns whether the request should be repeated.
    async fn correct(&self, refusal: &Refusal, region: &str, corrections: &mut Corrections) -> bool {
        if let (Some(named), false) = (&refusal.region, corrections.region) {
            if [301, 307, 400, 403].contains(&refusal.status) && named != region {
                corrections.region = true;
                *self.region.lock() = Some(named.clone());
                return true;
            }
        }
        // The refusal of an access token has no specific code.
        let is_ended = ["ExpiredToken", "TokenRefreshRequired"].contains(&refusal.code.as_str())
            || refusal.status == 401 && self.context.vendor == Vendor::Google;
        if let (Some(keys), true, false) = (&refusal.keys, is_ended, corrections.keys) {
            corrections.keys = true;
            self.context.credentials.forget(keys);
            return true;
        }
        // The policy of a bucket may refuse bodies that are not signed.
        let is_forbidden = refusal.status == 403 && self.names_checksums.load(Ordering::Relaxed);
        if is_forbidden && !self.must_sign.swap(true, Ordering::Relaxed) {
            return true;
        }
        let is_clock = refusal.code == "RequestTimeTooSkewed" && refusal.clock_offset.abs() > MAX_CLOCK_SECONDS;
        if is_clock && !corrections.clock {
            corrections.clock = true;
            self.clock.set(refusal.clock_offset);
            return true;
        }
        false
    }
}

/// Returns the name of a request: its method, key and query.
fn name_of(call: &Call) -> String {
    format!("{} {} {:?}", call.method, call.key, call.query)
}

/// Result of one try.
pub(in crate::remote) enum Attempt {
    Complete,
    Retry(RetryReason),
    Refused(Refusal),
}

/// Sends a request once and reads the answer, appending to the bytes of earlier answers.
pub(in crate::remote) async fn attempt(
    client: &impl ObjectClient,
    call: &Call,
    request: Request,
    answer: &mut Answer,
) -> Outcome<Attempt> {
    let network = client.network();
    Ok(match network.send(network.client(false), request, &client.address(&call.key)).await? {
        Err(reason) => Attempt::Retry(reason),
        Ok(mut reply) if (200..300).contains(&reply.status()) => {
            read_answer(call, client.version_of(), &mut reply, answer).await
        }
        Ok(reply) => Attempt::Refused(Refusal::read(reply).await),
    })
}

/// Reads the body of an answer, appending to the bytes of earlier answers. An answer that does not match the request is refused.
async fn read_answer(
    call: &Call,
    version_of: fn(&HeaderMap) -> String,
    reply: &mut Reply,
    answer: &mut Answer,
) -> Attempt {
    let Some(range) = &call.range else {
        answer.headers = reply.headers().clone();
        answer.body.clear();
        if let Err(reason) = reply.read(&mut answer.body, MAX_ANSWER_BYTES).await {
            return Attempt::Retry(reason);
        }
        return match call.ending.is_none_or(|ending| answer.body.trim_ascii_end().ends_with(ending.as_bytes())) {
            true => Attempt::Complete,
            false => Attempt::Retry(RetryReason::new("the answer of the store is not complete")),
        };
    };
    let call = RangeCall { range, version: call.etag.as_deref(), version_of };
    let code = match answer.read_range(&call, reply).await {
        RangeResult::Complete => return Attempt::Complete,
        RangeResult::Retry(reason) => return Attempt::Retry(reason),
        RangeResult::NoRanges => "NoRanges",
        RangeResult::OtherRange => "WrongRange",
        RangeResult::OtherVersion => return Attempt::Refused(Refusal::of_success(412, "PreconditionFailed")),
    };
    Attempt::Refused(Refusal::of_success(reply.status(), code))
}
