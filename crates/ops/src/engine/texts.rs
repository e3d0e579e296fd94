//! Text lengths in a WebDataset: of its text parts, and of the strings in its JSON parts.
//!
//! Lengths are in characters, as for a JSONL file, so contents must be read. Samples are read in groups of neighbours, spread evenly over
//! the data set, up to a limit of bytes.

use super::browse::{BrowseSample, Catalog, SampleAt};
use super::jsonl::Lengths;
use gristmill_core::{Cancel, Outcome};
use gristmill_data::source::decode::{decode_part, part_class, PartClass, Value};
use serde::Serialize;
use std::collections::HashMap;

/// Limit of the bytes of text that are read.
const MAX_BYTES: u64 = 64 << 20;
/// Limit of the samples that are read.
const MAX_SAMPLES: u64 = 20_000;
/// Samples in one group; reading neighbouring samples is cheap.
const SAMPLES_PER_READ: u64 = 50;
/// Maximum size of a part that is read, in bytes; a larger one counts as unread.
const MAX_PART_BYTES: u64 = 4 << 20;
/// Limit of distinct texts, by part and key.
const MAX_NAMES: usize = 200;

/// The texts of one part, or of one key of a JSON part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TextSpread {
    /// Name of the part, and for a JSON part its key after a slash: `txt`, `json/caption`. Raw.
    pub name: String,
    /// Distribution of the lengths in characters.
    pub characters: Lengths,
}

/// The text lengths of a data set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TextLengths {
    /// Samples that were read.
    pub looked_at: u64,
    /// Whether every sample was read.
    pub is_complete: bool,
    /// Number of text parts that are too long, or cannot be read or decoded.
    pub unread: u64,
    /// The texts, ordered by total number of characters, largest first.
    pub texts: Vec<TextSpread>,
}

/// Reads texts of evenly spread samples. Returns soon after a cancellation. Parts that cannot be read are counted.
pub fn text_lengths(catalog: &dyn Catalog, cancel: &Cancel) -> Outcome<TextLengths> {
    let groups = catalog.groups();
    let total = groups.total();
    let mut tally = Tally::default();
    let stretches = total.min(MAX_SAMPLES).div_ceil(SAMPLES_PER_READ);
    let mut number = 0;
    for stretch in 0..stretches {
        // The product of two sample counts may overflow 64 bits.
        let even = u128::from(total) * u128::from(stretch) / u128::from(stretches.max(1));
        number = u64::try_from(even).unwrap_or(number).max(number);
        let end = number.saturating_add(SAMPLES_PER_READ).min(total);
        let Some(at) = groups.locate(number) else { break };
        tally.measure_samples(catalog, at, end - number, cancel)?;
        number = end;
        if tally.bytes >= MAX_BYTES {
            break;
        }
    }
    Ok(tally.finish(total))
}

#[derive(Default)]
struct Tally {
    lengths: TextLengths,
    places: HashMap<String, usize>,
    bytes: u64,
}

impl Tally {
    fn measure_samples(&mut self, catalog: &dyn Catalog, at: SampleAt, count: u64, cancel: &Cancel) -> Outcome<()> {
        for sample in catalog.samples(at, usize::try_from(count).unwrap_or(usize::MAX), cancel)? {
            cancel.check()?;
            self.lengths.looked_at += 1;
            for part in 0..sample.parts.len() {
                self.part(catalog, &sample, part);
            }
        }
        Ok(())
    }

    fn part(&mut self, catalog: &dyn Catalog, sample: &BrowseSample, at: usize) {
        let Some(part) = sample.parts.get(at) else { return };
        if !matches!(part_class(&part.name), PartClass::Text | PartClass::Json) {
            return;
        }
        let value = (part.byte_size <= MAX_PART_BYTES)
            .then(|| catalog.read(sample, at, 0, usize::try_from(part.byte_size).unwrap_or(usize::MAX)).ok())
            .flatten()
            .and_then(|bytes| decode_part(&part.name, &bytes).ok());
        self.bytes = self.bytes.saturating_add(part.byte_size.min(MAX_PART_BYTES));
        match value {
            Some(Value::Text(text)) => self.text(part.name.to_string(), &text),
            Some(Value::Json(json)) => self.json(&part.name, &json),
            _ => self.lengths.unread += 1,
        }
    }

    fn json(&mut self, part: &str, json: &serde_json::Value) {
        match json {
            serde_json::Value::String(text) => self.text(part.to_owned(), text),
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    if let serde_json::Value::String(text) = value {
                        self.text(format!("{part}/{key}"), text);
                    }
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, name: String, text: &str) {
        let texts = &mut self.lengths.texts;
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None if texts.len() < MAX_NAMES => {
                texts.push(TextSpread { name: name.clone(), ..TextSpread::default() });
                self.places.insert(name, texts.len() - 1);
                texts.len() - 1
            }
            None => return,
        };
        if let Some(spread) = texts.get_mut(place) {
            spread.characters.add(text.chars().count() as u64);
        }
    }

