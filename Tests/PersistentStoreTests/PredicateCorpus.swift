/// Predicates in the shapes that applications write.
///
/// Each line is an entity, a predicate and its arguments. The models are `PredicateCorpusModels`.
enum PredicateCorpus {
  /// A predicate over an entity.
  struct Shape: Sendable {
    let entity: String
    let predicate: String
    /// The arguments as JSON: a list for placeholders, or an object for variables.
    let arguments: String
  }

  /// Returns the shapes of a text that has one on each line that is not empty.
  static func shapes(_ text: String) -> [Shape] {
    text.split(separator: "\n").map { line in
      // A bar without spaces around it is part of the predicate.
      let fields = line.split(separator: " | ", maxSplits: 2).map(String.init)
      return Shape(
        entity: fields[0],
        predicate: fields.count > 1 ? fields[1] : "",
        arguments: fields.count > 2 ? fields[2] : "[]"
      )
    }
  }

  /// A feed reader's predicates: search, unread counts, synchronization and clean-up.
  static let feeds = shapes(
    #"""
    Article | isRead == NO
    Article | isRead == YES AND isStarred == NO
    Article | isRead = %d | [false]
    Article | isStarred == %@ | [true]
    Article | isRead == %@ AND feed == %@ | [false, "Feed/p1"]
    Article | guid == %@ | ["urn:example:1"]
    Article | guid = %@ AND feed.url = %@ | ["urn:example:1", "https://example.org/feed.xml"]
    Article | guid IN %@ | [["urn:example:1", "urn:example:2", "urn:example:3"]]
    Article | NOT (guid IN %@) | [["urn:example:1", "urn:example:2"]]
    Article | !(guid IN %@) | [["urn:example:1"]]
    Article | feed = %@ AND NOT (guid in %@) | ["Feed/p1", ["urn:example:1", "urn:example:2"]]
    Article | not %K in %@ | ["guid", ["urn:example:4"]]
    Article | link == %@ | ["https://example.org/a/1"]
    Article | link CONTAINS[c] %@ | ["example.org"]
    Article | feed.folder == %@ | ["Folder/p1"]
    Article | feed.folder.name == %@ AND isRead == 0 | ["News"]
    Article | feed.title CONTAINS[cd] %@ | ["news"]
    Article | published >= %@ | ["2026-01-02T03:04:05.000Z"]
    Article | published > %@ AND published <= %@ | ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"]
    Article | (published >= %@) AND (published < %@) | \#
    ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"]
    Article | published BETWEEN %@ | [["2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z"]]
    Article | published BETWEEN {%@, %@} | ["2026-01-01T00:00:00Z", "2026-01-31T23:59:59Z"]
    Article | published == nil
    Article | published != nil AND published < %@ AND isStarred == NO | ["2025-12-01T00:00:00Z"]
    Article | dateAdded < %@ AND isRead == YES AND isStarred == NO AND tags.@count == 0 | \#
    ["2025-11-01T00:00:00.000Z"]
    Article | title CONTAINS[cd] %@ | ["swift"]
    Article | title contains[c] %@ or summary contains[c] %@ | ["swift", "swift"]
    Article | (title contains [cd] %@) | ["café"]
    Article | title CONTAINS[cd] %@ OR summary CONTAINS[cd] %@ OR author CONTAINS[cd] %@ \#
    OR feed.title CONTAINS[cd] %@ | ["a", "a", "a", "a"]
    Article | %K CONTAINS[cd] %@ | ["title", "release"]
    Article | %K == %@ | ["guid", "urn:example:1"]
    Article | %K == NO | ["isRead"]
    Article | %K == %@ AND %K == %@ | ["isRead", false, "feed.isSubscribed", true]
    Article | %K IN %@ | ["guid", ["urn:example:1", "urn:example:2"]]
    Article | %K > %@ && %K == %d | ["published", "2026-01-02T03:04:05Z", "isPaywalled", 0]
    Article | %K = nil | ["feed.folder"]
    Article | %K BEGINSWITH[cd] %@ | ["feed.title", "the"]
    Article | author ==[cd] %@ | ["jose garcia"]
    Article | author LIKE[cd] %@ | ["*garcia*"]
    Article | title LIKE 'Breaking*'
    Article | title LIKE[c] "*what?s new*"
    Article | title BEGINSWITH "The "
    Article | title ENDSWITH[c] '?'
    Article | link BEGINSWITH 'https://' AND NOT link CONTAINS 'utm_'
    Article | title MATCHES[c] '.*\\bswift\\b.*'
    Article | title MATCHES %@ | ["^[0-9]+ (things|ways) .*$"]
    Article | ANY tags == %@ | ["Tag/p1"]
    Article | ANY tags.name == %@ | ["favorites"]
    Article | ANY tags.name IN %@ | [["favorites", "later"]]
    Article | ANY tags IN %@ | [["Tag/p1", "Tag/p2"]]
    Article | tags CONTAINS %@ | ["Tag/p1"]
    Article | %@ IN tags | ["Tag/p2"]
    Article | %@ IN tags.name | ["later"]
    Article | NONE tags.name == 'hidden'
    Article | NOT (ANY tags.name IN %@) | [["hidden", "muted"]]
    Article | isRead == NO AND tags.@count > 0
    Article | SUBQUERY(tags, $t, $t.name IN %@).@count == %d | [["later", "favorites"], 2]
    Article | SUBQUERY(tags, $x, $x.name ENDSWITH %@).@count == 0 | ["/read"]
    Article | wordCount > %d | [250]
    Article | wordCount >= 100 AND wordCount < 2000 AND isPaywalled == false
    Article | body != nil && body != ""
    Article | body == nil OR body == ''
    Article | feed == nil
    Article | feed != nil AND feed.isMuted != YES
    Article | feed IN %@ | [["Feed/p1", "Feed/p2"]]
    Article | feed.isSubscribed = true and isRead = false
    Article | SELF IN %@ | [["Article/p1", "Article/p2"]]
    Article | self != %@ AND link == %@ | ["Article/p1", "https://example.org/a/1"]
    Article | rank == nil OR rank < %f | [0.5]
    Article | (flags & %d) != 0 | [4]
    Episode | downloadState == %ld | [2]
    Episode | downloadState == %d OR downloadState == %d | [1, 2]
    Episode | downloadState IN {1, 2, 3}
    Episode | downloadState != %d AND playPosition > 0 | [0]
    Episode | feed.uuid == %@ | ["9f1c5b7e-0000-4000-8000-000000000001"]
    Episode | playCount = 0 AND feed.isSubscribed = 1
    Episode | fileSize > %lld | [104857600]
    Episode | duration - playPosition < %f AND playedAt == nil | [30.0]
    Episode | playPosition >= duration * 0.95
    Episode | playedAt > %@ || (playPosition > %f && isStarred == YES) | ["2026-01-01T00:00:00Z", 5]
    Episode | mediaType BEGINSWITH 'audio/'
    Episode | mediaType IN {"audio/mpeg", "audio/mp4"}
    Item | entity == %@ | ["Episode"]
    Item | entity.name == 'Episode' AND isRead == NO
    Feed | url == %@ | ["https://example.org/feed.xml"]
    Feed | uuid = %@ AND isSubscribed = YES | ["9f1c5b7e-0000-4000-8000-000000000001"]
    Feed | isSubscribed == YES AND folder == nil
    Feed | isMuted == NO OR isMuted == nil
    Feed | ANY items.isRead == NO
    Feed | ANY items.title CONTAINS[cd] %@ | ["election"]
    Feed | SUBQUERY(items, $i, $i.isRead == NO).@count > 0
    Feed | SUBQUERY(items, $item, $item.isRead == NO AND $item.published > %@).@count >= %d | \#
    ["2026-01-01T00:00:00.000Z", 3]
    Feed | lastFetched == nil OR lastFetched < %@ | ["2026-01-02T03:04:05.000Z"]
    Feed | lastFetched + refreshInterval < now() AND errorCount < 5
    Feed | items.@max.published < %@ | ["2025-01-01T00:00:00.000Z"]
    Feed | ALL items.isRead == YES
    Feed | NONE items.isStarred == YES
    Feed | etag = NULL
    Feed | iconData == nil AND homePage != nil
    Feed | title ==[c] $title OR url == $url | {"title": "News", "url": "https://example.org/f"}
    Feed | settings.notify == true
    Folder | parent == nil AND position >= %d | [3]
    Folder | SUBQUERY(feeds, $f, SUBQUERY($f.items, $i, $i.isRead == NO).@count > 0).@count > 0
    Folder | ANY feeds.items.isStarred == YES
    Folder | feeds.@sum.errorCount > 10
    Tag | name ==[cd] %@ AND isSystem == NO | ["Later"]
    Tag | isSystem == NO AND items.@count == 0
    Tag | items.@count BETWEEN {1, 5}
    Tag | SUBQUERY(items, $i, $i.feed == %@).@count > 0 | ["Feed/p1"]
    Article | SELF.isRead == NO AND SELF.feed.title != nil
    Article | FALSEPREDICATE
    Article | {1, 2, 4} CONTAINS flags
    Article | 'draft' IN[c] tags.name
    Article | noindex:(title) == %@ | ["Release notes"]
    Article | %@ == nil OR feed == %@ | [null, "Feed/p1"]
    Article | ANY feed == %@ | ["Feed/p1"]
    Article | ANY feed.title == %@ | ["News"]
    Article | NONE guid IN %@ | [["urn:example:1", "urn:example:2"]]
    Article | ANY SELF.guid IN %@ | [["urn:example:1", "urn:example:2"]]
    Article | title.length > 0
    Episode | chapters[SIZE] > 0
    Episode | TERNARY(duration > 3600, playPosition / 60, playPosition) > 45
    Episode | floor:(duration / 60) >= %d | [20]
    Feed | items[FIRST].isRead == NO
    Feed | count:(items) == 0
    Feed | count:(items.@distinctUnionOfObjects.author) > 1
    Folder | children[SIZE] == 0 AND feeds[SIZE] == 0
    Tag | ANY items.feed.folder == %@ | ["Folder/p1"]
    Tag | items.@count > %u | [3]
    """#
  )

  /// A shop's predicates: catalogues, prices, stock, orders and statistics.
  static let shop = shapes(
    #"""
    Product | sku == %@ | ["A-100"]
    Product | sku == 'A-100' || barcode == 4006381333931
    Product | sku BEGINSWITH[c] %@ | ["a-"]
    Product | sku MATCHES '[A-Z]{1,3}-[0-9]+'
    Product | isAvailable == TRUE
    Product | isAvailable == 1 AND stock > 0
    Product | (isAvailable = YES) AND (stock <= %i) | [5]
    Product | stock == 0 OR isAvailable == NO
    Product | isFeatured == %@ || isFeatured == nil | [false]
    Product | price < %@ | ["20.00"]
    Product | price >= %f AND price <= %f | [9.5, 99.5]
    Product | price BETWEEN {10, 20.5}
    Product | price BETWEEN %@ AND isAvailable == YES | [["5.00", "15.00"]]
    Product | %K BETWEEN {%d, %d} | ["stock", 1, 10]
    Product | name CONTAINS[cd] %@ AND price < %d | ["lamp", 50]
    Product | name CONTAINS[cd] %@ OR details CONTAINS[cd] %@ OR sku ==[c] %@ | \#
    ["oak", "oak", "oak"]
    Product | (name CONTAINS[c] %@ OR details CONTAINS[c] %@) AND isAvailable == YES | \#
    ["red", "red"]
    Product | name LIKE[cd] '*table*' && !(name LIKE[cd] '*tablet*')
    Product | name like %@ | ["Chair ?"]
    Product | name == NULL OR name == ""
    Product | rating >= %g | [4.5]
    Product | rating > 4.0 AND reviews.@count >= 10
    Product | weight < 2.5
    Product | barcode == %llu | [4006381333931]
    Product | barcode IN %@ | [[4006381333931, 4006381333948]]
    Product | addedAt > %@ | ["2026-01-01T00:00:00.000Z"]
    Product | addedAt >= %@ AND isFeatured == YES AND stock > %d | ["2026-01-01T00:00:00Z", 0]
    Product | image != nil
    Product | page == nil OR page ENDSWITH '.html'
    Product | ANY categories == %@ | ["Category/p1"]
    Product | ANY categories.name LIKE[c] %@ | ["garden*"]
    Product | ANY categories.slug IN {"sale", "outlet"} AND stock > 0
    Product | categories CONTAINS %@ AND NOT (categories CONTAINS %@) | \#
    ["Category/p1", "Category/p2"]
    Product | SUBQUERY(categories, $c, $c.isHidden == YES).@count == 0
    Product | SUBQUERY(categories, $c, $c == %@ OR $c.parent == %@).@count > 0 | \#
    ["Category/p1", "Category/p1"]
    Product | categories.@count = 0
    Product | NONE categories.isHidden == YES AND categories.@count > 0
    Product | reviews.@avg.stars >= 4
    Product | reviews.@min.stars > 2 AND reviews.@max.stars == 5
    Product | SUBQUERY(reviews, $r, $r.stars >= %d AND $r.isVerified == YES).@count > %d | [4, 10]
    Product | SUBQUERY(reviews, $r, $r.author == %@).@count == 0 | ["Customer/p1"]
    Product | ALL reviews.stars >= 3
    Product | ANY reviews.postedAt > %@ | ["2026-01-01T00:00:00.000Z"]
    Product | %@ IN fans | ["Customer/p1"]
    Product | fans.@count > reviews.@count
    Product | SUBQUERY(lines, $l, $l.order.placedAt >= %@).@count == 0 | ["2025-06-01T00:00:00Z"]
    Product | lines.@sum.quantity > stock
    Product | specs.color == %@ | ["black"]
    Product | specs.width > 30 AND specs.material IN {"oak", "ash"}
    Product | SELF IN %@ AND isAvailable == YES | [["Product/p1", "Product/p2"]]
    Product | price * 0.9 < 10 AND price > 0
    Product | stock - 5 > lines.@count
    Product | modulus:by:(stock, 12) == 0
    Product | length:(name) > 40
    Product | uppercase:(sku) == sku
    Order | number == %lld | [10042]
    Order | number > %ld AND number <= %ld | [10000, 10100]
    Order | status == "open"
    Order | status IN {'open', 'paid'} AND shippedAt == nil
    Order | status != %@ AND status != %@ | ["cancelled", "returned"]
    Order | status <> 'cancelled'
    Order | status IN[c] %@ | [["OPEN", "PAID"]]
    Order | NOT status IN %@ | [["cancelled"]]
    Order | isPaid == NO AND placedAt < %@ | ["2026-01-02T03:04:05.000Z"]
    Order | isPaid = %@ AND isGift = %@ | [true, false]
    Order | %K == %@ AND %K = %d | ["customer.isActive", true, "isPaid", 1]
    Order | customer == %@ | ["Customer/p1"]
    Order | customer.email ==[c] %@ AND status == 'open' | ["Ada@Example.org"]
    Order | customer.name BEGINSWITH[cd] %@ | ["ada"]
    Order | customer.identifier == %@ | ["9f1c5b7e-0000-4000-8000-000000000001"]
    Order | customer == nil || customer.isActive == NO
    Order | placedAt >= %@ AND placedAt < %@ AND isPaid == YES | \#
    ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"]
    Order | shippedAt - placedAt > 172800
    Order | (placedAt >= $from) AND (placedAt < $to) | \#
    {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}
    Order | total > %@ AND discount == nil | ["100.00"]
    Order | total - discount >= 50
    Order | items.@count >= %d | [3]
    Order | items.@sum.quantity > 10
    Order | ANY items.product == %@ | ["Product/p1"]
    Order | ANY items.product.name CONTAINS[cd] %@ | ["lamp"]
    Order | ANY items.product.categories.slug == 'sale'
    Order | SUBQUERY(items, $i, $i.product.isAvailable == NO).@count > 0
    Order | SUBQUERY(items, $i, $i.quantity * $i.unitPrice > 100).@count > 0
    Order | SUBQUERY(items, $i, ANY $i.product.categories.name IN %@).@count != 0 | \#
    [["Garden", "Home"]]
    Order | note != nil AND NOT (note MATCHES '\\s*')
    LineItem | quantity > 1 && order.isPaid == YES
    LineItem | product.sku = %@ && order.customer = %@ | ["A-100", "Customer/p1"]
    LineItem | quantity * unitPrice >= %@ | ["250.00"]
    LineItem | unitPrice < product.price
    LineItem | order == nil OR product == nil
    LineItem | taxRate == 0.19 OR taxRate == 0.07
    Customer | email CONTAINS '@' AND isActive == YES
    Customer | email MATCHES[c] %@ | ["[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}"]
    Customer | phone BEGINSWITH %s | ["+49"]
    Customer | name ==[cd] "Zoë" OR name ENDSWITH[cd] " zoe"
    Customer | orders.@count == 0 AND joined < %@ | ["2025-01-01T00:00:00.000Z"]
    Customer | orders.@sum.total > 1000
    Customer | orders.@max.placedAt < %@ OR orders.@count == 0 | ["2025-07-01T00:00:00.000Z"]
    Customer | SUBQUERY(orders, $o, $o.status == 'open' AND $o.isPaid == NO).@count >= 2
    Customer | SUBQUERY(orders, $o, SUBQUERY($o.items, $i, $i.product == %@).@count > 0)\#
    .@count > 0 | ["Product/p1"]
    Customer | ANY favorites.price < 10
    Customer | favorites.@count > 0 AND NONE favorites.isAvailable == YES
    Customer | loyaltyPoints >= 100 && credit > 0 && isActive = true
    Customer | address.city == 'Berlin' AND address.country = "DE"
    Customer | birthday != nil AND birthday <= %@ | ["2008-01-01T00:00:00.000Z"]
    Customer | (favorites UNION orders.items.product).@count > 3
    Category | parent == nil
    Category | parent.name = %@ AND isHidden = NO | ["Home"]
    Category | isHidden == NO AND products.@count > 0
    Category | children.@count == 0 AND parent != nil
    Category | SUBQUERY(products, $p, $p.stock > 0 AND $p.price < %@).@count > 0 | ["20.00"]
    Category | sortOrder > %hd AND sortOrder != 32767 | [0]
    Category | products.@avg.price > %f | [49.9]
    Review | product == %@ AND stars == %d | ["Product/p1", 5]
    Review | stars IN %@ | [[4, 5]]
    Review | text != nil AND length:(text) >= 20 AND isVerified == YES
    Review | author.name CONTAINS[cd] %@ OR title CONTAINS[cd] %@ | ["ada", "ada"]
    Review | helpfulVotes > product.reviews.@avg.helpfulVotes
    Review | TRUEPREDICATE
    Product | median:(reviews.stars) >= 4
    Product | max:(lines.unitPrice) > price
    Product | CAST(barcode, 'NSString') BEGINSWITH %@ | ["400"]
    Product | ceiling:(rating) == 5
    Product | TERNARY(isFeatured == YES, price * 0.8, price) < %@ | ["15.00"]
    Product | {"S", "M", "L"} CONTAINS specs.size
    Order | items[FIRST].product.sku == %@ | ["A-100"]
    Order | count:(items) > 2 AND min:(items.quantity) == 1
    LineItem | from:subtract:(product.price, unitPrice) > 0
    Customer | (favorites INTERSECT orders.items.product).@count > 0
    Customer | ANY (favorites MINUS orders.items.product) == %@ | ["Product/p1"]
    Customer | orders.items.product.@distinctUnionOfObjects.sku CONTAINS %@ | ["A-100"]
    Category | name <[cd] 'm'
    """#
  )
}
