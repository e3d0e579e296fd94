//! AVIF: size, transparency and greyness of the primary item, read from its properties alone.

use super::{be16, be32, byte, Picture, ReadEnd, CUT};
use crate::bytes::MAX_READ_BYTES;
use crate::Reader;

pub(super) fn accepts(first: &[u8]) -> bool {
    first.get(4..8) == Some(b"ftyp") && matches!(first.get(8..12), Some(b"avif" | b"avis" | b"mif1" | b"msf1"))
}

/// The maximum number of top-level boxes that are visited.
const MAX_BOXES: usize = 1000;
const ALPHA: [&[u8]; 2] = [b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0", b"urn:mpeg:hevc:2015:auxid:1\0"];

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let ftyp = be32(reader.up_to(0, 4)?, 0)? as usize;
    let brands = reader.up_to(8, ftyp.saturating_sub(8).min(4096))?;
    let avif = |brand: &[u8]| brand == b"avif" || brand == b"avis";
    if !brands.chunks(4).enumerate().any(|(index, brand)| index != 1 && avif(brand)) {
        return Err(ReadEnd::other("a picture of another kind than AVIF in an ISO media file"));
    }
    let (mut at, mut picture, mut cut) = (ftyp as u64, None, false);
    for _ in 0..MAX_BOXES {
        let Some((kind, head, len)) = header(reader, at)? else { break };
        let end = at + len;
        let size = usize::try_from(len - head).unwrap_or(usize::MAX);
        match &kind {
            b"meta" if size > MAX_READ_BYTES || end > reader.len() => {
                return Err(ReadEnd::other("an AVIF file that ends within its description"));
            }
            b"meta" if picture.is_none() => picture = Some(described(reader.up_to(at + head, size)?)?),
            b"mdat" if end > reader.len() => cut = true,
            _ => {}
        }
        at = end;
    }
    let mut picture = picture.ok_or_else(|| ReadEnd::other("an AVIF file without a description"))?;
    if cut {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// Reads the box at `at`: name, length of its header, and total length; `None` at the end of the file.
pub(super) fn header(reader: &mut Reader, at: u64) -> Result<Option<([u8; 4], u64, u64)>, ReadEnd> {
    let rest = reader.len().saturating_sub(at);
    let header = reader.up_to(at, 16)?;
    if header.len() < 8 {
        return Ok(None);
    }
    let (len, kind) = (be32(header, 0)?, super::piece::<4>(header, 4)?);
    let (head, len) = match len {
        0 => (8, rest),
        1 => (16, u64::from_be_bytes(super::piece(header, 8)?)),
        len => (8, len.into()),
    };
    match at.checked_add(len) {
        Some(_) if len >= head => Ok(Some((kind, head, len))),
        _ => Err(ReadEnd::other("an AVIF file with a box of an impossible length")),
    }
}

/// Iterates over the boxes in `bytes`: name and content.
pub(super) fn boxes(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let len = be32(bytes, 0).ok()? as usize;
        let kind = super::piece(bytes, 4).ok()?;
        let len = if len == 0 { bytes.len() } else { len };
        let content = bytes.get(8..len)?;
        bytes = bytes.get(len..)?;
        Some((kind, content))
    })
}

pub(super) fn find<'a>(bytes: &'a [u8], kind: &[u8; 4]) -> Result<&'a [u8], ReadEnd> {
    let found = boxes(bytes).find(|(name, _)| name == kind).map(|(_, content)| content);
    found.ok_or_else(|| ReadEnd::other(format!("an AVIF file without its box {}", kind.escape_ascii())))
}

/// Reads an item number of 2 bytes, or 4 if `long`.
pub(super) fn item(bytes: &[u8], at: usize, long: bool) -> Result<u32, ReadEnd> {
    if long {
        be32(bytes, at)
    } else {
        be16(bytes, at)
    }
}

/// Checks that the boxes follow each other up to the end of the enclosing box.
pub(super) fn check_boxes(mut bytes: &[u8]) -> Result<(), ReadEnd> {
    while !bytes.is_empty() {
        let len = be32(bytes, 0)? as usize;
        let len = if len == 0 { bytes.len() } else { len };
        let rest = bytes.get(len..).filter(|_| len >= 8);
        bytes = rest.ok_or_else(|| ReadEnd::other("an AVIF file with a box of an impossible length"))?;
    }
    Ok(())
}

