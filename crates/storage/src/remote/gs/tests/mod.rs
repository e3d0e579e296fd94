use super::super::tests::limits;
use super::super::tests::server::{content, Fault, Server};
use super::*;
use crate::store::{Condition, Content, TakeEntry};
use base64::prelude::{Engine as _, BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use gristmill_core::Failure;
use ring::signature::{KeyPair as _, RsaKeyPair, UnparsedPublicKey, RSA_PKCS1_2048_8192_SHA256};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::io;
use std::path::PathBuf;

/// A key that was made for these tests.
const PRIVATE_KEY: &str = include_str!("key.pem");
const TOKEN: &str = r#"{"access_token":"tokensecret","expires_in":3599,"token_type":"Bearer"}"#;

struct World {
    server: Server,
    dir: tempfile::TempDir,
}

impl World {
    fn new(objects: &[(&str, &[u8])]) -> Self {
        let world = Self { server: Server::start(objects), dir: tempfile::tempdir().unwrap() };
        world.serve("/token", 200, TOKEN);
        world
    }

    fn serve(&self, place: &str, status: u16, body: &str) {
        self.server.state.lock().unwrap().services.insert(0, (place.to_owned(), status, body.to_owned()));
    }

    fn write(&self, json: &serde_json::Value) -> String {
        let path = self.dir.path().join("credentials.json");
        std::fs::write(&path, json.to_string()).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn service_account(&self) -> String {
        let token_uri = format!("{}/token", self.server.address);
        self.write(&serde_json::json!({
            "type": "service_account", "client_email": "a@b", "private_key": PRIVATE_KEY, "token_uri": token_uri,
        }))
    }

    fn store(&self, values: &[(&str, &str)]) -> Arc<dyn Store> {
        let endpoint = Some((self.server.address.clone(), "a test".to_owned()));
        let nowhere = [("CLOUDSDK_CONFIG", "/nonexistent"), ("GCE_METADATA_HOST", "127.0.0.1:1")];
        let environment = Environment::of(&[&nowhere[..], values].concat());
        let profile = GoogleProfile { endpoint, ..GoogleProfile::default() };
        let context = context(Network::start(limits()).unwrap(), environment, profile);
        s3::store_of_bucket(&Arc::new(context.unwrap()), "b")
    }
}

fn read(store: &dyn Store, key: &str) -> io::Result<Vec<u8>> {
    let path = PathBuf::from(format!("gs://b/{key}"));
    let (info, object) = store.open(&RemoteUrl::parse(&path).unwrap())?;
    let mut bytes = vec![0; info.len() as usize];
    object.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn put(store: &dyn Store, key: &str, content: Content<'_>, condition: Condition) -> io::Result<bool> {
    let path = PathBuf::from(format!("gs://b/{key}"));
    store.put(&RemoteUrl::parse(&path).unwrap(), content, condition)
}

fn failure(error: &io::Error) -> Failure {
    let failure = Failure::io("reading", "gs://b/x", error);
    let text = format!("{failure} {:?}", failure.hint);
    assert!(!text.contains("secret") && !text.contains("hidden") && !text.contains("aws"), "{text}");
    failure
}

#[test]
fn a_service_account_gets_a_token_by_a_signed_request() {
    let world = World::new(&[("k", &content(200_000))]);
    let file = world.service_account();
    let store = world.store(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    assert_eq!(read(&*store, "k").unwrap(), content(200_000));
    assert_eq!(read(&*store, "k").unwrap(), content(200_000));
    let requests = world.server.requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.target == "/token").collect();
    assert_eq!(asked.len(), 1, "a token is used until it ends");
    let body = &asked[0].headers["(body)"];
    assert!(body.starts_with("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="), "{body}");
    let assertion = body.split("assertion=").nth(1).unwrap();
    let (text, signature) = assertion.rsplit_once('.').unwrap();
    let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    let key = PrivatePkcs8KeyDer::from_pem_slice(PRIVATE_KEY.as_bytes()).unwrap();
    let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    public.verify(text.as_bytes(), &decode(signature)).unwrap();
    let claims: serde_json::Value = serde_json::from_slice(&decode(text.split('.').nth(1).unwrap())).unwrap();
    assert_eq!(claims["aud"].as_str().unwrap(), format!("{}/token", world.server.address));
    assert_eq!(
        (claims["iss"].as_str(), claims["exp"].as_u64()),
        (Some("a@b"), claims["iat"].as_u64().map(|at| at + 3600))
    );
    let reading = requests.iter().rfind(|request| request.target == "/b/k").unwrap();
    assert_eq!(reading.headers["authorization"], "Bearer tokensecret");
    assert_eq!(reading.headers["accept-encoding"], "gzip");
}

#[test]
fn google_credentials_are_searched_in_order() {
    let world = World::new(&[("k", b"abc")]);
    let token = |values: &[(&str, &str)]| {
        read(&*world.store(values), "k")?;
        Ok::<_, io::Error>(world.server.requests().pop().unwrap().headers.get("authorization").cloned())
    };
    assert_eq!(token(&[]).unwrap(), None, "a public bucket needs none");
    let token_uri = format!("{}/token", world.server.address);
    let user = serde_json::json!({
        "type": "authorized_user", "client_id": "i", "client_secret": "secret", "refresh_token": "r", "token_uri": token_uri,
    });
    let file = world.write(&user);
    let of_file = [("GOOGLE_APPLICATION_CREDENTIALS", file.as_str())];
    assert_eq!(token(&of_file).unwrap().unwrap(), "Bearer tokensecret");
    let sent = world.server.requests().into_iter().rfind(|request| request.target == "/token").unwrap();
    assert_eq!(sent.headers["(body)"], "grant_type=refresh_token&client_id=i&client_secret=secret&refresh_token=r");
    assert_eq!(token(&[of_file[0], ("CLOUDSDK_AUTH_ACCESS_TOKEN", "given")]).unwrap().unwrap(), "Bearer given");
    let host = world.server.address.strip_prefix("http://").unwrap().to_owned();
    world.serve("/computeMetadata/v1/instance/service-accounts/default/token", 200, &TOKEN.replace("token", "m"));
    let machine = TOKEN.replace("tokensecret", "machine");
    world.serve("/computeMetadata/v1/instance/service-accounts/default/token", 200, &machine);
    assert_eq!(token(&[("GCE_METADATA_HOST", &host)]).unwrap().unwrap(), "Bearer machine");
    world.serve("/token", 400, r#"{"error":"hidden"}"#);
    let refused = failure(&token(&of_file).unwrap_err());
    assert!(refused.why.contains("answers 400") && refused.hint.unwrap().contains("gcloud auth"), "{}", refused.why);
    for (json, why) in [
        (serde_json::json!({"type": "external_account"}), "type external_account is not supported"),
        (serde_json::json!({"type": "service_account", "client_email": "a", "private_key": "secret"}), "no RSA key"),
        (serde_json::json!({"type": "authorized_user", "token_uri": "http://h/secret"}), "not https"),
        (serde_json::json!({"type": "authorized_user"}), "no client_id"),
    ] {
        world.write(&json);
        assert!(failure(&token(&of_file).unwrap_err()).why.contains(why), "{why}");
    }
}

#[test]
fn google_objects_are_put_with_checksum_and_generation_condition() {
    let world = World::new(&[("there", b"old")]);
    let store = world.store(&[("CLOUDSDK_AUTH_ACCESS_TOKEN", "t")]);
    assert!(put(&*store, "new", Content::Bytes(b"123456789"), Condition::IfAbsent).unwrap());
    let sent = world.server.requests().pop().unwrap();
    assert_eq!(
        sent.headers["x-goog-hash"],
        format!("crc32c={}", BASE64_STANDARD.encode(0xe306_9283_u32.to_be_bytes()))
    );
    assert_eq!(sent.headers["x-goog-if-generation-match"], "0");
    assert!(!sent.headers.contains_key("if-none-match") && !sent.headers.contains_key("x-amz-date"));
    assert!(!put(&*store, "there", Content::Bytes(b"two"), Condition::IfAbsent).unwrap());
    let source = world.dir.path().join("large");
    let bytes = content((20 << 20) + 17);
    std::fs::write(&source, &bytes).unwrap();
    let file = crate::read::open_read(&source).unwrap();
    assert!(put(&*store, "large", Content::File(&file), Condition::Always).unwrap());
    assert!(read(&*store, "large").unwrap() == bytes);
    let requests = world.server.requests();
    let parts = requests.iter().filter(|request| request.target.contains("partNumber"));
    assert!(parts.clone().count() > 1 && parts.clone().all(|part| part.headers.contains_key("x-goog-hash")));
}

#[test]
fn google_object_version_is_its_generation() {
    let world = World::new(&[("k", &content(300_000))]);
    let store = world.store(&[("CLOUDSDK_AUTH_ACCESS_TOKEN", "t")]);
    let (bucket, path, mut listed) = (PathBuf::from("gs://b"), PathBuf::from("gs://b/k"), None);
    let take: TakeEntry<'_> = &mut |entry| {
        listed = Some(entry.info);
        Ok(true)
    };
    store.list(&RemoteUrl::parse(&bucket).unwrap(), true, take).unwrap();
    let url = RemoteUrl::parse(&path).unwrap();
    assert_eq!(store.info(&url).unwrap(), listed);
    let (info, object) = store.open(&url).unwrap();
    assert_eq!(Some(info), listed);
    object.read_exact_at(&mut vec![0; 300_000], 0).unwrap();
    let last = world.server.requests().pop().unwrap();
    assert!(last.headers.contains_key("x-goog-if-generation-match") && !last.headers.contains_key("if-match"));
    let (_, object) = store.open(&url).unwrap();
    world.server.state.lock().unwrap().objects.insert("k".to_owned(), content(300_001));
    assert!(failure(&object.read_exact_at(&mut [0; 10], 290_000).unwrap_err()).why.contains("changed while"));
}

#[test]
fn google_refusals_have_specific_messages() {
    let world = World::new(&[("k", b"abc")]);
    let refuse = |status, code: &str| {
        let body = format!("<Error><Code>{code}</Code><Message>hidden</Message></Error>");
        (0..20).for_each(|_| world.server.fault("/b/k", Fault::Answer(status, String::new(), body.clone())));
    };
    refuse(403, "AccessDenied");
    let denied = failure(&read(&*world.store(&[("CLOUDSDK_AUTH_ACCESS_TOKEN", "t")]), "k").unwrap_err());
    assert!(denied.hint.unwrap().contains("storage.objects.get on gs://b/k"));
    let none = failure(&read(&*world.store(&[]), "k").unwrap_err());
    assert!(none.why.contains("no credentials") && none.hint.unwrap().contains("GOOGLE_APPLICATION_CREDENTIALS"));
    world.server.state.lock().unwrap().faults.clear();
    // A token that the store no longer accepts is replaced once.
    let file = world.service_account();
    let store = world.store(&[("GOOGLE_APPLICATION_CREDENTIALS", &file)]);
    let body = "<Error><Code>AuthenticationRequired</Code></Error>".to_owned();
    world.server.fault("/b/k", Fault::Answer(401, String::new(), body.clone()));
    assert_eq!(read(&*store, "k").unwrap(), b"abc");
    (0..2).for_each(|_| world.server.fault("/b/k", Fault::Answer(401, String::new(), body.clone())));
    let ended = failure(&read(&*store, "k").unwrap_err());
    assert!(ended.why.contains("credentials have expired"), "{ended}");
}
