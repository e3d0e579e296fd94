mod around;
mod chain;
mod checksums;
mod copy;
mod inspect;
mod parts;
mod staged;

use super::super::super::store::StoreEntry;
use super::super::network::NetworkLimits;
use super::super::store_settings::{NewObjects, RemoteSettings};
use super::super::tests::limits;
use super::super::tests::server::{content, Fault, ReceivedRequest, Server};
use super::*;
use gristmill_core::{Cancel, ExitClass};
use md5::{Digest as _, Md5};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIDTEST"), ("AWS_SECRET_ACCESS_KEY", "verysecret")];

fn context(settings: &RemoteSettings, values: &[(&str, &str)]) -> Outcome<Arc<S3Context>> {
    let nowhere = [
        ("AWS_CONFIG_FILE", "/nonexistent/config"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ];
    let environment = Environment::of(&[&nowhere[..], values].concat());
    S3Context::new(Network::start(limits())?, S3Settings::of_flags(settings), environment).map(Arc::new)
}

fn store_with(server: &Server, values: &[(&str, &str)]) -> S3Store {
    let endpoint = [("AWS_ENDPOINT_URL", server.address.as_str())];
    S3Store::new(context(&RemoteSettings::default(), &[&endpoint[..], values].concat()).unwrap(), "b")
}

fn store(server: &Server) -> S3Store {
    store_with(server, &KEYS)
}

fn path(key: &str) -> PathBuf {
    PathBuf::from(format!("s3://b/{key}"))
}

fn info(store: &S3Store, key: &str) -> io::Result<Option<FileInfo>> {
    store.info(&RemoteUrl::parse(&path(key)).unwrap())
}

fn entries(store: &S3Store, key: &str, recursive: bool) -> Vec<(String, bool)> {
    let mut entries = Vec::new();
    let take: TakeEntry<'_> = &mut |entry: StoreEntry| {
        entries.push((entry.key, entry.info.is_dir()));
        Ok(true)
    };
    store.list(&RemoteUrl::parse(&path(key)).unwrap(), recursive, take).unwrap();
    entries
}

fn read(store: &S3Store, key: &str) -> io::Result<Vec<u8>> {
    let (info, object) = store.open(&RemoteUrl::parse(&path(key)).unwrap())?;
    let mut bytes = vec![0; info.len() as usize];
    if !bytes.is_empty() {
        object.read_exact_at(&mut bytes, 0)?;
    }
    Ok(bytes)
}

fn failure(error: io::Error) -> Failure {
    let failure = Failure::io("reading", "s3://b/x", &error);
    assert_eq!(failure.class, ExitClass::Environment);
    let text = format!("{failure} {:?}", failure.hint);
    assert!(!text.contains("verysecret") && !text.contains("hidden") && !text.contains("X-Amz"), "{text}");
    failure
}

fn refuse(status: u16, code: &str) -> Fault {
    let body = format!("<Error><Code>{code}</Code><Message>hidden</Message></Error>");
    Fault::Answer(status, String::new(), body)
}

#[test]
fn objects_and_folders_are_found() {
    let server = Server::start(&[
        ("set/a.tar", b"abc"),
        ("set", b"x"),
        ("dir/", b""),
        ("empty", b""),
        ("a.jsonl", b""),
        ("a.jsonl/b", b""),
    ]);
    let store = store(&server);
    assert_eq!(info(&store, "set/a.tar").unwrap().unwrap().len(), 3);
    assert!(info(&store, "set").unwrap().unwrap().is_dir(), "the folder wins, as files have an extension");
    assert!(info(&store, "a.jsonl").unwrap().unwrap().is_file(), "the object wins");
    assert!(info(&store, "dir").unwrap().unwrap().is_dir() && info(&store, "").unwrap().unwrap().is_dir());
    assert_eq!(info(&store, "no").unwrap(), None);
    assert_eq!((read(&store, "set/a.tar").unwrap(), read(&store, "empty").unwrap()), (b"abc".to_vec(), Vec::new()));
    assert_eq!(read(&store, "no").unwrap_err().kind(), io::ErrorKind::NotFound);
    let signed = server.requests().iter().all(|request| request.headers["authorization"].contains("AKIDTEST/"));
    assert!(signed, "every request is signed");
}

