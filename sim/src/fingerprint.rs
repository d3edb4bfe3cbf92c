//! A hash of a canonical form, in one word: 64 bits let two of ten million states collide once in four hundred thousand
//! runs.

/// Odd numbers without a pattern.
const MULTIPLIERS: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];

/// The hash of `bytes`; different seeds give independent hashes.
#[must_use]
pub fn fingerprint(bytes: &[u8], seed: u64) -> u64 {
    let [first, second, third] = MULTIPLIERS;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let mut state = fold(seed ^ first, length ^ second);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        state = fold(state ^ u64::from_le_bytes(word), second);
    }
    fold(state ^ third, first)
}

/// Both halves of the product.
fn fold(left: u64, right: u64) -> u64 {
    let [low, high] = halves(u128::from(left) * u128::from(right));
    low ^ high.rotate_left(17) ^ left.rotate_left(29)
}

fn halves(product: u128) -> [u64; 2] {
    let mut low = [0; 8];
    let mut high = [0; 8];
    low.iter_mut().chain(&mut high).zip(product.to_le_bytes()).for_each(|(to, from)| *to = from);
    [u64::from_le_bytes(low), u64::from_le_bytes(high)]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::fingerprint;

    #[test]
    fn texts_that_differ_in_a_bit_have_different_fingerprints() {
        let mut seen = BTreeSet::new();
        let mut text = [0u8; 40];
        for place in 0..text.len() {
            for bit in 0..8 {
                text[place] ^= 1 << bit;
                assert!(seen.insert(fingerprint(&text, 0)));
                assert!(seen.insert(fingerprint(&text, 1)));
                text[place] ^= 1 << bit;
            }
        }
    }

    #[test]
    fn a_trailing_zero_counts() {
        assert_ne!(fingerprint(&[1], 0), fingerprint(&[1, 0], 0));
    }
}
