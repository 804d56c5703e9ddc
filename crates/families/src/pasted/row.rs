//! Parameters of connection strings as data: their names, and what each means for Lydite.

use super::draft::Draft;
use super::findings::Findings;
use super::trim::plain;

/// Meaning of one value of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Word {
    /// It sets the row's option to this value.
    Sets(&'static str),
    /// Lydite does the same without being told.
    Same,
    /// It is left out with a note.
    Ignored(&'static str),
    /// It is rejected. The text is the reason and the way out.
    Rejected(&'static str),
}

/// Unit of a time without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Milliseconds,
    /// The value has its units, as `1m30s`.
    Written,
}

/// Meaning of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    User,
    Password,
    /// Names or addresses, or the directory of a Unix socket.
    Host,
    /// Addresses to connect to instead of the names.
    Address,
    Port,
    Database,
    /// Path of a Unix socket.
    Socket,
    /// Path of a database without a server.
    Path,
    /// An option of the URL with the same value.
    Option(&'static str),
    /// An option of the URL that takes the first name of a list.
    First(&'static str),
    /// An option of the URL, by a list of values; the last word is for all others.
    Choice(&'static str, &'static [(&'static str, Word)], Word),
    /// An option of the URL that is a time. Zero is no limit.
    Time(&'static str, Unit),
    /// The time of connecting, which Lydite limits to [`CONNECT_TIMEOUT`](crate::net::CONNECT_TIMEOUT).
    Connecting(Unit),
    /// The function of the dialect reads it together with others. The text is for the book.
    Combined(&'static str),
}

/// Reader of the environment variable of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    None,
    /// The family reads it where the URL leaves the parameter out.
    Read(&'static str),
    /// The value is judged as the parameter's.
    Judged(&'static str),
}

impl Variable {
    /// Returns the variable's name.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Read(name) | Self::Judged(name) => Some(name),
        }
    }
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Row {
    /// Names; the first one identifies the parameter.
    pub(crate) names: &'static [&'static str],
    pub(crate) variable: Variable,
    pub(crate) meaning: Meaning,
    /// Option that a combined parameter decides on; empty if it is a part of the URL, or several.
    pub(crate) sets: &'static str,
}

impl Row {
    pub(crate) const fn new(names: &'static [&'static str], meaning: Meaning) -> Self {
        Self { names, variable: Variable::None, meaning, sets: "" }
    }

    /// Returns the row of a combined parameter with the option that it decides on.
    pub(crate) const fn sets(self, option: &'static str) -> Self {
        Self { sets: option, ..self }
    }

    /// Returns the row with an environment variable that the family reads.
    pub(crate) const fn read(self, variable: &'static str) -> Self {
        Self { variable: Variable::Read(variable), ..self }
    }

    /// Returns the row with an environment variable that is judged as the parameter.
    pub(crate) const fn judged(self, variable: &'static str) -> Self {
        Self { variable: Variable::Judged(variable), ..self }
    }
}

/// Parameters that mean nothing to Lydite, or that it can't follow, with one reason for all.
#[derive(Debug)]
pub(crate) struct Group {
    /// True if they are rejected, false if they are left out with a note.
    pub(crate) rejected: bool,
    pub(crate) why: &'static str,
    pub(crate) names: &'static [&'static str],
}

impl Group {
    pub(crate) const fn ignored(why: &'static str, names: &'static [&'static str]) -> Self {
        Self { rejected: false, why, names }
    }

    pub(crate) const fn rejected(why: &'static str, names: &'static [&'static str]) -> Self {
        Self { rejected: true, why, names }
    }
}

/// Form of a connection string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `SCHEME://…?NAME=VALUE&…`.
    Url,
    /// `jdbc:SCHEME:…?NAME=VALUE&…`.
    Jdbc,
    /// `NAME=VALUE NAME=VALUE …`.
    Keywords,
    /// `NAME=VALUE;NAME=VALUE;…`.
    Ado,
    /// `Driver=NAME;NAME=VALUE;…`. The schemes of a dialect are parts of the driver's name.
    Odbc,
    /// `USER:PASSWORD@PROTOCOL(ADDRESS)/DATABASE?NAME=VALUE&…`.
    Go,
}

/// A driver or a program with the connection strings that it takes.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// Name in messages and in the book.
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// Schemes of such strings, each with that of the URL. The first one is for forms without a scheme.
    pub(crate) schemes: &'static [(&'static str, &'static str)],
    /// Default of TLS and the like, for the book.
    pub(crate) about: &'static str,
    pub(crate) rows: &'static [&'static [Row]],
    pub(crate) groups: &'static [&'static [Group]],
    pub(crate) decoding: Decoding,
    /// True if the driver leaves out the text behind a `#`.
    pub(crate) has_fragments: bool,
    /// Option of the URL that names a Unix socket.
    pub(crate) socket: &'static str,
    /// Names that this dialect has in common with others, and that its users write.
    pub(crate) typical: &'static [&'static str],
    /// Reads the combined parameters.
    pub(crate) finish: fn(&Given, &mut Draft, &mut Findings),
    /// Settings from outside of the string.
    pub(crate) surroundings: Option<Surroundings>,
}

/// Decoding of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// They are as they stand.
    None,
    /// `%` and two hexadecimal digits are a byte.
    Percent,
    /// The same, and a plus sign is a space.
    Form,
}

