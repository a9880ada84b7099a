// CInterruption: the flag and the deadline that stop the work of a request, for C code and Swift.
//
// Must not know: Swift, SQL.

#ifndef CINTERRUPTION_H
#define CINTERRUPTION_H

#include <stdbool.h>
#include <stdint.h>

/// The state of the work of one request. Every thread may read and change it by the functions here.
struct interruption {
  /// 0 while the work may continue, then the reason why it has to end.
  int32_t reason;
  /// The reason that is set when the deadline has passed.
  int32_t lateReason;
  /// The time at which the work has to end, of `interruption_now`; INT64_MAX for none.
  int64_t deadline;
};

/// Returns the time of a monotonic clock, in nanoseconds.
int64_t interruption_now(void);

/// Sets the reason why the work has to end. The first reason counts.
void interruption_stop(struct interruption *state, int32_t reason);

/// Sets the time at which the work has to end.
void interruption_set_deadline(struct interruption *state, int64_t deadline);

/// Returns the reason why the work has to end; 0 while it may continue. It reads the clock where
/// there is a deadline.
int32_t interruption_reason(struct interruption *state);

#endif
