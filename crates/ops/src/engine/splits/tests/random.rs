//! After any edits, undoing restores the exact bytes, and the views match the text.

use super::*;

/// A small random number generator with a seed, so that a failure can be reproduced.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn shards(editor: &SplitEditor, dice: &mut RandomNumbers) -> Vec<Arc<str>> {
    let all = editor.shards();
    (0..1 + dice.below(3)).map(|_| Arc::clone(&all[dice.below(all.len())].0)).collect()
}

fn split(editor: &SplitEditor, dice: &mut RandomNumbers) -> Arc<str> {
    let all = editor.splits();
    all.get(dice.below(all.len())).map_or_else(|| "none".into(), |split| Arc::clone(&split.name))
}

fn random_edit(editor: &SplitEditor, dice: &mut RandomNumbers) -> Edit {
    let count = editor.excludes().len();
    let note =
        |dice: &mut RandomNumbers| [None, Some("why".to_owned()), Some("# 'x': y".to_owned())][dice.below(3)].clone();
    match dice.below(11) {
        0 => Edit::AddSplit { name: format!("new {}", dice.below(50)) },
        1 => Edit::RenameSplit { from: split(editor, dice), to: format!("x: {}", dice.below(50)) },
        2 => Edit::RemoveSplit { name: split(editor, dice) },
        3 | 4 => {
            let to = (dice.below(4) > 0).then(|| split(editor, dice));
            Edit::MoveShards { shards: shards(editor, dice), to }
        }
        5 | 6 => {
            let made = |_| {
                let shard = &shards(editor, dice)[0];
                let item = match dice.below(4) {
                    0 => ExcludeItem::shard(shard),
                    1 => ExcludeItem::written(format!("{shard}/n{{1..4}}")),
                    2 => ExcludeItem::sample(shard, "odd {c,d} #\\"),
                    _ => ExcludeItem::sample(shard, &format!("k{}", dice.below(9))),
                };
                item.with_note(note(dice))
            };
            Edit::Exclude { items: (0..3).map(made).collect() }
        }
        7 => {
            let shard = Arc::clone(&shards(editor, dice)[0]);
            let key = (dice.below(2) > 0).then(|| Arc::from(format!("n{}", 1 + dice.below(4))));
            Edit::Include { shard, key }
        }
        8 => Edit::RemoveItem { index: dice.below(count) },
        9 => Edit::SetNote { index: dice.below(count), note: note(dice) },
        _ => {
            let from = dice.below(count.max(1));
            let edits = (from..count.min(from + 3)).rev().map(|index| Edit::RemoveItem { index }).collect();
            Edit::Many { title: "remove some".into(), edits }
        }
    }
}

/// Returns the views without the marks for new splits and excludes and moved shards.
fn shown(editor: &SplitEditor) -> String {
    let view = |view: &SplitView| {
        let shards: Vec<_> = view.shards.iter().map(|s| (&s.name, s.id, s.samples, s.is_excluded, s.item)).collect();
        format!("{} {} {:.6} {shards:?}\n", view.name, view.samples, view.share)
    };
    let mut all: String = editor.splits().iter().chain([editor.loose()]).map(view).collect();
    for exclude in editor.excludes().iter() {
        let ExcludeView { item, note, names, matches, shards, .. } = exclude;
        all.push_str(&format!("{item} {note:?} {names:?} {matches:?} {shards:?}\n"));
    }
    all + &format!("{:?}", editor.totals())
}

fn rounds() -> u64 {
    std::env::var("GRISTMILL_SPLIT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn undo_of_random_edits_restores_the_exact_bytes() {
    let only = std::env::var("GRISTMILL_SPLIT_STYLE").unwrap_or_default();
    for entry in std::fs::read_dir("../../tests/golden/split_styles").unwrap() {
        let file = entry.unwrap().path();
        let style = file.file_stem().unwrap().to_string_lossy().into_owned();
        if !style.contains(&only) {
            continue;
        }
        let bytes = std::fs::read(&file).unwrap();
        let start = String::from_utf8(bytes).unwrap();
        for seed in 0..rounds() {
            let mut dice = RandomNumbers(seed * 7919 + 1);
            let mut editor = editor(&start);
            let mut texts = vec![start.clone()];
            for _ in 0..1 + dice.below(6) {
                let edit = random_edit(&editor, &mut dice);
                let before = editor.doc.text();
                let result = editor.apply(edit.clone());
                let now = editor.doc.text();
                let context =
                    format!("{style}, seed {seed}: {edit:?}: {result:?}\n--- before\n{before}\n--- after\n{now}");
                if texts.len() == editor.pending() + 1 {
                    assert_eq!(now, before, "nothing was to change: {context}");
                    continue;
                }
                editor.text().unwrap_or_else(|failure| panic!("{failure}: {context}"));
                assert_eq!(shown(&editor), shown(&super::editor(&now)), "{context}");
                texts.push(now);
            }
            let last = texts.last().cloned().unwrap();
            for wanted in texts.iter().rev().skip(1) {
                editor.undo().unwrap();
                assert_eq!(editor.doc.text(), *wanted, "{style}, seed {seed}");
                assert_eq!(shown(&editor), shown(&super::editor(wanted)), "{style}, seed {seed}");
            }
            assert_eq!(
                (editor.pending(), editor.text().unwrap()),
                (0, start.clone().into_bytes()),
                "{style}, seed {seed}"
            );
            while editor.redo().is_some() {}
            assert_eq!(editor.doc.text(), last, "{style}, seed {seed}: all of it again");
        }
    }
}
