//! Commands on data sets of the hub: the data are downloaded into its cache, and read from there.

use super::context::Context;
use super::exit::Stopped;
use super::task::{follow, print_findings};
use gristmill_core::{Failure, Problem, Subject};
use gristmill_ops::job::fetch;
use gristmill_storage::remote::is_hub_url;
use std::path::PathBuf;

/// Replaces the address of a data set by the path of its files in the cache, which are printed by their addresses from then on. Other paths
/// are left alone. `flag` is a given one that does not apply to documents; it is refused before anything is downloaded. Returns the problems of
/// the download.
pub fn replace_address(path: &mut PathBuf, flag: Option<&str>, context: &Context) -> Result<Vec<Problem>, Stopped> {
    let Some(address) = path.to_str().filter(|text| is_hub_url(text)) else { return Ok(Vec::new()) };
    if let Some(flag) = flag {
        let why = format!("{flag} is not for data sets of the hub, whose documents are read");
        return Err(Failure::usage("reading the command line", why)
            .on(Subject::path(address))
            .with_hint("leave it out, or give a local path")
            .into());
    }
    let copy = follow(fetch::start(address.to_owned(), context.run_options())?, None, context)?;
    print_findings(&copy.problems, &[], context);
    context.printer.rename_folder(&copy.folder.to_string_lossy(), &copy.address);
    *path = copy.path;
    Ok(copy.problems)
}
