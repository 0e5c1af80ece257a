//! Whether two expressions have one value.

use super::Group;
use crate::check::truth::{PARTS_MAX, Passed};
use crate::model::{BindingId, Expr, ExprKind, TextPiece};

impl<'a> Group<'a> {
    /// Whether two expressions have one value. Within the second, what is stored stands for the item of a
    /// binding, if one is given.
    pub(in crate::check) fn alike(
        &self,
        a: &'a Expr,
        b: &'a Expr,
        item: Option<BindingId>,
    ) -> bool {
        self.compare(a, b, item, &mut PARTS_MAX.clone())
    }

    /// Whether two values are equal where a leg stands within some tests: by themselves, or by tests that found them
    /// equal.
    pub(in crate::check) fn equal(&self, guards: &[Passed<'a>], a: &'a Expr, b: &'a Expr) -> bool {
        let pairs: Vec<_> = self.known(guards).iter().filter_map(Passed::equality).collect();
        let mut same = vec![a];
        let mut at = 0;
        while let Some(one) = same.get(at).copied() {
            if self.alike(one, b, None) {
                return true;
            }
            at += 1;
            for (left, right) in pairs.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
                let new = !same.iter().any(|other| std::ptr::eq(*other, right));
                if new && self.alike(one, left, None) {
                    same.push(right);
                }
            }
        }
        false
    }

    fn compare(&self, a: &'a Expr, b: &'a Expr, item: Option<BindingId>, left: &mut usize) -> bool {
        use ExprKind as E;
        let Some(fewer) = left.checked_sub(1) else { return false };
        *left = fewer;
        let (a, b) = (self.origin(a), self.origin(b));
        let mut both = |a: &'a Expr, b: &'a Expr| self.compare(a, b, item, left);
        match (&a.kind, &b.kind) {
            // Something that was reported is not reported again.
            (E::Unknown, _) | (_, E::Unknown) => true,
            _ if std::ptr::eq(a, b) => true,
            (E::Attribute(binding, a), E::Stored(b)) => item == Some(*binding) && a == b,
            (E::Input(a), E::Input(b)) => a == b,
            (E::Word(a), E::Word(b)) => a == b,
            (E::Binding(a), E::Binding(b)) => a == b,
            (E::Attribute(a, x), E::Attribute(b, y)) => a == b && x == y,
            (E::Stored(a), E::Stored(b)) => item.is_none() && a == b,
            (E::Member(a, x), E::Member(b, y)) => x == y && both(a, b),
            (E::Contains(a, b), E::Contains(c, d)) => both(a, c) && both(b, d),
            (E::Number(a), E::Number(b)) => a == b,
            (E::Duration(a), E::Duration(b)) => a == b,
            (E::Months(a), E::Months(b)) => a == b,
            (E::Bool(a), E::Bool(b)) => a == b,
            (E::HasRole(a), E::HasRole(b)) => a == b,
            (E::Now, E::Now) | (E::CallerId, E::CallerId) => true,
            (E::Told(a), E::Told(b)) => a == b,
            (E::Shard(a, m), E::Shard(b, n)) => m == n && both(a, b),
            (E::Commitment(a), E::Commitment(b))
            | (E::Reveal(a), E::Reveal(b))
            | (E::Day(a), E::Day(b)) => both(a, b),
            (E::Rounded(one, a, by, m), E::Rounded(other, b, per, n)) => {
                let same = match (by, per) {
                    (Some(by), Some(per)) => both(by, per),
                    (None, None) => true,
                    _ => false,
                };
                same && one == other && m == n && both(a, b)
            }
            (E::Draw(a, b), E::Draw(c, d)) => both(a, c) && both(b, d),
            (E::Greatest(a), E::Greatest(b))
            | (E::Least(a), E::Least(b))
            | (E::Coalesce(a), E::Coalesce(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| both(a, b))
            }
            (E::Not(a), E::Not(b))
            | (E::Owns(a), E::Owns(b))
            | (E::Present(a), E::Present(b))
            | (E::Absent(a), E::Absent(b)) => both(a, b),
            (E::Binary(o, a, b), E::Binary(p, c, d)) => o == p && both(a, c) && both(b, d),
            (E::MovesTo(a, b), E::MovesTo(c, d)) | (E::BeginsWith(a, b), E::BeginsWith(c, d)) => {
                both(a, c) && both(b, d)
            }
            (E::Between(a, b, c), E::Between(d, e, f)) => both(a, d) && both(b, e) && both(c, f),
            (E::In(a, values), E::In(b, others)) => {
                both(a, b)
                    && values.len() == others.len()
                    && values.iter().zip(others).all(|(a, b)| both(a, b))
            }
            (E::Text(a), E::Text(b)) => {
                a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| match (a, b) {
                        (TextPiece::Literal(a), TextPiece::Literal(b)) => a == b,
                        (TextPiece::Value(a, w), TextPiece::Value(b, v)) => w == v && both(a, b),
                        _ => false,
                    })
            }
            _ => false,
        }
    }
}
