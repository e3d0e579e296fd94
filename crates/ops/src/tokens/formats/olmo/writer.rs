//! Appends documents to the files of a set, and compresses their tables.

use super::files::{ends_spool, rows_spool, tokens_spool, PartFiles};
use super::shuffle::shuffle;
use super::table::{append_tokens, without_line_breaks, TableFile, TableRow};
use super::{no_documents, target};
use crate::job::pool::run_units;
use crate::job::publish::FinishedFile;
use crate::tokens::encode::EncodedBlock;
use crate::tokens::format::{AppendCounts, FinishContext, FinishedFormat, SlotBlock, TokenWriter};
use crate::tokens::names::source_name;
use crate::tokens::spool::each_chunk;
use crate::tokens::spools::SpoolSet;
use gristmill_core::pack::DocumentId;
use gristmill_core::text::{count, count_verb};
use gristmill_core::{Outcome, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::TextFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;

/// The state that a resumed run needs in addition to the spools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WriterState {
    /// Number of the current file.
    file: u64,
    tokens_in_file: u64,
    documents: u64,
    tokens: u64,
    /// Number of documents that reach the token limit of a file alone.
    long_documents: u64,
    /// Number of documents with a line break in a field of their row.
    broken_fields: u64,
}

/// Writes the token files and tables of a set.
pub(super) struct Writer<'a> {
    output: &'a PartFiles,
    state: WriterState,
}

/// The values that rows of one input file share.
struct RowSource {
    name: String,
    /// The prefix of ids; `None` if ids come from a key.
    id_start: Option<String>,
}

impl RowSource {
    fn new(output: &PartFiles, input: &TextFile) -> Self {
        let name = source_name(&output.plan, &input.path);
        let is_line = target(&output.plan).id == DocumentId::Line;
        let id_start = is_line.then(|| format!("{:x}-", Sha256::digest(name.as_bytes())));
        Self { name, id_start }
    }

    fn id<'b>(&self, block: &'b EncodedBlock, number: usize, line: u64) -> Cow<'b, str> {
        match &self.id_start {
            Some(start) => Cow::Owned(format!("{start}{line}")),
            None => Cow::Borrowed(block.ids.get(number).unwrap_or_default()),
        }
    }
}

impl<'a> Writer<'a> {
    /// Returns a writer that starts with the first file.
    pub(super) fn new(output: &'a PartFiles) -> Self {
        Self { output, state: WriterState::default() }
    }

    /// Creates the spools of the current file, unless they exist.
    fn begin_part(&self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        for name in self.output.spools(self.state.file) {
            if !spools.contains(&name) {
                spools.create(&name)?;
            }
        }
        Ok(())
    }

    fn append_to_part(&self, tokens: &[u8], rows: &mut String, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        spools.append(&tokens_spool(self.state.file), tokens)?;
        spools.append(&rows_spool(self.state.file), rows.as_bytes())?;
        rows.clear();
        Ok(())
    }

    fn end_part(&self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        for name in self.output.spools(self.state.file) {
            spools.close(&name)?;
            spools.drop_finished(&name);
        }
        Ok(())
    }

    /// Appends the row of a document of the current file. In a shuffled set, the row gets the positions of its tokens in the last stage.
    fn append_row(&mut self, tokens: (u64, u64), id: &str, source: &str, line: u64, rows: &mut String) {
        if !self.output.is_shuffled() {
            append_tokens(tokens.0, tokens.1, rows);
        }
        let keeps = self.output.plan.compat;
        let flat = |field| if keeps { Cow::Borrowed(field) } else { without_line_breaks(field) };
        let (id, source) = (flat(id), flat(source));
        if matches!(id, Cow::Owned(_)) || matches!(source, Cow::Owned(_)) {
            self.state.broken_fields += 1;
        }
        TableRow { id: &id, source: &source, line }.append_to(rows);
    }

    /// Writes a token file and its table.
    fn finish_part(&self, finishing: &FinishContext<'_>, number: u64) -> Outcome<[FinishedFile; 2]> {
        let context = finishing.context;
        let mut table = TableFile::create(finishing, number)?;
        let rows = rows_spool(number);
        each_chunk(&finishing.spool(&rows), 0, finishing.bytes(&rows), &mut |bytes| {
            context.cancel.check()?;
            table.append(bytes)
        })?;
        let table = table.finish()?;
        let tokens = finishing.spool(&tokens_spool(number));
        context.fs.reopen_file(&tokens, finishing.bytes(&tokens_spool(number)))?.close()?;
        let made = [
            FinishedFile::of(table, self.output.table(number))?,
            FinishedFile::of(tokens, self.output.tokens(number))?,
        ];
        Ok(made)
    }

