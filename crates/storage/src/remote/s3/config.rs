//! Settings of the requests to a bucket: endpoint, region, and whether the bucket is in the host or in the path.

use super::super::environment::Environment;
use super::super::store_settings::NewObjects;
use super::profiles::Profiles;
use super::s3_settings::S3Settings;
use super::signature::encode;
use super::vendor::Vendor;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::Url;

/// Region of the first request if none is configured. The answers name the right one.
pub(super) const FIRST_REGION: &str = "us-east-1";

/// Settings of the requests.
#[derive(Clone, Debug)]
pub(super) struct S3Config {
    /// The profile that a flag or the settings name.
    pub(super) profile: Option<String>,
    /// The configured region.
    pub(super) region: Option<String>,
    /// An endpoint other than Amazon's, without a trailing slash, and the name of its setting.
    pub(super) endpoint: Option<(String, String)>,
    /// The address of the vendor, if it does not depend on the region.
    base: Option<String>,
    is_path_style: bool,
    pub(super) is_anonymous: bool,
    pub(super) request_payer: bool,
    /// Headers of the requests that create objects.
    pub(super) object_headers: Vec<(&'static str, String)>,
}

impl S3Config {
    /// Combines the given settings with the environment and the profile, in this order of precedence.
    pub(super) fn new(settings: &S3Settings, environment: &Environment, profiles: &Profiles) -> Outcome<Self> {
        let region = settings.flags.region.clone();
        let region = region.or_else(|| environment.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        let endpoint = endpoint(settings, environment, profiles)?;
        let style = settings.addressing_style.as_deref().or_else(|| profiles.own("s3.addressing_style"));
        let is_path_style = match style {
            Some("path") => true,
            Some("virtual") => false,
            _ => endpoint.is_some(),
        };
        let payer = environment.text("AWS_REQUEST_PAYER");
        let region = region.or_else(|| profiles.own("region").map(str::to_owned));
        Ok(Self {
            profile: settings.flags.profile.clone(),
            region: region.map(check_region).transpose()?,
            endpoint,
            base: None,
            is_path_style,
            is_anonymous: settings.flags.anonymous || environment.is_true("AWS_SKIP_SIGNATURE"),
            request_payer: settings.flags.request_payer
                || payer.is_some_and(|payer| payer.eq_ignore_ascii_case("requester")),
            object_headers: Vendor::Amazon.object_headers(&settings.flags.new_objects),
        })
    }

    /// Returns the settings of Google's store, at its usual address or at another one.
    pub(super) fn of_google(
        usual: &str,
        endpoint: Option<(String, String)>,
        is_anonymous: bool,
        new_objects: &NewObjects,
    ) -> Outcome<Self> {
        let endpoint = endpoint.map(|(address, source)| check_endpoint(&address, source)).transpose()?;
        Ok(Self {
            profile: None,
            region: None,
            base: Some(usual.to_owned()).filter(|_| endpoint.is_none()),
            endpoint,
            is_path_style: true,
            is_anonymous,
            request_payer: false,
            object_headers: Vendor::Google.object_headers(new_objects),
        })
    }

    /// Returns the URL of a key, of the bucket if the key is empty, or of all buckets if both are empty.
    ///
    /// # Errors
    /// The address has no bucket, or the name of the bucket is invalid in a URL.
    pub(super) fn url(&self, region: &str, bucket: &str, key: &str, query: &[(&str, &str)]) -> Outcome<Url> {
        let refuse = |why: &str| Failure::usage("reading the address", why).on(Subject::path(format!("s3://{bucket}")));
        let is_name = |bucket: &str| bucket.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        if bucket.is_empty() && !(key.is_empty() && query.is_empty()) {
            return Err(refuse("it has no bucket").with_hint("an address is s3://BUCKET or s3://BUCKET/KEY"));
        }
        if bucket.starts_with("arn:") || bucket.ends_with("--x-s3") {
            return Err(refuse("access points and directory buckets are not supported")
                .with_hint("give the address of the bucket, s3://BUCKET/KEY"));
        }
        if !is_name(bucket) || bucket.starts_with('.') {
            return Err(refuse("it has no valid name of a bucket"));
        }
        let base = match (&self.endpoint, &self.base) {
            (Some((endpoint, _)), _) => endpoint.clone(),
            (None, Some(base)) => base.clone(),
            (None, None) => format!("https://s3.{region}.{}", domain(region)),
        };
        let key = encode(key, "/");
        let address = match base.split_once("://") {
            Some((scheme, rest)) if !self.is_path_style && !bucket.is_empty() && !bucket.contains('.') => {
                format!("{scheme}://{bucket}.{rest}/{key}")
            }
            _ if bucket.is_empty() => format!("{base}/"),
            _ if key.is_empty() => format!("{base}/{bucket}"),
            _ => format!("{base}/{bucket}/{key}"),
        };
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={}", encode(value, ""))).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        Url::parse(&format!("{address}{query}")).map_err(|_| refuse("it cannot be part of the address of the store"))
    }
}

/// Returns the domain of the services in a region.
pub(super) fn domain(region: &str) -> &'static str {
    match region.starts_with("cn-") {
        true => "amazonaws.com.cn",
        false => "amazonaws.com",
    }
}

fn endpoint(
    settings: &S3Settings,
    environment: &Environment,
    profiles: &Profiles,
) -> Outcome<Option<(String, String)>> {
    match settings.flags.endpoint_url.clone() {
        Some(url) => check_endpoint(&url, settings.source_of("--endpoint-url")).map(Some),
        None => configured_endpoint("s3", environment, profiles),
    }
}

/// Returns the address of a service that the environment or the profile sets, without a trailing slash, and the name of the setting.
pub(super) fn configured_endpoint(
    service: &str,
    environment: &Environment,
    profiles: &Profiles,
) -> Outcome<Option<(String, String)>> {
    if environment.is_true("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") {
        return Ok(None);
    }
    let variable = |name: &str| Some((environment.text(name)?, name.to_owned()));
    let of_profile = |url: &str| (url.to_owned(), format!("the profile {}", profiles.name));
    let of_services =
        || profiles.other("services", profiles.own("services")?, &format!("{service}.endpoint_url")).map(of_profile);
    let configured = variable(&format!("AWS_ENDPOINT_URL_{}", service.to_ascii_uppercase()))
        .or_else(of_services)
        .or_else(|| variable("AWS_ENDPOINT_URL"))
        .or_else(|| profiles.own("endpoint_url").map(of_profile));
    configured.map(|(endpoint, source)| check_endpoint(&endpoint, source)).transpose()
}

/// Checks the name of a region, which is a part of the host.
fn check_region(region: String) -> Outcome<String> {
    match region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
        true => Ok(region),
        false => Err(Failure::usage("reading the region", "a region has lower-case letters, digits and '-' only")
            .on(Subject::field(region))
            .with_hint("it is from --region, AWS_REGION or the profile; an example is eu-west-1")),
    }
}

