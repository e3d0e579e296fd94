//! Connection strings of accounts: `AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net`.

use super::super::secret::Secret;

/// The account of the emulators, and its well-known key.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const EMULATOR_ENDPOINT: &str = "http://127.0.0.1:10000/devstoreaccount1";

/// Content of a connection string.
#[derive(Debug, Default)]
pub(super) struct ConnectionString {
    pub(super) account: Option<String>,
    pub(super) key: Option<Secret>,
    pub(super) sas: Option<Secret>,
    pub(super) endpoint: Option<String>,
    pub(super) suffix: Option<String>,
    pub(super) protocol: Option<String>,
}

impl ConnectionString {
    /// Parses a connection string; `None` if it is invalid.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parsed = Self::default();
        for pair in text.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=')?;
            let value = value.trim().to_owned();
            match name.trim().to_ascii_lowercase().as_str() {
                "accountname" => parsed.account = Some(value),
                "accountkey" => parsed.key = Some(Secret::new(value)),
                "sharedaccesssignature" => parsed.sas = Some(Secret::new(value)),
                "blobendpoint" => parsed.endpoint = Some(value),
                "endpointsuffix" => parsed.suffix = Some(value),
                "defaultendpointsprotocol" if ["http", "https"].contains(&value.as_str()) => {
                    parsed.protocol = Some(value)
                }
                "defaultendpointsprotocol" => return None,
                "usedevelopmentstorage" if value.eq_ignore_ascii_case("true") => {
                    parsed.account = Some(EMULATOR_ACCOUNT.to_owned());
                    parsed.key = Some(Secret::new(EMULATOR_KEY));
                    parsed.endpoint = Some(EMULATOR_ENDPOINT.to_owned());
                }
                // Endpoints of queues, tables and files.
                _ => {}
            }
        }
        (parsed.account.is_some() || parsed.endpoint.is_some()).then_some(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_string_gives_account_and_key_or_signature() {
        let parsed = ConnectionString::parse(
            "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a+b/c==;EndpointSuffix=core.chinacloudapi.cn;QueueEndpoint=x",
        )
        .unwrap();
        assert_eq!((parsed.account.as_deref(), parsed.key.as_ref().unwrap().reveal()), (Some("acc"), "a+b/c=="));
        assert_eq!(parsed.suffix.as_deref(), Some("core.chinacloudapi.cn"));
        let signed = ConnectionString::parse(
            "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=a%3D",
        );
        let signed = signed.unwrap();
        assert_eq!(signed.sas.as_ref().unwrap().reveal(), "sv=1&sig=a%3D");
        assert!(!format!("{parsed:?} {signed:?}").contains("sig") && !format!("{parsed:?}").contains("a+b"));
        let emulator = ConnectionString::parse("UseDevelopmentStorage=true").unwrap();
        assert_eq!(emulator.endpoint.as_deref(), Some(EMULATOR_ENDPOINT));
        for wrong in
            ["", "AccountKey=x", "x", "UseDevelopmentStorage=false", "DefaultEndpointsProtocol=ftp;AccountName=a"]
        {
            assert!(ConnectionString::parse(wrong).is_none(), "{wrong}");
        }
    }
}
