//! Small servers that speak the protocols of PostgreSQL and MySQL, and replay answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A row of an answer.
pub(crate) type Row = Vec<Option<String>>;

/// Function that answers a statement with rows. `None` for a statement that the server rejects or executes.
pub(crate) type Answers = dyn Fn(&str) -> Option<Vec<Row>> + Send + Sync;

/// Makes a row of texts without nulls.
pub(crate) fn row<const COLUMNS: usize>(values: [&str; COLUMNS]) -> Row {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

/// First column of a row that stands for an error of MySQL's protocol.
const ERROR: &str = "\0error";

/// Makes the only row of an answer that is an error, with its code and message.
pub(crate) fn error(code: u16, message: &str) -> Row {
    row([ERROR, &code.to_string(), message])
}

/// Statements at the beginning of a connection that have no recorded answers, and whose answers are empty.
const BEGINNINGS: [&str; 4] = [
    "SELECT name, setting, source FROM pg_settings",
    "SHOW SESSION VARIABLES",
    "SET SESSION sql_select_limit",
    "SELECT connection_id() + 0",
];

/// A server that replays answers, and the statements that it received.
pub(crate) struct Replay {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Replay {
    /// Takes the statements that were received so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.heard.lock().expect("a lock"))
    }

    fn start(
        answers: Box<Answers>,
        serve: impl Fn(TcpStream, &dyn Fn(&str) -> Option<Vec<Row>>) -> Option<()> + Send + Sync + 'static,
    ) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&heard);
        let port = listen(move |stream| {
            let answer = |sql: &str| {
                // A new connection asks for what it has inherited, and whether it leads to the server itself.
                if BEGINNINGS.iter().any(|beginning| sql.starts_with(beginning)) {
                    return answers(sql).or_else(|| Some(Vec::new()));
                }
                shared.lock().expect("a lock").push(sql.to_owned());
                answers(sql)
            };
            // A client that has ended needs no answer.
            let _gone = serve(stream, &answer);
        });
        Self { port, heard }
    }

    /// Starts a server with PostgreSQL's protocol. It rejects statements without an answer. It prepares any statement, and
    /// executes none of them.
    pub(crate) fn postgres(answers: Box<Answers>) -> Self {
        Self::start(answers, |stream, answer| Postgres(stream).serve(answer))
    }

    /// Starts a server with MySQL's protocol. It executes statements without an answer.
    pub(crate) fn mysql(version: &'static str, answers: Box<Answers>) -> Self {
        Self::start(answers, move |stream, answer| {
            let mut connection = Mysql::new(stream);
            connection.greet(version)?;
            loop {
                match answer(&connection.statement()?) {
                    Some(rows) if rows.first().is_some_and(|row| row[0].as_deref() == Some(ERROR)) => {
                        let part = |column: usize| rows[0][column].as_deref().expect("a part of the error");
                        let code: u16 = part(1).parse().expect("a code");
                        connection.send(
                            &[&b"\xff"[..], &code.to_le_bytes(), b"#HY000", part(2).as_bytes()].concat(),
                        );
                    }
                    Some(rows) => {
                        let rows: Vec<Vec<Option<&str>>> =
                            rows.iter().map(|row| row.iter().map(Option::as_deref).collect()).collect();
                        connection.answer(rows.first().map_or(1, Vec::len) as u8, &rows);
                    }
                    None => connection.ok(0),
                }
            }
        })
    }
}

/// Listens on a free port, and gives each connection to `serve` on a thread of its own. Returns the port.
pub(crate) fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// A connection with PostgreSQL's protocol.
struct Postgres(TcpStream);

impl Postgres {
    fn send(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        let length = (body.len() as u32 + 4).to_be_bytes();
        self.0.write_all(&[&[kind], &length[..], body].concat()).ok()
    }

