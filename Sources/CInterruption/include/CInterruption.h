// CInterruption: the flag and the deadline that stop the work of a request, for C code and Swift.
//
// Must not know: Swift, SQL.

#ifndef CINTERRUPTION_H
#define CINTERRUPTION_H

#include <stdbool.h>
#include <stdint.h>

/// The state of the work of one request. Any thread may access it with the functions of this
/// header.
struct interruption {
  /// 0 while the work may continue, then the reason why it has to end.
  int32_t reason;
  /// The reason that is set when the deadline has passed.
  int32_t lateReason;
  /// The time of `interruption_now` at which the work has to end; INT64_MAX for none.
  int64_t deadline;
};

/// Returns the time of a monotonic clock, in nanoseconds.
int64_t interruption_now(void);

/// Sets the reason why the work has to end. The first reason counts.
void interruption_stop(struct interruption *state, int32_t reason);

/// Sets the time at which the work has to end.
void interruption_set_deadline(struct interruption *state, int64_t deadline);

/// Returns the reason why the work has to end; 0 while it may continue. The function reads the
/// clock only if the work has a deadline.
int32_t interruption_reason(struct interruption *state);

#endif
