//! Transactions are serialisable: money goes between items, and readers who add up always find all of it. Some
//! transactions write one item because of another that they only check; none of two such may overlook the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread;

use latchkey_embedded::{Options, Store};
use latchkey_table::{
    Action, Check, Condition, Error, Item, Key, Leg, Put, Returning, Schema, SnapshotGet, Transact,
    Update, Value,
};
use serde_json::json;

use crate::serve::chance::Chance;
use crate::serve::promise::{self, Progress};
use crate::serve::{Client, Server};

/// The accounts. Two neighbours are a pair, which together never owe anything.
const ACCOUNTS: usize = 24;
const WRITERS: usize = 16;
const READERS: usize = 2;
const EACH: i64 = 100;

/// The money there is.
const ALL: i64 = EACH * 24;

/// One account: its balance and its version.
type Account = (i64, i64);

struct Bank {
    store: Store,
    table: Arc<Schema>,
    /// How many items the acknowledged transactions have written.
    written: AtomicI64,
}

fn key(account: usize) -> Key {
    Key::new(format!("ACCOUNT#{account:02}"), "META")
}

impl Bank {
    fn open(store: Store) -> Bank {
        let table = Arc::new(Schema::new("Bank"));
        store.create_table(&table).wait().unwrap();
        for account in 0..ACCOUNTS {
            let Key { partition, sort } = key(account);
            let mut item = Item::from([("PK", partition), ("SK", sort)]);
            item.insert("balance", EACH);
            item.insert("version", 0);
            let put = Put { table: Arc::clone(&table), item, condition: None };
            store.put(put, Returning::Nothing).wait().unwrap();
        }
        Bank { store, table, written: AtomicI64::new(0) }
    }

    /// Some accounts at one instant.
    fn read(&self, accounts: &[usize]) -> Vec<Account> {
        let keys = accounts.iter().copied().map(key).collect();
        let got = SnapshotGet { table: Arc::clone(&self.table), keys };
        let items = self.store.snapshot_get(&got).unwrap().items;
        let number = |item: &Item, name| {
            item.get(name).and_then(Value::as_number).unwrap().to_i64().unwrap()
        };
        let account = |item: &Item| (number(item, "balance"), number(item, "version"));
        items.iter().map(|item| account(item.as_ref().unwrap())).collect()
    }

    /// Adds to an account that is still of a version.
    fn add(&self, account: usize, (_, version): Account, amount: i64) -> Leg {
        Leg::Update(Update {
            table: Arc::clone(&self.table),
            key: key(account),
            actions: vec![Action::increment("balance", amount), Action::increment("version", 1)],
            condition: Some(Condition::equals("version", version)),
        })
    }

    /// One transaction. Each account is read by itself: at several moments, if others come between.
    fn transaction(&self, chance: &mut Chance) -> Transact {
        let one = |account: usize| self.read(&[account])[0];
        let amount = 1 + i64::try_from(chance.below(5)).unwrap();
        let from = chance.below(ACCOUNTS);
        // Neither the account nor its partner.
        let to = (from + 2 + chance.below(ACCOUNTS - 4)) % ACCOUNTS;
        let other = from ^ 1;
        let (giver, partner) = (one(from), one(other));
        // As much as the pair has, although the account itself may then owe.
        let amount = amount.min(giver.0 + partner.0).max(0);
        let mut legs = vec![self.add(from, giver, -amount)];
        legs.push(Leg::Check(Check {
            table: Arc::clone(&self.table),
            key: key(other),
            condition: Condition::equals("version", partner.1),
        }));
        let third = (to + 1 + chance.below(3)) % ACCOUNTS;
        if chance.below(3) == 0 && ![from, other].contains(&third) {
            legs.push(self.add(to, one(to), amount - amount / 2));
            legs.push(self.add(third, one(third), amount / 2));
        } else {
            legs.push(self.add(to, one(to), amount));
        }
        Transact { legs }
    }

