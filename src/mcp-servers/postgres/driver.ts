import postgres from 'postgres'
import { postgresLimits } from '../../config'
import { openSocket } from './open-socket'

export interface Login {
  service: string
  hostname: string
  port: number
  database: string
  user: string
  password: string
  /** Without TLS: within the Worker's or a private network. */
  isPlain: boolean
  /** Takes the password out of what is cut or quoted. */
  scrub(text: string): string
}

/** Every value stays the text that PostgreSQL sent, and every parameter goes as it is. */
const asText = {
  to: 25,
  // json, jsonb, date, timestamp, timestamptz, bytea, bool, int2, int4, oid, float4, float8
  from: [114, 3802, 1082, 1114, 1184, 17, 16, 21, 23, 26, 700, 701],
  serialize: (value: unknown) => value,
  parse: (value: unknown) => value,
}

/**
 * The driver on one connection. It would open another one when that is lost, and a statement must not
 * run there, outside of its transaction: only `cancel` may open a second one, to cancel the first.
 */
export function openDriver(login: Login, signal: AbortSignal) {
  const { hostname: host, port, database, user, password } = login
  let allowance = 1
  const socket = async () => {
    if (allowance-- < 1) throw new Error('The connection was lost.')
    const isMain = !signal.aborted
    const opened = await openSocket(login)
    if (!isMain || !signal.aborted) return opened
    opened.end()
    throw signal.reason
  }
  const sql = postgres({
    ...{ host, port, database, user, password, socket },
    ...{ max: 1, ssl: false, prepare: false, fetch_types: false },
    ...{ connect_timeout: postgresLimits.connectMs / 1_000, keep_alive: null, max_lifetime: null },
    types: { asText },
    connection: { application_name: 'rookery' },
    onnotice: () => undefined,
  })
  const cancel = async (running: { cancel(): unknown }): Promise<void> => {
    allowance = 1
    const cancelled = running.cancel()
    allowance = 0
    await cancelled
  }
  return { sql, cancel }
}

export type Driver = ReturnType<typeof openDriver>['sql']
