//! The list of what Lydite has made in the database of a driver, and its removal. The entries of a store are judged one
//! by one. A driver that plays the transactions reports its tables, and nothing else is known of them.

use super::load_lock::LoadLock;
use super::target::{External, Speaking};
use super::transactions::Transactions;
use lydite_database::{DatabaseState, Inventory, Leaving, Others, TargetError, Thing, ThingKind};

impl Transactions {
    /// Lists the tables, as the driver reports them.
    fn made(&self) -> Result<Inventory, TargetError> {
        let contents = self.contents()?;
        let mut inventory = Inventory::default();
        let tables = contents.tables.into_iter();
        if contents.notes.is_empty() {
            let reason = "the driver has no notes that say that Lydite made it";
            inventory.stays.extend(tables.map(|table| Others::new(format!("table {table}"), reason)));
            return Ok(inventory);
        }
        inventory.ours.extend(tables.map(|table| Thing::new(ThingKind::Table, table)));
        inventory.ours.push(Thing::new(ThingKind::Table, "the notes"));
        inventory.notes.push("the driver's own request drop decides what is dropped with them".into());
        Ok(inventory)
    }
}

impl Leaving for External {
    fn inventory(&self) -> Result<Inventory, TargetError> {
        match self.speaking()? {
            Speaking::Store(target) => target.inventory(),
            Speaking::Transactions(target) => target.made(),
        }
    }

    fn remove(&self, seen: &Inventory) -> Result<(), TargetError> {
        let _alone = LoadLock::take(self.config())?;
        let place = &self.config().place;
        match self.speaking()? {
            Speaking::Store(target) => target.remove(seen),
            Speaking::Transactions(target) => {
                let now = target.made()?;
                now.check_removal(seen, place)?;
                if now.ours.is_empty() {
                    return Ok(());
                }
                target.reset()?;
                match target.state()? {
                    DatabaseState::Empty => Ok(()),
                    _ => Err(TargetError::database(format!(
                        "{place}: the driver says that it has dropped everything, and still reports tables or notes: mend \
                         its request drop"
                    ))),
                }
            }
        }
    }
}
