//! A process that is killed while it saves leaves the old file or the new one.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::native;
use rustrank::model::Model;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const FILE: &str = "RUSTRANK_TEST_SAVES_TO";

/// Not a test of its own: what the killed process does.
#[test]
fn save_for_ever_if_asked() {
    let Ok(path) = std::env::var(FILE) else { return };
    let models = [native(1, 5, &[40; 60]), native(2, 5, &[40; 90])];
    loop {
        for model in &models {
            model.save(Path::new(&path)).unwrap();
        }
    }
}

#[test]
fn a_killed_save_leaves_a_whole_file() {
    let folder = std::env::temp_dir().join(format!("rustrank-kill-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.rrk");
    let models = [native(1, 5, &[40; 60]), native(2, 5, &[40; 90])];
    models[0].save(&path).unwrap();
    for round in 0..100 {
        let mut saver = Command::new(std::env::current_exe().unwrap())
            .args(["save_for_ever_if_asked", "--exact"])
            .env(FILE, &path)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(5_000 + 317 * (round % 50)));
        // SIGKILL.
        saver.kill().unwrap();
        saver.wait().unwrap();
        let model = Model::load(&path).unwrap();
        assert!(models.contains(&model));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
