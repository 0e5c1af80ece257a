//! Rights in one club that reach into another, or grow, and their honest twins. Each is one contract beside those of
//! `clubs.md`, where members of a club have rights.

use latchkey_model::check;

use crate::planted::with_facts;

const AROUND: &str = include_str!("clubs.md");

/// The rules that a contract breaks, of those that are of interest here; each once.
fn broken(steps: &str) -> Vec<&'static str> {
    let text = format!("{AROUND}\n```contract\ncontract TRIAL \"Trial\" {{\n{steps}\n}}\n```\n");
    let found = check(&with_facts(&text)).diagnostics;
    let of_interest =
        ["foreign-allow", "escalation", "left-behind", "name", "type", "syntax", "absent"];
    let mut found: Vec<_> = found.iter().map(|one| one.rule.slug()).collect();
    found.retain(|rule| of_interest.contains(rule));
    found.dedup();
    found
}

/// Each case is a contract with `@` in one place, what stands there in the mistake, and in the honest twin.
fn twins(rule: &str, cases: &[(&str, &str, &str, &str)]) {
    assert_eq!(broken("GET /nothing\nallow true\nreturn 204"), [""; 0]);
    for (what, steps, planted, honest) in cases {
        let found = broken(&steps.replace('@', planted));
        assert!(found.contains(&rule), "{what}: {planted}: {found:?}");
        assert_eq!(broken(&steps.replace('@', honest)), [""; 0], "{what}: {honest}");
    }
}

#[test]
fn a_membership_that_must_be_found_is_a_test_of_rights_whatever_its_status() {
    let cases = [
        (
            "a read",
            r#"GET /clubs/{clubId}/tools/{toolId}
  input homeId id
  me = get Member(clubId = @, userId = caller.id) strong else 404 not-found
  allow true
  tool = get Tool strong else 404 not-found
  return tool"#,
            "homeId",
            "clubId",
        ),
        (
            "a write behind a test that is no 403",
            r#"PATCH /clubs/{clubId}/tools/{toolId}
  input homeId id, name text(80)
  snapshot {
    me = get Member(clubId = @, userId = caller.id)
    tool = get Tool else 404 not-found
  }
  require me is present else 409 stranger
  require me.right == ADMIN else 409 no-admin
  allow true
  transact {
    check me if .right == ADMIN else retry
    update tool set name = name, version = .version + 1 if unchanged else retry
  }
  return 204"#,
            "homeId",
            "clubId",
        ),
        (
            "a test within the transaction",
            r#"PATCH /clubs/{clubId}/tools/{toolId}
  input homeId id, name text(80)
  allow true
  transact {
    check Member(clubId = @, userId = caller.id) if .right == ADMIN else 409 no-admin
    update Tool set name = name, version = .version + 1 else 404 not-found
  }
  return 204"#,
            "homeId",
            "clubId",
        ),
    ];
    twins("foreign-allow", &cases);
}

#[test]
fn who_takes_what_nobody_has_takes_that_alone() {
    let take = r#"POST /clubs/{clubId}/tools/{toolId}/take
  input homeId id, name text(80)
  me = get Member(clubId = homeId, userId = caller.id) strong else 403 stranger
  allow true
  transact {
    check me if .right == me.right else retry
    update Tool set holderId = caller.id, @ version = .version + 1 if .holderId is absent
      else absent 404 not-found
      else 409 lent
  }
  return 204"#;
    let own = r#"PUT /clubs/{clubId}/motto
  input homeId id, motto text(80)
  me = get Member(clubId = @, userId = caller.id) strong else 403 stranger
  allow me.right == ADMIN
  transact {
    check me if .right == ADMIN else retry
    update Club set motto = motto, ownerId = caller.id, version = .version + 1 if .motto is absent
      else absent 404 not-found
      else 409 has-motto
  }
  return 204"#;
    let cases = [
        ("another name", take, "name = name,", "state = OUT, dueAt = now + 14d,"),
        ("another owner", own, "homeId", "clubId"),
    ];
    twins("foreign-allow", &cases);
}

