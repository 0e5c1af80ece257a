//! Questions that would find a secret out: a filter, a range of a sort key that has the secret in it, a test of its order.

use std::collections::{HashMap, HashSet};

use latchkey_language::{Diagnostic, Rule, Span};

use super::Lowering;
use super::scope::Scope;
use crate::model::{
    BindingId, Entity, EntityId, Expr, ExprKind, Op, Piece, Query, Range, Step, StepKind, Template,
    TextPiece, Trigger, each_step,
};

impl Lowering {
    /// Refuses a filter that compares the order or the beginning of a secret: by what is kept and what is not, a caller
    /// finds the secret out letter by letter.
    pub(super) fn guesses_no_secret(&mut self, test: &Expr, entity: EntityId) {
        let entity = &self.model.entities[entity];
        let mut guessed = None;
        test.walk(&mut |part| {
            for side in ordered(part) {
                side.walk(&mut |part| {
                    if let ExprKind::Stored(name) = &part.kind
                        && entity.attribute(name).is_some_and(|attribute| attribute.secret)
                    {
                        guessed = Some((name.clone(), part.span));
                    }
                });
            }
        });
        if let Some((name, span)) = guessed {
            let message =
                format!("`{name}` is secret, and what is kept would show how it begins or sorts");
            let help = "compare it as a whole: `keep .x == x`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }

    /// Refuses a test that compares the order or the beginning of a stored secret with what the caller gives: call by
    /// call, half of what is left of the secret is excluded.
    pub(super) fn orders_no_secret(&mut self, steps: &[Step], scope: &mut Scope) {
        // The names of what the caller gives, and of tests of the order of a secret.
        let mut given: HashSet<BindingId> = HashSet::new();
        let mut asking: HashMap<BindingId, Span> = HashMap::new();
        let mut guessed = Vec::new();
        each_step(steps, &mut |step| {
            let (test, stored) = match &step.kind {
                StepKind::Let(_, test)
                | StepKind::Allow(test)
                | StepKind::Require(test, _)
                | StepKind::Match(test, _)
                | StepKind::When(test, ..) => (Some(test), None),
                StepKind::Write(leg) => (leg.condition.as_ref(), Some(leg.entity)),
                _ => (None, None),
            };
            scope.stored = stored;
            let Some(test) = test else { return };
            let asked = self.ordered_secret(test, scope, (&given, &asking));
            match &step.kind {
                // What is only named is not asked. Nor is it shown: that is looked at elsewhere.
                StepKind::Let(id, value) => {
                    asking.extend(asked.map(|span| (*id, span)));
                    given.extend(is_given(value, &given).then_some(*id));
                }
                _ => guessed.extend(asked),
            }
        });
        scope.stored = None;
        guessed.dedup();
        for span in guessed {
            let message = "this compares the order of a secret with what the caller gives";
            let diagnostic = Diagnostic::new(Rule::Type, span, message)
                .why("each answer halves what the secret may be: a few calls find it out")
                .help("compare it as a whole: `require card.pin == pin else 403 wrong-pin`");
            self.report(diagnostic);
        }
    }

    /// Where a test compares the order of a stored secret with what the caller gives.
    fn ordered_secret(
        &self,
        test: &Expr,
        scope: &Scope,
        (given, asking): (&HashSet<BindingId>, &HashMap<BindingId, Span>),
    ) -> Option<Span> {
        let mut found = None;
        test.walk(&mut |part| {
            let sides = ordered(part);
            let is_asked = sides.iter().any(|side| is_kept(side) && self.is_secret(side, scope))
                && sides.iter().any(|side| is_given(side, given));
            let named = match &part.kind {
                ExprKind::Binding(id) => asking.get(id).copied(),
                _ => None,
            };
            found = found.or(is_asked.then_some(part.span)).or(named);
        });
        found
    }

    /// Refuses a range that ends or begins within a secret part of the sort key: by what is found and what is not, a
    /// caller finds the secret out letter by letter. An invariant has no caller.
    pub(super) fn ranges_keep_secrets(&mut self, query: &Query, entity: EntityId, scope: &Scope) {
        let entity = &self.model.entities[entity];
        let Some(shape) = entity.place(query.by).filter(|_| scope.trigger != Trigger::Invariant)
        else {
            return;
        };
        let bounds = || query.range_texts().map(|bound| (bound, lay(bound, &shape.sort, entity)));
        let parted = match &query.range {
            Range::All | Range::Equal(_) => None,
            Range::BeginsWith(_) => bounds().find(|(_, laid)| laid.within.is_some()),
            Range::Side { .. } => bounds().find(|(_, laid)| laid.name().is_some()),
            Range::Between(..) => {
                let all: Vec<_> = bounds().collect();
                // Both ends within the items of one secret are as good as the secret itself.
                let one = all.windows(2).all(|ends| match ends {
                    [(_, low), (_, high)] => low.is_of_one_secret(high),
                    _ => false,
                });
                all.into_iter()
                    .find(|(_, laid)| laid.within.is_some() || laid.name().is_some_and(|_| !one))
            }
        };
        let found = parted.and_then(|(bound, laid)| Some((bound.span, laid.name()?.to_owned())));
        if let Some((span, name)) = found {
            let message =
                format!("`{name}` is secret, and what is found would show how it begins or sorts");
            let help =
                "end the text before it, or behind the whole of it: `SK begins_with \"…{x}#\"`";
            self.report(Diagnostic::new(Rule::Type, span, message).help(help));
        }
    }
}

/// The sides of a test that compares an order or a beginning.
fn ordered(test: &Expr) -> Vec<&Expr> {
    match &test.kind {
        ExprKind::BeginsWith(a, b)
        | ExprKind::Binary(Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual, a, b) => {
            vec![a, b]
        }
        ExprKind::Between(a, b, c) => vec![a, b, c],
        _ => Vec::new(),
    }
}

/// Whether a value has something in it that the caller gives.
fn is_given(value: &Expr, given: &HashSet<BindingId>) -> bool {
    let mut found = false;
    value.walk(&mut |part| {
        found |= match &part.kind {
            ExprKind::Input(_) => true,
            ExprKind::Binding(id) => given.contains(id),
            _ => false,
        };
    });
    found
}

/// Whether a value has something in it that is stored, or has a name of its own.
fn is_kept(value: &Expr) -> bool {
    let mut found = false;
    value.walk(&mut |part| {
        found |= matches!(
            part.kind,
            ExprKind::Attribute(..)
                | ExprKind::Stored(_)
                | ExprKind::Binding(_)
                | ExprKind::Sum(..)
                | ExprKind::CountBy(..)
        );
    });
    found
}

/// What a bound says of the secret parts of a key.
#[derive(Default)]
struct Laid<'a> {
    /// The secret parts that it gives as a whole, and as what.
    whole: Vec<(&'a str, Told<'a>)>,
    /// The secret part within which it ends.
    within: Option<&'a str>,
}

/// A part of a key, as a bound gives it.
enum Told<'a> {
    Value(&'a Expr),
    Constant(Vec<u8>),
}

impl Laid<'_> {
    /// The secret part that it says something of.
    fn name(&self) -> Option<&str> {
        self.within.or_else(|| self.whole.first().map(|(name, _)| *name))
    }