fn described(meta: &[u8]) -> Result<Picture, ReadEnd> {
    let meta = meta.get(4..).unwrap_or_default();
    check_boxes(meta)?;
    let properties = find(meta, b"iprp")?;
    check_boxes(properties)?;
    check_boxes(find(properties, b"ipco")?)?;
    for needed in [b"hdlr", b"iloc", b"iinf"] {
        find(meta, needed)?;
    }
    if let Ok(references) = find(meta, b"iref") {
        check_boxes(references.get(4..).unwrap_or_default())?;
    }
    let primary = find(meta, b"pitm")?;
    let primary = item(primary, 4, byte(primary, 0)? != 0)?;
    let properties = find(meta, b"iprp")?;
    let list: Vec<([u8; 4], &[u8])> = boxes(find(properties, b"ipco")?).collect();
    let of_items = associations(find(properties, b"ipma")?)?;
    let of = |wanted: u32| {
        let of_items = &of_items;
        let list = &list;
        let mine = of_items.iter().filter(move |(item, ..)| *item == wanted);
        mine.filter_map(move |(_, index, _)| list.get(index.checked_sub(1)?))
    };
    let size = of(primary).find(|(kind, _)| kind == b"ispe").map(|(_, content)| content);
    let size = size.ok_or_else(|| ReadEnd::other("an AVIF file whose picture has no size"))?;
    let is_alpha = |item: u32| of(item).any(|(kind, content)| kind == b"auxC" && is_alpha_name(content));
    let alpha = match find(meta, b"iref") {
        Ok(references) => auxiliaries(references, primary)?.into_iter().any(is_alpha),
        Err(_) => false,
    };
    // The monochrome bit of the codec's configuration.
    let grey = of(primary).any(|(kind, content)| kind == b"av1C" && byte(content, 2).is_ok_and(|c| c & 0x10 != 0));
    let mode = match (alpha, grey) {
        (true, _) => "RGBA",
        (false, true) => "L",
        (false, false) => "RGB",
    };
    Picture::new(be32(size, 4)?, be32(size, 8)?, "AVIF", mode)
}

/// Whether the content of an `auxC` property declares its item to be an alpha plane.
pub(super) fn is_alpha_name(content: &[u8]) -> bool {
    ALPHA.iter().any(|name| content.get(4..).unwrap_or_default().starts_with(name))
}

/// Returns, for each association, the item, the number of the property (from 1), and whether the property is essential.
pub(super) fn associations(ipma: &[u8]) -> Result<Vec<(u32, usize, bool)>, ReadEnd> {
    let (version, wide) = (byte(ipma, 0)?, byte(ipma, 3)? & 1 != 0);
    let mut pairs = Vec::new();
    let mut at = 8;
    for _ in 0..be32(ipma, 4)? {
        let id = item(ipma, at, version != 0)?;
        at += if version == 0 { 2 } else { 4 };
        let count = byte(ipma, at)?;
        at += 1;
        for _ in 0..count {
            let is_essential = byte(ipma, at)? & 0x80 != 0;
            let index = if wide { be16(ipma, at)? & 0x7fff } else { u32::from(byte(ipma, at)? & 0x7f) };
            at += if wide { 2 } else { 1 };
            pairs.push((id, index as usize, is_essential));
        }
    }
    Ok(pairs)
}

/// Returns the items that are auxiliaries of `primary`.
pub(super) fn auxiliaries(iref: &[u8], primary: u32) -> Result<Vec<u32>, ReadEnd> {
    let long = byte(iref, 0)? != 0;
    let width = if long { 4 } else { 2 };
    let mut found = Vec::new();
    for (kind, content) in boxes(iref.get(4..).unwrap_or_default()) {
        if &kind != b"auxl" {
            continue;
        }
        let from = item(content, 0, long)?;
        let count = be16(content, width)? as usize;
        for index in 0..count {
            if item(content, width + 2 + index * width, long)? == primary {
                found.push(from);
            }
        }
    }
    Ok(found)
}

/// Returns the items that `from` refers to by a reference of type `wanted`.
pub(super) fn references(iref: &[u8], wanted: &[u8; 4], from: u32) -> Result<Vec<u32>, ReadEnd> {
    let long = byte(iref, 0)? != 0;
    let width = if long { 4 } else { 2 };
    let mut found = Vec::new();
    for (kind, content) in boxes(iref.get(4..).unwrap_or_default()) {
        if &kind == wanted && item(content, 0, long)? == from {
            for index in 0..be16(content, width)? as usize {
                found.push(item(content, width + 2 + index * width, long)?);
            }
        }
    }
    Ok(found)
}
