//! Objects that are uploaded while they are created.

use super::*;
use crate::store::{ObjectUpload, StagedObject};

const BYTES: usize = (40 << 20) + 17;

fn begin(store: &S3Store, memory: u64) -> Box<dyn ObjectUpload> {
    store.begin_staged(&RemoteUrl::parse(&path("k")).unwrap(), BYTES as u64, memory).unwrap()
}

fn send(store: &S3Store, bytes: &[u8]) -> StagedObject {
    let mut upload = begin(store, 32 << 20);
    bytes.chunks(1_000_003).for_each(|bytes| upload.write(bytes).unwrap());
    upload.finish().unwrap()
}

fn complete(store: &S3Store, object: &StagedObject) -> io::Result<bool> {
    store.complete_staged(&RemoteUrl::parse(&path("k")).unwrap(), object)
}

fn list_parts(server: &Server, tags: &[&str]) {
    let parts: String = tags.iter().map(|tag| format!("<Part><ETag>{tag}</ETag></Part>")).collect();
    let body = format!("<ListPartsResult>{parts}</ListPartsResult>");
    server.fault("/b/k?uploadId", Fault::Answer(200, String::new(), body));
}

#[test]
fn staged_s3_object_is_visible_only_when_completed() {
    let server = Server::start(&[]);
    let (store, bytes) = (store(&server), content(BYTES));
    let can_stage = |bytes, memory| store.can_stage(&RemoteUrl::parse(&path("k")).unwrap(), bytes, memory);
    assert!(!can_stage(8 << 20, 1 << 30) && can_stage((8 << 20) + 1, 1 << 30));
    assert!(!can_stage(1 << 40, 64 << 20) && can_stage(1 << 40, 1 << 30) && !can_stage(6 << 40, 1 << 40));
    let object = send(&store, &bytes);
    assert_eq!((object.bytes, object.parts.len(), object.replaces.as_deref()), (BYTES as u64, 3, None));
    let sizes: Vec<usize> = server.state.lock().unwrap().parts.values().map(Vec::len).collect();
    assert_eq!(sizes, [16 << 20, 16 << 20, (8 << 20) + 17]);
    assert!(server.state.lock().unwrap().objects.is_empty(), "nothing is visible");
    assert!(complete(&store, &object).unwrap());
    assert!(read(&store, "k").unwrap() == bytes);
    // A run that was killed after this completes it again.
    assert!(complete(&store, &object).unwrap());
    server.state.lock().unwrap().objects.clear();
    assert!(!complete(&store, &object).unwrap(), "it is neither sent nor there");
}

#[test]
fn previous_version_is_not_mistaken_for_the_staged_object() {
    let bytes = content(BYTES);
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    let object = send(&store, &bytes);
    assert!(object.replaces.is_some());
    server.state.lock().unwrap().parts.clear();
    assert!(!complete(&store, &object).unwrap(), "the object that is there is the old one");
}

#[test]
fn a_sent_object_is_kept_if_the_store_has_its_parts() {
    let server = Server::start(&[]);
    let store = store(&server);
    let object = send(&store, &content(BYTES));
    let is_kept = || store.has_staged(&RemoteUrl::parse(&path("k")).unwrap(), &object).unwrap();
    list_parts(&server, &["&quot;part&quot;"; 3]);
    assert!(is_kept());
    for tags in [&["part"; 2][..], &["part", "part", "other"], &[]] {
        list_parts(&server, tags);
        assert!(!is_kept(), "{tags:?}");
    }
    server.fault("/b/k?uploadId", refuse(404, "NoSuchUpload"));
    assert!(!is_kept());
    server.fault("/b/k?uploadId", refuse(403, "AccessDenied"));
    assert!(!is_kept());
}

