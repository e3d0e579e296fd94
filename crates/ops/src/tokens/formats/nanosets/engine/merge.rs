//! Merges several token files into one sequence. The file of the next document is drawn at random; the order within a file is preserved
//! (docs/formats/nanosets.md §5.1).

use super::copy::{changed, read_exact};
use super::listing::{files, TokenFile};
use super::output::{CompanionFiles, FinishedTokenFile, OutputOptions, Writer};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::{Failure, FileStamp, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::nanosets::{index_path, loss_path, names, Metadata, Shard, TokenSize};
use gristmill_pycompat::numpy_random::Generator;
use gristmill_storage::fs::Fs;
use gristmill_storage::read::{open_read, stamp_at, ReadFile};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Default number of tokens after which a new output file begins.
pub const MAX_TOKENS_PER_FILE: u64 = 100_000_000_000;
/// Name in the metadata for an unknown tokenizer.
const UNKNOWN_TOKENIZER: &str = "Unknown Tokenizer";
/// Minimum and maximum size of a file's read buffer, in bytes.
const BUFFER_BYTES: (u64, u64) = (16 << 10, 1 << 20);
const ACTIVITY: &str = "merging";

/// The inputs and options of a merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MergePlan {
    /// Version of the plan format, [`PLAN_VERSION`].
    pub version: u32,
    /// Folder with the token files.
    pub input: PathBuf,
    /// Folder of the result.
    pub output: PathBuf,
    /// Name of the result: `000_NAME.ds`.
    pub name: String,
    /// Seed of the interleaving; `None` appends the files one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Merge full chunks of this many tokens instead of documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u64>,
    /// Start a new output file after this many tokens; 0 means never.
    #[serde(default = "max_tokens_per_file")]
    pub max_tokens_per_file: u64,
    /// Stop after this many tokens; 0 means never.
    #[serde(default)]
    pub max_tokens: u64,
    /// Replace an existing merge with the same name.
    #[serde(default)]
    pub overwrite: bool,
}

fn max_tokens_per_file() -> u64 {
    MAX_TOKENS_PER_FILE
}

impl MergePlan {
    /// Returns a plan for whole documents, one file after another, without limits.
    pub fn new(input: impl Into<PathBuf>, output: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self {
            version: PLAN_VERSION,
            input: input.into(),
            output: output.into(),
            name: name.into(),
            seed: None,
            chunk: None,
            max_tokens_per_file: MAX_TOKENS_PER_FILE,
            max_tokens: 0,
            overwrite: false,
        }
    }
}

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeResult {
    /// The files, in order.
    pub files: Vec<FinishedTokenFile>,
    /// Totals of all files.
    pub total: Metadata,
    /// Number of merged documents or chunks.
    pub units: u64,
    /// Number of input tokens that are in no output file: incomplete chunks, and tokens omitted because of `max_tokens`.
    pub left_tokens: u64,
}

/// The files to merge, with their common properties.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The files, sorted by name.
    pub files: Vec<TokenFile>,
    /// Number of documents or full chunks of each file.
    pub units: Vec<u64>,
    /// Size of a token in all files.
    pub token_size: TokenSize,
    /// Name of the tokenizer in the first metadata.
    pub tokenizer: String,
    /// Whether all files have loss masks.
    pub has_loss: bool,
}

