/// Predicates of a messenger and of a notebook.
extension PredicateCorpus {
  /// A messenger's predicates: conversations, delivery, unread messages and media.
  static let chat = shapes(
    #"""
    Message | conversation == %@ | ["Conversation/p1"]
    Message | conversation = %@ AND sentAt > %@ | ["Conversation/p1", "2026-01-02T03:04:05.000Z"]
    Message | conversation == %@ AND isRemoved != YES | ["Conversation/p1"]
    Message | conversation == %@ AND (isRemoved == NO OR isRemoved == nil) | ["Conversation/p1"]
    Message | conversation.remoteID == %@ | ["9f1c5b7e-0000-4000-8000-000000000002"]
    Message | %K == %@ AND %K == NULL | ["conversation", "Conversation/p1", "readAt"]
    Message | %K = %lld | ["serverID", 900001]
    Message | serverID == %lld | [900001]
    Message | serverID == 0 OR serverID == nil
    Message | serverID IN %@ AND conversation == %@ | [[900001, 900002], "Conversation/p1"]
    Message | nonce == %@ | ["9f1c5b7e-0000-4000-8000-000000000003"]
    Message | nonce = %@ && sender.remoteID = %@ | \#
    ["9f1c5b7e-0000-4000-8000-000000000003", "9f1c5b7e-0000-4000-8000-000000000004"]
    Message | isOutgoing == NO AND readAt == nil
    Message | isOutgoing == %d AND state < %d | [1, 3]
    Message | isOutgoing = false && conversation.isMuted = false && readAt = nil
    Message | state == %d | [4]
    Message | state IN %@ | [[0, 1, 5]]
    Message | (state == %d || state == %d) && isOutgoing == YES | [0, 5]
    Message | NOT (state == 2) AND NOT (state == 3)
    Message | !(state == 2 OR state == 3) AND sender == nil
    Message | kind == %i AND conversation.type != %i | [1, 2]
    Message | kind != 3 AND kind != 4 AND text != nil
    Message | sender == %@ | ["User/p1"]
    Message | sender.handle == %@ AND conversation == %@ | ["ada", "Conversation/p1"]
    Message | (sender == %@ AND conversation.owner == %@) OR (sender == %@ AND isOutgoing == YES) \#
    | ["User/p1", "User/p2", "User/p2"]
    Message | sender.isBlocked == NO OR sender == nil
    Message | sender IN %@ AND kind = 0 | [["User/p1", "User/p2"]]
    Message | sender IN conversation.members
    Message | text CONTAINS[cd] %@ | ["hello"]
    Message | text CONTAINS[cd] %@ AND conversation.isArchived == NO | ["hello"]
    Message | text contains[c] %@ && sender.displayName beginswith[c] %@ | ["meeting", "a"]
    Message | text CONTAINS "\n"
    Message | text ENDSWITH "!\"" OR text BEGINSWITH 'it\'s'
    Message | text == '\u2764\uFE0F' || text == "👍"
    Message | text MATCHES '(?i).*https?://\\S+.*'
    Message | sentAt <= %@ AND expiresAfter > 0 | ["2026-01-02T03:04:05.000Z"]
    Message | sentAt > %@ && sentAt < %@ && sender == %@ | \#
    ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", "User/p1"]
    Message | sentAt + expiresAfter < %@ | ["2026-01-02T03:04:05.000Z"]
    Message | readAt - deliveredAt >= 60
    Message | editedAt != nil AND editedAt > sentAt
    Message | deliveredAt == NIL
    Message | replyTo != nil AND replyTo.sender == %@ | ["User/p1"]
    Message | replyTo.conversation != conversation
    Message | replies.@count > 0
    Message | attachments.@count > %d | [0]
    Message | ANY attachments.mimeType BEGINSWITH 'image/'
    Message | ANY attachments.isDownloaded == NO AND conversation == %@ | ["Conversation/p1"]
    Message | ALL attachments.isDownloaded == YES AND attachments.@count > 0
    Message | SUBQUERY(attachments, $a, $a.mimeType BEGINSWITH "video/" AND $a.byteCount > %lld)\#
    .@count > 0 | [1048576]
    Message | SUBQUERY(reactions, $r, $r.user == %@ AND $r.emoji == %@).@count > 0 | \#
    ["User/p1", "👍"]
    Message | SUBQUERY(readers, $u, $u != %@).@count == 0 | ["User/p1"]
    Message | NONE readers == %@ | ["User/p1"]
    Message | NOT (%@ IN readers) AND sender != %@ | ["User/p1", "User/p1"]
    Message | reactions.@count >= 1 AND ANY reactions.emoji IN {"👍", "❤️"}
    Message | SUBQUERY(readers, $u, $u IN conversation.members).@count \#
    == conversation.members.@count
    Message | (flags & 2) == 2 AND (flags & 8) == 0
    Message | flags & %d == %d | [6, 6]
    Message | meta.mentions CONTAINS %@ | ["ada"]
    Message | meta.location != nil AND meta.location.accuracy < 50
    Message | self == %@ | ["Message/p1"]
    Message | objectID IN %@ | [["Message/p1", "Message/p2"]]
    Message | entity != 'CallMessage' AND conversation == %@ | ["Conversation/p1"]
    CallMessage | isMissed == YES AND isVideo == NO
    CallMessage | seconds > %f AND sender.isContact = YES | [60]
    CallMessage | isMissed == YES AND readAt == nil AND conversation.isMuted == NO
    Conversation | remoteID == %@ | ["9f1c5b7e-0000-4000-8000-000000000002"]
    Conversation | remoteID IN %@ | [["9f1c5b7e-0000-4000-8000-000000000002"]]
    Conversation | isArchived == NO AND lastActivity != nil
    Conversation | isArchived == 0 && isMuted == 0 && unreadCount > 0
    Conversation | isPinned == YES OR unreadCount > 0
    Conversation | type == %d AND title CONTAINS[cd] %@ | [1, "team"]
    Conversation | type IN {0, 1} AND messages.@count > 0
    Conversation | title CONTAINS[cd] %@ OR ANY members.displayName CONTAINS[cd] %@ | ["ada", "ada"]
    Conversation | (title == nil OR title == '') AND members.@count == 2
    Conversation | members.@count == %lu | [3]
    Conversation | ANY members == %@ | ["User/p1"]
    Conversation | ANY members.handle == %@ AND type == 0 | ["ada"]
    Conversation | ANY members == %@ AND ANY members == %@ AND members.@count == 2 | \#
    ["User/p1", "User/p2"]
    Conversation | SUBQUERY(members, $m, $m IN %@).@count == %d | [["User/p1", "User/p2"], 2]
    Conversation | SUBQUERY(members, $m, NOT ($m.handle IN %@)).@count == 0 | [["ada", "bob"]]
    Conversation | ALL members.isContact == YES
    Conversation | NONE members.isBlocked == YES
    Conversation | owner == %@ OR %@ IN members | ["User/p1", "User/p1"]
    Conversation | SUBQUERY(messages, $m, $m.readAt == nil AND $m.isOutgoing == NO).@count > 0
    Conversation | SUBQUERY(messages, $m, $m.text CONTAINS[cd] %@ AND $m.isRemoved != YES)\#
    .@count > 0 | ["hello"]
    Conversation | SUBQUERY(messages, $m, SUBQUERY($m.attachments, $a, $a.width > 1000)\#
    .@count > 0).@count != 0
    Conversation | ANY messages.attachments.isDownloaded == NO
    Conversation | ANY messages.sentAt >= %@ | ["2026-01-01T00:00:00.000Z"]
    Conversation | messages.@max.sentAt > lastActivity
    Conversation | messages.@count == 0 AND (draft == nil OR draft == "")
    Conversation | mutedUntil == nil OR mutedUntil < %@ | ["2026-01-02T03:04:05.000Z"]
    Conversation | lastActivity >= %@ AND (isArchived == NO OR unreadCount > %d) | \#
    ["2026-01-01T00:00:00.000Z", 0]
    User | handle ==[c] %@ | ["ADA"]
    User | handle IN %@ AND isBlocked == NO | [["ada", "bob"]]
    User | remoteID == %@ OR phone == %@ | ["9f1c5b7e-0000-4000-8000-000000000004", "+49 30 1"]
    User | displayName BEGINSWITH[cd] %@ OR displayName CONTAINS[cd] %@ | ["a", " a"]
    User | displayName MATCHES[cd] %@ | [".*\\bada.*"]
    User | displayName LIKE[cd] %@ AND isContact == YES | ["ad* l*"]
    User | displayName >= 'A' AND displayName < 'B'
    User | isContact == YES AND isBlocked == NO AND (email != nil OR phone != nil)
    User | isContact == TRUE OR conversations.@count > 0
    User | NOT (SELF IN %@) AND isBlocked == NO | [["User/p1"]]
    User | SELF != %@ AND handle BEGINSWITH %@ | ["User/p1", "b"]
    User | status == %d AND lastSeen > %@ | [1, "2026-01-02T03:04:05.000Z"]
    User | avatar == nil AND remoteID != nil
    User | ANY conversations == %@ | ["Conversation/p1"]
    User | ANY conversations.title == "Team" AND NONE conversations == %@ | ["Conversation/p2"]
    User | SUBQUERY(conversations, $c, $c.type == 1 AND $c.owner != SELF).@count > 0
    User | sent.@count > 100 OR reactions.@count > 100
    User | SUBQUERY(sent, $m, $m.sentAt > %@).@count BETWEEN {1, 10} | ["2026-01-01T00:00:00Z"]
    Attachment | isDownloaded == NO AND byteCount < %lld | [5242880]
    Attachment | message.conversation == %@ AND mimeType BEGINSWITH "image/" | ["Conversation/p1"]
    Attachment | mimeType IN %@ AND message.isRemoved != YES | [["image/png", "image/jpeg"]]
    Attachment | width > height AND width * height > 1000000
    Attachment | fileName ENDSWITH[c] ".pdf" OR mimeType == "application/pdf"
    Attachment | localURL == nil AND isDownloaded == YES
    Attachment | message == nil
    Attachment | seconds > %f || seconds == nil | [0.5]
    Reaction | message.conversation = %@ AND createdAt > %@ | \#
    ["Conversation/p1", "2026-01-01T00:00:00Z"]
    Reaction | user == %@ AND message == %@ AND emoji == %@ | ["User/p1", "Message/p1", "👍"]
    Message | TRUEPREDICATE AND isOutgoing == YES
    Message | 1 == 1 AND conversation == %@ | ["Conversation/p1"]
    Message | {0, 1} CONTAINS kind AND (NOT (state IN {4, 5}))
    Message | attachments[0].mimeType == %@ | ["image/png"]
    Message | bitwiseAnd:with:(flags, 4) == 4
    Message | (flags ^ 1) == 0 OR ~flags == -1
    Message | onesComplement:(flags) < 0 AND rightshift:by:(flags, 2) > 0
    Conversation | members[SIZE] > 2
    Conversation | messages[LAST].isOutgoing == YES
    Conversation | count:(messages.@distinctUnionOfObjects.sender.handle) >= 3
    Conversation | %@ IN SUBQUERY(members, $m, $m.isBlocked == NO) | ["User/p1"]
    Conversation | SUBQUERY(messages, $m, $m.kind == 0).@max.sentAt < %@ | ["2026-01-01T00:00:00Z"]
    User | lowercase:(handle) == %@ | ["ada"]
    User | canonical:(displayName) CONTAINS canonical:(%@) | ["Zoë"]
    """#
  )

  /// A notebook's predicates: tasks that are due, search, trash, labels and reminders.
  static let notes = shapes(
    #"""
    Task | isCompleted == NO
    Task | isCompleted == NO AND dueDate < %@ | ["2026-01-02T00:00:00.000Z"]
    Task | isCompleted == %@ AND priority == %d | [false, 3]
    Task | isCompleted == false AND dueDate >= %@ AND dueDate < %@ | \#
    ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]
    Task | (%@ <= dueDate) AND (dueDate < %@) | \#
    ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z"]
    Task | dueDate == nil AND isCompleted == NO AND isTrashed != YES
    Task | dueDate != nil AND dueDate <= $NOW | {"NOW": "2026-01-02T03:04:05.000Z"}
    Task | completedAt >= %@ | ["2026-01-01T00:00:00.000Z"]
    Task | completedAt > dueDate
    Task | completedAt == nil || completedAt > %@ | ["2026-01-02T03:04:05.000Z"]
    Task | priority >= %d | [2]
    Task | priority IN %@ AND isCompleted == NO | [[2, 3]]
    Task | priority > 1 OR isPinned == YES
    Task | priority BETWEEN %@ | [[1, 3]]
    Task | notebook == %@ AND isCompleted == NO | ["Notebook/p1"]
    Task | notebook == %@ AND parentTask == nil AND isCompleted == %@ | ["Notebook/p1", false]
    Task | notebook.name == 'Inbox'
    Task | notebook.parent.name =[cd] %@ | ["work"]
    Task | notebook = nil
    Task | parentTask == nil AND subtasks.@count > 0
    Task | parentTask.isCompleted == NO AND isCompleted == YES
    Task | parentTask == %@ AND sortIndex > %f | ["Task/p1", 1.5]
    Task | ALL subtasks.isCompleted == YES
    Task | ANY subtasks.title CONTAINS[cd] %@ | ["milk"]
    Task | SUBQUERY(subtasks, $s, $s.isCompleted == NO).@count == 0 AND subtasks.@count > 0
    Task | SUBQUERY(subtasks, $s, $s.dueDate > dueDate).@count > 0
    Task | SUBQUERY(subtasks, $s, $s.notebook != SELF.notebook).@count > 0
    Task | SUBQUERY(blockedBy, $b, $b.isCompleted == NO).@count == 0
    Task | NONE blockedBy.isCompleted == NO AND isCompleted == NO
    Task | SELF IN parentTask.subtasks
    Task | SELF != %@ AND SUBQUERY(blockedBy, $x, $x == %@).@count == 0 | ["Task/p1", "Task/p1"]
    Task | ANY labels.name == %@ AND isCompleted == NO | ["home"]
    Task | ANY labels == %@ AND ANY labels == %@ | ["Label/p1", "Label/p2"]
    Task | SUBQUERY(labels, $l, $l IN %@).@count == %lu | [["Label/p1", "Label/p2"], 2]
    Task | estimate > 0 AND estimate <= 1.5
    Task | estimate == %f | [0.25]
    Task | subtasks.@sum.estimate > estimate
    Task | cost > %@ OR subtasks.@sum.cost > %@ | ["10.00", "10.00"]
    Task | repeatRule != nil AND repeatRule BEGINSWITH 'FREQ=WEEKLY'
    Task | weekdays & %d > 0 | [4]
    Task | (weekdays & (1 << 3)) != 0 AND (dueDate == nil OR dueDate <= %@) | \#
    ["2026-01-02T00:00:00Z"]
    Task | ANY reminders.fireDate < %@ | ["2026-01-02T03:04:05.000Z"]
    Task | reminders.@count == 0 AND dueDate != nil
    Task | reminders.@min.fireDate >= %@ | ["2026-01-02T03:04:05.000Z"]
    Task | SUBQUERY(reminders, $r, $r.isDone == NO AND $r.fireDate BETWEEN %@).@count > 0 | \#
    [["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]]
    Task | dueDate < CAST(CAST(now(), "NSNumber") + 604800, "NSDate")
    Task | TERNARY(dueDate == nil, createdAt, dueDate) < %@ | ["2026-01-01T00:00:00.000Z"]
    Task | title CONTAINS[cd] $term OR details CONTAINS[cd] $term | {"term": "milk"}
    Task | isCompleted == $done AND notebook == $book | {"done": false, "book": "Notebook/p1"}
    Task | details == nil && reminders.@count == 0 && labels.@count == 0 && subtasks.@count == 0
    Note | title CONTAINS[cd] %@ OR body CONTAINS[cd] %@ | ["plan", "plan"]
    Note | (title CONTAINS[cd] %@ OR body CONTAINS[cd] %@) AND isTrashed == NO | ["plan", "plan"]
    Note | (isTrashed == nil OR isTrashed == NO) AND isLocked == NO AND body CONTAINS[cd] %@ | ["x"]
    Note | title CONTAINS[cd] %@ AND title CONTAINS[cd] %@ AND title CONTAINS[cd] %@ | \#
    ["a", "b", "c"]
    Note | title ==[c] %@ | ["ideas"]
    Note | title BEGINSWITH[cd] 'draft' OR title ENDSWITH[cd] 'draft'
    Note | title == nil OR title == "" OR title MATCHES '^\\s+$'
    Note | title LIKE '*\\**' OR title LIKE '??:??*'
    Note | body CONTAINS '- [ ]' OR body CONTAINS '- [x]'
    Note | body CONTAINS '#todo' AND modifiedAt > %@ | ["2026-01-01T00:00:00.000Z"]
    Note | body MATCHES[c] %@ | ["(?s).*(urgent|asap).*"]
    Note | isPinned == YES AND isTrashed == NO
    Note | isPinned == TRUE and notebook in %@ | [["Notebook/p1", "Notebook/p2"]]
    Note | isLocked = %@ || %K = %@ | [true, "notebook.isShared", true]
    Note | isTrashed == YES AND trashedAt < %@ | ["2025-12-01T00:00:00.000Z"]
    Note | modifiedAt > createdAt AND modifiedAt >= %@ | ["2026-01-01T00:00:00.000Z"]
    Note | createdAt > %@ AND createdAt < %@ AND notebook == %@ | \#
    ["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "Notebook/p1"]
    Note | wordCount == 0 OR (body == nil AND title == nil)
    Note | source != nil AND source BEGINSWITH[c] "http"
    Note | identifier == %@ | ["9f1c5b7e-0000-4000-8000-000000000005"]
    Note | identifier IN %@ | [["9f1c5b7e-0000-4000-8000-000000000005"]]
    Note | identifier = nil AND SELF IN %@ | [["Note/p1", "Note/p2"]]
    Note | ANY labels.name CONTAINS[cd] %@ | ["wor"]
    Note | ANY labels.name BEGINSWITH[c] %@ OR ANY labels.color == %@ | ["w", "red"]
    Note | SOME labels.usageCount > 10
    Note | labels.@count == 0 AND notebook == nil
    Note | labels.name CONTAINS 'work'
    Note | SUBQUERY(labels, $l, $l.name ==[cd] "archive").@count == 0 AND isTrashed != YES
    Note | labels.@unionOfObjects.name CONTAINS %@ | ["work"]
    Note | extra.format == 'markdown'
    Note | ANY extra.links BEGINSWITH 'https://'
    Note | title ==[c] notebook.name
    Entry | entity == 'Note' OR entity == 'Task'
    Entry | entity.name IN {"Note", "Task"} AND isTrashed == YES
    Entry | notebook.isShared == YES AND modifiedAt > %@ | ["2026-01-02T03:04:05.000Z"]
    Notebook | name == %@ | ["Inbox"]
    Notebook | name == %@ AND parent == %@ | ["Inbox", null]
    Notebook | name ==[cd] %@ AND SELF != %@ | ["inbox", "Notebook/p1"]
    Notebook | parent == nil AND isShared == NO
    Notebook | parent = %@ || parent.parent = %@ | ["Notebook/p1", "Notebook/p1"]
    Notebook | position > %d AND position <= %d | [1, 5]
    Notebook | entries.@count > 0 OR children.@count > 0
    Notebook | entries.@count == 0 AND createdAt < %@ | ["2025-12-01T00:00:00.000Z"]
    Notebook | ANY entries.isPinned == YES
    Notebook | ANY entries.labels.name == %@ | ["work"]
    Notebook | SUBQUERY(entries, $e, $e.isTrashed != YES).@count > 0
    Notebook | SUBQUERY(entries, $e, $e.entity.name == "Task" AND $e.isPinned == YES).@count > 2
    Notebook | ANY children.entries.modifiedAt > %@ | ["2026-01-01T00:00:00.000Z"]
    Notebook | entries.@max.modifiedAt == nil OR entries.@max.modifiedAt < %@ | \#
    ["2025-06-01T00:00:00Z"]
    Notebook | color IN {'red', 'orange'} OR color == nil
    Label | name ==[cd] %@ OR name ==[cd] %@ | ["home", "haus"]
    Label | usageCount == 0 AND entries.@count == 0
    Label | usageCount != entries.@count
    Label | ANY entries.notebook == %@ | ["Notebook/p1"]
    Label | SUBQUERY(entries, $e, $e.notebook == %@ AND $e.isTrashed == NO).@count > 0 | \#
    ["Notebook/p1"]
    Reminder | isDone == NO AND fireDate <= %@ | ["2026-01-02T03:04:05.000Z"]
    Reminder | task.isCompleted == NO AND fireDate > %@ | ["2026-01-02T03:04:05.000Z"]
    Reminder | task == %@ AND isDone == NO | ["Task/p1"]
    Reminder | task == nil OR task.isTrashed == YES
    Reminder | latitude > %f AND latitude < %f AND longitude > %f AND longitude < %f | \#
    [52.3, 52.7, 13.1, 13.7]
    Reminder | latitude BETWEEN %@ AND longitude BETWEEN %@ | [[52.3, 52.7], [13.1, 13.7]]
    Reminder | latitude != nil AND abs:(latitude - %f) < 0.001 | [52.5]
    Reminder | fireDate - offsetMinutes * 60 < %@ | ["2026-01-02T03:04:05.000Z"]
    Reminder | place CONTAINS[cd] %@ AND task.notebook.name ==[c] %@ | ["home", "Private"]
    Task | now() - createdAt > 86400
    Task | subtasks[FIRST].isCompleted == YES
    Task | add:to:(priority, 1) == 3 || priority * 2 = 6
    Task | count:(subtasks.@distinctUnionOfObjects.priority) > 1
    Task | (labels UNION parentTask.labels).@count >= 2
    Task | ANY (labels INTERSECT parentTask.labels) == %@ | ["Label/p1"]
    Task | CAST(cost, 'NSDecimalNumber') > 9.99 OR CAST(dueDate, 'NSNumber') > 788918400
    Note | #title ==[c] 'readme'
    Note | title >= 'a' && title <[c] 'N'
    Note | length:(body) == 0
    Note | title ==[l] "Äpfel"
    Notebook | average:(entries.sortIndex) > 2
    Reminder | %@ IN task.labels | ["Label/p1"]
    Label | name IN[cd] {"home", "büro"}
    """#
  )
}
