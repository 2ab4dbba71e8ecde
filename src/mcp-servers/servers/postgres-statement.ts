import postgres from 'postgres'
import { outside, postgresLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { AppError } from '../../shared/errors'
import { postgresErrors } from './postgres-errors'

export interface Statement {
  sql: string
  params: (string | number | boolean | null)[]
  /** Maximum rows to return. */
  limit: number
  isReadOnly: boolean
  signal: AbortSignal
}

export interface Outcome {
  columns: string[]
  rows: unknown[][]
  note: string
  /** `UPDATE`, `CREATE TABLE`. */
  command: string
  affected: number
}

type Row = (string | null)[]
type Batch = Row[] & { columns?: Column[] }

/** The raw result of a statement. */
interface RawResult {
  columns: Column[]
  rows: Row[]
  command: string
  affected: number
}

/**
 * Runs one statement in one transaction on its own connection. A read ends in ROLLBACK, which undoes the
 * effects that a read-only transaction permits.
 */
export async function runStatement(login: Login, statement: Statement): Promise<Outcome> {
  const { signal, isReadOnly, limit } = statement
  const sql = openDriver(login, signal)
  let running: object | null = null
  const stop = () => {
    const cancelled = running ? cancelStatement(login, running) : Promise.resolve()
    void cancelled.catch(() => undefined).then(() => sql.end({ timeout: 0 }))
  }
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    await sql.unsafe(begin(isReadOnly))
    const answer = await readAnswer(sql, statement, (pending) => {
      running = pending
    })
    running = null
    await sql.unsafe(isReadOnly ? 'ROLLBACK' : 'COMMIT')
    const { command, affected } = answer
    return { ...fitRows(answer, limit, login.scrub), command, affected }
  } catch (error) {
    throw explainError(login, statement, error)
  } finally {
    signal.removeEventListener('abort', stop)
    await sql.end({ timeout: 0 })
  }
}

/**
 * Returns the SQL that begins a transaction. The timeouts are local to it, as a pool can reuse the
 * connection. The SELECT takes the snapshot, after which a transaction cannot be made writable again.
 */
const begin = (isReadOnly: boolean): string => {
  const { statementMs, lockMs } = postgresLimits
  return [
    `BEGIN ${isReadOnly ? 'READ ONLY' : 'READ WRITE'}`,
    `SET LOCAL statement_timeout = ${statementMs}`,
    `SET LOCAL lock_timeout = ${lockMs}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${statementMs}`,
    'SELECT 1',
  ].join('; ')
}

/**
 * Runs the statement with the extended protocol, which accepts a single statement. A read stops at the
 * row limit; a write is read to the end, to count the affected rows.
 */
async function readAnswer(
  sql: Driver,
  { sql: text, params, limit, isReadOnly }: Statement,
  started: (pending: object) => void,
): Promise<RawResult> {
  const rows: Row[] = []
  let columns: Column[] | undefined
  let seen = 0
  const take = (batch: Batch) => {
    columns ??= batch.columns
    seen += batch.length
    rows.push(...batch.slice(0, limit + 1 - rows.length))
  }
  const pending = sql.unsafe(text, params.map(toText), oneStatement)
  pending.values()
  started(pending)
  const done = await pending.cursor(limit + 1, (batch) => {
    take(batch as unknown as Batch)
    return isReadOnly && seen > limit ? sql.CLOSE : undefined
  })
  // Rows that the server does not count, such as those of EXPLAIN, come with the end of the cursor.
  if (!done.count) take(done as unknown as Batch)
  const affected = columns && columns.length > 0 ? seen : (done.count ?? 0)
  return { columns: columns ?? [], rows, command: done.command ?? '', affected }
}

const oneStatement = { prepare: false, simple: false } as { prepare: boolean }

const toText = (value: string | number | boolean | null): string | null =>
  value === null ? null : String(value)

export interface Login {
  service: string
  hostname: string
  port: number
  database: string
  user: string
  password: string
  /** Connects without TLS, within the Worker's or a private network. */
  isPlain: boolean
  /** Redacts the password from a text before it is truncated or quoted. */
  scrub(text: string): string
}

/** A type of the driver that leaves values and parameters as the text that PostgreSQL uses. */
const asText = {
  to: 25,
  // json, jsonb, date, timestamp, timestamptz, bytea, bool, int2, int4, oid, float4, float8
  from: [114, 3802, 1082, 1114, 1184, 17, 16, 21, 23, 26, 700, 701],
  serialize: (value: unknown) => value,
  parse: (value: unknown) => value,
}

/**
 * Creates a driver with a single connection. When it is lost, the driver must not open another one, where
 * a statement would run outside its transaction.
 */
