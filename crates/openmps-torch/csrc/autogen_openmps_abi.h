// Generated from crates/openmps-torch/src/abi/*.rs by `BLESS=1 cargo test -p openmps-torch`; do not edit.
#pragma once
#include <stdbool.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t OpenmpsStatus;
#define OPENMPS_OK 0
#define OPENMPS_RUNTIME_ERROR 1
#define OPENMPS_VALUE_ERROR 2
#define OPENMPS_TYPE_ERROR 3
#define OPENMPS_NOT_IMPLEMENTED_ERROR 4
#define OPENMPS_ACCELERATOR_ERROR 5
#define OPENMPS_OUT_OF_MEMORY_ERROR 6
#define OPENMPS_INDEX_ERROR 7
#define OPENMPS_PANIC 8

#define OPENMPS_USAGE_DEVICE 0
#define OPENMPS_USAGE_SCALAR 1
#define OPENMPS_USAGE_PINNED 2

typedef struct OpenmpsBlockInfo {
  uint64_t base;
  uint64_t size_bytes;
  uint64_t requested_bytes;
  uint64_t id;
  uint32_t pinned;
  uint32_t padding;
} OpenmpsBlockInfo;
typedef struct OpenmpsStat { int64_t current, peak, allocated, freed; } OpenmpsStat;
typedef struct OpenmpsMemoryStats { OpenmpsStat allocated_bytes, reserved_bytes, active_bytes; } OpenmpsMemoryStats;
typedef struct OpenmpsGenerator OpenmpsGenerator;

const char* openmps_error_message(void);
int32_t openmps_error_code(void);
const char* openmps_error_file(void);
const char* openmps_error_function(void);
uint32_t openmps_error_line(void);

const char* openmps_device_name(void);
OpenmpsStatus openmps_device_core_count(uint32_t* count);
uint64_t openmps_device_recommended_max_working_set_bytes(void);
uint64_t openmps_device_max_buffer_length_bytes(void);
bool openmps_device_is_os_at_least(uint32_t major, uint32_t minor);

OpenmpsStatus openmps_allocate(uint64_t size_bytes, uint32_t usage, void** address);
void openmps_free(void* address);
bool openmps_is_arena_address(const void* address);
bool openmps_is_pinned(const void* address);
void** openmps_block_user_slot(const void* address);
OpenmpsStatus openmps_block_info(const void* address, OpenmpsBlockInfo* info, bool* found);
OpenmpsStatus openmps_record_stream(const void* address, uint32_t stream);
bool openmps_allocator_is_initialized(void);
OpenmpsStatus openmps_current_allocated_bytes(uint64_t* bytes);
OpenmpsStatus openmps_driver_allocated_bytes(uint64_t* bytes);
OpenmpsStatus openmps_memory_stats(OpenmpsMemoryStats* stats);
OpenmpsStatus openmps_reset_peak_stats(void);
OpenmpsStatus openmps_reset_accumulated_stats(void);
OpenmpsStatus openmps_empty_cache(void);
OpenmpsStatus openmps_set_high_watermark_ratio(double ratio);

uint32_t openmps_stream_current(void);
OpenmpsStatus openmps_stream_set_current(uint32_t stream);
uint32_t openmps_stream_from_pool(void);
OpenmpsStatus openmps_stream_commit(uint32_t stream);
OpenmpsStatus openmps_stream_synchronize(uint32_t stream);
OpenmpsStatus openmps_stream_wait_idle(uint32_t stream);
OpenmpsStatus openmps_stream_is_idle(uint32_t stream, bool* idle);
OpenmpsStatus openmps_synchronize_all(void);
bool openmps_any_pending(void);

OpenmpsStatus openmps_event_acquire(bool timing, uint32_t* event);
OpenmpsStatus openmps_event_release(uint32_t event);
OpenmpsStatus openmps_event_record(uint32_t event, uint32_t stream);
OpenmpsStatus openmps_event_wait(uint32_t event, uint32_t stream);
OpenmpsStatus openmps_event_synchronize(uint32_t event);
OpenmpsStatus openmps_event_query(uint32_t event, bool* done);
OpenmpsStatus openmps_event_elapsed_ms(uint32_t start, uint32_t end, double* elapsed_ms);

#define OPENMPS_GENERATOR_STATE_BYTES 44
OpenmpsGenerator* openmps_generator_new(void);
OpenmpsGenerator* openmps_generator_default(void);
OpenmpsGenerator* openmps_generator_clone(const OpenmpsGenerator* generator);
void openmps_generator_free(OpenmpsGenerator* generator);
OpenmpsStatus openmps_generator_manual_seed(const OpenmpsGenerator* generator, uint64_t seed);
OpenmpsStatus openmps_generator_seed(const OpenmpsGenerator* generator, uint64_t* seed);
OpenmpsStatus openmps_generator_initial_seed(const OpenmpsGenerator* generator, uint64_t* seed);
OpenmpsStatus openmps_generator_set_offset(const OpenmpsGenerator* generator, uint64_t offset);
OpenmpsStatus openmps_generator_offset(const OpenmpsGenerator* generator, uint64_t* offset);
OpenmpsStatus openmps_generator_state(const OpenmpsGenerator* generator, uint8_t* state, uint64_t size_bytes);
OpenmpsStatus openmps_generator_set_state(const OpenmpsGenerator* generator, const uint8_t* state, uint64_t size_bytes);

OpenmpsStatus openmps_profile_start(const char* mode, bool wait_until_completed);
OpenmpsStatus openmps_profile_stop(void);

#define OPENMPS_FALLBACK_OFF 0
#define OPENMPS_FALLBACK_ON 1
OpenmpsStatus openmps_settings_fallback(uint32_t* fallback);

#ifdef __cplusplus
}
#endif
