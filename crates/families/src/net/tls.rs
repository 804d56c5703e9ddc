//! TLS to the server.

use crate::net::{Host, SslMode, lost};
use lydite_database::sql::sql_error::SqlError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

/// An encrypted stream.
pub(crate) type TlsStream = StreamOwned<ClientConnection, TcpStream>;

/// Begins TLS on a stream whose server has agreed to it.
pub(crate) fn handshake(host: &Host, sslmode: SslMode, mut stream: TcpStream) -> Result<TlsStream, SqlError> {
    let Host::Tcp(host) = host else {
        return Err(SqlError::Lost("TLS needs a TCP host".into()));
    };
    let failed = |error: &rustls::Error| SqlError::Lost(format!("TLS: {error}: {}", advice(error)));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let client = if sslmode == SslMode::VerifyFull {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        let (trusted, _) = roots.add_parsable_certificates(found.certs);
        if trusted == 0 {
            let why = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
            return Err(SqlError::Lost(format!(
                "TLS: there are no certificates of CAs to trust{why}: {TRUST}"
            )));
        }
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
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
fn advice(error: &rustls::Error) -> &'static str {
    let rustls::Error::InvalidCertificate(problem) = error else { return NO_TLS };
    match problem {
        // The signature is bad if the CA is another one of the same name.
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

/// Verifier that accepts any certificate, as libpq does below `verify-ca`. It protects against listening, not against
/// an impostor.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
