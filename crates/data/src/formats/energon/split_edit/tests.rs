//! Tests that edits preserve handwritten texts.

use super::*;
use crate::formats::energon::split_yaml::SplitFile;

/// Returns all fixtures of a folder by name.
fn fixtures(folder: &str) -> Vec<(String, String)> {
    let folder = std::path::Path::new("../../tests/golden").join(folder);
    let mut all: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, String::from_utf8(std::fs::read(&path).unwrap()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// Returns the fixtures that the loader reads.
fn styles() -> Vec<(String, String)> {
    fixtures("split_styles")
}

#[test]
fn split_yaml_with_several_documents_is_refused() {
    let refused = fixtures("split_refused");
    assert_eq!(refused.len(), 3);
    for (name, text) in refused {
        let error = SplitDoc::parse(&text).unwrap_err();
        assert!(error.message.contains("`---`") && error.hint.is_some() && error.line.is_some(), "{name}: {error}");
    }
}

#[test]
fn every_split_yaml_style_is_parsed_and_written_back_unchanged() {
    let styles = styles();
    assert!(styles.len() >= 60, "{}", styles.len());
    for (name, text) in styles {
        match SplitDoc::parse(&text) {
            Ok(doc) => assert_eq!(doc.text(), text, "{name}"),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// A small random number generator, so that a failure can be reproduced.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Returns the values of a text, with missing and null values as empty lists.
fn model(doc: &SplitDoc) -> SplitFile {
    let texts = |items: &SharedList<Item>| items.iter().map(|item| item.value().to_string()).collect();
    SplitFile {
        split_parts: doc.splits().iter().map(|split| (split.name().to_string(), texts(split.items()))).collect(),
        exclude: texts(doc.excludes()),
        ..SplitFile::default()
    }
}

const VALUES: &[&str] = &[
    "s_9.tar",
    "new_{3..7}.tar",
    "08",
    "null",
    "a: b",
    "x #y",
    "it's",
    "- z",
    "\u{e9}t\u{e9}.tar",
    "a,b",
    "[x]",
    "{a,b}",
    "tail ",
    "a\tb",
    "q\"q",
    "\\{1\\}",
    "*a",
    "1e3",
    "~",
    "yes",
    "12:30:45",
    "a very long name with spaces that goes on and on well beyond the eighty columns of a line",
];

fn new_item(dice: &mut RandomNumbers) -> NewItem {
    let note = (dice.below(3) == 0).then(|| Arc::from(["why", "gr\u{fc}n: 'x' \"y\"", "# twice"][dice.below(3)]));
    NewItem { value: VALUES[dice.below(VALUES.len())].into(), note }
}

/// Applies one random change to the text and to its expected values; returns a description of the change.
fn random_edit(doc: &mut SplitDoc, model: &mut SplitFile, dice: &mut RandomNumbers) -> String {
    match dice.below(10) {
        0 => {
            let name = format!("new {}", dice.below(1000));
            if model.split_parts.iter().any(|(other, _)| *other == name) {
                return String::new();
            }
            doc.add_split(&name);
            model.split_parts.push((name.clone(), Vec::new()));
            format!("add {name}")
        }
        1 if !model.split_parts.is_empty() => {
            let index = dice.below(model.split_parts.len());
            doc.remove_split(index);
            let gone = model.split_parts.remove(index);
            format!("remove {}", gone.0)
        }
        2 if !model.split_parts.is_empty() => {
            let index = dice.below(model.split_parts.len());
            let name = format!("{} {}", ["x: y", "no", "10", "dev", "\u{fc}"][dice.below(5)], dice.below(1000));
            doc.rename_split(index, &name);
            model.split_parts[index].0 = name.clone();
            format!("rename {index} to {name}")
        }
        3 if !model.exclude.is_empty() => {
            let index = dice.below(model.exclude.len());
            let note = (dice.below(3) > 0).then_some("a note: #1");
            doc.set_note(index, note);
            format!("note {index} {note:?}")
        }
        _ => {
            let splits = model.split_parts.len();
            let which = dice.below(splits + 2);
            let list = if which < splits { List::Split(which) } else { List::Exclude };
            let items = if which < splits { &mut model.split_parts[which].1 } else { &mut model.exclude };
            let mut changes = Vec::new();
            let mut at = 0;
            while at <= items.len() && changes.len() < 4 {
                at += dice.below(4);
                if at > items.len() {
                    break;
                }
                let removed = dice.below(3).min(items.len() - at);
                let inserted: Vec<NewItem> = (0..dice.below(3)).map(|_| new_item(dice)).collect();
                let step = removed.max(1);
                if removed + inserted.len() > 0 {
                    changes.push(ListEdit { at, removed, inserted });
                }
                at += step;
            }
            let words = format!("{list:?} {changes:?}");
            for change in changes.iter().rev() {
                let values = change.inserted.iter().map(|new| new.value.to_string());
                items.splice(change.at..change.at + change.removed, values.collect::<Vec<_>>());
            }
            doc.change(list, changes);
            words
        }
    }
}

fn rounds() -> u64 {
    std::env::var("GRISTMILL_SPLIT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

#[test]
fn random_edits_of_every_split_yaml_style_have_the_intended_effect() {
    let only = std::env::var("GRISTMILL_SPLIT_STYLE").unwrap_or_default();
    for (name, text) in styles().into_iter().filter(|(name, _)| name.contains(&only)) {
        for seed in 0..rounds() {
            let mut dice = RandomNumbers(seed * 7919 + 1);
            let mut doc = SplitDoc::parse(&text).unwrap();
            let mut wanted = model(&doc);
            let mut story = Vec::new();
            for _ in 0..1 + dice.below(5) {
                let before = doc.text();
                story.push(random_edit(&mut doc, &mut wanted, &mut dice));
                if doc.text() == text {
                    continue;
                }
                let now = doc.text();
                let context =
                    format!("{name}, seed {seed}: {:#?}\n--- before\n{before}\n--- after\n{now}", story.last());
                let read = SplitFile::parse(now.strip_prefix('\u{feff}').unwrap_or(&now));
                assert_eq!(read.as_ref(), Ok(&wanted), "{context}");
                let again = SplitDoc::parse(&now).unwrap_or_else(|error| panic!("{error}: {context}"));
                assert_eq!(model(&again), wanted, "{context}");
            }
        }
    }
}

/// Returns the text around one list in pieces, without the brackets of that list.
fn pieces_around(doc: &SplitDoc, list: List) -> Vec<String> {
    let whole = |list: &ListText| {
        let mut out = String::new();
        list.push_to(&mut out);
        out
    };
    let mut pieces = vec![doc.before_splits.to_string(), doc.splits.intro.to_string(), doc.splits.close.to_string()];
    for (index, entry) in doc.splits.entries.iter().enumerate() {
        pieces.extend([entry.lead.to_string(), entry.key.to_string(), entry.tail.to_string()]);
        pieces.extend((list != List::Split(index)).then(|| whole(&entry.list)));
    }
    pieces.push(doc.before_exclude.to_string());
    pieces.extend(doc.exclude.as_ref().filter(|_| list != List::Exclude).map(whole));
    pieces.push(doc.tail.to_string());
    pieces
}

fn list_text(doc: &SplitDoc, list: List) -> Option<&ListText> {
    match list {
        List::Split(index) => doc.splits.entries.get(index).map(|entry| &entry.list),
        List::Exclude => doc.exclude.as_ref(),
    }
}

/// Returns the text of an item without the bytes that a change of a neighbour may add or remove: comment lines above, its comma, the end of
/// its line.
fn core(item: &Item) -> String {
    let tail = item.text.get(item.end as usize..).unwrap();
    let comma = list::skip(tail, 0);
    let tail = match tail.get(comma..).unwrap().strip_prefix(',') {
        Some(rest) => format!("{}{rest}", &tail[..comma]),
        None => tail.to_owned(),
    };
    format!("{}{}", item.text.get(item.start as usize..item.end as usize).unwrap(), tail.trim_end_matches(['\r', '\n']))
}

#[test]
fn a_change_of_a_list_leaves_every_byte_outside_of_its_items_as_it_is() {
    let only = std::env::var("GRISTMILL_SPLIT_STYLE").unwrap_or_default();
    let mut looked_at = 0;
    for (name, text) in styles().into_iter().filter(|(name, _)| name.contains(&only)) {
        let start = SplitDoc::parse(&text).unwrap();
        for seed in 0..rounds() {
            let mut dice = RandomNumbers(seed * 104_729 + 7);
            let which = dice.below(start.splits().len() + 1);
            let list = if which < start.splits().len() { List::Split(which) } else { List::Exclude };
            // Other tests cover null, which becomes `[]`, and missing lists, which are added.
            let Some(old) = list_text(&start, list).filter(|_| !start.has_nothing()) else { continue };
            let length = old.items.len();
            let at = dice.below(length + 1);
            let removed = dice.below(3).min(length - at);
            let inserted: Vec<NewItem> = (0..dice.below(3)).map(|_| new_item(&mut dice)).collect();
            let added = inserted.len();
            if removed + added == 0 {
                continue;
            }
            let mut doc = start.clone();
            doc.change(list, vec![ListEdit { at, removed, inserted }]);
            let context =
                format!("{name}, seed {seed}, {list:?} at {at}: -{removed} +{added}\n{text}\n---\n{}", doc.text());
            assert_eq!(pieces_around(&doc, list), pieces_around(&start, list), "{context}");
            let new = list_text(&doc, list).unwrap();
            let kept_old = old.items.range(0, at).chain(old.items.range(at + removed, length));
            let kept_new = new.items.range(0, at).chain(new.items.range(at + added, new.items.len()));
            for (place, (before, after)) in kept_old.zip(kept_new).enumerate() {
                looked_at += 1;
                let is_adjacent = place + 1 >= at && place <= at || place + 1 == length - removed;
                if before.text == after.text {
                    continue;
                }
                assert!(is_adjacent, "{place} is not next to the change: {context}");
                assert_eq!(core(before), core(after), "{context}");
                let (lead, now) = (before.lead(), after.lead());
                let is_first = place == 0 && now.trim().is_empty() && lead.trim().is_empty();
                assert!(is_first || now.ends_with(lead), "{now:?} for {lead:?}: {context}");
            }
            let is_filled = length > 0 && !new.items.is_empty();
            if is_filled && old.intro.ends_with('\n') {
                assert_eq!((&old.intro, &old.open, old.form), (&new.intro, &new.open, new.form), "{context}");
                // Text above the last item may remain after it.
                assert!(new.close.ends_with(&*old.close), "{context}");
            }
            if is_filled && old.form == Form::Flow {
                assert_eq!((&old.intro, &old.open, &old.close), (&new.intro, &new.open, &new.close), "{context}");
            }
            assert_eq!(start.text(), text, "the text it was made from is untouched");
        }
    }
    assert!(looked_at > 1_000 || !only.is_empty(), "only {looked_at} items were looked at");
}

/// Returns the lines of `old` that are not in `new` in the same order.
fn lost_lines<'t>(old: &'t str, new: &str) -> Vec<&'t str> {
    let mut rest = new.lines();
    let mut lost = Vec::new();
    for line in old.lines() {
        let here = rest.clone();
        if !rest.any(|other| other == line) {
            lost.push(line);
            rest = here;
        }
    }
    lost
}

#[test]
fn an_exclude_added_or_removed_leaves_all_other_lines_as_they_are() {
    for (name, text) in styles() {
        let doc = SplitDoc::parse(&text).unwrap();
        if name.contains("flow")
            || name.contains("json")
            || doc.has_nothing()
            || name.starts_with("explicit")
            || name.starts_with("value")
        {
            continue;
        }
        let mut added = doc.clone();
        let new = NewItem { value: "s_5.tar/new".into(), note: Some("because".into()) };
        added.change(List::Exclude, vec![ListEdit { at: doc.excludes().len(), removed: 0, inserted: vec![new] }]);
        let lost = lost_lines(&text, &added.text());
        let is_key = |line: &str| line.contains("exclude") && line.contains('[');
        assert!(lost.iter().all(|line| is_key(line)), "{name}: {lost:?}\n{}", added.text());
        for (at, item) in doc.excludes().iter().enumerate() {
            let mut removed = doc.clone();
            removed.change(List::Exclude, vec![ListEdit { at, removed: 1, inserted: Vec::new() }]);
            for line in lost_lines(&text, &removed.text()) {
                let own = item.text.lines().any(|own| own == line);
                let key = doc.excludes().len() == 1 && line.contains("exclude");
                assert!(own || key, "{name}, item {at}: {line:?}\n{}", removed.text());
            }
        }
    }
}

#[test]
fn edits_keep_crlf_line_ends() {
    for (name, text) in styles().into_iter().filter(|(name, _)| name.contains("crlf")) {
        let mut doc = SplitDoc::parse(&text).unwrap();
        let new = NewItem { value: "s_5.tar/new".into(), note: Some("why".into()) };
        doc.change(List::Exclude, vec![ListEdit { at: 1, removed: 1, inserted: vec![new.clone(), new.clone()] }]);
        doc.change(List::Split(1), vec![ListEdit { at: 0, removed: 1, inserted: Vec::new() }]);
        doc.change(List::Split(1), vec![ListEdit { at: 0, removed: 0, inserted: vec![new] }]);
        doc.add_split("more");
        doc.set_note(0, Some("x"));
        let now = doc.text();
        assert_eq!(now.matches('\n').count(), now.matches("\r\n").count(), "{name}: {now:?}");
        assert_eq!(now.ends_with('\n'), text.ends_with('\n'), "{name}");
    }
}

fn exclude_edit(text: &str, change: ListEdit<NewItem>) -> String {
    let mut doc = SplitDoc::parse(text).unwrap();
    doc.change(List::Exclude, vec![change]);
    doc.text()
}

#[test]
fn group_heading_is_removed_with_the_last_item_of_its_group() {
    let text = "split_parts: {}\nexclude:\n# group\n- a\n- b\n# single\n- c\n\n# apart\n\n- d\n";
    let gone = |at, removed| exclude_edit(text, ListEdit { at, removed, inserted: Vec::new() });
    assert_eq!(gone(0, 1), text.replace("- a\n", ""));
    assert_eq!(gone(0, 2), text.replace("# group\n- a\n- b\n", ""));
    assert_eq!(gone(2, 1), text.replace("# single\n- c\n", ""));
    assert_eq!(gone(3, 1), text.replace("- d\n", ""));
    assert_eq!(gone(0, 4), "split_parts: {}\nexclude: []\n\n# apart\n\n");
}

#[test]
fn notes_are_the_comment_of_the_line_or_the_lines_above() {
    let (_, text) = styles().into_iter().find(|(name, _)| name == "notes").unwrap();
    let mut doc = SplitDoc::parse(&text).unwrap();
    let notes: Vec<Option<&str>> = doc.excludes().iter().map(|item| item.note().map(AsRef::as_ref)).collect();
    assert_eq!(notes, [Some("first look"), None, Some("blurred (3 Nov)"), Some("two lines"), Some("tight")]);
    doc.set_note(2, Some("sharp"));
    doc.set_note(3, Some("one"));
    doc.set_note(1, Some("new"));
    doc.set_note(4, None);
    let wanted = text.replace("blurred (3 Nov)", "sharp").replace("# two\n# lines", "# one");
    let wanted = wanted.replace("/b\n", "/b  # new\n").replace("   #tight", "");
    assert_eq!(doc.text(), wanted);
}
