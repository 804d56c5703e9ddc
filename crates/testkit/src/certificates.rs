//! Certificates for tests, made by openssl.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Makes files in a directory that all users may read: a CA (`ca.pem`, `ca.key`), another one (`other`), and certificates
/// of the CA for a server on 127.0.0.1 (`server`) and for the user `certified` (`client`).
pub fn make(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("permissions");
    let authority = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30"];
    for name in ["ca", "other"] {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
        let subject = format!("/CN={name}");
        let files = ["-subj", &subject, "-keyout", &key, "-out", &certificate];
        openssl(directory, &[&authority[..], &files].concat());
    }
    let names = "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
    fs::write(directory.join("names"), names).expect("names");
    for (name, subject) in [("server", "/CN=server"), ("client", "/CN=certified")] {
        let (key, request, certificate) =
            (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
        let asked = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", subject];
        openssl(directory, &[&asked[..], &["-keyout", &key, "-out", &request]].concat());
        let signed =
            ["x509", "-req", "-in", &request, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
        openssl(
            directory,
            &[&signed[..], &["-days", "30", "-extfile", "names", "-out", &certificate]].concat(),
        );
    }
}

/// Runs openssl in a directory.
fn openssl(directory: &Path, arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).current_dir(directory).output().expect("openssl");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
