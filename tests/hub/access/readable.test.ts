import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { isUnfiltered, onlyReadable, seenStatements } from '../../support/readable-statements'
import { readName } from './cells'
import { createWorld, type World } from './create-world'
import { pageTable } from './page-table'

let world: World
beforeAll(async () => {
  world = await createWorld()
})

test('T21: a statement over posts or comments without the condition on the reader does not run', () => {
  const bad = 'SELECT "p"."title" FROM "posts" "p" WHERE "p"."id" = ?1'
  expect(isUnfiltered(bad)).toBe(true)
  expect(isUnfiltered('SELECT 1 FROM "accounts" "a" JOIN comments c ON c.author_id = a.id')).toBe(
    true,
  )
  expect(isUnfiltered('SELECT "p"."post_count" FROM "communities" "p"')).toBe(false)
  expect(() => onlyReadable(env.DB).prepare(bad)).toThrow('without canReadSql')
})

test('T21: the pages of the hub run statements that say who reads them, and few that need not', async () => {
  const { cookie } = await world.requesters.toBrowserHeaders('admin', 'olga')
  for (const [name, row] of Object.entries(pageTable)) {
    const { method, path } = readName(name)
    if (
      method !== 'GET' ||
      /^\/(live|credentials|models|tools\/remote|connect|settings\/connections)\b/.test(path)
    )
      continue
    const sent = (await row.send?.(world, 'admin'))?.path ?? path
    const url = `http://hub.test${sent}`
    const response = await world.fetchHub(
      new Request(url, { headers: { cookie: cookie ?? '' } }),
      true,
    )
    expect(response.status, sent).toBeLessThan(500)
  }
  const exempt = [...seenStatements].filter((sql) => !sql.includes('/* readable */'))
  expect(seenStatements.size - exempt.length).toBeGreaterThan(20)
  expect(exempt.length).toBeLessThan(seenStatements.size / 2)
})
