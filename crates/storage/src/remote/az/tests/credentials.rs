//! Credentials of requests, meaning of their refusals, and accounts of addresses.

use super::*;
use crate::location::check_object_address;
use std::process::Command;

#[test]
fn shared_access_signature_is_sent_in_the_query_and_never_shown() {
    let server = azure::start(&[("k", b"abc")]);
    let store = store_with(&server, &[SAS]);
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    let request = server.requests().pop().unwrap();
    assert!(request.target.contains("sig=sassecret%3D") && !request.headers.contains_key("authorization"));
    let codes = [
        (403, "AuthenticationFailed", "has expired"),
        (403, "AuthorizationPermissionMismatch", "may not read it"),
        (403, "AuthorizationFailure", "may not read it"),
        (404, "ContainerNotFound", "no such container"),
        (409, "BlobArchived", "is archived"),
        (400, "InvalidQueryParameterValue", "400"),
    ];
    for (status, code, why) in codes {
        server.fault("GET", refuse(status, code));
        let failure = failure(read(&store, "k").unwrap_err());
        assert!(failure.why.contains(why), "{code}: {failure}");
    }
    for place in ["GET", "HEAD"] {
        (0..10).for_each(|_| server.fault(place, refuse(503, "ServerBusy")));
    }
    let busy = failure(read(&store, "k").unwrap_err());
    assert!(busy.hint.unwrap().contains("--connections"));
}

