//! Limits of what a program computes from a document, because a number in the document can be the length of a text or the bound of a loop.

use super::Data;
use crate::source::documents::blocks::MAX_LINE_BYTES;
use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::native::{bome, run, v, Fun};
use jaq_core::ops::Math;
use jaq_core::path::Part;
use jaq_core::{Cv, Error as Failed, Exn, ValR, ValX};
use jaq_json::{Num, Val};
use std::cell::Cell;
use std::cmp::Ordering;

/// Name of the filter that replaces `*`.
const PRODUCT: &str = "gristmill_product";
/// Variable that holds the right side of `*=`.
const FACTOR: &str = "$gristmill_factor";
/// Maximum number of values that `range` gives for a document.
const MAX_RANGE_VALUES: usize = 1_000_000;

/// Messages of the limits.
const TOO_LONG: &str = "the jq program repeats a text to more than 64 MiB";
const TOO_MANY: &str = "range in the jq program makes more than 1,000,000 values";

thread_local! {
    /// Number of values that `range` gave for the present document.
    static RANGE_VALUES: Cell<usize> = const { Cell::new(0) };
}

/// Returns the filters with limits.
pub(super) fn filters() -> [Fun<Data>; 2] {
    [run((PRODUCT, v(2), |cv| bome(product(cv)))), run(("range", v(3), |cv| Box::new(range(cv))))]
}

/// Whether a filter of this name is one of [`filters`].
pub(super) fn is_ours(name: &str) -> bool {
    name == "range"
}

/// Must be called before a program runs on a document.
pub(super) fn start_document() {
    RANGE_VALUES.set(0);
}

/// Returns the reason why a program fails.
pub(super) fn reason(error: &Failed<Val>) -> &'static str {
    let text = error.to_string();
    [TOO_LONG, TOO_MANY].into_iter().find(|limit| text.contains(limit)).unwrap_or("the jq program fails")
}

/// Replaces every `*` and `*=` of a program by the filter with a limit.
pub(super) fn limit_products(term: &mut Term<&str>) {
    let mut waiting = vec![term];
    while let Some(term) = waiting.pop() {
        *term = match std::mem::take(term) {
            Term::BinOp(left, BinaryOp::Math(Math::Mul), right) => Term::Call(PRODUCT, vec![*left, *right]),
            Term::BinOp(left, BinaryOp::UpdateMath(Math::Mul), right) => {
                let product = Term::Call(PRODUCT, vec![Term::Id, Term::Var(FACTOR)]);
                let update = Term::BinOp(left, BinaryOp::Update, Box::new(product));
                Term::BinOp(right, BinaryOp::Pipe(Some(Pattern::Var(FACTOR))), Box::new(update))
            }
            other => other,
        };
        push_parts(term, &mut waiting);
    }
}

fn push_parts<'t, 'c>(term: &'t mut Term<&'c str>, waiting: &mut Vec<&'t mut Term<&'c str>>) {
    match term {
        Term::Id | Term::Recurse | Term::Num(_) | Term::Break(_) | Term::Var(_) => {}
        Term::Str(_, parts) => waiting.extend(parts.iter_mut().filter_map(|part| match part {
            StrPart::Term(term) => Some(term),
            _ => None,
        })),
        Term::Arr(inner) => waiting.extend(inner.as_deref_mut()),
        Term::Obj(entries) => {
            for (key, value) in entries {
                waiting.push(key);
                waiting.extend(value);
            }
        }
        Term::Neg(inner) | Term::Label(_, inner) => waiting.push(inner),
        Term::BinOp(left, operator, right) => {
            if let BinaryOp::Pipe(Some(pattern)) = operator {
                push_pattern(pattern, waiting);
            }
            waiting.extend([&mut **left, &mut **right]);
        }
        Term::Fold(_, values, pattern, steps) => {
            waiting.push(values);
            push_pattern(pattern, waiting);
            waiting.extend(steps);
        }
        Term::TryCatch(tried, caught) => {
            waiting.push(tried);
            waiting.extend(caught.as_deref_mut());
        }
        Term::IfThenElse(branches, otherwise) => {
            for (condition, then) in branches {
                waiting.extend([condition, then]);
            }
            waiting.extend(otherwise.as_deref_mut());
        }
        Term::Def(definitions, inner) => {
            waiting.extend(definitions.iter_mut().map(|definition| &mut definition.body));
            waiting.push(inner);
        }
        Term::Call(_, arguments) => waiting.extend(arguments),
        Term::Path(inner, path) => {
            waiting.push(inner);
            for (part, _) in &mut path.0 {
                match part {
                    Part::Index(index) => waiting.push(index),
                    Part::Range(from, to) => waiting.extend(from.iter_mut().chain(to)),
                }
            }
        }
    }
}

fn push_pattern<'t, 'c>(pattern: &'t mut Pattern<&'c str>, waiting: &mut Vec<&'t mut Term<&'c str>>) {
    let mut patterns = vec![pattern];
    while let Some(pattern) = patterns.pop() {
        match pattern {
            Pattern::Var(_) => {}
            Pattern::Arr(items) => patterns.extend(items),
            Pattern::Obj(entries) => {
                for (key, value) in entries {
                    waiting.push(key);
                    patterns.push(value);
                }
            }
        }
    }
}

/// Takes two values; returns their product. A text that is repeated is at most as long as a line may be.
fn product(mut cv: Cv<'_, Data>) -> ValR<Val> {
    let (right, left) = (cv.0.pop_var(), cv.0.pop_var());
    let is_too_long = match (&left, &right) {
        (Val::TStr(text) | Val::BStr(text), Val::Num(number))
        | (Val::Num(number), Val::TStr(text) | Val::BStr(text)) => match number {
            Num::Int(times) => {
                usize::try_from(*times).is_ok_and(|times| text.len().saturating_mul(times) > MAX_LINE_BYTES)
            }
            Num::BigInt(_) => !text.is_empty(),
            _ => false,
        },
        _ => false,
    };
    if is_too_long {
        return Err(Failed::str(TOO_LONG));
    }
    left * right
}

/// Takes three numbers; returns those from the first up to the second in steps of the third.
fn range<'a>(mut cv: Cv<'a, Data>) -> impl Iterator<Item = ValX<'a, Val>> + 'a {
    let (by, to, from) = (cv.0.pop_var(), cv.0.pop_var(), cv.0.pop_var());
    let direction = by.cmp(&Val::from(0_isize));
    let mut next: Option<ValR<Val>> = Some(Ok(from));
    std::iter::from_fn(move || {
        let value = match next.take()? {
            Ok(value) => value,
            Err(error) => return Some(Err(Exn::from(error))),
        };
        let is_inside = match direction {
            Ordering::Greater => value < to,
            Ordering::Less => value > to,
            Ordering::Equal => value != to,
        };
        if !is_inside {
            return None;
        }
        let count = RANGE_VALUES.get() + 1;
        if count > MAX_RANGE_VALUES {
            return Some(Err(Exn::from(Failed::str(TOO_MANY))));
        }
        RANGE_VALUES.set(count);
        next = Some(value.clone() + by.clone());
        Some(Ok(value))
    })
}