#[test]
fn a_store_that_has_only_failed_is_given_up_early() {
    let server = Server::start(&[("a", b"1")]);
    let network = Network::start(NetworkLimits { first_patience: Duration::from_secs(60), ..limits() }).unwrap();
    let endpoint = [("AWS_ENDPOINT_URL", server.address.as_str()), ("AWS_EC2_METADATA_DISABLED", "true")];
    let environment = Environment::of(&[&endpoint[..], &KEYS].concat());
    let settings = S3Settings::of_flags(&RemoteSettings::default());
    let store = S3Store::new(Arc::new(S3Context::new(network, settings, environment).unwrap()), "b");
    (0..11).for_each(|_| server.fault("/", refuse(500, "InternalError")));
    for tries in ["10 tries", "1 try"] {
        let why = failure(read(&store, "a").unwrap_err()).why;
        assert_eq!(why, format!("the store answers 500 InternalError, after {tries}"));
    }
    assert_eq!(read(&store, "a").unwrap(), b"1");
    server.fault("/", refuse(500, "InternalError"));
    assert_eq!(read(&store, "a").unwrap(), b"1", "it has worked, so the request is repeated");
    assert_eq!(server.requests().len(), 14);
}

#[test]
fn a_refusal_that_concerns_everything_is_the_last_answer() {
    for (status, code) in [(403, "InvalidAccessKeyId"), (404, "NoSuchBucket")] {
        let server = Server::start(&[]);
        (0..20).for_each(|_| server.fault("/", refuse(status, code)));
        let store = store(&server);
        let why = failure(info(&store, "a").unwrap_err()).why;
        // HEAD has no code, so its reason may have been requested.
        let first = server.requests().len();
        assert!(first <= 3, "{first}");
        assert_eq!(failure(read(&store, "other").unwrap_err()).why, why);
        assert_eq!(server.requests().len(), first, "{code}");
    }
    let server = Server::start(&[("b", b"1")]);
    server.fault("/b/a", refuse(403, "AccessDenied"));
    let store = store(&server);
    (0..2).for_each(|_| drop(failure(read(&store, "a").unwrap_err())));
    assert_eq!(read(&store, "b").unwrap(), b"1", "another object may be allowed");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn s3_listing_has_ordered_pages_and_unusual_keys() {
    let mut objects: Vec<(String, Vec<u8>)> = (0..25).map(|at| (format!("p/{at:02}.tar"), vec![1])).collect();
    for key in ["p/a b+%41/x", "p/a//b", "p/\u{e4}&<>", "p/05/", "p/05/y", "q"] {
        objects.push((key.to_owned(), if key.ends_with('/') { Vec::new() } else { vec![2] }));
    }
    let objects: Vec<(&str, &[u8])> = objects.iter().map(|(key, bytes)| (key.as_str(), bytes.as_slice())).collect();
    let server = Server::start(&objects);
    server.state.lock().unwrap().page = 4;
    let store = store(&server);
    let all = entries(&store, "p", true);
    let mut keys: Vec<&str> = objects.iter().map(|(key, _)| *key).filter(|key| key.starts_with("p/")).collect();
    keys.retain(|key| !key.ends_with('/'));
    keys.sort_unstable();
    assert_eq!(all.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), keys);
    let level = entries(&store, "p", false);
    let folders: Vec<&str> = level.iter().filter(|(_, is_folder)| *is_folder).map(|(key, _)| key.as_str()).collect();
    assert_eq!(folders, ["p/05", "p/a b+%41", "p/a"]);
    assert_eq!(level.len(), 29);
    for key in ["p/a b+%41/x", "p/a//b", "p/\u{e4}&<>"] {
        assert_eq!(read(&store, key).unwrap(), [2], "{key}");
    }
}

#[test]
fn listed_version_equals_the_version_of_the_object() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store(&server);
    let mut listed = None;
    let bucket = path("");
    let url = RemoteUrl::parse(&bucket).unwrap();
    store
        .list(&url, true, &mut |entry| {
            listed = Some(entry.info);
            Ok(true)
        })
        .unwrap();
    assert_eq!(listed, info(&store, "k").unwrap());
    let object = path("k");
    assert_eq!(listed.unwrap(), store.open(&RemoteUrl::parse(&object).unwrap()).unwrap().0);
    // The listing that `info` also requests may arrive later.
    let is_opening = |request: &ReceivedRequest| request.target == "/b/k" && request.method == "GET";
    let opened = server.requests().into_iter().find(is_opening).unwrap();
    assert!(opened.headers.contains_key("if-match"));
    // An object that was replaced after the listing is opened in its current version.
    server.state.lock().unwrap().objects.insert("k".to_owned(), b"other".to_vec());
    assert_eq!(read(&store, "k").unwrap(), b"other");
}

#[test]
fn damaged_answers_are_completed() {
    let bytes = content(300_000);
    let server = Server::start(&[("k", &bytes)]);
    for fault in [
        Fault::Cut(0),
        Fault::Cut(1000),
        Fault::Cut(70_000),
        Fault::Short(500),
        Fault::Short(0),
        Fault::Stall(10),
        refuse(503, "SlowDown"),
        refuse(500, "InternalError"),
        refuse(400, "RequestTimeout"),
        Fault::Answer(429, "Retry-After: 0\r\n".to_owned(), String::new()),
    ] {
        for _ in 0..2 {
            server.fault("/b/k", fault.clone());
        }
        assert_eq!(read(&store(&server), "k").unwrap(), bytes, "{fault:?}");
        assert!(server.state.lock().unwrap().faults.is_empty(), "{fault:?}");
    }
    server.fault("/b?", Fault::Cut(60));
    server.fault("/b?", Fault::Short(60));
    assert_eq!(entries(&store(&server), "", true), [("k".to_owned(), false)]);
}

