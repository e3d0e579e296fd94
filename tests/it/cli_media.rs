//! Media metadata on the command line: `prepare-media`, the media flags of `prepare`, and the commands that read the rows afterwards.

use super::cli_support::{golden_dir, Sandbox};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;

const EXTENSION: &str = "--media-metadata-by-extension";

fn keys(sandbox: &Sandbox, data: &str) -> Vec<String> {
    sandbox.media_rows(data).into_iter().map(|(key, _)| key).collect()
}

/// Writes shards of two samples each, a picture and a text.
fn picture_shards(sandbox: &Sandbox, shards: std::ops::Range<u32>) {
    for shard in shards {
        let entries: Vec<(String, Vec<u8>)> = (0..2)
            .flat_map(|n| {
                let key = format!("k{shard}{n}");
                [(format!("{key}.png"), Sandbox::png(shard + 1, n + 1)), (format!("{key}.txt"), b"words".to_vec())]
            })
            .collect();
        sandbox.tar_of(&format!("data/s_{shard}.tar"), &entries);
    }
}

const PREPARE: &str = "prepare data --yes --split-ratio 1,0,0 --sample-type CrudeWebdataset";

#[test]
fn media_rows_of_the_reference_case_are_equal() {
    let wanted =
        std::fs::read_to_string(golden_dir("media_by_extension").join("expected/dump/media_metadata.csv")).unwrap();
    let wanted: Vec<(String, String)> = wanted
        .lines()
        .skip(1)
        .map(|line| {
            let mut cells = line.splitn(3, ',');
            let key = cells.next().unwrap().to_owned();
            cells.next();
            let json = cells.next().unwrap().trim_matches('"').replace("\"\"", "\"");
            (key, json)
        })
        .collect();
    for line in [
        "energon prepare . --non-interactive --split-ratio 1,0,0 --num-workers 1 --no-progress --sample-type CrudeWebdataset \
         --media-metadata-by-extension",
        "prepare . --yes --problems-ok --split-ratio 1,0,0 --sample-type CrudeWebdataset --media-metadata-by-extension",
    ] {
        let sandbox = Sandbox::golden("media_by_extension");
        let ran = sandbox.say(line).ends(0);
        assert!(!ran.err.contains("error"), "{}", ran.err);
        assert_eq!(sandbox.media_rows("."), wanted);
    }
}

