//! Locates the coded data of an AVIF image: its primary item, its alpha plane, the tiles of grids, or the first images of a sequence. The
//! metadata is validated as strictly as in libavif.

use super::avif::{associations, auxiliaries, boxes, check_boxes, find, header, is_alpha_name, item, references};
use super::check::error;
use super::{be16, be32, byte, piece, ProbeError, ReadEnd};
use crate::bytes::MAX_READ_BYTES;
use crate::Reader;
use std::collections::BTreeMap;

/// Extents of coded data in the file: offset and length in bytes, in decoding order.
pub(super) type Spans = Vec<(u64, u64)>;
/// The content of a box, if the box exists.
type Content = Option<Vec<u8>>;
/// Name and content of a property.
type Property<'a> = ([u8; 4], &'a [u8]);
/// The maximum number of top-level boxes that are visited.
const MAX_BOXES: usize = 1000;
/// Length of the prefix of a versioned box in bytes: the version, and three bytes of flags.
const FULL_BOX_PREFIX_BYTES: usize = 4;
/// Properties that libavif supports; others must not be essential.
const SUPPORTED_PROPERTIES: [&[u8; 4]; 13] = [
    b"ispe", b"auxC", b"colr", b"av1C", b"pasp", b"clap", b"irot", b"imir", b"pixi", b"a1op", b"lsel", b"a1lx", b"clli",
];

fn wrong(what: &str) -> ReadEnd {
    ReadEnd::other(format!("an AVIF file {what}"))
}

/// Returns the extents of each coded image that has to decode.
pub(super) fn coded(reader: &mut Reader) -> Result<Vec<Spans>, ReadEnd> {
    let (meta, moov) = descriptions(reader)?;
    let meta = meta.ok_or_else(|| wrong("without a description"))?;
    let items = Items::read(&meta, reader.len())?;
    match moov {
        // If there are tracks, the items only have to be well-formed.
        Some(moov) if reader.up_to(8, 4)? == b"avis" => tracks(&moov),
        _ => items.coded(reader),
    }
}

/// Returns the contents of the boxes `meta` and `moov`.
fn descriptions(reader: &mut Reader) -> Result<(Content, Content), ReadEnd> {
    let (mut at, mut meta, mut moov) = (0, None, None);
    for _ in 0..MAX_BOXES {
        let Some((kind, head, len)) = header(reader, at)? else { break };
        let size = usize::try_from(len - head).unwrap_or(usize::MAX);
        if matches!(&kind, b"meta" | b"moov") {
            if size > MAX_READ_BYTES || at + len > reader.len() {
                return Err(wrong("that ends within its description"));
            }
            let content = reader.up_to(at + head, size)?.to_vec();
            (if &kind == b"meta" { &mut meta } else { &mut moov }).get_or_insert(content);
        }
        at += len;
    }
    Ok((meta, moov))
}

/// Where the coded data of one image is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes {
    /// Offset and length in bytes of each extent of the colour data, in decoding order.
    pub colour: Vec<(u64, u64)>,
    /// Offset and length in bytes of each extent of the alpha plane; `None` without an alpha plane.
    pub alpha: Option<Vec<(u64, u64)>>,
}

/// Locates the coded data of the image, or of the first image of a sequence; `None` for an image composed of tiles.
pub fn codes(reader: &mut Reader) -> Result<Option<Codes>, ProbeError> {
    find_codes(reader).map_err(error)
}

fn find_codes(reader: &mut Reader) -> Result<Option<Codes>, ReadEnd> {
    let (meta, moov) = descriptions(reader)?;
    let meta = meta.ok_or_else(|| wrong("without a description"))?;
    if let Some(moov) = moov.filter(|_| reader.up_to(8, 4).is_ok_and(|brand| brand == b"avis")) {
        return Ok(tracks(&moov)?.into_iter().next().map(|colour| Codes { colour, alpha: None }));
    }
    let items = Items::read(&meta, reader.len())?;
    if items.kinds.get(&items.primary) == Some(b"grid") {
        return Ok(None);
    }
    let mut coded = items.coded(reader)?.into_iter();
    Ok(coded.next().map(|colour| Codes { colour, alpha: coded.next() }))
}

