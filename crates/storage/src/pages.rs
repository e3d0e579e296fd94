//! Zeroed memory in large pages, for tables with random access: with small pages, the processor waits for page addresses in addition to
//! their content.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;

/// Minimum size of a small page, and size of a large page, in bytes.
const SMALL_PAGE_BYTES: usize = 4 << 10;
const LARGE: usize = 2 << 20;

/// A fixed number of values, initially zero, that begin at a page boundary.
#[derive(Debug)]
pub struct Pages<T> {
    map: Option<MmapMut>,
    /// Offset of the values in the map, in bytes; unused if the system provided no map.
    from: usize,
    bytes: usize,
    plain: Vec<T>,
    values: PhantomData<T>,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { map: None, from: 0, bytes: 0, plain: Vec::new(), values: PhantomData }
    }
}

impl<T: Pod> Pages<T> {
    /// Allocates memory for `count` values.
    pub fn new(count: usize) -> Self {
        let bytes = count * size_of::<T>();
        // Large pages are aligned to their size; the unused memory before and after the values occupies nothing.
        let beyond = if bytes < LARGE { 0 } else { LARGE };
        let Ok(map) = MmapMut::map_anon((bytes + beyond).max(1)) else {
            return Self { plain: vec![T::zeroed(); count], ..Self::default() };
        };
        let from = if bytes < LARGE { 0 } else { (LARGE - map.as_ptr() as usize % LARGE) % LARGE };
        #[cfg(target_os = "linux")]
        if bytes >= LARGE {
            // Best effort: without large pages, small ones are used.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let mut pages = Self { map: Some(map), from, bytes, ..Self::default() };
        // A page that is read before it is written is mapped twice, and the second mapping stops all processors.
        let each = (SMALL_PAGE_BYTES / size_of::<T>()).max(1);
        pages.all_mut().iter_mut().step_by(each).for_each(|value| *value = std::hint::black_box(T::zeroed()));
        pages
    }

    /// Returns the values.
    #[inline]
    pub fn all(&self) -> &[T] {
        match self.map.as_ref().and_then(|map| map.get(self.from..self.from + self.bytes)) {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => &self.plain,
        }
    }

    /// Returns the values for modification.
    #[inline]
    pub fn all_mut(&mut self) -> &mut [T] {
        let Self { map, from, bytes, plain, .. } = self;
        match map.as_mut().and_then(|map| map.get_mut(*from..*from + *bytes)) {
            Some(bytes) => bytemuck::cast_slice_mut(bytes),
            None => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_and_aligned_and_keep_written_values() {
        for count in [0, 1, 1000, 1 << 16, 3 << 17] {
            let mut pages = Pages::<[u64; 4]>::new(count);
            assert_eq!(pages.all(), vec![[0; 4]; count]);
            let is_large = count * 32 >= LARGE;
            assert_eq!(pages.all().as_ptr() as usize % if is_large { LARGE } else { 64 }, 0);
            pages.all_mut().iter_mut().enumerate().for_each(|(at, value)| *value = [at as u64; 4]);
            assert!(pages.all().iter().enumerate().all(|(at, value)| *value == [at as u64; 4]));
        }
        assert!(Pages::<u64>::default().all().is_empty());
    }
}
