//! `latchkey verify`

mod records;
mod report;
mod rule;

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use crate::arguments::Verify;
use crate::{Failure, output};
use records::Records;
use report::Report;
use rule::Rule;

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 256 * 1024;

pub(crate) fn run(arguments: &Verify) -> Result<(), Failure> {
    let rule = Rule::new(arguments).map_err(Failure::Unusable)?;
    let path = &arguments.outcomes;
    let stream = path.as_os_str() == "-";
    let shown = if stream { "standard input".to_owned() } else { format!("`{}`", path.display()) };
    let source: Box<dyn BufRead> = if stream {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))
    } else {
        let file = File::open(path);
        let file = file.map_err(|error| Failure::Unusable(records::unreadable(&shown, &error)))?;
        Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
    };
    // With another key every outcome would look wrong, which says nothing about the outcomes.
    if rule.key_matches() == Some(false) {
        output::print(&report::other_key(&rule, arguments.json));
        return Err(Failure::Printed);
    }
    let mut records = Records::new(source);
    let mut report = Report::default();
    loop {
        let next = records.next();
        let next = next.map_err(|stop| Failure::Unusable(records::told(&shown, &stop)))?;
        let Some((place, record)) = next else { break };
        report.add(place, rule.judge(&record));
    }
    report.more = records.more;
    if report.is_empty() {
        return Err(Failure::Unusable(report.nothing(&shown, &rule)));
    }
    if arguments.json {
        output::print(&format!("{:#}\n", report.json(&rule)));
    } else {
        output::print(&report.words(&rule));
    }
    if report.follows() { Ok(()) } else { Err(Failure::Printed) }
}
