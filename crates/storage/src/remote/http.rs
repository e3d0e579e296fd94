//! Requests to the hub: redirects, the token, time limits, and which answers permit another try.

use super::environment::Environment;
use super::hf::HubSettings;
use super::proxy::{proxy_of, NamedProxy};
use super::retry::{Check, RetryPolicy, RetryReason};
use super::secret::Secret;
use super::tls;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::blocking::{Client, Response};
use reqwest::header::{HeaderMap, AUTHORIZATION, IF_RANGE, LOCATION, RANGE, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use std::error::Error;
use std::io::{ErrorKind, Read as _};
use std::net::IpAddr;
use std::time::Duration;

/// Name of this step in errors.
const ACTIVITY: &str = "asking the hub";
/// Multiple of the base pause after which a connection without a byte fails: ten seconds.
const SILENT_PAUSES: u32 = 10;
/// Maximum number of redirects of one request.
pub(super) const MAX_REDIRECTS: usize = 10;
/// Maximum size of an answer that is not a file, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// Maximum number of shown characters of the server's own message.
const MAX_MESSAGE_CHARS: usize = 200;

/// A client for one hub.
pub(super) struct HttpClient {
    client: Client,
    endpoint: Url,
    token: Option<Secret>,
    base_pause: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct HttpRequest {
    pub(super) url: Url,
    /// Offset of the first requested byte.
    pub(super) start: u64,
    /// Version of the file to which the earlier bytes belong.
    pub(super) version: Option<String>,
}

impl HttpRequest {
    pub(super) fn get(url: Url) -> Self {
        Self { url, start: 0, version: None }
    }
}

/// An answer that refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The hub's code for the reason; may be empty.
    pub(super) code: String,
    /// Message of the server; raw, may be empty.
    message: String,
}

impl Refusal {
    pub(super) fn of(status: u16, headers: &HeaderMap) -> Self {
        let text = |name: &str| {
            let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
            value.unwrap_or_default().chars().take(MAX_MESSAGE_CHARS).collect()
        };
        Self { status, code: text("x-error-code"), message: text("x-error-message") }
    }

    pub(super) fn of_response(response: &Response) -> Self {
        Self::of(response.status().as_u16(), response.headers())
    }

    /// Returns the refusal for a path that is not in a list.
    pub(super) fn entry_not_found() -> Self {
        Self { status: 404, code: "EntryNotFound".to_owned(), message: String::new() }
    }

    /// Whether the answer means that there is no such repository or revision.
    pub(super) fn is_missing_revision(&self) -> bool {
        match self.code.as_str() {
            "" => self.status == 404,
            code => ["RepoNotFound", "RevisionNotFound"].contains(&code),
        }
    }

    /// Whether the refusal applies to all files of a repository.
    pub(super) fn is_of_repository(&self) -> bool {
        [401, 403].contains(&self.status) || !self.code.is_empty() && self.is_missing_revision()
    }

    /// Returns the answer as the reason in a message.
    pub(super) fn why(&self) -> String {
        match self.message.is_empty() {
            true => format!("the server answers {}", self.status),
            false => format!("the server answers {}: {}", self.status, display_safe(&self.message)),
        }
    }
}

impl HttpClient {
    pub(super) fn new(settings: &HubSettings) -> Outcome<Self> {
        let refuse = |why: &str| Failure::usage(ACTIVITY, why).on(Subject::field("HF_ENDPOINT"));
        let endpoint = Url::parse(&settings.endpoint).map_err(|_| refuse("it is not an address"))?;
        if !is_web(&endpoint) || !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(refuse("it has to be https://HOST or http://HOST, without a name or password"));
        }
        let client = Client::builder()
            .tls_backend_preconfigured(tls::client_config()?)
            .user_agent(concat!("gristmill/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(settings.base_pause * SILENT_PAUSES)
            // Applies to the head of the answer, and to each read of its body.
            .timeout(settings.base_pause * SILENT_PAUSES)
            .build()
            .map_err(|_| {
                Failure::environment(ACTIVITY, "HTTP cannot be used: the settings of the proxy are not valid")
            })?;
        Ok(Self { client, endpoint, token: settings.token.clone(), base_pause: settings.base_pause })
    }

    /// Returns the URL of a path of the hub. Each segment is encoded.
    pub(super) fn url<'s>(&self, segments: impl IntoIterator<Item = &'s str>) -> Outcome<Url> {
        let mut url = self.endpoint.clone();
        match url.path_segments_mut() {
            Ok(mut path) => path.pop_if_empty().extend(segments),
            Err(()) => return Err(Failure::usage(ACTIVITY, "it has no paths").on(Subject::field("HF_ENDPOINT"))),
        };
        Ok(url)
    }

    /// Whether a URL leads to the hub itself: only the hub receives the token.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.endpoint.origin()
    }

    pub(super) fn retry_policy(&self) -> RetryPolicy {
        RetryPolicy::new(self.base_pause)
    }

    /// Sends a request once and follows redirects. The answer may be a refusal.
    pub(super) fn send(&self, request: &HttpRequest) -> Outcome<Result<Response, RetryReason>> {
        let mut url = request.url.clone();
        for _ in 0..MAX_REDIRECTS {
            let mut builder = self.client.get(url.clone());
            if let (Some(token), true) = (&self.token, self.is_own(&url)) {
                builder = builder.header(AUTHORIZATION, format!("Bearer {}", token.reveal()));
            }
            if request.start > 0 {
                builder = builder.header(RANGE, format!("bytes={}-", request.start));
                builder = request.version.iter().fold(builder, |builder, version| builder.header(IF_RANGE, version));
            }
            let response = match builder.send() {
                Ok(response) => response,
                Err(error) => return retry_reason_of(&error, &url).map(Err),
            };
            let status = response.status();
            match redirect_of(&url, status.as_u16(), response.headers()) {
                Ok(Some(next)) => url = next,
                Ok(None) if is_temporary(status) => {
                    return Ok(Err(RetryReason {
                        pause: requested_pause(response.headers()),
                        ..RetryReason::new(describe_busy(&response))
                    }));
                }
                Ok(None) => return Ok(Ok(response)),
                Err(why) => return Err(Failure::environment(ACTIVITY, why).on(Subject::path(host(&request.url)))),
            }
        }
        Err(Failure::environment(ACTIVITY, "its redirects do not end").on(Subject::path(host(&request.url))))
    }

    /// Requests a small answer, with further tries if they may succeed. Returns its headers and its body.
    pub(super) fn get(&self, request: &HttpRequest, check: Check<'_>) -> Outcome<Result<Answer, Refusal>> {
        let mut policy = self.retry_policy();
        loop {
            check()?;
            let reason = match self.send(request)? {
                Ok(response) if !response.status().is_success() => return Ok(Err(Refusal::of_response(&response))),
                Ok(response) => match read_answer(response)? {
                    Ok(answer) => return Ok(Ok(answer)),
                    Err(reason) => reason,
                },
                Err(reason) => reason,
            };
            policy.wait(ACTIVITY, &reason, check).map_err(|failure| failure.on(Subject::path(host(&request.url))))?;
        }
    }
}

