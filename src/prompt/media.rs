//! How media are picked, asked by plain prompts.

use super::ask::Ask;
use gristmill_core::text::{count, display_safe};
use gristmill_core::{Cancel, MediaFilter, MediaPlan, Outcome, PrepareMediaPlan, RunOptions};
use gristmill_ops::engine::media::outlook;
use gristmill_ops::formats::energon::media_json::to_json;
use gristmill_ops::job::media::preview;
use gristmill_ops::operations::{erase, PrepareMedia};

/// Asks how the media of a data set or folder are picked, and shows what that means; `None` when the person leaves it.
pub fn media(plan: &PrepareMediaPlan, options: &RunOptions) -> Outcome<Option<PrepareMediaPlan>> {
    let ask = Ask::new()?;
    let mut plan = plan.clone();
    loop {
        let ways = [
            "by the ending of each name",
            "by the first bytes of each entry",
            "by shell patterns on the names",
            "leave, write nothing",
        ];
        let ways = ways.map(str::to_owned);
        plan.media.filter = match ask.choose("How are pictures, sound and video recognized?", &ways, 0)? {
            0 => MediaFilter::Extension,
            1 => MediaFilter::Header,
            2 => {
                let patterns = ask.text("Patterns, separated by commas (*.jpg,*.png)", None, false)?;
                MediaFilter::Glob(patterns.split(',').map(str::to_owned).collect())
            }
            _ => return Ok(None),
        };
        plan.media.decode =
            ask.yes("Check every picture whole, to find damage after a good header?", plan.media.decode)?;
        if !show(&ask, &plan, options)? {
            continue;
        }
        let choices = ["write it", "choose again", "leave, write nothing"].map(str::to_owned);
        match ask.choose("What now?", &choices, 0)? {
            0 => return Ok(Some(plan)),
            1 => {}
            _ => return Ok(None),
        }
    }
}

impl super::Guide {
    /// Asks whether the guided prepare records media too; only where there are any by their names.
    pub(super) fn media(&mut self) -> Outcome<()> {
        let facts = self.facts();
        let by_name = outlook(&facts, &MediaPlan { filter: MediaFilter::Extension, decode: false });
        if by_name.by_type.is_empty() {
            return Ok(());
        }
        let so_far = if facts.scan_complete { "" } else { " so far" };
        let kinds: Vec<_> =
            by_name.by_type.iter().map(|(name, _, n)| format!("{} ({n})", display_safe(name))).collect();
        self.ask.tell(format!("Pictures, sound and video by their names{so_far}: {}", kinds.join(", ")));
        loop {
            let ways = [
                "no".to_owned(),
                "by the ending of each name".to_owned(),
                "by the first bytes of each entry".to_owned(),
                "by shell patterns on the names".to_owned(),
            ];
            let question = "Record their sizes and durations, for the loader to know without a read?";
            let filter = match self.ask.choose(question, &ways, 0)? {
                0 => return Ok(()),
                1 => MediaFilter::Extension,
                2 => MediaFilter::Header,
                _ => {
                    let patterns = self.ask.text("Patterns, separated by commas (*.jpg,*.png)", None, false)?;
                    MediaFilter::Glob(
                        patterns.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect(),
                    )
                }
            };
            let question = "Check every picture whole, to find damage after a good header?";
            let plan = MediaPlan { filter, decode: self.ask.yes(question, false)? };
            let seen = outlook(&self.facts(), &plan);
            self.ask.tell(format!("{} would be looked at{so_far}.", count(seen.candidates, "part")));
            for (name, result) in &seen.probed {
                let told = result.as_ref().map_or_else(Clone::clone, to_json);
                self.ask.tell(format!("  {}: {}", display_safe(name), display_safe(&told)));
            }
            if self.ask.yes("Record these?", seen.candidates > 0)? {
                self.plan.media = Some(plan);
                return Ok(());
            }
        }
    }
}

/// `false` when something stands in the way.
fn show(ask: &Ask, plan: &PrepareMediaPlan, options: &RunOptions) -> Outcome<bool> {
    let preview = match preview(plan, options, &Cancel::default()) {
        Ok(preview) => preview,
        Err(failure) if failure.class == gristmill_core::ExitClass::Data => {
            ask.tell(format!("Not possible: {failure}"));
            return Ok(false);
        }
        Err(failure) => return Err(failure),
    };
    ask.tell(format!("{} would be looked at.", count(preview.outlook.candidates, "file or part")));
    for (name, _, entries) in &preview.outlook.by_type {
        ask.tell(format!("  {}: {entries}", display_safe(name)));
    }
    for (name, result) in &preview.outlook.probed {
        let told = result.as_ref().map_or_else(Clone::clone, to_json);
        ask.tell(format!("  {}: {}", display_safe(name), display_safe(&told)));
    }
    for problem in preview.problems.iter().take(10) {
        ask.tell(format!("Note: {problem}"));
    }
    ask.tell(format!("The same by flags: {}", erase::<PrepareMedia>(plan.clone()).command_line().text()));
    Ok(true)
}
