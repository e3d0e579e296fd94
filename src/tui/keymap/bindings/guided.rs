//! Keys of the guided commands: the shared ones, and each command's own. A digit alone jumps to a step only in the list of steps: elsewhere
//! it is part of the typed text.

use super::{bar, key, Binding};
use crate::tui::keymap::{Action as A, Context, Context as C};

/// The bindings; see the module.
pub const GUIDED: &[&[Binding]] = &[
    PREPARE,
    &typing(C::PrepareText),
    PREPARE_TEXT,
    &going(C::GuidedRail),
    &reviewing(C::GuidedReview),
    &answering(C::Guided),
    STEPS,
    &typing(C::GuidedText),
    WEIGHTS,
    DEDUP,
];

/// Bindings in a step of a guided form.
const fn answering(context: Context) -> [Binding; 10] {
    [
        bar(context, A::Next, &["enter"]),
        bar(context, A::Advanced, &["a"]),
        bar(context, A::Close, &["esc"]),
        bar(context, A::NextField, &["tab"]),
        bar(context, A::Toggle, &["space"]),
        key(context, A::PreviousField, &["backtab"]),
        key(context, A::Left, &["left", "h"]),
        key(context, A::Right, &["right", "l"]),
        key(context, A::SavePlan, &["ctrl-s"]),
        key(context, A::StartAfresh, &["N", "alt-n"]),
    ]
}

/// Bindings in a text field of a step.
const fn typing(context: Context) -> [Binding; 11] {
    [
        bar(context, A::Next, &["enter"]),
        bar(context, A::Close, &["esc"]),
        bar(context, A::NextField, &["tab"]),
        key(context, A::PreviousField, &["backtab"]),
        key(context, A::Up, &["up"]),
        key(context, A::Down, &["down"]),
        key(context, A::PageUp, &["pageup"]),
        key(context, A::PageDown, &["pagedown"]),
        key(context, A::DropRow, &["ctrl-x"]),
        key(context, A::SavePlan, &["ctrl-s"]),
        key(context, A::StartAfresh, &["alt-n"]),
    ]
}

/// Bindings in the list of steps.
const fn going(context: Context) -> [Binding; 1] {
    [bar(context, A::Accept, &["enter", "l", "right"])]
}

/// Bindings in the review.
const fn reviewing(context: Context) -> [Binding; 4] {
    [
        bar(context, A::Run, &["enter", "R"]),
        bar(context, A::SavePlan, &["s", "ctrl-s"]),
        bar(context, A::Copy, &["y"]),
        key(context, A::BeginAnew, &["B"]),
    ]
}

const PREPARE: &[Binding] = &[
    bar(C::PrepareRail, A::Accept, &["enter", "l", "right"]),
    key(C::PrepareRail, A::GoSource, &["1", "alt-1"]),
    key(C::PrepareRail, A::GoSplits, &["2", "alt-2"]),
    key(C::PrepareRail, A::GoSampleType, &["3", "alt-3"]),
    key(C::PrepareRail, A::GoFieldMap, &["4", "alt-4"]),
    key(C::PrepareRail, A::GoMedia, &["5", "alt-5"]),
    key(C::PrepareRail, A::GoReview, &["6", "alt-6"]),
    bar(C::PrepareShards, A::Exclude, &["x"]),
    bar(C::PrepareHand, A::MoveToNextSplit, &["m", ">"]),
    bar(C::PrepareHand, A::Mark, &["V", "v"]),
    bar(C::PrepareHand, A::AddSplit, &["a"]),
    bar(C::PrepareHand, A::Undo, &["u"]),
    key(C::PrepareHand, A::MoveToPreviousSplit, &["M", "<"]),
    key(C::PrepareHand, A::DropSplit, &["D"]),
    key(C::PrepareHand, A::Redo, &["ctrl-r"]),
    bar(C::PrepareReview, A::Run, &["enter", "R"]),
    bar(C::PrepareReview, A::SavePlan, &["s", "ctrl-s"]),
    bar(C::PrepareReview, A::DryRun, &["d"]),
    bar(C::PrepareReview, A::Copy, &["y"]),
    bar(C::Prepare, A::Next, &["enter"]),
    bar(C::Prepare, A::Close, &["esc"]),
    bar(C::Prepare, A::NextField, &["tab"]),
    key(C::Prepare, A::PreviousField, &["backtab"]),
    key(C::Prepare, A::Toggle, &["space"]),
    key(C::Prepare, A::Left, &["left", "h"]),
    key(C::Prepare, A::Right, &["right", "l"]),
    key(C::Prepare, A::Details, &["i"]),
    key(C::Prepare, A::Facts, &["f"]),
    key(C::Prepare, A::Splits, &["s", "S"]),
    key(C::Prepare, A::SavePlan, &["ctrl-s"]),
    key(C::Prepare, A::StartAfresh, &["N", "alt-n"]),
    key(C::Prepare, A::GoSource, &["alt-1"]),
    key(C::Prepare, A::GoSplits, &["alt-2"]),
    key(C::Prepare, A::GoSampleType, &["alt-3"]),
    key(C::Prepare, A::GoFieldMap, &["alt-4"]),
    key(C::Prepare, A::GoMedia, &["alt-5"]),
    key(C::Prepare, A::GoReview, &["alt-6"]),
    bar(C::PrepareExpression, A::Complete, &["tab", "ctrl-n"]),
];