/// A complete answer.
pub(super) struct Answer {
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

fn read_answer(response: Response) -> Outcome<Result<Answer, RetryReason>> {
    let headers = response.headers().clone();
    let from = host(response.url());
    let mut body = Vec::new();
    if let Err(error) = response.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut body) {
        return Ok(Err(RetryReason::new(read_error(&error))));
    }
    if body.len() as u64 > MAX_ANSWER_BYTES {
        let why = format!("its answer has more than {} MiB", MAX_ANSWER_BYTES >> 20);
        return Err(Failure::environment(ACTIVITY, why).on(Subject::path(from)));
    }
    Ok(Ok(Answer { headers, body }))
}

/// Returns why a body ended early.
pub(super) fn read_error(error: &std::io::Error) -> &'static str {
    let is_timeout =
        |error: &(dyn Error + 'static)| error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_timeout);
    let is_silent = error.kind() == ErrorKind::TimedOut || error.get_ref().is_some_and(|inner| is_timeout(inner));
    match is_silent {
        true => "the server sends nothing",
        false => "the connection was cut",
    }
}

/// Returns host and port: the only parts of a URL that are shown, because its query may be a signature.
pub(super) fn host(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}"));
    format!("{}{}", url.host_str().unwrap_or_default(), port.unwrap_or_default())
}

/// Whether a URL leads to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Whether credentials may be sent to a URL: with TLS, or on this machine.
pub(super) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_loopback(url)
}

/// Returns the URL that an answer redirects to; `None` if it is not a redirect, or the reason for not following it.
pub(super) fn redirect_of(url: &Url, status: u16, headers: &HeaderMap) -> Result<Option<Url>, &'static str> {
    if ![301, 302, 303, 307, 308].contains(&status) {
        return Ok(None);
    }
    let next = headers.get(LOCATION).and_then(|value| url.join(value.to_str().ok()?).ok());
    let next = next.filter(|next| is_safe_redirect(url, next));
    next.map(Some).ok_or("the server redirects to an address that is not followed")
}

fn is_web(url: &Url) -> bool {
    ["http", "https"].contains(&url.scheme()) && url.has_host()
}