#[test]
fn each_media_strategy_selects_its_files() {
    let sandbox = Sandbox::new();
    sandbox.write("m/a.png", Sandbox::png(3, 4));
    sandbox.write("m/b.raw", Sandbox::png(5, 6));
    sandbox.write("m/sub/c.png", Sandbox::jpeg(7, 8));
    sandbox.write("m/notes.txt", "words");
    let path = sandbox.path("m/.nv-meta");
    for (flags, wanted) in [
        (&["--media-metadata-by-extension"][..], &["a.png", "sub/c.png"][..]),
        (&["--media-metadata-by-header"], &["a.png", "b.raw", "sub/c.png"]),
        (&["--media-metadata-by-glob", "*.raw,sub/*"], &["b.raw", "sub/c.png"]),
        (&["--media-metadata", "--media-by-extension"], &["a.png", "sub/c.png"]),
        (&["--media-metadata", "--media-by-header"], &["a.png", "b.raw", "sub/c.png"]),
        (&["--media-metadata", "--media-by-glob=c.*"], &["sub/c.png"]),
    ] {
        let _ = std::fs::remove_dir_all(&path);
        sandbox.run(["prepare-media", "m"].iter().chain(flags)).ends(0).says("Described media");
        assert_eq!(keys(&sandbox, "m"), wanted, "{flags:?}");
    }
    assert!(sandbox.media_rows("m")[0].1.contains(r#""format":"JPEG""#), "the content decides, not the name");
}

#[test]
fn exactly_one_media_strategy_is_required() {
    let sandbox = Sandbox::new();
    sandbox.write("m/a.png", Sandbox::png(1, 1));
    picture_shards(&sandbox, 0..1);
    let two = "--media-metadata-by-header --media-metadata-by-extension";
    for line in [
        "prepare-media m".to_owned(),
        "prepare-media m --media-metadata".to_owned(),
        "prepare-media m --media-metadata-by-glob=".to_owned(),
        format!("prepare-media m {two}"),
        format!("{PREPARE} --media-metadata"),
        format!("{PREPARE} --decode"),
        format!("{PREPARE} {two}"),
    ] {
        sandbox.say(&line).ends(2).complains("--media-metadata-by-");
    }
    for flag in ["--tar-index-only", "--skip-sample-tables"] {
        sandbox.say(&format!("{PREPARE} {EXTENSION} {flag}")).ends(2).complains(flag);
    }
    sandbox.say("energon prepare-media m").ends(1).complains("--media-metadata-by-");
    sandbox.say(&format!("energon prepare-media m {two}")).ends(1);
    sandbox.say(&format!("energon prepare data --tar-index-only {EXTENSION}")).ends(2);
    assert!(!sandbox.has("m/.nv-meta") && !sandbox.has("data/.nv-meta"));
}

#[test]
fn media_scan_includes_hidden_files_and_links_without_loops() {
    let sandbox = Sandbox::new();
    sandbox.write("m/.hidden/.a.png", Sandbox::png(1, 1));
    sandbox.write("m/b\nc.png", Sandbox::png(1, 1));
    sandbox.write("m/sub/.nv-meta/no.png", Sandbox::png(1, 1));
    sandbox.write("elsewhere/far.png", Sandbox::png(1, 1));
    symlink(sandbox.path("elsewhere"), sandbox.path("m/link")).unwrap();
    symlink(sandbox.path("m"), sandbox.path("m/sub/loop")).unwrap();
    let odd = std::ffi::OsString::from_vec(b"\xffodd.png".to_vec());
    #[allow(clippy::disallowed_methods)]
    std::fs::write(sandbox.path("m").join(odd), Sandbox::png(1, 1)).unwrap();
    let ran = sandbox.say(&format!("prepare-media m {EXTENSION}")).ends(1).complains("not UTF-8");
    assert!(!ran.err.contains('\u{fffd}') || ran.err.contains("\\xff"), "{}", ran.err);
    assert_eq!(keys(&sandbox, "m"), [".hidden/.a.png", "b\nc.png", "link/far.png"]);
    // Only the entry whose name does not fit in a row is reported again.
    sandbox.say("lint m").ends(1).says("1 problem found in 3 media rows");
    sandbox.say("verify m").ends(1).says("1 problem found in 3 media rows");
}

#[test]
fn broken_media_are_listed_and_valid_media_have_rows() {
    let sandbox = Sandbox::new();
    sandbox.write("m/empty.png", "");
    sandbox.write("m/words.jpg", "these are words");
    sandbox.write("m/jpeg-named.png", Sandbox::jpeg(2, 3));
    let ran = sandbox.say(&format!("prepare-media m {EXTENSION} --json")).ends(1);
    let value = ran.json("problems");
    assert_eq!((&value["entries"], &value["images"], &value["rows_in_all"]), (&3.into(), &1.into(), &1.into()));
    let counted: u64 = value["counts"]["problem"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted, 2, "{value}");
    sandbox.say(&format!("prepare-media m {EXTENSION} --problems-ok")).ends(0);
    sandbox.say(&format!("energon prepare-media m {EXTENSION} --num-workers 1 --no-progress")).ends(0);
    sandbox.say(&format!("prepare-media m {EXTENSION} --strict")).ends(1);
    assert_eq!(keys(&sandbox, "m"), ["jpeg-named.png"]);
}

#[test]
fn folder_without_media_is_refused_and_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.write("m/notes.txt", "words");
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.say(&format!("prepare-media m {EXTENSION}")).ends(1).complains("picks none of 1 file");
    sandbox.say(&format!("prepare-media empty {EXTENSION}")).ends(1).complains("empty");
    sandbox.say(&format!("energon prepare-media m {EXTENSION}")).ends(1);
    assert!(!sandbox.has("m/.nv-meta") && !sandbox.has("empty/.nv-meta"));
}

#[test]
fn repair_of_unprepared_data_names_the_applicable_command() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..1);
    sandbox.write("photos/a.png", "x");
    sandbox.say("repair data").ends(2).complains("hint: gristmill prepare data makes its index");
    sandbox.say("repair photos").ends(2).complains("gristmill prepare-media photos describes loose media");
    sandbox.say(&format!("prepare-media photos {EXTENSION}"));
    sandbox.say("repair photos").ends(2).complains("hint: gristmill prepare-media photos makes it again");
}

