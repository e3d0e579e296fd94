//! Trusted certificates.

use gristmill_core::{Failure, Outcome, Subject};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Variables that name a file with certificates; `SSL_CERT_FILE` is read together with the certificates of the system.
const BUNDLES: [&str; 3] = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE"];
/// Maximum size of such a file, in bytes.
const MAX_BUNDLE_BYTES: u64 = 16 << 20;
/// Name of this step in errors.
const ACTIVITY: &str = "reading the certificates";

/// Returns a configuration that trusts the certificates of the system, of Mozilla, and of files that the environment names.
pub(super) fn client_config() -> Outcome<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // If the system has no valid certificates, the others remain.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for name in BUNDLES {
        if let Some(path) = std::env::var_os(name).filter(|path| !path.is_empty()) {
            add_bundle(&mut roots, name, Path::new(&path))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|_| Failure::internal(ACTIVITY, "the versions of TLS do not fit"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn add_bundle(roots: &mut RootCertStore, variable: &str, path: &Path) -> Outcome<()> {
    let refuse = |why: &str| {
        Failure::environment(ACTIVITY, why)
            .on(Subject::path(path))
            .with_hint(format!("{variable} has to name a file of certificates in PEM"))
    };
    let bytes = match path.is_dir() {
        true => return Err(refuse("it is a folder")),
        false => {
            crate::local_file::read_local(path, MAX_BUNDLE_BYTES)?.ok_or_else(|| refuse("there is no such file"))?
        }
    };
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|_| refuse("it is damaged"))?;
        roots.add(certificate).map_err(|_| refuse("a certificate in it is damaged"))?;
    }
    match roots.len() > before {
        true => Ok(()),
        false => Err(refuse("it has no certificate")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_bundle_without_certificates_is_refused() {
        let mut roots = RootCertStore::empty();
        let file = tempfile::NamedTempFile::new().unwrap();
        let failure = add_bundle(&mut roots, "AWS_CA_BUNDLE", file.path()).unwrap_err();
        assert!(failure.hint.unwrap().contains("AWS_CA_BUNDLE"));
        assert!(add_bundle(&mut roots, "X", Path::new("/")).unwrap_err().why.contains("folder"));
        assert!(client_config().is_ok());
    }
}
