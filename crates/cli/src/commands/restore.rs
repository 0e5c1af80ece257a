//! `latchkey restore`

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;

use latchkey_embedded::{Options, restore};

use crate::arguments::Restore;
use crate::transfer::meter::{Meter, Total, size};
use crate::{Failure, counted};

pub(crate) fn run(arguments: &Restore) -> Result<(), Failure> {
    let Restore { backup, data } = arguments;
    let shown = backup.display();
    let mut file: Box<dyn Read> = match backup.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => {
            let file = File::open(backup);
            let unreadable = |error| Failure::Unusable(format!("cannot read `{shown}`: {error}"));
            Box::new(BufReader::new(file.map_err(unreadable)?))
        }
    };
    let mut meter: Option<Meter> = None;
    let restored = restore(&mut *file, data, &Options::default(), &mut |progress| {
        let total = Total::Items(progress.keys_total);
        let meter = meter.get_or_insert_with(|| Meter::new(total, 0));
        meter.tell(progress.keys, progress.bytes);
        ControlFlow::Continue(())
    });
    let mut meter = meter.unwrap_or_else(|| Meter::new(Total::Unknown, 0));
    meter.clear();
    let saved = restored.map_err(|error| Failure::Unusable(format!("`{shown}`: {error}")))?;
    let (keys, bytes) = (counted(saved.keys, "key", "keys"), size(saved.bytes));
    let data = data.display();
    meter.end(&format!("restored `{shown}` to `{data}`: {keys}, {bytes}"));
    Ok(())
}
