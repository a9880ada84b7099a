// swift-tools-version: 6.2
// A program that uses Cordial as any other program does: by its products and public names alone.

import PackageDescription

let package = Package(
  name: "outside",
  dependencies: [.package(name: "Cordial", path: "../..")],
  targets: [
    .target(
      name: "TodoValues",
      dependencies: [.product(name: "CordialValues", package: "Cordial")]
    ),
    .target(
      name: "TodoViews",
      dependencies: ["TodoValues", .product(name: "Cordial", package: "Cordial")]
    ),
    .target(
      name: "TodoStore",
      dependencies: [
        "TodoValues", "TodoViews", .product(name: "Cordial", package: "Cordial"),
        .product(name: "CordialFoundation", package: "Cordial"),
        .product(name: "CordialEmbedded", package: "Cordial"),
      ]
    ),
    // `cordial model generate --swift` has written its code.
    .target(
      name: "TodoModel",
      dependencies: [
        .product(name: "Cordial", package: "Cordial"),
        .product(name: "CordialFoundation", package: "Cordial"),
      ]
    ),
    .executableTarget(
      name: "todo",
      dependencies: [
        "TodoStore", "TodoViews", .product(name: "Cordial", package: "Cordial"),
      ]
    ),
    .executableTarget(
      name: "outside",
      dependencies: [
        "TodoModel", "TodoStore", "TodoValues", "TodoViews",
        .product(name: "Cordial", package: "Cordial"),
        .product(name: "CordialFoundation", package: "Cordial"),
      ]
    ),
  ],
  swiftLanguageModes: [.v6]
)
