//! A packed file or a text file assembled from documents or lines of other files, in a new order.

use super::source::{written_size, Source};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Handles, Outcome};
use gristmill_data::formats::modalities::packed::Header;
use gristmill_pycompat::numpy_random::{Generator, Permutation};
use gristmill_pycompat::pickle::write_index;
use gristmill_pycompat::random::{MersenneTwister, Seed};
use gristmill_storage::fs::BufferedFile;
use serde::Serialize;

/// Items between two checks of the cancel flag.
const CANCEL_CHECK_EVERY: u64 = 1 << 10;

/// The figures of the written file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AssembledFile {
    /// Number of documents or lines.
    pub documents: u64,
    /// Number of tokens; 0 for lines.
    pub tokens: u64,
    /// Size of a token in bytes; `None` for lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_bytes: Option<u8>,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// The items to write, by source, in order.
pub struct Assembly {
    sources: Vec<Source>,
    /// Number of the first item of each source, counted across all sources.
    starts: Vec<u64>,
    order: Permutation,
    token_bytes: Option<u8>,
    glue: bool,
}

impl Assembly {
    /// Creates an assembly of all items of the sources, one source after another. All sources must contain lines, or tokens of one size.
    pub fn new(sources: Vec<Source>) -> Outcome<Self> {
        let mut token_bytes = None;
        let (mut starts, mut count) = (Vec::with_capacity(sources.len()), 0);
        for source in &sources {
            if let Some(layout) = source.layout() {
                same_size(&mut token_bytes, layout.token_bytes, Subject::path(source.file().path()))?;
            }
            starts.push(count);
            count += source.len() as u64;
        }
        let token_bytes = token_bytes.map(written_size);
        Ok(Self { sources, starts, order: Permutation::ascending(count), token_bytes, glue: false })
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps a last line without line end unchanged, so that the next line is appended to it, as in the reference program.
    #[must_use]
    pub fn joining_last_line(mut self, glue: bool) -> Self {
        self.glue = glue;
        self
    }

    /// Reorders the items like Python's `Random(seed).shuffle`.
    pub fn shuffle_as_python(&mut self, seed: &Seed) {
        let mut twister = MersenneTwister::seeded_by(seed);
        match &mut self.order {
            Permutation::Narrow(places) => twister.shuffle(places),
            Permutation::Wide(places) => twister.shuffle(places),
        }
    }

    /// Reorders the items like numpy's `default_rng(seed).shuffle`.
    pub fn shuffle_as_numpy(&mut self, seed: u64) {
        let mut generator = Generator::seeded(seed);
        match &mut self.order {
            Permutation::Narrow(places) => generator.shuffle(places),
            Permutation::Wide(places) => generator.shuffle(places),
        }
    }

    /// Keeps only items for which `is_kept` returns `true`, given their number and size (tokens, or bytes of a line).
    pub fn retain(&mut self, mut is_kept: impl FnMut(u64, u64) -> bool) {
        let (sources, starts) = (&self.sources, &self.starts);
        let mut keep = |number: u64| {
            place(sources, starts, number).is_some_and(|(source, item)| is_kept(number, source.size_of(item)))
        };
        match &mut self.order {
            Permutation::Narrow(places) => places.retain(|number| keep(u64::from(*number))),
            Permutation::Wide(places) => places.retain(|number| keep(*number)),
        }
    }

    fn copied_bytes(&self, number: u64) -> u64 {
        place(&self.sources, &self.starts, number).map_or(0, |(source, item)| source.copied_bytes(item, self.glue))
    }

    /// Writes all items to an empty file.
    pub fn write(&self, file: &mut BufferedFile, handles: &Handles<'_>) -> Outcome<AssembledFile> {
        let data_bytes = self.order.iter().map(|number| self.copied_bytes(number)).sum();
        let count = self.order.len() as u64;
        handles.progress.restart(count, data_bytes);
        if let Some(token_bytes) = self.token_bytes {
            file.write_all(&Header { data_bytes, token_bytes }.to_bytes())?;
        }
        let mut buffer = Vec::new();
        for (done, number) in self.order.iter().enumerate() {
            if (done as u64).is_multiple_of(CANCEL_CHECK_EVERY) {
                handles.cancel.check()?;
            }
            let Some((source, item)) = place(&self.sources, &self.starts, number) else { continue };
            let before = file.len();
            source.copy(item, self.glue, &mut buffer, &mut |bytes| {
                handles.cancel.check()?;
                file.write_all(bytes)
            })?;
            handles.progress.add(1, file.len() - before);
        }
        for source in &self.sources {
            source.check_unchanged()?;
        }
        if self.token_bytes.is_some() {
            let mut offset = 0;
            let items = self.order.iter().map(|number| {
                let item = (offset, self.copied_bytes(number));
                offset += item.1;
                item
            });
            write_index(count, items, &mut |bytes| file.write_all(bytes))?;
        }
        let tokens = self.token_bytes.map_or(0, |size| data_bytes / u64::from(size.max(1)));
        Ok(AssembledFile { documents: count, tokens, token_bytes: self.token_bytes, bytes: file.len() })
    }
}

/// Checks the token size of another source. All sources must have the same size.
pub fn same_size(known: &mut Option<u8>, token_bytes: u8, subject: Subject) -> Outcome<()> {
    match *known {
        Some(known) if known != token_bytes => {
            let why = format!(
                "its tokens have {}, those of the files before it {known}",
                gristmill_core::text::count(u64::from(token_bytes), "byte")
            );
            Err(Failure::data("joining packed files", why)
                .on(subject)
                .with_hint("pack all of them with one tokenizer, or join those of one size"))
        }
        _ => {
            *known = Some(token_bytes);
            Ok(())
        }
    }
}

/// Returns the source that contains an item, and the number of the item in it.
fn place<'a>(sources: &'a [Source], starts: &[u64], number: u64) -> Option<(&'a Source, usize)> {
    let at = starts.partition_point(|start| *start <= number).checked_sub(1)?;
    let item = usize::try_from(number - starts.get(at)?).ok()?;
    Some((sources.get(at)?, item))
}
