//! Applies the results of the workers to the browser.

use super::super::detail::DetailBody;
use super::super::listing::Listing;
use super::super::state::Search;
use super::super::workers::OpenedCatalog;
use super::super::BrowseStart;
use super::{BrowseScreen, OpenStage};
use crate::tui::screen::Effect;
use crate::tui::widgets::{Level, Scroll, Toast};
use gristmill_core::text::{count_verb, grouped};
use gristmill_core::Outcome;
use std::sync::Arc;

impl BrowseScreen {
    /// Applies the results of the workers. Returns whether the screen must be redrawn.
    pub(super) fn gather(&mut self, effects: &mut Vec<Effect>) -> bool {
        let opened = self.opener.take();
        let mut changed = opened.is_some();
        if let Some(opened) = opened {
            self.gather_opened(opened);
        }
        if self.workers().is_none() {
            return changed;
        }
        changed |= self.gather_rows();
        changed |= self.gather_filter_matches();
        changed |= self.gather_problems(effects);
        changed |= self.gather_detail(effects);
        changed |= self.leads.gather();
        changed |= self.gather_edits(effects);
        changed |= self.take_exports(effects);
        changed |= self.gather_marked(effects);
        changed |= self.gather_key_list(effects) | self.mounter.gather(&self.env, effects);
        if let Some(encoded) = self.encoder.take() {
            self.pixels.insert(encoded);
            changed = true;
        }
        changed |= self.gather_found(effects);
        self.gather_start(effects);
        self.report_missing_number(effects);
        changed |= self.merge_known_problems();
        self.update_problem_list();
        self.request_data();
        changed
    }

    fn gather_opened(&mut self, opened: Outcome<OpenedCatalog>) {
        match opened {
            Ok(OpenedCatalog { catalog, at }) => {
                if let Some(at) = at {
                    self.start = BrowseStart::Number(catalog.groups().number(at));
                }
                self.opened(catalog);
            }
            Err(failure) => self.stage = OpenStage::Failed(failure),
        }
    }

    /// Applies new groups and fetched rows.
    fn gather_rows(&mut self) -> bool {
        let OpenStage::Open(catalog, workers) = &mut self.stage else { return false };
        let mut changed = self.state.adopt(&catalog.groups());
        for fetched in workers.take_rows() {
            for samples in fetched.spans.iter().flatten() {
                if samples.iter().any(|sample| sample.defect.is_some()) {
                    Arc::make_mut(&mut self.problems).add_defects(samples, catalog.kind());
                }
            }
            changed |= self.state.rows.add_fetched(fetched, &self.state.groups);
        }
        changed
    }

    fn gather_filter_matches(&mut self) -> bool {
        let OpenStage::Open(_, workers) = &mut self.stage else { return false };
        let Some(active_filter) = &mut self.active_filter else { return false };
        let filter_matches = workers.take_filter_matches();
        let changed = filter_matches.matches.is_some() || filter_matches.ended.is_some();
        if let Some(matches) = filter_matches.matches {
            self.state.list_only(Listing::Picked(matches));
        }
        if let Some(ended) = filter_matches.ended {
            active_filter.is_over = true;
            active_filter.failure =
                ended.err().filter(|failure| !failure.is_cancelled()).map(|failure| failure.to_string());
        }
        changed
    }

    fn gather_problems(&mut self, effects: &mut Vec<Effect>) -> bool {
        match self.workers().and_then(|workers| workers.problems.take()) {
            Some(Ok(problems)) => {
                Arc::make_mut(&mut self.problems).merge(&problems);
                return true;
            }
            Some(Err(failure)) if !failure.is_cancelled() => effects.push(Effect::failure(&failure)),
            _ => {}
        }
        false
    }

    fn gather_detail(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(detail) = self.workers().and_then(|workers| workers.detail.take()) else { return false };
        match &detail.body {
            DetailBody::Part { preview, is_further: true, .. } => self.preview.show_page(Arc::clone(preview)),
            DetailBody::Part { preview, .. } => self.preview.show(Arc::clone(preview)),
            DetailBody::Page(_) => self.page = Scroll::default(),
        }
        self.detail = Some(detail);
        effects.extend(self.report_word_matches());
        true
    }

    /// Applies the results of the search.
    fn gather_found(&mut self, effects: &mut Vec<Effect>) -> bool {
        let OpenStage::Open(catalog, workers) = &mut self.stage else { return false };
        if self.state.find.is_none() {
            return false;
        }
        let (found, ended) = workers.take_found();
        if found.is_empty() && ended.is_none() {
            return false;
        }
        let is_done = matches!(ended, Some(Search::Done));
        self.state.take_found(found, ended);
        if let Some(find) = self.state.find.as_ref().filter(|find| is_done && find.found.count() == 0) {
            let what = if catalog.tokens().is_some() { "no row holds" } else { "no key fits" };
            effects.push(Effect::Toast(Toast::new(Level::Warn, format!("{what} {}", find.text))));
        }
        true
    }

    /// Reports that the data set has no sample with the requested number.
    fn report_missing_number(&mut self, effects: &mut Vec<Effect>) {
        let Some(number) = self.state.pending.filter(|_| self.state.groups.is_complete) else { return };
        self.state.pending = None;
        let total = self.state.groups.total();
        let words = format!(
            "there is no sample {}; {} numbered from 0",
            grouped(number),
            count_verb(total, "sample", "is", "are")
        );
        effects.push(Effect::Toast(Toast::new(Level::Warn, words)));
    }
}
