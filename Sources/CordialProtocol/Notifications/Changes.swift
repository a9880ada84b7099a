import JSON

/// `changes`: the updates of all subscriptions of a connection, in one message.
package enum ChangesNotification {
  private static let change = Schema.object([
    .required("subscription", .string, "the name of the subscription"),
    .optional("objects", .array(.map(.any)), "of ids: id, change, properties, object, last"),
    .optional("remove", .array(.map(.any)), "of a fetch: offset, id, movedTo, deleted, last"),
    .optional("insert", .array(.map(.any)), "of a fetch: offset, id, movedFrom, object"),
    .optional("update", .array(.map(.any)), "of a fetch: offset, id, properties, object"),
    .optional("count", .count, "of a fetch: the new number of objects"),
    .optional("signal", .boolean, "with mode signal: whether the result changed"),
    .optional("fresh", .boolean, "whether the client starts over from result"),
    .optional("result", .any, "with fresh: the complete result"),
    .optional("error", .any, "the error that ended the subscription"),
  ])

  package static let method = Method.notification(
    "changes",
    "Reports the changes of the connection's subscriptions between two positions.",
    direction: .serverToClient,
    params: [
      .required("from", .token, "the position before the changes"),
      .required("token", .token, "the position after the changes"),
      .required("authors", .array(.nullable(.string)), "the authors of the commits in between"),
      .required("updates", .array(change), "the updates, ordered by subscription"),
    ],
    example: [
      "from": "5c1d-6-a1", "token": "5c1d-7-b2", "authors": [nil],
      "updates": [
        [
          "subscription": "s1",
          "objects": [
            [
              "id": "Package/p7", "change": "update", "properties": ["summary"],
              "object": ["id": "Package/p7", "version": 2, "values": ["summary": "A greeting"]],
            ]
          ],
        ]
      ],
    ]
  )
}
