use super::super::tests::limits;
use super::super::tests::server::{content, Fault, Server};
use super::*;
use gristmill_core::ExitClass;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

fn store() -> WebStore {
    WebStore { client: Arc::new(WebClient::new(Network::start(limits()).unwrap())) }
}

/// Passes a URL of the server to the program, as an argument of a command.
fn give(server: &Server, target: &str) -> PathBuf {
    PathBuf::from(address::check(&format!("{}{target}", server.address)).unwrap())
}

fn url(path: &Path) -> RemoteUrl<'_> {
    RemoteUrl::parse(path).unwrap()
}

fn read(store: &WebStore, path: &Path) -> io::Result<Vec<u8>> {
    let (info, file) = store.open(&url(path))?;
    let mut bytes = vec![0; info.len() as usize];
    if !bytes.is_empty() {
        file.read_exact_at(&mut bytes, 0)?;
    }
    Ok(bytes)
}

fn failure(error: io::Error) -> Failure {
    let failure = Failure::io("reading", "https://h/x", &error);
    assert_eq!(failure.class, ExitClass::Environment);
    let text = format!("{failure} {:?}", failure.hint);
    assert!(!text.contains("secret") && !text.contains("hidden"), "{text}");
    failure
}

fn redirect(to: &str) -> Fault {
    Fault::Answer(302, format!("Location: {to}\r\n"), String::new())
}

#[test]
fn web_files_are_read_by_ranges_and_missing_ones_are_not_found() {
    let bytes = content(400_000);
    let server = Server::start(&[("k.tar", &bytes), ("empty", b""), ("a b", b"x")]);
    let store = store();
    let file = give(&server, "/b/k.tar");
    let info = store.info(&url(&file)).unwrap().unwrap();
    assert_eq!((info.len(), info.stamp.modified_ns), (400_000, 784_111_777_000_000_000));
    assert_eq!(read(&store, &file).unwrap(), bytes);
    assert_eq!(info, store.open(&url(&file)).unwrap().0);
    assert_eq!(read(&store, &give(&server, "/b/empty")).unwrap(), b"");
    assert_eq!(read(&store, &give(&server, "/b/a%20b")).unwrap(), b"x");
    let none = give(&server, "/b/none");
    assert_eq!(store.info(&url(&none)).unwrap(), None);
    assert_eq!(read(&store, &none).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(server.requests().iter().all(|request| request.method == "GET" && request.headers.contains_key("range")));
    server.fault("/b/empty", Fault::Answer(416, "Content-Range: bytes */0\r\n".into(), String::new()));
    assert_eq!(store.info(&url(&give(&server, "/b/empty"))).unwrap().unwrap().len(), 0);
}

#[test]
fn damaged_web_answers_are_completed_and_other_versions_refused() {
    let bytes = content(300_000);
    let server = Server::start(&[("k", &bytes)]);
    let file = give(&server, "/b/k");
    for fault in [
        Fault::Cut(1000),
        Fault::Cut(70_000),
        Fault::Short(500),
        Fault::Stall(10),
        Fault::Answer(503, String::new(), String::new()),
        Fault::Answer(429, "Retry-After: 0\r\n".to_owned(), String::new()),
    ] {
        (0..2).for_each(|_| server.fault("/b/k", fault.clone()));
        assert_eq!(read(&store(), &file).unwrap(), bytes, "{fault:?}");
        assert!(server.state.lock().unwrap().faults.is_empty(), "{fault:?}");
    }
    for (fault, why) in [
        (Fault::OtherTag, "changed while"),
        (Fault::Whole, "does not answer ranges"),
        (Fault::Answer(404, String::new(), String::new()), "changed while"),
        (Fault::Answer(206, "Content-Range: bytes 0-0/9\r\n".into(), "x".into()), "changed while"),
    ] {
        let store = store();
        let (info, file) = store.open(&url(&file)).unwrap();
        server.fault("/b/k", fault);
        let error = file.read_exact_at(&mut vec![0; info.len() as usize], 0).unwrap_err();
        assert!(failure(error).why.contains(why), "{why}");
    }
}

#[test]
fn web_file_without_a_strong_etag_has_its_time_as_version() {
    let headers = |values: &[(&'static str, &'static str)]| {
        values.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    };
    let time = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(client::version_of(&headers(&[("etag", "\"e\""), ("last-modified", time)])), "e");
    assert_eq!(client::version_of(&headers(&[("etag", "W/\"e\""), ("last-modified", time)])), time);
    assert_eq!(client::version_of(&headers(&[("etag", "W/\"e\"")])), "");
}

#[test]
fn a_server_without_tls_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            _ = stream.read(&mut [0; 512]);
            _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let path = PathBuf::from(address::check(&format!("https://{address}/a")).unwrap());
    let failure = failure(read(&store(), &path).unwrap_err());
    assert_eq!(failure.why, format!("{address} does not speak TLS"));
    assert_eq!(failure.hint.as_deref(), Some("its address has to begin with http://, not https://"));
}

