//! The answers about media metadata: which entries, and how. Shared by the guided prepare and by the form of `prepare-media`.

use crate::tui::widgets::TextField;
use gristmill_core::text::shell_quote;
use gristmill_core::{DatasetFacts, MediaFilter, MediaPlan, MediaType};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// How entries that are media are recognized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// None: no media metadata are recorded.
    #[default]
    None,
    /// Media are recognized by the extension of the name.
    Extension,
    /// Media are recognized by the first bytes.
    Header,
    /// Media are recognized by shell patterns for the name.
    Glob,
}

impl Strategy {
    /// All values, in the order of the list.
    pub const ALL: [Self; 4] = [Self::None, Self::Extension, Self::Header, Self::Glob];

    /// Returns the label of the strategy.
    pub fn label(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Extension => "by extension",
            Self::Header => "by header",
            Self::Glob => "by glob",
        }
    }

    /// Returns the description of the strategy.
    pub fn note(self) -> &'static str {
        match self {
            Self::None => "nothing is recorded",
            Self::Extension => "by file extension: jpg, mp4, wav",
            Self::Header => "by the first bytes of each entry",
            Self::Glob => "shell patterns: *.jpg,front/*.png",
        }
    }
}

/// Whether a key types a character.
pub fn is_typed(key: &KeyEvent) -> bool {
    let command = KeyModifiers::CONTROL | KeyModifiers::ALT;
    matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(command)
}

/// Answers about media.
#[derive(Clone, Debug, Default)]
pub struct MediaForm {
    /// How media are recognized.
    pub strategy: Strategy,
    /// Shell patterns, separated by commas.
    pub patterns: TextField,
    /// Whether each picture is decoded completely.
    pub decode: bool,
}

impl MediaForm {
    /// Returns the typed patterns.
    pub fn globs(&self) -> Vec<String> {
        self.patterns.value().split(',').map(str::trim).filter(|p| !p.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the answers as a plan; `None` if nothing is to be recorded, or if no pattern has been typed.
    pub fn plan(&self) -> Option<MediaPlan> {
        let filter = match self.strategy {
            Strategy::None => return None,
            Strategy::Extension => MediaFilter::Extension,
            Strategy::Header => MediaFilter::Header,
            Strategy::Glob => MediaFilter::Glob(Some(self.globs()).filter(|g| !g.is_empty())?),
        };
        Some(MediaPlan { filter, decode: self.decode })
    }

    /// Sets the answers to those of a plan.
    pub fn adopt(&mut self, plan: Option<&MediaPlan>) {
        self.strategy = match plan.map(|p| &p.filter) {
            None => Strategy::None,
            Some(MediaFilter::Extension) => Strategy::Extension,
            Some(MediaFilter::Header) => Strategy::Header,
            Some(MediaFilter::Glob(patterns)) => {
                self.patterns.set(&patterns.join(","));
                Strategy::Glob
            }
        };
        self.decode = plan.is_some_and(|p| p.decode);
    }

    /// Moves to the strategy below or above; returns `false` at the ends of the list.
    pub fn step(&mut self, down: bool, first: Strategy) -> bool {
        let options: Vec<Strategy> = Strategy::ALL.into_iter().skip_while(|s| *s != first).collect();
        let at = options.iter().position(|s| *s == self.strategy).unwrap_or(0);
        let next = if down { at.checked_add(1) } else { at.checked_sub(1) };
        match next.and_then(|n| options.get(n)) {
            Some(strategy) => {
                self.strategy = *strategy;
                true
            }
            None => false,
        }
    }

    /// Returns the equivalent flags; empty if nothing is to be recorded.
    pub fn flags(&self) -> String {
        let strategy = match self.strategy {
            Strategy::None => return String::new(),
            Strategy::Extension => "--media-metadata-by-extension".to_owned(),
            Strategy::Header => "--media-metadata-by-header".to_owned(),
            Strategy::Glob => format!("--media-metadata-by-glob {}", shell_quote(&self.globs().join(","))),
        };
        if self.decode {
            format!("{strategy} --decode")
        } else {
            strategy
        }
    }

    /// Returns why the answers cannot be used.
    pub fn blocking_reason(&self) -> Option<String> {
        let nothing = self.strategy == Strategy::Glob && self.globs().is_empty();
        nothing.then(|| "by glob needs a pattern, such as *.jpg,*.png".to_owned())
    }
}

/// A part whose name has the extension of a media type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaPart {
    /// Name of the part.
    pub name: String,
    /// Media type of the part.
    pub media_type: MediaType,
    /// Number of samples that have the part.
    pub samples: u64,
}

/// Returns the parts whose names have the extension of a media type, the most frequent first.
pub fn media_parts(facts: &DatasetFacts) -> Vec<MediaPart> {
    let mut parts: Vec<MediaPart> = facts
        .parts
        .iter()
        .filter_map(|(name, part)| {
            // The extension of an entry is the last component of its part: `view.front.jpg`.
            let media_type = gristmill_media::kind::type_by_extension(&format!("k.{name}"))?;
            Some(MediaPart { name: name.clone(), media_type, samples: part.samples })
        })
        .collect();
    parts.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::{DatasetKind, PartFacts};

    #[test]
    fn media_form_converts_to_plan_and_back() {
        let mut form = MediaForm::default();
        assert_eq!((form.plan(), form.flags().as_str()), (None, ""));
        assert!(form.step(true, Strategy::None) && form.step(true, Strategy::None) && form.step(true, Strategy::None));
        assert_eq!(form.strategy, Strategy::Glob);
        assert!(!form.step(true, Strategy::None), "there is nothing below");
        assert!(form.plan().is_none() && form.blocking_reason().is_some(), "a pattern is needed");
        form.patterns.set(" *.jpg, a/*.png ,");
        form.decode = true;
        let plan = form.plan().unwrap();
        assert_eq!(plan.filter, MediaFilter::Glob(vec!["*.jpg".into(), "a/*.png".into()]));
        assert_eq!(form.flags(), "--media-metadata-by-glob '*.jpg,a/*.png' --decode");
        let mut other = MediaForm::default();
        other.adopt(Some(&plan));
        assert_eq!(other.plan(), Some(plan));
        other.adopt(None);
        assert_eq!(other.plan(), None);
    }

    #[test]
    fn media_form_without_none_option_starts_at_extension() {
        let mut form = MediaForm { strategy: Strategy::Extension, ..MediaForm::default() };
        assert!(!form.step(false, Strategy::Extension));
        assert_eq!(form.strategy, Strategy::Extension);
    }

    #[test]
    fn media_parts_are_recognized_by_suffix() {
        let mut facts = DatasetFacts::new("d".into(), DatasetKind::RawWebDataset);
        for (name, samples) in [("txt", 9), ("jpg", 5), ("front.MP4", 7), ("png", 5), ("json", 9)] {
            facts.parts.insert(name.into(), PartFacts { samples, bytes: 1 });
        }
        let found: Vec<String> = media_parts(&facts).into_iter().map(|p| p.name).collect();
        assert_eq!(found, ["front.MP4", "jpg", "png"]);
    }
}
