//! Blobs that are uploaded while they are created.

use super::*;

const BYTES: usize = (40 << 20) + 17;

fn begin(store: &AzureStore) -> Box<dyn ObjectUpload> {
    at("k", |url| store.begin_staged(url, BYTES as u64, 32 << 20)).unwrap()
}

fn send(store: &AzureStore, bytes: &[u8]) -> StagedObject {
    let mut upload = begin(store);
    bytes.chunks(1_000_003).for_each(|bytes| upload.write(bytes).unwrap());
    upload.finish().unwrap()
}

#[test]
fn staged_azure_blob_is_visible_only_when_completed() {
    let server = azure::start(&[]);
    let (store, bytes) = (store(&server), content(BYTES));
    let can_stage = |bytes, memory| at("k", |url| store.can_stage(url, bytes, memory));
    assert!(!can_stage(8 << 20, 1 << 30) && can_stage((8 << 20) + 1, 1 << 30) && !can_stage(9 << 20, 16 << 20));
    let complete = |object: &StagedObject| at("k", |url| store.complete_staged(url, object)).unwrap();
    let is_kept = |object: &StagedObject| at("k", |url| store.has_staged(url, object)).unwrap();
    let object = send(&store, &bytes);
    assert_eq!((object.bytes, object.parts.len()), (BYTES as u64, 3));
    assert!(server.state.lock().unwrap().objects.is_empty(), "nothing is visible");
    // Blocks of another program are ignored.
    server.state.lock().unwrap().blocks.insert("other".to_owned(), b"12345".to_vec());
    assert!(is_kept(&object));
    let second = object.parts[1].clone();
    let block = server.state.lock().unwrap().blocks.remove(&second).unwrap();
    assert!(!is_kept(&object), "a block is missing");
    server.state.lock().unwrap().blocks.insert(second.clone(), block[1..].to_vec());
    assert!(!is_kept(&object), "a block has another size");
    server.state.lock().unwrap().blocks.insert(second, block);
    assert!(complete(&object));
    assert!(read(&store, "k").unwrap() == bytes);
    // A run that was killed after this completes it again.
    assert!(complete(&object));
    assert!(!is_kept(&object));
    server.state.lock().unwrap().committed.clear();
    assert!(!complete(&object), "the blob is another one");
    server.fault("GET", refuse(404, "BlobNotFound"));
    assert!(!is_kept(&object));
}

#[test]
fn a_blob_that_is_not_finished_is_never_visible() {
    let server = azure::start(&[]);
    let store = store(&server);
    drop(begin(&store));
    assert_eq!(server.requests().len(), 0);
    let mut upload = begin(&store);
    upload.write(&content(17 << 20)).unwrap();
    drop(upload);
    // Its blocks expire; only a block list of them would make a blob visible.
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.target.contains("comp=block&")), "{requests:?}");
    assert!(server.state.lock().unwrap().objects.is_empty());
}
