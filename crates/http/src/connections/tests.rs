use super::*;

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn waits(connections: &Arc<Connections>, phase: u64, since: u64) -> Place {
    let place = connections.try_place(PEER).unwrap();
    place.life.state.store(phase | since, Ordering::Relaxed);
    place
}

fn is_gone(place: &Place) -> bool {
    place.life.begin(false).is_err()
}

// Newcomers took the places of connections whose tasks had not run yet, until there was no file handle left.
#[test]
fn a_newcomer_waits_while_too_many_are_closing() {
    let connections = Connections::new(1, 1);
    let mut places: Vec<Place> =
        (0..=CLOSING_MAX).map(|_| connections.try_place(PEER).unwrap()).collect();
    assert_eq!(connections.try_place(PEER).map(drop), Err(NoPlace::Now));
    assert!(is_gone(&places.remove(0)));
    places.push(connections.try_place(PEER).unwrap());
    assert_eq!(connections.try_place(PEER).map(drop), Err(NoPlace::Now));
    // The last one has its place still.
    drop(places);
    let all = connections.lock();
    assert_eq!((all.closing, all.lives.len()), (0, 0));
}

#[test]
fn the_oldest_idle_goes_first_then_the_oldest_that_waits_for_its_peer() {
    let connections = Connections::new(4, 4);
    let writing = waits(&connections, WRITING, 1);
    let receiving = waits(&connections, RECEIVING, 2);
    let (young, old) = (waits(&connections, IDLE, 9), waits(&connections, IDLE, 8));
    for gone in [&old, &young, &writing, &receiving] {
        let newcomer = connections.try_place(PEER).unwrap();
        assert!(!newcomer.life.reserve);
        // It works, so the next has to take another's place.
        newcomer.life.begin(false).unwrap();
        assert!(is_gone(gone));
        std::mem::forget(newcomer);
    }
    // All four work now: what comes is of the reserve, and cuts nobody.
    // One of the reserve that idles gives its place to the next, which is of the reserve as well.
    let idle = connections.try_place(PEER).unwrap();
    let mut reserve = Vec::new();
    for _ in 0..RESERVE {
        let place = connections.try_place(PEER).unwrap();
        assert!(place.life.reserve);
        place.life.begin(false).unwrap();
        reserve.push(place);
    }
    assert!(is_gone(&idle));
    assert_eq!(connections.try_place(OTHER).unwrap_err(), NoPlace::Now);
    drop(reserve);
    assert!(connections.try_place(PEER).is_ok());
}

#[test]
fn a_request_begins_or_its_connection_is_cut_but_never_both() {
    let connections = Connections::new(1, 1);
    let place = connections.try_place(PEER).unwrap();
    place.life.begin(true).unwrap();
    assert!(connections.cut_one(), "its body has not come");
    assert!(place.life.work().is_err(), "nor will it be worked on");
    let place = connections.try_place(PEER).unwrap();
    place.life.begin(false).unwrap();
    assert!(!connections.cut_one());
    let phase = || place.life.state.load(Ordering::Relaxed);
    place.life.blocked().unwrap();
    place.life.flushed().unwrap();
    assert_eq!(phase(), WORKING, "an earlier answer was written meanwhile");
    place.life.answered().unwrap();
    assert!(!connections.cut_one(), "its answer is on the way");
    place.life.blocked().unwrap();
    assert!((WRITING..RECEIVING).contains(&phase()), "its peer does not read");
    place.life.flushed().unwrap();
    assert!(phase() < WRITING, "its peer has read");
    assert!(connections.cut_one());
}

#[test]
fn an_address_has_its_share_and_no_more() {
    // One address could hold all connections, and each newcomer closed one of someone else.
    let connections = Connections::new(6, 3);
    let oldest = connections.try_place(OTHER).unwrap();
    let mut own: Vec<Place> = (0..3).map(|_| connections.try_place(PEER).unwrap()).collect();
    for _ in 0..10 {
        own.push(connections.try_place(PEER).unwrap());
        assert!(is_gone(&own.remove(0)), "its own goes");
    }
    assert!(!is_gone(&oldest), "that of another address stays, however old");
    // All of its share work: what comes is of the reserve, and does not wait where the reserve is full.
    own.iter().for_each(|place| place.life.begin(false).unwrap());
    for _ in 0..RESERVE {
        let place = connections.try_place(PEER).unwrap();
        assert!(place.life.reserve);
        place.life.begin(false).unwrap();
        own.push(place);
    }
    assert_eq!(connections.try_place(PEER).unwrap_err(), NoPlace::ForAddress);
    // The others have the rest.
    for _ in 0..2 {
        let place = connections.try_place(OTHER).unwrap();
        assert!(!place.life.reserve);
        own.push(place);
    }
    // What has ended no longer counts.
    drop(own);
    let all = connections.lock();
    assert_eq!((all.lives.len(), all.reserve, all.held.len()), (1, 0, 1));
    drop(all);
    assert!(!connections.try_place(PEER).unwrap().life.reserve);
}

#[test]
fn a_network_of_ipv6_and_a_mapped_address_count_as_one() {
    let of = |text: &str| holder(text.parse().unwrap());
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:192.0.2.1"), PEER);
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}
