//! EP-03 and AD-01: who took part, newest first or in the order of acceptance, page by page.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::participants::{counts, each, names};
use crate::scene::{Scene, clock};
use crate::serve::{Client, Reply};

const LISTS: [&str; 2] = ["/me/participations", "/admin/events/E1/requests"];

fn page(client: &mut Client, path: &str, query: &str, cursor: Option<&str>) -> Reply {
    let cursor = cursor.map(|cursor| format!("&nextCursor={cursor}")).unwrap_or_default();
    client.get(&format!("{path}?{query}{cursor}")).is(200)
}

/// Goes through all pages of so many and says what each showed. Something happens between any two.
#[track_caller]
fn walk(
    client: &mut Client,
    path: &str,
    order: &str,
    limit: usize,
    mut meanwhile: impl FnMut(usize),
) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let query = format!("limit={limit}{order}");
        let reply = page(client, path, &query, cursor.as_deref());
        pages.push(reply.items());
        cursor = reply.next();
        if cursor.is_none() {
            return pages;
        }
        assert_eq!(pages.last().map(Vec::len), Some(limit), "a page with more to come; {reply}");
        meanwhile(pages.len());
        assert!(pages.len() < 100, "it never ends; {reply}");
    }
}

/// The ids of so many requests of one user, each for an event of its own, in the order they were made.
fn of_one_user(scene: &Scene, who: &str, count: usize) -> Vec<String> {
    let one = |n: usize| {
        scene.first_come(&format!("{who}-{n:03}"), 1);
        scene.joins(who, &format!("{who}-{n:03}"), &format!("10:00:00.{n:03}"))
    };
    (0..count).map(one).collect()
}

/// The ids of so many requests for one event, in the order they were made.
fn of_one_event(scene: &Scene, event: &str, count: usize) -> Vec<String> {
    let one = |n: usize| scene.joins(&format!("p{n:03}"), event, &format!("10:{:02}:00", n % 60));
    (0..count).map(one).collect()
}

fn texts(ids: &[String]) -> Vec<&str> {
    ids.iter().map(String::as_str).collect()
}

#[test]
fn ones_participations_are_listed_newest_first_20_at_a_time() {
    let scene = Scene::start();
    let mut ids = of_one_user(&scene, "alice", 101);
    of_one_user(&scene, "bob", 2);
    ids.reverse();
    let ids = texts(&ids);
    let mut alice = scene.person("alice");
    for (query, count) in
        [("", 20), ("?limit=1", 1), ("?limit=20", 20), ("?limit=99", 99), ("?limit=100", 100)]
    {
        let shown = alice.get(&format!("/me/participations{query}")).is(200);
        let shown = shown.has("latchkey-contract", "EP-03");
        let expected: Vec<&str> = ids.iter().take(count).copied().collect();
        shown.lists("requestId", &expected, true);
    }
    for limit in [7, 25, 100] {
        let pages = walk(&mut alice, "/me/participations", "", limit, |_| {});
        let all: Vec<Value> = pages.concat();
        assert_eq!(each(&all, "requestId"), ids, "in pages of {limit}");
    }
    let shown = scene.person("bob").get("/me/participations").lists_just("userId", "bob", 2);
    let expected = ["bob-001", "bob-000"];
    shown.lists("eventId", &expected, false);
    // Oneself alone, whoever one is.
    scene.person("carol").get("/me/participations").counts(0);
    scene.admin().get("/me/participations").counts(0);
    scene.someone("mia", &[], &["alice"]).get("/me/participations").counts(0);
    scene.nobody().get("/me/participations").refuses(401, "unauthenticated");
}

/// A page whose items all have this value of a member.
trait ListsJust {
    fn lists_just(self, member: &str, value: &str, count: usize) -> Reply;
}

impl ListsJust for Reply {
    #[track_caller]
    fn lists_just(self, member: &str, value: &str, count: usize) -> Reply {
        assert_eq!(each(&self.items(), member), vec![value; count], "`{member}`; {self}");
        self
    }
}

#[test]
fn a_list_of_participations_shows_the_whole_of_each() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    scene.first_come("E2", 0);
    scene.first_come("E3", 1);
    let won = scene.joins("alice", "E1", "10:00");
    let lost = scene.joins("alice", "E2", "10:01");
    scene.pass("10:30");
    scene.queue("participations", "refuses");
    let failed = scene.joins("alice", "E3", "10:02");
    scene.queue("participations", "works");
    scene.first_come("E4", 1);
    let waiting = scene.joins("alice", "E4", "10:03");
    let mut alice = scene.person("alice");
    let shown = alice.get("/me/participations");
    let shown = shown.lists("requestId", &[&waiting, &failed, &lost, &won], false);
    let statuses = ["QUEUED", "FAILED_FINAL", "REJECTED", "SUCCEEDED"];
    for item in shown.lists("status", &statuses, false).items() {
        let id = item["requestId"].as_str().unwrap();
        alice.get(&format!("/requests/{id}")).is(200).shows_just(&item);
        assert_eq!(scene.request(id), item, "as an admin sees it");
    }
}