/// Inspects the files of a plan. Refuses files that do not match each other.
pub fn inputs(plan: &MergePlan, handles: &Handles<'_>) -> Outcome<Inputs> {
    let files = files(&plan.input, handles.problems)?;
    let first = files.first().and_then(|file| file.metadata.clone());
    let token_size = first.as_ref().map_or(TokenSize::Two, |metadata| metadata.token_size);
    let tokenizer = first.map_or_else(|| UNKNOWN_TOKENIZER.to_owned(), |metadata| metadata.tokenizer);
    let has_loss = files.iter().all(|file| file.has_loss);
    let mut units = Vec::with_capacity(files.len());
    for file in &files {
        handles.cancel.check()?;
        let bad = |why: String| Failure::data(ACTIVITY, why).on(Subject::path(&file.path));
        if let Some(metadata) = file.metadata.as_ref().filter(|metadata| metadata.token_size != token_size) {
            let why = "its tokens are of another size than those of the first file";
            return Err(bad(format!("{why}: {} and {} bytes", metadata.token_size.bytes(), token_size.bytes())));
        }
        if let Some(metadata) = file.metadata.as_ref().filter(|metadata| metadata.tokenizer != tokenizer) {
            let message =
                format!("its tokenizer is {:?}, and that of the first file {tokenizer:?}", metadata.tokenizer);
            handles.problems.report(Problem::problem(
                ProblemKind::IndexMismatch,
                Subject::path(&file.path),
                message,
            ))?;
        }
        if !file.has_index {
            return Err(bad("it has no .ds.index next to it".to_owned()));
        }
        let index = Shard::open(&file.path, token_size)?.index()?;
        let end = index.last_end()?;
        if end.checked_mul(token_size.bytes()) != Some(file.bytes) {
            return Err(bad(format!(
                "its index ends after token {end}, and the file has {}",
                gristmill_core::text::count(file.bytes, "byte")
            ))
            .with_hint("gristmill lint FOLDER says what is wrong"));
        }
        if file.has_loss && !has_loss {
            let message = "it has loss masks, and other files have none: the result will have none";
            handles.problems.report(Problem::problem(ProblemKind::Other, Subject::path(&file.path), message))?;
        }
        units.push(match plan.chunk {
            None => index.documents(),
            Some(chunk) => end.checked_div(chunk).ok_or_else(|| {
                Failure::usage(ACTIVITY, "a chunk has at least one token").on(Subject::field("--chunk-size"))
            })?,
        });
    }
    Ok(Inputs { files, units, token_size, tokenizer, has_loss })
}

/// Merges into `folder`. `memory_bytes` limits the buffered input; in addition, one byte per unit is needed (two for more than 256 files).
pub fn merge(
    plan: &MergePlan,
    inputs: &Inputs,
    (fs, folder): (&dyn Fs, &Path),
    memory_bytes: u64,
    handles: &Handles<'_>,
) -> Outcome<MergeResult> {
    let units: u64 = inputs.units.iter().sum();
    handles.progress.restart(units, inputs.files.iter().map(|file| file.bytes).sum());
    match inputs.files.len() {
        0..=256 => Merge::<u8>::run(plan, inputs, (fs, folder), memory_bytes, handles),
        257..=65_536 => Merge::<u16>::run(plan, inputs, (fs, folder), memory_bytes, handles),
        _ => Merge::<u32>::run(plan, inputs, (fs, folder), memory_bytes, handles),
    }
}

/// A merge that stores the index of a file as `N`.
struct Merge<N>(std::marker::PhantomData<N>);

impl<N: Copy + Default + TryFrom<usize> + TryInto<usize>> Merge<N> {
    /// Returns the index of the file of each unit, in the order of the result.
    fn order(plan: &MergePlan, inputs: &Inputs) -> Outcome<Vec<N>> {
        let units: u64 = inputs.units.iter().sum();
        let mut order = Vec::new();
        if order.try_reserve_exact(usize::try_from(units).unwrap_or(usize::MAX)).is_err() {
            return Err(Failure::environment(
                ACTIVITY,
                format!("no memory for the order of {}", gristmill_core::text::count(units, "document")),
            ));
        }
        for (file, count) in inputs.units.iter().enumerate() {
            let number = N::try_from(file).unwrap_or_default();
            order.extend(std::iter::repeat_n(number, *count as usize));
        }
        if let Some(seed) = plan.seed {
            Generator::seeded(seed).shuffle(&mut order);
        }
        Ok(order)
    }

