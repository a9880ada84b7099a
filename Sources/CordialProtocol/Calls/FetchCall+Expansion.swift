import CordialValues
package import JSON
package import JSONRPC

extension FetchCall {
  /// Replaces the names of a stored request and of a stored selection by their contents.
  ///
  /// - Parameters:
  ///   - params: The params of the message, before or after their check.
  ///   - template: Returns the params of a stored request by its name; nil if it does not exist.
  ///   - selection: Returns the `select` of a stored selection by its name and entity; nil if it
  ///     does not exist.
  /// - Returns: The params without names of stored requests and selections.
  /// - Throws: `RPCError` with the code `invalidParams` for a name that the model does not have.
  package static func expand(
    _ params: JSONValue,
    template: (String) -> [JSONMember]?,
    selection: (_ name: String, _ entity: String) -> JSONValue?
  ) throws(RPCError) -> JSONValue {
    guard params[.template] != nil || params[.value] != nil, var members = params.members else {
      return params
    }
    if let name = params[.template]?.string {
      guard let stored = template(name) else {
        throw RPCError(.invalidParams, "fetch: the model has no template \(name.excerpt)")
      }
      members.removeAll { $0.isOne(of: .template) }
      let sent = Set(members.map(\.name))
      members = stored.filter { !sent.contains($0.name) } + members
    }
    let whole = JSONValue.object(members)
    guard let name = whole[.value]?.string else { return whole }
    guard whole[.select] == nil else {
      throw RPCError(.invalidParams, "fetch: name either a value or a select")
    }
    guard let select = selection(name, whole[.entity]?.string ?? "") else {
      throw RPCError(
        .invalidParams,
        "fetch: the model has no value \(name.excerpt) of that entity"
      )
    }
    return .object(members.filter { !$0.isOne(of: .value) } + [JSONMember(.select, select)])
  }
}
