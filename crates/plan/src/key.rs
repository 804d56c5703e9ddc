//! Keys of a plan, and the flags of the command line that set them.

/// A key of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name in a plan file.
    pub name: &'static str,
    /// Flag that sets it; none if only a plan file and `--set` can.
    pub flag: Option<Flag>,
}

/// The flag of a key, which has the key's name with hyphens.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The letter of its short form.
    pub short: Option<char>,
    /// Name of its value in the help; none for a switch, which means `true`.
    pub value: Option<&'static str>,
    /// Text of the help.
    pub help: &'static str,
    /// The end of the help, if a table has it.
    pub listing: Option<fn() -> String>,
    /// Text between the values of a flag that may be given several times; none if it may not.
    pub repeated: Option<&'static str>,
    /// The value of the flag without one; none if it needs one.
    pub bare: Option<&'static str>,
}

impl Key {
    /// Creates a key without a flag.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, flag: None }
    }

    /// Gives the key a flag.
    pub(crate) const fn flag(self, value: &'static str, help: &'static str) -> Self {
        self.with(Flag::new(Some(value), help))
    }

    /// Gives the key a flag that takes no value.
    pub(crate) const fn switch(self, help: &'static str) -> Self {
        self.with(Flag::new(None, help))
    }

    /// Ends the help of the flag with the names of a table.
    pub(crate) const fn listing(self, listing: fn() -> String) -> Self {
        self.with(Flag { listing: Some(listing), ..self.given() })
    }

    /// Gives the flag a short form.
    pub(crate) const fn short(self, letter: char) -> Self {
        self.with(Flag { short: Some(letter), ..self.given() })
    }

    /// Lets the flag be given several times.
    pub(crate) const fn repeated(self, between: &'static str) -> Self {
        self.with(Flag { repeated: Some(between), ..self.given() })
    }

    /// Lets the flag be given without a value.
    pub(crate) const fn bare(self, value: &'static str) -> Self {
        self.with(Flag { bare: Some(value), ..self.given() })
    }

    const fn with(self, flag: Flag) -> Self {
        Self { flag: Some(flag), ..self }
    }

    /// Returns the flag. In a table, a key without one does not compile.
    const fn given(self) -> Flag {
        match self.flag {
            Some(flag) => flag,
            None => panic!("give the key a flag first"),
        }
    }
}

impl Flag {
    const fn new(value: Option<&'static str>, help: &'static str) -> Self {
        Self { short: None, value, help, listing: None, repeated: None, bare: None }
    }
}

/// Returns the names of keys.
pub fn names(keys: &[Key]) -> impl Iterator<Item = &'static str> {
    keys.iter().map(|key| key.name)
}
