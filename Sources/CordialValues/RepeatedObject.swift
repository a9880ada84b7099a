/// The error of a result that contains an object twice, which only a damaged file can cause.
package struct RepeatedObject: Error {
  /// The number of the object.
  package let number: Int64

  package init(number: Int64) {
    self.number = number
  }
}
