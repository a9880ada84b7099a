/// The models, as JSON texts, that the predicates of the corpus are written for.
enum PredicateCorpusModels {
  /// A feed reader that also plays podcasts.
  static let feeds = """
    {"name": "Feeds", "entities": [
      {"name": "Folder", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "position", "type": "int32", "default": 0},
         {"name": "isExpanded", "type": "boolean", "default": true}],
       "relationships": [
         {"name": "parent", "destination": "Folder", "inverse": "children", "optional": true},
         {"name": "children", "destination": "Folder", "toMany": true, "inverse": "parent"},
         {"name": "feeds", "destination": "Feed", "toMany": true, "inverse": "folder"}]},
      {"name": "Feed", "attributes": [
         {"name": "title", "type": "string", "optional": true},
         {"name": "url", "type": "uri"},
         {"name": "homePage", "type": "uri", "optional": true},
         {"name": "uuid", "type": "uuid", "optional": true},
         {"name": "etag", "type": "string", "optional": true},
         {"name": "isSubscribed", "type": "boolean", "default": true},
         {"name": "isMuted", "type": "boolean", "optional": true},
         {"name": "lastFetched", "type": "date", "optional": true},
         {"name": "errorCount", "type": "int32", "default": 0},
         {"name": "refreshInterval", "type": "double", "default": 3600},
         {"name": "iconData", "type": "binary", "optional": true},
         {"name": "settings", "type": "json", "optional": true}],
       "relationships": [
         {"name": "folder", "destination": "Folder", "inverse": "feeds", "optional": true},
         {"name": "items", "destination": "Item", "toMany": true, "inverse": "feed"}]},
      {"name": "Item", "abstract": true, "attributes": [
         {"name": "guid", "type": "string"},
         {"name": "title", "type": "string", "optional": true},
         {"name": "summary", "type": "string", "optional": true},
         {"name": "author", "type": "string", "optional": true},
         {"name": "link", "type": "uri", "optional": true},
         {"name": "published", "type": "date", "optional": true},
         {"name": "dateAdded", "type": "date", "optional": true},
         {"name": "isRead", "type": "boolean", "default": false},
         {"name": "isStarred", "type": "boolean", "default": false},
         {"name": "rank", "type": "double", "optional": true},
         {"name": "flags", "type": "int32", "default": 0}],
       "relationships": [
         {"name": "feed", "destination": "Feed", "inverse": "items", "optional": true},
         {"name": "tags", "destination": "Tag", "toMany": true, "inverse": "items"}]},
      {"name": "Article", "parent": "Item", "attributes": [
         {"name": "body", "type": "string", "optional": true},
         {"name": "wordCount", "type": "int32", "default": 0},
         {"name": "isPaywalled", "type": "boolean", "default": false}]},
      {"name": "Episode", "parent": "Item", "attributes": [
         {"name": "duration", "type": "double", "default": 0},
         {"name": "playPosition", "type": "double", "default": 0},
         {"name": "playCount", "type": "int32", "default": 0},
         {"name": "playedAt", "type": "date", "optional": true},
         {"name": "downloadState", "type": "int16", "default": 0},
         {"name": "fileSize", "type": "int64", "default": 0},
         {"name": "mediaType", "type": "string", "optional": true},
         {"name": "chapters", "type": "json", "optional": true}]},
      {"name": "Tag", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "color", "type": "string", "optional": true},
         {"name": "isSystem", "type": "boolean", "default": false}],
       "relationships": [
         {"name": "items", "destination": "Item", "toMany": true, "inverse": "tags"}]}]}
    """

