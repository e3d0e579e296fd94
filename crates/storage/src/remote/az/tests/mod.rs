mod credentials;
mod staged;

use super::super::super::store::StoreEntry;
use super::super::store_settings::{NewObjects, RemoteSettings};
use super::super::tests::server::{content, Fault, ReceivedRequest, Server};
use super::super::tests::{azure, limits};
use super::super::version::ObjectVersion;
use super::*;
use crate::read::open_read;
use gristmill_core::ExitClass;
use std::path::PathBuf;

const KEY: (&str, &str) = ("AZURE_STORAGE_ACCOUNT_KEY", "dmVyeXNlY3JldA==");
const SAS: (&str, &str) = ("AZURE_STORAGE_SAS_TOKEN", "?sv=2021-12-02&sig=sassecret%3D");
const ACCOUNT: (&str, &str) = ("AZURE_STORAGE_ACCOUNT_NAME", "acc");
/// Neither a metadata service nor a program.
const NOWHERE: [(&str, &str); 2] =
    [("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://127.0.0.1:1"), ("PATH", "/nonexistent")];

fn context(profile: AzureProfile, values: &[(&str, &str)], host: Option<&str>) -> Outcome<AzureContext> {
    let environment = Environment::of(&[&NOWHERE[..], values].concat());
    AzureContext::new(Network::start(limits())?, profile, environment, host)
}

fn store_with(server: &Server, values: &[(&str, &str)]) -> AzureStore {
    let endpoint = [("AZURE_STORAGE_ENDPOINT", server.address.as_str()), ACCOUNT];
    let context = context(AzureProfile::default(), &[&endpoint[..], values].concat(), None).unwrap();
    AzureStore::new(Arc::new(context), "b")
}

fn store(server: &Server) -> AzureStore {
    store_with(server, &[KEY])
}

/// Calls a function with the address of a key.
fn at<T>(key: &str, then: impl FnOnce(&RemoteUrl<'_>) -> T) -> T {
    let path = PathBuf::from(format!("az://b/{key}"));
    then(&RemoteUrl::parse(&path).unwrap())
}

fn info(store: &AzureStore, key: &str) -> io::Result<Option<FileInfo>> {
    at(key, |url| store.info(url))
}

fn put(store: &AzureStore, key: &str, content: Content<'_>, condition: Condition) -> io::Result<bool> {
    at(key, |url| store.put(url, content, condition))
}

fn entries(store: &AzureStore, key: &str, recursive: bool) -> Vec<(String, bool)> {
    let mut entries = Vec::new();
    let take: TakeEntry<'_> = &mut |entry: StoreEntry| {
        entries.push((entry.key, entry.info.is_dir()));
        Ok(true)
    };
    at(key, |url| store.list(url, recursive, take)).unwrap();
    entries
}

fn read(store: &AzureStore, key: &str) -> io::Result<Vec<u8>> {
    let (info, object) = at(key, |url| store.open(url))?;
    let mut bytes = vec![0; info.len() as usize];
    if !bytes.is_empty() {
        object.read_exact_at(&mut bytes, 0)?;
    }
    Ok(bytes)
}

fn failure(error: io::Error) -> Failure {
    let failure = Failure::io("reading", "az://b/x", &error);
    assert_eq!(failure.class, ExitClass::Environment);
    let text = format!("{failure} {:?}", failure.hint);
    assert!(!["dmVyeXNl", "sassecret", "hidden", "sig="].iter().any(|secret| text.contains(secret)), "{text}");
    failure
}

fn refuse(status: u16, code: &str) -> Fault {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>hidden</Message></Error>");
    Fault::Answer(status, format!("x-ms-error-code: {code}\r\n"), body)
}

#[test]
fn blobs_and_folders_are_found() {
    let server = azure::start(&[("set/a.tar", b"abc"), ("set", b"x"), ("dir/", b""), ("empty", b"")]);
    let store = store(&server);
    assert_eq!(info(&store, "set/a.tar").unwrap().unwrap().len(), 3);
    assert!(info(&store, "set").unwrap().unwrap().is_dir(), "the folder wins, as files have an extension");
    assert!(info(&store, "dir").unwrap().unwrap().is_dir() && info(&store, "").unwrap().unwrap().is_dir());
    assert_eq!(info(&store, "no").unwrap(), None);
    assert_eq!((read(&store, "set/a.tar").unwrap(), read(&store, "empty").unwrap()), (b"abc".to_vec(), Vec::new()));
    assert_eq!(read(&store, "no").unwrap_err().kind(), io::ErrorKind::NotFound);
    let is_signed = |request: &ReceivedRequest| request.headers["authorization"].starts_with("SharedKey acc:");
    assert!(server.requests().iter().all(is_signed), "every request is signed");
    // A blob that marks a folder is a folder.
    store.known.forget("empty");
    server.fault("HEAD", Fault::Answer(200, "x-ms-meta-hdi_isfolder: true\r\n".to_owned(), String::new()));
    assert!(info(&store, "empty").unwrap().unwrap().is_dir());
}

