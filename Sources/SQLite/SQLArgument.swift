/// A value that can be bound to a parameter of a statement.
package protocol SQLArgument: Sendable {
  /// Binds the value to a parameter; parameters are numbered from 1.
  func bind(to statement: PreparedStatement, at parameter: Int32)
}

extension String: SQLArgument {
  package func bind(to statement: PreparedStatement, at parameter: Int32) {
    statement.bind(self, at: parameter)
  }
}

extension Int64: SQLArgument {
  package func bind(to statement: PreparedStatement, at parameter: Int32) {
    statement.bind(self, at: parameter)
  }
}

extension PreparedStatement {
  /// Binds values to the statement's parameters, from parameter 1 on; nil binds null.
  func bind(_ arguments: [(any SQLArgument)?]) {
    for (index, argument) in arguments.enumerated() {
      let parameter = Int32(index + 1)
      if let argument {
        argument.bind(to: self, at: parameter)
      } else {
        bind(nil as Int64?, at: parameter)
      }
    }
  }
}
