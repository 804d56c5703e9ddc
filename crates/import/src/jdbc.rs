//! JDBC URLs. They are read as a command reads its target.

use crate::draft::{Draft, undriven};
use crate::fate::Fate;
use crate::given::Given;
use crate::place::{self, Host};
use crate::product::{Product, other};
use crate::setting::named;
use lydite_families::{Outcome, Understood, understand};

/// Reads a JDBC URL into the place of the database. Parameters become parts of the setting.
pub(crate) fn read(draft: &mut Draft, given: &Given) -> Fate {
    if draft.place.undriven.is_some() {
        return Fate::dropped("there is no URL for that database");
    }
    let text = given.text();
    let jdbc = text.split_at_checked(5).filter(|(begin, _)| begin.eq_ignore_ascii_case("jdbc:"));
    let Some((word, _)) = jdbc.and_then(|(_, rest)| rest.split_once(':')) else {
        return Fate::unknown("is no JDBC URL: write the URL yourself");
    };
    if let Some(name) = other(word) {
        draft.place.undriven = Some(name);
        return Fate::none(undriven(name));
    }
    // The type of the database says more than the URL of the driver, unless it speaks another protocol.
    let of_url = Product::named(word);
    let speaks = |known: &&'static Product| of_url.is_some_and(|of_url| of_url.protocol == known.protocol);
    let product = draft.place.product.filter(speaks).or(of_url);
    let understood = match understand(text, product.map(|product| product.scheme)) {
        Ok(understood) => understood,
        Err(errors) => {
            let errors = errors.iter().map(|error| error.strip_prefix("target ").unwrap_or(error));
            return Fate::unknown(errors.collect::<Vec<_>>().join("; "));
        }
    };
    draft.place.product = product;
    let Some(fate) = take_place(draft, &understood) else {
        return Fate::unknown(
            "has a host, user, database or path with letters that a URL can't have: write the URL yourself",
        );
    };
    draft.place.options.extend(understood.options);
    draft.notes.extend(understood.notes.iter().map(|note| format!("{}: {note}", given.name)));
    let in_parameter = understood.parameters.iter().any(|(_, outcome)| *outcome == Outcome::Secret);
    if understood.has_password && !in_parameter {
        draft.parts.push(("password".to_owned(), Fate::secret()));
    }
    let parts = understood.parameters.into_iter();
    draft.parts.extend(parts.map(|(name, outcome)| (named(&name), outcome_as_fate(outcome))));
    fate
}

/// Puts host, user and database, or the path, into the draft; none if one of them is no name, and nothing changes.
fn take_place(draft: &mut Draft, understood: &Understood) -> Option<Fate> {
    if let Some(path) = &understood.path {
        // Without a path it is a temporary file.
        let path = if path.is_empty() { String::new() } else { place::path(path)? };
        draft.place.file = Some(path);
        return Some(Fate::translated("the URL's path"));
    }
    let host = |(name, port): &(String, Option<u16>)| Some(Host { port: *port, ..Host::named(name)? });
    let hosts: Vec<Host> = understood.hosts.iter().map(host).collect::<Option<_>>()?;
    let user = match &understood.user {
        Some(user) => Some(place::name(user)?),
        None => None,
    };
    let database = match &understood.database {
        Some(database) => Some(place::database(database)?),
        None => None,
    };
    draft.place.hosts = hosts;
    if let Some(user) = user {
        draft.set_user(user);
    }
    draft.place.database = database.or(draft.place.database.take());
    Some(Fate::translated("the URL's host and database"))
}

fn outcome_as_fate(outcome: Outcome) -> Fate {
    match outcome {
        Outcome::Used(part) => Fate::translated(format!("the URL's {part}")),
        Outcome::Same => Fate::translated("Lydite does the same"),
        Outcome::LeftOut(why) => Fate::dropped(why),
        Outcome::Rejected(why) => Fate::none(why),
        Outcome::Unknown(why) => Fate::unknown(why),
        Outcome::Secret => Fate::secret(),
    }
}
