//! Parses the XML answers of the store.

use super::super::dates::parse_iso_date;
use super::super::version::ObjectVersion;
use super::vendor::Vendor;
use quick_xml::events::Event;
use quick_xml::Reader;

/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 16;

/// A page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) objects: Vec<(String, ObjectVersion)>,
    /// Common prefixes of keys, each with a trailing slash.
    pub(super) prefixes: Vec<String>,
    /// Marker of the next page; `None` after the last one.
    pub(super) next: Option<String>,
}

/// Calls `take` at the end of each element with the names from the root to the element, and its text (empty if it has children). Returns
/// `None` if the XML is invalid. Only the predefined entities of XML are expanded.
pub(in crate::remote) fn walk(xml: &[u8], take: &mut dyn FnMut(&[String], &str)) -> Option<()> {
    let mut reader = Reader::from_reader(xml);
    let mut path: Vec<String> = Vec::new();
    let (mut text, mut has_text) = (String::new(), false);
    // Microsoft's encoding of names with characters that XML does not permit.
    let mut is_encoded = false;
    loop {
        match reader.read_event().ok()? {
            Event::Start(tag) => {
                let encoded = tag.try_get_attribute("Encoded").ok()?;
                is_encoded = encoded.is_some_and(|attribute| attribute.value.as_ref() == b"true");
                path.push(String::from_utf8(tag.local_name().as_ref().to_vec()).ok()?);
                (text, has_text) = (String::new(), true);
                if path.len() > MAX_DEPTH {
                    return None;
                }
            }
            Event::End(_) => {
                if std::mem::take(&mut is_encoded) {
                    text = decode(&text.replace('+', "%2B"))?;
                }
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

/// Returns the text of the first element with this name.
pub(in crate::remote) fn text_of(xml: &[u8], name: &str) -> Option<String> {
    let mut found = None;
    walk(xml, &mut |path, text| {
        if found.is_none() && path.last().is_some_and(|last| last == name) {
            found = Some(text.to_owned());
        }
    })?;
    found
}

/// An unfinished upload in a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListedUpload {
    pub(super) key: String,
    pub(super) id: String,
    /// Time of its start, in the format of the store.
    pub(super) initiated: String,
}

/// A page of a list of unfinished uploads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UploadPage {
    pub(super) uploads: Vec<ListedUpload>,
    /// The key and the upload after which the next page begins; `None` after the last one.
    pub(super) next: Option<(String, String)>,
}

/// Parses a page of a list of unfinished uploads; `None` if it is invalid.
pub(super) fn parse_uploads(xml: &[u8]) -> Option<UploadPage> {
    let (mut page, mut upload) = (UploadPage::default(), ListedUpload::default());
    let (mut is_encoded, mut is_truncated, mut next) = (false, false, (String::new(), String::new()));
    walk(xml, &mut |path, text| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [_, "Upload", "Key"] => text.clone_into(&mut upload.key),
            [_, "Upload", "UploadId"] => text.clone_into(&mut upload.id),
            [_, "Upload", "Initiated"] => text.trim().clone_into(&mut upload.initiated),
            [_, "Upload"] => page.uploads.push(std::mem::take(&mut upload)),
            [_, "EncodingType"] => is_encoded = text.trim() == "url",
            [_, "IsTruncated"] => is_truncated = text.trim() == "true",
            [_, "NextKeyMarker"] => text.clone_into(&mut next.0),
            [_, "NextUploadIdMarker"] => text.clone_into(&mut next.1),
            _ => {}
        }
    })?;
    if is_encoded {
        let keys = page.uploads.iter_mut().map(|upload| &mut upload.key).chain([&mut next.0]);
        keys.into_iter().try_for_each(|key| decode(key).map(|plain| *key = plain))?;
    }
    page.next = Some(next).filter(|next| is_truncated && !next.0.is_empty());
    Some(page)
}

/// A page of a list of the parts of an upload.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PartPage {
    pub(super) parts: Vec<ListedPart>,
    /// The number after which the next page begins; `None` after the last one.
    pub(super) next: Option<u64>,
}

/// A part of an upload.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListedPart {
    pub(super) number: u64,
    pub(super) tag: String,
    pub(super) bytes: u64,
}

/// Parses a page of a list of parts; `None` if it is invalid.
pub(super) fn parse_parts(xml: &[u8]) -> Option<PartPage> {
    let (mut page, mut part, mut is_truncated) = (PartPage::default(), ListedPart::default(), false);
    walk(xml, &mut |path, text| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [_, "Part", "PartNumber"] => part.number = text.trim().parse().unwrap_or_default(),
            [_, "Part", "ETag"] => text.trim().clone_into(&mut part.tag),
            [_, "Part", "Size"] => part.bytes = text.trim().parse().unwrap_or_default(),
            [_, "Part"] => page.parts.push(std::mem::take(&mut part)),
            [_, "IsTruncated"] => is_truncated = text.trim() == "true",
            [_, "NextPartNumberMarker"] => page.next = text.trim().parse().ok(),
            _ => {}
        }
    })?;
    page.next = page.next.filter(|_| is_truncated);
    Some(page)
}

