//! Read-only file systems in user space: mounting and unmounting, sessions with the kernel, names of entries and inode numbers.
//!
//! The content of a mount is a [`Tree`]; this crate only handles its numbers, names and bytes. No state is stored per file: an inode number
//! identifies the file ([`Node`]), and the cookie of an entry in a listing is its inode number. The program needs neither libfuse nor
//! special permissions: where `mount(2)` is refused, `fusermount3` mounts, or the process enters a new namespace.

// Tests create files with `std::fs`.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod device;
mod guard;
mod inode;
mod mounts;
pub mod names;
mod private;
mod readers;
mod requests;
mod server;
mod session;
mod tree;

pub use device::{unmount, unmount_by_id, UnmountOutcome};
pub use guard::{unmount_after_exit, GuardCommand};
pub use inode::{Node, MAX_DEPTH, MAX_NUMBER, MAX_PARTS};
pub use mounts::{list_mounts, mount_at, MountEntry};
pub use private::enter_namespace;
pub use session::{serve, MountEnd, MountEvent, MountOptions};
pub use tree::{Entry, EntryKind, Refusal, Totals, Tree};
