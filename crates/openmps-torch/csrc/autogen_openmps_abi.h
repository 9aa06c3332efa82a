// Generated from src/abi/*.rs by `BLESS=1 cargo test -p openmps-torch --test header`; do not edit.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// OPENMPS_OK or the exception class to raise; the text is in openmps_error_message().
typedef int32_t OpenmpsStatus;
// An opaque handle, freed with openmps_generator_free().
typedef struct OpenmpsGenerator OpenmpsGenerator;
// Gets one line of the allocator's log: bytes and their number.
typedef void (*OpenmpsLogSink)(const char* text, uint64_t size_bytes);
// Tells how many threads an op of ATen would use now.
typedef int32_t (*OpenmpsThreadCount)(void);

// mod.rs
// The call succeeded.
#define OPENMPS_OK 0
// `RuntimeError`.
#define OPENMPS_RUNTIME_ERROR 1
// `ValueError`.
#define OPENMPS_VALUE_ERROR 2
// `TypeError`.
#define OPENMPS_TYPE_ERROR 3
// `NotImplementedError`.
#define OPENMPS_NOT_IMPLEMENTED_ERROR 4
// `torch.AcceleratorError`, with a code and a source position.
#define OPENMPS_ACCELERATOR_ERROR 5
// `torch.OutOfMemoryError`.
#define OPENMPS_OUT_OF_MEMORY_ERROR 6
// A bug of ours; `RuntimeError`.
#define OPENMPS_PANIC 7
// The call succeeded, and the message is a warning for the user.
#define OPENMPS_WARNING 8

// device.rs

// The device's name. Lives as long as the process.
const char* openmps_device_name(void);

// Number of GPU cores that the device reports.
uint32_t openmps_device_core_count(void);

// Metal's recommended maximum working set, in bytes.
uint64_t openmps_device_recommended_max_working_set_bytes(void);

// Metal's maximum buffer length, in bytes.
uint64_t openmps_device_max_buffer_length_bytes(void);

// Whether the announced macOS is that version or newer. `OPENMPS_WARNING` when PyTorch warns that it cannot tell
// exactly; the answer is valid then.
OpenmpsStatus openmps_device_is_os_at_least(uint32_t major, uint32_t minor, bool* is_at_least);

// error.rs

// The text of this thread's last failure. Valid until its next one.
const char* openmps_error_message(void);

// The error code of this thread's last accelerator error.
int32_t openmps_error_code(void);

// The source file that a kernel's error report names. Valid until the thread's next failure.
const char* openmps_error_file(void);

// The function that a kernel's error report names. Valid until the thread's next failure.
const char* openmps_error_function(void);

// The line that a kernel's error report names.
uint32_t openmps_error_line(void);

// event.rs

// Takes an event from the pool.
OpenmpsStatus openmps_event_acquire(bool timing, uint32_t* event);

// Gives an event back.
OpenmpsStatus openmps_event_release(uint32_t event);

// Encodes the event's signal into a stream and commits it.
OpenmpsStatus openmps_event_record(uint32_t event, uint32_t stream);

// Makes a stream wait for the event's last record.
OpenmpsStatus openmps_event_wait(uint32_t event, uint32_t stream);

// Waits for the event's last record.
OpenmpsStatus openmps_event_synchronize(uint32_t event);

// Whether the event was recorded and has been reached.
OpenmpsStatus openmps_event_query(uint32_t event, bool* is_done);

// Milliseconds between two recorded events with timing.
OpenmpsStatus openmps_event_elapsed_ms(uint32_t start, uint32_t end, double* elapsed_ms);

// generator.rs
// Size of a generator's state.
#define OPENMPS_GENERATOR_STATE_BYTES 44

// The state of a generator as bytes.
typedef struct OpenmpsGeneratorState {
  uint8_t bytes[44];
} OpenmpsGeneratorState;

// A new generator with the library's default seed.
OpenmpsGenerator* openmps_generator_new(void);

// A handle on the process's default generator.
OpenmpsGenerator* openmps_generator_default(void);

// A new generator with a copy of the state; null for null.
OpenmpsGenerator* openmps_generator_clone(const OpenmpsGenerator* generator);

// Frees a handle; null is ignored.
void openmps_generator_free(OpenmpsGenerator* generator);

// Seeds and resets a generator.
OpenmpsStatus openmps_generator_manual_seed(const OpenmpsGenerator* generator, uint64_t seed);

