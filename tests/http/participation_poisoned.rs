//! What cannot be decided: tried again, then given up, with the request told so.

use latchkey_table::Schema;
use serde_json::json;

use crate::participants::{counts, each, join, names};
use crate::scene::{Scene, clock};

/// The same, but the seats or the event itself are gone from the table.
fn without(scene: Scene, sort: &str) -> Scene {
    let table = Schema::new("ParticipationTable").with_index("GSI1").with_index("GSI2");
    scene.without("participation", table, ("EVENT#E1", sort))
}

#[test]
fn what_cannot_be_decided_ends_failed_with_what_went_wrong() {
    for (sort, code) in [("CAPACITY", "CAPACITY_GONE"), ("META", "EVENT_GONE")] {
        let scene = Scene::start();
        scene.first_come("E1", 3);
        let ids = [scene.joins("alice", "E1", "10:00"), scene.joins("bob", "E1", "10:00:00.001")];
        let scene = without(scene, sort);
        scene.pass("10:00:00.001");
        assert_eq!(scene.request(&ids[0])["status"], "PROCESSING", "one try is not all");
        assert_eq!(scene.request(&ids[1])["status"], "QUEUED", "it waits behind the first");
        scene.pass("23:00");
        for id in &ids {
            let request = scene.request(id);
            assert_eq!(request["status"], "FAILED_FINAL", "{request}");
            assert_eq!(request["errorCode"], code, "{request}");
            for name in ["failureClass", "errorMessage"] {
                let text = request[name].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "`{name}` says nothing: {request}");
            }
            assert!(!names(&request).contains(&"uiResult"), "{request}");
            let times = ["requestedAt", "queuedAt", "startedAt", "finishedAt"];
            let times = times.map(|name| request[name].as_str().unwrap_or_default());
            assert!(!times[0].is_empty() && times.is_sorted(), "{request}");
            // However often it was tried, it was taken up once and given up once.
            let log = scene.log(id);
            let statuses: Vec<&str> = log.iter().map(|(status, _)| status.as_str()).collect();
            assert_eq!(statuses, ["RECEIVED", "QUEUED", "PROCESSING", "FAILED_FINAL"]);
            assert_eq!(log[3].1, times[3], "{log:?}");
            assert!(log.iter().map(|(_, at)| at).is_sorted(), "{log:?}");
        }
        // They were accepted, and stay where they were in the order of acceptance.
        let page = scene.admin().get("/admin/events/E1/requests?order=asc");
        if sort == "CAPACITY" {
            let page = page.is(200);
            let listed = page.items();
            assert_eq!(each(&listed, "requestId"), ids.each_ref().map(String::as_str), "{page}");
            assert_eq!(page.json()["tally"], counts("FAILED_FINAL 2"), "{page}");
        } else {
            page.refuses(404, "not-found");
        }
        let again = join(&mut scene.person("alice").at(&clock("23:00")), "E1").is(200);
        again.shows_just(&json!({"requestId": ids[0], "status": "FAILED_FINAL"}));
        if sort == "CAPACITY" {
            assert_eq!(scene.summary("E1"), counts("FAILED_FINAL 2"));
        }
    }
}
