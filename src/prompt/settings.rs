//! All settings of a plan, changed one by one: the rows of the full screen as a numbered list.

use super::ask::Ask;
use gristmill_core::Outcome;
use gristmill_ops::engine::plan::setting::{Kind, Setting};

/// The answer that clears a setting.
const EMPTY: &str = "-";

/// The settings that can be changed now.
fn offered<S: Setting>(plan: &S::Plan) -> Vec<S> {
    let is_asked = |setting: &S| setting.kind() != Kind::Page && !setting.is_second_way() && setting.is_there(plan);
    S::ALL.iter().copied().filter(is_asked).collect()
}

/// Asks for settings until no more are to be changed.
pub(super) fn change<S: Setting>(ask: &Ask, plan: &mut S::Plan) -> Outcome<()> {
    ask.tell(format!("A single {EMPTY} clears an answer that is typed."));
    loop {
        let settings: Vec<S> = offered(plan);
        let lines = settings.iter().map(|setting| format!("{}: {}", name(*setting), shown(*setting, plan)));
        let lines: Vec<String> = lines.chain(["no more".to_owned()]).collect();
        let chosen = ask.choose("Which setting?", &lines, settings.len())?;
        match settings.get(chosen) {
            Some(setting) => ask_one(ask, *setting, plan)?,
            None => return Ok(()),
        }
    }
}

fn name<S: Setting>(setting: S) -> String {
    match setting.group() {
        Some(group) => format!("{group}, {}", setting.label()),
        None => setting.label().to_owned(),
    }
}

/// The answer as it is now.
fn shown<S: Setting>(setting: S, plan: &S::Plan) -> String {
    match setting.kind() {
        Kind::Switch => format!("{} ({})", if setting.is_on(plan) { "on" } else { "off" }, setting.note()),
        Kind::Choice => {
            let (choices, chosen) = setting.choices(plan);
            choices.get(chosen).map(line_of).unwrap_or_default()
        }
        Kind::Text | Kind::List | Kind::Page => match setting.words(plan) {
            words if words.is_empty() => setting.note().to_owned(),
            words => words,
        },
    }
}

fn line_of((words, meaning): &(String, &'static str)) -> String {
    match *meaning {
        "" => words.clone(),
        meaning => format!("{words}: {meaning}"),
    }
}

fn ask_one<S: Setting>(ask: &Ask, setting: S, plan: &mut S::Plan) -> Outcome<()> {
    match setting.kind() {
        Kind::Switch => {
            let on = ask.yes(&format!("{}: {}", name(setting), setting.note()), setting.is_on(plan))?;
            if on != setting.is_on(plan) {
                setting.switch(plan, on);
            }
        }
        Kind::Choice => {
            let (choices, chosen) = setting.choices(plan);
            let lines: Vec<String> = choices.iter().map(line_of).collect();
            let number = ask.choose(&name(setting), &lines, chosen)?;
            setting.choose(plan, number);
        }
        Kind::Text | Kind::List | Kind::Page => {
            let question = format!("{} ({})", name(setting), setting.note());
            let now = setting.words(plan);
            let answer = ask.text(&question, Some(now.as_str()).filter(|now| !now.is_empty()), true)?;
            let words = if answer == EMPTY { "" } else { answer.as_str() };
            if let Err(why) = setting.set(plan, words) {
                ask.tell(format!("Not possible: {why}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{DedupPlan, PackPlan};
    use gristmill_ops::engine::plan::dedup::DedupSetting;
    use gristmill_ops::engine::plan::pack::PackSetting;
    use std::fmt::Debug;

    /// Every setting is in the list of some plan, unless another takes its answer; and an answer changes the plan and comes back.
    fn check_all<S: Setting>(plan: S::Plan, second: &[S])
    where
        S::Plan: Clone + PartialEq + Debug,
    {
        let settings: Vec<S> = offered(&plan);
        for setting in S::ALL {
            if setting.kind() == Kind::Page {
                continue;
            }
            assert_eq!(setting.is_second_way(), second.contains(setting), "{setting:?}");
            assert_eq!(settings.contains(setting), !second.contains(setting), "{setting:?}");
        }
        for setting in settings {
            let mut changed = plan.clone();
            match setting.kind() {
                Kind::Switch => {
                    let on = setting.is_on(&plan);
                    setting.switch(&mut changed, !on);
                    assert_eq!(setting.is_on(&changed), !on, "{setting:?}");
                }
                Kind::Choice => {
                    let (choices, chosen) = setting.choices(&plan);
                    let other = (chosen + 1) % choices.len();
                    setting.choose(&mut changed, other);
                    assert_eq!(setting.choices(&changed).1, other, "{setting:?}");
                }
                _ => {
                    setting.set(&mut changed, "17").unwrap();
                    assert_eq!(setting.words(&changed), "17", "{setting:?}");
                }
            }
            assert_ne!(changed, plan, "{setting:?}");
        }
    }

    #[test]
    fn every_setting_of_a_pack_can_be_given() {
        let mut plan = PackPlan { compat: true, ..PackPlan::new(vec!["a.jsonl".into()], "t.json", "out") };
        for format in [PackSetting::Modalities, PackSetting::Nanosets, PackSetting::Forager, PackSetting::ForagerMasks]
        {
            format.switch(&mut plan, true);
        }
        PackSetting::PadTo.set(&mut plan, "9").unwrap();
        check_all(plan, &[PackSetting::Jq, PackSetting::Found]);
    }

    #[test]
    fn a_program_is_given_in_place_of_the_key_of_the_text() {
        let mut plan = PackPlan::new(vec!["a.jsonl".into()], "t.json", "out");
        PackSetting::Keys.set(&mut plan, ".a.b").unwrap();
        assert!(PackSetting::Jq.is_there(&plan));
        assert_eq!((PackSetting::Jq.words(&plan), PackSetting::Keys.words(&plan)), (".a.b".into(), ".a.b".into()));
    }

    #[test]
    fn every_setting_of_a_dedup_can_be_given() {
        let mut plan = DedupPlan::new("in", "out");
        DedupSetting::Mode.choose(&mut plan, 1);
        check_all(plan, &[DedupSetting::Own]);
    }
}
