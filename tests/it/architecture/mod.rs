//! Checks limits on the structure of the code: layers, sizes, and how widely a name is used. Limits may only be lowered.

mod graph;
mod source;

use source::{source_files, SourceFile, LAYER_CRATES};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static FILES: LazyLock<Vec<SourceFile>> = LazyLock::new(source_files);

/// Crates and modules from the lowest layer to the highest. Members of one layer do not import from each other.
const LAYERS: &[&[&str]] = &[
    &["core"],
    &["arrow", "storage"],
    &["dedup", "fuse", "media", "parquet", "pycompat", "tokenizer"],
    &["formats"],
    &["source"],
    &["preview"],
    &["engine"],
    &["job"],
    &["tokens"],
    &["shard"],
    &["datasets"],
    &["browse"],
    &["mount"],
    &["operations"],
    &["tui", "prompt"],
    &["cli"],
];

/// Maximum lines of code in each folder.
const BUDGETS: &[(&str, usize)] = &[
    ("arrow", 514),
    ("browse", 32),
    ("cli", 8_058),
    ("core", 3_580),
    ("datasets", 886),
    ("dedup", 2_776),
    ("engine", 22_745),
    ("formats", 7_125),
    ("fuse", 1_205),
    ("job", 13_717),
    ("media", 13_614),
    ("mount", 1_715),
    ("operations", 4_398),
    ("parquet", 5_243),
    ("preview", 3_426),
    ("prompt", 1_296),
    ("pycompat", 4_567),
    ("shard", 6_438),
    ("source", 13_234),
    ("storage", 17_024),
    ("tokenizer", 6_739),
    ("tokens", 19_203),
    ("tui", 33_303),
];

/// Files and functions with more lines of code than these are long; the number of long ones is limited.
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 80;
const LONG_FILES: usize = 0;
const LONG_FUNCTIONS: usize = 1;

/// Maximum number of modules that depend on each other in a circle, other than parents and children.
const MODULES_IN_CYCLES: usize = 0;

/// Maximum number of files outside the folders of a token format that name it. Megatron-Energon counts as Megatron.
const FORMAT_NAMES: &[(&str, usize)] =
    &[("forager", 3), ("mds", 3), ("megatron", 4), ("modalities", 3), ("nanosets", 3), ("olmo", 3)];

/// Maximum number of files that name a flag, without the formats that obey it, and without `media/`, where the word sample has another
/// meaning.
const FLAG_NAMES: &[(&str, usize)] =
    &[("truncate-to", 3), ("max-tokens-per-file", 5), ("min-count", 10), ("sample-size", 13)];

/// Variants of `DatasetKind` whose names no other type uses, and the maximum number of files that name one, without the files that define
/// and detect the kinds. The support of operations is defined by columns of `core/kinds.rs`. `Filesystem` is also a trait of `fuser`.
const KIND_NAMES: &[&str] =
    &["PreparedWebDataset", "RawWebDataset", "Filesystem", "PackedFormats", "TableFolder", "PlainFolder"];
const KIND_FILES: &[&str] = &["core/facts.rs", "core/kinds.rs", "fuse/server.rs", "source/kind.rs"];
const FILES_WITH_KINDS: usize = 10;

/// Words that messages, help and labels must not use, and the maximum number of texts that still use each.
const UNWANTED_WORDS: &[(&str, usize)] = &[
    ("told|tells?", 0),
    ("besides?", 0),
    ("behind", 1),
    ("whoever|nobody|somebody", 0),
    ("so many", 0),
    ("by chance", 0),
    ("comes? to|came to", 0),
    ("stands?|stood", 3),
    ("lies?", 4),
    ("put right", 0),
    ("gets? no", 0),
    ("odd", 6),
    // The name of an action, which settings files use.
    ("anew", 1),
    ("asked for", 0),
    ("any more", 0),
    ("shall", 1),
    ("hence", 0),
    ("go(es|ing)? on|went on", 0),
    ("ways? out", 0),
    ("half[- ]written", 0),
    // The name of an action, which settings files use.
    ("afresh", 1),
    ("breaks? off|broke off", 0),
    ("(is|are) gone", 0),
    ("mend(s|ed)?", 0),
    ("forgets?", 0),
];