#[test]
fn ranges_of_an_object_are_not_compared_with_its_checksum() {
    let server = Server::start(&[("k", b"0123456789")]);
    server.fault("/b/k", Fault::Flip(3));
    assert_eq!(read(&store(&server), "k").unwrap(), b"0122456789");
}

#[test]
fn s3_read_that_progresses_is_never_abandoned() {
    let bytes = content(60_000);
    let server = Server::start(&[("k", &bytes)]);
    for _ in 0..30 {
        server.fault("/b/k", Fault::Cut(1000));
    }
    assert_eq!(read(&store(&server), "k").unwrap(), bytes);
    let last = server.requests().pop().unwrap();
    assert_eq!(last.headers["range"], "bytes=30000-59999");
    assert!(last.headers.contains_key("if-match"));
}

#[test]
fn s3_answers_with_another_tag_or_without_ranges_are_refused() {
    let bytes = content(400_000);
    for (fault, why) in [(Fault::OtherTag, "changed while"), (Fault::Whole, "does not answer ranges")] {
        let server = Server::start(&[("k", &bytes)]);
        let store = store(&server);
        let address = path("k");
        let (info, object) = store.open(&RemoteUrl::parse(&address).unwrap()).unwrap();
        server.fault("/b/k", fault);
        let error = object.read_exact_at(&mut vec![0; info.len() as usize], 0).unwrap_err();
        assert!(failure(error).why.contains(why), "{why}");
    }
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    let address = path("k");
    let (_, object) = store.open(&RemoteUrl::parse(&address).unwrap()).unwrap();
    server.state.lock().unwrap().objects.insert("k".to_owned(), content(400_001));
    let error = object.read_exact_at(&mut [0; 10], 390_000).unwrap_err();
    assert!(failure(error).hint.unwrap().contains("nothing writes"));
}

#[test]
fn requests_to_a_host_wait_for_the_requested_pause() {
    let server = Server::start(&[("k", b"abc"), ("l", b"abc")]);
    let store = store(&server);
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    server.fault("/b/k", Fault::Answer(429, "Retry-After: 1\r\n".to_owned(), String::new()));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| read(&store, "k").unwrap());
        while server.requests().len() < 2 {
            std::thread::yield_now();
        }
        // The answer to that request may still be in transfer.
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(read(&store, "l").unwrap(), b"abc");
    });
    assert!(begin.elapsed() >= Duration::from_secs(1));
    let early = server
        .requests()
        .iter()
        .filter(|request| request.at > begin && request.at < begin + Duration::from_millis(900))
        .count();
    assert_eq!(early, 1);
}

#[test]
fn s3_refusals_have_specific_messages() {
    for (status, code, why) in [
        (403, "InvalidAccessKeyId", "does not know the key …TEST"),
        (403, "SignatureDoesNotMatch", "secret of the key …TEST is wrong"),
        (403, "AccessDenied", "may not list it"),
        (403, "ExpiredToken", "credentials have expired"),
        (400, "InvalidToken", "the session token is not valid"),
        (404, "NoSuchBucket", "there is no such bucket"),
        (301, "PermanentRedirect", "301 PermanentRedirect for the region us-east-1"),
        (400, "Weird<b>", "the store answers 400"),
    ] {
        let server = Server::start(&[("k", b"abc")]);
        (0..20).for_each(|_| server.fault("/b", refuse(status, code)));
        let failure = failure(info(&store(&server), "").unwrap_err());
        assert!(failure.why.contains(why), "{failure}");
    }
    let server = Server::start(&[("k", b"abc")]);
    let class = "<Error><Code>InvalidObjectState</Code><StorageClass>GLACIER</StorageClass></Error>";
    server.fault("/b/k", Fault::Answer(403, String::new(), class.to_owned()));
    assert!(failure(read(&store(&server), "k").unwrap_err()).why.contains("archived (GLACIER)"));
    (0..20).for_each(|_| server.fault("/b/k", refuse(503, "SlowDown")));
    let failure = failure(read(&store(&server), "k").unwrap_err());
    assert_eq!(failure.why, "the store asks to slow down, after 10 tries");
    assert!(failure.hint.unwrap().contains("--connections"));
}

