//! Copies within the store, and checksums from the store.

use super::super::super::version::ObjectVersion;
use super::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn copy(store: &S3Store, from: &str, to: &str) -> io::Result<(bool, u64)> {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let watch = move |bytes| {
        counted.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    };
    let (from, to) = (path(from), path(to));
    let copied = store.copy(&RemoteUrl::parse(&from).unwrap(), &RemoteUrl::parse(&to).unwrap(), &watch)?;
    Ok((copied, count.load(Ordering::Relaxed)))
}

#[test]
fn an_object_is_copied_by_the_store() {
    let server = Server::start(&[("a b/\u{e4}+%", b"content"), ("old", b"old")]);
    let store = store(&server);
    let answer = |status, body: &str| Fault::Answer(status, String::new(), body.to_owned());
    // An error in an answer, a lost answer, and an incomplete one cause another try.
    let error = "<Error><Code>InternalError</Code></Error>";
    for fault in [None, Some(answer(200, error)), Some(Fault::Cut(0)), Some(Fault::Cut(20)), Some(answer(503, ""))] {
        fault.into_iter().for_each(|fault| server.fault("PUT", fault));
        assert_eq!(copy(&store, "a b/\u{e4}+%", "old").unwrap(), (true, 7));
        assert_eq!(read(&store, "old").unwrap(), b"content");
        server.state.lock().unwrap().objects.insert("old".to_owned(), b"old".to_vec());
    }
    let request = server.requests().into_iter().rfind(|request| request.method == "PUT").unwrap();
    assert!(request.headers["authorization"].contains("x-amz-copy-source;x-amz-copy-source-if-match"));
    assert!(request.body.is_empty());
}

#[test]
fn refused_server_side_copy_is_left_to_the_caller() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store(&server);
    for (status, code) in [(403, "AccessDenied"), (501, "NotImplemented"), (400, "InvalidRequest")] {
        server.fault("PUT", refuse(status, code));
        assert_eq!(copy(&store, "k", "l").unwrap(), (false, 0), "{code}");
    }
    assert!(!copy(&store, "missing", "l").unwrap().0);
    assert_eq!(info(&store, "l").unwrap(), None);
    server.fault("/b/k", refuse(403, "AccessDenied"));
    let unreadable = failure(read(&store, "k").unwrap_err());
    assert_eq!(unreadable.kind, Some(gristmill_core::ProblemKind::Unreadable));
    server.fault("PUT", refuse(412, "PreconditionFailed"));
    let failure = failure(copy(&store, "k", "l").unwrap_err());
    assert_eq!(failure.kind, Some(gristmill_core::ProblemKind::ChangedDuringScan));
}

#[test]
fn large_objects_are_copied_in_parts() {
    let bytes = content(2500);
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    let version = store.head("k").unwrap().unwrap();
    server.fault("/b/l?partNumber=2", refuse(503, "SlowDown"));
    assert!(store.copy_parts((&store, "k"), &version, ("l", 1000), &|_| Ok(())).unwrap());
    assert_eq!(read(&store, "l").unwrap(), bytes);
    let complete = server.requests().into_iter().rfind(|request| request.method == "POST").unwrap();
    assert_eq!(String::from_utf8(complete.body).unwrap().matches("copied").count(), 3);
    // A part is refused if the object has been replaced.
    let old = ObjectVersion { etag: "old".to_owned(), ..version.clone() };
    let changed = failure(store.copy_parts((&store, "k"), &old, ("m", 1000), &|_| Ok(())).unwrap_err());
    assert_eq!(changed.kind, Some(gristmill_core::ProblemKind::ChangedDuringScan));
    let stop = |_| Err(Failure::cancelled().into_io());
    assert!(store.copy_parts((&store, "k"), &version, ("m", 1000), &stop).is_err());
    assert!(server.state.lock().unwrap().parts.is_empty());
    assert_eq!(info(&store, "m").unwrap(), None);
    // If the store refuses the copy, the caller is responsible.
    for (status, code) in [(501, "NotImplemented"), (400, "InvalidRequest"), (403, "AccessDenied")] {
        server.fault("/b/m?partNumber=2", refuse(status, code));
        assert!(!store.copy_parts((&store, "k"), &version, ("m", 1000), &|_| Ok(())).unwrap(), "{code}");
    }
    server.fault("/b/m?partNumber=2", refuse(404, "NoSuchBucket"));
    let ended = failure(store.copy_parts((&store, "k"), &version, ("m", 1000), &|_| Ok(())).unwrap_err());
    assert_eq!((ended.kind, ended.why.as_str()), (None, "there is no such bucket"));
    assert!(server.state.lock().unwrap().faults.is_empty());
}

