//! The rule that outcomes must follow: key, commitment, rate, subject.

use latchkey_runtime::draw::{self, Draw, KEY_BYTES};
use latchkey_table::{Map, Number, Text};
use latchkey_value::Format;

use crate::arguments::Verify;

/// The rule: how a record is drawn, and which value of a record is a win or a loss.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) key: [u8; KEY_BYTES],
    /// The commitment, in lowercase.
    pub(super) commitment: Option<String>,
    pub(super) rate: Number,
    subject: Vec<Piece>,
    /// The attribute that has the outcome.
    pub(super) outcome: Text,
    won: Text,
    lost: Text,
    filters: Vec<(Text, Text)>,
}

/// A part of the text of a draw.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Attribute(Text, Option<Format>),
}

/// What a record is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// The record does not match `--where`.
    Other,
    /// The record is neither a win nor a loss: its value.
    Undecided(Option<Text>),
    /// An outcome.
    Decided(Decided),
}

/// The draw of a subject, and its outcome.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) subject: Text,
    pub(super) draw: Draw,
    /// What the record says.
    pub(super) won: bool,
    /// What follows from the key.
    pub(super) wins: bool,
}

impl Rule {
    /// The rule of the arguments, or what is wrong with them.
    pub(super) fn new(told: &Verify) -> Result<Rule, String> {
        let key = draw::revealed(&told.key)
            .ok_or("--key is the revealed key: 64 hexadecimal digits".to_owned())?;
        let commitment = told.commitment.as_ref().map(|text| {
            // A commitment is as long as a key.
            let digits = draw::revealed(text).map(|_| text.to_ascii_lowercase());
            digits.ok_or("--commitment is a SHA-256: 64 hexadecimal digits".to_owned())
        });
        let rate: Number = told.rate.parse().map_err(|e| format!("--rate `{}`: {e}", told.rate))?;
        if rate.is_negative() || rate > Number::from(1_u64) {
            return Err(format!("--rate `{}`: it is from 0 to 1, 0.25 for a quarter", told.rate));
        }
        let (outcome, won) = pair("--won", &told.won)?;
        let (other, lost) = pair("--lost", &told.lost)?;
        if outcome != other || won == lost {
            return Err("--won and --lost are two values of one attribute".to_owned());
        }
        let filters: Result<_, String> =
            told.filters.iter().map(|filter| pair("--where", filter)).collect();
        let (commitment, subject) = (commitment.transpose()?, pieces(&told.subject)?);
        Ok(Rule { key, commitment, rate, subject, outcome, won, lost, filters: filters? })
    }

    /// Whether the key matches the commitment, if there is one.
    pub(super) fn key_matches(&self) -> Option<bool> {
        self.commitment.as_ref().map(|commitment| draw::commitment(&self.key) == *commitment)
    }

    /// Judges a record.
    pub(super) fn judge(&self, record: &Map) -> Judged {
        let text =
            |name: &Text, format| record.get(name).and_then(|value| draw::part(value, format));
        let passes = |(name, value): &(Text, Text)| text(name, None).as_ref() == Some(value);
        if !self.filters.iter().all(passes) {
            return Judged::Other;
        }
        let part = |piece: &Piece| match piece {
            Piece::Literal(literal) => Some(Text::from(literal.as_str())),
            Piece::Attribute(name, format) => text(name, *format),
        };
        let subject: Option<Text> = self.subject.iter().map(part).collect();
        let Some(subject) = subject else { return Judged::Other };
        let Some(draw) = Draw::of(&self.key, &subject) else { return Judged::Other };
        let won = match text(&self.outcome, None) {
            Some(outcome) if outcome == self.won => true,
            Some(outcome) if outcome == self.lost => false,
            other => return Judged::Undecided(other),
        };
        Judged::Decided(Decided { subject, draw, won, wins: draw.is_below(&self.rate) })
    }

    /// What a record says of an outcome.
    pub(super) fn word(&self, won: bool) -> &Text {
        if won { &self.won } else { &self.lost }
    }
}

fn pair(flag: &str, text: &str) -> Result<(Text, Text), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("{flag} `{text}`: it is NAME=VALUE")),
    }
}

/// The parts of a text with attributes in braces, as a contract writes it: `{a}`, or `{n:06}` for a number with
/// zeros before it.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let bad = |what: &str| format!("--subject `{text}`: {what}");
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((literal, behind)) = rest.split_once('{') {
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal.to_owned()));
        }
        let (hole, after) = behind.split_once('}').ok_or_else(|| bad("a brace is left open"))?;
        let (name, format) = match hole.split_once(':') {
            None => (hole, None),
            Some((name, format)) => {
                let format = Format::named(format);
                (name, Some(format.ok_or_else(|| bad("a width is as in `{n:06}`"))?))
            }
        };
        if name.is_empty() || name.contains('{') {
            return Err(bad("braces hold the name of an attribute"));
        }
        pieces.push(Piece::Attribute(name.into(), format));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.to_owned()));
    }
    let stray = |piece: &Piece| matches!(piece, Piece::Literal(text) if text.contains('}'));
    if pieces.iter().any(stray) {
        return Err(bad("a brace is closed that was not opened"));
    }
    if !pieces.iter().any(|piece| matches!(piece, Piece::Attribute(..))) {
        return Err(bad("it names no attribute, so that all would draw the same; write `{name}`"));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests;
