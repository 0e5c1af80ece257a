//! Each request as a [`Request`]. A write answers with no image unless one is asked for.

use super::{
    BatchGet, Delete, Get, IndexScan, Put, Query, Request, Returning, SnapshotGet, Transact, Update,
};

macro_rules! is_a_request {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Request {
            fn from(request: $kind) -> Request {
                Request::$kind(request)
            }
        }
    )*};
}

macro_rules! is_a_write {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Request {
            fn from(request: $kind) -> Request {
                Request::$kind(request, Returning::Nothing)
            }
        }

        impl From<($kind, Returning)> for Request {
            fn from((request, returning): ($kind, Returning)) -> Request {
                Request::$kind(request, returning)
            }
        }
    )*};
}

is_a_request!(Get, BatchGet, SnapshotGet, Query, IndexScan, Transact);
is_a_write!(Put, Update, Delete);
