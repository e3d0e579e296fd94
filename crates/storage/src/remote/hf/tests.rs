use super::super::network::Network;
use super::super::secret::Secret;
use super::super::tests::limits;
use super::super::tests::server::{content, Fault, Server};
use super::cache::{make_parents, RepositoryCache};
use super::settings::HubSettings;
use super::store::{check, HfStore};
use super::*;
use crate::fs::RealFs;
use crate::location::RemoteUrl;
use crate::store::{Condition, Content, Store};
use gristmill_core::{Cancel, ExitClass, Failure, ProblemKind};
use sha2::Digest as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const SMALL: &[u8] = b"{}\n";

/// A hub with one data set, a server for its large files, and a cache.
struct World {
    hub: Server,
    data: Server,
    cache: tempfile::TempDir,
    bytes: Vec<u8>,
}

/// Returns the checksums of the large and of the small file.
fn checksums() -> (String, String) {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let small = sha1::Sha1::digest([format!("blob {}\0", SMALL.len()).as_bytes(), SMALL].concat());
    (hex(&sha2::Sha256::digest(content(400_000))), hex(&small))
}

impl World {
    /// Starts a hub with `o/n`: a small file, and a large one to which it redirects.
    fn new() -> Self {
        let bytes = content(400_000);
        let small = format!("datasets/o/n/resolve/{COMMIT}/data/b.jsonl");
        let world = Self {
            hub: Server::start(&[(&small, SMALL)]),
            data: Server::start(&[("large", &bytes)]),
            cache: tempfile::tempdir().unwrap(),
            bytes,
        };
        let (large, id) = checksums();
        let tree = format!(
            r#"[{{"type":"directory","path":"data","size":0,"oid":"{id}"}},
            {{"type":"file","path":"data/a.tar","size":130,"oid":"{id}","lfs":{{"oid":"{large}","size":400000}}}},
            {{"type":"file","path":"data/b.jsonl","size":3,"oid":"{id}"}},
            {{"type":"file","path":"data-2/c.jsonl","size":0,"oid":"{id}"}}]"#
        );
        let api = |rest: &str, body: String| (format!("/b/api/datasets/o/n/{rest}"), 200, body);
        world.hub.state.lock().unwrap().services = vec![
            api("revision/refs%2Fpr%2F1", format!("{{\"sha\":\"{COMMIT}\"}}")),
            api("revision/main", format!("{{\"sha\":\"{COMMIT}\"}}")),
            api(&format!("tree/{COMMIT}"), tree),
        ];
        world
    }

    fn settings(&self) -> HubSettings {
        HubSettings {
            endpoint: format!("{}/b", self.hub.address),
            token: Some(Secret::new("hf_secret")),
            cache: self.cache.path().to_owned(),
            is_offline: false,
            base_pause: Duration::from_millis(500),
        }
    }

    fn store(&self) -> HfStore {
        HfStore::new(self.settings(), Network::start(limits()).unwrap()).unwrap()
    }

    /// Makes the hub redirect the next request for the large file.
    fn redirect(&self, checksum: &str) {
        let location = format!("{}/b/large?signature=secret", self.data.address);
        let headers = format!("Location: {location}\r\nX-Linked-Etag: \"{checksum}\"\r\n");
        self.hub.fault("/b/datasets", Fault::Answer(302, headers, String::new()));
    }
}

fn given(text: &str) -> PathBuf {
    PathBuf::from(check(text).unwrap())
}

fn url(path: &Path) -> RemoteUrl<'_> {
    RemoteUrl::parse(path).unwrap()
}

