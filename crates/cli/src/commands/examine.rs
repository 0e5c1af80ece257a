//! `latchkey examine`

use latchkey_runtime::{Converted, Finding, Matter, System};
use latchkey_table::{Item, Key, Schema};

use crate::Failure;
use crate::arguments::Examine;
use crate::transfer::Table;
use crate::transfer::meter::{Meter, Total, grouped};
use crate::transfer::tables::Which;
use crate::transfer::tally::{Tally, arguments as named};

/// How many items that cannot be converted are shown.
const EXAMPLES_MAX: usize = 3;

pub(crate) fn run(arguments: &Examine, colour: bool) -> Result<(), Failure> {
    arguments.table.read(colour, async |table, system| {
        let found = examine(&table, &system, arguments.items.unwrap_or(u64::MAX)).await?;
        print!("{}", found.tally.told(&system));
        let items = if found.items == 1 { "item" } else { "items" };
        let part = if found.whole { "" } else { "; there are more" };
        println!("examined {} {items} of {}{part}", grouped(found.items), table.shown);
        found.print_remedy(&named(&arguments.table));
        if found.tally.is_bad() { Err(Failure::Printed) } else { Ok(()) }
    })
}

/// What was found in a table.
struct Found {
    tally: Tally,
    /// How many items were read.
    items: u64,
    /// Whether these are all.
    whole: bool,
    /// How many can be written as the document stores them, and how many of these under another key.
    mended: u64,
    moved: u64,
    /// How many cannot, and why, of some.
    left: u64,
    reasons: Vec<(Key, String)>,
}

/// Reads a table, so many items at most.
async fn examine(table: &Table, system: &System, most: u64) -> Result<Found, Failure> {
    let mut found = Found {
        tally: Tally::default(),
        items: 0,
        whole: true,
        mended: 0,
        moved: 0,
        left: 0,
        reasons: Vec::new(),
    };
    let schema = table.schemas().main();
    let mut meter = Meter::new(Total::Unknown, 0);
    let mut after = None;
    while found.items < most {
        let page = table.read(Which::Main, after.as_ref()).await.map_err(|error| {
            meter.clear();
            Failure::Unusable(format!("{} cannot be read: {error}", table.shown))
        })?;
        let room = usize::try_from(most - found.items).unwrap_or(usize::MAX);
        found.whole = page.resume.is_none() && page.items.len() <= room;
        for item in page.items.into_iter().take(room) {
            found.take(system, schema, item).map_err(Failure::unusable)?;
        }
        meter.tell(found.items, 0);
        match page.resume {
            Some(resume) => after = Some(resume),
            None => break,
        }
    }
    meter.clear();
    Ok(found)
}

impl Found {
    fn take(
        &mut self,
        system: &System,
        schema: &Schema,
        item: Item,
    ) -> Result<(), latchkey_table::Invalid> {
        self.items += 1;
        let findings = system.findings(&item);
        if findings.is_empty() {
            return Ok(());
        }
        let key = schema.key_of(&item)?;
        // What contracts pass over in an index stays where it is.
        let is_wrong = |finding: &Finding| {
            finding.entity.is_some() && !matches!(finding.matter, Matter::Stray(_))
        };
        let of_entity = findings.iter().any(is_wrong);
        self.tally.take(&key, findings);
        if !of_entity {
            return Ok(());
        }
        let Converted { item, failures } = system.convert(item);
        let still = system.findings(&item);
        let still: Vec<String> =
            still.iter().filter(|one| is_wrong(one)).map(ToString::to_string).collect();
        if still.is_empty() {
            self.mended += 1;
            self.moved += u64::from(schema.key_of(&item)? != key);
            return Ok(());
        }
        self.left += 1;
        if self.reasons.len() < EXAMPLES_MAX {
            let why = if failures.is_empty() { still } else { failures };
            self.reasons.push((key, why.join("; ")));
        }
        Ok(())
    }

    /// Prints what to do.
    fn print_remedy(&self, named: &str) {
        if self.left > 0 {
            println!("{} cannot be converted; correct the lines of an export:", grouped(self.left));
            for (Key { partition, sort }, why) in &self.reasons {
                println!("  {partition} {sort}: {why}");
            }
        }
        if self.mended == 0 {
            return;
        }
        let foreign = if self.tally.has_foreign() { " --foreign" } else { "" };
        println!("to write {} over as the document stores them:", grouped(self.mended));
        println!("  latchkey export{named} --out items.json");
        match self.moved {
            0 => println!("  latchkey import{named} --from items.json --convert --merge{foreign}"),
            moved => {
                let moved = grouped(moved);
                println!("  latchkey import … --from items.json --convert{foreign}");
                println!(
                    "into a new table: {moved} get another key, and would be in this one twice"
                );
            }
        }
    }
}