    fn run(
        plan: &MergePlan,
        inputs: &Inputs,
        (fs, folder): (&dyn Fs, &Path),
        memory_bytes: u64,
        handles: &Handles<'_>,
    ) -> Outcome<MergeResult> {
        let order = Self::order(plan, inputs)?;
        let buffer = (memory_bytes / 3 / inputs.files.len().max(1) as u64).clamp(BUFFER_BYTES.0, BUFFER_BYTES.1);
        let mut readers: Vec<Reader<'_>> =
            inputs.files.iter().map(|file| Reader::open(file, inputs, buffer)).collect::<Outcome<_>>()?;
        let companions = CompanionFiles { description: true, loss: inputs.has_loss };
        let shape =
            OutputOptions { folder, fs, companions, token_size: inputs.token_size, tokenizer: &inputs.tokenizer };
        let mut made = Vec::new();
        let mut writer = Writer::create(shape, names::merged(&plan.name, 0))?;
        let (mut tokens, mut units) = (0, 0);
        for file in order {
            if plan.max_tokens > 0 && tokens >= plan.max_tokens {
                break;
            }
            if plan.max_tokens_per_file > 0 && writer.len() >= plan.max_tokens_per_file {
                made.push(writer.finish()?);
                writer = Writer::create(shape, names::merged(&plan.name, made.len() as u64))?;
            }
            let Some(reader) = file.try_into().ok().and_then(|file: usize| readers.get_mut(file)) else { continue };
            handles.cancel.check()?;
            let before = writer.len();
            match plan.chunk {
                None => reader.document(&mut writer)?,
                Some(chunk) => reader.chunk(chunk, &mut writer)?,
            }
            let taken = writer.len() - before;
            tokens += taken;
            units += 1;
            handles.progress.add(1, taken * inputs.token_size.bytes());
        }
        made.push(writer.finish()?);
        let all: u64 = inputs.files.iter().map(|file| file.bytes / inputs.token_size.bytes()).sum();
        let total = Metadata { tokenizer: inputs.tokenizer.clone(), token_size: inputs.token_size, tokens };
        Ok(MergeResult { files: made, total, units, left_tokens: all - tokens })
    }
}

/// One input, read from start to end. There may be thousands of inputs, so the file is not held open: it is reopened for each piece, and
/// must not have changed since it was inspected.
struct Reader<'a> {
    data: ChunkReader,
    loss: Option<ChunkReader>,
    ends: ChunkReader,
    token_size: u64,
    /// Number of tokens read so far.
    at: u64,
    file: &'a TokenFile,
}

impl<'a> Reader<'a> {
    fn open(file: &'a TokenFile, inputs: &Inputs, buffer: u64) -> Outcome<Self> {
        let piece = |path: PathBuf| ChunkReader::new(path, buffer);
        let loss = inputs.has_loss.then(|| piece(loss_path(&file.path))).transpose()?;
        let tokens = file.bytes / inputs.token_size.bytes();
        if loss.as_ref().is_some_and(|loss| loss.stamp.bytes != tokens) {
            let why = format!("it does not have one byte for each of {}", gristmill_core::text::count(tokens, "token"));
            return Err(Failure::data("reading the loss masks", why).on(Subject::path(loss_path(&file.path))));
        }
        let data = piece(file.path.clone())?;
        if data.stamp.bytes != file.bytes {
            return Err(changed_file(&file.path));
        }
        Ok(Self {
            data,
            loss,
            ends: piece(index_path(&file.path))?,
            token_size: inputs.token_size.bytes(),
            at: 0,
            file,
        })
    }

    /// Returns the end of the next document without consuming it.
    fn peek_end(&mut self) -> Outcome<Option<u64>> {
        Ok(self.ends.peek(8)?.and_then(|bytes| bytes.first_chunk().map(|word| u64::from_le_bytes(*word))))
    }

    fn broken(&self, end: u64) -> Failure {
        let why = format!(
            "a document ends after token {end}, which is less than the {} before it",
            gristmill_core::text::count(self.at, "token")
        );
        Failure::data("reading the document index", why).on(Subject::path(index_path(&self.file.path)))
    }

    /// Copies the next document.
    fn document(&mut self, to: &mut Writer<'_>) -> Outcome<()> {
        let end = self.peek_end()?.unwrap_or(0);
        self.ends.skip(8);
        if end < self.at || end.saturating_mul(self.token_size) > self.data.stamp.bytes {
            return Err(self.broken(end));
        }
        self.copy(end, to)?;
        to.end()
    }

