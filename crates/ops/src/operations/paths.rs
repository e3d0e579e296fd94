//! Checks the paths in options: the locations that they may name, and invalid addresses. Used by the command line, forms, prompts and plan
//! files.

use gristmill_core::options::{Answer, OptionRow, PathScope, ValueKind};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::address_secrets::{refuse_secrets, without_secrets};
use gristmill_storage::files;
use gristmill_storage::location::{is_remote, RemoteUrl};
use gristmill_storage::remote::{is_hub_url, RepositoryUrl};
use gristmill_storage::scheme::schemes_text;
use gristmill_storage::store::read_only;
use gristmill_storage::stores::check_address;
use std::path::{Path, PathBuf};

/// Hint if addresses are not supported.
const COPY_HINT: &str = "copy or mount the data, and give the local folder";

/// Maximum number of addresses that ranges expand to.
const MAX_RANGE: usize = 100_000;

/// Returns a path as stored in a plan. It must be local and UTF-8.
pub fn local(path: &Path) -> Outcome<String> {
    let text = expanded(path)?;
    let (text, path) = (text.as_str(), Path::new(&text));
    match text.split_once("://") {
        Some((scheme, _)) if is_remote(path) || is_scheme(scheme) && !files::exists(path) => {
            let refuse = |why: String, hint: &str| {
                Err(Failure::usage("opening the data set", why)
                    .on(Subject::path(without_secrets(text)))
                    .with_hint(hint.to_owned()))
            };
            match is_remote(path) || is_hub_url(text) {
                true => refuse(format!("{scheme}:// is not supported yet by this command"), COPY_HINT),
                false => {
                    let lower = text.replacen(scheme, &scheme.to_ascii_lowercase(), 1);
                    let is_upper = lower != text && is_remote(Path::new(&lower));
                    let hint =
                        if is_upper { "the scheme is written in lower case".to_owned() } else { known_schemes() };
                    refuse(format!("there are no addresses of {scheme}://"), &hint)
                }
            }
        }
        _ => refuse_meant_address(path, text).map(|()| text.to_owned()),
    }
}

/// Refuses an invalid address, such as `s3:/bucket/key`, unless a file of this name exists.
fn refuse_meant_address(path: &Path, text: &str) -> Outcome<()> {
    if text.starts_with("arn:") && !files::exists(path) {
        let failure = Failure::usage("reading the address", "access points are not supported");
        return Err(failure.on(Subject::path(text)).with_hint("give the address of the bucket"));
    }
    let address = text.replacen(":/", "://", 1);
    if text.contains("://") || !is_remote(Path::new(&address)) || files::exists(path) {
        return Ok(());
    }
    refuse_secrets(text)?;
    let failure =
        Failure::usage("reading the address", "one slash is missing").on(Subject::path(without_secrets(text)));
    Err(failure.with_hint(without_secrets(&address)))
}

/// Like [`local`], but also accepts addresses in stores, unless they have a name, a password or a signature.
pub fn local_or_readable(path: &Path) -> Outcome<String> {
    match RemoteUrl::parse(path) {
        Some(url) => {
            let text = utf8(path)?;
            refuse_secrets(text)?;
            check_address(url.scheme, text)
        }
        None => mapped(local(path)?),
    }
}

/// Returns the address to which a profile of multi-storage-client maps a local path, or else the path.
#[cfg(feature = "remote")]
fn mapped(path: String) -> Outcome<String> {
    Ok(gristmill_storage::remote::mapped_path(&path)?.unwrap_or(path))
}

/// Returns the path, because this build does not support profiles.
#[cfg(not(feature = "remote"))]
fn mapped(path: String) -> Outcome<String> {
    Ok(path)
}

/// Like [`local_or_readable`], but refuses addresses that cannot be written.
pub fn local_or_writable(path: &Path) -> Outcome<String> {
    let text = local_or_readable(path)?;
    match RemoteUrl::parse(Path::new(&text)).filter(|url| !url.scheme.is_writable) {
        None => Ok(text),
        Some(url) => Err(read_only(&url)),
    }
}

/// Like [`local_or_readable`], but also accepts the address of a data set on the hub.
fn local_or_address(path: &Path) -> Outcome<String> {
    match path.to_str().filter(|text| is_hub_url(text)) {
        Some(text) => {
            refuse_secrets(text)?;
            RepositoryUrl::parse(text).map(|_| text.to_owned())
        }
        None => local_or_readable(path),
    }
}

/// Returns the function that checks the paths of an option.
fn of_reach(reach: PathScope) -> fn(&Path) -> Outcome<String> {
    match reach {
        PathScope::Local => local,
        PathScope::Store => local_or_writable,
        PathScope::ReadStore => local_or_readable,
        PathScope::StoreOrHub => local_or_address,
    }
}

