import Glibc

/// The limit of the process's file descriptors, and the descriptors that are reserved for the
/// process.
package enum DescriptorLimit {
  /// The count of descriptors that a program without peers needs to open a store.
  package static let programMin = 32
  /// The count of descriptors that a service on a socket needs.
  package static let listenerMin = reserved + 32
  /// The count of descriptors that no peer gets, because the process needs them itself.
  ///
  /// The process needs about 70 descriptors when it uses all readers of the store, all searchers
  /// and a backup at the same time. Signals and the files of SQLite's sorts need the rest.
  private static let reserved = 96
  /// The limit of descriptors below which the process tries to raise that limit.
  private static let raisedMin: rlim_t = 256

  /// Checks that the process can open a number of further descriptors.
  ///
  /// SwiftNIO ends the process when its loop gets no descriptor, and a signal source without a
  /// descriptor gets no signals.
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
  /// The system gives a new descriptor the lowest free number. The check rejects a peer whose
  /// number is among the highest `reserved` numbers. The process can therefore always open its own
  /// files.
  static func admits(peer descriptor: CInt) -> Bool {
    rlim_t(descriptor) + rlim_t(reserved) < present().rlim_cur
  }

  /// Raises the limit to its maximum, for a process with many peers.
  ///
  /// Each peer takes a descriptor. Shells begin with a limit of 1,024 even if the system allows far
  /// more.
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
