//! Markdown tables that can also be read as they are.

use std::fmt;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

/// A table: the first column to the left, the others to the right.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(headings: [&str; N]) -> Table {
        Table { rows: vec![headings.map(str::to_owned).to_vec()] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(move |row| row.get(column));
            cells.map(|cell: &String| cell.chars().count()).max().unwrap_or(0).max(3)
        };
        (0..columns).map(width).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (at, row) in self.rows.iter().enumerate() {
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(f, "| {cell:<width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)?;
            if at == 0 {
                for (column, width) in widths.iter().enumerate() {
                    match column {
                        0 => write!(f, "|{:-<width$}--|", "")?,
                        _ => write!(f, "{:-<width$}-:|", "")?,
                    }
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

/// Says what is being done: on one line that is overwritten, where there is a terminal.
pub(crate) fn progress(doing: &str) {
    if stderr().is_terminal() {
        eprint!("\x1b[2K\r{doing}");
    } else if !doing.is_empty() {
        eprintln!("{doing}");
    }
}

/// `12,345`
pub(crate) fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count, which is below 2³².
pub(crate) fn count(number: u64) -> String {
    whole(f64::from(u32::try_from(number).unwrap_or(u32::MAX)))
}

pub(crate) fn ratio(number: f64) -> String {
    format!("{number:.2}")
}

pub(crate) fn micros(time: Duration) -> String {
    format!("{} µs", whole(time.as_secs_f64() * 1e6))
}

pub(crate) fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    if millis < 100.0 { format!("{millis:.1} ms") } else { format!("{} ms", whole(millis)) }
}

/// The size of a file.
pub(crate) fn megabytes(path: &std::path::Path) -> std::io::Result<String> {
    let kilobytes = u32::try_from(path.metadata()?.len() / 1024).unwrap_or(u32::MAX);
    Ok(format!("{} MB", whole(f64::from(kilobytes) / 1024.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(["what", "rate"]);
        table.row(["get".to_owned(), whole(1_234_567.8)]);
        table.row(["put".to_owned(), whole(12.0)]);
        let expected = "\
| what |      rate |
|------|----------:|
| get  | 1,234,568 |
| put  |        12 |
";
        assert_eq!(table.to_string(), expected);
    }
}
