import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import { guardHost } from '../../../src/mcp-servers/fetch/guarded-fetch'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { postgresServer } from '../../../src/mcp-servers/servers/postgres'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { testDatabase } from '../../support/postgres-login'

interface Place {
  base?: string
  credential?: string | null
  allowPrivate?: boolean
  /** Of every name. */
  addresses?: string[]
  allowed?: string[]
}

/** The real gateway with the server's tools, on a database; the hub before it is not real. */
export function openDatabase(place: Place = {}) {
  const failures: unknown[] = []
  const credential = place.credential ?? testDatabase.credential
  const allowPrivate = place.allowPrivate ?? true
  const resolve = async () => place.addresses ?? []
  const scrubber = createScrubber(
    credential,
    ...(postgresServer.services?.secretParts?.(credential) ?? []),
  )
  const gateway = createGateway({
    ...testFileStores,
    hub: createFakeHubApi({ requested: ['*'], allowed: place.allowed ?? ['*'], denied: [] }).hubApi,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers: [postgresServer],
    connect: async ({ service }) => ({
      scrubber,
      connection: {
        service,
        owner: null,
        baseUrl: new URL(place.base ?? testDatabase.baseUrl),
        headers: {},
        format: 'json',
        hosts: [],
        allowPrivate,
        credential: place.credential === null ? null : credential,
        scrub: scrubber.text,
        guardHost: (hostname) =>
          guardHost(
            { service, reach: { hosts: [], allowHttp: false, allowPrivate }, resolve },
            hostname,
            new AbortController().signal,
          ),
        fetch: () => Promise.reject(new Error('not over HTTP')),
      },
    }),
    reportFailure: (_tool, cause) => failures.push(cause),
  })
  const call = async (tool: 'query' | 'execute', args: object, signal?: AbortSignal) => {
    const { text, isError } = await gateway.call(
      scoutAtWork,
      {
        callId: 'call-1',
        tool: `postgres_${tool}`,
        arguments: JSON.stringify({ database: 'main', ...args }),
      },
      signal ?? new AbortController().signal,
    )
    return { text, isError }
  }
  const answer = async (tool: 'query' | 'execute', sql: string, more: object = {}) => {
    const { text, isError } = await call(tool, { sql, ...more })
    if (isError) throw new Error(text)
    return JSON.parse(text)
  }
  const refusal = async (tool: 'query' | 'execute', sql: string, more: object = {}) => {
    const { text, isError } = await call(tool, { sql, ...more })
    if (!isError) throw new Error(`It was not refused: ${text}`)
    return text
  }
  return { call, answer, refusal, failures }
}

/** The embedded server starts when somebody connects; on a busy machine that takes a while. */
export async function waitForServer(): Promise<void> {
  const { call } = openDatabase()
  for (let attempt = 0; attempt < 10; attempt++) {
    const { isError } = await call('query', { sql: 'SELECT 1' })
    if (!isError) return
  }
  throw new Error('PostgreSQL did not start.')
}