#[test]
fn unsupported_prepare_media_inputs_are_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..1);
    sandbox.write("a.jsonl", "{}\n");
    sandbox.write("m.yaml", "x: 1\n");
    sandbox.say(&format!("prepare-media data {EXTENSION}")).ends(2).complains("gristmill prepare data with");
    for name in ["a.jsonl", "m.yaml"] {
        sandbox.say(&format!("prepare-media {name} {EXTENSION}")).ends(2).complains("hint:");
    }
    sandbox.say(&format!("prepare-media nowhere {EXTENSION}")).ends(3).complains("nowhere");
}

#[test]
fn prepare_writes_media_rows_and_overwrite_keeps_them() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..3);
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0).says("Media: 6 pictures").says(EXTENSION);
    assert_eq!(keys(&sandbox, "data"), ["k00.png", "k01.png", "k10.png", "k11.png", "k20.png", "k21.png"]);
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0).says("Nothing to do");
    sandbox.say(PREPARE).ends(1).complains("media metadata: by extension");
    sandbox.say("lint data").ends(0);
    sandbox.say("verify data").ends(0);
    sandbox.say("info data").ends(0).says("rows: 6 (6 pictures").says("PNG 6");
    sandbox.say(&format!("{PREPARE} --force-overwrite")).ends(0);
    assert_eq!(keys(&sandbox, "data").len(), 6, "rows of the earlier run stay");
}

#[test]
fn update_reads_media_of_new_and_changed_shards_only() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..2);
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0);
    picture_shards(&sandbox, 2..3);
    sandbox.say("prepare data --yes --update").ends(0).says("2 pictures, 0 sounds or videos of 2 entries looked at");
    assert_eq!(keys(&sandbox, "data").len(), 6);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
    sandbox.say("prepare data --yes --update --media-metadata-by-header").ends(0).says("6 entries looked at");
    // The row of a removed entry is not removed, and a note reports it.
    sandbox.tar_of("data/s_1.tar", &[("other.png".into(), Sandbox::png(1, 1))]);
    sandbox.say("prepare data --yes --update").ends(0).complains("k10.png");
    sandbox.say("lint data").ends(1).complains("an entry that does not exist");
    sandbox
        .say("prepare-media data --media-metadata-by-header --prune")
        .ends(0)
        .says("2 rows of entries that no longer exist");
    sandbox.say("lint data").ends(0);
    assert_eq!(keys(&sandbox, "data"), ["k00.png", "k01.png", "k20.png", "k21.png", "other.png"]);
}

#[test]
fn prepare_media_adds_rows_to_a_prepared_data_set() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..2);
    sandbox.say(PREPARE).ends(0);
    let samples = |sandbox: &Sandbox| {
        let database = rusqlite::Connection::open(sandbox.path("data/.nv-meta/index.sqlite")).unwrap();
        let sql = "SELECT group_concat(sample_key || sample_index || byte_offset) FROM samples";
        database.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let before =
        (samples(&sandbox), sandbox.read("data/.nv-meta/index.uuid"), sandbox.read("data/.nv-meta/.info.json"));
    sandbox.say(&format!("energon prepare-media data {EXTENSION} --tmp-path tmp")).ends(0);
    assert_eq!(keys(&sandbox, "data"), ["k00.png", "k01.png", "k10.png", "k11.png"]);
    let after = (samples(&sandbox), sandbox.read("data/.nv-meta/index.uuid"), sandbox.read("data/.nv-meta/.info.json"));
    assert_eq!(before, after);
    assert!(sandbox.has("data/.nv-meta/gristmill/plan.yaml") && sandbox.has("data/.nv-meta/gristmill/media-plan.yaml"));
    assert!(!sandbox.has("data/.nv-meta/gristmill/work") && !sandbox.has("data/.nv-meta/gristmill/lock"));
    sandbox.say(PREPARE).ends(0).says("Nothing to do");
    // A changed shard is described in its current state, and reported.
    sandbox.tar_of("data/s_1.tar", &[("new.png".into(), Sandbox::png(9, 9))]);
    sandbox.say(&format!("prepare-media data {EXTENSION}")).ends(1).complains("changed since it was indexed");
    assert!(keys(&sandbox, "data").contains(&"new.png".to_owned()));
    std::fs::remove_file(sandbox.path("data/s_1.tar")).unwrap();
    sandbox.say(&format!("prepare-media data {EXTENSION}")).ends(1).complains("s_1.tar");
}

