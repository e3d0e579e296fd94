use super::super::store_settings::RemoteSettings;
use super::super::tests::server::{content, Fault, Server};
use super::super::tests::{azure, limits};
use super::profile::BucketSettings;
use super::*;
use gristmill_core::ExitClass;

/// A folder with a file of profiles.
struct Profiles {
    dir: tempfile::TempDir,
}

impl Profiles {
    fn new(yaml: &str) -> Self {
        let profiles = Self { dir: tempfile::tempdir().unwrap() };
        profiles.write("msc.yaml", yaml);
        profiles
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn environment(&self) -> Environment {
        let config = self.dir.path().join("msc.yaml").to_string_lossy().into_owned();
        Environment::of(&[
            ("MSC_CONFIG", &config),
            ("AWS_CONFIG_FILE", "/nonexistent/config"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("AWS_ACCESS_KEY_ID", "AKIDCHAIN"),
            ("AWS_SECRET_ACCESS_KEY", "chainsecret"),
            ("SECRET", "verysecret"),
        ])
    }

    fn target(&self, name: &str) -> Outcome<Target> {
        let environment = self.environment();
        target(&MscConfig::read(&environment)?, name, &environment)
    }

    fn check(&self, text: &str) -> Outcome<String> {
        check_with(text, &|name| self.target(name))
    }

    fn store(&self, name: &str) -> MscStore {
        let Target::Bucket(settings, base) = self.target(name).unwrap() else { panic!("{name} is a folder") };
        let open = settings.opener(Network::start(limits()).unwrap(), self.environment()).unwrap();
        MscStore::new(open, &base)
    }
}

fn profile(name: &str, options: &str, more: &str) -> String {
    format!("  {name}:\n    storage_provider: {{type: s3, options: {{{options}}}}}\n{more}")
}

fn read(store: &MscStore, address: &str) -> io::Result<Vec<u8>> {
    let path = PathBuf::from(address);
    let (info, object) = store.open(&RemoteUrl::parse(&path).unwrap())?;
    let mut bytes = vec![0; info.len() as usize];
    object.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn keys(store: &MscStore, address: &str, recursive: bool) -> Vec<String> {
    let (path, mut keys) = (PathBuf::from(address), Vec::new());
    let take: TakeEntry<'_> = &mut |entry: StoreEntry| {
        keys.push(entry.key);
        Ok(true)
    };
    store.list(&RemoteUrl::parse(&path).unwrap(), recursive, take).unwrap();
    keys
}

fn world() -> (Server, Profiles) {
    let server = Server::start(&[("set/a.tar", &content(100_000)), ("set/sub/b.tar", b"b"), ("other", b"o")]);
    let endpoint = format!("endpoint_url: '{}', region_name: eu-x", server.address);
    let fixed =
        "    credentials_provider: {type: S3Credentials, options: {access_key: AKIDMSC, secret_key: $SECRET}}\n";
    let yaml = [
        "profiles:\n".to_owned(),
        profile("below", &format!("base_path: b/set, {endpoint}"), fixed),
        profile("bucket", &format!("base_path: b, {endpoint}"), ""),
        profile("all", &format!("base_path: '', signature_version: UNSIGNED, {endpoint}"), ""),
        "  local:\n    storage_provider: {type: file, options: {base_path: /data/x}}\n".to_owned(),
    ];
    (server, Profiles::new(&yaml.concat()))
}

#[test]
fn msc_profile_maps_to_a_bucket_a_prefix_or_all_buckets() {
    let (server, profiles) = world();
    for (name, file, folder) in
        [("below", "a.tar", ""), ("bucket", "set/a.tar", "set"), ("all", "b/set/a.tar", "b/set")]
    {
        let store = profiles.store(name);
        let address = |key: &str| format!("msc://{name}/{key}");
        assert_eq!(read(&store, &address(file)).unwrap(), content(100_000), "{name}");
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        assert_eq!(keys(&store, &address(folder), true), [format!("{below}a.tar"), format!("{below}sub/b.tar")]);
        assert_eq!(keys(&store, &address(folder), false), [format!("{below}a.tar"), format!("{below}sub")]);
        let path = PathBuf::from(address(&format!("{below}sub")));
        assert!(store.info(&RemoteUrl::parse(&path).unwrap()).unwrap().unwrap().is_dir());
        let lock = PathBuf::from(address(&format!("{below}lock")));
        let lock = RemoteUrl::parse(&lock).unwrap();
        assert!(store.put(&lock, Content::Bytes(b"x"), Condition::IfAbsent).unwrap());
        assert!(!store.put(&lock, Content::Bytes(b"y"), Condition::IfAbsent).unwrap());
        assert_eq!(server.state.lock().unwrap().objects["set/lock"], b"x");
        store.remove(&lock).unwrap();
        assert!(!server.state.lock().unwrap().objects.contains_key("set/lock"));
    }
}

#[test]
fn msc_profile_without_a_bucket_lists_the_buckets() {
    let (server, profiles) = world();
    let names = ["a", "b"].map(|name| format!("<Bucket><Name>{name}</Name></Bucket>")).concat();
    let list = format!("<ListAllMyBucketsResult><Buckets>{names}</Buckets></ListAllMyBucketsResult>");
    server.fault("/", Fault::Answer(200, String::new(), list));
    let store = profiles.store("all");
    assert_eq!(keys(&store, "msc://all", false), ["a", "b"]);
    let path = PathBuf::from("msc://all");
    let url = RemoteUrl::parse(&path).unwrap();
    let before = server.requests().len();
    assert!(store.info(&url).unwrap().unwrap().is_dir());
    let refused = store.list(&url, true, &mut |_| Ok(true)).unwrap_err().to_string();
    assert!(refused.contains("it has no bucket"), "{refused}");
    assert_eq!(server.requests().len(), before);
}

#[test]
fn bucket_is_the_first_path_component_if_the_msc_profile_has_none() {
    let (_server, profiles) = world();
    let is_whole = |address: &str| {
        let path = PathBuf::from(address);
        is_bucket_with(&RemoteUrl::parse(&path).unwrap(), &|name| profiles.target(name))
    };
    for bucket in ["msc://all", "msc://all/b", "msc://all/b/", "msc://bucket", "msc://below"] {
        assert!(is_whole(bucket), "{bucket}");
    }
    for folder in ["msc://all/b/set", "msc://bucket/set", "msc://below/a.tar"] {
        assert!(!is_whole(folder), "{folder}");
    }
}

#[test]
fn msc_keys_come_from_the_profile_or_else_from_the_environment() {
    let (server, profiles) = world();
    let signature = |name: &str, key: &str| {
        read(&profiles.store(name), &format!("msc://{name}/{key}")).unwrap();
        server.requests().pop().unwrap().headers.get("authorization").cloned()
    };
    assert!(signature("below", "a.tar").unwrap().contains("Credential=AKIDMSC/"));
    assert!(signature("bucket", "other").unwrap().contains("Credential=AKIDCHAIN/"));
    assert!(signature("bucket", "other").unwrap().contains("/eu-x/s3/"));
    assert_eq!(signature("all", "b/other"), None);
    let json = profiles.write("keys.json", r#"{"Version":1,"AccessKeyId":"AKIDFILE","SecretAccessKey":"s"}"#);
    let options = format!("base_path: b, endpoint_url: '{}'", server.address);
    let of_file = |path: &str| {
        let provider = "    credentials_provider: {type: FileBasedCredentials, options: {credential_file_path: ";
        profiles.write(
            "msc.yaml",
            &format!("profiles:\n{}", profile("file", &options, &format!("{provider}{path}}}}}\n"))),
        );
    };
    of_file(&json);
    assert!(signature("file", "other").unwrap().contains("Credential=AKIDFILE/"));
    of_file("/nonexistent/keys.json");
    let failure = read(&profiles.store("file"), "msc://file/other").unwrap_err();
    let failure = Failure::io("reading", "msc://file/other", &failure);
    assert!(failure.to_string().ends_with("on /nonexistent/keys.json: there is no such file"), "{failure}");
}

#[test]
fn msc_google_profile_uses_its_credentials_provider() {
    let server = Server::start(&[("set/k", b"abc")]);
    server.state.lock().unwrap().services.push(("/token".to_owned(), 200, r#"{"access_token": "tok"}"#.to_owned()));
    let info = serde_json::json!({
        "type": "authorized_user", "client_id": "i", "client_secret": "verysecret", "refresh_token": "r",
        "token_uri": format!("{}/token", server.address),
    });
    let storage = |credentials: &str| {
        let options = format!("{{base_path: b/set, endpoint_url: '{}'}}", server.address);
        format!("profiles:\n  g: {{storage_provider: {{type: gcs, options: {options}}}{credentials}}}\n")
    };
    let provider = "credentials_provider: {type: GoogleServiceAccountCredentialsProvider, options: ";
    let profiles = Profiles::new(&storage(&format!(", {provider}{{info: {info}}}}}")));
    let file = profiles.write("account.json", &info.to_string());
    for options in [format!("{{info: {info}}}"), format!("{{file: {file}}}")] {
        profiles.write("msc.yaml", &storage(&format!(", {provider}{options}}}")));
        assert!(!format!("{:?}", profiles.target("g").unwrap()).contains("verysecret"));
        assert_eq!(read(&profiles.store("g"), "msc://g/k").unwrap(), b"abc");
        assert_eq!(server.requests().pop().unwrap().headers["authorization"], "Bearer tok");
    }
    profiles.write("msc.yaml", &storage(", credentials_provider: {type: S3Credentials, options: {}}"));
    assert!(profiles.target("g").unwrap_err().hint.unwrap().contains("GoogleServiceAccountCredentialsProvider"));
}

#[test]
fn msc_addresses_are_checked_and_local_profiles_become_paths() {
    let (_server, profiles) = world();
    assert_eq!(profiles.check("msc://below/a/b/").unwrap(), "msc://below/a/b/");
    assert_eq!(profiles.check("msc://local/a/b").unwrap(), "/data/x/a/b");
    assert_eq!(profiles.check("msc://__filesystem__/a/b").unwrap(), "/a/b");
    assert_eq!(profiles.check("msc://default/a").unwrap(), "/a");
    for (text, why, hint) in [
        ("msc://", "no profile", "msc://PROFILE/PATH"),
        ("msc://all", "no bucket", "msc://all/BUCKET/KEY"),
        ("msc://below/a//b", "a part of its key", "folder above"),
        ("msc://belo/x", "there is no profile belo in", "one named below"),
    ] {
        let failure = profiles.check(text).unwrap_err();
        assert!(failure.why.contains(why) && failure.hint.as_ref().unwrap().contains(hint), "{failure:?}");
        assert_eq!(failure.class, ExitClass::Usage);
    }
}

#[test]
fn unsupported_msc_profile_keys_are_named() {
    let storage = "storage_provider: {type: s3, options: {base_path: b, endpoint_url: secret}}";
    for (content, why) in [
        ("storage_provider: {type: oci, options: {}}".to_owned(), "has the storage oci, which is not supported"),
        ("storage_provider: {options: {}}".to_owned(), "no type of storage_provider"),
        (format!("{storage}, replicas: [{{a: 1}}]"), "has replicas, which"),
        ("provider_bundle: {type: a.B}".to_owned(), "has provider_bundle, which"),
        ("storage_provider: {type: s3, options: {base_path: b, verify: false}}".to_owned(), "has verify: false, which"),
        (format!("{storage}, metadata_provider: {{type: manifest}}"), "has metadata_provider, which"),
        (format!("{storage}, credentials_provider: {{type: a.B}}"), "of the type a.B, which"),
        (
            format!("{storage}, credentials_provider: {{type: S3Credentials, options: {{access_key: secret}}}}"),
            "no secret_key",
        ),
        (format!("{storage}, other: $NONE"), "names a variable NONE that is not set"),
    ] {
        let profiles = Profiles::new(&format!("profiles:\n  p: {{{content}}}\n"));
        let failure = profiles.target("p").unwrap_err();
        assert!(failure.why.contains(why) && failure.class == ExitClass::Usage, "{failure}");
        assert!(!format!("{failure:?}").contains("secret:"), "{failure:?}");
    }
    for options in ["verify: false, endpoint_url: 'http://h'", "verify: 'True'", "verify: true"] {
        let plain = format!("storage_provider: {{type: s3, options: {{base_path: b, {options}}}}}");
        assert!(Profiles::new(&format!("profiles:\n  p: {{{plain}}}\n")).target("p").is_ok(), "{options}");
    }
    let profiles = Profiles::new(&format!("profiles:\n  p: {{{storage}, replicas: []}}\n"));
    let Target::Bucket(settings, _) = profiles.target("p").unwrap() else { panic!("it is a folder") };
    let failure = settings.opener(Network::start(limits()).unwrap(), profiles.environment()).err().unwrap();
    assert!(failure.subject.field.unwrap().starts_with("the profile p of "), "{:?}", failure.why);
    let flags = RemoteSettings { anonymous: true, connections: 3, ..RemoteSettings::default() };
    let environment = profiles.environment();
    let raw = MscConfig::read(&environment).unwrap().profile("p", &environment).unwrap();
    let Target::Bucket(settings, _) = profile::parse("p", &raw, &flags).unwrap() else { panic!("it is a folder") };
    let BucketSettings::S3(settings) = *settings else { panic!("it is no S3") };
    assert!(settings.flags.anonymous && settings.flags.connections == 3);
}

#[test]
fn msc_azure_profile_uses_a_connection_string_or_machine_credentials() {
    let server = azure::start(&[("set/a.tar", b"abc")]);
    let endpoint = format!("http://{}/acc", server.address.trim_start_matches("http://"));
    let azure = |more: &str| {
        Profiles::new(&format!(
            "profiles:\n  p:\n    storage_provider: {{type: azure, options: {{base_path: b/set, endpoint_url: '{endpoint}'}}}}\n{more}"
        ))
    };
    let provider =
        |kind: &str, options: &str| format!("    credentials_provider: {{type: {kind}, options: {{{options}}}}}\n");
    let connection = provider("AzureCredentials", "connection: 'AccountName=acc;AccountKey=dmVyeXNlY3JldA=='");
    let store = azure(&connection).store("p");
    assert_eq!(read(&store, "msc://p/a.tar").unwrap(), b"abc");
    assert_eq!(keys(&store, "msc://p", true), ["a.tar"]);
    let request = server.requests().pop().unwrap();
    assert!(request.headers["authorization"].starts_with("SharedKey acc:"));
    for more in ["", &provider("DefaultAzureCredentials", "")] {
        assert!(azure(more).target("p").is_ok());
    }
    for (kind, options) in [("S3Credentials", ""), ("DefaultAzureCredentials", "managed_identity_client_id: x")] {
        let failure = azure(&provider(kind, options)).target("p").unwrap_err();
        assert_eq!(failure.class, ExitClass::Usage);
        assert!(failure.hint.unwrap().contains("AzureCredentials"), "{kind}");
    }
    let wrong = azure(&provider("AzureCredentials", "connection: verysecret"));
    let Target::Bucket(settings, _) = wrong.target("p").unwrap() else { panic!("it is a folder") };
    let failure = settings.opener(Network::start(limits()).unwrap(), wrong.environment()).err().unwrap();
    assert!(failure.to_string().contains("profile p") && !failure.to_string().contains("verysecret"), "{failure}");
}

#[test]
fn object_has_the_same_address_through_every_msc_profile() {
    let (_server, profiles) = world();
    let address = |name: &str, key: &str| {
        let path = PathBuf::from(format!("msc://{name}/{key}"));
        let (store, url) = (profiles.store(name), RemoteUrl::parse(&path).unwrap());
        (store.service(&url), store.usual_address(&url))
    };
    let of_all = address("all", "b/set/a.tar");
    assert_eq!(of_all.1, "s3://b/set/a.tar");
    assert_eq!(of_all, address("below", "a.tar"));
    assert_eq!(of_all, address("bucket", "set/a.tar"));
}