#[test]
fn azure_store_clock_is_adopted_once() {
    let server = azure::start(&[("k", b"abc")]);
    let store = store(&server);
    let skewed = || {
        let Fault::Answer(status, headers, body) = refuse(403, "AuthenticationFailed") else { unreachable!() };
        Fault::Answer(status, format!("{headers}Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), body)
    };
    server.fault("GET", skewed());
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    assert!(server.requests().pop().unwrap().headers["x-ms-date"].contains("Nov 1994"));
    // The clock of the store is now used, so the key is wrong.
    (0..2).for_each(|_| server.fault("GET", skewed()));
    for _ in 0..2 {
        let wrong = failure(read(&store, "k").unwrap_err());
        assert!(wrong.why.contains("key of the account acc is wrong"), "{wrong}");
        server.fault("GET", refuse(403, "AuthenticationFailed"));
    }
    // A signature in the URL does not depend on this machine's clock.
    server.state.lock().unwrap().faults.clear();
    server.fault("GET", skewed());
    let ended = failure(read(&store_with(&server, &[SAS]), "k").unwrap_err());
    assert!(ended.why.contains("signature (SAS) is not valid"), "{ended}");
}

#[test]
fn azure_tokens_come_from_the_environment_and_are_renewed_once() {
    let server = azure::start(&[("k", b"abc")]);
    let token = |name: &str| format!(r#"{{"access_token":"{name}","expires_in":"3600"}}"#);
    server.state.lock().unwrap().services = vec![
        ("/tenant/oauth2/v2.0/token".to_owned(), 200, token("hidden-application")),
        ("/msi/token".to_owned(), 200, token("hidden-container")),
        ("/metadata/identity/oauth2/token?".to_owned(), 200, token("hidden-machine")),
        ("/metadata/identity/oauth2/token".to_owned(), 400, String::new()),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "jwt\n").unwrap();
    let (endpoint, service) = (server.address.as_str(), format!("{}/msi/token", server.address));
    let application =
        [("AZURE_TENANT_ID", "tenant"), ("AZURE_CLIENT_ID", "client"), ("AZURE_AUTHORITY_HOST", endpoint)];
    let secret = [&application[..], &[("AZURE_CLIENT_SECRET", "s&t")]].concat();
    let workload = [&application[..], &[("AZURE_FEDERATED_TOKEN_FILE", file.to_str().unwrap())]].concat();
    let identity = vec![("IDENTITY_ENDPOINT", service.as_str()), ("IDENTITY_HEADER", "h")];
    let machine = vec![("AZURE_POD_IDENTITY_AUTHORITY_HOST", endpoint)];
    let form = |request: &ReceivedRequest| String::from_utf8_lossy(&request.body).into_owned();
    for (values, name, expected) in [
        (&secret, "application", "client_secret=s%26t"),
        (&workload, "application", "client_assertion=jwt"),
        (&identity, "container", ""),
        (&machine, "machine", ""),
    ] {
        let store = store_with(&server, values);
        server.fault("/acc/b/k", refuse(401, "InvalidAuthenticationInfo"));
        assert_eq!(read(&store, "k").unwrap(), b"abc");
        let requests = server.requests();
        assert_eq!(requests.last().unwrap().headers["authorization"], format!("Bearer hidden-{name}"));
        let asked = requests.iter().rfind(|request| request.target.contains("token")).unwrap();
        assert!(form(asked).contains(expected), "{}", form(asked));
    }
    // A machine of another provider, which has a service at the same address.
    server.state.lock().unwrap().services[3].1 = 404;
    assert_eq!(read(&store_with(&server, &machine), "k").unwrap(), b"abc");
    assert!(!server.requests().pop().unwrap().headers.contains_key("authorization"));
    (0..2).for_each(|_| server.fault("/acc/b/k", refuse(401, "InvalidAuthenticationInfo")));
    assert_eq!(failure(read(&store_with(&server, &secret), "k").unwrap_err()).why, "the credentials have expired");
}

#[test]
fn az_program_gives_a_token_if_a_user_is_logged_in() {
    let server = azure::start(&[("k", b"abc")]);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("az");
    let read_with = |script: &str| {
        // Written by another process: a process that another test starts at the same time must not inherit the open file.
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 700 "$2""#;
        let written = Command::new("sh").args(["-c", write, "sh", script]).arg(&program).status();
        assert!(written.unwrap().success());
        let store = store_with(&server, &[("PATH", folder.path().to_str().unwrap())]);
        assert_eq!(read(&store, "k").unwrap(), b"abc");
        server.requests().pop().unwrap().headers.get("authorization").cloned()
    };
    let token = r#"test "$*" = "account get-access-token --output json --resource https://storage.azure.com" &&
        echo '{"accessToken": "hidden-program", "expires_on": 4000000000}'"#;
    assert_eq!(read_with(token).as_deref(), Some("Bearer hidden-program"));
    assert_eq!(read_with("echo 'Please run az login' >&2; exit 1"), None);
}

#[test]
fn azure_read_without_credentials_is_sent_unsigned() {
    let server = azure::start(&[("k", b"abc")]);
    let store = store_with(&server, &[]);
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    assert!(!server.requests().pop().unwrap().headers.contains_key("authorization"));
    server.fault("GET", refuse(404, "ResourceNotFound"));
    let failure = failure(read(&store, "k").unwrap_err());
    assert_eq!(failure.why, "no credentials for this store were found");
    assert!(failure.hint.unwrap().contains("az login"));
}

#[test]
fn azure_address_selects_its_account_and_credentials() {
    let host = |host: &str, values: &[(&str, &str)], profile: AzureProfile| {
        let context = context(profile, values, Some(host).filter(|host| !host.is_empty()))?;
        let (url, keys) = (context.config.url("c", "a b", &[], None)?, context.config.keys.clone());
        Outcome::Ok((url.to_string(), keys.map(|keys| keys.source).unwrap_or_default()))
    };
    let of = |name: &str, values: &[(&str, &str)]| host(name, values, AzureProfile::default()).unwrap();
    let key = KEY.0.to_owned();
    assert_eq!(of("", &[ACCOUNT, KEY]), ("https://acc.blob.core.windows.net/c/a%20b".to_owned(), key.clone()));
    // The key of one account is not sent to another.
    let other = "other.dfs.core.chinacloudapi.cn";
    assert_eq!(
        of(other, &[ACCOUNT, KEY]),
        ("https://other.blob.core.chinacloudapi.cn/c/a%20b".to_owned(), String::new())
    );
    // Nor is a key without an account, or a signature.
    for values in [KEY, SAS] {
        assert_eq!(of(other, &[values]).1, "");
    }
    let custom = ("AZURE_STORAGE_ENDPOINT", "https://data.example.com");
    assert_eq!(of(other, &[custom, SAS]), ("https://data.example.com/c/a%20b".to_owned(), String::new()));
    assert_eq!(of("", &[custom, SAS]).1, SAS.0);
    let connection = "AZURE_STORAGE_CONNECTION_STRING";
    let text = "AccountName=acc;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:9/acc";
    assert_eq!(of("", &[(connection, text)]), ("http://127.0.0.1:9/acc/c/a%20b".to_owned(), connection.to_owned()));
    let signed = "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=x";
    assert_eq!(
        of("", &[(connection, signed)]),
        ("https://acc.blob.core.windows.net/c/a%20b".to_owned(), connection.to_owned())
    );
    let custom = "BlobEndpoint=https://data.example.com;SharedAccessSignature=sv=1&sig=x";
    assert_eq!(of("", &[(connection, custom)]).1, connection);
    let elsewhere = ("https://other.blob.core.chinacloudapi.cn/c/a%20b".to_owned(), String::new());
    let endpoint = ("AZURE_STORAGE_ENDPOINT", "https://acc.blob.core.windows.net");
    for values in [&[(connection, text)][..], &[(connection, signed)], &[(connection, custom)], &[endpoint, SAS]] {
        assert_eq!(of(other, values), elsewhere);
    }
    let flag = AzureProfile {
        endpoint: Some(("http://[::1]:9/".to_owned(), "--endpoint-url".to_owned())),
        ..AzureProfile::default()
    };
    assert_eq!(host("acc.dfs.core.windows.net", &[KEY], flag.clone()).unwrap().0, "http://[::1]:9/acc/c/a%20b");
    // An endpoint contains its account, unless its host is a custom domain.
    let named = |url: &str| {
        let endpoint = Some((url.to_owned(), "a profile".to_owned()));
        host("", &[ACCOUNT, KEY], AzureProfile { endpoint, ..AzureProfile::default() }).unwrap()
    };
    assert_eq!(named("https://other.blob.core.chinacloudapi.cn"), elsewhere);
    assert_eq!(named("https://data.example.com"), ("https://data.example.com/c/a%20b".to_owned(), key));
    for (values, field) in [
        (&[][..], ACCOUNT.0),
        (&[ACCOUNT, (KEY.0, "wrong!")], KEY.0),
        (&[ACCOUNT, (SAS.0, "a b")], SAS.0),
        (&[(connection, "x")], connection),
        (&[ACCOUNT, ("AZURE_STORAGE_ENDPOINT", "ftp://x")], "AZURE_STORAGE_ENDPOINT"),
        (&[ACCOUNT, SAS, ("AZURE_STORAGE_ENDPOINT", "http://data.example.com")], "AZURE_STORAGE_ENDPOINT"),
        (&[ACCOUNT, ("AZURE_STORAGE_ENDPOINT", "http://data.example.com")], "AZURE_STORAGE_ENDPOINT"),
        (&[(connection, "DefaultEndpointsProtocol=http;AccountName=acc;SharedAccessSignature=sig=x")], connection),
        (&[(connection, "DefaultEndpointsProtocol=ftp;AccountName=acc;AccountKey=a2V5")], connection),
    ] {
        let failure = host("", values, AzureProfile::default()).unwrap_err();
        assert_eq!(failure.subject.field.as_deref(), Some(field), "{failure}");
        assert!(!failure.to_string().contains("wrong!"), "{failure}");
    }
}

#[test]
fn anonymous_azure_profile_reads_no_key_and_allows_http() {
    let endpoint = ("AZURE_STORAGE_ENDPOINT", "http://data.example.com");
    let profile = || AzureProfile { is_anonymous: true, ..AzureProfile::default() };
    for values in [&[ACCOUNT, endpoint, SAS][..], &[ACCOUNT, (KEY.0, "wrong!")]] {
        assert!(context(profile(), values, None).unwrap().config.keys.is_none());
    }
    // A key is never sent, it only signs.
    let signed = context(AzureProfile::default(), &[ACCOUNT, endpoint, KEY], None).unwrap();
    assert!(signed.config.keys.is_some());
}

#[test]
fn azure_addresses_are_checked() {
    let check = |text: &str| check(text, check_object_address);
    let fine = "abfss://c-1@acc.dfs.core.windows.net/a b";
    assert_eq!(check(fine).unwrap(), fine);
    assert_eq!(check(&fine.replace("abfss", "abfs")).unwrap(), fine);
    assert_eq!(check("az://$web/a?b").unwrap(), "az://$web/a?b");
    for wrong in [
        "az://",
        "az://C/a",
        "az://a@b",
        "az://c@acc.dfs.core.windows.net/a",
        "abfss://c/a",
        "abfss://c@acc.example.com/a",
        "abfss://c@acc.dfs.core.windows.net.example.com/a",
        "abfss://c@a@acc.dfs.core.windows.net/a",
        "az://c/a//b",
        "az://c/a?sv=1&sig=sassecret",
    ] {
        let failure = check(wrong).unwrap_err();
        assert_eq!(failure.class, ExitClass::Usage, "{wrong}");
        assert!(!failure.to_string().contains("sassecret") && failure.hint.is_some(), "{failure}");
    }
}
