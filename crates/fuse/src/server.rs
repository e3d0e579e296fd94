//! Answers requests of the kernel from a [`Tree`].

use super::inode::Node;
use super::readers::Readers;
use super::requests::{Requests, TakenRequest};
use super::tree::{Entry, EntryKind, Refusal, Tree};
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyXattr, Request,
};
use gristmill_core::catch_panic::catch_panic;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Time for which the kernel may cache an answer: the mounted data do not change, and the kernel is notified of changed splits.
const ATTRIBUTE_LIFETIME: Duration = Duration::from_secs(3600);
/// Maximum number of bytes of one read, and of the kernel's read-ahead.
const READ_BYTES: u32 = 1 << 20;
/// Maximum number of concurrent read-ahead requests of the kernel.
const BACKGROUND_REQUESTS: u16 = 48;
const BLOCK_BYTES: u32 = 512;
const GENERATION: Generation = Generation(0);
/// Positions of the two entries that every folder has in a listing; inode numbers are greater.
const HERE: u64 = 1;
const ABOVE: u64 = 2;

/// A file system over a tree.
pub(crate) struct Server<T> {
    tree: Arc<T>,
    requests: Arc<Requests>,
    /// Threads that answer reads; without them, the thread that receives a read answers it.
    readers: Option<Arc<Readers>>,
    user: u32,
    group: u32,
}

impl<T: Tree> Server<T> {
    /// Creates a server whose files belong to the user of the process.
    pub(crate) fn new(tree: Arc<T>, requests: Arc<Requests>, readers: Option<Arc<Readers>>) -> Self {
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        Self { tree, requests, readers, user, group }
    }

