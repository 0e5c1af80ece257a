//! A lottery is held, exported, revealed and verified; then it is tampered with.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that goes wrong should fail, where it went wrong"
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use latchkey_embedded::Store;
use latchkey_runtime::{Call, Caller, Options, Runtime, Source, System, SystemSource};
use serde_json::{Value as Json, json};

const SYSTEM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../systems/participation.md");
const DRAWS: &str = include_str!("../../../docs/draws.md");

const QUEUE: &str = "participations";

/// 2026-03-01T10:00:00Z, when the lottery is held.
const OPEN: i64 = 1_772_359_200_000;

const PEOPLE: usize = 60;

const RATE: &str = "0.4";

struct Clock(AtomicI64);

impl Source for Clock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn random(&self, bytes: &mut [u8]) -> std::io::Result<()> {
        SystemSource.random(bytes)
    }
}

/// What is left of a lottery.
struct Held {
    commitment: String,
    key: String,
    /// Every page of AD-01, one after the other.
    pages: String,
    /// The same items, one a line.
    items: Vec<Json>,
    /// Every item of the table.
    export: String,
}

async fn asked(runtime: &Runtime, call: Call) -> Json {
    let outcome = runtime.call(call).await;
    let body = outcome.body().to_string();
    assert!(outcome.status() < 300, "{body}");
    serde_json::from_str(&body).unwrap()
}

fn admin(contract: &str) -> Call {
    Call::new(contract, Caller::new("ada").role("admin"))
}

