use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn what_is_accepted_is_within_the_bounds(n in any::<i64>(), low in -5_i64..5, more in 0_i64..5) {
        let high = low + more;
        let kind = InputType::Int { low: Some(low), high: Some(high) };
        for given in [RawInput::Json(Value::from(n % 20)), RawInput::Text(format!("{}", n % 20).into())] {
            let read = read_as(&kind, given);
            prop_assert_eq!(read.is_ok(), (low..=high).contains(&(n % 20)));
        }
    }
}

#[test]
fn bounds_are_told_as_people_say_them() {
    assert_eq!(between(Some(&1), Some(&9)), " from 1 to 9");
    assert_eq!(between(Some(&1), None), " of 1 or more");
    assert_eq!(between(None, Some(&9)), " of 9 or less");
    assert_eq!(between::<i64>(None, None), "");
}

#[test]
fn a_zero_before_a_number_is_told_of() {
    // `/rows/01` was told to be no whole number, and looks like one.
    let told =
        |kind: &InputType, given: &str| read_as(kind, RawInput::Text(given.into())).unwrap_err();
    let int = InputType::Int { low: Some(0), high: None };
    let number = InputType::Number { low: None, high: None };
    assert_eq!(told(&int, "01"), "must be a whole number of 0 or more, without a zero before it");
    assert_eq!(told(&number, "-007.5"), "must be a number, without a zero before it");
    for (kind, given) in [(&int, "-1"), (&int, "0.5"), (&int, "x"), (&number, "0x1")] {
        assert!(!told(kind, given).contains("zero"), "{given}");
    }
    assert_eq!(read_as(&int, RawInput::Text("0".into())), Ok(Value::from(0)));
}

#[test]
fn only_some_errors_are_told() {
    let mut errors = Errors::default();
    (0..FIELD_ERRORS_MAX + 9).for_each(|n| errors.push(&n.to_string(), "is wrong"));
    let problem = errors.end(()).unwrap_err();
    assert_eq!((problem.status, problem.errors.len()), (400, FIELD_ERRORS_MAX));
    // It said that 50 fields are wrong, of however many.
    assert_eq!(problem.detail, "more than 50 fields are wrong; `errors` has the first 50");
    let mut errors = Errors::default();
    (0..FIELD_ERRORS_MAX).for_each(|n| errors.push(&n.to_string(), "is wrong"));
    assert_eq!(errors.end(()).unwrap_err().detail, "50 fields are wrong");
    assert_eq!(Errors::default().end(5).unwrap(), 5, "without one, all is well");
}

#[test]
fn a_stored_id_that_no_path_carries_is_read_and_a_given_one_refused() {
    for dots in [".", ".."] {
        let value = Value::from(dots);
        let stored = read_stored(&InputType::Id, "doorId", &value);
        assert_eq!(stored.unwrap(), Some(value.clone()), "an earlier version took it");
        for given in [RawInput::Text(dots.into()), RawInput::Json(value)] {
            let mut errors = Errors::default();
            let spot = Spot::Field("doorId");
            assert_eq!(read_value(&InputType::Id, given, &spot, &mut errors), None);
            let problem = errors.end(()).unwrap_err();
            assert!(problem.detail.contains("no path can carry"), "{}", problem.detail);
        }
    }
}
