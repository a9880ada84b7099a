import CPosix
import Glibc

/// The start of another program.
package enum ProgramStart {
  /// Starts a program that inherits only the standard error and the environment of this process.
  ///
  /// This process ignores SIGPIPE and may block signals, and programs inherit both by default. The
  /// started program has the default action for SIGPIPE and no blocked signals. It inherits no
  /// other descriptor, not even a descriptor that this process has inherited.
  ///
  /// - Parameters:
  ///   - program: The path of the program; a name without a slash is searched in `PATH`.
  ///   - arguments: The arguments after the name.
  ///   - input: The descriptor that becomes the program's standard input.
  ///   - output: The descriptor that becomes the program's standard output.
  /// - Returns: The process ID, and the system's error number, which is 0 for success.
  package static func start(
    _ program: String,
    _ arguments: [String],
    input: Int32,
    output: Int32
  ) -> (process: Int32, failure: Int32) {
    var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    var process: Int32 = 0
    let failure = unsafe posix_start(program, &words, input, output, &process)
    return (process, failure)
  }
}
