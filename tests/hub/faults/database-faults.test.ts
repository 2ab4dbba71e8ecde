import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { createDb } from '../../../src/shared/db/db'
import { secretFields } from '../../../src/web/frame/read-form'
import { asDeployed, countArguments } from '../../support/platform-database'
import { runInvocation } from '../../support/platform-invocation'
import { form, signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

const sources = import.meta.glob<string>('../../../src/web/**/*.tsx', {
  query: '?raw',
  import: 'default',
  eager: true,
})

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const scout = await hub.join('scout')
await hub.host(scout.id)
const browser = await signIn(hub, mira.key)

const lost = 'Network connection lost.'
const overloaded = 'D1 DB is overloaded. Too many requests queued.'
const isInsert = (sql: string[], table: string) =>
  sql.some((each) => new RegExp(`^insert into "?${table}"?`, 'i').test(each))

/** Fails the next `times` batches that write to a table; returns how many were sent. */
function failWrites(table: string, fault: { message: string; isWritten: boolean }, times: number) {
  const sent = { count: 0 }
  hub.seen.findFault = (sql) => {
    if (!isInsert(sql, table)) return null
    sent.count++
    return sent.count <= times ? fault : null
  }
  return sent
}

beforeEach(() => {
  hub.seen.findFault = () => null
})

const write = (title: string, headers = {}) =>
  hub.call('/posts', {
    key: mira.key,
    headers,
    body: { community: 'general', title, content: 'Hello @scout' },
  })

const countPosts = async (title: string) =>
  (await env.DB.prepare('SELECT count(*) AS n FROM posts WHERE title = ?')
    .bind(title)
    .first('n')) ?? null

test('faults: a fault of the database answers 503 with Retry-After, on writes and on reads', async () => {
  const sent = failWrites('posts', { message: overloaded, isWritten: false }, 9)
  const refused = await write('Not saved')
  expect([refused.status, refused.body.code]).toEqual([503, 'UNAVAILABLE'])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(JSON.stringify(refused.body)).not.toMatch(/D1|SQL/)
  expect(sent.count, 'a write without a key is never sent twice').toBe(1)

  hub.seen.findFault = () => ({ message: lost, isWritten: false })
  const read = await hub.call('/posts')
  expect([read.status, read.headers.get('retry-after')]).toEqual([503, '5'])
  const page = await hub.fetch('/', { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await page.text()).toContain('Temporarily unavailable')
})

test('faults: a wrong statement stays an internal error', async () => {
  hub.seen.findFault = (sql) =>
    isInsert(sql, 'posts') ? { message: 'no such column: x: SQLITE_ERROR', isWritten: false } : null
  expect((await write('Broken')).status).toBe(500)
})

test('H6: a write with an Idempotency-Key is sent again, and is written once', async () => {
  for (const isWritten of [false, true]) {
    const title = `Sent again ${isWritten}`
    const armed = hub.seen.armed
    const before = { woken: hub.seen.woken.length, disarmed: hub.seen.disarmed.length }
    const sent = failWrites('posts', { message: lost, isWritten }, 1)
    const answer = await write(title, { 'idempotency-key': title })
    expect([answer.status, sent.count]).toEqual([201, 2])
    expect(await countPosts(title)).toBe(1)
    // Who was woken is not known when the answer got lost, so the sweep stays armed to find the task.
    expect(hub.seen.armed - armed).toBe(1)
    expect(hub.seen.woken.length - before.woken).toBe(isWritten ? 0 : 1)
    expect(hub.seen.disarmed.length - before.disarmed).toBe(isWritten ? 0 : 1)
  }
  const sent = failWrites('posts', { message: lost, isWritten: false }, 99)
  expect((await write('Given up', { 'idempotency-key': 'given-up' })).status).toBe(503)
  expect(sent.count).toBe(3)
  const overload = failWrites('posts', { message: overloaded, isWritten: false }, 99)
  expect((await write('Too much', { 'idempotency-key': 'too-much' })).status).toBe(503)
  expect(overload.count, 'an overloaded database is left alone').toBe(1)
})

test('H6: a form that met a fault keeps its text, and is written once when it is sent again', async () => {
  const fields = { community: 'general', title: 'Kept <title>', content: 'First line\n"second"' }
  hub.seen.findFault = (sql) =>
    isInsert(sql, 'posts') ? { message: overloaded, isWritten: true } : null
  const failed = await browser.send('/posts-new', fields)
  expect([failed.status, failed.headers.get('retry-after')]).toEqual([503, '5'])
  const html = await failed.text()
  expect(html).toContain('Kept &lt;title&gt;')
  expect(html).toContain('First line\n&quot;second&quot;</textarea>')
  const key = /name="idempotency_key" value="([^"]+)"/.exec(html)?.[1] ?? ''
  expect(html).toContain('action="/posts-new"')

  hub.seen.findFault = () => null
  const again = await browser.send('/posts-new', { ...fields, idempotency_key: key })
  expect(again.status).toBe(303)
  expect(await countPosts(fields.title)).toBe(1)
})

test('faults: a form with a secret is not repeated in the answer', async () => {
  hub.seen.findFault = () => ({ message: lost, isWritten: false })
  const failed = await hub.fetch('/login', form({ key: mira.key, next: '/' }))
  expect(failed.status).toBe(503)
  expect(await failed.text()).not.toContain(mira.key)
  const inputs = Object.values(sources).flatMap((source) =>
    [
      ...source.matchAll(/name="(\w+)"[^/]*?type="password"|type="password"[^/]*?name="(\w+)"/g),
    ].map(([, before, after]) => before ?? after ?? ''),
  )
  expect(inputs.length).toBeGreaterThan(2)
  expect(inputs.filter((name) => !secretFields.includes(name))).toEqual([])
})

test('faults: the database of these tests refuses what a deployed one refuses', async () => {
  const { d1 } = createDb(asDeployed(env.DB))
  const many = `json_array(${Array.from({ length: 33 }, () => '1').join(', ')})`
  expect(countArguments(`SELECT ${many}, coalesce(x, 'a,b(') FROM t WHERE x IN (1, 2)`)).toBe(33)
  expect(() => d1.prepare(`SELECT ${many}`)).toThrow('33 arguments')
  expect(() => d1.prepare('SELECT ?').bind('x'.repeat(2_000_001))).toThrow('longer than D1')
  expect(() => d1.prepare('SELECT ?').bind(...Array(101).fill(1))).toThrow('101 parameters')
  const sendMany = () => d1.batch(Array.from({ length: 1_001 }, () => d1.prepare('SELECT 1')))
  await expect(runInvocation(sendMany)).rejects.toThrow('1001 statements')
})
