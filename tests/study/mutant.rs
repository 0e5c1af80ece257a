//! A mutant: a document with one mistake, made by an operator.

use latchkey_language::Span;

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// Drops a `require` or a `match`.
    DropTest,
    /// Drops one side of an `and`.
    WeakenTest,
    /// Drops one side of an `or`.
    DropAlternative,
    /// Drops an `allow`, or one side of its `or`.
    DropAllow,
    /// Drops the `if` of a leg.
    DropCondition,
    /// Drops `unchanged`.
    DropUnchanged,
    /// Another comparison: `<` for `<=`, `!=` for `==`.
    OtherComparison,
    /// Another constant.
    OtherConstant,
    /// Another word of the same enum.
    OtherWord,
    /// Another name of the same type.
    OtherName,
    /// Drops a leg.
    DropLeg,
    /// Swaps two legs.
    SwapLegs,
    /// Drops a `send`, or what follows it.
    DropSend,
    /// Drops one attribute of a `set`, a `remove` or an `add`.
    DropSet,
    /// Drops what moves a counter.
    DropBump,
    /// Adds what was subtracted.
    OtherSign,
    /// Drops one attribute of a `put`.
    DropValue,
    /// `replace` for `if absent`.
    Replace,
    /// `if absent` for `replace`.
    IfAbsent,
    /// An eventual read for a strong one.
    Eventual,
    /// A strong read for an eventual one.
    Strong,
    /// A wider range of a query, or of a declared number.
    WidenRange,
    /// The other order of a query.
    OtherOrder,
    /// Drops a `when` with its block, or lets its block happen always.
    DropWhen,
    /// The `else` of another statement.
    OtherElse,
    /// Drops an `else`.
    DropElse,
    /// Drops or adds what an answer shows.
    OtherAnswer,
    /// Drops a move, a copy, a guard or a default of an entity.
    DropDeclared,
    /// Drops a fact of a contract.
    DropFact,
}

impl Operator {
    /// Every operator, in order.
    pub const ALL: &[Operator] = &[
        Operator::DropTest,
        Operator::WeakenTest,
        Operator::DropAlternative,
        Operator::DropAllow,
        Operator::DropCondition,
        Operator::DropUnchanged,
        Operator::OtherComparison,
        Operator::OtherConstant,
        Operator::OtherWord,
        Operator::OtherName,
        Operator::DropLeg,
        Operator::SwapLegs,
        Operator::DropSend,
        Operator::DropSet,
        Operator::DropBump,
        Operator::OtherSign,
        Operator::DropValue,
        Operator::Replace,
        Operator::IfAbsent,
        Operator::Eventual,
        Operator::Strong,
        Operator::WidenRange,
        Operator::OtherOrder,
        Operator::DropWhen,
        Operator::OtherElse,
        Operator::DropElse,
        Operator::OtherAnswer,
        Operator::DropDeclared,
        Operator::DropFact,
    ];

    /// What it does, in words.
    pub fn words(self) -> &'static str {
        match self {
            Operator::DropTest => "drop a `require` or `match`",
            Operator::WeakenTest => "drop a side of an `and`",
            Operator::DropAlternative => "drop a side of an `or`",
            Operator::DropAllow => "drop an `allow`, or a side of it",
            Operator::DropCondition => "drop the `if` of a write",
            Operator::DropUnchanged => "drop `unchanged`",
            Operator::OtherComparison => "another comparison",
            Operator::OtherConstant => "another constant",
            Operator::OtherWord => "another word of an enum",
            Operator::OtherName => "another name of the same type",
            Operator::DropLeg => "drop a write",
            Operator::SwapLegs => "swap two writes of a transaction",
            Operator::DropSend => "drop a `send`, or what follows it",
            Operator::DropSet => "drop a part of `set`, `add` or `remove`",
            Operator::DropBump => "drop what moves a counter",
            Operator::OtherSign => "the other sign",
            Operator::DropValue => "drop an attribute of a `put`",
            Operator::Replace => "`replace` for `if absent`",
            Operator::IfAbsent => "`if absent` for `replace`",
            Operator::Eventual => "an eventual read for a strong one",
            Operator::Strong => "a strong read for an eventual one",
            Operator::WidenRange => "a wider range",
            Operator::OtherOrder => "the other order",
            Operator::DropWhen => "drop a `when`, or its condition",
            Operator::OtherElse => "the `else` of another statement",
            Operator::DropElse => "drop an `else`",
            Operator::OtherAnswer => "another answer",
            Operator::DropDeclared => "drop a move, copy, guard or default",
            Operator::DropFact => "drop a fact",
        }
    }
}

/// An edit of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub by: String,
}

/// A document with one mistake.
#[derive(Debug, Clone)]
pub struct Mutant {
    /// The document, by its place among those of the study.
    pub document: usize,
    /// The kind of the mistake.
    pub operator: Operator,
    /// The contract, worker, steps, entity or queue that has it.
    pub within: String,
    /// The edits that make it.
    pub edits: Vec<Edit>,
    /// Whether it is held back.
    pub held_back: bool,
}

impl Mutant {
    /// The document with the mistake.
    pub fn text(&self, original: &str) -> String {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| edit.span.start);
        let mut text = String::new();
        let mut at = 0;
        for edit in edits {
            text.extend(original.get(at..edit.span.start));
            text.push_str(&edit.by);
            at = edit.span.end;
        }
        text.extend(original.get(at..));
        text
    }

    /// The mistake, as the text before and after, on one line.
    pub fn shown(&self, original: &str) -> String {
        let one = |edit: &Edit| {
            let old = original.get(edit.span.range());
            let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let (old, new) = (old.map(flat), flat(&edit.by));
            match (old.filter(|old| !old.is_empty()), new.is_empty()) {
                (Some(old), true) => format!("without `{old}`"),
                (Some(old), false) => format!("`{new}` for `{old}`"),
                (None, _) => format!("with `{new}`"),
            }
        };
        self.edits.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Its line in the document.
    pub fn line(&self, original: &str) -> usize {
        let start = self.edits.iter().map(|edit| edit.span.start).min();
        let before = start.and_then(|start| original.get(..start));
        before.map_or(0, |before| before.matches('\n').count() + 1)
    }
}