#[test]
fn refusal_code_of_a_head_request_is_fetched_by_another_request() {
    let server = Server::start(&[("k", b"abc")]);
    server.fault("HEAD", Fault::Answer(400, String::new(), String::new()));
    assert!(info(&store(&server), "k").unwrap().is_some(), "it was temporary");
    for (code, why) in [("InvalidAccessKeyId", "does not know"), ("AccessDenied", "may not read it")] {
        (0..2).for_each(|_| server.fault("HEAD", Fault::Answer(403, String::new(), String::new())));
        server.fault("/b/k", refuse(403, code));
        let store = store(&server);
        // The first fault for the object applies to HEAD.
        let failure = failure(info(&store, "k").unwrap_err());
        assert!(failure.why.contains(why), "{failure}");
        server.state.lock().unwrap().faults.clear();
    }
}

#[test]
fn region_of_a_redirect_answer_is_adopted_once() {
    for (status, code) in [(301, "PermanentRedirect"), (400, "AuthorizationHeaderMalformed")] {
        let server = Server::start(&[("k", b"abc")]);
        let body = format!("<Error><Code>{code}</Code><Region>eu-west-3</Region></Error>");
        server.fault("/b/k", Fault::Answer(status, String::new(), body));
        let store = store(&server);
        assert_eq!(read(&store, "k").unwrap(), b"abc");
        assert!(server.requests().pop().unwrap().headers["authorization"].contains("/eu-west-3/s3/"));
        // Both requests for the information are refused at the same time.
        let header = "x-amz-bucket-region: eu-west-2\r\n".to_owned();
        server.fault("/b?", Fault::Answer(status, header.clone(), String::new()));
        server.fault("HEAD", Fault::Answer(status, header, String::new()));
        assert!(info(&store, "k").unwrap().is_some());
    }
}

#[test]
fn s3_store_clock_is_adopted_once() {
    let server = Server::start(&[("k", b"abc")]);
    let body = "<Error><Code>RequestTimeTooSkewed</Code></Error>".to_owned();
    let date = "Date: Thu, 01 Jan 2015 00:00:00 GMT\r\n".to_owned();
    server.fault("/b/k", Fault::Answer(403, date, body));
    assert_eq!(read(&store(&server), "k").unwrap(), b"abc");
    assert!(server.requests().pop().unwrap().headers["x-amz-date"].starts_with("20150101T"));
}

#[test]
fn unreachable_store_is_reported_after_three_tries() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let values = [&KEYS[..], &[("AWS_ENDPOINT_URL", address.as_str())]].concat();
    let store = S3Store::new(context(&RemoteSettings::default(), &values).unwrap(), "b");
    let failure = failure(info(&store, "k").unwrap_err());
    assert!(failure.why.contains("refuses the connection") && failure.why.ends_with("after 3 tries"), "{failure}");
    assert!(failure.hint.unwrap().contains("AWS_ENDPOINT_URL"));
}

#[test]
fn s3_read_without_keys_is_sent_unsigned() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store_with(&server, &[("AWS_REQUEST_PAYER", "requester")]);
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    let request = server.requests().pop().unwrap();
    assert!(!request.headers.contains_key("authorization"));
    assert_eq!(request.headers["x-amz-request-payer"], "requester");
    (0..2).for_each(|_| server.fault("/b", refuse(403, "AccessDenied")));
    let failure = failure(read(&store, "k").unwrap_err());
    assert_eq!(failure.why, "no credentials for this store were found");
    assert!(failure.hint.unwrap().contains("--anonymous"));
}

#[test]
fn large_objects_are_read_by_several_threads() {
    let bytes = content(20 << 20);
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    let address = path("k");
    let (_, object) = store.open(&RemoteUrl::parse(&address).unwrap()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (object, bytes) = (&object, &bytes);
            scope.spawn(move || {
                let mut buffer = vec![0; 100_000];
                for at in (thread * (5 << 20)..(thread + 1) * (5 << 20) - buffer.len()).step_by(buffer.len()) {
                    object.read_exact_at(&mut buffer, at as u64).unwrap();
                    assert_eq!(buffer, bytes[at..at + buffer.len()]);
                }
            });
        }
    });
    let ranges: Vec<String> = server.requests().iter().map(|request| request.headers["range"].clone()).collect();
    assert!(ranges.len() < 80, "{ranges:#?}");
}

fn put(store: &S3Store, key: &str, content: Content<'_>, condition: Condition) -> io::Result<bool> {
    store.put(&RemoteUrl::parse(&path(key)).unwrap(), content, condition)
}

