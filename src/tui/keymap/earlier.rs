//! Earlier names of contexts and actions, which settings files may still contain.

use super::{Action, Context};

const CONTEXTS: &[(&str, Context)] = &[
    ("pack", Context::Guided),
    ("pack-text", Context::GuidedText),
    ("pack-rail", Context::GuidedRail),
    ("pack-review", Context::GuidedReview),
    ("dedup-text", Context::GuidedText),
];

/// Command, earlier name, action.
const ACTIONS: &[(&str, &str, Action)] = &[
    ("prepare", "go-source", Action::GoStep1),
    ("prepare", "go-splits", Action::GoStep2),
    ("prepare", "go-sample-type", Action::GoStep3),
    ("prepare", "go-field-map", Action::GoStep4),
    ("prepare", "go-media", Action::GoStep5),
    ("prepare", "go-review", Action::GoStep6),
    ("pack", "go-source", Action::GoStep1),
    ("pack", "go-text", Action::GoStep2),
    ("pack", "go-tokenizer", Action::GoStep3),
    ("pack", "go-formats", Action::GoStep4),
    ("pack", "go-review", Action::GoStep5),
    ("dedup", "go-source", Action::GoStep1),
    ("dedup", "go-length", Action::GoStep2),
    ("dedup", "go-mode", Action::GoStep3),
    ("dedup", "go-review", Action::GoStep4),
];

/// Earlier context, action, and the current context of the action.
const MOVED: &[(&str, Action, Context)] = &[
    ("form", Action::Copy, Context::GuidedReview),
    ("form", Action::SavePlan, Context::Guided),
    ("form-text", Action::SavePlan, Context::GuidedText),
];

/// Returns the context of an earlier name, by id or by title: `pack-text` or `pack: text`.
pub fn context(name: &str) -> Option<Context> {
    let id = name.replace(": ", "-").replace("steps", "rail");
    CONTEXTS.iter().find(|(earlier, _)| *earlier == id).map(|(_, context)| *context)
}

/// Returns the action that had an earlier name in a context; the context is named as in the file.
pub fn action(context: &str, name: &str) -> Option<Action> {
    let command = context.split(['-', ':']).next()?;
    ACTIONS.iter().find(|(of, earlier, _)| *of == command && *earlier == name).map(|(_, _, action)| *action)
}

/// Returns the current context of an action that an earlier context had; the context is named as in the file.
pub fn moved(context: &str, action: Action) -> Option<Context> {
    let id = context.replace(": ", "-");
    MOVED.iter().find(|(earlier, of, _)| *earlier == id && *of == action).map(|(_, _, context)| *context)
}