    /// Makes transfers until so many are acknowledged by all.
    fn write(&self, seed: u64, done: &AtomicUsize, wanted: usize) -> usize {
        let (mut chance, mut lost) = (Chance::new(seed), 0);
        while done.load(Ordering::Relaxed) < wanted {
            let transaction = self.transaction(&mut chance);
            let updates = |leg: &&Leg| matches!(leg, Leg::Update(_));
            let updates = transaction.legs.iter().filter(updates).count();
            match self.store.transact(transaction).wait() {
                Ok(_) => {
                    self.written.fetch_add(i64::try_from(updates).unwrap(), Ordering::SeqCst);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Err(Error::ConditionFailed(_)) => lost += 1,
                Err(error) => panic!("{error}"),
            }
        }
        lost
    }

    /// All of the money is there, no pair owes, and no later look shows less writes.
    fn add_up(&self, before: i64) -> i64 {
        let acknowledged = self.written.load(Ordering::SeqCst);
        let accounts = self.read(&(0..ACCOUNTS).collect::<Vec<_>>());
        let total: i64 = accounts.iter().map(|account| account.0).sum();
        let versions: i64 = accounts.iter().map(|account| account.1).sum();
        assert_eq!(total, ALL, "{accounts:?}");
        for pair in accounts.chunks(2) {
            assert!(pair[0].0 + pair[1].0 >= 0, "a pair owes: {accounts:?}");
        }
        assert!(versions >= before.max(acknowledged), "{versions}, {before}, {acknowledged}");
        versions
    }
}

#[test]
fn transfers_of_many_items_keep_what_must_hold() {
    let wanted = promise::rounds(20_000);
    let directory = tempfile::tempdir().unwrap();
    let bank = Bank::open(Store::open(directory.path(), &Options::default()).unwrap());
    let (done, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut progress = Progress::new("transfers", wanted);
    let (looks, lost) = thread::scope(|scope| {
        let read = || {
            let (mut looks, mut before) = (0_usize, 0);
            while !over.load(Ordering::SeqCst) {
                before = bank.add_up(before);
                looks += 1;
            }
            looks
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let write = |seed: usize| {
            let (bank, done) = (&bank, &done);
            scope.spawn(move || bank.write(u64::try_from(seed).unwrap() + 1, done, wanted))
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let mut shown = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            thread::sleep(std::time::Duration::from_millis(50));
            let now = done.load(Ordering::Relaxed);
            progress.add(now - shown);
            shown = now;
        }
        let lost: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        over.store(true, Ordering::SeqCst);
        let lost: usize = lost.into_iter().map(|lost| lost.unwrap()).sum();
        (readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>(), lost)
    });
    assert_eq!(bank.add_up(0), bank.written.load(Ordering::SeqCst), "each happened once");
    assert!(looks > 100 && lost > 0, "{looks} looks, {lost} lost races");
    println!(
        "{} transfers, {lost} refused for a race, added up {looks} times, in {:?}",
        done.load(Ordering::SeqCst),
        progress.spent()
    );
}

/// The banks of the service, of four accounts each.
const BANKS: usize = 6;

/// How many moves were made of each bank, and how many were refused because their time was over.
type Moved = ([i64; BANKS], usize);

/// Moves money until so much is done.
fn move_on(client: &mut Client, seed: u64, done: &AtomicUsize, wanted: usize) -> Moved {
    let (mut chance, mut made, mut late) = (Chance::new(seed), [0; BANKS], 0);
    while done.load(Ordering::Relaxed) < wanted {
        let (bank, from) = (chance.below(BANKS), chance.below(4));
        let to = (from + 1 + chance.below(3)) % 4;
        let body = json!({ "from": from, "to": to, "amount": 1 + chance.below(40) });
        let reply = client.post(&format!("/banks/b{bank}/transfers"), &body);
        assert!(!reply.is_busy_early(), "after {:?}: {reply:?}", reply.took);
        match (reply.status, reply.code().as_str()) {
            (200, _) => {
                made[bank] += 1;
                done.fetch_add(1, Ordering::Relaxed);
            }
            (409, "too-little") => {}
            // Its time was over in line, and nothing was made.
            (503, "busy") => late += 1,
            _ => panic!("{reply:?}"),
        }
    }
    (made, late)
}

/// What a bank says of itself: how many moves it knows of.
fn added_up(client: &mut Client, bank: usize) -> i64 {
    let reply = client.get(&format!("/banks/b{bank}/sum"));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["total"], 4 * EACH, "{reply:?}");
    let moves = reply.json()["moves"].as_i64().unwrap() - 4;
    assert_eq!(moves % 2, 0, "half a transfer: {reply:?}");
    moves / 2
}

#[test]
fn transfers_over_http_keep_what_must_hold() {
    let wanted = promise::rounds(1_500);
    let directory = tempfile::tempdir().unwrap();
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/promises/accounts.md");
    let server = Server::start_on(directory.path(), &[document.into()]);
    let token = server.token("alice", &[], &[]);
    let client = || server.client().with_token(&token);
    for (bank, number) in (0..BANKS).flat_map(|bank| (0..4).map(move |number| (bank, number))) {
        let body = json!({ "number": number, "balance": EACH });
        assert_eq!(client().post(&format!("/banks/b{bank}/accounts"), &body).status, 201);
    }
    let (done, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut progress = Progress::new("transfers over HTTP", wanted);
    let (moved, looks) = thread::scope(|scope| {
        let read = || {
            let (mut client, mut before, mut looks) = (client(), [0; BANKS], 0_usize);
            while !over.load(Ordering::SeqCst) {
                let bank = looks % BANKS;
                let now = added_up(&mut client, bank);
                assert!(now >= before[bank], "what was seen is gone");
                (before[bank], looks) = (now, looks + 1);
            }
            looks
        };
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let write = |seed: usize| {
            let (mut client, done) = (client(), &done);
            let seed = u64::try_from(seed).unwrap() + 1;
            scope.spawn(move || move_on(&mut client, seed, done, wanted))
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let mut shown = 0;
        while writers.iter().any(|writer| !writer.is_finished()) {
            thread::sleep(std::time::Duration::from_millis(50));
            let now = done.load(Ordering::Relaxed);
            progress.add(now - shown);
            shown = now;
        }
        let moved: Vec<_> = writers.into_iter().map(|one| one.join()).collect();
        over.store(true, Ordering::SeqCst);
        let moved: Vec<Moved> = moved.into_iter().map(|one| one.unwrap()).collect();
        (moved, readers.into_iter().map(|reader| reader.join().unwrap()).sum::<usize>())
    });
    for bank in 0..BANKS {
        let acknowledged: i64 = moved.iter().map(|(made, _)| made[bank]).sum();
        assert_eq!(added_up(&mut client(), bank), acknowledged, "each happened once");
    }
    println!(
        "{} transfers over HTTP, 0 busy below the deadline and {} at the deadline, added up {looks} times, in {:?}",
        done.load(Ordering::SeqCst),
        moved.iter().map(|(_, late)| late).sum::<usize>(),
        progress.spent()
    );
}
