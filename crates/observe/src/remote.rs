//! Another machine as a source: this program, started there over ssh, reads its `/proc` for each sample.
//!
//! The program there sends its version in a line. Then it answers each line that it gets with its samples, one in a line
//! (`counter NAME UNIT VALUE` with tabs between), and an empty line.

use crate::error::ObserveError;
use crate::host;
use crate::processes::Server;
use lydite_database::{Observer, Sample, SampleKind, TargetError};
use lydite_faults::remote::{failure, program};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Start of a machine as the user writes it.
const SSH: &str = "ssh://";
/// Start of the line with the version.
const GREETING: &str = concat!("lydite ", env!("CARGO_PKG_VERSION"));
/// Units of samples.
const UNITS: [&str; 4] = ["/s", "bytes/s", "cores", "bytes"];

/// Reads `port:N`, the TCP port of a server; none if the text is wrong.
pub(crate) fn port(text: &str) -> Option<u16> {
    text.strip_prefix("port:")?.parse().ok().filter(|port| *port > 0)
}

/// A machine that ssh reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// Host as ssh has it, perhaps with a user and a port.
    host: String,
    /// TCP port of the database's server there.
    port: Option<u16>,
}

impl Remote {
    /// Reads `ssh://[USER@]HOST[:PORT][/port:N]`.
    ///
    /// # Errors
    /// The reason why the text is wrong, and what to do.
    pub(crate) fn parse(text: &str) -> Result<Self, ObserveError> {
        let wrong = || {
            let advice = "use ssh://root@db1, or ssh://root@db1/port:5432";
            ObserveError::Wrong(format!("{text:?} is no machine: {advice}"))
        };
        let rest = text.trim().strip_prefix(SSH).ok_or_else(wrong)?;
        let (host, port) = rest.split_once('/').map_or((rest, None), |(host, port)| (host, Some(port)));
        // A name that begins with a hyphen would be an option of ssh.
        if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
            return Err(wrong());
        }
        // Every user of this machine would see it in the list of processes.
        if host.rsplit_once('@').is_some_and(|(login, _)| login.contains(':')) {
            let problem =
                "the machine has a password, which ssh does not take: use ssh://USER@HOST and a key";
            return Err(ObserveError::Wrong(problem.into()));
        }
        let port = port.filter(|port| !port.is_empty());
        let port = port.map(|port| self::port(port).ok_or_else(wrong)).transpose()?;
        Ok(Self { host: host.to_owned(), port })
    }

    /// Returns the host, without a user.
    pub(crate) fn name(&self) -> &str {
        self.host.rsplit_once('@').map_or(&self.host, |(_, host)| host)
    }

    /// Starts the program there.
    ///
    /// # Errors
    /// ssh can't reach the host, or the program there is missing, of another version, or finds no server.
    pub fn observer(&self) -> Result<Box<dyn Observer>, ObserveError> {
        Ok(Box::new(Session::open(self)?))
    }

    /// Takes a sample.
    ///
    /// # Errors
    /// See [`Remote::observer`].
    pub fn check(&self) -> Result<(), ObserveError> {
        let sampled = Session::open(self)?.sample();
        sampled.map(drop).map_err(|error| ObserveError::Silent(format!("{self}: {}", error.message)))
    }
}

impl std::fmt::Display for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SSH}{}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, "/port:{port}"))
    }
}

/// The program on the other machine. It ends when its input does.
struct Session {
    host: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn open(remote: &Remote) -> Result<Self, ObserveError> {
        let failed = |error: io::Error| ObserveError::Silent(format!("{remote}: ssh can't be run: {error}"));
        let port = remote.port.map(|port| port.to_string());
        let mut arguments = vec!["observe-host"];
        arguments.extend(port.iter().flat_map(|port| ["--port", port.as_str()]));
        let mut command = program(Some(&remote.host), &arguments).map_err(failed)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in the terminal must not reach it: the samples go on until the run has ended.
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::Error::other("it has no pipes")));
        };
        let mut session =
            Self { host: remote.host.clone(), child, input: Some(input), output: BufReader::new(output) };
        match session.line() {
            Ok(line) if line == GREETING => Ok(session),
            Ok(line) if line.starts_with("lydite ") => {
                let problem = format!("{remote}: {line} is there, and {GREETING} here: install the same");
                Err(ObserveError::Silent(problem))
            }
            Ok(_) | Err(_) => Err(ObserveError::Silent(format!("{remote}: {}", session.last_words()))),
        }
    }

    /// Reads a line; an error at the end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end_matches('\n').len());
        Ok(line)
    }

    /// Ends the program and returns the reason of its failure.
    fn last_words(mut self) -> String {
        drop(self.input.take());
        let mut said = Vec::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _partial = io::Read::read_to_end(&mut stderr, &mut said);
        }
        match self.child.wait() {
            Ok(status) => {
                let output = std::process::Output { status, stdout: Vec::new(), stderr: said };
                failure(&self.host, &output)
            }
            Err(error) => error.to_string(),
        }
    }

    fn samples(&mut self) -> io::Result<Vec<Sample>> {
        if let Some(input) = &mut self.input {
            input.write_all(b"\n")?;
        }
        let mut samples = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(samples);
            }
            samples.push(
                read(&line).ok_or_else(|| io::Error::other(format!("it answered {line:?}: no sample")))?,
            );
        }
    }
}

