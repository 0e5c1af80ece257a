//! Origins as browsers send them (the URL standard of the WHATWG). An origin that is spelled otherwise would never be
//! met, so it is refused with the spelling that browsers have.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest name of a host, and the longest label in it, in bytes (RFC 1035).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

const WHOLE: &str =
    "is not an origin; write a scheme, a host and a port, such as `https://app.example:8443`";
const NO_HOST: &str =
    "has a host that no page comes from; write the name of a host, such as `app.example`";
const NO_ADDRESS: &str =
    "has a host that ends as a number and is no address; write four numbers, such as `127.0.0.1`";

/// What is wrong with an origin.
pub(super) fn wrong(origin: &str) -> Option<String> {
    match as_sent(origin) {
        Ok(sent) if sent == origin => None,
        Ok(sent) => Some(format!("is never sent so; write `{sent}`, as browsers do")),
        Err(reason) => Some(reason.to_owned()),
    }
}

/// An origin as browsers send it, or why none sends it.
fn as_sent(origin: &str) -> Result<String, &'static str> {
    if origin == "null" {
        return Err(
            "is what pages without an origin send, whoever made them; serve the page from an origin",
        );
    }
    let (scheme, rest) = origin.split_once("://").ok_or(WHOLE)?;
    if rest.contains('*') {
        return Err("is no exact origin; name each, or write `*` alone");
    }
    if rest.trim_end_matches('/').contains(['/', '?', '#']) {
        return Err("has more than an origin; leave out what follows the host and the port");
    }
    let scheme = scheme.to_ascii_lowercase();
    let scheme_fits = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !scheme_fits {
        return Err(WHOLE);
    }
    let rest = rest.trim_end_matches('/');
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !rest.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let host = host_as_sent(host)?;
    Ok(match port.map(|port| port_as_sent(&scheme, port)).transpose()?.flatten() {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

/// A port; none, if the scheme has it anyway.
fn port_as_sent(scheme: &str, port: &str) -> Result<Option<u16>, &'static str> {
    if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(WHOLE);
    }
    match port.parse::<u16>() {
        Err(_) => Err("has a port above 65535; write the one that the pages are served from"),
        Ok(0) => Err("has the port 0, which no page comes from; write the one it is served from"),
        Ok(80) if scheme == "http" => Ok(None),
        Ok(443) if scheme == "https" => Ok(None),
        Ok(port) => Ok(Some(port)),
    }
}

fn host_as_sent(host: &str) -> Result<String, &'static str> {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']').ok_or(WHOLE)?;
        let address: Ipv6Addr = address.parse().map_err(|_| WHOLE)?;
        return Ok(format!("[{}]", shortest(address)));
    }
    let has_letters = |host: &str| host.chars().any(|one| !one.is_ascii() && one.is_alphanumeric());
    if has_letters(host) && host.chars().all(|one| !one.is_ascii() || fits(one)) {
        return Err(
            "has letters beyond ASCII, which browsers send as Punycode; write it as `xn--…`: `self.origin` in the console of the page shows it",
        );
    }
    if host.is_empty() || !host.chars().all(fits) {
        return Err(WHOLE);
    }
    let host = host.to_ascii_lowercase();
    // A full name may end with a dot, and browsers then send it.
    let name = host.strip_suffix('.').unwrap_or(&host);
    let labels: Vec<&str> = name.split('.').collect();
    if name.len() > NAME_BYTES_MAX
        || labels.iter().any(|label| label.is_empty() || label.len() > LABEL_BYTES_MAX)
    {
        return Err(NO_HOST);
    }
    match labels.last() {
        Some(last) if is_numeric(last) => {
            address(&labels).map(|address| address.to_string()).ok_or(NO_ADDRESS)
        }
        _ => Ok(host),
    }
}

fn fits(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_')
}

/// Whether a host with this label at its end is an address of IPv4.
fn is_numeric(label: &str) -> bool {
    label.bytes().all(|byte| byte.is_ascii_digit()) || number(label).is_some()
}

/// A part of an address: decimal, octal after a `0`, or hexadecimal after `0x`.
fn number(part: &str) -> Option<u64> {
    let (digits, radix) = match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(""), _) => return Some(0),
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        (None, _) => (part, 10),
    };
    match digits.starts_with('+') {
        true => None,
        false => u64::from_str_radix(digits, radix).ok(),
    }
}

