use latchkey_language::Rule;

/// A document of doors with more declarations, another attribute, and a contract of these lines.
fn told(members: &str, body: &str) -> Vec<String> {
    let text = format!(
        "```contract\n\
         system doors\n\
         table Doors {{ type kind }}\n\
         role porter\n\
         entity Door \"DOOR\" {{\n\
           PK = \"DOOR#{{doorId}}\"\n\
           SK = \"META\"\n\
           doorId id\n\
           state SHUT | OPEN = SHUT\n\
           name text(80)\n\
           note text(80)?\n\
           pin text(8)? secret\n\
           seen time?\n\
           opened int 0.. = 0\n\
           version counter\n\
           {members}\n\
         }}\n\
         contract D-01 \"Try\" {{\n\
           POST /doors/{{doorId}}\n\
           {body}\n\
           consistency strong\n\
           expect 1 item\n\
           rate 1/s\n\
         }}\n\
         ```\n"
    );
    let checked = crate::check(&text);
    let lowered = ["name", "type", "absent", "unused", "syntax"];
    let told = checked.diagnostics.into_iter().filter(|found| lowered.contains(&found.rule.slug()));
    // What this contract leaves unread is not the point; what it leaves unasked is.
    told.filter(|found| {
        found.rule != Rule::Unused || found.message.starts_with("nothing uses the input")
    })
    .map(|found| format!("{}: {}", found.rule, found.message))
    .collect()
}

/// A contract that reads a door, allows the caller, and does this.
fn done(statements: &str) -> Vec<String> {
    told(
        "",
        &format!(
            "door = get Door strong else 404 not-found\n allow caller is porter\n{statements}\n\
             return door"
        ),
    )
}

const BUMP: &str = "version = .version + 1";

#[test]
fn an_attribute_is_given_once() {
    let twice = ["name: `name` is given twice"];
    assert_eq!(
        done(&format!(
            "update door set {BUMP}, name = \"a\", name = \"b\" if unchanged else retry"
        )),
        twice
    );
    assert_eq!(done("put Door { name = \"a\", name = \"b\" } if absent else 409 taken"), twice);
    let removed =
        format!("update door set {BUMP}, note = \"a\" remove note if unchanged else retry");
    assert_eq!(done(&removed), ["name: `note` is given twice"]);
    assert_eq!(
        done("require door.opened < 3 else 409 worn with { a = 1, a = 2 }"),
        ["name: `a` is given twice"]
    );
}

#[test]
fn a_put_leaves_a_whole_item() {
    assert_eq!(done("put Door { name = \"a\" } if absent else 409 taken"), [""; 0]);
    assert_eq!(
        done("put Door if absent else 409 taken"),
        ["type: this leaves an item of `Door` without `name`"]
    );
    assert_eq!(
        done("upsert Door add opened = 1"),
        ["type: this leaves an item of `Door` without `name`"]
    );
    assert_eq!(
        done("put Door { name = \"a\", version = 1 } if absent else 409 taken"),
        ["type: `version` is a counter, which starts at 1 by itself"]
    );
    assert_eq!(done("put Door of door replace"), [""; 0]);
}

#[test]
fn a_change_keeps_the_item_whole() {
    let update = |change: &str| done(&format!("update door {change} if unchanged else retry"));
    assert_eq!(update("remove note"), [""; 0]);
    assert_eq!(update("remove name"), ["type: `name` is never absent"]);
    assert_eq!(
        update("set doorId = caller.id"),
        ["type: `doorId` is part of the key, which never changes"]
    );
    assert_eq!(update("add name = \"a\""), ["type: `name` is text(80), which does not add up"]);
    assert_eq!(
        update("add opened ?= 1"),
        ["type: `?=` leaves an attribute as it is stored, and nothing is stored here"]
    );
    assert_eq!(update("set note = \"a\" set name = \"b\""), ["name: an operation says this once"]);
}

#[test]
fn an_input_is_used() {
    assert_eq!(done("input force bool = false"), ["unused: nothing uses the input `force`"]);
    assert_eq!(done("input force bool\nrequire force else 409 shut"), [""; 0]);
    assert_eq!(
        done("input a int\nrequire 1 == 2 else 409 shut \"not {a}\""),
        [""; 0],
        "a message uses what it names"
    );
    assert_eq!(
        done("require door.opened < 3 else 409 worn \"opened {opend} times\""),
        ["name: there is no name `opend`"]
    );
}

