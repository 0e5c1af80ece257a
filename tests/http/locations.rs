//! LOC-01 to LOC-04: locations, their codes and their lists; and who may do what with them.

use latchkey_table::Schema;
use serde_json::{Value, json};

use crate::scene::{Scene, at_once, clock};
use crate::serve::capability::{Capability::TransactionCapacity, or};
use crate::serve::{Client, Reply};
use crate::stored::{Texts, text};
use crate::verdict::one_acted;

/// An id that nothing has.
pub(crate) const NOWHERE: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// What a location is made of, with a code.
pub(crate) fn place(code: &str) -> Value {
    json!({
        "locationCode": code, "name": "Austin Main Center", "placeId": "ChIJN1t_tDeuEmsRUsoyG83frY4",
        "formattedAddress": "123 Main St, Austin, TX 78701", "lat": 30.2672, "lng": -97.7431,
    })
}

/// The same with members changed, or taken out by null.
fn place_with(code: &str, changes: &Value) -> Value {
    let mut body = place(code);
    let members = body.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
    body
}

/// Makes a location at a time of the day.
#[track_caller]
pub(crate) fn made(scene: &Scene, code: &str, time: &str) -> Value {
    scene.operator().at(&clock(time)).post("/locations", &place(code)).is(201).json()
}

pub(crate) fn path(location: &Value) -> String {
    format!("/locations/{}", location["locationId"].as_str().unwrap_or_default())
}

pub(crate) fn delete(client: &mut Client, path: &str) -> Reply {
    client.send("DELETE", path, &[], None)
}

pub(crate) fn restore(client: &mut Client, path: &str) -> Reply {
    client.send("POST", &format!("{path}/restore"), &[], None)
}

pub(crate) fn patch(client: &mut Client, path: &str, body: &Value) -> Reply {
    client.send("PATCH", path, &[], Some(&body.to_string()))
}

/// All locations and codes that the table holds.
fn stored(scene: Scene) -> (Scene, Vec<Texts>) {
    let table = Schema::new("aolfclub-entities").with_index("GSI1").with_index("GSI2");
    scene.stored("locations", table, "LOCATION")
}

/// An item of this type.
#[track_caller]
fn one<'a>(items: &'a [Texts], kind: &str) -> &'a Texts {
    let found: Vec<&Texts> = items.iter().filter(|item| item["itemType"] == kind).collect();
    assert_eq!(found.len(), 1, "how many of `{kind}` there are: {items:?}");
    found[0]
}

#[test]
fn a_location_is_answered_with_all_its_fields_and_where_it_is() {
    let scene = Scene::start();
    let components = json!({"city": "Austin", "zip": {"code": "78701", "plus4": null}});
    let body = place_with("austin-main-01", &json!({"addressComponents": components}));
    let made = scene.operator().post("/locations", &body).is(201);
    let made = made.has("latchkey-contract", "LOC-01").has("etag", "\"1\"");
    let location = made.json();
    let id = location["locationId"].as_str().unwrap_or_default().to_owned();
    let digit = |c: char| c.is_ascii_digit() || (c.is_ascii_uppercase() && !"ILOU".contains(c));
    assert!(id.len() == 26 && id.chars().all(digit), "`{id}` is no ULID; {made}");
    let made = made.has("location", &format!("/locations/{id}"));
    // Two items of one unit, each twice in a transaction, and one write for each index.
    let cost = or(TransactionCapacity, "rcu=0, wcu=6", "rcu=0, wcu=16");
    made.cost(cost).shows_just(&json!({
        "locationId": id, "locationCode": "austin-main-01", "name": "Austin Main Center",
        "placeId": "ChIJN1t_tDeuEmsRUsoyG83frY4",
        "formattedAddress": "123 Main St, Austin, TX 78701", "addressComponents": components,
        "lat": 30.2672, "lng": -97.7431, "status": "active", "version": 1,
        "createdAt": clock("10:00"), "updatedAt": clock("10:00"),
    }));

    let mut rita = scene.person("rita");
    let found = rita.get(&format!("/locations/{id}")).is(200).has("latchkey-contract", "LOC-02");
    found.has("etag", "\"1\"").cost("rcu=0.5, wcu=0").shows_just(&location);
    let found = rita.get("/locations/by-code/austin-main-01").is(200);
    // Which location the code leads to can change, so the version alone does not tell the body.
    assert!(found.header("etag").starts_with("\"1-"), "{found}");
    found.has("latchkey-contract", "LOC-03").cost("rcu=2, wcu=0").shows_just(&location);
    let page = json!({"items": [location], "nextCursor": null});
    let listed = rita.get("/locations").is(200).has("latchkey-contract", "LOC-04");
    listed.cost("rcu=0.5, wcu=0").shows_just(&page);
    rita.get("/locations?status=active").is(200).shows_just(&page);
}

