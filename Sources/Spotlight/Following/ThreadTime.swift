import Glibc

/// The processor time of the calling thread.
enum ThreadTime {
  static var microseconds: Int64 {
    var time = timespec()
    // The clock of the calling thread always exists.
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
