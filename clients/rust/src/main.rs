//! A locker's life and a first-come event, by a client that is generated.

use std::env;
use std::error::Error as StdError;
use std::time::Duration;

use chrono::Utc;
use reqwest::header::{AUTHORIZATION, HeaderMap};

#[allow(clippy::all)]
mod api {
    progenitor::generate_api!("made/openapi.json");
}

use api::{Client, Error, types};

type Tested = Result<(), Box<dyn StdError>>;

fn client(name: &str) -> Result<Client, Box<dyn StdError>> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, format!("Bearer {}", env::var(name)?).parse()?);
    let client = reqwest::Client::builder().default_headers(headers).build()?;
    Ok(Client::new_with_client(&env::var("LATCHKEY_URL")?, client))
}

async fn lockers() -> Tested {
    let (operator, alice, bob) = (client("OPERATOR")?, client("ALICE")?, client("BOB")?);
    let id = "rs-1";
    let body = types::Qc11Body {
        locker_id: Some(id.parse()?),
        owner_id: "alice".parse()?,
        locker_alias: Some("hall".parse()?),
        location_id: None,
    };
    let key = "rs-register".parse()?;
    let made = operator.qc_11(Some(&key), None, &body).await?;
    assert_eq!((made.status().as_u16(), made.status), (201, types::LockerStatus::Available));
    let again = operator.qc_11(Some(&key), None, &body).await?;
    assert_eq!(again.headers()["idempotency-replayed"], "true");

    let got = alice.qc_01(&id.parse()?, None, None, None).await?;
    let tag = got.headers()["etag"].to_str()?.to_owned();
    assert_eq!(tag, format!("\"{}\"", got.version));
    let same = alice.qc_01(&id.parse()?, None, Some(&tag), None).await;
    assert!(
        matches!(&same, Err(Error::UnexpectedResponse(told)) if told.status() == 304),
        "{same:?}"
    );

    let change = |new_status, version: Option<u64>| types::Qc03Body {
        new_status,
        expected_version: version.and_then(|version| version.try_into().ok()),
    };
    let occupied = change(types::Qc03BodyNewStatus::Occupied, None);
    let changed = alice.qc_03(&id.parse()?, Some(&tag.parse()?), None, &occupied).await?;
    assert_eq!(changed.version.get(), 2);
    let late = change(types::Qc03BodyNewStatus::Available, Some(1));
    match alice.qc_03(&id.parse()?, None, None, &late).await {
        Err(Error::ErrorResponse(problem)) => {
            assert_eq!(problem.code, types::Qc03ProblemCode::VersionConflict);
            assert_eq!(problem.current_version.map(|version| version.get()), Some(2));
        }
        other => panic!("{other:?}"),
    }
    match bob.qc_01(&id.parse()?, None, None, None).await {
        Err(Error::ErrorResponse(problem)) => {
            assert_eq!(problem.code, types::Qc01ProblemCode::Forbidden);
        }
        other => panic!("{other:?}"),
    }

    let start_at = Utc::now() + Duration::from_secs(3600);
    let end_at = start_at + Duration::from_secs(3600);
    let owner_id = "alice".parse()?;
    let body = types::Qc04Body { reservation_id: None, owner_id, start_at, end_at };
    let reserved = alice.qc_04(&id.parse()?, None, None, &body).await?;
    let size = 10.try_into()?;
    let list = alice.qc_05(&id.parse()?, &end_at, None, None, Some(size), &start_at, None).await?;
    assert_eq!((list.items.len(), &list.next_cursor), (1, &None));
    assert_eq!(list.items[0].reservation_id, reserved.reservation_id);
    let reservation = reserved.reservation_id.parse()?;
    let cancelled = alice.qc_12(&id.parse()?, &reservation, None, None).await?;
    assert_eq!(cancelled.status, types::ReservationStatus::Cancelled);
    let removed = alice.qc_17(&id.parse()?, None, None, None).await?;
    assert_eq!(removed.status().as_u16(), 204);
    match alice.qc_01(&id.parse()?, None, None, None).await {
        Err(Error::ErrorResponse(problem)) => {
            assert_eq!(problem.code, types::Qc01ProblemCode::NotFound);
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

async fn event() -> Tested {
    let admin = client("ADMIN")?;
    let id = "rs-concert";
    let body = types::Ad04Body {
        event_id: Some(id.parse()?),
        title: "Concert".parse()?,
        mode: types::Ad04BodyMode::FirstCome,
        capacity: Some(2),
        win_rate: None,
        opens_at: None,
        closes_at: None,
    };
    assert_eq!(admin.ad_04(None, None, &body).await?.capacity_remaining, Some(2));
    let mut results = Vec::new();
    for name in ["ALICE", "BOB", "CAROL"] {
        let person = client(name)?;
        let asked = person.ep_01(&id.parse()?, None, None).await?;
        assert_eq!(asked.status().as_u16(), 202);
        let request = asked.request_id.parse()?;
        loop {
            let found = person.ep_02(&request, None, None).await?;
            if found.finished_at.is_some() {
                results.extend(found.ui_result);
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    use types::Ep02AnswerUiResult::{RejectedCapacity, Success};
    assert_eq!(results, [Success, Success, RejectedCapacity]);
    let summary = admin.ad_06(&id.parse()?, None).await?;
    assert_eq!((summary.by_status.succeeded, summary.by_status.rejected), (2, 1));
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Tested {
    lockers().await?;
    event().await?;
    println!("rust: a locker's life and a first-come event");
    Ok(())
}
