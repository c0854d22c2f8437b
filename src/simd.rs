//! The SIMD instructions of this machine, from which kernels choose at run time.
//!
//! The environment variable `RUSTRANK_SIMD` (`portable`, `avx2` or `avx512`) lowers the level of a process: to test
//! the kernels of lesser machines, and under tools that do not know all instructions, such as valgrind.
//!
//! A kernel has a portable form, and perhaps others for some [`Level`]s; all give the same result.
//! Code for a level may use all its features, and is called only if [`Level::is_available`].

pub(crate) mod lanes;

use std::sync::LazyLock;

/// A set of instructions that includes those of the levels before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust, on every machine.
    Portable,
    /// `avx2`, `bmi1`, `bmi2`, `popcnt`: x86-64 processors of the last ten years.
    Avx2,
    /// Also `avx512` with `f`, `bw`, `dq`, `vl`, `vbmi`, `vbmi2`, `bitalg`, and `gfni`: from Ice
    /// Lake and Zen 4 on.
    Avx512,
}

/// The environment variable that names the highest level to use.
pub const LEVEL_VARIABLE: &str = "RUSTRANK_SIMD";

impl Level {
    /// All levels, the simplest first.
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// The levels of this machine, the simplest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|level| level.is_available()).collect()
    }

    /// The fastest level of this machine, or the lower one that `RUSTRANK_SIMD` names.
    #[inline]
    pub fn best() -> Self {
        // Detected once, because kernels ask at each call.
        static BEST: LazyLock<Level> = LazyLock::new(|| {
            let most = std::env::var(LEVEL_VARIABLE).ok().and_then(|name| Level::by_name(&name));
            Level::found().min(most.unwrap_or(Level::Avx512))
        });
        *BEST
    }

    /// The level of a name; `None` for another text.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// What `RUSTRANK_SIMD` calls the level.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Whether this machine has the level.
    #[inline]
    pub fn is_available(self) -> bool {
        self as u8 <= Self::best() as u8
    }

    #[cfg(target_arch = "x86_64")]
    fn found() -> Self {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("gfni");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn found() -> Self {
        Self::Portable
    }
}

/// Defines functions whose first argument is the [`Level`] that they run at.
///
/// The body is a safe loop, which is compiled with the instructions of each level. Instead of a body
/// there may be the name of such a loop, which is generic over [`Lanes`](lanes::Lanes) if `<Lanes>`
/// follows, or two functions: one for AVX-512, after one for the other levels.
macro_rules! for_levels {
    ($($(#[$doc:meta])* $scope:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block)+) => {$(
        $(#[$doc])*
        $scope fn $name(level: $crate::simd::Level, $($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn each($($argument: $type),*) $(-> $result)? $body
            $crate::simd::for_levels!(@ level, ($($argument: $type),*), ($($result)?), each, each, each)
        }
    )+};
    ($(#[$doc:meta])* $scope:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? =
        $body:ident<Lanes>) => {
        $(#[$doc])*
        $scope fn $name(level: $crate::simd::Level, $($argument: $type),*) $(-> $result)? {
            $crate::simd::for_levels!(
                @ level, ($($argument: $type),*), ($($result)?),
                $body::<$crate::simd::lanes::Plain>,
                $body::<$crate::simd::lanes::Halves>,
                $body::<$crate::simd::lanes::Wide>
            )
        }
    };
    ($(#[$doc:meta])* $scope:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? =
        $usual:expr, $wide:expr) => {
        $(#[$doc])*
        $scope fn $name(level: $crate::simd::Level, $($argument: $type),*) $(-> $result)? {
            $crate::simd::for_levels!(@ level, ($($argument: $type),*), ($($result)?), $usual, $usual, $wide)
        }
    };
    (@ $level:ident, ($($argument:ident: $type:ty),*), ($($result:ty)?), $plain:expr, $halves:expr, $wide:expr) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn avx2($($argument: $type),*) $(-> $result)? {
            $halves($($argument),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,popcnt")]
        fn avx512($($argument: $type),*) $(-> $result)? {
            $wide($($argument),*)
        }
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "features behind a run-time check"))]
        match $level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the level is available, and stands for all of these features.
            $crate::simd::Level::Avx512 if $level.is_available() => unsafe { avx512($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            $crate::simd::Level::Avx2 if $level.is_available() => unsafe { avx2($($argument),*) },
            _ => $plain($($argument),*),
        }
    }};
}
pub(crate) use for_levels;
