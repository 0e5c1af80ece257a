//! The study: reads the lists of mutants, makes each, checks it, and runs its examples.

use latchkey_tests::examples::{self, Failure};

/// The document the mistakes are made in.
pub(crate) const DOCUMENT: &str = include_str!("../../systems/smartlocker.md");

/// The mistakes, as they are written down.
const LISTS: [&str; 5] = [
    include_str!("entities.txt"),
    include_str!("lockers.txt"),
    include_str!("reserving.txt"),
    include_str!("reservations.txt"),
    include_str!("events.txt"),
];

/// A mistake someone might make, and what should come of it.
pub(crate) struct Mutant {
    /// The contract or entity it is in, and its number there.
    pub(crate) id: String,
    /// The mistake in words.
    pub(crate) mistake: &'static str,
    /// The contract or entity it is in.
    pub(crate) within: &'static str,
    place: Place,
    edits: Vec<Edit>,
    pub(crate) expected: Expected,
}

/// Which of the places that have the text of an edit.
#[derive(Clone, Copy)]
enum Place {
    /// There is one alone.
    Only,
    /// The first.
    First,
    /// The last.
    Last,
}

/// A text, and what stands there instead.
#[derive(Default)]
struct Edit {
    old: Vec<&'static str>,
    new: Vec<&'static str>,
}

/// What should come of a mistake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// The check reports it, by this rule at least.
    Checked(&'static str),
    /// Only a run can tell, and which example does.
    Example(&'static str),
    /// It does no harm, and why.
    Harmless(&'static str),
    /// It does harm, and no example can tell, and why.
    Unseen(&'static str),
}

/// What came of a mistake.
pub(crate) enum Fate {
    /// The check reports it, by these rules.
    Checked(Vec<&'static str>),
    /// An example fails, and this is the first that does.
    Shown(Failure),
    /// Nothing notices.
    Survived,
}

/// Reads all lists.
pub(crate) fn mutants() -> Result<Vec<Mutant>, String> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for entry in LISTS.iter().flat_map(|list| list.split("\n\n")) {
        let mut mutant = read(entry)?;
        let before = mutants.iter().filter(|other| other.within == mutant.within).count();
        mutant.id = format!("{}.{}", mutant.within, before + 1);
        mutants.push(mutant);
    }
    Ok(mutants)
}

/// Runs the examples of the document without a mistake: each is as it says, and no failure is left out.
pub(crate) fn original_holds() -> Result<(), String> {
    let run = examples::run(DOCUMENT)?;
    let failures = run.failures.iter().map(Failure::to_string);
    let gaps = run.gaps.iter().map(|gap| format!("no example is answered {gap}"));
    let told: Vec<String> = failures.chain(gaps).collect();
    if told.is_empty() { Ok(()) } else { Err(told.join("\n")) }
}

/// Reads one mutant: what it is, where, the edits, and what should come of it.
fn read(entry: &'static str) -> Result<Mutant, String> {
    let (mut within, mut expected, mut place) = (None, None, Place::Only);
    let mut edits = vec![Edit::default()];
    let mut lines = entry.trim().lines();
    let mistake = lines.next().unwrap_or_default();
    let wrong = |why: &str| format!("{why}, in the mutant `{mistake}`");
    for line in lines {
        let edit = edits.last_mut().ok_or_else(|| wrong("no edit"))?;
        if let Some(old) = line.strip_prefix('-') {
            edit.old.push(old.strip_prefix(' ').unwrap_or(old));
        } else if let Some(new) = line.strip_prefix('+') {
            edit.new.push(new.strip_prefix(' ').unwrap_or(new));
        } else if line == "and" {
            edits.push(Edit::default());
        } else if let Some(name) = line.strip_prefix("in the beginning of ") {
            (within, place) = (Some(name), Place::First);
        } else if let Some(name) = line.strip_prefix("in the end of ") {
            (within, place) = (Some(name), Place::Last);
        } else if let Some(name) = line.strip_prefix("in ") {
            within = Some(name);
        } else if let Some(rule) = line.strip_prefix("caught by ") {
            expected = Some(Expected::Checked(rule));
        } else if let Some(why) = line.strip_prefix("harmless: ") {
            expected = Some(Expected::Harmless(why));
        } else if let Some(which) = line.strip_prefix("example: ") {
            expected = Some(Expected::Example(which));
        } else if let Some(why) = line.strip_prefix("unseen: ") {
            expected = Some(Expected::Unseen(why));
        } else {
            return Err(wrong(&format!("the line `{line}` means nothing")));
        }
    }
    let within = within.ok_or_else(|| wrong("no place"))?;
    let expected = expected.ok_or_else(|| wrong("nothing expected"))?;
    Ok(Mutant { id: String::new(), mistake, within, place, edits, expected })
}

impl Mutant {
    /// The document with the mistake in it.
    pub(crate) fn document(&self) -> Result<String, String> {
        let mut part = self.part()?.to_owned();
        for edit in &self.edits {
            let (old, new) = (edit.old.join("\n"), edit.new.join("\n"));
            let found: Vec<usize> = part.match_indices(&old).map(|(at, _)| at).collect();
            let at = match (found.as_slice(), self.place) {
                ([at], _) | ([at, _, ..], Place::First) | ([.., _, at], Place::Last) => *at,
                (found, _) => {
                    return Err(format!("{}: found {} times: `{old}`", self.id, found.len()));
                }
            };
            part.replace_range(at..at + old.len(), &new);
        }
        Ok(DOCUMENT.replacen(self.part()?, &part, 1))
    }

    /// The text of the contract, the entity or the system it is in, up to its end.
    fn part(&self) -> Result<&'static str, String> {
        let name = self.within;
        let starts = [format!("contract {name} "), format!("entity {name} "), name.to_owned()];
        let start = starts.iter().find_map(|start| DOCUMENT.find(&format!("\n{start}")));
        let rest = start.and_then(|at| DOCUMENT.get(at + 1..));
        let end = rest.and_then(|rest| rest.find("\n}\n").or_else(|| rest.find("\n```")));
        let part = rest.zip(end).and_then(|(rest, end)| rest.get(..end));
        part.ok_or_else(|| format!("{}: there is no `{name}`", self.id))
    }

    /// What comes of it: the check is asked first, the examples are run if it has nothing to say.
    pub(crate) fn fate(&self) -> Result<Fate, String> {
        let document = self.document()?;
        let checked = latchkey_model::check(&document);
        let mut rules: Vec<&str> =
            checked.diagnostics.iter().map(|found| found.rule.slug()).collect();
        if !rules.is_empty() {
            rules.sort_unstable();
            rules.dedup();
            return Ok(Fate::Checked(rules));
        }
        let run = examples::run(&document).map_err(|error| format!("{}: {error}", self.id))?;
        Ok(run.failures.into_iter().next().map_or(Fate::Survived, Fate::Shown))
    }
}
