import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { type ObjectBindings, restrictObjects } from '../../src/compose'

const names = ['AGENTS', 'SCHEDULER', 'LIVE', 'RATE_COUNTERS', 'RUNNERS', 'REPLAYS'] as const

/** The platform's objects: workerd on a machine has no jurisdictions. */
const bindings = Object.fromEntries(
  names.map((name) => [name, { name, jurisdiction: (place: string) => ({ name, place }) }]),
) as unknown as ObjectBindings

test('all objects of a deployment with a jurisdiction stay in it, and those of any other anywhere', () => {
  expect(restrictObjects(bindings)).toBe(bindings)
  const restricted = restrictObjects({ ...bindings, ROOKERY_JURISDICTION: 'eu' })
  for (const name of names) expect(restricted[name]).toEqual({ name, place: 'eu' })
  expect(() => restrictObjects({ ...bindings, ROOKERY_JURISDICTION: 'mars' })).toThrow()
})

test('every binding of objects is among them', () => {
  const bound = Object.entries(env).filter(
    ([, value]) => value?.constructor?.name === 'DurableObjectNamespace',
  )
  expect(bound.map(([name]) => name).toSorted()).toEqual(names.toSorted())
})
