//! A long list that is cheap to copy: copies share chunks of items, so every undo step costs one chunk.

use std::sync::Arc;

/// Maximum number of items per chunk: small enough to copy a chunk at every key press, large enough that a list of 300,000 items has few
/// chunks.
const ITEMS_PER_CHUNK: usize = 512;

/// A list that is cloned in constant time and changed in time proportional to the change.
#[derive(Clone, Debug)]
pub struct SharedList<T> {
    chunks: Arc<Vec<Arc<Vec<T>>>>,
    len: usize,
}

/// A change of a list: at `at`, `removed` items are replaced by `inserted`.
#[derive(Clone, Debug)]
pub struct ListEdit<T> {
    /// Position before any change.
    pub at: usize,
    /// Number of items removed, from `at` on.
    pub removed: usize,
    /// Items inserted.
    pub inserted: Vec<T>,
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self { chunks: Arc::default(), len: 0 }
    }
}

impl<T> FromIterator<T> for SharedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let (mut items, mut chunks, mut len) = (items.into_iter(), Vec::new(), 0);
        // Items go directly into their chunks, because there may be millions of them.
        loop {
            let chunk: Vec<T> = items.by_ref().take(ITEMS_PER_CHUNK).collect();
            if chunk.is_empty() {
                return Self { chunks: Arc::new(chunks), len };
            }
            len += chunk.len();
            chunks.push(Arc::new(chunk));
        }
    }
}

impl<T> SharedList<T> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Returns all items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }
    /// Returns the item at a position.
    pub fn get(&self, index: usize) -> Option<&T> {
        let mut left = index;
        for chunk in self.chunks.iter() {
            match chunk.get(left) {
                Some(item) => return Some(item),
                None => left -= chunk.len(),
            }
        }
        None
    }
    /// Returns the last item.
    pub fn last(&self) -> Option<&T> {
        self.iter().next_back()
    }
    /// Returns the items `from..to` that exist.
    pub fn range(&self, from: usize, to: usize) -> impl Iterator<Item = &T> {
        let mut start = 0;
        self.chunks.iter().flat_map(move |chunk| {
            let (first, end) = (from.saturating_sub(start), to.saturating_sub(start));
            start += chunk.len();
            chunk.get(first.min(chunk.len())..end.min(chunk.len()).max(first.min(chunk.len()))).unwrap_or_default()
        })
    }
    /// Whether both lists are unchanged copies of the same list.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.chunks, &other.chunks)
    }
    /// Returns the number of items at the beginning and at the end that are certainly equal in both lists, without comparing items.
    pub fn common(&self, other: &Self) -> (usize, usize) {
        let shared = |pairs: &mut dyn Iterator<Item = (&Arc<Vec<T>>, &Arc<Vec<T>>)>| {
            let mut chunks = 0;
            let items: usize =
                pairs.take_while(|(a, b)| Arc::ptr_eq(a, b)).inspect(|_| chunks += 1).map(|(a, _)| a.len()).sum();
            (chunks, items)
        };
        let (chunks, front) = shared(&mut self.chunks.iter().zip(other.chunks.iter()));
        let rest = |list: &Self| list.chunks.len() - chunks;
        let back =
            shared(&mut self.chunks.iter().rev().zip(other.chunks.iter().rev()).take(rest(self).min(rest(other))));
        (front, back.1)
    }
}

impl<T: Clone> SharedList<T> {
    /// Changes items in place. Copies only chunks with an item for which `wants` is true.
    pub fn update(&mut self, wants: impl Fn(&T) -> bool, mut change: impl FnMut(&mut T)) {
        let touched = |chunk: &Arc<Vec<T>>| chunk.iter().any(&wants);
        if !self.chunks.iter().any(touched) {
            return;
        }
        for chunk in Arc::make_mut(&mut self.chunks).iter_mut().filter(|chunk| touched(chunk)) {
            Arc::make_mut(chunk).iter_mut().filter(|item| wants(item)).for_each(&mut change);
        }
    }
    /// Applies all changes at once. They are in ascending order and do not overlap; positions are those before any change.
    pub fn splice(&mut self, changes: Vec<ListEdit<T>>) {
        let mut out = Vec::with_capacity(self.chunks.len() + 1);
        let mut changes = changes.into_iter().peekable();
        let (mut at, mut skip, mut open) = (0, 0, Vec::new());
        for (number, chunk) in self.chunks.iter().enumerate() {
            let end = at + chunk.len();
            let takes_more = number + 1 == self.chunks.len() && chunk.len() < ITEMS_PER_CHUNK;
            let is_touched = skip > 0 || changes.peek().is_some_and(|next| next.at < end || takes_more);
            if !is_touched {
                out.push(Arc::clone(chunk));
                at = end;
                continue;
            }
            for item in chunk.iter() {
                while let Some(change) = changes.next_if(|change| change.at <= at) {
                    open.extend(change.inserted);
                    skip += change.removed;
                }
                match skip {
                    0 => open.push(item.clone()),
                    _ => skip -= 1,
                }
                at += 1;
            }
            if !takes_more {
                close(&mut open, &mut out);
            }
        }
        open.extend(changes.flat_map(|change| change.inserted));
        close(&mut open, &mut out);
        self.len = out.iter().map(|chunk| chunk.len()).sum();
        self.chunks = Arc::new(out);
    }
}

/// Splits the collected items into chunks of even size.
fn close<T>(open: &mut Vec<T>, out: &mut Vec<Arc<Vec<T>>>) {
    let parts = open.len().div_ceil(ITEMS_PER_CHUNK);
    let mut items = std::mem::take(open).into_iter();
    for part in 0..parts {
        let size = items.len().div_ceil(parts - part);
        out.push(Arc::new(items.by_ref().take(size).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shared_list_and_plain_list_agree_after_changes(
            length in 0usize..3000, cuts in prop::collection::vec((0usize..3000, 0usize..700, 0usize..700), 0..6)
        ) {
            let mut plain: Vec<usize> = (0..length).collect();
            let mut list: SharedList<usize> = plain.iter().copied().collect();
            let before = list.clone();
            let mut cuts: Vec<_> = cuts.into_iter().map(|(at, gone, new)| (at.min(length), gone, new)).collect();
            cuts.sort_unstable();
            let mut free = 0;
            let mut changes = Vec::new();
            for (at, gone, new) in cuts {
                if at < free || (at == free && at > 0) { continue; }
                let removed = gone.min(length - at);
                free = at + removed;
                changes.push(ListEdit { at, removed, inserted: (0..new).map(|n| 1_000_000 + n).collect() });
            }
            for change in changes.iter().rev() {
                plain.splice(change.at..change.at + change.removed, change.inserted.iter().copied());
            }
            list.splice(changes);
            prop_assert_eq!(list.iter().copied().collect::<Vec<_>>(), plain.clone());
            prop_assert_eq!(list.len(), plain.len());
            prop_assert_eq!(list.get(plain.len() / 2).copied(), plain.get(plain.len() / 2).copied());
            let (from, to) = (plain.len() / 3, plain.len() / 2);
            prop_assert_eq!(list.range(from, to).copied().collect::<Vec<_>>(), &plain[from..to]);
            let (front, back) = before.common(&list);
            let old: Vec<usize> = before.iter().copied().collect();
            prop_assert!(front + back <= old.len().min(plain.len()));
            prop_assert_eq!(&old[..front], &plain[..front]);
            prop_assert_eq!(&old[old.len() - back..], &plain[plain.len() - back..]);
        }
    }
}
