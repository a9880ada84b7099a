# shellcheck shell=bash
# The rows about programs that use the Swift library; Tools/bench reads this file and runs
# row_program, which builds such programs. It takes minutes, so that --quick leaves it out.

# write_program NAME DEPENDENCIES PRODUCTS SOURCE: a package with one program.
write_program() {
  local folder=$work/programs/$1
  mkdir -p "$folder/Sources/$1"
  cat >"$folder/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "$1",
  dependencies: [$2],
  targets: [.executableTarget(name: "$1", dependencies: [$3])]
)
END
  printf '%s\n' "$4" >"$folder/Sources/$1/main.swift"
}

# build_program NAME OPTION...: builds a program, and prints the seconds that it took.
build_program() {
  local name=$1 began
  shift
  began=$(date +%s%N)
  swift build --package-path "$work/programs/$name" "$@" >"$work/build.log" 2>&1 || {
    say "No program $name: $(grep -m 1 error "$work/build.log")"
    return 1
  }
  echo "{\"seconds\":$((($(date +%s%N) - began) / 1000000000))}"
}

# measure_program NAME: the size and the start of a static program.
measure_program() {
  local name=$1 binary size
  build_program "$name" -c release --static-swift-stdlib >/dev/null || return 0
  binary=$work/programs/$name/.build/release/$name
  strip -o "$work/stripped" "$binary"
  size=$(stat -c %s "$work/stripped")
  "$binary" >/dev/null
  for ((run = 0; run < starts; run++)); do
    local began
    began=$(date +%s%N)
    "$binary" >/dev/null
    echo "{\"bytes\":$size,\"microseconds\":$((($(date +%s%N) - began) / 1000))}"
  done >>"$work/figures/program-$name"
}

row_program() {
  if $quick; then return; fi
  local ours nio name product use
  ours=".package(name: \"Cordial\", path: \"$PWD\")"
  nio=$(sed -n 's/^ *\(\.package(url: "[^"]*swift-nio", [^)]*)\).*/\1/p' Package.swift)
  product='.product(name: "Cordial", package: "Cordial")'
  use='import Cordial
let predicate: FetchPredicate = "title == \("x")"
print(predicate.format)
if CommandLine.arguments.count > 1 {
  let client = try await Client.socket(CommandLine.arguments[1])
  print(client.state)
}'
  write_program library "$ours" "$product" "$use"
  write_program foundation "$ours" \
    "$product, .product(name: \"CordialFoundation\", package: \"Cordial\")" \
    "import CordialFoundation
import Foundation
$use
let date: FetchPredicate = \"due < \\(Date())\"
print(date.arguments.count)"
  write_program network "$nio" '.product(name: "NIOPosix", package: "swift-nio")' 'import NIOPosix
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
print(group)
try await group.shutdownGracefully()'
  for name in library network; do
    swift package --package-path "$work/programs/$name" resolve >/dev/null 2>&1
    build_program "$name" >>"$work/figures/program-build-$name" || true
  done
  for name in library foundation; do measure_program "$name"; done
  row 'first build of a program' s 'swift-nio alone' "$(figure program-build-network seconds)" \
    "$(figure program-build-library seconds)" '<= 1.5 x'
  row 'static program, size' B 'with CordialFoundation' "$(figure program-foundation bytes)" \
    "$(figure program-library bytes)" '<= 0.34 x'
  row 'static program, start to end' us 'with CordialFoundation' \
    "$(figure program-foundation microseconds)" "$(figure program-library microseconds)" '<= 0.5 x'
}
