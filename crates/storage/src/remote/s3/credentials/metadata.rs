//! Keys from the metadata service of the machine: of a container, or of an instance.

use super::super::super::environment::MAX_FILE_BYTES;
use super::super::super::http::is_loopback;
use super::super::super::network::MAX_SMALL_ANSWER_BYTES;
use super::{parse_keys, CredentialChain, Keys, ACTIVITY};
use crate::local_file::read_local;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::{Method, Url};
use std::time::Duration;
use tokio::time::timeout;

/// Address of the service of containers.
const CONTAINER: &str = "http://169.254.170.2";
/// Hosts from which keys may be requested without TLS, in addition to this machine.
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];
/// Address of the service of instances.
const INSTANCE: &str = "http://169.254.169.254";
/// Time limit for its answer: outside an instance, no service answers.
const MAX_INSTANCE_TIME: Duration = Duration::from_secs(1);

impl CredentialChain {
    /// Returns the keys of the container; `None` if the environment names no service.
    pub(super) async fn find_in_container(&self) -> Outcome<Option<Keys>> {
        let refuse =
            |why: &str| Failure::environment(ACTIVITY, why).on(Subject::field("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
        let variable = |name: &str| self.environment.text(&format!("AWS_CONTAINER_{name}"));
        let relative = variable("CREDENTIALS_RELATIVE_URI").map(|path| format!("{CONTAINER}{path}"));
        let Some(address) = relative.or_else(|| variable("CREDENTIALS_FULL_URI")) else { return Ok(None) };
        let url = Url::parse(&address).map_err(|_| refuse("it is not an address"))?;
        if !is_allowed(&url) {
            return Err(refuse("it may only be https, or lead to this machine or to the service of containers"));
        }
        let token = match variable("AUTHORIZATION_TOKEN_FILE") {
            Some(file) => {
                let path = self.environment.path(&file);
                let missing = || Failure::environment(ACTIVITY, "there is no such file").on(Subject::path(&path));
                let bytes = read_local(&path, MAX_FILE_BYTES)?.ok_or_else(missing)?;
                Some(String::from_utf8_lossy(&bytes).trim().to_owned())
            }
            None => variable("AUTHORIZATION_TOKEN"),
        };
        let request = self.network.client(true).get(url);
        let request = token.into_iter().fold(request, |request, token| request.header("authorization", token));
        let (status, answer) = self.fetch(request, true, "the service of the container").await?;
        let keys = parse_keys(&answer, "the service of the container").filter(|_| status == 200);
        keys.map(Some).ok_or_else(|| refuse(&format!("the answer ({status}) has no keys")))
    }

    /// Returns the keys of the instance; `None` if this machine is not an instance, or has no role.
    pub(super) async fn find_in_instance(&self) -> Outcome<Option<Keys>> {
        if self.environment.is_true("AWS_EC2_METADATA_DISABLED") {
            return Ok(None);
        }
        let base = self.environment.text("AWS_EC2_METADATA_SERVICE_ENDPOINT").unwrap_or_else(|| INSTANCE.to_owned());
        let base = format!("{}/latest", base.trim_end_matches('/'));
        let age = ("x-aws-ec2-metadata-token-ttl-seconds", "21600".to_owned());
        let token = self.send_request(Method::PUT, format!("{base}/api/token"), age);
        let Some(token) = timeout(MAX_INSTANCE_TIME, token).await.ok().flatten() else { return Ok(None) };
        let token = ("x-aws-ec2-metadata-token", String::from_utf8_lossy(&token).trim().to_owned());
        let roles = format!("{base}/meta-data/iam/security-credentials/");
        let Some(role) = self.send_request(Method::GET, roles.clone(), token.clone()).await else { return Ok(None) };
        let role = String::from_utf8_lossy(&role).lines().next().unwrap_or_default().trim().to_owned();
        let keys = self.send_request(Method::GET, format!("{roles}{role}"), token).await;
        Ok(keys.and_then(|keys| parse_keys(&keys, "the role of the instance")))
    }

    /// Sends a request once; `None` if there is no successful answer.
    async fn send_request(&self, method: Method, address: String, header: (&str, String)) -> Option<Vec<u8>> {
        let client = self.network.client(true);
        let request = client.request(method, address).header(header.0, header.1).build().ok()?;
        let mut reply = self.network.send(client, request, "the metadata of the instance").await.ok()?.ok()?;
        let mut body = Vec::new();
        reply.read(&mut body, MAX_SMALL_ANSWER_BYTES).await.ok()?;
        (reply.status() == 200).then_some(body)
    }
}

fn is_allowed(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https" || url.scheme() == "http" && (CONTAINER_HOSTS.contains(&host) || is_loopback(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_requested_only_over_https_or_from_local_addresses() {
        let is_allowed = |address: &str| super::is_allowed(&Url::parse(address).unwrap());
        assert!(is_allowed("https://example.com/x") && is_allowed("http://169.254.170.23/v1"));
        assert!(is_allowed("http://127.0.0.1:80/x") && is_allowed("http://[fd00:ec2::23]/v1"));
        assert!(!is_allowed("http://127.example.com/x") && is_allowed("http://[::1]/x"));
        assert!(!is_allowed("http://example.com/x") && !is_allowed("ftp://127.0.0.1/x"));
    }
}
