import JSON
import ObjectModel
import Testing

// Evidence: P-052a
@Suite struct `The predicate language` {
  @Test func `LIKE and MATCHES are comparisons with options`() {
    checkTree("a LIKE 'x*'", #"(like a "x*")"#)
    checkTree("a like[cd] '?y'", #"(like[cd] a "?y")"#)
    checkTree(#"a MATCHES[c] '\\d+'"#, #"(matches[c] a "\\d+")"#)
  }

  @Test func `ANY, ALL, NONE and SOME precede a comparison`() {
    checkTree("ANY tasks.title == 'x'", #"(any == tasks.title "x")"#)
    checkTree("some tasks.title == 'x'", #"(any == tasks.title "x")"#)
    checkTree(
      "ALL tasks.priority > 1 AND NONE tasks.done == YES",
      """
      (and (all > tasks.priority 1) (none == tasks.done true))
      """
    )
    checkTree("NOT ANY tasks IN {'Task/p1'}", #"(not (any in tasks {"Task/p1"}))"#)
    checkTree("ANY (tasks.priority) == 1", "(any == tasks.priority 1)")
  }

  @Test func `a to-many has a count, and its members sums and extremes`() {
    checkTree("tasks.@count > 1", "(> (count tasks) 1)")
    checkTree("group.tasks.@sum.priority == 3", "(== (sum group.tasks priority) 3)")
    checkTree(
      "tasks.@min.group.rank == tasks.@max.due",
      "(== (min tasks group.rank) (max tasks due))"
    )
    checkTree("tasks.@avg.priority < 1.5", "(< (avg tasks priority) 1.5)")
    checkTree("%K > 1", "(> (count tasks) 1)", .positional(["tasks.@count"]))
  }

  @Test func `SUBQUERY gives its members a name`() {
    checkTree(
      "SUBQUERY(tasks, $t, $t.priority > 1 AND $t == SELF).@count > 0",
      "(> (count: (subquery tasks $t (and (> $t.priority 1) (== $t SELF)))) 0)"
    )
    checkTree(
      "SUBQUERY(groups, $g, SUBQUERY($g.tasks, $t, $t.owner == $g.owner).@count > $n).@count == 0",
      "(== (count: (subquery groups $g (> (count: (subquery $g.tasks $t "
        + "(== $t.owner $g.owner))) 2))) 0)",
      .named([.init("n", 2), .init("t", 9)])
    )
    // The name ends with its SUBQUERY: behind it the argument counts again.
    checkTree(
      "SUBQUERY(a, $x, $x.b == 1).@count == $x",
      "(== (count: (subquery a $x (== $x.b 1))) 7)",
      .named([.init("x", 7)])
    )
    checkTree(
      "SUBQUERY(a, $x, ANY $x.b.c == 1).@count == 1",
      """
      (== (count: (subquery a $x (any == $x.b.c 1))) 1)
      """
    )
  }

  @Test func `arithmetic has the usual precedence`() {
    checkTree("a + b * c == 1", "(== (+ a (* b c)) 1)")
    checkTree("(a + b) * c == 1", "(== (* (+ a b) c) 1)")
    checkTree("a - b - c == 1", "(== (- (- a b) c) 1)")
    checkTree("a / b * c == 1", "(== (* (/ a b) c) 1)")
    checkTree("a ** b ** c == 1", "(== (** a (** b c)) 1)")
    checkTree("-a * -2 == - -1", "(== (* (- a) -2) (- -1))")
    checkTree("a-1 == 0", "(== (- a 1) 0)")
    checkTree("a == -9223372036854775808", "(== a -9223372036854775808)")
    checkTree("a IN {-1, -2.5, -9223372036854775808}", "(in a {-1 -2.5 -9223372036854775808})")
    checkTree("a == 9223372036854775808", "(== a 9.223372036854776e+18)")
    checkTree("((a)) + (1) > ((2))", "(> (+ a 1) 2)")
    checkTree("(a + 1 > 2) AND (b == 1)", "(and (> (+ a 1) 2) (== b 1))")
    checkTree("1 + 1 == a.@count + 2", "(== (+ 1 1) (+ (count a) 2))")
  }

  @Test func `functions have a colon`() {
    checkTree("lowercase:(a) == 'x'", #"(== (lowercase a) "x")"#)
    checkTree("uppercase:(a.b) == canonical:('É')", #"(== (uppercase a.b) (canonical "É"))"#)
    checkTree("length:(a) + abs:(b - 2) == 1", "(== (+ (length a) (abs (- b 2))) 1)")
    checkTree("lowercase == 1", "(== lowercase 1)")
  }

  @Test func `a property that is named as a keyword has a sign before it`() {
    checkTree("#any == 1 AND a.#in == 2", "(and (== any 1) (== a.in 2))")
    checkTree("a.in == 2", "(== a.in 2)")
  }

  @Test func `IN takes a list, an argument or a to-many`() {
    checkTree("'x' IN tags.name", #"(in "x" tags.name)"#)
    checkTree("SELF IN group.tasks", "(in SELF group.tasks)")
    checkTree("a IN $list", "(in a [1,2])", .named([.init("list", [1, 2])]))
  }
}
