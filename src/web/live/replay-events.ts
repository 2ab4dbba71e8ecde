/**
 * Returns a socket that sends all events of an ended activation and closes, as the agent's own object
 * does.
 */
export function replayEvents(events: readonly object[]): Response {
  const { 0: client, 1: server } = new WebSocketPair()
  server.accept()
  for (const message of [{ type: 'hello', doing: null }, ...events, { type: 'over' }]) {
    server.send(JSON.stringify(message))
  }
  server.close(1000, 'over')
  return new Response(null, { status: 101, webSocket: client })
}