    /// Whether two bounds give the same secrets.
    fn is_of_one_secret(&self, other: &Laid<'_>) -> bool {
        let same = |(a, b): (&(&str, Told<'_>), &(&str, Told<'_>))| match (&a.1, &b.1) {
            (Told::Value(a), Told::Value(b)) => is_one_name(a, b),
            (Told::Constant(a), Told::Constant(b)) => a == b,
            _ => false,
        };
        self.whole.len() == other.whole.len() && self.whole.iter().zip(&other.whole).all(same)
    }
}

/// Whether two expressions are one name.
pub(super) fn is_one_name(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Input(a), ExprKind::Input(b)) => a == b,
        (ExprKind::Binding(a), ExprKind::Binding(b)) => a == b,
        (ExprKind::Attribute(a, x), ExprKind::Attribute(b, y)) => a == b && x == y,
        (ExprKind::CallerId, ExprKind::CallerId) => true,
        _ => false,
    }
}

/// A byte of a bound, or a value in it.
#[derive(Clone, Copy)]
enum Part<'a> {
    Byte(u8),
    Value(&'a Expr),
}

/// A byte of a key, or an attribute in it and whether it is secret.
#[derive(Clone, Copy)]
enum KeyBit<'a> {
    Byte(u8),
    Hole(&'a str, bool),
}

/// Lays a bound along a sort key. Where the two cannot be laid side by side, the bound may end anywhere.
fn lay<'a>(bound: &'a Expr, sort: &'a Template, entity: &Entity) -> Laid<'a> {
    let is_secret = |name: &str| entity.attribute(name).is_some_and(|found| found.secret);
    let key: Vec<KeyBit<'_>> = sort
        .pieces
        .iter()
        .flat_map(|piece| match piece {
            Piece::Literal(text) => text.bytes().map(KeyBit::Byte).collect(),
            Piece::Hole(hole) => vec![KeyBit::Hole(&hole.attribute, is_secret(&hole.attribute))],
        })
        .collect();
    let parts: Vec<Part<'_>> = match &bound.kind {
        ExprKind::Unknown => return Laid::default(),
        ExprKind::Text(pieces) => pieces
            .iter()
            .flat_map(|piece| match piece {
                TextPiece::Literal(text) => text.bytes().map(Part::Byte).collect(),
                TextPiece::Value(value, _) => vec![Part::Value(value)],
            })
            .collect(),
        _ => vec![Part::Value(bound)],
    };
    let (mut key, mut parts) = (key.into_iter().peekable(), parts.into_iter().peekable());
    let mut laid = Laid::default();
    while let Some(bit) = key.next() {
        let Some(part) = parts.next() else { return laid };
        match (bit, part) {
            (KeyBit::Byte(a), Part::Byte(b)) if a == b => {}
            // What is a constant here sorts before or behind all of these keys.
            (KeyBit::Byte(_), Part::Byte(_)) => return laid,
            (KeyBit::Byte(_), Part::Value(_)) => {
                laid.within = key.find_map(|bit| match bit {
                    KeyBit::Hole(name, true) => Some(name),
                    KeyBit::Hole(_, false) | KeyBit::Byte(_) => None,
                });
                return laid;
            }
            (KeyBit::Hole(name, secret), part) => {
                let told = match part {
                    Part::Value(value) => Told::Value(value),
                    Part::Byte(first) => {
                        let mut constant = vec![first];
                        while let Some(Part::Byte(byte)) = parts.next_if(|part| {
                            let end = key.peek();
                            matches!(part, Part::Byte(byte)
                                if !matches!(end, Some(KeyBit::Byte(end)) if end == byte))
                        }) {
                            constant.push(byte);
                        }
                        Told::Constant(constant)
                    }
                };
                match (secret, parts.peek()) {
                    (true, None) => laid.within = Some(name),
                    (true, Some(_)) => laid.whole.push((name, told)),
                    (false, _) => {}
                }
            }
        }
    }
    laid
}
