//! Bytes from base64.

/// The bytes of a text in the standard alphabet, padded; nothing if it is not what writing them would give.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_bytes().as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(groups.len().saturating_mul(3));
    for (at, group) in groups.iter().enumerate() {
        let last = at + 1 == groups.len();
        match group {
            [a, b, b'=', b'='] if last => bytes.push(three(*a, *b, b'A', b'A', 2)?[0]),
            [a, b, c, b'='] if last => {
                let [first, second, _] = three(*a, *b, *c, b'A', 1)?;
                bytes.extend([first, second]);
            }
            [a, b, c, d] => bytes.extend(three(*a, *b, *c, *d, 0)?),
        }
    }
    Some(bytes)
}

/// The bytes of four digits, of which the last so many must be zero.
fn three(a: u8, b: u8, c: u8, d: u8, zeros: usize) -> Option<[u8; 3]> {
    let [a, b, c, d] = [six(a)?, six(b)?, six(c)?, six(d)?];
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    let unused = bytes.iter().rev().take(zeros);
    unused.copied().all(|byte| byte == 0).then_some(bytes)
}

/// The six bits of a digit.
fn six(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}
