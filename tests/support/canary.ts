import { listDurableObjectIds, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import { createScrubber } from '../../src/mcp-servers/credentials/scrub'
import type { Watcher } from '../hub/live/watch-agents'
import { adminKey, type CommentRow, call } from './cast'
import type { TestAgent } from './create-agent'

/** The ways in which `fake-service.ts` returns its caller's key. */
export const echoes = [
  '/body',
  '/text',
  '/header',
  '/type',
  '/error',
  '/broken',
  '/base64',
  '/encoded',
  '/escaped',
  '/hex',
  '/chunks',
  '/long',
  '/brim',
  '/utf16',
  '/moved',
  '/gone',
  '/nowhere',
]

/** Returns a function that finds a secret in any encoding, and its parts that no escaping changes. */
export function createFinder(secrets: string[], pieces: string[] = []) {
  const scrubbers = secrets.map((secret) => createScrubber(secret))
  return (text: string): boolean =>
    scrubbers.some((scrubber) => scrubber.text(text) !== text) ||
    [...secrets, ...pieces].some((piece) => text.includes(piece))
}

/** Collects the log. */
export function watchLog(): string[] {
  const logged: string[] = []
  for (const method of ['error', 'warn', 'info', 'debug', 'log'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void logged.push(words.join(' ')))
  }
  return logged
}

export async function dumpTables(): Promise<[string, string][]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  ).all<{ name: string }>()
  const dumps: [string, string][] = []
  for (const { name } of results) {
    const rows = await env.DB.prepare(`SELECT * FROM "${name}"`).raw()
    dumps.push([name, rows.flat().map(String).join('\n')])
  }
  return dumps
}

export async function dumpFiles(): Promise<[string, string][]> {
  const { objects } = await env.FILES.list()
  return Promise.all(
    objects.map(async ({ key }): Promise<[string, string]> => {
      return [key, `${key}\n${await (await env.FILES.get(key))?.text()}`]
    }),
  )
}

/** Returns the storage of all Durable Objects: agents, scheduler and live objects. */
export async function dumpObjects(): Promise<[string, string][]> {
  const dumps: [string, string][] = []
  for (const name of ['AGENTS', 'SCHEDULER', 'LIVE'] as const) {
    const namespace: DurableObjectNamespace = env[name]
    for (const id of await listDurableObjectIds(namespace)) {
      dumps.push([name, await dumpObject(namespace.get(id))])
    }
  }
  return dumps
}

const dumpObject = (stub: DurableObjectStub): Promise<string> =>
  runInDurableObject(stub, async (_instance, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .toArray()
      .filter(({ name }) => !name.startsWith('_cf'))
    const rows = tables.flatMap(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray())
    const kept = [...(await storage.list()).values()]
    const values = rows.flatMap((row) => Object.values(row).map(String))
    return [...values, JSON.stringify(kept)].join('\n')
  })

/** Expects that a secret is stored nowhere: tables, files, objects and the log. */
export async function expectNotKept(
  holds: (text: string) => boolean,
  logged: string[],
): Promise<[string, string][]> {
  const objects = await dumpObjects()
  for (const name of ['AGENTS', 'SCHEDULER', 'LIVE']) {
    expect(objects.map(([each]) => each)).toContain(name)
  }
  const dumps = [...(await dumpTables()), ...(await dumpFiles()), ...objects]
  expect(dumps.filter(([, dump]) => holds(dump)).map(([name]) => name)).toEqual([])
  expect(logged.filter(holds)).toEqual([])
  return dumps
}

/** Returns what an admin can see: trace, live events, export, audit, and the pages. */
async function readPages({ activation_id: id }: CommentRow, postId: string) {
  const paths = [
    `/api/v1/activations/${id}`,
    `/api/v1/activations/${id}/events`,
    `/api/v1/activations/${id}/otlp`,
    '/api/v1/audit',
    `/activations/${id}`,
    `/p/${postId}`,
    '/tools',
    '/tools/remote',
    '/m/agent-errors',
    '/api/v1/remote-servers',
    '/api/v1/remote-tools',
    '/api/v1/tools',
  ]
  return Promise.all(
    paths.map(async (path): Promise<[string, string]> => {
      const { status, body } = await call('GET', path, { key: adminKey })
      expect(status, path).toBe(200)
      return [path, JSON.stringify(body)]
    }),
  )
}

/**
 * Expects that a secret appears nowhere after an activation: prompts, live events, tables, files, objects,
 * log, pages and API. `told` is the number of `[redacted]` in the prompts, to prove that the search
 * covers them.
 */
export async function expectNowhere(
  holds: (text: string) => boolean,
  { agent, reply, postId, logged, watcher }: Left,
): Promise<{ told: number }> {
  const requests = await agent.requests()
  const prompts = requests.map(({ body }) => JSON.stringify(body))
  expect(prompts.filter(holds).length).toBe(0)
  const kept = await expectNotKept(holds, logged)
  // The searched data does contain the activation's text.
  const ownName = env.AGENTS.idFromName(agent.accountId)
  expect(await dumpObject(env.AGENTS.get(ownName))).toContain('[redacted]')
  const pages = await readPages(reply, postId)
  expect(kept.length + pages.length).toBeGreaterThan(26)
  expect(pages.filter(([, page]) => holds(page)).map(([name]) => name)).toEqual([])
  expect([...kept, ...pages].some(([, dump]) => dump.includes('[redacted]'))).toBe(true)
  const frames = JSON.stringify(watcher.heard)
  expect(frames).toContain('[redacted]')
  expect(holds(frames)).toBe(false)
  return { told: prompts.at(-1)?.match(/\[redacted\]/g)?.length ?? 0 }
}

/** Counts the reports of an agent in m/agent-errors. */
export const countReports = async (name: string) =>
  (
    await env.DB.prepare(
      `SELECT p.id FROM posts p JOIN communities m ON m.id = p.community_id
       WHERE m.name = 'agent-errors' AND p.title LIKE ?`,
    )
      .bind(`${name} failed%`)
      .all()
  ).results.length

interface Left {
  agent: TestAgent
  reply: CommentRow
  postId: string
  logged: string[]
  watcher: Watcher
}
