//! Settings of the hub from the environment: its address, the token, the cache, and whether requests are permitted.

use super::super::secret::Secret;
use gristmill_core::{Failure, Outcome, Subject};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Default address of the hub.
const ENDPOINT: &str = "https://huggingface.co";
/// Default pause before the second try of a request.
const BASE_PAUSE: Duration = Duration::from_secs(1);
/// Variable with that pause in milliseconds, for tests.
const PAUSE_VARIABLE: &str = "GRISTMILL_HTTP_PAUSE_MS";
/// Maximum size of a file with a token, in bytes.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// Settings of the hub.
#[derive(Clone, Debug)]
pub struct HubSettings {
    /// Address of the hub, without a trailing slash (`HF_ENDPOINT`).
    pub(in crate::remote) endpoint: String,
    pub(in crate::remote) token: Option<Secret>,
    /// Folder of the repositories in the cache.
    pub(in crate::remote) cache: PathBuf,
    /// Whether requests are off (`HF_HUB_OFFLINE`).
    pub(in crate::remote) is_offline: bool,
    /// Pause before the second try of a request.
    pub(in crate::remote) base_pause: Duration,
}

impl HubSettings {
    /// Reads the variables that the Python tools read.
    ///
    /// # Errors
    /// The file with the token cannot be read, the token has characters that are invalid in a request, or there is no folder for the cache.
    pub fn from_env() -> Outcome<Self> {
        Self::from(&|name| std::env::var_os(name))
    }

    fn from(variable: &dyn Fn(&str) -> Option<OsString>) -> Outcome<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.to_string_lossy().trim().is_empty());
        let text = |name: &str| set(name).map(|value| value.to_string_lossy().trim().to_owned());
        let is_on = |name: &str| {
            text(name).is_some_and(|value| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str()))
        };
        let home = set("HF_HOME").map(PathBuf::from).or_else(|| usual_home(&set));
        let cache = ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"].iter().find_map(|name| set(name)).map(PathBuf::from);
        let Some(cache) = cache.or_else(|| home.as_ref().map(|home| home.join("hub"))) else {
            let why = "there is no home folder for the cache";
            return Err(Failure::environment("opening the cache of the hub", why)
                .with_hint("set HF_HOME to the folder for the cache"));
        };
        let is_offline = ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter().any(is_on);
        let token = match is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            true => None,
            false => token(&text, set("HF_TOKEN_PATH").map(PathBuf::from), home.as_deref())?,
        };
        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let pause = text(PAUSE_VARIABLE).and_then(|value| value.parse().ok()).map(Duration::from_millis);
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token,
            cache: std::path::absolute(&cache).unwrap_or(cache),
            is_offline,
            base_pause: pause.map_or(BASE_PAUSE, |pause| pause.min(BASE_PAUSE)),
        })
    }

    /// Returns the folder of the repositories in the cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Whether requests are off.
    pub fn is_offline(&self) -> bool {
        self.is_offline
    }
}

fn usual_home(set: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")));
    cache.map(|cache| cache.join("huggingface"))
}

fn token(text: &dyn Fn(&str) -> Option<String>, path: Option<PathBuf>, home: Option<&Path>) -> Outcome<Option<Secret>> {
    let given =
        ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"].into_iter().find_map(|name| Some((name.to_owned(), text(name)?)));
    let (source, token) = match given {
        Some(given) => given,
        None => {
            let Some(path) = path.or_else(|| home.map(|home| home.join("token"))) else { return Ok(None) };
            let Some(bytes) = crate::local_file::read_local(&path, MAX_TOKEN_BYTES)? else { return Ok(None) };
            (path.to_string_lossy().into_owned(), String::from_utf8_lossy(&bytes).trim().to_owned())
        }
    };
    let token: String = token.chars().filter(|c| !['\n', '\r'].contains(c)).collect();
    if !token.chars().all(|c| c.is_ascii_graphic()) {
        return Err(Failure::environment("reading the token of the hub", "it has characters that no token has")
            .on(Subject::field(source))
            .with_hint("copy the token again, or set HF_HUB_DISABLE_IMPLICIT_TOKEN=1 to send none"));
    }
    Ok((!token.is_empty()).then_some(Secret::new(token)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> Outcome<HubSettings> {
        let find = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value));
        HubSettings::from(&find)
    }

    #[test]
    fn hub_cache_folder_matches_the_python_tools() {
        let cache = |values: &[(&str, &str)]| settings(values).unwrap().cache;
        assert_eq!(cache(&[("HOME", "/h")]), Path::new("/h/.cache/huggingface/hub"));
        assert_eq!(cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), Path::new("/x/huggingface/hub"));
        assert_eq!(cache(&[("HOME", "/h"), ("HF_HOME", "/f")]), Path::new("/f/hub"));
        let both = [("HF_HOME", "/f"), ("HUGGINGFACE_HUB_CACHE", "/old"), ("HF_HUB_CACHE", "")];
        assert_eq!(cache(&both), Path::new("/old"), "an empty variable is not set");
        assert!(settings(&[]).unwrap_err().hint.unwrap().contains("HF_HOME"));
    }

    #[test]
    fn the_token_is_stripped_and_never_shown() {
        let of = |values: &[(&str, &str)]| settings(&[values, &[("HF_HOME", "/nowhere")]].concat()).unwrap();
        let given = of(&[("HF_TOKEN", "  hf_abc\n"), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]);
        assert_eq!(given.token.as_ref().unwrap().reveal(), "hf_abc");
        assert!(!format!("{given:?}").contains("hf_abc"));
        assert_eq!(of(&[("HF_TOKEN", " "), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]).token.unwrap().reveal(), "hf_old");
        assert!(of(&[("HF_TOKEN", "hf_abc"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "Yes")]).token.is_none());
        let failure = settings(&[("HF_HOME", "/nowhere"), ("HF_TOKEN", "hf abc")]).unwrap_err();
        assert!(!failure.to_string().contains("hf abc") && failure.subject.field.as_deref() == Some("HF_TOKEN"));
        let home = tempfile::tempdir().unwrap();
        #[allow(clippy::disallowed_methods)]
        std::fs::write(home.path().join("token"), "hf_file\n").unwrap();
        let found = settings(&[("HF_HOME", home.path().to_str().unwrap())]).unwrap();
        assert_eq!(found.token.unwrap().reveal(), "hf_file");
    }

    #[test]
    fn hub_offline_variables_accept_several_values() {
        let is_offline = |name: &str, value: &str| settings(&[("HOME", "/h"), (name, value)]).unwrap().is_offline;
        assert!(is_offline("HF_HUB_OFFLINE", "1") && is_offline("HF_DATASETS_OFFLINE", "ON"));
        assert!(is_offline("TRANSFORMERS_OFFLINE", "true") && !is_offline("HF_HUB_OFFLINE", "0"));
    }
}
