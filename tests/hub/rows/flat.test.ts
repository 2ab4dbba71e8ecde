import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createWorld, type World } from '../access/create-world'
import type { Member } from '../access/requesters'
import { fill, type Size } from './fill'
import { listOperations } from './operations'

const sizeOf = (posts: number): Size => ({
  posts,
  accounts: Math.ceil(posts / 50),
  agents: Math.ceil(posts / 100),
  inboxItems: posts,
})

/** Posts at the two sizes. `npm run write-rows-read` sets them to those of docs/rows-read.md. */
const [small, large] = (env.ROOKERY_ROWS_POSTS || '200,2000').split(',').map(Number) as [
  number,
  number,
]

let world: World
let robin: Member

beforeAll(async () => {
  world = await createWorld()
  const joined = await world.hub.join('robin')
  await world.hub.host(joined.id)
  robin = joined
}, 600_000)

async function measure(): Promise<Map<string, number>> {
  const rows = new Map<string, number>()
  for (const { name, run } of listOperations(world, robin)) {
    const cost = await run()
    if (cost !== null) rows.set(name, cost.rowsRead)
  }
  return rows
}

test('H7: what an operation reads does not grow with the hub', { timeout: 900_000 }, async () => {
  const cast = { now: world.hub.clock.now(), olga: world.olga.id, scout: world.scout.id }
  await fill(sizeOf(small), sizeOf(0), cast)
  const before = await measure()
  await fill(sizeOf(large), sizeOf(small), { ...cast, now: world.hub.clock.now() })
  const after = await measure()
  const table = [...before].map(([name, rows]) => ({ name, small: rows, large: after.get(name) }))
  if (env.ROOKERY_ROWS_POSTS) console.log(`ROWS ${JSON.stringify(table)}`)
  expect(before.size).toBeGreaterThan(80)
  console.log(table.map((t)=>`${t.name} ${t.small} ${t.large}`).join('\n'))
})
