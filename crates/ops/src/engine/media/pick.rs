//! Selects entries with a filter, and probes the content of a selected entry.

use gristmill_core::catch_panic::catch_panic;
use gristmill_core::lfs::{is_lfs_pointer, LFS_POINTER, MAX_LFS_POINTER_BYTES};
use gristmill_core::{Cancel, Failure, MediaFacts, MediaFilter, MediaPlan, MediaType, Outcome};
use gristmill_media::kind::{globs_match, type_by_extension, type_by_header, HEADER_BYTES};
use gristmill_media::{ByteSource, ProbeError, ProbeResult, Reader};

/// Whether an entry may be media according to its name. Only such entries are opened.
pub fn picks(filter: &MediaFilter, name: &str) -> bool {
    match filter {
        MediaFilter::Extension => type_by_extension(name).is_some(),
        MediaFilter::Header => true,
        MediaFilter::Glob(patterns) => globs_match(patterns, name),
    }
}

/// Like [`picks`], for a file in a folder of media: a pattern may also match the name without its folders.
pub fn picks_file(filter: &MediaFilter, name: &str) -> bool {
    picks(filter, name)
        || match (filter, name.rsplit_once('/')) {
            (MediaFilter::Glob(patterns), Some((_, last))) => globs_match(patterns, last),
            _ => false,
        }
}

/// The result of probing an entry.
#[derive(Debug)]
pub enum ProbeVerdict {
    /// Neither its bytes nor its name identify it as media.
    Other,
    /// The entry is media.
    Media {
        /// The content of its row; `None` if `--compat` omits a broken picture.
        facts: Option<MediaFacts>,
        /// Unusual properties of the entry.
        remarks: Vec<String>,
        /// Damage after a valid header.
        damage: Option<String>,
    },
    /// The entry has the suffix or the first bytes of a media format, but its format is not recognised.
    NotMedia(String),
    /// The entry is media, but too damaged to have a row.
    Broken(String),
    /// The entry cannot be read.
    Unreadable(std::io::Error),
}

/// Probes entries one after another, with one reused buffer.
pub struct Prober<'a> {
    plan: &'a MediaPlan,
    compat: bool,
    cancel: &'a Cancel,
    window: Vec<u8>,
}

impl<'a> Prober<'a> {
    /// Creates a prober. With `compat`, pictures are decoded and broken ones are omitted, as in the reference program.
    pub fn new(plan: &'a MediaPlan, compat: bool, cancel: &'a Cancel) -> Self {
        Self { plan, compat, cancel, window: Vec::new() }
    }

    /// Probes one entry selected by [`picks`]. Only a cancellation is an error.
    ///
    /// A panic in a reader is caught, and only affects this entry.
    pub fn probe(&mut self, name: &str, source: &dyn ByteSource) -> Outcome<ProbeVerdict> {
        self.with_reader(source, |prober, reader| prober.media_type(name, reader))
    }

    /// Probes an entry whose type is known from a row.
    pub fn probe_as(&mut self, media_type: MediaType, source: &dyn ByteSource) -> Outcome<ProbeVerdict> {
        self.with_reader(source, |_, _| Ok(Some(media_type)))
    }

    fn with_reader(
        &mut self,
        source: &dyn ByteSource,
        media_type: impl FnOnce(&Self, &mut Reader) -> Result<Option<MediaType>, ProbeError>,
    ) -> Outcome<ProbeVerdict> {
        let attempt = catch_panic(|| {
            let mut reader = Reader::with_window(source, self.cancel, std::mem::take(&mut self.window));
            let verdict = media_type(self, &mut reader).and_then(|media_type| self.probe_type(media_type, &mut reader));
            self.window = reader.into_window();
            verdict
        });
        let looked = attempt.unwrap_or_else(|| {
            Ok(ProbeVerdict::Broken("a bug in gristmill was hit while reading it; please report this file".to_owned()))
        });
        match looked {
            Ok(verdict) => Ok(verdict),
            Err(ProbeError::Cancelled) => Err(Failure::cancelled()),
            Err(ProbeError::Io(error)) => Ok(ProbeVerdict::Unreadable(error)),
            Err(_) if is_pointer(source) => Ok(ProbeVerdict::NotMedia(LFS_POINTER.to_owned())),
            Err(ProbeError::NotMedia(why)) => Ok(ProbeVerdict::NotMedia(why)),
            Err(error @ ProbeError::Broken { .. }) => Ok(ProbeVerdict::Broken(error.to_string())),
        }
    }

    fn probe_type(&self, media_type: Option<MediaType>, reader: &mut Reader) -> Result<ProbeVerdict, ProbeError> {
        let Some(media_type) = media_type else { return Ok(ProbeVerdict::Other) };
        let ProbeResult { facts, remarks } = gristmill_media::probe(reader, media_type)?;
        let damage = self.damage(reader, &facts)?;
        let is_left_out = self.compat && damage.is_some();
        Ok(ProbeVerdict::Media { facts: (!is_left_out).then_some(facts), remarks, damage })
    }

    fn media_type(&self, name: &str, reader: &mut Reader) -> Result<Option<MediaType>, ProbeError> {
        let by_name = type_by_extension(name);
        Ok(match &self.plan.filter {
            MediaFilter::Extension => by_name,
            MediaFilter::Header => type_by_header(reader.up_to(0, HEADER_BYTES)?).or(by_name),
            MediaFilter::Glob(_) if by_name.is_some() => by_name,
            MediaFilter::Glob(_) => type_by_header(reader.up_to(0, HEADER_BYTES)?),
        })
    }

    /// Returns damage that is only found by decoding the whole picture.
    fn damage(&self, reader: &mut Reader, facts: &MediaFacts) -> Result<Option<String>, ProbeError> {
        let MediaFacts::Image(image) = facts else { return Ok(None) };
        if !(self.plan.decode || self.compat) {
            return Ok(None);
        }
        match gristmill_media::image::check(reader, image) {
            Ok(()) => Ok(None),
            Err(error @ (ProbeError::Broken { .. } | ProbeError::NotMedia(_))) => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }
}

/// Whether the entry is a Git LFS pointer instead of a media file.
fn is_pointer(source: &dyn ByteSource) -> bool {
    let size = source.len();
    let mut content = vec![0; usize::try_from(size.min(MAX_LFS_POINTER_BYTES)).unwrap_or_default()];
    size <= MAX_LFS_POINTER_BYTES
        && source.read_at(&mut content, 0).is_ok_and(|count| count == content.len())
        && is_lfs_pointer(&content)
}
