//! The identity of a process, by which another process can determine later whether it is still running.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a process among all others on this host, before and after a reboot, and on other hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// Id of the machine: two hosts may share a name. Empty if unknown.
    pub machine: String,
    /// Id of the current boot; changes with every start of the machine. Empty if unknown.
    pub boot: String,
    /// Id of the pid namespace of `pid` (a container has its own). Empty if unknown.
    pub pid_space: String,
    /// Start time of the process, in clock ticks since the machine started. 0 if unknown.
    pub started: u64,
}

/// State of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It is running.
    Alive,
    /// It has certainly ended.
    Dead,
    /// It is on another host: its state cannot be determined.
    OnOtherHost,
    /// It is on this machine, but in a pid namespace in which its process id cannot be looked up.
    Hidden,
}

impl ProcessIdentity {
    /// Returns the identity of the running process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            pid,
            machine: first_line(&["/etc/machine-id", "/var/lib/dbus/machine-id"]),
            boot: first_line(&["/proc/sys/kernel/random/boot_id"]),
            pid_space: std::fs::read_link("/proc/self/ns/pid")
                .map(|link| link.to_string_lossy().into_owned())
                .unwrap_or_default(),
            started: started(pid).unwrap_or(0),
        }
    }

    /// Returns the state of the identified process, as seen by `observer`.
    pub fn life(&self, observer: &Self) -> ProcessState {
        if self.host != observer.host || self.machine != observer.machine {
            return ProcessState::OnOtherHost;
        }
        if self.boot != observer.boot {
            return ProcessState::Dead;
        }
        if self.pid_space != observer.pid_space {
            return ProcessState::Hidden;
        }
        if self.started == 0 {
            return state_by_signal(self.pid);
        }
        match started(self.pid) {
            Some(started) if started == self.started => ProcessState::Alive,
            // No such process, or its id was reused.
            _ => ProcessState::Dead,
        }
    }
}

fn first_line(paths: &[&str]) -> String {
    paths
        .iter()
        .find_map(|path| std::fs::read_to_string(Path::new(path)).ok())
        .and_then(|text| text.lines().next().map(|line| line.trim().to_owned()))
        .unwrap_or_default()
}

/// Reads the start time from `/proc/<pid>/stat`; `None` if there is no such process or it is a zombie.
pub(super) fn started(pid: u32) -> Option<u64> {
    parse_started(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_started(stat: &str) -> Option<u64> {
    // The name in parentheses may contain anything; fields are counted after it: state is field 3, start time field 22.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Checks whether a signal could be sent, as a fallback without `/proc`.
fn state_by_signal(pid: u32) -> ProcessState {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        Some(Err(rustix::io::Errno::SRCH)) | None => ProcessState::Dead,
        _ => ProcessState::Alive,
    }
}

/// Returns a word that no other running process on any host is likely to generate.
pub fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{count}-{}", std::process::id(), random.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_process_is_alive() {
        let me = ProcessIdentity::current();
        assert_eq!(me.life(&me), ProcessState::Alive);
        assert!(!me.host.is_empty());
    }

    #[test]
    fn ended_and_zombie_processes_are_dead() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let me = ProcessIdentity::current();
        let other = ProcessIdentity { pid: child.id(), started: started(child.id()).unwrap(), ..me.clone() };
        assert_eq!(other.life(&me), ProcessState::Alive);
        child.kill().unwrap();
        while started(child.id()).is_some() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(other.life(&me), ProcessState::Dead, "not yet waited for");
        child.wait().unwrap();
        assert_eq!(other.life(&me), ProcessState::Dead);
    }

    #[test]
    fn reused_process_id_or_reboot_means_dead() {
        let me = ProcessIdentity::current();
        assert_eq!(ProcessIdentity { started: me.started + 1, ..me.clone() }.life(&me), ProcessState::Dead);
        assert_eq!(ProcessIdentity { boot: "x".into(), ..me.clone() }.life(&me), ProcessState::Dead);
    }

    #[test]
    fn process_state_on_other_hosts_and_containers_is_unknown() {
        let me = ProcessIdentity::current();
        assert_eq!(
            ProcessIdentity { host: "x".into(), boot: "x".into(), ..me.clone() }.life(&me),
            ProcessState::OnOtherHost
        );
        assert_eq!(
            ProcessIdentity { machine: "x".into(), pid: 1 << 30, ..me.clone() }.life(&me),
            ProcessState::OnOtherHost
        );
        assert_eq!(
            ProcessIdentity { pid_space: "x".into(), pid: 1 << 30, ..me.clone() }.life(&me),
            ProcessState::Hidden
        );
    }

    #[test]
    fn process_state_without_start_time_depends_on_the_process_id() {
        let me = ProcessIdentity { started: 0, ..ProcessIdentity::current() };
        assert_eq!(me.life(&me), ProcessState::Alive);
        assert_eq!(ProcessIdentity { pid: 0x7fff_fff0, ..me.clone() }.life(&me), ProcessState::Dead);
    }

    #[test]
    fn process_name_with_parentheses_is_parsed() {
        let tail = (4..=21).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(parse_started(&format!("7 (a) R b) S {tail} 12345 0")), Some(12345));
        assert_eq!(parse_started(&format!("7 (a) Z {tail} 12345 0")), None);
        assert_eq!(parse_started(""), None);
    }
}
