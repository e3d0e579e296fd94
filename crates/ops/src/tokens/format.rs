//! Defines a format of token files: its answers in a plan, its encoding, and the files that it writes.
//!
//! Each format is a folder of `formats/` with one value of [`TokenFormat`]. A run obtains a [`TokenOutput`] from it, which decides the
//! names of the files, and from the output a [`TokenWriter`], which receives the encoded blocks in the order of the text.

use super::options::SharedAnswer;
use super::reader::TokenReader;
use super::spool::Mark;
use super::spools::{SpoolRules, SpoolSet};
use crate::job::operation::AnyOperation;
use crate::job::publish::FinishedFile;
use crate::job::task::TaskContext;
use crate::tokens::encode::{EncodedBlock, EncodingSpec, RowAssignment};
use gristmill_core::pack::{DocumentShuffle, TokenType};
use gristmill_core::{Failure, Outcome, PackPlan, Problem, ProblemKind, Subject};
use gristmill_data::source::documents::{DocumentRules, InputRules, TextFile};
use gristmill_storage::fs::BufferedFile;
use gristmill_tokenizer::{Padding, Tokenizer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

pub(crate) use crate::engine::plan::{missing_answer, wrong_answer};
use std::sync::Arc;

/// Size of a write buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// The properties of a format that do not depend on a plan.
pub(crate) struct FormatInfo {
    /// The noun, in the singular, for the unit that leftover tokens do not fill.
    pub(crate) unit: &'static str,
    /// The readers of its files, one for each layout; empty if this program cannot read them.
    pub(crate) readers: &'static [&'static dyn TokenReader],
    /// The operations on its files, in addition to packing.
    pub(crate) operations: &'static [&'static dyn AnyOperation],
    /// Whether training reads each file on its own, not the folder as a whole.
    pub(crate) has_single_files: bool,
    /// Whether `--bos-token` begins documents.
    pub(crate) takes_begin_token: bool,
    /// Whether the names of its files contain the names of the inputs.
    pub(crate) names_inputs: bool,
    /// Its answer to `--eod-token`; `None` if it has no end token of its own.
    pub(crate) own_end: Option<SharedAnswer<String>>,
    /// Its answer to `--dtype`; `None` if the type of its tokens cannot be chosen.
    pub(crate) token_type: Option<SharedAnswer<TokenType>>,
    /// Its answer to `--max-tokens-per-file`; `None` if its files are not split by tokens.
    pub(crate) max_tokens_per_file: Option<SharedAnswer<u64>>,
    /// Its answer to `--shuffle`; `None` if documents keep their order.
    pub(crate) document_shuffle: Option<SharedAnswer<DocumentShuffle>>,
    /// Its answer to `--no-special-tokens`, which is whether the tokenizer's template is added; `None` if the user cannot choose.
    pub(crate) special_tokens: Option<SharedAnswer<bool>>,
    /// The rules that select the files of input folders.
    pub(crate) input_rules: &'static InputRules,
}

impl Default for FormatInfo {
    fn default() -> Self {
        Self {
            unit: "sample",
            readers: &[],
            operations: &[],
            has_single_files: false,
            takes_begin_token: false,
            names_inputs: false,
            own_end: None,
            token_type: None,
            max_tokens_per_file: None,
            document_shuffle: None,
            special_tokens: None,
            input_rules: &InputRules::JSON_LINES,
        }
    }
}

