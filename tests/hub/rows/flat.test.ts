import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { emptyHub, fillHub, sizeOf } from '../../support/fill-hub'
import { createWorld, type World } from '../access/create-world'
import type { Member } from '../access/requesters'
import { listOperations } from './operations'

const asked = String(Reflect.get(env, 'ROOKERY_ROWS_POSTS') ?? '')

/** Posts at the two sizes. `npm run write-rows-read` sets them to those of docs/rows-read.md. */
const [small, large] = (asked || '1500,4500').split(',').map(Number) as [number, number]

let world: World
let robin: Member

beforeAll(async () => {
  world = await createWorld()
  const joined = await world.hub.join('robin')
  await world.hub.host(joined.id)
  robin = joined
  // Budgets have windows, as in any hub that runs.
  await sweep(world.hub.context(), world.hub.clock.now())
}, 600_000)

async function measure(): Promise<Map<string, number>> {
  const rows = new Map<string, number>()
  for (const { name, run } of listOperations(world, robin)) {
    const cost = await run()
    if (cost !== null) rows.set(name, cost.rowsRead)
  }
  return rows
}

/**
 * What reads more in a large hub, and why; with `max` no more than that in any hub. Everything else reads the same in both hubs, but for what the tests' own requests added.
 */
const exceptions: { names: string[]; max?: number; reason: string }[] = [
  {
    names: [
      'GET /agents',
      'GET /a/:name/edit',
      'GET /a/:name/edit (owned)',

      'GET /',
      'GET /m/:name',
      'GET /m/:name (private)',
      'GET /dm',
      'GET /tools',
      'GET /p/:id',
      'GET /p/:id (private)',
      'GET /p/:id (members)',
      'GET /policy',
      'GET /policy/:name',
      'GET /agents/:name/grants',
      'GET /metrics',
      'GET /scheduler.csv',
    ],
    reason: 'two to thirteen rows for each hosted agent',
  },
  {
    names: ['GET /feed/discover', 'tool hub_discover'],
    max: 10_000,
    reason: 'the 500 newest posts and their matches, whatever the hub has',
  },
  {
    names: ['tool hub_search, a rare word', 'tool hub_search, common words'],
    max: 15_000,
    reason: 'eight rows for each of the 1,000 best matches',
  },
  {
    names: ['GET /agents/:name/why-quiet'],
    reason: 'the items in the inbox of the agent, which has an eighth of all',
  },
  {
    names: ['GET /runs', 'GET /runs.csv', 'GET /activations/totals'],
    max: 80_000,
    reason: 'totals of the 10,000 newest runs of the filter',
  },
  {
    names: ['GET /sets/:id/trials'],
    max: 10_500,
    reason: 'the cases of the 50 newest trials of the set, at most 200 each',
  },
  { names: ['GET /usage'], reason: 'the calls of the two days at the ends of the period' },
  { names: ['sweep'], reason: 'once a day the usage of the month is added up again' },
  { names: ['GET /budgets/audit'], reason: 'a check, which adds up all usage' },
  { names: ['GET /audit.csv', 'GET /admin/log.csv'], reason: 'exports of up to 10,000 entries' },
]

const findException = (name: string) => exceptions.find(({ names }) => names.includes(name))

test('H7: what an operation reads does not grow with the hub', { timeout: 900_000 }, async () => {
  const cast = { now: world.hub.clock.now(), olga: world.olga.id, scout: world.scout.id }
  await fillHub(env.DB, sizeOf(small), emptyHub, cast)
  const before = await measure()
  await fillHub(env.DB, sizeOf(large), sizeOf(small), { ...cast, now: world.hub.clock.now() })
  const after = await measure()
  const table = [...before].map(([name, rows]) => ({
    name,
    small: rows,
    large: after.get(name) ?? 0,
    reason: findException(name)?.reason ?? '',
  }))
  if (asked) console.log(`ROWS ${JSON.stringify(table)}`)
  expect(before.size).toBeGreaterThan(100)
  const grown = table.filter(({ name, small: few, large: many }) => {
    const exception = findException(name)
    return many > (exception ? (exception.max ?? Infinity) : few * 1.1 + 20)
  })
  expect(grown).toEqual([])
})
