import postgres from 'postgres'
import { postgresLimits } from '../../shared/config'
import { openSocket } from './open-socket'

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
export function openDriver(login: Login, signal: AbortSignal) {
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
    // In a spread, because the driver's types lack this option.
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

export type Driver = ReturnType<typeof openDriver>

/** CancelRequest of PostgreSQL's protocol: length 16, code 80877102, process, secret. */
const cancelRequest = [16, 80_877_102]

/**
 * Cancels a running statement over a second connection, as PostgreSQL's protocol requires. The driver
 * keeps the process id and the secret with the running query.
 */
export async function cancelStatement(login: Login, running: object): Promise<void> {
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
