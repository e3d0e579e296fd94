//! The requests of all stores: one thread with a runtime, one client, and the limits that the requests of a host share.
//!
//! [`Network::send`] sends a request once. A store repeats it as its protocol requires, with a [`RetryLimiter`] that counts the tries.
//! Threads of the program wait for a future with [`Pending::finish`]. Must not know the meaning of the requests.

pub(super) mod body;
mod fetch;
mod gate;
mod patience;
mod ranges;
mod speed;
#[cfg(test)]
mod tests;

use super::super::traffic::{count_received, CountedRequest};
use super::environment::Environment;
use super::http::{certificate_error, host, requested_pause, retry_reason_of};
use super::proxy;
use super::retry::RetryReason;
use super::store_settings::remote_settings;
use super::tls;
pub(super) use fetch::MAX_SMALL_ANSWER_BYTES;
use gate::{HostGate, Slot};
use gristmill_core::text::display_safe;
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Subject};
pub(super) use patience::RetryLimiter;
pub(super) use ranges::{Answer, RangeCall, RangeResult, MAX_ANSWER_BYTES};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, Request, Response, Url};
pub(super) use speed::bytes_worth_a_jump;
use std::collections::HashMap;
use std::future::Future;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{mpsc, Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Name of this step in errors.
pub(super) const ACTIVITY: &str = "asking the store";
/// Minimum speed of an upload in bytes per second, below which it counts as broken.
const MIN_UPLOAD_RATE: u64 = 128 << 10;
/// Interval at which a thread that waits for an answer checks whether its work was cancelled.
pub(super) const CANCEL_INTERVAL: Duration = Duration::from_millis(100);
/// Variable with the first pause in milliseconds, for tests.
const PAUSE_VARIABLE: &str = "GRISTMILL_HTTP_PAUSE_MS";

/// Limits of every request.
#[derive(Clone, Debug)]
pub(super) struct NetworkLimits {
    /// Maximum number of concurrent requests to a host.
    pub(super) connections: usize,
    /// Time limit for connecting.
    pub(super) connect: Duration,
    /// Time limit for the head of the answer.
    pub(super) first_byte: Duration,
    /// Time limit between two pieces of a body.
    pub(super) silence: Duration,
    /// Pause before the second try; doubled for each further one.
    pub(super) base_pause: Duration,
    /// Time without a byte of progress after which a request fails.
    pub(super) patience: Duration,
    /// The same for a host that has never worked, and the time for the head of the first answer.
    pub(super) first_patience: Duration,
}

impl NetworkLimits {
    fn of_process() -> Self {
        let pause = std::env::var(PAUSE_VARIABLE).ok().and_then(|value| value.parse().ok()).map(Duration::from_millis);
        let usual = Duration::from_millis(100);
        Self {
            connections: remote_settings().connections,
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            silence: Duration::from_secs(15),
            base_pause: pause.map_or(usual, |pause| pause.min(usual)),
            patience: Duration::from_secs(180),
            first_patience: Duration::from_secs(20),
        }
    }
}

/// The thread of all requests, and its shared state.
pub(super) struct Network {
    runtime: Handle,
    client: Client,
    /// Sends requests without a proxy, for local services that describe this machine.
    direct: Client,
    limits: NetworkLimits,
    hosts: Mutex<HashMap<String, Arc<HostGate>>>,
    /// Ends the thread when it is dropped.
    _end: oneshot::Sender<()>,
}

impl Network {
    /// Returns the network of the process, and starts it at the first call.
    pub(super) fn of_process() -> Outcome<Arc<Self>> {
        static NETWORK: OnceLock<Outcome<Arc<Network>>> = OnceLock::new();
        let start = || {
            proxy::check(&Environment::of_process())?;
            Self::start(NetworkLimits::of_process())
        };
        NETWORK.get_or_init(start).clone()
    }

    /// Starts the thread.
    pub(super) fn start(limits: NetworkLimits) -> Outcome<Arc<Self>> {
        let build = |builder: reqwest::ClientBuilder| {
            let client = builder
                .user_agent(concat!("gristmill/", env!("CARGO_PKG_VERSION")))
                .redirect(Policy::none())
                .referer(false)
                .connect_timeout(limits.connect)
                .build();
            client.map_err(|_| {
                Failure::environment(ACTIVITY, "HTTP cannot be used: the settings of the proxy are not valid")
            })
        };
        let tls = tls::client_config()?;
        let builder = Client::builder().tls_backend_preconfigured(tls.clone());
        let client = build(if proxy::is_off(&Environment::of_process()) { builder.no_proxy() } else { builder })?;
        let direct = build(Client::builder().tls_backend_preconfigured(tls).no_proxy())?;
        let failed =
            |error: std::io::Error| Failure::environment(ACTIVITY, format!("its thread cannot start: {error}"));
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("network".to_owned());
        thread.spawn(move || _ = runtime.block_on(ended)).map_err(failed)?;
        Ok(Arc::new(Self { runtime: handle, client, direct, limits, hosts: Mutex::default(), _end: end }))
    }

    /// Runs a future on the thread of the network; its result may be awaited later.
    pub(super) fn begin<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> Pending<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.spawn(async move { _ = sender.send(future.await) });
        Pending { receiver, task }
    }

    /// Runs a future on the thread of the network.
    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(future).abort_handle()
    }

    /// Returns the client that builds and sends requests, without a proxy if `is_direct`.
    pub(super) fn client(&self, is_direct: bool) -> &Client {
        if is_direct {
            &self.direct
        } else {
            &self.client
        }
    }

    /// Returns the limits on the tries and the time of a request to a URL.
    pub(super) fn patience(&self, url: &Url) -> RetryLimiter {
        RetryLimiter::new(self.limits.clone(), self.gate(url))
    }

    fn gate(&self, url: &Url) -> Arc<HostGate> {
        let mut hosts = self.hosts.lock();
        let gate = hosts.entry(host(url)).or_insert_with(|| Arc::new(HostGate::new(self.limits.connections)));
        Arc::clone(gate)
    }

    /// Sends a request once and returns the head of the answer, which may be a refusal. `subject` names the requested resource in the log.
    pub(super) async fn send(
        &self,
        client: &Client,
        request: Request,
        subject: &str,
    ) -> Outcome<Result<Reply, RetryReason>> {
        let gate = self.gate(request.url());
        let slot = gate.wait_for_slot().await;
        let url = request.url().clone();
        let counted = CountedRequest::begin(&host(&url));
        let mut line = LogLine {
            method: request.method().to_string(),
            subject: display_safe(subject).into_owned(),
            status: 0,
            bytes: 0,
            id: String::new(),
            begin: Instant::now(),
        };
        // The answer starts after the body was sent.
        let body = body::len(&request);
        let first_byte = gate.first_byte(&self.limits);
        let allowed = first_byte + Duration::from_secs(body / MIN_UPLOAD_RATE);
        let response = match timeout(allowed, client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return match certificate_error(&error) {
                    Some(error) => Err(untrusted(error, &url)),
                    None => retry_reason_of(&error, &url).map(Err),
                }
            }
            Err(_) => return Ok(Err(RetryReason::new("the server sends nothing"))),
        };
        counted.set_answered();
        let timer = speed::begin_body(line.begin.elapsed());
        line.status = response.status().as_u16();
        if let Some(id) = ["x-amz-request-id", "x-ms-request-id"].iter().find_map(|name| response.headers().get(*name))
        {
            line.id = String::from_utf8_lossy(id.as_bytes()).into_owned();
        }
        let pause = requested_pause(response.headers());
        // A server that requests a pause works, although it is busy.
        gate.set_answered(![500, 502, 503, 504].contains(&line.status) || pause.is_some());
        if [429, 503].contains(&line.status) {
            if let Some(pause) = pause.filter(|pause| *pause > self.limits.patience) {
                let why = format!("it answers {} and asks for a pause of {} seconds", line.status, pause.as_secs());
                return Err(Failure::environment(ACTIVITY, why).with_hint("run the same command again after that time"));
            }
            gate.refuse(pause);
        }
        Ok(Ok(Reply { response, line, timer, silence: self.limits.silence, _slot: slot, _counted: counted }))
    }
}

