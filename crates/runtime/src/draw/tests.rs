use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Number {
    text.parse().expect("a number")
}

// RFC 4231, test cases 1 and 2: the first 8 bytes of each HMAC-SHA-256.
#[test]
fn draws_are_known_vectors() {
    assert_eq!(Draw::of(&[0x0b; 20], "Hi There"), Some(Draw(0xb034_4c61_d8db_3853)));
    let subject = "what do ya want for nothing?";
    assert_eq!(Draw::of(b"Jefe", subject), Some(Draw(0x5bdc_c146_bf60_754e)));
}

// Made by Python's `hmac` and `decimal`, with the key 00 01 02 … 1f.
#[test]
fn draws_are_what_others_compute() {
    let key = revealed("000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F").unwrap();
    let commitment_then = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd";
    assert_eq!(commitment(&key), commitment_then);
    let long = "x".repeat(1000);
    let cases = [
        ("", "0.8263436577813115298403977282415411309557384811341762542724609375"),
        ("spring#alice", "0.9026515530357981968658138971495219493590411730110645294189453125"),
        ("spring#bob", "0.962787499078410299695185425861154726590029895305633544921875"),
        ("spring#Zoë", "0.2938113025378695645811917558365422564747859723865985870361328125"),
        ("spring#乗客", "0.188090360275578436324329933970744832549826242029666900634765625"),
        ("a#b#c", "0.4043100572094003877462488338867530046627507545053958892822265625"),
        (long.as_str(), "0.16682322168248276653308714845280746885691769421100616455078125"),
    ];
    for (subject, expected) in cases {
        assert_eq!(Draw::of(&key, subject).unwrap().to_string(), expected, "{subject}");
    }
}

// FIPS 180-2: the SHA-256 of "abc".
#[test]
fn commitments_are_known_vectors() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(commitment(b"abc"), abc);
    assert_eq!(hexadecimal(&[0, 15, 255]), "000fff");
}

#[test]
fn what_is_revealed_is_the_key_or_nothing() {
    let key: [u8; KEY_BYTES] = std::array::from_fn(|at| u8::try_from(255 - at).unwrap());
    let text = hexadecimal(&key);
    assert_eq!(revealed(&text), Some(key));
    assert_eq!(revealed(&text.to_uppercase()), Some(key));
    let digits = text.as_str();
    let (short, shorter) = (digits.get(1..).unwrap(), digits.get(2..).unwrap());
    let bad = [
        "".to_owned(),
        short.to_owned(),
        shorter.to_owned(),
        format!("{digits}0"),
        format!("{digits}00"),
        format!("{shorter}0g"),
        format!("{shorter}+1"),
        format!(" {short}"),
        format!("{shorter}é"),
    ];
    for text in bad {
        assert_eq!(revealed(&text), None, "{text}");
    }
}

#[test]
fn draws_compare_exactly() {
    let half = 1 << 63;
    let cases = [
        (0, "0", Ordering::Equal),
        (0, "-1", Ordering::Greater),
        (0, "1E-130", Ordering::Less),
        (1, "0", Ordering::Greater),
        (1, "1E-130", Ordering::Greater),
        (u64::MAX, "1", Ordering::Less),
        (u64::MAX, "1.5", Ordering::Less),
        (u64::MAX, "10", Ordering::Less),
        (u64::MAX, "0.9999999999999999999", Ordering::Greater),
        (u64::MAX, "0.99999999999999999995", Ordering::Less),
        (half, "0.5", Ordering::Equal),
        (half, "0.50000000000000000000000000000000000001", Ordering::Less),
        (half - 1, "0.5", Ordering::Less),
        (half - 1, "0.49999999999999999994", Ordering::Greater),
        (half + 1, "0.5", Ordering::Greater),
        (1 << 62, "0.25", Ordering::Equal),
        (1 << 62, "0.2", Ordering::Greater),
        (1 << 62, "0.3", Ordering::Less),
    ];
    for (draw, text, expected) in cases {
        assert_eq!(Draw(draw).compare(&number(text)), expected, "{draw} and {text}");
        assert_eq!(Draw(draw).is_below(&number(text)), expected.is_lt(), "{draw} and {text}");
    }
}

#[test]
fn draws_are_shown_exactly_or_cut() {
    let cases = [
        (0, "0", "0"),
        (1 << 63, "0.5", "0.5"),
        (1 << 60, "0.0625", "0.062…"),
        (7 << 61, "0.875", "0.875"),
        (1, "0.0000000000000000000542101086242752217003726400434970855712890625", "0.000…"),
        (u64::MAX, "0.9999999999999999999457898913757247782996273599565029144287109375", "0.999…"),
    ];
    for (draw, whole, cut) in cases {
        assert_eq!(Draw(draw).to_string(), whole);
        assert_eq!(format!("{:.3}", Draw(draw)), cut);
    }
}

#[test]
fn only_what_can_stand_in_a_text_is_part_of_one() {
    assert_eq!(part(&Value::from("é#"), None).unwrap(), "é#");
    assert_eq!(part(&Value::from(7), None).unwrap(), "7");
    assert_eq!(part(&Value::from(7), Some(Format::Padded(3))).unwrap(), "007");
    assert_eq!(part(&Value::Bool(true), None).unwrap(), "true");
    for value in [Value::Null, Value::Bytes(vec![1]), Value::List(Vec::new())] {
        assert_eq!(part(&value, None), None);
    }
}

proptest! {
    // What it is shown as, cut to what a number can hold, is never above it.
    #[test]
    fn what_is_shown_is_what_is_compared(draw: u64) {
        let draw = Draw(draw);
        let shown = format!("{draw:.30}");
        let exact = !shown.ends_with('…');
        let found = draw.compare(&number(shown.trim_end_matches('…')));
        prop_assert_eq!(found, if exact { Ordering::Equal } else { Ordering::Greater });
    }
}
