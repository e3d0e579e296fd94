//! Failures and hints for refusals of the store. Only status and code of a refusal are shown, never its texts.

use super::super::network::ACTIVITY;
use super::call::Action;
use super::client::S3Client;
use super::refusal::Refusal;
use super::vendor::Vendor;
use crate::store::NO_BUCKET;
use gristmill_core::{Failure, ProblemKind, Subject};

/// Returns the failure that states why a request was refused, and what the user can do. Its kind is set if the store may permit the same
/// for other objects; it is unset if the store is unreachable or the credentials are wrong.
pub(super) fn failure_of(refusal: &Refusal, client: &S3Client, action: Action, key: &str) -> Failure {
    let (why, hint) = reason(refusal, client, action, key);
    let mut failure = Failure::environment(ACTIVITY, why).on(Subject::path(client.address(key)));
    failure.kind = match (action, refusal.status) {
        _ if refusal.concerns_all(client.context.vendor) => None,
        (Action::Read, 412) => Some(ProblemKind::ChangedDuringScan),
        (Action::Read, _) => Some(ProblemKind::Unreadable),
        _ => Some(ProblemKind::Other),
    };
    match hint.as_str() {
        "" => failure,
        hint => failure.with_hint(hint),
    }
}

/// Returns the reason and the hint, which may be empty.
fn reason(refusal: &Refusal, client: &S3Client, action: Action, key: &str) -> (String, String) {
    let text = |why: &str, hint: &str| (why.to_owned(), hint.to_owned());
    let key_end = || refusal.keys.as_ref().map(|keys| keys.id_end()).unwrap_or_default();
    match (refusal.status, refusal.code.as_str()) {
        (_, "NoSuchBucket") => match client.context.vendor {
            Vendor::Amazon => text(NO_BUCKET, "check its name, and --endpoint-url if the store is not Amazon's"),
            Vendor::Google => text(NO_BUCKET, "check its name"),
        },
        (_, "QuotaExceeded") => {
            text("the quota of the bucket or of its owner is used up", "free some space, or ask for a larger quota")
        }
        (_, "NoRanges") => text(
            "this server does not answer ranges",
            "copy the data to a disk, or to a store that reads parts of objects",
        ),
        (_, "WrongRange") => text("the store answers with other bytes than requested", ""),
        (_, "InvalidAccessKeyId") => {
            (format!("the store does not know the key {}", key_end()), key_hint(refusal, client))
        }
        (_, "SignatureDoesNotMatch") => {
            (format!("the secret of the key {} is wrong", key_end()), key_hint(refusal, client))
        }
        (401, _) if refusal.keys.is_some() && client.context.vendor == Vendor::Google => {
            ("the credentials have expired".to_owned(), format!("renew {}", source(refusal)))
        }
        (_, "ExpiredToken" | "TokenRefreshRequired") => {
            let source = source(refusal);
            let hint = format!("renew {source}; after single sign-on, run `aws sso login --profile NAME`");
            ("the credentials have expired".to_owned(), hint)
        }
        (_, "InvalidToken") => ("the session token is not valid".to_owned(), key_hint(refusal, client)),
        (_, "RequestTimeTooSkewed") => match refusal.clock_offset.abs() / 60 {
            0 => text("the clock here differs from that of the store", "set the clock"),
            minutes => text(&format!("the clock here is {minutes} minutes from that of the store"), "set the clock"),
        },
        (_, "InvalidObjectState") => {
            let class = refusal.storage_class.as_deref().map(|class| format!(" ({class})")).unwrap_or_default();
            text(&format!("it is archived{class}"), "restore it first")
        }
        (412, _) => {
            text("it changed while it was read", "wait until nothing writes it, and run the same command again")
        }
        (301 | 307, _) | (400, "AuthorizationHeaderMalformed") => {
            let why = format!("{} for the region {}", refusal.text(), client.region());
            text(&why, "set AWS_REGION to the region of the bucket; check the endpoint")
        }
        (401 | 403, _) if refusal.keys.is_none() => without_keys(client),
        (401 | 403, _) => denied(client, action, key),
        (404, _) => text(NO_BUCKET, "check its name"),
        _ => text(&refusal.text(), ""),
    }
}