#[test]
fn unfinished_uploads_are_aborted() {
    let server = Server::start(&[]);
    let (store, bytes) = (store(&server), content(17 << 20));
    let mut upload = begin(&store, 0);
    upload.write(&bytes).unwrap();
    // Its request for a list of uploads must be answered before that answer is replaced.
    while !server.requests().iter().any(|request| request.target.starts_with("/b?")) {
        std::thread::yield_now();
    }
    drop(upload);
    let ended = |server: &Server| {
        let requests = server.requests().into_iter().filter(|request| request.method == "DELETE");
        requests.map(|request| request.target.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ended(&server), ["/b/k?uploadId=u%261"]);
    // Uploads of killed runs are aborted, too.
    let left = |id: &str| format!("<Upload><Key>k</Key><UploadId>{id}</UploadId></Upload>");
    let body = format!("<ListMultipartUploadsResult>{}{}</ListMultipartUploadsResult>", left("u&amp;1"), left("old"));
    server.fault("/b?", Fault::Answer(200, String::new(), body));
    send(&store, &content(BYTES));
    assert_eq!(ended(&server)[1..], ["/b/k?uploadId=old"]);
    let gone = "<Error><Code>NoSuchUpload</Code></Error>";
    server.fault("/b/k?partNumber=1", Fault::Answer(404, String::new(), gone.into()));
    let mut upload = begin(&store, 32 << 20);
    upload.write(&bytes).unwrap();
    let error = upload.finish().unwrap_err();
    assert!(failure(error).why.contains("ended by another process"));
}

/// Sets the answer to the next requests for the headers of the object: this size, this tag and further headers.
fn there(server: &Server, bytes: usize, tag: &str, more: &str) {
    server.fault("HEAD", Fault::Answer(200, format!("ETag: \"{tag}\"\r\n{more}"), "x".repeat(bytes)));
}

#[test]
fn object_of_equal_size_counts_as_completed_only_if_its_etag_matches_the_parts() {
    let server = Server::start(&[]);
    let store = store(&server);
    let parts = vec!["\"d41d8cd98f00b204e9800998ecf8427e\"".to_owned(), "0cc175b9c0f1b6a831c399e269772661".to_owned()];
    let made = upload::etag_of_parts(&parts).unwrap();
    let other = made.replace("-2", "-3");
    let object = |replaces: Option<&str>| StagedObject {
        upload: "gone".into(),
        bytes: 5,
        parts: parts.clone(),
        checksum: None,
        replaces: replaces.map(str::to_owned),
    };
    let kms = "x-amz-server-side-encryption: aws:kms\r\n";
    for (tag, more, replaces, expected) in [
        (made.as_str(), "", None, true),
        // The completion is repeated, or the same content existed before.
        (&made, "", Some(made.as_str()), true),
        (&other, "", None, false),
        ("d41d8cd98f00b204e9800998ecf8427e", "", None, false),
        // These tags do not depend on the content.
        (&other, kms, None, true),
        (&other, kms, Some(&other), false),
        ("0x8DD0F", "", Some("0x8DD0E"), true),
        ("0x8DD0F", "", Some("0x8DD0F"), false),
    ] {
        there(&server, 5, tag, more);
        assert_eq!(complete(&store, &object(replaces)).unwrap(), expected, "{tag} {more}");
    }
    there(&server, 6, &made, "");
    assert!(!complete(&store, &object(None)).unwrap(), "it has another size");
}

#[test]
fn a_completion_that_states_the_tag_needs_no_further_request() {
    let server = Server::start(&[]);
    let parts = vec!["d41d8cd98f00b204e9800998ecf8427e".to_owned()];
    let tag = upload::etag_of_parts(&parts).unwrap();
    let answer = |tag: &str| {
        let body =
            format!("<CompleteMultipartUploadResult><ETag>&quot;{tag}&quot;</ETag></CompleteMultipartUploadResult>");
        server.fault("POST", Fault::Answer(200, String::new(), body));
    };
    let object = StagedObject { upload: "u".into(), bytes: 5, parts, checksum: None, replaces: None };
    answer(&tag);
    assert!(complete(&store(&server), &object).unwrap());
    assert_eq!(server.requests().len(), 1);
    answer("another");
    there(&server, 5, "another", "");
    assert!(complete(&store(&server), &object).unwrap());
    assert_eq!(server.requests().len(), 3, "it is looked at");
}

#[test]
fn upload_whose_creation_was_answered_late_is_aborted() {
    let begun = "2026-01-01T00:00:00.000Z";
    let upload = |id: &str, at: &str| {
        format!("<Upload><Key>k</Key><UploadId>{id}</UploadId><Initiated>{at}</Initiated></Upload>")
    };
    let own = upload("u&amp;1", begun);
    for (uploads, expected) in [
        ([&own, &upload("lost", begun)].map(String::as_str).concat(), vec!["/b/k?uploadId=lost"]),
        // Some uploads are older, or there are more uploads than lost answers.
        ([&own, &upload("old", "2025-12-31T23:59:00.000Z")].map(String::as_str).concat(), vec![]),
        ([&own, &upload("lost", begun), &upload("other", begun)].map(String::as_str).concat(), vec![]),
    ] {
        let server = Server::start(&[]);
        server.fault("/b/k?uploads", Fault::Cut(0));
        let date = "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n".to_owned();
        let page = format!("<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>");
        server.fault("/b?uploads", Fault::Answer(200, date, page));
        assert_eq!(store(&server).begin_upload("k").unwrap(), "u&1");
        let requests = server.requests().into_iter().filter(|request| request.method == "DELETE");
        assert_eq!(requests.map(|request| request.target).collect::<Vec<_>>(), expected);
    }
    for (refusals, expected) in [(0, 1), (1, 2)] {
        let server = Server::start(&[]);
        let refused = Fault::Answer(503, String::new(), "<Error><Code>SlowDown</Code></Error>".into());
        (0..refusals).for_each(|_| server.fault("/b/k?uploads", refused.clone()));
        store(&server).begin_upload("k").unwrap();
        assert_eq!(server.requests().len(), expected, "without a lost answer nothing is listed");
    }
}
