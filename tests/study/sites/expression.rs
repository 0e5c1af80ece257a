//! Mistakes in tests and values.

use latchkey_language::Span;
use latchkey_language::ast::{Assign, BinaryOp, Expr, ExprKind, Piece, Template};

use super::Sites;
use crate::mutant::Operator;

impl Sites<'_> {
    /// A test: its parts may be dropped.
    pub(super) fn test(&mut self, test: &Expr) {
        self.sides_of_all(test);
        self.inner(test);
    }

    /// A value, or a test whose parts are not dropped.
    pub(super) fn value(&mut self, value: &Expr) {
        self.inner(value);
    }

    /// Drops each side of an `and` or an `or`, and of those within.
    fn sides_of_all(&mut self, test: &Expr) {
        match &test.node {
            ExprKind::Binary(left, op, right)
                if matches!(op.node, BinaryOp::And | BinaryOp::Or) =>
            {
                let operator = match op.node {
                    BinaryOp::And => Operator::WeakenTest,
                    _ => Operator::DropAlternative,
                };
                self.sides(operator, test);
                self.sides_of_all(left);
                self.sides_of_all(right);
            }
            ExprKind::Not(inner) => self.sides_of_all(inner),
            _ => {}
        }
    }

    /// Drops each side of an `and` or an `or`.
    pub(super) fn sides(&mut self, operator: Operator, test: &Expr) {
        let ExprKind::Binary(left, op, right) = &test.node else { return };
        if !matches!(op.node, BinaryOp::And | BinaryOp::Or) {
            return;
        }
        let is_unchanged =
            |side: &Expr| matches!(&side.node, ExprKind::Name(name) if name == "unchanged");
        let by = |side: &Expr| if is_unchanged(side) { Operator::DropUnchanged } else { operator };
        self.drop(by(left), Span::new(left.span.start, right.span.start));
        self.drop(by(right), Span::new(left.span.end, right.span.end));
    }

    /// Other comparisons, constants, words and names, at any depth.
    pub(super) fn inner(&mut self, value: &Expr) {
        match &value.node {
            ExprKind::Name(name) => self.name(name, value.span, ""),
            ExprKind::Member(item, attribute) => {
                if let ExprKind::Name(name) = &item.node {
                    let others = self.local.other_attributes(self.names, name, &attribute.node);
                    for other in others {
                        self.replace(Operator::OtherName, attribute.span, other);
                    }
                    for other in self.local.other_items(name) {
                        self.replace(Operator::OtherName, item.span, other);
                    }
                }
            }
            ExprKind::Number(digits) => self.number(digits, value.span),
            ExprKind::Duration(_) => {
                let source = self.source(value.span);
                self.replace(Operator::OtherConstant, value.span, format!("2{source}"));
            }
            ExprKind::Text(template) => self.template(template),
            ExprKind::Binary(left, op, right) => {
                self.comparison(op.node, op.span);
                self.inner(left);
                self.inner(right);
            }
            ExprKind::Not(inner) | ExprKind::Is(inner, _) | ExprKind::By(inner, _) => {
                self.inner(inner);
            }
            ExprKind::Owns(one, other)
            | ExprKind::MovesTo(one, other)
            | ExprKind::BeginsWith(one, other)
            | ExprKind::ElementOf(one, other) => {
                self.inner(one);
                self.inner(other);
            }
            ExprKind::Between(one, low, high) => {
                [one, low, high].into_iter().for_each(|part| self.inner(part));
            }
            ExprKind::In(one, values) => {
                self.inner(one);
                let spans: Vec<Span> = values.iter().map(|value| value.span).collect();
                for at in 0..spans.len() {
                    if spans.len() > 1 {
                        self.drop_one(Operator::OtherConstant, &spans, at, None);
                    }
                }
            }
            ExprKind::Every { test, .. } => self.inner(test),
            ExprKind::Call(_, values) => values.iter().for_each(|value| self.inner(value)),
            ExprKind::Object(fields) => self.assigns(fields),
            ExprKind::Stored(_) | ExprKind::New(_) | ExprKind::Within(..) => {}
        }
        if let ExprKind::Is(_, name) = &value.node {
            match name.node.as_str() {
                "absent" => self.replace(Operator::OtherComparison, name.span, "present"),
                "present" => self.replace(Operator::OtherComparison, name.span, "absent"),
                _ => {}
            }
        }
    }

    /// Another name, or another word, behind what makes it a value.
    fn name(&mut self, name: &str, span: Span, before: &str) {
        for word in self.names.other_words(name) {
            self.replace(Operator::OtherWord, span, format!("{before}{word}"));
        }
        for other in self.local.other_inputs(name) {
            self.replace(Operator::OtherName, span, format!("{before}{other}"));
        }
        match name {
            "true" => self.replace(Operator::OtherConstant, span, format!("{before}false")),
            "false" => self.replace(Operator::OtherConstant, span, format!("{before}true")),
            _ => {}
        }
    }

    pub(super) fn number(&mut self, digits: &str, span: Span) {
        if let Ok(number) = digits.parse::<i64>() {
            self.replace(Operator::OtherConstant, span, (number + 1).to_string());
            if number > 0 {
                self.replace(Operator::OtherConstant, span, (number - 1).to_string());
            }
        }
    }

    fn template(&mut self, template: &Template) {
        for piece in &template.pieces {
            if let Piece::Hole { value, .. } = piece {
                self.inner(value);
            }
        }
        if let [Piece::Literal(text)] = template.pieces.as_slice() {
            self.insert(Operator::OtherConstant, text.span.end, "X");
        }
    }

    fn comparison(&mut self, op: BinaryOp, span: Span) {
        let single = self.source(span) == "=";
        let (operator, other) = match op {
            BinaryOp::Equal if single => return,
            BinaryOp::Equal => (Operator::OtherComparison, "!="),
            BinaryOp::NotEqual => (Operator::OtherComparison, "=="),
            BinaryOp::Less => (Operator::OtherComparison, "<="),
            BinaryOp::LessOrEqual => (Operator::OtherComparison, "<"),
            BinaryOp::Greater => (Operator::OtherComparison, ">="),
            BinaryOp::GreaterOrEqual => (Operator::OtherComparison, ">"),
            BinaryOp::And => (Operator::OtherComparison, "or"),
            BinaryOp::Or => (Operator::OtherComparison, "and"),
            BinaryOp::Plus => (Operator::OtherSign, "-"),
            BinaryOp::Minus => (Operator::OtherSign, "+"),
            BinaryOp::Times => (Operator::OtherSign, "+"),
            // A quotient must say how it is rounded, and no other operator may.
            BinaryOp::Over => return,
        };
        self.replace(operator, span, other);
    }

    /// The values of attributes.
    pub(super) fn assigns(&mut self, assigns: &[Assign]) {
        for assign in assigns {
            if assign.value.span == assign.name.span {
                let before = format!("{} = ", assign.name.node);
                self.name(&assign.name.node, assign.name.span, &before);
            } else {
                self.inner(&assign.value);
            }
        }
    }
}