/// Makes two lotteries of the same people, has every message worked on twice, and closes them.
async fn hold(directory: &Path) -> Held {
    let system = System::read(&std::fs::read_to_string(SYSTEM).unwrap()).unwrap();
    let store = Store::open(directory, &latchkey_embedded::Options::default()).unwrap();
    let clock = Arc::new(Clock(AtomicI64::new(OPEN)));
    let options = Options { cursor_secret: b"the same for all".to_vec(), source: clock.clone() };
    let backend = store;
    let runtime = Runtime::start(system, backend, options).await.unwrap();
    let mut commitment = String::new();
    for event in ["autumn", "spring"] {
        let made = admin("AD-04").input("eventId", event).input("title", "A draw");
        let made = made.input("mode", "LOTTERY").input("winRate", RATE);
        let made = asked(&runtime, made.input("closesAt", "2026-03-02T10:00:00Z")).await;
        commitment = made["commitment"].as_str().unwrap().to_owned();
        assert_eq!(made.get("revealedKey"), None);
        for person in 0..PEOPLE {
            let caller = Caller::new(format!("person {person} é").as_str());
            asked(&runtime, Call::new("EP-01", caller).input("eventId", event)).await;
        }
    }
    let queue = runtime.queue(QUEUE).unwrap().embedded().unwrap();
    loop {
        let received = queue.receive(50, Duration::ZERO).await.unwrap();
        if received.is_empty() {
            break;
        }
        for one in received {
            runtime.queue(QUEUE).unwrap().handle(&one).await.unwrap();
            let again = latchkey_runtime::Work::new(QUEUE, one.message.clone());
            drop(runtime.work(&again).await);
        }
    }
    clock.0.fetch_add(24 * 60 * 60 * 1000, Ordering::SeqCst);
    let revealed = asked(&runtime, admin("AD-05").input("eventId", "spring")).await;
    let key = revealed["revealedKey"].as_str().unwrap().to_owned();
    assert_eq!(revealed["commitment"], commitment.as_str());
    let (mut pages, mut items) = (String::new(), Vec::new());
    let mut cursor = None;
    loop {
        let call = admin("AD-01").input("eventId", "spring").input("limit", "25");
        let call = match &cursor {
            Some(cursor) => call.input("nextCursor", cursor),
            None => call,
        };
        let page = asked(&runtime, call).await;
        pages.push_str(&page.to_string());
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    Held { commitment, key, pages, items, export: String::new() }
}

fn held() -> Held {
    let directory = tempfile::tempdir().unwrap();
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut held = threads.block_on(hold(directory.path()));
    drop(threads);
    let exported = Command::new(env!("CARGO_BIN_EXE_latchkey"))
        .args(["export", SYSTEM, "--out", "-", "--data"])
        .arg(directory.path())
        .output()
        .unwrap();
    assert!(exported.status.success(), "{}", said(&exported));
    held.export = String::from_utf8(exported.stdout).unwrap();
    held
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs a command on a text.
fn on(text: &str, command: &mut Command) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // It may have seen enough before the end.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap()
}

const NAMES: [&str; 6] = [
    "--subject",
    "{eventId}#{userId}",
    "--won",
    "uiResult=LOTTERY_WIN",
    "--lost",
    "uiResult=LOTTERY_LOSE",
];

fn verify(text: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchkey"));
    let output = on(text, command.args(["verify", "-"]).args(NAMES).args(arguments));
    (output.status.code(), said(&output))
}

fn lines(items: &[Json]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

/// What the Python of the guide says, if there is Python.
fn python(text: &str, arguments: &[&str]) -> Option<(bool, String)> {
    if Command::new("python3").arg("--version").output().is_err() {
        return None;
    }
    let (_, program) = DRAWS.split_once("```python\n").unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let mut command = Command::new("python3");
    let command = command.args(["-c", program]).args(arguments).env("PYTHONUTF8", "1");
    let output = on(text, command);
    Some((output.status.success(), said(&output)))
}

// What was decided by the workers follows, however it is handed over; what was tampered with does not.
#[test]
fn a_lottery_can_be_verified() {
    let held = held();
    let Held { commitment, key, .. } = &held;
    let whole = ["--key", key, "--commitment", commitment, "--rate", RATE];
    let won = held.items.iter().filter(|item| item["uiResult"] == "LOTTERY_WIN").count();
    let lost = PEOPLE - won;
    assert!(
        won > 0 && lost > 0,
        "{won} won, which is not to be expected before the end of the world"
    );
    let follows = format!(
        "the key is the one that was committed to\n\
         outcomes that follow: {PEOPLE}, all there are: {won} won, {lost} lost\n"
    );
    assert_eq!(verify(&held.pages, &whole), (Some(0), follows.clone()));
    assert_eq!(verify(&lines(&held.items), &whole), (Some(0), follows.clone()));
    if let Some(told) = python(&lines(&held.items), &whole_values(&whole)) {
        assert_eq!(told, (true, String::new()));
    }

    // An export has all the rest too.
    let where_spring = ["--where", "itemType=REQUEST", "--where", "eventId=spring"];
    let (code, told) = verify(&held.export, &[&whole[..], &where_spring].concat());
    assert_eq!(code, Some(0), "{told}");
    let others = held.export.lines().count() - PEOPLE;
    assert_eq!(told, format!("{follows}other records, passed over: {others}\n"));
    let (code, told) = verify(&held.export, &[&whole[..], &where_spring[2..]].concat());
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains(&format!("undecided: {PEOPLE} ({PEOPLE} without `uiResult`)")), "{told}");

    tampered(&held, &whole);
}

fn whole_values<'a>(whole: &[&'a str]) -> Vec<&'a str> {
    whole.iter().skip(1).step_by(2).copied().collect()
}