/// The result of a future that runs to its end even if no thread waits for it, so that its connection can be reused.
pub(super) struct Pending<T> {
    receiver: mpsc::Receiver<T>,
    task: AbortHandle,
}

impl<T> Pending<T> {
    /// Waits for the result.
    pub(super) fn finish(self) -> Outcome<T> {
        self.receiver.recv().map_err(|_| ended())
    }

    /// Aborts the future, unless it has finished, and waits until it is dropped.
    pub(super) fn give_up(&self) {
        self.task.abort();
        _ = self.receiver.recv();
    }

    /// Waits for the result, unless the work of this thread is cancelled first.
    pub(super) fn finish_read(self) -> Outcome<T> {
        self.wait()
    }

    /// Like [`finish_read`](Self::finish_read), but the caller can continue to wait.
    pub(super) fn wait(&self) -> Outcome<T> {
        let cancel = Cancel::of_thread();
        loop {
            match self.receiver.recv_timeout(CANCEL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => cancel.check()?,
                result => return result.map_err(|_| ended()),
            }
        }
    }
}

fn ended() -> Failure {
    Failure::internal(ACTIVITY, "the thread of the network ended")
}

/// The answer to a request, whose body is not read yet.
pub(super) struct Reply {
    response: Response,
    line: LogLine,
    timer: speed::BodyTimer,
    silence: Duration,
    _slot: Slot,
    _counted: CountedRequest,
}

