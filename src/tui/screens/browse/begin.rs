//! Moves the browser to its start location after the data set was opened or reopened: the sample of a key, or the subject of a problem,
//! once the scan has reached it.

use super::screen::{BrowseScreen, OpenStage};
use super::workers::{FindRequest, OpenRequest, Workers};
use super::BrowseStart;
use crate::tui::screen::Effect;
use crate::tui::widgets::{Level, Toast};
use gristmill_ops::engine::browse::{SubjectLocation, TokenView};

impl BrowseStart {
    /// Requests the start location from the workers.
    pub(super) fn search_start(&self, workers: &mut Workers) {
        match self {
            Self::Key(key) => workers.locator.submit(FindRequest::Key(key.clone())),
            Self::Subject(subject) => workers.locator.submit(FindRequest::Subject(subject.clone())),
            Self::First | Self::Number(_) => {}
        }
    }

    /// Returns the notice shown if there is no such sample.
    fn missing_reason(&self) -> String {
        match self {
            Self::Key(key) => format!("no sample has the key {key}"),
            Self::Subject(subject) => format!("{subject} is no longer in the data set"),
            Self::First | Self::Number(_) => String::new(),
        }
    }

    /// Returns the notice shown if the location is in no sample and a nearby sample is shown.
    fn distance_note(&self, place: &SubjectLocation) -> Option<String> {
        let Self::Subject(subject) = self else { return None };
        match place {
            SubjectLocation::Sample { .. } | SubjectLocation::Unknown => None,
            SubjectLocation::Near(_) => Some("the place is in no sample; this is the last one before it".to_owned()),
            SubjectLocation::Group(_) if subject.key.is_some() || subject.byte_offset.is_some() => {
                Some("the place is in no sample; this is the first one of its shard".to_owned())
            }
            SubjectLocation::Group(_) => {
                Some("the problem is about the whole of it; this is its first sample".to_owned())
            }
        }
    }
}

impl BrowseScreen {
    /// Opens and reads the data set again.
    pub(super) fn reload(&mut self) {
        self.start = self.state.at.map_or(BrowseStart::First, |at| BrowseStart::Number(self.state.groups.number(at)));
        self.stage = OpenStage::Opening;
        self.opener.submit(OpenRequest { path: self.path.clone(), view: self.view_of_tokens.clone(), at: None });
    }

    /// Shows packed tokens with another view, at the same place.
    pub(super) fn set_view(&mut self, view: TokenView) {
        let at = self.state.sample().map(|sample| (sample.at.group, sample.byte_offset));
        self.view_of_tokens = view;
        self.last_search = self.state.find.take().map(|find| find.text);
        self.start = BrowseStart::First;
        self.stage = OpenStage::Opening;
        self.opener.submit(OpenRequest { path: self.path.clone(), view: self.view_of_tokens.clone(), at });
    }

    /// Goes to the start location once a worker has found it.
    pub(super) fn gather_start(&mut self, effects: &mut Vec<Effect>) {
        let OpenStage::Open(catalog, workers) = &mut self.stage else { return };
        let place = match workers.locator.take() {
            None => return,
            Some(Ok(located)) if located.may_grow => return self.start.search_start(workers),
            Some(Ok(located)) => located.place,
            Some(Err(failure)) => {
                effects.push(Effect::failure(&failure));
                self.start = BrowseStart::First;
                return;
            }
        };
        let notice = match place.sample(&**catalog) {
            Some(at) => {
                self.state.go_to(at);
                self.start.distance_note(&place)
            }
            None => Some(self.start.missing_reason()),
        };
        effects.extend(notice.map(|words| Effect::Toast(Toast::new(Level::Warn, words))));
        self.start = BrowseStart::First;
    }
}
