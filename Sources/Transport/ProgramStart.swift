import CPosix
import Glibc

/// The start of another program.
package enum ProgramStart {
  /// Starts a program with nothing of this process but its standard error and its environment.
  ///
  /// This process ignores SIGPIPE and may block signals, which a program would inherit. The program
  /// has the usual signals. It has no other descriptor, not even one that this process inherited.
  ///
  /// - Parameters:
  ///   - program: The path of the program; a name without a slash is searched in `PATH`.
  ///   - arguments: The arguments after the name.
  ///   - input: The descriptor that becomes its standard input.
  ///   - output: The descriptor that becomes its standard output.
  /// - Returns: The number of the process, and the system's number of the error, 0 for none.
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
