//! Collects the segments of a JPEG image that describe its scans, and checks whether libjpeg would decode them.

/// The coding process of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    progressive: bool,
    lossless: bool,
    arithmetic: bool,
}

impl Frame {
    /// Returns the process for the marker of the frame header.
    pub(super) fn of(marker: u8) -> Self {
        Self { progressive: matches!(marker, 0xc2 | 0xca), lossless: marker == 0xc3, arithmetic: marker >= 0xc9 }
    }
}

/// One component of an image: luminance or a chrominance.
struct Component {
    id: u8,
    /// Blocks per unit: horizontally, vertically and in total, at most 16.
    across: u32,
    down: u32,
    blocks: u32,
    quantisation: u8,
}

/// One Huffman table: the number of codes of each length, their values, whether the lengths form a prefix code, and whether the values are
/// valid for DC coefficients.
#[derive(Clone)]
pub(super) struct Huffman {
    pub(super) counts: [u8; 16],
    pub(super) values: Vec<u8>,
    is_code: bool,
    small_values: bool,
}

/// The state collected from the segments so far.
#[derive(Default)]
pub(super) struct ScanState {
    frame: Option<(Frame, Vec<Component>)>,
    quantisation: [bool; 4],
    /// Tables for DC (`first`) and AC (`other`) coefficients.
    first: [Option<Huffman>; 4],
    other: [Option<Huffman>; 4],
    /// Whether the header of a scan was read.
    pub(super) begun: bool,
    /// Width and height in pixels.
    size: (u32, u32),
    /// Units between two restart markers; 0 without such markers.
    pub(super) restart: u32,
    /// The units of the current scan, if it is the only one of a sequential image.
    pub(super) only: Option<Units>,
}

/// The units of a scan.
pub(super) struct Units {
    /// The number of units.
    pub(super) count: u64,
    /// The tables of DC and AC coefficients for each block of a unit; `None` for lossless or arithmetic coding, and if a default table is
    /// omitted.
    pub(super) blocks: Option<Vec<(Huffman, Huffman)>>,
}

type SegmentResult = Result<(), &'static str>;

impl ScanState {
    /// Reads a segment of Huffman tables.
    pub(super) fn huffman(&mut self, mut s: &[u8]) -> SegmentResult {
        const WRONG_CODE_TABLE: &str = "a wrong table of codes";
        while s.len() > 16 {
            let (&index, rest) = s.split_first().ok_or(WRONG_CODE_TABLE)?;
            let (counts, rest) = rest.split_at_checked(16).ok_or(WRONG_CODE_TABLE)?;
            let count: usize = counts.iter().map(|count| usize::from(*count)).sum();
            if count > 256 {
                return Err(WRONG_CODE_TABLE);
            }
            let (values, rest) = rest.split_at_checked(count).ok_or(WRONG_CODE_TABLE)?;
            let tables = if index & 0x10 == 0 { &mut self.first } else { &mut self.other };
            let table = tables.get_mut(usize::from(index & !0x10)).ok_or(WRONG_CODE_TABLE)?;
            let small_values = values.iter().all(|value| *value <= 15);
            let is_code = is_code(counts);
            let counts = counts.try_into().map_err(|_| WRONG_CODE_TABLE)?;
            *table = Some(Huffman { counts, values: values.to_vec(), is_code, small_values });
            s = rest;
        }
        if s.is_empty() {
            Ok(())
        } else {
            Err(WRONG_CODE_TABLE)
        }
    }

    /// Checks the beginning of a segment that is cut by the end of the file: `s` is the available part of its `len` bytes, which include
    /// the length field.
    pub(super) fn begin_of(&self, marker: u8, s: &[u8], len: usize) -> SegmentResult {
        match (marker, s) {
            (0xc0..=0xc3 | 0xc9 | 0xca, [_, _, _, _, _, _, ..]) if self.frame.is_some() => Err("a second frame header"),
            (0xc4, s) => tables_begin(s, len - 2),
            (0xda, _) if self.frame.is_none() => Err("a scan before its frame header"),
            (0xda, [count, ..]) if !(1..=4).contains(count) || len != 2 * usize::from(*count) + 6 => {
                Err("a scan header of a wrong length")
            }
            (0xdb, [first, ..]) if first & 15 > 3 => Err("a wrong quantisation table"),
            (0xdd, _) if len != 4 => Err("a restart interval of a wrong length"),
            _ => Ok(()),
        }
    }

    /// Reads a segment of quantisation tables.
    pub(super) fn quantisation(&mut self, mut s: &[u8]) -> SegmentResult {
        const WRONG_QUANTISATION_TABLE: &str = "a wrong quantisation table";
        while let Some(first) = s.first() {
            *self.quantisation.get_mut(usize::from(first & 15)).ok_or(WRONG_QUANTISATION_TABLE)? = true;
            s = s.get(if first >> 4 == 0 { 65 } else { 129 }..).ok_or(WRONG_QUANTISATION_TABLE)?;
        }
        Ok(())
    }

    /// Reads the frame header.
    pub(super) fn frame(&mut self, s: &[u8], frame: Frame) -> SegmentResult {
        if self.frame.is_some() {
            return Err("a second frame header");
        }
        let [_, h1, h0, w1, w0, count, components @ ..] = s else { return Err("a frame header that is too short") };
        if components.len() != 3 * usize::from(*count) {
            return Err("a frame header of a wrong length");
        }
        let most = u16::from_be_bytes([*h1, *h0]).max(u16::from_be_bytes([*w1, *w0]));
        if most > 65_500 {
            return Err("more pixels than readers take");
        }
        let mut list = Vec::new();
        for component in components.chunks_exact(3) {
            let &[id, sampling, quantisation] = component else { continue };
            let (across, down) = (u32::from(sampling >> 4), u32::from(sampling & 15));
            if !(1..=4).contains(&across) || !(1..=4).contains(&down) {
                return Err("a wrong sampling factor");
            }
            list.push(Component { id, across, down, blocks: across * down, quantisation });
        }
        let number = |high: &u8, low: &u8| u32::from(u16::from_be_bytes([*high, *low]));
        self.size = (number(w1, w0), number(h1, h0));
        self.frame = Some((frame, list));
        Ok(())
    }

