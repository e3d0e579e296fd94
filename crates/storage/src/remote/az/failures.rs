//! Failures and hints for refusals of the store. Only status and code of a refusal are shown, never its texts.

use super::super::network::ACTIVITY;
use super::super::s3::{Action, Keys, Refusal};
use super::client::AzureClient;
use crate::store::NO_CONTAINER;
use gristmill_core::text::shell_quote;
use gristmill_core::{Failure, ProblemKind, Subject};

/// Codes of refusals that apply to all blobs.
const CODES_OF_ALL: [&str; 7] = [
    "ContainerNotFound",
    "ContainerDisabled",
    "AccountIsDisabled",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
    "KeyBasedAuthenticationNotPermitted",
    "AuthorizationProtocolMismatch",
];

/// Whether the blob does not exist although the container does. Without credentials, the store also reports unreadable containers as
/// missing.
pub(super) fn is_missing(refusal: &Refusal) -> bool {
    let is_hidden = refusal.keys.is_none() && refusal.code == "ResourceNotFound";
    refusal.status == 404 && !["ContainerNotFound", "ContainerDisabled"].contains(&refusal.code.as_str()) && !is_hidden
}

/// Whether the condition of a request did not hold.
pub(super) fn is_condition(refusal: &Refusal) -> bool {
    refusal.code == "BlobAlreadyExists" || refusal.status == 412 && !refusal.code.starts_with("Lease")
}

/// Returns the failure that states why a request was refused, and what the user can do. Its kind is set if the store may permit the same
/// for other blobs; it is unset if the store is unreachable or the credentials are wrong.
pub(super) fn failure_of(refusal: &Refusal, client: &AzureClient, action: Action, key: &str) -> Failure {
    let (why, hint) = reason(refusal, client, action, key);
    let mut failure = Failure::environment(ACTIVITY, why).on(Subject::path(client.address(key)));
    failure.kind = match (action, refusal.status) {
        _ if CODES_OF_ALL.contains(&refusal.code.as_str()) || refusal.status == 401 => None,
        (Action::Read, 412) if is_condition(refusal) => Some(ProblemKind::ChangedDuringScan),
        (Action::Read, _) => Some(ProblemKind::Unreadable),
        _ => Some(ProblemKind::Other),
    };
    match hint.as_str() {
        "" => failure,
        hint => failure.with_hint(hint),
    }
}

/// Returns the reason and the hint, which may be empty.
fn reason(refusal: &Refusal, client: &AzureClient, action: Action, key: &str) -> (String, String) {
    let text = |why: &str, hint: &str| (why.to_owned(), hint.to_owned());
    let account = &client.context.config.account;
    match (refusal.status, refusal.code.as_str()) {
        (_, "ContainerNotFound") => {
            text(NO_CONTAINER, &format!("check its name; the account is {account}"))
        }
        (_, "NoRanges") => text("this server does not answer ranges", "copy the data to a disk"),
        (_, "WrongRange") => text("the store answers with other bytes than requested", ""),
        (_, "AccountIsDisabled" | "ContainerDisabled") => text("it is disabled", "enable it with the tools of Azure"),
        (_, "BlobArchived") => text("it is archived", "restore it first: set its access tier to hot or cool"),
        (_, "BlobBeingRehydrated") => text("it is being restored from the archive", "wait until that has ended"),
        (_, "KeyBasedAuthenticationNotPermitted") => text(
            "the account does not accept keys",
            "unset the key, and run `az login`, or set the variables of an identity",
        ),
        (_, "LeaseIdMissing" | "LeaseIdMismatchWithBlobOperation") => {
            text("another program has a lease of it", "wait until the lease ends, or break it with the tools of Azure")
        }
        (_, "BlobImmutableDueToPolicy") => {
            text("a policy of the container keeps it as it is", "write to another place")
        }
        (_, "InvalidBlobOrBlock") => (
            "it has unfinished blocks of another program".to_owned(),
            format!(
                "if no other program writes it, run `gristmill doctor {} --abort-uploads --older-than 0s`; else write to another place",
                shell_quote(&client.address(key))
            ),
        ),
        (400, "InvalidHeaderValue" | "InvalidBlobTier") if client.context.config.access_tier.is_some() => {
            text("it does not take the access tier of --storage-class", "Hot, Cool and Cold are access tiers")
        }
        (_, "SnapshotsPresent") => text("it has snapshots", "remove them first, with the tools of Azure"),
        (412, _) => {
            text("it changed while it was read", "wait until nothing writes it, and run the same command again")
        }
        (401 | 403 | 404, _) | (409, "PublicAccessNotPermitted") if refusal.keys.is_none() => without_keys(client),
        (401, _) => (
            "the credentials have expired".to_owned(),
            format!("renew {}; for those of the program az, run `az login`", source(refusal)),
        ),
        (403, "AuthenticationFailed") => wrong_keys(refusal, client),
        (403, _) => denied(refusal, client, action, key),
        (404, _) => text(NO_CONTAINER, "check its name"),
        _ => text(&refusal.text(), ""),
    }
}