/// Type names that do not describe the content of the type, prefixes of constants that do not describe the limited quantity, and the
/// maximum number of places that still declare such a name.
const VAGUE_TYPES: &[&str] = &[
    "After", "Asked", "Before", "Begun", "Chosen", "Ended", "Ends", "Found", "Given", "Goal", "Gone", "Held", "Kept",
    "Known", "Listed", "Look", "Looked", "Made", "Piece", "Place", "Placed", "Seen", "Shape", "Spot", "Spots",
    "Standing", "Stop", "Stretch", "Taken", "Told", "Wanted", "Way", "Which", "Words", "Worked", "Written",
];
const VAGUE_CONSTANTS: &[&str] = &["MOST", "LONGEST", "LARGEST", "KEPT", "NAMED", "LISTED", "SHOWN"];
const VAGUE_NAMES: usize = 0;

/// Words that no part of a name may be: metaphors, participles without a noun, and words without a specific meaning.
const UNWANTED_PARTS: &[&str] = &[
    "afresh",
    "again",
    "alone",
    "anew",
    "anywhere",
    "apart",
    "ask",
    "asked",
    "asking",
    "asks",
    "behind",
    "beside",
    "besides",
    "blame",
    "came",
    "come",
    "comes",
    "deal",
    "deals",
    "dealt",
    "elsewhere",
    "errand",
    "forgive",
    "former",
    "fresh",
    "furthest",
    "gives",
    "giving",
    "goes",
    "going",
    "gone",
    "hall",
    "hear",
    "heard",
    "held",
    "hold",
    "holds",
    "hop",
    "judge",
    "judged",
    "lately",
    "lay",
    "lie",
    "lies",
    "lone",
    "look",
    "looked",
    "looking",
    "looks",
    "lot",
    "lots",
    "meet",
    "met",
    "misfit",
    "nobody",
    "nowhere",
    "odd",
    "pile",
    "piles",
    "puts",
    "sack",
    "said",
    "saw",
    "says",
    "see",
    "seeing",
    "seen",
    "sees",
    "sieve",
    "somebody",
    "spot",
    "spots",
    "stand",
    "stands",
    "stood",
    "stretch",
    "stretches",
    "suits",
    "tell",
    "telling",
    "tells",
    "together",
    "told",
    "trouble",
    "troubles",
    "twin",
    "untold",
    "want",
    "whoever",
];

/// Allowed names with such a part: names in files and outputs of the program, and odd numbers.
const ALLOWED_NAMES: &[&str] =
    &["Odd", "apart", "deal", "left_alone", "looked_at", "met", "odd", "samples_seen", "seen"];

#[test]
fn source_files_are_reached_by_mod_declarations() {
    let is_code = |path: &std::path::Path| path.extension().is_some_and(|extension| extension == "rs");
    let on_disk = ["src", "crates"]
        .iter()
        .flat_map(|folder| walkdir::WalkDir::new(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)))
        .filter(|entry| is_code(entry.as_ref().unwrap().path()));
    let (found, on_disk) = (FILES.len(), on_disk.count());
    assert!(found * 10 > on_disk * 8, "only {found} of {on_disk} files are reached by `mod`");
    assert!(FILES.iter().all(|file| !file.path.ends_with("tests.rs")));
}

#[test]
fn documents_list_the_layers() {
    let layers: Vec<String> = LAYERS.iter().rev().map(|layer| layer.join(", ")).collect();
    let line = layers.join(" → ");
    assert!(read("CONTRIBUTING.md").contains(&line), "CONTRIBUTING.md: {line}");
    let architecture = read("docs/ARCHITECTURE.md");
    let block = architecture.split("```").find(|block| block.contains(" → ")).unwrap();
    // The part of a row after the name of a crate with several layers.
    let columns = block.lines().filter(|row| !row.is_empty()).map(|row| row.rsplit("  ").next().unwrap().trim());
    assert_eq!(columns.collect::<Vec<_>>().join(" → "), line, "docs/ARCHITECTURE.md");
}

