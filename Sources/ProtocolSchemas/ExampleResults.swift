import CordialProtocol

extension MethodName {
  /// The result of the method's example, as JSON text; nil for a notification and for a method
  /// that returns a document.
  var exampleResult: String? {
    switch self {
    case .initialize:
      #"""
      {"serverInfo":{"name":"cordial","version":"0"},
      "capabilities":{"cordial":{"protocolVersion":1,"limits":{"messageBytesMax":67108864,
      "answerBytesMax":268435456,"depthMax":128,"valuesMax":5000000,"batchMax":1000,
      "inFlightMax":4096,"inFlightBytesMax":134217728,"heldBytesMax":16777216,
      "processBytesMax":536870912,"connectionsMax":1024,"subscriptionsMax":16384,
      "observedBytesMax":100663296,"saveChangesMax":200000,"affectedMax":1000000,
      "partBytesMax":1048576,"historyChangesMax":200000,"windowSpareMax":1000,"recentMax":1000,
      "recentBytesMax":16777216,"recentChangesMax":10000,"nameBytesMax":1024,"waitMax":5000,
      "readsMax":2,"requestSecondsMax":60,"liveSearchSecondsMax":5,"writerSecondsMax":2,
      "queryBytesMax":4096,"queryWordsMax":64,"followerDaysMax":7,"historyDaysMin":7,
      "historyDaysMax":30,"historyBytesMax":1073741824,"stuckSecondsMax":60,"shareSecondsMax":5,
      "stopSecondsMax":5},"features":["initialize","initialized","shutdown","exit",
      "$/cancelRequest","$/setTrace","fetch","save","delete","update","undo","redo","observe",
      "unobserve","observe/flush","observe/list","search","search/explain","suggest",
      "index/status","index/verify","index/rebuild","index/pause","index/resume","history",
      "history/purge","follower/register","follower/acknowledge","follower/list",
      "follower/remove","model","status","store/backup","store/verify","store/compact",
      "rpc.discover"],"positionEncoding":"utf-16"}},"store":{"id":"3c6ef362daa66d13",
      "token":"9e3779b1-1-17156075","model":{"name":"Packages","version":"1",
      "hash":"678bd60054a76dcdf937db1e1d3b1e623bd06bc7ab667f37469d74273f0f407b"}}}
      """#
    case .shutdown:
      #"""
      null
      """#
    case .fetch:
      #"""
      {"token":"9e3779b1-1-17156075","objects":[{"id":"Package/p2","version":1,
      "values":{"name":"apache2","version":"2.4","architecture":"amd64","installedSize":640,
      "essential":false,"homepage":null,"summary":"A web server","details":null,
      "section":"Section/p2","maintainer":null}},{"id":"Package/p3","version":1,
      "values":{"name":"nginx","version":"1.22","architecture":"amd64","installedSize":1500,
      "essential":false,"homepage":null,"summary":"A small web server","details":null,
      "section":"Section/p2","maintainer":null}}]}
      """#
    case .save:
      #"""
      {"token":"9e3779b1-2-b54cda26","ids":{"Package/t1":"Package/p4"},
      "objects":[{"id":"Package/p4","version":1,"values":{"essential":false}},
      {"id":"Package/p2","version":2}]}
      """#
    case .delete:
      #"""
      {"token":"9e3779b1-3-538453d7","count":1,"ids":["Package/p4"]}
      """#
    case .update:
      #"""
      {"token":"9e3779b1-3-538453d7","count":2,"dryRun":{"delete":[],"update":["Package/p2",
      "Package/p3"],"fire":[],"others":0}}
      """#
    case .undo:
      #"""
      {"token":"9e3779b1-3-538453d7","undone":1,"objects":[{"id":"Package/p4","version":2,
      "values":{"name":"hello","version":"2.10","architecture":"amd64","installedSize":null,
      "essential":false,"homepage":null,"summary":null,"details":null,"section":null,
      "maintainer":null}}],"dryRun":{"delete":[],"update":["Package/p4"],"fire":[],"others":0}}
      """#
    case .redo:
      #"""
      {"token":"9e3779b1-3-538453d7","undone":0,"objects":[],"dryRun":{"delete":[],"update":[],
      "fire":[],"others":0}}
      """#
    case .observe:
      #"""
      {"subscription":"s1","token":"9e3779b1-3-538453d7","fresh":true,
      "result":{"objects":[{"id":"Package/p2","version":2,"values":{"name":"apache2",
      "version":"2.4"}},{"id":"Package/p1","version":1,"values":{"name":"libjson",
      "version":"1.8"}},{"id":"Package/p3","version":1,"values":{"name":"nginx",
      "version":"1.22"}}],"count":3}}
      """#
    case .unobserve:
      #"""
      {}
      """#
    case .flush:
      #"""
      {"token":"9e3779b1-4-f1bbcd88"}
      """#
    case .listSubscriptions:
      #"""
      {"subscriptions":[]}
      """#
    case .search:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","storeToken":"9e3779b1-4-f1bbcd88","total":1,
      "totals":{"exact":1,"forms":0,"mistakes":0,"partial":0},"hits":[{"id":"Package/p1",
      "score":2.2815,"title":"libjson","highlights":{"summary":[[2,6],[7,14]]}}],
      "tookMicroseconds":0}
      """#
    case .explainSearch:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","found":true,"rank":1,"score":2.2815,
      "explanation":[{"term":"json","count":1,"frequency":1,"bound":1.1905,"share":0.7605},
      {"term":"library*","count":1,"frequency":1,"bound":1.1905,"share":0.7605},
      {"term":"library","count":1,"frequency":1,"bound":1.1905,"share":0.7605}],
      "postings":{"read":1,"skipped":3}}
      """#
    case .suggest:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","suggestions":[{"text":"web server","kind":"word",
      "documents":1}]}
      """#
    case .indexStatus:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","behind":0,"documents":3,"dead":0.4,"bytes":4096,
      "state":"ready","oldest":"9e3779b1-0-78dde6c4","processorMicroseconds":0}
      """#
    case .verifyIndex:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","checked":3,"differences":[]}
      """#
    case .rebuildIndex:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","documents":3,"bytes":4096}
      """#
    case .pauseIndex:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","state":"paused"}
      """#
    case .resumeIndex:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","state":"catchingUp"}
      """#
    case .history:
      #"""
      {"transactions":[{"token":"9e3779b1-1-17156075","time":"2026-01-01T00:00:00.000Z",
      "author":null,"context":null,"process":"cordial 1","changes":[{"id":"Section/p1",
      "change":"insert","properties":[],"before":{}},{"id":"Section/p2","change":"insert",
      "properties":[],"before":{}},{"id":"Package/p1","change":"insert","properties":[],
      "before":{}},{"id":"Package/p2","change":"insert","properties":[],"before":{}},
      {"id":"Package/p3","change":"insert","properties":[],"before":{}}]},
      {"token":"9e3779b1-2-b54cda26","time":"2026-01-01T00:00:00.000Z","author":"editor",
      "context":null,"process":"cordial 1","changes":[{"id":"Package/p4","change":"insert",
      "properties":[],"before":{}},{"id":"Package/p2","change":"update",
      "properties":["summary"],"before":{"summary":"A web server"}}]}],
      "token":"9e3779b1-2-b54cda26","more":true}
      """#
    case .purgeHistory:
      #"""
      {"token":"9e3779b1-0-78dde6c4","transactions":0}
      """#
    case .registerFollower:
      #"""
      {"token":"9e3779b1-4-f1bbcd88"}
      """#
    case .acknowledge:
      #"""
      {"token":"9e3779b1-4-f1bbcd88"}
      """#
    case .listFollowers:
      #"""
      {"followers":[{"name":"mirror","token":"9e3779b1-4-f1bbcd88","behind":0,
      "seen":"2026-01-01T00:00:00.000Z","expired":false}]}
      """#
    case .removeFollower:
      #"""
      {"removed":true}
      """#
    case .status:
      #"""
      {"state":"serving","token":"9e3779b1-4-f1bbcd88","store":{"path":"/stores/Packages",
      "id":"3c6ef362daa66d13","readOnly":false,"bytes":4096},"connections":2,"subscriptions":0,
      "observing":{"bytes":4096,"commits":0,"wakes":0,"statements":0,"reruns":0,
      "microseconds":4096},"disconnected":[],"followers":[{"name":"spotlight",
      "token":"9e3779b1-4-f1bbcd88","behind":0}],"history":{"oldest":"9e3779b1-0-78dde6c4"},
      "slowSorts":[],"unusedIndexes":[{"entity":"Maintainer","keys":["name"]},
      {"entity":"Package","keys":["installedSize"]}]}
      """#
    case .backupStore:
      #"""
      {"path":"/backups/Packages-2026-01-31.cordial","token":"9e3779b1-4-f1bbcd88","bytes":4096}
      """#
    case .verifyStore:
      #"""
      {"token":"9e3779b1-4-f1bbcd88","checked":5,"problems":[]}
      """#
    case .compactStore:
      #"""
      {"before":4096,"after":4096}
      """#
    default:
      nil
    }
  }
}
