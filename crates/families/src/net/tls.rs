//! TLS to the server.

use crate::net::{Host, SslMode, lost};
use lydite_database::sql::connection::SqlError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
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
    let failed = |error: &dyn std::fmt::Display| SqlError::Lost(format!("TLS: {error}: check ?sslmode="));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let client = if sslmode == SslMode::VerifyFull {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    let name = ServerName::try_from(host.clone()).map_err(|error| failed(&error))?;
    let mut connection = ClientConnection::new(Arc::new(client), name).map_err(|error| failed(&error))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| match error.kind() {
            // A server that does not answer is no matter of TLS.
            io::ErrorKind::WouldBlock => lost(error),
            _ => failed(&error),
        })?;
    }
    Ok(StreamOwned::new(connection, stream))
}

/// Takes any certificate, as libpq does below `verify-ca`: against listening, not against an impostor.
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