#[test]
fn what_may_be_absent_is_tested_first() {
    let absent = ["absent: this may be absent here"];
    assert_eq!(done("input force bool?\nrequire force else 409 shut"), absent);
    assert_eq!(done("input at time?\nrequire at between now and now else 409 late"), absent);
    assert_eq!(done("require door.note in (\"a\", \"b\") else 409 other"), absent);
    let tested = "require door.note is present and door.note in (\"a\", \"b\") else 409 other";
    assert_eq!(done(tested), [""; 0]);
}

#[test]
fn a_clause_stands_where_it_means_something() {
    assert_eq!(done("other = get Door page 25\n"), ["name: `get` takes no `page`"]);
    assert_eq!(
        done("others = query Door of door where PK = \"DOOR#{doorId}\" page 25"),
        ["name: a query is by its `where` alone"]
    );
    assert_eq!(
        told(
            "index ByState moves { PK = \"STATE#{state}\"  SK = \"DOOR#{doorId}\" }",
            "allow caller is porter\nshut = query Door by ByState strong where PK = \"STATE#SHUT\"\n\
             page 25\nput Door { name = \"a\" } if absent else 409 taken\nreturn shut"
        ),
        ["type: a query by an index is never strong"]
    );
}

#[test]
fn a_counter_tells_whether_an_item_changed() {
    let entity = "}\nentity Log \"LOG\" {\nPK = \"LOG#{doorId}\"\nSK = \"LOG\"\ndoorId id";
    let body = "log = get Log strong else 404 not-found\nallow caller is porter\n\
                check log if unchanged else retry\nreturn log";
    assert_eq!(told(entity, body), ["type: `Log` has no counter that tells of changes"]);
}

#[test]
fn an_index_names_inputs_of_a_path_too() {
    // Only attributes of the table's own keys used to be known.
    let body = "allow caller is porter\nshut = query Door by ByState where PK = \"STATE#{state}\"\npage 25\n\
                require doorId == caller.id else 409 other\nreturn shut";
    let index = "index ByState moves { PK = \"STATE#{state}\"  SK = \"DOOR#{doorId}\" }";
    assert_eq!(told(index, &body.replace("{state}", "OPEN")), [""; 0]);
    let text = "}\ncontract D-02 \"By state\" {\nGET /states/{state}\nallow caller is porter\n\
                shut = query Door by ByState where PK = \"STATE#{state}\"\npage 25\nreturn shut";
    assert_eq!(told(index, &format!("{}\n{text}", body.replace("{state}", "OPEN"))), [""; 0]);
}

#[test]
fn a_transaction_holds_writes_alone() {
    let leg = format!("update door set {BUMP} if unchanged else retry");
    assert_eq!(done(&format!("transact {{ {leg} }}")), [""; 0]);
    let alone = ["name: a transaction is made of writes and sends, and of `when` around them"];
    assert_eq!(done(&format!("transact {{ {leg}\n other = get Door\n }}")), alone);
    assert_eq!(done(&format!("transact {{ {leg}\n when now == now {{ return door }} }}")), alone);
    let ends = "transact { update door set version = .version + 1 if unchanged\n\
                else { other = get Door strong else 404 gone\n return other }\n }";
    assert_eq!(done(ends), [""; 0]);
}

#[test]
fn every_way_ends_in_an_answer() {
    assert_eq!(
        told("", "door = get Door strong else 404 not-found\n allow caller is porter"),
        ["name: the contract has no `return` at its end"]
    );
    assert_eq!(
        done("other = get Door strong else { x = now }"),
        ["name: this `else` continues although its statement failed"]
    );
}

#[test]
fn an_answer_shows_each_thing_once_and_no_secret() {
    let returned = |what: &str| done(&format!("when door.opened == 0 {{ return {what} }}"));
    assert_eq!(returned("door with { at = now }"), [""; 0]);
    assert_eq!(returned("door with { name = \"x\" }"), ["name: `name` of `Door` is shown already"]);
    assert_eq!(returned("door { doorId } with { name = \"x\" }"), [""; 0]);
    assert_eq!(returned("door { pin }"), ["type: `pin` is secret and never shown"]);
    assert_eq!(returned("door with { p = door.pin }"), ["type: `pin` is secret and never shown"]);
    assert_eq!(
        returned("201 door at /doors/{dorId}"),
        ["name: there is no attribute of `Door` named `dorId`"]
    );
    assert_eq!(
        done("x = now\nwhen door.opened == 0 { return x }"),
        ["type: `x` is neither an item nor a page"]
    );
}

