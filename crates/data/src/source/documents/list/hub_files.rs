//! Selection of the files of a data set of the Hugging Face hub.

use super::{sort, text_file, Chooser, FileChoice, IgnoredFiles, Listing, Selection, CHOOSE};
use crate::source::documents::glob::Glob;
use crate::source::documents::packing::is_text;
use crate::source::documents::sources::is_table_name;
use crate::source::documents::{HubSnapshot, InputRules};
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};

impl HubSnapshot {
    /// Returns the files that are read by the rules of a program: files with documents, or the files that a pattern selects. The files of
    /// splits are those of [`split_files`](Self::split_files).
    pub fn chosen(&self, selection: Selection<'_>, rules: &'static InputRules) -> Outcome<Vec<&str>> {
        Ok(self
            .choices(selection, rules)?
            .into_iter()
            .filter(|(_, is)| *is == FileChoice::Yes)
            .map(|(name, _)| name)
            .collect())
    }

    fn choices(&self, selection: Selection<'_>, rules: &'static InputRules) -> Outcome<Vec<(&str, FileChoice)>> {
        let glob = selection.glob.map(Glob::new).transpose()?;
        let chooser = Chooser { glob: glob.as_ref(), rules, selection };
        let is_hidden = |name: &str| name.split('/').any(|part| part.starts_with('.'));
        let choice = |name: &str| match chooser.wants(name) {
            _ if self.is_file => FileChoice::Yes,
            _ if !chooser.includes_hidden() && is_hidden(name) => FileChoice::No,
            // A repository also contains descriptions, scripts and media, which are left out even if the program reads all files of a
            // folder.
            FileChoice::Yes if glob.is_none() && !is_text(name) && !is_table_name(name) => FileChoice::No,
            choice => choice,
        };
        Ok(self.files.iter().map(|(name, _)| (name.as_str(), choice(name))).collect())
    }

    /// Adds the selected files to a listing.
    pub(super) fn list(
        &self,
        selection: Selection<'_>,
        rules: &'static InputRules,
        listing: &mut Listing,
    ) -> Outcome<()> {
        let first = listing.files.len();
        let is_chosen = selection.reads_tables && (self.is_file || selection.glob.is_some());
        let mut aside = IgnoredFiles::default();
        for (name, choice) in self.choices(selection, rules)? {
            let subject = Subject::path(self.folder.join(name));
            let report = |(message, hint): (&str, &str), problem: fn(ProblemKind, Subject, String) -> Problem| {
                problem(ProblemKind::FileLeftOut, subject, message.to_owned()).with_hint(hint)
            };
            match choice {
                FileChoice::Yes => listing.files.push(text_file(self.folder.join(name), name.to_owned(), is_chosen)?),
                FileChoice::Ours(why) => listing.problems.push(report(why, Problem::note)),
                FileChoice::Missed(why) => listing.problems.push(report(why, Problem::problem)),
                FileChoice::SetAside => aside.add(name),
                FileChoice::No => {}
            }
        }
        listing.problems.extend(aside.note(&self.folder, false, CHOOSE));
        sort(listing.files.get_mut(first..).unwrap_or_default(), rules);
        Ok(())
    }
}
