//! Queries of several partitions that differ by one whole number: `query X shard in 0..9`.

use latchkey_language::ast::{self, ClauseKind};
use latchkey_language::{Diagnostic, Name, Rule, Span};

use super::Lowering;
use super::scope::Scope;
use crate::model::{By, EntityId, Expr, ExprKind, Kind, Query, Through};
use crate::types::Type;

impl Lowering {
    /// The numbers that a query goes through. From here on their name is known, until the query has been read.
    pub(super) fn through(
        &mut self,
        operation: &ast::Operation,
        entities: &[EntityId],
        by: By,
        scope: &mut Scope,
    ) -> Option<Through> {
        let found = operation.clauses.iter().find_map(|clause| match &clause.node {
            ClauseKind::Through(part, bounds) => Some((part, bounds)),
            _ => None,
        });
        let (part, bounds) = found?;
        if let Some(first) = scope.given_at(&part.node) {
            let message = format!("`{}` has a meaning already", part.node);
            let diagnostic = Diagnostic::new(Rule::Name, part.span, message);
            self.report(diagnostic.other(first, "given here").help("rename that one"));
        }
        let ends = self.ends(part, bounds);
        let kind = Type::Int { low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1) };
        scope.through = Some((part.node.clone(), kind));
        let (low, high) = ends?;
        let mut right = true;
        for entity in entities {
            right &= self.goes_through(part, *entity, by, (low, high));
        }
        right.then(|| Through { attribute: part.node.clone(), low, high, span: part.span })
    }

    /// The two ends of a range of numbers.
    pub(super) fn ends(&mut self, part: &Name, bounds: &ast::Bounds) -> Option<(i64, i64)> {
        let number = |end: &Option<Name>| end.as_ref().and_then(|end| end.node.parse::<i64>().ok());
        let ends = number(&bounds.low).zip(number(&bounds.high));
        if ends.is_none() {
            let message = "a range of keys has two ends, both whole numbers";
            self.report(Diagnostic::new(Rule::Type, part.span, message).help("write `0..15`"));
        }
        ends
    }

    /// Refuses numbers that a part of an entity's partition never is.
    fn goes_through(
        &mut self,
        part: &Name,
        entity: EntityId,
        by: By,
        (low, high): (i64, i64),
    ) -> bool {
        let shape = &self.model.entities[entity];
        let Some(key) = shape.place(by) else { return false };
        let Some(hole) = key.partition.holes().find(|hole| hole.attribute == part.node) else {
            let message = format!("`{}` is not a part of the partition key", part.node);
            let diagnostic = Diagnostic::new(Rule::Name, part.span, message)
                .other(key.partition.span, "the partition key")
                .help("name the number that spreads the items over partitions");
            self.report(diagnostic);
            return false;
        };
        let within = match &hole.kind {
            Type::Int { low: least, high: most } => {
                least.is_none_or(|least| least <= low) && most.is_none_or(|most| high <= most)
            }
            _ => false,
        };
        let right = within && low <= high;
        if !right {
            let message =
                format!("`{}` is {}, and is never all of {low}..{high}", part.node, hole.kind);
            self.report(Diagnostic::new(Rule::Type, part.span, message));
        }
        right
    }

    /// Refuses a query whose partition is the same for every number, or whose range is not.
    pub(super) fn spreads(&mut self, query: &Query, scope: &mut Scope) {
        scope.through = None;
        let Some(through) = &query.through else { return };
        let name = &through.attribute;
        if query.partition.as_ref().is_some_and(|partition| !names(partition)) {
            let message = format!("the partition is the same for every `{name}`");
            let help = format!("write it as the key has it: `where PK = \"…#{{{name}:02}}\"`");
            self.report(Diagnostic::new(Rule::Type, through.span, message).help(help));
        }
        let range: Option<Span> =
            query.range_texts().find(|text| names(text)).map(|text| text.span);
        if let Some(span) = range {
            let message = format!("the sort keys are not the same for every `{name}`");
            let why = "the items of all partitions are merged by their sort keys";
            self.report(Diagnostic::new(Rule::Type, span, message).why(why));
        }
    }
}

impl Scope {
    /// The number of the partition that is read, if that is its name.
    pub(super) fn through_named(&self, name: &str, span: Span) -> Option<Expr> {
        let (_, kind) = self.through.as_ref().filter(|(own, _)| own == name)?;
        Some(Expr { kind: ExprKind::Through(name.to_owned()), of: Kind::Value(kind.clone()), span })
    }
}

/// Whether a text has the number of the partition.
fn names(text: &Expr) -> bool {
    let mut found = false;
    text.walk(&mut |part| found |= matches!(part.kind, ExprKind::Through(_)));
    found
}