function openDriver(login: Login, signal: AbortSignal) {
  const { hostname: host, port, database, user, password } = login
  let isUsed = false
  const socket = async () => {
    if (isUsed) throw new Error('The connection was lost.')
    isUsed = true
    const opened = await openSocket(login)
    if (!signal.aborted) return opened
    opened.end()
    throw signal.reason
  }
  const sql = postgres({
    host,
    port,
    database,
    user,
    password,
    // biome-ignore lint/plugin: the driver's types lack this option
    ...{ socket },
    max: 1,
    ssl: false,
    prepare: false,
    fetch_types: false,
    connect_timeout: postgresLimits.connectMs / 1_000,
    keep_alive: null,
    max_lifetime: null,
    types: { asText },
    connection: { application_name: 'rookery' },
    onnotice: () => undefined,
  })
  return sql
}

type Driver = ReturnType<typeof openDriver>

/** CancelRequest of PostgreSQL's protocol: length 16, code 80877102, process, secret. */
const cancelRequest = [16, 80_877_102]

/**
 * Cancels a running statement over a second connection, as PostgreSQL's protocol requires. The driver
 * keeps the process id and the secret with the running query.
 */
async function cancelStatement(login: Login, running: object): Promise<void> {
  const { state } = running as { state?: { pid: number; secret: number } | null }
  if (!state?.pid) return
  const message = new DataView(new ArrayBuffer(16))
  const fields = [...cancelRequest, state.pid, state.secret]
  for (const [index, field] of fields.entries()) message.setUint32(index * 4, field)
  const socket = await openSocket(login)
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve()).on('data', () => undefined)
    socket.write(new Uint8Array(message.buffer))
  })
}

interface Column {
  name: string
  /** The type's number in `pg_type`. */
  type: number
}

/** Types that a JSON number holds without loss: smallint, integer, oid, real, double precision. */
const numberTypes = [21, 23, 26, 700, 701]
const boolean = 16
const jsonTypes = [114, 3802]

/** Limits rows and values to what a model can read, and notes what was left out. */
function fitRows(
  answer: { columns: Column[]; rows: (string | null)[][] },
  limit: number,
  scrub: (text: string) => string,
): { columns: string[]; rows: unknown[][]; note: string } {
  const { columns } = answer
  const rows: unknown[][] = []
  let chars = 0
  let hasTruncated = false
  const read = (text: string | null, index: number): unknown => {
    if (text === null) return null
    const { valueCharsMax } = postgresLimits
    if (text.length <= valueCharsMax) return toValue(text, columns[index]?.type ?? 0)
    hasTruncated = true
    // Redact before truncating: the beginning of a secret would not be found.
    return `${cutText(scrub(text), valueCharsMax)}… [truncated: ${text.length} characters]`
  }
  for (const row of answer.rows.slice(0, limit)) {
    const values = row.map(read)
    chars += JSON.stringify(values).length
    if (chars > outside.answerCharsMax && rows.length > 0) break
    rows.push(values)
  }
  const notes = [
    rows.length < answer.rows.length && `There are more rows; these are the first ${rows.length}.`,
    hasTruncated && `Values longer than ${postgresLimits.valueCharsMax} characters were truncated.`,
  ]
  return { columns: columns.map(({ name }) => name), rows, note: notes.filter(Boolean).join(' ') }
}

/** Converts a value to its JSON type, or keeps PostgreSQL's text when JSON has none without loss. */
function toValue(text: string, type: number): unknown {
  if (type === boolean) return text === 't'
  if (numberTypes.includes(type)) {
    const number = Number(text)
    return Number.isFinite(number) ? number : text
  }
  // A JSON number with 16 digits or more would lose precision.
  return jsonTypes.includes(type) && !/\d{16}/.test(text) ? JSON.parse(text) : text
}

/** An error of the server (PostgreSQL's protocol, ErrorResponse). */
interface ServerError {
  code: string
  severity: string
  message: string
  detail?: string
  hint?: string
  /** Position in the statement, in characters from 1. */
  position?: string
}

/** Converts an error to one that a model can act on. The server's message is redacted, then truncated. */
export function explainError(
  { service, scrub }: Login,
  { sql, isReadOnly }: { sql: string; isReadOnly: boolean },
  error: unknown,
): AppError {
  if (error instanceof AppError) return error
  if (!isServerError(error)) return postgresErrors.connectionFailed(service, isReadOnly, error)
  const own = explainCode(service, error)
  if (own) return own
  const { severity, code, message, detail, hint, position } = error
  const more = [detail, hint && `Hint: ${hint}`, position && toPlace(sql, Number(position))]
  const shorten = (text: string) => scrub(text).slice(0, outside.excerptChars)
  return postgresErrors.statement(
    isTemporary(code),
    shorten(`${severity} ${code}: ${message}.`),
    shorten(more.filter(Boolean).join(' ')),
  )
}

/**
 * Whether an error is the server's, by its fields: the driver names it after a class, which minifying renames. Errors of
 * connections have codes too, such as `EPIPE`, and no severity.
 */
const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error &&
  'code' in error &&
  /^[0-9A-Z]{5}$/.test(String(error.code)) &&
  'severity' in error &&
  typeof error.severity === 'string'

