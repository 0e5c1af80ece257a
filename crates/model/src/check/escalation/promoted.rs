//! Rights that callers raise: a constant that is set on an item of the caller, or of another, though an `allow` elsewhere
//! asks for that constant, and callers without it get here.

use latchkey_language::{Diagnostic, Rule};

use super::self_made::Use;
use super::{Own, Writer};
use crate::check::truth::{Moves, Passed, Supposed, each, plain, truth_word};
use crate::model::{
    BindingId, EntityId, Expr, ExprKind, Given, GivenPart, Kind, PutMode, Verb, What,
};
use crate::types::Type;

/// Tells of a write by which callers raise their own right, or give others one that they do not have.
pub(super) fn told<'a>(
    writer: &Writer<'a, '_>,
    own: &Own<'a>,
    uses: &[Use<'a>],
) -> Option<Diagnostic> {
    let leg = writer.placed.leg;
    let changes =
        matches!(leg.verb, Verb::Update | Verb::Upsert) || leg.put == Some(PutMode::Replace);
    let is_own = writer.is_own(own);
    if !changes || is_own && writer.is_asked() {
        return None;
    }
    let (given, word, one) = leg.values.iter().find_map(|given| {
        let word = constant(writer, given)?;
        let lacks = |one: &Use<'a>| is_own || writer.is_given_by_others(own, given, word, one);
        let one = uses.iter().find(|one| writer.raises(given, word, one) && lacks(one))?;
        Some((given, word, one))
    })?;
    let to = if is_own { "themselves" } else { "others" };
    let message = format!("callers give {to} `{word}` as `{}`", given.attribute);
    let diagnostic = Diagnostic::new(Rule::Escalation, given.span, message)
        .other(one.test.span, "a right rests on it here")
        .why(match is_own {
            true => "whoever passes the `allow` has the right afterwards, and nothing asks who may have it",
            false => "callers who do not have the right pass the `allow`, and can give it to anyone",
        })
        .help(
            "ask for the right itself, as in `allow me.right == ADMIN`; or for the owner of the thing, an invitation or a \
             role",
        );
    Some(match writer.group.way.allows.last() {
        Some(allow) => diagnostic.other(allow.span, "all that is asked of the caller"),
        None => diagnostic,
    })
}

/// The word that is set, as it is written.
fn constant<'a>(writer: &Writer<'a, '_>, given: &'a Given) -> Option<&'a str> {
    match &plain(&writer.group.lets, &given.value).kind {
        ExprKind::Word(word) => Some(word),
        ExprKind::Bool(truth) => Some(truth_word(*truth)),
        _ => None,
    }
}

