// cannot convert value of type 'Int'
import Cordial
import CordialValues

struct Group: ObjectValue {
  static let entity = "Group"
  var id: WrappedID
  var title: String
}

let request = FetchRequest<Group>(where: \.title == 3)
