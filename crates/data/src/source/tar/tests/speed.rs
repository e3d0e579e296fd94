//! Measures the scan on real-sized data: `GRISTMILL_SPEED_DIR=… cargo test --release speed -- --ignored --nocapture`.

use super::*;

struct Nothing;

impl ScanSink for Nothing {
    fn part(&mut self, _: PartRow<'_>) -> Outcome<()> {
        Ok(())
    }
    fn sample(&mut self, _: SampleRow<'_>) -> Outcome<()> {
        Ok(())
    }
    fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
        Ok(())
    }
}

#[test]
#[ignore = "a measurement, not a check"]
fn speed_of_the_scan_against_plain_reading() {
    let Some(folder) = std::env::var_os("GRISTMILL_SPEED_DIR") else { return };
    let shards = crate::source::discover::discover(Path::new(&folder)).unwrap().shards;
    let (progress, cancel, log) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let mut buffer = vec![0u8; 256 << 10];
    for round in 0..3 {
        let start = std::time::Instant::now();
        let mut bytes = 0u64;
        for shard in &shards {
            let file = gristmill_storage::read::open_read(&shard.path).unwrap();
            loop {
                let n = file.read_at(&mut buffer, bytes % (1 << 40)).unwrap_or(0);
                if n == 0 {
                    break;
                }
                bytes += n as u64;
            }
            bytes += (1 << 40) - bytes % (1 << 40);
        }
        let reading = start.elapsed();
        let start = std::time::Instant::now();
        let samples: u64 = shards.iter().map(|s| scan_shard(s, &mut Nothing, &handles).unwrap().samples).sum();
        println!("round {round}: {samples} samples, scan {:?}, reading alone {reading:?}", start.elapsed());
    }
}
