//! Writes token files: the data with its index, metadata and loss masks.

use gristmill_core::Outcome;
use gristmill_data::formats::nanosets::{index, index_path, loss_path, metadata_path, Metadata, TokenSize};
use gristmill_storage::fs::{BufferedFile, Fs};
use gristmill_storage::publish::Publication;
use std::path::{Path, PathBuf};

/// Bytes collected before a write.
const BUFFER_BYTES: usize = 1 << 20;

/// The companion files of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompanionFiles {
    /// Whether `.ds.index` and `.ds.metadata` are written.
    pub description: bool,
    /// Whether `.ds.loss` is written.
    pub loss: bool,
}

/// Options shared by all output files of a run.
#[derive(Clone, Copy)]
pub struct OutputOptions<'a> {
    /// The folder in which the files are written, under their final names.
    pub folder: &'a Path,
    /// File system used for writing.
    pub fs: &'a dyn Fs,
    /// The companion files to write.
    pub companions: CompanionFiles,
    /// Size of a token.
    pub token_size: TokenSize,
    /// Name of the tokenizer in the metadata.
    pub tokenizer: &'a str,
}

/// A data file that is being written, with its companion files.
pub struct Writer<'a> {
    name: String,
    shape: OutputOptions<'a>,
    data: BufferedFile,
    index: Option<BufferedFile>,
    loss: Option<BufferedFile>,
    tokens: u64,
    documents: u64,
}

/// A finished data file that is not visible yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedTokenFile {
    /// Name of the file: `X.ds`.
    pub name: String,
    /// Current path of the file; its companion files are next to it.
    pub path: PathBuf,
    /// Number of tokens in the file.
    pub tokens: u64,
    /// Number of entries of the index.
    pub documents: u64,
    /// Size of the data in bytes.
    pub bytes: u64,
    /// The companion files that were written.
    pub companions: CompanionFiles,
    /// Content of the metadata.
    pub metadata: Metadata,
}

impl<'a> Writer<'a> {
    /// Creates a data file and its companion files.
    pub fn create(shape: OutputOptions<'a>, name: String) -> Outcome<Self> {
        let path = shape.folder.join(&name);
        let open = |path: &Path| Ok(BufferedFile::new(shape.fs.create_file(path)?, BUFFER_BYTES));
        let when = |is_wanted: bool, path: PathBuf| if is_wanted { open(&path).map(Some) } else { Ok(None) };
        Ok(Self {
            data: open(&path)?,
            index: when(shape.companions.description, index_path(&path))?,
            loss: when(shape.companions.loss, loss_path(&path))?,
            name,
            shape,
            tokens: 0,
            documents: 0,
        })
    }

    /// Returns the number of tokens so far.
    pub fn len(&self) -> u64 {
        self.tokens
    }

    /// Whether there is no token so far.
    pub fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// Appends whole tokens in the encoding of the file, and the same number of bytes of loss masks. `masks` is ignored if no `.ds.loss` is
    /// written.
    pub fn tokens(&mut self, tokens: &[u8], masks: &[u8]) -> Outcome<()> {
        self.tokens += tokens.len() as u64 / self.shape.token_size.bytes();
        self.data.write_all(tokens)?;
        match &mut self.loss {
            Some(loss) => loss.write_all(masks),
            None => Ok(()),
        }
    }

    /// Ends a document at token `end` of this file.
    pub fn end_at(&mut self, end: u64) -> Outcome<()> {
        self.documents += 1;
        let Some(file) = &mut self.index else { return Ok(()) };
        let mut entry = Vec::with_capacity(index::WORD_BYTES as usize);
        index::push(end, &mut entry);
        file.write_all(&entry)
    }

    /// Ends a document at the current position.
    pub fn end(&mut self) -> Outcome<()> {
        self.end_at(self.tokens)
    }

    /// Closes the files. They are flushed to disk on publication.
    pub fn finish(self) -> Outcome<FinishedTokenFile> {
        let metadata = Metadata {
            tokenizer: self.shape.tokenizer.to_owned(),
            token_size: self.shape.token_size,
            tokens: self.tokens,
        };
        let bytes = self.data.close()?;
        for file in [self.index, self.loss].into_iter().flatten() {
            file.close()?;
        }
        Ok(FinishedTokenFile {
            path: self.shape.folder.join(&self.name),
            name: self.name,
            tokens: self.tokens,
            documents: self.documents,
            bytes,
            companions: self.shape.companions,
            metadata,
        })
    }
}

impl FinishedTokenFile {
    /// Adds all files to a publication, with their targets in `folder`. The metadata file is last.
    pub fn stage(&self, publication: &mut Publication<'_>, folder: &Path, mode: u32) -> Outcome<()> {
        let target = folder.join(&self.name);
        publication.stage_file(&target, self.path.clone(), mode)?;
        if self.companions.loss {
            publication.stage_file(&loss_path(&target), loss_path(&self.path), mode)?;
        }
        if self.companions.description {
            publication.stage_file(&index_path(&target), index_path(&self.path), mode)?;
            let metadata = metadata_path(&target);
            publication.stage_bytes(&metadata, self.metadata.to_text().as_bytes(), mode)?;
            publication.mark_last(&metadata);
        }
        Ok(())
    }

    /// Returns the names of the data file and its companion files, with their sizes in bytes.
    pub fn files(&self) -> Vec<(String, u64)> {
        let mut files = vec![(self.name.clone(), self.bytes)];
        if self.companions.description {
            files.push((format!("{}.index", self.name), self.documents * index::WORD_BYTES));
            files.push((format!("{}.metadata", self.name), self.metadata.to_text().len() as u64));
        }
        if self.companions.loss {
            files.push((format!("{}.loss", self.name), self.tokens));
        }
        files
    }
}