#[test]
fn azure_listing_has_ordered_pages_and_unusual_keys() {
    let mut objects: Vec<(String, Vec<u8>)> = (0..25).map(|at| (format!("p/{at:02}.tar"), vec![1])).collect();
    for key in ["p/a b+%41/x", "p/a//b", "p/\u{e4}&<>", "p/05/", "p/05/y", "q"] {
        objects.push((key.to_owned(), if key.ends_with('/') { Vec::new() } else { vec![2] }));
    }
    let objects: Vec<(&str, &[u8])> = objects.iter().map(|(key, bytes)| (key.as_str(), bytes.as_slice())).collect();
    let server = azure::start(&objects);
    server.state.lock().unwrap().page = 4;
    let store = store(&server);
    let mut keys: Vec<&str> = objects.iter().map(|(key, _)| *key).filter(|key| key.starts_with("p/")).collect();
    keys.retain(|key| !key.ends_with('/'));
    keys.sort_unstable();
    let all = entries(&store, "p", true);
    assert_eq!(all.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), keys);
    let level = entries(&store, "p", false);
    let folders: Vec<&str> = level.iter().filter(|(_, is_folder)| *is_folder).map(|(key, _)| key.as_str()).collect();
    assert_eq!((folders, level.len()), (vec!["p/05", "p/a b+%41", "p/a"], 29));
    for key in ["p/a b+%41/x", "p/a//b", "p/\u{e4}&<>"] {
        assert_eq!(read(&store, key).unwrap(), [2], "{key}");
    }
    // Listings and blobs have the same properties.
    let mut listed = None;
    let take: TakeEntry<'_> = &mut |entry: StoreEntry| {
        listed = Some(entry.info);
        Ok(false)
    };
    at("p", |url| store.list(url, true, take)).unwrap();
    assert_eq!(listed, info(&store, "p/00.tar").unwrap());
}

#[test]
fn azure_folders_of_hierarchical_accounts_are_listed_in_order_across_pages() {
    let server = azure::start(&[("a", b""), ("a-b", b"1"), ("a/x", b"2"), ("b", b"3")]);
    server.state.lock().unwrap().folders = vec!["a".to_owned()];
    let store = store(&server);
    let files = |keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), false)).collect::<Vec<_>>();
    assert_eq!(entries(&store, "", true), files(&["a-b", "a/x", "b"]));
    server.state.lock().unwrap().objects.remove("a/x");
    let mut level = files(&["a-b", "b"]);
    level.insert(1, ("a".to_owned(), true));
    assert_eq!(entries(&store, "", false), level);
    // A prefix without a slash is a folder, too.
    store.known.forget_answers();
    let odd = "<EnumerationResults><Blobs><BlobPrefix><Name>\u{e4}</Name></BlobPrefix></Blobs></EnumerationResults>";
    server.fault("GET", Fault::Answer(200, String::new(), odd.to_owned()));
    assert_eq!(entries(&store, "", false), [("\u{e4}".to_owned(), true)]);
    // Pages before the last one may be empty.
    store.known.forget_answers();
    let empty = "<EnumerationResults><Blobs/><NextMarker>a</NextMarker></EnumerationResults>";
    server.fault("/acc/b?restype=container", Fault::Answer(200, String::new(), empty.to_owned()));
    assert!(info(&store, "c").unwrap().is_none());
    server.state.lock().unwrap().objects.insert("d/x".to_owned(), b"4".to_vec());
    server.fault("/acc/b?restype=container", Fault::Answer(200, String::new(), empty.to_owned()));
    assert!(info(&store, "d").unwrap().unwrap().is_dir());
}

