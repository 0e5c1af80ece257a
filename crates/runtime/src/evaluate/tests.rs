use proptest::prelude::*;

use super::*;

fn pushed(value: impl Into<Value>, format: Option<Format>) -> String {
    let mut text = Text::from("x");
    push(&mut text, &value.into(), format).unwrap();
    text.strip_prefix('x').unwrap().to_owned()
}

proptest! {
    // Padded numbers sort as the numbers do.
    #[test]
    fn padded_numbers_sort(a in 0_i64..1_000_000, b in 0_i64..1_000_000) {
        let (x, y) = (pushed(a, Some(Format::Padded(6))), pushed(b, Some(Format::Padded(6))));
        prop_assert_eq!(x.len(), 6);
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }

    #[test]
    fn numbers_are_written_whole(a in any::<i64>()) {
        prop_assert_eq!(pushed(a, None), a.to_string());
    }

    #[test]
    fn texts_and_numbers_have_an_order(a in any::<i64>(), b in any::<i64>(), s in ".{0,5}", t in ".{0,5}") {
        prop_assert_eq!(order(&Value::from(a), &Value::from(b)), Some(a.cmp(&b)));
        let texts = (Value::from(s.as_str()), Value::from(t.as_str()));
        prop_assert_eq!(order(&texts.0, &texts.1), Some(s.as_bytes().cmp(t.as_bytes())));
        prop_assert_eq!(order(&Value::from(a), &texts.0), None);
    }
}

#[test]
fn values_are_written_as_they_stand_in_keys() {
    assert_eq!(pushed(7, Some(Format::Padded(3))), "007");
    assert_eq!(pushed(1234, Some(Format::Padded(3))), "1234", "a longer number is not cut");
    assert_eq!(pushed("7", Some(Format::Padded(3))), "7", "only numbers are padded");
    assert_eq!(pushed(true, None), "true");
    let number: Number = "1.50".parse().unwrap();
    assert_eq!(pushed(number, None), "1.5");
}

#[test]
fn what_has_no_text_is_a_bug_in_one() {
    let mut text = Text::default();
    assert!(push(&mut text, &Value::List(Vec::new()), None).is_err());
}
