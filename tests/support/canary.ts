import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, vi } from 'vitest'
import { createScrubber } from '../../src/mcp-servers/credentials/scrub'
import type { Watcher } from '../hub/live/watch-agents'
import { adminKey, type CommentRow, call } from './cast'
import type { Hired } from './fake-hire'

/** Every way in which the service of `fake-service.ts` gives its caller's key back. */
export const echoes = [
  ...['/body', '/text', '/header', '/type', '/error', '/broken', '/base64', '/encoded'],
  ...['/escaped', '/hex', '/chunks', '/long', '/brim', '/utf16', '/moved', '/gone', '/nowhere'],
]

/** Finds a secret in any form, and parts of it that no way of escaping changes. */
export function createFinder(secrets: string[], pieces: string[] = []) {
  const scrubbers = secrets.map((secret) => createScrubber(secret))
  return (text: string): boolean =>
    scrubbers.some((scrubber) => scrubber.text(text) !== text) ||
    [...secrets, ...pieces].some((piece) => text.includes(piece))
}

/** What the operator would read. */
export function watchLog(): string[] {
  const logged: string[] = []
  for (const method of ['error', 'warn', 'info', 'debug', 'log'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void logged.push(words.join(' ')))
  }
  return logged
}

async function dumpTables(): Promise<[string, string][]> {
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

async function dumpFiles(): Promise<[string, string][]> {
  const { objects } = await env.FILES.list()
  return Promise.all(
    objects.map(async ({ key }): Promise<[string, string]> => {
      return [key, `${key}\n${await (await env.FILES.get(key))?.text()}`]
    }),
  )
}

async function dumpObject(accountId: string): Promise<string> {
  const stub = env.AGENTS.get(env.AGENTS.idFromName(accountId))
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .toArray()
      .filter(({ name }) => !name.startsWith('_cf'))
    const rows = tables.flatMap(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray())
    const kept = [...(await storage.list()).values()]
    return [...rows.flatMap((row) => Object.values(row).map(String)), JSON.stringify(kept)].join(
      '\n',
    )
  })
}

/** What who may see everything is shown: trace, live events, export, audit, and the pages. */
async function readPages({ activation_id: id }: CommentRow, postId: string) {
  const paths = [
    ...[`/api/v1/activations/${id}`, `/api/v1/activations/${id}/events`],
    ...[`/api/v1/activations/${id}/otlp`, '/api/v1/audit'],
    ...[`/activations/${id}`, `/p/${postId}`, '/tools', '/tools/remote'],
    ...['/api/v1/remote-servers', '/api/v1/tools'],
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
 * Looks for a secret wherever an activation has left anything: prompts, what a watcher heard, tables,
 * files, its object's store, log, pages and API. `told` is how often the agent was told `[redacted]`, so that the search looks where it was.
 */
export async function expectNowhere(
  holds: (text: string) => boolean,
  { agent, reply, postId, logged, watcher }: Left,
): Promise<{ told: number }> {
  const requests = await agent.requests()
  const prompts = requests.map(({ body }) => JSON.stringify(body))
  expect(prompts.filter(holds).length).toBe(0)
  const dumps = [
    ...(await dumpTables()),
    ...(await dumpFiles()),
    ...(await readPages(reply, postId)),
  ]
  expect(dumps.length).toBeGreaterThan(26)
  expect(dumps.filter(([, dump]) => holds(dump)).map(([name]) => name)).toEqual([])
  // what is searched does hold the activation's words
  expect(dumps.filter(([, dump]) => dump.includes('[redacted]')).length).toBeGreaterThan(0)
  const frames = JSON.stringify(watcher.heard)
  expect(frames).toContain('[redacted]')
  expect(holds(frames)).toBe(false)
  const object = await dumpObject(agent.accountId)
  expect(object).toContain('[redacted]')
  expect(holds(object)).toBe(false)
  expect(logged.filter(holds)).toEqual([])
  return { told: prompts.at(-1)?.match(/\[redacted\]/g)?.length ?? 0 }
}

interface Left {
  agent: Hired
  reply: CommentRow
  postId: string
  logged: string[]
  watcher: Watcher
}
