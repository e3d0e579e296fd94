//! Checksums of written objects.

use super::*;
use crate::read::open_read;
use crate::remote::s3::crc64nvme::checksum_of;
use crate::store::{Condition, Content};

const CHECKSUM: &str = "x-amz-checksum-crc64nvme";

fn put(store: &S3Store, key: &str, bytes: &[u8]) -> io::Result<bool> {
    store.put(&RemoteUrl::parse(&path(key)).unwrap(), Content::Bytes(bytes), Condition::Always)
}

fn sent(server: &Server) -> Vec<Option<String>> {
    let requests = server.requests();
    let puts = requests.iter().filter(|request| request.method == "PUT");
    puts.map(|request| request.headers.get(CHECKSUM).cloned()).collect()
}

#[test]
fn put_request_has_a_checksum_and_a_signed_payload_without_tls() {
    let server = Server::start(&[]);
    let store = store(&server);
    put(&store, "a", b"123456789").unwrap();
    put(&store, "empty", b"").unwrap();
    assert_eq!(sent(&server), [Some("rosUhgp5mIg=".to_owned()), None]);
    let requests = server.requests();
    let authorization = &requests[0].headers["authorization"];
    assert!(authorization.contains(CHECKSUM), "it is signed: {authorization}");
    assert_eq!(requests[0].headers["x-amz-content-sha256"].len(), 64);
}

#[test]
fn store_without_checksum_support_receives_none_afterwards() {
    for (status, code) in [(400, "InvalidRequest"), (501, "NotImplemented")] {
        let server = Server::start(&[]);
        let store = store(&server);
        server.fault("PUT", refuse(status, code));
        put(&store, "a", b"one").unwrap();
        put(&store, "b", b"two").unwrap();
        let sent: Vec<bool> = sent(&server).iter().map(Option::is_some).collect();
        assert_eq!(sent, [true, false, false], "{code}");
        assert_eq!(server.state.lock().unwrap().objects["b"], b"two");
    }
}

#[test]
fn a_refusal_for_another_reason_leaves_checksums_on() {
    let server = Server::start(&[]);
    let store = store(&server);
    server.fault("PUT", refuse(400, "InvalidRequest"));
    server.fault("PUT", refuse(400, "InvalidRequest"));
    let failed = failure(put(&store, "a", b"one").unwrap_err());
    assert!(failed.why.contains("InvalidRequest"), "{failed}");
    put(&store, "b", b"two").unwrap();
    assert!(sent(&server)[2].is_some());
}

#[test]
fn object_stored_with_a_wrong_checksum_is_sent_again() {
    let server = Server::start(&[]);
    let store = store(&server);
    server.fault("PUT", Fault::Answer(200, format!("{CHECKSUM}: AAAAAAAAAAA=\r\n"), String::new()));
    put(&store, "a", b"one").unwrap();
    assert_eq!(sent(&server).len(), 2);
    assert_eq!(server.state.lock().unwrap().objects["a"], b"one");
}

#[test]
fn checksum_of_a_completed_object_is_compared_with_its_parts() {
    let server = Server::start(&[]);
    server.state.lock().unwrap().names_checksums = true;
    let (store, bytes) = (store(&server), content((17 << 20) + 5));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let file = open_read(file.path()).unwrap();
    let complete = |sum: &str| {
        let whole = format!("<ETag>x</ETag><ChecksumCRC64NVME>{sum}</ChecksumCRC64NVME>");
        let body = format!("<CompleteMultipartUploadResult>{whole}</CompleteMultipartUploadResult>");
        server.fault("/b/k?uploadId", Fault::Answer(200, String::new(), body));
        server.state.lock().unwrap().objects.insert("k".into(), bytes.clone());
        store.put(&RemoteUrl::parse(&path("k")).unwrap(), Content::File(&file), Condition::Always)
    };
    assert!(complete(&checksum_of(&bytes)).unwrap());
    // A combination of the checksums of parts does not describe the content.
    assert!(complete("AAAAAAAAAAA=-2").unwrap());
    let failed = failure(complete("AAAAAAAAAAA=").unwrap_err());
    assert!(failed.why.contains("checksum") && failed.hint.unwrap().contains("damaged"), "{}", failed.why);
    assert!(server.state.lock().unwrap().objects.contains_key("k"), "it is left");
}