#[test]
fn the_size_of_a_page_is_1_to_100() {
    let scene = Scene::start();
    scene.first_come("E1", 1);
    scene.joins("ada", "E1", "10:00");
    let mut ada = scene.admin();
    for path in LISTS {
        for good in ["1", "100"] {
            assert_eq!(ada.get(&format!("{path}?limit={good}")).is(200).items().len(), 1);
        }
        for bad in
            ["101", "0", "-1", "1000000", "99999999999999999999", "many", "", "1.5", "%2B5", "0x10"]
        {
            ada.get(&format!("{path}?limit={bad}")).blames(&["/limit"]);
        }
        ada.get(&format!("{path}?limit=5&limit=5")).blames(&["/limit"]);
        // The name of other systems' pages, and a filter that there is none of.
        ada.get(&format!("{path}?pageSize=5")).blames(&["/pageSize"]);
        ada.get(&format!("{path}?uiResult=SUCCESS")).blames(&["/uiResult"]);
    }
    ada.get("/me/participations?order=asc").blames(&["/order"]);
    for bad in ["up", "", "ASC", "ascending"] {
        ada.get(&format!("/admin/events/E1/requests?order={bad}")).blames(&["/order"]);
    }
}

#[test]
fn an_exact_fit_ends_there() {
    let scene = Scene::start();
    scene.first_come("E1", 3);
    scene.joins("ada", "E1", "10:00");
    of_one_event(&scene, "E1", 3);
    of_one_user(&scene, "ada", 3);
    let mut ada = scene.admin();
    for path in LISTS {
        for (limit, sizes) in
            [(1, &[1, 1, 1, 1][..]), (2, &[2, 2]), (3, &[3, 1]), (4, &[4]), (5, &[4])]
        {
            let pages = walk(&mut ada, path, "", limit, |_| {});
            let shown: Vec<usize> = pages.iter().map(Vec::len).collect();
            assert_eq!(shown, sizes, "{path} in pages of {limit}");
        }
    }
}

#[test]
fn a_cursor_is_for_one_caller_one_list_and_one_order() {
    let scene = Scene::start();
    for event in ["E1", "E2"] {
        scene.first_come(event, 1);
        of_one_event(&scene, event, 3);
        scene.joins("ada", event, "10:30");
    }
    let mut ada = scene.admin();
    let mut eve = scene.someone("eve", &["admin"], &[]);
    let cursor = |client: &mut Client, path: &str| {
        page(client, path, "limit=1", None).next().expect("there is more to come")
    };
    let refused = |client: &mut Client, path: &str, cursor: &str| {
        let path = format!("{path}limit=1&nextCursor={cursor}");
        client.get(&path).refuses(400, "invalid-cursor");
    };
    let (mine, requests) = (cursor(&mut ada, LISTS[0]), cursor(&mut ada, LISTS[1]));
    refused(&mut eve, "/me/participations?", &mine);
    refused(&mut scene.person("p000"), "/me/participations?", &mine);
    refused(&mut eve, "/admin/events/E1/requests?", &requests);
    refused(&mut ada, "/admin/events/E2/requests?", &requests);
    refused(&mut ada, "/admin/events/E1/requests?order=asc&", &requests);
    refused(&mut ada, "/admin/events/E1/requests?", &mine);
    refused(&mut ada, "/me/participations?", &requests);
    for path in LISTS {
        for bad in
            ["x", "", "e30", &mine.to_lowercase(), &requests.chars().rev().collect::<String>()]
        {
            refused(&mut ada, &format!("{path}?"), bad);
        }
    }
    // What is said anyway may be said.
    page(&mut ada, LISTS[1], "order=desc&limit=3", Some(&requests)).is(200);
    page(&mut ada, LISTS[0], "limit=100", Some(&mine)).is(200);
    assert_eq!(page(&mut scene.person("ada"), LISTS[0], "", Some(&mine)).items().len(), 1);
}

