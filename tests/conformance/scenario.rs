//! The scenarios, each by its name.

/// Fails the scenario unless two things are the same.
macro_rules! same {
    ($found:expr, $expected:expr) => {
        same!($found, $expected, "{}", stringify!($found))
    };
    ($found:expr, $expected:expr, $($told:tt)+) => {{
        let (found, expected) = (&$found, &$expected);
        if found != expected {
            return Err(format!("{}: {found:?}, not {expected:?}", format_args!($($told)+)));
        }
    }};
}

mod documents;
mod ends;
mod filters;
mod limits;
mod many;
mod parts;
mod places;
mod projections;
mod races;
mod reads;
mod shapes;
mod writes;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use latchkey_table::{
    Consistency, Direction, Error, Failed, Item, Key, Put, Query, Returning, SortRange, Text,
    Update, Value,
};

use crate::backend::Backend;
use crate::capability::Capability;

/// Whether it went as it should, or what did not.
pub(crate) type Went = Result<(), String>;

type Run = fn(Arc<Backend>) -> Pin<Box<dyn Future<Output = Went>>>;

/// Something a backend must do.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// What it needs that a backend may lack.
    pub(crate) needs: Option<Capability>,
    pub(crate) run: Run,
    /// What a backend that lacks it must do in its place, where that is known.
    pub(crate) instead: Option<Run>,
}

macro_rules! scenario {
    ($module:ident::$name:ident) => {
        scenario!($module::$name, None, None)
    };
    ($module:ident::$name:ident needs $needs:ident) => {
        scenario!($module::$name, Some(Capability::$needs), None)
    };
    ($module:ident::$name:ident needs $needs:ident or $instead:ident) => {
        scenario!(
            $module::$name,
            Some(Capability::$needs),
            Some(|backend| Box::pin($module::$instead(backend)))
        )
    };
    ($module:ident::$name:ident, $needs:expr, $instead:expr) => {
        Scenario {
            name: concat!(stringify!($module), "::", stringify!($name)),
            needs: $needs,
            run: |backend| Box::pin($module::$name(backend)),
            instead: $instead,
        }
    };
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    of_items().into_iter().chain(of_reads()).chain(of_limits()).collect()
}

/// Of single items and of what is written together.
fn of_items() -> Vec<Scenario> {
    vec![
        scenario!(writes::an_item_of_every_type_is_kept_exactly),
        scenario!(writes::a_text_may_be_empty needs EmptyTexts),
        scenario!(writes::a_put_answers_with_the_image_asked_for),
        scenario!(writes::an_update_answers_with_the_image_asked_for),
        scenario!(writes::an_update_that_makes_an_item_has_no_old_image needs NoImageOfAnItemThatWasNotThere),
        scenario!(writes::a_delete_answers_with_the_image_asked_for),
        scenario!(writes::an_update_of_nothing_makes_an_item_of_its_key),
        scenario!(writes::what_does_not_fit_what_is_stored_is_invalid),
        scenario!(writes::an_update_keeps_to_the_type_of_an_index_key needs IndexKeyTypes),
        scenario!(writes::a_refused_write_changes_nothing),
        scenario!(writes::a_refused_write_tells_what_it_met needs ItemOfARefusedWrite),
        scenario!(writes::a_transaction_is_done_whole_or_not_at_all),
        scenario!(writes::the_first_leg_that_fails_is_told_with_its_item),
        scenario!(writes::a_leg_that_cannot_be_applied_is_told needs LegThatCannotBeApplied),
        scenario!(writes::a_transaction_that_cannot_be_applied_is_refused),
        scenario!(writes::a_write_costs_by_its_larger_image needs Capacity),
        scenario!(writes::indexes_cost_by_what_changes_in_them needs Capacity),
        scenario!(writes::a_transaction_costs_twice needs TransactionCapacity),
        scenario!(parts::a_member_changes_and_the_others_stay),
        scenario!(parts::a_member_of_no_record_is_invalid),
        scenario!(parts::a_condition_looks_into_a_record),
        scenario!(parts::elements_come_and_go),
        scenario!(parts::a_set_with_no_elements_is_gone),
        scenario!(parts::a_condition_counts_and_finds_elements),
        scenario!(ends::an_item_that_has_ended_gives_way),
        scenario!(ends::an_item_that_has_ended_meets_no_condition),
        scenario!(ends::an_item_without_an_end_stays),
    ]
}

