import DequeModule
import NIOCore
import Synchronization

/// The receiver of channel events, which are reported on the loop of the channels.
package protocol ByteChannelOwner: AnyObject, Sendable {
  /// Handles a new peer, whose bytes follow.
  func opened(_ channel: ByteChannel)
  /// Handles bytes of a peer, which are valid only during the call.
  func received(_ bytes: Span<UInt8>, on channel: ByteChannel)
  /// Handles the end of a peer's input; the peer may still read.
  func inputEnded(on channel: ByteChannel)
  /// Handles a peer that has accepted bytes, and may accept more.
  func becameWritable(_ channel: ByteChannel)
  /// Handles a peer that accepted no bytes for too long and is about to be disconnected.
  ///
  /// - Parameters:
  ///   - channel: The channel.
  ///   - unacceptedBytes: The number of bytes that the peer has not accepted.
  func gaveUp(on channel: ByteChannel, unacceptedBytes: Int)
  /// Handles the end of a channel.
  func closed(_ channel: ByteChannel)
}

/// A connection to one peer.
///
/// `number`, `isWritable`, `exitCode` and `onLoop` may be used on any thread, all other members
/// only on the loop.
package final class ByteChannel: Sendable {
  /// The number of waiting bytes above which the channel stops reading from the peer.
  package static let waitingBytesMax = 32 << 20

  /// The maximum number of bytes passed to NIO at once.
  ///
  /// The number is small, so that the progress of a slow peer is visible.
  private static let portionBytes = 1 << 18

  /// The number that identifies the channel on its loop.
  package let number: Int
  private let channel: any Channel
  private let state = Mutex(State())

  private struct State {
    /// The pieces that wait outside NIO, because NIO copies the pieces that it holds.
    var backlog: Deque<ArraySlice<UInt8>> = []
    /// The number of bytes in the backlog.
    var waiting = 0
    /// Whether reading is paused because the peer accepts too few bytes.
    var isPaused = false
    /// Whether the owner wants the peer's bytes.
    var isReadingRequested = true
    var isClosing = false
    var exitCode: Int32?
  }

  init(_ channel: any Channel, number: Int) {
    self.channel = channel
    self.number = number
  }

  /// Whether the peer accepts more bytes; if not, output that can wait should wait.
  package var isWritable: Bool {
    channel.isWritable && state.withLock { $0.backlog.isEmpty }
  }

  /// The number of written bytes that the peer has not accepted; read only on the loop.
  package var waitingBytes: Int { state.withLock { $0.waiting } + unacceptedBytes }

  /// The exit code that the owner passed to `close`, nil before that.
  package var exitCode: Int32? { state.withLock { $0.exitCode } }

  /// Runs work on the channel's loop; immediately if the caller is already on the loop.
  package func onLoop(_ work: @escaping @Sendable (ByteChannel) -> Void) {
    guard !channel.eventLoop.inEventLoop else { return work(self) }
    channel.eventLoop.execute { work(self) }
  }

  /// Sends pieces of bytes as one write, after the bytes of earlier calls.
  package func write(_ pieces: [[UInt8]]) {
    channel.eventLoop.preconditionInEventLoop()
    if pieces.count == 1, pieces[0].count <= Self.portionBytes, isWritable {
      passToNIO(pieces[0][...])
      return channel.flush()
    }
    let pauses = state.withLock { state in
      for piece in pieces { Self.queue(piece, &state.backlog) }
      state.waiting += pieces.reduce(0) { $0 + $1.count }
      guard state.waiting > Self.waitingBytesMax, !state.isPaused else { return false }
      state.isPaused = true
      return true
    }
    if pauses { updateReading() }
    feed()
  }

  /// Passes waiting bytes to NIO while the peer accepts them.
  func feed() {
    var hasPassed = false
    while channel.isWritable, let piece = takePiece() {
      passToNIO(piece)
      hasPassed = true
    }
    if hasPassed { channel.flush() }
    let (resumes, closes) = state.withLock { state in
      let resumes = state.isPaused && state.waiting < Self.waitingBytesMax / 2
      if resumes { state.isPaused = false }
      let closes = state.isClosing && state.backlog.isEmpty
      if closes { state.isClosing = false }
      return (resumes, closes)
    }
    if resumes { updateReading() }
    if closes { closeAfterWrites() }
  }

  private func takePiece() -> ArraySlice<UInt8>? {
    state.withLock { state in
      guard let piece = state.backlog.popFirst() else { return nil }
      state.waiting -= piece.count
      return piece
    }
  }

  private static func queue(_ piece: [UInt8], _ backlog: inout Deque<ArraySlice<UInt8>>) {
    for start in stride(from: 0, to: piece.count, by: portionBytes) {
      backlog.append(piece[start..<min(start + portionBytes, piece.count)])
    }
  }

  private func passToNIO(_ piece: ArraySlice<UInt8>) {
    channel.write(channel.allocator.buffer(bytes: piece), promise: nil)
  }

  /// The number of bytes in NIO that the peer has not accepted.
  var unacceptedBytes: Int {
    do {
      return try channel.syncOptions?.getOption(.bufferedWritableBytes) ?? 0
    } catch {
      // The channel is closed.
      return 0
    }
  }

  /// Sets whether the owner wants the peer's bytes; bytes that have arrived may still follow.
  package func setReading(_ isReadingRequested: Bool) {
    state.withLock { $0.isReadingRequested = isReadingRequested }
    updateReading()
  }

  /// Starts or stops reading from the peer.
  ///
  /// The channel reads only while the owner wants the peer's bytes and the peer accepts its
  /// responses. Otherwise, waiting responses would fill the memory.
  private func updateReading() {
    let reads = state.withLock { !$0.isPaused && $0.isReadingRequested }
    channel.setOption(.autoRead, value: reads).whenFailure { _ in }
    if reads { channel.read() }
  }

  /// Ends the connection after all bytes were sent.
  package func close(exitCode: Int32) {
    channel.eventLoop.preconditionInEventLoop()
    let isReady = state.withLock { state in
      state.exitCode = exitCode
      state.isClosing = !state.backlog.isEmpty
      return !state.isClosing
    }
    if isReady { closeAfterWrites() }
  }

  /// Closes the channel after an empty write, because closing drops unfinished writes.
  private func closeAfterWrites() {
    channel.writeAndFlush(channel.allocator.buffer(capacity: 0)).whenComplete { _ in
      self.abort()
    }
  }

  /// Ends the connection at once.
  package func abort() {
    channel.close(promise: nil)
  }
}