fn without_keys(client: &S3Client) -> (String, String) {
    if let (Some(profile), false) = (&client.context.config.profile, client.context.config.is_anonymous) {
        let hint = "add keys, a role, single sign-on or a process to it in ~/.aws/config, or name another profile";
        return (format!("the profile {profile} has no credentials"), hint.to_owned());
    }
    let (why, hint) = match client.context.config.is_anonymous {
        true => ("it may not be read without a signature", "run it without --anonymous, with credentials that may read it"),
        false if client.context.vendor == Vendor::Google => (
            "no credentials for this store were found",
            "tried: CLOUDSDK_AUTH_ACCESS_TOKEN, GOOGLE_APPLICATION_CREDENTIALS, the file of `gcloud auth application-default login`, the \
             metadata of the machine; for a public bucket, run it with --anonymous",
        ),
        false => (
            "no credentials for this store were found",
            "tried: AWS_ACCESS_KEY_ID, the profile, AWS_WEB_IDENTITY_TOKEN_FILE, the container, the metadata of the instance; \
             set AWS_PROFILE, or run it with --anonymous for a public bucket",
        ),
    };
    (why.to_owned(), hint.to_owned())
}

/// Returns the source of the keys of a request.
fn source(refusal: &Refusal) -> &str {
    refusal.keys.as_ref().map_or("none", |keys| keys.source.as_str())
}

fn key_hint(refusal: &Refusal, client: &S3Client) -> String {
    let source = source(refusal);
    match &client.context.config.endpoint {
        None => format!("it is from {source}"),
        Some((_, endpoint)) => {
            let region = client.region();
            format!("it is from {source}; the address of the store is from {endpoint}, and the region is {region}: check both")
        }
    }
}

fn denied(client: &S3Client, action: Action, key: &str) -> (String, String) {
    if client.context.vendor == Vendor::Google {
        let (verb, right) = match action {
            Action::ListBuckets => ("list it", "buckets.list"),
            Action::List => ("list it", "objects.list"),
            Action::Read => ("read it", "objects.get"),
            Action::Write => ("write it", "objects.create and storage.objects.delete"),
            Action::ListUploads => ("list its unfinished uploads", "multipartUploads.list"),
            Action::EndUpload => ("abort its upload", "multipartUploads.abort"),
            Action::Remove => ("remove it", "objects.delete"),
        };
        let hint = format!("these credentials need storage.{right} on {}", client.address(key));
        return (format!("these credentials may not {verb}"), hint);
    }
    let (verb, right, resource) = match action {
        Action::ListBuckets => ("list it", "s3:ListAllMyBuckets", "*".to_owned()),
        Action::List => ("list it", "s3:ListBucket", client.bucket.clone()),
        Action::Read => ("read it", "s3:GetObject", format!("{}/{key}", client.bucket)),
        Action::Write => ("write it", "s3:PutObject", format!("{}/{key}", client.bucket)),
        Action::ListUploads => ("list its unfinished uploads", "s3:ListBucketMultipartUploads", client.bucket.clone()),
        Action::EndUpload => ("abort its upload", "s3:AbortMultipartUpload", format!("{}/{key}", client.bucket)),
        Action::Remove => ("remove it", "s3:DeleteObject", format!("{}/{key}", client.bucket)),
    };
    let payer = if client.context.config.request_payer { "" } else { "; if the requester pays, add --request-payer" };
    let policy = match action {
        Action::Write => "; a policy of the bucket may also require --sse, --storage-class or --acl",
        _ => "",
    };
    let hint = format!("these credentials need {right} on arn:aws:s3:::{resource}{payer}{policy}");
    (format!("these credentials may not {verb}"), hint)
}
