// One WebSocket that comes back when it breaks. `path` is asked anew each time; answers how to stop.
const listen = (path, hear, lost) => {
  let pause = 1000
  let isOver = false
  let socket
  const connect = () => {
    if (isOver) return
    const url = new URL(path(), location.href)
    url.protocol = url.protocol.replace('http', 'ws')
    socket = new WebSocket(url)
    socket.addEventListener('message', ({ data }) => {
      pause = 1000
      try {
        hear(JSON.parse(data))
      } catch {
        // Not ours.
      }
    })
    socket.addEventListener('close', () => {
      if (isOver) return
      lost?.()
      setTimeout(connect, pause + Math.random() * 500)
      pause = Math.min(pause * 2, 30000)
    })
  }
  const stop = () => {
    isOver = true
    socket.close()
  }
  connect()
  return stop
}

// One activation: events by number, words as they come. A socket that comes back says what it has.
globalThis.listenTo = (id, view, seen, hear, lost) => {
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
      hear(event, words)
    },
    lost,
  )
  return stop
}