#[test]
fn a_location_and_its_code_are_stored_as_designed() {
    let scene = Scene::start();
    let location = made(&scene, "austin-main-01", "09:00");
    let id = location["locationId"].as_str().unwrap().to_owned();
    let (scene, items) = stored(scene);
    let (place, lookup) = (one(&items, "Location"), one(&items, "LocationCodeLookup"));
    let order = format!("{}#{id}", clock("09:00"));
    for (name, value) in [
        ("PK", format!("LOCATION#{id}").as_str()),
        ("SK", "META"),
        ("itemType", "Location"),
        ("GSI1PK", "Location"),
        ("GSI1SK", &order),
        ("GSI2PK", "Location#active"),
        ("GSI2SK", &order),
    ] {
        assert_eq!(text(place, name), value, "`{name}` of {place:?}");
    }
    for (name, value) in [
        ("PK", "LOCATION_CODE#austin-main-01"),
        ("SK", "META"),
        ("itemType", "LocationCodeLookup"),
        ("locationId", &id),
        ("locationCode", "austin-main-01"),
        ("createdAt", &clock("09:00")),
        ("GSI1PK", ""),
        ("GSI2PK", ""),
    ] {
        assert_eq!(text(lookup, name), value, "`{name}` of {lookup:?}");
    }

    delete(&mut scene.operator(), &path(&location)).is(200);
    let (_scene, items_after) = stored(scene);
    let (place, after) = (one(&items_after, "Location"), one(&items_after, "LocationCodeLookup"));
    assert_eq!(text(place, "GSI1SK"), order, "it stays where it was among all");
    assert_eq!(text(place, "GSI2PK"), "Location#inactive", "it moves to the inactive");
    assert_eq!(text(place, "GSI2SK"), order);
    assert_eq!(after, lookup, "the code stays taken");
}

#[test]
fn a_code_is_taken_once_and_whoever_wants_it_is_told_in_words() {
    let scene = Scene::start();
    let first = made(&scene, "austin-main-01", "09:00");
    let mut operator = scene.operator();
    let other = place_with("austin-main-01", &json!({"name": "Annex", "lat": 0, "lng": 0}));
    for body in [place("austin-main-01"), other] {
        let refused = operator.post("/locations", &body).refuses(409, "code-taken");
        let refused = refused.has("latchkey-contract", "LOC-01");
        let detail =
            "The code austin-main-01 is already taken by another location. Choose another code.";
        refused.shows(&json!({"detail": detail}));
    }
    operator.get("/locations/by-code/austin-main-01").shows_just(&first);
    operator.get("/locations").counts(1);
    made(&scene, "austin-main-02", "09:00");
    operator.get("/locations").counts(2);
}

