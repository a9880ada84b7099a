import CordialProtocol
import JSON

/// `observe/list`: lists the subscriptions of all connections, with their costs.
extension ListSubscriptionsCall: DescribedCall {
  package static let method = Method.request(
    name,
    "Lists the subscriptions of all connections, with how they are matched and what they cost.",
    order: .read,
    traits: [.isScripted],
    result: .object([
      .required(
        .subscriptions,
        .array(
          .object([
            .required(.connection, .count, "the number of the connection"),
            .required(.subscription, .string, "the name within the connection"),
            .optional(.key, .string, "the key within the connection"),
            .required(.request, .any, "the observed request"),
            .required(.mode, .choice(["values", "ids", "signal"]), "the content of the updates"),
            .required(
              .matching,
              .choice(["id", "equality", "range", "predicate", "sql"]),
              "how changes are matched with the request"
            ),
            .required(.rows, .count, "the number of elements of the result"),
            .required(.bytes, .count, "the approximate memory, shared by equal requests"),
            .required(
              .commits,
              .count,
              "the updates whose changes were compared with the request"
            ),
            .required(.wakes, .count, "the updates that may have altered the result"),
            .required(.statements, .count, "the SQL statements that were run"),
            .required(.reruns, .count, "the times that the whole request was read again"),
            .required(.microseconds, .count, "the time of all updates"),
            .optional(
              .last,
              .object([
                .required(.token, .token, "the position after it"),
                .optional(.explanation, .array(UpdateFields.explanation), "the changes behind it"),
              ]),
              "the last update that may have altered it"
            ),
          ])
        ),
        "the subscriptions, ordered by connection and number"
      )
    ])
  )
}
