import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import type { ActivationCounters } from '../../../src/hub/contract/hub'
import { formatMetrics } from '../../../src/hub/operations/system-actions'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office
let mira: Awaited<ReturnType<typeof hub.join>>
let scout: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await office.createAgent('scout')
})

const counters = (over: Partial<ActivationCounters> = {}): ActivationCounters => ({
  modelRequests: 3,
  modelFailures: 1,
  toolExecutions: 2,
  toolFailures: 1,
  permissionDenials: 1,
  toolRefusals: 1,
  compactions: 1,
  retries: 1,
  parks: 1,
  exportFailures: 1,
  ...over,
})

/** Every sample of the page; throws on a line that is not of the format. */
async function scrape() {
  const response = await hub.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } })
  return { samples: parse(await response.text()), response }
}

function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  const declared = new Map<string, Set<string>>()
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = /^# (HELP|TYPE) ([a-z][a-z0-9_]*) (.+)$/.exec(line)
    if (comment) {
      const [, kind = '', name = '', rest = ''] = comment
      const seen = declared.get(name) ?? new Set()
      if (seen.has(kind)) throw new Error(`${kind} of ${name} twice`)
      if (kind === 'TYPE' && !['counter', 'gauge'].includes(rest)) throw new Error(line)
      declared.set(name, seen.add(kind))
      continue
    }
    const sample =
      /^([a-z_][a-z0-9_]*)(\{[a-z_]+="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\n"])*")*\})? (-?[0-9.e+]+)$/.exec(
        line,
      )
    if (!sample) throw new Error(`not a sample: ${line}`)
    const [, name = '', labels = '', value] = sample
    if (declared.get(name)?.size !== 2) throw new Error(`${name} has no HELP and TYPE`)
    if (samples.has(name + labels)) throw new Error(`${name}${labels} twice`)
    samples.set(name + labels, Number(value))
  }
  return samples
}

async function finish(agentId: typeof scout.id, name: string, of?: ActivationCounters) {
  await office.post(mira.key, `@${name} hello`)
  const { activationId } = await office.start(agentId)
  const commit = office.composeCommit(agentId, activationId, of ? { counters: of } : {})
  await office.commit(agentId, activationId, commit)
  return { activationId, commit }
}

test('L44: counters are kept by agent and in total, and shown as Prometheus text', async () => {
  const archivist = await office.createAgent('archivist')
  await finish(scout.id, 'scout', counters())
  await finish(scout.id, 'scout', counters({ modelRequests: 4, retries: 0 }))
  await finish(archivist.id, 'archivist', counters({ modelRequests: 5 }))
  const { samples, response } = await scrape()
  expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  const read = (name: string) => ({
    scout: samples.get(`rookery_agent_${name}_total{agent="scout"}`),
    archivist: samples.get(`rookery_agent_${name}_total{agent="archivist"}`),
    all: samples.get(`rookery_${name}_total`),
  })
  expect(read('activations')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('failed_activations')).toEqual({ scout: 0, archivist: 0, all: 0 })
  expect(read('model_requests')).toEqual({ scout: 7, archivist: 5, all: 12 })
  expect(read('model_failures')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('tool_executions')).toEqual({ scout: 4, archivist: 2, all: 6 })
  expect(read('tool_failures')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('permission_denials')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('compactions')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('retries')).toEqual({ scout: 1, archivist: 1, all: 2 })
  expect(read('parks')).toEqual({ scout: 2, archivist: 1, all: 3 })
  expect(read('export_failures')).toEqual({ scout: 2, archivist: 1, all: 3 })
})

test('L44: a repeated or late commit counts once', async () => {
  const { activationId, commit } = await finish(scout.id, 'scout', counters())
  const before = (await scrape()).samples
  await office.commit(scout.id, activationId, commit)
  expect((await scrape()).samples.get('rookery_model_requests_total')).toBe(
    before.get('rookery_model_requests_total'),
  )
})

test('L44: an activation whose record is lost counts as failed', async () => {
  const before = (await scrape()).samples
  await office.post(mira.key, '@scout hello')
  const { activationId } = await office.start(scout.id)
  await office.commit(scout.id, activationId, { outcome: 'failed' })
  const after = (await scrape()).samples
  const rise = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  expect(rise('rookery_activations_total')).toBe(1)
  expect(rise('rookery_failed_activations_total')).toBe(1)
  expect(rise('rookery_model_requests_total')).toBe(0)
})

test('H20 L44: /metrics is one D1 round trip', async () => {
  expect(readCost((await scrape()).response.headers).roundTrips).toBe(1)
})

test('L44: counting adds one row and no round trip to a commit', async () => {
  await office.post(mira.key, '@scout hello')
  const { activationId } = await office.start(scout.id)
  expect(await office.countTrips(() => office.commit(scout.id, activationId))).toBe(1)
  const { results } = await env.DB.prepare('SELECT account_id FROM agent_counters').all()
  expect(results).toHaveLength(2)
})

test('L44: labels and help texts are escaped', () => {
  const text = formatMetrics([
    {
      name: 'odd',
      type: 'gauge',
      help: 'one\ntwo \\ three',
      samples: [{ labels: { agent: 'a"b\\c\nd' }, value: 1.5 }],
    },
  ])
  expect(text).toBe(
    '# HELP odd one\\ntwo \\\\ three\n# TYPE odd gauge\nodd{agent="a\\"b\\\\c\\nd"} 1.5\n',
  )
  expect(parse(text).size).toBe(1)
})