#[test]
fn inconsistent_media_rows_are_found_by_lint_and_verify() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..1);
    sandbox.write("m/a.png", Sandbox::png(3, 4));
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0);
    sandbox.say(&format!("prepare-media m {EXTENSION}")).ends(0);
    for (data, key) in [("data", "k00.png"), ("m", "a.png")] {
        let database = rusqlite::Connection::open(sandbox.path(data).join(".nv-meta/index.sqlite")).unwrap();
        let set = |json: &str| {
            let changed = "UPDATE media_metadata SET metadata_json = ?1 WHERE entry_key = ?2";
            assert_eq!(database.execute(changed, [json, key]).unwrap(), 1);
        };
        set(r#"{"width":30,"height":4,"format":"PNG","mode":"RGB"}"#);
        sandbox.say(&format!("lint {data}")).ends(0);
        sandbox.say(&format!("verify {data}")).ends(1).complains("its media row says");
        set("{");
        sandbox.say(&format!("lint {data}")).ends(1).complains("cannot be read");
        database.execute("DELETE FROM media_metadata WHERE entry_key = ?1", [key]).unwrap();
        sandbox.say(&format!("lint {data} -v")).ends(0).complains("no media row");
        database.execute("INSERT INTO media_metadata VALUES ('../x.png', 'image', '{}')", []).unwrap();
        sandbox.say(&format!("lint {data}")).ends(1).complains("an entry that does not exist");
    }
}

#[test]
fn media_dry_run_writes_nothing_and_its_saved_plan_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("m/a.png", Sandbox::png(3, 4));
    sandbox.write("m/b.wav", "x");
    let line = "prepare-media m --media-metadata-by-glob *.png,b* --prune --dry-run --save-plan plan.yaml";
    sandbox.say(line).ends(0).says("2 entries would be looked at").says(r#"a.png: {"width":3"#).says("--prune");
    assert!(!sandbox.has("m/.nv-meta"));
    let value = sandbox.say("prepare-media m --media-metadata-by-header --dry-run --json").ends(0).json("ok");
    assert_eq!(value["outlook"]["candidates"], 2);
    let plan = sandbox.text("plan.yaml");
    assert!(plan.contains("command: prepare-media") && plan.contains("prune: true"), "{plan}");
    sandbox.say("run plan.yaml").ends(1).says("gristmill prepare-media");
    assert_eq!(keys(&sandbox, "m"), ["a.png"]);
    sandbox.say("run plan.yaml --force-overwrite").ends(2).complains("--force-overwrite cannot be used");
    let saved = sandbox.text("m/.nv-meta/gristmill/media-plan.yaml");
    sandbox.write("again.yaml", saved.replace("prune", "pruned"));
    sandbox.say("run again.yaml").ends(2).complains("pruned");
    sandbox.write("other.yaml", "version: 1\ncommand: fly\npath: m\n");
    sandbox.say("run other.yaml").ends(2).complains("fly");
    picture_shards(&sandbox, 0..1);
    sandbox.say(&format!("{PREPARE} {EXTENSION} --dry-run")).ends(0).says("2 entries would be looked at").says("png");
}

#[test]
fn media_folder_is_distinguished_from_a_data_set() {
    let sandbox = Sandbox::new();
    sandbox.write("m/a.png", Sandbox::png(3, 4));
    sandbox.write("m/b.png", Sandbox::png(300, 4));
    sandbox.say(&format!("prepare-media m {EXTENSION}")).ends(0);
    sandbox.say("info m").ends(0).says("media folder").says("rows: 2 (2 pictures").says("by: extension").says("PNG 2");
    let value = sandbox.say("info m --json").ends(0).json("ok");
    assert_eq!((&value["kind"], &value["media"]["rows"]), (&"filesystem".into(), &2.into()));
    sandbox.say("prepare m --yes --split-ratio 8,1,1 --skip-dataset-yaml").ends(1).complains("prepare-media");
    sandbox.say("info nothing-here").ends(3);
}

#[test]
fn media_folder_without_write_access_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new();
    sandbox.write("m/a.png", Sandbox::png(3, 4));
    let set = |mode| std::fs::set_permissions(sandbox.path("m"), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o500);
    let is_root = rustix::process::geteuid().is_root();
    let ran = sandbox.say(&format!("prepare-media m {EXTENSION}"));
    set(0o700);
    if !is_root {
        ran.ends(3).complains(".nv-meta");
    }
}