#[test]
fn a_stored_constant_ties_no_two_items() {
    let steps = r#"PATCH /clubs/{clubId}/lent/{toolId}
  input otherId id, name text(80)
  snapshot {
    me = get Member(clubId, userId = caller.id) else 403 stranger
    club = get Club else 404 not-found
    tool = get Tool(clubId = otherId, toolId) else 404 not-found
  }
  allow me.right == ADMIN
  require @ else 409 other
  transact {
    check me if .right == ADMIN else retry
    update tool set name = name, version = .version + 1 if unchanged else retry
  }
  return 204"#;
    let cases = [
        ("a default", steps, "tool.region == club.region", "tool.clubId == club.clubId"),
        ("a constant", steps, "tool.zone == club.zone", "tool.clubId == club.clubId"),
    ];
    twins("foreign-allow", &cases);
}

#[test]
fn what_comes_out_alike_for_all_callers_excuses_no_right() {
    let join = r#"POST /clubs/{clubId}/enter
  input code text(20)
  allow true
  club = get Club strong else 404 not-found
  @
  return 204"#;
    let put = "put Member { clubId, userId = caller.id, right = ADMIN } if absent else 409 member";
    let with = |leg: &str| format!("transact {{\n{leg}\n{put}\n }}");
    let after = |test: &str| format!("require {test} else 403 no\n{put}");
    let count = "update club set members = .members + 1, version = .version + 1";
    let cases = [
        (
            with("check club if .name == club.name else retry"),
            with("check club if .code == code else 409 no"),
        ),
        (with("check club if unchanged else retry"), with("check club if .open else 409 no")),
        (
            with(&format!("{count} if .members < 500 else 409 full")),
            with(&format!("{count} if .members < 500 and .code == code else 409 full")),
        ),
        (after("club.name == club.name"), after("club.code == code")),
        (after("club.members < 500"), after("club.open")),
        (after("club.ownerId != caller.id"), after("club.ownerId == caller.id")),
        (after("club.open or club.members < 500"), after("club.open or club.code == code")),
    ];
    for (planted, honest) in &cases {
        twins("escalation", &[("join", join, planted, honest)]);
    }
}

#[test]
fn a_pin_of_another_item_excuses_no_rise() {
    let steps = r#"POST /clubs/{clubId}/rise
  input code text(20)
  snapshot {
    club = get Club else 404 not-found
    me = get Member(clubId, userId = caller.id) else 404 not-found
  }
  allow true
  transact {
    check club if @ else retry
    update me set right = ADMIN, version = .version + 1 if unchanged else retry
  }
  return 204"#;
    twins("escalation", &[("rise", steps, ".name == club.name", ".code == code")]);
}

#[test]
fn a_right_that_the_caller_may_lack_is_not_given_to_others() {
    let steps = r#"POST /clubs/{clubId}/members/{userId}/promote
  snapshot {
    club = get Club else 404 not-found
    me = get Member(clubId, userId = caller.id) else 403 stranger
    other = get Member else 404 not-found
  }
  allow @
  require userId != caller.id else 409 own
  transact {
    check me if .right == me.right else retry
    update other set right = ADMIN, version = .version + 1 if .right == other.right else retry
  }
  return 204"#;
    let cases = [
        ("everyone", steps, "true", "me.right == ADMIN"),
        ("two words", steps, "me.right != READ", "caller owns club.ownerId"),
        ("two words", steps, "me.right in (LEND, ADMIN)", "me.right in (ADMIN)"),
    ];
    twins("escalation", &cases);
}

#[test]
fn one_put_that_does_not_look_at_the_parent_hides_nothing() {
    // `B-3` puts a member, and does not look at the club. Tools are put where a member of the club is there.
    let close = r#"DELETE /clubs/{clubId}
  club = get Club strong else 404 not-found
  allow caller owns club.ownerId
  @
  return 204"#;
    let none = |entity: &str, name: &str| {
        format!(
            "{name} = query {entity} strong where PK = \"CLUB#{{clubId}}\" and SK begins_with \
             \"{}#\" first 1\nrequire {name} is absent else 409 {name}\n",
            entity.to_uppercase()
        )
    };
    let delete = "delete club if unchanged else retry";
    let [members, tools, invites] =
        [("Member", "member"), ("Tool", "tool"), ("Invite", "invite")].map(|(a, b)| none(a, b));
    let all = format!("{members}{tools}{invites}{delete}");
    for planted in [delete.to_owned(), format!("{members}{delete}"), format!("{tools}{delete}")] {
        twins("left-behind", &[("close", close, &planted, &all)]);
    }
}
