//! Lists that are cut short: by items that have ended, and by items that a filter drops. Nothing is left out, and
//! nothing is shown twice.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::scene::{Scene, clock};
use crate::serve::Reply;

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("http/documents/cuts.md")
}

/// An item of an export: texts, and numbers.
fn line(texts: &[(&str, &str)], numbers: &[(&str, usize)]) -> String {
    let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), json!({"S": text})));
    let number =
        |(name, number): &(&str, usize)| ((*name).to_owned(), json!({"N": number.to_string()}));
    let item: serde_json::Map<String, Value> = texts.chain(numbers.iter().map(number)).collect();
    format!("{}\n", json!({"Item": item}))
}

/// Holds of a desk. Those before `ended` have ended at nine o'clock.
fn holds(count: usize, ended: usize) -> String {
    let desk =
        [("PK", "DESK#d"), ("SK", "A"), ("kind", "DESK"), ("desk", "d"), ("label", "Window")];
    let mut lines = line(&desk, &[]);
    for n in 0..count {
        let (sort, end) = (format!("HOLD#{n:04}"), clock("09:00"));
        let mut texts = vec![("PK", "DESK#d"), ("SK", &*sort), ("kind", "HOLD"), ("desk", "d")];
        if n < ended {
            texts.push(("endsAt", &end));
        }
        lines.push_str(&line(&texts, &[("n", n)]));
    }
    lines
}

/// What an answer of this document's contracts shows.
#[track_caller]
fn shown(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{reply}");
    reply.json()
}

/// All that a list has, page by page, and how many pages it took.
fn all(scene: &Scene, path: &str, items: impl Fn(&Value) -> Vec<Value>) -> (Vec<Value>, usize) {
    let mut client = scene.person("ann");
    let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = shown(&client.get(&format!("{path}{cursor}")));
        found.extend(items(&page));
        pages += 1;
        assert!(pages < 1000, "it does not end");
        let mark = if path.contains('?') { '&' } else { '?' };
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("{mark}nextCursor={next}"),
            None => return (found, pages),
        }
    }
}

fn member(items: &Value, name: &str) -> Vec<Value> {
    items.as_array().unwrap().iter().map(|item| item[name].clone()).collect()
}

// A collection that met more than 300 items that had ended was answered 503 until they were removed.
#[test]
fn a_collection_that_meets_many_ended_items_is_cut_short_and_goes_on() {
    let scene = Scene::on_items(&document(), &holds(706, 700), "--as-is");
    let first = shown(&scene.person("ann").get("/desks/d"));
    assert_eq!((&first["label"], &first["holds"]), (&json!("Window"), &json!([])));
    let (found, pages) = all(&scene, "/desks/d", |page| member(&page["holds"], "n"));
    assert_eq!(found, (700..706).map(Value::from).collect::<Vec<_>>());
    assert!(pages >= 3, "{pages}");
}

#[test]
fn the_first_items_are_looked_for_as_far_as_the_contract_says() {
    let scene = Scene::on_items(&document(), &holds(705, 690), "--as-is");
    let first = shown(&scene.person("ann").get("/desks/d/first"));
    assert_eq!(member(&first["items"], "n"), [690, 691]);
    let scene = Scene::on_items(&document(), &holds(705, 703), "--as-is");
    let refused = scene.person("ann").get("/desks/d/first");
    assert_eq!((refused.status, &*refused.code()), (503, "busy"), "{refused}");
}

// A filter on an attribute that stands in the key alone dropped all items.
#[test]
fn a_filter_knows_what_stands_in_a_key_alone() {
    let mut lines = String::new();
    for n in 0..9 {
        let sort = format!("HOLD#{n:04}");
        let texts = [("PK", "DESK#d"), ("SK", &*sort), ("kind", "HOLD")];
        let number = [("n", n)];
        lines.push_str(&line(&texts, if n % 2 == 0 { &[] } else { &number }));
    }
    let scene = Scene::on_items(&document(), &lines, "--as-is");
    for n in 0..11 {
        let found = shown(&scene.person("ann").get(&format!("/desks/d/holds/{n}")));
        let expected: Vec<Value> = (n < 9).then(|| json!(n)).into_iter().collect();
        assert_eq!(member(&found["items"], "n"), expected, "{n}");
    }
}

/// Turns in three partitions, and those that are live and red, in order.
fn turns(count: usize, is_live: impl Fn(usize) -> bool) -> (String, Vec<Value>, Vec<Value>) {
    let (mut lines, mut live, mut red) = (String::new(), Vec::new(), Vec::new());
    for n in 0..count {
        for shard in 0..3 {
            let (partition, sort) = (format!("TURNS#d#{shard:02}"), format!("TURN#{n:04}"));
            let (colour, end) = (if (n + shard) % 7 == 0 { "RED" } else { "BLUE" }, clock("09:00"));
            let mut texts = vec![
                ("PK", &*partition),
                ("SK", &*sort),
                ("kind", "TURN"),
                ("day", "d"),
                ("colour", colour),
            ];
            if is_live(n * 3 + shard) {
                live.push(json!([n, shard]));
                if colour == "RED" {
                    red.push(json!([n, shard]));
                }
            } else {
                texts.push(("endsAt", &end));
            }
            lines.push_str(&line(&texts, &[("shard", shard), ("n", n)]));
        }
    }
    (lines, live, red)
}

// A list of several partitions that met more than 300 items that had ended was answered 503.
#[test]
fn a_list_of_several_partitions_is_cut_short_and_goes_on() {
    let (lines, live, red) = turns(700, |n| n % 401 == 5 || n > 2090);
    let scene = Scene::on_items(&document(), &lines, "--as-is");
    let items = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| json!([item["n"], item["shard"]])).collect::<Vec<_>>()
    };
    for (path, expected) in [("/turns/d", live), ("/turns/d/red", red)] {
        assert!(!expected.is_empty());
        let (found, pages) = all(&scene, &format!("{path}?order=asc"), items);
        assert_eq!(found, expected, "{path}");
        assert!(pages > 3, "{path}: {pages}");
        let (mut found, _) = all(&scene, &format!("{path}?order=desc"), items);
        // Within one sort key the lesser partition comes first, in both directions.
        found.sort_by_key(|one| (one[0].as_u64(), one[1].as_u64()));
        assert_eq!(found, expected, "{path}, descending");
    }
}