/// A format of token files. Methods that take a plan are called for plans that choose the format, except
/// [`is_chosen`](Self::is_chosen) and [`choose`](Self::choose).
pub(crate) trait TokenFormat: Sync {
    /// Returns the value of `--format`. If a plan has several formats, it is also the name of the format's folder.
    fn name(&self) -> &'static str;
    /// Returns the properties that do not depend on a plan.
    fn info(&self) -> FormatInfo;
    /// Returns the noun, in the singular, for an item of its files.
    fn item(&self) -> &'static str {
        self.info().readers.first().map_or("document", |reader| reader.kind().item)
    }
    /// Whether a plan chooses the format.
    fn is_chosen(&self, plan: &PackPlan) -> bool;
    /// Sets whether a plan chooses the format. Answers to its options last as long as the format is chosen.
    fn choose(&self, plan: &mut PackPlan, is_chosen: bool);
    /// Returns whether loss masks are written; `None` if the format has none.
    fn loss_masks(&self, _plan: &PackPlan) -> Option<bool> {
        None
    }
    /// Sets whether loss masks are written.
    fn set_loss_masks(&self, _plan: &mut PackPlan, _is_on: bool) {}
    /// Returns whether the format needs `--eos-token`.
    fn end_token(&self, plan: &PackPlan) -> EndTokenNeed;
    /// Returns one refusal for each question that the plan leaves open; its hint names the flag.
    fn open_questions(&self, _plan: &PackPlan) -> Vec<Problem> {
        Vec::new()
    }
    /// Returns one refusal for each wrong answer to the options of the format.
    fn refusals(&self, plan: &PackPlan) -> Vec<Problem>;
    /// Returns notes on the combination of a tokenizer and a plan.
    fn notes(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Vec<Problem>;
    /// Returns the number of tokens per sample, 0 if the plan does not give it; `None` if samples have no fixed size.
    fn sample_size(&self, _plan: &PackPlan) -> Option<u64> {
        None
    }
    /// Sets the number of tokens per sample.
    fn set_sample_size(&self, _plan: &mut PackPlan, _tokens: u64) {}
    /// Returns the default output of a plan that has only this format and names no output.
    fn default_output(&self, _plan: &PackPlan) -> Option<String> {
        None
    }
    /// Returns the proposed output name for an input of this name. The name has no suffix if the output is one file.
    fn output_name(&self, stem: &str, _is_one_file: bool) -> String {
        folder_name(stem)
    }
    /// Returns the paths among the answers to its options.
    fn paths<'p>(&self, _plan: &'p mut PackPlan) -> Vec<&'p mut String> {
        Vec::new()
    }
    /// Returns the files that a run reads or writes in addition to its inputs and its output.
    fn other_files(&self, _plan: &PackPlan) -> Vec<OtherFile> {
        Vec::new()
    }
    /// Prepares the input before a run.
    ///
    /// # Errors
    /// The input cannot be read, or a file cannot be written.
    fn before_run(&self, _plan: &PackPlan, _context: &TaskContext) -> Outcome<()> {
        Ok(())
    }
    /// Returns the name and the document rules of its encoding.
    fn identity(&self) -> (&'static str, DocumentRules) {
        (self.name(), self.document_rules())
    }
    /// Returns the rules that decide which lines are refused.
    fn document_rules(&self) -> DocumentRules;
    /// Returns how raw ids are transformed.
    ///
    /// # Errors
    /// An end token is missing from the plan or from the vocabulary, or does not fit into the token type.
    fn encoding(&self, plan: &PackPlan, tokenizer: &Tokenizer) -> Outcome<EncodingSpec>;
    /// Returns the vocabulary size that the training configuration needs.
    fn vocab_size(&self, _tokenizer: &Tokenizer) -> Option<u64> {
        None
    }
    /// Returns the folders that only this program writes. They are never read as input.
    fn own_places(&self, plan: &PackPlan, place: &OutputTarget) -> Vec<PathBuf>;
    /// Returns the path that readers open.
    fn opened(&self, _plan: &PackPlan, place: OutputTarget) -> PathBuf {
        place.path
    }
    /// Returns a suffix for the run folder. With it, runs that write different files of one output can run at the same time.
    fn run_suffix(&self, _plan: &PackPlan) -> Option<String> {
        None
    }
    /// Whether a result without documents is accepted.
    fn may_be_empty(&self, _plan: &PackPlan) -> bool {
        false
    }
    /// Whether the plan packs only some documents.
    fn selects_documents(&self, _plan: &PackPlan) -> bool {
        false
    }
    /// Whether the output itself records the finished inputs, so that a run only adds the missing ones.
    fn records_progress(&self, _plan: &PackPlan) -> bool {
        false
    }
    /// Returns the maximum number of bytes that one byte of text can become.
    fn max_bytes_per_text_byte(&self, plan: &PackPlan) -> u64;
    /// Whether rows instead of files are assigned to outputs. The rows of each input file are then counted before the run.
    fn assigns_rows(&self, _plan: &PackPlan) -> bool {
        false
    }
    /// Assigns the input files to outputs.
    ///
    /// # Errors
    /// The files do not suit the plan: for example, two inputs have the same name.
    fn assign_files(&self, request: FileAssignmentRequest<'_>) -> Outcome<AssignedFiles>;
}

/// Returns a note on the answers of a format.
pub(crate) fn note(format: &str, why: impl Into<String>) -> Problem {
    Problem::note(ProblemKind::Other, Subject::field(format), why)
}

/// Note on truncation that the tokenizer file requests.
pub(crate) const STORED_TRUNCATION: &str = "the tokenizer file asks for truncation: what is beyond it is lost";

/// Whether a text is a valid name of one entry of a folder.
pub(crate) fn is_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    let is_plain = matches!(parts.next(), Some(Component::Normal(name)) if name == text);
    is_plain && parts.next().is_none() && !text.contains(['\0', '\n'])
}

