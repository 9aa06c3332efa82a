//! The profiler's bit masks and how they complete each other: `MPSProfiler.h`'s words.

use std::ops::{BitOr, BitOrAssign};

use super::ProfileError;
use crate::settings::{check_log_options, check_signposts};

/// A mask type with named bits.
macro_rules! mask {
    ($(#[$doc:meta])* $name:ident { $($(#[$bit_doc:meta])* $bit:ident = $value:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$bit_doc])* pub const $bit: Self = Self($value);)*

            /// Whether any bit of `bits` is set.
            #[must_use]
            pub fn contains(self, bits: Self) -> bool {
                self.0 & bits.0 != 0
            }

            /// Whether no bit is set.
            #[must_use]
            pub fn is_empty(self) -> bool {
                self.0 == 0
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                *self = *self | other;
            }
        }
    };
}

mask! {
    /// What a trace does: the low half of `PYTORCH_MPS_TRACE_SIGNPOSTS`.
    ProfileOptions {
        /// Events for every type of operation.
        ALL_SIGNPOST_EVENTS = 1;
        /// Intervals for every type of operation.
        ALL_SIGNPOST_INTERVALS = 1 << 1;
        /// Wait for the stream after each operation.
        WAIT_UNTIL_COMPLETED = 1 << 2;
        /// Intervals begin when an operation is encoded.
        INCLUDE_SCHEDULE_INTERVAL = 1 << 3;
        /// Intervals for the chosen types.
        USE_INTERVALS = 1 << 4;
        /// Events for the chosen types.
        USE_EVENTS = 1 << 5;
    }
}

mask! {
    /// Which operations are traced: the high half of `PYTORCH_MPS_TRACE_SIGNPOSTS`.
    SignpostTypes {
        /// Kernels and graphs.
        RUN_OPERATION = 1 << 16;
        /// Copies.
        BLIT_COPY = 1 << 17;
        /// Operators that run on the CPU.
        CPU_FALLBACK = 1 << 18;
    }
}

mask! {
    /// What is logged: `PYTORCH_MPS_LOG_PROFILE_INFO`.
    LogOptions {
        /// A line for each operation.
        OPERATION_INFO = 1;
        /// A line for each copy.
        COPY_INFO = 1 << 1;
        /// A line for each operator that runs on the CPU.
        CPU_FALLBACK_INFO = 1 << 2;
        /// The three tables below.
        ALL_STATS = 1 << 3;
        /// A table of operations at exit.
        OPERATION_STATS = 1 << 4;
        /// A table of copies at exit.
        COPY_STATS = 1 << 5;
        /// A table of CPU fallbacks at exit.
        CPU_FALLBACK_STATS = 1 << 6;
        /// GPU times in lines.
        INCLUDE_GPU_TIME = 1 << 7;
        /// Scheduling times in lines, apart from GPU times.
        INCLUDE_KERNEL_TIME = 1 << 8;
        /// Buffer ids in lines.
        INCLUDE_BUFFER_ID = 1 << 9;
        /// Any table, once [`LogOptions::ALL_STATS`] is spelled out.
        ANY_STATS = 1 << 4 | 1 << 5 | 1 << 6;
    }
}

const ALL_TYPES: SignpostTypes =
    SignpostTypes(SignpostTypes::RUN_OPERATION.0 | SignpostTypes::BLIT_COPY.0 | SignpostTypes::CPU_FALLBACK.0);

/// The profiler's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) profile: ProfileOptions,
    pub(super) signposts: SignpostTypes,
    pub(super) log: LogOptions,
}

impl Masks {
    /// All bits in one word: what a trace does and shows below, the log above.
    pub(super) fn word(self) -> u64 {
        u64::from(self.profile.0 | self.signposts.0) | u64::from(self.log.0) << 32
    }

    /// Undoes [`word`](Self::word).
    pub(super) fn from_word(word: u64) -> Self {
        let half = |bits: u64| u32::try_from(bits & 0xffff_ffff).expect("32 bits");
        let (low, high) = (half(word), half(word >> 32));
        Self {
            profile: ProfileOptions(low & 0xFFFF),
            signposts: SignpostTypes(low & 0xFFFF_0000),
            log: LogOptions(high),
        }
    }

    /// The masks that the two environment variables ask for.
    pub(super) fn from_environment(log: u32, signposts: u32) -> Result<Self, ProfileError> {
        check_log_options(log)?;
        check_signposts(signposts)?;
        let mut masks = Self {
            profile: ProfileOptions(signposts & 0xFFFF),
            signposts: SignpostTypes(signposts & 0xFFFF_0000),
            log: LogOptions(log),
        };
        masks.complete()?;
        Ok(masks)
    }