/** Returns our own message for some SQLSTATEs (PostgreSQL's manual, appendix A); null for the others. */
function explainCode(service: string, { code, message }: ServerError): AppError | null {
  if (code === '25006') return postgresErrors.readOnly(code, message)
  if (code === '57014') return postgresErrors.timedOut(code)
  if (code.startsWith('28')) return postgresErrors.credentialRefused(service, code)
  return null
}

/** Whether a later call may succeed: SQLSTATEs of connections, resources, operator intervention and locks. */
const isTemporary = (code: string): boolean => /^(08|53|57|58|40|55P03)/.test(code)

const toPlace = (sql: string, position: number): string =>
  `At character ${position}: ${sql.slice(position - 1, position + 39).replace(/\s+/g, ' ')}`

/** The request for TLS: length 8, code 80877103 (PostgreSQL's protocol, SSLRequest). */
const sslRequest = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47])
/** `S`: the server accepts TLS. */
const sslAccepted = 83

interface Target {
  hostname: string
  port: number
  isPlain: boolean
}

/**
 * Opens a TCP connection to a database, with TLS unless `isPlain`. The runtime always checks the
 * certificate against public authorities and the host name.
 */
async function openSocket(target: Target): Promise<WireSocket> {
  const { connect } = await import('cloudflare:sockets')
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('timeout')), postgresLimits.connectMs)
  const plain = connect(`${target.hostname}:${target.port}`, {
    secureTransport: target.isPlain ? 'off' : 'starttls',
    allowHalfOpen: false,
  })
  try {
    return await Promise.race([late.promise, handshake(plain, target)])
  } catch (cause) {
    await plain.close().catch(() => undefined)
    if (cause instanceof AppError) throw cause
    throw postgresErrors.notReachable(cause)
  } finally {
    clearTimeout(timer)
  }
}

async function handshake(plain: Socket, target: Target): Promise<WireSocket> {
  await plain.opened
  if (target.isPlain) return new WireSocket(plain)
  const writer = plain.writable.getWriter()
  await writer.write(sslRequest)
  writer.releaseLock()
  const reader = plain.readable.getReader()
  const { value } = await reader.read()
  reader.releaseLock()
  // More than one byte would be unencrypted data injected before the handshake.
  if (value?.length !== 1 || value[0] !== sslAccepted) throw postgresErrors.noTls()
  const secure = plain.startTls()
  await secure.opened
  return new WireSocket(secure)
}

type Listener = (value?: unknown) => void

/** Node's Buffer, which Workers provide too; the driver reads messages with its methods. */
const { Buffer } = globalThis as unknown as {
  Buffer: { from(bytes: ArrayBuffer, offset: number, length: number): Uint8Array }
}

/**
 * Adapts an open connection to the driver's `socket` option. It fails when a response exceeds the memory
 * limit, and reports an unexpected close as an error, since the driver would reconnect.
 */
class WireSocket {
  readyState: 'open' | 'closed' = 'open'
  readonly #socket: Socket
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>
  readonly #listeners = new Map<string, Set<Listener>>()
  #isReading = false

  constructor(socket: Socket) {
    this.#socket = socket
    this.#writer = socket.writable.getWriter()
    socket.closed.catch(() => undefined)
  }

  on(event: string, listener: Listener): this {
    const all = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, all.add(listener))
    if (event === 'data' && !this.#isReading) {
      this.#isReading = true
      void this.#read()
    }
    return this
  }

  once(event: string, listener: Listener): this {
    const first: Listener = (value) => {
      this.removeListener(event, first)
      listener(value)
    }
    return this.on(event, first)
  }

  removeListener(event: string, listener: Listener): this {
    this.#listeners.get(event)?.delete(listener)
    return this
  }

  removeAllListeners(): this {
    this.#listeners.clear()
    return this
  }

  write(bytes: Uint8Array, done?: () => void): boolean {
    this.#writer.write(bytes).then(done, (error) => this.#fail(error))
    return true
  }

  end(bytes?: Uint8Array): void {
    if (this.readyState === 'closed') return
    this.readyState = 'closed'
    const last = bytes ? this.#writer.write(bytes) : Promise.resolve()
    last
      .then(() => this.#socket.close())
      .catch(() => undefined)
      .finally(() => this.#emit('close'))
  }

  destroy(): void {
    this.end()
  }

  async #read(): Promise<void> {
    let received = 0
    try {
      for await (const chunk of this.#socket.readable as ReadableStream<Uint8Array>) {
        received += chunk.length
        if (received > postgresLimits.receivedBytesMax) throw postgresErrors.resultTooLarge()
        this.#emit('data', Buffer.from(chunk.buffer as ArrayBuffer, chunk.byteOffset, chunk.length))
      }
      this.#fail(new Error('The server closed the connection.'))
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.readyState === 'closed') return
    this.#emit('error', error)
    this.end()
  }

  #emit(event: string, value?: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(value)
  }
}