#[test]
fn damage_after_a_valid_media_header_is_found_only_by_decoding() {
    let sandbox = Sandbox::new();
    let mut noise = image::RgbImage::new(64, 64);
    for (at, pixel) in noise.pixels_mut().enumerate() {
        let value = (at * 7919 % 251) as u8;
        *pixel = image::Rgb([value, value.wrapping_mul(3), value.wrapping_mul(7)]);
    }
    let mut bytes = std::io::Cursor::new(Vec::new());
    noise.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    let mut bytes = bytes.into_inner();
    sandbox.write("m/good.png", &bytes);
    let half = bytes.len() / 2;
    bytes.truncate(half);
    sandbox.write("m/half.png", &bytes);
    sandbox.say(&format!("prepare-media m {EXTENSION}")).ends(0);
    assert_eq!(keys(&sandbox, "m"), ["good.png", "half.png"], "the header shows it");
    sandbox.say("lint m").ends(0);
    sandbox
        .say("lint m --decode")
        .ends(1)
        .complains("half.png")
        .complains("put a whole one in its place")
        .says("1 problem found");
    sandbox.say(&format!("prepare-media m {EXTENSION} --decode")).ends(1).complains("its row is made from its header");
    let ran = sandbox.say(&format!("prepare-media m {EXTENSION} --decode --json")).ends(1).json("problems");
    assert_eq!(ran["problems"].as_array().map(Vec::len), Some(1), "one damage is reported once: {ran}");
    std::fs::remove_dir_all(sandbox.path("m/.nv-meta")).unwrap();
    sandbox.say(&format!("prepare-media m {EXTENSION} --compat")).ends(1).complains("no row is written for it");
    assert_eq!(keys(&sandbox, "m"), ["good.png"], "as the reference program leaves it out");
    sandbox.tar_of("data/a.tar", &[("k.png".into(), bytes)]);
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0);
    sandbox.say("lint data --decode").ends(1).complains("k.png");
}

#[test]
fn media_rows_stay_when_sample_tables_are_left_out() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..2);
    sandbox.say(&format!("{PREPARE} {EXTENSION}")).ends(0);
    let rows = sandbox.media_rows("data");
    assert_eq!(rows.len(), 4);
    sandbox.say(&format!("{PREPARE} --skip-sample-tables --force-overwrite")).ends(0);
    assert_eq!(sandbox.media_rows("data"), rows);
    sandbox.say("lint data").ends(0);
    sandbox.say("info data").ends(0);
    let empty = Sandbox::new();
    picture_shards(&empty, 0..1);
    empty.say(PREPARE).ends(0);
    empty.say(&format!("{PREPARE} --skip-sample-tables --force-overwrite")).ends(0);
    assert!(!empty.has("data/.nv-meta/index.sqlite"), "a database without media is of no use");
}

#[test]
fn broken_media_are_reported_in_the_order_of_the_data() {
    let sandbox = Sandbox::new();
    for shard in 0..12 {
        let entries: Vec<(String, Vec<u8>)> =
            (0..20).map(|n| (format!("k{shard:02}{n:02}.png"), b"no picture".to_vec())).collect();
        sandbox.tar_of(&format!("data/s_{shard:02}.tar"), &entries);
    }
    let value = sandbox.say(&format!("{PREPARE} {EXTENSION} --threads 8 --json")).ends(1).json("problems");
    let place = |problem: &serde_json::Value| {
        (
            problem["subject"]["shard"].to_string(),
            problem["subject"]["byte_offset"].as_u64(),
            problem["subject"]["key"].to_string(),
        )
    };
    let places: Vec<_> = value["problems"].as_array().unwrap().iter().map(place).collect();
    assert!(places.len() >= 240 && places.is_sorted(), "{places:?}");
}

#[test]
fn outdated_media_rows_of_a_changed_shard_are_reported() {
    let sandbox = Sandbox::new();
    picture_shards(&sandbox, 0..2);
    sandbox.say(PREPARE).ends(0);
    sandbox.say("prepare-media data --media-metadata-by-extension").ends(0);
    let other = ["k00.png", "k01.png"].map(|name| (name.to_owned(), Sandbox::png(77, 7)));
    sandbox.tar_of("data/s_0.tar", &other);
    picture_shards(&sandbox, 2..3);
    let ran = sandbox.say("prepare data --yes --update").ends(1);
    let ran = ran.complains("s_0.tar: its media metadata is that of the shard as it was before");
    let ran = ran.complains("the media of 1 new shard are not described").complains("gristmill prepare-media");
    assert!(!ran.err.contains("s_1.tar"), "{}", ran.err);
    sandbox.say("prepare-media data --media-metadata-by-extension").ends(0);
    sandbox.say("prepare data --yes --update").ends(0).says("Nothing to do");
    sandbox.say("verify data").ends(0);
}