impl<'a> Writer<'a, '_> {
    /// The item that is written, where it was read before.
    fn item(&self) -> Option<BindingId> {
        let leg = self.placed.leg;
        let read = || {
            let mut bound = self.group.way.reads.iter().filter_map(|(read, _)| read.binding);
            bound.find(|item| self.group.is_on(leg, *item))
        };
        leg.target.or_else(read)
    }

    /// Whether the item that is written has the caller's id in its key.
    fn is_own(&self, own: &Own<'a>) -> bool {
        let lets = &self.group.lets;
        let read = self.item().and_then(|item| Some((item, self.group.read_of(item)?.1)));
        let by_key = |(item, key): (BindingId, &'a [Given])| {
            key.iter().any(|part| own.has_part(lets, item, part))
        };
        self.placed.leg.key.iter().any(|part| own.has(lets, &part.value))
            || read.is_some_and(|(item, read)| match &read.what {
                What::Get(key) => by_key((item, key)),
                What::Batch(_) | What::Query(_) | What::Part(_) => false,
            })
    }

    /// Whether something else than the item itself is asked: another item, found by more than its id or tested, or the
    /// condition of another write. What comes out the same for every caller is no question.
    fn is_asked(&self) -> bool {
        let own = self.item();
        self.is_asked_of(&|item, _| Some(item) != own, &|_| true)
    }

    /// Whether a question is asked about some attributes of items, or of items of some entities.
    fn is_asked_of(
        &self,
        about: &dyn Fn(BindingId, &str) -> bool,
        entities: &dyn Fn(EntityId) -> bool,
    ) -> bool {
        let group = self.group;
        let own = self.item();
        let by_more = |item: BindingId| {
            let read = group.read_of(item).map(|(_, read)| read);
            Some(item) != own
                && read.is_some_and(|read| {
                    entities(read.entity) && matches!(&read.what, What::Get(key) if key.len() > 1)
                })
        };
        let asks = |passed: &Passed<'a>| {
            passed.atoms(&group.lets).into_iter().any(|atom| {
                let (mut found, mut is_about) = (false, false);
                each(&group.lets, atom.test, &mut |part| match &part.kind {
                    ExprKind::Attribute(item, name) => is_about |= about(*item, name),
                    ExprKind::Binding(item) => {
                        found |= matches!(part.of, Kind::Item(_)) && by_more(*item);
                    }
                    ExprKind::HasRole(_) | ExprKind::Unknown => is_about = true,
                    _ => {}
                });
                found || is_about && self.asks_who(atom, None)
            })
        };
        // An `allow` with a side for everyone asks for nothing.
        let is_allow = |test: &Expr| group.way.allows.iter().any(|it| std::ptr::eq(*it, test));
        let mut tests = group.way.tests.iter().chain(&self.placed.guards);
        let everyone = |way: &Vec<Passed<'a>>| !way.iter().any(asks);
        let mut reads = group.way.reads.iter();
        let mut others = group.legs.iter().map(|placed| placed.leg);
        tests.any(|passed| !is_allow(passed.test) && asks(passed))
            || !self.ways().iter().any(everyone)
            || reads.any(|(read, _)| read.failure.is_some() && read.binding.is_some_and(by_more))
            || others.any(|leg| {
                let spent = leg.verb == Verb::Delete
                    && entities(leg.entity)
                    && (leg.target.is_some() || leg.condition.is_some());
                !std::ptr::eq(leg, self.placed.leg) && (spent || self.leg_asks(leg))
            })
    }

    /// Whether a word is given to another by callers who may have one that the test refuses. That the caller has an item
    /// of the same kind is no question: what is in it is.
    fn is_given_by_others(
        &self,
        own: &Own<'a>,
        given: &'a Given,
        word: &'a str,
        one: &Use<'a>,
    ) -> bool {
        let (group, entity) = (self.group, self.placed.leg.entity);
        let name = given.attribute.as_str();
        let Some(Type::Enum(all)) =
            self.model.entities[entity].attribute(name).map(|attribute| &attribute.kind)
        else {
            return false;
        };
        let of_right = |item, read: &str| group.entity_of(item) == Some(entity) && read == name;
        if self.is_asked_of(&|item, read| !of_right(item, read), &|other| other != entity) {
            return false;
        }
        let mine = group.way.reads.iter().find_map(|(read, _)| match (&read.what, read.binding) {
            (What::Get(key), Some(item)) if read.entity == entity => {
                key.iter().any(|part| own.has_part(&group.lets, item, part)).then_some(item)
            }
            _ => None,
        });
        let after = one.outcomes(name, word);
        let lacks = |word: &'a String| {
            let closed = one.outcomes(name, word).into_iter().map(|it| it == Some(false));
            closed.zip(&after).any(|(closed, opened)| closed && *opened != Some(false))
        };
        let writer = Writer { attribute: (entity, name), ..*self };
        self.ways().iter().any(|way| {
            all.iter()
                .any(|word| lacks(word) && mine.is_none_or(|item| writer.may_have(way, item, word)))
        })
    }

    /// Whether a word opens a test that some who get here do not pass.
    fn raises(&self, given: &'a Given, word: &'a str, one: &Use<'a>) -> bool {
        let (entity, name) = (&self.model.entities[self.placed.leg.entity], &given.attribute);
        let Some(attribute) = entity.attribute(name) else { return false };
        if !given.is_whole() {
            return self.raises_part(given, word, one);
        }
        let all: Vec<&'a str> = match &attribute.kind {
            Type::Enum(words) => words.iter().map(String::as_str).collect(),
            Type::Bool => [true, false].map(truth_word).to_vec(),
            _ => return false,
        };
        // Where none are declared, nothing can ask for them.
        let moves = attribute.moves.as_deref().unwrap_or_default();
        let before: Vec<&str> =
            all.into_iter().filter(|one| self.may_be(name, one, moves)).collect();
        let after = one.outcomes(name, word);
        before.contains(&word)
            && before.into_iter().any(|before| {
                let closed = one.outcomes(name, before).into_iter().map(|it| it == Some(false));
                closed.zip(&after).any(|(closed, opened)| closed && *opened != Some(false))
            })
    }

    /// Whether the attribute may have had a word, by all that is known where it is written.
    fn may_be(&self, name: &str, word: &'a str, moves: &Moves) -> bool {
        let item = self.item();
        let is_it = |expr: &'a Expr| match &expr.kind {
            ExprKind::Attribute(other, read) => Some(*other) == item && read == name,
            ExprKind::Stored(read) => read == name,
            _ => false,
        };
        let lets = &self.group.lets;
        let supposed_word = |expr: &'a Expr| is_it(expr).then_some(word);
        let supposed = Supposed { lets, moves, word: &supposed_word, there: &|_| None };
        let mut known = self.group.known(&self.placed.guards);
        known.extend(self.group.insists(self.placed.leg));
        known.iter().all(|one| supposed.outcome(one.test) != Some(!one.truth))
    }

    /// The same of an element of a set, and of a member of a record: nothing on the way asks for the attribute.
    fn raises_part(&self, given: &'a Given, word: &str, one: &Use<'a>) -> bool {
        let item = self.item();
        let name = &given.attribute;
        let mut known = false;
        for passed in self.group.known(&self.placed.guards) {
            each(&self.group.lets, passed.test, &mut |part| {
                known |= matches!(&part.kind, ExprKind::Attribute(other, read)
                    if Some(*other) == item && read == name);
            });
        }
        let is_right = match &given.part {
            GivenPart::Element => one.asks_element(name, word),
            GivenPart::Within(path) => {
                word == truth_word(true) && path.last().is_some_and(|it| one.asks_member(name, it))
            }
            GivenPart::Whole | GivenPart::NoElement => false,
        };
        !known && is_right
    }
}
