use std::collections::BTreeMap;

use super::*;

/// A sample by its name and its labels in order.
type Sample = (String, Vec<(String, String)>);

/// Reads the text format, and panics on what Prometheus would refuse.
#[derive(Debug, Default)]
struct Reader {
    kinds: BTreeMap<String, String>,
    helps: BTreeMap<String, String>,
    samples: BTreeMap<Sample, f64>,
    /// The family of each sample, in order, each once for a run of samples.
    families: Vec<String>,
}

impl Reader {
    fn read(text: &str) -> Reader {
        assert!(text.ends_with('\n'), "the last line must end");
        let mut reader = Reader::default();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and a help");
                assert_eq!(reader.helps.insert(name.into(), help.into()), None, "two helps {name}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(reader.kinds.insert(name.into(), kind.into()), None, "two types {name}");
            } else {
                reader.sample(line);
            }
        }
        reader
    }

    fn sample(&mut self, line: &str) {
        let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).expect("a name");
        let (name, mut rest) = line.split_at(end);
        let mut labels = Vec::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.starts_with('}') {
                let (label, value, after) = read_label(rest);
                labels.push((label, value));
                rest = after.strip_prefix(',').unwrap_or(after);
            }
            rest = rest.strip_prefix('}').expect("the end of the labels");
        }
        let value = rest.strip_prefix(' ').expect("a space").parse().expect("a number");
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .filter_map(|suffix| name.strip_suffix(suffix))
            .find(|base| self.kinds.get(*base).is_some_and(|kind| kind == "histogram"))
            .unwrap_or(name);
        assert!(self.kinds.contains_key(family), "{name} has no type before it");
        assert!(self.helps.contains_key(family), "{name} has no help before it");
        assert!(name.starts_with("latchkey_"), "{name}");
        if self.families.last().is_none_or(|last| last != family) {
            assert!(!self.families.contains(&family.to_owned()), "{family} is in pieces");
            self.families.push(family.to_owned());
        }
        assert_eq!(self.samples.insert((name.to_owned(), labels), value), None, "twice: {line}");
    }

    /// The one sample of a name with these labels.
    fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let labels = labels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        self.samples.get(&(format!("latchkey_{name}"), labels)).copied()
    }
}

/// `name="value"`, unescaped, and what follows.
fn read_label(text: &str) -> (String, String, &str) {
    let (name, rest) = text.split_once("=\"").expect("a label");
    let mut value = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next().expect("a closing quote") {
            '"' => return (name.to_owned(), value, characters.as_str()),
            '\\' => value.push(match characters.next().expect("an escaped character") {
                'n' => '\n',
                c @ ('\\' | '"') => c,
                other => panic!("\\{other} is no escape"),
            }),
            c => value.push(c),
        }
    }
}

fn rendered(metrics: &Metrics) -> Reader {
    let mut out = String::new();
    metrics.render(Some(3), (0, 0), &mut out);
    Reader::read(&out)
}

#[test]
fn what_is_recorded_is_shown_under_its_contract() {
    let metrics = Metrics::new([("smartlocker", "QC-01"), ("locations", "LOC-01")]);
    metrics.record(0, 200, 400, 1, 0);
    metrics.record(0, 200, 1_000_000, 2, 0);
    metrics.record(0, 503, 30_000_000, 0, 0);
    metrics.record(1, 201, 1_234_567, 0, 7);
    metrics.record_unmatched(404, 12);
    let reader = rendered(&metrics);
    let first = [("system", "smartlocker"), ("contract", "QC-01")];
    let second = [("system", "locations"), ("contract", "LOC-01")];
    let none = [("system", ""), ("contract", "unmatched")];
    let with =
        |labels: &[(&'static str, &'static str)], name, value| [labels, &[(name, value)]].concat();
    for (labels, status, expected) in [
        (first, "200", Some(2.0)),
        (first, "503", Some(1.0)),
        (first, "201", None),
        (second, "201", Some(1.0)),
        (second, "200", None),
        (none, "404", Some(1.0)),
    ] {
        let found = reader.value("requests_total", &with(&labels, "status", status));
        assert_eq!(found, expected, "{labels:?} {status}");
    }
    for (labels, errors, sum, count) in
        [(first, 1.0, 31.0004, 3.0), (second, 0.0, 1.234567, 1.0), (none, 0.0, 0.000012, 1.0)]
    {
        assert_eq!(reader.value("request_errors_total", &labels), Some(errors));
        assert_eq!(reader.value("request_duration_seconds_sum", &labels), Some(sum));
        assert_eq!(reader.value("request_duration_seconds_count", &labels), Some(count));
    }
    for (bound, count) in
        [("0.0005", 1.0), ("0.5", 1.0), ("1", 2.0), ("2.5", 2.0), ("10", 2.0), ("+Inf", 3.0)]
    {
        let labels = with(&first, "le", bound);
        assert_eq!(
            reader.value("request_duration_seconds_bucket", &labels),
            Some(count),
            "{bound}"
        );
    }
    for (labels, kind, units) in [
        (first, "read", Some(1.5)),
        (first, "write", Some(0.0)),
        (second, "read", Some(0.0)),
        (second, "write", Some(7.0)),
        (none, "read", None),
    ] {
        let labels = with(&labels, "kind", kind);
        assert_eq!(reader.value("consumed_capacity_units_total", &labels), units, "{labels:?}");
    }
}

#[test]
fn a_number_that_is_no_contract_is_a_bug() {
    // It counted as a request that no contract matched.
    let metrics = Metrics::new([("s", "A")]);
    let before = bug::count();
    metrics.record(1, 200, 1, 0, 0);
    metrics.record(usize::MAX, 200, 1, 0, 0);
    let found = rendered(&metrics);
    let labels = [("system", ""), ("contract", "unmatched"), ("status", "200")];
    assert_eq!(found.value("requests_total", &labels), None);
    // Other tests of this process may meet bugs of their own meanwhile.
    assert!(bug::count() >= before + 2);
    assert!(found.value("server_bugs_total", &[]).unwrap() >= 2.0);
}