    /// Adds what the set bits imply; run at construction and at each start of a trace.
    fn complete(&mut self) -> Result<(), ProfileError> {
        type P = ProfileOptions;
        if self.signposts.is_empty() && self.profile.contains(P::INCLUDE_SCHEDULE_INTERVAL) {
            self.profile |= P::ALL_SIGNPOST_INTERVALS;
        }
        if self.profile.contains(P::ALL_SIGNPOST_EVENTS | P::ALL_SIGNPOST_INTERVALS) {
            self.signposts |= ALL_TYPES;
            if self.profile.contains(P::ALL_SIGNPOST_EVENTS) {
                self.profile |= P::USE_EVENTS;
            }
            if self.profile.contains(P::ALL_SIGNPOST_INTERVALS) {
                self.profile |= P::USE_INTERVALS;
            }
        }
        if self.log.contains(LogOptions::ALL_STATS) {
            self.log |= LogOptions::OPERATION_STATS | LogOptions::COPY_STATS | LogOptions::CPU_FALLBACK_STATS;
        }
        if self.signposts.is_empty() {
            return Ok(());
        }
        if !self.profile.contains(P::USE_EVENTS | P::USE_INTERVALS) {
            self.profile |= P::USE_INTERVALS;
        }
        if self.profile.contains(P::INCLUDE_SCHEDULE_INTERVAL) && !self.profile.contains(P::USE_INTERVALS) {
            return Err(ProfileError::ScheduleInterval);
        }
        if self.profile.contains(P::USE_EVENTS) {
            self.log |= LogOptions::INCLUDE_GPU_TIME;
        }
        Ok(())
    }

    pub(super) fn start(&mut self, mode: &str, wait_until_completed: bool) -> Result<(), ProfileError> {
        if !self.profile.is_empty() {
            return Err(ProfileError::AlreadyTracing);
        }
        for word in mode.split(',').filter(|word| !word.is_empty()) {
            self.profile |= match word {
                "interval" => ProfileOptions::ALL_SIGNPOST_INTERVALS,
                "event" => ProfileOptions::ALL_SIGNPOST_EVENTS,
                _ => return Err(ProfileError::Mode(word.into())),
            };
        }
        if self.profile.is_empty() {
            return Ok(());
        }
        if wait_until_completed {
            self.profile |= ProfileOptions::WAIT_UNTIL_COMPLETED;
        }
        self.complete()
    }

    pub(super) fn stop(&mut self) {
        self.profile = ProfileOptions::default();
        self.signposts = SignpostTypes::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(log: u32, signposts: u32) -> Result<(u32, u32, u32), String> {
        let masks = Masks::from_environment(log, signposts).map_err(|error| error.to_string())?;
        Ok((masks.profile.0, masks.signposts.0 >> 16, masks.log.0))
    }

    #[test]
    fn bits_imply_each_other() {
        assert_eq!(masks(0, 0), Ok((0, 0, 0)));
        assert_eq!(masks(0, 1), Ok((1 | 32, 7, 128)), "all events");
        assert_eq!(masks(0, 2), Ok((2 | 16, 7, 0)), "all intervals");
        assert_eq!(masks(0, 8), Ok((8 | 2 | 16, 7, 0)), "scheduling alone means all intervals");
        assert_eq!(masks(0, 1 << 17), Ok((16, 2, 0)), "a type without a form uses intervals");
        assert_eq!(masks(0, 1 << 16 | 32), Ok((32, 1, 128)));
        assert_eq!(masks(0, 4), Ok((4, 0, 0)));
        assert_eq!(masks(8, 0), Ok((0, 0, 8 | 16 | 32 | 64)), "all tables");
    }

    #[test]
    fn refusals_have_pytorchs_texts() {
        let cases = [
            (1024, 0, "invalid log options 1024 passed to PYTORCH_MPS_LOG_PROFILE_INFO"),
            (0, 64, "invalid profiling options 64 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"),
            (0, 1 << 19, "invalid signpost types 524288 passed to PYTORCH_MPS_TRACE_SIGNPOSTS"),
            (0, 1 << 16 | 32 | 8, "the option 'INCLUDE_SCHEDULE_INTERVAL' only works for interval-based signposts"),
        ];
        for (log, signposts, text) in cases {
            assert_eq!(masks(log, signposts), Err(text.into()));
        }
    }

    #[test]
    fn stopping_keeps_the_log() {
        let mut masks = Masks::from_environment(1, 0).unwrap();
        masks.start("event,,interval", false).unwrap();
        assert_eq!((masks.profile.0, masks.log.0), (1 | 2 | 16 | 32, 1 | 128));
        masks.stop();
        assert_eq!(masks, Masks { log: LogOptions(1 | 128), ..Masks::default() });
        masks.start("event", true).unwrap();
        assert_eq!(Masks::from_word(masks.word()), masks);
    }
}