    fn body(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).ok()?;
        let mut body = vec![0; (u32::from_be_bytes(length) as usize).checked_sub(4)?];
        self.0.read_exact(&mut body).ok()?;
        Some(body)
    }

    fn serve(mut self, answer: &dyn Fn(&str) -> Option<Vec<Row>>) -> Option<()> {
        /// The code of a request for TLS.
        const TLS: [u8; 4] = 80_877_103_u32.to_be_bytes();
        while self.body()?.starts_with(&TLS) {
            self.0.write_all(b"N").ok()?;
        }
        self.send(b'R', &[0; 4])?;
        self.send(b'Z', b"I")?;
        loop {
            let mut kind = [0];
            self.0.read_exact(&mut kind).ok()?;
            let body = self.body()?;
            match kind[0] {
                b'Q' => {}
                b'P' => {
                    let text = body.split(|byte| *byte == 0).nth(1)?;
                    let _prepared = answer(std::str::from_utf8(text).expect("a statement"));
                    self.send(b'1', b"")?;
                    continue;
                }
                // No parameters and no columns.
                b'D' => {
                    self.send(b't', &[0, 0])?;
                    self.send(b'n', b"")?;
                    continue;
                }
                b'S' => {
                    self.send(b'Z', b"I")?;
                    continue;
                }
                _ => return None,
            }
            let sql = String::from_utf8(body.strip_suffix(b"\0")?.to_vec()).expect("a statement");
            match answer(&sql) {
                Some(rows) => {
                    let columns = (rows.first().map_or(0, Vec::len) as u16).to_be_bytes();
                    // A text of any length; the first two numbers name a column of a table.
                    let column = [&b"c\0\0\0\0\0\0\0"[..], &[0, 0, 0, 25], &[255; 6], &[0, 0]].concat();
                    let described = column.repeat(rows.first().map_or(0, Vec::len));
                    self.send(b'T', &[&columns[..], &described].concat())?;
                    for row in &rows {
                        let mut data = columns.to_vec();
                        for value in row {
                            match value {
                                None => data.extend((-1_i32).to_be_bytes()),
                                Some(text) => {
                                    data.extend((text.len() as u32).to_be_bytes());
                                    data.extend(text.as_bytes());
                                }
                            }
                        }
                        self.send(b'D', &data)?;
                    }
                    self.send(b'C', b"SELECT\0")?;
                }
                None => self.send(b'E', b"SERROR\0C42601\0Mno answer is recorded\0\0")?,
            }
            self.send(b'Z', b"I")?;
        }
    }
}

/// A connection with MySQL's protocol.
pub(crate) struct Mysql {
    stream: TcpStream,
    sequence: u8,
}

impl Mysql {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, sequence: 0 }
    }

    /// Greets a client as a server of this version, and lets it in.
    pub(crate) fn greet(&mut self, version: &str) -> Option<()> {
        // Protocol 4.1, database, local files, transactions, authentication as of 4.1, several statements.
        let (low, high) =
            ((1_u16 << 3 | 1 << 7 | 1 << 9 | 1 << 13 | 1 << 15).to_le_bytes(), 0b111_u16.to_le_bytes());
        let greeting = [
            &b"\x0a"[..],
            version.as_bytes(),
            b"\0\x07\0\0\0abcdefgh\0",
            &low,
            &[46, 2, 0],
            &high,
            &[21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            b"ijklmnopqrst\0",
        ];
        self.send(&greeting.concat());
        self.packet()?;
        self.ok(0);
        Some(())
    }

    /// Returns the next statement, or `None` after the client has closed the connection.
    pub(crate) fn statement(&mut self) -> Option<String> {
        let packet = self.packet()?;
        Some(String::from_utf8(packet.get(1..)?.to_vec()).expect("a statement"))
    }

    pub(crate) fn send(&mut self, payload: &[u8]) {
        let length = (payload.len() as u32).to_le_bytes();
        let header = [length[0], length[1], length[2], self.sequence];
        // A client that has ended needs no answer.
        let _gone = self.stream.write_all(&[&header[..], payload].concat());
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Returns the next packet, or `None` after the client has closed the connection.
    pub(crate) fn packet(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        self.sequence = header[3].wrapping_add(1);
        Some(payload)
    }

    pub(crate) fn ok(&mut self, affected: usize) {
        let count = (affected as u32).to_le_bytes();
        self.send(&[0, 0xfd, count[0], count[1], count[2], 0, 2, 0, 0, 0]);
    }

    pub(crate) fn rows(&mut self, columns: u8, rows: &[&[&str]]) {
        let rows: Vec<Vec<Option<&str>>> =
            rows.iter().map(|row| row.iter().map(|field| Some(*field)).collect()).collect();
        self.answer(columns, &rows);
    }

    /// Sends rows of texts that are shorter than 251 bytes.
    fn answer(&mut self, columns: u8, rows: &[Vec<Option<&str>>]) {
        const END: [u8; 5] = [0xfe, 0, 0, 2, 0];
        self.send(&[columns]);
        // No client reads the names of the columns.
        (0..columns).for_each(|_| self.send(b"column"));
        self.send(&END);
        for row in rows {
            let fields = row.iter().flat_map(|field| match field {
                None => vec![0xfb],
                Some(field) => [&[field.len() as u8], field.as_bytes()].concat(),
            });
            self.send(&fields.collect::<Vec<u8>>());
        }
        self.send(&END);
    }
}