#[test]
fn of_64_who_want_one_code_at_once_one_gets_it() {
    let scene = Scene::start();
    let replies = at_once(64, |n| {
        let body = place_with("wanted", &json!({"name": format!("Place {n}")}));
        scene.operator().post("/locations", &body)
    });
    one_acted(&replies, 201, (409, "code-taken"));
    let winner = replies.iter().find(|reply| reply.status == 201).unwrap().json();
    for refused in replies.iter().filter(|reply| reply.status == 409) {
        let detail = "The code wanted is already taken by another location. Choose another code.";
        refused.clone().shows(&json!({"detail": detail}));
    }
    let mut rita = scene.person("rita");
    rita.get("/locations/by-code/wanted").is(200).shows_just(&winner);
    for list in ["/locations", "/locations?status=active"] {
        let page = json!({"items": [winner], "nextCursor": null});
        rita.get(list).is(200).shows_just(&page);
    }
    let (_scene, items) = stored(scene);
    assert_eq!(items.len(), 2, "one location and one code: {items:?}");
    for kind in ["Location", "LocationCodeLookup"] {
        let id = text(one(&items, kind), "locationId");
        assert_eq!(id, winner["locationId"].as_str().unwrap(), "whose `{kind}` it is");
    }
}

#[test]
fn a_call_that_is_repeated_by_name_makes_one_location() {
    let scene = Scene::start();
    let send = |client: &mut Client, body: &Value| {
        client.send("POST", "/locations", &[("idempotency-key", "\"k\"")], Some(&body.to_string()))
    };
    let mut operator = scene.operator();
    let first = send(&mut operator, &place("austin")).is(201).json();
    let again = send(&mut operator, &place("austin")).is(201).has("location", &path(&first));
    again.has("etag", "\"1\"").shows_just(&first);
    send(&mut operator, &place("boston")).refuses(422, "idempotency-key-reused");
    operator.get("/locations").counts(1);
}

#[test]
fn what_a_location_is_made_of_is_looked_at() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let mut all = ["/locationCode", "/name", "/placeId", "/formattedAddress", "/lat", "/lng"];
    all.sort_unstable();
    operator.post("/locations", &json!({})).blames(&all).cost("rcu=0, wcu=0");
    let long = |bytes: usize| "x".repeat(bytes);
    let deep = json!({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}});
    let cases = [
        ("name", json!("")),
        ("name", json!(7)),
        ("name", json!(long(201))),
        ("placeId", json!("")),
        ("placeId", json!(long(501))),
        ("formattedAddress", json!("")),
        ("formattedAddress", json!(long(501))),
        ("addressComponents", json!([])),
        ("addressComponents", json!("Austin")),
        ("addressComponents", deep),
        ("addressComponents", json!({"a": long(4096)})),
        ("lat", json!("30.2672")),
        ("lat", json!(true)),
        ("locationId", json!(NOWHERE)),
        ("status", json!("inactive")),
        ("version", json!(9)),
        ("createdAt", json!(clock("10:00"))),
    ];
    for (name, value) in cases {
        let body = place_with("austin", &json!({name: value}));
        operator.post("/locations", &body).blames(&[&format!("/{name}")]).cost("rcu=0, wcu=0");
    }
    operator.get("/locations").counts(0);
}

#[test]
fn a_code_is_3_to_64_small_letters_digits_and_dashes() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let (longest, too_long) = ("z".repeat(64), "z".repeat(65));
    for code in ["abc", "---", "0-9", "a-b-c", "-ab", &longest] {
        operator.post("/locations", &place(code)).is(201);
        operator.get(&format!("/locations/by-code/{code}")).is(200);
    }
    let bad =
        ["", "ab", "Abc", "a_c", "a b", "a#b", "a/b", "a.b", "äbc", "abc\n", " abc", &too_long];
    for code in bad {
        operator.post("/locations", &place(code)).blames(&["/locationCode"]);
    }
    for code in ["ab", "ABC", "a_c", "a%23b", "a%20b", "a%2Fb", &too_long] {
        operator.get(&format!("/locations/by-code/{code}")).blames(&["/locationCode"]);
    }
}

