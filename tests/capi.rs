//! The C interface, called from a C program: `cargo test --features capi --test capi`.

#![cfg(all(feature = "capi", target_os = "linux"))]
#![expect(clippy::unwrap_used, reason = "a test")]

#[expect(dead_code, reason = "shared with the tests of the scorer")]
mod models;

use models::native;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo put the library beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let found = [deps, deps.parent().unwrap()].map(|folder| folder.join("librustrank.so"));
    found.into_iter().find(|path| path.exists()).unwrap()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_c_program_scores_the_same_from_four_threads() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::temp_dir().join(format!("rustrank-capi-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (library, program) = (library(), folder.join("program"));
    let libraries = library.parent().unwrap();
    run(Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-D_POSIX_C_SOURCE=200809L"])
        .arg("-I")
        .arg(source.join("include"))
        .arg(source.join("tests/capi.c"))
        .arg(&library)
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .args(["-lpthread", "-lm", "-o"])
        .arg(&program));
    let model = native(3, 7, &[31; 50]);
    model.save(folder.join("model.rrk")).unwrap();
    let count = 700;
    let value =
        |i: usize| if i.is_multiple_of(11) { f32::NAN } else { (i * 37 % 101) as f32 / 9.0 - 5.0 };
    let rows: Vec<f32> = (0..count * 7).map(value).collect();
    let bytes: Vec<u8> = rows.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(folder.join("rows"), bytes).unwrap();
    let printed = run(Command::new(program)
        .arg(folder.join("model.rrk"))
        .arg(folder.join("rows"))
        .arg(count.to_string()));
    let mut scores = vec![0.0; count];
    model.scorer().score(&rows, &mut scores).unwrap();
    let wanted: Vec<String> =
        scores.iter().map(|s: &f64| format!("{:016x}", s.to_bits())).collect();
    assert!(printed.lines().eq(wanted));
    std::fs::remove_dir_all(&folder).unwrap();
}