/// Expands the ranges (`{000..099}`) in an address like a POSIX shell with brace expansion. Other paths are returned unchanged.
fn with_ranges(path: &Path) -> Outcome<Vec<PathBuf>> {
    let has_ranges = |text: &&str| ["https://", "http://", "hf://"].iter().any(|scheme| text.starts_with(scheme));
    let Some(text) = path.to_str().filter(has_ranges) else { return Ok(vec![path.to_owned()]) };
    let (address, query) = text.split_at(text.find('?').unwrap_or(text.len()));
    let mut addresses = vec![String::new()];
    let mut rest = address;
    while let Some((before, range, after)) = next_range(rest) {
        if addresses.len().saturating_mul(range.len()) > MAX_RANGE {
            let why = format!("its ranges are more than {MAX_RANGE} addresses");
            return Err(Failure::usage("reading the address", why).on(Subject::path(without_secrets(text))));
        }
        let each =
            |address: &String| range.iter().map(|number| format!("{address}{before}{number}")).collect::<Vec<_>>();
        addresses = addresses.iter().flat_map(each).collect();
        rest = after;
    }
    Ok(addresses.into_iter().map(|address| PathBuf::from(format!("{address}{rest}{query}"))).collect())
}

/// Returns the text before the first range, the numbers of the range with as many digits as a shell writes, and the text after the range.
fn next_range(text: &str) -> Option<(&str, Vec<String>, &str)> {
    for (at, _) in text.match_indices('{') {
        let (before, inner) = (text.get(..at)?, text.get(at + 1..)?);
        let (inner, after) = inner.split_once('}')?;
        let Some((first, last)) = inner.split_once("..") else { continue };
        let is_padded = [first, last].iter().any(|number| number.len() > 1 && number.starts_with('0'));
        let width = if is_padded { first.len().max(last.len()) } else { 0 };
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else { continue };
        // One more than the limit is enough to detect that it is exceeded.
        let numbers = (first..=last).take(MAX_RANGE + 1).map(|number| format!("{number:0width$}"));
        return Some((before, numbers.collect::<Vec<_>>(), after)).filter(|(_, numbers, _)| !numbers.is_empty());
    }
    None
}

/// Returns the answer for the paths given for an option.
///
/// # Errors
/// The option does not accept a path, or a path is an invalid address.
pub fn answer_of_paths(row: &OptionRow, given: &[PathBuf]) -> Outcome<Answer> {
    let path_of = of_reach(row.info.path_scope);
    match (row.kind, given) {
        (ValueKind::Path, [path]) => path_of(path).map(Answer::Text),
        _ => {
            let all = given.iter().map(|given| with_ranges(given)).collect::<Outcome<Vec<_>>>()?;
            all.iter().flatten().map(|given| path_of(given)).collect::<Outcome<_>>().map(Answer::List)
        }
    }
}

/// Checks the paths of an answer like those of the command line.
///
/// # Errors
/// The errors of [`answer_of_paths`].
pub fn checked_answer(row: &OptionRow, answer: &Answer) -> Outcome<Answer> {
    match (row.kind, answer) {
        (ValueKind::Path, Answer::Text(path)) => answer_of_paths(row, &[path.into()]),
        (ValueKind::Paths, Answer::List(paths)) => {
            answer_of_paths(row, &paths.iter().map(PathBuf::from).collect::<Vec<_>>())
        }
        _ => Ok(answer.clone()),
    }
}

/// Replaces an initial `~` of a path by the home folder; `None` if the path does not start with it.
pub fn path_below_home(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    let rest = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(home?.join(rest.trim_start_matches('/')))
}

/// Replaces an initial `~` of a path by the home folder, as a shell does for unquoted paths, unless a file of this name exists.
fn expanded(path: &Path) -> Outcome<String> {
    let text = utf8(path)?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match path_below_home(text, home.as_deref()).filter(|_| !files::exists(path)) {
        Some(below) => utf8(&below).map(str::to_owned),
        None => Ok(text.to_owned()),
    }
}

fn utf8(path: &Path) -> Outcome<&str> {
    let Some(text) = path.to_str() else {
        let hint = match files::is_file(path) {
            true => "rename it",
            false => "change into the folder and give `.` as the path",
        };
        return Err(Failure::usage("reading the path", "it is not valid UTF-8, and a plan could not name it")
            .on(Subject::path(path))
            .with_hint(hint));
    };
    match text.is_empty() {
        true => Err(Failure::usage("reading the path", "it is empty").with_hint("`.` is the current folder")),
        false => Ok(text),
    }
}

