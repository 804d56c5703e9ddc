//! Another host, which is an SSH server on the loopback: faults on it, and its observation.

use crate::faults::{Lab, assert_injected, wait_until};
use crate::program::{Program, json, text, windows_from};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// An SSH server with keys of its own, ended with the test.
struct Host {
    server: Child,
    directory: PathBuf,
    port: u16,
}

impl Host {
    /// Starts it in a new directory. Its sessions find the program under test, and keep notes in `notes`.
    fn start(directory: &Path, notes: &Path) -> Self {
        let directory = directory.join("ssh");
        fs::create_dir(&directory).expect("a directory");
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", text(&directory.join(key))])
                .status();
            assert!(made.expect("ssh-keygen, of the package openssh-client").success());
        }
        fs::copy(directory.join("user.pub"), directory.join("authorized")).expect("a key");
        let port = TcpListener::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("it").port();
        let program = Path::new(env!("CARGO_BIN_EXE_lydite")).parent().expect("a directory");
        let file = |name: &str| directory.join(name).display().to_string();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             PasswordAuthentication no\nPermitRootLogin prohibit-password\nStrictModes no\nUsePAM no\n\
             SetEnv PATH={}:/usr/bin:/bin TMPDIR={} XDG_RUNTIME_DIR=\n",
            file("host"),
            file("authorized"),
            program.display(),
            notes.display()
        );
        fs::write(directory.join("sshd_config"), config).expect("a configuration");
        fs::write(
            directory.join("config"),
            format!(
                "Host *\nIdentityFile {}\nUserKnownHostsFile {}\nStrictHostKeyChecking accept-new\n",
                file("user"),
                file("known")
            ),
        )
        .expect("a configuration");
        // The package makes it only when its service starts.
        fs::create_dir_all("/run/sshd").expect("the directory of sshd");
        let server = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &file("sshd_config")])
            .stdin(Stdio::null())
            .stderr(fs::File::create(directory.join("log")).expect("a log"))
            .spawn()
            .expect("sshd, of the package openssh-server");
        let host = Self { server, directory, port };
        wait_until("sshd listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        host
    }

    /// The text of a place on it.
    fn place(&self, place: &str) -> String {
        format!("ssh://root@127.0.0.1:{}/{place}", self.port)
    }

    /// A program that reaches it.
    fn program(&self, lab: &Lab, arguments: &[&str]) -> Program {
        let config = self.directory.join("config");
        lab.place.program(arguments).env("LYDITE_SSH", format!("ssh -F {}", config.display()))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}

#[test]
fn a_fault_on_another_host_is_injected_and_undone_there_also_if_lydite_is_killed() {
    let lab = Lab::new();
    let notes = lab.place.file("notes");
    fs::create_dir(&notes).expect("a directory");
    let host = Host::start(lab.place.directory.path(), &notes);
    let place = host.place(&format!("pid:{}", lab.postmaster().expect("a server")));
    let result = lab.place.file("result.json");
    let run = |fault: &str, duration: &str| {
        let fault = format!("{fault}/{place}");
        let run = ["run", &lab.url, "--duration", duration, "--warmup", "0s", "--quiet", "--no-check"];
        let more = ["--fault", fault.as_str(), "--json", text(&result)];
        host.program(&lab, &[&run[..], &more].concat()).start()
    };
    let brief = run("stop@0.5s..1.5s", "3s").wait().code(0);
    let missing = "R_e and T_e will be missing: only 0 s lie before the first event";
    assert!(brief.stderr.contains(missing), "{}", brief.stderr);
    assert_injected(&json(&result)["faults"][0], &["stopped ", " processes, state T"]);
    assert!(!lab.stands_still());

    let mut killed = run("stop@0.2s..590s", "600s");
    let listed = || host.program(&lab, &["faults", "list", &host.place("")]).run().code(0).stdout;
    killed.wait_until("the fault", || lab.stands_still() && listed().contains("guarded by"));
    assert_eq!(lab.place.list(), "no active faults\n", "the note is on the other host");
    killed.signal(libc::SIGKILL);
    killed.wait();
    wait_until("the server goes on", || !lab.stands_still());
    wait_until("no fault is left", || listed() == "no active faults\n");

    let stranger = host.place(&format!("pid:{}", host.server.id()));
    let fault = format!("stop@1s..2s/{stranger}");
    let ended = host.program(&lab, &["run", &lab.url, "--fault", &fault]).run().code(2);
    assert!(ended.only_error().contains("is not the database under test"), "{ended:?}");
    fs::remove_file(host.directory.join("authorized")).expect("the keys");
    // Without the connection that earlier commands share.
    let fresh = lab.place.file("fresh");
    fs::create_dir(&fresh).expect("a directory");
    let refused =
        host.program(&lab, &["run", &lab.url, "--fault", &fault]).env("TMPDIR", &fresh).run().code(2);
    assert!(refused.only_error().contains("ssh must reach the host without a question"), "{refused:?}");
}

#[test]
fn the_machine_of_the_database_is_observed_over_ssh() {
    let lab = Lab::new();
    let host = Host::start(lab.place.directory.path(), lab.place.directory.path());
    let port = lab.url.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()).expect("a port");
    let result = lab.place.file("result.json");
    let machine = format!("host={}", host.place(&format!("port:{port}")));
    let source = format!("host:127.0.0.1:{}", host.port);
    let values = |observed: &[serde_json::Value], name: &str| -> Vec<f64> {
        let series = observed.iter().find(|one| one["source"] == *source && one["name"] == name);
        let values = series.and_then(|series| series["values"].as_array());
        values.into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
    };
    // A machine under load may take longer to connect by ssh than a short window lasts.
    windows_from("3s", |window| {
        let run = ["run", &lab.url, "--duration", window, "--warmup", "0s", "--quiet", "--no-check"];
        host.program(&lab, &[&run[..], &["--observe", &machine, "--json", text(&result)]].concat())
            .run()
            .code(0);
        let observed = json(&result)["observed"].as_array().cloned().unwrap_or_default();
        let (cores, memory) = (values(&observed, "cpu.user"), values(&observed, "db.memory"));
        if cores.is_empty() || memory.is_empty() {
            return None;
        }
        assert!(cores.iter().any(|cores| *cores > 0.0), "{observed:?}");
        assert!(memory.iter().all(|bytes| *bytes > 0.0), "{observed:?}");
        Some(())
    });

    let wrong = host.place("port:1");
    let refused = host.program(&lab, &["run", &lab.url, "--observe", &format!("host={wrong}")]).run().code(2);
    assert!(refused.only_error().contains("no process listens on"), "{refused:?}");
}
