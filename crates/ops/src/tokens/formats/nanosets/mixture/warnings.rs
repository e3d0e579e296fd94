//! Warnings about a mixture.

use super::{name, MixtureForecast, Request};
use gristmill_core::text::{count, count_verb, grouped};
use gristmill_core::{Problem, ProblemKind, Subject};

/// Distance from one within which a sum of weights is treated as one.
const NEAR_ONE: f64 = 1e-9;

/// Returns notes on behaviour of the reference program that a user may not expect.
pub fn warnings(request: &Request, outlook: &MixtureForecast, names: &[String]) -> Vec<Problem> {
    let mut notes = Vec::new();
    let mut note = |subject: Subject, message: String| notes.push(Problem::note(ProblemKind::Other, subject, message));
    if let Some(weights) = &request.weights {
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > NEAR_ONE {
            note(Subject::default(), format!("the weights add up to {sum}, and count as shares of that sum"));
        }
    }
    if outlook.epoch > 0 && outlook.samples.is_multiple_of(outlook.epoch) {
        let message = format!(
            "{} exactly {} of {}, and the reference lays out {}: one more than is read",
            count_verb(outlook.samples, "sample", "is", "are"),
            epochs(outlook.samples / outlook.epoch),
            grouped(outlook.epoch),
            epochs(outlook.epochs)
        );
        note(Subject::default(), message);
    }
    if outlook.samples > outlook.epoch {
        let message = "the reference does not shuffle between epochs: each repeats the same samples in the same order";
        note(Subject::default(), message.to_owned());
    }
    for (member, share) in outlook.members.iter().enumerate() {
        let about = if outlook.is_exact { "" } else { "about " };
        let subject = || Subject::default().key(name(names, member));
        if share.windows == 0 {
            note(subject(), "it has no window of this length, and gives no sample".to_owned());
        } else if share.in_epoch == 0 {
            note(subject(), "its weight gives it no sample".to_owned());
        } else if share.in_epoch < share.windows && request.weights.is_some() {
            let never = share.windows - share.in_epoch;
            let message = format!(
                "an epoch takes {about}{} of its {}; {about}{} never read in any epoch",
                grouped(share.in_epoch),
                count(share.windows, "window"),
                count_verb(never, "window", "is", "are")
            );
            note(subject(), message);
        } else if share.in_epoch > share.windows && request.weights.is_some() {
            let times = share.in_epoch as f64 / share.windows as f64;
            note(subject(), format!("an epoch reads its {} windows {about}{times:.1} times", grouped(share.windows)));
        }
    }
    notes
}

fn epochs(number: u64) -> String {
    gristmill_core::text::count(number, "epoch")
}
