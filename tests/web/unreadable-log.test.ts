import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { RunLogProblem } from '../../src/agents/contract/agents'
import { logProblemLabels } from '../../src/web/runs/run-trace'
import { adminKey } from '../hub/create-test-hub'
import { createScene, signIn } from './open-pages'

/** Pages and API of a finished activation whose stored log cannot be read. */
const { hub, activationId } = await createScene()
const admin = await signIn(hub)
const path = `/activations/${activationId}`

const store = (trace: string) =>
  env.DB.prepare('UPDATE activation_traces SET trace = ? WHERE activation_id = ?')
    .bind(trace, activationId)
    .run()

const cases: [RunLogProblem, string][] = [
  ['not_json', '{"version":4,"events":[{"type":"wo'],
  ['other_version', '{"version":2,"events":[]}'],
  ['invalid', '{"version":4}'],
  ['invalid', '{"version":4,"events":[{"type":"loaded","at":1}]}'],
]

test.each(cases)(
  'L43: the page of a run says why its log cannot be read (%s: %s)',
  async (problem, stored) => {
    await store(stored)
    const response = await admin.get(path)
    expect(response.status).toBe(200)
    const html = await response.text()
    expect(html).toContain(logProblemLabels[problem])
    expect(html).not.toContain('no longer stored')
  },
)

test.each(cases)(
  'L43: the API returns no trace when its log cannot be read (%s: %s)',
  async (_problem, stored) => {
    await store(stored)
    const [run, events, otlp] = await Promise.all(
      ['', '/events', '/otlp'].map((end) => hub.call(`${path}${end}`, { key: adminKey })),
    )
    expect(run).toMatchObject({ status: 200, body: { trace: null } })
    expect(events).toMatchObject({ status: 200, body: { events: [], last_seq: 0, is_over: true } })
    expect(otlp).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  },
)

test('L43: a run without a stored log is not reported as unreadable', async () => {
  await env.DB.prepare('DELETE FROM activation_traces WHERE activation_id = ?')
    .bind(activationId)
    .run()
  const html = await admin.read(path)
  expect(html).toContain('no longer stored')
  for (const label of Object.values(logProblemLabels)) expect(html).not.toContain(label)
})