/// The address of up to four parts, the last of which fills what the others leave.
fn address(parts: &[&str]) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = parts.iter().map(|part| number(part)).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let places = 4_u32.checked_sub(u32::try_from(first.len()).ok()?)?;
    if places == 0 || first.iter().any(|part| *part > 255) || *last >= 1 << (8 * places) {
        return None;
    }
    let whole = (0_u32..).zip(first).map(|(at, part)| part << (8 * (3 - at))).sum::<u64>() + last;
    u32::try_from(whole).ok().map(Ipv4Addr::from)
}

/// An address of IPv6 as browsers write it: without the dots that Rust writes for one of IPv4 within it.
fn shortest(address: Ipv6Addr) -> String {
    match (address.to_ipv4_mapped(), address.segments()) {
        (Some(_), [.., high, low]) => format!("::ffff:{high:x}:{low:x}"),
        (None, _) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_that_browsers_send_is_taken_as_it_is() {
        for origin in [
            "https://app.example",
            "https://app.example.",
            "http://localhost:3000",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
            "http://[::1]",
            "http://[2001:db8::1:0:0:1]",
            "http://[::ffff:102:304]",
            "https://xn--bcher-kva.example",
            "https://my_app-1.example",
            "https://0x.example",
            "http://1.2.3.4.example",
            "http://app.example:443",
            "https://app.example:65535",
            "capacitor://localhost",
        ] {
            assert_eq!(wrong(origin), None, "{origin}");
        }
    }

    #[test]
    fn another_spelling_is_refused_with_that_of_browsers() {
        for (origin, sent) in [
            ("https://App.Example", "https://app.example"),
            ("HTTPS://app.example", "https://app.example"),
            ("https://app.example/", "https://app.example"),
            ("https://app.example:443", "https://app.example"),
            ("https://app.example:0443", "https://app.example"),
            ("http://app.example:80/", "http://app.example"),
            ("https://app.example:08443", "https://app.example:8443"),
            ("http://127.1", "http://127.0.0.1"),
            ("http://127.1:3000", "http://127.0.0.1:3000"),
            ("http://2130706433", "http://127.0.0.1"),
            ("http://0x7f.1", "http://127.0.0.1"),
            ("http://0177.0.0.1", "http://127.0.0.1"),
            ("http://127.0.0.1.", "http://127.0.0.1"),
            ("http://0x", "http://0.0.0.0"),
            ("http://[0:0::1]", "http://[::1]"),
            ("http://[2001:DB8::0001]:80", "http://[2001:db8::1]"),
            ("http://[::ffff:1.2.3.4]", "http://[::ffff:102:304]"),
        ] {
            let told = wrong(origin).unwrap_or_default();
            assert!(told.contains(&format!("write `{sent}`")), "{origin}: {told}");
            assert_eq!(wrong(sent), None, "{sent}");
        }
    }

    #[test]
    fn what_no_browser_sends_is_refused_with_the_reason() {
        for (origin, reason) in [
            ("null", "without an origin"),
            ("", "not an origin"),
            ("app.example", "not an origin"),
            ("https://", "not an origin"),
            ("https:///", "not an origin"),
            ("://app.example", "not an origin"),
            ("1https://app.example", "not an origin"),
            ("https://app.example:x", "not an origin"),
            ("https://app.example:+443", "not an origin"),
            ("https://app.example:", "not an origin"),
            ("https://app.example:70000", "above 65535"),
            ("https://app.example:0", "port 0"),
            ("https://me@app.example", "not an origin"),
            ("https://a.example b", "not an origin"),
            ("https://a%2eexample", "not an origin"),
            ("http://[::1", "not an origin"),
            ("http://[app]", "not an origin"),
            ("http://[fe80::1%25eth0]", "not an origin"),
            ("https://app.example/a", "more than an origin"),
            ("https://app.example?a", "more than an origin"),
            ("https://*.example", "no exact origin"),
            ("https://bücher.example", "Punycode"),
            ("https://.", "no page comes from"),
            ("https://a..b", "no page comes from"),
            ("https://.a", "no page comes from"),
            ("https://a..", "no page comes from"),
            (&format!("https://{}.example", "a".repeat(64)), "no page comes from"),
            (&format!("https://{}example", "a.".repeat(130)), "no page comes from"),
            ("http://256.1.1.1", "is no address"),
            ("http://1.2.3.4.5", "is no address"),
            ("http://app.example.1", "is no address"),
            ("http://4294967296", "is no address"),
            ("http://09.1.1.1", "is no address"),
            ("http://1.0xg.1", "is no address"),
        ] {
            let told = wrong(origin).unwrap_or_default();
            assert!(told.contains(reason), "{origin}: {told}");
        }
    }
}
