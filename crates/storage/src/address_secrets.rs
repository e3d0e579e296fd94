//! Names, passwords and signatures in addresses. They must never be displayed, logged or saved.

use gristmill_core::{Failure, Outcome, Subject};

/// Ends of the names of query parameters that are secrets, such as `X-Amz-Signature`.
const SECRET_PARAMETERS: [&str; 6] = ["sig", "signature", "token", "secret", "credential", "password"];

/// Refuses an address with a name or password, or with a signature that is not part of its key. The failure contains neither.
pub fn refuse_secrets(text: &str) -> Outcome<()> {
    let Some((scheme, rest)) = split(text) else { return Ok(()) };
    let is_web = ["http", "https"].contains(&scheme);
    let why = match find_host(scheme, rest) {
        0 if is_web || is_azure(scheme) || !has_secret_query(rest) => return Ok(()),
        0 => "it has a signature or token",
        _ => "it has a name or password",
    };
    let hint = match is_web {
        true => "give an address without one: a signature in its query is not shown or saved",
        false => {
            "credentials are read from the environment, such as AWS_SECRET_ACCESS_KEY or HF_TOKEN, and from profiles"
        }
    };
    Err(Failure::usage("reading the address", why).on(Subject::path(without_secrets(text))).with_hint(hint))
}

/// Returns an address without its query, which may be a signature, and without a name or password.
pub fn without_secrets(text: &str) -> String {
    let Some((scheme, rest)) = split(text) else { return without_query(text).to_owned() };
    let (start, (login, shown)) = (text.len() - rest.len(), rest.split_at(find_host(scheme, rest)));
    // The '@' may be part of a query.
    let shown = if login.contains('?') { "" } else { without_query(shown) };
    [&text[..start], shown].concat()
}

fn without_query(text: &str) -> &str {
    text.split('?').next().unwrap_or(text)
}

/// Splits an address after `://`, or after `:/` if a slash is missing.
fn split(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(":/")?;
    Some((scheme, rest.strip_prefix('/').unwrap_or(rest)))
}

/// Returns the position after the name and password of an address, which is 0 if there are none.
fn find_host(scheme: &str, rest: &str) -> usize {
    let authority = rest.split('/').next().unwrap_or(rest);
    match (authority.find(':'), authority.rfind('@')) {
        (Some(colon), Some(at)) if colon < at => at + 1,
        (_, Some(at)) if !has_meaning(scheme, &rest[at + 1..]) => at + 1,
        // A password may contain slashes.
        (Some(_), None) if !has_port(authority) => rest.rfind('@').map_or(rest.len(), |at| at + 1),
        _ => 0,
    }
}

/// Whether an '@' before the first slash is part of the form of an address: before the account, or before a revision.
fn has_meaning(scheme: &str, after: &str) -> bool {
    is_azure(scheme) || scheme == "hf" && !after.starts_with("datasets/")
}

/// Whether the colon of a host is that of a port, of an IPv6 address, or of the name of an access point, which other checks explain.
fn has_port(authority: &str) -> bool {
    let port = without_query(authority).split_once(':').map_or("", |(_, port)| port);
    port.bytes().all(|byte| byte.is_ascii_digit()) || authority.starts_with('[') || authority.starts_with("arn:")
}

fn is_azure(scheme: &str) -> bool {
    ["az", "abfs", "abfss"].contains(&scheme)
}

/// Whether a parameter of the query has the name of a secret. Other question marks may be part of keys and patterns.
fn has_secret_query(rest: &str) -> bool {
    let parameters = rest.split(['?', '&']).skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut names = parameters.map(|(name, _)| name.to_ascii_lowercase());
    names.any(|name| SECRET_PARAMETERS.iter().any(|secret| name.ends_with(secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_addresses_are_refused_and_not_shown() {
        for (text, shown) in [
            ("s3://AKID:QQQ@data/w/set", "s3://data/w/set"),
            ("s3a://QQQ@data/w", "s3a://data/w"),
            ("s3:/AKID:QQQ@b", "s3:/b"),
            ("s3://AKID:QQQ/QQQ+x@data/w", "s3://data/w"),
            ("s3://AKID:QQQ?QQQ@data/w", "s3://"),
            ("s3://AKID:QQQ/w", "s3://"),
            ("s3://data/w?X-Amz-Date=1&X-Amz-Signature=QQQ", "s3://data/w"),
            ("gs://u:QQQ@b/x@y", "gs://b/x@y"),
            ("az://acc:QQQ@c/x", "az://c/x"),
            ("abfss://c:QQQ@acc.dfs.core.windows.net/x", "abfss://acc.dfs.core.windows.net/x"),
            ("hf://user:QQQ@datasets/a/b", "hf://datasets/a/b"),
            ("hf://QQQ@datasets/a/b", "hf://datasets/a/b"),
            ("hf://datasets/a/b?token=QQQ", "hf://datasets/a/b"),
            ("msc://u:QQQ@p/x", "msc://p/x"),
            ("mem://u:QQQ@b/x", "mem://b/x"),
            ("http:/u:QQQ@h/x", "http:/h/x"),
            ("https://u:QQQ/QQQ@h/x?sig=QQQ", "https://h/x"),
        ] {
            let failure = refuse_secrets(text).unwrap_err();
            assert_eq!(failure.class.code(), 2, "{text}");
            assert!(!format!("{failure:?}").contains("QQQ"), "{failure:?}");
            assert_eq!(without_secrets(text), shown);
        }
    }

    #[test]
    fn addresses_without_secrets_are_accepted() {
        for text in [
            "s3://data/w/a?.tar",
            "s3://data/page?id=3",
            "s3://data/user@example.com:1",
            "s3://arn:aws:s3:eu-west-1:1:accesspoint/x",
            "s3://host:9000/data",
            "az://c/x?sig=1",
            "abfss://c@acc.dfs.core.windows.net/x",
            "hf://name@v1/x",
            "hf://datasets/o/n@v1/x",
            "https://h:8080/x@y?sig=a@b",
            "http://[::1]:9000/x",
            "a/b:c@d",
            "a",
        ] {
            refuse_secrets(text).unwrap_or_else(|failure| panic!("{text}: {failure}"));
        }
        assert_eq!(without_secrets("https://h:8080/x@y?sig=a@b"), "https://h:8080/x@y");
    }
}