/// Settings from outside of a connection string.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    /// Returns true if there are some that change the target.
    pub(crate) are_set: fn() -> bool,
    /// Gives the draft what the string leaves out.
    pub(crate) fill: fn(&Given, &mut Draft, &mut Findings),
}

/// Entry of a dialect.
pub(crate) enum Entry {
    Row(&'static Row),
    Group(&'static Group),
}

impl Dialect {
    /// Returns the rows of all tables.
    pub(crate) fn all_rows(&self) -> impl Iterator<Item = &'static Row> {
        self.rows.iter().flat_map(|rows| rows.iter())
    }

    /// Returns the groups of all tables.
    pub(crate) fn all_groups(&self) -> impl Iterator<Item = &'static Group> {
        self.groups.iter().flat_map(|groups| groups.iter())
    }

    /// Returns all names, as the book lists them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let rows = self.all_rows().flat_map(|row| row.names.iter());
        rows.chain(self.all_groups().flat_map(|group| group.names.iter())).copied()
    }

    /// Returns the entry of a parameter. Names have neither case nor spaces.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        let name = plain(name);
        let has = |names: &[&str]| names.iter().any(|known| plain(known) == name);
        let row = self.all_rows().find(|row| has(row.names));
        row.map(Entry::Row).or_else(|| self.all_groups().find(|group| has(group.names)).map(Entry::Group))
    }

    /// True if a parameter is known, and its value too where there is a list of values.
    pub(crate) fn takes(&self, name: &str, value: &str) -> bool {
        match self.entry(name) {
            None => false,
            Some(Entry::Row(Row { meaning: Meaning::Choice(_, words, Word::Rejected(_)), .. })) => {
                words.iter().any(|(known, _)| is_same(known, value))
            }
            Some(_) => true,
        }
    }

    /// True if a parameter with the name of an option of Lydite's URLs, as it has it, means another option or a part.
    pub(crate) fn translates(&self, name: &str, value: &str) -> bool {
        match self.entry(name) {
            Some(Entry::Row(row)) => match row.meaning {
                Meaning::Choice(option, words, _) => words.iter().any(|(known, word)| {
                    is_same(known, value)
                        && !matches!(word, Word::Sets(set) if *set == value && option == name)
                }),
                Meaning::Option(option) => option != name,
                Meaning::Connecting(_) => false,
                _ => true,
            },
            _ => false,
        }
    }
}

/// True if a value is the known one: truth values have several words, others no case.
pub(crate) fn is_same(known: &str, value: &str) -> bool {
    match truth(known).filter(|_| known.parse::<f64>().is_err()) {
        Some(known) => truth(value) == Some(known),
        None => plain(known) == plain(value),
    }
}

/// The parameters of a connection string that have a row, with their values.
#[derive(Default)]
pub(crate) struct Given(pub(crate) Vec<(&'static Row, String)>);

impl Given {
    /// Returns the value of the parameter with this first name.
    pub(crate) fn get(&self, first: &str) -> Option<&str> {
        self.0.iter().find(|(row, _)| row.names[0] == first).map(|(_, value)| value.as_str())
    }

    /// True if the parameter with this first name is given.
    pub(crate) fn has(&self, first: &str) -> bool {
        self.get(first).is_some()
    }

    /// Returns the value of a switch: `None` if it is not given or no truth value. An empty value is true.
    pub(crate) fn switch(&self, first: &str) -> Option<bool> {
        truth(self.get(first)?)
    }
}

/// Reads a truth value.
pub(crate) fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "" | "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}