fn tampered(held: &Held, whole: &[&str]) {
    // One outcome is turned round.
    let mut items = held.items.clone();
    let winner = items.iter().position(|item| item["uiResult"] == "LOTTERY_WIN").unwrap();
    let other = json!("LOTTERY_LOSE");
    items[winner]["uiResult"] = other.clone();
    let (code, told) = verify(&lines(&items), whole);
    assert_eq!(code, Some(1), "{told}");
    let user = items[winner]["userId"].as_str().unwrap();
    let place = format!("  line {}: `spring#{user}` draws 0.", winner + 1);
    assert!(told.contains("outcomes that do not follow: 1\n"), "{told}");
    assert!(told.contains(&place), "{told}");
    let should = ", below 0.4: it should be `LOTTERY_WIN`, and is `LOTTERY_LOSE`\n";
    assert!(told.contains(should), "{told}");
    if let Some((right, told)) = python(&lines(&items), &whole_values(whole)) {
        assert!(!right && told.contains("does not follow: {") && told.contains(user), "{told}");
    }

    // The same person stands there twice: with the other outcome, then with the same.
    let mut twice = held.items.clone();
    twice.push(items[winner].clone());
    let (code, told) = verify(&lines(&twice), whole);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("outcomes of a subject that had the other before: 1\n"), "{told}");
    let last = twice.len() - 1;
    twice[last] = held.items[winner].clone();
    let (code, told) = verify(&lines(&twice), whole);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("outcomes of a subject that had the same before: 1\n"), "{told}");

    // One bit of the key is another.
    let mut key = latchkey_runtime::draw::revealed(&held.key).unwrap();
    key[0] ^= 1;
    let key = latchkey_runtime::draw::hexadecimal(&key).to_string();
    let changed = ["--key", &key, "--commitment", &held.commitment, "--rate", RATE];
    let (code, told) = verify(&held.pages, &changed);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.starts_with("the key is not the one that was committed to"), "{told}");
    let (code, told) = verify(&held.pages, &["--key", &key, "--no-commitment", "--rate", RATE]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("outcomes that do not follow: "), "{told}");

    // The rate is another.
    let changed = [&whole[..5], &["0"]].concat();
    let (code, told) = verify(&held.pages, &changed);
    let won = held.items.iter().filter(|item| item["uiResult"] == "LOTTERY_WIN").count();
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains(&format!("outcomes that do not follow: {won}\n")), "{told}");

    // The event is another: its key is not this one.
    let autumn = ["--where", "itemType=REQUEST", "--where", "eventId=autumn"];
    let (code, told) = verify(&held.export, &[whole, &autumn].concat());
    assert_eq!(code, Some(1), "{told}");
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const COMMITMENT: &str = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd";

/// Outcomes as Python's `hmac` and `fractions` have them, at this key and a rate of 0.3.
const VECTORS: [(&str, &str, &str); 4] = [
    ("alice", "0.9026515530357981968658138971495219493590411730110645294189453125", "LOTTERY_LOSE"),
    ("bob", "0.962787499078410299695185425861154726590029895305633544921875", "LOTTERY_LOSE"),
    ("Zoë", "0.2938113025378695645811917558365422564747859723865985870361328125", "LOTTERY_WIN"),
    ("乗客", "0.188090360275578436324329933970744832549826242029666900634765625", "LOTTERY_WIN"),
];

fn vectors() -> Vec<Json> {
    let outcome =
        |(user, _, result)| json!({ "eventId": "spring", "userId": user, "uiResult": result });
    VECTORS.map(outcome).to_vec()
}

#[test]
fn known_outcomes_follow_and_no_rate_but_theirs_will_do() {
    let text = lines(&vectors());
    let rated = |rate: &'static str| ["--key", KEY, "--commitment", COMMITMENT, "--rate", rate];
    // A draw is below a rate that is the least bit above it, and not below itself as far as 38 digits tell.
    let exactly = [
        ("0.3", true),
        ("0.29381130253786956458119175583654225648", true),
        ("0.29381130253786956458119175583654225647", false),
        ("0.90265155303579819686581389714952194935", true),
        ("0.90265155303579819686581389714952194936", false),
    ];
    for (rate, follows) in exactly {
        let (code, told) = verify(&text, &rated(rate));
        assert_eq!(code, Some(if follows { 0 } else { 1 }), "{rate}: {told}");
        if let Some((right, told)) = python(&text, &whole_values(&rated(rate))) {
            assert_eq!(right, follows, "{rate}: {told}");
        }
    }
}

