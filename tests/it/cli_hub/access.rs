//! Tokens, and refusals of the hub.

use super::*;

const TOKEN: &str = "hf_secretsecret";

#[test]
fn a_private_data_set_needs_the_token_which_stays_secret() {
    let test = HubTest::new().set("HF_TOKEN", &format!("{TOKEN}\n"));
    let server = test.serve(&["--token", TOKEN, "--leak-check", "--cut", "1"]);
    let words = pack_words("hf://datasets/o/n", "out");
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--log-level", "trace", "-v"]).collect();
    let ran = test.run(&server.address, &words).ends(0);
    assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN));
    test.has_all("out");
    assert!(server.requests().iter().all(|request| request["port"] == "hub" || request["token"] == false));
    std::fs::remove_dir_all(test.sandbox.path("hf")).unwrap();
    let ran = test.run(&server.address, &["cp", "hf://datasets/o/n", "copy", "--log-level", "trace", "-v"]).ends(0);
    assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN) && !ran.err.contains("ticket="), "{}", ran.err);
    assert_eq!(picture(&test.sandbox.path("copy")), picture(&test.root().join("o/n")));
    let ran = test.run(&server.address, &["bug-report"]);
    assert!(!ran.out.contains(TOKEN) && !ran.err.contains(TOKEN));
    let home = test.sandbox.path("").parent().unwrap().to_owned();
    for (path, bytes) in picture(&home) {
        assert!(!bytes.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes()), "{}", path.display());
    }
}

#[test]
fn a_token_is_read_from_the_file_of_the_python_tools() {
    let test = HubTest::new();
    test.sandbox.write("hf/token", format!("{TOKEN}\n"));
    let server = test.serve(&["--token", TOKEN]);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    let test = test.set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
    let ran = test.pack(&server.address, "hf://datasets/o/n@main", "other").ends(3);
    assert!(
        ran.err.contains("it is private") && ran.err.contains("HF_TOKEN") && ran.err.contains("o/n"),
        "{}",
        ran.err
    );
}

#[test]
fn restricted_data_sets_name_their_page() {
    let test = HubTest::new();
    let server = test.serve(&["--gated", TOKEN]);
    let page = format!("{}/datasets/o/n", server.address);
    let ran = test.pack(&server.address, "hf://datasets/o/n", "out").ends(3).complains("restricted").complains(&page);
    assert!(ran.err.contains("HF_TOKEN") && ran.err.contains("revision main"), "{}", ran.err);
    let test = test.set("HF_TOKEN", "hf_other");
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(3).complains("account of the token").complains(&page);
}

#[test]
fn a_tokenizer_of_a_model_is_downloaded() {
    let test = HubTest::new();
    let tokenizer = std::fs::read(tokenizer()).unwrap();
    test.put("o/model/tokenizer.json", &tokenizer);
    test.put("o/model/weights.bin", b"large");
    test.put("o/bare/config.json", b"{}");
    let server = test.serve(&[]);
    let pack = |name: &str, output: &str| {
        let words = pack_words("hf://datasets/o/n", output);
        let words = words.iter().map(|word| if word.ends_with("tokenizer.json") { name } else { word.as_str() });
        test.run(&server.address, &words.collect::<Vec<_>>())
    };
    pack("o/model", "out").ends(0).says("--tokenizer o/model");
    test.has_all("out");
    let requests = server.requests().len();
    pack("o/model", "again").ends(0);
    assert_eq!(server.requests().len(), requests + 1, "the tokenizer is in the cache");
    assert!(!server.requests().iter().any(|request| request["path"].as_str().unwrap().contains("weights")));
    pack("o/bare", "bare").ends(1).complains("no tokenizer.json");
    pack("o/nothing", "nothing").ends(3).complains("there is no such model, or it is private");
    pack("o/model.json", "wrong").ends(3).complains("no such file");
}

#[test]
fn invalid_hub_addresses_are_refused() {
    let test = HubTest::new().set("HF_TOKEN", TOKEN);
    let server = test.serve(&[]);
    let refuse = |address: &str, text: &str| {
        test.pack(&server.address, address, "out").ends(2).complains(text);
    };
    refuse("hf://datasets/o/other", "there is no such data set");
    refuse("hf://datasets/o/n@v9", "no revision v9");
    refuse("hf://datasets/o/n/dta", "no file or folder dta");
    refuse("hf://datasets/o/n/../x", "path is not valid");
    refuse("hf://models/o/n", "only data sets are read");
    refuse("ftp://bucket/x", "there are no addresses of ftp://");
    for words in
        [&["prepare", "hf://datasets/o/n"][..], &["cp", ".", "hf://datasets/o/n"], &["repair", "hf://datasets/o/n"]]
    {
        test.run(&server.address, words).ends(2).complains("hf:// cannot be written").complains("gristmill cp");
    }
    let index = ["index", "hf://datasets/o/n/data/small.jsonl", "--format", "modalities"];
    test.run(&server.address, &index).ends(2).complains("not writable").complains("--index-path");
    let mix = ["mix", "new", "--blend", "hf://datasets/o/n=1", "--output", "mix.yaml"];
    test.run(&server.address, &mix).ends(2).complains("the loader does not know 'hf://'").complains("gristmill cp");
}

#[test]
fn data_set_without_documents_is_refused_with_its_converted_tables() {
    let test = HubTest::new();
    let parquet = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet/p01_parquet_files/input");
    let (_, table) =
        picture(&parquet).into_iter().find(|(path, _)| path.extension().is_some_and(|end| end == "parquet")).unwrap();
    test.put("o/script/script.py", b"import datasets\n");
    test.put("o/script@refs%2Fconvert%2Fparquet/default/train/0000.parquet", &table);
    test.put("o/cut/cut.py", b"import datasets\n");
    test.put("o/cut@refs%2Fconvert%2Fparquet/default/partial-train/0000.parquet", &table);
    test.put("o/none/x.xml", b"<a/>\n");
    test.put("o/rows/x.csv", b"text,n\nsome words,1\n");
    let server = test.serve(&[]);
    let converted = "hf://datasets/o/script@refs/convert/parquet";
    test.pack(&server.address, "hf://datasets/o/script", "out").ends(2).complains(converted);
    test.pack(&server.address, converted, "out").ends(0);
    test.pack(&server.address, "hf://datasets/o/cut", "cut").ends(2).complains("a part of it");
    let ran = test.pack(&server.address, "hf://datasets/o/cut@refs%2Fconvert%2Fparquet", "cut").ends(1);
    assert!(ran.err.contains("a part of the data set"), "{}", ran.err);
    test.pack(&server.address, "hf://datasets/o/none", "none").ends(2).complains("no file of documents");
    test.pack(&server.address, "hf://datasets/o/rows", "rows").ends(0);
}
