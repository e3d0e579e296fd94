//! Requests for objects that are opened several times, and for parts of objects.

use super::*;

fn gets(server: &Server, key: &str) -> Vec<String> {
    let requests = server.requests();
    let gets = requests.iter().filter(|request| request.target == format!("/b/{key}"));
    gets.map(|request| request.headers.get("range").cloned().unwrap_or_default()).collect()
}

fn open_part(store: &S3Store, key: &str, part: Range<u64>) -> Box<dyn RangeRead> {
    store.open_part(&RemoteUrl::parse(&path(key)).unwrap(), part).unwrap().1
}

#[test]
fn beginning_of_a_small_object_is_fetched_once() {
    let bytes = content(100_000);
    let server = Server::start(&[("small", &bytes[..1000])]);
    let store = store(&server);
    let look = |key: &str| {
        let (_, object) = store.open(&RemoteUrl::parse(&path(key)).unwrap()).unwrap();
        let mut start = [0; 500];
        object.read_exact_at(&mut start, 10).unwrap();
        start
    };
    let gets_of_two_looks = |key: &str| {
        assert_eq!((&look(key)[..], &look(key)[..]), (&bytes[10..510], &bytes[10..510]));
        gets(&server, key)
    };
    // Concurrent writes of other tests, and a wait of two seconds, invalidate cached answers.
    let is_fetched_once = (0..20).any(|number| {
        let key = format!("large{number}");
        server.state.lock().unwrap().objects.insert(key.clone(), bytes.clone());
        gets_of_two_looks(&key) == ["bytes=0-262143"]
    });
    assert!(is_fetched_once);
    assert_eq!(gets_of_two_looks("small").len(), 2, "small ones are records that others write");
    // An object that this process has written is read again.
    let other: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    let url = path("large0");
    let url = RemoteUrl::parse(&url).unwrap();
    store.put(&url, crate::store::Content::Bytes(&other), crate::store::Condition::Always).unwrap();
    assert_eq!(look("large0"), other[10..510]);
}

#[test]
fn part_of_a_listed_object_is_requested_when_opened() {
    let bytes = content(9 << 20);
    let server = Server::start(&[("k", &bytes)]);
    let store = store(&server);
    entries(&store, "", true);
    let part = 1_000_000..7_500_000;
    let object = open_part(&store, "k", part.clone());
    let mut read = vec![0; (part.end - part.start) as usize];
    for (number, piece) in read.chunks_mut(128 << 10).enumerate() {
        object.read_exact_at(piece, part.start + number as u64 * (128 << 10)).unwrap();
    }
    assert!(read == bytes[1_000_000..7_500_000]);
    let gets = gets(&server, "k");
    assert!(gets.len() == 2 && gets.contains(&"bytes=983040-5177343".to_owned()), "{gets:?}");
}

#[test]
fn a_part_of_an_object_that_was_replaced_is_refused() {
    let server = Server::start(&[("k", &content(1 << 20))]);
    let store = store(&server);
    entries(&store, "", true);
    server.state.lock().unwrap().objects.insert("k".to_owned(), content((1 << 20) + 1));
    let object = open_part(&store, "k", 200_000..300_000);
    let failed = failure(object.read_exact_at(&mut [0; 10], 200_000).unwrap_err());
    assert!(failed.why.contains("changed while it was read"), "{failed}");
}

#[test]
fn listing_continues_after_the_page_that_found_a_folder() {
    let names: Vec<String> = (0..10).map(|at| format!("set/{at}.tar")).chain(["set/dir/x".to_owned()]).collect();
    for (count, is_recursive, page, lists) in [(10, true, 4, 3), (11, true, 11, 2), (11, false, 4, 3)] {
        let objects: Vec<(&str, &[u8])> = names[..count].iter().map(|name| (name.as_str(), &b"x"[..])).collect();
        let mut expected = names[..count].to_vec();
        if count == 11 && !is_recursive {
            expected[10] = "set/dir".to_owned();
        }
        let lists_of_a_look = || {
            let server = Server::start(&objects);
            server.state.lock().unwrap().page = page;
            let store = store(&server);
            assert!(info(&store, "set").unwrap().unwrap().is_dir());
            let found: Vec<String> = entries(&store, "set", is_recursive).into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, expected);
            server.requests().into_iter().filter(|request| request.target.contains("list-type")).count()
        };
        // Concurrent writes of other tests, and a wait of seconds, invalidate cached listings.
        assert!((0..20).any(|_| lists_of_a_look() == lists), "{count} {is_recursive}");
    }
}

#[test]
fn replaced_object_invalidates_earlier_answers_about_other_objects() {
    let (old, new) = (content(100_000), content(120_000));
    let server = Server::start(&[("info", b"old"), ("index", &old)]);
    let store = store(&server);
    let url = path("index");
    let stamp = || store.info(&RemoteUrl::parse(&url).unwrap()).unwrap().unwrap().len();
    assert_eq!((read(&store, "info").unwrap(), stamp()), (b"old".to_vec(), 100_000));
    read(&store, "index").unwrap();
    let mut state = server.state.lock().unwrap();
    state.objects.insert("index".to_owned(), new.clone());
    state.objects.insert("info".to_owned(), b"new".to_vec());
    drop(state);
    assert_eq!(read(&store, "info").unwrap(), b"new");
    assert_eq!(stamp(), 120_000, "the record and the index are of one time");
    assert!(read(&store, "index").unwrap() == new);
}