#[test]
fn vanished_multipart_copy_is_started_again() {
    let bytes = content(2500);
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    let version = store.head("k").unwrap().unwrap();
    for place in ["/b/l?partNumber=1", "/b/l?partNumber=3", "/b/l?uploadId"] {
        server.fault(place, refuse(404, "NoSuchUpload"));
        assert!(store.copy_parts((&store, "k"), &version, ("l", 1000), &|_| Ok(())).unwrap(), "{place}");
        assert_eq!(read(&store, "l").unwrap(), bytes, "{place}");
        store.remove(&RemoteUrl::parse(&path("l")).unwrap()).unwrap();
    }
    // The number of new uploads is limited.
    (0..2).for_each(|_| server.fault("/b/l?partNumber=1", refuse(404, "NoSuchUpload")));
    let vanished = failure(store.copy_parts((&store, "k"), &version, ("l", 1000), &|_| Ok(())).unwrap_err());
    assert!(vanished.why.contains("was ended by another process"), "{vanished}");
}

#[test]
fn unfinished_uploads_are_listed_only_while_the_lock_is_held() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (store, source) = (store(&server), dir.path().join("large"));
    std::fs::write(&source, content(9 << 20)).unwrap();
    let file = crate::read::open_read(&source).unwrap();
    let are_listed = |content: Content<'_>| {
        assert!(put(&store, "large", content, Condition::Always).unwrap());
        let requests = server.requests();
        requests.iter().any(|request| request.method == "GET" && request.target.contains("uploads"))
    };
    assert!(!are_listed(Content::UnlockedFile(&file)));
    assert!(are_listed(Content::File(&file)));
}

#[test]
fn etag_of_an_object_put_in_one_piece_is_its_md5() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store(&server);
    let address = path("k");
    let md5 = |tag: &str| {
        let header = format!("ETag: \"{tag}\"\r\n");
        server.fault("HEAD", Fault::Answer(200, header, String::new()));
        store.known.forget("k");
        store.md5(&RemoteUrl::parse(&address).unwrap()).unwrap()
    };
    assert_eq!(md5("900150983CD24FB0D6963F7D28E17F72").unwrap(), "900150983cd24fb0d6963f7d28e17f72");
    assert_eq!(md5("900150983cd24fb0d6963f7d28e17f72-2"), None);
    assert_eq!(md5("0x8D"), None);
}

#[test]
fn tags_are_compared_until_they_are_known_to_be_no_md5() {
    for is_md5 in [true, false] {
        let server = Server::start(&[]);
        let store = store(&server);
        let check = |tag: &str| {
            server.fault("HEAD", Fault::Answer(200, format!("ETag: \"{tag}\"\r\n"), "abc".into()));
            let address = path("k");
            let (_, mut check) = store.begin_check(&RemoteUrl::parse(&address).unwrap()).unwrap()()?;
            check.add(b"abc");
            Some(check)
        };
        let (md5, other) = ("900150983cd24fb0d6963f7d28e17f72", "0".repeat(32));
        let unequal = check(&other).unwrap();
        assert!(!unequal.is_equal() && unequal.unconfirmed_sum().is_some());
        if is_md5 {
            assert!(check(md5).unwrap().is_equal());
            assert_eq!(check(&other).unwrap().unconfirmed_sum(), None);
        } else {
            unequal.refute();
            assert!(check(md5).is_none() && check(&other).is_none());
        }
    }
}