#[test]
fn the_requests_of_an_event_are_listed_in_the_order_of_acceptance() {
    let scene = Scene::start();
    scene.first_come("E1", 2);
    scene.first_come("E2", 2);
    let ids = of_one_event(&scene, "E1", 30);
    of_one_event(&scene, "E2", 3);
    let mut admin = scene.admin();
    let path = "/admin/events/E1/requests";
    let ascending = texts(&ids);
    let descending: Vec<&str> = ascending.iter().rev().copied().collect();
    for _ in 0..2 {
        for (query, expected, size) in [
            ("", &descending, 25),
            ("?order=desc", &descending, 25),
            ("?order=asc", &ascending, 25),
            ("?order=asc&limit=30", &ascending, 30),
            ("?limit=4", &descending, 4),
        ] {
            let reply = admin.get(&format!("{path}{query}")).is(200);
            let reply = reply.has("latchkey-contract", "AD-01");
            let expected: Vec<&str> = expected.iter().take(size).copied().collect();
            assert_eq!(each(&reply.items(), "requestId"), expected, "{query}; {reply}");
            assert_eq!(reply.next().is_some(), size < 30, "{query}; {reply}");
            assert_eq!(names(&reply.json()), ["items", "nextCursor", "tally"], "{reply}");
        }
        // And so it stays when all are decided.
        scene.pass("11:00");
    }
    for item in admin.get(path).items() {
        assert_eq!(scene.request(item["requestId"].as_str().unwrap()), item, "all of its fields");
    }
    let unknown = admin.get("/admin/events/E9/requests").refuses(404, "not-found");
    unknown.has("latchkey-contract", "AD-01");
}

#[test]
fn requests_accepted_at_one_instant_are_ordered_by_their_ids() {
    let scene = Scene::start();
    scene.first_come("E1", 2);
    let mut ids: Vec<String> =
        (0..12).map(|n| scene.joins(&format!("p{n}"), "E1", "10:00")).collect();
    ids.sort_unstable();
    let mut admin = scene.admin();
    for limit in [1, 5, 12] {
        let path = "/admin/events/E1/requests";
        let pages = walk(&mut admin, path, "&order=asc", limit, |_| {});
        assert_eq!(each(&pages.concat(), "requestId"), texts(&ids), "in pages of {limit}");
        let pages = walk(&mut admin, path, "", limit, |_| {});
        let backwards: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
        assert_eq!(each(&pages.concat(), "requestId"), backwards, "in pages of {limit}");
    }
}

/// What the tally of a page should be.
fn tally_of(items: &[Value]) -> Value {
    let mut statuses: BTreeMap<&str, u32> = BTreeMap::new();
    for status in each(items, "status") {
        *statuses.entry(status).or_default() += 1;
    }
    let words: Vec<String> =
        statuses.iter().map(|(status, count)| format!("{status} {count}")).collect();
    counts(&words.join(", "))
}

#[test]
fn the_tally_counts_the_page_and_not_the_event() {
    let scene = Scene::start();
    scene.first_come("E1", 2);
    let mut admin = scene.admin();
    let path = "/admin/events/E1/requests";
    admin.get(path).is(200).shows_just(&json!({
        "items": [], "nextCursor": null, "tally": counts(""),
    }));
    of_one_event(&scene, "E1", 6);
    let mut at = |order: &str, limit: usize, words: &str| {
        let reply = admin.get(&format!("{path}?order={order}&limit={limit}")).is(200);
        assert_eq!(reply.json()["tally"], counts(words), "{reply}");
        assert_eq!(reply.json()["tally"], tally_of(&reply.items()), "{reply}");
    };
    at("asc", 6, "QUEUED 6");
    at("asc", 2, "QUEUED 2");
    scene.pass("10:03");
    at("asc", 6, "SUCCEEDED 2, REJECTED 2, QUEUED 2");
    at("asc", 3, "SUCCEEDED 2, REJECTED 1");
    at("desc", 3, "QUEUED 2, REJECTED 1");
    at("desc", 1, "QUEUED 1");
    scene.pass("11:00");
    at("desc", 100, "SUCCEEDED 2, REJECTED 4");
}

