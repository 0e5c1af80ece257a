//! The service over real HTTP: every row of its document, every rule of its edge.
//!
//! Each test is a sentence of what the service promises. It starts a server of its own, asks it as a stranger
//! would, and shows the request and the reply when a promise is broken.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

mod apart;
mod bodies;
mod browsers;
mod cached;
mod console;
mod console_rights;
mod cursors;
mod cut_pages;
mod declared;
mod demo;
mod edge;
mod events;
mod examples;
mod headers;
mod hostile;
mod idempotency;
mod inputs;
mod limited;
mod lists;
mod locations;
mod locations_changed;
mod lockers;
mod lockers_changed;
mod lockers_removed;
mod lottery;
mod older_tables;
mod openapi;
mod other_items;
mod own_reservations;
mod participants;
mod participation;
mod participation_admin;
mod participation_events;
mod participation_lists;
mod participation_poisoned;
mod participation_stored;
mod reservations;
mod rights;
mod scene;
mod stored;
mod timers;
mod timers_model;
mod times;
mod tokens;
mod transfer;
mod windows;

use latchkey_testing::{self as serve, jwt, verdict};