// Seeds a generator from the system's randomness and tells the seed.
OpenmpsStatus openmps_generator_seed(const OpenmpsGenerator* generator, uint64_t* seed);

// The seed.
OpenmpsStatus openmps_generator_initial_seed(const OpenmpsGenerator* generator, uint64_t* seed);

// Sets the offset, in blocks of 128 bits.
OpenmpsStatus openmps_generator_set_offset(const OpenmpsGenerator* generator, uint64_t offset);

// The offset, in blocks of 128 bits.
OpenmpsStatus openmps_generator_offset(const OpenmpsGenerator* generator, uint64_t* offset);

// The whole state.
OpenmpsStatus openmps_generator_state(const OpenmpsGenerator* generator, OpenmpsGeneratorState* state);

// Restores a state.
OpenmpsStatus openmps_generator_set_state(const OpenmpsGenerator* generator, const OpenmpsGeneratorState* state);

// memory.rs
// Memory of an MPS tensor's storage.
#define OPENMPS_USAGE_DEVICE 0
// An operand of a few bytes that one command reads.
#define OPENMPS_USAGE_SCALAR 1
// Pinned memory of a CPU tensor.
#define OPENMPS_USAGE_PINNED 2
// Bytes of the arena that have one word in [`BlockSlots`].
#define OPENMPS_BLOCK_SLOT_UNIT_BYTES 256
// The word of a block with which nothing is kept.
#define OPENMPS_BLOCK_SLOT_EMPTY 1

// One handed-out block.
typedef struct OpenmpsBlockInfo {
  uint64_t base;
  uint64_t size_bytes;
  uint64_t requested_bytes;
  uint64_t id;
  uint32_t pinned;
  uint32_t retain_count;
} OpenmpsBlockInfo;

// A word for every `BLOCK_SLOT_UNIT_BYTES` of the arena, to be accessed atomically. A word is 0 where no block is handed out,
// and cannot be written there. At the first address of a handed-out block it starts as `BLOCK_SLOT_EMPTY` and may become
// anything but 0.
typedef struct OpenmpsBlockSlots {
  uint64_t base;
  uint64_t count;
  uint64_t* words;
} OpenmpsBlockSlots;

// One counter of bytes.
typedef struct OpenmpsMemoryStat {
  int64_t current;
  int64_t peak;
  int64_t allocated;
  int64_t freed;
} OpenmpsMemoryStat;

// All counters.
typedef struct OpenmpsMemoryStats {
  OpenmpsMemoryStat allocated;
  OpenmpsMemoryStat reserved;
} OpenmpsMemoryStats;

// Where the allocator's log goes; the first sink stays.
OpenmpsStatus openmps_set_log_sink(OpenmpsLogSink sink);

// Allocates a block for the current stream; the caller frees it with `openmps_free`.
OpenmpsStatus openmps_allocate(uint64_t size_bytes, uint32_t usage, void** address);

// Frees a block by its first address; null is ignored.
void openmps_free(void* address);

// Whether the address lies in the arena. Without a lock.
bool openmps_is_arena_address(const void* address);

// Whether a live block starts there that is pinned, or that CPU code can use as pinned because it is shared memory.
bool openmps_is_pinned(const void* address);

// Where the words are that the plug-in keeps with blocks; null before anything was allocated. Lives as long as the process.
const OpenmpsBlockSlots* openmps_block_slots(void);

// The live block that contains an address.
OpenmpsStatus openmps_block_info(const void* address, OpenmpsBlockInfo* info, bool* found);

// Keeps the block from reuse until the stream has run what is queued on it when the block is freed.
OpenmpsStatus openmps_record_stream(const void* address, uint32_t stream);

// Whether anything was allocated yet.
bool openmps_allocator_is_initialized(void);

// Bytes handed out, after rounding.
OpenmpsStatus openmps_current_allocated_bytes(uint64_t* bytes);

// Bytes the device holds for this process: heaps and everything else.
OpenmpsStatus openmps_driver_allocated_bytes(uint64_t* bytes);

// Free and total bytes of the device.
OpenmpsStatus openmps_memory_info(uint64_t* free_bytes, uint64_t* total_bytes);

// All counters.
OpenmpsStatus openmps_memory_stats(OpenmpsMemoryStats* stats);

// Peaks start again at the current values.
OpenmpsStatus openmps_reset_peak_stats(void);

// Sums start again at 0.
OpenmpsStatus openmps_reset_accumulated_stats(void);