#[test]
fn the_requests_of_one_status_are_found_page_by_page() {
    let scene = Scene::start();
    scene.first_come("E1", 2);
    let ids = of_one_event(&scene, "E1", 6);
    scene.pass("10:03");
    let (mut admin, path) = (scene.admin(), "/admin/events/E1/requests");
    let mut lists = |query: &str, expected: &[String]| {
        let reply = admin.get(&format!("{path}?{query}")).is(200);
        let items = reply.items();
        let found: Vec<&str> = items.iter().filter_map(|item| item["requestId"].as_str()).collect();
        assert_eq!(found, texts(expected), "{reply}");
        assert_eq!(reply.json()["tally"], tally_of(&items), "{reply}");
        reply.next()
    };
    let found = [("SUCCEEDED", &ids[..2]), ("REJECTED", &ids[2..4]), ("QUEUED", &ids[4..])];
    let mut cursor = String::new();
    for (status, ids) in found {
        assert_eq!(lists(&format!("status={status}&order=asc"), ids), None);
        cursor = lists(&format!("status={status}&limit=1"), &ids[1..]).unwrap();
        let rest = format!("status={status}&limit=1&nextCursor={cursor}");
        assert_eq!(lists(&rest, &ids[..1]), None);
    }
    assert_eq!(lists("status=PROCESSING", &[]), None);
    // A cursor is of its own filter.
    let other = format!("{path}?status=REJECTED&limit=1&nextCursor={cursor}");
    admin.get(&other).refuses(400, "invalid-cursor");
    admin.get(&format!("{path}?status=LOST")).blames(&["/status"]);
    admin.get("/admin/events/E9/requests?status=QUEUED").refuses(404, "not-found");
    scene.person("alice").get(&format!("{path}?status=QUEUED")).refuses(403, "forbidden");
}

#[test]
fn the_order_stays_while_statuses_change_underneath() {
    for order in ["asc", "desc"] {
        let scene = Scene::start();
        scene.first_come("E1", 5);
        let ids = of_one_event(&scene, "E1", 24);
        let mut expected = texts(&ids);
        if order == "desc" {
            expected.reverse();
        }
        let mut admin = scene.admin();
        let (path, order) = ("/admin/events/E1/requests", format!("&order={order}"));
        let mut before: Vec<Vec<Value>> = Vec::new();
        // Every page is read while some are decided, among them its neighbours and others' on it.
        for round in 0..3 {
            let minutes = |page: usize| 8 * round + 2 * page;
            let pages = walk(&mut admin, path, &order, 5, |page| {
                scene.pass(&format!("10:{:02}:30", minutes(page)));
            });
            let all = pages.concat();
            assert_eq!(each(&all, "requestId"), expected, "round {round}, {order}");
            if let Some(before) = before.last() {
                assert_eq!(each(&all, "queuedAt"), each(before, "queuedAt"), "never changed");
                assert_ne!(each(&all, "status"), each(before, "status"), "something happened");
            }
            before.push(all);
        }
        assert_eq!(scene.summary("E1")["SUCCEEDED"], 5);
    }
}

#[test]
fn whoever_comes_between_two_pages_is_at_the_end_of_the_order() {
    let scene = Scene::start();
    scene.first_come("E1", 5);
    let ids = of_one_event(&scene, "E1", 8);
    let mut admin = scene.admin();
    let path = "/admin/events/E1/requests";
    let mut late = Vec::new();
    let pages = walk(&mut admin, path, "&order=desc", 3, |page| {
        late.push(scene.joins(&format!("late-{page}"), "E1", &format!("11:0{page}")));
    });
    let backwards: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
    assert_eq!(each(&pages.concat(), "requestId"), backwards, "none twice, none of the late");
    let before: Vec<String> = ids.into_iter().chain(late.clone()).collect();
    let mut more = Vec::new();
    let pages = walk(&mut admin, path, "&order=asc", 4, |page| {
        if page < 3 {
            more.push(scene.joins(&format!("later-{page}"), "E1", &format!("12:0{page}")));
        }
    });
    let all: Vec<&str> = before.iter().chain(&more).map(String::as_str).collect();
    assert_eq!(each(&pages.concat(), "requestId"), all);
}

#[test]
fn what_the_queue_refused_was_never_accepted_and_is_not_in_the_order() {
    let scene = Scene::start();
    scene.first_come("E1", 5);
    let before = scene.joins("before", "E1", "10:00");
    scene.queue("participations", "refuses");
    let refused = scene.joins("refused", "E1", "10:01");
    scene.queue("participations", "works");
    let after = scene.joins("after", "E1", "10:02");
    let mut admin = scene.admin();
    let path = "/admin/events/E1/requests?order=asc";
    for words in ["QUEUED 2", "SUCCEEDED 2"] {
        let reply = admin.get(path).is(200);
        assert_eq!(each(&reply.items(), "requestId"), [before.as_str(), &after], "{reply}");
        assert_eq!(reply.json()["tally"], counts(words), "{reply}");
        scene.pass("11:00");
    }
    // It is there all the same, for its user and for whoever knows its id.
    scene.person("refused").get("/me/participations").lists("requestId", &[&refused], false);
    assert_eq!(scene.request(&refused)["status"], "FAILED_FINAL");
    assert_eq!(scene.summary("E1"), counts("SUCCEEDED 2, FAILED_FINAL 1"));
    let queued = clock("10:02");
    assert_eq!(scene.request(&after)["queuedAt"], json!(queued));
}
