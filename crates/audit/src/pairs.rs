//! The engines of the tables, and pairs of tables in several.

use lydite_database::{TableEngines, Target, TargetError};
use lydite_tpcc::schema::Table;

/// Tables to choose from, one for each engine. HISTORY has no index, so its rows are counted only if it must be.
const CHOICE: [Table; 7] = [
    Table::Warehouse,
    Table::Customer,
    Table::Stock,
    Table::Orders,
    Table::NewOrder,
    Table::OrderLine,
    Table::History,
];

/// Engines of the tables.
#[derive(Clone, Debug, Default)]
pub struct Engines(Option<TableEngines>);

/// DISTRICT and a table of another engine.
pub(crate) struct Pair {
    pub(crate) table: Table,
    /// Engines of DISTRICT and of the table.
    pub(crate) engines: [String; 2],
}

impl Engines {
    /// Asks the database.
    ///
    /// # Errors
    /// The database fails.
    pub fn of(target: &dyn Target) -> Result<Self, TargetError> {
        match target.capabilities().balances {
            Some(balances) => balances.table_engines().map(Self),
            None => Ok(Self(None)),
        }
    }

    /// Returns DISTRICT with one table of each other engine.
    pub(crate) fn pairs(&self) -> Vec<Pair> {
        let Some(of) = &self.0 else { return Vec::new() };
        let Some(district) = of.get(&Table::District) else { return Vec::new() };
        let mut pairs: Vec<Pair> = Vec::new();
        for table in CHOICE {
            let Some(engine) = of.get(&table).filter(|engine| *engine != district) else { continue };
            if pairs.iter().all(|pair| pair.engines[1] != *engine) {
                pairs.push(Pair { table, engines: [district.clone(), engine.clone()] });
            }
        }
        pairs
    }

    /// Returns the reason why no test spans engines that there may be.
    pub(crate) fn note(&self) -> Option<String> {
        let Some(of) = &self.0 else {
            return Some(
                "the database does not report the engines of its tables, so no test spans them".into(),
            );
        };
        let item = of.get(&Table::Item)?;
        let alone = of.iter().all(|(table, engine)| *table == Table::Item || engine != item);
        alone.then(|| format!("ITEM alone is in {item}, and no transaction writes it with another table"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(others: &[(Table, &str)]) -> Engines {
        let mut of: TableEngines =
            Table::ALL.into_iter().map(|table| (table, "InnoDB".to_string())).collect();
        of.extend(others.iter().map(|(table, engine)| (*table, (*engine).to_string())));
        Engines(Some(of))
    }

    fn tables(engines: &Engines) -> Vec<Table> {
        engines.pairs().iter().map(|pair| pair.table).collect()
    }

    #[test]
    fn whichever_table_is_in_another_engine_some_pair_spans_both() {
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Item) {
            let engines = engines(&[(table, "ROCKSDB")]);
            let expected = if table == Table::District { Table::Warehouse } else { table };
            assert_eq!((tables(&engines), engines.note()), (vec![expected], None));
        }
        let three =
            engines(&[(Table::Stock, "ROCKSDB"), (Table::Orders, "ROCKSDB"), (Table::History, "Aria")]);
        assert_eq!(tables(&three), [Table::Stock, Table::History]);
    }

    #[test]
    fn one_engine_has_no_pairs_and_unknown_ones_are_said_to_be_unknown() {
        let one = engines(&[]);
        assert_eq!((tables(&one), one.note()), (vec![], None));
        let item = engines(&[(Table::Item, "ROCKSDB")]);
        assert!(
            tables(&item).is_empty()
                && item.note().is_some_and(|note| note.starts_with("ITEM alone is in ROCKSDB"))
        );
        let unknown = Engines::default();
        assert!(
            tables(&unknown).is_empty()
                && unknown.note().is_some_and(|note| note.contains("does not report"))
        );
    }
}