#[test]
fn web_server_without_ranges_is_refused() {
    let server = Server::start(&[("k", b"abc")]);
    let file = give(&server, "/b/k");
    server.fault("/b/k", Fault::Whole);
    let refused = failure(store().info(&url(&file)).unwrap_err());
    assert_eq!(refused.why, "this server does not answer ranges");
    assert!(refused.hint.unwrap().contains("local path"));
}

#[test]
fn queries_are_sent_and_never_shown() {
    let server = Server::start(&[("k", b"abc")]);
    let file = give(&server, "/b/k?signature=secret&x=1#hidden");
    assert_eq!(file.to_str().unwrap(), format!("{}/b/k", server.address));
    assert_eq!(give(&server, "/b/k"), file, "the query is kept");
    let store = store();
    assert_eq!(read(&store, &file).unwrap(), b"abc");
    assert_eq!(server.requests().pop().unwrap().target, "/b/k?signature=secret&x=1");
    let twice = address::check(&format!("{}/b/k?signature=secret2", server.address)).unwrap_err();
    assert!(twice.why.contains("two queries") && !format!("{twice:?}").contains("secret"));
    server.fault("/b/k", Fault::Answer(403, String::new(), "hidden".into()));
    let unchecked = PathBuf::from(format!("{}/b/k?signature=secret3", server.address));
    let refused = Failure::io("reading", "https://h/x", &store.info(&url(&unchecked)).unwrap_err());
    assert!(refused.why.contains("it has a query") && !format!("{refused:?}").contains("secret3"), "{refused:?}");
    let ended = failure(store.info(&url(&file)).unwrap_err());
    assert!(ended.why.contains("may not be read") && ended.hint.unwrap().contains("give a new address"));
    let other = give(&server, "/b/other");
    server.fault("/b/other", Fault::Answer(401, String::new(), String::new()));
    assert!(failure(store.info(&url(&other)).unwrap_err()).hint.unwrap().contains("never saved"));
    // The server may refuse a path next to a given file, which then counts as missing.
    let beside = PathBuf::from(format!("{}/b/k.idx", server.address));
    server.fault("/b/k.idx", Fault::Answer(403, String::new(), String::new()));
    assert_eq!(store.info(&url(&beside)).unwrap(), None);
}

#[test]
fn web_redirects_are_followed_until_they_expire() {
    let server = Server::start(&[("k", &content(200_000)), ("there", &content(200_000))]);
    let file = give(&server, "/b/k");
    let store = store();
    server.fault("/b/k", redirect("/b/there?signature=secret"));
    let (info, object) = store.open(&url(&file)).unwrap();
    let mut bytes = vec![0; info.len() as usize];
    object.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, content(200_000));
    let targets: Vec<String> = server.requests().into_iter().map(|request| request.target).collect();
    assert_eq!(targets.iter().filter(|target| *target == "/b/k").count(), 1, "{targets:?}");
    // The target of the redirect is no longer valid, so the original URL is requested again.
    server.fault("/b/there", Fault::Answer(403, String::new(), String::new()));
    assert_eq!(read(&store, &file).unwrap(), content(200_000));
    assert_eq!(server.requests().pop().unwrap().target, "/b/k");
    (0..20).for_each(|_| server.fault("/b/k", redirect("/b/k")));
    assert!(failure(read(&store, &file).unwrap_err()).why.contains("do not end"));
    server.state.lock().unwrap().faults.clear();
    server.fault("/b/k", redirect("file:///etc/passwd"));
    assert!(failure(read(&store, &file).unwrap_err()).why.contains("not followed"));
}

#[test]
fn invalid_web_addresses_are_refused_without_their_secrets() {
    for (text, why) in [
        ("https://user:secret@h/x?secret", "name or password"),
        ("https://user@h/x", "name or password"),
        ("https://h/", "web servers do not list folders"),
        ("https://h", "web servers do not list folders"),
        ("https://h/a/?secret", "web servers do not list folders"),
        ("https://h/a//b?secret", "a part of its path"),
        ("https://h/../b?secret", "a part of its path"),
        ("https://h:x/b?secret", "not valid"),
    ] {
        let refused = address::check(text).unwrap_err();
        assert!(refused.why.contains(why) && refused.class == ExitClass::Usage, "{text}: {refused}");
        assert!(!format!("{refused:?}").contains("secret"), "{refused:?}");
    }
}

#[test]
fn web_addresses_are_not_writable_and_not_listable() {
    let server = Server::start(&[("k", b"abc")]);
    let (file, store) = (give(&server, "/b/k"), store());
    let refused = store.put(&url(&file), Content::Bytes(b"x"), Condition::Always).unwrap_err();
    let refused = Failure::io("writing", &file, &refused);
    assert_eq!((refused.class.code(), refused.why.as_str()), (2, "http:// cannot be written"));
    assert!(refused.hint.unwrap().contains("s3://"));
    assert!(store.remove(&url(&file)).is_err());
    let folder = PathBuf::from(format!("{}/folder", server.address));
    store.list(&url(&folder), true, &mut |_| panic!("there is no listing")).unwrap();
    assert_eq!(store.info(&url(&folder)).unwrap(), None);
}