/// Of gets and queries, and of tables of every shape.
fn of_reads() -> Vec<Scenario> {
    vec![
        scenario!(reads::a_get_costs_by_size_and_consistency needs Capacity),
        scenario!(reads::ranges_hold_what_they_say),
        scenario!(reads::texts_are_ordered_by_their_bytes),
        scenario!(reads::pages_of_every_size_hold_every_item_once),
        scenario!(reads::a_page_goes_on_behind_an_item_that_is_gone),
        scenario!(reads::items_enter_leave_and_move_in_an_index),
        scenario!(reads::a_query_reads_1_mb_at_once needs ReadsOf1Mb),
        scenario!(reads::a_table_that_is_not_there_is_told needs Tables),
        scenario!(filters::pages_hold_what_is_kept_of_what_is_read),
        scenario!(filters::a_page_goes_on_behind_the_last_item_that_was_read),
        scenario!(filters::what_is_dropped_is_paid_for needs Capacity),
        scenario!(filters::a_filter_tests_what_a_condition_does),
        scenario!(filters::no_filter_tests_a_key_of_its_query),
        scenario!(filters::a_scan_of_an_index_meets_every_item_once),
        scenario!(places::a_page_begins_behind_a_key_that_was_never_there),
        scenario!(places::a_page_of_an_index_begins_behind_an_item_of_another_partition),
        scenario!(places::a_page_of_numbers_begins_behind_one_that_was_never_there),
        scenario!(places::a_page_begins_within_its_range),
        scenario!(places::a_page_begins_at_the_end_of_its_range needs PlaceAtTheEnd or the_end_of_a_range_is_refused),
        scenario!(shapes::numbers_are_in_their_order),
        scenario!(shapes::a_partition_alone_is_an_item),
        scenario!(shapes::a_transaction_spans_tables),
        scenario!(shapes::a_key_is_of_its_type),
        scenario!(shapes::a_table_has_its_own_items needs TablesApart or housekeeping_is_in_no_index),
        scenario!(projections::an_index_answers_with_what_it_holds),
        scenario!(projections::an_index_costs_by_what_it_holds needs Capacity),
        scenario!(many::a_batch_answers_in_the_order_of_its_keys),
        scenario!(many::a_batch_costs_as_its_gets_do needs Capacity),
        scenario!(many::what_is_not_there_costs_in_a_batch_too needs CapacityOfNothingInABatch),
        scenario!(many::a_batch_has_100_keys),
        scenario!(many::a_batch_reads_more_than_16_mb needs Capacity),
        scenario!(many::a_snapshot_answers_in_the_order_of_its_keys),
        scenario!(many::a_snapshot_costs_twice needs Capacity),
        scenario!(many::a_snapshot_has_100_keys needs ManyLegs or a_snapshot_of_11_keys_is_refused),
        scenario!(many::a_snapshot_has_up_to_4_mb),
        scenario!(many::no_key_is_asked_for_twice),
        scenario!(many::a_snapshot_sees_a_transaction_whole_or_not_at_all),
    ]
}

