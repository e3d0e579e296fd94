//! `energon prepare --fix-duplicates`, which in `energon` renames entries inside shards.

use super::super::exit::Stopped;
use gristmill_core::ProblemKind;

/// Adds to failures about duplicate keys that the flag is not supported, and a way that keeps all samples.
pub(super) fn without_renames(mut stopped: Stopped) -> Stopped {
    for failure in stopped.failures.iter_mut().filter(|failure| failure.kind == Some(ProblemKind::DuplicateKey)) {
        failure.why.push_str("; --fix-duplicates cannot be done, since entries of shards are not renamed in place");
        failure.hint = Some(
            "write shards with the name of the old one before each key: gristmill shard FOLDER --output NEW --duplicates prefix"
                .to_owned(),
        );
    }
    stopped
}
