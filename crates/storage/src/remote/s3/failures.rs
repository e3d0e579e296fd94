//! What a refusal of the store means to the user. Nothing of its texts is shown, only status and code.

use super::client::{Action, S3Client};
use super::credentials::Keys;
use gristmill_core::{Failure, Subject};
use std::sync::Arc;

/// Name of this step in errors.
const WHAT: &str = "asking the store";
/// The reason if a store has too many requests.
pub(super) const BUSY: &str = "the store asks to slow down";

/// An answer by which a request is refused, or that does not fit the request.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The store's name of the reason; empty if it gives none.
    pub(super) code: String,
    /// Region of the bucket, if the answer names it.
    pub(super) region: Option<String>,
    /// Seconds by which the clock of the store is ahead of this one.
    pub(super) clock_offset: i64,
    pub(super) storage_class: Option<String>,
    /// The keys that the request was signed with.
    pub(super) keys: Option<Arc<Keys>>,
}

impl Refusal {
    /// Returns the refusal of an answer whose body is not read.
    pub(super) fn of_success(status: u16, code: &str) -> Self {
        Self { status, code: code.to_owned(), ..Self::default() }
    }

    /// Whether the same request may succeed later.
    pub(super) fn is_temporary(&self) -> bool {
        [408, 425, 429, 500, 502, 503, 504].contains(&self.status) || self.code == "RequestTimeout"
    }

    /// Whether there is no such object, although there is the bucket.
    pub(super) fn is_missing_object(&self) -> bool {
        self.status == 404 && self.code != "NoSuchBucket"
    }

    /// Returns status and code as the reason in a message.
    pub(super) fn text(&self) -> String {
        if [429, 503].contains(&self.status) {
            return BUSY.to_owned();
        }
        format!("the store answers {} {}", self.status, self.code).trim_end().to_owned()
    }

    /// Returns the failure that states why, and what the user can do.
    pub(super) fn explain(&self, client: &S3Client, action: Action, key: &str) -> Failure {
        let (why, hint) = self.why_and_hint(client, action, key);
        let failure = Failure::environment(WHAT, why).on(Subject::path(client.address(key)));
        match hint {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    }

    fn why_and_hint(&self, client: &S3Client, action: Action, key: &str) -> (String, Option<String>) {
        let source = self.keys.as_ref().map_or("none", |keys| keys.source.as_str());
        let text = |why: &str, hint: &str| (why.to_owned(), Some(hint.to_owned()));
        match (self.status, self.code.as_str()) {
            (_, "NoSuchBucket") => {
                text("there is no such bucket", "check its name, and --endpoint-url if the store is not Amazon's")
            }
            (_, "NoRanges") => text(
                "this server does not answer ranges",
                "copy the data to a disk, or to a store that reads parts of objects",
            ),
            (_, "WrongRange") => (format!("{}, with other bytes than were asked for", self.text()), None),
            (_, "InvalidAccessKeyId") => {
                (format!("the store does not know the key {}", self.key_end()), Some(self.key_hint(client)))
            }
            (_, "SignatureDoesNotMatch") => {
                (format!("the secret of the key {} is wrong", self.key_end()), Some(self.key_hint(client)))
            }
            (_, "ExpiredToken" | "TokenRefreshRequired" | "InvalidToken") => {
                let hint =
                    format!("they are from {source}: renew them; after single sign-on, `aws sso login --profile NAME`");
                ("the credentials have ended".to_owned(), Some(hint))
            }
            (_, "RequestTimeTooSkewed") => {
                let minutes = self.clock_offset.abs() / 60;
                (
                    format!("the clock here is {minutes} minutes from that of the store"),
                    Some("set the clock".to_owned()),
                )
            }
            (_, "InvalidObjectState") => {
                let class = self.storage_class.as_deref().map(|class| format!(" ({class})")).unwrap_or_default();
                (format!("it is archived{class}"), Some("restore it first".to_owned()))
            }
            (412, _) => {
                text("it changed while it was read", "wait until nobody writes it, and run the same command again")
            }
            (301 | 307, _) | (400, "AuthorizationHeaderMalformed") => {
                let why = format!("the store answers {} {} for the region {}", self.status, self.code, client.region());
                text(&why, "set AWS_REGION to the region of the bucket; check the endpoint")
            }
            (401 | 403, _) if self.keys.is_none() => self.without_keys(client),
            (401 | 403, _) => denied(client, action, key),
            (404, _) => text("there is no such bucket", "check its name"),
            _ => (self.text(), None),
        }
    }

    fn without_keys(&self, client: &S3Client) -> (String, Option<String>) {
        if client.context.config.is_anonymous {
            let hint = "run it without --anonymous, with credentials that may read it";
            return ("it may not be read without a signature".to_owned(), Some(hint.to_owned()));
        }
        let hint = "looked at: AWS_ACCESS_KEY_ID, the profile, AWS_WEB_IDENTITY_TOKEN_FILE, the container, the metadata of the instance; \
                    set AWS_PROFILE, or run it with --anonymous for a public bucket";
        ("no credentials for this store were found".to_owned(), Some(hint.to_owned()))
    }

    /// Returns the last characters of the id of the key.
    fn key_end(&self) -> String {
        let id = self.keys.as_ref().map_or("", |keys| keys.id.as_str());
        let last: Vec<char> = id.chars().rev().take(4).collect();
        format!("…{}", last.iter().rev().collect::<String>())
    }

    fn key_hint(&self, client: &S3Client) -> String {
        let source = self.keys.as_ref().map_or("none", |keys| keys.source.as_str());
        match &client.context.config.endpoint {
            None => format!("it is from {source}"),
            Some((_, endpoint)) => format!(
                "it is from {source}; the address of the store is from {endpoint}, and the region is {}: check both",
                client.region()
            ),
        }
    }
}

fn denied(client: &S3Client, action: Action, key: &str) -> (String, Option<String>) {
    let (verb, right, resource) = match action {
        Action::List => ("listed", "s3:ListBucket", client.bucket.clone()),
        Action::Read => ("read", "s3:GetObject", format!("{}/{key}", client.bucket)),
    };
    let payer = if client.context.config.request_payer { "" } else { "; if the requester pays, add --request-payer" };
    let hint = format!("these credentials need {right} on arn:aws:s3:::{resource}{payer}");
    (format!("these credentials may not have it {verb}"), Some(hint))
}
