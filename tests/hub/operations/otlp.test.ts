import { beforeAll, expect, test } from 'vitest'
import type { RunEvent } from '../../../src/agents/run/run-event'
import { readOtlp } from '../../support/check-otlp'
import { answered, charge, ended, loaded, toStoredLog, woken } from '../../support/run-log'
import { readCost } from '../create-test-hub'
import { createOffice, type Started } from '../runs/create-office'

const office = createOffice()
const { hub } = office
let mira: Awaited<ReturnType<typeof hub.join>>
let scout: typeof mira
let run: Started

const at = Date.UTC(2026, 0, 1)
const events = (): RunEvent[] => [
  woken(run.activationId, at),
  loaded({ at }),
  answered({ startedAt: at, text: 'Owls.', charge: charge({ cachedTokens: 1 }) }),
]

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await office.createAgent('scout')
  await office.post(mira.key, '@scout hello')
  run = await office.start(scout.id)
})

const read = (id: string = run.activationId) => hub.call(`/activations/${id}/otlp`)

test('L43: a running activation is exported from its agent’s trace', async () => {
  hub.seen.readRunLog = async () => toStoredLog(events())
  const { status, body } = await read()
  expect(status).toBe(200)
  const [root, chat] = readOtlp(body)
  expect(root).toMatchObject({
    name: 'invoke_agent scout',
    traceId: run.activationId.replaceAll('-', ''),
  })
  expect(chat?.attributes['gen_ai.usage.cache_read.input_tokens']).toBe(1)
  hub.seen.readRunLog = async () => null
})

test('L43: an activation without a trace and an unknown id return 404', async () => {
  expect((await read()).status).toBe(404)
  expect((await read('nothing')).status).toBe(404)
})

test('L43: a finished activation is exported in one round trip', async () => {
  const trace = toStoredLog([...events(), ended({ at: at + 20, finishedAt: at + 3_600_000 })])
  await office.commit(scout.id, run.activationId, { trace })
  const { body, headers } = await read()
  const spans = readOtlp(body)
  expect(spans.map(({ name }) => name)).toEqual(['invoke_agent scout', 'chat model'])
  expect(spans[0]?.attributes).toMatchObject({
    'gen_ai.provider.name': 'test',
    'rookery.outcome': 'completed',
    'gen_ai.usage.input_tokens': 3,
    'rookery.cost_microusd': 30,
  })
  expect(JSON.stringify(body)).not.toContain('Owls.')
  expect(readCost(headers).roundTrips).toBe(1)
})