#[test]
fn a_listing_whose_pages_do_not_end_is_refused() {
    let server = azure::start(&[("k", b"1")]);
    let page = "<EnumerationResults><Blobs/><NextMarker>again</NextMarker></EnumerationResults>";
    let repeat = || (0..2).for_each(|_| server.fault("GET", Fault::Answer(200, String::new(), page.to_owned())));
    let store = store(&server);
    let list = || at("", |url| store.list(url, true, &mut |_| Ok(true)));
    let requests: [&dyn Fn() -> io::Result<()>; 4] =
        [&list, &|| info(&store, "missing").map(drop), &|| store.buckets().map(drop), &|| {
            at("", |url| store.uploads(url)).map(drop)
        }];
    for request in requests {
        repeat();
        let endless = failure(request().unwrap_err());
        assert!(endless.why.contains("does not end"), "{endless}");
        assert!(server.state.lock().unwrap().faults.is_empty());
    }
}

#[test]
fn damaged_answers_are_completed_and_other_versions_refused() {
    let bytes = content(300_000);
    let server = azure::start(&[("k", &bytes)]);
    for fault in [
        Fault::Cut(0),
        Fault::Cut(1000),
        Fault::Short(500),
        Fault::Stall(10),
        refuse(503, "ServerBusy"),
        refuse(500, "OperationTimedOut"),
        Fault::Answer(429, "Retry-After: 0\r\n".to_owned(), String::new()),
    ] {
        let store = store(&server);
        server.fault("GET", fault.clone());
        assert_eq!(read(&store, "k").unwrap(), bytes, "{fault:?}");
    }
    let store = store(&server);
    let (_, object) = at("k", |url| store.open(url)).unwrap();
    server.state.lock().unwrap().objects.insert("k".to_owned(), content(300_001));
    let changed = failure(object.read_exact_at(&mut [0; 1000], 290_000).unwrap_err());
    assert_eq!(changed.kind, Some(gristmill_core::ProblemKind::ChangedDuringScan));
    assert!(server.state.lock().unwrap().faults.is_empty());
}

#[test]
fn azure_blobs_are_put_conditionally_and_removed() {
    let server = azure::start(&[("there", b"old")]);
    let store = store(&server);
    assert!(put(&store, "new", Content::Bytes(b"abc"), Condition::IfAbsent).unwrap());
    assert!(!put(&store, "there", Content::Bytes(b"new"), Condition::IfAbsent).unwrap());
    let stamp = info(&store, "there").unwrap().unwrap().stamp;
    assert!(put(&store, "there", Content::Bytes(b"next"), Condition::IfStamp(stamp)).unwrap());
    assert!(!put(&store, "there", Content::Bytes(b"last"), Condition::IfStamp(stamp)).unwrap());
    assert!(!put(&store, "no", Content::Bytes(b"x"), Condition::IfStamp(stamp)).unwrap());
    assert!(put(&store, "there", Content::Bytes(b""), Condition::Always).unwrap());
    assert_eq!(read(&store, "there").unwrap(), b"");
    // A request whose answer is lost is repeated, and finds the blob that it has put.
    server.fault("PUT", Fault::Cut(0));
    assert!(put(&store, "lost", Content::Bytes(b"abc"), Condition::IfAbsent).unwrap());
    at("lost", |url| store.remove(url)).unwrap();
    at("lost", |url| store.remove(url)).unwrap();
    assert_eq!(info(&store, "lost").unwrap(), None);
    // A missing lease is not an unmet condition.
    server.fault("PUT", refuse(412, "LeaseIdMissing"));
    let lease = failure(put(&store, "new", Content::Bytes(b"x"), Condition::Always).unwrap_err());
    assert!(lease.why.contains("lease"), "{lease}");
    server.fault("DELETE", refuse(409, "SnapshotsPresent"));
    let kept = failure(at("new", |url| store.remove(url)).unwrap_err());
    assert!(kept.why.contains("has snapshots") && kept.hint.is_some(), "{kept}");
}

/// Puts a blob in blocks of 1000 bytes.
fn put_blocks(store: &AzureStore, bytes: &[u8], condition: Condition) -> io::Result<bool> {
    let block = |range: std::ops::Range<u64>| {
        let body = bytes[range.start as usize..range.end as usize].to_vec();
        Ok(write::put("k", Vec::new(), body.into()))
    };
    let source = (Action::Write, "k");
    let blocks = write::Blocks { key: "k", source, bytes: bytes.len() as u64, block_bytes: 1000, block: &block };
    store.put_blocks(&blocks, condition)
}

