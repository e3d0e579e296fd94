//! Read-only file systems in user space: mounting and unmounting, sessions with the kernel, names of entries and inode numbers.
//!
//! What a mount shows is a [`Tree`], of which nothing is known here but numbers, names and bytes. Nothing is remembered per file: an inode
//! number says what the file is ([`Node`]), and the cookie of an entry in a listing is its inode number. The program needs neither libfuse
//! nor special rights: where `mount(2)` is refused, `fusermount3` mounts, or a namespace of the process's own is used.

// Tests make files by hand.
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

pub use device::{unmount, unmount_own, UnmountOutcome};
pub use guard::{unmount_after_exit, GuardCommand};
pub use inode::{Node, MAX_DEPTH, MAX_NUMBER, MAX_PARTS};
pub use mounts::{list_mounts, mount_at, MountEntry};
pub use private::enter_namespace;
pub use session::{serve, MountEnd, MountEvent, MountOptions};
pub use tree::{Entry, EntryKind, Refusal, Totals, Tree};