#[test]
fn objects_are_put_replaced_and_removed() {
    let server = Server::start(&[("there", b"old")]);
    let store = store(&server);
    assert!(put(&store, "a b/new", Content::Bytes(b"one"), Condition::IfAbsent).unwrap());
    assert!(!put(&store, "there", Content::Bytes(b"two"), Condition::IfAbsent).unwrap());
    assert_eq!((read(&store, "a b/new").unwrap(), read(&store, "there").unwrap()), (b"one".to_vec(), b"old".to_vec()));
    assert!(put(&store, "there", Content::Bytes(b""), Condition::Always).unwrap());
    assert_eq!(read(&store, "there").unwrap(), b"");
    for _ in 0..2 {
        store.remove(&RemoteUrl::parse(&path("there")).unwrap()).unwrap();
        assert_eq!(info(&store, "there").unwrap(), None);
    }
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.headers.contains_key("authorization")));
}

#[test]
fn put_with_a_lost_answer_is_recognized_as_done() {
    let server = Server::start(&[]);
    let store = store(&server);
    server.fault("PUT", Fault::Cut(0));
    assert!(put(&store, "lock", Content::Bytes(b"mine"), Condition::IfAbsent).unwrap());
    server.fault("PUT", Fault::Answer(503, "Retry-After: 0\r\n".into(), String::new()));
    server.fault(
        "PUT",
        Fault::Answer(409, String::new(), "<Error><Code>ConditionalRequestConflict</Code></Error>".into()),
    );
    assert!(!put(&store, "lock", Content::Bytes(b"other"), Condition::IfAbsent).unwrap());
    let no_conditions = "<Error><Code>NotImplemented</Code></Error>";
    server.fault("PUT", Fault::Answer(501, String::new(), no_conditions.into()));
    assert!(put(&store, "free", Content::Bytes(b"x"), Condition::IfAbsent).unwrap());
    server.fault("PUT", Fault::Answer(403, String::new(), "<Error><Code>AccessDenied</Code></Error>".into()));
    let refused = failure(put(&store, "x", Content::Bytes(b"x"), Condition::Always).unwrap_err());
    assert!(refused.why.contains("may not write it"), "{refused}");
    assert!(refused.hint.unwrap().contains("s3:PutObject"));
}

#[test]
fn object_is_replaced_only_if_its_version_is_unchanged() {
    let (server, dir) = (Server::start(&[("split", b"old")]), tempfile::tempdir().unwrap());
    let store = store(&server);
    let stamp = || info(&store, "split").unwrap().unwrap().stamp;
    let large = dir.path().join("large");
    std::fs::write(&large, content(9 << 20)).unwrap();
    let large = crate::read::open_read(&large).unwrap();
    for new in [Content::Bytes(b"new"), Content::File(&large)] {
        let old = stamp();
        // Another process writes after the comparison of the version.
        let place = if matches!(new, Content::File(_)) { "/b/split?uploadId" } else { "PUT" };
        let changed = "<Error><Code>PreconditionFailed</Code></Error>";
        server.fault(place, Fault::Answer(412, String::new(), changed.into()));
        assert!(!put(&store, "split", new, Condition::IfStamp(old)).unwrap());
        assert_eq!(stamp(), old);
        assert!(put(&store, "split", new, Condition::IfStamp(old)).unwrap());
        let requests = server.requests();
        let written = requests.iter().rfind(|request| request.headers.contains_key("if-match")).unwrap();
        assert!(["PUT", "POST"].contains(&written.method.as_str()), "the store compares, too: {written:?}");
        let now = stamp();
        assert!(!put(&store, "split", Content::Bytes(b"other"), Condition::IfStamp(old)).unwrap());
        assert_eq!(stamp(), now);
    }
    let old = stamp();
    server.fault("PUT", Fault::Answer(501, String::new(), "<Error><Code>NotImplemented</Code></Error>".into()));
    assert!(put(&store, "split", Content::Bytes(b"x"), Condition::IfStamp(old)).unwrap());
    assert!(!put(&store, "none", Content::Bytes(b"x"), Condition::IfStamp(old)).unwrap());
}

#[test]
fn large_files_are_put_in_parts_and_a_failed_upload_leaves_no_parts() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (store, source) = (store(&server), dir.path().join("large"));
    let bytes = content((40 << 20) + 17);
    std::fs::write(&source, &bytes).unwrap();
    let file = crate::read::open_read(&source).unwrap();
    for fault in
        [None, Some(Fault::Cut(0)), Some(Fault::Short(0)), Some(Fault::Answer(503, String::new(), String::new()))]
    {
        for place in ["/b/large?partNumber=2", "/b/large?uploadId", "/b/large?uploads"] {
            fault.iter().for_each(|fault| server.fault(place, fault.clone()));
            assert!(put(&store, "large", Content::File(&file), Condition::Always).unwrap());
            assert!(read(&store, "large").unwrap() == bytes, "{place} {fault:?}");
            assert!(server.state.lock().unwrap().parts.is_empty());
        }
    }
    let denied = "<Error><Code>AccessDenied</Code></Error>";
    server.fault("/b/large?partNumber=3", Fault::Answer(403, String::new(), denied.into()));
    failure(put(&store, "large", Content::File(&file), Condition::Always).unwrap_err());
    assert!(server.state.lock().unwrap().parts.is_empty(), "the upload was ended");
    assert!(!put(&store, "large", Content::File(&file), Condition::IfAbsent).unwrap());
}

