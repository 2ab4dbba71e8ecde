// Opens a WebSocket and reconnects with backoff. Calls `path()` for each connection, `onMessage` for
// each message and `onClose` after a connection that was lost, or refused. Returns a function that stops it.
const listen = (path, onMessage, onClose) => {
  let backoff = 1000
  let isOver = false
  let socket
  const connect = () => {
    if (isOver) return
    const url = new URL(path(), location.href)
    url.protocol = url.protocol.replace('http', 'ws')
    socket = new WebSocket(url)
    socket.addEventListener('message', ({ data }) => {
      backoff = 1000
      try {
        onMessage(JSON.parse(data))
      } catch {
        // Ignore messages in another format.
      }
    })
    socket.addEventListener('close', () => {
      if (isOver) return
      onClose?.()
      setTimeout(connect, backoff + Math.random() * 500)
      backoff = Math.min(backoff * 2, 30000)
    })
  }
  const stop = () => {
    isOver = true
    socket.close()
  }
  connect()
  return stop
}

// Listens to one activation: numbered events, and text as it is written. A reconnecting socket asks for
// the events after the last one it received.
globalThis.listenTo = (id, view, seen, onEvent, onClose) => {
  let after = seen
  const words = { text: '', reasoning: '' }
  const stop = listen(
    () => `/live/activations/${encodeURIComponent(id)}?view=${view}&after=${after}`,
    (event) => {
      if (event.seq) after = event.seq
      if (event.type === 'over') stop()
      const kind = /^(text|reasoning)-delta$/.exec(event.type)?.[1]
      if (kind) words[kind] = words[kind].slice(0, event.from) + event.text
      if (event.type === 'step-finish') words.text = words.reasoning = ''
      onEvent(event, words)
    },
    onClose,
  )
  return stop
}
