//! Memory of zeros in large pages, for tables that are looked at in disorder: with small ones the processor waits for the addresses of
//! pages as well as for what is in them.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;

/// Bytes of a small page, at the least, and of a large one.
const SMALL: usize = 4 << 10;
const LARGE: usize = 2 << 20;

/// So many values, zeros at first, from the beginning of a page on.
#[derive(Debug)]
pub struct Pages<T> {
    map: Option<MmapMut>,
    /// Where they are in the map, in bytes; none where the system gave no map.
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
    /// Takes memory for so many values.
    pub fn new(count: usize) -> Self {
        let bytes = count * size_of::<T>();
        // Large pages begin where their size divides the address; what is not used before and behind takes nothing.
        let beyond = if bytes < LARGE { 0 } else { LARGE };
        let Ok(map) = MmapMut::map_anon((bytes + beyond).max(1)) else {
            return Self { plain: vec![T::zeroed(); count], ..Self::default() };
        };
        let from = if bytes < LARGE { 0 } else { (LARGE - map.as_ptr() as usize % LARGE) % LARGE };
        #[cfg(target_os = "linux")]
        if bytes >= LARGE {
            // Who has none does without.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let mut pages = Self { map: Some(map), from, bytes, ..Self::default() };
        // A page that is read before it is written is mapped twice, and the second time all processors are stopped for it.
        let each = (SMALL / size_of::<T>()).max(1);
        pages.all_mut().iter_mut().step_by(each).for_each(|value| *value = std::hint::black_box(T::zeroed()));
        pages
    }

    /// The values.
    #[inline]
    pub fn all(&self) -> &[T] {
        match self.map.as_ref().and_then(|map| map.get(self.from..self.from + self.bytes)) {
            Some(bytes) => bytemuck::cast_slice(bytes),
            None => &self.plain,
        }
    }

    /// The same, to be changed.
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
    fn memory_is_of_zeros_and_keeps_what_is_put_there() {
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