/// At limits, in races, and of whole documents.
fn of_limits() -> Vec<Scenario> {
    vec![
        scenario!(limits::an_item_has_up_to_400_kb needs Capacity),
        scenario!(limits::an_update_cannot_make_an_item_too_large),
        scenario!(limits::keys_have_up_to_2048_and_1024_bytes),
        scenario!(limits::an_update_keeps_to_the_length_of_an_index_key needs IndexKeyBytes),
        scenario!(limits::a_transaction_has_10_legs),
        scenario!(limits::a_transaction_has_11_legs needs ManyLegs or eleven_legs_are_refused),
        scenario!(limits::a_transaction_has_100_legs needs ManyLegs),
        scenario!(limits::an_expression_has_up_to_4_kb),
        scenario!(limits::a_condition_has_up_to_300_operators),
        scenario!(documents::collections),
        scenario!(documents::kept_collections_and_members),
        scenario!(documents::numbers_in_keys_of_any_name),
        scenario!(documents::answers_that_cannot_be_computed),
        scenario!(documents::shards),
        scenario!(documents::batches),
        scenario!(documents::snapshots),
        scenario!(documents::lists_sets_and_records),
        scenario!(documents::items_that_end),
        scenario!(documents::ways_to_answer),
        scenario!(documents::answers_from_memory needs Capacity),
        scenario!(documents::other_names_of_keys),
        scenario!(documents::keys_that_are_numbers),
        scenario!(documents::no_sort_key),
        scenario!(documents::each_of_ten needs ManyLegs or each_of_nine_at_most),
        scenario!(races::of_32_who_create_one_item_one_does),
        scenario!(races::nothing_of_32_writers_is_lost),
        scenario!(races::transactions_of_32_writers_are_all_done),
    ]
}

/// What went wrong with a request, as a scenario tells it.
fn told(error: Error) -> String {
    format!("{error} ({error:?})")
}

fn key(partition: &str, sort: &str) -> Key {
    Key::new(partition, sort)
}

/// An item with more attributes.
fn item(partition: &str, sort: &str, more: &[(&str, Value)]) -> Item {
    let mut item = Item::from([("PK", partition), ("SK", sort)]);
    for (name, value) in more {
        item.insert(*name, value.clone());
    }
    item
}

/// An item of so many bytes in all.
fn sized(partition: &str, sort: &str, bytes: usize) -> Item {
    let empty = item(partition, sort, &[("filler", "".into())]);
    let filler = "x".repeat(bytes - empty.size());
    item(partition, sort, &[("filler", filler.as_str().into())])
}

/// A put without a condition.
fn put(backend: &Backend, item: Item) -> Put {
    Put { table: Arc::clone(&backend.table), item, condition: None }
}

/// Puts an item, whatever is there.
async fn store(backend: &Backend, item: Item) -> Result<u64, String> {
    let wrote = backend.put(put(backend, item), Returning::Nothing).await.map_err(told)?;
    Ok(wrote.capacity.write)
}

fn update(backend: &Backend, key: Key, actions: Vec<latchkey_table::Action>) -> Update {
    Update { table: Arc::clone(&backend.table), key, actions, condition: None }
}

/// A query of a whole partition.
fn query(backend: &Backend, index: Option<&str>, partition: &str) -> Query {
    Query {
        table: Arc::clone(&backend.table),
        index: index.map(Text::from),
        partition: partition.into(),
        range: SortRange::All,
        filter: None,
        direction: Direction::Ascending,
        limit: None,
        resume: None,
        consistency: Consistency::Eventual,
    }
}

/// The sort keys of all pages, and how many pages there were.
async fn walk(backend: &Backend, mut query: Query) -> Result<(Vec<String>, usize), String> {
    let (mut sorts, mut pages) = (Vec::new(), 0);
    loop {
        let page = backend.query(&query).await.map_err(told)?;
        pages += 1;
        let sort = |item: &Item| item.get("SK").and_then(Value::as_text).unwrap().to_string();
        sorts.extend(page.items.iter().map(sort));
        query.resume = page.resume;
        if query.resume.is_none() {
            return Ok((sorts, pages));
        }
    }
}

/// The failed condition of an answer.
fn failed<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<Failed, String> {
    match answer {
        Err(Error::ConditionFailed(failed)) => Ok(*failed),
        other => Err(format!("{other:?}, not a failed condition")),
    }
}

/// The leg of an answer that says the request is at fault.
fn invalid<T: std::fmt::Debug>(answer: Result<T, Error>) -> Result<Option<usize>, String> {
    match answer {
        Err(Error::Invalid { leg, .. }) => Ok(leg),
        other => Err(format!("{other:?}, not an invalid request")),
    }
}