#[test]
fn each_bound_is_within_its_bucket() {
    for (at, (bound, shown)) in BOUNDS.iter().enumerate() {
        let seconds = shown.parse::<f64>().expect("a number") * 1e6;
        assert!((seconds - u32::try_from(*bound).map(f64::from).expect("small")).abs() < 1e-6);
        for (micros, bucket) in [(*bound, at), (bound + 1, at + 1)] {
            let metrics = Metrics::new([]);
            metrics.record_unmatched(200, micros);
            let full = metrics.unmatched.buckets.iter().position(|b| b.load(Ordering::Relaxed) > 0);
            assert_eq!(full, Some(bucket), "{micros}");
        }
    }
}

#[test]
fn only_statuses_that_occurred_are_shown_and_none_is_lost() {
    let metrics = Metrics::new([]);
    for status in [100, 200, 499, 500, 599, 600, 99, 0, u16::MAX] {
        metrics.record_unmatched(status, 0);
    }
    let reader = rendered(&metrics);
    let statuses = reader.samples.iter().filter(|((name, _), _)| name.ends_with("requests_total"));
    let statuses: Vec<_> = statuses
        .map(|((_, labels), count)| (labels.last().expect("a status").1.as_str(), *count))
        .collect();
    let expected =
        [("100", 1.0), ("200", 1.0), ("499", 1.0), ("500", 1.0), ("599", 1.0), ("other", 4.0)];
    assert_eq!(statuses, expected);
    let labels = [("system", ""), ("contract", "unmatched")];
    assert_eq!(reader.value("request_errors_total", &labels), Some(2.0));
    assert_eq!(reader.value("request_duration_seconds_count", &labels), Some(9.0));
}

#[test]
fn label_values_are_escaped() {
    let system = "a\"b\\c\nd{é},\\n";
    let metrics = Metrics::new([(system, "X")]);
    metrics.record(0, 200, 1, 0, 0);
    let labels = [("system", system), ("contract", "X"), ("status", "200")];
    assert_eq!(rendered(&metrics).value("requests_total", &labels), Some(1.0));
}

#[test]
fn buckets_only_grow_towards_the_last_which_is_the_count() {
    let metrics = Metrics::new([("s", "A")]);
    for micros in (0..40).map(|power| 1u64 << power) {
        metrics.record(0, 200, micros, 0, 0);
    }
    let mut out = String::new();
    metrics.render(Some(3), (0, 0), &mut out);
    let buckets = out.lines().filter(|line| line.contains("_bucket{system=\"s\""));
    let counts: Vec<u64> = buckets
        .map(|line| line.rsplit(' ').next().expect("a value").parse().expect("whole"))
        .collect();
    assert_eq!(counts.len(), BOUNDS.len() + 1);
    assert!(counts.is_sorted(), "{counts:?}");
    assert_eq!(counts.last(), Some(&40));
}

#[test]
fn a_request_is_in_flight_until_its_guard_goes() {
    let metrics = Metrics::new([]);
    let in_flight = || rendered(&metrics).value("requests_in_flight", &[]);
    assert_eq!(in_flight(), Some(0.0));
    let (one, two) = (metrics.start(), metrics.start());
    assert_eq!(in_flight(), Some(2.0));
    drop(one);
    assert_eq!(in_flight(), Some(1.0));
    drop(two);
    assert_eq!(in_flight(), Some(0.0));
    assert!(rendered(&metrics).value("uptime_seconds", &[]).is_some_and(|seconds| seconds >= 0.0));
}

#[test]
fn nothing_is_lost_between_threads() {
    const THREADS: u64 = 8;
    const EACH: u64 = 2_000;
    let metrics = Metrics::new([("s", "A"), ("s", "B")]);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let metrics = &metrics;
            scope.spawn(move || {
                for at in 0..EACH {
                    let _guard = metrics.start();
                    let contract = usize::try_from((thread + at) % 2).expect("small");
                    let status = if at % 4 == 0 { 500 } else { 200 };
                    metrics.record(contract, status, at, 1, 3);
                }
            });
        }
        // A scrape in between is well-formed.
        for _ in 0..20 {
            rendered(&metrics);
        }
    });
    let reader = rendered(&metrics);
    let sum = |name: &str, label: &str| {
        let wanted = format!("latchkey_{name}");
        let of = reader.samples.iter().filter(|((found, labels), _)| {
            *found == wanted && (label.is_empty() || labels.iter().any(|(_, value)| value == label))
        });
        of.map(|(_, value)| value).sum::<f64>()
    };
    let all = 16_000.0;
    assert_eq!(sum("requests_total", ""), all);
    assert_eq!(sum("requests_total", "500"), all / 4.0);
    assert_eq!(sum("request_errors_total", ""), all / 4.0);
    assert_eq!(sum("request_duration_seconds_count", ""), all);
    assert_eq!(sum("request_duration_seconds_bucket", "+Inf"), all);
    let micros = THREADS * (EACH * (EACH - 1) / 2);
    let seconds = f64::from(u32::try_from(micros).unwrap_or(u32::MAX)) / 1e6;
    assert!((sum("request_duration_seconds_sum", "") - seconds).abs() < 1e-3, "{seconds}");
    assert_eq!(sum("consumed_capacity_units_total", "read"), all / 2.0);
    assert_eq!(sum("consumed_capacity_units_total", "write"), all * 3.0);
    assert_eq!(reader.value("requests_in_flight", &[]), Some(0.0));
}
