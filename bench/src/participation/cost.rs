//! What a participation consumes: as metered, what the indexes are of it, and what the contracts declare.

use latchkey_table::{Capacity, Schema};

use super::hall::{DOCUMENT, Mode, Used};
use super::recorded::Recorded;
use super::rush::Rushed;
use crate::Result;
use crate::report::Table;

/// The contracts, and the parts of a participation they are.
const INTAKE: &str = "EP-01";
const WORK: &str = "EP-04";

/// All that is known of it.
#[derive(Default)]
pub(crate) struct Costs {
    rows: Vec<Row>,
}

/// What one part of a participation consumes somewhere.
struct Row {
    contract: &'static str,
    what: &'static str,
    reads: f64,
    writes: f64,
    /// What each index is of the writes.
    indexes: [u64; 2],
}

const INDEXES: [&str; 2] = ["GSI1", "GSI2"];

impl Costs {
    /// What one participation of a mode consumes, and what would be left of it without an index.
    pub(crate) async fn record(&mut self, mode: Mode, recorded: &Recorded) -> Result<()> {
        let table = recorded.table.as_ref();
        let (intake, work) = recorded.cost(table.clone()).await?;
        let (mut of_intake, mut of_work) = ([0; 2], [0; 2]);
        for (name, (of_intake, of_work)) in
            INDEXES.iter().zip(of_intake.iter_mut().zip(&mut of_work))
        {
            let mut without: Schema = table.clone();
            without.indexes.retain(|index| index.name != *name);
            let left = recorded.cost(without).await?;
            *of_intake = intake.write.saturating_sub(left.0.write);
            *of_work = work.write.saturating_sub(left.1.write);
        }
        // It is the same in every mode.
        if self.rows.is_empty() {
            self.rows.push(Row::counted(INTAKE, "take part", intake, of_intake));
        }
        self.rows.push(Row::counted(WORK, mode.name(), work, of_work));
        Ok(())
    }

    /// What the service metered must be that.
    pub(crate) fn metered(&mut self, mode: Mode, rushed: &Rushed, used: &Used) {
        let calls = used.done.max(1.0);
        let parts = [
            (INTAKE, "take part", rushed.read_units / calls, rushed.write_units / calls),
            (WORK, mode.name(), used.read_units / calls, used.write_units / calls),
        ];
        for (contract, what, reads, writes) in parts {
            let known = |row: &&mut Row| row.contract == contract && row.what == what;
            if let Some(row) = self.rows.iter_mut().find(known) {
                (row.reads, row.writes) = (reads, writes);
            }
        }
    }

    pub(crate) fn table(&self) -> Result<Table> {
        let text = std::fs::read_to_string(DOCUMENT)?;
        let model = latchkey_model::check(&text).model;
        let mut table =
            Table::new(["contract", "", "WCU", "GSI1", "GSI2", "RCU", "declared at most"]);
        for row in &self.rows {
            let contract = model.bodies().into_iter().find(|contract| contract.id == row.contract);
            let stated = contract.and_then(|contract| contract.facts.cost.as_ref());
            let [first, second] = row.indexes;
            table.row([
                row.contract.to_owned(),
                row.what.to_owned(),
                format!("{:.1}", row.writes),
                first.to_string(),
                second.to_string(),
                format!("{:.1}", row.reads),
                stated.map_or_else(|| "–".to_owned(), |stated| stated.value.to_string()),
            ]);
        }
        Ok(table)
    }
}

impl Row {
    fn counted(
        contract: &'static str,
        what: &'static str,
        units: Capacity,
        indexes: [u64; 2],
    ) -> Row {
        let number = |count: u64| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        Row {
            contract,
            what,
            reads: number(units.read_halves) / 2.0,
            writes: number(units.write),
            indexes,
        }
    }
}
