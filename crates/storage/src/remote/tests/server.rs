//! A test store on the loopback address, with faults.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A fault that replaces or changes the answer to the next request for a path.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Another answer: status, headers with `\r\n` after each, body.
    Answer(u16, String, String),
    /// The body ends after this many bytes, and the connection is closed.
    Cut(usize),
    /// The same, and the length in the header is that of the sent bytes.
    Short(usize),
    /// The tag of the object differs.
    OtherTag,
    /// No further bytes are sent after this many bytes of the body.
    Stall(usize),
    /// The whole object, instead of the requested range.
    Whole,
    /// One bit of the byte at this offset of the body differs.
    Flip(usize),
}

/// A received request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub method: String,
    pub target: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
    pub at: Instant,
}

#[derive(Default)]
pub struct State {
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Faults by the beginning of method and target, or of the target.
    pub faults: Vec<(String, Fault)>,
    pub requests: Vec<ReceivedRequest>,
    pub page: usize,
    /// Parts of unfinished uploads, by number.
    pub parts: BTreeMap<u32, Vec<u8>>,
    /// Returns the tag of a part in lists.
    pub part_tag: Option<fn(&[u8]) -> String>,
    /// Whether answers to parts contain their checksums.
    pub names_checksums: bool,
    /// Uncommitted blocks of a blob by their ids, and the ids of committed blocks.
    pub blocks: BTreeMap<String, Vec<u8>>,
    pub committed: Vec<String>,
    /// Further headers of objects, by their keys.
    pub metadata: BTreeMap<String, String>,
    /// Keys of objects that listings report as folders.
    pub folders: Vec<String>,
    /// Answers of other services, by the beginning of the target.
    pub services: Vec<(String, u16, String)>,
    /// An object that replaces the one of its key once a request was answered: the beginning of method and target, key and content.
    pub replaced_after: Option<(String, String, Vec<u8>)>,
    /// Function that answers in another form than Amazon's.
    pub reply: Option<MakeReply>,
}

/// Executes a request.
pub type MakeReply = fn(&mut State, &ReceivedRequest, Option<&Fault>) -> Reply;

pub struct Server {
    pub address: String,
    pub state: Arc<Mutex<State>>,
}

