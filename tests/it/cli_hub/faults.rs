//! A server that closes connections, sends wrong bytes or is busy: the download succeeds, or fails with the reason.

use super::*;

/// Packs the data set from a server with these faults, and compares the result with the result for the local copy.
fn assert_download_succeeds(flags: &[&str]) -> (HubTest, Server) {
    let test = HubTest::new();
    let server = test.serve(flags);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    test.has_all("out");
    (test, server)
}

macro_rules! assert_download_succeeds {
    ($($name:ident: $($flag:literal)*;)*) => {
        $(
            #[test]
            fn $name() {
                assert_download_succeeds(&[$($flag),*]);
            }
        )*
    };
}

assert_download_succeeds! {
    rate_limited_request_is_retried: "--rate-limit" "3" "--retry-after" "0";
    server_error_is_retried: "--server-error" "3";
    request_without_a_response_is_retried: "--timeout-first" "2";
    a_cut_connection_is_resumed: "--cut" "2";
    download_continues_after_repeated_disconnections: "--cut-each" "--cut-at" "60000";
    cut_download_without_range_support_restarts: "--cut" "2" "--ignore-range";
    a_body_without_length_is_read: "--no-length";
    a_cut_body_without_length_is_resumed: "--no-length" "--cut" "1";
    short_body_is_completed_by_further_requests: "--short" "2";
    content_with_a_changed_byte_is_downloaded_once_more: "--wrong-bytes" "2";
    all_pages_of_a_file_list_are_read: "--page" "2";
    hub_links_of_a_mirror_are_requested_from_the_mirror: "--page" "2" "--link-host" "127.0.0.1:9";
    expired_signed_address_is_renewed: "--cut-each" "--cut-at" "60000" "--expire-after" "1";
    slow_server_does_not_time_out: "--delay" "50" "--rate" "400000";
}

#[test]
fn cut_download_requests_the_remaining_range() {
    let (_world, server) = assert_download_succeeds(&["--cut", "1", "--cut-at", "100000"]);
    let ranges: Vec<String> =
        server.requests().iter().filter_map(|one| Some(one["range"].as_str()?.to_owned())).collect();
    assert_eq!(ranges.last().map(String::as_str), Some("bytes=100000-"), "{ranges:?}");
}

#[test]
fn renamed_hub_data_set_is_followed() {
    let test = HubTest::new();
    let server = test.serve(&["--moved", "old/name=o/n"]);
    test.pack(&server.address, "hf://datasets/old/name", "out").ends(0);
    test.has_all("out");
}

/// Packs from a server with these faults, which fails with this text.
#[track_caller]
fn fails(flags: &[&str], text: &str) {
    let test = HubTest::new();
    let server = test.serve(flags);
    let ran = test.pack(&server.address, "hf://datasets/o/n", "out").ends(3).complains(text);
    assert!(ran.err.contains("o/n") || ran.err.contains("127.0.0.1"), "{}", ran.err);
    assert!(!ran.err.contains("ticket"), "a signed address is secret: {}", ran.err);
    assert!(!test.sandbox.has("out"));
}

#[test]
fn permanent_server_error_fails_after_five_tries() {
    fails(&["--server-error", "0"], "the server answers 503, after 5 tries");
}

#[test]
fn retry_after_of_an_hour_fails_immediately() {
    fails(&["--rate-limit", "0", "--retry-after", "3600"], "asks for a pause of 3600 seconds");
}

#[test]
fn content_with_wrong_checksum_is_refused() {
    fails(&["--wrong-bytes", "0"], "does not have the checksum");
}

#[test]
fn file_changed_during_download_fails_its_checksum() {
    fails(&["--etag-changes", "--cut", "1"], "does not have the checksum");
}

#[test]
fn unreachable_hub_is_reported_with_its_address() {
    let test = HubTest::new();
    test.pack("http://127.0.0.1:9", "hf://datasets/o/n", "out").ends(3).complains("127.0.0.1:9 refuses the connection");
    test.pack("ftp://x", "hf://datasets/o/n", "out").ends(2).complains("HF_ENDPOINT");
}

#[test]
fn a_download_that_is_killed_is_resumed() {
    let test = HubTest::new();
    let size = std::fs::metadata(test.root().join("o/n/data/large.jsonl.gz")).unwrap().len();
    let server = test.serve(&["--rate", "100000"]);
    let words = pack_words("hf://datasets/o/n/data/large.jsonl.gz", "out");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut run = test.command(&server.address, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let incomplete = || {
        let blobs = std::fs::read_dir(test.cached().join("blobs")).ok()?;
        let file = blobs
            .filter_map(Result::ok)
            .find(|entry| entry.path().extension().is_some_and(|end| end == "incomplete"))?;
        Some(file.metadata().ok()?.len())
    };
    let kept = loop {
        assert!(run.try_wait().unwrap().is_none(), "the run ended before it was killed");
        if let Some(bytes) = incomplete().filter(|bytes| *bytes > 0) {
            break bytes;
        }
        std::thread::yield_now();
    };
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(kept < size);
    drop(server);
    let server = test.serve(&[]);
    test.pack(&server.address, "hf://datasets/o/n/data/large.jsonl.gz", "out").ends(0);
    let range = server.requests().iter().rev().find_map(|request| Some(request["range"].as_str()?.to_owned())).unwrap();
    let start: u64 = range.trim_start_matches("bytes=").trim_end_matches('-').parse().unwrap();
    assert!(start >= kept, "{range}");
    let local = test.root().join("o/n/data/large.jsonl.gz").to_string_lossy().into_owned();
    test.pack(&server.address, &local, "wanted").ends(0);
    assert_eq!(test.tokens("out"), test.tokens("wanted"));
}

#[test]
fn full_disk_names_the_cache_folder_and_the_download_is_resumed() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    let words = pack_words("hf://datasets/o/n", "out");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = test.command(&server.address, &words);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 200; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
    limited.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.current_dir(test.sandbox.path("")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("HF_HUB_CACHE names another folder") && text.contains("hf/hub"), "{text}");
    assert!(!text.contains("HF_HOME"), "{text}");
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    test.has_all("out");
}
