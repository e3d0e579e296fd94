//! Writes a zip archive with one member as a stream: the sizes follow the member, always as 64-bit numbers.

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Write};

/// The zip version that 64-bit sizes require.
const VERSION: u16 = 45;
/// Flags: checksum and sizes follow the member, and its name is UTF-8.
const FLAGS: u16 = 0x0808;
/// Number of the deflate method.
const METHOD: u16 = 8;
/// 1 January 1980, the earliest date of the format. A fixed date makes the output reproducible.
const DATE: u16 = 0x21;
/// Placeholder for a value that is stored in the extra field, or in the 64-bit record.
const LARGE: u32 = u32::MAX;
/// Id of the extra field with 64-bit sizes.
const EXTRA: u16 = 1;

/// Writer of an archive with one member.
pub(super) struct ZipWriter<W: Write> {
    encoder: DeflateEncoder<W>,
    crc: Crc,
    /// The name of the member.
    name: String,
    /// Bytes before the member's content.
    header: u64,
}

impl<W: Write> ZipWriter<W> {
    /// Begins an archive. The name of the member is the name of the archive without its last suffix.
    pub(super) fn new(mut out: W, archive: &str) -> io::Result<Self> {
        let own = archive.rsplit_once('/').map_or(archive, |(_, own)| own);
        let name = own.rsplit_once('.').map_or(own, |(name, _)| name).to_owned();
        let mut header = Vec::new();
        header.extend(b"PK\x03\x04");
        header.extend(fields(&[VERSION, FLAGS, METHOD, 0, DATE]));
        header.extend([0; 4]);
        header.extend([LARGE.to_le_bytes(), LARGE.to_le_bytes()].concat());
        header.extend(fields(&[length_of(&name)?, 20]));
        header.extend(name.as_bytes());
        header.extend(extra_field(0, 0));
        out.write_all(&header)?;
        let encoder = DeflateEncoder::new(out, Compression::default());
        Ok(Self { encoder, crc: Crc::new(), name, header: header.len() as u64 })
    }

    /// Adds bytes to the member.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.encoder.write_all(bytes)
    }

    /// Returns the underlying writer.
    pub(super) fn get_ref(&self) -> &W {
        self.encoder.get_ref()
    }

    /// Writes the end of the archive, and returns the underlying writer.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.encoder.try_finish()?;
        let (packed, size, sum) = (self.encoder.total_out(), self.encoder.total_in(), self.crc.sum());
        let mut out = self.encoder.finish()?;
        let descriptor = [&b"PK\x07\x08"[..], &sum.to_le_bytes(), &packed.to_le_bytes(), &size.to_le_bytes()].concat();
        let directory_start = self.header + packed + descriptor.len() as u64;

        let mut directory = b"PK\x01\x02".to_vec();
        directory.extend(fields(&[VERSION, VERSION, FLAGS, METHOD, 0, DATE]));
        directory.extend([sum.to_le_bytes(), LARGE.to_le_bytes(), LARGE.to_le_bytes()].concat());
        directory.extend(fields(&[length_of(&self.name)?, 20, 0, 0, 0]));
        directory.extend([0; 8]);
        directory.extend(self.name.as_bytes());
        directory.extend(extra_field(size, packed));
        let directory_size = directory.len() as u64;

        let mut end = b"PK\x06\x06".to_vec();
        end.extend(44u64.to_le_bytes());
        end.extend(fields(&[VERSION, VERSION, 0, 0, 0, 0]));
        end.extend([1u64, 1, directory_size, directory_start].map(u64::to_le_bytes).concat());
        end.extend(b"PK\x06\x07\0\0\0\0");
        end.extend((directory_start + directory_size).to_le_bytes());
        end.extend([1, 0, 0, 0]);
        end.extend(b"PK\x05\x06");
        end.extend(fields(&[0, 0, 1, 1]));
        end.extend((directory_size as u32).to_le_bytes());
        end.extend(u32::try_from(directory_start).unwrap_or(LARGE).to_le_bytes());
        end.extend([0; 2]);
        out.write_all(&[descriptor, directory, end].concat())?;
        Ok(out)
    }
}

fn fields(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn extra_field(size: u64, packed: u64) -> Vec<u8> {
    [fields(&[EXTRA, 16]), size.to_le_bytes().to_vec(), packed.to_le_bytes().to_vec()].concat()
}

fn length_of(name: &str) -> io::Result<u16> {
    u16::try_from(name.len()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "its name is too long"))
}
