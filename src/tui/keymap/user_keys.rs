//! A person's own keys, put over the table's.

use super::{Action, Chord, Context, Entry, Keymap};

/// The keys that somebody gives an action in a context, in place of the table's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserKeys {
    /// Where.
    pub context: Context,
    /// What they do.
    pub action: Action,
    /// The keys, most typical first; none takes all keys away.
    pub keys: Vec<Chord>,
}

/// Two actions of one context that want the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// Where.
    pub context: Context,
    /// The key that was given.
    pub key: Chord,
    /// Who it was given to.
    pub action: Action,
    /// Who had it.
    pub other: Action,
    /// Whether `action` has it now. Otherwise `other` was given it by the person too, and keeps it.
    pub is_taken: bool,
}

impl Keymap {
    /// Whether an action can be done in a context at all: whether one of its layers has it.
    pub fn can_do(&self, context: Context, action: Action) -> bool {
        self.entries(context).any(|entry| entry.action == action)
    }

    /// Puts somebody's own keys in place of the table's. A key that two actions of one context want goes to the one it was
    /// given to, by the person rather than by the table, first come first served; each such case is returned.
    pub fn patch(&mut self, own: &[UserKeys]) -> Vec<Clash> {
        for wish in own {
            self.take_keys_of(wish);
        }
        let mut clashes = Vec::new();
        for wish in own {
            for key in &wish.keys {
                if let Some(clash) = self.give(wish, key, own) {
                    clashes.push(clash);
                }
            }
        }
        clashes
    }

    /// Empties the entry that a wish is about, or adds one: an action of a farther layer may get a key in a nearer one.
    fn take_keys_of(&mut self, wish: &UserKeys) {
        let found = self.entries.iter_mut().find(|e| e.context == wish.context && e.action == wish.action);
        match found {
            Some(entry) => entry.keys.clear(),
            None => {
                self.entries.push(Entry { context: wish.context, action: wish.action, keys: Vec::new(), in_bar: false })
            }
        }
    }

    fn give(&mut self, wish: &UserKeys, key: &Chord, own: &[UserKeys]) -> Option<Clash> {
        let mut clash = None;
        let in_context = |entry: &Entry| entry.context == wish.context;
        let other = self
            .entries
            .iter_mut()
            .filter(|e| in_context(e) && e.action != wish.action)
            .find(|e| e.keys.iter().any(|k| k.clashes_with(key)));
        if let Some(entry) = other {
            let other = entry.action;
            let is_wished = own.iter().any(|o| o.context == wish.context && o.action == other);
            let told =
                |is_taken| Clash { context: wish.context, key: key.clone(), action: wish.action, other, is_taken };
            if is_wished {
                return Some(told(false));
            }
            entry.keys.retain(|k| !k.clashes_with(key));
            clash = Some(told(true));
        }
        if let Some(entry) = self.entries.iter_mut().find(|e| in_context(e) && e.action == wish.action) {
            if !entry.keys.contains(key) {
                entry.keys.push(key.clone());
            }
        }
        clash
    }
}