/// Returns the supported schemes, for a hint.
fn known_schemes() -> String {
    match schemes_text(false).as_str() {
        "" => "this build has no feature `remote`, which reads addresses".to_owned(),
        stores => format!("the addresses that are read begin with {stores}"),
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_ranges_expand_as_in_the_shell() {
        let expand = |text: &str| {
            let paths = with_ranges(Path::new(text)).unwrap();
            paths.into_iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            expand("https://h/a-{08..10}.tar"),
            ["https://h/a-08.tar", "https://h/a-09.tar", "https://h/a-10.tar"]
        );
        assert_eq!(
            expand("https://h/{x}/{1..2}{3..3}?q={1..2}"),
            ["https://h/{x}/13?q={1..2}", "https://h/{x}/23?q={1..2}"]
        );
        assert_eq!(expand("http://h/{9..10}"), ["http://h/9", "http://h/10"]);
        for text in
            ["https://h/{2..1}", "https://h/{a..b}", "https://h/{1..", "https://h/{}", "a/{1..2}", "s3://b/{1..2}"]
        {
            assert_eq!(expand(text), [text]);
        }
        let many = with_ranges(Path::new("https://h/{0..4294967295}?secret")).unwrap_err();
        assert!(many.why.contains("more than 100000") && !format!("{many:?}").contains("secret"));
        assert!(with_ranges(Path::new("https://h/{0..999}{0..999}")).is_err());
    }

    #[test]
    fn path_with_tilde_is_below_the_home_folder() {
        let home = Some(Path::new("/home/me"));
        let below = |text| path_below_home(text, home).map(|path| path.to_str().unwrap().to_owned());
        assert_eq!(below("~/out"), Some("/home/me/out".to_owned()));
        assert_eq!(below("~"), Some("/home/me/".to_owned()));
        assert_eq!((below("~you/x"), below("/a/~"), path_below_home("~/x", None)), (None, None, None));
    }

    #[test]
    fn path_answers_are_checked_by_the_scope_of_the_option() {
        let rows = crate::operations::operation("shard").unwrap().options();
        let row = |name: &str| rows.iter().find(|row| row.info.name == name).unwrap();
        let several = |paths: &[&str]| Answer::List(paths.iter().map(|path| (*path).to_owned()).collect());
        let address = several(&["https://h/{1..2}.tar", "a"]);
        let expected = several(&["https://h/1.tar", "https://h/2.tar", "a"]);
        assert_eq!(checked_answer(row("input"), &address).unwrap(), expected);
        let wrong = checked_answer(row("input"), &several(&["a", "file:///x"])).unwrap_err();
        assert!(wrong.why.contains("there are no addresses of file://"), "{wrong}");
        assert!(checked_answer(row("output"), &Answer::Text("https://h/x".into())).is_err());
        let count = Answer::Text("file:///x".into());
        assert_eq!(checked_answer(row("limit"), &count).unwrap(), count, "it is no path");
    }

    #[test]
    fn readonly_addresses_are_accepted_for_input_and_refused_for_output() {
        let address = Path::new("https://example.com/a.jsonl");
        assert_eq!(of_reach(PathScope::ReadStore)(address).unwrap(), "https://example.com/a.jsonl");
        assert!(of_reach(PathScope::Store)(address).unwrap_err().why.contains("cannot be written"));
    }

    #[test]
    fn addresses_with_secrets_are_refused_for_every_scope() {
        let scopes = [PathScope::Local, PathScope::Store, PathScope::ReadStore, PathScope::StoreOrHub];
        for text in ["mem://AKID:QQQ@b/x", "mem:/AKID:QQQ@b/x", "hf://u:QQQ@datasets/o/n", "mem://b/x?token=QQQ"] {
            for scope in scopes {
                let failure = of_reach(scope)(Path::new(text)).unwrap_err();
                assert!(failure.class.code() == 2 && !format!("{failure:?}").contains("QQQ"), "{failure:?}");
            }
        }
        let row = crate::operations::operation("shard").unwrap().options();
        let row = row.iter().find(|row| row.info.name == "input").unwrap();
        let failure = checked_answer(row, &Answer::List(vec!["mem://AKID:QQQ@b/x".to_owned()])).unwrap_err();
        assert_eq!(failure.why, "it has a name or password");
    }

    #[test]
    fn remote_path_is_refused_without_showing_its_query() {
        let failure = local(Path::new("nfs://bucket/x?signature=abc")).unwrap_err();
        assert_eq!(failure.class.code(), 2);
        assert!(!failure.to_string().contains("abc"));
        assert!(failure.why.contains("there are no addresses of nfs://"), "{failure}");
        assert!(failure.hint.unwrap().ends_with("hf://"));
        let failure = local(Path::new("S3://bucket/x")).unwrap_err();
        assert_eq!(failure.hint.as_deref(), Some("the scheme is written in lower case"));
        assert_eq!(local(Path::new("a/b")).unwrap(), "a/b");
        #[cfg(feature = "remote")]
        assert_eq!(local(Path::new("s3:/b/x")).unwrap_err().hint.unwrap(), "s3://b/x");
        assert!(local(Path::new("arn:aws:s3:eu-west-1:1:accesspoint/x")).unwrap_err().why.contains("access points"));
        assert_eq!(local(Path::new("x3:/b/x")).unwrap(), "x3:/b/x");
        assert!(local(Path::new("")).is_err());
        let address = "hf://datasets/o/n@v1/data";
        assert_eq!(local_or_address(Path::new(address)).unwrap(), address);
        assert_eq!(local_or_address(Path::new("hf://datasets/o/n/../x")).unwrap_err().class.code(), 2);
        assert!(local_or_address(Path::new("nfs://b/x")).unwrap_err().why.contains("no addresses"));
        assert!(local(Path::new(address)).is_err());
    }
}
