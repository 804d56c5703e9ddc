//! Durability of a driver that declares it: its processes are killed right after a commit, and the next ones must find
//! all rows. So commits that wait in the driver's memory are found. The operating system and its cache go on, and so
//! does a server behind the driver: a loss of power is another test.

use super::concurrency::{connect, insist};
use super::expected::{inputs, play};
use super::{Kit, Seen, Trouble, load_rows, meta, same_rows};
use lydite_database::{Description, TableChecksum, Target};

/// Transactions between two kills. With few of them, a driver that keeps back the last ones loses these.
const ROUNDS: [usize; 4] = [1, 2, 13, 40];
/// Sessions that take turns, so that several processes hold commits.
const SESSIONS: usize = 3;

/// Loads the driver and the reference anew, plays the same transactions on both, and kills the driver's processes
/// several times. `loaded` is the rows as loaded.
pub(super) fn durability(
    kit: Kit<'_>,
    target: &dyn Target,
    description: &Description,
    loaded: &[TableChecksum],
) -> Seen {
    if !description.durable {
        return Err(Trouble::NotSupported("not declared: the driver says that a commit may be lost".into()));
    }
    if kit.temporary {
        return Err(Trouble::NotSupported("the database is temporary, and lost when it is closed".into()));
    }
    let program = target.capabilities().program()?;
    for target in [target, kit.reference] {
        target.reset()?;
        target.create_schema(&meta(kit.warehouses))?;
        load_rows(target, kit.warehouses)?;
    }
    same_rows(loaded, &target.checksums()?)?;
    let all = inputs(kit.warehouses, ROUNDS.iter().sum());
    let (mut played, mut killed) = (0, 0);
    for transactions in ROUNDS {
        let inputs = &all[played..played + transactions];
        let mut sessions = (0..SESSIONS).map(|_| connect(target)).collect::<Result<Vec<_>, _>>()?;
        for (number, input) in inputs.iter().enumerate() {
            insist(&mut *sessions[number % SESSIONS], input)?;
        }
        // The sessions are open still: a driver that saves its rows at their end must not get to it.
        killed += program.kill()?;
        drop(sessions);
        played += transactions;
        play(kit.reference, inputs)?;
        let lost = |what: &str| format!("SIGKILL after {} loses commits: {what}", acknowledged(played));
        let found = target.checksums().map_err(|error| lost(&error.message))?;
        same_rows(&kit.reference.checksums()?, &found).map_err(|trouble| match trouble {
            Trouble::Failed(why) | Trouble::Anomaly(why) | Trouble::NotSupported(why) => lost(&why),
        })?;
    }
    let processes = if killed == 1 { "process" } else { "processes" };
    Ok(format!(
        "{} are there after SIGKILL to {killed} {processes} of the driver in {} rounds; a loss of power is not tested, \
         nor the end of a server behind the driver",
        acknowledged(played),
        ROUNDS.len()
    ))
}

fn acknowledged(transactions: usize) -> String {
    let s = if transactions == 1 { "" } else { "s" };
    format!("{transactions} acknowledged transaction{s}")
}