impl Observer for Session {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        self.samples().map_err(|error| TargetError::database(format!("the connection by ssh: {error}")))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.input.take());
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Reads a sample; none if the line has another form.
fn read(line: &str) -> Option<Sample> {
    let mut fields = line.split('\t');
    let kind = match fields.next()? {
        "counter" => SampleKind::Counter,
        "gauge" => SampleKind::Gauge,
        _ => return None,
    };
    let name = fields.next()?.to_owned();
    let unit = fields.next()?;
    let unit = UNITS.into_iter().find(|known| *known == unit)?;
    let value = fields.next()?.parse().ok()?;
    fields.next().is_none().then_some(Sample { name, unit, kind, value })
}

/// Writes a sample as a line.
fn write(sample: &Sample) -> String {
    let kind = match sample.kind {
        SampleKind::Counter => "counter",
        SampleKind::Gauge => "gauge",
    };
    format!("{kind}\t{}\t{}\t{}\n", sample.name, sample.unit, sample.value)
}

/// Samples this machine, and the server on a port of it, for another one: answers each line of `input`.
///
/// # Errors
/// Nobody listens on the port, the system does not report, or an input or output error.
pub fn serve(port: Option<u16>, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), ObserveError> {
    let server = port.map(|port| Server::find("db".into(), port)).transpose()?;
    let mut observer = host::observer(server.into_iter().collect())?;
    let failed = |error: io::Error| ObserveError::Silent(error.to_string());
    let mut send =
        |text: &str| output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(failed);
    send(&format!("{GREETING}\n"))?;
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        line.clear();
        let samples = observer.sample().map_err(|error| ObserveError::Silent(error.message))?;
        send(&(samples.iter().map(write).collect::<String>() + "\n"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_host_and_perhaps_a_port_of_its_server() {
        for text in ["ssh://db1", "ssh://root@db1:2222", "ssh://root@db1/port:5432"] {
            assert_eq!(Remote::parse(text).map(|remote| remote.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(Remote::parse("ssh://root@db1:2222/").unwrap().name(), "db1:2222");
        for text in ["db1", "ssh://", "ssh://-oProxyCommand=x", "ssh://db1/pid:7", "ssh://db1/port:0"] {
            assert!(
                Remote::parse(text).unwrap_err().to_string().contains("is no machine: use ssh://root@db1"),
                "{text}"
            );
        }
    }

    #[test]
    fn samples_of_a_machine_arrive_as_they_were_taken() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut output = Vec::new();
        serve(Some(port), &mut &b"\n\n"[..], &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(GREETING));
        let answers: Vec<Vec<&str>> =
            lines.collect::<Vec<_>>().split(|line| line.is_empty()).map(<[_]>::to_vec).collect();
        assert_eq!(answers.len(), 3, "two answers, and nothing after the last: {text}");
        for line in &answers[0] {
            let sample = read(line).expect(line);
            assert_eq!(write(&sample), format!("{line}\n"));
        }
        let names =
            |answer: &[&str]| answer.iter().filter_map(|line| Some(read(line)?.name)).collect::<Vec<_>>();
        assert!(names(&answers[0]).contains(&"db.cpu".to_owned()), "{text}");
        assert_eq!(names(&answers[0]), names(&answers[1]));
    }

    #[test]
    fn other_lines_are_no_samples() {
        for line in ["", "counter", "counter\ta\tfurlongs\t1", "gauge\ta\tbytes\tx", "gauge\ta\tbytes\t1\t2"]
        {
            assert_eq!(read(line), None, "{line:?}");
        }
    }
}