  /// A shop with its customers and their orders.
  static let shop = """
    {"name": "Shop", "entities": [
      {"name": "Customer", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "email", "type": "string", "optional": true},
         {"name": "phone", "type": "string", "optional": true},
         {"name": "identifier", "type": "uuid", "optional": true},
         {"name": "birthday", "type": "date", "optional": true},
         {"name": "joined", "type": "date", "optional": true},
         {"name": "isActive", "type": "boolean", "default": true},
         {"name": "loyaltyPoints", "type": "int32", "default": 0},
         {"name": "credit", "type": "decimal", "optional": true},
         {"name": "address", "type": "json", "optional": true}],
       "relationships": [
         {"name": "orders", "destination": "Order", "toMany": true, "inverse": "customer"},
         {"name": "reviews", "destination": "Review", "toMany": true, "inverse": "author"},
         {"name": "favorites", "destination": "Product", "toMany": true, "inverse": "fans"}]},
      {"name": "Order", "attributes": [
         {"name": "number", "type": "int64"},
         {"name": "status", "type": "string", "default": "open"},
         {"name": "placedAt", "type": "date", "optional": true},
         {"name": "shippedAt", "type": "date", "optional": true},
         {"name": "total", "type": "decimal", "optional": true},
         {"name": "discount", "type": "decimal", "optional": true},
         {"name": "isPaid", "type": "boolean", "default": false},
         {"name": "isGift", "type": "boolean", "default": false},
         {"name": "note", "type": "string", "optional": true}],
       "relationships": [
         {"name": "customer", "destination": "Customer", "inverse": "orders", "optional": true},
         {"name": "items", "destination": "LineItem", "toMany": true, "inverse": "order"}]},
      {"name": "LineItem", "attributes": [
         {"name": "quantity", "type": "int32", "default": 1},
         {"name": "unitPrice", "type": "decimal", "optional": true},
         {"name": "taxRate", "type": "double", "default": 0}],
       "relationships": [
         {"name": "order", "destination": "Order", "inverse": "items", "optional": true},
         {"name": "product", "destination": "Product", "inverse": "lines", "optional": true}]},
      {"name": "Product", "attributes": [
         {"name": "sku", "type": "string"},
         {"name": "name", "type": "string", "optional": true},
         {"name": "details", "type": "string", "optional": true},
         {"name": "price", "type": "decimal", "optional": true},
         {"name": "weight", "type": "float", "optional": true},
         {"name": "stock", "type": "int32", "default": 0},
         {"name": "rating", "type": "double", "optional": true},
         {"name": "isAvailable", "type": "boolean", "default": true},
         {"name": "isFeatured", "type": "boolean", "optional": true},
         {"name": "addedAt", "type": "date", "optional": true},
         {"name": "barcode", "type": "int64", "optional": true},
         {"name": "image", "type": "binary", "optional": true},
         {"name": "page", "type": "uri", "optional": true},
         {"name": "specs", "type": "json", "optional": true}],
       "relationships": [
         {"name": "categories", "destination": "Category", "toMany": true, "inverse": "products"},
         {"name": "lines", "destination": "LineItem", "toMany": true, "inverse": "product"},
         {"name": "reviews", "destination": "Review", "toMany": true, "inverse": "product"},
         {"name": "fans", "destination": "Customer", "toMany": true, "inverse": "favorites"}]},
      {"name": "Category", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "slug", "type": "string", "optional": true},
         {"name": "sortOrder", "type": "int16", "default": 0},
         {"name": "isHidden", "type": "boolean", "default": false}],
       "relationships": [
         {"name": "parent", "destination": "Category", "inverse": "children", "optional": true},
         {"name": "children", "destination": "Category", "toMany": true, "inverse": "parent"},
         {"name": "products", "destination": "Product", "toMany": true, "inverse": "categories"}]},
      {"name": "Review", "attributes": [
         {"name": "stars", "type": "int16", "default": 0},
         {"name": "title", "type": "string", "optional": true},
         {"name": "text", "type": "string", "optional": true},
         {"name": "postedAt", "type": "date", "optional": true},
         {"name": "isVerified", "type": "boolean", "default": false},
         {"name": "helpfulVotes", "type": "int32", "default": 0}],
       "relationships": [
         {"name": "product", "destination": "Product", "inverse": "reviews", "optional": true},
         {"name": "author", "destination": "Customer", "inverse": "reviews", "optional": true}]}]}
    """

