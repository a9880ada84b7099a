#include "CInterruption.h"

#include <time.h>

int64_t interruption_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void interruption_stop(struct interruption *state, int32_t reason) {
  int32_t none = 0;
  __atomic_compare_exchange_n(
    &state->reason, &none, reason, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void interruption_set_deadline(struct interruption *state, int64_t deadline) {
  __atomic_store_n(&state->deadline, deadline, __ATOMIC_RELAXED);
}

int32_t interruption_reason(struct interruption *state) {
  int32_t reason = __atomic_load_n(&state->reason, __ATOMIC_RELAXED);
  if (reason != 0) return reason;
  int64_t deadline = __atomic_load_n(&state->deadline, __ATOMIC_RELAXED);
  if (deadline == INT64_MAX || interruption_now() < deadline) return 0;
  interruption_stop(state, state->lateReason);
  return __atomic_load_n(&state->reason, __ATOMIC_RELAXED);
}
