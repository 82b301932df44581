//! The machine file of this machine, kept in the user's cache folder.
//!
//! It is used only if no one but the user can have written it, if it is of this machine (processor, threads, GPU),
//! and if the program that measured it is this one. Written beside its place and renamed.

use std::path::{Path, PathBuf};

use zoetrope_sim::Machine;
use zoetrope_tensor::{Device, user_cache};

use crate::host;

/// A folder for what was measured instead of the user's cache folder; empty for none.
pub const CACHE_VARIABLE: &str = "ZOETROPE_MACHINE_CACHE";

/// More bytes than this are not a machine file.
const MOST_BYTES: u64 = 1 << 20;

/// What is known of this machine.
#[derive(Debug)]
pub enum Known {
    /// It was measured.
    Measured(Box<Machine>),
    /// It was not, or not in a way that can be used: why.
    Not(String),
}

/// The file of this machine, if the environment names a folder to keep it in.
pub fn path(device: &Device) -> Option<PathBuf> {
    path_in(user_cache::folder(CACHE_VARIABLE, "machines", |name| std::env::var_os(name))?, device)
}

fn path_in(folder: PathBuf, device: &Device) -> Option<PathBuf> {
    let name = if device.gpu().is_some() { "cuda.toml" } else { "cpu.toml" };
    Some(folder.join(name))
}

/// What was measured of this machine by this version of the program.
pub fn find(device: &Device, program: &str) -> Known {
    let Some(path) = path(device) else {
        return Known::Not("no folder to keep measurements in is named".to_owned());
    };
    find_at(&path, &host::name(device), program)
}

fn find_at(path: &Path, host: &str, program: &str) -> Known {
    let not = |why: &str| Known::Not(format!("{} {why}", path.display()));
    if !path.exists() {
        return Known::Not("this machine was not measured yet".to_owned());
    }
    let trusted = path.parent().is_some_and(user_cache::is_private) && user_cache::is_private(path);
    if !trusted {
        return not(
            "can be written by others, so it is not used; `chmod 700` its folder and 600 the file",
        );
    }
    let small =
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    let text = small.then(|| std::fs::read_to_string(path).ok()).flatten();
    let Some(text) = text else { return not("cannot be read") };
    let machine = match Machine::parse(&text, &path.display().to_string()) {
        Ok(machine) => machine,
        Err(error) => return Known::Not(error.to_string()),
    };
    match &machine.calibration {
        None => not("has nothing that was measured"),
        Some(found) if found.host != host => not("was measured on another machine"),
        Some(found) if found.program != program => not("was measured by another version"),
        Some(_) => Known::Measured(Box::new(machine)),
    }
}

/// Keeps the text of a machine file for this machine. Returns where.
///
/// # Errors
/// If there is no folder that only the user can write to, or writing fails.
pub fn keep(device: &Device, text: &str) -> std::io::Result<PathBuf> {
    let none = || {
        std::io::Error::new(
            std::io::ErrorKind::NotFound,
            format!("neither {CACHE_VARIABLE}, XDG_CACHE_HOME nor HOME names an absolute folder"),
        )
    };
    let path = path(device).ok_or_else(none)?;
    let folder = path.parent().ok_or_else(none)?;
    user_cache::make(folder)?;
    if !user_cache::is_private(folder) {
        return Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            format!("{} can be written by others; `chmod 700` it", folder.display()),
        ));
    }
    let mut draft = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut draft, text.as_bytes())?;
    draft.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(host: &str, program: &str) -> String {
        let laptop = Machine::text_of("laptop").expect("it is built in");
        let says = format!("date = \"now\"\nprogram = \"{program}\"\nhost = \"{host}\"\n");
        format!("{laptop}\n[calibration]\n{says}")
    }

    #[track_caller]
    fn expect_not(path: &Path, expected: &str) {
        match find_at(path, "this one", "1.0") {
            Known::Not(why) => assert!(why.contains(expected), "{why}"),
            Known::Measured(_) => panic!("expected: {expected}"),
        }
    }

    fn private() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700))
                .unwrap();
        }
        folder
    }

    #[test]
    fn a_measurement_is_used_only_on_its_machine_by_its_program() {
        let folder = private();
        let path = folder.path().join("cpu.toml");
        expect_not(&path, "not measured yet");
        std::fs::write(&path, text("this one", "1.0")).unwrap();
        let known = find_at(&path, "this one", "1.0");
        assert!(
            matches!(&known, Known::Measured(machine) if machine.name == "laptop"),
            "{known:?}"
        );
        std::fs::write(&path, text("another", "1.0")).unwrap();
        expect_not(&path, "on another machine");
        std::fs::write(&path, text("this one", "0.9")).unwrap();
        expect_not(&path, "another version");
        std::fs::write(&path, Machine::text_of("laptop").unwrap()).unwrap();
        expect_not(&path, "nothing that was measured");
        std::fs::write(&path, "name = 1").unwrap();
        expect_not(&path, "cpu.toml:1: name");
    }

    #[cfg(unix)]
    #[test]
    fn a_measurement_that_others_can_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = private();
        let path = folder.path().join("cpu.toml");
        std::fs::write(&path, text("this one", "1.0")).unwrap();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&path, 0o666);
        expect_not(&path, "can be written by others");
        set(&path, 0o600);
        set(folder.path(), 0o777);
        expect_not(&path, "can be written by others");
    }
}