struct Items<'a> {
    primary: u32,
    kinds: BTreeMap<u32, [u8; 4]>,
    /// Extents of each item, and whether they are in the `idat` box of the metadata.
    places: BTreeMap<u32, (Spans, bool)>,
    properties: BTreeMap<u32, Vec<Property<'a>>>,
    iref: &'a [u8],
    idat: &'a [u8],
}

impl<'a> Items<'a> {
    fn read(meta: &'a [u8], file: u64) -> Result<Self, ReadEnd> {
        unversioned(meta)?;
        let meta = meta.get(FULL_BOX_PREFIX_BYTES..).unwrap_or_default();
        check_boxes(meta)?;
        handler(find(meta, b"hdlr")?)?;
        let primary = find(meta, b"pitm")?;
        let primary = item(primary, FULL_BOX_PREFIX_BYTES, byte(primary, 0)? != 0)?;
        let properties = find(meta, b"iprp")?;
        let mut kinds = kinds(find(meta, b"iinf")?)?;
        let list: Vec<Property> = boxes(find(properties, b"ipco")?).collect();
        for (kind, content) in &list {
            property(kind, content)?;
        }
        let mut of_items: BTreeMap<u32, Vec<Property>> = BTreeMap::new();
        for (id, index, is_essential) in associations(find(properties, b"ipma")?)? {
            if index == 0 {
                continue;
            }
            let found = *list.get(index - 1).ok_or_else(|| wrong("with a property that is not there"))?;
            if is_essential && !SUPPORTED_PROPERTIES.contains(&&found.0) {
                // libavif treats such an item as absent.
                kinds.remove(&id);
            }
            of_items.entry(id).or_default().push(found);
        }
        let places = places(find(meta, b"iloc")?, file)?;
        let (iref, idat) = (find(meta, b"iref").unwrap_or_default(), find(meta, b"idat").unwrap_or_default());
        Ok(Self { primary, kinds, places, properties: of_items, iref, idat })
    }

    fn property(&self, id: u32, kind: &[u8; 4]) -> Option<&'a [u8]> {
        self.properties.get(&id)?.iter().find(|(name, _)| name == kind).map(|(_, content)| *content)
    }

    fn coded(&self, reader: &mut Reader) -> Result<Vec<Spans>, ReadEnd> {
        let mut coded = Vec::new();
        self.picture(reader, self.primary, &mut coded)?;
        if !self.iref.is_empty() {
            for id in auxiliaries(self.iref, self.primary)? {
                if self.property(id, b"auxC").is_some_and(is_alpha_name) && self.kinds.contains_key(&id) {
                    self.property(id, b"ispe").ok_or_else(|| wrong("whose transparency has no size"))?;
                    self.picture(reader, id, &mut coded)?;
                    break;
                }
            }
        }
        Ok(coded)
    }

    fn picture(&self, reader: &mut Reader, id: u32, coded: &mut Vec<Spans>) -> Result<(), ReadEnd> {
        match self.kinds.get(&id) {
            Some(b"av01") => coded.push(self.codes(id)?),
            Some(b"grid") => {
                let tiles = references(self.iref, b"dimg", id)?;
                if tiles.len() != self.grid(reader, id)? {
                    return Err(wrong("of a grid with another number of tiles"));
                }
                for tile in tiles {
                    if self.kinds.get(&tile) != Some(b"av01") {
                        return Err(wrong("of a grid whose tiles are no pictures"));
                    }
                    coded.push(self.codes(tile)?);
                }
            }
            _ => return Err(wrong("without its picture")),
        }
        Ok(())
    }

    /// Returns the extents of an item, which must have a codec configuration.
    fn codes(&self, id: u32) -> Result<Spans, ReadEnd> {
        let config = self.property(id, b"av1C").ok_or_else(|| wrong("whose picture has no configuration"))?;
        let depth = match byte(config, 2)? & 0x60 {
            0x60 => 12,
            0x40 => 10,
            _ => 8,
        };
        if let Some(planes) = self.property(id, b"pixi") {
            let count = usize::from(byte(planes, FULL_BOX_PREFIX_BYTES)?);
            if planes
                .get(FULL_BOX_PREFIX_BYTES + 1..FULL_BOX_PREFIX_BYTES + 1 + count)
                .is_none_or(|depths| depths.iter().any(|of| *of != depth))
            {
                return Err(wrong("whose properties contradict each other"));
            }
        }
        match self.places.get(&id) {
            Some((spans, false)) => Ok(spans.clone()),
            _ => Err(wrong("without the codes of its picture")),
        }
    }

    /// Returns the number of tiles of a grid.
    fn grid(&self, reader: &mut Reader, id: u32) -> Result<usize, ReadEnd> {
        let bytes = match self.places.get(&id).map(|(spans, within)| (spans.as_slice(), *within)) {
            Some(([(at, _)], true)) => {
                let at = usize::try_from(*at).unwrap_or(usize::MAX);
                piece::<4>(self.idat, at)?
            }
            Some(([(at, _), ..], false)) => reader.array(*at)?,
            _ => return Err(wrong("without its grid")),
        };
        Ok((usize::from(bytes[2]) + 1) * (usize::from(bytes[3]) + 1))
    }
}

