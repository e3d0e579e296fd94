//! Catches panics of third-party code, so that they cost one unit of work and not the run.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that may panic on unexpected input; returns `None` if it panicked. Nothing is printed then ([`is_caught`]).
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_CAUGHT.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    IS_CAUGHT.set(before);
    done
}

/// Whether a panic of this thread would be caught by [`catch_panic`], so that it need not be reported as a defect.
pub fn is_caught() -> bool {
    IS_CAUGHT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_known_as_such_while_it_may_come() {
        assert_eq!(catch_panic(is_caught), Some(true));
        let inner = catch_panic(|| (catch_panic(|| -> u8 { std::panic::panic_any(7) }), is_caught()));
        assert_eq!((inner, is_caught()), (Some((None, true)), false));
    }
}
