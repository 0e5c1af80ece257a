//! Rights that callers give themselves, and things that only look like it. Each is one contract beside those of
//! `rights.md`, where a seat in a room has rights.

use latchkey_model::check;

use crate::planted::{PARTIAL, with_facts};

const AROUND: &str = include_str!("rights.md");

/// The rules that a contract breaks.
fn broken(steps: &str) -> Vec<&'static str> {
    let text = format!("{AROUND}\n```contract\ncontract TRIAL \"Trial\" {{\n{steps}\n}}\n```\n");
    let found = check(&with_facts(&text)).diagnostics;
    found.iter().map(|one| one.rule.slug()).filter(|rule| !PARTIAL.contains(rule)).collect()
}

/// Contracts by which callers give themselves a right, and what each is.
const SELF_GIVEN: &[(&str, &str)] = &[
    (
        "a seat under an id that the caller owns",
        r#"POST /rooms/{roomId}/seats/{userId}/join
  allow caller owns userId
  seat = put Seat { roomId, userId, right = ADMIN, state = IN } if absent else 409 there
  return 201 seat"#,
    ),
    (
        "a seat under an id that is the caller's",
        r#"POST /rooms/{roomId}/seats/{userId}/join
  require userId == caller.id else 403 not-you
  allow true
  seat = put Seat { roomId, userId, right = ADMIN, state = IN } if absent else 409 there
  return 201 seat"#,
    ),
    (
        "a seat that rises, where this is asked: nothing is asked",
        r#"POST /rooms/{roomId}/rise
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  update me set right = ADMIN, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a seat that rises, where this is asked: a member",
        r#"POST /rooms/{roomId}/rise
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  waive never "said for the reader"
  allow me is present
  update me set right = ADMIN, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a seat that rises, where this is asked: two words",
        r#"POST /rooms/{roomId}/rise
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow me.right != READ
  update me set right = ADMIN, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a seat of the caller, by its id",
        r#"POST /rooms/{roomId}/seats/{userId}/rise
  me = get Seat strong else 404 stranger
  allow caller owns me.userId
  update me set right = ADMIN, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a seat of the caller, without a read",
        r#"POST /rooms/{roomId}/rise
  allow true
  me = update Seat(roomId, userId = caller.id) set right = ADMIN, version = .version + 1 else 404 stranger
  return me"#,
    ),
    (
        "a right of the caller that becomes true",
        r#"POST /rooms/{roomId}/rise
  allow true
  me = update Seat(roomId, userId = caller.id) set boss = true, version = .version + 1 else 404 stranger
  return me"#,
    ),
    (
        "an element of the caller's rights",
        r#"POST /rooms/{roomId}/rise
  allow true
  me = update Seat(roomId, userId = caller.id) add rights = BAN set version = .version + 1 else 404 stranger
  return me"#,
    ),
    (
        "a test that excludes nothing",
        r#"PUT /rooms/{roomId}/seats/{userId}/right
  input right Seat.right
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow me.right != READ
  waive never "said for the reader"
  require right == READ or right in (WRITE, ADMIN) else 400 what
  waive unpinned "not the point"
  seat = update Seat set right = right, version = .version + 1 else 404 not-found
  return seat"#,
    ),
    (
        "a test that excludes nothing",
        r#"PUT /rooms/{roomId}/seats/{userId}/right
  input right Seat.right
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow me.right != READ
  waive never "said for the reader"
  require not (right != READ and right != WRITE and right != ADMIN) else 400 what
  waive unpinned "not the point"
  seat = update Seat set right = right, version = .version + 1 else 404 not-found
  return seat"#,
    ),
    (
        "a right for another, where a member is asked for",
        r#"PUT /rooms/{roomId}/seats/{userId}/right
  input right Seat.right
  me = get Seat(roomId, userId = caller.id) strong
  allow me is present
  other = get Seat strong else 404 not-found
  update other set right = right, version = .version + 1 if unchanged else retry
  return 204"#,
    ),
    (
        "a right that may be left out",
        r#"PUT /rooms/{roomId}/right
  input right Seat.right ?
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  given = coalesce(right, me.right)
  update me set right = given, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a right that is a word if it is left out",
        r#"PUT /rooms/{roomId}/right
  input right Seat.right ?
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  given = coalesce(right, READ)
  update me set right = given, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a record that is written out",
        r#"PUT /rooms/{roomId}/may
  input close bool
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  update me set may = { close, lock = false }, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "an owner who is another one",
        r#"PUT /rooms/{roomId}/owner
  input ownerId id
  room = get Room strong else 404 not-found
  waive stale-answer "a stranger is told so, whoever the owner is"
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  waive never "said for the reader"
  allow me is present
  require ownerId != room.ownerId else 409 same
  update room set ownerId = ownerId if .ownerId == room.ownerId else retry
  return 204"#,
    ),
];

#[test]
fn a_right_that_callers_give_themselves_is_told() {
    for (what, steps) in SELF_GIVEN {
        assert_eq!(broken(steps), ["escalation"], "{what}");
    }
}

/// What gives no right that the caller did not have.
const HARMLESS: &[(&str, &str)] = &[
    (
        "a seat under an id that the caller owns",
        r#"POST /rooms/{roomId}/seats/{userId}/join
  allow caller owns userId
  seat = put Seat { roomId, userId } if absent else 409 there
  return 201 seat"#,
    ),
    (
        "an element that nothing asks for",
        r#"POST /rooms/{roomId}/rise
  allow true
  me = update Seat(roomId, userId = caller.id) add rights = SEE set version = .version + 1 else 404 stranger
  return me"#,
    ),
    (
        "an admin who steps down",
        r#"POST /rooms/{roomId}/down
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  update me set right = READ, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "a guest who accepts",
        r#"POST /rooms/{roomId}/accept
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  require me.state == ASKED else 409 not-asked
  update me set state = IN, version = .version + 1 if .state == ASKED else retry
  return me"#,
    ),
    (
        "a guest who accepts, by a condition",
        r#"POST /rooms/{roomId}/accept
  allow true
  me = update Seat(roomId, userId = caller.id) set state = IN, version = .version + 1 if .state == ASKED else 409 not-asked
  return me"#,
    ),
    (
        "a right for another, by one who has it all",
        r#"PUT /rooms/{roomId}/seats/{userId}/right
  input right Seat.right ?
  require userId != caller.id else 400 yourself
  me = get Seat(roomId, userId = caller.id) strong else 403 stranger
  allow me.right == ADMIN
  other = get Seat strong else 404 not-found
  given = coalesce(right, other.right)
  transact {
    check me if .right == ADMIN else retry
    update other set right = given, version = .version + 1 if unchanged else retry
  }
  return 204"#,
    ),
    (
        "a part of a record that nothing asks for",
        r#"PUT /rooms/{roomId}/may
  input lock bool
  me = get Seat(roomId, userId = caller.id) strong else 404 stranger
  allow true
  require me.may is present else 409 nothing
  update me set may = { close = me.may.close, lock }, version = .version + 1 if unchanged else retry
  return me"#,
    ),
    (
        "the owner of the room takes a seat back",
        r#"POST /rooms/{roomId}/back
  room = get Room strong else 404 not-found
  allow caller owns room.ownerId
  me = update Seat(roomId, userId = caller.id) set right = ADMIN, version = .version + 1 else 404 stranger
  return me"#,
    ),
];

#[test]
fn what_gives_no_right_is_not_told() {
    for (what, steps) in HARMLESS {
        assert_eq!(broken(steps), [""; 0], "{what}");
    }
}
