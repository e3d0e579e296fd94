//! Requests with small answers, such as requests for credentials.

use super::super::retry::RetryReason;
use super::Network;
use gristmill_core::{Failure, Outcome, Subject};
use reqwest::RequestBuilder;

/// Maximum size of an answer, in bytes.
pub(in crate::remote) const MAX_SMALL_ANSWER_BYTES: usize = 1 << 20;

impl Network {
    /// Sends a request, with further tries if they may succeed. Returns the status and the body of the answer. `what` is the step in
    /// errors, `subject` the name of the requested resource.
    pub(in crate::remote) async fn fetch(
        &self,
        what: &str,
        request: RequestBuilder,
        is_direct: bool,
        subject: &str,
    ) -> Outcome<(u16, Vec<u8>)> {
        let failed = || Failure::environment(what, format!("{subject} has no valid address"));
        let request = request.build().map_err(|_| failed())?;
        let mut patience = self.patience(request.url());
        loop {
            let again = request.try_clone().ok_or_else(failed)?;
            let reason = match self.send(self.client(is_direct), again, subject).await? {
                Ok(mut reply) => {
                    let (status, mut body) = (reply.status(), Vec::new());
                    match reply.read(&mut body, MAX_SMALL_ANSWER_BYTES).await {
                        Ok(()) if ![429, 500, 502, 503, 504].contains(&status) => return Ok((status, body)),
                        Ok(()) => RetryReason::new(format!("the server answers {status}")),
                        Err(reason) => reason,
                    }
                }
                Err(reason) => reason,
            };
            patience.wait(&reason).await.map_err(|failure| failure.on(Subject::field(subject)))?;
        }
    }
}
