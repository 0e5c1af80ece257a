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
fn only_some_errors_are_told() {
    let mut errors = Errors::default();
    (0..FIELD_ERRORS_MAX + 9).for_each(|n| errors.push(&n.to_string(), "is wrong"));
    let problem = errors.end(()).unwrap_err();
    assert_eq!((problem.status, problem.errors.len()), (400, FIELD_ERRORS_MAX));
    assert_eq!(Errors::default().end(5).unwrap(), 5, "without one, all is well");
}