fn unversioned(content: &[u8]) -> Result<(), ReadEnd> {
    match byte(content, 0)? {
        0 => Ok(()),
        version => Err(wrong(&format!("with a box of version {version}"))),
    }
}

fn handler(content: &[u8]) -> Result<(), ReadEnd> {
    unversioned(content)?;
    let is_picture = be32(content, FULL_BOX_PREFIX_BYTES)? == 0 && content.get(8..12) == Some(b"pict");
    match content.get(24..) {
        Some(name) if is_picture && name.contains(&0) => Ok(()),
        _ => Err(wrong("whose description is not one of pictures")),
    }
}

/// Returns the type of each item.
fn kinds(iinf: &[u8]) -> Result<BTreeMap<u32, [u8; 4]>, ReadEnd> {
    let long = byte(iinf, 0)? != 0;
    let count = item(iinf, FULL_BOX_PREFIX_BYTES, long)?;
    let mut rest = iinf.get(if long { 8 } else { 6 }..).unwrap_or_default();
    let mut kinds = BTreeMap::new();
    for _ in 0..count {
        let len = be32(rest, 0)? as usize;
        let entry = rest.get(8..len).filter(|_| rest.get(4..8) == Some(b"infe"));
        let entry = entry.ok_or_else(|| wrong("whose list of items is broken"))?;
        let version = byte(entry, 0)?;
        if !matches!(version, 2 | 3) {
            return Err(wrong("with an item of an unknown version"));
        }
        let id = item(entry, FULL_BOX_PREFIX_BYTES, version == 3)?;
        kinds.insert(id, piece(entry, if version == 3 { 10 } else { 8 })?);
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(kinds)
}

fn property(kind: &[u8; 4], content: &[u8]) -> Result<(), ReadEnd> {
    match kind {
        b"ispe" => {
            unversioned(content)?;
            be32(content, 8)?;
        }
        b"auxC" => {
            unversioned(content)?;
            if !content.get(FULL_BOX_PREFIX_BYTES..).unwrap_or_default().contains(&0) {
                return Err(wrong("with a name that does not end"));
            }
        }
        b"pixi" => {
            unversioned(content)?;
            let count = usize::from(byte(content, FULL_BOX_PREFIX_BYTES)?);
            let depths = content
                .get(FULL_BOX_PREFIX_BYTES + 1..FULL_BOX_PREFIX_BYTES + 1 + count)
                .filter(|_| (1..=4).contains(&count));
            let depths = depths.ok_or_else(|| wrong("with an unknown number of planes"))?;
            if depths.iter().any(|depth| Some(depth) != depths.first()) {
                return Err(wrong("whose planes differ in depth"));
            }
        }
        b"av1C" if byte(content, 0)? != 0x81 => return Err(wrong("of an unknown configuration")),
        b"irot" if byte(content, 0)? & 0xfc != 0 => return Err(wrong("with an impossible turn")),
        b"imir" if byte(content, 0)? & 0xfe != 0 => return Err(wrong("with an impossible mirror")),
        b"a1op" if byte(content, 0)? > 31 => return Err(wrong("with an impossible operating point")),
        _ => {}
    }
    Ok(())
}

/// Reads a number of 0, 1, 2, 4 or 8 bytes at `at`, and advances `at` past it.
fn sized(bytes: &[u8], at: &mut usize, size: u8) -> Result<u64, ReadEnd> {
    if !matches!(size, 0 | 1 | 2 | 4 | 8) {
        return Err(wrong("with numbers of an impossible size"));
    }
    let end = *at + usize::from(size);
    let number = bytes.get(*at..end).ok_or_else(|| wrong("whose list of places is cut"))?;
    *at = end;
    Ok(number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn places(iloc: &[u8], file: u64) -> Result<BTreeMap<u32, (Spans, bool)>, ReadEnd> {
    let version = byte(iloc, 0)?;
    if version > 2 {
        return Err(wrong("with a list of places of an unknown version"));
    }
    let (sizes, more) = (byte(iloc, 4)?, byte(iloc, 5)?);
    let (offset_size, length_size, base_size) = (sizes >> 4, sizes & 15, more >> 4);
    let index_size = if version == 0 { 0 } else { more & 15 };
    let id_size = if version == 2 { 4 } else { 2 };
    let mut at = 6;
    let count = sized(iloc, &mut at, id_size)?;
    let mut places = BTreeMap::new();
    for _ in 0..count {
        let id = sized(iloc, &mut at, id_size)?;
        let within = version > 0 && sized(iloc, &mut at, 2)? & 15 == 1;
        sized(iloc, &mut at, 2)?;
        let base = sized(iloc, &mut at, base_size)?;
        let (mut spans, mut total) = (Vec::new(), 0_u64);
        for _ in 0..sized(iloc, &mut at, 2)? {
            sized(iloc, &mut at, index_size)?;
            let offset = base.saturating_add(sized(iloc, &mut at, offset_size)?);
            let len = sized(iloc, &mut at, length_size)?;
            total = total.saturating_add(len);
            spans.push((offset, len));
            if offset_size == 0 && length_size == 0 {
                // With both sizes 0, nothing is consumed, so the end of the box would not bound the list.
                break;
            }
        }
        let id = u32::try_from(id).ok().filter(|id| *id != 0 && total <= file);
        let id = id.ok_or_else(|| wrong("with an item of an impossible place"))?;
        if places.insert(id, (spans, within)).is_some() {
            return Err(wrong("with two places of one item"));
        }
    }
    Ok(places)
}

/// Returns the extent of the first image of each track.
fn tracks(moov: &[u8]) -> Result<Vec<Spans>, ReadEnd> {
    check_boxes(moov)?;
    let mut coded = Vec::new();
    for (_, track) in boxes(moov).filter(|(kind, _)| kind == b"trak") {
        check_boxes(track)?;
        let media = find(track, b"mdia")?;
        check_boxes(media)?;
        if find(media, b"hdlr")?.get(8..12).is_none_or(|kind| kind != b"pict" && kind != b"auxv") {
            continue;
        }
        let information = find(media, b"minf")?;
        check_boxes(information)?;
        let table = find(information, b"stbl")?;
        check_boxes(table)?;
        let place = match find(table, b"stco") {
            Ok(places) => u64::from(be32(places, 8)?),
            Err(_) => u64::from_be_bytes(piece(find(table, b"co64")?, 8)?),
        };
        let sizes = find(table, b"stsz")?;
        let size = match be32(sizes, FULL_BOX_PREFIX_BYTES)? {
            0 => be32(sizes, 12)?,
            size => size,
        };
        be16(find(table, b"stsc")?, 14)?;
        coded.push(vec![(place, size.into())]);
    }
    Ok(coded)
}
