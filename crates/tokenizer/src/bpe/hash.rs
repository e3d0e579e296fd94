//! Hash functions. Hashes only locate candidates, which are always compared.

/// Returns the XOR of both halves of the product.
#[inline]
pub(super) fn folded_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hashes bytes of any length.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    let mut state = 0x2545_F491_4F6C_DD1D ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        state = folded_product(state ^ word.try_into().map_or(0, u64::from_le_bytes), 0x9E37_79B9_7F4A_7C15);
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(words.remainder()) {
        *to = *from;
    }
    folded_product(state ^ u64::from_le_bytes(last), 0xD6E8_FEB8_6659_FD93)
}