// Gives cached memory back to the system; waits for streams.
OpenmpsStatus openmps_empty_cache(void);

// Sets the hard limit as a multiple of the recommended maximum; 0 means none.
OpenmpsStatus openmps_set_high_watermark_ratio(double ratio);

// profile.rs
// An operator of ATen.
#define OPENMPS_PROFILE_GRAPH 0
// A copy; its tensors are source and destination.
#define OPENMPS_PROFILE_COPY 1
// An operator that the MPS backend lacks.
#define OPENMPS_PROFILE_FALLBACK 2
// Bits of `openmps_profile_flags`: someone wants to know of operators.
#define OPENMPS_PROFILE_SEES_OPERATION 65
// Bits of `openmps_profile_flags`: someone wants to know of copies.
#define OPENMPS_PROFILE_SEES_COPY 66
// Bits of `openmps_profile_flags`: someone wants to know of fallbacks.
#define OPENMPS_PROFILE_SEES_FALLBACK 68
// A bit of `openmps_profile_flags`: tensors come with a buffer word.
#define OPENMPS_PROFILE_FLAG_BUFFER_IDS 32
// A tensor's header word: where the number of sizes starts; the scalar type is below.
#define OPENMPS_PROFILE_RANK_SHIFT 8
// A tensor's header word: it lies on device mps.
#define OPENMPS_PROFILE_MPS 65536
// A tensor's header word: a word with the block's number follows, and its retain count from bit 40 on.
#define OPENMPS_PROFILE_BUFFER 131072
// A tensor's header word: there is no tensor.
#define OPENMPS_PROFILE_UNDEFINED 524288
// A tensor's header word: bits 32 to 63 count tensors that were left out.
#define OPENMPS_PROFILE_MORE 1048576
// Where the retain count starts in a buffer word.
#define OPENMPS_PROFILE_RETAIN_SHIFT 40

// An operation that begins or ends.
typedef struct OpenmpsProfileOperation {
  uint32_t kind;
  uint32_t name;
  uint64_t copy_bytes;
  uint32_t copy_is_blocking;
  uint32_t copy_is_blit;
  const uint64_t* words;
  uint64_t word_count;
} OpenmpsProfileOperation;

// What the profiler wants to see again at the end of an operation.
typedef struct OpenmpsProfileRunning {
  uint64_t begin_ns;
  uint64_t called_ns;
  uint64_t index;
  uint64_t run;
  uint64_t is_recorded;
  uint64_t observed_ns;
} OpenmpsProfileRunning;

// Constructs the profiler, so that a bad mask in the environment is reported.
OpenmpsStatus openmps_profile_initialize(void);

// Starts a trace; `mode` has words `interval` and `event`, separated by commas.
OpenmpsStatus openmps_profile_start(const char* mode, bool wait_until_completed);

// Stops a trace, if one runs.
OpenmpsStatus openmps_profile_stop(void);

// The program is over: nothing is profiled any more; tables and the end of a trace are still to come.
void openmps_profile_program_ended(void);

// Where the bits of `OPENMPS_PROFILE_SEES_…` and `OPENMPS_PROFILE_FLAG_…` are, to be read atomically. Lives as long as the process.
const uint32_t* openmps_profile_flags(void);

// The number of an operator's name.
OpenmpsStatus openmps_profile_operator(const char* name, uint32_t* number);

// An operation begins on this thread.
OpenmpsStatus openmps_profile_begin(const OpenmpsProfileOperation* operation, OpenmpsProfileRunning* running);

// The operation that `openmps_profile_begin` filled `running` for ends, on the same thread.
OpenmpsStatus openmps_profile_end(const OpenmpsProfileOperation* operation, const OpenmpsProfileRunning* running);

// random.rs
// Uniform in `[a, b)`.
#define OPENMPS_POINTWISE_UNIFORM 0
// Normal with mean `a` and standard deviation `b`.
#define OPENMPS_POINTWISE_NORMAL 1
// The exponential of a normal value with mean `a` and standard deviation `b`.
#define OPENMPS_POINTWISE_LOG_NORMAL 2
// Exponential with rate `a`.
#define OPENMPS_POINTWISE_EXPONENTIAL 3
// Cauchy with median `a` and scale `b`.
#define OPENMPS_POINTWISE_CAUCHY 4
// Trials up to the first success of probability `a`.
#define OPENMPS_POINTWISE_GEOMETRIC 5
// 1 with probability `a`, else 0.
#define OPENMPS_POINTWISE_BERNOULLI 6
// Gamma values of the shapes in `first`.
#define OPENMPS_COUNTED_GAMMA 0
// Rows of gamma values of the shapes in `first`, each divided by its sum.
#define OPENMPS_COUNTED_DIRICHLET 1
// Poisson counts of the means in `first`.
#define OPENMPS_COUNTED_POISSON 2
// Successes in the trials of `first` with the probabilities in `second`.
#define OPENMPS_COUNTED_BINOMIAL 3