impl Reply {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns a header as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Reads the body to its end and appends it, at most `max` bytes. After an error, the bytes that arrived are appended, too.
    pub(super) async fn read(&mut self, body: &mut Vec<u8>, max: usize) -> Result<(), RetryReason> {
        let mut rest = max;
        loop {
            let chunk = match timeout(self.silence, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => chunk,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(_)) => return Err(RetryReason::new("the connection was cut")),
                Err(_) => return Err(RetryReason::new("the server sends nothing")),
            };
            self.line.bytes += chunk.len();
            count_received(chunk.len());
            self.timer.bytes += chunk.len();
            rest =
                rest.checked_sub(chunk.len()).ok_or_else(|| RetryReason::new("the answer is longer than it may be"))?;
            body.extend_from_slice(&chunk);
        }
    }
}

/// Log entry of a request: without headers, and without the query, which may be a signature.
struct LogLine {
    method: String,
    subject: String,
    /// 0 if there was no answer.
    status: u16,
    bytes: usize,
    id: String,
    begin: Instant,
}

impl Drop for LogLine {
    fn drop(&mut self) {
        let (ms, id) = (self.begin.elapsed().as_millis(), display_safe(&self.id));
        let Self { method, subject, status, bytes, .. } = self;
        tracing::debug!("{method} {subject}: {status}, {bytes} bytes, {ms} ms, request {id}");
    }
}

/// Returns the failure for a certificate that is not trusted.
fn untrusted(error: &rustls::CertificateError, url: &Url) -> Failure {
    use rustls::CertificateError as E;
    let reason = match error {
        E::UnknownIssuer => "its issuer is not known here".to_owned(),
        E::Expired | E::ExpiredContext { .. } => "it has expired".to_owned(),
        E::NotValidYet | E::NotValidYetContext { .. } => "it is not valid yet".to_owned(),
        E::NotValidForNameContext { presented, .. } => {
            // The form is `DnsName("example.com")`.
            let names = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name));
            let names: Vec<_> = names.map(|name| display_safe(name).into_owned()).collect();
            format!("it is for {}", names.join(", "))
        }
        // The library that checks certificates only names this reason.
        E::Other(reason) if reason.to_string() == "CaUsedAsEndEntity" => {
            "it is a CA certificate; the server needs a certificate that the CA has signed (CA:FALSE)".to_owned()
        }
        _ => "it is not valid".to_owned(),
    };
    Failure::environment(ACTIVITY, format!("the certificate of {} is not trusted: {reason}", host(url)))
        .on(Subject::path(host(url)))
        .with_hint("AWS_CA_BUNDLE or SSL_CERT_FILE names a file with the certificates to trust")
}