#[test]
fn large_blobs_are_put_in_blocks() {
    let server = azure::start(&[]);
    let store = store(&server);
    let bytes = content(5500);
    for fault in [None, Some(Fault::Cut(0)), Some(refuse(503, "ServerBusy"))] {
        for place in ["/acc/b/k?comp=block&", "/acc/b/k?comp=blocklist"] {
            server.state.lock().unwrap().objects.clear();
            fault.iter().for_each(|fault| server.fault(place, fault.clone()));
            server.state.lock().unwrap().blocks.insert("other".to_owned(), b"of another run".to_vec());
            assert!(put_blocks(&store, &bytes, Condition::IfAbsent).unwrap(), "{place} {fault:?}");
            let state = server.state.lock().unwrap();
            assert!(state.objects["k"] == bytes && state.faults.is_empty());
            assert_eq!(state.committed.len(), 6);
        }
    }
    assert!(!put_blocks(&store, &bytes, Condition::IfAbsent).unwrap());
    let stamp = info(&store, "k").unwrap().unwrap().stamp;
    assert!(put_blocks(&store, &bytes, Condition::IfStamp(stamp)).unwrap());
    // Blocks that another process has removed are sent again, but only a limited number of times.
    server.fault("/acc/b/k?comp=blocklist", refuse(400, "InvalidBlockList"));
    assert!(put_blocks(&store, &bytes, Condition::Always).unwrap());
    (0..2).for_each(|_| server.fault("/acc/b/k?comp=blocklist", refuse(400, "InvalidBlockList")));
    let gone = failure(put_blocks(&store, &bytes, Condition::Always).unwrap_err());
    assert!(gone.why.contains("another process"), "{gone}");
    server.fault("/acc/b/k?comp=block&", refuse(400, "InvalidBlobOrBlock"));
    let other = failure(put_blocks(&store, &bytes, Condition::Always).unwrap_err());
    assert!(other.why.contains("blocks of another program"), "{other}");
    assert!(other.hint.unwrap().contains("gristmill doctor az://b/k --abort-uploads --older-than 0s"));
    // Files larger than 8 MiB are put in blocks.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    std::fs::write(&path, content(9 << 20)).unwrap();
    assert!(put(&store, "f", Content::File(&open_read(&path).unwrap()), Condition::Always).unwrap());
    let state = server.state.lock().unwrap();
    assert_eq!((state.objects["f"].len(), state.committed.len()), (9 << 20, 1));
}

#[test]
fn azure_blobs_are_created_in_the_configured_access_tier() {
    let server = azure::start(&[]);
    let settings = RemoteSettings {
        endpoint_url: Some(server.address.clone()),
        new_objects: NewObjects { storage_class: Some("Cool".to_owned()), ..NewObjects::default() },
        ..RemoteSettings::default()
    };
    let context = context(AzureProfile::of_flags(&settings), &[ACCOUNT, KEY], None).unwrap();
    let store = AzureStore::new(Arc::new(context), "b");
    assert!(put(&store, "small", Content::Bytes(b"abc"), Condition::Always).unwrap());
    assert!(put_blocks(&store, &content(1500), Condition::Always).unwrap());
    assert!(at("small", |from| at("copy", |to| store.copy(from, to, &|_| Ok(())))).unwrap());
    let requests = server.requests();
    for request in requests.iter().filter(|request| request.method == "PUT") {
        let tier = request.headers.get("x-ms-access-tier").map(String::as_str);
        let is_block = request.target.contains("comp=block&");
        assert_eq!(tier, (!is_block).then_some("Cool"), "{}", request.target);
    }
    server.fault("PUT", refuse(400, "InvalidHeaderValue"));
    let wrong = failure(put(&store, "small", Content::Bytes(b"x"), Condition::Always).unwrap_err());
    assert!(wrong.why.contains("--storage-class") && wrong.hint.is_some(), "{wrong}");
}

