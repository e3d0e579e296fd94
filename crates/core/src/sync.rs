//! Locks.

use std::sync::{MutexGuard, PoisonError};

/// A mutex that a panic of its holder does not poison: every change leaves a valid value, and the panic ends the job anyway.
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }
    /// Waits for the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Takes the lock, unless it is held.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(std::sync::TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => None,
        }
    }
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutex_stays_usable_after_a_panic_of_its_holder() {
        let mutex = Mutex::new(1);
        let holder = std::thread::scope(|scope| {
            let holder = scope.spawn(|| {
                *mutex.lock() += 1;
                let _held = mutex.lock();
                panic!("as a test");
            });
            holder.join()
        });
        assert!(holder.is_err());
        assert_eq!(mutex.try_lock().map(|value| *value), Some(2));
        assert_eq!(mutex.into_inner(), 2);
    }
}