#[test]
fn a_point_is_exact_and_on_the_globe() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let digits = "0.1234567890123456789012345678901234567";
    let good = [
        ("90", "180", "90", "180"),
        ("-90", "-180", "-90", "-180"),
        ("0", "-0.0", "0", "0"),
        (
            "89.999999999999999999",
            "179.99999999999999999999",
            "89.999999999999999999",
            "179.99999999999999999999",
        ),
        (digits, "1e-7", digits, "0.0000001"),
        ("9e1", "1.80e2", "90", "180"),
    ];
    for (n, (lat, lng, lat_out, lng_out)) in good.into_iter().enumerate() {
        let numbers = format!("\"lat\":{lat},\"lng\":{lng}");
        let body =
            place_with(&format!("point-{n}"), &json!({"lat": null, "lng": null})).to_string();
        let body = body.replacen('{', &format!("{{{numbers},"), 1);
        let made = operator.send("POST", "/locations", &[], Some(&body)).is(201);
        let shown = format!("\"lat\":{lat_out},\"lng\":{lng_out},");
        assert!(made.text.contains(&shown), "the point, digit for digit, `{shown}`; {made}");
        let found = operator.get(&path(&made.json())).is(200);
        assert!(found.text.contains(&shown), "the point as it is stored, `{shown}`; {found}");
    }
    let bad = [
        ("lat", "90.1"),
        ("lat", "-90.1"),
        ("lat", "90.0000000000000000000000000001"),
        ("lng", "180.1"),
        ("lng", "-180.000000000000000000000000000001"),
        ("lng", "1e3"),
    ];
    for (name, number) in bad {
        let body = place_with("point", &json!({name: null})).to_string();
        let body = body.replacen('{', &format!("{{\"{name}\":{number},"), 1);
        let refused = operator.send("POST", "/locations", &[], Some(&body));
        refused.blames(&[&format!("/{name}")]);
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let nowhere = format!("/locations/{NOWHERE}");
    operator.get(&nowhere).refuses(404, "not-found").has("latchkey-contract", "LOC-02");
    let code = operator.get("/locations/by-code/nowhere").refuses(404, "not-found");
    code.has("latchkey-contract", "LOC-03");
    let gone = delete(&mut operator, &nowhere).refuses(404, "not-found");
    gone.has("latchkey-contract", "LOC-05").cost("rcu=1, wcu=0");
    let body = json!({"name": "Nowhere", "expectedVersion": 1});
    let patched = patch(&mut operator, &nowhere, &body).refuses(404, "not-found");
    patched.has("latchkey-contract", "LOC-06");
    let restored = restore(&mut operator, &nowhere).refuses(404, "not-found");
    restored.has("latchkey-contract", "LOC-07");
    for id in ["x", "01arz3ndektsv4rrffq69g5fav", "by-code"] {
        operator.get(&format!("/locations/{id}")).blames(&["/locationId"]);
    }
    let (_scene, items) = stored(scene);
    assert_eq!(items.len(), 0, "nothing was made by asking for it: {items:?}");
}

#[test]
fn whoever_is_signed_in_reads_and_operators_write() {
    let scene = Scene::start();
    let location = made(&scene, "austin", "09:00");
    let at = path(&location);
    let reads = [at.clone(), "/locations/by-code/austin".to_owned(), "/locations".to_owned()];
    let change = json!({"name": "Mine", "expectedVersion": 1});
    let writes = |client: &mut Client| {
        [
            client.post("/locations", &place("another")),
            delete(client, &at),
            patch(client, &at, &change),
            restore(client, &at),
        ]
    };
    let mut nobody = scene.nobody();
    for path in &reads {
        nobody.get(path).refuses(401, "unauthenticated");
    }
    for refused in writes(&mut nobody) {
        refused.refuses(401, "unauthenticated");
    }
    for roles in [&[][..], &["device"], &["Operator", "operators"]] {
        let mut someone = scene.someone("rita", roles, &["olga"]);
        for path in &reads {
            someone.get(path).is(200);
        }
        for (refused, contract) in writes(&mut someone).into_iter().zip(["01", "05", "06", "07"]) {
            let refused = refused.refuses(403, "forbidden").cost("rcu=0, wcu=0");
            refused.has("latchkey-contract", &format!("LOC-{contract}"));
        }
    }
    scene
        .person("rita")
        .get("/locations")
        .shows_just(&json!({"items": [location], "nextCursor": null}));
    // An admin is an operator as well.
    let mut admin = scene.someone("ada", &["admin"], &[]);
    for (reply, status) in writes(&mut admin).into_iter().zip([201, 200, 409, 200]) {
        reply.is(status);
    }
}