/// Parses the list of all buckets; `None` if it is invalid.
pub(super) fn parse_buckets(xml: &[u8]) -> Option<Vec<String>> {
    let mut buckets = Vec::new();
    walk(xml, &mut |path, text| {
        if matches!(path, [.., of, bucket, name] if of == "Buckets" && bucket == "Bucket" && name == "Name") {
            buckets.push(text.trim().to_owned());
        }
    })?;
    Some(buckets)
}

/// Returns the sum of the numbers in the elements with this name; `None` if there are more on another page.
pub(in crate::remote) fn sum_of(xml: &[u8], name: &str) -> Option<u64> {
    let (mut sum, mut is_truncated) = (0_u64, false);
    walk(xml, &mut |path, text| match path.last().map(String::as_str) {
        Some("IsTruncated") => is_truncated = text.trim() == "true",
        Some(last) if last == name => sum = sum.saturating_add(text.trim().parse().unwrap_or_default()),
        _ => {}
    })?;
    (!is_truncated).then_some(sum)
}

/// Parses a page of a listing; `None` if it is invalid.
pub(super) fn parse_page(xml: &[u8], vendor: Vendor) -> Option<Page> {
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
            [_, "Contents", name] if *name == vendor.version_element() => version.etag = text.trim().to_owned(),
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
    // A page that is not the last one must have the marker of the next one.
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
    fn s3_listing_page_has_keys_prefixes_and_next_token() {
        let xml = r#"<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;&#98;</NextContinuationToken>
            <Contents><Key>a+b%2B%C3%A4</Key><LastModified>1970-01-01T00:00:01.000Z</LastModified><ETag>&quot;e1&quot;</ETag>
            <Size>12</Size><Owner><ID>x</ID></Owner></Contents><Contents><Key>c</Key><Size>0</Size><ETag>"e2"</ETag></Contents>
            <CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes></ListBucketResult>"#;
        let page = parse_page(xml.as_bytes(), Vendor::Amazon).unwrap();
        let first = ObjectVersion { bytes: 12, etag: "\"e1\"".to_owned(), modified_ns: 1_000_000_000 };
        assert_eq!(page.objects[0], ("a b+\u{e4}".to_owned(), first));
        let google = xml.replace("<Owner>", "<Generation>17</Generation><Owner>");
        let first = ObjectVersion { bytes: 12, etag: "17".to_owned(), modified_ns: 1_000_000_000 };
        assert_eq!(parse_page(google.as_bytes(), Vendor::Google).unwrap().objects[0].1, first);
        assert_eq!(
            (page.objects[1].0.as_str(), page.prefixes, page.next),
            ("c", vec!["d/".to_owned()], Some("a&b".into()))
        );
    }

    #[test]
    fn s3_unfinished_upload_page_has_keys_and_next_marker() {
        let xml = "<R><EncodingType>url</EncodingType><KeyMarker></KeyMarker><Upload><Key>a+b</Key><UploadId>1</UploadId><Initiated>2026-01-01\
                   </Initiated></Upload><Upload><UploadId>3</UploadId><Key>a</Key></Upload><IsTruncated>true</IsTruncated>\
                   <NextKeyMarker>a%2B</NextKeyMarker><NextUploadIdMarker>3</NextUploadIdMarker></R>";
        let page = parse_uploads(xml.as_bytes()).unwrap();
        let names: Vec<_> = page.uploads.iter().map(|upload| (upload.key.as_str(), upload.id.as_str())).collect();
        assert_eq!(names, [("a b", "1"), ("a", "3")]);
        assert_eq!(
            (page.uploads[0].initiated.as_str(), page.next),
            ("2026-01-01", Some(("a+".to_owned(), "3".to_owned())))
        );
        assert_eq!(parse_uploads(b"<R></R>").unwrap(), UploadPage::default());
        assert_eq!(parse_uploads(b"<R><Upload>"), None);
        let parts = "<R><Part><Size>5</Size></Part><Part><Size>7</Size></Part></R>";
        assert_eq!(sum_of(parts.as_bytes(), "Size"), Some(12));
        assert_eq!(sum_of(b"<R><Size>5</Size><IsTruncated>true</IsTruncated></R>", "Size"), None);
    }

    #[test]
    fn invalid_s3_listing_is_refused() {
        for xml in [
            "",
            "<ListBucketResult>",
            "<Other></Other>",
            "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><ListBucketResult></ListBucketResult>",
            "<ListBucketResult><Name>&x;</Name></ListBucketResult>",
            "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        ] {
            assert_eq!(parse_page(xml.as_bytes(), Vendor::Amazon), None, "{xml}");
        }
        let error = b"<Error><Code>AccessDenied</Code><Message>x</Message></Error>";
        assert_eq!(text_of(error, "Code").as_deref(), Some("AccessDenied"));
    }
}
