//! Commands on files of web servers: here files of the hub at their own addresses, some of which redirect.

use super::read::{hub_test, result};
use super::*;

/// A signature in a query.
const SIGNATURE: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn web_file_is_read_like_a_local_copy() {
    let test = hub_test();
    let server = test.serve(&[]);
    let address = format!("{}/datasets/o/one/resolve/main/data/all.jsonl", server.address);
    let local = test.root().join("o/one/data/all.jsonl").to_string_lossy().into_owned();
    for command in ["info", "lint", "browse"] {
        let read = test.run(&server.address, &[command, &address, "--json"]);
        let wanted = test.run(&server.address, &[command, &local, "--json"]);
        let (made, wanted) = ((read.code, result(&read, &address)), (wanted.code, result(&wanted, &local)));
        assert_eq!(made, wanted, "{command}: {}", read.err);
    }
    test.run(&server.address, &["info", &format!("{}x", &address)]).ends(3).complains("no such file");
}

#[test]
fn redirected_web_file_is_packed_without_storing_its_signature() {
    let test = HubTest::new();
    let server = test.serve(&["--expire-after", "2", "--cut", "1"]);
    let address = format!("{}/datasets/o/n/resolve/main/data/large.jsonl.gz", server.address);
    let signed = format!("{address}?signature={SIGNATURE}");
    let words = pack_words(&signed, "out");
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--log-level", "trace", "-v"]).collect();
    let ran = test.run(&server.address, &words).ends(0).says(&format!("pack {address} --format"));
    assert!(!ran.out.contains(SIGNATURE) && !ran.err.contains(SIGNATURE));
    let local = test.root().join("o/n/data/large.jsonl.gz").to_string_lossy().into_owned();
    test.pack(&server.address, &local, "wanted").ends(0);
    assert!(test.tokens("out").values().eq(test.tokens("wanted").values()));
    assert!(server.data_requests() > 2, "it was redirected, and asked for again");
    let sent = std::fs::read_to_string(&server.log).unwrap();
    assert!(sent.contains(SIGNATURE), "{sent}");
    std::fs::remove_file(&server.log).unwrap();
    for (path, bytes) in picture(test.sandbox.path("").parent().unwrap()) {
        assert!(!bytes.windows(SIGNATURE.len()).any(|part| part == SIGNATURE.as_bytes()), "{}", path.display());
    }
}

#[test]
fn unsupported_uses_of_web_addresses_are_refused() {
    let test = HubTest::new();
    let server = test.serve(&["--ignore-range"]);
    let address = format!("{}/datasets/o/n/resolve/main/data/small.jsonl", server.address);
    let run = |words: &[&str]| test.run(&server.address, words);
    run(&["info", &address]).ends(3).complains("does not answer ranges").complains("local path");
    run(&["prepare", &address, "--yes"]).ends(2).complains("http:// cannot be written").complains("s3://");
    let local = test.root().join("o/n/data/small.jsonl").to_string_lossy().into_owned();
    test.pack(&server.address, &local, &format!("{address}?{SIGNATURE}")).ends(2).complains("cannot be written");
    let folder = run(&["info", &format!("{}/datasets/?{SIGNATURE}", server.address)]).ends(2);
    assert!(folder.err.contains("do not list folders") && !folder.err.contains(SIGNATURE), "{}", folder.err);
    let login = run(&["splits", "show", &format!("https://name:{SIGNATURE}@h/x?{SIGNATURE}")]).ends(2);
    assert!(login.err.contains("https://h/x") && !login.err.contains(SIGNATURE), "{}", login.err);
    run(&["info", &format!("https://name:{SIGNATURE}@h/x")]).ends(2).complains("name or password");
}
