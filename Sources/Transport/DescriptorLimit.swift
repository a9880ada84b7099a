import Glibc

/// The limit of the process's file descriptors, and those of them that no peer gets.
package enum DescriptorLimit {
  /// The number of descriptors that a program needs that opens a store and has no peers.
  package static let programMin = 32
  /// The number that a service on a socket needs.
  package static let listenerMin = reserved + 32
  /// The number that the process keeps for itself: about 70 when it uses all readers of the store,
  /// all searchers and a backup at the same time, and signals and files of SQLite's sorts.
  private static let reserved = 96
  /// The limit below which a process raises its limit, if it may.
  private static let raisedMin: rlim_t = 256

  /// Checks that the process can open a number of descriptors besides those that it has.
  ///
  /// SwiftNIO ends the process when its loop gets no descriptor, and a signal source without one
  /// gets no signals.
  ///
  /// - Parameter count: The number of descriptors.
  /// - Throws: `TransportError` with the code `tooFewDescriptors`.
  package static func check(_ count: Int = programMin) throws(TransportError) {
    raise()
    var opened: [CInt] = []
    var failure: CInt = 0
    while opened.count < count, failure == 0 {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      if descriptor >= 0 { opened.append(descriptor) } else { failure = errno }
    }
    for descriptor in opened { _ = close(descriptor) }
    guard failure != 0 else { return }
    let reason = unsafe String(cString: strerror(failure))
    throw TransportError(
      .tooFewDescriptors,
      "Only \(opened.count) more files can be opened, and \(count) are needed: \(reason)",
      hint: "Raise the limit of open files, as with: ulimit -n 1024"
    )
  }

  /// Returns whether a peer may have a descriptor.
  ///
  /// A new descriptor is the lowest that is free. Peers therefore never have one of the last
  /// numbers, which the process has for its files whatever number of peers connect.
  static func admits(peer descriptor: CInt) -> Bool {
    rlim_t(descriptor) + rlim_t(reserved) < present().rlim_cur
  }

  /// Raises the limit to its maximum, for a process with many peers.
  ///
  /// Each peer takes a descriptor. Shells begin with 1,024 where the system allows far more.
  static func raiseToMaximum() {
    set(present().rlim_max)
  }

  private static func raise() {
    let limit = present()
    guard limit.rlim_cur < raisedMin else { return }
    set(min(limit.rlim_max, raisedMin))
  }

  private static func present() -> rlimit {
    var limit = rlimit()
    _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit
  }

  private static func set(_ soft: rlim_t) {
    var limit = present()
    limit.rlim_cur = soft
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
