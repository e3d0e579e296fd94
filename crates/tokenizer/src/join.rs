//! Runs two tasks in parallel, if the caller has a thread for each.

/// Runs two independent tasks in any order or in parallel. Returns when both have finished.
pub type Join2<'a> = &'a dyn Fn(&mut (dyn FnMut() + Send), &mut (dyn FnMut() + Send));

/// Runs the first task, then the second one.
pub(super) fn in_turn(first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
    first();
    second();
}

/// Returns the results of both tasks; `None` if one was not run.
pub(super) fn join_both<A: Send, B: Send>(
    together: Join2<'_>,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> Option<(A, B)> {
    let (mut first, mut second) = (Some(first), Some(second));
    let (mut one, mut other) = (None, None);
    together(&mut || one = first.take().map(|work| work()), &mut || other = second.take().map(|work| work()));
    one.zip(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_returns_both_results_in_any_execution_order() {
        let other_way_round =
            |first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)| in_turn(second, first);
        for together in [&in_turn as Join2<'_>, &other_way_round] {
            assert_eq!(join_both(together, || 1, || "two"), Some((1, "two")));
        }
        let only_one = |first: &mut (dyn FnMut() + Send), _: &mut (dyn FnMut() + Send)| first();
        assert_eq!(join_both(&only_one, || 1, || 2), None);
    }
}
