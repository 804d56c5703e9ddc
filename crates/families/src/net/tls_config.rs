//! The configuration of TLS to a server: what is checked, the CAs to trust, and the client's certificate.

use crate::net::SslMode;
use crate::net::tls_verifiers::{AnyCertificate, provider};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// TLS to a server.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) mode: SslMode,
    /// CAs of a file; `None` for those of the system.
    pub(crate) roots: Option<Arc<RootCertStore>>,
    /// The client's certificate and key.
    pub(crate) identity: Option<Arc<Identity>>,
}

/// A client's certificate, with those of its CAs, and its key.
pub(crate) struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

/// A file that the user named: the name of the option or variable, and the path.
pub(crate) type Named = (String, String);

/// The files of a TLS configuration.
#[derive(Default)]
pub(crate) struct Files {
    /// Certificates of the CAs to trust.
    pub(crate) root: Option<Named>,
    /// The client's certificate.
    pub(crate) certificate: Option<Named>,
    /// The certificate's key.
    pub(crate) key: Option<Named>,
}

impl Tls {
    /// Reads the files. Errors are one line for each file.
    pub(crate) fn read(mode: SslMode, files: Files, errors: &mut Vec<String>) -> Self {
        let roots = files.root.and_then(|named| roots(&named, errors)).map(Arc::new);
        // libpq checks the CA too if it has a file of it.
        let mode = if mode == SslMode::Require && roots.is_some() { SslMode::VerifyCa } else { mode };
        let identity = match (files.certificate, files.key) {
            (Some(certificate), Some(key)) => identity(&certificate, &key, errors).map(Arc::new),
            (None, None) => None,
            (Some((given, _)), None) => {
                errors.push(format!("{given} needs the key of the certificate: name its file too"));
                None
            }
            (None, Some((given, _))) => {
                errors.push(format!("{given} needs a certificate: name its file too"));
                None
            }
        };
        Self { mode, roots, identity }
    }
}

/// Reads the certificates of CAs.
fn roots((given, path): &Named, errors: &mut Vec<String>) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(given, path, errors)? {
        if let Err(error) = roots.add(certificate) {
            errors.push(format!("{given}={path}: {error}: name a file with certificates of CAs (PEM)"));
            return None;
        }
    }
    Some(roots)
}

/// Reads a client's certificate with its key.
fn identity(certificate: &Named, key: &Named, errors: &mut Vec<String>) -> Option<Identity> {
    let chain = certificates(&certificate.0, &certificate.1, errors);
    let (given, path) = key;
    let found = PrivateKeyDer::from_pem_file(Path::new(path));
    let key = found
        .map_err(|error| {
            let problem = match error {
                pem::Error::NoItemsFound => "it has no private key without a passphrase".into(),
                other => why(&other),
            };
            errors.push(format!("{given}={path}: {problem}: name a file with a private key (PEM)"));
        })
        .ok();
    let identity = Identity { chain: chain?, key: key? };
    let provider = provider();
    let fits = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            let trusting = Arc::new(AnyCertificate(provider));
            let builder = builder.dangerous().with_custom_certificate_verifier(trusting);
            builder.with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
        });
    if let Err(error) = fits {
        errors.push(format!("{given}={path}: {error}: name the key of the certificate"));
        return None;
    }
    Some(identity)
}

/// Reads the certificates of a file, at least one.
fn certificates(given: &str, path: &str, errors: &mut Vec<String>) -> Option<Vec<CertificateDer<'static>>> {
    let read =
        CertificateDer::pem_file_iter(Path::new(path)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let problem = match read {
        Ok(found) if !found.is_empty() => return Some(found),
        Ok(_) => "it has no certificate".to_owned(),
        Err(error) => why(&error),
    };
    errors.push(format!("{given}={path}: {problem}: name a file with certificates (PEM)"));
    None
}

fn why(error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => super::os_text(error),
        other => other.to_string(),
    }
}