#[test]
fn copy_resumes_the_upload_of_a_killed_copy() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (store, source) = (store(&server), dir.path().join("large"));
    let part = 2 << 20;
    let bytes = content(4 * part + 17);
    std::fs::write(&source, &bytes).unwrap();
    let file = crate::read::open_read(&source).unwrap();
    let parts = |change: usize| {
        (1..).zip(bytes.chunks(part).take(2)).map(move |(number, part)| {
            let mut part = part.to_vec();
            part[0] ^= u8::from(number == change);
            (number as u32, part)
        })
    };
    let sent = |from: usize| -> Vec<String> {
        let puts = server.requests().into_iter().skip(from).filter(|request| request.target.contains('?'));
        puts.map(|request| format!("{} {}", request.method, request.target.split_once('?').unwrap().1)).collect()
    };
    let number = |n: usize| format!("PUT partNumber={n}&uploadId=old");
    server.state.lock().unwrap().part_tag =
        Some(|part| Md5::digest(part).iter().map(|byte| format!("{byte:02x}")).collect());
    // The changed part, and the parts that are sent.
    for (change, expected) in [(0, [3, 4, 5].as_slice()), (2, &[2, 3, 4, 5])] {
        let record = resume::ResumeRecord::open("s3://b/large", store.client.endpoint()).unwrap();
        record.write(&resume::BegunUpload { upload: "old".into(), part_bytes: part as u64, at: 0 });
        drop(record);
        server.state.lock().unwrap().parts = parts(change).collect();
        let from = server.requests().len();
        assert!(put(&store, "large", Content::UnlockedFile(&file), Condition::Always).unwrap());
        assert!(read(&store, "large").unwrap() == bytes);
        let mut written: Vec<String> = sent(from).into_iter().filter(|request| request.starts_with("P")).collect();
        written.sort();
        let completion = "POST uploadId=old".to_owned();
        assert_eq!(written, [vec![completion], expected.iter().map(|n| number(*n)).collect()].concat());
        assert_eq!(
            resume::ResumeRecord::open("s3://b/large", store.client.endpoint()).unwrap().read(),
            None,
            "it is complete"
        );
    }
    // The parts of an aborted upload cannot be used.
    let record = resume::ResumeRecord::open("s3://b/large", store.client.endpoint()).unwrap();
    record.write(&resume::BegunUpload { upload: "old".into(), part_bytes: part as u64, at: 0 });
    drop(record);
    let from = server.requests().len();
    assert!(put(&store, "large", Content::UnlockedFile(&file), Condition::Always).unwrap());
    assert!(read(&store, "large").unwrap() == bytes);
    let requests = sent(from);
    assert!(requests.contains(&"DELETE uploadId=old".to_owned()), "{requests:?}");
    assert!(requests.contains(&"POST uploads=".to_owned()), "{requests:?}");
}

/// A file whose bytes after an offset cannot be read, because the run is cancelled there.
struct CancelledFile(u64);

impl RangeRead for CancelledFile {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        buffer.fill(7);
        match offset < self.0 {
            true => Ok(()),
            false => Err(Failure::cancelled().into_io()),
        }
    }
}

#[test]
fn cancelled_copy_keeps_its_upload_for_the_next_run() {
    let server = Server::start(&[]);
    let store = store(&server);
    let address = "s3://b/cancelled";
    let ended = || server.requests().iter().filter(|request| request.method == "DELETE").count();
    let file = |end| {
        let info = FileInfo::of_object(40 << 20, 0, "source");
        ReadFile::of_ranges(&path("source"), info, Box::new(CancelledFile(end)))
    };
    let is_cancelled = |content: Content<'_>| {
        let error = put(&store, "cancelled", content, Condition::Always).unwrap_err();
        Failure::io("writing", address, &error).is_cancelled()
    };
    let begun = || resume::ResumeRecord::existing(address, store.client.endpoint()).and_then(|record| record.read());
    assert!(is_cancelled(Content::UnlockedFile(&file(20 << 20))));
    assert_eq!((begun().unwrap().upload.as_str(), ended()), ("u&1", 0));
    // After another cancelled run the upload still exists, with the part that has arrived.
    server.state.lock().unwrap().parts.insert(1, vec![7; 16 << 20]);
    assert!(is_cancelled(Content::UnlockedFile(&file(1 << 20))));
    assert_eq!((begun().unwrap().upload.as_str(), ended()), ("u&1", 0));
    assert!(put(&store, "cancelled", Content::UnlockedFile(&file(u64::MAX)), Condition::Always).unwrap());
    assert_eq!((begun(), ended()), (None, 0));
    let beginnings = server.requests().iter().filter(|request| request.target.ends_with("?uploads=")).count();
    assert_eq!(beginnings, 1, "the upload goes on");
    // With a lock, the next run uploads another object.
    assert!(is_cancelled(Content::File(&file(20 << 20))));
    assert_eq!((begun(), ended()), (None, 1));
}

