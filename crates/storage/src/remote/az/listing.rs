//! Listings of a container.

use super::super::dates::parse_http_date;
use super::super::s3::{get_range, walk, Action, Call};
use super::super::version::{plain_etag, ObjectVersion};

/// Ending of a complete listing.
const ENDING: &str = "</EnumerationResults>";

/// Maximum number of entries of a page: with their metadata, they are shorter than the limit of an answer.
const MAX_RESULTS: usize = 1000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ListedBlob {
    pub(super) key: String,
    /// Without a tag if no content was committed.
    pub(super) version: ObjectVersion,
    /// Time of its creation in nanoseconds since 1970, if the store reports it.
    pub(super) created_ns: Option<i64>,
    /// Whether it is a folder of an account with folders, and whether it only marks a folder, as Microsoft's tools do in other accounts.
    pub(super) is_folder: bool,
    is_marker: bool,
}

/// A page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) blobs: Vec<ListedBlob>,
    /// Common prefixes of keys, each with a trailing slash.
    prefixes: Vec<String>,
    /// Marker of the next page; `None` after the last one.
    pub(super) next: Option<String>,
    /// Whether the account has folders.
    pub(super) has_folders: bool,
}

impl Page {
    pub(super) fn is_empty(&self) -> bool {
        self.blobs.is_empty() && self.prefixes.is_empty()
    }

    /// Returns the blobs with their versions, and the prefixes without one. Folders of the account are omitted if every blob is listed,
    /// otherwise they are prefixes. Blobs that only mark a folder are omitted.
    pub(super) fn into_entries(self, recursive: bool) -> impl Iterator<Item = (String, Option<ObjectVersion>)> {
        let blobs = self.blobs.into_iter().filter_map(move |blob| match blob.is_folder {
            true => (!recursive).then(|| (format!("{}/", blob.key), None)),
            false => (!blob.is_marker).then_some((blob.key, Some(blob.version))),
        });
        blobs.chain(self.prefixes.into_iter().map(|prefix| (prefix, None)))
    }
}

/// Returns the request for a page of a listing.
pub(super) fn list(prefix: &str, recursive: bool, max: Option<usize>, next: Option<String>) -> Call {
    let mut query =
        vec![("restype", "container".to_owned()), ("comp", "list".to_owned()), ("prefix", prefix.to_owned())];
    query.retain(|(_, value)| !value.is_empty());
    query.extend((!recursive).then(|| ("delimiter", "/".to_owned())));
    // The metadata show which blobs only mark a folder.
    query.extend(max.is_none().then(|| ("include", "metadata".to_owned())));
    query.push(("maxresults", max.unwrap_or(MAX_RESULTS).to_string()));
    query.extend(next.map(|next| ("marker", next)));
    Call { action: Action::List, query, ending: Some(ENDING), range: None, ..get_range("", 0..0, None) }
}

/// Returns the request for a page of the list of containers.
pub(super) fn list_containers(next: Option<String>) -> Call {
    let mut query = vec![("comp", "list".to_owned())];
    query.extend(next.map(|next| ("marker", next)));
    Call { action: Action::ListBuckets, query, ending: Some(ENDING), range: None, ..get_range("", 0..0, None) }
}

/// Parses a page of the list of containers and the marker of the next page; `None` if it is invalid.
pub(super) fn parse_containers(xml: &[u8]) -> Option<(Vec<String>, Option<String>)> {
    let (mut containers, mut next) = (Vec::new(), None);
    walk(xml, &mut |path, text| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [_, "Containers", "Container", "Name"] => containers.push(text.to_owned()),
            [_, "NextMarker"] => next = Some(text.to_owned()).filter(|next| !next.is_empty()),
            _ => {}
        }
    })?;
    Some((containers, next))
}

