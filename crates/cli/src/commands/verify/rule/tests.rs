use std::path::PathBuf;

use latchkey_table::Value;

use super::*;

// Made by Python's `hmac`: with this key `spring#alice` draws 0.9026…, `spring#Zoë` 0.2938….
const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const COMMITMENT: &str = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd";

fn told() -> Verify {
    Verify {
        outcomes: PathBuf::from("-"),
        key: KEY.to_owned(),
        commitment: Some(COMMITMENT.to_owned()),
        no_commitment: false,
        rate: "0.3".to_owned(),
        subject: "{draw}#{user}".to_owned(),
        won: "result=WIN".to_owned(),
        lost: "result=LOSE".to_owned(),
        filters: Vec::new(),
        json: false,
    }
}

/// What is wrong with what the command was told.
fn wrong(change: impl FnOnce(&mut Verify)) -> String {
    let mut told = told();
    change(&mut told);
    Rule::new(&told).err().unwrap_or_default()
}

fn record<const N: usize>(pairs: [(&str, &str); N]) -> Map {
    pairs.into_iter().map(|(name, value)| (Text::from(name), Value::from(value))).collect()
}

#[test]
fn what_makes_no_rule_is_refused() {
    assert_eq!(wrong(|_| {}), "");
    assert_eq!(
        wrong(|told| told.key.push('0')),
        "--key is the revealed key: 64 hexadecimal digits"
    );
    assert!(wrong(|told| told.commitment = Some("00".to_owned())).starts_with("--commitment is"));
    for (rate, what) in [
        ("a quarter", "not a decimal number"),
        ("25", "from 0 to 1"),
        ("-0.1", "from 0 to 1"),
        ("1.00000000000000000001", "from 0 to 1"),
        ("0.000000000100000000000000000000000000000000000001", "more than 38"),
    ] {
        let wrong = wrong(|told| told.rate = rate.to_owned());
        assert!(wrong.starts_with("--rate `") && wrong.contains(what), "{rate}: {wrong}");
    }
    for rate in ["0", "1", "1.0", "2.5E-1"] {
        assert_eq!(wrong(|told| told.rate = rate.to_owned()), "");
    }
    assert_eq!(wrong(|told| told.won = "WIN".to_owned()), "--won `WIN`: it is NAME=VALUE");
    assert_eq!(wrong(|told| told.lost = "=LOSE".to_owned()), "--lost `=LOSE`: it is NAME=VALUE");
    assert_eq!(wrong(|told| told.filters.push("a".into())), "--where `a`: it is NAME=VALUE");
    for lost in ["result=WIN", "other=LOSE"] {
        let wrong = wrong(|told| told.lost = lost.to_owned());
        assert_eq!(wrong, "--won and --lost are two values of one attribute");
    }
    for (subject, what) in [
        ("", "names no attribute"),
        ("user", "names no attribute"),
        ("{draw", "left open"),
        ("{draw}}", "not opened"),
        ("{}", "the name of an attribute"),
        ("{{draw}", "the name of an attribute"),
        ("{n:6}", "a width is as in"),
        ("{n:0x}", "a width is as in"),
    ] {
        let wrong = wrong(|told| told.subject = subject.to_owned());
        assert!(wrong.contains(what), "{subject}: {wrong}");
    }
}

#[test]
fn a_subject_is_what_a_contract_would_write() {
    let attribute = |name: &str, width| Piece::Attribute(name.into(), width);
    let literal = |text: &str| Piece::Literal(text.to_owned());
    let expected = [
        literal("a:"),
        attribute("b", None),
        attribute("n", Some(Format::Padded(6))),
        literal("é"),
    ];
    assert_eq!(pieces("a:{b}{n:06}é").unwrap(), expected);

    let rule = Rule::new(&Verify { subject: "{draw}#{n:03}".to_owned(), ..told() }).unwrap();
    let mut with = record([("draw", "spring"), ("result", "WIN")]);
    assert_eq!(rule.judge(&with), Judged::Other);
    with.insert("n", 7);
    let Judged::Decided(decided) = rule.judge(&with) else { panic!("it is an outcome") };
    assert_eq!(decided.subject, "spring#007");
    with.insert("n", Value::Null);
    assert_eq!(rule.judge(&with), Judged::Other);
}

#[test]
fn records_are_judged_by_what_follows_from_the_key() {
    let filters = vec!["kind=TICKET".to_owned()];
    let rule = Rule::new(&Verify { filters, ..told() }).unwrap();
    assert_eq!(rule.key_matches(), Some(true));
    let ticket = |user, result| {
        rule.judge(&record([
            ("kind", "TICKET"),
            ("draw", "spring"),
            ("user", user),
            ("result", result),
        ]))
    };
    let cases = [
        ("alice", "WIN", true, false),
        ("alice", "LOSE", false, false),
        ("Zoë", "WIN", true, true),
        ("Zoë", "LOSE", false, true),
    ];
    for (user, result, says, follows) in cases {
        let Judged::Decided(decided) = ticket(user, result) else { panic!("{user} {result}") };
        assert_eq!((decided.won, decided.wins), (says, follows), "{user} {result}");
        assert_eq!(decided.subject, format!("spring#{user}"));
    }
    assert_eq!(ticket("alice", "WINNER"), Judged::Undecided(Some("WINNER".into())));
    let without = record([("kind", "TICKET"), ("draw", "spring"), ("user", "alice")]);
    assert_eq!(rule.judge(&without), Judged::Undecided(None));
    let other = record([("kind", "SEAT"), ("draw", "s"), ("user", "alice"), ("result", "WIN")]);
    assert_eq!(rule.judge(&other), Judged::Other);
    assert_eq!(rule.judge(&record([("kind", "TICKET"), ("result", "WIN")])), Judged::Other);
}

#[test]
fn a_commitment_is_of_one_key() {
    let rule = |key: &str, commitment: Option<&str>| {
        let commitment = commitment.map(str::to_owned);
        Rule::new(&Verify { key: key.to_owned(), commitment, ..told() }).unwrap()
    };
    assert_eq!(rule(KEY, Some(&COMMITMENT.to_uppercase())).key_matches(), Some(true));
    assert_eq!(rule(&KEY.to_uppercase(), Some(COMMITMENT)).key_matches(), Some(true));
    assert_eq!(rule(KEY, None).key_matches(), None);
    let changed = KEY.replacen("1f", "1e", 1);
    assert_eq!(rule(&changed, Some(COMMITMENT)).key_matches(), Some(false));
    assert_eq!(rule(KEY, Some(&COMMITMENT.replacen('6', "7", 1))).key_matches(), Some(false));
}
