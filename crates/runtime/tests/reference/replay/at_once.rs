//! Calls of one name that are made at the same time.

use super::*;

/// One call, made by many at the same time.
pub(super) async fn together(world: &Arc<World>, call: Call) -> Vec<Told> {
    let under_way = (0..12).map(|_| {
        let (world, call) = (world.clone(), call.clone());
        tokio::spawn(async move { world.made(call).await })
    });
    let mut told = Vec::new();
    for one in under_way.collect::<Vec<_>>() {
        told.push(one.await.unwrap());
    }
    told
}

// Of two concurrent calls one acts and the other replays.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_of_one_name_one_acts() {
    let world = Arc::new(shop().await);
    for (round, (contract, inputs)) in [
        ("ORDER", r#"{"shopId": "s", "total": 5}"#),
        ("BUY", r#"{"shopId": "s", "total": 5}"#),
        ("QUIET", r#"{"shopId": "s"}"#),
        ("ORDER", r#"{"shopId": "s", "orderId": "mine", "total": 5}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let (orders, before) = (world.all("ORDER#").len(), sold(&world));
        let told = together(&world, named(contract, inputs, &format!("same{round}"))).await;
        let mut acted = 0;
        let mut answers = BTreeSet::new();
        for one in &told {
            assert!(one.status() < 300 || one.status() == 503, "{contract}: {}", one.body());
            if one.status() < 300 {
                answers.insert(one.body());
                acted += usize::from(!one.0.replayed);
            }
        }
        assert_eq!((acted, answers.len()), (1, 1), "{contract} {round}: {answers:?}");
        let made = world.all("ORDER#").len() - orders;
        let counted = sold(&world).parse::<usize>().unwrap() - before.parse::<usize>().unwrap();
        let expected = match contract {
            "ORDER" | "THEN" => (1, 0),
            "BUY" => (1, 1),
            _ => (0, 1),
        };
        assert_eq!((made, counted), expected, "{contract}");
    }
}

// The same of a contract of two writes: neither is made twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_of_two_writes_one_acts() {
    for _ in 0..20 {
        let world = Arc::new(shop().await);
        let inputs = r#"{"shopId": "s", "orderId": "two", "total": 5}"#;
        for told in together(&world, named("TWO", inputs, "same")).await {
            assert!(told.status() == 201 || told.status() == 503, "{}", told.body());
        }
        assert_eq!(sold(&world), "1", "one acts, and once");
    }
}

// The same of a contract that looks after it has written.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_that_look_after_they_write_one_acts() {
    for _ in 0..20 {
        let world = Arc::new(shop().await);
        let inputs = r#"{"shopId": "s", "orderId": "then", "total": 5}"#;
        let mut acted = 0;
        for told in together(&world, named("THEN", inputs, "same")).await {
            assert!(told.status() == 201 || told.status() == 503, "{}", told.body());
            acted += usize::from(told.status() == 201 && !told.0.replayed);
        }
        assert_eq!(acted, 1);
    }
}
