//! Keys of the guided commands: the common ones, and those of each command. A digit alone jumps to a step only in the list of steps,
//! because elsewhere it may be typed text.

use super::{bar, key, Binding};
use crate::tui::keymap::{Action as A, Context, Context as C};

/// The bindings of the guided commands.
pub const GUIDED: &[&[Binding]] = &[
    &step_bindings(C::PrepareRail),
    PREPARE,
    &jumping(C::Prepare),
    &typing(C::PrepareText),
    &[key(C::PrepareText, A::Advanced, &["alt-a"]), key(C::PrepareText, A::Shards, &["alt-w"])],
    &jumping(C::PrepareText),
    &step_bindings(C::GuidedRail),
    &reviewing(C::GuidedReview),
    &answering(C::Guided),
    &jumping(C::Guided),
    &typing(C::GuidedText),
    &[key(C::GuidedText, A::Advanced, &["alt-a"])],
    &jumping(C::GuidedText),
    WEIGHTS,
    DEDUP,
    SHARD,
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
const fn step_bindings(context: Context) -> [Binding; 9] {
    [
        bar(context, A::Accept, &["enter", "l", "right"]),
        key(context, A::GoStep1, &["1", "alt-1"]),
        key(context, A::GoStep2, &["2", "alt-2"]),
        key(context, A::GoStep3, &["3", "alt-3"]),
        key(context, A::GoStep4, &["4", "alt-4"]),
        key(context, A::GoStep5, &["5", "alt-5"]),
        key(context, A::GoStep6, &["6", "alt-6"]),
        key(context, A::GoStep7, &["7", "alt-7"]),
        key(context, A::GoStep8, &["8", "alt-8"]),
    ]
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

const SHARD: &[Binding] = &[
    bar(C::Shard, A::Random, &["r", "alt-r"]),
    bar(C::ShardText, A::Random, &["alt-r"]),
    bar(C::ShardInputs, A::AddRow, &["+"]),
    bar(C::ShardInputs, A::DropRow, &["x", "D"]),
    bar(C::ShardSize, A::Left, &["left"]),
    bar(C::ShardSize, A::Right, &["right"]),
    key(C::ShardInputs, A::MoveUp, &["K", "alt-up"]),
    key(C::ShardInputs, A::MoveDown, &["J", "alt-down"]),
];

const PREPARE: &[Binding] = &[
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
    bar(C::Prepare, A::Advanced, &["a"]),
    key(C::Prepare, A::Details, &["i"]),
    key(C::Prepare, A::Facts, &["f"]),
    key(C::Prepare, A::Reload, &["f5"]),
    key(C::PrepareText, A::Reload, &["f5"]),
    key(C::Prepare, A::Splits, &["S"]),
    key(C::Prepare, A::Shards, &["W", "alt-w"]),
    key(C::Prepare, A::SavePlan, &["ctrl-s"]),
    key(C::Prepare, A::StartAfresh, &["N", "alt-n"]),
    bar(C::PrepareExpression, A::Complete, &["tab", "ctrl-n"]),
];

const WEIGHTS: &[Binding] = &[
    bar(C::Weights, A::Toggle, &["space"]),
    bar(C::Weights, A::Right, &["+", "="]),
    key(C::Weights, A::Left, &["-"]),
    key(C::Weights, A::DropRow, &["D"]),
];

/// Bindings that jump to a step.
const fn jumping(context: Context) -> [Binding; 8] {
    [
        key(context, A::GoStep1, &["alt-1"]),
        key(context, A::GoStep2, &["alt-2"]),
        key(context, A::GoStep3, &["alt-3"]),
        key(context, A::GoStep4, &["alt-4"]),
        key(context, A::GoStep5, &["alt-5"]),
        key(context, A::GoStep6, &["alt-6"]),
        key(context, A::GoStep7, &["alt-7"]),
        key(context, A::GoStep8, &["alt-8"]),
    ]
}

const DEDUP: &[Binding] =
    &[bar(C::Dedup, A::CancelJob, &["x"]), bar(C::Dedup, A::Repeats, &["D"]), key(C::Dedup, A::Reload, &["f5"])];