impl Server {
    /// Starts a store with the bucket `b`.
    pub fn start(objects: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let objects = objects.iter().map(|(key, bytes)| ((*key).to_owned(), bytes.to_vec())).collect();
        let state = Arc::new(Mutex::new(State { objects, page: 1000, ..State::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    pub fn fault(&self, place: &str, fault: Fault) {
        self.state.lock().unwrap().faults.push((place.to_owned(), fault));
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().requests.clone()
    }
}

/// Returns bytes that differ at every offset.
pub fn content(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + at / 253) as u8).collect()
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = read_request(&mut reader) {
        let (fault, reply) = {
            let mut state = state.lock().unwrap();
            state.requests.push(request.clone());
            let is_meant = |place: &str| {
                format!("{} {}", request.method, request.target).starts_with(place) || request.target.starts_with(place)
            };
            let at = state.faults.iter().position(|(place, _)| is_meant(place));
            let fault = at.map(|at| state.faults.remove(at).1);
            let reply = match (state.reply, request.method.as_str()) {
                (Some(reply), _) if request.headers.contains_key("x-ms-version") => {
                    reply(&mut state, &request, fault.as_ref())
                }
                (_, "PUT" | "POST" | "DELETE") => change(&mut state, &request, fault.as_ref()),
                (_, _) => answer(&state, &request, fault.as_ref()),
            };
            let line = format!("{} {}", request.method, request.target);
            if let Some((_, key, bytes)) = state.replaced_after.take_if(|(place, ..)| line.starts_with(place.as_str()))
            {
                state.objects.insert(key, bytes);
            }
            (fault.clone(), reply)
        };
        if !send(stream, &request, reply, fault) {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    std::io::Read::read_exact(reader, &mut body).ok()?;
    headers.insert("(body)".to_owned(), String::from_utf8_lossy(&body).into_owned());
    Some(ReceivedRequest { method, target, headers, body, at: Instant::now() })
}

pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

pub fn error(status: u16, code: &str) -> Reply {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>hidden message</Message></Error>");
    Reply { status, headers: String::new(), body: body.into_bytes() }
}

fn answer(state: &State, request: &ReceivedRequest, fault: Option<&Fault>) -> Reply {
    if let Some(Fault::Answer(status, headers, body)) = fault {
        return Reply { status: *status, headers: headers.clone(), body: body.clone().into_bytes() };
    }
    if let Some((_, status, body)) = state.services.iter().find(|(place, ..)| request.target.starts_with(place)) {
        return Reply { status: *status, headers: String::new(), body: body.clone().into_bytes() };
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let path = decode(path);
    let Some(rest) = path.strip_prefix("/b") else { return error(404, "NoSuchBucket") };
    match rest.strip_prefix('/') {
        None if query.starts_with("uploads") => Reply {
            status: 200,
            headers: String::new(),
            body: b"<ListMultipartUploadsResult></ListMultipartUploadsResult>".to_vec(),
        },
        None => listing(state, query),
        Some(_) if query.contains("uploadId=") => listed_parts(state, query),
        Some(key) => object(state, request, key, fault),
    }
}

/// Lists the parts of the unfinished upload, each on a separate page.
fn listed_parts(state: &State, query: &str) -> Reply {
    let after =
        query.split('&').find_map(|pair| pair.strip_prefix("part-number-marker=")).map_or(0, |n| n.parse().unwrap());
    let mut rest = state.parts.range(after + 1..);
    let Some((number, part)) = rest.next() else { return error(404, "NoSuchUpload") };
    let tag = state.part_tag.map_or_else(String::new, |tag| tag(part));
    let is_truncated = rest.next().is_some();
    let body = format!(
        "<ListPartsResult><IsTruncated>{is_truncated}</IsTruncated><NextPartNumberMarker>{number}</NextPartNumberMarker>\
         <Part><PartNumber>{number}</PartNumber><ETag>&quot;{tag}&quot;</ETag><Size>{}</Size></Part></ListPartsResult>",
        part.len()
    );
    Reply { status: 200, headers: String::new(), body: body.into_bytes() }
}

/// Executes a request that writes. A fault with an answer replaces it, unless the status is 0: the request is then executed, and the answer
/// is lost.
fn change(state: &mut State, request: &ReceivedRequest, fault: Option<&Fault>) -> Reply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let is_service = state.services.iter().any(|(place, ..)| request.target.starts_with(place));
    match fault {
        Some(Fault::Answer(status, ..)) if *status > 0 => return answer(state, request, fault),
        _ if is_service => return answer(state, request, None),
        _ => {}
    }
    if request.method != "DELETE" && !request.headers.contains_key("content-length") {
        return error(411, "MissingContentLength");
    }
    let done = |body: &str| Reply { status: 200, headers: "ETag: \"part\"\r\n".to_owned(), body: body.into() };
    let key = decode(path.strip_prefix("/b/").unwrap());
    let number =
        query.split('&').find_map(|pair| pair.strip_prefix("partNumber=")).map(|number| number.parse().unwrap());
    let is_conditional =
        ["if-none-match", "x-goog-if-generation-match"].iter().any(|name| request.headers.contains_key(*name));
    if is_conditional && state.objects.contains_key(&key) {
        return error(412, "PreconditionFailed");
    }
    let tag = state.objects.get(&key).map(|bytes| tag_of(bytes));
    if request.headers.get("if-match").is_some_and(|wanted| tag.as_ref() != Some(wanted)) {
        return error(412, "PreconditionFailed");
    }
    if request.headers.contains_key("x-amz-copy-source") {
        return copy(state, request, &key, number);
    }
    match (request.method.as_str(), number) {
        ("PUT", Some(number)) => {
            state.parts.insert(number, request.body.clone());
            if let Some(sum) = request.headers.get("x-amz-checksum-crc64nvme").filter(|_| state.names_checksums) {
                let headers = format!("ETag: \"part\"\r\nx-amz-checksum-crc64nvme: {sum}\r\n");
                return Reply { status: 200, headers, body: Vec::new() };
            }
        }
        ("PUT", None) => _ = state.objects.insert(key, request.body.clone()),
        ("POST", _) if query.starts_with("uploads") => {
            return done("<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>")
        }
        ("POST", _) if state.parts.is_empty() => return error(404, "NoSuchUpload"),
        ("POST", _) => {
            let parts = std::mem::take(&mut state.parts);
            state.objects.insert(key, parts.into_values().flatten().collect());
            return done("<CompleteMultipartUploadResult></CompleteMultipartUploadResult>");
        }
        (_, _) if query.contains("uploadId") => state.parts.clear(),
        _ => _ = state.objects.remove(&key),
    }
    done("")
}

pub fn tag_of(bytes: &[u8]) -> String {
    format!("\"{:x}\"", xxhash_rust::xxh3::xxh3_64(bytes))
}

/// Copies an object, or a range of it as a part.
fn copy(state: &mut State, request: &ReceivedRequest, key: &str, part: Option<u32>) -> Reply {
    let source = decode(&request.headers["x-amz-copy-source"]);
    let Some(bytes) = state.objects.get(source.strip_prefix("b/").unwrap()).cloned() else {
        return error(404, "NoSuchKey");
    };
    let tag = format!("\"{:x}\"", xxhash_rust::xxh3::xxh3_64(&bytes));
    if request.headers["x-amz-copy-source-if-match"] != tag {
        return error(412, "PreconditionFailed");
    }
    let reply = |name: &str| {
        let body = format!("<{name}><ETag>\"copied\"</ETag></{name}>");
        Reply { status: 200, headers: String::new(), body: body.into_bytes() }
    };
    let Some(number) = part else {
        state.objects.insert(key.to_owned(), bytes);
        return reply("CopyObjectResult");
    };
    let (start, end) =
        request.headers["x-amz-copy-source-range"].strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let range = start.parse::<usize>().unwrap()..end.parse::<usize>().unwrap() + 1;
    state.parts.insert(number, bytes[range].to_vec());
    reply("CopyPartResult")
}

pub fn object(state: &State, request: &ReceivedRequest, key: &str, fault: Option<&Fault>) -> Reply {
    let Some(bytes) = state.objects.get(key) else { return error(404, "NoSuchKey") };
    let tag = tag_of(bytes);
    if request.headers.get("if-match").is_some_and(|wanted| *wanted != tag) {
        return error(412, "PreconditionFailed");
    }
    let generation = xxhash_rust::xxh3::xxh3_64(bytes).to_string();
    if request.headers.get("x-goog-if-generation-match").is_some_and(|wanted| *wanted != generation) {
        return error(412, "PreconditionFailed");
    }
    let other = || ("\"other\"".to_owned(), "1".to_owned());
    let (tag, generation) = if matches!(fault, Some(Fault::OtherTag)) { other() } else { (tag, generation) };
    let mut headers =
        format!("ETag: {tag}\r\nx-goog-generation: {generation}\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
    headers += state.metadata.get(key).map_or("", String::as_str);
    let range = request.headers.get("range").filter(|_| !matches!(fault, Some(Fault::Whole)));
    let Some(range) = range else { return Reply { status: 200, headers, body: bytes.clone() } };
    let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    let (start, end) = (start.parse::<usize>().unwrap(), end.parse::<usize>().unwrap());
    assert!(start <= end, "an inverted range");
    if start >= bytes.len() {
        headers = format!("Content-Range: bytes */{}\r\n", bytes.len());
        return Reply { headers, ..error(416, "InvalidRange") };
    }
    let end = (end + 1).min(bytes.len());
    headers += &format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, bytes.len());
    Reply { status: 206, headers, body: bytes[start..end].to_vec() }
}

fn listing(state: &State, query: &str) -> Reply {
    let query: HashMap<&str, String> =
        query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, value)| (name, decode(value))).collect();
    let (prefix, delimiter) = (&query["prefix"], query.contains_key("delimiter"));
    assert_eq!(query["encoding-type"], "url");
    let page = query.get("max-keys").map_or(state.page, |max| max.parse().unwrap());
    let after = query.get("continuation-token").or(query.get("start-after"));
    let mut names: Vec<String> = Vec::new();
    for key in state.objects.keys().filter(|key| key.starts_with(prefix.as_str())) {
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
    let mut xml =
        format!("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>{is_truncated}</IsTruncated>");
    if is_truncated {
        xml += &format!("<NextContinuationToken>{}</NextContinuationToken>", names.last().unwrap());
    }
    for name in &names {
        let encoded = encode(name);
        xml += &match state.objects.get(name).filter(|_| !(delimiter && name.ends_with('/'))) {
            Some(bytes) => format!(
                "<Contents><Key>{encoded}</Key><LastModified>1994-11-06T08:49:37.123Z</LastModified>\
                 <ETag>&quot;{:x}&quot;</ETag><Generation>{}</Generation><Size>{}</Size></Contents>",
                xxhash_rust::xxh3::xxh3_64(bytes),
                xxhash_rust::xxh3::xxh3_64(bytes),
                bytes.len()
            ),
            None => format!("<CommonPrefixes><Prefix>{encoded}</Prefix></CommonPrefixes>"),
        };
    }
    Reply { status: 200, headers: String::new(), body: (xml + "</ListBucketResult>\n").into_bytes() }
}

fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    text.bytes().fold(String::new(), |text, byte| match byte {
        b' ' => text + "+",
        byte if plain(byte) => text + char::from(byte).encode_utf8(&mut [0; 4]),
        byte => text + &format!("%{byte:02X}"),
    })
}

pub fn decode(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

/// Returns whether the connection stays open.
fn send(mut stream: &TcpStream, request: &ReceivedRequest, reply: Reply, fault: Option<Fault>) -> bool {
    let Reply { status, headers, mut body } = reply;
    let (mut length, mut cut) = (body.len(), None);
    match fault {
        Some(Fault::Cut(count) | Fault::Stall(count)) => cut = Some(count),
        Some(Fault::Flip(at)) => body[at] ^= 1,
        Some(Fault::Short(count)) => {
            body.truncate(count);
            length = body.len();
        }
        _ => {}
    }
    let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n");
    if request.method == "HEAD" {
        body.clear();
    }
    body.truncate(cut.unwrap_or(body.len()));
    let is_sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_ok();
    if matches!(fault, Some(Fault::Stall(_))) {
        std::thread::sleep(Duration::from_secs(2));
    }
    is_sent && cut.is_none()
}