/// A file that a run reads or writes in addition to its inputs and its output.
pub(crate) struct OtherFile {
    pub(crate) path: PathBuf,
    /// A description of the file, for messages.
    pub(crate) what: &'static str,
    /// The flag that names the file, if the run writes it.
    pub(crate) flag: Option<&'static str>,
}

/// Returns the proposed folder name for the tokens of an input of this name.
pub(crate) fn folder_name(stem: &str) -> String {
    format!("{stem}-tokens")
}

/// Whether a format needs the end token of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EndTokenNeed {
    /// The format has no end token, or one of its own.
    Unused,
    /// The format uses the token if there is one.
    Useful,
    /// The format requires the token.
    Required,
}

/// The path of a format's files.
#[derive(Clone, Debug)]
pub(crate) struct OutputTarget {
    /// The output of the plan, or the format's folder in it. Absolute.
    pub(crate) path: PathBuf,
    /// Whether the plan has no other format.
    pub(crate) is_only_target: bool,
}

/// The data from which a format chooses the names of its files.
pub(crate) struct FileAssignmentRequest<'a> {
    pub(crate) plan: &'a PackPlan,
    pub(crate) spec: &'a EncodingSpec,
    pub(crate) place: OutputTarget,
    /// The input files, selected by the rules of the format.
    pub(crate) files: Vec<TextFile>,
}

/// The files that a format reads, and the outputs that they are assigned to.
pub(crate) struct AssignedFiles {
    /// The files, in the order of the format.
    pub(crate) files: Vec<TextFile>,
    /// The output of each file, counted from 0; parallel to `files`. All 0 if rows are assigned.
    pub(crate) slots: Vec<usize>,
    pub(crate) order: ReadingOrder,
    /// If set, the spans of this raw index are read instead of lines.
    pub(crate) index: Option<PathBuf>,
    pub(crate) output: Box<dyn TokenOutput>,
}

/// The reading orders that a format permits, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadingOrder {
    /// Only the order of `files`, because tokens at the end of one file continue in the next.
    Exact,
    /// Any order that preserves the order of the files of each output.
    PerSlot,
    /// Any order.
    Any,
}

/// The files that a format writes in a run.
pub(crate) trait TokenOutput: SpoolRules {
    /// Returns the number of outputs that input files are assigned to.
    fn slots(&self) -> usize;
    /// Returns how rows are assigned to the outputs; `None` if whole files are assigned. With such an assignment, the encoding must record
    /// the lines of documents.
    fn row_assignment(&self) -> Option<Arc<RowAssignment>> {
        None
    }
    /// Returns the path that readers open.
    fn path(&self) -> PathBuf;
    /// Returns the path of each file, with the name of its spool.
    fn files(&self) -> Vec<(String, PathBuf)>;
    /// Returns a file that this run would overwrite although no earlier run wrote it.
    fn occupied(&self, is_foreign: &dyn Fn(&Path) -> bool) -> Option<PathBuf>;
    /// Whether a run with this output may write a file at this path, which is not below the output.
    fn may_write_next_to(&self, _path: &Path) -> bool {
        false
    }
    /// Returns existing files of the output that do not describe the `written` files.
    fn stale_files(&self, _written: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
        Vec::new()
    }
    /// Returns how many of the documents of the inputs are packed.
    fn packed_documents(&self, documents: u64) -> u64 {
        documents
    }
    /// Estimates the files for this many documents and tokens.
    fn estimate(&self, documents: u64, tokens: u64) -> FileEstimate;
    /// Returns the additional disk space that the last stage needs for `bytes` of output, in bytes.
    fn scratch_bytes(&self, _bytes: u64, items: u64) -> u64 {
        items * 8
    }
    /// Returns a writer that begins with the first file.
    fn writer(&self) -> Box<dyn TokenWriter + '_>;
    /// Records that a run begins.
    ///
    /// # Errors
    /// A file cannot be written.
    fn begin_run(&self, _context: &TaskContext) -> Outcome<()> {
        Ok(())
    }
    /// Records that a run failed.
    fn record_failure(&self, _context: &TaskContext, _failure: &Failure) {}
}

/// An estimate of the files of a format, for a preview.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileEstimate {
    /// Number of items (such as documents or samples) in all files.
    pub(crate) items: u64,
    /// Bytes in addition to the tokens and masks.
    pub(crate) extra_bytes: u64,
    /// The paths of the files with tokens, for each output.
    pub(crate) files: Vec<Vec<PathBuf>>,
    /// Files without tokens, and their bytes, which `extra_bytes` includes.
    pub(crate) tables: Vec<(PathBuf, u64)>,
}

