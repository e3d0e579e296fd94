//! Sources of credentials, and the keys that sign requests.

use super::*;

/// Returns the id of the key that the last request for an object was signed with.
fn signed_with(server: &Server, values: &[(&str, &str)]) -> Result<String, Failure> {
    let store = store_with(server, values);
    read(&store, "k").map_err(|error| Failure::io("reading", "k", &error))?;
    let request = server.requests().into_iter().rfind(|request| request.target == "/b/k").unwrap();
    let header = request.headers.get("authorization").cloned().unwrap_or_default();
    Ok(header.split("Credential=").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default().to_owned())
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        crate::publish::write_file(&crate::fs::RealFs, &path, text.as_bytes(), 0o600).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

const ROLE: &str = "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ROLEKEY</AccessKeyId>\
    <SecretAccessKey>rs</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration>\
    </Credentials></AssumeRoleResult></AssumeRoleResponse>";
const JSON: &str = r#"{"AccessKeyId":"JSONKEY","SecretAccessKey":"s","Token":"t","Expiration":"2100-01-01T00:00:00Z"}"#;

#[test]
fn aws_profiles_provide_keys() {
    let (server, files) = (Server::start(&[("k", b"abc")]), Files::new());
    server.state.lock().unwrap().services.push(("/sts".to_owned(), 200, ROLE.to_owned()));
    let config = files.write(
        "config",
        "[profile role]\nrole_arn = arn:x\nsource_profile = keys\nexternal_id = e\n[profile loop]\nrole_arn = r\nsource_profile = loop2\n\
         [profile loop2]\nrole_arn = r\nsource_profile = loop\n[profile mfa]\nmfa_serial = x\n[profile run]\ncredential_process = false\n",
    );
    let keys = files.write("credentials", "[default]\naws_access_key_id=DEFAULT\naws_secret_access_key=s\n[keys]\naws_access_key_id=PROFILEKEY\naws_secret_access_key=s\n");
    let sts = format!("{}/sts", server.address);
    let base = [
        ("AWS_CONFIG_FILE", config.as_str()),
        ("AWS_SHARED_CREDENTIALS_FILE", keys.as_str()),
        ("AWS_ENDPOINT_URL_STS", sts.as_str()),
    ];
    let with = |values: &[(&str, &str)]| signed_with(&server, &[&base[..], values].concat());
    assert_eq!(with(&[]).unwrap(), "DEFAULT");
    assert_eq!(with(&KEYS).unwrap(), "AKIDTEST");
    assert_eq!(with(&[("AWS_PROFILE", "keys")]).unwrap(), "PROFILEKEY");
    assert_eq!(with(&[("AWS_PROFILE", "role")]).unwrap(), "ROLEKEY");
    let asked = server.requests().into_iter().rfind(|request| request.target == "/sts").unwrap();
    assert!(
        asked.headers["authorization"].contains("PROFILEKEY")
            && asked.headers["authorization"].contains("/sts/aws4_request")
    );
    assert!(asked.headers["(body)"].contains("RoleArn=arn%3Ax") && asked.headers["(body)"].contains("ExternalId=e"));
    // The general setting of the address is that of this service, too.
    server.fault("/", Fault::Answer(200, String::new(), ROLE.to_owned()));
    assert_eq!(signed_with(&server, &[&base[..2], &[("AWS_PROFILE", "role")]].concat()).unwrap(), "ROLEKEY");
    let refused = |profile: &str| with(&[("AWS_PROFILE", profile)]).unwrap_err();
    assert!(refused("loop").why.contains("do not end"));
    assert!(refused("mfa").hint.unwrap().contains("export-credentials --profile mfa"));
    assert!(refused("run").why.contains("credential_process fails"));
}

#[test]
fn web_identity_container_and_instance_services_provide_aws_keys() {
    let (server, files) = (Server::start(&[("k", b"abc")]), Files::new());
    let token = files.write("token", "webtoken\n");
    let services = [
        ("/sts", ROLE),
        ("/container", JSON),
        ("/latest/api/token", "tok"),
        ("/latest/meta-data/iam/security-credentials/r", JSON),
        ("/latest/meta-data/iam/security-credentials/", "r"),
    ];
    let services = services.map(|(place, body)| (place.to_owned(), 200, body.to_owned()));
    server.state.lock().unwrap().services.extend(services);
    let address = |path: &str| format!("{}{path}", server.address);
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.as_str()),
        ("AWS_ROLE_ARN", "r"),
        ("AWS_ENDPOINT_URL_STS", &address("/sts")),
    ];
    assert_eq!(signed_with(&server, &web).unwrap(), "ROLEKEY");
    let asked = server.requests().into_iter().rfind(|request| request.target == "/sts").unwrap();
    assert!(
        asked.headers["(body)"].contains("WebIdentityToken=webtoken") && !asked.headers.contains_key("authorization")
    );
    let full = address("/container");
    let container = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", full.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.as_str()),
    ];
    assert_eq!(signed_with(&server, &container).unwrap(), "JSONKEY");
    let asked = server.requests().into_iter().rfind(|request| request.target == "/container").unwrap();
    assert_eq!(asked.headers["authorization"], "webtoken");
    let instance =
        [("AWS_EC2_METADATA_DISABLED", "false"), ("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.address.as_str())];
    assert_eq!(signed_with(&server, &instance).unwrap(), "JSONKEY");
}

#[test]
fn single_sign_on_uses_the_cached_token() {
    let (server, files) = (Server::start(&[("k", b"abc")]), Files::new());
    let answer = r#"{"roleCredentials":{"accessKeyId":"SSOKEY","secretAccessKey":"s","sessionToken":"t","expiration":4102444800000}}"#;
    server.state.lock().unwrap().services.push(("/federation/".to_owned(), 200, answer.to_owned()));
    let config = files.write(
        "config",
        "[default]\nsso_session = s\nsso_account_id = 1\nsso_role_name = r\n[sso-session s]\nsso_region = x\nsso_start_url = u\n",
    );
    let home = files.0.path().to_str().unwrap().to_owned();
    let values = [
        ("AWS_CONFIG_FILE", config.as_str()),
        ("HOME", home.as_str()),
        ("AWS_ENDPOINT_URL_SSO", server.address.as_str()),
    ];
    let failure = signed_with(&server, &values).unwrap_err();
    assert_eq!(failure.hint.as_deref(), Some("run `aws sso login --profile default`"));
    // SHA-1 of `s`.
    let name = ".aws/sso/cache/a0f1490a20d0211c997b44bc357e1972deab8ae3.json";
    files.write(name, r#"{"accessToken":"at","expiresAt":"2100-01-01T00:00:00Z"}"#);
    assert_eq!(signed_with(&server, &values).unwrap(), "SSOKEY");
    files.write(name, r#"{"accessToken":"at","expiresAt":"2020-01-01T00:00:00Z"}"#);
    assert!(signed_with(&server, &values).unwrap_err().why.contains("has expired"));
}

#[test]
fn expired_aws_keys_are_renewed() {
    let (server, files) = (Server::start(&[("k", b"abc")]), Files::new());
    let count = files.write("count", "");
    let script = format!(
        "sh -c 'echo x >> {count}; n=$(wc -l < {count}); echo \"{{\\\\\"AccessKeyId\\\\\":\\\\\"K$n\\\\\",\\\\\"SecretAccessKey\\\\\":\\\\\"s\\\\\",\\\\\"SessionToken\\\\\":\\\\\"t$n\\\\\"}}\"'"
    );
    let config =
        files.write("config", &format!("[default]\ncredential_process = {}\n", script.replace("\\\\\"", "\\\"")));
    let store = store_with(&server, &[("AWS_CONFIG_FILE", &config)]);
    read(&store, "k").unwrap();
    server.fault("/b/k", refuse(400, "ExpiredToken"));
    assert_eq!(read(&store, "k").unwrap(), b"abc");
    let keys: Vec<String> =
        server.requests().iter().map(|request| request.headers["x-amz-security-token"].clone()).collect();
    assert_eq!(keys, ["t1", "t1", "t2"]);
}

#[test]
fn incomplete_aws_setting_is_named_in_the_failure() {
    let server = Server::start(&[("k", b"x")]);
    let failure = failure(read(&store_with(&server, &[("AWS_ACCESS_KEY_ID", "AKIDTEST")]), "k").unwrap_err());
    let expected = "getting the credentials failed on 'AWS_SECRET_ACCESS_KEY': it is not set, and AWS_ACCESS_KEY_ID is";
    assert_eq!(failure.to_string(), expected);
}