    /// Returns problems and notes for users of the files.
    fn problems(&self) -> Vec<Problem> {
        let note = |flag: &str, why: String| Problem::note(ProblemKind::Other, Subject::field(flag), why);
        let mut problems = Vec::new();
        if self.state.documents == 0 {
            problems.push(no_documents(&self.output.tokens(0)));
        }
        if self.state.long_documents > 0 {
            let documents = count_verb(self.state.long_documents, "document", "has", "have");
            let limit = count(self.output.max_tokens, "token");
            let why = format!("{documents} {limit} or more: a file of its own holds each");
            problems.push(note("--max-tokens-per-file", why));
        }
        if self.state.broken_fields > 0 {
            let documents = count_verb(self.state.broken_fields, "document", "has", "have");
            let why =
                format!("{documents} a line break in the id or in the name of the source: a space takes its place");
            let hint = "OLMo-core reads tables line by line; --compat keeps line breaks";
            problems.push(note("olmo", why).with_hint(hint));
        }
        problems
    }
}

impl TokenWriter for Writer<'_> {
    fn begin_file(&mut self, _: usize, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.begin_part(spools)
    }

    /// A file ends before the document that would reach its token limit (docs/formats/olmo.md §2).
    fn append(&mut self, added: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts> {
        let SlotBlock { block, input, .. } = added;
        let source = RowSource::new(self.output, input);
        let limit = self.output.max_tokens;
        let (mut here, mut later) = (0_usize, block.bytes.as_slice());
        let (mut rows, mut ends) = (String::new(), Vec::new());
        let before = spools.bytes(&rows_spool(0));
        for (number, (length, line)) in block.lengths.iter().zip(&block.lines).enumerate() {
            let start = self.state.tokens_in_file;
            if !self.output.is_shuffled() && self.output.is_full(start, *length) {
                let (tokens, rest) = later.split_at_checked(here).unwrap_or((later, &[]));
                self.append_to_part(tokens, &mut rows, spools)?;
                (here, later) = (0, rest);
                self.end_part(spools)?;
                (self.state.file, self.state.tokens_in_file) = (self.state.file + 1, 0);
                self.begin_part(spools)?;
            }
            let start = self.state.tokens_in_file;
            let end = start.saturating_add(*length);
            let line = line.saturating_add(1);
            let id = source.id(block, number, line);
            self.append_row((start, end), &id, &source.name, line, &mut rows);
            if self.output.is_shuffled() {
                ends.extend(end.to_le_bytes());
                ends.extend((before + rows.len() as u64).to_le_bytes());
            }
            here = here
                .saturating_add(usize::try_from(*length).unwrap_or(usize::MAX).saturating_mul(self.output.token_bytes));
            self.state.tokens_in_file = end;
            self.state.documents += 1;
            self.state.tokens = self.state.tokens.saturating_add(*length);
            self.state.long_documents += u64::from(*length >= limit);
        }
        self.append_to_part(later, &mut rows, spools)?;
        if self.output.is_shuffled() {
            spools.append(&ends_spool(), &ends)?;
        }
        Ok(AppendCounts::all(block))
    }

    fn end(&mut self, spools: &mut SpoolSet<'_>) -> Outcome<()> {
        self.begin_part(spools)?;
        self.end_part(spools)
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }

    fn restore(&mut self, state: Value) -> bool {
        serde_json::from_value(state).map(|state| self.state = state).is_ok()
    }

    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat> {
        let context = finishing.context;
        let files = match self.output.is_shuffled() {
            true => shuffle(self.output, finishing)?,
            false => {
                let numbers: Vec<u64> = (0..=self.state.file).collect();
                let parts = run_units(&numbers, context.options.threads, &context.cancel, |number| {
                    self.finish_part(finishing, *number)
                })?;
                parts.into_iter().flatten().collect()
            }
        };
        context.progress.add(1, 0);
        Ok(FinishedFormat {
            files,
            items: self.state.documents,
            tokens: self.state.tokens,
            problems: self.problems(),
            ..FinishedFormat::default()
        })
    }
}
