//! Asks which entries are media.

use gristmill_core::text::{count, display_safe};
use gristmill_core::{MediaFilter, MediaPlan, Outcome};
use gristmill_data::formats::energon::media_json::to_json;
use gristmill_ops::engine::media::forecast;

impl super::Guide {
    /// Asks whether to record media metadata, if the names of entries suggest media.
    pub(super) fn media(&mut self) -> Outcome<()> {
        let facts = self.facts();
        let by_name = forecast(&facts, &MediaPlan { filter: MediaFilter::Extension, decode: false });
        if by_name.by_type.is_empty() {
            return Ok(());
        }
        let so_far = if facts.scan_complete { "" } else { " so far" };
        let kinds: Vec<_> =
            by_name.by_type.iter().map(|(name, _, n)| format!("{} ({n})", display_safe(name))).collect();
        self.prompt.print(format!("Pictures, sound and video by their names{so_far}: {}", kinds.join(", ")));
        loop {
            let ways = [
                "no".to_owned(),
                "by the ending of each name".to_owned(),
                "by the first bytes of each entry".to_owned(),
                "by shell patterns on the names".to_owned(),
            ];
            let question = "Record their sizes and durations, so that the loader does not have to read them?";
            let filter = match self.prompt.choose(question, &ways, 0)? {
                0 => return Ok(()),
                1 => MediaFilter::Extension,
                2 => MediaFilter::Header,
                _ => {
                    let patterns = self.prompt.text("Patterns, separated by commas (*.jpg,*.png)", None, false)?;
                    MediaFilter::Glob(
                        patterns.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect(),
                    )
                }
            };
            let question = "Decode every picture completely, to find damage after the header?";
            let plan = MediaPlan { filter, decode: self.prompt.confirm(question, false)? };
            let seen = forecast(&self.facts(), &plan);
            self.prompt.print(format!("{} would be described{so_far}.", count(seen.candidates, "part")));
            for (name, result) in &seen.probed {
                let shown = result.as_ref().map_or_else(Clone::clone, to_json);
                self.prompt.print(format!("  {}: {}", display_safe(name), display_safe(&shown)));
            }
            if self.prompt.confirm("Record these?", seen.candidates > 0)? {
                self.plan.media = Some(plan);
                return Ok(());
            }
        }
    }
}
