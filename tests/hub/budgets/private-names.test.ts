import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { privateCommunityLabel } from '../../../src/hub/rules/places'
import { isUnfiltered } from '../../support/readable-statements'
import { signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const DAY_MS = 86_400_000
type Person = Awaited<ReturnType<typeof hub.join>>
let member: Person
let outsider: Person
let budgetId: string

const create = async (name: string, visibility: string, day: number) => {
  await hub.call('/communities', { key: member.key, body: { name, visibility } })
  await env.DB.prepare(
    `INSERT INTO usage_days VALUES ('community', ?1, (SELECT id FROM communities WHERE name = ?2), 1, 0, 10, 0, 5, 0, 3000000, 0, 0)`,
  )
    .bind(day, name)
    .run()
}

beforeAll(async () => {
  member = await hub.join('olga', 'human')
  outsider = await hub.join('piet', 'human')
  const day = Math.floor(hub.clock.now() / DAY_MS) - 1
  for (const [name, visibility] of [
    ['cellar', 'private'],
    ['attic', 'private'],
    ['garden', 'public'],
  ] as const) {
    await create(name, visibility, day)
  }
  const body = { scope: 'community', name: 'cellar', period: 'month', limit_microusd: 9_000_000 }
  const made = await hub.call('/budgets', { key: adminKey, body })
  expect(made.status).toBe(201)
  expect(made.body.budget.community).toMatchObject({ name: 'cellar', display_name: 'cellar' })
  budgetId = made.body.budget.id
})

const closed = /cellar|attic/
const paths = ['/usage?group_by=community', '/budgets', '/budgets/health']
const pages = ['/budgets?by=community', '/budgets.csv?by=community', '/budgets']

test('T21: usage counts the money of communities that a reader does not read, as one without a name', async () => {
  for (const key of [outsider.key, null]) {
    await hub.call('/usage', { key })
    const { body, headers } = await hub.call('/usage?group_by=community', { key })
    expect(readCost(headers).roundTrips).toBe(1)
    expect(body.usage).toEqual([
      expect.objectContaining({
        community: {
          id: 'private',
          name: privateCommunityLabel,
          display_name: privateCommunityLabel,
        },
        cost_microusd: 6_000_000,
        calls: 2,
      }),
      expect.objectContaining({
        community: { id: expect.any(String), name: 'garden', display_name: 'garden' },
        cost_microusd: 3_000_000,
      }),
    ])
  }
  for (const key of [member.key, adminKey]) {
    const { body } = await hub.call('/usage?group_by=community', { key })
    const names = body.usage.map((row: { community: { name: string } }) => row.community.name)
    expect(names.toSorted()).toEqual(['attic', 'cellar', 'garden'])
  }
})

test('T21: a budget of a community says its name to those who read it, and to admins', async () => {
  const nameFor = async (path: string, key: string | null) => {
    const { body } = await hub.call(path, { key })
    return body.budgets.find(({ id }: { id: string }) => id === budgetId).community?.name ?? null
  }
  for (const path of ['/budgets', '/budgets/health']) {
    expect(await nameFor(path, outsider.key)).toBeNull()
    expect(await nameFor(path, null)).toBeNull()
    expect(await nameFor(path, member.key)).toBe('cellar')
    expect(await nameFor(path, adminKey)).toBe('cellar')
  }
})

test('T21: no page, file or route of budgets names a community to those who do not read it', async () => {
  const browser = await signIn(hub, outsider.key)
  const own = await signIn(hub, member.key)
  for (const path of pages) {
    expect(await browser.read(path), path).not.toMatch(closed)
    expect(await (await hub.fetch(path)).text(), path).not.toMatch(closed)
    expect(await own.read(path), path).toMatch(/cellar/)
  }
  expect(await browser.read('/budgets?by=community')).toContain(privateCommunityLabel)
  expect(await browser.read('/budgets.csv?by=community')).toContain('6.000000')
  for (const path of [...paths, '/usage', '/usage?group_by=day']) {
    expect(JSON.stringify((await hub.call(path, { key: outsider.key })).body)).not.toMatch(closed)
  }
})

test('T21: a statement that joins names of communities to money without the condition does not run', () => {
  const bad = `SELECT "m"."name" FROM "budgets" "b" LEFT JOIN "communities" "m" ON "m"."id" = "b"."scope_id"`
  expect(isUnfiltered(bad)).toBe(true)
  expect(isUnfiltered(bad.replace('budgets', 'usage_days'))).toBe(true)
  expect(isUnfiltered(bad.replace('SELECT', 'SELECT /* readable */'))).toBe(false)
  expect(isUnfiltered('SELECT "name" FROM "communities"')).toBe(false)
})
