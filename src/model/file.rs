//! Model files, written atomically: to a temporary file in the same folder, which is then renamed. What is no model
//! is told from its start, before the rest is read.

use super::composite::Model;
use super::format::MAGIC;
use super::read::whole_length;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many links are followed that lead to nothing: as many as Linux follows.
const MOST_LINKS: usize = 40;
/// The system's number for a file that is not there, on Unix and on Windows.
const NO_SUCH_FILE: i32 = 2;
/// The bytes of a file's name that its temporary name has: names may have up to 255.
const MOST_NAME_BYTES: usize = 200;

impl Model {
    /// Writes the model's text to a file, atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path, self.to_text().as_bytes())
    }

    /// Reads a file that [`Model::save`] wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = read_model(path, |start| whole_length(start).map(|_| ()))?;
        Self::from_text(&text).map_err(|error| error.path(path))
    }
}

/// So many bytes of a file say whether it may be a model.
const START: u64 = 1 << 16;

/// The bytes of a file, if `check` takes its start for that of a model. One of ours is read up to the end that it
/// declares, and a byte more.
pub(super) fn read_model(path: &Path, check: impl Fn(&[u8]) -> Result<()>) -> Result<Vec<u8>> {
    let fails = |source| Error::io(path, source);
    let mut file = File::open(path).map_err(fails)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(START).read_to_end(&mut bytes).map_err(fails)?;
    check(&bytes).map_err(|error| error.path(path))?;
    let mut most = u64::MAX;
    if bytes.starts_with(MAGIC.as_bytes()) {
        most = whole_length(&bytes).map_err(|error| error.path(path))?.saturating_add(1);
    }
    let left = most.saturating_sub(bytes.len() as u64);
    let there = file.metadata().map_or(0, |of| of.len().saturating_sub(bytes.len() as u64));
    let room = usize::try_from(left.min(there)).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(room).map_err(|_| fails(io::ErrorKind::OutOfMemory.into()))?;
    file.take(left).read_to_end(&mut bytes).map_err(fails)?;
    Ok(bytes)
}

/// Replaces a file by `bytes`, atomically.
///
/// If it is interrupted, or the disk is full, the path still names the whole old file or the whole new one.
/// An error leaves no other file in the folder; a killed process may leave a `.tmp`. A path that is no regular
/// file, such as a pipe, is written to directly.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    replace(path, bytes).map_err(|source| Error::io(path, source))
}

/// Where tests let a save fail.
#[cfg(test)]
use tests::step;
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "in tests it fails")]
fn step() -> io::Result<()> {
    Ok(())
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.as_os_str().is_empty() {
        return Err(io::Error::from_raw_os_error(NO_SUCH_FILE));
    }
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let path = match &old {
        Some(old) if !old.is_file() => return fs::write(path, bytes),
        // The file a link leads to is replaced, not the link.
        Some(_) => fs::canonicalize(path)?,
        None => target_of_links(path),
    };
    let path = path.as_path();
    let (temporary, mut file) = create_beside(path)?;
    let written = || -> io::Result<()> {
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        step()?;
        step().and_then(|()| file.sync_all())?;
        drop(file);
        step().and_then(|()| fs::rename(&temporary, path))
    }();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // The new file is there; that the folder says so even after a power cut is all that is left,
    // and not every file system can promise it.
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = step().and_then(|()| folder.sync_all());
    }
    Ok(())
}

/// The path that a link to nothing leads to, where a save makes the file; other paths as they are.
fn target_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// Creates a file in the same folder that no other save uses.
///
/// A process that was killed may have left one, and a later process may have its id: in a container all have 1.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let temporary = beside(path)?;
        step()?;
        match File::create_new(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (temporary, file)),
        }
    }
}

/// A name in the same folder that no other save of this process uses, for any name that a file may have.
fn beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let end = name.char_indices().map(|(at, _)| at).take_while(|at| *at <= MOST_NAME_BYTES);
    let start =
        &name[..if name.len() <= MOST_NAME_BYTES { name.len() } else { end.last().unwrap_or(0) }];
    Ok(folder_of(path).join(format!(".{start}.{}.{count}.tmp", std::process::id())))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// So many steps are left until one fails.
        static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
    }

    /// A step of a save, which may fail: once to create, write, sync and rename a file, and once for its folder.
    pub(super) fn step() -> io::Result<()> {
        let left = LEFT.get();
        LEFT.set(left.wrapping_sub(1));
        if left == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rustrank-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn whichever_step_fails_the_old_file_is_there_and_nothing_else() {
        let folder = folder("failing");
        let path = folder.join("model");
        fs::write(&path, "old").unwrap();
        for left in 0..4 {
            LEFT.set(left);
            let error = replace(&path, b"the new one").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{left}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
        // The fifth is the folder's own record, by when the new file is there.
        LEFT.set(4);
        replace(&path, b"the new one").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "the new one");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        let (path, link) = (folder.join("model"), folder.join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(write_whole(&folder, b"new").unwrap_err().fault().is_none());
        assert!(write_whole(folder.join("none/model"), b"new").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_nothing_stays_and_its_target_is_made() {
        let folder = folder("dangling");
        fs::create_dir(folder.join("inner")).unwrap();
        std::os::unix::fs::symlink("inner/second", folder.join("first")).unwrap();
        std::os::unix::fs::symlink("model", folder.join("inner/second")).unwrap();
        write_whole(folder.join("first"), b"new").unwrap();
        assert!(fs::symlink_metadata(folder.join("first")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(folder.join("inner/second")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(folder.join("inner/model")).unwrap(), "new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_killed_process_of_the_same_id_left_is_not_in_the_way() {
        let folder = folder("left");
        let path = folder.join("model");
        let next = beside(&path).unwrap().to_str().unwrap().to_owned();
        let count: u64 = next.rsplit('.').nth(1).unwrap().parse().unwrap();
        // Other tests save at the same time, and count, too.
        for count in count..count + 100 {
            let left = format!(".model.{}.{count}.tmp", std::process::id());
            fs::write(folder.join(left), "").unwrap();
        }
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 101);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn names_may_be_as_long_as_the_file_system_allows() {
        let folder = folder("long");
        for name in ["m".repeat(255), "\u{e4}".repeat(127)] {
            write_whole(folder.join(&name), b"new").unwrap();
            assert_eq!(fs::read_to_string(folder.join(&name)).unwrap(), "new");
        }
        assert!(write_whole(folder.join("m".repeat(256)), b"new").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
