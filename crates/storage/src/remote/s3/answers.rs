//! The answers of the store that are XML.

use super::super::dates::parse_iso_date;
use super::super::version::ObjectVersion;
use quick_xml::events::Event;
use quick_xml::Reader;

/// Maximum number of elements within each other.
const MAX_DEPTH: usize = 16;

/// A page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) objects: Vec<(String, ObjectVersion)>,
    /// Each with the slash at its end.
    pub(super) prefixes: Vec<String>,
    /// Where the next page begins; `None` after the last one.
    pub(super) next: Option<String>,
}

/// Calls a function with the names of the elements around each text, the innermost last, and the text; at the end of an element that
/// contains others, with an empty text. Returns `None` if it is no valid XML. Entities are not expanded, except those that XML itself has.
pub(super) fn walk(xml: &[u8], take: &mut dyn FnMut(&[String], &str)) -> Option<()> {
    let mut reader = Reader::from_reader(xml);
    let mut path: Vec<String> = Vec::new();
    let (mut text, mut has_text) = (String::new(), false);
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                path.push(String::from_utf8(tag.local_name().as_ref().to_vec()).ok()?);
                (text, has_text) = (String::new(), true);
                if path.len() > MAX_DEPTH {
                    return None;
                }
            }
            Event::End(_) => {
                take(&path, if has_text { &text } else { "" });
                path.pop()?;
                has_text = false;
            }
            Event::Text(part) => text += &part.decode().ok()?,
            Event::CData(part) => text += &part.decode().ok()?,
            Event::GeneralRef(name) => match name.resolve_char_ref().ok()? {
                Some(character) => text.push(character),
                None => text += quick_xml::escape::resolve_xml_entity(&name.decode().ok()?)?,
            },
            Event::DocType(_) => return None,
            Event::Eof => return path.is_empty().then_some(()),
            _ => {}
        }
    }
}

/// Returns the text of the first element of a name.
pub(super) fn text_of(xml: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    walk(xml, &mut |path, text| {
        if found.is_none() && path.last().is_some_and(|last| last == name) {
            found = Some(text.to_owned());
        }
    })?;
    found
}

/// Returns the unfinished uploads of a key in a list of such uploads.
pub(super) fn uploads_of(xml: &[u8], key: &str) -> Vec<String> {
    let (mut found, mut is_same, mut upload) = (Vec::new(), false, String::new());
    let parsed = walk(xml, &mut |path, text| match path.last().map(String::as_str) {
        Some("Key") => is_same = text == key,
        Some("UploadId") => text.clone_into(&mut upload),
        Some("Upload") => found.extend(is_same.then(|| std::mem::take(&mut upload))),
        _ => {}
    });
    if parsed.is_some() {
        found
    } else {
        Vec::new()
    }
}

/// Parses a page of a listing; `None` if it is none.
pub(super) fn parse_page(xml: &[u8]) -> Option<Page> {
    let mut page = Page::default();
    let (mut is_listing, mut is_encoded, mut is_truncated) = (false, false, false);
    let (mut key, mut version, mut has_size) = (String::new(), ObjectVersion::default(), true);
    walk(xml, &mut |path, text| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [_, "Contents", "Key"] => key = text.to_owned(),
            [_, "Contents", "Size"] => match text.trim().parse() {
                Ok(bytes) => version.bytes = bytes,
                Err(_) => has_size = false,
            },
            [_, "Contents", "ETag"] => version.etag = text.trim().to_owned(),
            [_, "Contents", "LastModified"] => version.modified_ns = parse_iso_date(text).unwrap_or_default(),
            [_, "Contents"] => page.objects.push((std::mem::take(&mut key), std::mem::take(&mut version))),
            [_, "CommonPrefixes", "Prefix"] => page.prefixes.push(text.to_owned()),
            [_, "EncodingType"] => is_encoded = text.trim() == "url",
            [_, "IsTruncated"] => is_truncated = text.trim() == "true",
            [_, "NextContinuationToken"] => page.next = Some(text.to_owned()),
            ["ListBucketResult"] => is_listing = true,
            _ => {}
        }
    })?;
    if is_encoded {
        let names = page.objects.iter_mut().map(|(key, _)| key).chain(&mut page.prefixes);
        names.into_iter().try_for_each(|name| decode(name).map(|plain| *name = plain))?;
    }
    page.next = page.next.filter(|_| is_truncated);
    // A page that is not the last one has to say where the next one begins.
    (is_listing && has_size && is_truncated == page.next.is_some()).then_some(page)
}

/// Decodes a key of a listing with `encoding-type=url`, where a space is `+`.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = rest.get(2..)?;
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_keys_prefixes_and_the_next_page() {
        let xml = r#"<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;&#98;</NextContinuationToken>
            <Contents><Key>a+b%2B%C3%A4</Key><LastModified>1970-01-01T00:00:01.000Z</LastModified><ETag>&quot;e1&quot;</ETag>
            <Size>12</Size><Owner><ID>x</ID></Owner></Contents><Contents><Key>c</Key><Size>0</Size><ETag>"e2"</ETag></Contents>
            <CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes></ListBucketResult>"#;
        let page = parse_page(xml.as_bytes()).unwrap();
        let first = ObjectVersion { bytes: 12, etag: "\"e1\"".to_owned(), modified_ns: 1_000_000_000 };
        assert_eq!(page.objects[0], ("a b+\u{e4}".to_owned(), first));
        assert_eq!(
            (page.objects[1].0.as_str(), page.prefixes, page.next),
            ("c", vec!["d/".to_owned()], Some("a&b".into()))
        );
    }

    #[test]
    fn unfinished_uploads_are_those_of_the_key() {
        let xml = "<R><KeyMarker></KeyMarker><Upload><Key>a</Key><UploadId>1</UploadId></Upload>\
                   <Upload><Key>ab</Key><UploadId>2</UploadId></Upload><Upload><UploadId>3</UploadId><Key>a</Key></Upload></R>";
        assert_eq!(uploads_of(xml.as_bytes(), "a"), ["1", "3"]);
        assert_eq!(uploads_of(b"<R><Upload>", "a"), [""; 0]);
    }

    #[test]
    fn what_is_no_listing_is_refused() {
        for xml in [
            "",
            "<ListBucketResult>",
            "<Other></Other>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><ListBucketResult></ListBucketResult>",
            "<ListBucketResult><Name>&x;</Name></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        ] {
            assert_eq!(parse_page(xml.as_bytes()), None, "{xml}");
        }
        let error = b"<Error><Code>AccessDenied</Code><Message>x</Message></Error>";
        assert_eq!(text_of(error, "Code").as_deref(), Some("AccessDenied"));
    }
}