#[test]
fn types_say_what_they_take() {
    let with = |member: &str| {
        told(
            member,
            "door = get Door strong else 404 not-found\nallow caller is porter\nreturn door",
        )
    };
    let cases = [
        ("a int 0.5..", "type: the bounds of an `int` are whole numbers"),
        ("a int 5..3", "type: the least value is above the greatest"),
        ("a id 1..3", "type: `id` has no bounds; only a number has"),
        ("a id like \"x\"", "type: `id` has no pattern; only a text has"),
        ("a text(0)", "type: `text` takes one whole number in parentheses"),
        ("a X | Y = Z", "type: this is not a constant of type X | Y"),
        ("a time = now", "type: this is not a constant of type time"),
        ("a int 1..9 = 10", "type: this is not a constant of type int"),
        ("a int? = 1", "type: `a` has a default and is never absent"),
        ("a X | Y | X", "name: value `X` is declared twice"),
        ("a Door.nme", "name: there is no attribute of `Door` named `nme`"),
        ("kind id", "name: `kind` is reserved: it holds the type of every item"),
        ("PK = \"B#{doorId}\"", "name: a second template for one key"),
        (
            "index ByA { PK = \"LATCHKEY#\" SK = \"{doorId}\" }",
            "name: keys that begin with `LATCHKEY#` are Latchkey's own",
        ),
        (
            "}\nentity B \"DOOR\" {\nPK = \"B#{a}\"\nSK = \"B\"\na id",
            "name: entity type `DOOR` is declared twice",
        ),
        (
            "}\nentity B \"B\" {\nPK = \"B#{a}\"\nSK = \"B\"\na id?",
            "type: `a` may be absent, and the key needs it",
        ),
        (
            "}\nentity B \"B\" guarded by B {\nPK = \"B#{a}\"\nSK = \"B\"\na id",
            "type: `B` has no counter to guard with",
        ),
    ];
    for (member, message) in cases {
        let told: Vec<String> =
            with(member).into_iter().filter(|found| !found.starts_with("unused")).collect();
        assert_eq!(told, [message], "{member}");
    }
    assert_eq!(with("a text(9) = \"x\"\nb Door.state = OPEN\nc bool = true"), [""; 0]);
}

#[test]
fn what_nobody_can_tell_is_not_named() {
    let cases = [
        ("gone = delete door", "type: `delete` leaves nothing to name"),
        (
            "transact { other = upsert Door(doorId = door.doorId) set name = \"a\", version = .version + 1 }",
            "type: nobody tells what this `upsert` leaves",
        ),
    ];
    for (statement, message) in cases {
        let told = done(statement);
        assert!(told.contains(&message.to_owned()), "{statement}: {told:?}");
    }
}

#[test]
fn an_index_key_is_made_of_what_is_known() {
    let index = "index Seen { PK = \"SEEN\" SK = \"AT#{seen}#{state}\" }";
    let body = |write: &str| {
        format!(
            "allow caller is porter\ndoor = {write}\n set seen = now, version = .version + 1 else 404 not-found\nreturn door"
        )
    };
    let told = told(index, &body("update Door"));
    assert!(
        told.contains(&"type: this moves the item in `Seen`, and `state` is not known".to_owned()),
        "{told:?}"
    );
    // Every item has all of these parts, so only the half that changes is made anew.
    let always = "index Often moves { PK = \"STATE#{state}\" SK = \"{opened:09}#{doorId}\" }";
    let body = "allow caller is porter\ndoor = update Door\n set opened = 5, version = .version + 1 else 404 not-found\nreturn door";
    assert_eq!(self::told(always, body), [""; 0]);
}

#[test]
fn a_pattern_must_be_one() {
    let told = told(
        "code text(8) like \"[a-z\"",
        "door = get Door strong else 404 a\nallow true\nreturn door",
    );
    assert!(told.contains(&"type: this is not a pattern".to_owned()), "{told:?}");
}

#[test]
fn names_that_answers_have_already_are_taken() {
    let told = done("require door.state == OPEN else 409 shut with { status = door.state }");
    assert_eq!(told, ["name: a problem has its own `status`"]);
    let page = "input pageSize int\n allow caller is porter\n doors = query Door where PK = \"DOOR#{doorId}\" page 5\n\
                return doors with { items = pageSize }";
    let told = self::told("", page);
    assert!(told.contains(&"name: a page has its own `items`".to_owned()), "{told:?}");
    assert!(told.contains(&"name: a page has its own `pageSize`".to_owned()), "{told:?}");
}

