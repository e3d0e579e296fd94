//! The user's key bindings, which replace default ones.

use super::{Action, Chord, Context, Keymap, KeymapEntry};

/// The keys of an action in a context, set by the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserKeys {
    /// The context.
    pub context: Context,
    /// The action.
    pub action: Action,
    /// The keys, most typical first; an empty list unbinds the action.
    pub keys: Vec<Chord>,
}

/// Two actions of one context that are bound to the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyConflict {
    /// The context.
    pub context: Context,
    /// The key.
    pub key: Chord,
    /// The action that the user bound to it.
    pub action: Action,
    /// The action previously bound to it.
    pub other: Action,
    /// Whether `action` has the key now. Otherwise the user also bound it to `other`, which has it.
    pub is_taken: bool,
}

impl Keymap {
    /// Whether an action can be run in a context, that is, whether one of the layers has the action.
    pub fn can_do(&self, context: Context, action: Action) -> bool {
        self.entries(context).any(|entry| entry.action == action)
    }

    /// Applies the user's bindings. If two actions of a context have the same key, a user binding takes precedence over a default one, and
    /// the earlier of two user bindings over the later; each conflict is returned.
    pub fn patch(&mut self, own: &[UserKeys]) -> Vec<KeyConflict> {
        for wish in own {
            self.take_keys_of(wish);
        }
        let mut clashes = Vec::new();
        for wish in own {
            for key in &wish.keys {
                if let Some(clash) = self.bind(wish, key, own) {
                    clashes.push(clash);
                }
            }
        }
        clashes
    }

    /// Clears the keys of the entry for a user binding, or adds an entry: an action of an outer layer may get a key in an inner one.
    fn take_keys_of(&mut self, wish: &UserKeys) {
        let found = self.entries.iter_mut().find(|e| e.context == wish.context && e.action == wish.action);
        match found {
            Some(entry) => entry.keys.clear(),
            None => self.entries.push(KeymapEntry {
                context: wish.context,
                action: wish.action,
                keys: Vec::new(),
                in_bar: false,
            }),
        }
    }

    fn bind(&mut self, wish: &UserKeys, key: &Chord, own: &[UserKeys]) -> Option<KeyConflict> {
        let mut clash = None;
        let in_context = |entry: &KeymapEntry| entry.context == wish.context;
        let other = self
            .entries
            .iter_mut()
            .filter(|e| in_context(e) && e.action != wish.action)
            .find(|e| e.keys.iter().any(|k| k.clashes_with(key)));
        if let Some(entry) = other {
            let other = entry.action;
            let is_wished = own.iter().any(|o| o.context == wish.context && o.action == other);
            let clash_with = |is_taken| KeyConflict {
                context: wish.context,
                key: key.clone(),
                action: wish.action,
                other,
                is_taken,
            };
            if is_wished {
                return Some(clash_with(false));
            }
            entry.keys.retain(|k| !k.clashes_with(key));
            clash = Some(clash_with(true));
        }
        if let Some(entry) = self.entries.iter_mut().find(|e| in_context(e) && e.action == wish.action) {
            if !entry.keys.contains(key) {
                entry.keys.push(key.clone());
            }
        }
        clash
    }
}
