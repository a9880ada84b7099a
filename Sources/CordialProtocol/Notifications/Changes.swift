import JSON

/// `changes`: the updates of all subscriptions of a connection, in one message.
package enum ChangesNotification {
  private static let change = Schema.object([
    .required("subscription", .string, "which"),
    .optional("objects", .array(.map(.any)), "by ids: id, change, properties, object, last"),
    .optional("remove", .array(.map(.any)), "by fetch: offset, id, movedTo, deleted, last"),
    .optional("insert", .array(.map(.any)), "by fetch: offset, id, movedFrom, object"),
    .optional("update", .array(.map(.any)), "by fetch: offset, id, properties, object"),
    .optional("count", .count, "by fetch: the length after applying"),
    .optional("signal", .boolean, "mode signal: something changed"),
    .optional("fresh", .boolean, "start over from result"),
    .optional("result", .any, "with fresh"),
    .optional("error", .any, "why the subscription has ended"),
  ])

  package static let method = Method.notification(
    "changes",
    "What became of the connection's subscriptions between two positions.",
    direction: .serverToClient,
    params: [
      .required("from", .token, "the position that the connection had"),
      .required("token", .token, "the position that it has now"),
      .required("authors", .array(.nullable(.string)), "of all commits between the two"),
      .required("updates", .array(change), "in the order of the subscriptions"),
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