/// Reads the first byte of a file, then the whole file.
fn read(store: &HfStore, path: &str) -> io::Result<Vec<u8>> {
    let (info, file) = store.open(&url(Path::new(path)))?;
    file.read_exact_at(&mut [0], 0)?;
    let mut bytes = vec![0; info.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn names(store: &HfStore, folder: &str, recursive: bool) -> Vec<String> {
    let mut names = Vec::new();
    let mut take = |entry: crate::store::StoreEntry| {
        names.push(format!("{}{}", entry.key, if entry.info.is_dir() { "/" } else { "" }));
        Ok(true)
    };
    store.list(&url(Path::new(folder)), recursive, &mut take).unwrap();
    names
}

fn failure(error: &io::Error) -> Failure {
    let failure = Failure::io("reading", "x", error);
    assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
    failure
}

#[test]
fn hub_repository_is_listed_once() {
    let (world, root) = (World::new(), "hf://datasets/o/n");
    let store = world.store();
    assert_eq!(names(&store, root, false), ["o/n/data-2/", "o/n/data/"]);
    let all = ["o/n@main/data-2/c.jsonl", "o/n@main/data/a.tar", "o/n@main/data/b.jsonl"];
    assert_eq!(names(&store, "hf://datasets/o/n@main", true), all);
    assert_eq!(names(&store, "hf://datasets/o/n/data", true), ["o/n/data/a.tar", "o/n/data/b.jsonl"]);
    assert_eq!(names(&store, "hf://datasets/o/n@refs/pr/1/data-2", true), ["o/n@refs/pr/1/data-2/c.jsonl"]);
    let info = |path: &str| store.info(&url(Path::new(path))).unwrap();
    assert_eq!(info("hf://datasets/o/n/data/a.tar").unwrap().len(), 400_000);
    assert!(info(root).unwrap().is_dir() && info("hf://datasets/o/n/data").unwrap().is_dir());
    for none in ["hf://datasets/o/n/dat", "hf://datasets/o/n/data/a.tar/x", "hf://datasets/o", "hf://datasets"] {
        assert_eq!(info(none), None, "{none}");
    }
    let requests = world.hub.requests();
    assert_eq!(requests.len(), 3, "a commit for each revision, and its tree: {requests:?}");
    assert!(store.is_root(&url(Path::new(root))) && !store.is_root(&url(Path::new("hf://datasets/o/n/data"))));
}

#[test]
fn hub_ranges_are_read_at_the_redirect_address_until_it_expires() {
    let (world, path) = (World::new(), "hf://datasets/o/n/data/a.tar");
    let store = world.store();
    world.redirect(&checksums().0);
    assert_eq!(read(&store, path).unwrap(), world.bytes);
    let asked =
        |server: &Server, name: &str| server.requests().iter().filter(|request| request.target.contains(name)).count();
    assert_eq!(asked(&world.hub, "resolve"), 1, "the address is kept");
    world.data.fault("/b/large", Fault::Answer(403, String::new(), String::new()));
    world.redirect(&checksums().0);
    assert_eq!(read(&store, path).unwrap(), world.bytes);
    assert_eq!(asked(&world.hub, "resolve"), 2);
    assert_eq!(read(&store, "hf://datasets/o/n/data/b.jsonl").unwrap(), SMALL);
    let has_token = |server: &Server| {
        server.requests().iter().map(|request| request.headers.contains_key("authorization")).collect::<Vec<_>>()
    };
    assert!(has_token(&world.hub).iter().all(|has| *has) && !has_token(&world.data).iter().any(|has| *has));
    assert!(world.data.requests().iter().all(|request| request.headers.contains_key("range")));
}

#[test]
fn commit_that_is_replaced_during_a_run_is_a_failure_of_the_environment() {
    let (world, path) = (World::new(), "hf://datasets/o/n/data/a.tar");
    let store = world.store();
    names(&store, "hf://datasets/o/n", true);
    let gone = || Fault::Answer(404, "X-Error-Code: RevisionNotFound\r\n".to_owned(), String::new());
    world.hub.fault("/b/datasets", gone());
    let replaced = failure(&read(&store, path).unwrap_err());
    assert_eq!(replaced.class, ExitClass::Environment);
    assert!(replaced.why.contains(&format!("commit {COMMIT} of revision main no longer exists")), "{replaced}");
    // A commit that the user names is a mistake of the user.
    world.hub.fault("/b/datasets", gone());
    let wrong = failure(&read(&store, &format!("hf://datasets/o/n@{COMMIT}/data/a.tar")).unwrap_err());
    assert_eq!(wrong.class, ExitClass::Usage, "{wrong}");
}

#[test]
fn hub_file_that_differs_from_the_listing_is_refused() {
    let (world, path) = (World::new(), "hf://datasets/o/n/data/a.tar");
    let refuse = |text: &str, kind: Option<ProblemKind>| {
        let refused = failure(&read(&world.store(), path).unwrap_err());
        assert!(refused.why.contains(text), "{refused}");
        assert_eq!(refused.kind, kind, "{refused}");
    };
    let unreadable = Some(ProblemKind::Unreadable);
    world.redirect(&"c".repeat(64));
    refuse("it changed", Some(ProblemKind::ChangedDuringScan));
    world.redirect(&checksums().0);
    world.data.fault("/b/large", Fault::Answer(206, "Content-Range: bytes 0-0/9\r\n".into(), "x".into()));
    refuse("other bytes", unreadable);
    world.redirect(&checksums().0);
    world.data.fault("/b/large", Fault::Answer(404, String::new(), String::new()));
    refuse("redirects answers 404", unreadable);
    let code = |code: &str| format!("X-Error-Code: {code}\r\n");
    world.hub.fault("/b/datasets", Fault::Answer(404, code("EntryNotFound"), String::new()));
    refuse("no file or folder", unreadable);
    world.hub.state.lock().unwrap().objects.values_mut().for_each(|bytes| bytes[1] ^= 1);
    let small = Path::new("hf://datasets/o/n/data/b.jsonl");
    let refused = failure(&read(&world.store(), small.to_str().unwrap()).unwrap_err());
    assert!(refused.why.contains("does not have the checksum"), "{refused}");
    assert_eq!((refused.kind, refused.class), (unreadable, ExitClass::Environment));
    // These refusals apply to all files.
    world.hub.fault("/b/datasets", Fault::Answer(403, code("GatedRepo"), String::new()));
    refuse("restricted", None);
    world.hub.fault("/b/datasets", Fault::Answer(401, String::new(), String::new()));
    refuse("does not accept the token", None);
    world.hub.fault("/b/datasets", Fault::Answer(404, code("RepoNotFound"), String::new()));
    refuse("no such data set", None);
}

#[test]
fn a_file_of_a_server_without_ranges_is_downloaded_once() {
    let (world, path) = (World::new(), "hf://datasets/o/n/data/a.tar");
    // Once for the range, and once for the download.
    (0..2).for_each(|_| world.redirect(&checksums().0));
    world.data.fault("/b/large", Fault::Whole);
    assert_eq!(read(&world.store(), path).unwrap(), world.bytes);
    let requests = world.data.requests().len();
    assert_eq!(read(&world.store(), path).unwrap(), world.bytes);
    assert_eq!(world.data.requests().len(), requests, "it is in the cache");
}

#[test]
fn a_file_of_the_cache_is_read_without_a_request() {
    let (world, path) = (World::new(), "hf://datasets/o/n/data/b.jsonl");
    let store = world.store();
    store.info(&url(Path::new(path))).unwrap().unwrap();
    let cache = RepositoryCache::new(world.cache.path(), &RepositoryUrl::parse(path).unwrap());
    let cached = cache.snapshot(COMMIT).join("data/b.jsonl");
    make_parents(&RealFs, &cached).unwrap();
    std::fs::write(&cached, b"ok\n").unwrap();
    let before = world.hub.requests().len();
    assert_eq!(read(&store, path).unwrap(), b"ok\n");
    assert_eq!(world.hub.requests().len(), before);
    cache.keep_commit(&RealFs, "main", COMMIT).unwrap();
    let settings = HubSettings { is_offline: true, ..world.settings() };
    let offline = HfStore::new(settings, Network::start(limits()).unwrap()).unwrap();
    assert_eq!(read(&offline, path).unwrap(), b"ok\n");
    let refused = failure(&read(&offline, "hf://datasets/o/n/data/a.tar").unwrap_err());
    assert!(refused.why.contains("the cache lacks 1 file of it: data/a.tar"), "{refused}");
    assert!(offline.losses(&url(Path::new(path))).unwrap().is_empty());
    given("hf://datasets/o/n");
    assert_eq!(offline.info(&url(Path::new("hf://datasets/o/n.gristmill/plan.yaml"))).unwrap(), None);
    // Without the list of the hub, the data set may have more files.
    std::fs::remove_dir_all(cache.tree(COMMIT).parent().unwrap()).unwrap();
    let settings = HubSettings { is_offline: true, ..world.settings() };
    let offline = HfStore::new(settings, Network::start(limits()).unwrap()).unwrap();
    assert_eq!(names(&offline, "hf://datasets/o/n", true), ["o/n/data/b.jsonl"]);
    assert_eq!(offline.losses(&url(Path::new("hf://datasets/o/n"))).unwrap().len(), 1);
    assert_eq!(world.hub.requests().len(), before);
}

#[test]
fn only_explicitly_given_hub_paths_are_reported_as_missing() {
    let world = World::new();
    let store = world.store();
    let info = |path: &Path| store.info(&url(path)).map_err(|error| failure(&error));
    let missing = given("hf://datasets/o/n/given");
    let refused = info(&missing).unwrap_err();
    assert!(refused.class == ExitClass::Usage && refused.why.contains("no file or folder given"), "{refused}");
    assert_eq!(info(&missing.join("below")).unwrap(), None);
    assert_eq!(info(&given("hf://datasets/o/n/**/*.tar")).unwrap(), None, "it may be a pattern");
    assert_eq!(info(Path::new("hf://datasets/o/n.gristmill/plan.yaml")).unwrap(), None);
    assert_eq!(info(Path::new("hf://models/o/n")).unwrap(), None);
    for other in [given("hf://datasets/o/other"), PathBuf::from("hf://datasets/o/another")] {
        let refused = info(&other).unwrap_err();
        assert!(refused.why.contains("no such data set"), "{refused}");
    }
}

#[test]
fn hub_refusals_are_cached_and_other_failures_are_not() {
    let world = World::new();
    let store = world.store();
    given("hf://datasets/o/n");
    let info = |path: &str| store.info(&url(Path::new(path))).map_err(|error| failure(&error));
    for path in ["hf://datasets/o/n-2/a", "hf://datasets/o/other"] {
        let first = info(path);
        let requests = world.hub.requests().len();
        assert_eq!(info(path), first);
        assert_eq!(world.hub.requests().len(), requests, "{path}");
    }
    assert!(info("hf://datasets/o/other").is_err());
    // A file that cannot be requested may exist.
    for path in ["hf://datasets/o/n.gristmill/lock", "hf://datasets/o/n"] {
        world.hub.fault("/b/api/datasets/o/n", Fault::Answer(200, String::new(), "x".to_owned()));
        let failed = info(path).unwrap_err();
        assert!(failed.why.contains("an answer of the hub is not valid"), "{failed}");
        assert!(info(path).is_ok(), "it is asked for again");
    }
}

#[test]
fn cancelled_hub_revision_request_is_not_cached() {
    let (world, path) = (World::new(), Path::new("hf://datasets/o/n"));
    let (store, cancel) = (world.store(), Cancel::default());
    cancel.cancel();
    {
        let _waits = cancel.begin_wait_scope();
        assert!(failure(&store.info(&url(path)).unwrap_err()).is_cancelled());
    }
    assert!(world.hub.requests().is_empty());
    assert!(store.info(&url(path)).unwrap().unwrap().is_dir());
}

#[test]
fn hub_data_set_without_owner_is_recognized_by_its_revision() {
    let world = World::new();
    for service in &mut world.hub.state.lock().unwrap().services {
        service.0 = service.0.replace("o/n", "plain");
    }
    let store = world.store();
    let info = |path: &str| store.info(&url(Path::new(path))).unwrap();
    assert!(info("hf://datasets/plain@main").unwrap().is_dir());
    assert_eq!(info("hf://datasets/plain@main/data/b.jsonl").unwrap().len(), 3);
    assert_eq!(info("hf://datasets/plain"), None, "it may be an owner");
}

#[test]
fn hub_addresses_have_one_canonical_form_and_are_not_writable() {
    for (text, address) in [
        ("hf://o/n/", "hf://datasets/o/n"),
        ("hf://datasets/o/n@refs/pr/1/x", "hf://datasets/o/n@refs%2Fpr%2F1/x"),
        ("hf://datasets/squad", "hf://datasets/squad@main"),
    ] {
        assert_eq!(given(text), Path::new(address));
        assert_eq!(given(address), Path::new(address));
    }
    for text in ["hf://models/o/n", "hf://datasets/o/n/../x", "hf://datasets/o/n//x"] {
        assert_eq!(check(text).map_err(|failure| failure.class), Err(ExitClass::Usage), "{text}");
    }
    let (world, path) = (World::new(), Path::new("hf://datasets/o/n/x"));
    let store = world.store();
    let refused = failure(&store.put(&url(path), Content::Bytes(b"x"), Condition::Always).unwrap_err());
    assert!(refused.class == ExitClass::Usage && refused.why == "hf:// cannot be written", "{refused}");
    assert!(store.remove(&url(path)).is_err() && world.hub.requests().is_empty());
}
