//! `doctor ADDRESS`: checks the permissions of the credentials at an address of a store, and lists unfinished uploads.

use super::{print_checks, Check};
use crate::cli::context::Context;
use crate::cli::exit::{CommandFailure, CommandResult, CommandSuccess};
use crate::cli::paths;
use crate::prompt;
use clap::Args;
use gristmill_core::text::{bytes, count, display_safe, duration};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::files::FileInfo;
use gristmill_storage::location::RemoteUrl;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::store::{Condition, Content, Store, UnfinishedUpload};
use gristmill_storage::stores::store_of;
use serde_json::{json, Map, Value};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const ACTIVITY: &str = "examining the store";
/// Number of requests whose time is measured.
const MEASURED_REQUESTS: usize = 5;
/// Prefix of the name of the object that is written and removed.
const PROBE: &str = ".gristmill-doctor-";
const PROBE_CONTENT: &[u8] = b"gristmill doctor\n";
/// Maximum number of unfinished uploads that are listed.
const MAX_PRINTED_UPLOADS: usize = 20;

/// Flags that concern stores.
#[derive(Args, Clone, Debug)]
pub struct StoreArgs {
    /// Of a store: write nothing, so that the right to write is not tried
    #[arg(long, conflicts_with = "abort_uploads")]
    pub read_only: bool,
    /// Of a store: end unfinished uploads below the address, which cost money and are invisible
    #[arg(long)]
    pub abort_uploads: bool,
    /// With --abort-uploads: only those begun this long ago [default: 24h]
    #[arg(long, value_name = "AGE", value_parser = age, requires = "abort_uploads")]
    pub older_than: Option<Duration>,
    /// Remove what is kept of stores in the cache folder
    #[arg(long)]
    pub clear_cache: bool,
}

impl StoreArgs {
    /// Returns the first given flag.
    pub fn first_given_flag(&self) -> Option<&'static str> {
        let flags = [("--read-only", self.read_only), ("--abort-uploads", self.abort_uploads)];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }
}

/// Parses `90s`, `30m`, `24h`, `7d`.
fn age(text: &str) -> Result<Duration, String> {
    let invalid = || "expected an age such as 30m, 24h or 7d".to_owned();
    let unit = text.chars().last().ok_or_else(invalid)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(invalid()),
    };
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| invalid())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(invalid)
}

/// Examines the store of an address.
pub fn run(path: &Path, args: &StoreArgs, context: &Context) -> CommandResult {
    let address = paths::local_or_readable(path)?;
    let path = Path::new(&address);
    let Some(url) = RemoteUrl::parse(path) else {
        return Err(Failure::usage(ACTIVITY, "it is not the address of a store").on(Subject::path(path)).into());
    };
    let store = store_of(&url).map_err(|error| Failure::io(ACTIVITY, path, &error))?;
    let mut examination = Examination { store, url, path, checks: Vec::new() };
    let read = examination.examine(args.read_only || context.globals.dry_run);
    let uploads = match &read {
        Ok(()) => examination.list_uploads(),
        Err(_) => Vec::new(),
    };
    if read.is_ok() {
        examination.find_locks();
    }
    print_checks(&examination.checks, context);
    for upload in uploads.iter().take(MAX_PRINTED_UPLOADS) {
        context.printer.line(format!("     {}", describe(upload)));
    }
    let list = |upload: &UnfinishedUpload| json!({ "key": upload.key, "age_seconds": upload.age.as_secs(), "bytes": upload.bytes });
    let mut result = Map::from_iter([
        ("checks".to_owned(), examination.checks.iter().map(Check::to_json).collect()),
        ("uploads".to_owned(), uploads.iter().map(list).collect::<Value>()),
    ]);
    if let Err(failure) = read {
        return Err(CommandFailure { failures: vec![failure], result });
    }
    if args.abort_uploads {
        let ended = examination
            .end_uploads(&uploads, args, context)
            .map_err(|failure| CommandFailure { failures: vec![failure], result: result.clone() })?;
        result.insert("aborted_uploads".into(), json!(ended));
    }
    Ok(CommandSuccess::ok(result))
}

fn describe(upload: &UnfinishedUpload) -> String {
    let size = upload.bytes.map(|size| format!(", {}", bytes(size))).unwrap_or_default();
    format!("{}: begun {} ago{size}", display_safe(&upload.key), duration(upload.age))
}

struct Examination<'a> {
    store: Arc<dyn Store>,
    url: RemoteUrl<'a>,
    path: &'a Path,
    checks: Vec<Check>,
}

