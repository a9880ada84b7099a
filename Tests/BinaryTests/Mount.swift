import Glibc

/// A file system of a test's own, gone when the test lets go of it.
final class Mount {
  /// Whether we may mount at all: root may, and not in every container.
  static let isAllowed: Bool = {
    do {
      let fixture = try Fixture()
      _ = try Mount(fixture, megabytes: 1)
      return true
    } catch {
      return false
    }
  }()

  /// The folder under which it stands.
  let path: String
  /// Removes the folder around it, which it can do only after the mount is gone.
  private let fixture: Fixture

  /// A small disk in memory, in the folder `disk` of a scene.
  init(_ fixture: Fixture, megabytes: Int) throws {
    self.fixture = fixture
    path = fixture.path("disk")
    guard unsafe mkdir(path, 0o700) == 0,
      unsafe mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m,mode=700") == 0
    else { throw Failure("mounting a disk: errno \(errno)") }
  }

  /// A folder of a scene over itself, which nobody can write, not even root.
  init(_ fixture: Fixture, readOnly path: String) throws {
    self.fixture = fixture
    self.path = path
    let bind = UInt(MS_BIND)
    let remount = bind | UInt(MS_REMOUNT) | UInt(MS_RDONLY)
    guard unsafe mount(path, path, nil, bind, nil) == 0 else {
      throw Failure("mounting \(path): errno \(errno)")
    }
    guard unsafe mount(nil, path, nil, remount, nil) == 0 else {
      unsafe umount2(path, Int32(MNT_DETACH))
      throw Failure("mounting \(path) read-only: errno \(errno)")
    }
  }

  deinit { unsafe umount2(path, Int32(MNT_DETACH)) }

  private var filler: String { path + "/filler" }

  /// Fills the disk but for so many bytes.
  func fill(leaving bytes: Int = 0) throws {
    let file = unsafe open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    let page = [UInt8](repeating: 0x78, count: 4096)
    var size = 0
    while case let count = unsafe write(file, page, page.count), count > 0 { size += count }
    guard errno == ENOSPC, ftruncate(file, off_t(max(0, size - bytes))) == 0 else {
      throw Failure("filling the disk: errno \(errno)")
    }
  }

  /// Makes room again.
  func empty() throws {
    guard unsafe unlink(filler) == 0 else { throw Failure("making room: errno \(errno)") }
  }
}
