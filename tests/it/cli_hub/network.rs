//! TLS and proxies: certificates and proxies that the environment names.

use super::*;

/// Variables that name a file of certificates.
const CERTIFICATES: [&str; 4] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"];
const SECRET: &str = "secretsecret";

impl HubTest {
    /// Creates a certificate for 127.0.0.1 that is not trusted; returns it, and a file that also contains its key.
    fn certificate(&self) -> (PathBuf, PathBuf) {
        let settings =
            "[req]\ndistinguished_name = name\nx509_extensions = extensions\nprompt = no\n[name]\nCN = test\n\
                        [extensions]\nsubjectAltName = IP:127.0.0.1\nbasicConstraints = critical, CA:FALSE\n";
        self.sandbox.write("tls.cnf", settings);
        let [settings, key, certificate, both] =
            ["tls.cnf", "key.pem", "certificate.pem", "both.pem"].map(|name| self.sandbox.path(name));
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        command.arg("-config").arg(settings).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        put(&both, &[std::fs::read(&certificate).unwrap(), std::fs::read(key).unwrap()].concat());
        (certificate, both)
    }

    /// Starts a server with TLS; returns it and its certificate.
    fn serve_tls(&self) -> (Server, String) {
        let (certificate, both) = self.certificate();
        let server = self.serve(&["--leak-check", "--tls", &both.to_string_lossy()]);
        assert!(server.address.starts_with("https://"), "{}", server.address);
        (server, certificate.to_string_lossy().into_owned())
    }

    /// Packs `o/n` into a new output, with an empty cache and these variables.
    fn pack_with(&self, server: &Server, variables: &[(&str, &str)], output: &str) -> RunOutput {
        let _ = std::fs::remove_dir_all(self.sandbox.path("hf"));
        let words = pack_words("hf://datasets/o/n", output);
        self.run_with(server, variables, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Runs a command with these variables.
    fn run_with(&self, server: &Server, variables: &[(&str, &str)], words: &[&str]) -> RunOutput {
        let mut command = self.command(&server.address, words);
        for name in CERTIFICATES.into_iter().chain(["SSL_CERT_DIR", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"]) {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let ran =
            RunOutput { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{}{}", ran.out, ran.err);
        ran
    }
}

/// A running proxy.
struct Proxy {
    process: Child,
    /// Host and port.
    host: String,
    log: PathBuf,
}

impl Proxy {
    fn start(log: PathBuf) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/connect_proxy.py");
        let mut command = Command::new("python3");
        let mut process = command.arg(script).arg(&log).stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
        let host = address.trim().strip_prefix("http://").unwrap().to_owned();
        Self { process, host, log }
    }

    fn requests(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn certificates_given_by_environment_variables_are_trusted() {
    let test = HubTest::new().set("HF_TOKEN", SECRET);
    let (server, certificate) = test.serve_tls();
    let ran = test.pack_with(&server, &[], "refused").ends(3).complains("its certificate is not trusted");
    assert!(CERTIFICATES[..2].iter().all(|name| ran.err.contains(name)), "{}", ran.err);
    assert!(server.requests().is_empty() && !test.sandbox.has("refused"));
    for name in CERTIFICATES {
        test.pack_with(&server, &[(name, &certificate)], name).ends(0);
        test.has_all(name);
    }
    assert!(server.data_requests() >= CERTIFICATES.len());
}

#[test]
fn hub_command_refuses_certificate_file_and_names_its_variable() {
    let test = HubTest::new();
    let (server, _) = test.serve_tls();
    let (key, missing) = (test.sandbox.path("key.pem"), test.sandbox.path("missing.pem"));
    for (path, why) in [(key, "it has no certificate"), (missing, "there is no such file")] {
        let ran = test.pack_with(&server, &[("REQUESTS_CA_BUNDLE", &path.to_string_lossy())], "out").ends(3);
        assert!(ran.err.contains(why) && ran.err.contains("REQUESTS_CA_BUNDLE has to name"), "{}", ran.err);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn https_goes_through_the_proxy_unless_no_proxy_names_the_host() {
    let test = HubTest::new();
    let (server, certificate) = test.serve_tls();
    let proxy = Proxy::start(test.sandbox.path("proxy.log"));
    let address = format!("http://user:{SECRET}@{}", proxy.host);
    let trust = ("SSL_CERT_FILE", certificate.as_str());
    test.pack_with(&server, &[trust, ("HTTPS_PROXY", &address)], "through").ends(0);
    test.has_all("through");
    let _ = std::fs::remove_dir_all(test.sandbox.path("hf"));
    let before = proxy.requests().lines().count();
    let copy = ["cp", "hf://datasets/o/n/data", "copy"];
    test.run_with(&server, &[trust, ("HTTPS_PROXY", &address)], &copy).ends(0);
    assert_eq!(picture(&test.sandbox.path("copy")), picture(&test.root().join("o/n/data")));
    assert!(proxy.requests().lines().count() > before + 1);
    let requests = proxy.requests();
    let hub = server.address.strip_prefix("https://").unwrap();
    assert!(requests.contains(&format!("CONNECT {hub} Basic ")), "{requests}");
    // The large file comes from another port of the server.
    assert!(requests.lines().any(|line| !line.contains(hub)), "{requests}");
    let around = [trust, ("HTTPS_PROXY", &address), ("NO_PROXY", "example.org,127.0.0.1")];
    test.pack_with(&server, &around, "around").ends(0);
    test.has_all("around");
    assert_eq!(proxy.requests(), requests);
}

#[test]
fn unreachable_proxy_is_reported_without_its_password() {
    let test = HubTest::new();
    let (server, certificate) = test.serve_tls();
    let address = format!("http://user:{SECRET}@127.0.0.1:9");
    let variables = [("SSL_CERT_FILE", certificate.as_str()), ("HTTPS_PROXY", &address)];
    let ran = test.pack_with(&server, &variables, "out").ends(3);
    assert!(ran.err.contains("the proxy 127.0.0.1:9 of HTTPS_PROXY refuses"), "{}", ran.err);
    assert!(server.requests().is_empty() && !test.sandbox.has("out"));
}
