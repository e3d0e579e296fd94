//! Packets of Opus (RFC 6716 §3).

/// The longest packet, in samples at 48 kHz: 120 ms.
const MAX_PACKET_SAMPLES: u32 = 5760;

/// Returns the samples per channel at 48 kHz of a packet; `None` if it is not an Opus packet.
pub fn opus_packet_samples(packet: &[u8]) -> Option<u32> {
    let (&toc, rest) = packet.split_first()?;
    let frames = match toc & 3 {
        0 => 1,
        1 | 2 => 2,
        _ => u32::from(rest.first()? & 0x3f),
    };
    let samples = frames * frame_samples(toc);
    (frames > 0 && samples <= MAX_PACKET_SAMPLES).then_some(samples)
}

/// Returns the number of samples of one frame, which the configuration in the first five bits determines.
fn frame_samples(toc: u8) -> u32 {
    let config = toc >> 3;
    match config {
        0..=11 => [480, 960, 1920, 2880][usize::from(config & 3)],
        12..=15 => [480, 960][usize::from(config & 1)],
        _ => [120, 240, 480, 960][usize::from(config & 3)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opus_packet_samples_are_read_from_the_first_bytes() {
        let cases: [(&[u8], Option<u32>); 10] = [
            (&[0xfc], Some(960)),
            (&[0xfd, 0], Some(1920)),
            (&[0xff, 3], Some(2880)),
            (&[0xff, 0x86], Some(5760)),
            (&[0xff, 7], None),
            (&[0xff, 0], None),
            (&[0xff], None),
            (&[], None),
            (&[0x18], Some(2880)),
            (&[0x60], Some(480)),
        ];
        for (packet, expected) in cases {
            assert_eq!(opus_packet_samples(packet), expected, "{packet:x?}");
        }
    }
}
