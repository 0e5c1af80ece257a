//! Ids, and the lists that hand them out.
//!
//! An id can only be had from the list that holds what it names, so a lookup by id is total: [`IdVec`] is
//! indexed by ids of its own type alone. An id of another model is a bug in the code that mixed the two, and stops
//! the program rather than name something else.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The place of something in a list.
pub trait Id: Copy + fmt::Debug + sealed::Place {}

mod sealed {
    /// Ids are made by lists alone.
    pub trait Place {
        fn at(place: usize) -> Self;
        fn place(self) -> usize;
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])+ $name:ident;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(usize);

        impl sealed::Place for $name {
            fn at(place: usize) -> Self {
                Self(place)
            }

            fn place(self) -> usize {
                self.0
            }
        }

        impl Id for $name {}
    )+};
}

ids! {
    /// An entity of a model.
    EntityId;
    /// What a contract has read or computed under a name.
    BindingId;
    /// What a caller gives to a contract under a name.
    InputId;
    /// A role of a model.
    RoleId;
    /// A queue of a model.
    QueueId;
    /// An index of a model's table, which several entities can share.
    IndexId;
}

/// A list that is indexed by ids of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    all: Vec<T>,
    ids: PhantomData<I>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { all: Vec::new(), ids: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// Adds something, and names it.
    pub fn push(&mut self, one: T) -> I {
        self.all.push(one);
        I::at(self.all.len() - 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.all.iter()
    }

    /// All of them to be changed, in order.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.all.iter_mut()
    }

    /// All of them with their ids, in order.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        self.all.iter().enumerate().map(|(at, one)| (I::at(at), one))
    }

    /// The first that a test holds for.
    pub fn position(&self, mut test: impl FnMut(&T) -> bool) -> Option<I> {
        self.enumerate().find(|(_, one)| test(one)).map(|(id, _)| id)
    }

    /// Something else of each, under the same ids.
    pub fn map<'a, U>(&'a self, mut each: impl FnMut(I, &'a T) -> U) -> IdVec<I, U> {
        let all = self.enumerate().map(|(id, one)| each(id, one)).collect();
        IdVec { all, ids: PhantomData }
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[expect(clippy::panic, reason = "an id of another list is a bug: going on would be wrong")]
    fn index(&self, id: I) -> &T {
        let Some(found) = self.all.get(id.place()) else {
            panic!("{id:?} is not of this list, which has {}", self.all.len());
        };
        found
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[expect(clippy::panic, reason = "an id of another list is a bug: going on would be wrong")]
    fn index_mut(&mut self, id: I) -> &mut T {
        let length = self.all.len();
        let Some(found) = self.all.get_mut(id.place()) else {
            panic!("{id:?} is not of this list, which has {length}");
        };
        found
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_what_was_pushed() {
        let mut list: IdVec<EntityId, &str> = IdVec::default();
        let (a, b) = (list.push("a"), list.push("b"));
        assert_eq!((list[a], list[b]), ("a", "b"));
        assert_eq!(list.position(|one| *one == "b"), Some(b));
        assert_eq!(list.map(|_, one| one.len())[b], 1);
    }

    #[test]
    #[should_panic(expected = "EntityId(1) is not of this list, which has 1")]
    fn an_id_of_another_list_is_a_bug() {
        let mut long: IdVec<EntityId, &str> = IdVec::default();
        long.push("a");
        let second = long.push("b");
        let mut short: IdVec<EntityId, &str> = IdVec::default();
        short.push("a");
        let _ = short[second];
    }
}