#[test]
fn modules_import_only_lower_layers() {
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut wrong = Vec::new();
    for file in FILES.iter().filter(|file| file.path.contains('/')) {
        let module = file.module[0].as_str();
        let layer = layer_of(module).unwrap_or_else(|| panic!("{module} is in no layer"));
        for other in file.imports.iter().filter_map(|path| path.first()) {
            if other != module && layer_of(other).is_some_and(|other| other >= layer) {
                wrong.push(format!("{} imports {other}", file.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn lower_crates_have_no_terminal_dependencies() {
    let terminal = ["ratatui", "ratatui-image", "crossterm", "clap", "dialoguer", "indicatif", "anstream", "gristmill"];
    let crates = LAYER_CRATES.iter().chain(&["data", "ops"]);
    for name in crates {
        let manifest = format!("{}/crates/{name}/Cargo.toml", env!("CARGO_MANIFEST_DIR"));
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let known = manifest.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        let wrong: Vec<&str> = known.filter(|known| terminal.contains(known)).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
    }
}

#[test]
fn module_dependencies_have_few_cycles() {
    let cycles = graph::cycles(&graph::dependencies(&FILES));
    let count: usize = cycles.iter().map(Vec::len).sum();
    check("modules in cycles", count, MODULES_IN_CYCLES, &cycles);
}

#[test]
fn folders_stay_within_their_line_budgets() {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for file in FILES.iter() {
        if let Some((folder, _)) = file.path.split_once('/') {
            *lines.entry(folder).or_default() += file.lines;
        }
    }
    let over: Vec<String> = lines
        .iter()
        .filter_map(|(folder, lines)| {
            let budget = BUDGETS.iter().find(|(name, _)| name == folder).map_or(0, |(_, budget)| *budget);
            (*lines > budget).then(|| format!("{folder}: {lines} lines of code, and at most {budget} are allowed"))
        })
        .collect();
    assert!(over.is_empty(), "{over:#?}");
}

#[test]
fn files_and_functions_stay_within_their_line_limits() {
    let files: Vec<String> = FILES
        .iter()
        .filter(|file| file.lines > MAX_FILE_LINES)
        .map(|file| format!("{}: {}", file.path, file.lines))
        .collect();
    check("long files", files.len(), LONG_FILES, &files);
    let functions: Vec<String> = FILES
        .iter()
        .flat_map(|file| file.functions.iter().map(move |(name, lines)| (file, name, lines)))
        .filter(|(.., lines)| **lines > MAX_FUNCTION_LINES)
        .map(|(file, name, lines)| format!("{}: {name}, {lines}", file.path))
        .collect();
    check("long functions", functions.len(), LONG_FUNCTIONS, &functions);
}

#[test]
fn few_files_name_a_token_format() {
    let mut over = Vec::new();
    for (format, ceiling) in FORMAT_NAMES {
        let is_own = |file: &SourceFile| file.path.split(['/', '.', '_']).any(|part| part.eq_ignore_ascii_case(format));
        let files = files_that(|file| !is_own(file) && !file.path.contains("/dropin/") && names(file, format));
        over.extend(
            (files.len() > *ceiling).then(|| format!("{format}: {}, at most {ceiling}: {files:#?}", files.len())),
        );
    }
    assert!(over.is_empty(), "files that name a format\n{}", over.join("\n"));
}

#[test]
fn few_files_name_a_flag() {
    let mut over = Vec::new();
    for (flag, ceiling) in FLAG_NAMES {
        let is_other = |file: &SourceFile| {
            file.path.starts_with("media/")
                || file.path.starts_with("tokens/formats/")
                || file.path.starts_with("core/pack/")
                || file.path.contains("/dropin/")
        };
        let files = files_that(|file| !is_other(file) && names(file, flag));
        over.extend(
            (files.len() > *ceiling).then(|| format!("{flag}: {}, at most {ceiling}: {files:#?}", files.len())),
        );
    }
    assert!(over.is_empty(), "files that name a flag\n{}", over.join("\n"));
}

#[test]
fn few_files_name_a_data_set_kind() {
    let files = files_that(|file| {
        !KIND_FILES.contains(&file.path.as_str()) && KIND_NAMES.iter().any(|name| file.names.contains(*name))
    });
    check("files that name a kind of data sets", files.len(), FILES_WITH_KINDS, &files);
}

#[test]
fn type_and_constant_names_are_specific() {
    let is_vague = |name: &str| VAGUE_TYPES.contains(&name) || VAGUE_CONSTANTS.contains(&name);
    let vague: Vec<String> = FILES
        .iter()
        .flat_map(|file| file.declared.iter().map(move |name| (file, name)))
        .filter(|(_, name)| is_vague(name) || name.starts_with("MOST_"))
        .map(|(file, name)| format!("{}: {name}", file.path))
        .collect();
    check("vague names", vague.len(), VAGUE_NAMES, &vague);
}

#[test]
fn identifiers_have_no_unwanted_words() {
    let mut unwanted = Vec::new();
    for file in FILES.iter() {
        for name in file.identifiers.iter().filter(|name| !ALLOWED_NAMES.contains(&name.as_str())) {
            let parts = parts_of(name).into_iter().filter(|part| UNWANTED_PARTS.contains(&part.as_str()));
            unwanted.extend(parts.map(|part| format!("{}: {name} has '{part}'", file.path)));
        }
    }
    assert!(unwanted.is_empty(), "{} names have a part that is unwanted: {unwanted:#?}", unwanted.len());
    assert!(ALLOWED_NAMES.len() <= 10);
    let unused: Vec<&&str> = ALLOWED_NAMES
        .iter()
        .filter(|allowed| !FILES.iter().any(|file| file.identifiers.iter().any(|name| name == **allowed)))
        .collect();
    assert!(unused.is_empty(), "no such names: {unused:?}");
}

#[test]
fn identifiers_are_divided_into_words() {
    assert_eq!(parts_of("look_at_UTF8Text"), ["look", "at", "utf", "text"]);
    assert_eq!(parts_of("MAX_HELD2"), ["max", "held"]);
    assert_eq!(parts_of("FoundPart"), ["found", "part"]);
    assert_eq!(parts_of("PCMReader"), ["pcm", "reader"]);
}

/// Returns the words of a name in lower case. Words are separated by underscores or begin with a capital.
fn parts_of(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let is_lower = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|letter| letter.is_lowercase());
    let mut parts = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let begins_part = letter.is_uppercase() && (is_lower(at.checked_sub(1)) || is_lower(Some(at + 1)));
        if begins_part || !letter.is_alphabetic() {
            parts.push(String::new());
        }
        if letter.is_alphabetic() {
            parts.last_mut().unwrap().extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[test]
fn literals_and_documents_have_few_unwanted_words() {
    let documents: Vec<_> = documents().into_iter().chain(comments()).collect();
    let mut over = Vec::new();
    for (word, ceiling) in UNWANTED_WORDS {
        let pattern = regex::Regex::new(&format!(r"(?i)\b({word})\b")).unwrap();
        let literals = FILES.iter().flat_map(|file| file.literals.iter().map(move |(text, line)| (file, text, line)));
        let mut texts: Vec<String> = literals
            .filter(|(_, text, _)| pattern.is_match(text))
            .map(|(file, text, line)| format!("{}:{line}: {text}", file.path))
            .collect();
        for (name, text) in &documents {
            texts.extend(text.lines().filter(|line| pattern.is_match(line)).map(|line| format!("{name}: {line}")));
        }
        over.extend(
            (texts.len() > *ceiling).then(|| format!("{word}: {}, at most {ceiling}: {texts:#?}", texts.len())),
        );
    }
    assert!(over.is_empty(), "unwanted words in texts\n{}", over.join("\n"));
}

/// Returns the names and texts of all documents except the one that lists unwanted words.
fn documents() -> Vec<(String, String)> {
    let mut all = texts_below(&["docs"], "md");
    all.extend(["README.md", "CHANGELOG.md"].map(|name| (name.to_owned(), read(name))));
    all
}

/// Returns the name of each file with code, and the lines of it that are comments.
fn comments() -> Vec<(String, String)> {
    let mut all = texts_below(&["benches", "crates", "src", "tests/it"], "rs");
    for (_, text) in &mut all {
        *text = text.lines().filter(|line| line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    }
    all
}

/// Returns the names and texts of the files of some folders.
fn texts_below(folders: &[&str], extension: &str) -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = folders.iter().flat_map(|folder| walkdir::WalkDir::new(root.join(folder)));
    let paths = entries.map(|entry| entry.unwrap().into_path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    let names = wanted.map(|path| path.strip_prefix(root).unwrap().display().to_string());
    names.map(|name| (name.clone(), read(&name))).collect()
}

/// Returns the text of a file of the project.
fn read(name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn documents_name_files_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let roots: Vec<_> = [root.to_owned(), root.join("src")].into_iter().chain(crates).collect();
    let exists = |path: &str| roots.iter().any(|root| root.join(path).exists());
    let pattern = regex::Regex::new(r"`([a-z_][a-z_.-]*)((?:/[A-Za-z0-9_.-]+)+)/?`").unwrap();
    let mut missing = Vec::new();
    for (name, text) in documents().into_iter().chain([("CONTRIBUTING.md".to_owned(), read("CONTRIBUTING.md"))]) {
        for (_, [top, rest]) in pattern.captures_iter(&text).map(|found| found.extract()) {
            let path = format!("{top}{rest}");
            // `NAME` and `STEP` are to be replaced by the reader.
            let is_ours = !path.contains("NAME") && !path.contains("STEP") && exists(top);
            if is_ours && !exists(&path) && !exists(&format!("{path}.rs")) {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn messages_name_flags_that_exist() {
    let help = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/commands.md")).unwrap();
    let pattern = regex::Regex::new("--[a-z]+(-[a-z]+)*").unwrap();
    // `--sort` is an option of tar, in a command that a hint proposes.
    let known: BTreeSet<&str> = pattern.find_iter(&help).map(|flag| flag.as_str()).chain(["--sort"]).collect();
    let literals = FILES
        .iter()
        .filter(|file| file.path.starts_with("engine/plan/"))
        .flat_map(|file| file.literals.iter().map(move |(text, line)| (file, text, line)));
    let unknown: Vec<String> = literals
        .filter(|(_, text, _)| pattern.find_iter(text).any(|flag| !known.contains(flag.as_str())))
        .map(|(file, text, line)| format!("{}:{line}: {text}", file.path))
        .collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// Whether a name or a string literal in the file contains this name in one of its spellings: `a-b`, `a_b`, `AB`.
fn names(file: &SourceFile, wanted: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(wanted);
    file.names.iter().any(|name| plain(name).contains(&wanted))
        || file.literals.iter().any(|(text, _)| plain(text).contains(&wanted))
}

fn files_that(is_wanted: impl Fn(&SourceFile) -> bool) -> BTreeSet<&'static str> {
    FILES.iter().filter(|file| is_wanted(file)).map(|file| file.path.as_str()).collect()
}

fn check(what: &str, count: usize, ceiling: usize, found: &dyn std::fmt::Debug) {
    assert!(count <= ceiling, "{what}: {count}, and at most {ceiling} are allowed: {found:#?}");
}