/// Checks the URL of a store from the setting `source`; returns both.
fn check_endpoint(endpoint: &str, source: String) -> Outcome<(String, String)> {
    let url = Url::parse(endpoint).ok().filter(|url| {
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        ["http", "https"].contains(&url.scheme()) && url.has_host() && is_plain && url.fragment().is_none()
    });
    match url {
        Some(url) => Ok((url.as_str().trim_end_matches('/').to_owned(), source)),
        None => {
            let why = "it has to be https://HOST or http://HOST, without a name or password";
            Err(Failure::usage("reading the endpoint", why).on(Subject::field(source)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::store_settings::RemoteSettings;
    use super::super::super::tests::server::decode;
    use super::*;
    use crate::location::{is_plain_key, RemoteUrl};

    fn config(settings: RemoteSettings, values: &[(&str, &str)]) -> Outcome<S3Config> {
        S3Config::new(&S3Settings::of_flags(&settings), &Environment::of(values), &Profiles::default())
    }

    proptest::proptest! {
        #[test]
        fn object_key_is_unchanged_in_paths_and_urls(key in "(?s).{1,20}(/.{1,20}){0,3}") {
            proptest::prop_assume!(is_plain_key(&key));
            let path = std::path::PathBuf::from(format!("s3://b/{key}"));
            proptest::prop_assert_eq!(RemoteUrl::parse(&path).unwrap().key, &key);
            let own = config(RemoteSettings::default(), &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9/")]).unwrap();
            let url = own.url("x", "b", &key, &[("prefix", &key)]).unwrap();
            proptest::prop_assert_eq!(decode(url.path()), format!("/b/{key}"));
            proptest::prop_assert_eq!(decode(url.query().unwrap()), format!("prefix={key}"));
        }
    }

    #[test]
    fn the_bucket_is_in_the_host_unless_there_is_an_endpoint() {
        let none = config(RemoteSettings::default(), &[("AWS_REGION", "eu-west-1")]).unwrap();
        let url =
            |config: &S3Config, bucket: &str, key: &str| config.url("eu-west-1", bucket, key, &[]).unwrap().to_string();
        assert_eq!(none.region.as_deref(), Some("eu-west-1"));
        assert_eq!(url(&none, "b", "a b/c"), "https://b.s3.eu-west-1.amazonaws.com/a%20b/c");
        assert_eq!(url(&none, "b.c", "k"), "https://s3.eu-west-1.amazonaws.com/b.c/k");
        let own = config(RemoteSettings::default(), &[("AWS_ENDPOINT_URL", "http://127.0.0.1:9/")]).unwrap();
        assert_eq!(url(&own, "b", "k//l"), "http://127.0.0.1:9/b/k//l");
        let query = own.url("x", "b", "", &[("list-type", "2"), ("prefix", "a/&")]).unwrap();
        assert_eq!(query.as_str(), "http://127.0.0.1:9/b?list-type=2&prefix=a%2F%26");
        assert!(own.url("x", "", "k", &[]).unwrap_err().why.contains("no bucket"));
        assert_eq!(url(&none, "", ""), "https://s3.eu-west-1.amazonaws.com/");
        assert_eq!(url(&own, "", ""), "http://127.0.0.1:9/");
    }

    #[test]
    fn more_specific_s3_setting_takes_precedence() {
        let values =
            [("AWS_ENDPOINT_URL", "http://a"), ("AWS_ENDPOINT_URL_S3", "http://b"), ("AWS_REQUEST_PAYER", "requester")];
        let set = config(RemoteSettings::default(), &values).unwrap();
        assert_eq!(set.endpoint.unwrap(), ("http://b".to_owned(), "AWS_ENDPOINT_URL_S3".to_owned()));
        assert!(set.request_payer);
        let flag = RemoteSettings { endpoint_url: Some("https://c".to_owned()), ..RemoteSettings::default() };
        assert_eq!(config(flag, &values).unwrap().endpoint.unwrap().1, "--endpoint-url");
        let ignored = [values[0], ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")];
        assert!(config(RemoteSettings::default(), &ignored).unwrap().endpoint.is_none());
        // Another service has its own specific setting, and the same general one.
        let of_tokens = |values: &[(&str, &str)]| {
            configured_endpoint("sts", &Environment::of(values), &Profiles::default()).unwrap().map(|(url, _)| url)
        };
        assert_eq!(of_tokens(&values).as_deref(), Some("http://a"));
        assert_eq!(of_tokens(&[values[0], ("AWS_ENDPOINT_URL_STS", "http://d/")]).as_deref(), Some("http://d"));
        assert_eq!((of_tokens(&values[1..]), of_tokens(&ignored)), (None, None));
        for region in ["x/y", "a.b", "EU"] {
            let failure = config(RemoteSettings::default(), &[("AWS_REGION", region)]).unwrap_err();
            assert_eq!((failure.class.code(), failure.subject.field.as_deref()), (2, Some(region)));
        }
        for wrong in ["ftp://a", "http://u:p@a", "a", "http://a?x"] {
            let failure = config(RemoteSettings::default(), &[("AWS_ENDPOINT_URL", wrong)]).unwrap_err();
            assert_eq!(failure.subject.field.as_deref(), Some("AWS_ENDPOINT_URL"), "{wrong}");
        }
    }
}