#[test]
fn azure_blobs_are_copied_on_the_server_with_key_or_signature() {
    let bytes = content(2500);
    let server = azure::start(&[("a b", &bytes)]);
    let copy = |store: &AzureStore, to: &str| at("a b", |from| at(to, |to| store.copy(from, to, &|_| Ok(()))));
    for credentials in [KEY, SAS] {
        let store = store_with(&server, &[credentials]);
        assert!(copy(&store, "copy").unwrap());
        assert_eq!(read(&store, "copy").unwrap(), bytes);
        server.fault("/acc/b/copy", refuse(403, "CannotVerifyCopySource"));
        assert!(!copy(&store, "copy").unwrap());
        server.fault("/acc/b/copy", Fault::Answer(202, "x-ms-copy-status: pending\r\n".to_owned(), String::new()));
        assert!(!copy(&store, "copy").unwrap());
        let version = store.head("a b").unwrap().unwrap();
        let headers = store.source_headers("a b", &version).unwrap();
        assert!(store.copy_blocks((&store, "a b"), ("l", headers), (2500, 1000), &|_| Ok(())).unwrap());
        assert_eq!(read(&store, "l").unwrap(), bytes);
        let old = store.source_headers("a b", &ObjectVersion { etag: "old".to_owned(), ..version }).unwrap();
        let changed = store.copy_blocks((&store, "a b"), ("l", old), (2500, 1000), &|_| Ok(())).unwrap_err();
        assert_eq!(failure(changed).kind, Some(gristmill_core::ProblemKind::ChangedDuringScan));
    }
    assert!(!at("no", |from| at("copy", |to| store(&server).copy(from, to, &|_| Ok(())))).unwrap());
}

#[test]
fn unfinished_azure_uploads_are_listed_and_removed() {
    let server = azure::start(&[("empty", b""), ("folder", b""), ("marker", b"")]);
    let header = |text: &str| format!("{text}\r\n");
    {
        let mut state = server.state.lock().unwrap();
        state.folders = vec!["folder".to_owned()];
        state.metadata.insert("folder".to_owned(), header("x-ms-resource-type: directory"));
        state.metadata.insert("marker".to_owned(), header("x-ms-meta-hdi_isfolder: true"));
    }
    let store = store(&server);
    assert_eq!(at("", |url| store.uploads(url)).unwrap().unwrap(), []);
    assert!(!server.requests().iter().any(|request| request.target.contains("folder")));
    server.state.lock().unwrap().blocks.insert("id".to_owned(), b"12345".to_vec());
    let uploads = at("left", |url| store.uploads(url)).unwrap().unwrap();
    assert_eq!((uploads[0].key.as_str(), uploads[0].bytes, uploads.len()), ("left/over", Some(5), 1));
    assert_eq!(at("lef", |url| store.uploads(url)).unwrap().unwrap(), []);
    at("left/over", |url| store.end_upload(url, "")).unwrap();
    assert!(server.state.lock().unwrap().blocks.is_empty());
    assert_eq!(info(&store, "left/over").unwrap(), None);
    // If an answer is lost, the empty blob is removed all the same.
    for place in ["/acc/b/left/over?comp=blocklist", "DELETE"] {
        server.fault(place, Fault::Cut(0));
        at("left/over", |url| store.end_upload(url, "")).unwrap();
        let state = server.state.lock().unwrap();
        assert!(!state.objects.contains_key("left/over") && state.faults.is_empty(), "{place}");
    }
    // A blob that was finished meanwhile stays.
    at("empty", |url| store.end_upload(url, "")).unwrap();
    assert!(info(&store, "empty").unwrap().is_some());
}

#[test]
fn settings_and_guards_are_reported() {
    let server = azure::start(&[("k", b"abc")]);
    let store = store(&server);
    let settings = at("", |url| store.settings(url)).unwrap();
    assert_eq!(settings.credentials, "AZURE_STORAGE_ACCOUNT_KEY, the key of the account acc");
    assert_eq!(settings.endpoint, format!("{}/acc/b, from AZURE_STORAGE_ENDPOINT", server.address));
    let guards = at("k", |url| store.guards(url, b"abc")).unwrap().unwrap();
    assert_eq!(guards, StoreGuards { if_absent: true, if_unchanged: true, checksums: true });
    let sas = store_with(&server, &[SAS]);
    assert!(!format!("{:?}", at("", |url| sas.settings(url)).unwrap()).contains("sig="));
    let md5 = Fault::Answer(200, "content-md5: kAFQmDzST7DWlj99KOF/cg==\r\n".to_owned(), String::new());
    server.fault("HEAD", md5);
    assert_eq!(at("k", |url| store.md5(url)).unwrap().as_deref(), Some("900150983cd24fb0d6963f7d28e17f72"));
    assert_eq!(at("k", |url| store.md5(url)).unwrap(), None);
}