  /// A messenger with groups, attachments and calls.
  static let chat = """
    {"name": "Chat", "entities": [
      {"name": "User", "attributes": [
         {"name": "handle", "type": "string"},
         {"name": "displayName", "type": "string", "optional": true},
         {"name": "phone", "type": "string", "optional": true},
         {"name": "email", "type": "string", "optional": true},
         {"name": "remoteID", "type": "uuid", "optional": true},
         {"name": "lastSeen", "type": "date", "optional": true},
         {"name": "isBlocked", "type": "boolean", "default": false},
         {"name": "isContact", "type": "boolean", "optional": true},
         {"name": "status", "type": "int16", "default": 0},
         {"name": "avatar", "type": "binary", "optional": true}],
       "relationships": [
         {"name": "conversations", "destination": "Conversation", "toMany": true,
          "inverse": "members"},
         {"name": "owned", "destination": "Conversation", "toMany": true, "inverse": "owner"},
         {"name": "sent", "destination": "Message", "toMany": true, "inverse": "sender"},
         {"name": "seen", "destination": "Message", "toMany": true, "inverse": "readers"},
         {"name": "reactions", "destination": "Reaction", "toMany": true, "inverse": "user"}]},
      {"name": "Conversation", "attributes": [
         {"name": "title", "type": "string", "optional": true},
         {"name": "remoteID", "type": "uuid", "optional": true},
         {"name": "type", "type": "int16", "default": 0},
         {"name": "isMuted", "type": "boolean", "default": false},
         {"name": "isArchived", "type": "boolean", "default": false},
         {"name": "isPinned", "type": "boolean", "optional": true},
         {"name": "lastActivity", "type": "date", "optional": true},
         {"name": "mutedUntil", "type": "date", "optional": true},
         {"name": "unreadCount", "type": "int32", "default": 0},
         {"name": "draft", "type": "string", "optional": true}],
       "relationships": [
         {"name": "owner", "destination": "User", "inverse": "owned", "optional": true},
         {"name": "members", "destination": "User", "toMany": true, "inverse": "conversations"},
         {"name": "messages", "destination": "Message", "toMany": true,
          "inverse": "conversation"}]},
      {"name": "Message", "attributes": [
         {"name": "text", "type": "string", "optional": true},
         {"name": "serverID", "type": "int64", "optional": true},
         {"name": "nonce", "type": "uuid", "optional": true},
         {"name": "sentAt", "type": "date", "optional": true},
         {"name": "deliveredAt", "type": "date", "optional": true},
         {"name": "readAt", "type": "date", "optional": true},
         {"name": "editedAt", "type": "date", "optional": true},
         {"name": "state", "type": "int16", "default": 0},
         {"name": "kind", "type": "int16", "default": 0},
         {"name": "flags", "type": "int32", "default": 0},
         {"name": "isOutgoing", "type": "boolean", "default": false},
         {"name": "isRemoved", "type": "boolean", "optional": true},
         {"name": "expiresAfter", "type": "double", "optional": true},
         {"name": "meta", "type": "json", "optional": true}],
       "relationships": [
         {"name": "conversation", "destination": "Conversation", "inverse": "messages",
          "optional": true},
         {"name": "sender", "destination": "User", "inverse": "sent", "optional": true},
         {"name": "replyTo", "destination": "Message", "inverse": "replies", "optional": true},
         {"name": "replies", "destination": "Message", "toMany": true, "inverse": "replyTo"},
         {"name": "attachments", "destination": "Attachment", "toMany": true,
          "inverse": "message"},
         {"name": "reactions", "destination": "Reaction", "toMany": true, "inverse": "message"},
         {"name": "readers", "destination": "User", "toMany": true, "inverse": "seen"}]},
      {"name": "CallMessage", "parent": "Message", "attributes": [
         {"name": "seconds", "type": "double", "default": 0},
         {"name": "isVideo", "type": "boolean", "default": false},
         {"name": "isMissed", "type": "boolean", "default": false}]},
      {"name": "Attachment", "attributes": [
         {"name": "fileName", "type": "string", "optional": true},
         {"name": "mimeType", "type": "string", "optional": true},
         {"name": "byteCount", "type": "int64", "default": 0},
         {"name": "width", "type": "int32", "default": 0},
         {"name": "height", "type": "int32", "default": 0},
         {"name": "seconds", "type": "float", "optional": true},
         {"name": "localURL", "type": "uri", "optional": true},
         {"name": "isDownloaded", "type": "boolean", "default": false},
         {"name": "thumbnail", "type": "binary", "optional": true}],
       "relationships": [
         {"name": "message", "destination": "Message", "inverse": "attachments",
          "optional": true}]},
      {"name": "Reaction", "attributes": [
         {"name": "emoji", "type": "string"},
         {"name": "createdAt", "type": "date", "optional": true}],
       "relationships": [
         {"name": "message", "destination": "Message", "inverse": "reactions", "optional": true},
         {"name": "user", "destination": "User", "inverse": "reactions", "optional": true}]}]}
    """