/// The NIO handler that passes the events of a channel to its owner.
final class OwnerHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let owner: any ByteChannelOwner
  private let channel: ByteChannel
  private let stuckSecondsMax: Int
  private var watch: Scheduled<Void>?
  /// Whether `feed` is scheduled on the loop.
  private var isWoken = false

  init(_ owner: any ByteChannelOwner, _ channel: ByteChannel, stuckSecondsMax: Int) {
    self.owner = owner
    self.channel = channel
    self.stuckSecondsMax = stuckSecondsMax
  }

  func channelActive(context: ChannelHandlerContext) {
    owner.opened(channel)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    owner.received(buffer.readableBytesUInt8Span, on: channel)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { owner.inputEnded(on: channel) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    watch?.cancel()
    watch = nil
    guard context.channel.isWritable else {
      return watchProgress(context.eventLoop, from: channel.unacceptedBytes)
    }
    // NIO calls this method inside a flush, which may be part of a write by the owner. A later turn
    // therefore passes the waiting bytes.
    guard !isWoken else { return }
    isWoken = true
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.eventLoop.execute { handler.value.feed() }
  }

  private func feed() {
    isWoken = false
    channel.feed()
    // The owner counts the bytes that a slow peer has not accepted, so each call of `feed` notifies
    // the owner.
    owner.becameWritable(channel)
  }

  /// Disconnects a peer that accepts no bytes for too long.
  ///
  /// While the channel is unwritable, NIO gets no new bytes, so the unaccepted bytes show the
  /// progress.
  private func watchProgress(_ loop: any EventLoop, from unaccepted: Int) {
    let (owner, channel) = (owner, channel)
    let handler = NIOLoopBound(self, eventLoop: loop)
    watch = loop.scheduleTask(in: .seconds(Int64(stuckSecondsMax))) {
      guard channel.unacceptedBytes == unaccepted else {
        return handler.value.watchProgress(loop, from: channel.unacceptedBytes)
      }
      owner.gaveUp(on: channel, unacceptedBytes: unaccepted)
      channel.abort()
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    watch?.cancel()
    // A failed write closes the channel before the write returns, so a later turn notifies the
    // owner.
    let (owner, channel) = (owner, channel)
    context.eventLoop.execute { owner.closed(channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The peer disconnected during a transfer. `channelInactive` notifies the owner.
    context.close(promise: nil)
  }
}

extension Channel {
  /// Sets the owner of a channel.
  func setUp(
    _ owner: any ByteChannelOwner,
    number: Int,
    stuckSecondsMax: Int
  ) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      let handler = OwnerHandler(
        owner,
        ByteChannel(self, number: number),
        stuckSecondsMax: stuckSecondsMax
      )
      try self.pipeline.syncOperations.addHandler(handler)
    }
  }
}

/// The limits of the bytes that wait in NIO: a channel becomes unwritable above `high`, and
/// writable again below `low`.
let writeWaterMarks = ChannelOptions.Types.WriteBufferWaterMark(low: 256 << 10, high: 1 << 20)