impl Examination<'_> {
    fn add(&mut self, name: &str, found: impl Into<String>) {
        self.checks.push(Check::new(name, true, found));
    }

    /// Adds the result of testing a permission.
    fn try_right<T>(&mut self, name: &str, tried: io::Result<T>) -> Outcome<T> {
        match tried {
            Ok(value) => {
                self.add(name, "yes");
                Ok(value)
            }
            Err(error) => {
                let failure = Failure::io(ACTIVITY, self.path, &error);
                let check = Check::new(name, false, format!("no: {}", failure.why));
                self.checks.push(match &failure.hint {
                    Some(hint) => check.hint(hint.clone()),
                    None => check,
                });
                Err(failure)
            }
        }
    }

    /// Tests each permission separately.
    ///
    /// # Errors
    /// The data at the address cannot be read.
    fn examine(&mut self, is_read_only: bool) -> Outcome<()> {
        let (info, times) = self.measure();
        if let Ok(settings) = self.store.settings(&self.url) {
            for (name, found) in
                [("credentials", settings.credentials), ("region", settings.region), ("endpoint", settings.endpoint)]
            {
                if !found.is_empty() {
                    self.add(name, found);
                }
            }
        }
        if let Some(median) = times.get(times.len() / 2) {
            self.add(
                "latency",
                format!("{} ms, the median of {}", median.as_millis(), count(times.len() as u64, "request")),
            );
        }
        let info = info.map_err(|error| Failure::io(ACTIVITY, self.path, &error));
        // Permissions cannot be tested if the store cannot be reached.
        if let Some(failure) = info.as_ref().err().filter(|failure| failure.kind.is_none()) {
            return Err(failure.clone());
        }
        let mut first = None;
        let listed = self.store.list(&self.url, true, &mut |entry| {
            first = Some(entry.key);
            Ok(false)
        });
        let listed = self.try_right("list", listed);
        let is_object = info.as_ref().is_ok_and(|info| info.is_some_and(|info| info.is_file()));
        let object = if is_object { Some(self.url.key.to_owned()) } else { first };
        let read = match &object {
            Some(key) => {
                let read = self.store.open(&RemoteUrl { key, ..self.url });
                self.try_right("read", read).map(drop)
            }
            None => {
                if listed.is_ok() {
                    self.add("read", "it has no object to read");
                }
                Ok(())
            }
        };
        if !is_read_only {
            self.try_writing(is_object);
        }
        match is_object {
            true => read,
            false => info.and(listed).and(read),
        }
    }

    /// Requests the facts about the address, and measures similar requests. Returns the facts and the sorted times.
    fn measure(&self) -> (io::Result<Option<FileInfo>>, Vec<Duration>) {
        let mut times = Vec::new();
        // Not measured, because the first request also connects.
        let info = self.store.info(&self.url);
        for _ in 0..if info.is_ok() { MEASURED_REQUESTS } else { 0 } {
            // Recent listings are cached, so each request lists another folder, which does not exist.
            let key = format!("{}{PROBE}{}", self.url.prefix(), uuid::Uuid::new_v4().simple());
            let begin = Instant::now();
            match self.store.list(&RemoteUrl { key: &key, ..self.url }, true, &mut |_| Ok(false)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => times.push(begin.elapsed()),
            }
        }
        times.sort();
        (info, times)
    }

    /// Writes, replaces and removes an object below the address, or next to it if the address is that of an object.
    fn try_writing(&mut self, is_object: bool) {
        let folder = match self.url.key.rsplit_once('/') {
            Some((folder, _)) if is_object => format!("{folder}/"),
            None if is_object => String::new(),
            _ => self.url.prefix(),
        };
        let key = format!("{folder}{PROBE}{}", uuid::Uuid::new_v4().simple());
        let probe = RemoteUrl { key: &key, ..self.url };
        let put = self.store.put(&probe, Content::Bytes(PROBE_CONTENT), Condition::Always);
        if self.try_right("write", put).is_err() {
            return;
        }
        match self.store.guards(&probe, PROBE_CONTENT) {
            Ok(Some(guards)) => {
                let obeyed = |is_obeyed: bool| if is_obeyed { "yes" } else { "no: it ignores the condition" };
                for (name, is_obeyed) in [("If-None-Match", guards.if_absent), ("If-Match", guards.if_unchanged)] {
                    let check = Check::new(name, is_obeyed, obeyed(is_obeyed));
                    self.checks.push(check.hint("do not run two writers of the same data at once"));
                }
                let found = if guards.checksums { "yes" } else { "no: it accepts a wrong one" };
                self.checks.push(
                    Check::new("checksums", guards.checksums, found)
                        .hint("`gristmill verify` compares the data after the upload"),
                );
            }
            Ok(None) => {}
            Err(error) => {
                let failure = Failure::io(ACTIVITY, self.path, &error);
                self.checks.push(Check::new("conditions", false, failure.to_string()));
            }
        }
        let removed = self.store.remove(&probe);
        if self.try_right("delete", removed).is_err() {
            self.checks.push(Check::new("left over", false, probe.to_path().to_string_lossy()));
        }
    }

    /// Finds the locks of runs that write an output or a data set at this address.
    fn find_locks(&mut self) {
        // No run locks what it cannot write; some web servers have an answer for every address.
        if self.url.key.is_empty() || !self.url.scheme.is_writable {
            return;
        }
        for own in [RunFolder::for_output(self.path), RunFolder::for_webdataset(self.path)] {
            // Without the permission to read, no lock can be found.
            if let Ok(Some(lock)) = DatasetLock::stored(&own) {
                let found = format!("{}, of {}", lock.path.display(), lock.holder);
                self.checks.push(Check::new("lock", false, display_safe(&found)).hint(lock.hint));
            }
        }
    }

    /// Lists the unfinished uploads below the address.
    fn list_uploads(&mut self) -> Vec<UnfinishedUpload> {
        let listed = self.store.uploads(&self.url);
        match listed {
            Ok(None) => Vec::new(),
            Ok(Some(uploads)) if uploads.is_empty() => {
                self.add("unfinished uploads", "none");
                uploads
            }
            Ok(Some(uploads)) => {
                let oldest = uploads.iter().map(|upload| upload.age).max().unwrap_or_default();
                let sizes: Option<u64> = uploads.iter().map(|upload| upload.bytes).sum();
                let sizes = sizes.map(|size| format!(" of {}", bytes(size))).unwrap_or_default();
                let found = format!("{}{sizes}, the oldest begun {} ago", uploads.len(), duration(oldest));
                let check = Check::new("unfinished uploads", false, found);
                self.checks.push(check.hint("--abort-uploads ends those that are older than --older-than (24h)"));
                uploads
            }
            Err(error) => {
                let failure = Failure::io(ACTIVITY, self.path, &error);
                let check = Check::new("unfinished uploads", false, format!("not known: {}", failure.why));
                self.checks.push(check.hint(failure.hint.unwrap_or_default()));
                Vec::new()
            }
        }
    }

    /// Asks for confirmation, aborts the uploads that are old enough, and returns their number.
    fn end_uploads(&self, uploads: &[UnfinishedUpload], args: &StoreArgs, context: &Context) -> Outcome<usize> {
        let least = args.older_than.unwrap_or(Duration::from_secs(24 * 3600));
        let old: Vec<&UnfinishedUpload> = uploads.iter().filter(|upload| upload.age >= least).collect();
        let number = count(old.len() as u64, "upload");
        if old.is_empty() {
            context.printer.line(format!("No upload is older than {}.", duration(least)));
            return Ok(0);
        }
        if context.globals.dry_run {
            context.printer.line(format!("Would end {number}."));
            return Ok(0);
        }
        let question = format!("End {number}, of which other programs may be using some?");
        let is_agreed = match context.may_prompt() {
            true => prompt::confirm(&question, false)?,
            false if context.globals.yes => true,
            false => {
                let why = format!("{number} would be ended, of which other programs may be using some");
                return Err(Failure::usage("ending uploads", why).with_hint("add --yes if none is in use"));
            }
        };
        if !is_agreed {
            context.printer.line("No upload was ended.");
            return Ok(0);
        }
        for upload in &old {
            let url = RemoteUrl { key: &upload.key, ..self.url };
            let path = url.to_path();
            self.store.end_upload(&url, &upload.id).map_err(|error| Failure::io("ending the upload", &path, &error))?;
        }
        context.printer.line(format!("Ended {number}."));
        Ok(old.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::store::{RangeRead, TakeEntry};
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    /// A store that records the listed keys.
    #[derive(Default)]
    struct ListingStore {
        listed: Mutex<Vec<String>>,
    }

    impl Store for ListingStore {
        fn info(&self, _: &RemoteUrl<'_>) -> io::Result<Option<FileInfo>> {
            Ok(None)
        }
        fn list(&self, folder: &RemoteUrl<'_>, _: bool, _: TakeEntry<'_>) -> io::Result<()> {
            self.listed.lock().unwrap().push(folder.key.to_owned());
            Ok(())
        }
        fn open(&self, _: &RemoteUrl<'_>) -> io::Result<(FileInfo, Box<dyn RangeRead>)> {
            Err(io::ErrorKind::NotFound.into())
        }
        fn put(&self, _: &RemoteUrl<'_>, _: Content<'_>, _: Condition) -> io::Result<bool> {
            Err(io::ErrorKind::PermissionDenied.into())
        }
        fn remove(&self, _: &RemoteUrl<'_>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn measured_list_requests_have_distinct_uncached_prefixes() {
        let (path, store) = (Path::new("mem://b/set"), Arc::new(ListingStore::default()));
        let url = RemoteUrl::parse(path).unwrap();
        let examination = Examination { store: Arc::clone(&store) as Arc<dyn Store>, url, path, checks: Vec::new() };
        assert_eq!(examination.measure().1.len(), MEASURED_REQUESTS);
        let listed: BTreeSet<String> = store.listed.lock().unwrap().iter().cloned().collect();
        assert_eq!(listed.len(), MEASURED_REQUESTS);
        assert!(listed.iter().all(|key| key.starts_with("set/.gristmill-doctor-")), "{listed:?}");
    }

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(age("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!((age("7d"), age("0s")), (Ok(Duration::from_secs(604_800)), Ok(Duration::ZERO)));
        for wrong in ["", "24", "h", "1w", "-1h", "1.5h", "99999999999999999999d", "18446744073709551615d", "1hh"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