#[test]
fn programs_get_json_with_every_draw_in_full() {
    let mut items = vectors();
    items[0]["uiResult"] = json!("LOTTERY_WIN");
    items[1]["uiResult"] = json!("SUCCESS");
    items.push(json!({ "eventId": "spring", "userId": "dave" }));
    items.push(json!({ "eventId": "autumn" }));
    let page = json!({ "items": items, "nextCursor": "x" }).to_string();
    let whole = ["--key", KEY, "--commitment", COMMITMENT, "--rate", "0.30", "--json"];
    let (code, told) = verify(&page, &whole);
    assert_eq!(code, Some(1), "{told}");
    let expected = json!({
        "follows": false,
        "keyMatchesCommitment": true,
        "rate": "0.3",
        "won": 2,
        "lost": 0,
        "wrong": { "count": 1, "first": [{
            "line": 1, "item": 1, "subject": "spring#alice", "draw": VECTORS[0].1,
            "is": "LOTTERY_WIN", "shouldBe": "LOTTERY_LOSE",
        }] },
        "contradicting": 0,
        "repeated": 0,
        "undecided": { "count": 2, "values": [
            { "value": null, "count": 1 }, { "value": "SUCCESS", "count": 1 },
        ] },
        "passedOver": 1,
        "more": true,
    });
    assert_eq!(serde_json::from_str::<Json>(&told).unwrap(), expected);
    let other = ["--key", COMMITMENT, "--commitment", COMMITMENT, "--rate", "0.3", "--json"];
    let (code, told) = verify(&page, &other);
    assert_eq!(code, Some(1), "{told}");
    assert_eq!(serde_json::from_str::<Json>(&told).unwrap()["keyMatchesCommitment"], false);
}

// What others wrote moves no cursor, and what is wrong does not fill the screen.
#[test]
fn what_is_wrong_is_shown_safely_and_not_at_length() {
    let mut items = Vec::new();
    for at in 0..2000 {
        let user = format!("\u{1b}[2J\n{at}{}", "x".repeat(500));
        let outcome = json!({ "eventId": "spring", "userId": user, "uiResult": "LOTTERY_WIN" });
        items.push(outcome);
    }
    let (code, told) = verify(&lines(&items), &["--key", KEY, "--no-commitment", "--rate", "0"]);
    assert_eq!(code, Some(1));
    assert!(told.starts_with("no commitment was given"), "{told}");
    assert!(told.contains("outcomes that do not follow: 2,000\n"), "{told}");
    assert!(told.contains("`spring#\\u{1b}[2J\\n0xxx"), "{told}");
    assert!(told.contains("the first 20 are shown"), "{told}");
    assert!(!told.contains('\u{1b}') && told.lines().count() == 24, "{told}");
    assert!(told.lines().all(|line| line.chars().count() < 300), "{told}");
}

#[test]
fn what_says_nothing_is_refused() {
    let text = lines(&vectors());
    let whole = ["--key", KEY, "--commitment", COMMITMENT, "--rate", "0.3"];
    let cases: BTreeMap<&str, (String, Vec<&str>)> = [
        ("standard input, line 5: column 1: ", (format!("{text}nonsense"), whole.to_vec())),
        ("there is no outcome in standard input: 0 records", (String::new(), whole.to_vec())),
        (
            "4 records are others, 0 are undecided; look at",
            (text.clone(), [&whole[..], &["--where", "eventId=sprung"]].concat()),
        ),
        ("--rate `30`: it is from 0 to 1", (text.clone(), [&whole[..5], &["30"]].concat())),
        ("--commitment <HEX>", (text, ["--key", KEY, "--rate", "0.3"].to_vec())),
    ]
    .into();
    for (expected, (text, arguments)) in cases {
        let (code, told) = verify(&text, &arguments);
        assert_eq!(code, Some(2), "{told}");
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_latchkey"))
        .args(["verify", "no-such-file"])
        .args(NAMES)
        .args(whole)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).starts_with("error: cannot read `no-such-file`"), "{}", said(&output));
}