/// Parses a page of a listing; `None` if it is invalid.
pub(super) fn parse_page(xml: &[u8]) -> Option<Page> {
    let (mut page, mut blob) = (Page::default(), ListedBlob::default());
    let (mut is_listing, mut has_sizes) = (false, true);
    walk(xml, &mut |path, text| {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        match path.as_slice() {
            [_, _, "Blob", "Name"] => text.clone_into(&mut blob.key),
            [_, _, "Blob", "Properties", "Content-Length"] if !text.is_empty() => match text.trim().parse() {
                Ok(bytes) => blob.version.bytes = bytes,
                Err(_) => has_sizes = false,
            },
            [_, _, "Blob", "Properties", "Etag"] => plain_etag(text).clone_into(&mut blob.version.etag),
            [_, _, "Blob", "Properties", "Last-Modified"] => {
                blob.version.modified_ns = parse_http_date(text.trim()).unwrap_or_default();
            }
            [_, _, "Blob", "Properties", "Creation-Time"] => blob.created_ns = parse_http_date(text.trim()),
            [_, _, "Blob", "Properties", "ResourceType"] => {
                page.has_folders = true;
                blob.is_folder = text.trim() == "directory";
            }
            [_, _, "Blob", "Metadata", name] if name.eq_ignore_ascii_case("hdi_isfolder") => {
                blob.is_marker = text.trim().eq_ignore_ascii_case("true");
            }
            [_, _, "BlobPrefix", "Properties", "ResourceType"] => page.has_folders = true,
            [_, _, "Blob"] => page.blobs.push(std::mem::take(&mut blob)),
            [_, _, "BlobPrefix", "Name"] => page.prefixes.push(text.to_owned()),
            [_, "NextMarker"] => page.next = Some(text.to_owned()).filter(|next| !next.is_empty()),
            ["EnumerationResults"] => is_listing = true,
            _ => {}
        }
    })?;
    (is_listing && has_sizes).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_listing_page_has_blobs_prefixes_folders_and_next_marker() {
        let xml = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ServiceEndpoint=\"x\" ContainerName=\"c\"><Prefix>p/</Prefix>\
            <Blobs><Blob><Name>a b+&amp;</Name><Properties><Creation-Time>Sun, 06 Nov 1994 08:49:37 GMT</Creation-Time><Last-Modified>Sun, 06 Nov \
            1994 08:49:37 GMT</Last-Modified><Etag>0x8D</Etag><Content-Length>12</Content-Length></Properties></Blob><BlobPrefix><Name>d/</Name>\
            </BlobPrefix><Blob><Name Encoded=\"true\">f%EF%BF%BE+</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob><Blob><Name>d</Name><Properties><Content-Length>0</Content-Length></Properties>\
            <Metadata><Hdi_isfolder>true</Hdi_isfolder></Metadata></Blob></Blobs>\
            <NextMarker>2!88!x</NextMarker></EnumerationResults>";
        let page = parse_page(xml.as_bytes()).unwrap();
        let version = ObjectVersion { bytes: 12, etag: "0x8D".to_owned(), modified_ns: 784_111_777_000_000_000 };
        assert_eq!((&page.blobs[0].version, page.blobs[0].created_ns), (&version, Some(784_111_777_000_000_000)));
        assert_eq!((page.next.as_deref(), page.has_folders), (Some("2!88!x"), true));
        let entries: Vec<_> = page.into_entries(false).map(|(key, version)| (key, version.is_some())).collect();
        assert_eq!(entries, [("a b+&".to_owned(), true), ("f\u{fffe}+/".to_owned(), false), ("d/".to_owned(), false)]);
        let all: Vec<_> = parse_page(xml.as_bytes()).unwrap().into_entries(true).map(|(key, _)| key).collect();
        assert_eq!(all, ["a b+&", "d/"]);
    }

    #[test]
    fn containers_are_listed_by_pages() {
        let xml = "<EnumerationResults><Containers><Container><Name>a</Name></Container><Container><Name>$web</Name></Container></Containers>\
            <NextMarker>m</NextMarker></EnumerationResults>";
        assert_eq!(parse_containers(xml.as_bytes()), Some((vec!["a".into(), "$web".into()], Some("m".into()))));
    }

    #[test]
    fn invalid_azure_listing_is_refused() {
        for xml in [
            "",
            "<EnumerationResults>",
            "<Other></Other>",
            "<EnumerationResults><Blobs><Blob><Properties><Content-Length>-1</Content-Length></Properties></Blob></Blobs></EnumerationResults>",
            "<EnumerationResults><Blobs><Blob><Name Encoded=\"true\">%F</Name></Blob></Blobs></EnumerationResults>",
            "<!DOCTYPE a [<!ENTITY x 'y'>]><EnumerationResults></EnumerationResults>",
        ] {
            assert_eq!(parse_page(xml.as_bytes()), None, "{xml}");
        }
    }
}