#[test]
fn a_text_fits_where_it_is_put() {
    let code = "code text(8) like \"[a-z]{1,8}\"";
    let made = |input: &str, value: &str| {
        let body = format!(
            "{input}\n allow caller is porter\n\
             door = put Door {{ doorId, name = \"a\", code = {value} }} replace\n return door"
        );
        told(code, &body)
    };
    assert_eq!(made("input code Door.code", "code"), [""; 0]);
    assert_eq!(made("", "\"abc\""), [""; 0]);
    let unlike = ["type: this need not be like `[a-z]{1,8}`"];
    assert_eq!(made("input code text(8)", "code"), unlike, "a key could be forged by it");
    assert_eq!(made("input code id", "code"), unlike);
    assert_eq!(made("", "\"A\""), unlike);
    assert_eq!(
        made("input code text(9) like \"[a-z]{1,8}\"", "code"),
        ["type: this is text(9), and there is room for 8 bytes"]
    );
}

#[test]
fn a_record_is_made_of_values() {
    let at = "at { city text(9), floor int 0..9, bell text(5)?, side { left bool }? }";
    let made = |input: &str, record: &str| {
        let body = format!(
            "{input}\n allow caller is porter\n\
             door = put Door {{ doorId, name = \"a\", at = {record} }} replace\n return door"
        );
        told(at, &body)
    };
    let input = "input city text(9), floor int 0..9, bell text(5)?";
    assert_eq!(made(input, "{ city, floor, bell, side = { left = true } }"), [""; 0]);
    assert_eq!(made(input, "{ floor = 7, city = \"{doorId:upper}\" }").len(), 1, "an id is longer");
    assert_eq!(made("input city text(9)", "{ city, floor = 10 }"), ["type: `10` is out of bounds"]);
    let floor = "input city text(9), floor int 0..";
    assert_eq!(made(floor, "{ city, floor }"), ["type: this may be out of bounds"]);
    let bell = "input bell text(5)?";
    assert_eq!(made(bell, "{ city = bell, floor = 1 }"), ["absent: this may be absent here"]);
    let missing = "type: this leaves the record without `city`, `floor`";
    assert_eq!(made(bell, "{ bell }"), [missing]);
    let unknown = "name: there is no member of this record named `town`";
    assert_eq!(made(input, "{ city, floor, town = city }"), [unknown]);
    let twice = "name: `city` is given twice";
    assert_eq!(made(input, "{ city, floor, city = bell }")[0], twice);
    let other = "type: this is bool, and int is expected";
    assert_eq!(made(input, "{ city, floor = true }"), [other]);
}

#[test]
fn what_is_composed_of_ids_and_numbers_is_an_id() {
    let made = |input: &str, id: &str| {
        let body = format!(
            "{input}\n allow caller is porter\n door = put Door {{ doorId = {id}, name = \"a\" }} replace\n return door"
        );
        told("", &body)
    };
    assert_eq!(made("input n int 0..99", "\"{n:04}\""), [""; 0]);
    assert_eq!(made("input u ulid, n int 0..99", "\"{u}.{n}\""), [""; 0]);
    assert_eq!(
        made("input n int 0..99", "\"{n}#\""),
        ["type: this is text(3), and id is expected"]
    );
    let long = "type: this is text(129), and id is expected";
    assert_eq!(made("input i id", "\"{i}.\""), [long]);
    assert_eq!(made("input t text(9)", "\"{t}\""), ["type: this is text(9), and id is expected"]);
}

#[test]
fn what_is_composed_fits_where_it_is_put() {
    // A text around a value had no bound, so a text(10) held any number of bytes.
    let put = |input: &str, name: &str| {
        let body = format!(
            "{input}\n allow caller is porter\n door = put Door {{ doorId, name = {name} }} replace\n return door"
        );
        told("", &body)
    };
    assert_eq!(put("input label text(70)", "\"door {label}\""), [""; 0]);
    let long = ["type: this is text(85), and there is room for 80 bytes"];
    assert_eq!(put("input label text(80)", "\"door {label}\""), long);
    let bound = put("input label text(80)\n name = \"door {label}\"", "name");
    assert_eq!(bound, long, "also by a name");
    let id = told(
        "tag text(4)?",
        &format!(
            "door = get Door strong else 404 not-found\n allow caller is porter\n\
         update door set tag = door.doorId, {BUMP} else retry\n return door"
        ),
    );
    assert!(id[0].starts_with("type: this is id, of up to "), "{id:?}");
}