fn without_keys(client: &AzureClient) -> (String, String) {
    let (why, hint) = match client.context.config.is_anonymous {
        true => (
            "it may not be read without a signature, or there is no such container",
            "run it without --anonymous, with credentials that may read it",
        ),
        false => (
            "no credentials for this store were found",
            "tried: AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_SAS_TOKEN, with AZURE_STORAGE_ACCOUNT_NAME, \
             AZURE_STORAGE_CONNECTION_STRING, AZURE_CLIENT_SECRET, \
             AZURE_FEDERATED_TOKEN_FILE, the identity of the machine, the program az; run `az login`, or run it with --anonymous for a public \
             container",
        ),
    };
    (why.to_owned(), hint.to_owned())
}

/// Returns the source of the credentials of a request.
fn source(refusal: &Refusal) -> &str {
    refusal.keys.as_ref().map_or("none", |keys| keys.source.as_str())
}

/// Whether the credentials are a signature (SAS) in the URL.
pub(super) fn is_signature(keys: &Keys) -> bool {
    keys.token.is_some()
}

fn wrong_keys(refusal: &Refusal, client: &AzureClient) -> (String, String) {
    let account = &client.context.config.account;
    let why = match &refusal.keys {
        Some(keys) if is_signature(keys) => "the signature (SAS) is not valid, or has expired".to_owned(),
        Some(keys) if !keys.id.is_empty() => format!("the key of the account {account} is wrong"),
        _ => "the store does not accept the credentials".to_owned(),
    };
    let endpoint = client.context.config.endpoint_source.as_ref();
    let endpoint = endpoint.map(|source| format!("; the address of the store is from {source}")).unwrap_or_default();
    (why, format!("it is from {}, for the account {account}{endpoint}", source(refusal)))
}

fn denied(refusal: &Refusal, client: &AzureClient, action: Action, key: &str) -> (String, String) {
    let (verb, permission, role) = match action {
        Action::ListBuckets => ("list it", "l (list) for the account", "Reader"),
        Action::List => ("list it", "l (list)", "Reader"),
        Action::Read => ("read it", "r (read)", "Reader"),
        Action::Write => ("write it", "c (create) and w (write)", "Contributor"),
        Action::ListUploads => ("list its unfinished uploads", "l (list)", "Reader"),
        Action::EndUpload => ("abort its upload", "w (write) and d (delete)", "Contributor"),
        Action::Remove => ("remove it", "d (delete)", "Contributor"),
    };
    let need = match &refusal.keys {
        Some(keys) if is_signature(keys) => format!("a signature (SAS) needs the permission {permission}"),
        Some(keys) if !keys.id.is_empty() => {
            format!("the key of an account may do this: check that of {}", keys.source)
        }
        _ => format!("these credentials need the role Storage Blob Data {role} on {}", client.address(key)),
    };
    let networks = match refusal.code.as_str() {
        "AuthorizationFailure" => "; the account may only be open to some networks",
        _ => "",
    };
    (format!("these credentials may not {verb}"), format!("{need}{networks}"))
}
