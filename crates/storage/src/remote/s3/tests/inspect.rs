//! Requests of `doctor`.

use super::*;
use std::time::Duration;

#[test]
fn s3_settings_name_the_source_of_the_key_without_the_secret() {
    let server = Server::start(&[]);
    let settings = store_with(&server, &[&KEYS[..], &[("AWS_REGION", "eu-west-1")]].concat()).read_settings().unwrap();
    assert_eq!(settings.credentials, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, key …TEST");
    assert_eq!(settings.region, "eu-west-1");
    assert_eq!(settings.endpoint, format!("{}/b, from AWS_ENDPOINT_URL", server.address));
    let settings = store_with(&server, &[("AWS_SKIP_SIGNATURE", "true")]).read_settings().unwrap();
    assert_eq!(settings.credentials, "none: requests are not signed");
}

#[test]
fn s3_guards_are_detected_by_probing_the_store() {
    let server = Server::start(&[("k", b"probe")]);
    let (store, address) = (store(&server), path("k"));
    let guards = || store.guards(&RemoteUrl::parse(&address).unwrap(), b"probe").unwrap().unwrap();
    // This server supports conditions, but no checksums.
    let found = StoreGuards { if_absent: true, if_unchanged: true, checksums: false };
    assert_eq!(guards(), found);
    // The first request is sent again without a checksum, which the store may not support.
    let unknown = (501, "NotImplemented");
    for (status, code) in [unknown, unknown, (412, "PreconditionFailed"), (400, "BadDigest")] {
        server.fault("PUT", refuse(status, code));
    }
    assert_eq!(guards(), StoreGuards { if_absent: false, if_unchanged: true, checksums: true });
    let puts: Vec<_> = server.requests().into_iter().filter(|request| request.method == "PUT").collect();
    assert_eq!(puts[0].headers["if-none-match"], "*");
    assert!(puts[1].headers.contains_key("if-match") && puts[2].headers.contains_key("content-md5"));
}

#[test]
fn unfinished_s3_uploads_are_listed_in_pages_and_aborted() {
    let server = Server::start(&[]);
    let (store, address) = (store(&server), path("a"));
    let url = RemoteUrl::parse(&address).unwrap();
    let upload = |key: &str, id: &str| {
        let begun = "2026-01-01T00:00:00.000Z";
        format!("<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiated>{begun}</Initiated></Upload>")
    };
    let page = |uploads: &str, next: &str| {
        let date = "Date: Thu, 01 Jan 2026 01:00:00 GMT\r\n".to_owned();
        let text = format!("<ListMultipartUploadsResult>{uploads}{next}</ListMultipartUploadsResult>");
        server.fault("/b?uploads", Fault::Answer(200, date, text));
    };
    let next =
        "<IsTruncated>true</IsTruncated><NextKeyMarker>a/b</NextKeyMarker><NextUploadIdMarker>2</NextUploadIdMarker>";
    page(&[upload("a", "1"), upload("ab", "0"), upload("a/b", "2")].concat(), next);
    page(&upload("a/c", "3"), "");
    let parts = "<R><Part><Size>5</Size></Part><Part><Size>6</Size></Part></R>";
    server.fault("/b/a?uploadId", Fault::Answer(200, String::new(), parts.to_owned()));
    let uploads = store.uploads(&url).unwrap().unwrap();
    let expected = |key: &str, id: &str, bytes| UnfinishedUpload {
        key: key.to_owned(),
        id: id.to_owned(),
        age: Duration::from_secs(3600),
        bytes,
    };
    assert_eq!(uploads, [expected("a", "1", Some(11)), expected("a/b", "2", None), expected("a/c", "3", None)]);
    let requests = server.requests();
    assert!(requests[1].target.contains("key-marker=a%2Fb&upload-id-marker=2"), "{}", requests[1].target);
    store.end_upload(&url, "1").unwrap();
    let ended = server.requests().pop().unwrap();
    assert_eq!((ended.method.as_str(), ended.target.as_str()), ("DELETE", "/b/a?uploadId=1"));
    for (place, right) in [("/b?uploads", "s3:ListBucketMultipartUploads"), ("DELETE", "s3:AbortMultipartUpload")] {
        server.fault(place, refuse(403, "AccessDenied"));
        let refused = match place {
            "DELETE" => store.end_upload(&url, "1").unwrap_err(),
            _ => store.uploads(&url).unwrap_err(),
        };
        assert!(failure(refused).hint.unwrap().contains(right));
    }
}

#[test]
fn endless_upload_pages_are_read_up_to_a_limit() {
    let server = Server::start(&[]);
    let (store, address) = (store(&server), path("a"));
    let next = "<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>a</NextKeyMarker></ListMultipartUploadsResult>";
    server.state.lock().unwrap().services.push(("/b?uploads".to_owned(), 200, next.to_owned()));
    assert_eq!(store.uploads(&RemoteUrl::parse(&address).unwrap()).unwrap().unwrap(), []);
    assert_eq!(server.requests().len(), 10);
}

#[test]
fn object_age_is_computed_by_the_clock_of_the_store() {
    let server = Server::start(&[("lock", b"x")]);
    let dates = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 10:54:37 GMT\r\n".to_owned();
    server.state.lock().unwrap().faults.push(("HEAD".to_owned(), Fault::Answer(200, dates, String::new())));
    let address = path("lock");
    let age = store(&server).age(&RemoteUrl::parse(&address).unwrap()).unwrap();
    assert_eq!(age, Some(Duration::from_secs(2 * 3600 + 300)));
}

#[test]
fn store_service_is_its_endpoint_and_usual_address_has_no_profile() {
    let server = Server::start(&[]);
    let address = path("a/b");
    let url = RemoteUrl::parse(&address).unwrap();
    assert_eq!(store(&server).service(&url), Some(server.address.clone()));
    assert_eq!(S3Store::new(context(&RemoteSettings::default(), &KEYS).unwrap(), "b").service(&url), None);
    assert_eq!(store(&server).usual_address(&url), "s3://b/a/b");
}