/// Writes the encoded blocks of a format to spools. Receives blocks in the order of the text.
pub(crate) trait TokenWriter: Send {
    /// Starts an input file.
    ///
    /// # Errors
    /// A spool cannot be written.
    fn begin_file(&mut self, slot: usize, spools: &mut SpoolSet<'_>) -> Outcome<()>;
    /// Appends the documents of a block.
    ///
    /// # Errors
    /// A spool cannot be written, or the format refuses the whole run.
    fn append(&mut self, added: SlotBlock<'_>, spools: &mut SpoolSet<'_>) -> Outcome<AppendCounts>;
    /// Ends an input file.
    ///
    /// # Errors
    /// A spool cannot be written.
    fn end_file(&mut self, _slot: usize, _spools: &mut SpoolSet<'_>) -> Outcome<()> {
        Ok(())
    }
    /// Ends the last file.
    ///
    /// # Errors
    /// A spool cannot be written.
    fn end(&mut self, _spools: &mut SpoolSet<'_>) -> Outcome<()> {
        Ok(())
    }
    /// Returns the state that a resumed run needs in addition to the spools.
    fn state(&self) -> Value {
        Value::Null
    }
    /// Resumes from an earlier [`state`](Self::state). Returns whether the state is usable.
    fn restore(&mut self, state: Value) -> bool {
        state.is_null()
    }
    /// Converts spools to files. Can be repeated.
    ///
    /// # Errors
    /// A spool cannot be read, or a file cannot be written.
    fn finish(&self, finishing: &FinishContext<'_>) -> Outcome<FinishedFormat>;
}

/// A block that is added to an output.
#[derive(Clone, Copy)]
pub(crate) struct SlotBlock<'a> {
    /// The output of its file, or of its rows.
    pub(crate) slot: usize,
    pub(crate) block: &'a EncodedBlock,
    /// The input file of the block.
    pub(crate) input: &'a TextFile,
}

/// The number of appended and of lost documents of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppendCounts {
    /// The documents of the block that were appended.
    pub(crate) kept: Range<usize>,
    /// Documents of this and earlier blocks that are lost, as in the reference program.
    pub(crate) lost: u64,
}

impl AppendCounts {
    /// Returns the counts for a block whose documents were all appended.
    pub(crate) fn all(block: &EncodedBlock) -> Self {
        Self { kept: 0..block.lengths.len(), lost: 0 }
    }
}

/// Documents whose length truncation or padding changes, and the number of tokens removed or added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LengthChange {
    /// Number of documents with another length.
    pub(crate) documents: u64,
    /// Number of tokens removed or added in all of them.
    pub(crate) tokens: u64,
}

impl LengthChange {
    /// Adds the documents with a changed length. `tokens` has the number of tokens that each document lost or gained.
    pub(crate) fn add(&mut self, tokens: &[u64]) {
        self.documents += tokens.iter().filter(|tokens| **tokens > 0).count() as u64;
        self.tokens += tokens.iter().sum::<u64>();
    }
}

/// A small file that is published with the others.
pub(crate) struct SideFile {
    pub(crate) target: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// Whether it is published last, as the commit file.
    pub(crate) completes: bool,
}

/// The files of a format, and their totals.
#[derive(Default)]
pub(crate) struct FinishedFormat {
    pub(crate) files: Vec<FinishedFile>,
    pub(crate) side_files: Vec<SideFile>,
    /// Number of items of the format.
    pub(crate) items: u64,
    pub(crate) tokens: u64,
    /// Leftover tokens that fill no unit.
    pub(crate) dropped_tokens: u64,
    /// Documents that were padded in the last stage.
    pub(crate) padded: LengthChange,
    /// Problems of the files as a whole.
    pub(crate) problems: Vec<Problem>,
}

/// Input for converting spools to files.
pub(crate) struct FinishContext<'a> {
    pub(crate) context: &'a TaskContext,
    /// Folder of the spools of the format.
    pub(crate) spools: &'a Path,
    /// Folder for new files.
    pub(crate) folder: &'a Path,
    /// Length of each spool.
    pub(crate) marks: &'a BTreeMap<String, Mark>,
    /// The padding that the tokenizer file requests.
    pub(crate) padding: Option<Padding>,
}

impl FinishContext<'_> {
    pub(crate) fn spool(&self, name: &str) -> PathBuf {
        self.spools.join(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> u64 {
        self.marks.get(name).map_or(0, |mark| mark.bytes)
    }

    /// Creates a file in the folder of new files. Replaces a file that a stopped run created there.
    pub(crate) fn create(&self, path: &Path) -> Outcome<BufferedFile> {
        let fs = &*self.context.fs;
        fs.remove_file(path)?;
        Ok(BufferedFile::new(fs.create_file(path)?, BUFFER_BYTES))
    }

    /// Writes a file in the folder of new files.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        let mut file = self.create(&path)?;
        file.write_all(bytes)?;
        file.close()?;
        Ok(path)
    }
}
