//! Checks that citations of the format pages name existing sections, and that relative links in the documents name existing files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Folder of the format pages; a citation begins with it.
const PAGES: &str = "docs/formats/";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files below a folder whose names end in one of `suffixes`, sorted.
fn files_below(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|suffix| suffixes.iter().any(|known| suffix == *known)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Returns a document without its code blocks.
fn without_code_blocks(text: &str) -> String {
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    prose.collect::<Vec<_>>().join("\n")
}

/// Returns the numbers of the headings of a page: `3` of `## 3. Names`, `3.1` of `### 3.1 Files`.
fn heading_numbers(text: &str) -> BTreeSet<String> {
    let prose = without_code_blocks(text);
    let titles = prose.lines().filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '));
    titles.filter_map(|title| section_number(title).map(|(number, _)| number)).collect()
}

/// Returns the sections of each format page by its name.
fn pages() -> BTreeMap<String, BTreeSet<String>> {
    let files = files_below(&root().join(PAGES), &["md"]);
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), heading_numbers(&std::fs::read_to_string(path).unwrap()))).collect()
}

/// Returns a number such as `9` or `9.1` at the start of a text, and the text that follows it.
fn section_number(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    number.starts_with(|c: char| c.is_ascii_digit()).then(|| (number.to_owned(), &text[number.len()..]))
}

/// Returns the sections at the start of a text: `§2`, `§2 and §4`, `§1 to §4`, `§2, §4`.
fn sections(mut text: &str) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let rest = text.trim_start_matches([' ', ',']);
        let rest = ["and ", "to "].iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
        let Some((number, rest)) = rest.strip_prefix('§').and_then(section_number) else { return found };
        found.push(number);
        text = rest;
    }
}

/// Returns the pages that a text cites, each with its sections. A citation may continue in the next line of a comment.
fn citations(text: &str) -> Vec<(String, Vec<String>)> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches('/').trim_start_matches('!').trim());
    let text = lines.collect::<Vec<_>>().join(" ");
    let cited = text.match_indices(PAGES).filter_map(|(at, _)| {
        let (name, rest) = text[at + PAGES.len()..].split_once(".md")?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| (name.to_owned(), sections(rest)))
    });
    cited.collect()
}

/// Returns the error in a citation; `None` if page and sections exist.
fn fault(pages: &BTreeMap<String, BTreeSet<String>>, name: &str, cited: &[String]) -> Option<String> {
    let Some(known) = pages.get(name) else { return Some(format!("there is no page {PAGES}{name}.md")) };
    let missing: Vec<&String> = cited.iter().filter(|section| !known.contains(*section)).collect();
    (!missing.is_empty()).then(|| format!("{PAGES}{name}.md has no section {missing:?}"))
}

#[test]
fn documentation_citations_are_parsed_from_comments() {
    let texts = |sections: &[&str]| sections.iter().map(|section| (*section).to_owned()).collect::<Vec<_>>();
    let wanted = |name: &str, sections: &[&str]| (name.to_owned(), texts(sections));
    assert_eq!(citations("//! Ratios (docs/formats/energon.md §9.1)."), [wanted("energon", &["9.1"])]);
    assert_eq!(citations("/// `docs/formats/bsade.md §2 to §6`"), [wanted("bsade", &["2", "6"])]);
    let two_lines = "//! (docs/formats/modalities.md §2,\n//! §4, docs/formats/nanosets.md\n//! §3 and §5).";
    assert_eq!(citations(two_lines), [wanted("modalities", &["2", "4"]), wanted("nanosets", &["3", "5"])]);
    assert_eq!(citations("See docs/formats/forager.md. §9 is of another text"), [wanted("forager", &[])]);
}

#[test]
fn missing_pages_and_sections_are_detected() {
    let pages = BTreeMap::from([("a".to_owned(), heading_numbers("# A\n## 1. B\n```\n## 2. C\n```\n### 1.1 D\n#3\n"))]);
    let sections = |numbers: &[&str]| numbers.iter().map(|number| (*number).to_owned()).collect::<Vec<_>>();
    assert_eq!(fault(&pages, "a", &sections(&["1", "1.1"])), None);
    assert!(fault(&pages, "a", &sections(&["1", "2"])).unwrap().contains("\"2\""));
    assert!(fault(&pages, "b", &[]).unwrap().contains("no page"));
}