const PREPARE_TEXT: &[Binding] = &[
    key(C::PrepareText, A::GoSource, &["alt-1"]),
    key(C::PrepareText, A::GoSplits, &["alt-2"]),
    key(C::PrepareText, A::GoSampleType, &["alt-3"]),
    key(C::PrepareText, A::GoFieldMap, &["alt-4"]),
    key(C::PrepareText, A::GoMedia, &["alt-5"]),
    key(C::PrepareText, A::GoReview, &["alt-6"]),
];

const WEIGHTS: &[Binding] =
    &[key(C::Weights, A::Left, &["-"]), key(C::Weights, A::Right, &["+", "="]), key(C::Weights, A::DropRow, &["D"])];

const STEPS: &[Binding] = &[
    key(C::GuidedRail, A::GoStep1, &["1", "alt-1"]),
    key(C::GuidedRail, A::GoStep2, &["2", "alt-2"]),
    key(C::GuidedRail, A::GoStep3, &["3", "alt-3"]),
    key(C::GuidedRail, A::GoStep4, &["4", "alt-4"]),
    key(C::GuidedRail, A::GoStep5, &["5", "alt-5"]),
    key(C::GuidedRail, A::GoStep6, &["6", "alt-6"]),
    key(C::GuidedRail, A::GoStep7, &["7", "alt-7"]),
    key(C::GuidedRail, A::GoStep8, &["8", "alt-8"]),
    key(C::Guided, A::GoStep1, &["alt-1"]),
    key(C::Guided, A::GoStep2, &["alt-2"]),
    key(C::Guided, A::GoStep3, &["alt-3"]),
    key(C::Guided, A::GoStep4, &["alt-4"]),
    key(C::Guided, A::GoStep5, &["alt-5"]),
    key(C::Guided, A::GoStep6, &["alt-6"]),
    key(C::Guided, A::GoStep7, &["alt-7"]),
    key(C::Guided, A::GoStep8, &["alt-8"]),
    key(C::GuidedText, A::Advanced, &["alt-a"]),
    key(C::GuidedText, A::GoStep1, &["alt-1"]),
    key(C::GuidedText, A::GoStep2, &["alt-2"]),
    key(C::GuidedText, A::GoStep3, &["alt-3"]),
    key(C::GuidedText, A::GoStep4, &["alt-4"]),
    key(C::GuidedText, A::GoStep5, &["alt-5"]),
    key(C::GuidedText, A::GoStep6, &["alt-6"]),
    key(C::GuidedText, A::GoStep7, &["alt-7"]),
    key(C::GuidedText, A::GoStep8, &["alt-8"]),
];

const DEDUP: &[Binding] =
    &[bar(C::Dedup, A::CancelJob, &["x"]), bar(C::Dedup, A::Repeats, &["D"]), key(C::Dedup, A::Reload, &["f5"])];
