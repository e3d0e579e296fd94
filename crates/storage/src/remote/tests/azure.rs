//! Answers of the test store to requests in the form of Azure Blob Storage, for the container `b` of the account `acc`.

use super::server::{decode, error, object, tag_of, Fault, ReceivedRequest, Reply, Server, State};
use base64::prelude::{Engine as _, BASE64_STANDARD};
use md5::{Digest as _, Md5};
use std::collections::HashMap;

/// Starts a store with the container `b`.
pub fn start(objects: &[(&str, &[u8])]) -> Server {
    let server = Server::start(objects);
    server.state.lock().unwrap().reply = Some(reply);
    server
}

/// Executes a request. A fault with an answer replaces it.
fn reply(state: &mut State, request: &ReceivedRequest, fault: Option<&Fault>) -> Reply {
    if let Some(Fault::Answer(status, headers, body)) = fault {
        return Reply { status: *status, headers: headers.clone(), body: body.clone().into_bytes() };
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let query: HashMap<&str, String> = pairs.map(|(name, value)| (name, decode(value))).collect();
    let Some(key) = decode(path).strip_prefix("/acc/b").map(|key| key.trim_start_matches('/').to_owned()) else {
        return error(404, "ContainerNotFound");
    };
    let comp = query.get("comp").map(String::as_str);
    match (request.method.as_str(), comp) {
        ("GET", Some("list")) => listing(state, &query),
        ("GET", Some("blocklist")) => {
            let is_committed = query["blocklisttype"] == "committed";
            let names: Vec<&String> =
                if is_committed { state.committed.iter().collect() } else { state.blocks.keys().collect() };
            let size = |name: &String| state.blocks.get(name).map_or(5, Vec::len);
            let block = |name: &&String| format!("<Block><Name>{name}</Name><Size>{}</Size></Block>", size(name));
            let names: String = names.iter().map(block).collect();
            done(&format!("<BlockList><Blocks>{names}</Blocks></BlockList>"))
        }
        ("PUT", comp) => put(state, request, &key, comp, &query),
        ("DELETE", _) => {
            let tag = state.objects.get(&key).map(|bytes| tag_of(bytes));
            let wanted = request.headers.get("if-match");
            match tag {
                None => error(404, "BlobNotFound"),
                Some(tag) if wanted.is_some_and(|wanted| *wanted != tag) => error(412, "ConditionNotMet"),
                Some(_) => {
                    state.objects.remove(&key);
                    done("")
                }
            }
        }
        _ if !state.objects.contains_key(&key) => error(404, "BlobNotFound"),
        _ => {
            let mut reply = object(state, request, &key, fault);
            reply.headers += state.metadata.get(&key).map(String::as_str).unwrap_or_default();
            reply
        }
    }
}

fn done(body: &str) -> Reply {
    Reply { status: 201, headers: String::new(), body: format!("{body}\n").into_bytes() }
}

fn put(
    state: &mut State,
    request: &ReceivedRequest,
    key: &str,
    comp: Option<&str>,
    query: &HashMap<&str, String>,
) -> Reply {
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    let tag = state.objects.get(key).map(|bytes| tag_of(bytes));
    if header("if-none-match").is_some() && tag.is_some() {
        return error(409, "BlobAlreadyExists");
    }
    if header("if-match").is_some_and(|wanted| tag.as_deref() != Some(wanted)) {
        return error(412, "ConditionNotMet");
    }
    let mut content = request.body.clone();
    if let Some(source) = header("x-ms-copy-source") {
        let (address, query) = source.split_once('?').unwrap_or((source, ""));
        assert!(query.contains("sig=") || header("x-ms-copy-source-authorization").is_some(), "a copy without rights");
        let Some(bytes) = state.objects.get(&decode(address.split_once("/acc/b/").unwrap().1)) else {
            return error(404, "CannotVerifyCopySource");
        };
        if header("x-ms-source-if-match") != Some(&tag_of(bytes)) {
            return error(412, "SourceConditionNotMet");
        }
        let ends = header("x-ms-source-range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let range = ends.map(|(start, end)| start.parse().unwrap()..end.parse::<usize>().unwrap() + 1);
        content = range.map_or_else(|| bytes.clone(), |range| bytes[range].to_vec());
    } else if header("content-md5") != Some(&BASE64_STANDARD.encode(Md5::digest(&content))) {
        return error(400, "Md5Mismatch");
    }
    match comp {
        Some("block") => _ = state.blocks.insert(query["blockid"].clone(), content),
        Some("blocklist") => {
            let text = String::from_utf8(content).unwrap();
            let ids: Vec<String> =
                text.split("<Latest>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
            if !ids.iter().all(|id| state.blocks.contains_key(id)) {
                return error(400, "InvalidBlockList");
            }
            let blocks = std::mem::take(&mut state.blocks);
            state.objects.insert(key.to_owned(), ids.iter().flat_map(|id| blocks[id].clone()).collect());
            state.committed = ids;
        }
        _ => {
            assert!(header("x-ms-copy-source").is_some() || header("x-ms-blob-type") == Some("BlockBlob"));
            state.objects.insert(key.to_owned(), content);
            state.blocks.clear();
        }
    }
    let metadata = request.headers.iter().filter(|(name, _)| name.starts_with("x-ms-meta-"));
    state.metadata.insert(key.to_owned(), metadata.map(|(name, value)| format!("{name}: {value}\r\n")).collect());
    let tag = state.objects.get(key).map(|bytes| tag_of(bytes)).unwrap_or_default();
    Reply { headers: format!("x-ms-copy-status: success\r\nETag: {tag}\r\n"), ..done("") }
}

fn listing(state: &State, query: &HashMap<&str, String>) -> Reply {
    let (prefix, delimiter) = (query.get("prefix").cloned().unwrap_or_default(), query.contains_key("delimiter"));
    let page = query.get("maxresults").map_or(state.page, |max| max.parse().unwrap()).min(state.page);
    let after = query.get("marker");
    let mut names: Vec<String> = Vec::new();
    let uncommitted = query.get("include").filter(|include| *include == "uncommittedblobs" && !state.blocks.is_empty());
    let uncommitted = uncommitted.map(|_| "left/over".to_owned());
    for key in state.objects.keys().chain(&uncommitted).filter(|key| key.starts_with(&prefix)) {
        let name = match key[prefix.len()..].split_once('/').filter(|_| delimiter) {
            Some((folder, _)) => format!("{prefix}{folder}/"),
            None => key.clone(),
        };
        if names.last() != Some(&name) && after.is_none_or(|after| name > *after) {
            names.push(name);
        }
    }
    let is_truncated = names.len() > page;
    names.truncate(page);
    let next = names.last().filter(|_| is_truncated).cloned().unwrap_or_default();
    let escape = |name: &str| quick_xml::escape::escape(name).into_owned();
    let items: String = names
        .iter()
        .map(|name| match state.objects.get(name).filter(|_| !(delimiter && name.ends_with('/'))) {
            Some(bytes) => format!(
                "<Blob><Name>{}</Name><Properties><Last-Modified>Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified><Etag>{}</Etag>\
                 <Content-Length>{}</Content-Length>{}</Properties></Blob>",
                escape(name),
                escape(&tag_of(bytes)),
                bytes.len(),
                if state.folders.contains(name) { "<ResourceType>directory</ResourceType>" } else { "" },
            ),
            None if uncommitted.as_ref() == Some(name) => format!("<Blob><Name>{name}</Name><Properties/></Blob>"),
            None => format!("<BlobPrefix><Name>{}</Name></BlobPrefix>", escape(name)),
        })
        .collect();
    let xml = format!(
        "<EnumerationResults><Blobs>{items}</Blobs><NextMarker>{}</NextMarker></EnumerationResults>",
        escape(&next)
    );
    Reply { status: 200, headers: String::new(), body: xml.into_bytes() }
}