    fn attributes_of(&self, entry: &Entry) -> FileAttr {
        let Entry { inode, kind, bytes, time } = *entry;
        FileAttr {
            ino: INodeNo(inode),
            size: bytes,
            blocks: bytes.div_ceil(u64::from(BLOCK_BYTES)),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: kind_of(entry),
            perm: match kind {
                EntryKind::Folder => 0o555,
                EntryKind::File | EntryKind::Stream => 0o444,
                EntryKind::Mark => 0,
            },
            // The number of a folder is unknown, which the value 1 means.
            nlink: 1,
            uid: self.user,
            gid: self.group,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Calls the tree for a request.
    fn dispatch<A>(
        &self,
        request: &Request,
        inode: u64,
        question: impl FnOnce(&T) -> Result<A, Refusal>,
    ) -> Result<A, Errno> {
        call_tree(&*self.tree, &self.requests.begin(request.pid()), inode, question)
    }

    /// Lists a folder with the two entries that every folder has. A listing continues after the position of an entry.
    fn list(
        &self,
        request: &Request,
        folder: INodeNo,
        after: u64,
        add: &mut dyn FnMut(&Entry, u64, &str) -> bool,
    ) -> Result<(), Errno> {
        let this = self.dispatch(request, folder.0, |tree| tree.entry(folder.0))?;
        if this.kind != EntryKind::Folder {
            return Err(Errno::ENOTDIR);
        }
        if after < HERE && add(&this, HERE, ".") {
            return Ok(());
        }
        // The kernel knows the parent folder.
        if after < ABOVE && add(&this, ABOVE, "..") {
            return Ok(());
        }
        let after = if after <= ABOVE { 0 } else { after };
        self.dispatch(request, folder.0, |tree| {
            tree.list(folder.0, after, &mut |entry, name| !add(entry, entry.inode, name))
        })
    }
}

/// Calls a tree for a request, on the thread that answers it. A panic fails only this request.
fn call_tree<T: Tree, A>(
    tree: &T,
    request: &TakenRequest,
    inode: u64,
    question: impl FnOnce(&T) -> Result<A, Refusal>,
) -> Result<A, Errno> {
    let _waits = request.begin_answer();
    match catch_panic(|| question(tree)) {
        Some(Ok(answer)) => Ok(answer),
        Some(Err(Refusal::Missing)) => Err(Errno::ENOENT),
        Some(Err(Refusal::Failed(_))) if request.was_killed() => Err(Errno::EINTR),
        Some(Err(Refusal::Failed(failure))) => {
            tracing::warn!(inode, "a request failed: {failure}");
            Err(Errno::EIO)
        }
        None => {
            tracing::error!(inode, "a request panicked");
            Err(Errno::EIO)
        }
    }
}

fn kind_of(entry: &Entry) -> FileType {
    match entry.kind {
        EntryKind::Folder => FileType::Directory,
        EntryKind::File | EntryKind::Stream => FileType::RegularFile,
        EntryKind::Mark => FileType::BlockDevice,
    }
}

/// Returns how long the kernel may cache an entry: the size of a stream changes once.
fn validity(entry: &Entry) -> Duration {
    match entry.kind {
        EntryKind::Stream => Duration::ZERO,
        _ => ATTRIBUTE_LIFETIME,
    }
}

/// Answers a request for extended attributes with their size or content.
fn reply_attribute(reply: ReplyXattr, size: u32, value: &[u8]) {
    let bytes = u32::try_from(value.len()).unwrap_or(u32::MAX);
    match size {
        0 => reply.size(bytes),
        _ if bytes <= size => reply.data(value),
        _ => reply.error(Errno::ERANGE),
    }
}

impl<T: Tree> Filesystem for Server<T> {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let guess = if self.tree.has_small_folders() { InitFlags::empty() } else { InitFlags::FUSE_READDIRPLUS_AUTO };
        for capability in [
            InitFlags::FUSE_DO_READDIRPLUS,
            // The kernel decides when to request attributes.
            guess,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_ASYNC_READ,
            InitFlags::FUSE_NO_OPEN_SUPPORT,
            InitFlags::FUSE_NO_OPENDIR_SUPPORT,
        ] {
            // An older kernel without one of them is slower.
            let _ = config.add_capabilities(capability);
        }
        // A lower limit of the kernel remains.
        let _ = config.set_max_write(READ_BYTES);
        let _ = config.set_max_readahead(READ_BYTES);
        let _ = config.set_max_background(BACKGROUND_REQUESTS);
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = match name.to_str() {
            Some(name) => self.dispatch(request, parent.0, |tree| tree.find(parent.0, name)),
            None => Err(Errno::ENOENT),
        };
        match found {
            Ok(entry) => reply.entry(&validity(&entry), &self.attributes_of(&entry), GENERATION),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, request: &Request, inode: INodeNo, _file: Option<FileHandle>, reply: ReplyAttr) {
        match self.dispatch(request, inode.0, |tree| tree.entry(inode.0)) {
            Ok(entry) => reply.attr(&validity(&entry), &self.attributes_of(&entry)),
            Err(error) => reply.error(error),
        }
    }

    /// Opening needs no request: the kernel sends one, and then caches the content of files and folders. A stream is read regardless of its
    /// size.
    fn open(&self, request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if !self.tree.has_streams() {
            return reply.error(Errno::ENOSYS);
        }
        match self.dispatch(request, inode.0, |tree| tree.entry(inode.0)) {
            Ok(Entry { kind: EntryKind::Stream, .. }) => reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO),
            Ok(_) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn opendir(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn read(
        &self,
        request: &Request,
        inode: INodeNo,
        _file: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let count = usize::try_from(size).unwrap_or(usize::MAX);
        let tree = Arc::clone(&self.tree);
        let answer = move |taken: &TakenRequest| match call_tree(&*tree, taken, inode.0, |tree| {
            tree.read(inode.0, offset, count)
        }) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(error),
        };
        let taken = self.requests.begin(request.pid());
        match &self.readers {
            Some(readers) => readers.answer(taken, Box::new(answer)),
            None => answer(&taken),
        }
    }

    fn readdir(&self, request: &Request, folder: INodeNo, _: FileHandle, after: u64, mut reply: ReplyDirectory) {
        let listed = self.list(request, folder, after, &mut |entry, position, name| {
            reply.add(INodeNo(entry.inode), position, kind_of(entry), name)
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn readdirplus(
        &self,
        request: &Request,
        folder: INodeNo,
        _: FileHandle,
        after: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let listed = self.list(request, folder, after, &mut |entry, position, name| {
            let valid = validity(entry);
            reply.add(INodeNo(entry.inode), position, name, &valid, &self.attributes_of(entry), GENERATION)
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, request: &Request, _inode: INodeNo, reply: ReplyStatfs) {
        match self.dispatch(request, Node::Root.inode().unwrap_or_default(), |tree| Ok(tree.totals())) {
            Ok(totals) => {
                let blocks = totals.bytes.div_ceil(u64::from(BLOCK_BYTES));
                let longest = u32::try_from(super::names::MAX_NAME_BYTES).unwrap_or(u32::MAX);
                reply.statfs(blocks, 0, 0, totals.samples, 0, BLOCK_BYTES, longest, BLOCK_BYTES);
            }
            Err(error) => reply.error(error),
        }
    }

    fn getxattr(&self, request: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        match self.dispatch(request, inode.0, |tree| tree.attributes(inode.0)) {
            Ok(attributes) => match attributes.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => reply_attribute(reply, size, value.as_bytes()),
                None => reply.error(Errno::NO_XATTR),
            },
            Err(error) => reply.error(error),
        }
    }

    fn listxattr(&self, request: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        match self.dispatch(request, inode.0, |tree| tree.attributes(inode.0)) {
            Ok(attributes) => {
                let names: String = attributes.iter().flat_map(|(name, _)| [name, "\0"]).collect();
                reply_attribute(reply, size, names.as_bytes());
            }
            Err(error) => reply.error(error),
        }
    }
}
