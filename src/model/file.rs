//! Model files, written atomically: to a temporary file in the same folder, which is then renamed.

use super::composite::Model;
use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

impl Model {
    /// Writes the model's text to a file, atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path, self.to_text().as_bytes())
    }

    /// Reads a file that [`Model::save`] wrote.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = fs::read(path).map_err(|source| Error::io(path, source))?;
        Self::from_text(&text).map_err(|error| error.path(path))
    }
}

/// Replaces a file by `bytes`, atomically.
///
/// If it is interrupted, or the disk is full, the path still names the whole old file or the whole new one.
/// An error leaves no other file in the folder; a killed process may leave a `.tmp`. A path that is no regular
/// file, such as a pipe, is written to directly.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    replace(&System, path, bytes).map_err(|source| Error::io(path, source))
}

/// The file operations of a save; tests replace them to make one fail.
trait Disk {
    fn create(&self, path: &Path) -> io::Result<File>;
    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()>;
    fn sync(&self, file: &File) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

struct System;

impl Disk for System {
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }
}

fn replace(disk: &impl Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let path = match &old {
        Some(old) if !old.is_file() => return fs::write(path, bytes),
        // The file a link leads to is replaced, not the link.
        Some(_) => &fs::canonicalize(path)?,
        None => path,
    };
    let temporary = beside(path)?;
    let mut file = disk.create(&temporary)?;
    let written = || -> io::Result<()> {
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        disk.write(&mut file, bytes)?;
        disk.sync(&file)?;
        drop(file);
        disk.rename(&temporary, path)
    }();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    // The new file is there; that the folder says so even after a power cut is all that is left,
    // and not every file system can promise it.
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = disk.sync(&folder);
    }
    Ok(())
}

/// A name in the same folder that no other save uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.{count}.tmp", std::process::id()));
    Ok(folder_of(path).join(hidden))
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

    /// Lets the call fail that is `left` calls away.
    struct Failing {
        left: Cell<u32>,
    }

    impl Failing {
        fn next(&self) -> io::Result<()> {
            let left = self.left.get();
            self.left.set(left.wrapping_sub(1));
            if left == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    impl Disk for Failing {
        fn create(&self, path: &Path) -> io::Result<File> {
            self.next()?;
            System.create(path)
        }

        fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
            // A full disk takes some of it.
            file.write_all(&bytes[..bytes.len() / 2])?;
            self.next()?;
            file.write_all(&bytes[bytes.len() / 2..])
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            self.next()?;
            System.sync(file)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.next()?;
            System.rename(from, to)
        }
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
            let disk = Failing { left: Cell::new(left) };
            let error = replace(&disk, &path, b"the new one").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{left}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
        // The fifth is the folder's own record, by when the new file is there.
        replace(&Failing { left: Cell::new(4) }, &path, b"the new one").unwrap();
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
}
