/**
 * A mail server for tests: SMTP without TLS on one port, and over HTTP what it received on another. The part of an
 * address before `+` or `@` says how it behaves: `nobody`, `refused`, `later`, `hangs`, `breaks`.
 */
import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { parentPort } from 'node:worker_threads'

export interface ReceivedMail {
  from: string
  to: string
  /** Headers and body as they were sent, without the dots that SMTP adds. */
  content: string
}

const received: ReceivedMail[] = []
let connections = 0

const answers: Record<string, string> = {
  nobody: '550 5.1.1 No such user',
  refused: '550 5.7.1 We do not want this',
  later: '451 4.3.0 Come back later',
}

/** One connection: what it has said of the message that it sends. */
interface Session {
  from: string
  to: string
  /** Lines of the content; null: it sends commands. */
  data: string[] | null
}

/** Answers a command; null: with nothing. */
function answer(session: Session, command: string, address: string): string | null {
  const how = /^[^+@]*/.exec(address)?.[0] ?? ''
  if (command === 'EHLO') return '250 mail.test'
  if (command === 'RSET') {
    Object.assign(session, { from: '', to: '' })
    return '250 2.0.0 Reset'
  }
  if (command === 'MAIL') {
    if (session.from !== '') return '503 5.5.1 A sender was given already'
    session.from = address
    return '250 2.1.0 Sender'
  }
  if (command === 'RCPT') {
    if (how === 'hangs') return null
    const refusal = answers[how]
    if (refusal === undefined) session.to = address
    return refusal ?? '250 2.1.5 Recipient'
  }
  if (command !== 'DATA') return '502 5.5.2 Unknown command'
  session.data = []
  return '354 Go on'
}

/** Takes a line of the content. Returns the answer at its end. */
function take(session: Session, data: string[], line: string): string | null {
  if (line !== '.') {
    data.push(line.startsWith('.') ? line.slice(1) : line)
    return null
  }
  received.push({ from: session.from, to: session.to, content: data.join('\r\n') })
  Object.assign(session, { from: '', to: '', data: null })
  return '250 2.0.0 Taken'
}

async function serve(socket: Socket): Promise<void> {
  connections += 1
  const say = (text: string | null) => text !== null && socket.write(`${text}\r\n`)
  const session: Session = { from: '', to: '', data: null }
  say('220 mail.test ESMTP')
  const lines = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) {
    if (session.data) {
      say(take(session, session.data, line))
      continue
    }
    const [, command = '', address = ''] = /^(\S+)(?:[^<]*<([^>]*)>)?/.exec(line) ?? []
    if (command === 'QUIT') return void socket.end('221 2.0.0 Bye\r\n')
    if (command === 'RCPT' && address.startsWith('breaks')) return void socket.destroy()
    say(answer(session, command, address))
  }
}

const smtp = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  serve(socket).catch(() => socket.destroy())
})

/** `GET /?to=<address>`: what was sent to it. `GET /connections`: how many there were. */
const http = createHttp((request, response) => {
  const url = new URL(request.url ?? '/', 'http://mail.test')
  const to = url.searchParams.get('to')
  const answer =
    url.pathname === '/connections' ? connections : received.filter((mail) => mail.to === to)
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
})

smtp.listen(0, '127.0.0.1')
http.listen(0, '127.0.0.1')
await Promise.all([once(smtp, 'listening'), once(http, 'listening')])
const portOf = (server: { address(): AddressInfo | string | null }) =>
  (server.address() as AddressInfo).port
parentPort?.postMessage({ smtp: portOf(smtp), http: portOf(http) })
