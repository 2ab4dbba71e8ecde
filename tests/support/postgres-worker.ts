/**
 * PostgreSQL for tests, on its wire protocol: the real server, compiled to WebAssembly (PGlite), behind
 * a port with password authentication. It starts at the first connection. It is one process with one
 * session, so connections are queued, and it cannot be interrupted.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import type { PGlite } from '@electric-sql/pglite'

const login = { user: 'rookery', password: 'a-pass:word/of the "tests"' }

/** Codes sent instead of a protocol version (PostgreSQL's manual, message formats). */
const tlsRequests = [80877103, 80877104]
const cancelRequest = 80877102

let database: Promise<PGlite> | null = null
let turn = Promise.resolve()

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy())
  database ??= import('@electric-sql/pglite').then(({ PGlite }) => PGlite.create())
  const opening = database
  serve(socket, async (session) => {
    const mine = turn.then(async () => session(await opening))
    turn = mine.catch(() => undefined)
    await mine
  }).catch(() => socket.destroy())
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const password = encodeURIComponent(login.password)
  parentPort?.postMessage(`postgres://${login.user}:${password}@127.0.0.1:${port}/postgres`)
})

type RunExclusive = (session: (database: PGlite) => Promise<void>) => Promise<void>

async function serve(socket: Socket, runExclusive: RunExclusive): Promise<void> {
  const read = createReader(socket)
  let startup = await read(4, 0)
  for (; tlsRequests.includes(startup.readUInt32BE(4)); startup = await read(4, 0))
    socket.write('N')
  if (startup.readUInt32BE(4) === cancelRequest) return void socket.end()
  // AuthenticationCleartextPassword
  socket.write(Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 3]))
  const answer = await read(5, 1)
  if (answer.subarray(5, -1).toString() !== login.password) {
    const text = `password authentication failed for user "${login.user}"`
    return void socket.end(toError('28P01', text))
  }
  await runExclusive((database) => talk(socket, read, database, startup))
}

async function talk(
  socket: Socket,
  read: (head: number, lengthAt: number) => Promise<Buffer>,
  database: PGlite,
  startup: Buffer,
): Promise<void> {
  try {
    for (let message = startup; message[0] !== 88; message = await read(5, 1)) {
      socket.write(await database.execProtocolRaw(message))
    }
  } catch {
    // The client disconnected.
  } finally {
    socket.end()
    await database.execProtocolRaw(toQuery('ROLLBACK'))
    await database.execProtocolRaw(toQuery('DISCARD ALL'))
  }
}

/** Reads whole messages: `head` bytes with the length at `lengthAt`, which includes itself. */
function createReader(socket: Socket) {
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let held = Buffer.alloc(0)
  const fill = async (count: number): Promise<void> => {
    while (held.length < count) {
      const { value, done } = await chunks.next()
      if (done) throw new Error('The client disconnected.')
      held = Buffer.concat([held, value])
    }
  }
  return async (head: number, lengthAt: number): Promise<Buffer> => {
    await fill(head)
    const length = lengthAt + held.readUInt32BE(lengthAt)
    await fill(length)
    const message = Buffer.from(held.subarray(0, length))
    held = held.subarray(length)
    return message
  }
}

const toQuery = (sql: string): Buffer => frame('Q', `${sql}\0`)
const toError = (code: string, message: string): Buffer =>
  frame('E', `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)

function frame(type: string, text: string): Buffer {
  const message = Buffer.from(`${type}0000${text}`)
  message.writeUInt32BE(message.length - 1, 1)
  return message
}
