# Turns Debian's package lists (dpkg's status file, `apt-cache dumpavail`) into JSON lines that
# `cordial import` reads: sections and maintainers first, then packages with what they depend on.

function json(text) {
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  gsub(/\t/, "\\t", text)
  gsub(/[\001-\037]/, " ", text)
  return "\"" text "\""
}

# The first alternative of each dependency, without versions and architectures.
function dependencies(text, parts, count, i, name, list, seen) {
  count = split(text, parts, /,/)
  list = ""
  split("", seen)
  for (i = 1; i <= count; i++) {
    name = parts[i]
    sub(/\|.*/, "", name)
    sub(/\(.*/, "", name)
    sub(/:.*/, "", name)
    gsub(/[ \t]/, "", name)
    if (name == "" || name in seen) continue
    seen[name] = 1
    list = list (list == "" ? "" : ",") json("Package/" name)
  }
  return list
}

function finish(values, email, who) {
  if (name == "" || name in known) { reset(); return }
  known[name] = 1
  values = "\"name\":" json(name) ",\"version\":" json(version) ",\"architecture\":" json(architecture)
  if (size != "") values = values ",\"installedSize\":" size
  if (essential == "yes") values = values ",\"essential\":true"
  if (homepage ~ /^[a-z]+:[^ <>"{}|\\^`]+$/) values = values ",\"homepage\":" json(homepage)
  if (summary != "") values = values ",\"summary\":" json(summary)
  if (details != "") values = values ",\"details\":" json(details)
  if (section != "") {
    if (!(section in sections)) {
      sections[section] = 1
      print "{\"id\":" json("Section/" section) ",\"values\":{\"name\":" json(section) "}}"
    }
    values = values ",\"section\":" json("Section/" section)
  }
  if (maintainer != "") {
    who = maintainer
    email = ""
    if (match(who, /<[^>]*>/)) {
      email = substr(who, RSTART + 1, RLENGTH - 2)
      who = substr(who, 1, RSTART - 1)
    }
    gsub(/^[ "]+|[ "]+$/, "", who)
    if (!(maintainer in maintainers)) {
      maintainers[maintainer] = 1
      print "{\"id\":" json("Maintainer/" maintainer) ",\"values\":{\"name\":" json(who) \
        (email == "" ? "" : ",\"email\":" json(email)) "}}"
    }
    values = values ",\"maintainer\":" json("Maintainer/" maintainer)
  }
  needed = dependencies(depends)
  if (needed != "") values = values ",\"dependsOn\":[" needed "]"
  print "{\"id\":" json("Package/" name) ",\"values\":{" values "}}"
  reset()
}

function reset() {
  name = version = architecture = size = essential = homepage = summary = details = ""
  section = maintainer = depends = field = ""
}

BEGIN { reset() }
/^$/ { finish(); next }
/^[ \t]/ {
  if (field == "Description") {
    line = substr($0, 2)
    details = details (details == "" ? "" : " ") (line == "." ? "" : line)
  } else if (field == "Depends") {
    depends = depends $0
  }
  next
}
{
  at = index($0, ":")
  field = substr($0, 1, at - 1)
  value = substr($0, at + 2)
  if (field == "Package") name = value
  else if (field == "Version") version = value
  else if (field == "Architecture") architecture = value
  else if (field == "Installed-Size") size = value + 0
  else if (field == "Essential") essential = value
  else if (field == "Homepage") homepage = value
  else if (field == "Section") section = value
  else if (field == "Maintainer") maintainer = value
  else if (field == "Depends") depends = value
  else if (field == "Description") summary = value
}
END { finish() }
