//! The proxies that the environment names. The HTTP client reads them itself; this module checks them and names them in messages.

use super::environment::Environment;
use gristmill_core::text::display_safe;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::Url;
use std::net::IpAddr;

/// Name of this step in errors.
const ACTIVITY: &str = "reading the address of the proxy";
/// Variables for URLs with TLS, without TLS, and for both.
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
/// Variables with the hosts that do not use a proxy.
const NONE: [&str; 2] = ["NO_PROXY", "no_proxy"];
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// A proxy as text, and the variable that names it.
pub(super) struct NamedProxy {
    pub(super) text: String,
    pub(super) variable: &'static str,
}

/// Fails if a variable is not the address of a proxy; otherwise requests would be sent without one. The value may contain a password, and
/// is not shown.
pub(super) fn check(environment: &Environment) -> Outcome<()> {
    for name in HTTPS.into_iter().chain(HTTP).chain(ALL) {
        if environment.text(name).is_some_and(|value| parse(&value).is_none()) {
            return Err(Failure::environment(ACTIVITY, "it is not valid")
                .on(Subject::field(name))
                .with_hint("its form is http://HOST:PORT; unset it to send requests without a proxy"));
        }
    }
    Ok(())
}

/// Returns the proxy for a URL, if the environment names one.
pub(super) fn proxy_of(url: &Url, environment: &Environment) -> Option<NamedProxy> {
    let names = if url.scheme() == "https" { HTTPS } else { HTTP };
    let set = |name: &&'static str| Some((*name, environment.text(name)?));
    let (variable, value) = names.iter().chain(&ALL).find_map(set)?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    if environment.first(&NONE).is_some_and(|list| is_excluded(host, &list)) {
        return None;
    }
    let proxy = parse(&value)?;
    let port = proxy.port_or_known_default().map(|port| format!(":{port}")).unwrap_or_default();
    let text = format!("the proxy {}{port} of {variable}", proxy.host_str()?);
    Some(NamedProxy { text: display_safe(&text).into_owned(), variable })
}

fn parse(value: &str) -> Option<Url> {
    let address = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    Url::parse(&address).ok().filter(|url| url.has_host() && SCHEMES.contains(&url.scheme()))
}

/// Whether no host uses a proxy. The HTTP client applies `*` to names only, curl also to addresses.
pub(super) fn is_off(environment: &Environment) -> bool {
    environment.first(&NONE).is_some_and(|list| list.split(',').any(|entry| entry.trim() == "*"))
}

/// Whether a list of names, suffixes of names, addresses and ranges of addresses contains a host, by the rules of the HTTP client.
fn is_excluded(host: &str, list: &str) -> bool {
    let address = host.parse::<IpAddr>();
    list.split(',').map(str::trim).any(|entry| match &address {
        _ if entry == "*" => true,
        Ok(address) => entry.parse() == Ok(*address) || is_in(*address, entry),
        Err(_) => {
            let name = entry.strip_prefix('.').unwrap_or(entry).to_ascii_lowercase();
            let is_below = || host.strip_suffix(&name).is_some_and(|rest| rest.ends_with('.'));
            !name.is_empty() && (host == name || is_below())
        }
    })
}

/// Whether an address is in a range, `10.0.0.0/8`.
fn is_in(address: IpAddr, range: &str) -> bool {
    let Some((Ok(start), Ok(kept))) = range.split_once('/').map(|(start, kept)| (start.parse(), kept.parse::<u32>()))
    else {
        return false;
    };
    let bits = |address| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let ((address, width), (start, start_width)) = (bits(address), bits(start));
    width == start_width && kept <= width && (address ^ start).checked_shr(width - kept).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxy_is_shown_without_its_password() {
        let values = [
            ("HTTPS_PROXY", "http://me:secret@proxy.example:3128"),
            ("all_proxy", "other"),
            ("NO_PROXY", "localhost, .inner.example,10.0.0.0/8"),
        ];
        let environment = Environment::of(&values);
        check(&environment).unwrap();
        let text = |url: &str| proxy_of(&Url::parse(url).unwrap(), &environment).map(|proxy| proxy.text);
        assert_eq!(text("https://s3.example/b").unwrap(), "the proxy proxy.example:3128 of HTTPS_PROXY");
        assert_eq!(text("http://s3.example/b").unwrap(), "the proxy other:80 of all_proxy");
        for url in ["https://inner.example", "https://a.inner.example", "http://localhost:9/b", "http://10.1.2.3"] {
            assert_eq!(text(url), None, "{url}");
        }
        assert!(text("https://notinner.example").is_some());
    }

    #[test]
    fn no_proxy_excludes_address_ranges_and_domains() {
        let list =
            "10.42.1.1/24,::1, 10.124.7.8 ,2001:db8::/33,172.16.0.0/12,.Inner.example,1.2.3.4/33,x/8,/8,8.8.8.8/";
        for host in ["10.42.1.99", "::1", "10.124.7.8", "2001:db8:7fff::1", "172.31.255.1", "a.inner.example"] {
            assert!(is_excluded(host, list), "{host}");
        }
        for host in
            ["10.42.2.1", "::2", "2001:db8:8000::1", "172.32.0.1", "1.2.3.4", "8.8.8.8", "0.0.0.1", "10.example"]
        {
            assert!(!is_excluded(host, list), "{host}");
        }
        assert!(is_excluded("9.9.9.9", "0.0.0.0/0") && is_excluded("::9", "::/0") && !is_excluded("::9", "0.0.0.0/0"));
        for (list, is_off_for_all) in [("*", true), ("a, *", true), ("*.a", false), ("", false)] {
            let values = [("NO_PROXY", list), ("HTTP_PROXY", "proxy.example")];
            let environment = Environment::of(&values);
            assert_eq!(is_off(&environment), is_off_for_all, "{list}");
            let proxy = proxy_of(&Url::parse("http://127.0.0.1:9/b").unwrap(), &environment);
            assert_eq!(proxy.is_none(), is_off_for_all, "{list}");
        }
    }

    #[test]
    fn invalid_proxy_address_is_refused_with_its_variable() {
        for wrong in ["nonsense::", "ftp://h", "http://", "http://me:secret@"] {
            let failure = check(&Environment::of(&[("HTTP_PROXY", wrong)])).unwrap_err();
            assert_eq!(failure.subject.field.as_deref(), Some("HTTP_PROXY"), "{wrong}");
            assert!(!format!("{failure:?}").contains("secret"));
        }
        check(&Environment::of(&[("HTTP_PROXY", " "), ("https_proxy", "127.0.0.1:9")])).unwrap();
    }
}
