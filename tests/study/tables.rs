//! The figures of the study, as tables in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use latchkey_language::Rule;

use crate::documents::DOCUMENTS;
use crate::fate::{ALARMS, Fate, Found, Raced};
use crate::mutant::{Mutant, Operator};
use crate::soundness::Drawn;

/// A mutant and what was found out about it.
pub type Studied = (Mutant, Found);

/// The columns of a row of fates.
const FATES: [(Fate, &str); 7] = [
    (Fate::Refused, "refused by a rule"),
    (Fate::Named, "by names and types"),
    (Fate::Warned, "warned of"),
    (Fate::Example, "an example fails"),
    (Fate::Lost, "lost in the race search"),
    (Fate::Survivor, "survives"),
    (Fate::Harmless, "harmless"),
];

/// The widest line of prose.
const WIDTH: usize = 120;

/// The mutants that are documents.
fn living(studied: &[Studied]) -> Vec<&Studied> {
    studied.iter().filter(|(_, found)| found.fate() != Fate::Stillborn).collect()
}

/// Those that are listed: those tuned on, and the ones that are held back, too, if wanted.
fn listed(studied: &[Studied], held_back: bool) -> Vec<&Studied> {
    let mut listed = living(studied);
    listed.retain(|(mutant, _)| held_back || !mutant.held_back);
    listed
}

/// The figures of the mutants that are published.
pub fn mutants(studied: &[Studied]) -> String {
    let living = living(studied);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} mutants, and {} that were no documents and are left out.\n",
        living.len(),
        studied.len() - living.len()
    );
    text.push_str(&summary(&living));
    text.push_str(&by_document(&living));
    let tuned = listed(studied, false);
    text.push_str(&by_operator(&tuned));
    text.push_str(&by_rule(&tuned));
    text.push_str(&alarms(&living));
    text.push_str(&unsound(studied, false));
    text
}

/// What the check calls clean, and the search loses.
pub fn unsound(studied: &[Studied], held_back: bool) -> String {
    let (living, listed) = (living(studied), listed(studied, held_back));
    sound(&living, &listed)
}

/// The lists of what survives and of what does no harm, which are too long to be published.
pub fn lists(studied: &[Studied], held_back: bool) -> String {
    let listed = listed(studied, held_back);
    let mut text = list("Survivors", Fate::Survivor, &listed);
    text.push_str(&list("Harmless", Fate::Harmless, &listed));
    text
}

/// Prose in lines that are not too wide; each but the first begins with an indent.
fn wrapped(prose: &str, indent: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in words(prose, WIDTH - indent.len()) {
        let length = word.chars().count();
        if width == 0 {
            width = length;
        } else if width + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(indent);
            width = indent.len() + length;
        } else {
            text.push(' ');
            width += 1 + length;
        }
        text.push_str(&word);
    }
    text
}

/// The words of prose. A code span is one word, unless it is wider than a line.
fn words(prose: &str, widest: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = prose.split(' ');
    while let Some(first) = words.next() {
        let mut word = first.to_owned();
        while !word.matches('`').count().is_multiple_of(2)
            && let Some(more) = words.next()
        {
            word = format!("{word} {more}");
        }
        if word.chars().count() > widest {
            all.extend(word.split(' ').map(str::to_owned));
        } else {
            all.push(word);
        }
    }
    all
}

/// How many of some mutants have a fate.
fn count<'a>(mutants: impl Iterator<Item = &'a &'a Studied>, fate: Fate) -> usize {
    mutants.filter(|(_, found)| found.fate() == fate).count()
}