    /// Copies the next `chunk` tokens, with the ends of documents in them.
    fn chunk(&mut self, chunk: u64, to: &mut Writer<'_>) -> Outcome<()> {
        let (start, before) = (self.at, to.len());
        let end = start + chunk;
        self.copy(end, to)?;
        let mut last = 0;
        while let Some(inner) = self.peek_end()?.filter(|inner| *inner < end) {
            self.ends.skip(8);
            if inner < last {
                return Err(self.broken(inner));
            }
            last = inner;
            // Empty documents at the beginning end in the first chunk, as there is no previous chunk.
            if inner > start || start == 0 {
                to.end_at(before + inner - start)?;
            }
        }
        to.end()
    }

    fn copy(&mut self, end: u64, to: &mut Writer<'_>) -> Outcome<()> {
        while self.at < end {
            let most = ((end - self.at) * self.token_size).min(self.data.buffer_limit());
            let bytes = self.data.peek(most)?.ok_or_else(|| changed_file(&self.file.path))?;
            let tokens = bytes.len() as u64 / self.token_size;
            let bytes = bytes.get(..(tokens * self.token_size) as usize).unwrap_or_default();
            match &mut self.loss {
                Some(loss) => {
                    let masks = loss.peek_all(tokens)?;
                    to.tokens(bytes, masks)?;
                    loss.skip(tokens);
                }
                None => to.tokens(bytes, &[])?,
            }
            self.data.skip(tokens * self.token_size);
            self.at += tokens;
        }
        Ok(())
    }
}

fn changed_file(path: &Path) -> Failure {
    Failure::data(ACTIVITY, "the file changed while it was read").on(Subject::path(path))
}

/// A file read in order, with one buffered piece.
struct ChunkReader {
    path: PathBuf,
    stamp: FileStamp,
    /// The buffer.
    kept: Vec<u8>,
    /// Number of bytes of the buffer that are consumed.
    taken: usize,
    /// File offset after the buffer.
    next: u64,
    /// Maximum size of a read, in bytes.
    most: u64,
}

impl ChunkReader {
    fn new(path: PathBuf, most: u64) -> Outcome<Self> {
        Ok(Self { stamp: stamp_at(&path)?, path, kept: Vec::new(), taken: 0, next: 0, most })
    }

    /// Returns the maximum size of the buffer in bytes.
    fn buffer_limit(&self) -> u64 {
        self.most
    }

    fn left(&self) -> u64 {
        (self.kept.len() - self.taken) as u64
    }

    /// Returns up to `count` of the next bytes, at least 8 if that many remain; `None` at the end.
    fn peek(&mut self, count: u64) -> Outcome<Option<&[u8]>> {
        if self.left() < count.min(8) {
            self.refill()?;
        }
        let end = self.taken + count.min(self.left()) as usize;
        Ok(self.kept.get(self.taken..end).filter(|bytes| !bytes.is_empty()))
    }

    /// Returns exactly `count` of the next bytes.
    fn peek_all(&mut self, count: u64) -> Outcome<&[u8]> {
        while self.left() < count {
            let before = self.left();
            self.refill()?;
            if self.left() == before {
                return Err(changed_file(&self.path));
            }
        }
        Ok(self.kept.get(self.taken..self.taken + count as usize).unwrap_or_default())
    }

    fn skip(&mut self, count: u64) {
        self.taken = (self.taken + count as usize).min(self.kept.len());
    }

    fn refill(&mut self) -> Outcome<()> {
        let count = self.most.min(self.stamp.bytes - self.next);
        if count == 0 {
            return match self.left() {
                0 => Ok(()),
                _ => Err(changed_file(&self.path)),
            };
        }
        let file: ReadFile = open_read(&self.path)?;
        if file.stamp().map_err(|error| Failure::io("reading the tokens", &self.path, &error))? != self.stamp {
            return Err(changed(&file));
        }
        self.kept.drain(..self.taken);
        self.taken = 0;
        let mut more = Vec::new();
        read_exact(&file, self.next, count, &mut more)?;
        self.kept.append(&mut more);
        self.next += count;
        Ok(())
    }
}