fn is_safe_redirect(from: &Url, to: &Url) -> bool {
    is_web(to) && (from.scheme() == "http" || to.scheme() == "https")
}

fn is_temporary(status: StatusCode) -> bool {
    [408, 429, 500, 502, 503, 504].contains(&status.as_u16())
}

fn describe_busy(response: &Response) -> String {
    let why = Refusal { message: String::new(), ..Refusal::of_response(response) }.why();
    match response.status() {
        StatusCode::TOO_MANY_REQUESTS => why + " (too many requests)",
        _ => why,
    }
}

/// Returns the pause that a busy server requests: `Retry-After` in seconds, or `t` of `RateLimit`.
pub(super) fn requested_pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = |text: &str| text.trim().parse().ok().map(Duration::from_secs);
    let after = headers.get(RETRY_AFTER).and_then(|value| seconds(value.to_str().ok()?));
    let limit = || {
        let parts = || {
            headers.get("ratelimit").and_then(|value| value.to_str().ok()).into_iter().flat_map(|text| text.split(';'))
        };
        // The time applies only if the quota is used up (`r=0`: no request remains).
        parts().find(|part| part.trim() == "r=0")?;
        parts().find_map(|part| seconds(part.trim().strip_prefix("t=")?))
    };
    after.or_else(limit)
}

/// Returns an error and its causes.
fn causes<'e>(error: &'e reqwest::Error) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let first: &'e (dyn Error + 'static) = error;
    std::iter::successors(Some(first), |cause| {
        let cause: &'e (dyn Error + 'static) = *cause;
        match cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => cause.source(),
        }
    })
}

/// Returns the error of the server's certificate, if it is the reason for the missing answer.
pub(super) fn certificate_error(error: &reqwest::Error) -> Option<&rustls::CertificateError> {
    causes(error).find_map(|cause| match cause.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(error) => Some(error),
        _ => None,
    })
}

/// Returns the reason for a missing answer; a failure if another try is useless.
pub(super) fn retry_reason_of(error: &reqwest::Error, url: &Url) -> Outcome<RetryReason> {
    let host = host(url);
    if certificate_error(error).is_some() {
        return Err(Failure::environment(ACTIVITY, "its certificate is not trusted")
            .on(Subject::path(host))
            .with_hint("SSL_CERT_FILE or REQUESTS_CA_BUNDLE names a file with the certificates to trust"));
    }
    let is_plain = |cause: &(dyn Error + 'static)| {
        matches!(cause.downcast_ref::<rustls::Error>(), Some(rustls::Error::InvalidMessage(_)))
    };
    if causes(error).any(is_plain) {
        return Err(Failure::environment(ACTIVITY, format!("{host} does not speak TLS"))
            .on(Subject::path(&host))
            .with_hint("its address has to begin with http://, not https://"));
    }
    let (mut io_kind, mut is_name) = (None, false);
    for cause in causes(error) {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            io_kind = Some(io.kind());
        }
        is_name |= cause.to_string().contains("dns error");
    }
    let proxy = proxy_of(url, &Environment::of_process()).filter(|_| error.is_connect());
    let why = match (io_kind, &proxy) {
        _ if error.is_timeout() && !error.is_connect() => "the server sends nothing".to_owned(),
        (_, Some(proxy)) if is_name => format!("the name of {} is not known here", proxy.text),
        (Some(ErrorKind::ConnectionRefused), Some(proxy)) => format!("{} refuses the connection", proxy.text),
        (_, Some(proxy)) => format!("{host} cannot be reached through {}", proxy.text),
        _ if is_name => format!("the name {host} is not known here"),
        (Some(ErrorKind::ConnectionRefused), None) => format!("{host} refuses the connection"),
        _ if error.is_connect() => format!("{host} cannot be reached"),
        _ => "the connection was cut".to_owned(),
    };
    let hint = |proxy: NamedProxy| format!("check {}; NO_PROXY names hosts without a proxy", proxy.variable);
    Ok(RetryReason { hint: proxy.map(hint), ..RetryReason::new(why) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_requested_by_a_busy_server_is_parsed() {
        let pause = |name: &'static str, value: &'static str| {
            requested_pause(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]))
        };
        assert_eq!(pause("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(pause("ratelimit", "\"api\";r=0;t=12"), Some(Duration::from_secs(12)));
        assert_eq!(pause("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT"), None);
    }

    #[test]
    fn redirects_from_https_to_http_or_files_are_unsafe() {
        let is_safe = |from: &str, to: &str| is_safe_redirect(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        assert!(is_safe("https://a/", "https://b/x?y") && is_safe("http://a/", "http://b/"));
        assert!(!is_safe("https://a/", "http://a/") && !is_safe("http://a/", "file:///etc/passwd"));
    }
}