fn head(first: &str) -> String {
    let names: Vec<&str> = FATES.iter().map(|(_, name)| *name).collect();
    format!("| {first} | mutants | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(8))
}

fn row(name: &str, mutants: &[&Studied]) -> String {
    let counts = FATES.iter().map(|(fate, _)| count(mutants.iter(), *fate).to_string());
    format!("| {name} | {} | {} |\n", mutants.len(), counts.collect::<Vec<_>>().join(" | "))
}

fn summary(living: &[&Studied]) -> String {
    let part = |held_back: bool| -> Vec<&Studied> {
        living.iter().copied().filter(|(mutant, _)| mutant.held_back == held_back).collect()
    };
    let parts = [("tuned on", part(false)), ("held back", part(true)), ("all", living.to_vec())];
    let mut text = head("");
    for (name, mutants) in &parts {
        text.push_str(&row(name, mutants));
    }
    text.push_str("\n| | change behaviour | told by anything | told by the check alone |\n|---|---|---|---|\n");
    for (name, mutants) in &parts {
        let count = |fate: Fate| count(mutants.iter(), fate);
        let changed = mutants.len() - count(Fate::Harmless);
        let told = changed - count(Fate::Survivor);
        let checked = count(Fate::Refused) + count(Fate::Named) + count(Fate::Warned);
        let share = |of: usize| percent(of, changed);
        let _ = writeln!(
            text,
            "| {name} | {changed} | {told} ({}) | {checked} ({}) |",
            share(told),
            share(checked)
        );
    }
    text.push('\n');
    text
}

/// A share, to a tenth of a percent.
pub fn percent(part: usize, whole: usize) -> String {
    let tenths = (part * 1_000).checked_div(whole).unwrap_or(0);
    format!("{}.{}%", tenths / 10, tenths % 10)
}

fn by_document(living: &[&Studied]) -> String {
    let mut text = head("document");
    for (at, document) in DOCUMENTS.iter().enumerate() {
        let own: Vec<&Studied> =
            living.iter().copied().filter(|(mutant, _)| mutant.document == at).collect();
        text.push_str(&row(document.name, &own));
    }
    text.push('\n');
    text
}

fn by_operator(tuned: &[&Studied]) -> String {
    let mut text = format!("By operator, those tuned on:\n\n{}", head("operator"));
    for operator in Operator::ALL {
        let own: Vec<&Studied> =
            tuned.iter().copied().filter(|(mutant, _)| mutant.operator == *operator).collect();
        text.push_str(&row(operator.words(), &own));
    }
    text.push('\n');
    text
}

fn by_rule(tuned: &[&Studied]) -> String {
    let mut rules: BTreeMap<Rule, usize> = BTreeMap::new();
    for (_, found) in tuned {
        for rule in &found.rules {
            *rules.entry(*rule).or_default() += 1;
        }
    }
    let mut rules: Vec<(Rule, usize)> = rules.into_iter().collect();
    rules.sort_by_key(|(rule, count)| (usize::MAX - count, *rule));
    let told = rules.iter().map(|(rule, count)| format!("`{rule}` {count}"));
    let told = told.collect::<Vec<_>>().join(", ");
    format!("{}\n\n", wrapped(&format!("Rules that told, those tuned on: {told}."), ""))
}

/// Of what rules refuse, how much the search shows to be real.
fn alarms(living: &[&Studied]) -> String {
    let mut text = String::from(
        "### False alarms\n\n| rule | refused by such rules alone | the search loses | it loses nothing | it cannot run \
         it |\n|---|---|---|---|---|\n",
    );
    for rule in ALARMS {
        let own: Vec<&Found> = living
            .iter()
            .map(|(_, found)| found)
            .filter(|found| found.is_alarm() && found.rules.contains(&rule))
            .collect();
        let stuck = |found: &&&Found| matches!(found.raced, Some(Raced::Stuck(_)));
        let (real, stuck) = (
            own.iter().filter(|found| found.loss().is_some()).count(),
            own.iter().filter(stuck).count(),
        );
        let quiet = own.len() - real - stuck;
        let _ = writeln!(text, "| `{rule}` | {} | {real} | {quiet} | {stuck} |", own.len());
    }
    text.push('\n');
    text
}

/// What the check calls clean, and the search loses; and what breaks an invariant of its document without a race.
fn sound(living: &[&Studied], listed: &[&Studied]) -> String {
    let clean: Vec<&Studied> =
        living.iter().copied().filter(|(_, found)| found.rules.is_empty()).collect();
    let lost = clean.iter().filter(|(_, found)| found.loss().is_some());
    let broken: Vec<&&Studied> =
        clean.iter().filter(|(_, found)| found.broken().is_some()).collect();
    let shown = broken.iter().filter(|(_, found)| found.example.is_some());
    let all = format!(
        "Of {} mutants of which the check says nothing, the search finds {} that are not serialisable. In {} calls break \
         an invariant of the document, one after the other, without a race; in {} of these an example fails, too.",
        clean.len(),
        lost.count(),
        broken.len(),
        shown.count()
    );
    let mut text = format!("### Clean mutants that lose\n\n{}\n\n", wrapped(&all, ""));
    let listed = listed.iter().filter(|(_, found)| found.rules.is_empty());
    for (mutant, found) in listed {
        let what = [(found.loss(), "not serialisable"), (found.broken(), "no race")];
        for (headline, kind) in what.into_iter().filter_map(|(it, kind)| Some((it?, kind))) {
            let example =
                if found.example.is_some() { "an example fails, too" } else { "no example fails" };
            let line = format!("- {} ({kind}): {headline}; {example}", told(mutant));
            let _ = writeln!(text, "{}", wrapped(&line, "  "));
        }
    }
    text.push('\n');
    text
}

fn told(mutant: &Mutant) -> String {
    let Some(document) = DOCUMENTS.get(mutant.document) else { return String::new() };
    let (line, shown) = (mutant.line(document.text), mutant.shown(document.text));
    let held_back = if mutant.held_back { " (held back)" } else { "" };
    format!("{}, {}, line {line}: {shown}{held_back}", document.name, mutant.within)
}

/// What the check says nothing of, by operator, with the example that fails.
pub fn untold(all: &[(&Mutant, Option<String>)]) -> String {
    let mut text = format!("{} mutants that the check says nothing of\n\n", all.len());
    for operator in Operator::ALL {
        let own: Vec<_> = all.iter().filter(|(mutant, _)| mutant.operator == *operator).collect();
        let _ = writeln!(text, "{}: {}", operator.words(), own.len());
        for (mutant, example) in own {
            let example = example.as_deref().unwrap_or("no example fails");
            let _ = writeln!(text, "- {}; {example}", told(mutant));
        }
    }
    text
}

fn list(title: &str, fate: Fate, listed: &[&Studied]) -> String {
    let mut text = format!("### {title}\n\n");
    for operator in Operator::ALL {
        let own =
            |(mutant, found): &&&Studied| mutant.operator == *operator && found.fate() == fate;
        let own: Vec<&&Studied> = listed.iter().filter(own).collect();
        if own.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{}:", operator.words());
        for (mutant, found) in own {
            let why = match &found.raced {
                Some(Raced::Ended(against)) => match &against.difference {
                    Some(difference) => format!("differs in {difference}"),
                    None => format!(
                        "equal in {} calls and {} schedules",
                        against.calls, against.schedules
                    ),
                },
                Some(Raced::Stuck(why)) => format!("not searched: {why}"),
                None => String::new(),
            };
            let _ = writeln!(text, "- {}; {why}", told(mutant));
        }
        text.push('\n');
    }
    text
}

/// A figure of some drawn documents.
type Figure<'a> = dyn Fn(&[&Drawn]) -> usize + 'a;

/// The figures of drawn documents: of all that are served, and of those without a warning of `stale-answer`.
pub fn drawn(all: &[Drawn]) -> String {
    let served: Vec<&Drawn> = all.iter().filter(|drawn| drawn.is_served()).collect();
    let clean: Vec<&Drawn> = served.iter().copied().filter(|drawn| drawn.is_clean()).collect();
    let count = |loss: fn(&Drawn) -> bool, of: &[&Drawn]| of.iter().filter(|one| loss(one)).count();
    let sum = |figure: fn(&Drawn) -> usize, of: &[&Drawn]| of.iter().map(|one| figure(one)).sum();
    let rows: [(&str, &Figure<'_>); 6] = [
        ("documents", &|of| of.len()),
        ("calls meet in", &|of| count(|drawn| drawn.groups > 0, of)),
        ("groups of calls", &|of| sum(|drawn| drawn.groups, of)),
        ("schedules", &|of| sum(|drawn| drawn.schedules, of)),
        ("lose in what is stored", &|of| count(Drawn::loses_items, of)),
        ("lose in an answer alone", &|of| count(Drawn::loses_answers, of)),
    ];
    let mut text = format!(
        "{} documents were drawn; the check refuses {} of them.\n\n| | no error | and no `stale-answer` |\n|---|---|---|\n",
        all.len(),
        all.len() - served.len()
    );
    for (name, figure) in rows {
        let _ = writeln!(text, "| {name} | {} | {} |", figure(&served), figure(&clean));
    }
    text
}