#[test]
fn lists_are_newest_first_in_full_pages_and_by_status() {
    let scene = Scene::start();
    let mut operator = scene.operator();
    let mut codes: Vec<String> = Vec::new();
    for n in 0..30 {
        let code = format!("place-{n:02}");
        // Some at one instant: the later of two ULIDs comes first.
        let location = made(&scene, &code, &format!("09:{:02}", n / 2 * 2));
        codes.push(format!("{}/{code}", location["locationId"].as_str().unwrap()));
        if n % 3 == 0 {
            delete(&mut operator, &path(&location)).is(200);
        }
    }
    // By time, then by id; both downwards.
    let order = |code: &String| {
        let n: usize = code.rsplit('-').next().unwrap().parse().unwrap();
        (n / 2, code.clone())
    };
    codes.sort_by_key(order);
    codes.reverse();
    let name = |code: &String| code.split_once('/').unwrap().1.to_owned();
    let every: Vec<String> = codes.iter().map(name).collect();
    let number = |code: &String| code.trim_start_matches("place-").parse::<usize>().unwrap();
    let is_inactive = |code: &&String| number(code).is_multiple_of(3);
    let (inactive, active): (Vec<&String>, Vec<&String>) = every.iter().partition(is_inactive);
    let mut rita = scene.person("rita");
    let lists = [
        ("/locations?", every.iter().collect::<Vec<_>>()),
        ("/locations?status=active&", active),
        ("/locations?status=inactive&", inactive),
    ];
    for (list, expected) in &lists {
        for size in [1, 7, 10, 20, 30, 100] {
            let mut cursor = String::new();
            let pages = expected.chunks(size).count();
            for (at, page) in expected.chunks(size).enumerate() {
                let reply = rita.get(&format!("{list}pageSize={size}{cursor}")).is(200);
                let page: Vec<&str> = page.iter().map(|code| code.as_str()).collect();
                let reply = reply.lists("locationCode", &page, at + 1 < pages);
                cursor = format!("&nextCursor={}", reply.next().unwrap_or_default());
            }
        }
    }
    let first: Vec<&str> = every.iter().take(25).map(String::as_str).collect();
    let page = rita.get("/locations").is(200).lists("locationCode", &first, true);
    let cursor = page.next().unwrap();
    for other in ["&status=active", "&status=inactive"] {
        let path = format!("/locations?nextCursor={cursor}{other}");
        rita.get(&path).refuses(400, "invalid-cursor");
    }
    let path = format!("/locations?nextCursor={cursor}");
    scene.person("bob").get(&path).refuses(400, "invalid-cursor");
    rita.get(&format!("{path}x")).refuses(400, "invalid-cursor");
    rita.get(&path).is(200).counts(5);
}

#[test]
fn what_a_list_is_asked_for_is_looked_at() {
    let scene = Scene::start();
    let mut rita = scene.person("rita");
    for status in ["", "ACTIVE", "gone", "active,inactive"] {
        rita.get(&format!("/locations?status={status}")).blames(&["/status"]);
    }
    for size in ["0", "101", "-1", "x", "1.5", ""] {
        rita.get(&format!("/locations?pageSize={size}")).blames(&["/pageSize"]);
    }
    rita.get("/locations?order=asc").blames(&["/order"]);
    rita.get("/locations").is(200).counts(0);
}

#[test]
fn both_systems_are_served_each_with_its_own_table() {
    let scene = Scene::start();
    for system in [" locations (", " smartlocker ("] {
        assert!(scene.server.greeting.contains(system), "{}", scene.server.greeting);
    }
    made(&scene, "austin", "09:00");
    scene.locker("austin", "alice");
    let mut operator = scene.operator();
    operator.get("/lockers/austin").is(200).has("latchkey-contract", "QC-01");
    operator.get("/locations/by-code/austin").is(200).has("latchkey-contract", "LOC-03");
    let (_scene, items) = stored(scene);
    assert_eq!(items.len(), 2, "the location and its code: {items:?}");
}
