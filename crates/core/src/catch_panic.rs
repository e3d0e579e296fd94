//! Catches panics of third-party code, so that a panic fails one unit of work instead of the run.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};

thread_local! {
    static IS_CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function that may panic on unexpected input; returns `None` if it panicked. The panic is not printed ([`is_caught`]).
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let before = IS_CAUGHT.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    IS_CAUGHT.set(before);
    done
}

/// Whether [`catch_panic`] would catch a panic of this thread, so that it must not be reported as a defect.
pub fn is_caught() -> bool {
    IS_CAUGHT.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_caught_is_true_only_inside_catch_panic() {
        assert_eq!(catch_panic(is_caught), Some(true));
        let inner = catch_panic(|| (catch_panic(|| -> u8 { std::panic::panic_any(7) }), is_caught()));
        assert_eq!((inner, is_caught()), (Some((None, true)), false));
    }
}