    fn finish(mut self, total: u64) -> TextLengths {
        self.lengths.is_complete = self.lengths.looked_at >= total;
        self.lengths
            .texts
            .sort_by(|a, b| b.characters.total.cmp(&a.characters.total).then_with(|| a.name.cmp(&b.name)));
        self.lengths
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::browse::{BrowsePart, CatalogHead, Group, Groups, KeyQuery, VisitFields, VisitedSample};
    use gristmill_core::{DatasetKind, Failure};
    use std::path::Path;
    use std::sync::Arc;

    /// A data set of `samples` captions with a JSON part; caption n has n % 7 + 1 characters.
    struct Captions {
        groups: Arc<Groups>,
        json: &'static str,
    }

    impl Captions {
        fn new(samples: u64, json: &'static str) -> Self {
            let half = samples / 2;
            let group = |name: &str, samples| Group {
                name: Arc::from(name),
                samples,
                is_counted: true,
                bytes: 1,
                failure: None,
            };
            Self { groups: Arc::new(Groups::new(1, vec![group("a", half), group("b", samples - half)], true)), json }
        }
    }

    impl Catalog for Captions {
        fn head(&self) -> CatalogHead<'_> {
            CatalogHead { kind: DatasetKind::PreparedWebDataset, root: Path::new("/data"), group_word: "shard" }
        }

        fn groups(&self) -> Arc<Groups> {
            Arc::clone(&self.groups)
        }
        fn samples(&self, from: SampleAt, count: usize, _: &Cancel) -> Outcome<Vec<BrowseSample>> {
            let first = self.groups.number(from);
            let numbers = first..(first + count as u64).min(self.groups.total());
            let part = |name: &str, size: u64| BrowsePart { name: Arc::from(name), byte_offset: 0, byte_size: size };
            Ok(numbers
                .map(|number| BrowseSample {
                    at: self.groups.locate(number).unwrap(),
                    key: Arc::from(number.to_string()),
                    byte_offset: number,
                    byte_size: 1,
                    parts: vec![part("txt", 99), part("json", 99), part("jpg", 99)],
                    defect: None,
                })
                .collect())
        }
        fn read(&self, sample: &BrowseSample, part: usize, _: u64, _: usize) -> Outcome<Vec<u8>> {
            match part {
                0 => Ok("ü".repeat(sample.byte_offset as usize % 7 + 1).into_bytes()),
                1 => Ok(self.json.as_bytes().to_vec()),
                _ => Err(Failure::data("reading", "a picture is no text")),
            }
        }
        fn find(&self, _: &KeyQuery, _: &Cancel, _: &mut dyn FnMut(SampleAt) -> bool) -> Outcome<()> {
            Ok(())
        }
        fn locate(&self, _: Option<&str>, _: &str, _: &Cancel) -> Outcome<Option<SampleAt>> {
            Ok(None)
        }
        fn shard(&self, _: u32) -> Outcome<Option<gristmill_core::Shard>> {
            Ok(None)
        }
        fn visit(
            &self,
            _: u32,
            _: VisitFields,
            _: &Cancel,
            _: &mut dyn FnMut(VisitedSample<'_>) -> bool,
        ) -> Outcome<()> {
            Ok(())
        }
    }

    #[test]
    fn text_lengths_count_characters_per_part_and_json_key() {
        let lengths = text_lengths(&Captions::new(14, r#"{"caption":"a cat","n":3}"#), &Cancel::default()).unwrap();
        assert_eq!((lengths.looked_at, lengths.is_complete, lengths.unread), (14, true, 0));
        let named: Vec<_> = lengths.texts.iter().map(|t| (t.name.as_str(), &t.characters)).collect();
        assert_eq!(
            named.iter().map(|(name, l)| (*name, l.count, l.total)).collect::<Vec<_>>(),
            [("json/caption", 14, 70), ("txt", 14, 56)]
        );
        assert_eq!((named[1].1.min, named[1].1.max), (1, 7));
    }

    #[test]
    fn text_lengths_of_many_samples_are_read_evenly_spread() {
        let lengths = text_lengths(&Captions::new(1_000_003, "[]"), &Cancel::default()).unwrap();
        assert_eq!((lengths.looked_at, lengths.is_complete), (MAX_SAMPLES, false));
        // The seven lengths are equally frequent, so that samples from a single place would not give the mean of the whole set.
        assert!((lengths.texts[0].characters.mean() - 4.0).abs() < 0.1);
    }

    #[test]
    fn undecodable_texts_are_counted_and_cancellation_ends_the_reading() {
        let lengths = text_lengths(&Captions::new(3, "{\"caption\":"), &Cancel::default()).unwrap();
        assert_eq!((lengths.unread, lengths.texts.len()), (3, 1));
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(text_lengths(&Captions::new(3, "[]"), &cancel).unwrap_err().is_cancelled());
    }
}
