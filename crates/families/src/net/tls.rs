//! TLS to the server.

use crate::net::tls_config::Tls;
use crate::net::tls_verifiers::{AnyCertificate, AnyName, provider};
use crate::net::{Host, SslMode, lost};
use lydite_database::sql::sql_error::SqlError;
use ring::digest::{SHA256, SHA384, SHA512, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

/// An encrypted stream.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Begins TLS on a stream whose server has agreed to it.
pub(crate) fn handshake(host: &Host, tls: &Tls, mut stream: TcpStream) -> Result<TlsStream, SqlError> {
    let Host::Tcp(host) = host else {
        return Err(SqlError::Lost("TLS needs a TCP host".into()));
    };
    let failed = |error: &rustls::Error| SqlError::Lost(format!("TLS: {error}: {}", advice(error, tls)));
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let builder = match tls.mode {
        SslMode::VerifyFull => builder.with_root_certificates(roots(tls)?),
        SslMode::VerifyCa => {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots(tls)?, provider).build();
            let verifier = verifier.map_err(|error| SqlError::Lost(format!("TLS: {error}")))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(verifier)))
        }
        SslMode::Disable | SslMode::Prefer | SslMode::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        }
    };
    let client = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(|error| failed(&error))?,
    };
    let name = ServerName::try_from(host.clone()).map_err(|error| {
        SqlError::Lost(format!("TLS: {host:?} is not a host name: {error}: check the URL"))
    })?;
    let mut connection = ClientConnection::new(Arc::new(client), name).map_err(|error| failed(&error))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| match error.kind() {
            // A server that does not answer is a lost connection, not a TLS error.
            io::ErrorKind::WouldBlock => lost(error),
            _ => match error.get_ref().and_then(|error| error.downcast_ref()) {
                Some(error) => failed(error),
                None => SqlError::Lost(format!("TLS: {error}: {NO_TLS}")),
            },
        })?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// Returns the CAs to trust: those of the configured file, or of the system.
fn roots(tls: &Tls) -> Result<Arc<RootCertStore>, SqlError> {
    if let Some(roots) = &tls.roots {
        return Ok(Arc::clone(roots));
    }
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (trusted, _) = roots.add_parsable_certificates(found.certs);
    if trusted == 0 {
        let why = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(SqlError::Lost(format!("TLS: there are no certificates of CAs to trust{why}: {TRUST}")));
    }
    Ok(Arc::new(roots))
}

/// Returns the hash of the server's certificate that ties a password's proof to the connection (RFC 5929,
/// `tls-server-end-point`); `None` for a certificate whose signature names no such hash.
pub(crate) fn end_point(stream: &TlsStream) -> Option<Vec<u8>> {
    let certificate = stream.conn.peer_certificates()?.first()?;
    let algorithm = match signature_algorithm(certificate)? {
        // RSA with MD5, SHA-1 and SHA-256, and ECDSA with SHA-1 and SHA-256.
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 4 | 5 | 11]
        | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1 | 3, 0..=2] => &SHA256,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3] => &SHA384,
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13] | [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4] => &SHA512,
        _ => return None,
    };
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// Returns the object identifier of the algorithm that signed a certificate.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (fields, _) = element(certificate)?;
    let (_, rest) = element(fields)?;
    let (algorithm, _) = element(rest)?;
    Some(element(algorithm)?.0)
}

/// Splits DER after its first element. Returns the contents of the element, and the rest.
fn element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[_, short], rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = match short {
        0..=0x7f => (usize::from(short), rest),
        _ => {
            let (bytes, rest) = rest.split_at_checked(usize::from(short & 0x7f))?;
            (
                bytes
                    .iter()
                    .try_fold(0_usize, |sum, &byte| Some(sum.checked_mul(256)? + usize::from(byte)))?,
                rest,
            )
        }
    };
    rest.split_at_checked(length)
}

/// Advice for a certificate of an unknown CA.
const TRUST: &str = "name a file with the certificate of your CA (PEM) in the environment variable SSL_CERT_FILE, or add it to \
                     the system's CAs";
/// Advice for a server that does not continue with TLS.
const NO_TLS: &str = "does the server speak TLS on this port, in version 1.2 or later?";

/// Returns the error of a server without TLS if the URL requires TLS.
pub(crate) fn not_offered() -> SqlError {
    SqlError::Lost(
        "the server offers no TLS: switch it on there, or write ?sslmode=disable to send everything in clear"
            .into(),
    )
}

/// Returns advice about a failed handshake.
fn advice(error: &rustls::Error, tls: &Tls) -> &'static str {
    let rustls::Error::InvalidCertificate(problem) = error else { return NO_TLS };
    match problem {
        // The signature is bad if the CA is another one of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature if tls.roots.is_some() => {
            "name the file of the CA that signed the server's certificate"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => TRUST,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "write in the URL a host name that the certificate has, or get a certificate for this name"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => "renew the server's certificate, or set the clock",
        CertificateError::Other(_) => {
            "give the server a certificate that your CA has signed for its host, not that of the CA itself"
        }
        _ => "give the server another certificate",
    }
}