    /// Reads the header of a scan.
    pub(super) fn scan(&mut self, s: &[u8]) -> SegmentResult {
        let Some((frame, components)) = &self.frame else { return Err("a scan before its frame header") };
        let Some((&count, rest)) = s.split_first() else { return Err("a scan header that is too short") };
        let count = usize::from(count);
        if !(1..=4).contains(&count) || rest.len() != 2 * count + 3 {
            return Err("a scan header of a wrong length");
        }
        let (selected, rest) = rest.split_at(2 * count);
        let &[from, to, steps] = rest else { return Err("a scan header of a wrong length") };
        let mut blocks = 0;
        for pair in selected.chunks_exact(2) {
            let &[id, tables] = pair else { continue };
            let component =
                components.iter().find(|component| component.id == id).ok_or("a scan of an unknown component")?;
            blocks += component.blocks;
            if !frame.lossless && self.quantisation.get(usize::from(component.quantisation)) != Some(&true) {
                return Err("no quantisation table for a component");
            }
            if !frame.arithmetic {
                self.tables(*frame, tables, (from, steps))?;
            }
        }
        if count > 1 && blocks > 10 {
            return Err("too many blocks in one unit of a scan");
        }
        let first_only = from == 0;
        let band = if first_only { to == 0 } else { from <= to && to < 64 && count == 1 };
        let (high, low) = (steps >> 4, steps & 15);
        if frame.progressive && (!band || (high != 0 && high != low + 1) || low > 13) {
            return Err("a scan of wrong progression");
        }
        self.only = self.units(selected, count);
        self.begun = true;
        Ok(())
    }

    /// Returns the units of the first scan, if it contains all components.
    fn units(&self, selected: &[u8], count: usize) -> Option<Units> {
        let (frame, components) = self.frame.as_ref()?;
        if self.begun || frame.progressive || count != components.len() {
            return None;
        }
        let most = |of: fn(&Component) -> u32| components.iter().map(of).max().unwrap_or(1);
        let (across, down) = if count > 1 { (most(|c| c.across), most(|c| c.down)) } else { (1, 1) };
        let (width, height) = self.size;
        let units = u64::from(width.div_ceil(8 * across)) * u64::from(height.div_ceil(8 * down));
        if frame.lossless || frame.arithmetic {
            return Some(Units { count: units, blocks: None });
        }
        let mut blocks = Vec::new();
        for pair in selected.chunks_exact(2) {
            let &[id, tables] = pair else { continue };
            let component = components.iter().find(|component| component.id == id)?;
            let table = |list: &[Option<Huffman>; 4], index: u8| list.get(usize::from(index)).cloned().flatten();
            let Some(both) = table(&self.first, tables >> 4).zip(table(&self.other, tables & 15)) else {
                return Some(Units { count: units, blocks: None });
            };
            let times = if count > 1 { component.blocks } else { 1 };
            blocks.extend((0..times).map(|_| both.clone()));
        }
        Some(Units { count: units, blocks: Some(blocks) })
    }

    /// Checks that the Huffman tables required by one component of a scan are present.
    fn tables(&self, frame: Frame, tables: u8, scan: (u8, u8)) -> SegmentResult {
        const NONE: &str = "no table of codes for a component, or a wrong one";
        let (from, steps) = scan;
        let fits = |table: &Option<Huffman>, first: bool| {
            table.as_ref().is_some_and(|table| table.is_code && (table.small_values || !first))
        };
        // Images of cameras (Motion JPEG) omit the two default tables.
        let usual = !frame.progressive && !frame.lossless;
        let has = |list: &[Option<Huffman>; 4], index: u8, first: bool| match list.get(usize::from(index)) {
            Some(None) => usual && index < 2,
            Some(table) => fits(table, first && !frame.lossless),
            None => false,
        };
        let needs_first = if frame.progressive { from == 0 && steps >> 4 == 0 } else { true };
        let needs_other = if frame.progressive { from != 0 } else { !frame.lossless };
        if (needs_first && !has(&self.first, tables >> 4, true))
            || (needs_other && !has(&self.other, tables & 15, false))
        {
            return Err(NONE);
        }
        Ok(())
    }
}

/// Whether codes of these lengths form a prefix code.
fn is_code(counts: &[u8]) -> bool {
    let mut free = 1_u32;
    counts.iter().all(|count| {
        free *= 2;
        let fits = u32::from(*count) <= free;
        free = free.saturating_sub((*count).into());
        fits
    })
}

/// Like [`ScanState::huffman`], for a segment of `len` bytes whose end is missing.
fn tables_begin(mut s: &[u8], mut len: usize) -> SegmentResult {
    while len > 16 {
        let Some((&index, rest)) = s.split_first() else { return Ok(()) };
        let Some((counts, rest)) = rest.split_at_checked(16) else { return Ok(()) };
        let count: usize = counts.iter().map(|count| usize::from(*count)).sum();
        len -= 17;
        if count > 256 || count > len {
            return Err("a wrong table of codes");
        }
        let Some(rest) = rest.get(count..) else { return Ok(()) };
        if index & !0x10 > 3 {
            return Err("a wrong table of codes");
        }
        len -= count;
        s = rest;
    }
    Ok(())
}