#[test]
fn every_cited_section_of_a_format_page_exists() {
    let pages = pages();
    let (mut count, mut faults) = (0, Vec::new());
    for folder in ["src", "crates", "tests", "benches"] {
        for path in files_below(&root().join(folder), &["rs", "md"]) {
            let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap_or_default();
            for (name, cited) in citations(&text) {
                count += 1;
                faults.extend(fault(&pages, &name, &cited).map(|fault| format!("{}: {fault}", path.display())));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 100, "only {count} citations were found");
}

#[test]
fn every_section_that_a_format_page_mentions_exists() {
    let pages = pages();
    let mut faults = Vec::new();
    for own in pages.keys() {
        let text = std::fs::read_to_string(root().join(PAGES).join(format!("{own}.md"))).unwrap();
        for (at, _) in text.match_indices('§') {
            let Some((number, _)) = section_number(&text[at + '§'.len_utf8()..]) else { continue };
            // `nanosets.md` §8 and [nanosets.md](nanosets.md) §8 refer to that page, all other citations to this one.
            let before = text[..at].trim_end().trim_end_matches([')', '`']);
            let other = before.strip_suffix(".md").and_then(|text| text.rsplit(['(', '`', '/']).next());
            let name = other.unwrap_or(own);
            faults.extend(fault(&pages, name, &[number]).map(|fault| format!("{own}.md: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the targets of the links in a document, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose = without_code_blocks(text);
    // Every second piece is inside backticks.
    let plain: String = prose.split('`').step_by(2).collect();
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// Returns the file that a link names; `None` for positions in the same document and for other hosts.
fn linked_file(document: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['#', ' ']).next().unwrap_or_default();
    let is_relative = !path.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
    is_relative.then(|| document.parent().unwrap().join(path))
}

#[test]
fn links_are_read_outside_of_code() {
    let text = "[a](b.md#c) `x[.](y)` [d](#e)\n```\n[f](g.md)\n```\n![h](i/j.svg) [k](https://example.org/l.md)";
    let document = Path::new("docs/page.md");
    let files: Vec<PathBuf> = links(text).iter().filter_map(|target| linked_file(document, target)).collect();
    assert_eq!(files, [Path::new("docs/b.md"), Path::new("docs/i/j.svg")]);
}

#[test]
fn every_relative_link_of_the_documents_names_a_file() {
    let mut documents = files_below(&root().join("docs"), &["md"]);
    let others = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name));
    documents.extend(others.into_iter().filter(|path| path.exists()));
    let (mut count, mut missing) = (0, Vec::new());
    for document in &documents {
        for target in links(&std::fs::read_to_string(document).unwrap()) {
            let Some(file) = linked_file(document, &target) else { continue };
            count += 1;
            if !file.exists() {
                missing.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "links to files that do not exist:\n{}", missing.join("\n"));
    assert!(count > 10, "only {count} links were found");
}

/// Returns the code paths of a document, such as `tokens::pack::pipeline`, that begin with a crate or a module.
fn code_paths(text: &str) -> BTreeSet<&str> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c| !is_path(c)).map(|word| word.trim_end_matches(':'));
    words.filter(|word| word.split_once("::").is_some_and(|(first, _)| module(first).is_some())).collect()
}

/// Returns the file of a module, `a::b` or `a`, in the front ends, in `ops`, in `data` or in a crate called `a`.
fn module(path: &str) -> Option<PathBuf> {
    let (first, rest) = path.split_once("::").unwrap_or((path, ""));
    let below = |folder: PathBuf, path: &str| {
        let place = folder.join(path.replace("::", "/"));
        [place.with_extension("rs"), place.join("mod.rs"), place.join("lib.rs")].into_iter().find(|path| path.is_file())
    };
    let of_crate = || below(root().join("crates").join(first).join("src"), rest);
    let of_folder =
        || ["src", "crates/ops/src", "crates/data/src"].into_iter().find_map(|src| below(root().join(src), path));
    of_folder().or_else(of_crate)
}

#[test]
fn code_paths_in_the_documents_exist() {
    let mut found = 0;
    let mut wrong = Vec::new();
    for name in ["docs/ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for path in code_paths(&text).into_iter().filter(|path| !path.contains("COMMAND")) {
            found += 1;
            let (parent, item) = path.rsplit_once("::").unwrap();
            let is_item = || {
                let declaration =
                    regex::Regex::new(&format!(r"\b(fn|struct|enum|trait|use|type)\b.*\b{item}\b")).unwrap();
                module(parent).is_some_and(|file| declaration.is_match(&std::fs::read_to_string(file).unwrap()))
            };
            if module(path).is_none() && !is_item() {
                wrong.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(found > 15, "{found}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn identifiers_in_the_documents_exist() {
    let folders = ["src", "crates", "tests"];
    let sources = folders.iter().flat_map(|folder| files_below(&root().join(folder), &["rs"]));
    let sources: String = sources.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let words: BTreeSet<&str> = sources.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    // Types, functions with an underscore, and paths, in backticks or on the arrows of a diagram.
    let identifier =
        regex::Regex::new(r"[`─]([A-Z]\w*[a-z]\w*(?:::\w+)?|[a-z]+(?:_[a-z]+)+|\w+(?:::\w+)+)[`→]").unwrap();
    let mut found = 0;
    for name in ["docs/ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for path in identifier.captures_iter(&text).map(|found| found[1].to_owned()) {
            found += 1;
            for word in path.split("::") {
                assert!(words.contains(word), "{name}: {path}");
            }
        }
    }
    assert!(found > 100, "{found}");
}
