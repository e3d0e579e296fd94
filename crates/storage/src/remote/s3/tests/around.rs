use super::*;

#[test]
fn keys_with_a_common_prefix_are_looked_up_in_one_request() {
    let server = Server::start(&[("out/a.ds", b"1"), ("out/a.gristmill/report.json", b"{}"), ("out/b", b"2")]);
    let store = store(&server);
    store.fetch_listing(&RemoteUrl::parse(&path("out/a")).unwrap()).unwrap();
    let is_there = |key: &str| info(&store, key).unwrap().is_some();
    assert!(info(&store, "out/a.ds").unwrap().unwrap().is_file());
    assert!(info(&store, "out/a.gristmill").unwrap().unwrap().is_dir());
    assert!(!is_there("out/a") && !is_there("out/a.gristmill/lock") && !is_there("out/a.ds.index"));
    assert_eq!(entries(&store, "out/a", true), []);
    assert_eq!(entries(&store, "out/a.gristmill", false), [("out/a.gristmill/report.json".to_owned(), false)]);
    assert_eq!(read(&store, "out/a.none").unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(server.requests().len(), 1);
    // An object that this process has written is requested again; objects next to it are not.
    let lock = path("out/a.gristmill/lock");
    assert!(store.put(&RemoteUrl::parse(&lock).unwrap(), Content::Bytes(b"x"), Condition::Always).unwrap());
    let before = server.requests().len();
    assert!(is_there("out/a.ds") && !is_there("out/a.ds.index"));
    assert_eq!(server.requests().len(), before);
    assert!(is_there("out/a.gristmill/lock") && is_there("out/b"));
    assert!(server.requests().len() > before);
}

#[test]
fn opened_object_is_briefly_known_without_a_request() {
    let server = Server::start(&[("k", b"abc")]);
    let store = store(&server);
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    let before = server.requests().len();
    assert_eq!(info(&store, "k").unwrap().unwrap().len(), 3);
    assert_eq!(server.requests().len(), before);
    store.remove(&RemoteUrl::parse(&path("k")).unwrap()).unwrap();
    assert!(info(&store, "k").unwrap().is_none());
}
