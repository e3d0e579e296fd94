//! Helpers for the tests of all stores.

pub(super) mod azure;
pub(super) mod server;

use super::network::NetworkLimits;
use std::time::Duration;

/// Returns limits with short pauses.
pub(super) fn limits() -> NetworkLimits {
    NetworkLimits {
        connections: 64,
        connect: Duration::from_secs(5),
        first_byte: Duration::from_secs(5),
        silence: Duration::from_millis(200),
        base_pause: Duration::from_millis(1),
        patience: Duration::from_secs(10),
        first_patience: Duration::from_secs(5),
    }
}