  /// Notes and tasks in notebooks.
  static let notes = """
    {"name": "Notes", "entities": [
      {"name": "Notebook", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "position", "type": "int32", "default": 0},
         {"name": "color", "type": "string", "optional": true},
         {"name": "isShared", "type": "boolean", "default": false},
         {"name": "createdAt", "type": "date", "optional": true}],
       "relationships": [
         {"name": "parent", "destination": "Notebook", "inverse": "children", "optional": true},
         {"name": "children", "destination": "Notebook", "toMany": true, "inverse": "parent"},
         {"name": "entries", "destination": "Entry", "toMany": true, "inverse": "notebook"}]},
      {"name": "Entry", "abstract": true, "attributes": [
         {"name": "title", "type": "string", "optional": true},
         {"name": "identifier", "type": "uuid", "optional": true},
         {"name": "createdAt", "type": "date", "optional": true},
         {"name": "modifiedAt", "type": "date", "optional": true},
         {"name": "isPinned", "type": "boolean", "default": false},
         {"name": "isTrashed", "type": "boolean", "optional": true},
         {"name": "trashedAt", "type": "date", "optional": true},
         {"name": "sortIndex", "type": "double", "default": 0},
         {"name": "extra", "type": "json", "optional": true}],
       "relationships": [
         {"name": "notebook", "destination": "Notebook", "inverse": "entries", "optional": true},
         {"name": "labels", "destination": "Label", "toMany": true, "inverse": "entries"}]},
      {"name": "Note", "parent": "Entry", "attributes": [
         {"name": "body", "type": "string", "optional": true},
         {"name": "isLocked", "type": "boolean", "default": false},
         {"name": "wordCount", "type": "int32", "default": 0},
         {"name": "source", "type": "uri", "optional": true}]},
      {"name": "Task", "parent": "Entry", "attributes": [
         {"name": "details", "type": "string", "optional": true},
         {"name": "dueDate", "type": "date", "optional": true},
         {"name": "completedAt", "type": "date", "optional": true},
         {"name": "isCompleted", "type": "boolean", "default": false},
         {"name": "priority", "type": "int16", "default": 0},
         {"name": "estimate", "type": "double", "optional": true},
         {"name": "cost", "type": "decimal", "optional": true},
         {"name": "repeatRule", "type": "string", "optional": true},
         {"name": "weekdays", "type": "int32", "default": 0}],
       "relationships": [
         {"name": "parentTask", "destination": "Task", "inverse": "subtasks", "optional": true},
         {"name": "subtasks", "destination": "Task", "toMany": true, "inverse": "parentTask"},
         {"name": "blockedBy", "destination": "Task", "toMany": true, "inverse": "blocks"},
         {"name": "blocks", "destination": "Task", "toMany": true, "inverse": "blockedBy"},
         {"name": "reminders", "destination": "Reminder", "toMany": true, "inverse": "task"}]},
      {"name": "Label", "attributes": [
         {"name": "name", "type": "string"},
         {"name": "color", "type": "string", "optional": true},
         {"name": "usageCount", "type": "int32", "default": 0}],
       "relationships": [
         {"name": "entries", "destination": "Entry", "toMany": true, "inverse": "labels"}]},
      {"name": "Reminder", "attributes": [
         {"name": "fireDate", "type": "date", "optional": true},
         {"name": "isDone", "type": "boolean", "default": false},
         {"name": "offsetMinutes", "type": "int32", "default": 0},
         {"name": "latitude", "type": "double", "optional": true},
         {"name": "longitude", "type": "double", "optional": true},
         {"name": "place", "type": "string", "optional": true}],
       "relationships": [
         {"name": "task", "destination": "Task", "inverse": "reminders", "optional": true}]}]}
    """
}