#[test]
fn objects_are_made_with_the_properties_of_the_flags() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let new_objects = NewObjects {
        storage_class: Some("STANDARD_IA".into()),
        sse: Some("aws:kms".into()),
        sse_kms_key_id: Some("key".into()),
        acl: Some("bucket-owner-full-control".into()),
    };
    let settings = RemoteSettings { new_objects, ..RemoteSettings::default() };
    let endpoint = [("AWS_ENDPOINT_URL", server.address.as_str())];
    let store = S3Store::new(context(&settings, &[&endpoint[..], &KEYS].concat()).unwrap(), "b");
    let source = dir.path().join("large");
    std::fs::write(&source, content(20 << 20)).unwrap();
    put(&store, "large", Content::File(&crate::read::open_read(&source).unwrap()), Condition::Always).unwrap();
    put(&store, "small", Content::Bytes(b"abc"), Condition::Always).unwrap();
    read(&store, "small").unwrap();
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for request in server.requests() {
        let has = |name: &str, value: &str| request.headers.get(name).is_some_and(|found| found == value);
        let all = has("x-amz-storage-class", "STANDARD_IA")
            && has("x-amz-server-side-encryption", "aws:kms")
            && has("x-amz-server-side-encryption-aws-kms-key-id", "key")
            && has("x-amz-acl", "bucket-owner-full-control");
        assert_eq!(all, request.headers.contains_key("x-amz-acl"));
        if all { &mut with } else { &mut without }.push(format!("{} {}", request.method, request.target));
    }
    assert_eq!(with, ["POST /b/large?uploads=", "PUT /b/small"]);
    assert!(without.iter().any(|request| request.contains("partNumber=1")), "{without:?}");
}

#[test]
fn buckets_are_listed_and_a_missing_permission_is_named() {
    let server = Server::start(&[]);
    let all = S3Store::new(Arc::clone(&store(&server).client.context), "");
    let names = ["a", "b.c"].map(|name| format!("<Bucket><Name>{name}</Name></Bucket>")).concat();
    let list = format!(
        "<ListAllMyBucketsResult><Owner><Name>o</Name></Owner><Buckets>{names}</Buckets></ListAllMyBucketsResult>"
    );
    server.fault("/", Fault::Answer(200, String::new(), list));
    assert_eq!(all.buckets().unwrap(), ["a", "b.c"]);
    server.fault("/", refuse(403, "AccessDenied"));
    let failure = failure(all.buckets().unwrap_err());
    assert!(failure.hint.unwrap().contains("s3:ListAllMyBuckets"));
}

#[test]
fn cancelled_reader_does_not_wait_for_a_silent_store() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store(&server);
    server.fault("/b/k", Fault::Stall(0));
    let cancel = Cancel::default();
    let waits = cancel.begin_wait_scope();
    cancel.cancel();
    let error = read(&store, "k").unwrap_err();
    assert!(gristmill_core::Failure::io("reading", "k", &error).is_cancelled());
    // Work that must be finished is not stopped.
    let whole = Cancel::default().begin_wait_scope();
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    drop((whole, waits));
}