#[test]
fn no_key_shows_a_secret() {
    let open = ["type: this is secret, and `doorId` is not"];
    let by = |read: &str| {
        told(
            "nextId id? secret",
            &format!(
                "door = get Door strong else 404 not-found\n allow caller is porter\n\
         require door.nextId is present else 404 none\n{read}\n return other"
            ),
        )
    };
    assert_eq!(by("other = get Door(doorId = door.nextId) strong else 404 no"), open);
    assert_eq!(by("other = query Door where PK = \"DOOR#{door.nextId}\" page 5"), open);
    assert_eq!(by("other = get Door strong else 404 no"), [""; 0]);
}

#[test]
fn a_table_says_what_tells_its_items_apart() {
    let checked = crate::check("```contract\nsystem doors\ntable Doors { }\n```\n");
    let told: Vec<_> = checked.diagnostics.iter().map(|found| found.message.as_str()).collect();
    assert_eq!(told, ["the table does not say which attribute tells its items apart"]);
}

#[test]
fn a_key_in_quotes_is_not_one_of_ours() {
    let told = |name: &str| {
        let table = format!("table Doors {{ type kind PK id SK \"{name}\" }}");
        let checked = crate::check(&format!("```contract\nsystem doors\n{table}\n```\n"));
        checked.diagnostics.into_iter().map(|found| found.message).collect::<Vec<_>>()
    };
    assert_eq!(
        told("LATCHKEY#MADE"),
        ["`LATCHKEY#MADE` is reserved: it holds what tells the item from another in its place"]
    );
    assert_eq!(told("State#Date"), ["the document has no contract"]);
}

// A record whose `status` was also its end was over at once, and the call acted again.
#[test]
fn the_end_and_the_type_of_all_items_have_names_that_nothing_else_has() {
    let told = |table: &str, rest: &str| {
        let checked = crate::check(&format!(
            "```contract\nsystem doors\ntable Doors {{ {table} }}\n{rest}```\n"
        ));
        checked.diagnostics.into_iter().next().map(|found| found.message)
    };
    let own = |name: &str| {
        let what =
            "something else in Latchkey's own items, such as the record of an `Idempotency-Key`";
        Some(format!("`{name}` is reserved: it holds {what}"))
    };
    assert_eq!(told("type kind  ttl status", ""), own("status"));
    assert_eq!(told("type body", ""), own("body"));
    let key = |name: &str| Some(format!("`{name}` is reserved: it holds a key"));
    assert_eq!(told("type kind  ttl PK", ""), key("PK"));
    assert_eq!(told("type kind  ttl ByDaySK  index ByDay { }", ""), key("ByDaySK"));
    let entity = "entity Door \"DOOR\" {\n PK = \"DOOR#{doorId}\"\n SK = \"META\"\n doorId id\n day id\n\
                  index ByDay { PK = \"DAY#{day}\" SK = \"{doorId}\" }\n}\n";
    let implied = Some("a key of the index would be `ByDaySK`".to_owned());
    assert_eq!(told("type kind  ttl ByDaySK", entity), implied);
    let none = Some("the document has no contract".to_owned());
    assert_eq!(told("type kind  ttl removeAt", entity), none);
}

#[test]
fn a_number_that_cannot_be_held_is_refused() {
    // A number of too many digits was run as 0, a page of too many items as a page of 1.
    let long = "9".repeat(40);
    assert_eq!(
        done(&format!("require door.opened < {long} else 409 worn")),
        [format!("type: `{long}` is not a number: more than 38 significant digits")]
    );
    let listed = "doors = query Door where PK = \"DOOR#{doorId}\" page 5000000000\n\
                  allow caller is porter\n return doors";
    assert_eq!(told("", listed), ["type: `5000000000` is not a number of items"]);
    let shown = "door = get Door strong else 404 not-found\n allow caller is porter\n return door";
    assert_eq!(
        told("weight number 1.5..0.5?", shown),
        ["type: the least value is above the greatest"]
    );
    assert_eq!(
        told(&format!("weight number 0..{long}?"), shown),
        ["type: a bound is not a number: more than 38 significant digits"]
    );
}