// Contiguous elements of one `c10::ScalarType`.
typedef struct OpenmpsElements {
  uint64_t address;
  uint64_t count;
  uint32_t scalar_type;
  uint32_t padding;
} OpenmpsElements;

// Fills `out` from one of the distributions `OPENMPS_POINTWISE_*` with parameters `a` and `b`.
OpenmpsStatus openmps_random_pointwise(const OpenmpsGenerator* generator, uint32_t distribution, const OpenmpsElements* out, double a, double b);

// Fills `out` with `base` plus a value below `range`, or any value of the width when `range` is 0.
OpenmpsStatus openmps_random_int(const OpenmpsGenerator* generator, const OpenmpsElements* out, int64_t base, uint64_t range);

// Fills `out` with 1 where a uniform value is below the probability in `p`, else 0.
OpenmpsStatus openmps_random_bernoulli_tensor(const OpenmpsGenerator* generator, const OpenmpsElements* out, const OpenmpsElements* p);

// Keeps elements of `input` with probability 1 - `p`, scaled; `mask` says which.
OpenmpsStatus openmps_random_dropout(const OpenmpsGenerator* generator, const OpenmpsElements* out, const OpenmpsElements* mask, const OpenmpsElements* input, double p);

// Fills `out` from one of the distributions `OPENMPS_COUNTED_*`. `second` is read for binomial only; `row` is the length
// of a row for Dirichlet only.
OpenmpsStatus openmps_random_counted(const OpenmpsGenerator* generator, uint32_t distribution, const OpenmpsElements* out, const OpenmpsElements* first, const OpenmpsElements* second, uint64_t row);

// Fills `out` with the numbers below its count in random order.
OpenmpsStatus openmps_random_permutation(const OpenmpsGenerator* generator, const OpenmpsElements* out);

// Draws `samples` categories with replacement for each of the `rows` rows of `weights`.
OpenmpsStatus openmps_random_multinomial(const OpenmpsGenerator* generator, const OpenmpsElements* out, const OpenmpsElements* weights, uint64_t rows, uint64_t samples);

// settings.rs
// Ops that the MPS backend lacks raise.
#define OPENMPS_FALLBACK_OFF 0
// Ops that the MPS backend lacks run on the CPU with a warning.
#define OPENMPS_FALLBACK_ON 1

// What `PYTORCH_ENABLE_MPS_FALLBACK` asks for; a text that is no integer is a `ValueError`.
OpenmpsStatus openmps_settings_fallback(uint32_t* fallback);

// Refuses an `OPENMPS_DEVICE` that names no Mac, with a `ValueError` that lists the known ones.
OpenmpsStatus openmps_settings_check_device(void);

// What to warn the user about, from index 0 on; null past the last one. Lives as long as the process.
const char* openmps_settings_warning(uint32_t index);

// stream.rs

// The current stream of this thread.
uint32_t openmps_stream_current(void);

// Makes a stream current for this thread.
OpenmpsStatus openmps_stream_set_current(uint32_t stream);

// The next stream of the pool.
uint32_t openmps_stream_from_pool(void);

// Starts what was encoded.
OpenmpsStatus openmps_stream_commit(uint32_t stream);

// Waits for a stream and reports its deferred error.
OpenmpsStatus openmps_stream_synchronize(uint32_t stream);

// Waits for a stream; a deferred error stays where it is.
OpenmpsStatus openmps_stream_wait_idle(uint32_t stream);

// Whether a stream has nothing left to run.
OpenmpsStatus openmps_stream_is_idle(uint32_t stream, bool* is_idle);

// Waits for all streams and reports a deferred error.
OpenmpsStatus openmps_synchronize_all(void);

// Where the number of streams stands that may still run something; lives as long as the process, read with acquire.
const uint64_t* openmps_busy_streams(void);

// threads.rs

// Where the number of threads comes from; the first source stays.
OpenmpsStatus openmps_set_thread_count_source(OpenmpsThreadCount source);

#ifdef __cplusplus
} // extern "C"
#endif