#[test]
fn data_uploaded_ahead_is_not_sent_again_unless_changed() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (store, source) = (store(&server), dir.path().join("growing"));
    let mut bytes = content((40 << 20) + 17);
    let sent = |server: &Server| {
        let is_part = |request: &ReceivedRequest| request.target.contains("partNumber=");
        server.requests().iter().filter(|request| is_part(request)).count()
    };
    let ahead_of = |key: &str, bytes: &[u8], is_complete: bool| {
        std::fs::write(&source, bytes).unwrap();
        let file = crate::read::open_read(&source).unwrap();
        store.upload_ahead(&RemoteUrl::parse(&path(key)).unwrap(), &file, (bytes.len() as u64, is_complete)).unwrap()
    };
    let ahead = |key: &str, bytes: &[u8]| _ = ahead_of(key, bytes, false);
    let put_all = |key: &str, bytes: &[u8]| {
        std::fs::write(&source, bytes).unwrap();
        let file = crate::read::open_read(&source).unwrap();
        assert!(put(&store, key, Content::File(&file), Condition::Always).unwrap());
        assert!(read(&store, key).unwrap() == bytes);
        assert!(server.state.lock().unwrap().parts.is_empty());
    };
    for (grown, parts) in [(8 << 20, 0), (17 << 20, 1), (20 << 20, 1), (33 << 20, 2)] {
        ahead("k", &bytes[..grown]);
        // Parts are not awaited, except parts of other objects before a part is sent.
        store.wait_for_others();
        assert_eq!(sent(&server), parts);
    }
    assert!(server.state.lock().unwrap().objects.is_empty(), "nothing is visible");
    put_all("k", &bytes);
    assert_eq!(sent(&server), 3);
    // The first bytes are written last.
    ahead("k", &bytes[..33 << 20]);
    bytes[3] ^= 1;
    put_all("k", &bytes);
    assert_eq!(sent(&server), 3 + 2 + 2);
    // All parts of a complete file are in transfer; the last part is sent again if the file has grown.
    let before = sent(&server);
    assert_eq!(ahead_of("k", &bytes, true), bytes.len() as u64);
    put_all("k", &bytes);
    assert_eq!(sent(&server), before + 3);
    ahead_of("k", &bytes[..33 << 20], true);
    put_all("k", &bytes);
    assert_eq!(sent(&server), before + 3 + 3 + 1);
    // A file that becomes small, a file that is not put, and an upload that vanishes.
    ahead("small", &bytes[..17 << 20]);
    put_all("small", b"abc");
    ahead("gone", &bytes[..17 << 20]);
    store.discard_ahead(&RemoteUrl::parse(&path("gone")).unwrap());
    assert!(server.state.lock().unwrap().parts.is_empty());
    ahead("k", &bytes[..17 << 20]);
    server.state.lock().unwrap().parts.clear();
    let gone = "<Error><Code>NoSuchUpload</Code></Error>";
    server.fault("/b/k?partNumber=2", Fault::Answer(404, String::new(), gone.into()));
    put_all("k", &bytes);
}

#[test]
fn cancelled_part_upload_is_abandoned() {
    let server = Server::start(&[]);
    let store = store(&server);
    // The store does not answer while its state is locked.
    let state = server.state.lock().unwrap();
    let part = store.begin_part(super::write::part_call("k", 1, "u", bytes::Bytes::from_static(b"abc")));
    let cancel = Cancel::default();
    let waits = cancel.begin_wait_scope();
    cancel.cancel();
    let error = part.finish().err().unwrap();
    assert!(gristmill_core::Failure::io("writing", "k", &error).is_cancelled(), "{error}");
    drop((state, waits));
}

#[test]
fn failed_upload_is_aborted_once() {
    let (server, dir) = (Server::start(&[]), tempfile::tempdir().unwrap());
    let (store, source) = (store(&server), dir.path().join("file"));
    std::fs::write(&source, content((40 << 20) + 17)).unwrap();
    let file = crate::read::open_read(&source).unwrap();
    for is_begun_ahead in [false, true] {
        let before = server.requests().len();
        if is_begun_ahead {
            store.upload_ahead(&RemoteUrl::parse(&path("k")).unwrap(), &file, (17 << 20, false)).unwrap();
        }
        let refusal = "<Error><Code>AccessDenied</Code></Error>";
        server.fault("/b/k?partNumber=2", Fault::Answer(403, String::new(), refusal.into()));
        put(&store, "k", Content::File(&file), Condition::Always).unwrap_err();
        let requests = server.requests().split_off(before);
        let ends = requests.iter().filter(|request| request.method == "DELETE").count();
        assert_eq!(ends, 1, "{is_begun_ahead}");
    }
}

#[test]
fn object_is_removed_only_if_its_version_matches() {
    let server = Server::start(&[("k", b"one")]);
    let store = store(&server);
    let url = path("k");
    let url = RemoteUrl::parse(&url).unwrap();
    let remove = |stamp| crate::store::Store::remove_version(&store, &url, stamp);
    let stamp = store.open(&url).unwrap().0.stamp;
    server.state.lock().unwrap().objects.insert("k".to_owned(), b"two".to_vec());
    assert!(!remove(stamp).unwrap(), "it was replaced");
    assert!(!remove(stamp).unwrap(), "it is asked for again");
    assert_eq!(server.state.lock().unwrap().objects["k"], b"two");
    assert!(remove(store.open(&url).unwrap().0.stamp).unwrap());
    assert!(server.state.lock().unwrap().objects.is_empty() && !remove(stamp).unwrap());
    // A store that does not support this condition.
    server.state.lock().unwrap().objects.insert("k".to_owned(), b"two".to_vec());
    let stamp = store.open(&url).unwrap().0.stamp;
    server.fault("DELETE", Fault::Answer(501, String::new(), "<Error><Code>NotImplemented</Code></Error>".into()));
    assert!(remove(stamp).unwrap() && server.state.lock().unwrap().objects.is_empty());
}
